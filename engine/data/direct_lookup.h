/* Slots of keys below 32, all rows of a batch at once: the array of slots fits two vector
 * registers, so a look-up is a shuffle and not a load. */
#ifndef GLINT_DATA_DIRECT_LOOKUP_H
#define GLINT_DATA_DIRECT_LOOKUP_H

#include <stdbool.h>
#include <stdint.h>

#define DIRECT_LOOKUP_KEYS 32u

/* direct[key] is the key's slot + 1, or 0: none. True: all keys are below DIRECT_LOOKUP_KEYS and
 * have a slot, out_slots is filled. False: out_slots holds rubbish. Pure; any thread. */
typedef bool (*direct_lookup_fn)(const int64_t *keys, uint32_t rows, const uint32_t *direct,
                                 uint32_t *out_slots);

/* NULL where this processor has nothing better than one load per key. */
direct_lookup_fn direct_lookup_for_cpu(void);

#endif
