/* The server's thread asks the daemon like any client, over its port, when a request comes and the
 * last answer is older than FRESH_NS: an idle daemon is not woken, and many requests cost it no
 * more than a few a second. */
#include "engine/cli/executor_page.h"

#include "engine/base/error.h"
#include "engine/base/text.h"
#include "engine/cli/cluster_request.h"
#include "engine/net/wire.h"
#include "engine/web/web_api.h"

#include <string.h>

#define FRESH_NS (250 * MS_NS)

struct executor_page {
    struct cluster cluster; /* with this executor alone */
    struct cluster_executor self;
    struct web_server *server;
    /* Of the server's thread. */
    struct daemon_status status;
    struct glint_error why; /* OK: the daemon has answered */
    uint64_t asked_ns;      /* 0: not yet */
};

static void ask(struct executor_page *p)
{
    struct env *env = env_real();
    if (p->asked_ns != 0 && env->now_ns(env) - p->asked_ns < FRESH_NS) return;
    const struct cluster_request request = {
        .cluster = &p->cluster, .request_type = FRAME_STATUS, .response_type = FRAME_STATUS_REPLY};
    struct cluster_response *r;
    p->why = (struct glint_error){.code = GLINT_OK};
    if (cluster_request_send(&request, &r, &p->why) == 0) {
        p->why = r->why;
        if (p->why.code == GLINT_OK)
            daemon_status_decode((struct glint_slice){r->payload.data, r->payload.size}, &p->status,
                                 &p->why);
        cluster_responses_free(r, &p->cluster);
    }
    p->asked_ns = env->now_ns(env);
}

static uint32_t running_jobs(const struct daemon_status *s)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < s->job_count; i++) n += s->jobs[i].running;
    return n;
}

static uint32_t running_tasks(const struct daemon_status *s)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < s->job_count; i++)
        n += s->jobs[i].running ? s->jobs[i].progress.tasks_running : 0;
    return n;
}

static uint64_t resident_bytes(const struct daemon_status *s)
{
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < s->job_count; i++) bytes += s->jobs[i].memory_bytes;
    return bytes;
}

static uint64_t oldest_heartbeat_ns(const struct daemon_status *s)
{
    uint64_t ns = 0;
    for (uint32_t i = 0; i < s->job_count; i++)
        if (s->jobs[i].heartbeat_age_ns > ns) ns = s->jobs[i].heartbeat_age_ns;
    return ns;
}

/* ---- JSON */

static void put_job(struct json *out, const struct status_job *job)
{
    const struct job_progress *p = &job->progress;
    const bool started = p->stage_name[0] != '\0';
    char id[TEXT_NUMBER_MAX];
    text_format(id, sizeof id, "%016llx", (unsigned long long)job->job);
    json_begin(out, NULL, '{');
    json_cstring(out, "id", id);
    json_cstring(out, "name", job->name);
    json_cstring(out, "status", job->running ? "RUNNING" : "QUEUED");
    json_u64(out, "activeTasks", job->running ? p->tasks_running : 0);
    json_ms(out, "age", job->age_ns);
    json_ms(out, "heartbeatAgeMs", job->heartbeat_age_ns);
    json_u64(out, "memoryUsed", job->memory_bytes);
    json_cstring(out, "stageName", started ? p->stage_name : NULL);
    json_u64(out, "stageId", p->stage);
    json_u64(out, "numTasks", p->stage_tasks);
    json_u64(out, "numCompletedTasks", p->stage_done);
    json_u64(out, "numRetries", p->retries);
    json_end(out, '}');
}

