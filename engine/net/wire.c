/* Payloads about executors, jobs and daemons: the tables of their fields. Requests for bytes and
 * their responses are in wire_fetch.c. */
#include "engine/net/wire.h"

#include "engine/base/error.h"
#include "engine/base/text.h"
#include "engine/limits.h"

#include <assert.h>
#include <string.h>

static_assert(STATUS_JOBS_MAX * (2 * (NAME_BYTES_MAX + 2) + 48) + 2 * (NAME_BYTES_MAX + 2) + 64 <=
                  SMALL_FRAME_BYTES_MAX,
              "a status fits a small frame");
static_assert(sizeof(struct glint_error) + 64 <= SMALL_FRAME_BYTES_MAX,
              "an error fits a small frame");

const struct payload_format ping_format = {
    .what = "a heartbeat",
    .size = sizeof(struct ping),
    .fields = {FIELD_NUMBER(struct ping, sent_ns, 0, UINT64_MAX),
               FIELD_NUMBER(struct ping, memory_bytes, 0, UINT64_MAX),
               FIELD_NUMBER(struct ping, tasks_running, 0, SLOTS_MAX)},
};

const struct payload_format executor_registration_format = {
    .what = "an executor registration",
    .size = sizeof(struct executor_registration),
    .fields = {FIELD_NUMBER(struct executor_registration, port, 1, UINT16_MAX),
               FIELD_NUMBER(struct executor_registration, slots, 1, SLOTS_MAX),
               FIELD_NUMBER(struct executor_registration, memory_bytes, 1, UINT64_MAX)},
};

const struct payload_format executor_address_format = {
    .what = "an executor address",
    .size = sizeof(struct executor_address),
    .fields = {FIELD_NUMBER(struct executor_address, executor, 0, EXECUTORS_MAX - 1),
               FIELD_NAME(struct executor_address, node, 0),
               FIELD_NAME(struct executor_address, host, 1),
               FIELD_NUMBER(struct executor_address, port, 1, UINT16_MAX),
               FIELD_BYTES(struct executor_address, incarnation)},
};

static bool job_identity_is_valid(const void *v)
{
    const struct job_identity *j = v;
    return j->job != 0 || j->name[0] != '\0';
}

const struct payload_format job_identity_format = {
    .what = "a job id and name",
    .size = sizeof(struct job_identity),
    .is_valid = job_identity_is_valid,
    .fields = {FIELD_NUMBER(struct job_identity, job, 0, UINT64_MAX),
               FIELD_NAME(struct job_identity, name, 0)},
};

static const struct payload_format cancelled_job_format = {
    .size = sizeof(struct job_identity),
    .fields = {FIELD_NUMBER(struct job_identity, job, 1, UINT64_MAX),
               FIELD_NAME(struct job_identity, name, 0)},
};

const struct payload_format cancelled_jobs_format = {
    .what = "a list of cancelled jobs",
    .size = sizeof(struct cancelled_jobs),
    .is_bare = true,
    .fields = {FIELD_LIST(PAYLOAD_LIST, struct cancelled_jobs, job_count, jobs,
                          &cancelled_job_format)},
};

const struct payload_format executor_request_format = {
    .what = "REQUEST_EXECUTOR",
    .size = sizeof(struct executor_request),
    .fields = {FIELD_NUMBER(struct executor_request, job.job, 1, UINT64_MAX),
               FIELD_NAME(struct executor_request, job.name, 0),
               FIELD_NAME(struct executor_request, driver_host, 1),
               FIELD_NUMBER(struct executor_request, driver_port, 1, UINT16_MAX),
               FIELD_BYTES(struct executor_request, incarnation),
               FIELD_BYTES(struct executor_request, key)},
};

const struct payload_format program_info_format = {
    .what = "PROGRAM",
    .size = sizeof(struct program_info),
    .fields = {FIELD_NUMBER(struct program_info, size, 1, INT64_MAX),
               FIELD_BYTES(struct program_info, sha256)},
};

const struct payload_format job_key_format = {
    .what = "JOB_KEY",
    .size = sizeof(struct secret),
    .fields = {FIELD_BYTES(struct secret, bytes)},
};

/* Paths and texts may contain any bytes, but are only printed. */
static void executor_exited_sanitize(void *exited)
{
    struct executor_exited *v = exited;
    text_make_printable(v->log);
    text_make_printable(v->why.cause);
    text_make_printable(v->why.hint);
    /* The program may be of a later version: an unknown code becomes EXECUTOR_LOST. */
    int code = v->why.code;
    bool known = code > INT16_MIN && code <= 0 && error_is_known(v->why.code);
    if (code != 0 && !known) v->why.code = GLINT_E_EXECUTOR_LOST;
}

const struct payload_format executor_exited_format = {
    .what = "EXECUTOR_EXITED",
    .size = sizeof(struct executor_exited),
    .sanitize = executor_exited_sanitize,
    .fields = {FIELD_INTEGER(struct executor_exited, wait_status),
               FIELD_BOOL(struct executor_exited, out_of_memory),
               FIELD_TEXT(struct executor_exited, log),
               FIELD_INTEGER(struct executor_exited, why.code),
               FIELD_TEXT(struct executor_exited, why.cause),
               FIELD_TEXT(struct executor_exited, why.hint)},
};

