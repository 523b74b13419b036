/* What the two halves of a shuffle share: records in memory, combined in a table or sorted, and
 * what a task reads at once. */
#ifndef GLINT_SHUFFLE_SHUFFLE_INTERNAL_H
#define GLINT_SHUFFLE_SHUFFLE_INTERNAL_H

#include "engine/base/hash.h"
#include "engine/base/mem.h"
#include "engine/batch.h"
#include "engine/glint.h"
#include "engine/limits.h"
#include "engine/records/bytes.h"
#include "engine/records/hash_table.h"
#include "engine/records/run.h"
#include "engine/records/sort.h"
#include "engine/shuffle/aggregator.h"
#include "engine/shuffle/merge_inputs.h"
#include "engine/shuffle/shuffle.h"

#include <stdbool.h>
#include <stdint.h>

/* ---- Records in byte form that are not combined, in one block of memory, and their order.
 *
 * The map side collects records here before it writes them, the reduce side before it passes them
 * on. Task's thread. */

/* A record in `records`; its key and value follow. */
struct record_header {
    uint32_t key_size, value_size;
};

/* Zeros are empty, except that the caller sets `descending`. */
struct record_buffer {
    bool descending;
    uint64_t key_size;         /* of the first record */
    uint64_t key_sizes_differ; /* 0: all have it */
    struct buffer records; /* struct record_header, key, value; each aligned to 8 bytes */
    struct buffer entries; /* struct sort_entry, one per record; the reference is its offset / 8 */
    struct buffer scratch; /* for sorting */
};

/* One record, borrowed from the buffer until it changes. */
struct buffered_record {
    struct glint_slice key, value;
};

/* Returns the bytes that a record takes in `records`. */
static inline uint64_t record_buffer_record_bytes(uint64_t key_size, uint64_t value_size)
{
    return (sizeof(struct record_header) + key_size + value_size + 7) & ~(uint64_t)7;
}
/* Returns the bytes that `records` records take at most, whose keys, values and encoded sizes are
 * `raw` bytes, including those for sorting. */
uint64_t record_buffer_bytes_of(uint64_t records, uint64_t raw);
/* Reserves memory for that many records at once. Returns false when out of memory. */
bool record_buffer_reserve(struct record_buffer *b, uint64_t records, uint64_t raw);
/* Copies a record. Returns 0, NO_MEMORY or VALUE_LIMIT with the task's error set. */
int record_buffer_add(struct record_buffer *b, struct glint_task *task, uint32_t partition,
                      struct glint_slice key, struct glint_slice value);
/* Sorts the entries by partition, and with `by_key` by key within a partition. Equal ones keep
 * their order. Returns false when out of memory. */
bool record_buffer_sort(struct record_buffer *b, bool by_key);
void record_buffer_clear(struct record_buffer *b);
/* Frees everything. Zeros are fine. */
void record_buffer_fini(struct record_buffer *b);

static inline uint64_t record_buffer_count(const struct record_buffer *b)
{
    return b->entries.size / sizeof(struct sort_entry);
}
static inline const struct sort_entry *record_buffer_entries(const struct record_buffer *b)
{
    return (const struct sort_entry *)(const void *)b->entries.data;
}
/* The bytes in use plus those that sorting will need. */
static inline uint64_t record_buffer_memory_bytes(const struct record_buffer *b)
{
    return b->records.size + 2 * b->entries.size;
}

static inline struct buffered_record record_buffer_get(const struct record_buffer *b,
                                                       uint64_t reference)
{
    struct record_header head;
    const uint8_t *at = b->records.data + reference * 8;
    assert(reference * 8 < b->records.size);
    memcpy(&head, at, sizeof head);
    at += sizeof head;
    return (struct buffered_record){{at, head.key_size}, {at + head.key_size, head.value_size}};
}

#define RECORD_PREFETCH_ENTRIES 16

/* In sorted order the records are random accesses, mostly cache misses. */
static inline void record_buffer_prefetch(const struct record_buffer *b,
                                          const struct sort_entry *at, const struct sort_entry *end)
{
    if (end - at <= RECORD_PREFETCH_ENTRIES) return;
    const uint8_t *record =
        b->records.data + sort_entry_reference(at + RECORD_PREFETCH_ENTRIES) * 8;
    __builtin_prefetch(record);
    __builtin_prefetch(record + 64);
}

