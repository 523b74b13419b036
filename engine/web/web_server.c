/* The loop wakes for the sockets of libmicrohttpd, for its timeouts, and every TICK_MS for new
 * events while a job runs. */
#include "engine/web/web_server.h"

#include "engine/base/json.h"
#include "engine/base/mem.h"
#include "engine/base/shared_library.h"
#include "engine/base/text.h"
#include "engine/base/thread.h"
#include "engine/events/event_log.h"
#include "engine/events/job_model.h"
#include "engine/net/net_init.h"
#include "engine/records/task.h"
#include "engine/web/web_api.h"
#include "engine/web/web_page.h"

#include <arpa/inet.h>
#include <assert.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <pthread.h>
#include <string.h>
#include <sys/socket.h>

/* ---- HTTP: a request is answered when its headers are there; a body is not read. Streams of
 * events are suspended while they have nothing to send; a client that does not read holds its
 * connection's buffer only, until it times out. */

#define WEB_CONNECTIONS_MAX 64u
#define WEB_PER_ADDRESS_MAX 32u        /* of them from one address */
#define WEB_STREAMS_MAX     16u        /* of them with server-sent events */
#define WEB_REQUEST_BYTES   (16 * KIB) /* memory of a connection: line and headers of a request */
#define WEB_TIMEOUT_S       15u        /* without progress of a connection; for a whole request */
#define WEB_CHANGE_NS       (500 * MS_NS)
#define WEB_KEEP_ALIVE_NS   (10 * SECOND_NS)

struct web_http {
    struct env *env;
    const struct web_library *library;
    struct MHD_Daemon *daemon;
    const struct web_access *access;
    struct web_jobs jobs;
    struct web_connection *first; /* of all */
    struct web_stream *streams;
    uint32_t stream_count;
    bool closing; /* streams end */
};

/* Each function is looked up by its name; libmicrohttpd.so.12 has had all of them since 0.9.71. */

static struct web_library functions;

#define SYMBOL(name) {"MHD_" #name, offsetof(struct web_library, name)},
static const struct shared_symbol symbols[] = {WEB_FUNCTIONS(SYMBOL)};

const struct web_library *web_library_load(struct glint_error *error)
{
    static struct shared_library library = {
        .names = {"libmicrohttpd.so.12"},
        .purpose = "the page is served with libmicrohttpd",
        .hint =
            "install libmicrohttpd (Debian: apt install libmicrohttpd12), or leave out the page",
        .code = GLINT_E_WEB_LIBRARY,
        .symbols = symbols,
        .symbol_count = sizeof symbols / sizeof symbols[0],
        .table = &functions,
        .lock = PTHREAD_MUTEX_INITIALIZER};
    return shared_library_load(&library, error) == 0 ? &functions : NULL;
}

/* ---- A list of all connections: libmicrohttpd ends those without progress only, so a byte now and
 * then would keep one that does not send a whole request without limit. One that is too slow is
 * shut down, which libmicrohttpd sees as its end. */

struct web_connection {
    struct web_connection *next;
    struct MHD_Connection *connection;
    uint64_t since_ns; /* since when it may send the request */
    bool receiving;
};

/* MHD_OPTION_NOTIFY_CONNECTION; `http` is a struct web_http. */
static void web_connections_on_change(void *http, struct MHD_Connection *connection, void **context,
                                      enum MHD_ConnectionNotificationCode change)
{
    struct web_http *c = http;
    if (change == MHD_CONNECTION_NOTIFY_STARTED) {
        struct web_connection *new = mem_zalloc(sizeof *new);
        *context = new;
        if (new == NULL) return; /* it has the library's own timeout only */
        *new = (struct web_connection){.next = c->first,
                                       .connection = connection,
                                       .since_ns = c->env->now_ns(c->env),
                                       .receiving = true};
        c->first = new;
        return;
    }
    struct web_connection **at = &c->first;
    while (*at != NULL && *at != *context) at = &(*at)->next;
    if (*at == NULL) return;
    *at = (*at)->next;
    mem_free(*context);
    *context = NULL;
}

static struct web_connection *find_connection(const struct web_http *c,
                                              struct MHD_Connection *connection)
{
    const union MHD_ConnectionInfo *info =
        c->library->get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    return info != NULL ? info->socket_context : NULL;
}

