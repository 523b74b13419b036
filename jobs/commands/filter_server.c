/* One thread: a request is answered from one table of filters, and the table is exchanged between
 * two requests. Files are loaded in a thread of libuv's pool.
 *
 * Requests are parsed where they were read, in a buffer of the server; a connection has memory only
 * for a request that has arrived in part, and for a reply that its client is slow to read. */
#include "jobs/commands/filter_server.h"

#include "engine/base/log.h"
#include "engine/base/text.h"
#include "engine/net/net_init.h"
#include "engine/net/tls.h"
#include "jobs/commands/filter_commands.h"
#include "jobs/commands/filter_http.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>
#include <uv.h>

#define READ_BYTES         (64u << 10)
#define REPLY_BYTES_PAUSED (1u << 20)   /* no further request is answered before these are sent */
#define KEPT_BYTES_PAUSED  (64u << 20)  /* no more is read while requests of so many wait */
#define BUFFERED_BYTES_MAX (256u << 20) /* of all connections */
#define SPARE_WORDS_MAX    4096u
#define FILES_BESIDE       64u /* descriptors that are not connections */
#define TICK_MS            1000u
#define HTTP_TICK_MS       250u
#define PASSWORD_MS        10000u /* until a client must have sent it */
#define STUCK_MS           60000u /* without progress of a request or reply that has started */
#define END_MS             5000u  /* for the last replies */

static const struct resp_limits limits = {.words = 1u << 20, .bytes = 16u << 20},
                                limits_before_password = {.words = 16, .bytes = 4096};

struct connection {
    union {
        uv_stream_t stream;
        uv_pipe_t pipe;
        uv_tcp_t tcp;
    } u;
    struct filter_server *server;
    struct connection *next, *before;
    struct filter_client client;
    struct resp_parser parser;
    struct tls *tls;   /* NULL: none */
    struct buffer in;  /* requests that are not answered yet; the last one may be a part */
    struct buffer out; /* a reply that is being written */
    uv_write_t write;
    uint64_t progress_ms;
    uint64_t known_ms; /* when it had sent the password, or connected */
    uint64_t counted;  /* bytes of its memory that are in server->buffered */
    bool writing, closing;
    bool ended; /* the client sends no more: the connection is closed after the last reply */
};

struct filter_server {
    const struct filter_server_config *config;
    struct glint_error *error;
    uv_loop_t loop;
    union {
        uv_stream_t stream;
        uv_pipe_t pipe;
        uv_tcp_t tcp;
    } listeners[2]; /* the socket, the address */
    bool listens[2];
    uv_signal_t signals[3];
    uv_timer_t tick, http_tick;
    struct tls_context *tls; /* of connections to the address; NULL: none */
    struct web_http *http;   /* NULL: none */
    struct filter_http answers;
    struct connection *first;
    struct filter_service service;
    struct filter_table tables[2]; /* one of them is served, the other one is being loaded */
    unsigned served;
    uv_work_t load;
    struct glint_error load_error;
    bool loading, load_again, ending, handshake_failed;
    uint64_t started_ms, ended_ms, next_id, buffered;
    uint32_t clients_max;
    struct resp_reply reply;
    struct resp_parser spare;   /* the memory of a parser that no connection needs */
    uint8_t sealed[READ_BYTES]; /* what was read of a connection with TLS */
    uint8_t input[READ_BYTES + TLS_RECORD_BYTES + BLOOM_ID_SLACK];
};

/* ---- Connections */

static void on_connection_closed(uv_handle_t *handle)
{
    struct connection *c = handle->data;
    struct filter_server *s = c->server;
    if (c->next != NULL) c->next->before = c->before;
    *(c->before != NULL ? &c->before->next : &s->first) = c->next;
    s->service.counts.clients--;
    s->buffered -= c->counted;
    resp_parser_fini(&c->parser);
    tls_close(c->tls);
    buffer_fini(&c->in);
    buffer_fini(&c->out);
    mem_free(c);
}

