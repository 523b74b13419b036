/* Results that stayed with their executor, since they are too large for a message. Each is fetched
 * in chunks, several of them asked for ahead, and handed on as if its message had brought it.
 *
 *   WAITING -> FETCHING [large_pump: there is room]     FETCHING -> handed on [finish]
 *   FETCHING -> broken  [large_on_gone]: a FAILED is handed on in its place
 *
 * What is fetched, and not yet taken by the driver, is at most result_bytes_max, the limit on what
 * an action may answer: a driver that is busy is not run over. The upper half of a request's id is
 * the result's, the lower one the chunk's. */
#include "engine/base/little.h"
#include "engine/driver/remote_internal.h"

#include <assert.h>
#include <string.h>
#include <xxhash.h>

#define WINDOW_CHUNKS 8u

struct result {
    struct result *next;
    struct message *m;
    uint32_t id; /* 0: waits */
    uint32_t chunks, asked, got;
    uint32_t flying[WINDOW_CHUNKS], flying_count;
    uint64_t heard_ns, sum;    /* XXH3-64 of the bytes */
    struct glint_error broken; /* asks no more, and ends when nothing flies */
};

static uint64_t chunk_bytes(const struct result *s, uint32_t chunk)
{
    uint64_t begin = (uint64_t)chunk * FETCH_CHUNK_BYTES_MAX, left = s->m->size - begin;
    assert(chunk < s->chunks);
    return left < FETCH_CHUNK_BYTES_MAX ? left : FETCH_CHUNK_BYTES_MAX;
}

static void unlink_result(struct link *l, struct result *s)
{
    struct result **at = &l->results;
    while (*at != s) at = &(*at)->next;
    *at = s->next;
}

static void push_message(struct link *l, struct message *m, uint64_t held_bytes)
{
    struct event *e = event_create(EVENT_MESSAGE, l->number);
    if (e == NULL) {
        atomic_fetch_sub(&l->r->results_held, held_bytes);
        message_destroy(m);
        link_fail_with(l, GLINT_E_NO_MEMORY, "no memory for a message of it");
        return;
    }
    e->message = m;
    e->held_bytes = held_bytes;
    inbox_push(l->r, e);
}

