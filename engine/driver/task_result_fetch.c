/* Fetches task results that are too large for a message (above RESULT_INLINE_BYTES_MAX) and stayed
 * with their executor. A result is fetched in chunks, with up to WINDOW_CHUNKS requests in flight,
 * and then passed to the driver as if its DONE had contained it.
 *
 *   pending  -> fetching  [start_fetch: it fits into result_bytes_max]
 *   fetching -> done      [finish_fetch: DONE with the result is pushed to the inbox]
 *   fetching -> broken    [task_result_fetch_on_error: no more requests]
 *   broken   -> done      [finish_fetch, once nothing is in flight: FAILED is pushed instead]
 *
 * Results that are fetched and not yet taken by the driver are limited to result_bytes_max, which
 * is also the limit of an action's result: a slow driver's memory stays bounded. A request id
 * consists of the fetch id (upper 32 bits) and the number of the chunk (lower 32 bits). */
#include "engine/base/endian.h"
#include "engine/driver/cluster_transport_internal.h"

#include <assert.h>
#include <string.h>
#include <xxhash.h>

#define WINDOW_CHUNKS 8u

struct result_fetch {
    struct result_fetch *next;
    struct message *m; /* DONE; its body becomes the result */
    uint32_t id;       /* 0: pending */
    uint32_t chunks, requested, received;
    uint32_t in_flight[WINDOW_CHUNKS], in_flight_count; /* numbers of chunks, in any order */
    uint64_t last_progress_ns, checksum;                /* XXH3-64 of the whole result */
    struct glint_error broken;                          /* code not OK: broken */
};

static uint64_t chunk_bytes(const struct result_fetch *s, uint32_t chunk)
{
    uint64_t begin = (uint64_t)chunk * FETCH_CHUNK_BYTES_MAX, left = s->m->size - begin;
    assert(chunk < s->chunks);
    return left < FETCH_CHUNK_BYTES_MAX ? left : FETCH_CHUNK_BYTES_MAX;
}

static void unlink_result(struct executor_conn *l, struct result_fetch *s)
{
    struct result_fetch **at = &l->result_fetches;
    while (*at != s) at = &(*at)->next;
    *at = s->next;
}

static void push_message(struct executor_conn *l, struct message *m, uint64_t fetched_bytes)
{
    struct inbox_event *e = inbox_event_create(INBOX_MESSAGE, l->number);
    if (e == NULL) {
        atomic_fetch_sub(&l->r->fetched_results_bytes, fetched_bytes);
        message_destroy(m);
        executor_conn_fail_with(
            l, GLINT_E_NO_MEMORY,
            "the driver is out of memory: cannot process a message of the executor");
        return;
    }
    e->message = m;
    e->fetched_bytes = fetched_bytes;
    inbox_push(l->r, e);
}

/* Replaces the DONE by a FAILED of the same attempt. Takes ownership of `m`. */
static void push_failed_task(struct executor_conn *l, struct message *m,
                             const struct glint_error *why)
{
    struct message *failed = message_create(MSG_FAILED);
    if (failed != NULL) failed->error = mem_alloc(sizeof *failed->error);
    if (failed == NULL || failed->error == NULL) {
        message_destroy(failed);
        executor_conn_fail_with(
            l, GLINT_E_NO_MEMORY,
            "the driver is out of memory: cannot process a message of the executor");
    } else {
        failed->stage = m->stage;
        failed->task = m->task;
        failed->attempt = m->attempt;
        failed->partition = m->partition;
        failed->run_ns = m->run_ns;
        *failed->error = *why;
        push_message(l, failed, 0);
    }
    message_destroy(m);
}

/* ---- Requests */

static void request_chunks(struct executor_conn *l, struct result_fetch *s)
{
    struct glint_error error = {.code = GLINT_OK};
    while (s->requested < s->chunks && s->in_flight_count < WINDOW_CHUNKS) {
        struct get_request get = {.kind = GET_RESULT,
                                  .id = s->m->id,
                                  .offset = (uint64_t)s->requested * FETCH_CHUNK_BYTES_MAX,
                                  .size = chunk_bytes(s, s->requested)};
        struct buffer payload = {NULL, 0, 0};
        if (get_request_encode(&get, &payload, &error) != 0) {
            buffer_fini(&payload);
            executor_conn_fail(l, &error);
            return;
        }
        send_frame(l->data, FRAME_GET, (uint64_t)s->id << 32 | s->requested, &payload);
        s->in_flight[s->in_flight_count++] = s->requested++;
    }
}