/* MHD_OPTION_NOTIFY_COMPLETED: the answer was sent, and the next request may come. */
static void web_connections_on_answered(void *http, struct MHD_Connection *connection,
                                        void **request, enum MHD_RequestTerminationCode code)
{
    const struct web_http *c = http;
    struct web_connection *found = find_connection(c, connection);
    (void)request, (void)code;
    if (found == NULL) return;
    found->receiving = true;
    found->since_ns = c->env->now_ns(c->env);
}

/* The headers of a request are complete. */
static void web_connections_on_request(struct web_http *c, struct MHD_Connection *connection)
{
    struct web_connection *found = find_connection(c, connection);
    if (found != NULL) found->receiving = false;
}

/* Ends those that have been sending a request for longer. Call it now and then. */
static void web_connections_end_slow_requests(struct web_http *c, uint64_t longest_ns)
{
    const uint64_t now = c->env->now_ns(c->env);
    for (struct web_connection *s = c->first; s != NULL; s = s->next) {
        if (!s->receiving || now - s->since_ns < longest_ns) continue;
        const union MHD_ConnectionInfo *info =
            c->library->get_connection_info(s->connection, MHD_CONNECTION_INFO_CONNECTION_FD);
        if (info != NULL) shutdown(info->connect_fd, SHUT_RDWR);
        s->since_ns = now;
    }
}

#define JSON_TYPE    "application/json; charset=utf-8"
#define TEXT_TYPE    "text/plain; charset=utf-8"
#define METRICS_TYPE "application/openmetrics-text; version=1.0.0; charset=utf-8"

/* One request. */
struct web_request {
    struct web_http *h;
    struct MHD_Connection *connection;
    const char *path;
};

static const char *request_header(const struct web_request *r, const char *name)
{
    return r->h->library->lookup_connection_value(r->connection, MHD_HEADER_KIND, name);
}

static const char *request_query_value(void *arg, const char *name)
{
    const struct web_request *r = arg;
    return r->h->library->lookup_connection_value(r->connection, MHD_GET_ARGUMENT_KIND, name);
}

/* ---- Answers */

/* Adds the headers that all answers have. Takes the response. */
static enum MHD_Result queue_response(const struct web_request *r, unsigned status,
                                      const char *type, struct MHD_Response *response)
{
    static const char *const headers[][2] = {
        {"Content-Security-Policy",
         "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src "
         "'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"},
        {"X-Content-Type-Options", "nosniff"},
        {"X-Frame-Options", "DENY"},
        {"Referrer-Policy", "no-referrer"},
        {"Cross-Origin-Resource-Policy", "same-origin"},
        {"Cross-Origin-Opener-Policy", "same-origin"},
        {"Cache-Control", "no-store"}};
    const struct web_library *l = r->h->library;
    for (size_t i = 0; i < sizeof headers / sizeof headers[0]; i++)
        l->add_response_header(response, headers[i][0], headers[i][1]);
    l->add_response_header(response, "Content-Type", type);
    const enum MHD_Result result = l->queue_response(r->connection, status, response);
    l->destroy_response(response);
    return result;
}

/* `name`, `value`: one more header; may be NULL. */
static enum MHD_Result answer_request(const struct web_request *r, unsigned status,
                                      const char *type, const void *data, uint64_t size,
                                      const char *name, const char *value)
{
    const struct web_library *l = r->h->library;
    struct MHD_Response *response =
        l->create_response_from_buffer(size, (void *)data, MHD_RESPMEM_MUST_COPY);
    if (response == NULL) return MHD_NO; /* closes the connection */
    if (name != NULL) l->add_response_header(response, name, value);
    if (status == 401 || status == 403 || status == 421) /* no access: do not keep its place */
        l->add_response_header(response, "Connection", "close");
    return queue_response(r, status, type, response);
}

static enum MHD_Result answer_text(const struct web_request *r, unsigned status, const char *text,
                                   const char *name, const char *value)
{
    return answer_request(r, status, TEXT_TYPE, text, strlen(text), name, value);
}

/* Takes the writer. */
static enum MHD_Result answer_json(const struct web_request *r, unsigned status, struct json *out)
{
    enum MHD_Result result = MHD_NO;
    if (!out->failed)
        result = answer_request(r, status, JSON_TYPE, out->out.data, out->out.size, NULL, NULL);
    json_fini(out);
    return result;
}

static enum MHD_Result answer_error(const struct web_request *r, unsigned status, const char *text)
{
    struct json out = {.failed = false};
    web_api_error(&out, status, text);
    return answer_json(r, status, &out);
}

/* ---- Server-sent events */

