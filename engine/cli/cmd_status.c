/* glint status: shows what the executors of a cluster do. One row per executor, and more for
 * further jobs. Executors that do not respond are listed with the reason, since these are what
 * users look for. */
#include "engine/base/json.h"
#include "engine/base/text.h"
#include "engine/cli/cli.h"
#include "engine/cli/cli_internal.h"
#include "engine/cli/cluster_file.h"
#include "engine/cli/print.h"
#include "engine/net/conn.h"
#include "engine/net/wire.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define BUILD_SHOWN 18 /* version, dash and 12 digits of the build id */

struct cluster_status {
    const struct cluster *cluster;
    struct cluster_response *responses;
    struct daemon_status decoded;       /* of one executor at a time */
    uint32_t response_count, job_count; /* of the last table, object or line */
};

/* Returns the status of an executor, valid until the next call; NULL: it has not responded. */
static const struct daemon_status *daemon_status_of(struct cluster_status *s, uint32_t executor)
{
    struct cluster_response *r = &s->responses[executor];
    const struct glint_slice payload = buffer_slice(&r->payload);
    if (r->why.code != GLINT_OK || daemon_status_decode(payload, &s->decoded, &r->why) != 0)
        return NULL;
    s->response_count++;
    s->job_count += s->decoded.job_count;
    return &s->decoded;
}

static const char *executor_state_name(const struct daemon_status *status)
{
    if (status == NULL) return "unreachable";
    if (status->draining) return "draining";
    return status->job_count > 0 ? "busy" : "idle";
}

/* ---- Table */

static void format_heartbeat_age(uint64_t ns, char *out, size_t capacity)
{
    double s = (double)ns / 1e9;
    if (s < 60)
        text_format(out, capacity, "%.1fs", s);
    else if (s < 3600)
        text_format(out, capacity, "%.0fm", s / 60);
    else
        text_format(out, capacity, "%.1fh", s / 3600);
}

static void print_running_job(FILE *out, const struct status_job *j)
{
    char heartbeat[32], age[32], tasks[48];
    const struct job_progress *p = &j->progress;
    format_heartbeat_age(j->heartbeat_age_ns, heartbeat, sizeof heartbeat);
    format_heartbeat_age(j->age_ns, age, sizeof age);
    if (j->running)
        text_format(tasks, sizeof tasks, "%u task%s here", j->progress.tasks_running,
                    j->progress.tasks_running == 1 ? "" : "s");
    else
        text_format(tasks, sizeof tasks, "queued");
    fprintf(out, "%016llx %s, %s, for %s, last heartbeat %s ago", (unsigned long long)j->job,
            j->name, tasks, age, heartbeat);
    if (p->stage_name[0] == '\0') return;
    fprintf(out, ", stage %u %s: %u/%u tasks", p->stage, p->stage_name, p->stage_done,
            p->stage_tasks);
    if (p->retries > 0) fprintf(out, ", %u retried", p->retries);
    if (p->cached_rdds == 0) return;
    char in_memory[TEXT_NUMBER_MAX], on_disk[TEXT_NUMBER_MAX];
    text_format_bytes(in_memory, p->cached_memory_bytes);
    text_format_bytes(on_disk, p->cached_disk_bytes);
    fprintf(out, ", %u cached RDD%s: %u block%s, %s in memory, %s on disk", p->cached_rdds,
            p->cached_rdds == 1 ? "" : "s", p->cached_blocks, p->cached_blocks == 1 ? "" : "s",
            in_memory, on_disk);
}

static void print_executor_rows(FILE *out, struct cluster_status *s)
{
    char address[HOST_BYTES_MAX + 8], memory[TEXT_NUMBER_MAX], slots[16];
    fprintf(out, "%-12s %-21s %-11s %5s %8s  %-*s %s\n", "EXECUTOR", "ADDRESS", "STATE", "SLOTS",
            "MEMORY", BUILD_SHOWN, "VERSION", "JOB");
    for (uint32_t i = 0; i < s->cluster->executor_count; i++) {
        const struct cluster_executor *e = &s->cluster->executors[i];
        const struct daemon_status *status = daemon_status_of(s, i);
        host_format_address(address, sizeof address, e->host, e->port);
        memory[0] = slots[0] = '\0';
        if (status != NULL) text_format_bytes(memory, status->memory_bytes);
        if (status != NULL) text_format(slots, sizeof slots, "%u", status->slots);
        fprintf(out, "%-12s %-21s %-11s %5s %8s  %-*.*s ", e->id, address,
                executor_state_name(status), slots, memory, BUILD_SHOWN, BUILD_SHOWN,
                status != NULL ? status->build : "");
        if (status == NULL) print_escaped(out, s->responses[i].why.cause, "");
        for (uint32_t j = 0; status != NULL && j < status->job_count; j++) {
            if (j > 0)
                fprintf(out, "\n%*s", 12 + 1 + 21 + 1 + 11 + 1 + 5 + 1 + 8 + 2 + BUILD_SHOWN + 1,
                        "");
            print_running_job(out, &status->jobs[j]);
        }
        fputc('\n', out);
    }
}

