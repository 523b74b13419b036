/* Requests are queued per connection and served in order while the connection's window has room.
 * Data in files passes through a buffer (fetch_server.h). */
#include "engine/transfer/fetch_server.h"

#include "engine/base/env.h"
#include "engine/limits.h"
#include "engine/net/wire.h"

#include <assert.h>
#include <string.h>

/* ---- One pool job serves several queued reads: waking a thread for each read cost a tenth of the
 * throughput. At most JOBS_MAX jobs run, each with at most one open file; files are opened for each
 * read, as by readers of runs (records/run.c). Mapping the files instead, so that the kernel sends
 * their pages, was slower by a third and more: page tables cost more than the copy. */

#define READS_PER_JOB 4u
#define JOBS_MAX      (FILE_READER_BUFFERS_MAX / READS_PER_JOB)

/* An unused buffer: its first bytes link the free list. */
struct free_buffer {
    SLIST_ENTRY(free_buffer) next;
};

void file_reader_init(struct file_reader *b, uv_loop_t *loop)
{
    *b = (struct file_reader){.loop = loop};
    STAILQ_INIT(&b->queued);
}

/* Frees the unused buffers. */
static void file_reader_free_buffers(struct file_reader *b)
{
    for (struct free_buffer *f; (f = SLIST_FIRST(&b->free)) != NULL;) {
        SLIST_REMOVE_HEAD(&b->free, next);
        mem_free(f);
        assert(b->count > 0);
        b->count--;
    }
}

void file_reader_fini(struct file_reader *b)
{
    file_reader_free_buffers(b);
    assert(b->count == 0 && b->waiting == 0 && b->jobs == 0);
}

static uint8_t *take_file_buffer(struct file_reader *b)
{
    struct free_buffer *f = SLIST_FIRST(&b->free);
    if (f != NULL) {
        SLIST_REMOVE_HEAD(&b->free, next);
        return (uint8_t *)f;
    }
    uint8_t *made = mem_alloc(FETCH_CHUNK_BYTES_MAX);
    if (made != NULL) b->count++;
    return made;
}

void file_reader_release_buffer(struct file_reader *b, struct file_read *r)
{
    struct free_buffer *f = (struct free_buffer *)(void *)r->bytes;
    if (f == NULL) return;
    SLIST_INSERT_HEAD(&b->free, f, next);
    r->bytes = NULL;
}

/* ---- Pool threads */

static void read_file_range(struct file_read *r)
{
    struct env *env = r->run->env;
    int file = env->open(env, ENV_CWD, r->run->path, ENV_READ);
    r->read = file;
    if (file < 0) return;
    r->read = env_read_full(env, file, r->bytes, r->size, r->offset);
    env->close(env, file);
}

static void run_file_reads(uv_work_t *work)
{
    for (struct file_read *r = work->data; r != NULL; r = STAILQ_NEXT(r, next)) read_file_range(r);
}

/* ---- Loop thread */

static void start_queued_reads(struct file_reader *b);

static int code_of_file_read(const struct file_read *r, int status)
{
    if (status != 0) return status;
    if (r->read < 0) return (int)r->read;
    return (uint64_t)r->read == r->size ? 0 : UV_EOF;
}

static void on_file_reads_done(uv_work_t *work, int status)
{
    struct file_read *r = work->data;
    struct file_reader *b = r->file_reader;
    assert(b->jobs > 0);
    b->jobs--;
    start_queued_reads(b); /* the pool reads the next while these are sent */
    for (struct file_read *next; r != NULL; r = next) {
        next = STAILQ_NEXT(r, next);
        r->done(r, code_of_file_read(r, status));
    }
}

/* Starts a job with all queued reads. Another job starts only for READS_PER_JOB or more, so at most
 * one running job has fewer and JOBS_MAX is never exceeded. */
static void start_queued_reads(struct file_reader *b)
{
    struct file_read *first = STAILQ_FIRST(&b->queued);
    if (first == NULL || (b->jobs > 0 && b->waiting < READS_PER_JOB)) return;
    STAILQ_INIT(&b->queued);
    b->waiting = 0;
    b->jobs++;
    assert(b->jobs <= JOBS_MAX);
    first->work.data = first;
    int r = uv_queue_work(b->loop, &first->work, run_file_reads, on_file_reads_done);
    assert(r == 0); /* fails only without a work function */
    (void)r;
}

