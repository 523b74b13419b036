/* The map side's buffer in memory: a hash table of accumulators by key, and uncombined records.
 *
 * It can contain both for one key: with chunk_bytes_max a full chunk becomes a record, and the
 * accumulator of its key starts again. combine_buffer_write writes the records of a key before its
 * accumulator, which keeps the chunks in order. Internal to the map side. Task's thread. */
#ifndef GLINT_SHUFFLE_COMBINE_BUFFER_H
#define GLINT_SHUFFLE_COMBINE_BUFFER_H

#include "engine/batch.h"
#include "engine/records/hash_table.h"
#include "engine/shuffle/aggregator.h"
#include "engine/shuffle/record_buffer.h"

#include <stdbool.h>
#include <stdint.h>

/* A fast path for counting: a batch in which all values are the same number and few slots occur.
 * slot_histogram_fn counts the rows of each slot; then the function merges once per slot, not once
 * per row. */

#define SLOT_HISTOGRAM_SLOTS_MAX 16u

/* Returns false if the values are not all equal. Else sets out_count[s], s < slots, to the number
 * of rows whose slot is s. `slots` is at most SLOT_HISTOGRAM_SLOTS_MAX, `rows` 1 to BATCH_ROWS_MAX.
 * Pure; any thread. */
typedef bool (*slot_histogram_fn)(const uint32_t *slot, const int64_t *value, uint32_t rows,
                                  uint32_t slots, uint32_t *out_count);

enum slot_histogram_level {
    SLOT_HISTOGRAM_PORTABLE,
    SLOT_HISTOGRAM_AVX2,
    SLOT_HISTOGRAM_AVX512,
    SLOT_HISTOGRAM_LEVELS
};

/* Returns the fastest variant that this CPU supports. */
slot_histogram_fn slot_histogram_for_cpu(void);
/* Returns the given variant, or NULL if this CPU does not support it. For tests. */
slot_histogram_fn slot_histogram_for_level(enum slot_histogram_level level);

/* The size that marks an accumulator as empty: its key has emitted a chunk and got no value since.
 * Nothing is written for it. */
#define COMBINE_BUFFER_NO_VALUE UINT64_MAX

/* Zeros before combine_buffer_init. Slots are those of the hash table, see records/hash_table.h. */
struct combine_buffer {
    slot_histogram_fn slot_histogram; /* the variant for this CPU */
    struct glint_task *task;
    const struct shuffle_spec *spec;
    struct aggregator aggregator;
    struct acc_pool pool;
    struct hash_table table;
    uint64_t values_capacity;     /* of the used one of the next two, which are indexed by slot */
    int64_t *numbers;             /* accumulators that are i64, or the bits of an f64 */
    struct glint_acc *accs;       /* accumulators that are bytes */
    struct record_buffer records; /* its scratch memory also sorts the slots */
    uint64_t index;               /* of the task's next record; PARTITION_SPREAD hashes it */
    struct combiner complete;     /* merges the zero of COMBINE_FOLD */
};
/* Borrows everything. Returns 0 or a negative code with the task's error set; call
 * combine_buffer_fini in both cases. */

int combine_buffer_init(struct combine_buffer *g, struct glint_task *task,
                        const struct shuffle_spec *spec, void *state);
/* Combines the batch's rows into the hash table. Returns 0, NO_MEMORY, VALUE_LIMIT or the
 * function's error. */
int combine_buffer_combine_batch(struct combine_buffer *g, const struct glint_batch *batch);
/* Copies the batch's rows as records, not combined. Returns 0, NO_MEMORY or VALUE_LIMIT. */
int combine_buffer_append_batch(struct combine_buffer *g, const struct glint_batch *batch);
/* The bytes in use plus those that sorting will need, if `extra` more keys were added. The caller
 * compares it with its budget before it adds a batch. */
uint64_t combine_buffer_memory_bytes(const struct combine_buffer *g, uint32_t extra);
/* The bytes of a run of all records, about: not less, if they are not compressed. */
uint64_t combine_buffer_run_bytes(const struct combine_buffer *g);
/* Whether the records have MERGE_RECORD_BYTES or more on average. */
bool combine_buffer_has_large_records(const struct combine_buffer *g);
static inline bool combine_buffer_is_empty(const struct combine_buffer *g)
{
    return g->table.slots == 0 && g->records.entries.size == 0;
}

/* The buffer's contents in order of partition or of (partition, key): two sorted ranges to merge.
 * Valid until the buffer changes. */
struct combine_buffer_order {
    bool by_key;
    const struct sort_entry *slot, *slots_end, *record, *records_end;
    struct buffer memory; /* of the slots' entries, if the hash buckets were too small for them */
};
/* Sorts the contents by partition, and with `by_key` by key within a partition. Until
 * combine_buffer_write only the calls below are allowed, since the entries overwrite the hash
 * buckets. Returns 0, NO_MEMORY or the partitioner's error; call combine_buffer_order_fini in all
 * cases. */
int combine_buffer_sort(struct combine_buffer *g, bool by_key, struct combine_buffer_order *out);
void combine_buffer_order_fini(struct combine_buffer_order *order);
/* The position of the first and of the last record in an order by key. The buffer must not be
 * empty; the keys point into it. */
struct shuffle_position combine_buffer_first_position(const struct combine_buffer *g,
                                                      const struct combine_buffer_order *order);
struct shuffle_position combine_buffer_last_position(const struct combine_buffer *g,
                                                     const struct combine_buffer_order *order);
/* The record of a slot in the order; `number` (CODEC_NUMBER_BYTES) is the memory of its value if it
 * is a number. Only without chunks (fn->chunk_bytes_max). Prefetches those before `end`. */
struct buffered_record combine_buffer_get(const struct combine_buffer *g,
                                          const struct sort_entry *slot,
                                          const struct sort_entry *end, uint8_t *number);
/* Writes everything to `out` and empties the buffer, also on an error. `complete`: no value of
 * these keys was spilled before, so these are the task's final values and the zero of COMBINE_FOLD
 * is merged into them. Returns 0 or a negative code with the task's error set. */
int combine_buffer_write(struct combine_buffer *g, const struct combine_buffer_order *order,
                         bool complete, struct run_writer *out);
/* Returns 0 or a negative code with the task's error set. */
typedef int combine_buffer_add_fn(void *arg, uint32_t partition, struct glint_slice key,
                                  struct glint_slice value);
/* Calls `add` for the table's accumulators, in the order of their slots, and empties the table.
 * Returns 0 or the first negative code. */
int combine_buffer_move(struct combine_buffer *g, combine_buffer_add_fn *add, void *arg);
/* A combine_buffer_add_fn that adds a record, not combined; arg is the combine buffer. */
int combine_buffer_add_record(void *g, uint32_t partition, struct glint_slice key,
                              struct glint_slice value);
/* Frees everything. Zeros are fine. */
void combine_buffer_fini(struct combine_buffer *g);

#endif