struct web_stream {
    struct web_http *h;
    struct web_stream *next;
    struct MHD_Connection *connection;
    char id[32]; /* of the job */
    uint64_t seen, sent_ns;
    char text[128]; /* what is being sent */
    size_t size, at;
    bool suspended, first, ended;
};

static bool is_event_stream_due(const struct web_stream *s, const struct job_model *m)
{
    const uint64_t age = s->h->env->now_ns(s->h->env) - s->sent_ns;
    if (s->h->closing || m == NULL || s->first) return true;
    if (age >= WEB_KEEP_ALIVE_NS) return true;
    return (m->changes != s->seen || !m->live) && age >= WEB_CHANGE_NS;
}

/* The next text to send. */
static void fill_event_stream(struct web_stream *s, const struct job_model *m)
{
    const bool changed = m != NULL && (s->first || m->changes != s->seen);
    s->size = s->at = 0;
    if (changed)
        text_format(s->text, sizeof s->text, "event: change\ndata: {\"lastMs\":%.3f}\n\n",
                    m->last_ms);
    else if (m == NULL || !m->live || s->h->closing)
        text_format(s->text, sizeof s->text, "event: end\ndata: {}\n\n");
    else
        text_format(s->text, sizeof s->text, ": alive\n\n");
    s->ended = !changed && (m == NULL || !m->live || s->h->closing);
    s->size = strlen(s->text);
    s->first = false;
    s->sent_ns = s->h->env->now_ns(s->h->env);
    if (m != NULL) s->seen = m->changes;
}

static ssize_t read_event_stream(void *arg, uint64_t position, char *out, size_t capacity)
{
    struct web_stream *s = arg;
    const struct job_model *m = s->h->jobs.find(s->h->jobs.arg, s->id);
    (void)position;
    if (s->at == s->size && s->ended) return MHD_CONTENT_READER_END_OF_STREAM;
    if (s->at == s->size && is_event_stream_due(s, m)) fill_event_stream(s, m);
    if (s->at == s->size) {
        s->suspended = true;
        s->h->library->suspend_connection(s->connection);
        return 0;
    }
    const size_t size = s->size - s->at < capacity ? s->size - s->at : capacity;
    memcpy(out, s->text + s->at, size);
    s->at += size;
    return (ssize_t)size;
}

static void free_event_stream(void *arg)
{
    struct web_stream *s = arg, **at = &s->h->streams;
    while (*at != s) at = &(*at)->next;
    *at = s->next;
    s->h->stream_count--;
    mem_free(s);
}

static enum MHD_Result answer_event_stream(const struct web_request *r, const char *id)
{
    struct web_http *h = r->h;
    if (h->stream_count == WEB_STREAMS_MAX) return answer_error(r, 503, "too many streams");
    struct web_stream *s = mem_zalloc(sizeof *s);
    if (s == NULL) return MHD_NO;
    *s =
        (struct web_stream){.h = h, .next = h->streams, .connection = r->connection, .first = true};
    text_format(s->id, sizeof s->id, "%s", id);
    h->streams = s;
    h->stream_count++;
    struct MHD_Response *response = h->library->create_response_from_callback(
        MHD_SIZE_UNKNOWN, 1024, read_event_stream, s, free_event_stream);
    if (response == NULL) {
        free_event_stream(s);
        return MHD_NO;
    }
    h->library->add_response_header(response, "X-Accel-Buffering", "no"); /* proxies pass it on */
    return queue_response(r, 200, "text/event-stream", response);
}

/* Wakes the streams that have something to send. Call a few times a second. */
static void web_http_tick(struct web_http *h)
{
    web_connections_end_slow_requests(h, WEB_TIMEOUT_S * SECOND_NS);
    if (h->jobs.step != NULL) h->jobs.step(h->jobs.arg);
    for (struct web_stream *s = h->streams; s != NULL; s = s->next) {
        if (!s->suspended || !is_event_stream_due(s, h->jobs.find(h->jobs.arg, s->id))) continue;
        s->suspended = false;
        h->library->resume_connection(s->connection);
    }
}

/* ---- Routes */

#define APPLICATIONS "/api/v1/applications"