int file_reader_start(struct file_reader *b, struct file_read *r)
{
    assert(r->bytes == NULL && r->size <= FETCH_CHUNK_BYTES_MAX);
    if (SLIST_EMPTY(&b->free) && b->count == FILE_READER_BUFFERS_MAX) return FILE_READER_BUSY;
    r->bytes = take_file_buffer(b);
    /* Out of memory, but buffers are in use: one will be released. */
    if (r->bytes == NULL) return b->count > 0 ? FILE_READER_BUSY : GLINT_E_NO_MEMORY;
    r->file_reader = b;
    STAILQ_INSERT_TAIL(&b->queued, r, next);
    b->waiting++;
    start_queued_reads(b);
    return 0;
}

/* ---- fetch server */

#define QUEUED_GETS_MAX 1024u /* per connection */

/* A GET: queued, then being read or sent. */
struct response {
    STAILQ_ENTRY(response) next;
    struct served_conn *to;
    uint64_t request;
    struct get_request get;
    const struct fetch_source *source; /* where `ref` is released; NULL: nothing found yet */
    void *ref;
    uint64_t size;         /* of what is read or sent */
    struct file_read file; /* a read, if the data is in a file */
};

struct served_conn {
    LIST_ENTRY(served_conn) link;
    struct fetch_server *server;
    struct conn *conn; /* NULL: closed */
    STAILQ_HEAD(, response) queue;
    uint32_t queued;
    uint32_t responses; /* being read or sent */
    uint64_t window;    /* their bytes */
};

struct fetch_server {
    struct fetch_source sources[GET_KINDS_END];
    LIST_HEAD(, served_conn) conns; /* most recently used first */
    struct file_reader file_reader;
    uint32_t responses;
    bool destroyed; /* freed with the last response */
};

struct fetch_server *fetch_server_create(uv_loop_t *loop,
                                         const struct fetch_source sources[GET_KINDS_END])
{
    struct fetch_server *s = mem_zalloc(sizeof *s);
    if (s == NULL) return NULL;
    memcpy(s->sources, sources, sizeof s->sources);
    file_reader_init(&s->file_reader, loop);
    return s;
}

/* ---- Responses */

static void response_free(struct response *a)
{
    get_request_fini(&a->get);
    mem_free(a);
}

static void release_served_source(struct response *a)
{
    if (a->source != NULL && a->source->release != NULL) a->source->release(a->source->arg, a->ref);
    a->source = NULL;
}

static void served_conn_free_if_unused(struct served_conn *c)
{
    if (c->conn != NULL || c->responses > 0) return;
    assert(STAILQ_EMPTY(&c->queue) && c->window == 0);
    mem_free(c);
}

/* Releases what a response referenced. Frees the connection's state too if it has closed and this
 * was its last response. */
static void end_response(struct response *a, bool sent)
{
    struct served_conn *c = a->to;
    struct fetch_server *s = c->server;
    assert(c->responses > 0 && s->responses > 0 && c->window >= a->size);
    if (sent && a->source->bytes_sent != NULL) atomic_fetch_add(a->source->bytes_sent, a->size);
    release_served_source(a);
    file_reader_release_buffer(&s->file_reader, &a->file);
    c->window -= a->size;
    c->responses--;
    s->responses--;
    response_free(a);
    served_conn_free_if_unused(c);
}

static void send_queued_responses_of_all(struct fetch_server *s);

/* conn_send_data's `sent`. Another request may wait for the buffer or window that this frees. */
static void on_response_sent(void *arg, bool ok)
{
    struct response *a = arg;
    struct fetch_server *s = a->to->server;
    end_response(a, ok);
    if (!s->destroyed)
        send_queued_responses_of_all(s);
    else if (s->responses == 0)
        fetch_server_destroy(s);
}

static void response_set_size(struct response *a, uint64_t size)
{
    a->to->window += size - a->size;
    a->size = size;
}

