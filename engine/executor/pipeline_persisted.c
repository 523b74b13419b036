/* Persisted nodes of a walk: reads their blocks, or writes them while their records are made. */
#include "engine/executor/pipeline_internal.h"

#include <assert.h>

/* A persisted node's frame: copies the batch to its block and passes it on. */
enum flow persisted_push(void *state, const struct glint_batch *batch, struct glint_emitter *out)
{
    block_writer_push(((struct walk_frame *)state)->writer, batch);
    glint_emit_batch(out, batch);
    return out->flow;
}

/* Discards the splits of what is above a node whose block is read instead. Their order does not
 * matter. */
static int skip_splits(struct pipeline *p, const struct walk_frame *top)
{
    const uint32_t depth = p->depth;
    pipeline_frame_push(p, (uint32_t)(top->node - p->input->stage->nodes), top->partition, NULL);
    while (p->depth > depth) {
        struct walk_frame f = p->frames[--p->depth];
        const struct stage_node *parents[2] = {NULL, NULL};
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
    if (!p->splits.failed) return 0;
    return error_set(&p->task->error, GLINT_E_PROTOCOL, NULL, "a task has no split");
}

static enum flow emit_kept_batch(void *out, const struct glint_batch *batch)
{
    glint_emit_batch(out, batch);
    return ((struct glint_emitter *)out)->flow;
}

static int read_persisted_block(struct pipeline *p, struct walk_frame *f,
                                struct cached_block *block)
{
    int r = skip_splits(p, f);
    struct glint_emitter *out = r == 0 ? pipeline_emitter_to(p, f->below, f->node->schema) : NULL;
    enum flow flow = FLOW_FAIL;
    if (out != NULL)
        flow = cached_block_read(p->input->blocks, block, p->task, f->node->schema, emit_kept_batch,
                                 out);
    block_store_release(p->input->blocks, block);
    p->stopped = flow == FLOW_STOP;
    p->depth--;
    return flow == FLOW_FAIL ? pipeline_set_function_failed(p) : 0;
}

/* Reads the node's block, or begins to write it. */
int persisted_enter(struct pipeline *p, struct walk_frame *f)
{
    struct block_store *blocks = p->input->blocks;
    assert(f->writer == NULL && !f->entered);
    f->looked_up = true;
    struct cached_block *block = block_store_acquire(blocks, f->node->rdd, f->partition);
    p->task->counters.values[block != NULL ? COUNT_CACHE_HITS : COUNT_CACHE_MISSES]++;
    if (block != NULL) return read_persisted_block(p, f, block);
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
int persisted_leave(struct pipeline *p, struct walk_frame *f)
{
    if (!p->stopped && f->out->flow == FLOW_MORE && p->task->error.code == GLINT_OK)
        block_writer_commit(f->writer);
    block_writer_close(f->writer);
    f->writer = NULL;
    p->depth--;
    return 0;
}
