/* Requests are queued per connection and served in order while the connection's window has room.
 * Data in memory is sent from where it is, referenced until it was sent; small segments are copied
 * after the index. Data in files passes through a buffer (file_reader.h). */
#include "engine/executor/fetch_server.h"

#include "engine/executor/file_reader.h"

#include <assert.h>
#include <string.h>

#define QUEUED_GETS_MAX 1024u /* per connection */

struct queued_get {
    struct queued_get *next;
    uint64_t request;
    struct get_request get;
};

struct fetch_client {
    struct fetch_client *next;
    struct fetch_server *fetch_server;
    struct conn *conn; /* NULL: closed */
    struct queued_get *first, *last;
    uint32_t queued_gets;
    uint32_t responses; /* in progress */
    uint64_t window;    /* their bytes */
};

enum acquired { ACQUIRED_NOTHING, ACQUIRED_RUN, ACQUIRED_RESULT };

/* A response being read or sent. */
struct response {
    struct fetch_client *client;
    uint64_t request, size;
    enum acquired acquired;
    void *acquired_ref;    /* the reference to release */
    struct buffer bytes;   /* owned: an encoded index; or empty */
    struct file_read file; /* a read, if the data is in a file */
};

struct fetch_server {
    struct net *net;
    struct store *store;
    struct broadcast_client *broadcasts;
    struct fetch_client *clients; /* most recently used first */
    struct file_reader file_reader;
    uint64_t bytes;
    uint32_t responses;
    bool destroyed; /* freed with the last response */
};

struct fetch_server *fetch_server_create(struct net *net, struct store *store,
                                         struct broadcast_client *broadcasts)
{
    struct fetch_server *s = mem_zalloc(sizeof *s);
    if (s == NULL) return NULL;
    s->net = net;
    s->store = store;
    s->broadcasts = broadcasts;
    file_reader_init(&s->file_reader, net->loop);
    return s;
}

static void queued_get_free(struct queued_get *w)
{
    get_request_fini(&w->get);
    mem_free(w);
}

/* ---- Responses */

static void client_free_if_unused(struct fetch_client *c)
{
    if (c->conn != NULL || c->responses > 0) return;
    assert(c->first == NULL && c->window == 0);
    mem_free(c);
}

/* Releases what the response referenced. Frees the client too if its connection has closed and this
 * was its last response. */
static void response_end(struct response *a)
{
    struct fetch_client *c = a->client;
    struct fetch_server *s = c->fetch_server;
    assert(c->responses > 0 && s->responses > 0 && c->window >= a->size);
    if (a->acquired == ACQUIRED_RUN) store_release_map_output(s->store, a->acquired_ref);
    if (a->acquired == ACQUIRED_RESULT) store_release_result(s->store, a->acquired_ref);
    file_reader_release_buffer(&s->file_reader, &a->file);
    buffer_fini(&a->bytes);
    c->window -= a->size;
    c->responses--;
    s->responses--;
    mem_free(a);
    client_free_if_unused(c);
}

static void serve_all_clients(struct fetch_server *s);

/* conn_send_data's `sent`. Another request may wait for the buffer or window that this frees. */
static void on_sent(void *arg, bool ok)
{
    struct response *a = arg;
    struct fetch_server *s = a->client->fetch_server;
    if (ok) s->bytes += a->size;
    response_end(a);
    if (!s->destroyed)
        serve_all_clients(s);
    else if (s->responses == 0)
        fetch_server_destroy(s);
}

static struct response *response_begin(struct fetch_client *c, uint64_t request)
{
    struct response *a = mem_zalloc(sizeof *a);
    if (a == NULL) return NULL;
    a->client = c;
    a->request = request;
    c->responses++;
    c->fetch_server->responses++;
    return a;
}

static void response_set_size(struct response *a, uint64_t size)
{
    a->client->window += size - a->size;
    a->size = size;
}

/* Sends the response's bytes. On failure the connection closes by itself, and *why tells the caller
 * to end the response. */
static void send_bytes(struct response *a, struct glint_slice bytes, struct glint_error *why)
{
    response_set_size(a, bytes.size);
    if (conn_send_data(a->client->conn, a->request, bytes, on_sent, a)) return;
    error_set(why, GLINT_E_CONNECTION, NULL, "the connection is closed");
}

static void send_fetch_error(struct fetch_client *c, uint64_t request,
                             const struct glint_error *why)
{
    struct buffer payload = {NULL, 0, 0};
    struct glint_error error = {.code = GLINT_OK};
    assert(why->code != GLINT_OK);
    if (fetch_error_encode(why, &payload, &error) == 0)
        conn_send(c->conn, FRAME_FETCH_ERROR, request, &payload);
    else
        conn_close(c->conn, false); /* out of memory: closing tells the peer */
}