/* `rest`: "", or what follows the list's path: "/ID", "/ID/PART". */
static enum MHD_Result answer_api(struct web_request *r, const char *rest)
{
    struct json out = {.failed = false};
    char id[32];
    if (rest[0] == '\0') {
        json_begin(&out, NULL, '[');
        r->h->jobs.list(r->h->jobs.arg, &out);
        json_end(&out, ']');
        return answer_json(r, 200, &out);
    }
    const size_t size = strcspn(rest + 1, "/");
    if (size >= sizeof id) return answer_error(r, 404, "no such job");
    text_format(id, sizeof id, "%.*s", (int)size, rest + 1);
    const struct job_model *m = r->h->jobs.find(r->h->jobs.arg, id);
    if (m == NULL) return answer_error(r, 404, "no such job");
    const char *part = rest + 1 + size;
    if (strcmp(part, "/events") == 0) return answer_event_stream(r, id);
    if (part[0] == '/') {
        const unsigned status = web_api_part(&out, m, part + 1, request_query_value, r);
        return answer_json(r, status, &out);
    }
    json_begin(&out, NULL, '{');
    web_api_put_application(&out, m, true);
    json_end(&out, '}');
    return answer_json(r, 200, &out);
}

static enum MHD_Result answer_executor_page(const struct web_request *r)
{
    const struct web_jobs *jobs = &r->h->jobs;
    struct json out = {.failed = false};
    if (jobs->executor == NULL) return answer_error(r, 404, "this is the page of a job");
    json_begin(&out, NULL, '{');
    const bool known = jobs->executor(jobs->arg, &out);
    json_end(&out, '}');
    if (known) return answer_json(r, 200, &out);
    json_fini(&out);
    return answer_error(r, 503, "the executor does not respond");
}

static enum MHD_Result answer_metrics(const struct web_request *r)
{
    const struct web_jobs *jobs = &r->h->jobs;
    struct buffer text = {NULL, 0, 0};
    const struct job_model *m = jobs->find(jobs->arg, NULL);
    if (m == NULL && jobs->executor_metrics == NULL) return answer_error(r, 404, "no job");
    enum MHD_Result result;
    if (m != NULL ? web_metrics(&text, m) : jobs->executor_metrics(jobs->arg, &text))
        result = answer_request(r, 200, METRICS_TYPE, text.data, text.size, NULL, NULL);
    else
        result = answer_error(r, 503, "the numbers are not known now");
    buffer_fini(&text);
    return result;
}

/* Sets the cookie, and shows the page by an address without the token. */
static enum MHD_Result answer_login(const struct web_request *r)
{
    char cookie[WEB_TOKEN_MAX + 128], location[64] = "./";
    const char *job = request_query_value((void *)r, "job");
    if (job != NULL && strlen(job) < 33 && strspn(job, "0123456789abcdef") == strlen(job))
        text_format(location, sizeof location, "./?job=%s", job);
    text_format(cookie, sizeof cookie, "%s=%s; HttpOnly; SameSite=Strict; Path=/",
                r->h->access->cookie, r->h->access->token);
    const struct web_library *l = r->h->library;
    struct MHD_Response *response = l->create_response_from_buffer(0, "", MHD_RESPMEM_PERSISTENT);
    if (response == NULL) return MHD_NO;
    l->add_response_header(response, "Set-Cookie", cookie);
    l->add_response_header(response, "Location", location);
    return queue_response(r, 303, TEXT_TYPE, response);
}

static enum MHD_Result answer_by_path(struct web_request *r, bool by_query)
{
    const size_t size = strlen(APPLICATIONS);
    if (strcmp(r->path, "/") == 0 && by_query) return answer_login(r);
    for (const struct web_file *f = web_files; f->path != NULL; f++)
        if (strcmp(f->path, r->path) == 0)
            return answer_request(r, 200, f->type, f->data, f->size, NULL, NULL);
    if (strncmp(r->path, APPLICATIONS, size) == 0 && strchr("/", r->path[size]) != NULL)
        return answer_api(r, r->path + size);
    if (strcmp(r->path, "/api/v1/executor") == 0) return answer_executor_page(r);
    if (strcmp(r->path, "/metrics") == 0) return answer_metrics(r);
    if (strcmp(r->path, "/healthz") == 0) return answer_text(r, 200, "ok\n", NULL, NULL);
    return answer_error(r, 404, "no such resource");
}

