/* An operator: a constant table at the bottom of its file in ops/. The engine finds operators by
 * name in the program's list (ops/ops.h) and does not depend on any of them.
 *
 * A wide operator has no executor code: the shuffle implements its map and reduce halves, as its
 * struct shuffle_dependency says. An executor therefore only runs linear pipelines: source ->
 * narrow -> ... -> narrow -> (shuffle write | action). An operator with two parents receives the
 * batches of one after those of the other, so that only one pipeline runs at a time. */
#ifndef GLINT_PLAN_OP_H
#define GLINT_PLAN_OP_H

#include "engine/batch.h"
#include "engine/glint.h"
#include "engine/records/emitter.h"

/* How a shuffle distributes records over partitions, and whether it combines the values of a key.
 * Part of the plan; engine/shuffle executes it. */

/* How the output partition of a record is chosen. */
enum partitioner {
    PARTITION_HASH,     /* hash of the encoded key */
    PARTITION_RANGE,    /* number of bounds below the key; reversed if descending */
    PARTITION_SPREAD,   /* by (map partition, index of the record): repartition */
    PARTITION_FUNCTION, /* a function of the job: glint_with_partitioner */
};

/* How values of equal keys are merged. */
enum combine {
    COMBINE_NONE,   /* every record is kept, equal keys in map order; no function */
    COMBINE_FIRST,  /* keeps the first record of each key: distinct; no function */
    COMBINE_REDUCE, /* `merge`, starting from the first value */
    /* `merge`, from `zero` once per key and map task; `merge` across map tasks. */
    COMBINE_FOLD,
    COMBINE_AGGREGATE, /* `merge`, from `zero`; `combine` across map tasks */
    COMBINE_CREATE,    /* `create` from the first value, `merge`; `combine` across map tasks */
};

/* The parameters of one shuffle; borrowed from the plan or the decoded stage. */
struct shuffle_dependency {
    enum partitioner partitioner;
    enum combine combine;
    bool descending;         /* sort order of the keys */
    struct glint_slice zero; /* FOLD, AGGREGATE: encoded initial accumulator */
    /* RANGE: encoded keys, ascending; fewer than the shuffle's partitions. */
    const struct glint_slice *bounds;
    uint32_t bound_count;
    const struct glint_function *partition_fn; /* FUNCTION; else NULL */
    struct glint_slice partition_args;         /* its encoded arguments */
};

enum op_kind {
    OP_SOURCE,   /* makes records from a split */
    OP_NARROW,   /* batches in, batches out */
    OP_WIDE,     /* a shuffle; no code of its own */
    OP_UNION,    /* the partitions of both parents, one parent after the other; no code */
    OP_COALESCE, /* neighbouring partitions of the parent, concatenated; no code */
    OP_ZIP,      /* narrow, of partition p of both parents, which have as many partitions */
    /* Narrow, of partition p / n of the left parent and p % n of the right one, which has n. */
    OP_CARTESIAN,
    OP_ACTION, /* batches in, one result per partition */
};

/* What `open` receives. All of it is borrowed and outlives the operator's state. */
struct op_open {
    struct glint_task *task;
    const struct glint_function *function; /* NULL: none */
    struct glint_slice args;               /* of the function */
    struct glint_slice params;             /* of the operator: what its driver half packed */
    struct glint_schema in, right, out;    /* `right`: of the second parent; ANY without one */
    bool grouped;                          /* the input is grouped by key */
    /* Actions that save: the directories for attempt files, one per output; of one in a store, as
     * input/remote_store.h says. */
    const char *const *outputs;
    uint32_t output_count;
};

/* True for kinds whose operators receive batches and emit some. */
static inline bool op_kind_is_narrow(enum op_kind kind)
{
    return kind == OP_NARROW || kind == OP_ZIP || kind == OP_CARTESIAN;
}

