/* Filters in segments, for the subcommands of `glint filter`: records where each segment is, and
 * reads its bits on request. Only positions are kept in memory, or where the bits are mapped. */
#ifndef GLINT_JOBS_COMMANDS_FILTER_PARTS_H
#define GLINT_JOBS_COMMANDS_FILTER_PARTS_H

#include "jobs/commands/filter_file.h"

struct filter_part {
    struct filter_key key;        /* owned */
    struct bloom_segment segment; /* with its bits only if the file is mapped */
    uint64_t bits_set;
    uint32_t file; /* index in the list of files */
    uint64_t at;   /* offset of the bits in the file */
};

struct filter_parts {
    struct env *env;
    struct filter_part *items;
    uint64_t count, capacity;
    struct filter_part_file {
        char *path;
        int file; /* -1: not open */
    } * files;
    uint64_t file_capacity;
    uint32_t file_count;
};

/* All segments of one filter, checked: parts [first, first + count). */
struct filter_whole {
    const struct filter_part *first;
    uint64_t count;
};

/* Adds a record that is a segment, of which it takes the key. Returns 0 or a code. */
int filter_parts_add(struct filter_parts *parts, struct filter_record *record,
                     struct glint_error *error);
/* Call after the last add. Sorts by key and index, and checks that each filter is complete and from
 * one build. Returns 0, or FILTER_INVALID or FILTER_MISMATCH with file and key. */
int filter_parts_check(struct filter_parts *parts, struct glint_error *error);
/* Returns the filter that begins at part `*at`, and advances. Returns false after the last one. */
bool filter_parts_next(const struct filter_parts *parts, uint64_t *at, struct filter_whole *out);
/* Reads bytes [offset, offset + size) of a part's bits. Returns 0 or a code. */
int filter_parts_read(struct filter_parts *parts, const struct filter_part *part, uint64_t offset,
                      uint8_t *out, uint64_t size, struct glint_error *error);
void filter_parts_fini(struct filter_parts *parts); /* accepts zeros */

#endif