/* ---- JSON */

/* Before the first stage its fields are null, because 0 is a valid stage number. */
static void put_job_progress(struct json *j, const struct job_progress *p)
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
    json_u64(j, "cached_rdds", p->cached_rdds);
    json_u64(j, "cached_blocks", p->cached_blocks);
    json_u64(j, "cached_memory_bytes", p->cached_memory_bytes);
    json_u64(j, "cached_disk_bytes", p->cached_disk_bytes);
}

static void put_running_job(struct json *j, const struct status_job *job)
{
    json_begin(j, NULL, '{');
    json_id(j, "id", job->job);
    json_cstring(j, "name", job->name);
    json_bool(j, "running", job->running);
    put_job_progress(j, &job->progress);
    json_u64(j, "tasks_running", job->progress.tasks_running);
    json_u64(j, "memory_bytes", job->memory_bytes);
    json_ms(j, "age_ms", job->age_ns);
    json_ms(j, "heartbeat_age_ms", job->heartbeat_age_ns);
    json_end(j, '}');
}

static void put_daemon_status(struct json *j, const struct daemon_status *s)
{
    json_cstring(j, "version", s->build);
    json_u64(j, "slots", s->slots);
    json_u64(j, "memory_bytes", s->memory_bytes);
    json_u64(j, "drivers_max", s->drivers_max);
    json_ms(j, "uptime_ms", s->uptime_ns);
    json_begin(j, "jobs", '[');
    for (uint32_t i = 0; i < s->job_count; i++) put_running_job(j, &s->jobs[i]);
    json_end(j, ']');
}

static void print_status_json(struct cluster_status *s, struct glint_error *error)
{
    struct json j = {.failed = false};
    json_begin(&j, NULL, '{');
    json_cstring(&j, "cluster", s->cluster->name);
    json_begin(&j, "executors", '[');
    for (uint32_t i = 0; i < s->cluster->executor_count; i++) {
        const struct cluster_executor *e = &s->cluster->executors[i];
        const struct daemon_status *status = daemon_status_of(s, i);
        json_begin(&j, NULL, '{');
        json_cstring(&j, "id", e->id);
        json_cstring(&j, "host", e->host);
        json_u64(&j, "port", e->port);
        json_cstring(&j, "state", executor_state_name(status));
        json_error(&j, "error", &s->responses[i].why);
        if (status != NULL) put_daemon_status(&j, status);
        json_end(&j, '}');
    }
    json_end(&j, ']');
    json_end(&j, '}');
    if (!print_json_object(stdout, &j)) error_no_memory(error);
}

/* ---- The command */

/* If no executor responds, that is an error, with the first executor's reason. */
static void check_any_response(const struct cluster_status *s, struct glint_error *error)
{
    if (s->response_count > 0 || error->code != GLINT_OK || s->cluster->executor_count == 0) return;
    const struct glint_error *why = &s->responses[0].why;
    error_set(error, GLINT_E_NO_EXECUTORS,
              why->hint[0] != '\0' ? why->hint
                                   : "start them: glint executor --cluster FILE --id ID",
              "none of %u executors responds; %s: %s", s->cluster->executor_count,
              s->cluster->executors[0].id, why->cause);
}

/* Requests the status of all executors. Returns false with *error set. */
static bool request_status(struct cluster_status *s, struct glint_error *error)
{
    const struct cluster_request request = {
        .cluster = s->cluster, .request_type = FRAME_STATUS, .response_type = FRAME_STATUS_REPLY};
    s->response_count = s->job_count = 0;
    return cluster_request_send(&request, &s->responses, error) == 0;
}

static void free_status_responses(struct cluster_status *s)
{
    cluster_responses_free(s->responses, s->cluster);
    s->responses = NULL;
}

/* ---- --watch */

#define WATCH_MS 1000

