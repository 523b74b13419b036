/* Payloads about executors, jobs and daemons: encoding and decoding. Requests for bytes and their
 * responses are in wire_fetch.c. */
#include "engine/net/wire.h"

#include "engine/base/text.h"
#include "engine/limits.h"
#include "engine/net/payload.h"

#include <assert.h>
#include <string.h>

static_assert(STATUS_JOBS_MAX * (2 * (NAME_BYTES_MAX + 2) + 48) + 2 * (NAME_BYTES_MAX + 2) + 64 <=
                  SMALL_FRAME_BYTES_MAX,
              "a status fits a small frame");
static_assert(sizeof(struct glint_error) + 64 <= SMALL_FRAME_BYTES_MAX,
              "an error fits a small frame");

int ping_encode(const struct ping *v, struct buffer *out, struct glint_error *error)
{
    struct packer p;
    uint64_t before = out->size;
    payload_pack_begin(&p, out, 3);
    pack_u64(&p, v->sent_ns);
    pack_u64(&p, v->memory_bytes);
    pack_u64(&p, v->tasks_running);
    return payload_pack_end(&p, out, before, error);
}

int ping_decode(struct glint_slice bytes, struct ping *v, struct glint_error *error)
{
    memset(v, 0, sizeof *v);
    struct unpacker u = unpack_begin(bytes);
    v->sent_ns = unpack_u64(&u, UINT64_MAX);
    v->memory_bytes = unpack_u64(&u, UINT64_MAX);
    v->tasks_running = (uint32_t)unpack_u64(&u, SLOTS_MAX);
    return payload_unpack_end(&u, "a heartbeat", error);
}

/* Reads a number; 0 fails the unpacker. */
static uint64_t unpack_positive(struct unpacker *u, uint64_t max)
{
    uint64_t v = unpack_u64(u, max);
    if (v == 0) u->failed = true;
    return v;
}

int executor_registration_encode(const struct executor_registration *v, struct buffer *out,
                                 struct glint_error *error)
{
    assert(v->port > 0 && v->slots > 0 && v->slots <= SLOTS_MAX && v->memory_bytes > 0);
    struct packer p;
    uint64_t before = out->size;
    payload_pack_begin(&p, out, 3);
    pack_u64(&p, v->port);
    pack_u64(&p, v->slots);
    pack_u64(&p, v->memory_bytes);
    return payload_pack_end(&p, out, before, error);
}

int executor_registration_decode(struct glint_slice bytes, struct executor_registration *v,
                                 struct glint_error *error)
{
    memset(v, 0, sizeof *v);
    struct unpacker u = unpack_begin(bytes);
    v->port = (uint16_t)unpack_positive(&u, UINT16_MAX);
    v->slots = (uint32_t)unpack_positive(&u, SLOTS_MAX);
    v->memory_bytes = unpack_positive(&u, UINT64_MAX);
    return payload_unpack_end(&u, "an executor registration", error);
}

int executor_address_encode(const struct executor_address *v, struct buffer *out,
                            struct glint_error *error)
{
    assert(v->executor < EXECUTORS_MAX && v->port > 0 && v->host[0] != '\0');
    struct packer p;
    uint64_t before = out->size;
    payload_pack_begin(&p, out, 5);
    pack_u64(&p, v->executor);
    pack_text(&p, v->node);
    pack_text(&p, v->host);
    pack_u64(&p, v->port);
    pack_fixed_bytes(&p, v->incarnation, sizeof v->incarnation);
    return payload_pack_end(&p, out, before, error);
}

int executor_address_decode(struct glint_slice bytes, struct executor_address *v,
                            struct glint_error *error)
{
    memset(v, 0, sizeof *v);
    struct unpacker u = unpack_begin(bytes);
    v->executor = (uint32_t)unpack_u64(&u, EXECUTORS_MAX - 1);
    unpack_name(&u, v->node, sizeof v->node);
    unpack_name(&u, v->host, sizeof v->host);
    v->port = (uint16_t)unpack_positive(&u, UINT16_MAX);
    unpack_fixed_bytes(&u, v->incarnation, sizeof v->incarnation);
    if (v->host[0] == '\0') u.failed = true;
    return payload_unpack_end(&u, "an executor address", error);
}

