/* Fetches task results that are too large for a message (above RESULT_INLINE_BYTES_MAX) and stayed
 * with their executor (transfer/chunked_fetch.h), and passes them to the driver as if the DONE had
 * contained them.
 *
 *   pending  -> fetching  [start_result_fetch: it fits into result_bytes_max]
 *   fetching -> ended     [on_result_fetched: pushes DONE with the result, or FAILED, to the inbox]
 *
 * Results that are fetched and not yet taken by the driver are limited to result_bytes_max, which
 * is also the limit of an action's result: a slow driver's memory stays bounded. */
#include "engine/base/endian.h"
#include "engine/base/hash.h"
#include "engine/driver/cluster_transport_internal.h"
#include "engine/transfer/chunked_fetch.h"

#include <assert.h>

struct result_fetch {
    struct result_fetch *next;
    struct executor_conn *executor_conn;
    struct message *m;           /* DONE; its body becomes the result */
    uint64_t checksum;           /* XXH3-64 of the whole result */
    struct chunked_fetch *fetch; /* NULL: pending */
};

/* Frees all but the message. */
static void result_fetch_free(struct result_fetch *s)
{
    struct result_fetch **at = &s->executor_conn->result_fetches;
    while (*at != s) at = &(*at)->next;
    *at = s->next;
    mem_free(s->fetch);
    mem_free(s);
}

/* Passes a message to the driver, with `fetched_bytes` of a result. */
static void push_result_message(struct executor_conn *l, struct message *m, uint64_t fetched_bytes)
{
    if (inbox_push_message(l->r, l->number, m, fetched_bytes)) return;
    atomic_fetch_sub(&l->r->fetched_results_bytes, fetched_bytes);
    executor_conn_fail_with(
        l, GLINT_E_NO_MEMORY,
        "the driver is out of memory: cannot process a message of the executor");
}

/* Passes the DONE to the driver as a FAILED of the same attempt. */
static void push_task_failed_message(struct executor_conn *l, struct message *m,
                                     const struct glint_error *why)
{
    m->type = MSG_FAILED;
    m->id = m->size = 0;
    buffer_fini(&m->body);
    buffer_fini(&m->counters);
    m->error = mem_alloc(sizeof *m->error);
    if (m->error == NULL) {
        message_destroy(m);
        executor_conn_fail_with(
            l, GLINT_E_NO_MEMORY,
            "the driver is out of memory: cannot process a message of the executor");
        return;
    }
    *m->error = *why;
    push_result_message(l, m, 0);
}

/* ---- Fetching */

/* Lets the executor free its copy of the result. */
static void send_result_release(struct executor_conn *l, uint64_t id)
{
    struct message m = {.type = MSG_RELEASE, .id = id};
    message_send(l->control, &m);
}

/* chunked_fetch's `done`. */
static void on_result_fetched(struct chunked_fetch *f)
{
    struct result_fetch *s = f->arg;
    struct executor_conn *l = s->executor_conn;
    struct message *m = s->m;
    struct glint_error why = {.code = GLINT_OK};
    uint64_t size = m->size;
    if (f->error.code != GLINT_OK)
        error_set(&why, GLINT_E_CONNECTION, NULL, "cannot fetch a task's result: %s",
                  f->error.cause);
    else if (hash_checksum(m->body.data, size) != s->checksum)
        error_set(&why, GLINT_E_SHUFFLE_CORRUPT, NULL,
                  "a task's result is damaged: checksum mismatch");
    bool lost = l->state != EXECUTOR_CONN_JOINED || l->r->stopping; /* reported by its event */
    result_fetch_free(s);
    if (lost || why.code != GLINT_OK) atomic_fetch_sub(&l->r->fetched_results_bytes, size);
    if (lost) {
        message_destroy(m);
        return;
    }
    send_result_release(l, m->id);
    if (why.code != GLINT_OK) {
        push_task_failed_message(l, m, &why);
    } else {
        m->body.size = size;
        m->id = m->size = 0; /* now like a DONE with an inline result */
        push_result_message(l, m, size);
    }
    task_result_fetch_start_pending(l->r);
}

/* Allocates the result and sends the first requests. If there is no memory only the attempt
 * fails. */
static void start_result_fetch(struct executor_conn *l, struct result_fetch *s)
{
    struct message *m = s->m;
    struct glint_error why = {.code = GLINT_OK};
    assert(m->body.data == NULL && s->fetch == NULL && m->size > 0);
    s->fetch = mem_zalloc(sizeof *s->fetch);
    m->body.data = mem_alloc(m->size);
    if (s->fetch == NULL || m->body.data == NULL) {
        error_no_memory(&why);
        result_fetch_free(s);
        push_task_failed_message(l, m, &why);
        return;
    }
    m->body.capacity = m->size;
    atomic_fetch_add(&l->r->fetched_results_bytes, m->size);
    s->fetch->fetcher = (struct fetcher){.submit = fetch_client_submit, .arg = &l->fetches};
    s->fetch->get = (struct get_request){.kind = GET_RESULT, .id = m->id, .size = m->size};
    s->fetch->into = m->body.data;
    s->fetch->done = on_result_fetched;
    s->fetch->arg = s;
    chunked_fetch_start(s->fetch);
    cluster_transport_arm_timer(l->r, fetch_client_deadline_ns(&l->fetches));
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
            if (s->fetch == NULL && (in_use == 0 || in_use + s->m->size <= max))
                start_result_fetch(l, s);
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
        push_task_failed_message(l, m, &why);
        return;
    }
    struct result_fetch *s = mem_zalloc(sizeof *s);
    if (s == NULL) {
        message_destroy(m);
        executor_conn_fail_with(l, GLINT_E_NO_MEMORY,
                                "the driver is out of memory: cannot fetch a task result");
        return;
    }
    s->executor_conn = l;
    s->m = m;
    s->checksum = get_le64(m->body.data);
    buffer_fini(&m->body);
    struct result_fetch **at = &l->result_fetches;
    while (*at != NULL) at = &(*at)->next;
    *at = s;
    task_result_fetch_start_pending(r);
}

void task_result_fetch_fini(struct executor_conn *l)
{
    while (l->result_fetches != NULL) {
        struct message *m = l->result_fetches->m;
        assert(l->result_fetches->fetch == NULL);
        result_fetch_free(l->result_fetches);
        message_destroy(m);
    }
}