/* Draws the table over the last one. Lines and rows beyond the terminal are cut off. */
static void draw_status_screen(const char *table)
{
    struct winsize size = {.ws_col = 0};
    uint32_t columns = 80, rows = 24;
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) columns = size.ws_col;
    if (size.ws_row > 1) rows = size.ws_row;
    fputs("\033[H", stdout);
    for (uint32_t row = 1; row < rows && table[0] != '\0'; row++) {
        size_t length = strcspn(table, "\n"), shown = length < columns ? length : columns - 1;
        while (shown < length && shown > 0 && (table[shown] & 0xC0) == 0x80) shown--; /* UTF-8 */
        printf("%.*s\033[K\n", (int)shown, table);
        table += length + (table[length] == '\n');
    }
    fputs("\033[J", stdout);
}

/* Formats what changes in jobs and executors, without times: one line. */
static void format_status_line(FILE *out, struct cluster_status *s)
{
    for (uint32_t i = 0; i < s->cluster->executor_count; i++) {
        const struct daemon_status *status = daemon_status_of(s, i);
        fprintf(out, "%s%s %s", i > 0 ? "; " : "", s->cluster->executors[i].id,
                executor_state_name(status));
        for (uint32_t j = 0; status != NULL && j < status->job_count; j++) {
            const struct status_job *job = &status->jobs[j];
            const struct job_progress *p = &job->progress;
            fprintf(out, ", %016llx %s%s", (unsigned long long)job->job, job->name,
                    job->running ? "" : " queued");
            if (p->stage_name[0] != '\0')
                fprintf(out, " stage %u %u/%u tasks", p->stage, p->stage_done, p->stage_tasks);
        }
    }
    fputc('\n', out);
}

struct watch {
    bool json, terminal;
    char *last; /* the line that was printed last */
};

/* Prints one state of the cluster. */
static void print_watched_status(struct watch *w, struct cluster_status *s,
                                 struct glint_error *error)
{
    char *text = NULL;
    size_t size = 0;
    if (w->json) {
        print_status_json(s, error);
        return;
    }
    FILE *out = open_memstream(&text, &size);
    if (out == NULL) {
        error_no_memory(error);
        return;
    }
    if (w->terminal)
        print_executor_rows(out, s);
    else
        format_status_line(out, s);
    if (fclose(out) != 0)
        error_no_memory(error);
    else if (w->terminal)
        draw_status_screen(text);
    else if (w->last == NULL || strcmp(w->last, text) != 0)
        fputs(text, stdout);
    free(w->last);
    w->last = text;
}

/* Until no job is left of those that it has seen, an error, or a signal: nothing is to be cleaned
 * up then. */
static void watch_status(struct cluster_status *s, bool json, struct glint_error *error)
{
    struct watch w = {.json = json, .terminal = isatty(STDOUT_FILENO) == 1};
    bool seen = false, ended = false;
    if (w.terminal && !json) fputs("\033[H\033[2J", stdout);
    while (!ended && request_status(s, error)) {
        print_watched_status(&w, s, error);
        check_any_response(s, error);
        bool written = fflush(stdout) == 0; /* else cli_flush_stdout reports it */
        free_status_responses(s);
        ended = error->code != GLINT_OK || !written || (seen && s->job_count == 0);
        seen = seen || s->job_count > 0;
        if (!ended) poll(NULL, 0, WATCH_MS);
    }
    free(w.last);
}

static void show_status(const struct cli_line *line, struct glint_error *error)
{
    struct cluster_file file;
    struct cluster_status s = {.cluster = &file.cluster};
    const bool json = cli_line_flag(line, "json");
    if (cluster_file_open(&file, line, false, error)) {
        if (cli_line_flag(line, "watch")) {
            watch_status(&s, json, error);
        } else if (request_status(&s, error)) {
            if (json)
                print_status_json(&s, error);
            else
                print_executor_rows(stdout, &s);
            check_any_response(&s, error);
        }
    }
    free_status_responses(&s);
    cluster_file_fini(&file);
}

static const struct glint_job_option status_options[] = {
    {"json", NULL, NULL, "print one JSON object"},
    {"watch", NULL, NULL, "repeat every second, until the jobs that it shows have ended"},
    {.name = NULL}};

const struct cli_command cmd_status = {
    .name = "status",
    .summary = "show the executors of a cluster",
    .syntax = {.command = "glint status",
               .summary = "Shows the executors of a cluster and their jobs.",
               .own = status_options,
               .takes_cluster = true,
               .cluster_shown = "secret-file|insecure-plaintext|connect",
               .common_title = "The cluster:"},
    .execute = show_status};
