/* Answers stand in a queue per connection and are begun in its order, as long as the connection's
 * window lasts. What lies in memory goes out from there, held until it was sent, but for small
 * parts, which are copied behind the list of their places; what lies in a file passes through a
 * block (blocks.h). */
#include "engine/executor/serve.h"

#include "engine/executor/blocks.h"

#include <assert.h>
#include <string.h>

#define WANTS_MAX 1024u /* that one connection may have waiting */

struct want {
    struct want *next;
    uint64_t request;
    struct get get;
};

struct client {
    struct client *next;
    struct serve *serve;
    struct conn *conn; /* NULL: it has closed */
    struct want *first, *last;
    uint32_t wants;
    uint32_t answers; /* begun, not over */
    uint64_t window;  /* bytes of those */
};

enum held { HELD_NOTHING, HELD_RUN, HELD_RESULT };

/* One answer on its way. */
struct answer {
    struct client *client;
    uint64_t request, size;
    enum held held;
    void *what;             /* that is held */
    struct buffer bytes;    /* its own, or empty */
    struct block_read file; /* of what lies in one */
};

struct serve {
    struct net *net;
    struct store *store;
    struct values *values;
    struct client *clients; /* the one that asked last comes first */
    struct blocks blocks;
    uint64_t bytes;
    uint32_t answers;
    bool destroyed; /* freed with its last answer */
};

struct serve *serve_create(struct net *net, struct store *store, struct values *values)
{
    struct serve *s = mem_zalloc(sizeof *s);
    if (s == NULL) return NULL;
    s->net = net;
    s->store = store;
    s->values = values;
    blocks_init(&s->blocks, net->loop);
    return s;
}

static void want_free(struct want *w)
{
    get_fini(&w->get);
    mem_free(w);
}

/* ---- One answer */

static void client_free_if_over(struct client *c)
{
    if (c->conn != NULL || c->answers > 0) return;
    assert(c->first == NULL && c->window == 0);
    mem_free(c);
}

/* Lets go of what it held and goes on with what waits. */
static void answer_end(struct answer *a)
{
    struct client *c = a->client;
    struct serve *s = c->serve;
    assert(c->answers > 0 && s->answers > 0 && c->window >= a->size);
    if (a->held == HELD_RUN) store_release(s->store, a->what);
    if (a->held == HELD_RESULT) store_release_result(s->store, a->what);
    blocks_release(&s->blocks, &a->file);
    buffer_fini(&a->bytes);
    c->window -= a->size;
    c->answers--;
    s->answers--;
    mem_free(a);
    client_free_if_over(c);
}

static void pump_all(struct serve *s);

/* conn_send_data's `sent`. */
static void on_sent(void *arg, bool ok)
{
    struct answer *a = arg;
    struct serve *s = a->client->serve;
    if (ok) s->bytes += a->size;
    answer_end(a);
    if (!s->destroyed)
        pump_all(s);
    else if (s->answers == 0)
        serve_destroy(s);
}

static struct answer *answer_begin(struct client *c, uint64_t request)
{
    struct answer *a = mem_zalloc(sizeof *a);
    if (a == NULL) return NULL;
    a->client = c;
    a->request = request;
    c->answers++;
    c->serve->answers++;
    return a;
}

static void answer_size(struct answer *a, uint64_t size)
{
    a->client->window += size - a->size;
    a->size = size;
}

/* Where it cannot be sent the connection ends; *why is for who holds the answer. */
static void send_bytes(struct answer *a, struct glint_slice bytes, struct glint_error *why)
{
    answer_size(a, bytes.size);
    if (conn_send_data(a->client->conn, a->request, bytes, on_sent, a)) return;
    error_set(why, GLINT_E_CONNECTION, NULL, "the connection ends");
}

static void send_gone(struct client *c, uint64_t request, const struct glint_error *why)
{
    struct buffer payload = {NULL, 0, 0};
    struct glint_error error = {.code = GLINT_OK};
    assert(why->code != GLINT_OK);
    if (gone_encode(why, &payload, &error) == 0)
        conn_send(c->conn, FRAME_GONE, request, &payload);
    else
        conn_close(c->conn, false); /* without memory even for that: its asker will notice */
}