/* The table of an operator. Callbacks that its kind does not use are NULL. */
struct op {
    const char *name; /* Spark's name: reduceByKey */
    enum op_kind kind;
    unsigned
        function_kinds; /* the kinds it takes, bits 1 << GLINT_KIND_MAP ...; 0: takes no function */
    /* Its input is what the function returns, not what it takes: accumulators, to be merged. */
    bool takes_accumulators;
    uint32_t state_size; /* zeroed before open */
    /* All callbacks run on the task's thread. Returns 0 or a code with the task's error set. */
    int (*open)(void *state, const struct op_open *o);
    /* Once per batch. `batch` is borrowed until return: copy what must stay. May block on local
     * disk, and of an action on a store that its output is in; never on another task. */
    enum flow (*push)(void *state, const struct glint_batch *batch, struct glint_emitter *out);
    /* ZIP and CARTESIAN, the same for the right parent: all its batches come before those of the
     * left one, which are not read if this returns FLOW_STOP. */
    enum flow (*push_right)(void *state, const struct glint_batch *batch,
                            struct glint_emitter *out);
    /* Once, after the last batch, unless the task failed. NULL: nothing to do. */
    enum flow (*finish)(void *state, struct glint_emitter *out);
    /* Once after `open`, also after errors. NULL: nothing to do. */
    void (*close)(void *state);
    /* Sources: emits all records of a split. */
    enum flow (*run)(void *state, struct glint_slice split, struct glint_emitter *out);
    /* Actions, after `finish`: appends the partition's result for the driver. Returns 0 or a code
     * with the task's error set. NULL: no result. */
    int (*result)(void *state, struct buffer *out);
    /* WIDE, of two sides in one shuffle: whether a record with this value (in byte form) is not
     * needed unless a record of its key that needs no match comes before it. Those come before all
     * that do. NULL: all records are needed. */
    bool (*needs_match)(struct glint_slice value);
    /* NARROW: whether rows of a group that a source can read lead to output
     * (glint_skip_row_groups). Returns 1, 0 or a code. NULL: all do. */
    int (*may_need)(void *state, const struct glint_row_group *group);
    /* NARROW: the rows that need not be made. NULL: all are needed. */
    const struct row_skip *(*row_skip)(void *state);
    /* Writes what explain shows of the parameters besides the name. NULL: nothing. */
    void (*describe)(struct glint_slice params, char *out, size_t capacity);
};

/* A function of the job, opened for one task, with its state. */
struct function_call {
    struct glint_task *task;
    const struct glint_function *fn;
    void *state;
    bool opened;
    /* GLINT_STRUCT values: their size, 0: none. The batch that the function gets if their bytes are
     * not aligned, with a copy of them; in the task's arena. */
    uint32_t struct_size;
    struct glint_batch *aligned;
    uint8_t *copy;
    uint64_t copy_capacity;
};
/* The name of the argument that glint_bind adds. */
#define ARGS_BOUND ""
/* Copies what glint_bind has bound to the function's state. Returns 0 or a code with the task's
 * error set. */
int args_copy_bound(struct glint_task *task, const struct glint_function *fn,
                    struct glint_slice args, void *state);
/* `c` must be zeroed. Returns 0 or a code with the task's error set. Call function_call_close also
 * after a failure. */
int function_call_open(struct function_call *c, struct glint_task *task,
                       const struct glint_function *fn, struct glint_slice args);
void function_call_close(struct function_call *c);
/* Returns the batch as the function must get it: `batch` itself, unless its values are of a
 * GLINT_STRUCT type and not aligned. Returns NULL with the task's error set, also if a value has
 * another size. */
const struct glint_batch *function_call_align_copy(struct function_call *c,
                                                   const struct glint_batch *batch);
static inline const struct glint_batch *function_call_align(struct function_call *c,
                                                            const struct glint_batch *batch)
{
    return c->struct_size == 0 ? batch : function_call_align_copy(c, batch);
}
/* MAP: calls `each` on the rows of `batch` from `first`, of which `kept` has those that the emitter
 * keeps. */
enum flow function_call_rows(struct function_call *c, const struct glint_batch *batch,
                             uint32_t first, const struct glint_batch *kept,
                             struct glint_emitter *out);
/* MAP and FLAT_MAP: calls the function on all rows of a batch, with its batch version if it has
 * one. */
enum flow function_call_batch(struct function_call *c, const struct glint_batch *batch,
                              struct glint_emitter *out);
/* Sets the task's error for a function that returned non-zero, unless the function has set one: a
 * negative code without an error, or a number that is no code. Returns the task's code. */
int function_set_return_error(struct glint_task *task, const struct glint_function *fn,
                              int returned);
/* Sets the task's error for a value that does not have the size of the function's GLINT_STRUCT. */
int function_set_size_error(struct glint_task *task, const struct glint_function *fn, uint32_t want,
                            uint64_t size);
/* Converts what a function returned into a flow. */
static inline enum flow function_call_result_to_flow(struct function_call *c, int returned,
                                                     const struct glint_emitter *out)
{
    if (returned == 0) return out->flow;
    function_set_return_error(c->task, c->fn, returned);
    return FLOW_FAIL;
}

#endif
