/* Reads all inputs of a reduce task, in map order, and sorts their records: in memory if they fit
 * into the budget, else as sorted runs on disk. Equal keys keep the order of the inputs, and of the
 * records in an input. Internal to the reduce side. Task's thread. */
#ifndef GLINT_SHUFFLE_GATHER_H
#define GLINT_SHUFFLE_GATHER_H

#include "engine/base/hash.h"
#include "engine/base/mem.h"
#include "engine/batch.h"
#include "engine/glint.h"
#include "engine/limits.h"
#include "engine/records/bytes.h"
#include "engine/shuffle/combine_buffer.h"
#include "engine/shuffle/merge_inputs.h"
#include "engine/shuffle/record_buffer.h"
#include "engine/shuffle/shuffle_spec.h"

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
void match_filter_check_use(struct match_filter *f);

#define MATCH_FILTER_TRIAL 4096u /* keys after which match_filter_check_use decides */

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
        if (++f->asked == MATCH_FILTER_TRIAL) match_filter_check_use(f);
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
    uint64_t records; /* of all inputs */
    uint64_t budget;  /* bytes of the buffer */
    bool matching;    /* a record that needs a match was found: the filter is complete */
    struct match_filter filter;
    struct run_reader reader;
    struct buffer scratch; /* of a value that spans blocks */
};
/* Whether the inputs fit into the memory of one task, and their records are small: sorting them
 * then costs less than merging. */
bool gather_is_cheaper(const struct glint_task *task, const struct run_slice *inputs,
                       uint32_t count);
/* `may_combine`: the values of a key may be merged here, with the function's `state`. Returns 0 or
 * a negative code with the task's error set; call gather_fini in both cases. */
int gather_inputs(struct gather *g, struct glint_task *task, const struct shuffle_spec *spec,
                  void *state, bool may_combine, const struct run_slice *inputs, uint32_t count);
/* Frees everything and removes the runs that are left. Zeros are fine. */
void gather_fini(struct gather *g);

#endif
