/* glint status: shows what the executors of a cluster do. One row per executor, and more for
 * further jobs. Executors that do not respond are listed with the reason, since these are what
 * users look for. */
#include "engine/base/json.h"
#include "engine/base/text.h"
#include "engine/cli/cluster_file.h"
#include "engine/cli/cluster_request.h"
#include "engine/cli/commands.h"
#include "engine/cli/print.h"
#include "engine/net/wire.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#define BUILD_SHOWN 18 /* version, dash and 12 digits of the build id */

struct cluster_status {
    const struct cluster *cluster;
    struct cluster_response *responses;
    struct daemon_status decoded; /* of one executor at a time */
    uint32_t response_count;
};

/* Returns the status of an executor, valid until the next call; NULL: it has not responded. */
static const struct daemon_status *status_of(struct cluster_status *s, uint32_t executor)
{
    struct cluster_response *r = &s->responses[executor];
    const struct glint_slice payload = {r->payload.data, r->payload.size};
    if (r->why.code != GLINT_OK || daemon_status_decode(payload, &s->decoded, &r->why) != 0)
        return NULL;
    s->response_count++;
    return &s->decoded;
}

static const char *state_name(const struct daemon_status *status)
{
    if (status == NULL) return "unreachable";
    if (status->draining) return "draining";
    return status->job_count > 0 ? "busy" : "idle";
}

/* ---- Table */

static void age_text(uint64_t ns, char *out, size_t capacity)
{
    double s = (double)ns / 1e9;
    if (s < 60)
        text_format(out, capacity, "%.1fs", s);
    else if (s < 3600)
        text_format(out, capacity, "%.0fm", s / 60);
    else
        text_format(out, capacity, "%.1fh", s / 3600);
}

static void print_job(const struct status_job *j)
{
    char heartbeat[32], age[32], tasks[48];
    const struct job_progress *p = &j->progress;
    age_text(j->heartbeat_age_ns, heartbeat, sizeof heartbeat);
    age_text(j->age_ns, age, sizeof age);
    if (j->running)
        text_format(tasks, sizeof tasks, "%u task%s here", j->progress.tasks_running,
                    j->progress.tasks_running == 1 ? "" : "s");
    else
        text_format(tasks, sizeof tasks, "queued");
    printf("%016llx %s, %s, for %s, last heartbeat %s ago", (unsigned long long)j->job, j->name,
           tasks, age, heartbeat);
    if (p->stage_name[0] == '\0') return;
    printf(", stage %u %s: %u/%u tasks", p->stage, p->stage_name, p->stage_done, p->stage_tasks);
    if (p->retries > 0) printf(", %u retried", p->retries);
}

static void print_rows(struct cluster_status *s)
{
    char address[HOST_BYTES_MAX + 8], memory[TEXT_NUMBER_MAX], slots[16];
    printf("%-12s %-21s %-11s %5s %8s  %-*s %s\n", "EXECUTOR", "ADDRESS", "STATE", "SLOTS",
           "MEMORY", BUILD_SHOWN, "VERSION", "JOB");
    for (uint32_t i = 0; i < s->cluster->executor_count; i++) {
        const struct cluster_executor *e = &s->cluster->executors[i];
        const struct daemon_status *status = status_of(s, i);
        text_format(address, sizeof address, strchr(e->host, ':') ? "[%s]:%u" : "%s:%u", e->host,
                    e->port);
        memory[0] = slots[0] = '\0';
        if (status != NULL) text_format_bytes(memory, status->memory_bytes);
        if (status != NULL) text_format(slots, sizeof slots, "%u", status->slots);
        printf("%-12s %-21s %-11s %5s %8s  %-*.*s ", e->id, address, state_name(status), slots,
               memory, BUILD_SHOWN, BUILD_SHOWN, status != NULL ? status->build : "");
        if (status == NULL) print_escaped(stdout, s->responses[i].why.cause, "");
        for (uint32_t j = 0; status != NULL && j < status->job_count; j++) {
            if (j > 0)
                printf("\n%*s", 12 + 1 + 21 + 1 + 11 + 1 + 5 + 1 + 8 + 2 + BUILD_SHOWN + 1, "");
            print_job(&status->jobs[j]);
        }
        putchar('\n');
    }
}

/* ---- JSON */

