/* The walk of a pipeline, shared by pipeline.c and pipeline_persisted.c only. */
#ifndef GLINT_EXECUTOR_PIPELINE_INTERNAL_H
#define GLINT_EXECUTOR_PIPELINE_INTERNAL_H

#include "engine/executor/pipeline.h"
#include "engine/records/pack.h"

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

/* Returns the task's error code after a failure. A user function may fail without setting an error;
 * an error that is already set is kept. */
int pipeline_set_function_failed(struct pipeline *p);
void pipeline_frame_push(struct pipeline *p, uint32_t node, uint32_t partition,
                         struct walk_frame *below);
/* Creates an emitter that pushes batches to the frame below, or to the sink (NULL). NULL: out of
 * memory, with the task's error set. */
struct glint_emitter *pipeline_emitter_to(struct pipeline *p, struct walk_frame *below,
                                          struct glint_schema schema);

/* A persisted node is entered first: its frame, on top, is replaced by its block, or becomes the
 * node's own frame, which keeps what the frame of the node itself, now on top of it, pushes. Both
 * return 0 or a code with the task's error set. */
int persisted_enter(struct pipeline *p, struct walk_frame *f);
int persisted_leave(struct pipeline *p, struct walk_frame *f);
enum flow persisted_push(void *state, const struct glint_batch *batch, struct glint_emitter *out);

#endif
