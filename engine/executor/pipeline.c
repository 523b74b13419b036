/* Runs a partition from its sources to the root.
 *
 * A walk starts at the root and goes up the plan. Narrow nodes on the way form a chain of
 * operators: each is opened when the walk enters it, receives batches from the nodes above, and is
 * finished and closed when the walk leaves it. A coalesce node runs several partitions of its
 * parent into the same chain, one after the other; a node with two parents runs the right one's
 * chain, then the left one's. A persisted node gets a frame of its own below it, which copies its
 * batches to a block; if the store has its block, that is read instead of what is above it. The
 * stack is explicit, because a plan may be too long for recursion.
 *
 *    root <- map <- filter <- union ─┬─ textFile      (partition selects the branch)
 *    push <──────── push <───────────┘                (batches go down by calls) */
#include "engine/batch.h"
#include "engine/executor/executor.h"
#include "engine/plan/stage_plan.h"
#include "engine/records/codec.h"
#include "engine/records/pack.h"
#include "engine/records/run.h"
#include "engine/shuffle/shuffle.h"

#include <assert.h>

struct narrow_shuffle;
/* As the push of an operator; `state` is the narrow_shuffle, nothing is emitted. */
enum flow narrow_shuffle_push(void *state, const struct glint_batch *batch,
                              struct glint_emitter *out);

/* A node on the walk's stack. */
struct walk_frame {
    const struct stage_node *node;
    /* Coalesce: partitions of the parent still to run. Narrow union: `end` parents were run. */
    uint32_t partition, end;
    bool entered;
    bool in_right;  /* of two parents, the right one is being read */
    void *state;    /* narrow: the operator's state (WIDE: a narrow_shuffle), and its emitter */
    bool looked_up; /* persisted: the store has been asked for its block */
    struct block_writer *writer; /* a persisted node's own frame: of its block; else NULL */
    struct glint_emitter *out;
    struct walk_frame *below; /* nearest narrow frame; NULL: the root's sink */
};

struct pipeline {
    struct glint_task *task;
    const struct pipeline_input *input;
    struct unpacker splits;
    struct walk_frame *frames;
    uint32_t depth;
    /* The sink: a writer (map side) or an action. */
    struct shuffle_writer *writer;
    const struct op *action;
    void *action_state;
    bool stopped; /* an operator needs no more input (FLOW_STOP) */
};

/* A persisted node is entered first: its frame, on top, is replaced by its block, or becomes the
 * node's own frame, which keeps what the frame of the node itself, now on top of it, pushes. Both
 * return 0 or a code with the task's error set. */
enum flow persisted_push(void *state, const struct glint_batch *batch, struct glint_emitter *out);

static void narrow_shuffle_close(struct narrow_shuffle *s);
static int pipeline_set_function_failed(struct pipeline *p);
static struct glint_emitter *pipeline_emitter_to(struct pipeline *p, struct walk_frame *below,
                                                 struct glint_schema schema);
static void pipeline_frame_push(struct pipeline *p, uint32_t node, uint32_t partition,
                                struct walk_frame *below);

/* ---- shuffle node */

