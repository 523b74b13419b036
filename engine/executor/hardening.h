/* Restrictions of a process that runs tasks, set before it receives any. */
#ifndef GLINT_EXECUTOR_HARDENING_H
#define GLINT_EXECUTOR_HARDENING_H

#include "engine/base/env.h"

/* Programs started by this process cannot gain privileges (set-user-ID, file capabilities). Failure
 * is logged as a warning. */
void set_no_new_privileges(void);
/* Makes the OOM killer choose this process before the daemon that spawned it. Call before net_init,
 * which makes the process non-dumpable: a user who is not root can then no longer write the file.
 * Failure is logged as a warning. */
void raise_oom_score(struct env *env);

#endif
