/* Requests of clients: STATUS (which jobs are running or queued) and CANCEL, which the daemon
 * forwards to the job's driver. */
#include "engine/node/daemon_internal.h"

#include "engine/base/log.h"
#include "engine/base/text.h"

#include <assert.h>
#include <string.h>

static void status_add_job(struct daemon_status *s, const struct daemon_session *v, uint64_t now)
{
    assert(s->job_count < STATUS_JOBS_MAX);
    struct status_job *j = &s->jobs[s->job_count++];
    *j = (struct status_job){.job = v->request.job.job,
                             .progress = v->progress,
                             .running = v->state == SESSION_SERVED,
                             .age_ns = now - v->requested_ns,
                             .heartbeat_age_ns = now - conn_last_seen_ns(v->conn)};
    text_format(j->name, sizeof j->name, "%s", v->request.job.name);
    if (v->runner != NULL) j->memory_bytes = executor_runner_memory_bytes(v->runner);
}

/* Adds the jobs in `state`; beyond STATUS_JOBS_MAX they are left out. */
static void status_add_jobs(struct daemon_status *s, const struct daemon *d,
                            enum daemon_session_state state, uint64_t now)
{
    for (const struct daemon_session *v = d->sessions; v != NULL; v = v->next)
        if (v->state == state && s->job_count < STATUS_JOBS_MAX) status_add_job(s, v, now);
}

int session_reply_status(struct daemon_session *v, struct glint_error *error)
{
    const struct daemon *d = v->d;
    uint64_t now = daemon_now(d);
    struct daemon_status *s = mem_zalloc(sizeof *s);
    if (s == NULL) return error_no_memory(error);
    text_format(s->node, sizeof s->node, "%s", d->self->id);
    text_format(s->build, sizeof s->build, "%s", d->net.self.build);
    s->slots = d->self->slots;
    s->drivers_max = d->cluster->drivers_max;
    s->memory_bytes = d->self->memory_bytes;
    s->uptime_ns = now - d->started_ns;
    s->draining = d->draining;
    /* Running jobs first. */
    status_add_jobs(s, d, SESSION_SERVED, now);
    status_add_jobs(s, d, SESSION_QUEUED, now);
    status_add_jobs(s, d, SESSION_FETCHING, now);
    conn_send_payload(v->conn, FRAME_STATUS_REPLY, 0, &daemon_status_format, s);
    mem_free(s);
    return 0;
}

static void reject_client_secret(struct daemon_session *v)
{
    struct glint_error why = {.code = GLINT_OK};
    error_set(&why, GLINT_E_NOT_PERMITTED, "name the file of the cluster's own secret",
              "a client secret allows status requests only, not cancelling jobs");
    log_error(LOG_WARN, &(struct log_ids){.peer = conn_peer_address(v->conn)}, &why);
    session_reject(v, &why);
}

int session_reply_cancel(struct daemon_session *v, struct glint_slice payload,
                         struct glint_error *error)
{
    struct daemon *d = v->d;
    struct job_identity requested;
    struct cancelled_jobs reported = {.job_count = 0};
    int r = job_identity_decode(payload, &requested, error);
    if (r != 0) return r;
    if (v->is_driver)
        return error_set(error, GLINT_E_PROTOCOL, NULL, "a driver cannot send CANCEL");
    /* A client secret grants status only: a client that has it must not stop jobs. */
    if (conn_secret_kind(v->conn) == SECRET_CLIENT) {
        reject_client_secret(v);
        return 0;
    }
    for (struct daemon_session *o = d->sessions; o != NULL; o = o->next) {
        /* Job id 0: cancel by name, which may match several jobs. */
        bool is_requested = requested.job != 0 ? o->request.job.job == requested.job
                                               : strcmp(o->request.job.name, requested.name) == 0;
        struct job_identity job = {.job = o->request.job.job};
        if (!is_requested || o->state == SESSION_NEW || reported.job_count == STATUS_JOBS_MAX)
            continue;
        log_line(LOG_INFO,
                 &(struct log_ids){.job = o->request.job.job, .peer = conn_peer_address(v->conn)},
                 "cancel requested");
        conn_send_payload(o->conn, FRAME_CANCEL, 0, &job_identity_format, &job);
        text_format(job.name, sizeof job.name, "%s", o->request.job.name);
        reported.jobs[reported.job_count++] = job;
    }
    conn_send_payload(v->conn, FRAME_CANCELLED, 0, &cancelled_jobs_format, &reported);
    return 0;
}