/* Whatever the socket takes at once: the alert that TLS ends here. */
static void send_tls_end(struct connection *c)
{
    struct buffer alert = {NULL, 0, 0};
    if (tls_is_handshake_done(c->tls)) tls_queue_close_notify(c->tls);
    tls_take_output(c->tls, &alert);
    uv_buf_t all = uv_buf_init((char *)alert.data, (unsigned)alert.size);
    if (alert.size > 0) uv_try_write(&c->u.stream, &all, 1);
    buffer_fini(&alert);
}

static void close_connection(struct connection *c)
{
    if (c->closing) return;
    c->closing = true;
    if (c->tls != NULL && !c->writing) send_tls_end(c);
    uv_close((uv_handle_t *)&c->u.stream, on_connection_closed);
}

/* Counts the memory that the connection holds, and closes it if all hold too much. */
static void update_buffered_bytes(struct connection *c)
{
    struct filter_server *s = c->server;
    const uint64_t bytes =
        c->in.capacity + c->out.capacity + c->parser.capacity * sizeof *c->parser.words;
    assert(s->buffered >= c->counted);
    s->buffered += bytes - c->counted;
    c->counted = bytes;
    if (s->buffered <= BUFFERED_BYTES_MAX) return;
    log_line(LOG_WARN, NULL, "a client is disconnected: requests and replies hold %u MiB",
             BUFFERED_BYTES_MAX >> 20);
    close_connection(c);
}

static void answer_kept_requests(struct connection *c);
static void on_read(uv_stream_t *stream, ssize_t size, const uv_buf_t *buffer);

static void on_alloc(uv_handle_t *handle, size_t suggested, uv_buf_t *out)
{
    struct connection *c = handle->data;
    (void)suggested;
    *out = uv_buf_init((char *)(c->tls != NULL ? c->server->sealed : c->server->input), READ_BYTES);
    if (c->in.size == 0 || c->tls != NULL) return;
    *out = uv_buf_init(NULL, 0); /* UV_ENOBUFS, which closes it, when out of memory */
    if (buffer_reserve(&c->in, READ_BYTES / 4))
        *out =
            uv_buf_init((char *)c->in.data + c->in.size, (unsigned)(c->in.capacity - c->in.size));
}

static void on_written(uv_write_t *write, int status)
{
    struct connection *c = write->data;
    assert(c->writing);
    c->writing = false;
    c->progress_ms = uv_now(&c->server->loop);
    buffer_fini(&c->out);
    if (status < 0 || c->client.quits)
        close_connection(c);
    else
        answer_kept_requests(c);
}

/* Sends the bytes, or keeps what the client does not take now. */
static void send_bytes(struct connection *c, const struct buffer *bytes)
{
    uv_buf_t all = uv_buf_init((char *)bytes->data, (unsigned)bytes->size);
    int sent = bytes->size > 0 ? uv_try_write(&c->u.stream, &all, 1) : 0;
    if (sent == UV_EAGAIN) sent = 0;
    if (sent < 0 || (uint64_t)sent == bytes->size) {
        if (sent < 0 || c->client.quits) close_connection(c);
    } else if (!buffer_append(&c->out, bytes->data + sent, bytes->size - (uint64_t)sent)) {
        close_connection(c);
    } else {
        uv_buf_t rest = uv_buf_init((char *)c->out.data, (unsigned)c->out.size);
        c->write.data = c;
        c->writing = true;
        if (uv_write(&c->write, &c->u.stream, &rest, 1, on_written) != 0) {
            c->writing = false;
            close_connection(c);
        }
    }
}

/* Seals the replies, of which there are none before the handshake is done. Returns false when out
 * of memory, or if the session has ended. */
static bool encrypt_replies(struct connection *c, const struct buffer *replies, struct buffer *out)
{
    struct glint_error error = {.code = GLINT_OK};
    bool kept = true;
    if (replies->size > 0 && tls_is_handshake_done(c->tls))
        kept = tls_write(c->tls, (struct glint_slice){replies->data, replies->size}, &error) == 0;
    tls_take_output(c->tls, out);
    return kept;
}