/* On failure, false, the connection closes by itself. */
static bool send_response_bytes(struct response *a, const uint8_t *bytes, uint64_t size)
{
    response_set_size(a, size);
    return conn_send_data(a->to->conn, a->request, (struct glint_slice){bytes, size},
                          on_response_sent, a);
}

static void send_fetch_error(struct conn *conn, uint64_t request, const struct glint_error *why)
{
    assert(why->code < 0);
    conn_send_payload(conn, FRAME_FETCH_ERROR, request, &fetch_error_format, why);
}

static void on_served_file_read(struct file_read *r, int code)
{
    struct response *a = r->arg;
    struct conn *conn = a->to->conn; /* NULL: it closed while the pool read the file */
    struct glint_error why = {.code = GLINT_OK};
    if (code == 0 && conn != NULL && send_response_bytes(a, r->bytes, r->size)) return;
    if (code != 0 && conn != NULL) {
        error_set(&why, GLINT_E_FETCH_FAILED, "check the disk under --work-dir",
                  "cannot read %s: %s", r->run->path,
                  code == UV_EOF ? "the file ends early" : uv_strerror(code));
        send_fetch_error(conn, a->request, &why);
    }
    on_response_sent(a, false);
}

/* What start_response did: RESPONSE_BUSY: nothing, no buffer is free. */
enum response_state { RESPONSE_STARTED, RESPONSE_FAILED, RESPONSE_BUSY };

static enum response_state read_served_file(struct response *a, const struct run *file,
                                            struct glint_error *why)
{
    a->file = (struct file_read){.run = file,
                                 .offset = a->get.offset,
                                 .size = a->get.size,
                                 .done = on_served_file_read,
                                 .arg = a};
    response_set_size(a, a->get.size);
    int r = file_reader_start(&a->to->server->file_reader, &a->file);
    if (r == 0) return RESPONSE_STARTED;
    response_set_size(a, 0);
    if (r == FILE_READER_BUSY) return RESPONSE_BUSY;
    error_no_memory(why);
    return RESPONSE_FAILED;
}

/* Finds the data, and sends it or starts to read it. On failure sets *why, unless the connection is
 * closing. */
static enum response_state start_response(struct response *a, struct glint_error *why)
{
    const struct get_request *g = &a->get;
    const struct fetch_source *source = &a->to->server->sources[g->kind];
    struct fetch_found found = {.file = NULL};
    source->find(source->arg, g, &found, why);
    if (why->code != GLINT_OK) return RESPONSE_FAILED;
    bool is_range = g->kind != GET_INDEX && g->kind != GET_BROADCAST_BLOCK && !found.is_range;
    a->source = source;
    a->ref = found.ref;
    uint64_t total = found.file != NULL ? found.file->source.bytes : found.bytes.size;
    uint64_t most = found.file != NULL ? FETCH_CHUNK_BYTES_MAX : DATA_FRAME_BYTES_MAX;
    if (is_range && (g->size > most || g->offset > total || g->size > total - g->offset)) {
        error_set(why, GLINT_E_PROTOCOL, NULL, "requested range is outside the data");
        return RESPONSE_FAILED;
    }
    if (found.file != NULL) return read_served_file(a, found.file, why);
    if (is_range) found.bytes = (struct glint_slice){found.bytes.data + g->offset, g->size};
    assert(found.bytes.size <= DATA_FRAME_BYTES_MAX);
    return send_response_bytes(a, found.bytes.data, found.bytes.size) ? RESPONSE_STARTED
                                                                      : RESPONSE_FAILED;
}

/* ---- Connections */

/* Starts responses in order until the window is full or no buffer is free; on_response_sent
 * continues. */
static void send_queued_responses(struct served_conn *c)
{
    while (c->conn != NULL && !STAILQ_EMPTY(&c->queue) && c->window < FETCH_SERVER_WINDOW_BYTES) {
        struct response *a = STAILQ_FIRST(&c->queue);
        struct glint_error why = {.code = GLINT_OK};
        enum response_state state = start_response(a, &why);
        if (state == RESPONSE_BUSY) {
            /* Later requests wait too, even if their data is in memory. */
            release_served_source(a);
            return;
        }
        STAILQ_REMOVE_HEAD(&c->queue, next);
        c->queued--;
        c->responses++;
        c->server->responses++;
        if (state == RESPONSE_STARTED) continue;
        if (why.code != GLINT_OK) send_fetch_error(c->conn, a->request, &why);
        end_response(a, false);
    }
}

