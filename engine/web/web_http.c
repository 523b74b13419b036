/* The loop wakes for the sockets of libmicrohttpd and for its timeouts. A request without a body is
 * answered when its headers are there; a client that does not read holds its connection's buffer
 * only, until it times out. A body is kept only of a client with the token. */
#include "engine/web/web_http.h"

#include "engine/base/mem.h"
#include "engine/base/shared_library.h"
#include "engine/base/text.h"
#include "engine/limits.h"
#include "engine/web/web_api.h"

#include <arpa/inet.h>
#include <assert.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>

#define WEB_CONNECTIONS_MAX 64u
#define WEB_PER_ADDRESS_MAX 32u        /* of them from one address */
#define WEB_REQUEST_BYTES   (16 * KIB) /* memory of a connection: line and headers of a request */
#define WEB_TIMEOUT_S       15u        /* without progress of a connection; for a whole request */
#define WEB_BODY_TIMEOUT_S  60u        /* for a whole request with a body */
#define WEB_BODIES_MAX      4u         /* of the largest size, of all connections */
#define WEB_RUNS_MAX        64u        /* before the loop does other work */
#define TOKEN_BYTES         16u        /* 128 random bits */
#define URL_BYTES_MAX       1024u
#define TLS_VERSIONS        "NORMAL:-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2"

struct web_http {
    struct web_http_config config;
    const struct web_library *library;
    struct MHD_Daemon *daemon;
    struct web_access access;
    struct web_connection *first; /* of all */
    uint64_t body_bytes;          /* of all requests */
    char url[URL_BYTES_MAX];
    uv_poll_t sockets;
    uv_timer_t timeout;
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
    bool receiving, body;
};

static uint64_t now_ns(const struct web_http *h)
{
    return h->config.env->now_ns(h->config.env);
}

