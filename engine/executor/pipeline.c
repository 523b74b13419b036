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
#include "engine/executor/pipeline_internal.h"

#include "engine/batch.h"
#include "engine/executor/shuffle_node.h"
#include "engine/records/codec.h"
#include "engine/records/pack.h"
#include "engine/shuffle/write.h"

#include <assert.h>

/* Returns the task's error code after a failure. A user function may fail without setting an error;
 * error_set keeps an error that is already set. */
int pipeline_set_function_failed(struct pipeline *p)
{
    return error_set(&p->task->error, GLINT_E_FUNCTION_FAILED, NULL,
                     "a user function failed without setting an error");
}

static int fail_as_cancelled(struct pipeline *p)
{
    return error_set(&p->task->error, GLINT_E_INTERRUPTED, NULL, "the task was cancelled");
}

/* Most sources check the cancel flag themselves; checking in the sink covers all of them. */
static enum flow sink_push_action(void *state, const struct glint_batch *batch,
                                  struct glint_emitter *out)
{
    struct pipeline *p = state;
    if (!task_is_cancelled(p->task)) return p->action->push(p->action_state, batch, out);
    fail_as_cancelled(p);
    return FLOW_FAIL;
}

static enum flow sink_push_writer(void *state, const struct glint_batch *batch,
                                  struct glint_emitter *out)
{
    (void)out;
    return shuffle_writer_push(state, batch) == 0 ? FLOW_MORE : FLOW_FAIL;
}

static const struct stage_node *stage_root(const struct pipeline_input *input)
{
    return &input->stage->nodes[input->stage->node_count - 1];
}

/* Creates an emitter that pushes batches to the frame below, or to the sink. */
struct glint_emitter *pipeline_emitter_to(struct pipeline *p, struct walk_frame *below,
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
        emitter_init(e, p->task, schema, sink_push_writer, p->writer, NULL);
    else
        emitter_init(e, p->task, schema, sink_push_action, p, NULL);
    e->push_function = below != NULL ? below->node->fn : stage_root(p->input)->fn;
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

void pipeline_frame_push(struct pipeline *p, uint32_t node, uint32_t partition,
                         struct walk_frame *below)
{
    assert(node < p->input->stage->node_count && p->depth < 2 * p->input->stage->node_count);
    p->frames[p->depth++] = (struct walk_frame){
        .node = &p->input->stage->nodes[node], .partition = partition, .below = below};
}

static int run_source(struct pipeline *p, struct walk_frame *f)
{
    struct glint_slice split = unpack_bytes(&p->splits);
    if (p->splits.failed)
        return error_set(&p->task->error, GLINT_E_PROTOCOL, NULL, "a task has no split");
    struct glint_emitter *out = pipeline_emitter_to(p, f->below, f->node->schema);
    void *state = NULL;
    if (out == NULL) return p->task->error.code;
    int r = op_open_node(p, f->node, &state);
    enum flow flow = r == 0 ? f->node->op->run(state, split, out) : FLOW_FAIL;
    if (flow == FLOW_MORE) flow = emitter_flush(out);
    if (state != NULL && f->node->op->close != NULL) f->node->op->close(state);
    p->stopped = flow == FLOW_STOP;
    p->task->origin = NULL;
    return flow == FLOW_FAIL ? pipeline_set_function_failed(p) : 0;
}

static int run_shuffle(struct pipeline *p, struct walk_frame *f)
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

static int enter_narrow(struct pipeline *p, struct walk_frame *f)
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

static int leave_narrow(struct pipeline *p, struct walk_frame *f)
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
static int walk_step(struct pipeline *p)
{
    struct walk_frame *f = &p->frames[p->depth - 1];
    p->task->partition = f->partition;
    if (f->writer != NULL) return persisted_leave(p, f);
    if (f->node->persist != 0 && p->input->blocks != NULL && !f->looked_up)
        return persisted_enter(p, f);
    switch (f->node->op->kind) {
    /* Sources and shuffle inputs end the walk's way up: they push all their batches here. */
    case OP_SOURCE: p->depth--; return run_source(p, f);
    case OP_WIDE:
        if (f->node->narrow)
            return f->entered ? leave_narrow_shuffle(p, f) : enter_narrow_shuffle(p, f);
        p->depth--;
        return run_shuffle(p, f);
    case OP_UNION: return step_union(p, f);
    case OP_COALESCE: return step_coalesce(p, f);
    default:
        if (!f->entered) return enter_narrow(p, f);
        return f->in_right ? enter_left_parent(p, f) : leave_narrow(p, f);
    }
}

/* After an error: closes what the walk opened, in reverse order, without finish. */
static void unwind_frames(struct pipeline *p)
{
    while (p->depth > 0) {
        struct walk_frame *f = &p->frames[--p->depth];
        if (f->node->op->kind == OP_WIDE) narrow_shuffle_close(f->state);
        block_writer_close(f->writer);
        if (op_kind_is_narrow(f->node->op->kind) && f->state != NULL && f->node->op->close != NULL)
            f->node->op->close(f->state);
    }
}

static int run_walk(struct pipeline *p)
{
    const struct stage_plan *stage = p->input->stage;
    const struct stage_node *root = stage_root(p->input);
    p->frames = task_alloc(p->task, sizeof *p->frames * (2 * stage->node_count + 1));
    if (p->frames == NULL) return p->task->error.code;
    pipeline_frame_push(p, root->parents[0], p->input->partition, NULL);
    int r = 0;
    while (r == 0 && p->depth > 0)
        r = task_is_cancelled(p->task) ? fail_as_cancelled(p) : walk_step(p);
    /* An error set by a user function counts even if the function returned success. */
    if (r == 0) r = p->task->error.code;
    if (r != 0) unwind_frames(p);
    p->task->partition = p->input->partition;
    return r;
}

static int run_map_side(struct pipeline *p, const struct stage_node *root, struct run *out)
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
        r = p->writer == NULL ? p->task->error.code : run_walk(p);
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

static int run_action(struct pipeline *p, const struct stage_node *root, struct buffer *out)
{
    p->action = root->op;
    int r = op_open_node(p, root, &p->action_state);
    if (r == 0) r = run_walk(p);
    const struct glint_function *function = task_set_function(p->task, root->fn);
    if (r == 0 && root->op->finish != NULL && root->op->finish(p->action_state, NULL) == FLOW_FAIL)
        r = pipeline_set_function_failed(p);
    if (r == 0 && root->op->result != NULL) r = root->op->result(p->action_state, out);
    task_set_function(p->task, function);
    if (p->action_state != NULL && root->op->close != NULL) root->op->close(p->action_state);
    return r;
}

/* Narrow nodes hold records while others do: gives each half of its share of the slot's memory. */
static int divide_memory(struct pipeline *p)
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
    const struct stage_node *root = stage_root(input);
    struct pipeline p = {.task = task, .input = input, .splits = unpack_begin(input->splits)};
    task->partition = input->partition;
    const struct task_options *options = task->options;
    int r = divide_memory(&p);
    if (r != 0) return r;
    if (p.splits.failed)
        r = error_set(&task->error, GLINT_E_PROTOCOL, NULL, "a task's splits do not parse");
    else if (input->partition >= stage_plan_task_count(input->stage))
        r = error_set(&task->error, GLINT_E_PROTOCOL, NULL, "a stage has no partition %u",
                      input->partition);
    else if (stage_node_is_shuffle(root))
        r = run_map_side(&p, root, out_run);
    else
        r = run_action(&p, root, out_result);
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