/* Buffers are shared: the one just released may serve any connection. */
static void send_queued_responses_of_all(struct fetch_server *s)
{
    struct served_conn *c;
    LIST_FOREACH(c, &s->conns, link) send_queued_responses(c);
}

/* Moves it to the front. NULL: `conn` has sent no GET before. */
static struct served_conn *find_served_conn(struct fetch_server *s, const struct conn *conn)
{
    struct served_conn *c = LIST_FIRST(&s->conns);
    while (c != NULL && c->conn != conn) c = LIST_NEXT(c, link);
    if (c == NULL) return NULL;
    LIST_REMOVE(c, link);
    LIST_INSERT_HEAD(&s->conns, c, link);
    return c;
}

static struct served_conn *add_served_conn(struct fetch_server *s, struct conn *conn)
{
    struct served_conn *c = mem_zalloc(sizeof *c);
    if (c == NULL) return NULL;
    c->server = s;
    c->conn = conn;
    STAILQ_INIT(&c->queue);
    LIST_INSERT_HEAD(&s->conns, c, link);
    return c;
}

static int check_get_request(const struct fetch_server *s, const struct served_conn *c,
                             const struct get_request *g, struct glint_error *error)
{
    if (s->sources[g->kind].find == NULL)
        return error_set(error, GLINT_E_PROTOCOL, NULL, "GET of kind %d is not served here",
                         (int)g->kind);
    /* A correct peer has at most FETCH_CLIENT_REQUESTS_MAX in flight; limit a bad one. */
    if (c != NULL && c->queued == QUEUED_GETS_MAX)
        return error_set(error, GLINT_E_PROTOCOL, NULL, "too many queued requests (max %u)",
                         QUEUED_GETS_MAX);
    return 0;
}

int fetch_server_on_get(struct fetch_server *s, struct conn *conn, const struct frame *f,
                        struct glint_slice payload, struct glint_error *error)
{
    struct glint_error why = {.code = GLINT_OK};
    struct get_request get;
    struct served_conn *c = find_served_conn(s, conn);
    assert(f->type == FRAME_GET && !s->destroyed);
    int r = get_request_decode(payload, &get, error);
    if (r == 0) r = check_get_request(s, c, &get, error);
    if (r != 0) {
        get_request_fini(&get);
        return r;
    }
    if (c == NULL) c = add_served_conn(s, conn);
    struct response *a = c != NULL ? mem_zalloc(sizeof *a) : NULL;
    if (a == NULL) {
        get_request_fini(&get);
        error_no_memory(&why);
        send_fetch_error(conn, f->request, &why);
        return 0;
    }
    a->to = c;
    a->request = f->request;
    a->get = get;
    STAILQ_INSERT_TAIL(&c->queue, a, next);
    c->queued++;
    send_queued_responses(c);
    return 0;
}

void fetch_server_on_closed(struct fetch_server *s, struct conn *conn)
{
    struct served_conn *c = find_served_conn(s, conn);
    if (c == NULL) return;
    LIST_REMOVE(c, link);
    c->conn = NULL;
    for (struct response *a; (a = STAILQ_FIRST(&c->queue)) != NULL;) {
        STAILQ_REMOVE_HEAD(&c->queue, next);
        response_free(a);
    }
    served_conn_free_if_unused(c);
    /* Without connections keep no idle buffers. */
    if (LIST_EMPTY(&s->conns)) file_reader_free_buffers(&s->file_reader);
}

void fetch_server_destroy(struct fetch_server *s)
{
    if (s == NULL) return;
    assert(LIST_EMPTY(&s->conns));
    s->destroyed = true;
    if (s->responses > 0) return; /* the pool still reads: on_response_sent frees */
    file_reader_fini(&s->file_reader);
    mem_free(s);
}
