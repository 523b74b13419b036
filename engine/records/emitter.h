/* Collects the rows that an operator emits into batches and pushes these to the next operator.
 *
 * Each operator of a pipeline has one emitter. Bytes inside the input batch are passed by
 * reference. Other bytes are copied into the emitter's buffer, and after the first such cell the
 * column always copies: a batch cannot mix both, so a function that alternates would otherwise emit
 * batches of one row. Task's thread; memory is in the task's arena. */
#ifndef GLINT_RECORDS_EMITTER_H
#define GLINT_RECORDS_EMITTER_H

#include "engine/batch.h"
#include "engine/records/task.h"

enum flow {
    FLOW_MORE, /* send the next batch */
    FLOW_STOP, /* enough: cancel upstream, no error */
    FLOW_FAIL, /* the task's error is set, unwind */
};

/* Takes one batch, borrowed until it returns. `out` is the operator's own emitter. */
typedef enum flow (*flow_push)(void *state, const struct glint_batch *batch,
                               struct glint_emitter *out);

struct emit_column {
    struct glint_column column; /* of the next batch; points into the arrays below */
    uint32_t *start, *end;      /* [BATCH_ROWS_MAX], allocated at first use */
    int64_t *i64;               /* or f64: the same memory */
    uint8_t *buffer;            /* EMIT_BUFFER_BYTES */
    uint32_t used;              /* bytes of buffer */
    bool copies;                /* cells are in `buffer`, not in the input batch */
};

struct glint_emitter {
    struct glint_task *task;
    enum flow flow;   /* the last result of the next operator; FAIL and STOP are final */
    uint32_t rows;    /* collected, not yet pushed */
    bool numbers;     /* both columns are numbers or NONE, their arrays exist, flow is MORE */
    bool borrows;     /* of the rows so far the key is bytes of `in`, the value a number */
    uint64_t emitted; /* rows since emitter_init */
    struct emit_column key, value;
    flow_push push; /* the next operator, its state, its own emitter */
    void *push_state;
    struct glint_emitter *push_out;
    const struct glint_function *push_function; /* of that operator; NULL: none */
    uint32_t push_partition; /* its partition, another one after a union or a coalesce */
    /* While an operator that keeps the key or the value runs on a batch, the cells of row
     * `kept_row` of `in` replace the ones that the function emits. */
    const struct glint_batch *in; /* the current input batch, which cells may reference */
    bool keep_key, keep_value;
    uint32_t kept_row;
    struct glint_schema fits; /* types of glint_emit_typed that are known to fit; zeros: none */
    uint32_t struct_size; /* of emitted values, if the function's output is a GLINT_STRUCT; or 0 */
};

/* Borrows everything. `schema` gives the types of the emitted rows. No fini: see the arena. */
void emitter_init(struct glint_emitter *e, struct glint_task *task, struct glint_schema schema,
                  flow_push push, void *push_state, struct glint_emitter *push_out);
/* Pushes the rows collected so far, if any. Returns the emitter's flow. */
enum flow emitter_flush(struct glint_emitter *e);

#endif