/* ---- The map side's buffer in memory: a hash table of accumulators by key, and uncombined
 * records.
 *
 * It can contain both for one key: with chunk_bytes_max a full chunk becomes a record, and the
 * accumulator of its key starts again. combine_buffer_write writes the records of a key before its
 * accumulator, which keeps the chunks in order. Internal to the map side. Task's thread. */

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
/* About so many different keys will come. A hint, by which only the use of memory changes. */
void combine_buffer_expect_keys(struct combine_buffer *g, uint64_t keys);
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
int combine_buffer_drain_table(struct combine_buffer *g, combine_buffer_add_fn *add, void *arg);
/* A combine_buffer_add_fn that adds a record, not combined; arg is the combine buffer. */
int combine_buffer_add_record(void *g, uint32_t partition, struct glint_slice key,
                              struct glint_slice value);
/* Frees everything. Zeros are fine. */
void combine_buffer_fini(struct combine_buffer *g);

/* ---- Reads all inputs of a reduce task, in map order, and sorts their records: in memory if they
 * fit into the budget, else as sorted runs on disk. Equal keys keep the order of the inputs, and of
 * the records in an input. Internal to the reduce side. Task's thread. */

/* Builds batches from records in byte form: numbers go into arrays, bytes are copied or borrowed, a
 * large record is referenced. Internal to the reduce side. Task's thread. */

/* One column of the batch; only the arrays of its type are used. */
struct batch_builder_column {
    enum glint_type type;
    const struct buffer *borrowed; /* cells are in its memory and not copied; NULL: copied */
    struct buffer bytes;           /* of copies */
    uint64_t used;                 /* bytes of all cells */
    uint32_t start[BATCH_ROWS_MAX], end[BATCH_ROWS_MAX];
    union {
        int64_t i64[BATCH_ROWS_MAX];
        double f64[BATCH_ROWS_MAX];
    } numbers;
};

/* Zeros, then the caller sets key.type and value.type. */
struct batch_builder {
    uint32_t count; /* rows */
    bool full;      /* the only row references the caller's bytes */
    struct batch_builder_column key, value;
    struct glint_slice single_key, single_value; /* of that row */
};

enum batch_builder_result {
    BATCH_BUILDER_ADDED,
    BATCH_BUILDER_FULL,       /* not added: use and clear the batch, then add it again */
    BATCH_BUILDER_WRONG_SIZE, /* a number that is not 8 bytes, or a NONE that is not empty */
    BATCH_BUILDER_NO_MEMORY
};
/* Keys, and values unless `keys_only`, will be in `memory`, which is borrowed and must not change.
 * Does nothing if offsets into it do not fit in 32 bits. */
void batch_builder_borrow(struct batch_builder *r, const struct buffer *memory, bool keys_only);
/* Adds a record; key and value are in byte form. They are copied, unless they do not fit into
 * EMIT_BUFFER_BYTES: then they are borrowed until batch_builder_clear and are the batch's only
 * row. */
enum batch_builder_result batch_builder_add(struct batch_builder *r, struct glint_slice key,
                                            struct glint_slice value);
/* Sets *out to the rows so far, at least one, borrowed until batch_builder_clear. */
void batch_builder_get_batch(const struct batch_builder *r, struct glint_batch *out);
/* Removes all rows and keeps the memory. */
void batch_builder_clear(struct batch_builder *r);
void batch_builder_fini(struct batch_builder *r);

/* Combines the records of a reduce task in a hash table as they are read, so that only one record
 * per key is sorted: for values that can be merged in any number of steps, if keys occur in several
 * inputs. Internal to the reduce side. Task's thread. */

/* Zeros before gather_table_open; does not move afterwards. */
struct gather_table {
    struct combine_buffer buffer;
    struct shuffle_spec spec; /* of `buffer`: one partition */
    struct batch_builder *rows;
    struct combine_buffer_order order;
};
/* The number of different keys. */
static inline uint64_t gather_table_keys(const struct gather_table *t)
{
    return t->buffer.table.slots;
}

/* The one key that most records of a reduce task have, if there is such a key: its records are not
 * collected and sorted with the others. They are in order already, that of the inputs, so they are
 * read from the inputs when their turn comes. Inputs whose bytes are in this process are read a
 * second time; the records of others are kept in a run on disk, since to read them again would
 * mean to fetch them again. So a skewed key costs less than as many records with different keys,
 * and needs no memory. Internal to the reduce side; only for shuffles that do not combine. Task's
 * thread. */