/* Allocates the result and sends the first requests. If there is no memory, only the attempt
 * fails. Returns false then, and `s` is freed. */
static bool start_fetch(struct executor_conn *l, struct result_fetch *s)
{
    struct cluster_transport *r = l->r;
    struct message *m = s->m;
    assert(m->body.data == NULL && s->id == 0 && m->size > 0);
    m->body.data = mem_alloc(m->size);
    if (m->body.data == NULL) {
        struct glint_error why = {.code = GLINT_OK};
        error_no_memory(&why);
        unlink_result(l, s);
        push_failed_task(l, m, &why);
        mem_free(s);
        return false;
    }
    m->body.capacity = m->size;
    atomic_fetch_add(&r->fetched_results_bytes, m->size);
    if (++r->next_fetch_id == 0) r->next_fetch_id = 1; /* 0 is pending */
    s->id = r->next_fetch_id;
    s->last_progress_ns = cluster_transport_now(r);
    request_chunks(l, s);
    cluster_transport_arm_timer(r, s->last_progress_ns + r->cluster->fetch_ms * MS_NS);
    return true;
}

void task_result_fetch_start_pending(struct cluster_transport *r)
{
    uint64_t max = r->g->config.result_bytes_max;
    for (struct executor_conn *l = r->executor_conns; l != NULL; l = l->next)
        for (struct result_fetch *s = l->result_fetches, *next;
             s != NULL && l->state == EXECUTOR_CONN_JOINED; s = next) {
            next = s->next;
            uint64_t in_use = atomic_load(&r->fetched_results_bytes);
            /* One is always allowed, else a result could wait forever. */
            if (s->id == 0 && (in_use == 0 || in_use + s->m->size <= max)) start_fetch(l, s);
        }
}

void task_result_fetch_add(struct executor_conn *l, struct message *m)
{
    struct cluster_transport *r = l->r;
    struct glint_error why = {.code = GLINT_OK};
    uint64_t max = r->g->config.result_bytes_max;
    assert(l->joined && m->type == MSG_DONE);
    if (m->size == 0 || m->body.size != RESULT_CHECKSUM_BYTES) { /* the body is the checksum */
        message_destroy(m);
        executor_conn_fail_with(l, GLINT_E_PROTOCOL, "result both inline and by reference");
        return;
    }
    if (m->size > max) {
        error_set(&why, GLINT_E_RESULT_LIMIT, "save the result as files instead of collecting it",
                  "a task's result has %llu bytes, the limit is %llu", (unsigned long long)m->size,
                  (unsigned long long)max);
        push_failed_task(l, m, &why);
        return;
    }
    struct result_fetch *s = mem_zalloc(sizeof *s);
    if (s == NULL) {
        message_destroy(m);
        executor_conn_fail_with(l, GLINT_E_NO_MEMORY,
                                "the driver is out of memory: cannot fetch a task result");
        return;
    }
    s->m = m;
    s->checksum = get_le64(m->body.data);
    buffer_fini(&m->body);
    s->chunks = (uint32_t)((m->size + FETCH_CHUNK_BYTES_MAX - 1) / FETCH_CHUNK_BYTES_MAX);
    struct result_fetch **at = &l->result_fetches;
    while (*at != NULL) at = &(*at)->next;
    *at = s;
    task_result_fetch_start_pending(r);
}

/* ---- Responses */

/* Lets the executor free its copy of the result. */
static void send_release(struct executor_conn *l, uint64_t id)
{
    struct message m = {.type = MSG_RELEASE, .id = id};
    struct buffer payload = {NULL, 0, 0};
    struct glint_error ignored = {.code = GLINT_OK}; /* it is freed when the job ends */
    if (message_encode(&m, &payload, &ignored) == 0)
        send_frame(l->control, FRAME_MESSAGE, 0, &payload);
    buffer_fini(&payload);
}