/* MHD_OPTION_NOTIFY_CONNECTION; `http` is a struct web_http. */
static void web_connections_on_opened_or_closed(void *http, struct MHD_Connection *connection,
                                                void **context,
                                                enum MHD_ConnectionNotificationCode change)
{
    struct web_http *c = http;
    if (change == MHD_CONNECTION_NOTIFY_STARTED) {
        struct web_connection *new = mem_zalloc(sizeof *new);
        *context = new;
        if (new == NULL) return; /* it has the library's own timeout only */
        *new = (struct web_connection){
            .next = c->first, .connection = connection, .since_ns = now_ns(c), .receiving = true};
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

static void free_upload(struct web_http *h, void **request);

/* MHD_OPTION_NOTIFY_COMPLETED: the answer was sent, and the next request may come. */
static void web_connections_on_request_completed(void *http, struct MHD_Connection *connection,
                                                 void **request,
                                                 enum MHD_RequestTerminationCode code)
{
    struct web_http *c = http;
    struct web_connection *found = find_connection(c, connection);
    (void)code;
    free_upload(c, request);
    if (found == NULL) return;
    found->receiving = true;
    found->body = false;
    found->since_ns = now_ns(c);
}

/* The headers of a request are complete. */
static void web_connections_on_request(struct web_http *c, struct MHD_Connection *connection,
                                       bool body)
{
    struct web_connection *found = find_connection(c, connection);
    if (found == NULL) return;
    found->body = body;
    found->receiving = body;
}

/* Ends those that have been sending a request for too long. */
static void web_connections_end_slow_requests(struct web_http *c)
{
    const uint64_t now = now_ns(c);
    for (struct web_connection *s = c->first; s != NULL; s = s->next) {
        const uint64_t longest_s = s->body ? WEB_BODY_TIMEOUT_S : WEB_TIMEOUT_S;
        if (!s->receiving || now - s->since_ns < longest_s * SECOND_NS) continue;
        const union MHD_ConnectionInfo *info =
            c->library->get_connection_info(s->connection, MHD_CONNECTION_INFO_CONNECTION_FD);
        if (info != NULL) shutdown(info->connect_fd, SHUT_RDWR);
        s->since_ns = now;
    }
}

/* ---- Requests and answers */

const char *web_request_header(const struct web_request *r, const char *name)
{
    return r->library->lookup_connection_value(r->connection, MHD_HEADER_KIND, name);
}

const char *web_request_query(void *arg, const char *name)
{
    const struct web_request *r = arg;
    return r->library->lookup_connection_value(r->connection, MHD_GET_ARGUMENT_KIND, name);
}

bool web_request_query_bytes(const struct web_request *r, const char *name, const char **out,
                             size_t *out_size)
{
    if (r->library->lookup_connection_value_n(r->connection, MHD_GET_ARGUMENT_KIND, name,
                                              strlen(name), out, out_size) != MHD_YES)
        return false;
    if (*out != NULL) return true;
    *out = "";
    *out_size = 0;
    return true;
}

enum MHD_Result web_answer_response(const struct web_request *r, unsigned status, const char *type,
                                    struct MHD_Response *response)
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
    const struct web_library *l = r->library;
    for (size_t i = 0; i < sizeof headers / sizeof headers[0]; i++)
        l->add_response_header(response, headers[i][0], headers[i][1]);
    l->add_response_header(response, "Content-Type", type);
    const enum MHD_Result result = l->queue_response(r->connection, status, response);
    l->destroy_response(response);
    return result;
}

enum MHD_Result web_answer(const struct web_request *r, unsigned status, const char *type,
                           const void *data, uint64_t size, const char *name, const char *value)
{
    const struct web_library *l = r->library;
    struct MHD_Response *response =
        l->create_response_from_buffer(size, (void *)data, MHD_RESPMEM_MUST_COPY);
    if (response == NULL) return MHD_NO; /* closes the connection */
    if (name != NULL) l->add_response_header(response, name, value);
    if (status == 401 || status == 403 || status == 421) /* no access: do not keep its place */
        l->add_response_header(response, "Connection", "close");
    return web_answer_response(r, status, type, response);
}

enum MHD_Result web_answer_text(const struct web_request *r, unsigned status, const char *text,
                                const char *name, const char *value)
{
    return web_answer(r, status, WEB_TEXT_TYPE, text, strlen(text), name, value);
}

enum MHD_Result web_answer_json(const struct web_request *r, unsigned status, struct json *out)
{
    enum MHD_Result result = MHD_NO;
    if (!out->failed)
        result = web_answer(r, status, WEB_JSON_TYPE, out->out.data, out->out.size, NULL, NULL);
    json_fini(out);
    return result;
}

enum MHD_Result web_answer_error(const struct web_request *r, unsigned status, const char *text)
{
    struct json out = {.failed = false};
    web_api_error(&out, status, text);
    return web_answer_json(r, status, &out);
}

/* ---- Bodies */

/* A request whose body is being received. */
struct web_upload {
    struct buffer body;
    unsigned status; /* other than 0: it will be refused */
};

static struct web_upload no_upload; /* of a request without a body */

static void free_upload(struct web_http *h, void **request)
{
    struct web_upload *u = *request;
    *request = NULL;
    if (u == NULL || u == &no_upload) return;
    assert(h->body_bytes >= u->body.capacity);
    h->body_bytes -= u->body.capacity;
    buffer_fini(&u->body);
    mem_free(u);
}

static void refuse_upload(struct web_http *h, struct web_upload *u, unsigned status)
{
    u->status = status;
    h->body_bytes -= u->body.capacity;
    buffer_fini(&u->body);
}

/* What follows a refused part is read and dropped: an answer before the end of a body is lost on
 * clients that only send. */
static void receive_upload_body(struct web_http *h, struct web_upload *u, const void *data,
                                size_t size)
{
    const uint64_t most = h->config.body_bytes_max, before = u->body.capacity;
    if (u->status != 0) return;
    if (size > most - u->body.size) {
        refuse_upload(h, u, 413);
    } else if (!buffer_append(&u->body, data, size)) {
        refuse_upload(h, u, 503);
    } else {
        h->body_bytes += u->body.capacity - before;
        if (h->body_bytes > WEB_BODIES_MAX * most) refuse_upload(h, u, 503);
    }
}

static enum MHD_Result answer_refused_upload(const struct web_request *r, unsigned status)
{
    char text[96];
    text_format(text, sizeof text, "a body has at most %llu bytes",
                (unsigned long long)r->http->config.body_bytes_max);
    return web_answer_error(r, status, status == 413 ? text : "too many requests at a time");
}

/* Its headers are there. A client without the token sends no body. */
static enum MHD_Result begin_upload(struct web_request *r, void **request)
{
    struct web_http *h = r->http;
    const char *length = web_request_header(r, "Content-Length");
    int64_t bytes = 0;
    const bool large = length != NULL &&
                       text_parse_i64((const uint8_t *)length, strlen(length), &bytes) &&
                       bytes > (int64_t)h->config.body_bytes_max;
    if (large && web_request_header(r, "Expect") != NULL) return answer_refused_upload(r, 413);
    struct web_upload *u = mem_zalloc(sizeof *u);
    if (u == NULL) return MHD_NO;
    if (large) u->status = 413;
    *request = u;
    web_connections_on_request(h, r->connection, true);
    return MHD_YES;
}

/* ---- Access */

/* Answers a request that is not allowed. Returns false if it is. */
static bool refuse_request(struct web_request *r, enum MHD_Result *out)
{
    const struct web_access *a = &r->http->access;
    const struct web_credentials c = {
        .host = web_request_header(r, "Host"),
        .origin = web_request_header(r, "Origin"),
        .authorization = web_request_header(r, "Authorization"),
        .cookie = r->library->lookup_connection_value(r->connection, MHD_COOKIE_KIND, a->cookie),
        .query_token = strcmp(r->path, "/") == 0 ? web_request_query(r, "token") : NULL};
    switch (web_access_check(a, &c, &r->by_query)) {
    case WEB_WRONG_HOST:
        *out = web_answer_text(r, 421, "this is not a name of this server\n", NULL, NULL);
        return true;
    case WEB_WRONG_ORIGIN:
        *out = web_answer_text(r, 403, "requests of other sites are refused\n", NULL, NULL);
        return true;
    case WEB_NO_TOKEN:
        *out = web_answer_text(r, 401,
                               "Open the address that glint printed, with its token, or send the "
                               "token as Authorization: Bearer TOKEN\n",
                               "WWW-Authenticate", "Bearer");
        return true;
    default: return false;
    }
}

static enum MHD_Result on_http_request(void *arg, struct MHD_Connection *connection,
                                       const char *path, const char *method, const char *version,
                                       const char *body, size_t *body_size, void **request)
{
    struct web_http *h = arg;
    const bool posts = h->config.body_bytes_max > 0;
    struct web_request r = {.http = h,
                            .library = h->library,
                            .connection = connection,
                            .path = path,
                            .post = posts && strcmp(method, "POST") == 0};
    enum MHD_Result refused;
    (void)version;
    if (!r.post && strcmp(method, "GET") != 0 && strcmp(method, "HEAD") != 0)
        return web_answer_text(&r, 405, posts ? "only GET, HEAD and POST\n" : "only GET and HEAD\n",
                               "Allow", posts ? "GET, HEAD, POST" : "GET, HEAD");
    if (*request == NULL && r.post)
        return refuse_request(&r, &refused) ? refused : begin_upload(&r, request);
    if (*request == NULL) { /* an answer to this first call would close the connection */
        *request = &no_upload;
        web_connections_on_request(h, connection, false);
        return MHD_YES;
    }
    struct web_upload *u = *request;
    if (r.post && *body_size > 0) {
        receive_upload_body(h, u, body, *body_size);
        *body_size = 0;
        return MHD_YES;
    }
    if (refuse_request(&r, &refused)) return refused;
    if (u->status != 0) return answer_refused_upload(&r, u->status);
    r.body = u->body;
    return h->config.answer(h->config.arg, &r);
}

/* ---- Listening */

/* Listens on the address. Returns 0 or an errno: EADDRINUSE, ... */
static int start_http_daemon(struct web_http *h, const struct sockaddr *address)
{
    const bool tls = h->config.certificate != NULL;
    const unsigned flags = MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME | (tls ? MHD_USE_TLS : 0) |
                           (address->sa_family == AF_INET6 ? MHD_USE_IPv6 : 0);
    const struct MHD_OptionItem files[] = {
        {MHD_OPTION_HTTPS_MEM_CERT, 0, (void *)h->config.certificate},
        {MHD_OPTION_HTTPS_MEM_KEY, 0, (void *)h->config.key},
        {MHD_OPTION_HTTPS_PRIORITIES, 0, (void *)TLS_VERSIONS},
        {MHD_OPTION_END, 0, NULL}};
    errno = 0;
    h->daemon = h->library->start_daemon(
        flags, 0, NULL, NULL, on_http_request, h, MHD_OPTION_SOCK_ADDR, address,
        MHD_OPTION_CONNECTION_LIMIT, WEB_CONNECTIONS_MAX, MHD_OPTION_CONNECTION_TIMEOUT,
        WEB_TIMEOUT_S, MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)WEB_REQUEST_BYTES,
        MHD_OPTION_STRICT_FOR_CLIENT, 1, MHD_OPTION_PER_IP_CONNECTION_LIMIT, WEB_PER_ADDRESS_MAX,
        MHD_OPTION_NOTIFY_CONNECTION, web_connections_on_opened_or_closed, h,
        MHD_OPTION_NOTIFY_COMPLETED, web_connections_on_request_completed, h, MHD_OPTION_ARRAY,
        tls ? files : files + 3, MHD_OPTION_END);
    if (h->daemon != NULL) return 0;
    return errno != 0 ? errno : EIO;
}