static enum MHD_Result on_http_request(void *arg, struct MHD_Connection *connection,
                                       const char *path, const char *method, const char *version,
                                       const char *body, size_t *body_size, void **request)
{
    struct web_request r = {arg, connection, path};
    bool by_query;
    (void)version;
    (void)body;
    (void)body_size;
    static int answered;
    if (strcmp(method, "GET") != 0 && strcmp(method, "HEAD") != 0)
        return answer_text(&r, 405, "only GET and HEAD\n", "Allow", "GET, HEAD");
    if (*request == NULL) { /* an answer to this first call would close the connection */
        *request = &answered;
        web_connections_on_request(r.h, connection);
        return MHD_YES;
    }
    const struct web_credentials c = {
        .host = request_header(&r, "Host"),
        .origin = request_header(&r, "Origin"),
        .authorization = request_header(&r, "Authorization"),
        .cookie =
            r.h->library->lookup_connection_value(connection, MHD_COOKIE_KIND, r.h->access->cookie),
        .query_token = strcmp(path, "/") == 0 ? request_query_value(&r, "token") : NULL};
    switch (web_access_check(r.h->access, &c, &by_query)) {
    case WEB_WRONG_HOST:
        return answer_text(&r, 421, "this is not a name of this server\n", NULL, NULL);
    case WEB_WRONG_ORIGIN:
        return answer_text(&r, 403, "requests of other sites are refused\n", NULL, NULL);
    case WEB_NO_TOKEN:
        return answer_text(&r, 401,
                           "Open the address that glint printed, with its token, or send the token "
                           "as Authorization: Bearer TOKEN\n",
                           "WWW-Authenticate", "Bearer");
    default: return answer_by_path(&r, by_query);
    }
}

/* ---- The daemon */

/* Listens on the address. Returns 0 or an errno: EADDRINUSE, ... */
static int web_http_start(struct web_http *h, const struct sockaddr *address)
{
    const unsigned flags = MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME |
                           (address->sa_family == AF_INET6 ? MHD_USE_IPv6 : 0);
    errno = 0;
    h->daemon = h->library->start_daemon(
        flags, 0, NULL, NULL, on_http_request, h, MHD_OPTION_SOCK_ADDR, address,
        MHD_OPTION_CONNECTION_LIMIT, WEB_CONNECTIONS_MAX, MHD_OPTION_CONNECTION_TIMEOUT,
        WEB_TIMEOUT_S, MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)WEB_REQUEST_BYTES,
        MHD_OPTION_STRICT_FOR_CLIENT, 1, MHD_OPTION_PER_IP_CONNECTION_LIMIT, WEB_PER_ADDRESS_MAX,
        MHD_OPTION_NOTIFY_CONNECTION, web_connections_on_change, h, MHD_OPTION_NOTIFY_COMPLETED,
        web_connections_on_answered, h, MHD_OPTION_END);
    if (h->daemon != NULL) return 0;
    return errno != 0 ? errno : EIO;
}

static void web_http_stop(struct web_http *h)
{
    if (h->daemon == NULL) return;
    h->closing = true;
    for (struct web_stream *s = h->streams; s != NULL; s = s->next) {
        if (s->suspended) h->library->resume_connection(s->connection);
        s->suspended = false;
    }
    for (int i = 0; i < 3; i++) h->library->run(h->daemon); /* sends the ends of the streams */
    h->library->stop_daemon(h->daemon);
    h->daemon = NULL;
    assert(h->streams == NULL);
}

/* ---- Events on their way from the driver's thread to the web server's: the driver appends to a
 * buffer under a lock that is held for moments only, the server takes all of it a few times a
 * second. If the server cannot follow, ends of attempts are dropped and counted; the job never
 * waits.
 *
 * In the buffer each event is a header, then its bytes: a line, or the error and the counters of an
 * attempt. */

#define WEB_FEED_BYTES_MAX (64 * MIB)

struct web_feed {
    pthread_mutex_t lock;
    struct buffer pending, taken;
    uint64_t dropped; /* ends of attempts */
};

struct feed_header {
    struct event_attempt attempt; /* unused for a line */
    uint64_t size;                /* of the bytes that follow */
    uint32_t error_size;          /* the first of them: the attempt's error, as JSON */
    bool is_line;
};

static void feed_append_event(struct web_feed *f, struct feed_header *h, const void *first,
                              const void *second, uint64_t second_size)
{
    h->size = h->error_size + second_size;
    pthread_mutex_lock(&f->lock);
    struct buffer *b = &f->pending;
    /* Lines are few, and the model needs all of them. */
    const bool full = b->size > WEB_FEED_BYTES_MAX && !h->is_line;
    if (!full && buffer_reserve(b, sizeof *h + h->size)) {
        uint8_t *at = b->data + b->size;
        memcpy(at, h, sizeof *h);
        if (first != NULL) memcpy(at + sizeof *h, first, h->error_size);
        if (second_size > 0) memcpy(at + sizeof *h + h->error_size, second, second_size);
        b->size += sizeof *h + h->size;
    } else {
        f->dropped++;
    }
    pthread_mutex_unlock(&f->lock);
}

