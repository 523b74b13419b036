/* What a context tells whoever watches it. What it is made of: engine/glint_context.h. */
#ifndef GLINT_PLAN_CONFIG_H
#define GLINT_PLAN_CONFIG_H

#include "engine/base/env.h"
#include "engine/glint.h"

/* Progress of the running action, for whoever shows it. Driver thread; must not block for long. */
struct progress {
    const char *action; /* the operator's name: saveAsTextFile, collect */
    uint32_t stage;     /* from 0 */
    uint32_t stages, tasks_done, tasks, tasks_running, retries;
    uint64_t bytes_read;
    bool stage_ended, action_ended;
    uint64_t elapsed_ns; /* of the stage */
};

#endif
