/* Reads the files that bloom-build writes, one record at a time: each is a msgpack array [key,
 * filter], or the file is one filter without a key. Sizes and kinds are validated before use, and
 * at most one record is in memory. */
#ifndef GLINT_JOBS_COMMANDS_FILTER_FILE_H
#define GLINT_JOBS_COMMANDS_FILTER_FILE_H

#include "engine/base/env.h"
#include "engine/base/error.h"
#include "engine/base/mem.h"
#include "jobs/bloom/bloom.h"

/* A key. Keys are ordered: numbers by value, then strings by bytes. */
struct filter_key {
    bool number;
    double order; /* for numbers */
    char *text;   /* as printed; any bytes, text[size] is NUL */
    uint64_t size;
};

struct filter_record {
    const char *path; /* borrowed until filter_each returns */
    uint64_t offset;  /* of the record, in the file */
    struct filter_key key;
    bool bare;           /* the filter has no key: it is the name of the file */
    bool mapped;         /* `bytes` belongs to the maps */
    struct buffer bytes; /* the record; the filter's bits point into it */
    /* Either a filter, or a segment of one; a segment has bits and a size. */
    struct bloom_filter filter;
    struct bloom_segment segment;
};

static inline bool filter_record_is_segment(const struct filter_record *record)
{
    return record->segment.size > 0;
}
/* Copies the text into the arena. Returns false when out of memory. */
bool filter_key_copy(struct arena *arena, const struct filter_key *key, struct filter_key *out);
int filter_key_compare(const struct filter_key *a, const struct filter_key *b);
/* Moves the record: `from` is empty then. */
static inline struct filter_record filter_record_take(struct filter_record *from)
{
    const struct filter_record taken = *from;
    *from = (struct filter_record){.path = taken.path};
    return taken;
}
void filter_record_fini(struct filter_record *record); /* accepts empty ones */

/* Calls `each` for every record of the paths (files, directories of parts, globs, URLs), in order
 * of files and offsets. What `each` leaves of the record is freed, or used for the next one: to
 * keep it, filter_record_take. A result other than 0 ends the iteration. Returns 0, what `each`
 * returned, or a code: FILTER_INVALID with file and offset, or an error of opening or reading. */
int filter_each(struct env *env, const char *const *paths, uint32_t count,
                int (*each)(void *arg, struct filter_record *record), void *arg,
                struct glint_error *error);

/* Files that are mapped. */
struct filter_maps {
    struct filter_map {
        uint8_t *data; /* a page of zeros follows */
        uint64_t size;
    } * items;
    uint64_t count, capacity, bytes;
};
/* As filter_each; the records are those of the mapped files, until filter_maps_close. A file that
 * is written or truncated in place meanwhile gives undefined answers, or ends the process: glint
 * replaces files by new ones instead. `maps` NULL: as filter_each. */
int filter_each_mapped(struct env *env, const char *const *paths, uint32_t count,
                       struct filter_maps *maps,
                       int (*each)(void *arg, struct filter_record *record), void *arg,
                       struct glint_error *error);
void filter_maps_close(struct filter_maps *maps); /* accepts zeros */

#endif