static bool is_loopback_address(const struct sockaddr *address)
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
static int listen_on_free_port(struct web_http *h, struct sockaddr *address,
                               struct glint_error *error)
{
    const struct web_http_config *c = &h->config;
    uint16_t *port = address->sa_family == AF_INET6
                         ? &((struct sockaddr_in6 *)(void *)address)->sin6_port
                         : &((struct sockaddr_in *)(void *)address)->sin_port;
    int why = EADDRINUSE;
    for (unsigned i = 0; i < c->tries && why == EADDRINUSE && c->port + i <= UINT16_MAX; i++) {
        *port = htons((uint16_t)(c->port + i));
        why = start_http_daemon(h, address);
    }
    if (why == 0) {
        const uint16_t bound =
            h->library->get_daemon_info(h->daemon, MHD_DAEMON_INFO_BIND_PORT)->port;
        set_listening_address(&h->access, address, bound);
        return 0;
    }
    char hint[64];
    text_format(hint, sizeof hint, "name another one: %s=HOST:PORT", c->option);
    return error_set(error, GLINT_E_ADDRESS, hint, "%s cannot listen on %s, ports %u to %u: %s",
                     c->option, c->host, c->port, c->port + c->tries - 1, strerror(why));
}

static int open_http_listener(struct web_http *h, struct glint_error *error)
{
    const struct web_http_config *c = &h->config;
    const struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM};
    struct addrinfo *found;
    int r = getaddrinfo(c->host, NULL, &hints, &found);
    if (r != 0)
        return error_set(error, GLINT_E_ADDRESS, NULL, "%s %s: %s", c->option, c->host,
                         gai_strerror(r));
    h->access.loopback = is_loopback_address(found->ai_addr);
    if (!h->access.loopback && c->token == NULL)
        r = error_set(error, GLINT_E_ADDRESS, "add --ui-token FILE, and put TLS in front of it",
                      "other hosts can connect to %s %s, and there is no token", c->option,
                      c->host);
    if (r == 0 && c->certificate != NULL &&
        h->library->is_feature_supported(MHD_FEATURE_SSL) != MHD_YES)
        r = error_set(error, GLINT_E_WEB_LIBRARY, "put a proxy with TLS in front of it",
                      "this libmicrohttpd was built without TLS");
    if (r == 0) r = listen_on_free_port(h, found->ai_addr, error);
    freeaddrinfo(found);
    return r;
}

