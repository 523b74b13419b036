/* Records that tasks return to the driver come from other processes: they are checked, not
 * asserted. */
#ifndef GLINT_JOBS_ROWS_TASK_RESULTS_H
#define GLINT_JOBS_ROWS_TASK_RESULTS_H

#include "engine/glint.h"

/* Ends the job with PROTOCOL: a task returned `what`, which no task of this job does. Returns the
 * code. */
static inline int task_result_fail(struct glint *g, const char *what)
{
    return glint_abort(g, GLINT_E_PROTOCOL, NULL, "a task returned %s", what);
}

#endif