int job_identity_encode(const struct job_identity *v, struct buffer *out, struct glint_error *error)
{
    assert(v->job != 0 || v->name[0] != '\0');
    struct packer p;
    uint64_t before = out->size;
    payload_pack_begin(&p, out, 2);
    pack_u64(&p, v->job);
    pack_text(&p, v->name);
    return payload_pack_end(&p, out, before, error);
}

int job_identity_decode(struct glint_slice bytes, struct job_identity *v, struct glint_error *error)
{
    memset(v, 0, sizeof *v);
    struct unpacker u = unpack_begin(bytes);
    v->job = unpack_u64(&u, UINT64_MAX);
    unpack_name(&u, v->name, sizeof v->name);
    if (v->job == 0 && v->name[0] == '\0') u.failed = true;
    return payload_unpack_end(&u, "a job id and name", error);
}

int cancelled_jobs_encode(const struct cancelled_jobs *v, struct buffer *out,
                          struct glint_error *error)
{
    assert(v->job_count <= STATUS_JOBS_MAX);
    struct packer p;
    uint64_t before = out->size;
    payload_pack_begin(&p, out, v->job_count);
    for (uint32_t i = 0; i < v->job_count; i++) {
        pack_array(&p, 2);
        pack_u64(&p, v->jobs[i].job);
        pack_text(&p, v->jobs[i].name);
    }
    return payload_pack_end(&p, out, before, error);
}

int cancelled_jobs_decode(struct glint_slice bytes, struct cancelled_jobs *v,
                          struct glint_error *error)
{
    memset(v, 0, sizeof *v);
    struct unpacker u = unpack_begin(bytes);
    if (u.count > STATUS_JOBS_MAX) u.failed = true;
    for (uint64_t i = 0; !u.failed && i < u.count; i++) {
        struct unpacker job = unpack_array(&u);
        struct job_identity *to = &v->jobs[v->job_count++];
        to->job = unpack_positive(&job, UINT64_MAX);
        unpack_name(&job, to->name, sizeof to->name);
        if (!unpack_is_complete(&job)) u.failed = true;
    }
    return payload_unpack_end(&u, "a list of cancelled jobs", error);
}

int executor_request_encode(const struct executor_request *v, struct buffer *out,
                            struct glint_error *error)
{
    assert(v->job.job != 0 && v->driver_host[0] != '\0' && v->driver_port > 0);
    struct packer p;
    uint64_t before = out->size;
    payload_pack_begin(&p, out, 6);
    pack_u64(&p, v->job.job);
    pack_text(&p, v->job.name);
    pack_text(&p, v->driver_host);
    pack_u64(&p, v->driver_port);
    pack_fixed_bytes(&p, v->incarnation, sizeof v->incarnation);
    pack_fixed_bytes(&p, v->key.bytes, sizeof v->key.bytes);
    return payload_pack_end(&p, out, before, error);
}

int executor_request_decode(struct glint_slice bytes, struct executor_request *v,
                            struct glint_error *error)
{
    memset(v, 0, sizeof *v);
    struct unpacker u = unpack_begin(bytes);
    v->job.job = unpack_positive(&u, UINT64_MAX);
    unpack_name(&u, v->job.name, sizeof v->job.name);
    unpack_name(&u, v->driver_host, sizeof v->driver_host);
    v->driver_port = (uint16_t)unpack_positive(&u, UINT16_MAX);
    unpack_fixed_bytes(&u, v->incarnation, sizeof v->incarnation);
    unpack_fixed_bytes(&u, v->key.bytes, sizeof v->key.bytes);
    if (v->driver_host[0] == '\0') u.failed = true;
    return payload_unpack_end(&u, "REQUEST_EXECUTOR", error);
}

int program_info_encode(const struct program_info *v, struct buffer *out, struct glint_error *error)
{
    struct packer p;
    uint64_t before = out->size;
    payload_pack_begin(&p, out, 2);
    pack_u64(&p, v->size);
    pack_fixed_bytes(&p, v->sha256, sizeof v->sha256);
    return payload_pack_end(&p, out, before, error);
}