/* Sends the replies of the server's buffer. */
static void send_replies(struct connection *c)
{
    struct resp_reply *r = &c->server->reply;
    struct buffer sealed = {NULL, 0, 0};
    bool kept = !r->failed;
    assert(!c->writing);
    if (kept && c->tls != NULL) kept = encrypt_replies(c, &r->out, &sealed);
    if (kept)
        send_bytes(c, c->tls != NULL ? &sealed : &r->out);
    else
        close_connection(c);
    buffer_fini(&sealed);
    if (r->out.capacity > 2 * REPLY_BYTES_PAUSED) buffer_fini(&r->out);
    r->out.size = 0;
    r->failed = false;
}

/* Answers the requests in `data`, until one is not complete or its client must first read the
 * replies. Returns the size of those that were answered. */
static uint64_t answer_complete_requests(struct connection *c, const uint8_t *data, uint64_t size)
{
    struct filter_server *s = c->server;
    struct resp_reply *reply = &s->reply;
    uint64_t at = 0;
    while (at < size && !c->client.quits && reply->out.size < REPLY_BYTES_PAUSED) {
        const char *why = "";
        const enum resp_result result =
            resp_parse(&c->parser, data + at, size - at,
                       c->client.authenticated ? &limits : &limits_before_password, &why);
        if (result == RESP_PARTIAL) break;
        if (result == RESP_COMPLETE) {
            if (c->parser.count > 0)
                filter_command_run(&s->service, &c->client, data + at, &c->parser, reply);
            at += c->parser.at;
            resp_next(&c->parser);
            continue;
        }
        s->service.counts.errors++;
        resp_error(reply, "ERR Protocol error: %s",
                   result == RESP_NO_MEMORY ? "out of memory" : why);
        c->client.quits = true;
    }
    return c->client.quits ? size : at;
}

/* A connection without a request that has arrived in part needs no memory. */
static void borrow_parser(struct connection *c)
{
    struct filter_server *s = c->server;
    if (c->parser.words != NULL) return;
    c->parser.words = s->spare.words;
    c->parser.capacity = s->spare.capacity;
    s->spare = (struct resp_parser){.words = NULL};
}

static void return_parser(struct connection *c)
{
    struct filter_server *s = c->server;
    resp_next(&c->parser);
    if (s->spare.words == NULL && c->parser.capacity <= SPARE_WORDS_MAX)
        s->spare = c->parser;
    else
        resp_parser_fini(&c->parser);
    c->parser = (struct resp_parser){.words = NULL};
}

/* Answers what has arrived, as far as the client reads the replies; keeps the rest. */
static void answer_received_requests(struct connection *c, const uint8_t *data, uint64_t size)
{
    uint64_t at = 0, answered;
    assert(!c->writing && !c->closing);
    borrow_parser(c);
    do {
        answered = answer_complete_requests(c, data + at, size - at);
        at += answered;
        send_replies(c);
    } while (answered > 0 && at < size && !c->writing && !c->closing);
    if (c->closing) return;
    const uint64_t rest = size - at;
    if (data == c->in.data) {
        memmove(c->in.data, c->in.data + at, rest);
        c->in.size = rest;
    } else if (rest > 0 && !buffer_append(&c->in, data + at, rest)) {
        close_connection(c);
        return;
    }
    if (rest == 0) {
        buffer_fini(&c->in);
        return_parser(c);
    }
    if (c->counted > 0 || c->in.capacity > 0 || c->out.capacity > 0) update_buffered_bytes(c);
}

/* When replies were sent: answers what was received in the meantime. */
static void answer_kept_requests(struct connection *c)
{
    if (c->in.size > 0)
        answer_received_requests(c, c->in.data, c->in.size);
    else if (c->tls != NULL)
        send_replies(c); /* what TLS itself sends */
    if (c->writing || c->closing) return;
    if (c->ended)
        close_connection(c);
    else
        uv_read_start(&c->u.stream, on_alloc, on_read);
}

/* Answers what has arrived, or keeps it while replies wait: clients may send all of a pipeline
 * before they read. `data` is c->in.data, or is copied. */
static void receive_requests(struct connection *c, const uint8_t *data, uint64_t size)
{
    if (!c->writing) {
        answer_received_requests(c, data, size);
        return;
    }
    if (data != c->in.data && !buffer_append(&c->in, data, size)) {
        close_connection(c);
        return;
    }
    if (c->in.size >= KEPT_BYTES_PAUSED) uv_read_stop(&c->u.stream);
    update_buffered_bytes(c);
}

