/* SIGINT, SIGTERM, SIGHUP: the first signal requests a clean end, the second ends the process
 * immediately. The process also ends immediately if the job's own code does not return within
 * SIGNALS_RETURN_S after the first signal, or after its --timeout. driver/driver.c does the same
 * for tasks.
 *
 * SIGINT exits with INTERRUPTED (130), SIGTERM and SIGHUP with TERMINATED (143). A signal that was
 * ignored when the process started (nohup, a background job of a shell) stays ignored. */
#ifndef GLINT_CLI_SIGNALS_H
#define GLINT_CLI_SIGNALS_H

#include "engine/glint.h"

/* Installs the handlers. Once per process, main thread. `left` is printed if a second signal ends
 * the process: one line about what may be left on disk. It must stay valid. */
void signals_start(const char *left);
#define SIGNALS_RETURN_S 10u /* longer than the driver waits for tasks */
/* From now on the first signal interrupts this context; a signal that arrived earlier does so at
 * once. Call it before the job's own code runs. `timeout_ns`: --timeout, or 0. */
void signals_watch(struct glint *g, uint64_t timeout_ns);
/* Call it when the job's own code has returned: the limit of SIGNALS_RETURN_S ends. */
void signals_job_returned(void);
/* After it returns, no handler uses the context any more. */
void signals_unwatch(void);
/* Returns INTERRUPTED or TERMINATED after a signal, else 0. For loops without a context. */
enum glint_code signals_pending(void);

#endif