int program_info_decode(struct glint_slice bytes, struct program_info *v, struct glint_error *error)
{
    memset(v, 0, sizeof *v);
    struct unpacker u = unpack_begin(bytes);
    v->size = unpack_positive(&u, INT64_MAX);
    unpack_fixed_bytes(&u, v->sha256, sizeof v->sha256);
    return payload_unpack_end(&u, "PROGRAM", error);
}

int job_key_encode(const struct secret *v, struct buffer *out, struct glint_error *error)
{
    struct packer p;
    uint64_t before = out->size;
    payload_pack_begin(&p, out, 1);
    pack_fixed_bytes(&p, v->bytes, sizeof v->bytes);
    return payload_pack_end(&p, out, before, error);
}

int job_key_decode(struct glint_slice bytes, struct secret *v, struct glint_error *error)
{
    struct unpacker u = unpack_begin(bytes);
    unpack_fixed_bytes(&u, v->bytes, sizeof v->bytes);
    return payload_unpack_end(&u, "JOB_KEY", error);
}

int executor_exited_encode(const struct executor_exited *v, struct buffer *out,
                           struct glint_error *error)
{
    struct packer p;
    uint64_t before = out->size;
    payload_pack_begin(&p, out, 6);
    pack_i64(&p, v->wait_status);
    pack_u64(&p, v->out_of_memory);
    pack_text(&p, v->log);
    pack_i64(&p, v->why.code);
    pack_text(&p, v->why.cause);
    pack_text(&p, v->why.hint);
    return payload_pack_end(&p, out, before, error);
}

int executor_exited_decode(struct glint_slice bytes, struct executor_exited *v,
                           struct glint_error *error)
{
    memset(v, 0, sizeof *v);
    struct unpacker u = unpack_begin(bytes);
    int64_t status = unpack_i64(&u);
    v->wait_status = (int32_t)status;
    v->out_of_memory = unpack_u64(&u, 1) != 0;
    unpack_text(&u, v->log, sizeof v->log);
    int64_t code = unpack_i64(&u);
    unpack_text(&u, v->why.cause, sizeof v->why.cause);
    unpack_text(&u, v->why.hint, sizeof v->why.hint);
    /* Paths and texts may contain any bytes, but are only printed here. */
    text_make_printable(v->log);
    text_make_printable(v->why.cause);
    text_make_printable(v->why.hint);
    /* The program may be of a later version: an unknown code becomes EXECUTOR_LOST. */
    bool known = code > INT16_MIN && code <= 0 && error_is_known((enum glint_code)code);
    v->why.code = code == 0 ? GLINT_OK : known ? (enum glint_code)code : GLINT_E_EXECUTOR_LOST;
    if (status != v->wait_status) u.failed = true; /* does not fit 32 bits */
    return payload_unpack_end(&u, "EXECUTOR_EXITED", error);
}

int fetch_error_encode(const struct glint_error *why, struct buffer *out, struct glint_error *error)
{
    assert(why->code < 0);
    struct packer p;
    uint64_t before = out->size;
    payload_pack_begin(&p, out, 1);
    pack_error(&p, why);
    return payload_pack_end(&p, out, before, error);
}

int fetch_error_decode(struct glint_slice bytes, struct glint_error *why, struct glint_error *error)
{
    struct unpacker u = unpack_begin(bytes);
    unpack_error(&u, why);
    return payload_unpack_end(&u, "a fetch error", error);
}

/* ---- Progress of a job */

#define JOB_PROGRESS_FIELDS 8u

static void job_progress_pack(struct packer *p, const struct job_progress *v)
{
    pack_u64(p, v->stages);
    pack_u64(p, v->tasks);
    pack_u64(p, v->retries);
    pack_text(p, v->stage_name);
    pack_u64(p, v->stage);
    pack_u64(p, v->stage_tasks);
    pack_u64(p, v->stage_done);
    pack_u64(p, v->tasks_running);
}

static void job_progress_unpack(struct unpacker *u, struct job_progress *v)
{
    v->stages = (uint32_t)unpack_u64(u, UINT32_MAX);
    v->tasks = (uint32_t)unpack_u64(u, UINT32_MAX);
    v->retries = (uint32_t)unpack_u64(u, UINT32_MAX);
    unpack_name(u, v->stage_name, sizeof v->stage_name);
    v->stage = (uint32_t)unpack_u64(u, UINT32_MAX);
    v->stage_tasks = (uint32_t)unpack_u64(u, UINT32_MAX);
    v->stage_done = (uint32_t)unpack_u64(u, v->stage_tasks);
    v->tasks_running = (uint32_t)unpack_u64(u, SLOTS_MAX);
}