/* Takes the DONE; the driver hears of a failed attempt instead. */
static void push_failed(struct link *l, struct message *m, const struct glint_error *why)
{
    struct message *failed = message_create(MSG_FAILED);
    if (failed != NULL) failed->error = mem_alloc(sizeof *failed->error);
    if (failed == NULL || failed->error == NULL) {
        message_destroy(failed);
        link_fail_with(l, GLINT_E_NO_MEMORY, "no memory for a message of it");
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

/* ---- Asking */

static void ask(struct link *l, struct result *s)
{
    struct glint_error error = {.code = GLINT_OK};
    while (s->asked < s->chunks && s->flying_count < WINDOW_CHUNKS) {
        struct get get = {.kind = GET_RESULT,
                          .id = s->m->id,
                          .offset = (uint64_t)s->asked * FETCH_CHUNK_BYTES_MAX,
                          .size = chunk_bytes(s, s->asked)};
        struct buffer payload = {NULL, 0, 0};
        if (get_encode(&get, &payload, &error) != 0) {
            buffer_fini(&payload);
            link_fail(l, &error);
            return;
        }
        link_send(l->data, FRAME_GET, (uint64_t)s->id << 32 | s->asked, &payload);
        s->flying[s->flying_count++] = s->asked++;
    }
}

/* The bytes, and an id that no other result has now. */
static bool start(struct link *l, struct result *s)
{
    struct remote *r = l->r;
    struct message *m = s->m;
    assert(m->body.data == NULL && s->id == 0 && m->size > 0);
    m->body.data = mem_alloc(m->size);
    if (m->body.data == NULL) {
        struct glint_error why = {.code = GLINT_OK};
        error_no_memory(&why);
        unlink_result(l, s);
        push_failed(l, m, &why);
        mem_free(s);
        return false;
    }
    m->body.capacity = m->size;
    atomic_fetch_add(&r->results_held, m->size);
    if (++r->next_result == 0) r->next_result = 1;
    s->id = r->next_result;
    s->heard_ns = remote_now(r);
    ask(l, s);
    remote_due(r, s->heard_ns + r->cluster->fetch_ms * MS_NS);
    return true;
}

void large_pump(struct remote *r)
{
    uint64_t max = r->g->config.result_bytes_max;
    for (struct link *l = r->links; l != NULL; l = l->next)
        for (struct result *s = l->results, *next; s != NULL && l->state == LINK_JOINED; s = next) {
            next = s->next;
            uint64_t held = atomic_load(&r->results_held);
            if (s->id == 0 && (held == 0 || held + s->m->size <= max)) start(l, s);
        }
}

void large_add(struct link *l, struct message *m)
{
    struct remote *r = l->r;
    struct glint_error why = {.code = GLINT_OK};
    uint64_t max = r->g->config.result_bytes_max;
    assert(l->joined && m->type == MSG_DONE);
    if (m->size == 0 || m->body.size != RESULT_SUM_BYTES) {
        message_destroy(m);
        link_fail_with(l, GLINT_E_PROTOCOL, "a result that is there and not there");
        return;
    }
    if (m->size > max) {
        error_set(&why, GLINT_E_RESULT_LIMIT, "save the result as files instead of collecting it",
                  "a task's result takes %llu bytes, at most %llu", (unsigned long long)m->size,
                  (unsigned long long)max);
        push_failed(l, m, &why);
        return;
    }
    struct result *s = mem_zalloc(sizeof *s);
    if (s == NULL) {
        message_destroy(m);
        link_fail_with(l, GLINT_E_NO_MEMORY, "no memory for a result of it");
        return;
    }
    s->m = m;
    s->sum = little_get64(m->body.data);
    buffer_fini(&m->body);
    s->chunks = (uint32_t)((m->size + FETCH_CHUNK_BYTES_MAX - 1) / FETCH_CHUNK_BYTES_MAX);
    struct result **at = &l->results;
    while (*at != NULL) at = &(*at)->next;
    *at = s;
    large_pump(r);
}

/* ---- Answers */

static void send_forget(struct link *l, uint64_t id)
{
    struct message m = {.type = MSG_FORGET, .id = id};
    struct buffer payload = {NULL, 0, 0};
    struct glint_error ignored = {.code = GLINT_OK}; /* it stays there until the job ends */
    if (message_encode(&m, &payload, &ignored) == 0)
        link_send(l->control, FRAME_MESSAGE, 0, &payload);
    buffer_fini(&payload);
}

static void finish(struct link *l, struct result *s)
{
    struct message *m = s->m;
    uint64_t size = m->size;
    assert(s->flying_count == 0);
    unlink_result(l, s);
    send_forget(l, m->id);
    if (s->broken.code == GLINT_OK && XXH3_64bits(m->body.data, size) != s->sum)
        error_set(&s->broken, GLINT_E_RUN_CORRUPT, NULL,
                  "a task's result was damaged on the way, or by its executor");
    if (s->broken.code != GLINT_OK) {
        atomic_fetch_sub(&l->r->results_held, size);
        push_failed(l, m, &s->broken);
    } else {
        assert(s->got == s->chunks && m->body.capacity == size);
        m->body.size = size;
        m->id = m->size = 0;
        push_message(l, m, size);
    }
    mem_free(s);
    large_pump(l->r);
}

/* The result and the chunk's place among what flies; NULL: nobody asked for it. */
static struct result *find(struct link *l, uint64_t request, uint32_t *out_at)
{
    struct result *s = l->results;
    while (s != NULL && (s->id != request >> 32 || s->id == 0)) s = s->next;
    for (uint32_t i = 0; s != NULL && i < s->flying_count; i++)
        if (s->flying[i] == (uint32_t)request) {
            *out_at = i;
            return s;
        }
    return NULL;
}

uint8_t *large_into(struct link *l, const struct frame *f)
{
    uint32_t at = 0, chunk = (uint32_t)f->request;
    struct result *s = find(l, f->request, &at);
    if (s != NULL && f->length == chunk_bytes(s, chunk))
        return s->m->body.data + (uint64_t)chunk * FETCH_CHUNK_BYTES_MAX;
    link_fail_with(l, GLINT_E_PROTOCOL, "%u bytes that nobody asked for", f->length);
    return NULL;
}

static void answered(struct link *l, struct result *s, uint32_t at)
{
    s->flying[at] = s->flying[--s->flying_count];
    s->heard_ns = remote_now(l->r);
    if (s->broken.code == GLINT_OK) ask(l, s);
    if (l->state == LINK_JOINED && s->flying_count == 0) finish(l, s);
}

void large_on_data(struct link *l, const struct frame *f)
{
    uint32_t at = 0;
    struct result *s = find(l, f->request, &at);
    assert(s != NULL); /* as large_into has found */
    s->got++;
    answered(l, s, at);
}

int large_on_gone(struct link *l, const struct frame *f, struct glint_slice payload,
                  struct glint_error *error)
{
    uint32_t at = 0;
    struct glint_error why = {.code = GLINT_OK};
    struct result *s = find(l, f->request, &at);
    if (s == NULL)
        return error_set(error, GLINT_E_PROTOCOL, NULL, "an answer to a question nobody asked");
    int r = gone_decode(payload, &why, error);
    if (r != 0) return r;
    error_set(&s->broken, GLINT_E_CONNECTION, NULL, "a task's result could not be fetched: %s",
              why.cause);
    answered(l, s, at);
    return 0;
}

uint64_t large_look(struct link *l, uint64_t now)
{
    uint64_t next = UINT64_MAX, wait_ns = l->r->cluster->fetch_ms * MS_NS;
    for (const struct result *s = l->results; s != NULL; s = s->next) {
        if (s->id == 0) continue;
        if (now >= s->heard_ns + wait_ns) {
            link_fail_with(l, GLINT_E_CONNECTION, "a result stood still for %llu ms",
                           (unsigned long long)l->r->cluster->fetch_ms);
            return now;
        }
        if (s->heard_ns + wait_ns < next) next = s->heard_ns + wait_ns;
    }
    return next;
}

void large_fini(struct link *l)
{
    for (struct result *s = l->results, *next; s != NULL; s = next) {
        next = s->next;
        if (s->id != 0) atomic_fetch_sub(&l->r->results_held, s->m->size);
        message_destroy(s->m);
        mem_free(s);
    }
    l->results = NULL;
}