static void on_file_read(struct file_read *r, int code)
{
    struct response *a = r->arg;
    struct fetch_client *c = a->client;
    struct glint_error why = {.code = GLINT_OK};
    if (code == 0 && c->conn != NULL) {
        send_bytes(a, (struct glint_slice){r->bytes, r->size}, &why);
        if (why.code == GLINT_OK) return;
    } else if (code != 0) {
        error_set(&why, GLINT_E_FETCH_FAILED, "check the disk under --work-dir",
                  "cannot read %s: %s", r->run->path,
                  code == UV_EOF ? "the file ends early" : uv_strerror(code));
    }
    /* The connection may have closed while the pool read the file. */
    if (c->conn != NULL) send_fetch_error(c, a->request, &why);
    on_sent(a, false);
}

/* ---- Kinds of data. Each function starts a response or sets *why. Those that return int return -1
 * if no buffer is free: try again later. */

static bool is_inside(const struct get_request *g, uint64_t bytes, uint64_t most)
{
    return g->size > 0 && g->size <= most && g->offset <= bytes && g->size <= bytes - g->offset;
}

static void set_not_found(const struct get_request *g, struct glint_error *why, uint32_t map,
                          uint32_t attempt)
{
    error_set(why, GLINT_E_FETCH_FAILED, NULL,
              "map output not found (shuffle %llu, map %u, attempt %u)", (unsigned long long)g->id,
              map, attempt);
}

/* Responds with the index entry of each requested map output's segment, and the small segments
 * themselves while `room` lasts. Bytes are copied, so the references end here. */
static void send_index(struct response *a, const struct get_request *g, struct glint_error *why)
{
    struct fetch_server *s = a->client->fetch_server;
    uint64_t room = g->size;
    uint32_t acquired = 0;
    struct index_entry *entries = mem_alloc(g->map_count * sizeof *entries);
    const struct run **runs = mem_alloc(g->map_count * sizeof *runs);
    if (entries == NULL || runs == NULL) error_no_memory(why);
    for (uint32_t i = 0; why->code == GLINT_OK && i < g->map_count; i++) {
        const struct run *run =
            store_acquire_map_output(s->store, g->id, g->maps[i][0], g->maps[i][1]);
        if (run != NULL) runs[acquired++] = run;
        if (run != NULL && g->partition < run->partitions)
            entries[i] = index_entry_create(run, g->partition, &room);
        else
            set_not_found(g, why, g->maps[i][0], g->maps[i][1]);
    }
    if (why->code == GLINT_OK) map_output_index_encode(entries, g->map_count, &a->bytes, why);
    while (acquired > 0) store_release_map_output(s->store, runs[--acquired]);
    mem_free(runs);
    mem_free(entries);
    assert(a->bytes.size <= DATA_FRAME_BYTES_MAX);
    if (why->code == GLINT_OK)
        send_bytes(a, (struct glint_slice){a->bytes.data, a->bytes.size}, why);
}

static int send_map_output(struct response *a, const struct get_request *g, struct glint_error *why)
{
    struct fetch_server *s = a->client->fetch_server;
    const struct run *run = store_acquire_map_output(s->store, g->id, g->map, g->attempt);
    if (run == NULL) {
        set_not_found(g, why, g->map, g->attempt);
        return 0;
    }
    a->acquired = ACQUIRED_RUN;
    a->acquired_ref = (void *)(uintptr_t)run;
    if (!is_inside(g, run->source.bytes, FETCH_CHUNK_BYTES_MAX)) {
        error_set(why, GLINT_E_PROTOCOL, NULL, "requested range is outside the map output");
        return 0;
    }
    if (run->source.memory != NULL) {
        send_bytes(a, (struct glint_slice){run->source.memory + g->offset, g->size}, why);
        return 0;
    }
    a->file = (struct file_read){
        .run = run, .offset = g->offset, .size = g->size, .done = on_file_read, .arg = a};
    response_set_size(a, g->size);
    int r = file_reader_start(&s->file_reader, &a->file);
    if (r == GLINT_E_NO_MEMORY) error_no_memory(why);
    return r == FILE_READER_BUSY ? -1 : 0;
}

static void send_result(struct response *a, const struct get_request *g, struct glint_error *why)
{
    struct glint_slice bytes;
    struct fetch_server *s = a->client->fetch_server;
    if (!store_acquire_result(s->store, g->id, &bytes, &a->acquired_ref)) {
        error_set(why, GLINT_E_FETCH_FAILED, NULL, "result %llu not found",
                  (unsigned long long)g->id);
        return;
    }
    a->acquired = ACQUIRED_RESULT;
    if (is_inside(g, bytes.size, DATA_FRAME_BYTES_MAX))
        send_bytes(a, (struct glint_slice){bytes.data + g->offset, g->size}, why);
    else
        error_set(why, GLINT_E_PROTOCOL, NULL, "requested range is outside the result");
}

