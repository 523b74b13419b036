/* What a map task holds in memory: running values by key, and records that go through as they are.
 *
 * Both can be there at once: where values are cut into pieces, a full piece becomes a record and
 * its key's value starts anew. Written out, a key's records come before its running value. Internal
 * to the map half. */
#ifndef GLINT_SHUFFLE_GATHER_H
#define GLINT_SHUFFLE_GATHER_H

#include "engine/data/run.h"
#include "engine/data/table.h"
#include "engine/shuffle/fold.h"
#include "engine/shuffle/repeats.h"

struct sort_entry;

struct gather {
    repeats_count repeats; /* the form for this processor */
    struct glint_task *task;
    const struct shuffle_spec *spec;
    struct fold fold;
    struct pool pool;
    struct table table;
    uint32_t values_capacity; /* by slot: one of the next two */
    int64_t *numbers;         /* i64, or the bits of an f64 */
    struct glint_acc *accs;
    struct buffer records;    /* struct gather_record, key, value; each at a multiple of 8 */
    struct buffer entries;    /* struct sort_entry, one per record */
    struct buffer scratch;    /* to sort in */
    uint64_t index;           /* of the task's next record */
    struct combiner complete; /* for a fold's zero */
};

int gather_init(struct gather *g, struct glint_task *task, const struct shuffle_spec *spec,
                void *state);
/* Combines the batch's rows into the table. */
int gather_combine(struct gather *g, const struct glint_batch *batch);
/* Keeps the batch's rows as records. */
int gather_append(struct gather *g, const struct glint_batch *batch);
/* Bytes in use, and needed for writing, once `extra` more keys have come. */
uint64_t gather_bytes(const struct gather *g, uint32_t extra);
static inline bool gather_empty(const struct gather *g)
{
    return g->table.slots == 0 && g->entries.size == 0;
}

/* Everything in order of (partition, key), until something is added. */
struct gather_order {
    const struct sort_entry *slot, *slots_end, *record, *records_end;
    struct buffer memory;
};
/* gather_order_fini after, in any case. */
int gather_sort(struct gather *g, struct gather_order *out);
void gather_order_fini(struct gather_order *order);
/* Of something that is not empty; the keys lie in it. */
struct shuffle_place gather_first(const struct gather *g, const struct gather_order *order);
struct shuffle_place gather_last(const struct gather *g, const struct gather_order *order);
/* Writes everything; then it is empty. `complete`: the values are the task's output, so a fold's
 * zero goes in. */
int gather_write(struct gather *g, const struct gather_order *order, bool complete,
                 struct run_writer *out);
void gather_fini(struct gather *g);

#endif
