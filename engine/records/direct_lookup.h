/* Looks up the slots of keys below 32 for a whole batch: an array of 32 slots fits two vector
 * registers, so a lookup is a permutation of registers, not a load. */
#ifndef GLINT_RECORDS_DIRECT_LOOKUP_H
#define GLINT_RECORDS_DIRECT_LOOKUP_H

#include <stdbool.h>
#include <stdint.h>

#define DIRECT_LOOKUP_KEYS 32u

/* direct[key] is the key's slot + 1, or 0 if it has none. Returns true and fills out_slots if all
 * keys are below DIRECT_LOOKUP_KEYS and have a slot. On false the contents of out_slots are
 * undefined. Pure; any thread. */
typedef bool (*direct_lookup_fn)(const int64_t *keys, uint32_t rows, const uint32_t *direct,
                                 uint32_t *out_slots);

/* Returns the variant for this CPU, or NULL if it has no fast one: then load direct[key]. */
direct_lookup_fn direct_lookup_for_cpu(void);

#endif
