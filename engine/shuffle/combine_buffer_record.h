/* What combine_buffer.c and combine_buffer_write.c share. */
#ifndef GLINT_SHUFFLE_COMBINE_BUFFER_RECORD_H
#define GLINT_SHUFFLE_COMBINE_BUFFER_RECORD_H

#include "engine/data/sort.h"
#include "engine/shuffle/combine_buffer.h"

/* The size of an accumulator whose key has passed on a piece and has had no value since. */
#define COMBINE_BUFFER_NO_VALUE UINT64_MAX

/* A record in gather.records; its key and value follow. */
struct combine_buffer_record {
    uint32_t key_size, value_size;
};

int combine_buffer_add_record(struct combine_buffer *g, struct glint_slice key,
                              struct glint_slice value);
/* Forgets everything, keeps memory. */
void combine_buffer_reset(struct combine_buffer *g);

#endif