static void feed_append_line(void *arg, const void *data, uint64_t size)
{
    struct feed_header h = {.is_line = true};
    feed_append_event(arg, &h, NULL, data, size);
}

static void feed_append_attempt(void *arg, const struct event_attempt *a,
                                const struct glint_error *why, struct glint_slice counters)
{
    struct json text = {.failed = false};
    struct feed_header h = {.attempt = *a};
    if (why != NULL) json_error(&text, NULL, why);
    if (!text.failed) h.error_size = (uint32_t)text.out.size;
    feed_append_event(arg, &h, text.out.data, counters.data, counters.size);
    json_fini(&text);
}

static int add_feed_attempt_to_model(struct job_model *m, const struct feed_header *h,
                                     const uint8_t *data, struct glint_error *error)
{
    json_t *why = h->error_size > 0 ? json_loadb((const char *)data, h->error_size, 0, NULL) : NULL;
    struct unpacker u =
        unpack_begin((struct glint_slice){data + h->error_size, h->size - h->error_size});
    struct job_stage *s = job_model_add_attempt(m, &h->attempt, why, error);
    struct counter_entry e;
    int r = 0;
    json_decref(why);
    if (s == NULL) return error->code;
    if (h->attempt.outcome != OUTCOME_DONE) return 0;
    while (r == 0 && u.next < u.count && counter_entry_unpack(&u, &e))
        if (!e.is_accumulator) r = job_stage_add_counter(s, e.name, e.value, error);
    return r;
}

static int web_feed_take(struct web_feed *f, struct job_model *m, struct glint_error *error)
{
    int r = 0;
    pthread_mutex_lock(&f->lock);
    struct buffer taken = f->pending;
    f->pending = f->taken; /* empty; its memory is used again */
    m->attempts_dropped += f->dropped;
    f->dropped = 0;
    pthread_mutex_unlock(&f->lock);
    f->taken = taken;
    for (uint64_t at = 0; at < taken.size && r == 0;) {
        struct feed_header h;
        memcpy(&h, taken.data + at, sizeof h);
        at += sizeof h;
        assert(h.size <= taken.size - at);
        json_t *o = h.is_line ? json_loadb((const char *)taken.data + at, h.size, 0, NULL) : NULL;
        if (h.is_line)
            r = o != NULL ? job_model_add_event(m, o, error) : error_no_memory(error);
        else
            r = add_feed_attempt_to_model(m, &h, taken.data + at, error);
        json_decref(o);
        at += h.size;
    }
    f->taken.size = 0;
    return r;
}

#define TICK_MS       100u
#define TOKEN_BYTES   16u /* 128 random bits */
#define URL_BYTES_MAX 1024u

struct web_server {
    struct web_access access;
    struct web_http http;
    struct web_feed feed;
    struct job_model model; /* of the job whose events come to the sink */
    struct event_sink sink;
    bool live; /* shows that model */
    bool threaded, failed;
    char url[URL_BYTES_MAX];
    uv_loop_t loop;
    uv_poll_t sockets;
    uv_timer_t timeout, tick;
    uv_async_t stop;
    uv_signal_t signals[2];
    pthread_t thread;
};

/* ---- Listening */

static bool is_loopback(const struct sockaddr *address)
{
    if (address->sa_family == AF_INET) {
        const struct sockaddr_in *in = (const void *)address;
        return ntohl(in->sin_addr.s_addr) >> 24 == 127;
    }
    const struct sockaddr_in6 *in6 = (const void *)address;
    return IN6_IS_ADDR_LOOPBACK(&in6->sin6_addr);
}

/* Fills the server's address from the one that it listens on. */
static void set_listening_address(struct web_access *a, const struct sockaddr *address,
                                  uint16_t port)
{
    char text[INET6_ADDRSTRLEN] = "";
    const bool v6 = address->sa_family == AF_INET6;
    const struct sockaddr_in *in = (const void *)address;
    const struct sockaddr_in6 *in6 = (const void *)address;
    inet_ntop(address->sa_family, v6 ? (const void *)&in6->sin6_addr : (const void *)&in->sin_addr,
              text, sizeof text);
    text_format(a->address, sizeof a->address, v6 ? "[%s]" : "%s", text);
    text_format(a->cookie, sizeof a->cookie, "glint-ui-%u", port);
    a->port = port;
}