int job_progress_encode(const struct job_progress *v, struct buffer *out, struct glint_error *error)
{
    struct packer p;
    uint64_t before = out->size;
    assert(v->stage_done <= v->stage_tasks);
    payload_pack_begin(&p, out, JOB_PROGRESS_FIELDS);
    job_progress_pack(&p, v);
    return payload_pack_end(&p, out, before, error);
}

int job_progress_decode(struct glint_slice bytes, struct job_progress *v, struct glint_error *error)
{
    memset(v, 0, sizeof *v);
    struct unpacker u = unpack_begin(bytes);
    job_progress_unpack(&u, v);
    return payload_unpack_end(&u, "job progress", error);
}

/* ---- Status of a daemon */

#define STATUS_JOB_FIELDS 7u

static void status_job_pack(struct packer *p, const struct status_job *j)
{
    pack_array(p, STATUS_JOB_FIELDS);
    pack_u64(p, j->job);
    pack_text(p, j->name);
    pack_array(p, JOB_PROGRESS_FIELDS);
    job_progress_pack(p, &j->progress);
    pack_u64(p, j->running);
    pack_u64(p, j->age_ns);
    pack_u64(p, j->heartbeat_age_ns);
    pack_u64(p, j->memory_bytes);
}

static void status_job_unpack(struct unpacker *u, struct status_job *j)
{
    struct unpacker f = unpack_array(u);
    j->job = unpack_u64(&f, UINT64_MAX);
    unpack_name(&f, j->name, sizeof j->name);
    struct unpacker progress = unpack_array(&f);
    job_progress_unpack(&progress, &j->progress);
    if (!unpack_is_complete(&progress)) u->failed = true;
    j->running = unpack_u64(&f, 1) != 0;
    j->age_ns = unpack_u64(&f, UINT64_MAX);
    j->heartbeat_age_ns = unpack_u64(&f, UINT64_MAX);
    j->memory_bytes = unpack_u64(&f, UINT64_MAX);
    if (!unpack_is_complete(&f)) u->failed = true;
}

int daemon_status_encode(const struct daemon_status *v, struct buffer *out,
                         struct glint_error *error)
{
    assert(v->job_count <= STATUS_JOBS_MAX);
    struct packer p;
    uint64_t before = out->size;
    payload_pack_begin(&p, out, 8);
    pack_text(&p, v->node);
    pack_text(&p, v->build);
    pack_u64(&p, v->slots);
    pack_u64(&p, v->drivers_max);
    pack_u64(&p, v->memory_bytes);
    pack_u64(&p, v->uptime_ns);
    pack_u64(&p, v->draining);
    pack_array(&p, v->job_count);
    for (uint32_t i = 0; i < v->job_count; i++) status_job_pack(&p, &v->jobs[i]);
    return payload_pack_end(&p, out, before, error);
}

int daemon_status_decode(struct glint_slice bytes, struct daemon_status *v,
                         struct glint_error *error)
{
    memset(v, 0, sizeof *v);
    struct unpacker u = unpack_begin(bytes);
    unpack_name(&u, v->node, sizeof v->node);
    unpack_name(&u, v->build, sizeof v->build);
    v->slots = (uint32_t)unpack_u64(&u, UINT32_MAX);
    v->drivers_max = (uint32_t)unpack_u64(&u, UINT32_MAX);
    v->memory_bytes = unpack_u64(&u, UINT64_MAX);
    v->uptime_ns = unpack_u64(&u, UINT64_MAX);
    v->draining = unpack_u64(&u, 1) != 0;
    struct unpacker jobs = unpack_array(&u);
    if (jobs.count > STATUS_JOBS_MAX) jobs.failed = true;
    v->job_count = jobs.failed ? 0 : (uint32_t)jobs.count;
    for (uint32_t i = 0; i < v->job_count; i++) status_job_unpack(&jobs, &v->jobs[i]);
    if (!unpack_is_complete(&jobs)) u.failed = true;
    return payload_unpack_end(&u, "a daemon status", error);
}