/* All chunks arrived, or the fetch is broken: passes DONE or FAILED to the driver. */
static void finish_fetch(struct executor_conn *l, struct result_fetch *s)
{
    struct message *m = s->m;
    uint64_t size = m->size;
    assert(s->in_flight_count == 0);
    unlink_result(l, s);
    send_release(l, m->id);
    if (s->broken.code == GLINT_OK && XXH3_64bits(m->body.data, size) != s->checksum)
        error_set(&s->broken, GLINT_E_SHUFFLE_CORRUPT, NULL,
                  "a task's result is damaged: checksum mismatch");
    if (s->broken.code != GLINT_OK) {
        atomic_fetch_sub(&l->r->fetched_results_bytes, size);
        push_failed_task(l, m, &s->broken);
    } else {
        assert(s->received == s->chunks && m->body.capacity == size);
        m->body.size = size;
        m->id = m->size = 0; /* now like a DONE with an inline result */
        push_message(l, m, size);
    }
    mem_free(s);
    task_result_fetch_start_pending(l->r);
}

/* Finds the fetch of a request id, and the index of the chunk in in_flight. NULL: there is no such
 * request. */
static struct result_fetch *find_request(struct executor_conn *l, uint64_t request,
                                         uint32_t *out_at)
{
    struct result_fetch *s = l->result_fetches;
    while (s != NULL && (s->id != request >> 32 || s->id == 0)) s = s->next;
    for (uint32_t i = 0; s != NULL && i < s->in_flight_count; i++)
        if (s->in_flight[i] == (uint32_t)request) {
            *out_at = i;
            return s;
        }
    return NULL;
}

uint8_t *task_result_fetch_buffer_for(struct executor_conn *l, const struct frame *f)
{
    uint32_t at = 0, chunk = (uint32_t)f->request;
    struct result_fetch *s = find_request(l, f->request, &at);
    if (s != NULL && f->length == chunk_bytes(s, chunk))
        return s->m->body.data + (uint64_t)chunk * FETCH_CHUNK_BYTES_MAX;
    executor_conn_fail_with(l, GLINT_E_PROTOCOL, "%u unsolicited bytes", f->length);
    return NULL;
}

static void on_chunk_response(struct executor_conn *l, struct result_fetch *s, uint32_t at)
{
    s->in_flight[at] = s->in_flight[--s->in_flight_count];
    s->last_progress_ns = cluster_transport_now(l->r);
    if (s->broken.code == GLINT_OK) request_chunks(l, s);
    /* request_chunks may have failed the executor; its fetches are then freed with it. */
    if (l->state == EXECUTOR_CONN_JOINED && s->in_flight_count == 0) finish_fetch(l, s);
}

void task_result_fetch_on_data(struct executor_conn *l, const struct frame *f)
{
    uint32_t at = 0;
    struct result_fetch *s = find_request(l, f->request, &at);
    assert(s != NULL); /* task_result_fetch_buffer_for found it */
    s->received++;
    on_chunk_response(l, s, at);
}

int task_result_fetch_on_error(struct executor_conn *l, const struct frame *f,
                               struct glint_slice payload, struct glint_error *error)
{
    uint32_t at = 0;
    struct glint_error why = {.code = GLINT_OK};
    struct result_fetch *s = find_request(l, f->request, &at);
    if (s == NULL)
        return error_set(error, GLINT_E_PROTOCOL, NULL, "response without matching request");
    int r = fetch_error_decode(payload, &why, error);
    if (r != 0) return r;
    error_set(&s->broken, GLINT_E_CONNECTION, NULL, "cannot fetch a task's result: %s", why.cause);
    on_chunk_response(l, s, at);
    return 0;
}

uint64_t task_result_fetch_on_timer(struct executor_conn *l, uint64_t now)
{
    uint64_t next = UINT64_MAX, wait_ns = l->r->cluster->fetch_ms * MS_NS;
    for (const struct result_fetch *s = l->result_fetches; s != NULL; s = s->next) {
        if (s->id == 0) continue;
        if (now >= s->last_progress_ns + wait_ns) {
            executor_conn_fail_with(l, GLINT_E_CONNECTION,
                                    "result fetch made no progress for %llu ms",
                                    (unsigned long long)l->r->cluster->fetch_ms);
            return now;
        }
        if (s->last_progress_ns + wait_ns < next) next = s->last_progress_ns + wait_ns;
    }
    return next;
}

void task_result_fetch_fini(struct executor_conn *l)
{
    for (struct result_fetch *s = l->result_fetches, *next; s != NULL; s = next) {
        next = s->next;
        if (s->id != 0) atomic_fetch_sub(&l->r->fetched_results_bytes, s->m->size);
        message_destroy(s->m);
        mem_free(s);
    }
    l->result_fetches = NULL;
}
