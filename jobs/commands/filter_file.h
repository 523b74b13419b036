/* Reads the files that bloom-build writes, one record at a time: each is a msgpack array [key,
 * filter]. Sizes and kinds are validated before use, and at most one record is in memory. */
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
void filter_record_fini(struct filter_record *record);

/* Calls `each` for every record of the paths (files, directories of parts, globs), in order of
 * files and offsets. `each` takes ownership of the record if it returns 0, and must free it later;
 * after any other result this function frees the record and stops. Returns 0, what `each` returned,
 * or a code: FILTER_INVALID with file and offset, or an error of opening or reading. */
int filter_each(struct env *env, const char *const *paths, uint32_t count,
                int (*each)(void *arg, struct filter_record *record), void *arg,
                struct glint_error *error);

#endif
