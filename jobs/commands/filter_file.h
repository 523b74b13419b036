/* The files that bloom-build writes, record by record: each is a msgpack array [key, filter]. Sizes
 * and kinds are checked before anything is believed, and at most one record is in memory at a time.
 */
#ifndef GLINT_JOBS_COMMANDS_FILTER_FILE_H
#define GLINT_JOBS_COMMANDS_FILTER_FILE_H

#include "engine/base/env.h"
#include "engine/base/error.h"
#include "engine/base/mem.h"
#include "jobs/bloom/bloom.h"

/* Keys are ordered: numbers by value, then texts by bytes. */
struct filter_key {
    bool number;
    double order; /* of a number */
    char *text;   /* as it is printed; any bytes, text[size] is NUL */
    uint64_t size;
};

struct filter_record {
    const char *path; /* borrowed while filter_each runs */
    uint64_t offset;  /* of the record in the file */
    struct filter_key key;
    struct buffer bytes; /* the record; the bits lie in it */
    /* One of both: a filter, or a segment of one, which has bits and a size then. */
    struct bloom_filter filter;
    struct bloom_segment segment;
};

static inline bool filter_record_is_segment(const struct filter_record *record)
{
    return record->segment.size > 0;
}
/* Copies text into the arena; false without memory. */
bool filter_key_copy(struct arena *arena, const struct filter_key *key, struct filter_key *out);
int filter_key_compare(const struct filter_key *a, const struct filter_key *b);
void filter_record_fini(struct filter_record *record);

/* Calls `each` for every record under the paths (files, folders with parts, globs), in order of
 * files and offsets. `each` owns the record when it answers 0, and must fini it in the end; with
 * any other answer the record is given back here and the walk ends. Answers 0, what `each`
 * answered, or a code: FILTER_INVALID with file and offset, or what opening and reading can meet.
 */
int filter_each(struct env *env, const char *const *paths, uint32_t count,
                int (*each)(void *arg, struct filter_record *record), void *arg,
                struct glint_error *error);

#endif
