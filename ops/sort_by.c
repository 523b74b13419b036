/* sortBy: sortByKey with the key that a function computes from a record. A pair is packed into the
 * value of that key, and unpacked after the sort. */
#include "engine/batch.h"
#include "ops/record_key.h"

struct keys_state {
    struct function_op_state function; /* must be first: function_op_open and _close use it */
    struct glint_schema in;
    struct buffer bytes;
    uint32_t start[BATCH_ROWS_MAX], end[BATCH_ROWS_MAX];
};

static int sort_by_keys_open(void *state, const struct op_open *o)
{
    ((struct keys_state *)state)->in = o->in;
    return function_op_open(state, o);
}

/* Packs the rows from `first`, up to the size of a batch. Returns how many; 0 with the task's error
 * set. */
static uint32_t pack_rows_as_values(struct keys_state *s, const struct glint_batch *batch,
                                    uint32_t first)
{
    struct glint_task *task = s->function.call.task;
    uint32_t rows = 0;
    s->bytes.size = 0;
    while (first + rows < batch->rows && s->bytes.size < BATCH_BYTES_MAX) {
        const struct glint_record record = glint_batch_record(batch, first + rows);
        const uint64_t start = s->bytes.size;
        if (!record_key_append(&s->bytes, s->in, &record)) {
            error_no_memory(&task->error);
            return 0;
        }
        const uint64_t size = s->bytes.size - start;
        if (size > KEY_BYTES_MAX) {
            error_set(&task->error, GLINT_E_VALUE_LIMIT, NULL,
                      "sortBy: a record of %llu bytes; the limit is %llu", (unsigned long long)size,
                      (unsigned long long)KEY_BYTES_MAX);
            return 0;
        }
        s->start[rows] = (uint32_t)start;
        s->end[rows] = (uint32_t)s->bytes.size;
        rows++;
    }
    return rows;
}

static enum flow sort_by_keys_push(void *state, const struct glint_batch *batch,
                                   struct glint_emitter *out)
{
    struct keys_state *s = state;
    /* The emitter takes the value of each row from the packed batch. */
    out->keep_value = true;
    for (uint32_t first = 0; first < batch->rows;) {
        struct glint_batch packed = {.rows = pack_rows_as_values(s, batch, first),
                                     .origin = batch->origin};
        if (packed.rows == 0) return FLOW_FAIL;
        packed.value = (struct glint_column){.type = GLINT_BYTES,
                                             .base = s->bytes.data,
                                             .start = s->start,
                                             .end = s->end,
                                             .size = s->bytes.size};
        enum flow flow = function_call_rows(&s->function.call, batch, first, &packed, out);
        if (flow != FLOW_MORE) return flow;
        first += packed.rows;
    }
    return FLOW_MORE;
}

static void sort_by_keys_close(void *state)
{
    buffer_fini(&((struct keys_state *)state)->bytes);
    function_op_close(state);
}

static const struct glint_rdd *check_key_function(struct glint_rdd *rdd,
                                                  const struct glint_function *function)
{
    if (function != NULL && function->each == NULL)
        return rdd_fail(rdd, GLINT_E_PLAN_FUNCTION, "sortBy: %s has no callback each",
                        function->name);
    return rdd;
}

/* (key of the sort, packed pair) */
static struct glint_rdd *map_to_sort_key_pairs(struct glint_rdd *rdd,
                                               const struct glint_function *function,
                                               struct glint_args *args)
{
    if (check_key_function(rdd, function) == NULL) return NULL;
    struct rdd_spec spec = {.op = &op_sort_by_keys,
                            .parents = {rdd},
                            .function = function,
                            .args = args,
                            .schema = {GLINT_ANY, GLINT_BYTES}};
    struct glint_rdd *out = rdd_create(rdd->g, &spec);
    if (out != NULL && !rdd_is_pair(out))
        return rdd_fail(out, GLINT_E_PLAN_TYPE, "%s emits no keys", function->name);
    return out;
}

struct glint_rdd *glint_sort_by(struct glint_rdd *rdd, const struct glint_function *function,
                                struct glint_args *args, bool ascending)
{
    if (rdd == NULL) return rdd_fail_null("sortBy");
    const bool pairs = rdd_is_pair(rdd) && rdd->schema.value != GLINT_NONE;
    struct glint_rdd *keyed =
        pairs ? map_to_sort_key_pairs(rdd, function, args) : glint_key_by(rdd, function, args);
    struct glint_rdd *sorted = glint_sort_by_key(keyed, ascending);
    struct glint_rdd *out = glint_values(sorted);
    if (out != NULL && pairs) return record_key_unpacked_rdd(out, rdd->schema, sorted);
    /* glint_with_partitions on the result applies to the sort. */
    if (out != NULL) out->shuffle = sorted;
    return out;
}

const struct op op_sort_by_keys = {.name = "sortBy.keys",
                                   .kind = OP_NARROW,
                                   .function_kinds = 1u << GLINT_KIND_MAP,
                                   .state_size = sizeof(struct keys_state),
                                   .open = sort_by_keys_open,
                                   .push = sort_by_keys_push,
                                   .close = sort_by_keys_close};