/* Listens on the first port that is free. */
static int listen_for_browsers(struct web_server *s, const struct web_config *c,
                               struct sockaddr *address, struct glint_error *error)
{
    const unsigned tries = c->port == 0 ? 1 : WEB_PORT_TRIES;
    uint16_t *port = address->sa_family == AF_INET6
                         ? &((struct sockaddr_in6 *)(void *)address)->sin6_port
                         : &((struct sockaddr_in *)(void *)address)->sin_port;
    int why = EADDRINUSE;
    for (unsigned i = 0; i < tries && why == EADDRINUSE && c->port + i <= UINT16_MAX; i++) {
        *port = htons((uint16_t)(c->port + i));
        why = web_http_start(&s->http, address);
    }
    if (why == 0) {
        const uint16_t bound =
            s->http.library->get_daemon_info(s->http.daemon, MHD_DAEMON_INFO_BIND_PORT)->port;
        set_listening_address(&s->access, address, bound);
        return 0;
    }
    return error_set(error, GLINT_E_ADDRESS, "name another one: --ui=HOST:PORT",
                     "--ui cannot listen on %s, ports %u to %u: %s", c->host, c->port,
                     c->port + tries - 1, strerror(why));
}

static int open_web_listener(struct web_server *s, const struct web_config *c,
                             struct glint_error *error)
{
    const struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM};
    struct addrinfo *found;
    int r = getaddrinfo(c->host, NULL, &hints, &found);
    if (r != 0)
        return error_set(error, GLINT_E_ADDRESS, NULL, "--ui %s: %s", c->host, gai_strerror(r));
    s->access.loopback = is_loopback(found->ai_addr);
    if (!s->access.loopback && c->token == NULL)
        r = error_set(error, GLINT_E_ADDRESS, "add --ui-token FILE, and put TLS in front of it",
                      "other hosts can connect to --ui %s, and there is no --ui-token", c->host);
    if (r == 0) r = listen_for_browsers(s, c, found->ai_addr, error);
    freeaddrinfo(found);
    return r;
}

static int choose_token(struct web_server *s, const struct web_config *c, struct glint_error *error)
{
    uint8_t bytes[TOKEN_BYTES];
    if (c->token != NULL) {
        text_format(s->access.token, sizeof s->access.token, "%s", c->token);
        text_format(s->url, sizeof s->url, "http://%s:%u/", s->access.address, s->access.port);
        return 0;
    }
    if (c->env->random(c->env, bytes, sizeof bytes) != 0)
        return error_set(error, GLINT_E_SYSTEM, NULL, "cannot get random numbers");
    for (size_t i = 0; i < sizeof bytes; i++)
        text_format(s->access.token + 2 * i, 3, "%02x", bytes[i]);
    text_format(s->url, sizeof s->url, "http://%s:%u/?token=%s", s->access.address, s->access.port,
                s->access.token);
    return 0;
}

/* ---- The running job */

static void list_live_job(void *arg, struct json *out)
{
    const struct web_server *s = arg;
    if (s->model.job == NULL) return;
    json_begin(out, NULL, '{');
    web_api_put_application(out, &s->model, false);
    json_end(out, '}');
}

static const struct job_model *find_live_job(void *arg, const char *id)
{
    const struct web_server *s = arg;
    const char *own = json_string_value(json_object_get(s->model.job, "id"));
    if (own == NULL || (id != NULL && strcmp(id, own) != 0)) return NULL;
    return &s->model;
}

/* ---- The loop */

static void run_http_and_set_timeout(struct web_server *s);

static void on_http_socket_ready(uv_poll_t *handle, int status, int events)
{
    (void)status;
    (void)events;
    run_http_and_set_timeout(handle->data);
}

static void on_web_timeout(uv_timer_t *handle)
{
    run_http_and_set_timeout(handle->data);
}

static void run_http_and_set_timeout(struct web_server *s)
{
    MHD_UNSIGNED_LONG_LONG ms;
    s->http.library->run(s->http.daemon);
    if (s->http.library->get_timeout(s->http.daemon, &ms) == MHD_YES)
        uv_timer_start(&s->timeout, on_web_timeout, ms > 0 ? ms : 1, 0);
    else
        uv_timer_stop(&s->timeout);
}

static void apply_feed_events(struct web_server *s)
{
    struct glint_error error = {.code = GLINT_OK};
    if (!s->live || s->failed) return;
    /* Out of memory: the page stays as it is, and the job goes on. */
    s->failed = web_feed_take(&s->feed, &s->model, &error) != 0;
}

static void on_web_tick(uv_timer_t *handle)
{
    struct web_server *s = handle->data;
    apply_feed_events(s);
    web_http_tick(&s->http);
    run_http_and_set_timeout(s);
}

