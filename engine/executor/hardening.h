/* What a process that runs tasks gives up before it hears of its first one. */
#ifndef GLINT_EXECUTOR_HARDENING_H
#define GLINT_EXECUTOR_HARDENING_H

#include "engine/base/env.h"

/* No program that this process starts can gain privileges (set-user-ID, file capabilities). What
 * fails is a warning in the log. */
void set_no_new_privileges(void);
/* When memory runs out, the kernel ends this process before the daemon that started it. Before
 * net_init, which takes the right to say so away from a user who is not root. */
void raise_oom_score(struct env *env);

#endif