static void send_broadcast_block(struct response *a, const struct get_request *g,
                                 struct glint_error *why)
{
    struct glint_slice bytes;
    struct fetch_server *s = a->client->fetch_server;
    if (s->broadcasts != NULL &&
        broadcast_client_find_block(s->broadcasts, g->id, g->block, &bytes))
        send_bytes(a, bytes, why);
    else
        error_set(why, GLINT_E_FETCH_FAILED, NULL, "block %u of broadcast %llu not found", g->block,
                  (unsigned long long)g->id);
}

/* ---- Clients */

/* Returns false if the request must wait for a buffer. */
static bool respond(struct fetch_client *c, const struct queued_get *w)
{
    struct glint_error why = {.code = GLINT_OK};
    struct response *a = response_begin(c, w->request);
    int r = 0;
    if (a == NULL) {
        error_no_memory(&why);
        send_fetch_error(c, w->request, &why);
        return true;
    }
    switch (w->get.kind) {
    case GET_INDEX: send_index(a, &w->get, &why); break;
    case GET_MAP_OUTPUT: r = send_map_output(a, &w->get, &why); break;
    case GET_RESULT: send_result(a, &w->get, &why); break;
    default: send_broadcast_block(a, &w->get, &why);
    }
    if (r == 0 && why.code == GLINT_OK) return true;
    if (why.code != GLINT_OK) send_fetch_error(c, w->request, &why);
    response_end(a);
    return r == 0;
}

/* Starts responses in order until the window is full or no buffer is free; on_sent continues. */
static void serve_client(struct fetch_client *c)
{
    while (c->conn != NULL && c->first != NULL && c->window < FETCH_SERVER_WINDOW_BYTES) {
        struct queued_get *w = c->first;
        /* No buffer is free: later requests wait too, even if their data is in memory. */
        if (!respond(c, w)) return;
        c->first = w->next;
        if (c->first == NULL) c->last = NULL;
        c->queued_gets--;
        queued_get_free(w);
    }
}

/* Buffers are shared: the one just released may serve any client. */
static void serve_all_clients(struct fetch_server *s)
{
    for (struct fetch_client *c = s->clients; c != NULL; c = c->next) serve_client(c);
}

static struct fetch_client *find_client(struct fetch_server *s, struct conn *conn)
{
    struct fetch_client **link = &s->clients;
    while (*link != NULL && (*link)->conn != conn) link = &(*link)->next;
    struct fetch_client *c = *link;
    if (c == NULL) return NULL;
    *link = c->next;
    c->next = s->clients;
    s->clients = c;
    return c;
}

static struct fetch_client *add_client(struct fetch_server *s, struct conn *conn)
{
    struct fetch_client *c = mem_zalloc(sizeof *c);
    if (c == NULL) return NULL;
    c->fetch_server = s;
    c->conn = conn;
    c->next = s->clients;
    s->clients = c;
    return c;
}

int fetch_server_on_get(struct fetch_server *s, struct conn *conn, const struct frame *f,
                        struct glint_slice payload, struct glint_error *error)
{
    struct fetch_client *c = find_client(s, conn);
    assert(f->type == FRAME_GET && !s->destroyed);
    if (c == NULL) c = add_client(s, conn);
    struct queued_get *w = c != NULL ? mem_zalloc(sizeof *w) : NULL;
    if (w == NULL) return error_no_memory(error);
    if (get_request_decode(payload, &w->get, error) != 0) {
        queued_get_free(w);
        return error->code;
    }
    /* A correct peer has at most PEER_CONN_REQUESTS_MAX in flight; limit a bad one. */
    if (c->queued_gets == QUEUED_GETS_MAX) {
        queued_get_free(w);
        return error_set(error, GLINT_E_PROTOCOL, NULL, "too many queued requests (max %u)",
                         QUEUED_GETS_MAX);
    }
    w->request = f->request;
    if (c->last != NULL)
        c->last->next = w;
    else
        c->first = w;
    c->last = w;
    c->queued_gets++;
    serve_client(c);
    return 0;
}

void fetch_server_on_closed(struct fetch_server *s, struct conn *conn)
{
    struct fetch_client *c = find_client(s, conn);
    if (c == NULL) return;
    assert(s->clients == c);
    s->clients = c->next;
    for (struct queued_get *w = c->first, *next; w != NULL; w = next) {
        next = w->next;
        queued_get_free(w);
    }
    c->conn = NULL;
    c->first = c->last = NULL;
    client_free_if_unused(c);
    /* Without clients keep no idle buffers. */
    if (s->clients == NULL) file_reader_free_buffers(&s->file_reader);
}

uint64_t fetch_server_bytes_sent(const struct fetch_server *s)
{
    return s->bytes;
}

void fetch_server_destroy(struct fetch_server *s)
{
    if (s == NULL) return;
    assert(s->clients == NULL);
    s->destroyed = true;
    if (s->responses > 0) return; /* the pool still reads: on_sent frees */
    file_reader_fini(&s->file_reader);
    mem_free(s);
}