static void on_read(struct block_read *r, int code)
{
    struct answer *a = r->arg;
    struct client *c = a->client;
    struct glint_error why = {.code = GLINT_OK};
    if (code == 0 && c->conn != NULL) {
        send_bytes(a, (struct glint_slice){r->bytes, r->size}, &why);
        if (why.code == GLINT_OK) return;
    } else if (code != 0) {
        error_set(&why, GLINT_E_FETCH_FAILED, "check the disk under --work-dir", "reading %s: %s",
                  r->run->path, code == UV_EOF ? "the file ends early" : uv_strerror(code));
    }
    if (c->conn != NULL) send_gone(c, a->request, &why);
    on_sent(a, false);
}

/* ---- What is asked for: each begins an answer, or sets *why. 0, or -1: not now, no block is free.
 */

static bool inside(const struct get *g, uint64_t bytes, uint64_t most)
{
    return g->size > 0 && g->size <= most && g->offset <= bytes && g->size <= bytes - g->offset;
}

static void not_here(const struct get *g, struct glint_error *why, uint32_t map, uint32_t attempt)
{
    error_set(why, GLINT_E_FETCH_FAILED, NULL, "it is not there (shuffle %llu, map %u, attempt %u)",
              (unsigned long long)g->id, map, attempt);
}

static void send_parts(struct answer *a, const struct get *g, struct glint_error *why)
{
    struct serve *s = a->client->serve;
    uint64_t room = g->size;
    uint32_t held = 0;
    struct part_answer *parts = mem_alloc(g->map_count * sizeof *parts);
    const struct run **runs = mem_alloc(g->map_count * sizeof *runs);
    if (parts == NULL || runs == NULL) error_no_memory(why);
    for (uint32_t i = 0; why->code == GLINT_OK && i < g->map_count; i++) {
        const struct run *run = store_output(s->store, g->id, g->maps[i][0], g->maps[i][1]);
        if (run != NULL) runs[held++] = run;
        if (run != NULL && g->partition < run->partitions)
            parts[i] = part_answer_of(run, g->partition, &room);
        else
            not_here(g, why, g->maps[i][0], g->maps[i][1]);
    }
    if (why->code == GLINT_OK) parts_encode(parts, g->map_count, &a->bytes, why);
    while (held > 0) store_release(s->store, runs[--held]);
    mem_free(runs);
    mem_free(parts);
    assert(a->bytes.size <= DATA_FRAME_BYTES_MAX);
    if (why->code == GLINT_OK)
        send_bytes(a, (struct glint_slice){a->bytes.data, a->bytes.size}, why);
}

static int send_output(struct answer *a, const struct get *g, struct glint_error *why)
{
    struct serve *s = a->client->serve;
    const struct run *run = store_output(s->store, g->id, g->map, g->attempt);
    if (run == NULL) {
        not_here(g, why, g->map, g->attempt);
        return 0;
    }
    a->held = HELD_RUN;
    a->what = (void *)(uintptr_t)run;
    if (!inside(g, run->source.bytes, FETCH_CHUNK_BYTES_MAX)) {
        error_set(why, GLINT_E_PROTOCOL, NULL, "bytes beyond a map output's end were asked for");
        return 0;
    }
    if (run->source.memory != NULL) {
        send_bytes(a, (struct glint_slice){run->source.memory + g->offset, g->size}, why);
        return 0;
    }
    a->file = (struct block_read){
        .run = run, .offset = g->offset, .size = g->size, .done = on_read, .arg = a};
    answer_size(a, g->size);
    int r = blocks_read(&s->blocks, &a->file);
    if (r == GLINT_E_NO_MEMORY) error_no_memory(why);
    return r == BLOCKS_BUSY ? -1 : 0;
}

static void send_result(struct answer *a, const struct get *g, struct glint_error *why)
{
    struct glint_slice bytes;
    struct serve *s = a->client->serve;
    if (!store_result(s->store, g->id, &bytes, &a->what)) {
        error_set(why, GLINT_E_FETCH_FAILED, NULL, "result %llu is not there",
                  (unsigned long long)g->id);
        return;
    }
    a->held = HELD_RESULT;
    if (inside(g, bytes.size, DATA_FRAME_BYTES_MAX))
        send_bytes(a, (struct glint_slice){bytes.data + g->offset, g->size}, why);
    else
        error_set(why, GLINT_E_PROTOCOL, NULL, "bytes beyond a result's end were asked for");
}

