/* See shuffle_node.h. */
#include "engine/executor/shuffle_node.h"

#include "engine/batch.h"
#include "engine/shuffle/read.h"
#include "engine/shuffle/write.h"

#include <assert.h>

void shuffle_node_spec(const struct stage_node *node, struct glint_schema in,
                       struct shuffle_spec *out)
{
    *out = (struct shuffle_spec){.partitions = node->partitions,
                                 .dependency = node->dependency,
                                 .map_side = node->dependency.combine != COMBINE_NONE,
                                 .fn = node->fn,
                                 .needs_match = node->op->needs_match,
                                 .sequential = node->fn != NULL && node->fn->sequential,
                                 .key = in.key,
                                 .value = in.value,
                                 .acc = node->schema.value};
}

/* ---- The reduce half */

static int emit_records(struct glint_task *task, const struct shuffle_spec *spec, void *state,
                        const struct run_slice *inputs, uint32_t count, struct glint_emitter *out)
{
    struct shuffle_reader *reader = shuffle_reader_open(task, spec, state, inputs, count);
    struct glint_batch batch;
    int r = reader != NULL ? 0 : task->error.code;
    while (reader != NULL && (r = shuffle_reader_next(reader, &batch)) > 0) {
        glint_emit_batch(out, &batch);
        if (out->flow != FLOW_MORE) break;
    }
    shuffle_reader_close(reader);
    return r < 0 ? r : 0;
}

int shuffle_node_emit(struct glint_task *task, const struct stage_node *node,
                      const struct run_slice *inputs, uint32_t count, struct glint_emitter *out)
{
    struct shuffle_spec spec;
    struct function_call call = {.opened = false};
    /* Shuffled records have the same key type as the output and, unless values are combined, the
     * same value type. */
    shuffle_node_spec(node, node->schema, &spec);
    int r = spec.fn != NULL ? function_call_open(&call, task, spec.fn, node->args) : 0;
    const struct glint_function *function = task_set_function(task, spec.fn);
    if (r == 0) r = emit_records(task, &spec, call.state, inputs, count, out);
    task_set_function(task, function);
    function_call_close(&call);
    return r;
}

/* ---- Narrow nodes */

struct narrow_shuffle {
    struct glint_task *task;
    const struct stage_node *node;
    struct shuffle_spec spec; /* of the map half; the writer refers to it */
    struct function_call call;
    struct shuffle_writer *writer;
};

struct narrow_shuffle *narrow_shuffle_open(struct glint_task *task, const struct stage_node *node,
                                           struct glint_schema in)
{
    struct narrow_shuffle *s = mem_zalloc(sizeof *s);
    assert(node->op->kind == OP_WIDE && node->narrow);
    if (s == NULL) {
        error_no_memory(&task->error);
        return NULL;
    }
    s->task = task;
    s->node = node;
    shuffle_node_spec(node, in, &s->spec);
    /* All records are of this partition: neither the partitioner nor its bounds are needed. */
    s->spec.partitions = 1;
    s->spec.dependency.partitioner = PARTITION_HASH;
    int r = s->spec.fn != NULL ? function_call_open(&s->call, task, s->spec.fn, node->args) : 0;
    if (r == 0) s->writer = shuffle_writer_open(task, &s->spec, s->call.state);
    if (s->writer != NULL) return s;
    narrow_shuffle_close(s);
    return NULL;
}

enum flow narrow_shuffle_push(void *state, const struct glint_batch *batch,
                              struct glint_emitter *out)
{
    struct narrow_shuffle *s = state;
    (void)out;
    return shuffle_writer_push(s->writer, batch) == 0 ? FLOW_MORE : FLOW_FAIL;
}

/* Ends the map half. Its records and bytes are no map output, so they are not counted. */
static int finish_writer(struct narrow_shuffle *s, struct run *out)
{
    int64_t *values = s->task->counters.values;
    const int64_t records = values[COUNT_MAP_OUTPUT_RECORDS];
    const int64_t bytes = values[COUNT_MAP_OUTPUT_BYTES];
    const bool compress = s->task->compress_outputs;
    const struct glint_function *function = task_set_function(s->task, s->spec.fn);
    s->task->compress_outputs = false; /* it does not leave this process */
    int r = shuffle_writer_finish(s->writer, out);
    s->task->compress_outputs = compress;
    task_set_function(s->task, function);
    values[COUNT_MAP_OUTPUT_RECORDS] = records;
    values[COUNT_MAP_OUTPUT_BYTES] = bytes;
    shuffle_writer_close(s->writer);
    s->writer = NULL;
    function_call_close(&s->call);
    s->call = (struct function_call){.opened = false};
    return r;
}

int narrow_shuffle_finish(struct narrow_shuffle *s, struct glint_emitter *out)
{
    struct run run = {.partitions = 0};
    assert(s->writer != NULL);
    int r = finish_writer(s, &run);
    if (r == 0) {
        const struct run_slice input = run_slice(&run, 0);
        r = shuffle_node_emit(s->task, s->node, &input, 1, out);
    }
    run_destroy(&run);
    return r;
}

void narrow_shuffle_close(struct narrow_shuffle *s)
{
    if (s == NULL) return;
    shuffle_writer_close(s->writer);
    function_call_close(&s->call);
    mem_free(s);
}

/* ---- Memory */

/* Of a node that emits to a consumer: how many halves of a slot's memory are taken at most, */
struct halves {
    uint32_t before, /* while the consumer has not received a record, */
        after;       /* and from its first record on */
};

static uint32_t greater(uint32_t a, uint32_t b)
{
    return a > b ? a : b;
}

/* A narrow node holds its records while its parent emits, then reads them alone. A union's second
 * parent begins when the consumer has the records of the first. A zip keeps its right parent. */
static struct halves node_halves(const struct stage_node *n, const struct halves *nodes)
{
    const bool left = n->parents[0] != STAGE_NO_PARENT, right = n->parents[1] != STAGE_NO_PARENT;
    const struct halves none = {0, 0}, a = left ? nodes[n->parents[0]] : none,
                        b = right ? nodes[n->parents[1]] : none;
    switch (n->op->kind) {
    case OP_WIDE:
        return (struct halves){left ? greater(a.before, a.after + 1) : 1, 1};
    case OP_UNION: {
        const uint32_t second = n->narrow ? b.before : b.after;
        return (struct halves){greater(a.before, b.before), greater(a.after, second)};
    }
    case OP_COALESCE: return (struct halves){a.before, a.before};
    case OP_ZIP:
    case OP_CARTESIAN:
        return (struct halves){greater(b.before, a.before + 1), a.after + 1};
    default: return a;
    }
}

uint32_t stage_memory_shares(const struct stage_plan *stage)
{
    bool narrow = false;
    for (uint32_t i = 0; i < stage->node_count; i++)
        narrow = narrow || (stage->nodes[i].narrow && stage->nodes[i].op->kind == OP_WIDE);
    if (!narrow) return 1;
    struct halves *nodes = mem_alloc(sizeof *nodes * stage->node_count);
    if (nodes == NULL) return 0;
    for (uint32_t i = 0; i < stage->node_count; i++)
        nodes[i] = node_halves(&stage->nodes[i], nodes);
    const uint32_t most = nodes[stage->node_count - 1].before;
    mem_free(nodes);
    return greater(1, (most + 1) / 2);
}
