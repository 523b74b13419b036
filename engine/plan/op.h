/* What an operator is: a constant table at the bottom of its file in ops/. The engine finds
 * operators by name in the program's list (ops/table.c) and knows none of them itself.
 *
 * A wide operator has no code of its own on the executor: it is two halves that the shuffle
 * provides, told what to do by a struct shuffle_dependency. So an executor only ever runs straight
 * pipelines: source -> narrow -> ... -> narrow -> (shuffle write | action). */
#ifndef GLINT_PLAN_OP_H
#define GLINT_PLAN_OP_H

#include "engine/data/emitter.h"
#include "engine/plan/shuffle_dependency.h"

enum op_kind {
    OP_SOURCE,   /* makes records from a split */
    OP_NARROW,   /* batches in, batches out */
    OP_WIDE,     /* a shuffle; no code */
    OP_UNION,    /* the parents' partitions, one parent after the other; no code */
    OP_COALESCE, /* neighbouring partitions of the parent, one after the other; no code */
    OP_ACTION,   /* batches in, one result per partition */
};

/* What open sees. Everything is borrowed and lives as long as the operator's state. */
struct op_open {
    struct glint_task *task;
    const struct glint_function *function; /* NULL: none */
    struct glint_slice args;               /* of the function */
    struct glint_slice params;             /* of the operator: what its driver half packed */
    struct glint_schema in, out;
    bool grouped; /* the input is grouped by key */
    /* Actions that save: the directories to write attempt files into, one per output. */
    const char *const *outputs;
    uint32_t output_count;
};

struct op {
    const char *name; /* Spark's word: reduceByKey */
    enum op_kind kind;
    unsigned
        function_kinds;  /* of functions that it takes: bits 1 << GLINT_MAP ...; 0: it takes none */
    uint32_t state_size; /* zeroed before open */
    /* All of these: the task's thread. open answers 0 or a code with the task's error set. */
    int (*open)(void *state, const struct op_open *o);
    /* Once per batch. `batch` is borrowed until return: copy what you keep. May block on local
     * disk, never on the network or on another task. */
    enum flow (*push)(void *state, const struct glint_batch *batch, struct glint_emitter *out);
    /* Once, after the last batch, unless the task failed. NULL: nothing to do. */
    enum flow (*finish)(void *state, struct glint_emitter *out);
    /* Once after open, also after errors. NULL: nothing to do. */
    void (*close)(void *state);
    /* Sources: all records of a split. */
    enum flow (*run)(void *state, struct glint_slice split, struct glint_emitter *out);
    /* Actions, after finish: appends the partition's result for the driver. NULL: none. */
    int (*result)(void *state, struct buffer *out);
};

/* Calling a function of the job, with its state and arguments. */
struct function_call {
    struct glint_task *task;
    const struct glint_function *fn;
    void *state;
    bool opened;
};
/* `c` holds zeros before. function_call_close is due also when this fails. */
int function_call_open(struct function_call *c, struct glint_task *task,
                       const struct glint_function *fn, struct glint_slice args);
void function_call_close(struct function_call *c);
/* MAP and FLAT_MAP: all rows of a batch, by the batch form where there is one. */
enum flow function_call_batch(struct function_call *c, const struct glint_batch *batch,
                              struct glint_emitter *out);
/* The task's code after a function returned something else than 0: a code whose error it may have
 * forgotten to set, or a number that is no code. */
int function_set_return_error(struct glint_task *task, const struct glint_function *fn,
                              int returned);
/* What a function returned, as a flow. */
static inline enum flow function_call_result_to_flow(struct function_call *c, int returned,
                                                     const struct glint_emitter *out)
{
    if (returned == 0) return out->flow;
    function_set_return_error(c->task, c->fn, returned);
    return FLOW_FAIL;
}

#endif