/* Zeros: no such key. */
struct frequent_key {
    bool found;
    struct glint_slice key;
    /* Private. */
    struct glint_task *task;
    uint64_t next_check;      /* look for the key when that many records were gathered */
    struct buffer bytes;      /* of `key` */
    struct run_slice *inputs; /* [count], owned: those whose records of the key are left out */
    bool *is_kept;            /* [count]: its records are kept: to read it again means fetching */
    uint32_t count, at;       /* at: the input that is read now */
    struct run_writer writer; /* task == NULL: not open */
    struct run kept;          /* partition i: the records of input i, if is_kept[i] */
    struct run_reader reader; /* of input `at`, or of its part in `kept` */
    bool reading;
    struct buffer scratch; /* of a value that spans blocks */
};
/* Whether the records of an input are kept on disk: its bytes come from another process. */
static inline bool frequent_key_keeps(const struct run_slice *input)
{
    return input->source->memory == NULL && input->source->reread != NULL;
}
static inline bool frequent_key_equals(const struct frequent_key *f, struct glint_slice key)
{
    return f->found && slices_equal(key, f->key);
}
/* Returns 1 and sets *out to the value of the next record that was left out, valid until the next
 * call; 0 at the end; a negative code. */
int frequent_key_next(struct frequent_key *f, struct glint_slice *out);

/* A Bloom filter of the keys that a reduce task has gathered, for joins: records that an operator
 * needs only if their key came before (struct op, needs_match) are left out at once if it did not,
 * so they are neither stored nor sorted. Internal to the reduce side. Task's thread. */

/* Zeros before match_filter_build. */
struct match_filter {
    uint64_t *words; /* a key sets three bits of one; NULL: all keys may match */
    uint32_t count;
    uint32_t asked, passed; /* of the keys, while both are counted */
};
/* Gives up if most of the keys asked so far passed. */
void match_filter_drop_if_useless(struct match_filter *f);

#define MATCH_FILTER_TRIAL 4096u /* keys after which match_filter_drop_if_useless decides */

static inline uint64_t *match_filter_find(const struct match_filter *f, struct glint_slice key,
                                          uint64_t *out_bits)
{
    const uint64_t hash = hash_seeded(key.data, key.size, 1); /* unlike that of the partition */
    *out_bits = UINT64_C(1) << (hash & 63) | UINT64_C(1) << (hash >> 6 & 63) |
                UINT64_C(1) << (hash >> 12 & 63);
    return &f->words[hash_to_range(hash, f->count)];
}

/* Returns false if the key was not added. */
static inline bool match_filter_may_match(struct match_filter *f, struct glint_slice key)
{
    uint64_t bits;
    if (f->words == NULL) return true;
    const uint64_t word = *match_filter_find(f, key, &bits);
    const bool passes = (word & bits) == bits;
    if (f->asked < MATCH_FILTER_TRIAL) {
        f->passed += passes;
        if (++f->asked == MATCH_FILTER_TRIAL) match_filter_drop_if_useless(f);
    }
    return passes;
}

/* Zeros before gather_inputs. */
struct gather {
    bool combined; /* all records are in `table`, combined and sorted by key */
    struct gather_table table;
    struct record_buffer buffer; /* all records, sorted by key, if nothing was spilled */
    struct merge_inputs spilled; /* sorted runs of all records, else */
    /* If found, records of this key are missing in the buffer and the runs. They come after those
     * of the same key that are there. */
    struct frequent_key frequent;
    /* Private. */
    struct glint_task *task;
    const struct shuffle_spec *spec;
    uint64_t records; /* of all inputs; UINT64_MAX: not known yet */
    uint64_t budget;  /* bytes of the buffer */
    bool matching;    /* a record that needs a match was found: the filter is complete */
    struct match_filter filter;
    struct run_reader reader;
    struct buffer scratch; /* of a value that spans blocks */
};
/* Whether the inputs fit into the memory of one task, and their records are small: sorting them
 * then costs less than merging. */
bool gather_is_cheaper_than_merge(const struct glint_task *task, const struct run_slice *inputs,
                                  uint32_t count);
/* `may_combine`: the values of a key may be merged here, with the function's `state`. Returns 0 or
 * a negative code with the task's error set; call gather_fini in both cases. */
int gather_inputs(struct gather *g, struct glint_task *task, const struct shuffle_spec *spec,
                  void *state, bool may_combine, const struct run_slice *inputs, uint32_t count);
/* The same for records that come as batches, not from inputs, and are not combined: begin, batch
 * for each, which is copied, finish. The last two return as gather_inputs. */
void gather_begin(struct gather *g, struct glint_task *task, const struct shuffle_spec *spec);
int gather_batch(struct gather *g, const struct glint_batch *batch);
int gather_finish(struct gather *g);
/* Frees everything and removes the runs that are left. Zeros are fine. */
void gather_fini(struct gather *g);

#endif
