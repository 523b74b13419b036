/* Combines the records of a reduce task in a hash table as they are read, so that only one record
 * per key is sorted: for values that can be merged in any number of steps, if keys occur in several
 * inputs. Internal to the reduce side. Task's thread. */
#ifndef GLINT_SHUFFLE_GATHER_TABLE_H
#define GLINT_SHUFFLE_GATHER_TABLE_H

#include "engine/shuffle/batch_builder.h"
#include "engine/shuffle/combine_buffer.h"

/* Zeros before gather_table_open; does not move afterwards. */
struct gather_table {
    struct combine_buffer buffer;
    struct shuffle_spec spec; /* of `buffer`: one partition */
    struct batch_builder *rows;
    struct combine_buffer_order order;
};
/* Returns 0, or a negative code with the task's error set. Call gather_table_fini in both cases.
 * `spec` and `state` are borrowed. */
int gather_table_open(struct gather_table *t, struct glint_task *task,
                      const struct shuffle_spec *spec, void *state);
/* Adds a record, copied; `finish_input` adds those that are not in the table yet. Return 0 or a
 * negative code with the task's error set. */
int gather_table_add(struct gather_table *t, struct glint_slice key, struct glint_slice value);
int gather_table_finish_input(struct gather_table *t);
/* The number of different keys. */
static inline uint64_t gather_table_keys(const struct gather_table *t)
{
    return t->buffer.table.slots;
}
/* Sorts by key; then `order` has the slots. Returns 0 or NO_MEMORY with the task's error set. */
int gather_table_sort(struct gather_table *t);
/* Frees everything. Zeros are fine. */
void gather_table_fini(struct gather_table *t);

#endif