static int set_token_and_url(struct web_http *h, struct glint_error *error)
{
    const struct web_http_config *c = &h->config;
    struct web_access *a = &h->access;
    uint8_t bytes[TOKEN_BYTES];
    const char *scheme = c->certificate != NULL ? "https" : "http";
    if (c->token != NULL) {
        text_format(a->token, sizeof a->token, "%s", c->token);
        text_format(h->url, sizeof h->url, "%s://%s:%u/", scheme, a->address, a->port);
        return 0;
    }
    if (c->env->random(c->env, bytes, sizeof bytes) != 0)
        return error_set(error, GLINT_E_SYSTEM, NULL, "cannot get random numbers");
    text_format_hex(a->token, bytes, sizeof bytes);
    text_format(h->url, sizeof h->url, "%s://%s:%u/?token=%s", scheme, a->address, a->port,
                a->token);
    return 0;
}

/* ---- The loop */

static void run_http_daemon_and_set_timeout(struct web_http *h);

static void on_http_socket_ready(uv_poll_t *handle, int status, int events)
{
    (void)status;
    (void)events;
    run_http_daemon_and_set_timeout(handle->data);
}

static void on_http_timeout(uv_timer_t *handle)
{
    run_http_daemon_and_set_timeout(handle->data);
}

static void run_http_daemon_and_set_timeout(struct web_http *h)
{
    MHD_UNSIGNED_LONG_LONG ms = 0;
    enum MHD_Result has_timeout = MHD_YES;
    /* 0 ms: it has more at once, such as the next part of a body. */
    for (unsigned i = 0; i < WEB_RUNS_MAX && has_timeout == MHD_YES && ms == 0; i++) {
        h->library->run(h->daemon);
        has_timeout = h->library->get_timeout(h->daemon, &ms);
    }
    if (has_timeout == MHD_YES)
        uv_timer_start(&h->timeout, on_http_timeout, ms > 0 ? ms : 1, 0);
    else
        uv_timer_stop(&h->timeout);
}

