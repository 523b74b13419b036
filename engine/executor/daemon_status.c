/* Questions of clients: who is served here, and the wish that a job ends, which is passed on to its
 * driver. */
#include "engine/executor/daemon_internal.h"

#include "engine/base/log.h"
#include "engine/base/text.h"

#include <assert.h>
#include <string.h>

static void add_job(struct status *s, const struct visitor *v, uint64_t now)
{
    assert(s->job_count < STATUS_JOBS_MAX);
    struct status_job *j = &s->jobs[s->job_count++];
    *j = (struct status_job){.job = v->job,
                             .progress = v->progress,
                             .running = v->state == VISITOR_SERVED,
                             .age_ns = now - v->since_ns,
                             .heard_ns = now - v->liveness.heard_ns};
    text_format(j->name, sizeof j->name, "%s", v->name);
    if (v->ward == NULL) return;
    j->tasks_running = v->ward->told.tasks_running;
    j->memory_bytes = v->ward->told.memory_bytes;
}

/* Those that are served come first. */
static void add_jobs(struct status *s, const struct daemon *d, enum visitor_state state,
                     uint64_t now)
{
    for (const struct visitor *v = d->visitors; v != NULL; v = v->next)
        if (v->state == state && s->job_count < STATUS_JOBS_MAX) add_job(s, v, now);
}

int status_answer(struct visitor *v, struct glint_error *error)
{
    const struct daemon *d = v->d;
    uint64_t now = daemon_now(d);
    struct buffer payload = {NULL, 0, 0};
    struct status *s = mem_zalloc(sizeof *s);
    if (s == NULL) return error_no_memory(error);
    text_format(s->node, sizeof s->node, "%s", d->self->id);
    text_format(s->build, sizeof s->build, "%s", d->net.self.build);
    s->slots = d->self->slots;
    s->drivers_max = d->cluster->drivers_max;
    s->memory_bytes = d->self->memory_bytes;
    s->uptime_ns = now - d->started_ns;
    s->draining = d->draining;
    add_jobs(s, d, VISITOR_SERVED, now);
    add_jobs(s, d, VISITOR_QUEUED, now);
    int r = status_encode(s, &payload, error);
    mem_free(s);
    if (r == 0) visitor_send(v, FRAME_STATUS_IS, 0, &payload);
    return r;
}

static void refuse_client_secret(struct visitor *v)
{
    struct glint_error why = {.code = GLINT_OK};
    error_set(&why, GLINT_E_NOT_PERMITTED, "name the file of the cluster's own secret",
              "a client secret may only ask for status, not cancel a job");
    log_error(LOG_WARN, &(struct log_ids){.peer = conn_address(v->conn)}, &why);
    visitor_refuse(v, &why);
}

int cancel_answer(struct visitor *v, struct glint_slice payload, struct glint_error *error)
{
    struct daemon *d = v->d;
    struct admit wish;
    struct canceled told = {.job_count = 0};
    struct buffer answer = {NULL, 0, 0};
    int r = admit_decode(payload, &wish, error);
    if (r != 0) return r;
    if (v->is_driver)
        return error_set(error, GLINT_E_PROTOCOL, NULL, "a driver ends its own job, not others");
    if (conn_is_client_only(v->conn)) {
        refuse_client_secret(v);
        return 0;
    }
    for (struct visitor *o = d->visitors; o != NULL && r == 0; o = o->next) {
        bool meant = wish.job != 0 ? o->job == wish.job : strcmp(o->name, wish.name) == 0;
        struct buffer passed_on = {NULL, 0, 0};
        struct admit job = {.job = o->job};
        if (!meant || o->state == VISITOR_NEW || told.job_count == STATUS_JOBS_MAX) continue;
        r = admit_encode(&job, &passed_on, error);
        if (r != 0) break;
        log_line(LOG_INFO, &(struct log_ids){.job = o->job, .peer = conn_address(v->conn)},
                 "is to be cancelled");
        visitor_send(o, FRAME_CANCEL, 0, &passed_on);
        text_format(job.name, sizeof job.name, "%s", o->name);
        told.jobs[told.job_count++] = job;
    }
    if (r == 0) r = canceled_encode(&told, &answer, error);
    if (r == 0) visitor_send(v, FRAME_CANCELED, 0, &answer);
    return r;
}
