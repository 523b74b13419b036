/* How records get from one operator to the next: rows are gathered into batches, batches are
 * pushed.
 *
 * One emitter stands behind each operator of a pipeline. Bytes that lie in the input batch are
 * passed on by reference; other bytes are copied into the emitter's buffer, and from the first such
 * cell on the column copies always, so that a function that mixes both does not cut batches into
 * single rows. Belongs to the task's thread; its memory is the task's arena. */
#ifndef GLINT_DATA_EMITTER_H
#define GLINT_DATA_EMITTER_H

#include "engine/data/task.h"

enum flow {
    FLOW_MORE, /* send the next batch */
    FLOW_STOP, /* enough: cancel upstream, no error */
    FLOW_FAIL, /* the task's error is set, unwind */
};

typedef enum flow (*flow_push)(void *state, const struct glint_batch *batch,
                               struct glint_emitter *out);

struct emit_column {
    struct glint_column column; /* what the next batch will show; pointers into the arrays below */
    uint32_t *start, *end;      /* BATCH_ROWS_MAX each, made at first use */
    int64_t *i64;               /* or f64: the same memory */
    uint8_t *buffer;            /* EMIT_BUFFER_BYTES */
    uint32_t used;
    bool copies;
};

struct glint_emitter {
    struct glint_task *task;
    enum flow flow;   /* what the operator behind has answered so far; FAIL and STOP stay */
    uint32_t rows;    /* gathered, not yet pushed */
    bool numbers;     /* both columns are numbers or NONE, their arrays exist, flow is MORE */
    uint64_t emitted; /* since it was opened */
    struct emit_column key, value;
    flow_push push; /* the operator behind, its state, its own emitter */
    void *push_state;
    struct glint_emitter *push_out;
    const struct glint_function *push_function; /* of that operator; NULL: none */
    uint32_t push_partition; /* its partition: a union or a coalesce between gives it another one */
    /* While an operator that keeps the key or the value works on a batch: the cells of `in`, row
     * `kept_row` by `kept_row`, replace what the function emits. */
    const struct glint_batch *in; /* the batch at hand: what may be referenced */
    bool keep_key, keep_value;
    uint32_t kept_row;
};

void emitter_init(struct glint_emitter *e, struct glint_task *task, struct glint_schema schema,
                  flow_push push, void *push_state, struct glint_emitter *push_out);
/* Pushes the rows gathered so far. Answers the emitter's flow. */
enum flow emitter_flush(struct glint_emitter *e);

#endif
