/* Describes for the user why an executor was lost: the exit status of its process if the daemon
 * reported it, else the error of its connection; and the path of its log. */
#include "engine/driver/cluster_transport_internal.h"

#include "engine/base/text.h"

#include <assert.h>
#include <string.h>
#include <sys/wait.h>

static void describe_exit_status(const struct executor_exited *e, char *out, size_t capacity)
{
    int status = e->wait_status;
    if (e->crash[0] != '\0') {
        text_format(out, capacity, "%s", e->crash);
    } else if (WIFSIGNALED(status)) {
        const char *name = sigdescr_np(WTERMSIG(status));
        text_format(out, capacity, "killed by signal %d (%s)%s", WTERMSIG(status),
                    name != NULL ? name : "unknown",
                    e->out_of_memory ? " (out of memory in its control group)" : "");
    } else {
        text_format(out, capacity, "its process exited with status %d",
                    WIFEXITED(status) ? WEXITSTATUS(status) : -1);
    }
}

enum executor_loss_reason executor_loss_describe(const struct executor_conn *l,
                                                 struct glint_error *out)
{
    char what[sizeof l->exited.crash];
    const char *log = l->has_exited ? l->exited.log : "";
    assert((l->joined || l->has_exited) && l->why.code != GLINT_OK);
    if (log[0] == '\0' && l->daemon_conn != NULL && l->daemon_conn->process != NULL)
        log = launched_daemon_log_path(l->daemon_conn->process);
    if (l->has_exited)
        describe_exit_status(&l->exited, what, sizeof what);
    else
        text_format(what, sizeof what, "%s", l->why.cause);
    memset(out, 0, sizeof *out);
    error_set(out, GLINT_E_EXECUTOR_LOST, "see its log", "%s%s%s", what,
              log[0] != '\0' ? "; log " : "", log);
    if (l->draining) return LOSS_DRAINED;
    /* Only a signal (crash, OOM kill) is blamed on the tasks that ran there: a process that exits
     * with a status has ended by its own decision. */
    return l->has_exited && WIFSIGNALED(l->exited.wait_status) ? LOSS_SIGNALED : LOSS_CONNECTION;
}
