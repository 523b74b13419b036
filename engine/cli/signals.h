/* SIGINT, SIGTERM, SIGHUP: the first signal asks for a clean end, the second ends the process at
 * once. So does a job whose own code has not returned SIGNALS_RETURN_S after the first signal, or
 * after its --timeout. driver/drain.c does the same for tasks.
 *
 * SIGINT ends with INTERRUPTED (130), SIGTERM and SIGHUP with TERMINATED (143). A signal that was
 * ignored when the process began (nohup, a shell's background job) stays ignored. */
#ifndef GLINT_CLI_SIGNALS_H
#define GLINT_CLI_SIGNALS_H

#include "engine/glint.h"

/* Once per process, from the main thread. `left` is printed when a second signal ends the process:
 * what stays behind on disk, one line; it must live as long as the process. */
void signals_start(const char *left);
#define SIGNALS_RETURN_S 10u /* more than the driver gives tasks */
/* The first signal interrupts this context from now on; one that came before does so at once. The
 * job's own code runs from here on. `timeout_ns`: its --timeout, or 0. */
void signals_watch(struct glint *g, uint64_t timeout_ns);
/* The job's own code has returned: what is left to do is ours, and ends. */
void signals_job_returned(void);
/* After it returns, no handler uses the watched context any more. */
void signals_unwatch(void);
/* INTERRUPTED or TERMINATED once a signal came, else 0. For loops without a context. */
enum glint_code signals_pending(void);

#endif