static bool put_executor(void *arg, struct json *out)
{
    struct executor_page *p = arg;
    ask(p);
    const struct daemon_status *s = &p->status;
    if (p->why.code != GLINT_OK) return false;
    char address[HOST_BYTES_MAX + 16];
    text_format(address, sizeof address, strchr(p->self.host, ':') ? "[%s]:%u" : "%s:%u",
                p->self.host, p->self.port);
    json_cstring(out, "id", s->node);
    json_cstring(out, "hostPort", address);
    json_cstring(out, "cluster", p->cluster.name);
    json_cstring(out, "build", s->build);
    json_cstring(out, "state", s->draining ? "draining" : s->job_count > 0 ? "busy" : "idle");
    json_u64(out, "totalCores", s->slots);
    json_u64(out, "activeTasks", running_tasks(s));
    json_u64(out, "memoryUsed", resident_bytes(s));
    json_u64(out, "maxMemory", s->memory_bytes);
    json_u64(out, "maxJobs", s->drivers_max);
    json_ms(out, "uptime", s->uptime_ns);
    json_begin(out, "jobs", '[');
    for (uint32_t i = 0; i < s->job_count; i++) put_job(out, &s->jobs[i]);
    json_end(out, ']');
    return true;
}

/* ---- Metrics */

static bool put_metrics(void *arg, struct buffer *out)
{
    struct executor_page *p = arg;
    ask(p);
    const struct daemon_status *s = &p->status;
    const uint32_t running = running_jobs(s);
    return p->why.code == GLINT_OK &&
           web_put_metric(out, "glint_executor_slots", false, NULL, "Tasks that run at a time.",
                          s->slots) &&
           web_put_metric(out, "glint_executor_tasks_running", false, NULL,
                          "Attempts that run now.", running_tasks(s)) &&
           web_put_metric(out, "glint_executor_jobs_running", false, NULL,
                          "Jobs that have an executor process here.", running) &&
           web_put_metric(out, "glint_executor_jobs_queued", false, NULL, "Jobs that wait for one.",
                          s->job_count - running) &&
           web_put_metric(out, "glint_executor_memory_bytes", false, "bytes",
                          "Resident memory of the executor processes.", resident_bytes(s)) &&
           web_put_metric(out, "glint_executor_memory_max_bytes", false, "bytes",
                          "Memory for tasks, all slots together.", s->memory_bytes) &&
           web_put_metric(out, "glint_executor_heartbeat_age_seconds", false, "seconds",
                          "Time since the last heartbeat of a driver, the longest.",
                          oldest_heartbeat_ns(s) / SECOND_NS) &&
           web_put_metric(out, "glint_executor_uptime_seconds", false, "seconds",
                          "Time since the daemon has started.", s->uptime_ns / SECOND_NS) &&
           web_put_metric(out, "glint_executor_draining", false, NULL, "1: it takes no more jobs.",
                          s->draining) &&
           web_metrics_end(out);
}

/* An executor has no jobs of its own. */
static void list_nothing(void *arg, struct json *out)
{
    (void)arg;
    (void)out;
}

static const struct job_model *find_nothing(void *arg, const char *id)
{
    (void)arg;
    (void)id;
    return NULL;
}

struct executor_page *executor_page_open(const struct cluster *cluster, const char *id,
                                         const char *address, const char *token_file, bool log,
                                         struct glint_error *error)
{
    struct executor_page *p = mem_zalloc(sizeof *p);
    if (p == NULL) {
        error_no_memory(error);
        return NULL;
    }
    p->cluster = *cluster;
    p->cluster.executors = &p->self;
    p->cluster.executor_count = 0;
    for (uint32_t i = 0; i < cluster->executor_count; i++)
        if (strcmp(cluster->executors[i].id, id) == 0) {
            p->self = cluster->executors[i];
            p->cluster.executor_count = 1;
        }
    if (p->cluster.executor_count == 0) { /* the daemon reports it, too */
        error_set(error, GLINT_E_CONFIG, "add an [[executor]] section, or correct --id",
                  "the cluster has no executor %s", id);
        mem_free(p);
        return NULL;
    }
    const struct web_jobs jobs = {.arg = p,
                                  .list = list_nothing,
                                  .find = find_nothing,
                                  .executor = put_executor,
                                  .executor_metrics = put_metrics};
    p->server = cli_web_open(address, token_file, &jobs, log, error);
    if (p->server != NULL && web_server_start(p->server, error) == 0) return p;
    executor_page_close(p);
    return NULL;
}

void executor_page_close(struct executor_page *page)
{
    if (page == NULL) return;
    web_server_close(page->server);
    mem_free(page);
}