/* The client sends no more, but may read. */
static void end_requests(struct connection *c)
{
    c->ended = true;
    uv_read_stop(&c->u.stream);
    if (!c->writing) close_connection(c);
}

/* Once a second: a client without TLS at this port, or a scanner, would fill the log. */
static void log_failed_handshake(struct filter_server *s, const struct glint_error *error)
{
    s->service.counts.handshakes_failed++;
    if (!s->handshake_failed) log_error(LOG_WARN, NULL, error);
    s->handshake_failed = true;
}

/* Decrypts all that TLS has to `to`, which has room for it, and returns its size. *out_ended: the
 * client has ended the session, or it is damaged. */
static uint64_t decrypt_received_bytes(struct connection *c, uint8_t *to, uint64_t capacity,
                                       bool *out_ended)
{
    struct glint_error error = {.code = GLINT_OK};
    uint64_t used = 0;
    for (;;) {
        assert(used < capacity); /* the room is for what was read and one record that was kept */
        const int64_t n = tls_read(c->tls, to + used, capacity - used, &error);
        *out_ended = n < 0;
        if (n <= 0) return used;
        used += (uint64_t)n;
    }
}

/* Bytes of a connection with TLS: its handshake, or requests. */
static void on_encrypted_read(struct connection *c, uint64_t size)
{
    struct filter_server *s = c->server;
    struct glint_error error = {.code = GLINT_OK};
    const uint64_t capacity = READ_BYTES + TLS_RECORD_BYTES;
    if (tls_feed(c->tls, (struct glint_slice){s->sealed, size}, &error) != 0) {
        log_failed_handshake(s, &error);
        close_connection(c);
        return;
    }
    if (!tls_is_handshake_done(c->tls)) {
        if (!c->writing) send_replies(c);
        return;
    }
    const bool kept = c->in.size > 0;
    if (kept && !buffer_reserve(&c->in, capacity)) {
        close_connection(c);
        return;
    }
    uint8_t *data = kept ? c->in.data : s->input;
    bool ended;
    const uint64_t n = decrypt_received_bytes(c, data + c->in.size, capacity, &ended);
    if (kept) c->in.size += n;
    if (n > 0)
        receive_requests(c, data, kept ? c->in.size : n);
    else if (!c->writing)
        send_replies(c); /* what TLS itself sends */
    if (ended) end_requests(c);
}

static void on_read(uv_stream_t *stream, ssize_t size, const uv_buf_t *buffer)
{
    struct connection *c = stream->data;
    if (size == UV_EOF)
        end_requests(c);
    else if (size < 0)
        close_connection(c);
    if (size <= 0) return;
    c->progress_ms = uv_now(&c->server->loop);
    if (c->tls != NULL) {
        on_encrypted_read(c, (uint64_t)size);
    } else if (buffer->base == (char *)c->server->input) {
        receive_requests(c, c->server->input, (uint64_t)size);
    } else {
        c->in.size += (uint64_t)size;
        receive_requests(c, c->in.data, c->in.size);
    }
}

static bool accept_connection(struct filter_server *s, uv_stream_t *listener)
{
    struct connection *c = mem_zalloc(sizeof *c);
    struct glint_error error = {.code = GLINT_OK};
    if (c == NULL) return false;
    const bool tcp = listener->type == UV_TCP;
    if (tcp && s->tls != NULL) {
        c->tls = tls_open(s->tls, false, &error);
        if (c->tls == NULL) {
            mem_free(c);
            return false;
        }
    }
    const int r = tcp ? uv_tcp_init(&s->loop, &c->u.tcp) : uv_pipe_init(&s->loop, &c->u.pipe, 0);
    assert(r == 0); /* no descriptor is opened yet */
    c->server = s;
    c->u.stream.data = c;
    c->next = s->first;
    if (c->next != NULL) c->next->before = c;
    s->first = c;
    c->client = (struct filter_client){
        .id = ++s->next_id, .version = 2, .authenticated = s->config->password == NULL};
    c->progress_ms = c->known_ms = uv_now(&s->loop);
    s->service.counts.clients++;
    s->service.counts.connections++;
    if (uv_accept(listener, &c->u.stream) != 0) {
        close_connection(c);
    } else if (s->service.counts.clients > s->clients_max) {
        s->service.counts.rejected++;
        resp_error(&s->reply, "ERR max number of clients reached");
        c->client.quits = true;
        send_replies(c);
    } else {
        if (tcp) uv_tcp_nodelay(&c->u.tcp, 1);
        uv_read_start(&c->u.stream, on_alloc, on_read);
    }
    return true;
}

