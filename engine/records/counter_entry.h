/* One entry of the counters that a task sends with its result: a counter, [name, number], or the
 * task's part of an accumulator, [name, function, type, bytes]. */
#ifndef GLINT_RECORDS_COUNTER_ENTRY_H
#define GLINT_RECORDS_COUNTER_ENTRY_H

#include "engine/glint.h"
#include "engine/limits.h"
#include "engine/records/pack.h"

struct counter_entry {
    char name[NAME_BYTES_MAX];
    bool is_accumulator;
    int64_t value; /* of a counter */
    /* Of an accumulator: the function that merges it, the type, and the value in byte form,
     * borrowed from what was unpacked. */
    char function[NAME_BYTES_MAX];
    enum glint_type type; /* I64, F64, TEXT, BYTES or MSGPACK */
    struct glint_slice bytes;
};
/* Unpacks the next entry of the array. Returns false if it is not one. */
bool counter_entry_unpack(struct unpacker *u, struct counter_entry *out);

#endif
