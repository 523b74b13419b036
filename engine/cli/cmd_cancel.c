/* glint cancel JOB: cancels a job from another terminal. Sends the request to all executors; those
 * that serve the job forward it to its driver, which then ends as on an interrupt. */
#include "engine/base/text.h"
#include "engine/cli/cli.h"
#include "engine/cli/cli_internal.h"
#include "engine/cli/cluster_file.h"
#include "engine/cli/print.h"
#include "engine/net/wire.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define ID_DIGITS 16u

/* A job being cancelled, and the executors that serve or queue it. */
struct cancelled_job {
    struct job_identity id;
    bool *serves; /* [executor_count] */
};

struct cancel {
    const struct cluster *cluster;
    uint32_t response_count, job_count;
    struct cancelled_job jobs[STATUS_JOBS_MAX];
    struct glint_error why; /* of the last executor that failed */
};

/* Returns NULL if there is no room. */
static struct cancelled_job *find_or_add_job(struct cancel *c, const struct job_identity *job)
{
    uint32_t i = 0;
    while (i < c->job_count && c->jobs[i].id.job != job->job) i++;
    if (i == STATUS_JOBS_MAX) return NULL; /* the maximum that one daemon reports */
    struct cancelled_job *known = &c->jobs[i];
    if (i < c->job_count) return known;
    known->serves = mem_zalloc(c->cluster->executor_count);
    if (known->serves == NULL) return NULL;
    known->id = *job;
    c->job_count++;
    return known;
}

static void add_cancel_response(struct cancel *c, uint32_t executor,
                                const struct cluster_response *r)
{
    struct cancelled_jobs reply;
    struct glint_error why = r->why;
    if (why.code != GLINT_OK ||
        cancelled_jobs_decode(buffer_slice(&r->payload), &reply, &why) != 0) {
        c->why = why;
        return;
    }
    c->response_count++;
    for (uint32_t i = 0; i < reply.job_count; i++) {
        struct cancelled_job *job = find_or_add_job(c, &reply.jobs[i]);
        if (job != NULL) job->serves[executor] = true;
    }
}

static void print_cancelled_jobs(const struct cancel *c)
{
    for (uint32_t i = 0; i < c->job_count; i++) {
        const struct cancelled_job *job = &c->jobs[i];
        fputs("cancelled ", stdout);
        print_escaped(stdout, job->id.name, "");
        printf(", job %016llx", (unsigned long long)job->id.job);
        const char *before = ", on ";
        for (uint32_t e = 0; e < c->cluster->executor_count; e++) {
            if (!job->serves[e]) continue;
            printf("%s%s", before, c->cluster->executors[e].id);
            before = ", ";
        }
        putchar('\n');
    }
}

/* Reads a job id as printed by `glint status`, otherwise a job name. */
static void parse_job_id_or_name(const char *text, struct job_identity *out)
{
    bool is_id = strlen(text) == ID_DIGITS && strspn(text, "0123456789abcdefABCDEF") == ID_DIGITS;
    *out = (struct job_identity){.job = is_id ? strtoull(text, NULL, 16) : 0};
    if (out->job == 0) text_format(out->name, sizeof out->name, "%s", text);
}

static void send_cancel_job(const struct cluster *cluster, const char *job,
                            struct glint_error *error)
{
    struct cancel c = {.cluster = cluster};
    struct job_identity target;
    struct buffer payload = {NULL, 0, 0};
    parse_job_id_or_name(job, &target);
    if (strlen(job) >= sizeof target.name || job[0] == '\0' || !text_is_printable(job)) {
        error_set(error, GLINT_E_BAD_VALUE, "glint status lists jobs",
                  "JOB is not a valid job name or id");
        return;
    }
    if (job_identity_encode(&target, &payload, error) != 0) return;
    const struct cluster_request request = {.cluster = cluster,
                                            .request_type = FRAME_CANCEL,
                                            .response_type = FRAME_CANCELLED,
                                            .payload = {payload.data, payload.size}};
    struct cluster_response *responses;
    int r = cluster_request_send(&request, &responses, error);
    buffer_fini(&payload);
    if (r != 0) return;
    for (uint32_t i = 0; i < cluster->executor_count; i++)
        add_cancel_response(&c, i, &responses[i]);
    cluster_responses_free(responses, cluster);
    assert(c.job_count == 0 || c.response_count > 0);
    /* A client secret is rejected by all executors: not a connection problem. */
    if (c.response_count == 0 && c.why.code == GLINT_E_NOT_PERMITTED)
        *error = c.why;
    else if (c.response_count == 0)
        error_set(error, GLINT_E_NO_EXECUTORS, "glint status shows why",
                  "none of %u executors responds: %s", cluster->executor_count, c.why.cause);
    else if (c.job_count == 0)
        error_set(error, GLINT_E_JOB_NOT_FOUND, "glint status lists running jobs",
                  "%u of %u executors respond, and none has a job %s", c.response_count,
                  cluster->executor_count, job);
    print_cancelled_jobs(&c);
    for (uint32_t i = 0; i < c.job_count; i++) mem_free(c.jobs[i].serves);
}

static void cancel_jobs_of_line(const struct cli_line *line, struct glint_error *error)
{
    struct cluster_file file;
    if (cluster_file_open(&file, line, false, error))
        send_cancel_job(&file.cluster, line->arguments[0], error);
    cluster_file_fini(&file);
}

const struct cli_command cmd_cancel = {
    .name = "cancel",
    .summary = "cancel a job of a cluster",
    .syntax = {.command = "glint cancel",
               .summary = "Cancels a job of a cluster; the job removes its output.",
               .help = "JOB is the name or id that `glint status` shows, and `glint submit` prints "
                       "when the job starts; of several jobs with the same name, all are "
                       "cancelled. Prints the cancelled jobs and their executors.",
               .arguments = "JOB",
               .arguments_min = 1,
               .arguments_max = 1,
               .takes_cluster = true,
               .cluster_shown = "secret-file|insecure-plaintext|connect"},
    .execute = cancel_jobs_of_line};