static void on_filter_client_connection(uv_stream_t *listener, int status)
{
    struct filter_server *s = listener->data;
    if (status >= 0 && !accept_connection(s, listener)) status = UV_ENOMEM;
    if (status < 0)
        log_line(LOG_WARN, NULL, "a client cannot be accepted: %s", uv_strerror(status));
}

/* Closes connections that make no progress. */
static void on_tick(uv_timer_t *timer)
{
    struct filter_server *s = timer->data;
    const uint64_t now = uv_now(&s->loop);
    s->service.uptime_s = (now - s->started_ms) / 1000;
    s->handshake_failed = false;
    for (struct connection *c = s->first; c != NULL; c = c->next) {
        const uint64_t still_ms = now - c->progress_ms;
        if (c->client.authenticated) c->known_ms = now;
        if (now - c->known_ms > PASSWORD_MS ||
            ((c->in.size > 0 || c->writing) && still_ms > STUCK_MS) ||
            (s->ending && now - s->ended_ms > END_MS))
            close_connection(c);
    }
    if (s->ending && s->first == NULL) uv_close((uv_handle_t *)timer, NULL);
}

/* ---- Loading */

static void load_table_on_pool(uv_work_t *work)
{
    struct filter_server *s = work->data;
    s->load_error = (struct glint_error){.code = GLINT_OK};
    filter_table_open(&s->tables[1 - s->served], s->config->env, s->config->path, true,
                      &s->load_error);
}

static void switch_to_table(struct filter_server *s, unsigned number)
{
    s->served = number;
    s->service.table = &s->tables[number];
    s->service.loaded_s = s->config->env->wall_ns(s->config->env) / (int64_t)1000000000;
    char success[PATH_MAX];
    struct stat st;
    if (stat(s->config->path, &st) == 0 && S_ISDIR(st.st_mode) &&
        text_format(success, sizeof success, "%s/_SUCCESS", s->config->path) &&
        lstat(success, &st) != 0)
        log_line(LOG_WARN, NULL, "%s has no _SUCCESS: filters may be missing", s->config->path);
    log_line(LOG_INFO, NULL, "%" PRIu64 " filters of %s, %" PRIu64 " bytes",
             s->service.table->count, s->config->path, s->service.table->maps.bytes);
}

static void start_loading_table(struct filter_server *s);

static void on_filter_table_loaded(uv_work_t *work, int status)
{
    struct filter_server *s = work->data;
    const unsigned number = 1 - s->served;
    assert(status == 0 && s->loading);
    s->loading = false;
    if (s->load_error.code == GLINT_OK) {
        switch_to_table(s, number);
        s->service.counts.swaps++;
        filter_table_close(&s->tables[1 - number]);
    } else {
        s->service.counts.failed_swaps++;
        log_error(LOG_ERROR, NULL, &s->load_error);
        log_line(LOG_WARN, NULL, "the filters that were loaded before are served");
    }
    if (s->load_again && !s->ending) start_loading_table(s);
}

/* Certificates are renewed in their files. */
static void load_certificate(struct filter_server *s)
{
    struct glint_error error = {.code = GLINT_OK};
    const struct filter_server_config *c = s->config;
    if (s->tls == NULL || tls_context_set_certificate(s->tls, c->certificate, c->key, &error) == 0)
        return;
    log_error(LOG_ERROR, NULL, &error);
    log_line(LOG_WARN, NULL, "the certificate that was loaded before is used");
}

static void start_loading_table(struct filter_server *s)
{
    s->load_again = s->loading;
    if (s->loading) return;
    s->load.data = s;
    const int r = uv_queue_work(&s->loop, &s->load, load_table_on_pool, on_filter_table_loaded);
    assert(r == 0); /* with a function it cannot fail */
    s->loading = true;
}

