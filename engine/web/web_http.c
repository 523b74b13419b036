/* A request is answered when its headers are there; a body is not read. Streams of events are
 * suspended while they have nothing to send; a client that does not read holds its connection's
 * buffer only, until it times out. */
#include "engine/web/web_http.h"

#include "engine/base/mem.h"
#include "engine/base/shared_library.h"
#include "engine/base/text.h"
#include "engine/web/web_api.h"
#include "engine/web/web_page.h"

#include <assert.h>
#include <errno.h>
#include <string.h>
#include <sys/socket.h>

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

/* A list of all connections. One that is too slow is shut down, which libmicrohttpd sees as its
 * end. */

struct web_connection {
    struct web_connection *next;
    struct MHD_Connection *connection;
    uint64_t since_ns; /* since when it may send the request */
    bool receiving;
};

/* MHD_OPTION_NOTIFY_CONNECTION; `connections` is a struct web_connections. */
static void web_connections_on_change(void *connections, struct MHD_Connection *connection,
                                      void **context, enum MHD_ConnectionNotificationCode change)
{
    struct web_connections *c = connections;
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

static struct web_connection *find_connection(const struct web_connections *c,
                                              struct MHD_Connection *connection)
{
    const union MHD_ConnectionInfo *info =
        c->library->get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    return info != NULL ? info->socket_context : NULL;
}

/* MHD_OPTION_NOTIFY_COMPLETED: the answer was sent, and the next request may come. */
static void web_connections_on_answered(void *connections, struct MHD_Connection *connection,
                                        void **request, enum MHD_RequestTerminationCode code)
{
    const struct web_connections *c = connections;
    struct web_connection *found = find_connection(c, connection);
    (void)request, (void)code;
    if (found == NULL) return;
    found->receiving = true;
    found->since_ns = c->env->now_ns(c->env);
}

/* The headers of a request are complete. */
static void web_connections_on_request(struct web_connections *c, struct MHD_Connection *connection)
{
    struct web_connection *found = find_connection(c, connection);
    if (found != NULL) found->receiving = false;
}

/* Ends those that have been sending a request for longer. Call it now and then. */
static void web_connections_end_slow_requests(struct web_connections *c, uint64_t longest_ns)
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

static void add_headers(const struct web_http *h, struct MHD_Response *response, const char *type)
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
    for (size_t i = 0; i < sizeof headers / sizeof headers[0]; i++)
        h->library->add_response_header(response, headers[i][0], headers[i][1]);
    h->library->add_response_header(response, "Content-Type", type);
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
    add_headers(r->h, response, type);
    if (name != NULL) l->add_response_header(response, name, value);
    if (status == 401 || status == 403 || status == 421) /* no access: do not keep its place */
        l->add_response_header(response, "Connection", "close");
    const enum MHD_Result result = l->queue_response(r->connection, status, response);
    l->destroy_response(response);
    return result;
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
    add_headers(h, response, "text/event-stream");
    h->library->add_response_header(response, "X-Accel-Buffering", "no"); /* proxies pass it on */
    const enum MHD_Result result = h->library->queue_response(r->connection, 200, response);
    h->library->destroy_response(response);
    return result;
}

void web_http_tick(struct web_http *h)
{
    web_connections_end_slow_requests(&h->connections, WEB_TIMEOUT_S * SECOND_NS);
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
    add_headers(r->h, response, TEXT_TYPE);
    l->add_response_header(response, "Set-Cookie", cookie);
    l->add_response_header(response, "Location", location);
    const enum MHD_Result result = l->queue_response(r->connection, 303, response);
    l->destroy_response(response);
    return result;
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
        web_connections_on_request(&r.h->connections, connection);
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

int web_http_start(struct web_http *h, const struct sockaddr *address)
{
    const unsigned flags = MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME |
                           (address->sa_family == AF_INET6 ? MHD_USE_IPv6 : 0);
    errno = 0;
    h->connections = (struct web_connections){.env = h->env, .library = h->library};
    h->daemon = h->library->start_daemon(
        flags, 0, NULL, NULL, on_http_request, h, MHD_OPTION_SOCK_ADDR, address,
        MHD_OPTION_CONNECTION_LIMIT, WEB_CONNECTIONS_MAX, MHD_OPTION_CONNECTION_TIMEOUT,
        WEB_TIMEOUT_S, MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)WEB_REQUEST_BYTES,
        MHD_OPTION_STRICT_FOR_CLIENT, 1, MHD_OPTION_PER_IP_CONNECTION_LIMIT, WEB_PER_ADDRESS_MAX,
        MHD_OPTION_NOTIFY_CONNECTION, web_connections_on_change, &h->connections,
        MHD_OPTION_NOTIFY_COMPLETED, web_connections_on_answered, &h->connections, MHD_OPTION_END);
    if (h->daemon != NULL) return 0;
    return errno != 0 ? errno : EIO;
}

uint16_t web_http_port(const struct web_http *h)
{
    return h->library->get_daemon_info(h->daemon, MHD_DAEMON_INFO_BIND_PORT)->port;
}

int web_http_epoll(const struct web_http *h)
{
    return h->library->get_daemon_info(h->daemon, MHD_DAEMON_INFO_EPOLL_FD)->epoll_fd;
}

int64_t web_http_run(struct web_http *h)
{
    MHD_UNSIGNED_LONG_LONG ms;
    h->library->run(h->daemon);
    return h->library->get_timeout(h->daemon, &ms) == MHD_YES ? (int64_t)ms : -1;
}

void web_http_stop(struct web_http *h)
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