/* Before the first stage its fields are null, because 0 is a valid stage number. */
static void json_progress(struct json *j, const struct job_progress *p)
{
    bool started = p->stage_name[0] != '\0';
    json_cstring(j, "stage", started ? p->stage_name : NULL);
    if (started)
        json_u64(j, "stage_number", p->stage);
    else
        json_cstring(j, "stage_number", NULL);
    json_u64(j, "stage_tasks", p->stage_tasks);
    json_u64(j, "stage_tasks_done", p->stage_done);
    json_u64(j, "stages", p->stages);
    json_u64(j, "tasks", p->tasks);
    json_u64(j, "retries", p->retries);
}

static void json_job(struct json *j, const struct status_job *job)
{
    char id[32];
    text_format(id, sizeof id, "%016llx", (unsigned long long)job->job);
    json_begin(j, NULL, '{');
    json_cstring(j, "id", id);
    json_cstring(j, "name", job->name);
    json_bool(j, "running", job->running);
    json_progress(j, &job->progress);
    json_u64(j, "tasks_running", job->progress.tasks_running);
    json_u64(j, "memory_bytes", job->memory_bytes);
    json_ms(j, "age_ms", job->age_ns);
    json_ms(j, "heartbeat_age_ms", job->heartbeat_age_ns);
    json_end(j, '}');
}

static void json_status(struct json *j, const struct daemon_status *s)
{
    json_cstring(j, "version", s->build);
    json_u64(j, "slots", s->slots);
    json_u64(j, "memory_bytes", s->memory_bytes);
    json_u64(j, "drivers_max", s->drivers_max);
    json_ms(j, "uptime_ms", s->uptime_ns);
    json_begin(j, "jobs", '[');
    for (uint32_t i = 0; i < s->job_count; i++) json_job(j, &s->jobs[i]);
    json_end(j, ']');
}

static void print_json(struct cluster_status *s, struct glint_error *error)
{
    struct json j = {.failed = false};
    json_begin(&j, NULL, '{');
    json_cstring(&j, "cluster", s->cluster->name);
    json_begin(&j, "executors", '[');
    for (uint32_t i = 0; i < s->cluster->executor_count; i++) {
        const struct cluster_executor *e = &s->cluster->executors[i];
        const struct daemon_status *status = status_of(s, i);
        json_begin(&j, NULL, '{');
        json_cstring(&j, "id", e->id);
        json_cstring(&j, "host", e->host);
        json_u64(&j, "port", e->port);
        json_cstring(&j, "state", state_name(status));
        json_error(&j, "error", &s->responses[i].why);
        if (status != NULL) json_status(&j, status);
        json_end(&j, '}');
    }
    json_end(&j, ']');
    json_end(&j, '}');
    if (!print_json_object(stdout, &j)) error_no_memory(error);
}

/* ---- The command */

/* If no executor responds, that is an error, with the first executor's reason. */
static void check_responses(const struct cluster_status *s, struct glint_error *error)
{
    if (s->response_count > 0 || error->code != GLINT_OK || s->cluster->executor_count == 0) return;
    const struct glint_error *why = &s->responses[0].why;
    error_set(error, GLINT_E_NO_EXECUTORS,
              why->hint[0] != '\0' ? why->hint
                                   : "start them: glint executor --cluster FILE --id ID",
              "none of %u executors responds; %s: %s", s->cluster->executor_count,
              s->cluster->executors[0].id, why->cause);
}

static void show_status(const struct cli_line *line, struct glint_error *error)
{
    struct cluster_file file;
    struct cluster_status s = {.cluster = &file.cluster};
    const struct cluster_request request = {.cluster = &file.cluster,
                                            .request_type = FRAME_STATUS,
                                            .response_type = FRAME_STATUS_REPLY};
    if (cluster_file_open(&file, line, false, error) &&
        cluster_request_send(&request, &s.responses, error) == 0) {
        if (cli_line_flag(line, "json"))
            print_json(&s, error);
        else
            print_rows(&s);
        check_responses(&s, error);
    }
    cluster_responses_free(s.responses, &file.cluster);
    cluster_file_fini(&file);
}

static const char *const status_shown[] = {"secret-file", "insecure-plaintext", "connect", NULL};

const struct cli_command cmd_status = {
    .name = "status",
    .summary = "show the executors of a cluster",
    .syntax = {.command = "glint status",
               .summary = "Shows the executors of a cluster and their jobs.",
               .own = cli_json_option,
               .takes_cluster = true,
               .cluster_shown = status_shown,
               .common_title = "The cluster:"},
    .execute = show_status};