static void send_value(struct answer *a, const struct get *g, struct glint_error *why)
{
    struct glint_slice bytes;
    struct serve *s = a->client->serve;
    if (s->values != NULL && values_block(s->values, g->id, g->block, &bytes))
        send_bytes(a, bytes, why);
    else
        error_set(why, GLINT_E_FETCH_FAILED, NULL, "block %u of broadcast %llu is not there",
                  g->block, (unsigned long long)g->id);
}

/* ---- Clients */

/* False: not now. */
static bool answer_want(struct client *c, const struct want *w)
{
    struct glint_error why = {.code = GLINT_OK};
    struct answer *a = answer_begin(c, w->request);
    int r = 0;
    if (a == NULL) {
        error_no_memory(&why);
        send_gone(c, w->request, &why);
        return true;
    }
    switch (w->get.kind) {
    case GET_PARTS: send_parts(a, &w->get, &why); break;
    case GET_OUTPUT: r = send_output(a, &w->get, &why); break;
    case GET_RESULT: send_result(a, &w->get, &why); break;
    default: send_value(a, &w->get, &why);
    }
    if (r == 0 && why.code == GLINT_OK) return true;
    if (why.code != GLINT_OK) send_gone(c, w->request, &why);
    answer_end(a);
    return r == 0;
}

static void pump(struct client *c)
{
    while (c->conn != NULL && c->first != NULL && c->window < SERVE_WINDOW_BYTES) {
        struct want *w = c->first;
        if (!answer_want(c, w)) return;
        c->first = w->next;
        if (c->first == NULL) c->last = NULL;
        c->wants--;
        want_free(w);
    }
}

/* A block, or room in a window, may be what several wait for. */
static void pump_all(struct serve *s)
{
    for (struct client *c = s->clients; c != NULL; c = c->next) pump(c);
}

static struct client *find_client(struct serve *s, struct conn *conn)
{
    struct client **link = &s->clients;
    while (*link != NULL && (*link)->conn != conn) link = &(*link)->next;
    struct client *c = *link;
    if (c == NULL) return NULL;
    *link = c->next;
    c->next = s->clients;
    s->clients = c;
    return c;
}

static struct client *add_client(struct serve *s, struct conn *conn)
{
    struct client *c = mem_zalloc(sizeof *c);
    if (c == NULL) return NULL;
    c->serve = s;
    c->conn = conn;
    c->next = s->clients;
    s->clients = c;
    return c;
}

int serve_on_get(struct serve *s, struct conn *conn, const struct frame *f,
                 struct glint_slice payload, struct glint_error *error)
{
    struct client *c = find_client(s, conn);
    assert(f->type == FRAME_GET && !s->destroyed);
    if (c == NULL) c = add_client(s, conn);
    struct want *w = c != NULL ? mem_zalloc(sizeof *w) : NULL;
    if (w == NULL) return error_no_memory(error);
    if (get_decode(payload, &w->get, error) != 0) {
        want_free(w);
        return error->code;
    }
    if (c->wants == WANTS_MAX) {
        want_free(w);
        return error_set(error, GLINT_E_PROTOCOL, NULL, "more than %u requests at a time",
                         WANTS_MAX);
    }
    w->request = f->request;
    if (c->last != NULL)
        c->last->next = w;
    else
        c->first = w;
    c->last = w;
    c->wants++;
    pump(c);
    return 0;
}

void serve_on_closed(struct serve *s, struct conn *conn)
{
    struct client *c = find_client(s, conn);
    if (c == NULL) return;
    assert(s->clients == c);
    s->clients = c->next;
    for (struct want *w = c->first, *next; w != NULL; w = next) {
        next = w->next;
        want_free(w);
    }
    c->conn = NULL;
    c->first = c->last = NULL;
    client_free_if_over(c);
    if (s->clients == NULL) blocks_trim(&s->blocks);
}

uint64_t serve_bytes(const struct serve *s)
{
    return s->bytes;
}

void serve_destroy(struct serve *s)
{
    if (s == NULL) return;
    assert(s->clients == NULL);
    s->destroyed = true;
    if (s->answers > 0) return; /* the pool reads: its last answer frees */
    blocks_fini(&s->blocks);
    mem_free(s);
}
