/* What gather.c and gather_write.c share. */
#ifndef GLINT_SHUFFLE_GATHER_RECORD_H
#define GLINT_SHUFFLE_GATHER_RECORD_H

#include "engine/data/sort.h"
#include "engine/shuffle/gather.h"

/* The size of an accumulator whose key has passed on a piece and has had no value since. */
#define GATHER_NOTHING UINT64_MAX

/* A record in gather.records; its key and value follow. */
struct gather_record {
    uint32_t key_size, value_size;
};

int gather_add_record(struct gather *g, struct glint_slice key, struct glint_slice value);
/* Forgets everything, keeps memory. */
void gather_reset(struct gather *g);

#endif
