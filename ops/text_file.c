/* textFile: lines of files, folders and globs. */
#include "ops/ops.h"

struct text_state {
    struct glint_task *task;
};

static int text_open(void *state, const struct op_open *o)
{
    ((struct text_state *)state)->task = o->task;
    return 0;
}

static enum flow text_push(void *arg, const struct glint_batch *lines)
{
    struct glint_emitter *out = arg;
    glint_emit_batch(out, lines);
    return out->flow;
}

static enum flow text_run(void *state, struct glint_slice split, struct glint_emitter *out)
{
    struct text_state *s = state;
    return text_source_run(s->task, split, text_push, out);
}

extern const struct op op_text_file;

struct glint_rdd *glint_text_file(struct glint *g, const char *paths)
{
    return text_source(g, &op_text_file, paths, (struct glint_shape){GLINT_NONE, GLINT_TEXT},
                       (struct glint_slice){NULL, 0}, text_source_cut);
}

const struct op op_text_file = {.name = "textFile",
                                .kind = OP_SOURCE,
                                .state_size = sizeof(struct text_state),
                                .open = text_open,
                                .run = text_run};
