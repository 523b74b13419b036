/* count: returns the number of records. */
#include "engine/batch.h"
#include "engine/records/codec.h"
#include "ops/ops.h"

struct count_state {
    struct glint_task *task;
    uint64_t rows;
};

static int count_op_open(void *state, const struct op_open *o)
{
    ((struct count_state *)state)->task = o->task;
    return 0;
}

static enum flow count_op_push(void *state, const struct glint_batch *batch,
                               struct glint_emitter *out)
{
    (void)out;
    ((struct count_state *)state)->rows += batch->rows;
    return FLOW_MORE;
}

static int count_op_result(void *state, struct buffer *out)
{
    struct count_state *s = state;
    uint8_t varint[10];
    if (buffer_append(out, varint, codec_put_varint(varint, s->rows))) return 0;
    return error_no_memory(&s->task->error);
}

const struct op op_count = {.name = "count",
                            .kind = OP_ACTION,
                            .state_size = sizeof(struct count_state),
                            .open = count_op_open,
                            .push = count_op_push,
                            .result = count_op_result};

struct count_action {
    struct glint *g;
    int64_t rows;
};

static int count_op_on_result(void *arg, uint32_t partition, struct glint_slice result)
{
    (void)partition;
    struct count_action *c = arg;
    uint64_t rows;
    unsigned n = codec_get_varint(result.data, result.data + result.size, &rows);
    /* Results come from executors: check them before adding. */
    if (n == 0 || n != result.size || rows > (uint64_t)(INT64_MAX - c->rows))
        return set_malformed_result_error(c->g, &op_count);
    c->rows += (int64_t)rows;
    return 0;
}

int glint_count(struct glint_rdd *rdd, int64_t *out)
{
    *out = 0;
    if (rdd == NULL) return rdd_null_error("count");
    struct count_action c = {rdd->g, 0};
    struct action a = {.op = &op_count, .rdd = rdd, .on_result = count_op_on_result, .arg = &c};
    int r = run_action_of_rdd(&a);
    if (r == 0) *out = c.rows;
    return r;
}