void web_http_tick(struct web_http *h)
{
    web_connections_end_slow_requests(h);
    run_http_daemon_and_set_timeout(h);
}

struct web_http *web_http_open(const struct web_http_config *config, struct glint_error *error)
{
    struct web_http *h = mem_zalloc_or_fail(sizeof *h, error);
    if (h == NULL) return NULL;
    assert((config->certificate == NULL) == (config->key == NULL) && config->tries > 0);
    h->config = *config;
    h->library = web_library_load(error);
    int r = h->library != NULL ? 0 : error->code;
    if (r == 0) r = open_http_listener(h, error);
    if (r == 0) r = set_token_and_url(h, error);
    if (r != 0) {
        if (h->daemon != NULL) h->library->stop_daemon(h->daemon);
        mem_free(h);
        return NULL;
    }
    h->config.certificate = h->config.key = h->config.token = NULL; /* borrowed until now */
    uv_timer_init(config->loop, &h->timeout);
    r = uv_poll_init(config->loop, &h->sockets,
                     h->library->get_daemon_info(h->daemon, MHD_DAEMON_INFO_EPOLL_FD)->epoll_fd);
    assert(r == 0); /* its descriptor exists */
    h->timeout.data = h->sockets.data = h;
    uv_poll_start(&h->sockets, UV_READABLE, on_http_socket_ready);
    return h;
}

void web_http_stop(struct web_http *h)
{
    uv_poll_stop(&h->sockets);
    for (int i = 0; i < 3; i++) h->library->run(h->daemon); /* sends what is ready */
    h->library->stop_daemon(h->daemon);
    h->daemon = NULL;
    uv_close((uv_handle_t *)&h->sockets, NULL);
    uv_close((uv_handle_t *)&h->timeout, NULL);
    assert(h->body_bytes == 0);
}

void web_http_free(struct web_http *h)
{
    if (h == NULL) return;
    assert(h->daemon == NULL);
    explicit_bzero(&h->access, sizeof h->access);
    mem_free(h);
}

const struct web_access *web_http_access(const struct web_http *h)
{
    return &h->access;
}

const char *web_http_url(const struct web_http *h)
{
    return h->url;
}