/* ---- The server */

static void end_server(struct filter_server *s)
{
    if (s->ending) return;
    s->ending = true;
    s->ended_ms = uv_now(&s->loop);
    for (unsigned i = 0; i < 3; i++) signal_close_and_ignore(&s->signals[i]);
    for (unsigned i = 0; i < 2; i++)
        if (s->listens[i]) uv_close((uv_handle_t *)&s->listeners[i].stream, NULL);
    if (s->http != NULL) {
        web_http_stop(s->http);
        uv_close((uv_handle_t *)&s->http_tick, NULL);
    }
    for (struct connection *c = s->first; c != NULL; c = c->next) {
        c->client.quits = true;
        if (!c->writing) close_connection(c);
    }
}

static void on_signal(uv_signal_t *handle, int number)
{
    struct filter_server *s = handle->data;
    if (number != SIGHUP) {
        end_server(s);
        return;
    }
    load_certificate(s);
    start_loading_table(s);
}

static int set_address_error(struct filter_server *s, const char *address, int r)
{
    return error_set(s->error, GLINT_E_ADDRESS, NULL, "cannot listen on %s: %s", address,
                     uv_strerror(r));
}

/* Whether it is a socket that no process listens on any more. */
static bool is_stale_socket(const char *path)
{
    struct stat st;
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (lstat(path, &st) != 0 || !S_ISSOCK(st.st_mode)) return false;
    memcpy(address.sun_path, path, strlen(path));
    const int file = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    const bool left = file >= 0 &&
                      connect(file, (const struct sockaddr *)&address, sizeof address) != 0 &&
                      errno == ECONNREFUSED;
    if (file >= 0) close(file);
    return left;
}

static int listen_on(struct filter_server *s, unsigned i, const char *address)
{
    s->listeners[i].stream.data = s;
    s->listens[i] = true;
    const int r = uv_listen(&s->listeners[i].stream, SOMAXCONN, on_filter_client_connection);
    return r == 0 ? 0 : set_address_error(s, address, r);
}

static int open_socket(struct filter_server *s)
{
    const char *path = s->config->socket;
    if (strlen(path) >= sizeof((struct sockaddr_un *)NULL)->sun_path)
        return set_address_error(s, path, UV_ENAMETOOLONG);
    uv_pipe_init(&s->loop, &s->listeners[0].pipe, 0);
    const mode_t before = umask(0177);
    int r = uv_pipe_bind(&s->listeners[0].pipe, path);
    if (r == UV_EADDRINUSE && is_stale_socket(path) && unlink(path) == 0)
        r = uv_pipe_bind(&s->listeners[0].pipe, path);
    umask(before);
    if (r == 0) return listen_on(s, 0, path);
    uv_close((uv_handle_t *)&s->listeners[0].stream, NULL);
    return set_address_error(s, path, r);
}

static int open_address(struct filter_server *s)
{
    struct sockaddr_storage address;
    const char *host = s->config->host;
    if (strcasecmp(host, "localhost") == 0) host = "127.0.0.1";
    int r = uv_ip4_addr(host, s->config->port, (struct sockaddr_in *)&address);
    if (r != 0) r = uv_ip6_addr(host, s->config->port, (struct sockaddr_in6 *)&address);
    if (r != 0) return set_address_error(s, host, r);
    uv_tcp_init(&s->loop, &s->listeners[1].tcp);
    r = uv_tcp_bind(&s->listeners[1].tcp, (const struct sockaddr *)&address, 0);
    if (r == 0) {
        r = listen_on(s, 1, host);
        struct sockaddr_storage bound;
        int size = sizeof bound;
        if (r != 0 ||
            uv_tcp_getsockname(&s->listeners[1].tcp, (struct sockaddr *)&bound, &size) != 0)
            return r;
        log_line(LOG_INFO, NULL, "listens on port %u of %s",
                 ntohs(((const struct sockaddr_in *)&bound)->sin_port), host);
        return 0;
    }
    uv_close((uv_handle_t *)&s->listeners[1].stream, NULL);
    return set_address_error(s, host, r);
}

