/* Contexts of the single-process mode, with functions that fail, wait and count as configured. */
#ifndef TESTS_SUPPORT_LOCAL_H
#define TESTS_SUPPORT_LOCAL_H

#include "engine/base/mem.h"
#include "engine/plan/context.h"
#include "engine/plan/context_config.h"

#include <stdatomic.h>

/* (none, i64) -> (i64 % 10, i64); counts "mapped". */
#define FN_MAP (&local_map)
/* As map; the first `local_failures` calls fail with NO_MEMORY, which is retried. */
#define FN_FLAKY (&local_flaky)
/* As map, but 13 is a bad value. */
#define FN_PICKY (&local_picky)
/* Emits rows forever. */
#define FN_ENDLESS (&local_endless)
/* A function that returns an error without setting it, and one that sets an error and
 * returns success. */
#define FN_SILENT (&local_silent)
#define FN_SLY    (&local_sly)

/* (none, i64) -> (i64 % 10, LOCAL_LARGE_BYTES bytes made of it), and such a value -> its
 * first byte. */
#define FN_LARGE          (&local_large)
#define FN_FIRST          (&local_first)
#define LOCAL_LARGE_BYTES (250u * 1000)
/* A pair of two such values, as joins make them -> ten times the first byte of the left one, and
 * that of the right one. */
#define FN_FIRSTS (&local_firsts)
/* A partitioner: the argument "step" * key, as a remainder. */
#define FN_PART (&local_part)

extern const struct glint_function local_map, local_flaky, local_picky, local_endless, local_silent,
    local_sly, local_large, local_first, local_firsts, local_part;

extern atomic_int local_failures;
extern atomic_int local_started; /* calls of the endless function */

struct context_config local_config(uint32_t slots, bool encode);
/* The numbers 0 .. count-1. */
struct glint_rdd *local_numbers(struct glint *g, uint64_t count, uint32_t partitions);
struct glint_rdd *local_counts(struct glint_rdd *pairs);

#endif
