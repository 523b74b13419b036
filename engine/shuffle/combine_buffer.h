/* What a map task holds in memory: running values by key, and records that go through as they are.
 *
 * Both can be there at once: where values are cut into pieces, a full piece becomes a record and
 * its key's value starts anew. Written out, a key's records come before its running value. Internal
 * to the map half. */
#ifndef GLINT_SHUFFLE_COMBINE_BUFFER_H
#define GLINT_SHUFFLE_COMBINE_BUFFER_H

#include "engine/data/hash_table.h"
#include "engine/data/run.h"
#include "engine/shuffle/aggregator.h"
#include "engine/shuffle/slot_histogram.h"

struct sort_entry;

struct combine_buffer {
    slot_histogram_fn slot_histogram; /* the form for this processor */
    struct glint_task *task;
    const struct shuffle_spec *spec;
    struct aggregator aggregator;
    struct acc_pool pool;
    struct hash_table table;
    uint32_t values_capacity; /* by slot: one of the next two */
    int64_t *numbers;         /* i64, or the bits of an f64 */
    struct glint_acc *accs;
    struct buffer records; /* struct combine_buffer_record, key, value; each at a multiple of 8 */
    struct buffer entries; /* struct sort_entry, one per record */
    struct buffer scratch; /* to sort in */
    uint64_t index;        /* of the task's next record */
    struct combiner complete; /* for a fold's zero */
};

int combine_buffer_init(struct combine_buffer *g, struct glint_task *task,
                        const struct shuffle_spec *spec, void *state);
/* Combines the batch's rows into the table. */
int combine_buffer_combine_batch(struct combine_buffer *g, const struct glint_batch *batch);
/* Keeps the batch's rows as records. */
int combine_buffer_append_batch(struct combine_buffer *g, const struct glint_batch *batch);
/* Bytes in use, and needed for writing, once `extra` more keys have come. */
uint64_t combine_buffer_memory_bytes(const struct combine_buffer *g, uint32_t extra);
static inline bool combine_buffer_is_empty(const struct combine_buffer *g)
{
    return g->table.slots == 0 && g->entries.size == 0;
}

/* Everything in order of (partition, key), until something is added. */
struct combine_buffer_order {
    const struct sort_entry *slot, *slots_end, *record, *records_end;
    struct buffer memory;
};
/* combine_buffer_order_fini after, in any case. */
int combine_buffer_sort(struct combine_buffer *g, struct combine_buffer_order *out);
void combine_buffer_order_fini(struct combine_buffer_order *order);
/* Of something that is not empty; the keys lie in it. */
struct shuffle_position combine_buffer_first_position(const struct combine_buffer *g,
                                                      const struct combine_buffer_order *order);
struct shuffle_position combine_buffer_last_position(const struct combine_buffer *g,
                                                     const struct combine_buffer_order *order);
/* Writes everything; then it is empty. `complete`: the values are the task's output, so a fold's
 * zero goes in. */
int combine_buffer_write(struct combine_buffer *g, const struct combine_buffer_order *order,
                         bool complete, struct run_writer *out);
void combine_buffer_fini(struct combine_buffer *g);

#endif