static void on_http_tick(uv_timer_t *timer)
{
    struct filter_server *s = timer->data;
    web_http_tick(s->http);
}

static int open_http(struct filter_server *s)
{
    const struct filter_server_config *c = s->config;
    s->answers.service = &s->service;
    const struct web_http_config http = {.env = c->env,
                                         .loop = &s->loop,
                                         .host = c->http_host,
                                         .port = c->http_port,
                                         .tries = 1,
                                         .option = "--http",
                                         .token = c->password,
                                         .certificate = c->certificate_text,
                                         .key = c->key_text,
                                         .body_bytes_max = FILTER_BODY_BYTES_MAX,
                                         .answer = filter_http_answer,
                                         .arg = &s->answers};
    s->http = web_http_open(&http, s->error);
    if (s->http == NULL) return s->error->code;
    uv_timer_init(&s->loop, &s->http_tick);
    s->http_tick.data = s;
    uv_timer_start(&s->http_tick, on_http_tick, HTTP_TICK_MS, HTTP_TICK_MS);
    log_line(LOG_INFO, NULL, "answers HTTP at %s", web_http_url(s->http));
    return 0;
}

/* As many as descriptors can be had. */
static void limit_clients(struct filter_server *s)
{
    struct rlimit limit;
    s->clients_max = s->config->clients_max;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
    const rlim_t wanted = (rlim_t)s->clients_max + FILES_BESIDE;
    if (limit.rlim_cur < wanted) {
        limit.rlim_cur = wanted < limit.rlim_max ? wanted : limit.rlim_max;
        setrlimit(RLIMIT_NOFILE, &limit);
    }
    if (limit.rlim_cur >= wanted) return;
    s->clients_max =
        limit.rlim_cur > 2 * FILES_BESIDE ? (uint32_t)limit.rlim_cur - FILES_BESIDE : FILES_BESIDE;
    log_line(LOG_WARN, NULL, "at most %" PRIu32 " clients: the limit on open files is %" PRIu64,
             s->clients_max, (uint64_t)limit.rlim_cur);
}

static void watch_signals(struct filter_server *s)
{
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP};
    for (unsigned i = 0; i < 3; i++) {
        uv_signal_init(&s->loop, &s->signals[i]);
        s->signals[i].data = s;
        uv_signal_start(&s->signals[i], on_signal, numbers[i]);
    }
    uv_timer_init(&s->loop, &s->tick);
    s->tick.data = s;
    s->started_ms = uv_now(&s->loop);
    uv_timer_start(&s->tick, on_tick, TICK_MS, TICK_MS);
}

int filter_server_run(const struct filter_server_config *config, struct glint_error *error)
{
    struct filter_server *s = mem_zalloc(sizeof *s);
    if (s == NULL) return error_no_memory(error);
    s->config = config;
    s->error = error;
    s->service.password = config->password;
    int r = event_loop_init(&s->loop, config->env, error);
    if (r != 0) {
        mem_free(s);
        return r;
    }
    if (config->certificate != NULL) {
        s->tls = tls_context_create_server(config->certificate, config->key, error);
        if (s->tls == NULL) r = error->code;
    }
    if (r == 0) r = filter_table_open(&s->tables[0], config->env, config->path, true, error);
    if (r == 0) {
        limit_clients(s);
        watch_signals(s);
        switch_to_table(s, 0);
        if (config->socket != NULL) r = open_socket(s);
        if (r == 0 && config->host != NULL) r = open_address(s);
        if (r == 0 && config->http_host != NULL) r = open_http(s);
        if (r == 0)
            log_line(LOG_INFO, NULL, "ready");
        else
            end_server(s);
    }
    uv_run(&s->loop, UV_RUN_DEFAULT);
    const int failed = uv_loop_close(&s->loop);
    assert(failed == 0 && s->first == NULL && s->buffered == 0);
    for (unsigned i = 0; i < 2; i++) filter_table_close(&s->tables[i]);
    web_http_free(s->http);
    filter_http_fini(&s->answers);
    tls_context_destroy(s->tls);
    buffer_fini(&s->reply.out);
    resp_parser_fini(&s->spare);
    mem_free(s);
    return r;
}
