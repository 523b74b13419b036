/* The loop wakes for the sockets of libmicrohttpd, for its timeouts, and every TICK_MS for new
 * events while a job runs. */
#include "engine/web/web_server.h"

#include "engine/base/json.h"
#include "engine/base/text.h"
#include "engine/base/thread.h"
#include "engine/events/event_log.h"
#include "engine/events/job_model.h"
#include "engine/net/net_init.h"
#include "engine/records/task.h"
#include "engine/web/web_api.h"

#include <arpa/inet.h>
#include <assert.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <pthread.h>
#include <string.h>
#include <sys/socket.h>

/* Events on their way from the driver's thread to the web server's: the driver appends to a buffer
 * under a lock that is held for moments only, the server takes all of it a few times a second. If
 * the server cannot follow, ends of attempts are dropped and counted; the job never waits.
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

static void web_feed_init(struct web_feed *f)
{
    *f = (struct web_feed){.dropped = 0};
    pthread_mutex_init(&f->lock, NULL);
}

static void web_feed_fini(struct web_feed *f)
{
    pthread_mutex_destroy(&f->lock);
    buffer_fini(&f->pending);
    buffer_fini(&f->taken);
}

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

static struct event_sink web_feed_sink(struct web_feed *f)
{
    return (struct event_sink){.arg = f, .line = feed_append_line, .attempt = feed_append_attempt};
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
        set_listening_address(&s->access, address, web_http_port(&s->http));
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
    const int64_t ms = web_http_run(&s->http);
    if (ms < 0)
        uv_timer_stop(&s->timeout);
    else
        uv_timer_start(&s->timeout, on_web_timeout, ms > 0 ? (uint64_t)ms : 1, 0);
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
    int r = uv_poll_init(&s->loop, &s->sockets, web_http_epoll(&s->http));
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
    web_feed_init(&s->feed);
    job_model_init(&s->model);
    s->model.live = true;
    s->sink = web_feed_sink(&s->feed);
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
    web_feed_fini(&s->feed);
    job_model_fini(&s->model);
    mem_free(s);
}
