/* Filters that lie in segments, for the verbs of `glint filter`: where each segment is, and its
 * bits read from there when they are asked for. In memory is what says where, never the bits. */
#ifndef GLINT_JOBS_COMMANDS_FILTER_PARTS_H
#define GLINT_JOBS_COMMANDS_FILTER_PARTS_H

#include "jobs/commands/filter_file.h"

struct filter_part {
    struct filter_key key;        /* owned */
    struct bloom_segment segment; /* without its bits */
    uint64_t bits_set;
    uint32_t file; /* of the list's */
    uint64_t at;   /* of the bits in it */
};

struct filter_parts {
    struct env *env;
    struct filter_part *items;
    uint64_t count, capacity;
    struct filter_part_file {
        char *path;
        int file; /* -1: not open */
    } * files;
    uint32_t file_count, file_capacity;
};

/* All of one filter, once checked: parts [first, first + count). */
struct filter_whole {
    const struct filter_part *first;
    uint64_t count;
};

/* Takes a record that is a segment; its key is moved, the rest given back. 0 or a code, and then
 * the record is still the caller's. */
int filter_parts_add(struct filter_parts *parts, struct filter_record *record,
                     struct glint_error *error);
/* Once all are there: by key and index; each filter must be whole and all of one build.
 * FILTER_INVALID or FILTER_MISMATCH with file and key. */
int filter_parts_check(struct filter_parts *parts, struct glint_error *error);
/* The filter that begins at part `*at`, and moves on. False: that was the last. */
bool filter_parts_next(const struct filter_parts *parts, uint64_t *at, struct filter_whole *out);
/* Bytes [offset, offset + size) of a part's bits. */
int filter_parts_read(struct filter_parts *parts, const struct filter_part *part, uint64_t offset,
                      uint8_t *out, uint64_t size, struct glint_error *error);
void filter_parts_fini(struct filter_parts *parts); /* zeroed ones too */

#endif