static void close_web_handle(uv_handle_t *handle, void *arg)
{
    (void)arg;
    if (!uv_is_closing(handle)) uv_close(handle, NULL);
}

static void end_web_loop(struct web_server *s)
{
    apply_feed_events(s);
    uv_poll_stop(&s->sockets);
    web_http_stop(&s->http);
    uv_walk(&s->loop, close_web_handle, NULL);
}

static void on_web_stop(uv_async_t *handle)
{
    end_web_loop(handle->data);
}

static void on_web_signal(uv_signal_t *handle, int number)
{
    (void)number;
    end_web_loop(handle->data);
}

static void *web_thread_main(void *arg)
{
    struct web_server *s = arg;
    uv_run(&s->loop, UV_RUN_DEFAULT);
    return NULL;
}

static void watch_web_signals(struct web_server *s)
{
    static const int numbers[] = {SIGINT, SIGTERM};
    for (int i = 0; i < 2; i++) {
        uv_signal_init(&s->loop, &s->signals[i]);
        s->signals[i].data = s;
        uv_signal_start(&s->signals[i], on_web_signal, numbers[i]);
    }
}

static void start_web_handles(struct web_server *s)
{
    uv_timer_init(&s->loop, &s->timeout);
    uv_timer_init(&s->loop, &s->tick);
    int r = uv_poll_init(
        &s->loop, &s->sockets,
        s->http.library->get_daemon_info(s->http.daemon, MHD_DAEMON_INFO_EPOLL_FD)->epoll_fd);
    if (r == 0) r = uv_async_init(&s->loop, &s->stop, on_web_stop);
    assert(r == 0); /* their descriptors exist */
    s->timeout.data = s->tick.data = s->sockets.data = s->stop.data = s;
    uv_poll_start(&s->sockets, UV_READABLE, on_http_socket_ready);
    uv_timer_start(&s->tick, on_web_tick, TICK_MS, TICK_MS);
    if (s->http.jobs.executor == NULL && !s->live) watch_web_signals(s);
}

/* ---- Start and end */

struct web_server *web_server_open(const struct web_config *config, struct glint_error *error)
{
    struct web_server *s = mem_zalloc(sizeof *s);
    if (s == NULL) {
        error_no_memory(error);
        return NULL;
    }
    json_set_alloc_funcs(mem_alloc, mem_free);
    s->live = config->jobs.find == NULL;
    s->http = (struct web_http){.env = config->env, .access = &s->access, .jobs = config->jobs};
    if (s->live)
        s->http.jobs = (struct web_jobs){.arg = s, .list = list_live_job, .find = find_live_job};
    s->http.library = web_library_load(error);
    int r = s->http.library != NULL ? 0 : error->code;
    if (r == 0) r = open_web_listener(s, config, error);
    if (r == 0) r = choose_token(s, config, error);
    if (r == 0) r = event_loop_init(&s->loop, config->env, error);
    if (r != 0) {
        web_http_stop(&s->http);
        mem_free(s);
        return NULL;
    }
    pthread_mutex_init(&s->feed.lock, NULL);
    job_model_init(&s->model);
    s->model.live = true;
    s->sink = (struct event_sink){
        .arg = &s->feed, .line = feed_append_line, .attempt = feed_append_attempt};
    start_web_handles(s);
    return s;
}

const char *web_server_url(const struct web_server *s)
{
    return s->url;
}

const struct event_sink *web_server_sink(struct web_server *s)
{
    return &s->sink;
}

int web_server_start(struct web_server *s, struct glint_error *error)
{
    const int r = thread_start(&s->thread, web_thread_main, s, error);
    s->threaded = r == 0;
    return r;
}

void web_server_run(struct web_server *s)
{
    assert(!s->live);
    uv_run(&s->loop, UV_RUN_DEFAULT);
}

void web_server_close(struct web_server *s)
{
    if (s == NULL) return;
    if (s->threaded) {
        uv_async_send(&s->stop);
        pthread_join(s->thread, NULL);
    } else if (uv_loop_alive(&s->loop)) {
        end_web_loop(s);
        uv_run(&s->loop, UV_RUN_DEFAULT);
    }
    const int failed = uv_loop_close(&s->loop);
    assert(failed == 0);
    pthread_mutex_destroy(&s->feed.lock);
    buffer_fini(&s->feed.pending);
    buffer_fini(&s->feed.taken);
    job_model_fini(&s->model);
    mem_free(s);
}