const struct payload_format fetch_error_format = {
    .what = "a fetch error",
    .size = sizeof(struct glint_error),
    .fields = {{.kind = PAYLOAD_ERROR}},
};

static bool job_progress_is_valid(const void *v)
{
    const struct job_progress *p = v;
    return p->stage_done <= p->stage_tasks;
}

const struct payload_format job_progress_format = {
    .what = "job progress",
    .size = sizeof(struct job_progress),
    .is_valid = job_progress_is_valid,
    .fields = {FIELD_NUMBER(struct job_progress, stages, 0, UINT32_MAX),
               FIELD_NUMBER(struct job_progress, tasks, 0, UINT32_MAX),
               FIELD_NUMBER(struct job_progress, retries, 0, UINT32_MAX),
               FIELD_NAME(struct job_progress, stage_name, 0),
               FIELD_NUMBER(struct job_progress, stage, 0, UINT32_MAX),
               FIELD_NUMBER(struct job_progress, stage_tasks, 0, UINT32_MAX),
               FIELD_NUMBER(struct job_progress, stage_done, 0, UINT32_MAX),
               FIELD_NUMBER(struct job_progress, tasks_running, 0, SLOTS_MAX),
               FIELD_NUMBER(struct job_progress, cached_rdds, 0, UINT32_MAX),
               FIELD_NUMBER(struct job_progress, cached_blocks, 0, UINT32_MAX),
               FIELD_NUMBER(struct job_progress, cached_memory_bytes, 0, UINT64_MAX),
               FIELD_NUMBER(struct job_progress, cached_disk_bytes, 0, UINT64_MAX)},
};

static const struct payload_format status_job_format = {
    .size = sizeof(struct status_job),
    .fields = {FIELD_NUMBER(struct status_job, job, 0, UINT64_MAX),
               FIELD_NAME(struct status_job, name, 0),
               FIELD_VALUE(struct status_job, progress, &job_progress_format),
               FIELD_BOOL(struct status_job, running),
               FIELD_NUMBER(struct status_job, age_ns, 0, UINT64_MAX),
               FIELD_NUMBER(struct status_job, heartbeat_age_ns, 0, UINT64_MAX),
               FIELD_NUMBER(struct status_job, memory_bytes, 0, UINT64_MAX)},
};

const struct payload_format daemon_status_format = {
    .what = "a daemon status",
    .size = sizeof(struct daemon_status),
    .fields = {FIELD_NAME(struct daemon_status, node, 0),
               FIELD_NAME(struct daemon_status, build, 0),
               FIELD_NUMBER(struct daemon_status, slots, 0, UINT32_MAX),
               FIELD_NUMBER(struct daemon_status, drivers_max, 0, UINT32_MAX),
               FIELD_NUMBER(struct daemon_status, memory_bytes, 0, UINT64_MAX),
               FIELD_NUMBER(struct daemon_status, uptime_ns, 0, UINT64_MAX),
               FIELD_BOOL(struct daemon_status, draining),
               FIELD_LIST(PAYLOAD_LIST, struct daemon_status, job_count, jobs, &status_job_format)},
};

/* ---- Exit reports: what an executor process tells its daemon. */

#define CODE_BYTES 6u /* "E0601 " */

size_t exit_report_format(const struct glint_error *why, char *out, size_t capacity)
{
    text_format(out, capacity, "E%04d %s\n%s\n", -why->code, why->cause, why->hint);
    return strlen(out);
}

/* Removes the first line from *rest and returns it without its end. */
static struct glint_slice next_report_line(struct glint_slice *rest)
{
    const uint8_t *end = rest->size > 0 ? memchr(rest->data, '\n', rest->size) : NULL;
    uint64_t size = end != NULL ? (uint64_t)(end - rest->data) : rest->size;
    struct glint_slice line = {rest->data, size};
    uint64_t used = size + (end != NULL);
    *rest = (struct glint_slice){used > 0 ? rest->data + used : rest->data, rest->size - used};
    return line;
}

struct glint_slice exit_report_parse(struct glint_slice report, struct glint_error *out)
{
    int64_t number;
    struct glint_slice rest = report, cause = next_report_line(&rest), hint = {NULL, 0};
    enum glint_code code = GLINT_E_EXECUTOR_LOST;
    memset(out, 0, sizeof *out);
    if (report.size == 0) return rest;
    bool has_code = cause.size >= CODE_BYTES && cause.data[0] == 'E' &&
                    text_parse_i64(cause.data + 1, CODE_BYTES - 2, &number) && number > 0;
    if (has_code) {
        if (error_is_known((enum glint_code) - number)) code = (enum glint_code) - number;
        cause = (struct glint_slice){cause.data + CODE_BYTES, cause.size - CODE_BYTES};
        hint = next_report_line(&rest);
    }
    error_set(out, code, NULL, "%.*s", (int)cause.size, (const char *)cause.data);
    text_format(out->hint, sizeof out->hint, "%.*s", (int)hint.size, (const char *)hint.data);
    text_make_printable(out->cause);
    text_make_printable(out->hint);
    return rest;
}
