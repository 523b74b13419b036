/* Why an executor was lost, for a person: how its process ended where its daemon has said so, else
 * what became of the connection; and where to read on. */
#include "engine/driver/remote_internal.h"

#include "engine/base/text.h"

#include <assert.h>
#include <string.h>
#include <sys/wait.h>

static void describe_status(const struct ended *e, char *out, size_t capacity)
{
    int status = e->wait_status;
    if (e->crash[0] != '\0') {
        text_format(out, capacity, "%s", e->crash);
    } else if (WIFSIGNALED(status)) {
        const char *name = sigdescr_np(WTERMSIG(status));
        text_format(out, capacity, "killed by signal %d (%s)%s", WTERMSIG(status),
                    name != NULL ? name : "unknown",
                    e->out_of_memory ? ", for its control group was out of memory" : "");
    } else {
        text_format(out, capacity, "its process ended with status %d",
                    WIFEXITED(status) ? WEXITSTATUS(status) : -1);
    }
}

enum loss loss_describe(const struct link *l, struct glint_error *out)
{
    char what[sizeof l->ended.crash];
    const char *log = l->has_ended ? l->ended.log : "";
    assert((l->joined || l->has_ended) && l->why.code != GLINT_OK);
    if (log[0] == '\0' && l->post != NULL && l->post->process != NULL)
        log = launch_log(l->post->process);
    if (l->has_ended)
        describe_status(&l->ended, what, sizeof what);
    else
        text_format(what, sizeof what, "%s", l->why.cause);
    memset(out, 0, sizeof *out);
    error_set(out, GLINT_E_EXECUTOR_LOST, "look at its log", "%s%s%s", what,
              log[0] != '\0' ? "; log " : "", log);
    if (l->draining) return LOSS_DRAINED;
    return l->has_ended && WIFSIGNALED(l->ended.wait_status) ? LOSS_CHILD : LOSS_CONNECTION;
}
