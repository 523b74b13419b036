/* Has the kernel killed something for lack of memory? As the control group of this process counts.
 */
#ifndef GLINT_EXECUTOR_OOM_KILLS_H
#define GLINT_EXECUTOR_OOM_KILLS_H

#include "engine/base/env.h"

/* OOM kills in this process's control group so far; 0 where nobody counts. Compare two answers. */
uint64_t oom_kill_count(struct env *env);

#endif
