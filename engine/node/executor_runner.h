/* Counts the kernel's OOM kills in this process's control group. */
#ifndef GLINT_NODE_EXECUTOR_RUNNER_H
#define GLINT_NODE_EXECUTOR_RUNNER_H

#include "engine/base/env.h"

/* OOM kills in this process's control group so far; 0 if there is no such counter. A caller
 * compares two values, before and after. */
uint64_t oom_kill_count(struct env *env);

#endif
