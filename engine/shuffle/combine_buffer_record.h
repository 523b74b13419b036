/* Declarations that combine_buffer.c and combine_buffer_write.c share. */
#ifndef GLINT_SHUFFLE_COMBINE_BUFFER_RECORD_H
#define GLINT_SHUFFLE_COMBINE_BUFFER_RECORD_H

#include "engine/data/sort.h"
#include "engine/shuffle/combine_buffer.h"

/* The size that marks an accumulator as empty: its key has emitted a chunk and got no value since.
 * Nothing is written for it. */
#define COMBINE_BUFFER_NO_VALUE UINT64_MAX

/* The header of a record in combine_buffer.records; its key and value follow. */
struct combine_buffer_record {
    uint32_t key_size, value_size;
};

/* Copies one record (byte form) and its sort entry. Returns 0, NO_MEMORY or VALUE_LIMIT. */
int combine_buffer_add_record(struct combine_buffer *g, struct glint_slice key,
                              struct glint_slice value);
/* Removes all keys and records; keeps the memory for the next ones. */
void combine_buffer_reset(struct combine_buffer *g);

#endif