/* The shuffle of a wide node whose map side gets records of schema `in`. */
static void shuffle_node_spec(const struct stage_node *node, struct glint_schema in,
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

static int emit_records_of_reader(struct shuffle_reader *reader, struct glint_emitter *out)
{
    struct glint_batch batch;
    int r;
    while ((r = shuffle_reader_next(reader, &batch)) > 0) {
        glint_emit_batch(out, &batch);
        if (out->flow != FLOW_MORE) break;
    }
    return r < 0 ? r : 0;
}

static int emit_shuffle_records(struct glint_task *task, const struct shuffle_spec *spec,
                                void *state, const struct run_slice *inputs, uint32_t count,
                                struct glint_emitter *out)
{
    struct shuffle_reader *reader = shuffle_reader_open(task, spec, state, inputs, count);
    const int r = reader != NULL ? emit_records_of_reader(reader, out) : task->error.code;
    shuffle_reader_close(reader);
    return r;
}

/* The reduce half: emits the records of `count` inputs, in map order, until `out` needs no more.
 * Opens and closes the node's function. Borrows the inputs. Returns 0 or a code with the task's
 * error set; FLOW_FAIL of `out` may have set none. */
static int shuffle_node_emit(struct glint_task *task, const struct stage_node *node,
                             const struct run_slice *inputs, uint32_t count,
                             struct glint_emitter *out)
{
    struct shuffle_spec spec;
    struct function_call call = {.opened = false};
    /* Shuffled records have the same key type as the output and, unless values are combined, the
     * same value type. */
    shuffle_node_spec(node, node->schema, &spec);
    int r = spec.fn != NULL ? function_call_open(&call, task, spec.fn, node->args) : 0;
    const struct glint_function *function = task_set_function(task, spec.fn);
    if (r == 0) r = emit_shuffle_records(task, &spec, call.state, inputs, count, out);
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
    struct shuffle_reader *reader; /* instead of the writer, if values are not combined */
};

/* The map half of a narrow node: opens it for records of schema `in`. Task's thread, as all calls.
 * Returns NULL with the task's error set. */
static struct narrow_shuffle *
narrow_shuffle_open(struct glint_task *task, const struct stage_node *node, struct glint_schema in)
{
    struct narrow_shuffle *s = mem_zalloc_or_fail(sizeof *s, &task->error);
    assert(node->op->kind == OP_WIDE && node->narrow);
    if (s == NULL) return NULL;
    s->task = task;
    s->node = node;
    shuffle_node_spec(node, in, &s->spec);
    /* All records are of this partition: neither the partitioner nor its bounds are needed. */
    s->spec.partitions = 1;
    s->spec.dependency.partitioner = PARTITION_HASH;
    const bool combines = s->spec.dependency.combine != COMBINE_NONE;
    int r = combines && s->spec.fn != NULL
                ? function_call_open(&s->call, task, s->spec.fn, node->args)
                : 0;
    if (r == 0 && combines) s->writer = shuffle_writer_open(task, &s->spec, s->call.state);
    if (r == 0 && !combines) s->reader = shuffle_reader_open_local(task, &s->spec);
    if (s->writer != NULL || s->reader != NULL) return s;
    narrow_shuffle_close(s);
    return NULL;
}

enum flow narrow_shuffle_push(void *state, const struct glint_batch *batch,
                              struct glint_emitter *out)
{
    struct narrow_shuffle *s = state;
    (void)out;
    const int r = s->reader != NULL ? shuffle_reader_push(s->reader, batch)
                                    : shuffle_writer_push(s->writer, batch);
    return r == 0 ? FLOW_MORE : FLOW_FAIL;
}

/* Ends the map half. Its records and bytes are no map output, so they are not counted. */
static int finish_narrow_shuffle_writer(struct narrow_shuffle *s, struct run *out)
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

/* After the last batch: emits the result. Returns as shuffle_node_emit. */
static int narrow_shuffle_finish(struct narrow_shuffle *s, struct glint_emitter *out)
{
    struct run run = {.partitions = 0};
    if (s->reader != NULL) {
        const struct glint_function *function = task_set_function(s->task, NULL);
        const int e = shuffle_reader_end_input(s->reader);
        const int emitted = e < 0 ? e : emit_records_of_reader(s->reader, out);
        task_set_function(s->task, function);
        return emitted;
    }
    assert(s->writer != NULL);
    int r = finish_narrow_shuffle_writer(s, &run);
    if (r == 0) {
        const struct run_slice input = run_slice(&run, 0);
        r = shuffle_node_emit(s->task, s->node, &input, 1, out);
    }
    run_destroy(&run);
    return r;
}

/* NULL is fine. */
static void narrow_shuffle_close(struct narrow_shuffle *s)
{
    if (s == NULL) return;
    shuffle_writer_close(s->writer);
    shuffle_reader_close(s->reader);
    function_call_close(&s->call);
    mem_free(s);
}

/* ---- Memory */

/* Of a node that emits to a consumer: how many halves of a slot's memory are taken at most, */
struct halves {
    uint32_t before, /* while the consumer has not received a record, */
        after;       /* and from its first record on */
};

static uint32_t max_u32(uint32_t a, uint32_t b)
{
    return a > b ? a : b;
}

/* A narrow node holds its records while its parent emits, then reads them alone. A union's second
 * parent begins when the consumer has the records of the first. A zip keeps its right parent. */
static struct halves count_memory_halves_of_node(const struct stage_node *n,
                                                 const struct halves *nodes)
{
    const bool left = n->parents[0] != STAGE_NO_PARENT, right = n->parents[1] != STAGE_NO_PARENT;
    const struct halves none = {0, 0}, a = left ? nodes[n->parents[0]] : none,
                        b = right ? nodes[n->parents[1]] : none;
    switch (n->op->kind) {
    case OP_WIDE: return (struct halves){left ? max_u32(a.before, a.after + 1) : 1, 1};
    case OP_UNION: {
        const uint32_t second = n->narrow ? b.before : b.after;
        return (struct halves){max_u32(a.before, b.before), max_u32(a.after, second)};
    }
    case OP_COALESCE: return (struct halves){a.before, a.before};
    case OP_ZIP:
    case OP_CARTESIAN: return (struct halves){max_u32(b.before, a.before + 1), a.after + 1};
    default: return a;
    }
}

/* Returns into how many shares the slot's memory must be divided, so that all shuffle halves of the
 * stage that hold records at the same time fit: each takes half of a share. 1 without narrow
 * nodes. */
static uint32_t stage_memory_shares(const struct stage_plan *stage)
{
    bool narrow = false;
    for (uint32_t i = 0; i < stage->node_count; i++)
        narrow = narrow || (stage->nodes[i].narrow && stage->nodes[i].op->kind == OP_WIDE);
    if (!narrow) return 1;
    struct halves *nodes = mem_alloc(sizeof *nodes * stage->node_count);
    if (nodes == NULL) return 0;
    for (uint32_t i = 0; i < stage->node_count; i++)
        nodes[i] = count_memory_halves_of_node(&stage->nodes[i], nodes);
    const uint32_t most = nodes[stage->node_count - 1].before;
    mem_free(nodes);
    return max_u32(1, (most + 1) / 2);
}

/* ---- Persisted nodes of a walk: reads their blocks, or writes them while their records are made.
 */

/* A persisted node's frame: copies the batch to its block and passes it on. */
enum flow persisted_push(void *state, const struct glint_batch *batch, struct glint_emitter *out)
{
    block_writer_push(((struct walk_frame *)state)->writer, batch);
    glint_emit_batch(out, batch);
    return out->flow;
}

static int set_no_split_error(struct pipeline *p)
{
    return error_set(&p->task->error, GLINT_E_PROTOCOL, NULL, "a task has no split");
}

static struct block_location unpack_block_location(struct pipeline *p)
{
    const uint32_t executor = (uint32_t)unpack_u64(&p->splits, UINT32_MAX);
    return (struct block_location){executor, unpack_u64(&p->splits, UINT64_MAX)};
}

/* Discards the splits of what is above a node whose block is read instead. Their order does not
 * matter. */
static int skip_parent_splits(struct pipeline *p, const struct walk_frame *top)
{
    const uint32_t depth = p->depth;
    pipeline_frame_push(p, (uint32_t)(top->node - p->input->stage->nodes), top->partition, NULL);
    while (p->depth > depth) {
        struct walk_frame f = p->frames[--p->depth];
        const struct stage_node *parents[2] = {NULL, NULL};
        if (stage_node_reads_blocks(f.node)) {
            unpack_block_location(p);
            continue;
        }
        for (int i = 0; i < 2; i++)
            if (f.node->parents[i] != STAGE_NO_PARENT)
                parents[i] = &p->input->stage->nodes[f.node->parents[i]];
        switch (f.node->op->kind) {
        case OP_SOURCE: unpack_bytes(&p->splits); break;
        case OP_WIDE:
            if (f.node->narrow) pipeline_frame_push(p, f.node->parents[0], f.partition, NULL);
            break;
        case OP_UNION:
            if (f.node->narrow) pipeline_frame_push(p, f.node->parents[1], f.partition, NULL);
            if (f.node->narrow || f.partition < parents[0]->partitions)
                pipeline_frame_push(p, f.node->parents[0], f.partition, NULL);
            else
                pipeline_frame_push(p, f.node->parents[1], f.partition - parents[0]->partitions,
                                    NULL);
            break;
        case OP_COALESCE:
            if (!f.entered)
                rdd_coalesce_range(parents[0]->partitions, f.node->partitions, f.partition,
                                   &f.partition, &f.end);
            f.entered = true;
            if (f.partition == f.end) break;
            p->frames[p->depth++] = f;
            pipeline_frame_push(p, f.node->parents[0], p->frames[p->depth - 1].partition++, NULL);
            break;
        case OP_CARTESIAN:
            pipeline_frame_push(p, f.node->parents[1], f.partition % parents[1]->partitions, NULL);
            pipeline_frame_push(p, f.node->parents[0], f.partition / parents[1]->partitions, NULL);
            break;
        default:
            if (parents[1] != NULL) pipeline_frame_push(p, f.node->parents[1], f.partition, NULL);
            pipeline_frame_push(p, f.node->parents[0], f.partition, NULL);
        }
    }
    return p->splits.failed ? set_no_split_error(p) : 0;
}

static enum flow emit_persisted_batch(void *out, const struct glint_batch *batch)
{
    glint_emit_batch(out, batch);
    return ((struct glint_emitter *)out)->flow;
}

/* Of this executor, or with NULL of the one that has it. */
static int read_persisted_block(struct pipeline *p, struct walk_frame *f,
                                struct cached_block *block, struct block_location at)
{
    struct glint_emitter *out = pipeline_emitter_to(p, f->below, f->node->schema);
    const struct block_reader to = {f->node->schema, emit_persisted_batch, out};
    const struct remote_block remote = {.fetcher = p->input->fetcher,
                                        .executor = at.executor,
                                        .rdd = f->node->rdd,
                                        .partition = f->partition,
                                        .bytes = at.bytes};
    enum flow flow = FLOW_FAIL;
    if (out != NULL)
        flow = block != NULL ? cached_block_read(p->input->blocks, block, p->task, &to)
                             : remote_block_read(&remote, p->task, &to);
    p->stopped = flow == FLOW_STOP;
    p->depth--;
    return flow == FLOW_FAIL ? pipeline_set_function_failed(p) : 0;
}

/* The block is not in this executor, and the plan has nothing to compute it from. If it is nowhere,
 * the driver sends the rest of the plan. */
static int read_remote_persisted_block(struct pipeline *p, struct walk_frame *f)
{
    const struct block_location at = unpack_block_location(p);
    const bool elsewhere = at.executor != UINT32_MAX && at.executor != p->input->self;
    if (p->splits.failed) return set_no_split_error(p);
    if (elsewhere && p->input->fetcher != NULL) return read_persisted_block(p, f, NULL, at);
    return error_set(&p->task->error, GLINT_E_SPILL_IO, NULL,
                     "the cached block of partition %u of RDD %u is lost", f->partition,
                     f->node->rdd);
}

/* Reads the node's block, or begins to write it. */
static int enter_persisted_node(struct pipeline *p, struct walk_frame *f)
{
    struct block_store *blocks = p->input->blocks;
    assert(f->writer == NULL && !f->entered);
    f->looked_up = true;
    struct cached_block *block =
        blocks != NULL ? block_store_acquire(blocks, f->node->rdd, f->partition) : NULL;
    const bool hit = block != NULL || stage_node_reads_blocks(f->node);
    p->task->counters.values[hit ? COUNT_CACHE_HITS : COUNT_CACHE_MISSES]++;
    if (block != NULL) {
        int r = skip_parent_splits(p, f);
        if (r == 0) r = read_persisted_block(p, f, block, (struct block_location){.bytes = 0});
        block_store_release(blocks, block);
        return r;
    }
    if (hit) return read_remote_persisted_block(p, f);
    f->out = pipeline_emitter_to(p, f->below, f->node->schema);
    if (f->out == NULL) return p->task->error.code;
    f->writer = block_writer_open(blocks, p->task, f->node->rdd, f->partition, f->node->persist,
                                  f->node->schema);
    if (f->writer == NULL) return p->task->error.code;
    pipeline_frame_push(p, (uint32_t)(f->node - p->input->stage->nodes), f->partition, f);
    p->frames[p->depth - 1].looked_up = true;
    return 0;
}

/* Keeps the block if all its records were made: not if an operator needed no more. */
static int leave_persisted_node(struct pipeline *p, struct walk_frame *f)
{
    if (!p->stopped && f->out->flow == FLOW_MORE && p->task->error.code == GLINT_OK)
        block_writer_commit(f->writer);
    block_writer_close(f->writer);
    f->writer = NULL;
    p->depth--;
    return 0;
}

/* ---- pipeline */

/* Returns the task's error code after a failure. A user function may fail without setting an error;
 * error_set keeps an error that is already set. */
static int pipeline_set_function_failed(struct pipeline *p)
{
    return error_set(&p->task->error, GLINT_E_FUNCTION_FAILED, NULL,
                     "a user function failed without setting an error");
}

/* Most sources check the cancel flag themselves; checking in the sink covers all of them. */
static enum flow push_to_action(void *state, const struct glint_batch *batch,
                                struct glint_emitter *out)
{
    struct pipeline *p = state;
    if (task_check_cancelled(p->task) != 0) return FLOW_FAIL;
    return p->action->push(p->action_state, batch, out);
}

static enum flow push_to_shuffle_writer(void *state, const struct glint_batch *batch,
                                        struct glint_emitter *out)
{
    (void)out;
    return shuffle_writer_push(state, batch) == 0 ? FLOW_MORE : FLOW_FAIL;
}

static const struct stage_node *stage_root_node(const struct pipeline_input *input)
{
    return &input->stage->nodes[input->stage->node_count - 1];
}

/* Creates an emitter that pushes batches to the frame below, or to the sink. */
static struct glint_emitter *pipeline_emitter_to(struct pipeline *p, struct walk_frame *below,
                                                 struct glint_schema schema)
{
    struct glint_emitter *e = task_alloc(p->task, sizeof *e);
    if (e == NULL) return NULL;
    if (below != NULL && below->writer != NULL) {
        emitter_init(e, p->task, schema, persisted_push, below, below->out);
        e->push_partition = below->partition;
        return e;
    }
    if (below != NULL && below->node->op->kind == OP_WIDE)
        emitter_init(e, p->task, schema, narrow_shuffle_push, below->state, NULL);
    else if (below != NULL)
        emitter_init(e, p->task, schema,
                     below->in_right ? below->node->op->push_right : below->node->op->push,
                     below->state, below->out);
    else if (p->writer != NULL)
        emitter_init(e, p->task, schema, push_to_shuffle_writer, p->writer, NULL);
    else
        emitter_init(e, p->task, schema, push_to_action, p, NULL);
    e->push_function = below != NULL ? below->node->fn : stage_root_node(p->input)->fn;
    e->push_partition = below != NULL ? below->partition : p->input->partition;
    return e;
}

static int op_open_node(struct pipeline *p, const struct stage_node *node, void **state)
{
    struct op_open o = {.task = p->task,
                        .function = node->fn,
                        .args = node->args,
                        .params = node->params,
                        .out = node->schema,
                        .outputs = p->input->stage->outputs,
                        .output_count = p->input->stage->output_count};
    if (node->parents[0] != STAGE_NO_PARENT) {
        const struct stage_node *parent = &p->input->stage->nodes[node->parents[0]];
        o.in = parent->schema;
        o.grouped = parent->grouped;
    }
    if (node->parents[1] != STAGE_NO_PARENT)
        o.right = p->input->stage->nodes[node->parents[1]].schema;
    *state = task_alloc(p->task, node->op->state_size + 1);
    if (*state == NULL) return p->task->error.code;
    memset(*state, 0, node->op->state_size);
    return node->op->open != NULL ? node->op->open(*state, &o) : 0;
}

static void pipeline_frame_push(struct pipeline *p, uint32_t node, uint32_t partition,
                                struct walk_frame *below)
{
    assert(node < p->input->stage->node_count && p->depth < 2 * p->input->stage->node_count);
    p->frames[p->depth++] = (struct walk_frame){
        .node = &p->input->stage->nodes[node], .partition = partition, .below = below};
}

static int run_source_node(struct pipeline *p, struct walk_frame *f)
{
    struct glint_slice split = unpack_bytes(&p->splits);
    if (p->splits.failed)
        return error_set(&p->task->error, GLINT_E_PROTOCOL, NULL, "a task has no split");
    struct glint_emitter *out = pipeline_emitter_to(p, f->below, f->node->schema);
    void *state = NULL;
    if (out == NULL) return p->task->error.code;
    int r = op_open_node(p, f->node, &state);
    /* A persisted node's frame needs all rows: they are kept for other tasks. */
    const struct walk_frame *below = f->below;
    if (below != NULL && below->writer == NULL) {
        p->task->may_need = below->node->op->may_need;
        p->task->filter = below->state;
        if (below->node->op->row_skip != NULL)
            p->task->row_skip = *below->node->op->row_skip(below->state);
    }
    enum flow flow = r == 0 ? f->node->op->run(state, split, out) : FLOW_FAIL;
    p->task->may_need = NULL;
    p->task->row_skip.keep = NULL;
    if (flow == FLOW_MORE) flow = emitter_flush(out);
    if (state != NULL && f->node->op->close != NULL) f->node->op->close(state);
    p->stopped = flow == FLOW_STOP;
    p->task->origin = NULL;
    return flow == FLOW_FAIL ? pipeline_set_function_failed(p) : 0;
}

static int run_shuffle_node(struct pipeline *p, struct walk_frame *f)
{
    struct run_slice *inputs;
    uint32_t count;
    struct glint_emitter *out = pipeline_emitter_to(p, f->below, f->node->schema);
    if (out == NULL) return p->task->error.code;
    int r =
        p->input->fetch(p->input->fetch_arg, p->task, f->node->rdd, f->partition, &inputs, &count);
    if (r != 0) return r;
    r = shuffle_node_emit(p->task, f->node, inputs, count, out);
    /* Only now: the node reads from the slices until then. */
    if (p->input->fetch_end != NULL) p->input->fetch_end(p->input->fetch_arg, p->task);
    p->stopped = out->flow == FLOW_STOP;
    return r < 0 || out->flow == FLOW_FAIL ? pipeline_set_function_failed(p) : 0;
}

static void push_right_parent(struct pipeline *p, struct walk_frame *f)
{
    const uint32_t parent = f->node->parents[1];
    uint32_t partition = f->partition;
    assert(f->in_right && !p->stopped);
    if (f->node->op->kind == OP_CARTESIAN) partition %= p->input->stage->nodes[parent].partitions;
    pipeline_frame_push(p, parent, partition, f);
}

static int enter_narrow_node(struct pipeline *p, struct walk_frame *f)
{
    assert(!f->entered && f->node->parents[0] != STAGE_NO_PARENT);
    f->out = pipeline_emitter_to(p, f->below, f->node->schema);
    if (f->out == NULL) return p->task->error.code;
    f->entered = true;
    if (f->node->fn != NULL) f->out->struct_size = codec_struct_size(f->node->fn->out.value);
    int r = op_open_node(p, f->node, &f->state);
    if (r < 0) return r;
    f->in_right = f->node->op->kind != OP_NARROW;
    if (f->in_right)
        push_right_parent(p, f);
    else
        pipeline_frame_push(p, f->node->parents[0], f->partition, f);
    return 0;
}

/* A narrow node of a wide operator. */
static int enter_narrow_shuffle(struct pipeline *p, struct walk_frame *f)
{
    const uint32_t parent = f->node->parents[0];
    assert(!f->entered && parent != STAGE_NO_PARENT);
    f->out = pipeline_emitter_to(p, f->below, f->node->schema);
    if (f->out == NULL) return p->task->error.code;
    f->state = narrow_shuffle_open(p->task, f->node, p->input->stage->nodes[parent].schema);
    if (f->state == NULL) return p->task->error.code;
    f->entered = true;
    pipeline_frame_push(p, parent, f->partition, f);
    return 0;
}

static int leave_narrow_shuffle(struct pipeline *p, struct walk_frame *f)
{
    assert(f->entered && f == &p->frames[p->depth - 1]);
    int r = narrow_shuffle_finish(f->state, f->out);
    p->stopped = p->stopped || f->out->flow == FLOW_STOP;
    narrow_shuffle_close(f->state);
    f->state = NULL;
    p->depth--;
    return r < 0 || f->out->flow == FLOW_FAIL ? pipeline_set_function_failed(p) : 0;
}

/* After the right parent: goes on with the left one. */
static int enter_left_parent(struct pipeline *p, struct walk_frame *f)
{
    uint32_t partition = f->partition;
    f->in_right = false;
    if (p->stopped) return 0;
    if (f->node->op->kind == OP_CARTESIAN)
        partition /= p->input->stage->nodes[f->node->parents[1]].partitions;
    pipeline_frame_push(p, f->node->parents[0], partition, f);
    return 0;
}

static int leave_narrow_node(struct pipeline *p, struct walk_frame *f)
{
    assert(f->entered && f == &p->frames[p->depth - 1]);
    enum flow flow = FLOW_MORE;
    f->out->in = NULL;
    const struct glint_function *function = task_set_function(p->task, f->node->fn);
    if (f->node->op->finish != NULL) flow = f->node->op->finish(f->state, f->out);
    task_set_function(p->task, function);
    if (flow != FLOW_FAIL) flow = emitter_flush(f->out);
    if (f->node->op->close != NULL) f->node->op->close(f->state);
    p->depth--;
    return flow == FLOW_FAIL ? pipeline_set_function_failed(p) : 0;
}

static int step_coalesce(struct pipeline *p, struct walk_frame *f)
{
    if (!f->entered) {
        uint32_t parents = p->input->stage->nodes[f->node->parents[0]].partitions;
        rdd_coalesce_range(parents, f->node->partitions, f->partition, &f->partition, &f->end);
        f->entered = true;
    }
    if (f->partition == f->end || p->stopped) {
        p->depth--;
        return 0;
    }
    pipeline_frame_push(p, f->node->parents[0], f->partition++, f->below);
    return 0;
}

static int step_narrow_union(struct pipeline *p, struct walk_frame *f)
{
    if (f->end == 2 || p->stopped)
        p->depth--;
    else
        pipeline_frame_push(p, f->node->parents[f->end++], f->partition, f->below);
    return 0;
}

static int step_union(struct pipeline *p, struct walk_frame *f)
{
    if (f->node->narrow) return step_narrow_union(p, f);
    uint32_t left = p->input->stage->nodes[f->node->parents[0]].partitions;
    uint32_t side = f->partition < left ? 0 : 1;
    uint32_t at = side == 0 ? f->partition : f->partition - left;
    struct walk_frame *below = f->below;
    uint32_t parent = f->node->parents[side];
    p->depth--; /* the union itself has nothing to finish */
    pipeline_frame_push(p, parent, at, below);
    return 0;
}

/* One step of the walk: the top frame pushes its parent, or runs and is popped. */
static int step_pipeline_walk(struct pipeline *p)
{
    struct walk_frame *f = &p->frames[p->depth - 1];
    p->task->partition = f->partition;
    if (f->writer != NULL) return leave_persisted_node(p, f);
    const bool kept = f->node->persist != 0 && p->input->blocks != NULL;
    if ((kept || stage_node_reads_blocks(f->node)) && !f->looked_up)
        return enter_persisted_node(p, f);
    switch (f->node->op->kind) {
    /* Sources and shuffle inputs end the walk's way up: they push all their batches here. */
    case OP_SOURCE: p->depth--; return run_source_node(p, f);
    case OP_WIDE:
        if (f->node->narrow)
            return f->entered ? leave_narrow_shuffle(p, f) : enter_narrow_shuffle(p, f);
        p->depth--;
        return run_shuffle_node(p, f);
    case OP_UNION: return step_union(p, f);
    case OP_COALESCE: return step_coalesce(p, f);
    default:
        if (!f->entered) return enter_narrow_node(p, f);
        return f->in_right ? enter_left_parent(p, f) : leave_narrow_node(p, f);
    }
}

/* After an error: closes what the walk opened, in reverse order, without finish. */
static void close_open_frames(struct pipeline *p)
{
    while (p->depth > 0) {
        struct walk_frame *f = &p->frames[--p->depth];
        if (f->node->op->kind == OP_WIDE) narrow_shuffle_close(f->state);
        block_writer_close(f->writer);
        if (op_kind_is_narrow(f->node->op->kind) && f->state != NULL && f->node->op->close != NULL)
            f->node->op->close(f->state);
    }
}

static int run_pipeline_walk(struct pipeline *p)
{
    const struct stage_plan *stage = p->input->stage;
    const struct stage_node *root = stage_root_node(p->input);
    p->frames = task_alloc(p->task, sizeof *p->frames * (2 * stage->node_count + 1));
    if (p->frames == NULL) return p->task->error.code;
    pipeline_frame_push(p, root->parents[0], p->input->partition, NULL);
    int r = 0;
    while (r == 0 && p->depth > 0)
        if ((r = task_check_cancelled(p->task)) == 0) r = step_pipeline_walk(p);
    /* An error set by a user function counts even if the function returned success. */
    if (r == 0) r = p->task->error.code;
    if (r != 0) close_open_frames(p);
    p->task->partition = p->input->partition;
    return r;
}

static int run_map_side_writer(struct pipeline *p, const struct stage_node *root, struct run *out)
{
    struct shuffle_spec spec;
    struct function_call call = {.opened = false}, partitioner = call;
    shuffle_node_spec(root, p->input->stage->nodes[root->parents[0]].schema, &spec);
    int r = shuffle_spec_prepare(&spec, p->task);
    if (r == 0 && spec.fn != NULL) r = function_call_open(&call, p->task, spec.fn, root->args);
    if (r == 0 && root->dependency.partition_fn != NULL) {
        spec.partitioner = &partitioner;
        r = function_call_open(&partitioner, p->task, root->dependency.partition_fn,
                               root->dependency.partition_args);
    }
    if (r == 0) {
        p->writer = shuffle_writer_open(p->task, &spec, call.state);
        p->task->shuffle = &spec;
        r = p->writer == NULL ? p->task->error.code : run_pipeline_walk(p);
        p->task->shuffle = NULL;
    }
    const struct glint_function *function = task_set_function(p->task, spec.fn);
    if (r == 0) r = shuffle_writer_finish(p->writer, out);
    task_set_function(p->task, function);
    shuffle_writer_close(p->writer);
    function_call_close(&partitioner);
    function_call_close(&call);
    return r;
}

static int run_action_sink(struct pipeline *p, const struct stage_node *root, struct buffer *out)
{
    p->action = root->op;
    int r = op_open_node(p, root, &p->action_state);
    if (r == 0) r = run_pipeline_walk(p);
    const struct glint_function *function = task_set_function(p->task, root->fn);
    if (r == 0 && root->op->finish != NULL && root->op->finish(p->action_state, NULL) == FLOW_FAIL)
        r = pipeline_set_function_failed(p);
    if (r == 0 && root->op->result != NULL) r = root->op->result(p->action_state, out);
    task_set_function(p->task, function);
    if (p->action_state != NULL && root->op->close != NULL) root->op->close(p->action_state);
    return r;
}

/* Narrow nodes hold records while others do: gives each half of its share of the slot's memory. */
static int divide_slot_memory(struct pipeline *p)
{
    struct glint_task *task = p->task;
    const uint32_t shares = stage_memory_shares(p->input->stage);
    if (shares == 1) return 0;
    struct task_options *options = shares > 0 ? task_alloc(task, sizeof *options) : NULL;
    if (options == NULL) return error_no_memory(&task->error);
    *options = *task->options;
    options->memory_bytes /= shares;
    task->options = options;
    return 0;
}

int pipeline_run(struct glint_task *task, const struct pipeline_input *input, struct run *out_run,
                 struct buffer *out_result)
{
    const struct stage_node *root = stage_root_node(input);
    struct pipeline p = {.task = task, .input = input, .splits = unpack_begin(input->splits)};
    task->partition = input->partition;
    const struct task_options *options = task->options;
    int r = divide_slot_memory(&p);
    if (r != 0) return r;
    if (p.splits.failed)
        r = error_set(&task->error, GLINT_E_PROTOCOL, NULL, "a task's splits do not parse");
    else if (input->partition >= stage_plan_task_count(input->stage))
        r = error_set(&task->error, GLINT_E_PROTOCOL, NULL, "a stage has no partition %u",
                      input->partition);
    else if (stage_node_is_shuffle(root))
        r = run_map_side_writer(&p, root, out_run);
    else
        r = run_action_sink(&p, root, out_result);
    task->options = options;
    if (r != 0) return pipeline_set_function_failed(&p);
    /* An error that a finish or close set after the output was produced: discard the output. */
    if (task->error.code == GLINT_OK) return 0;
    if (stage_node_is_shuffle(root))
        run_destroy(out_run);
    else
        buffer_fini(out_result);
    return task->error.code;
}
