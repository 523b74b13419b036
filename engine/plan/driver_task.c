/* See driver_task.h. Broadcasts are looked up in the context, which owns the values. */
#include "engine/plan/driver_task.h"

#include <assert.h>

static int find_context_broadcast(void *arg, uint64_t id, struct glint_slice *out)
{
    const struct glint *g = arg;
    for (const struct glint_broadcast *b = g->broadcasts; b != NULL; b = b->next) {
        if (b->id != id) continue;
        *out = (struct glint_slice){b->data, b->size};
        return 0;
    }
    return -1;
}

void driver_task_init(struct driver_task *t, struct glint *g)
{
    const struct context_config *c = &g->config;
    assert(!context_failed(g));
    t->g = g;
    t->options = (struct task_options){.memory_bytes = glint_slot_memory(g),
                                       .line_bytes_max = c->line_bytes_max,
                                       .result_bytes_max = c->result_bytes_max,
                                       .skip_bad_rows = c->skip_bad_rows,
                                       .bad_rows_max = c->bad_rows_max,
                                       .no_sync = c->no_sync};
    t->task = (struct glint_task){.env = c->env,
                                  .options = &t->options,
                                  .broadcast = find_context_broadcast,
                                  .broadcast_arg = g};
    t->task.counters.used = COUNT_BUILT_IN;
}

int driver_task_fini(struct driver_task *t)
{
    struct glint_error *error = &t->g->error;
    assert(t->task.options == &t->options);
    if (error->code == GLINT_OK) *error = t->task.error;
    task_free_accumulators(&t->task);
    arena_fini(&t->task.arena);
    return error->code;
}
