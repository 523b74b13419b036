/* The page, its API and metrics. The loop wakes every TICK_MS for new events while a job runs.
 * Streams of events are suspended while they have nothing to send. */
#include "engine/web/web_server.h"

#include "engine/base/mem.h"
#include "engine/base/text.h"
#include "engine/base/thread.h"
#include "engine/net/net_init.h"
#include "engine/records/task.h"
#include "engine/web/web_api.h"
#include "engine/web/web_http.h"
#include "engine/web/web_page.h"

#include <assert.h>
#include <pthread.h>
#include <string.h>

#define WEB_STREAMS_MAX   16u /* connections with server-sent events */
#define WEB_CHANGE_NS     (500 * MS_NS)
#define WEB_KEEP_ALIVE_NS (10 * SECOND_NS)

/* What requests are answered from. */
struct web_pages {
    struct env *env;
    const struct web_library *library;
    struct web_http *http;
    struct web_jobs jobs;
    struct web_stream *streams;
    uint32_t stream_count;
    bool closing; /* streams end */
};

/* ---- Server-sent events */

struct web_stream {
    struct web_pages *h;
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

static enum MHD_Result answer_event_stream(struct web_pages *h, const struct web_request *r,
                                           const char *id)
{
    if (h->stream_count == WEB_STREAMS_MAX) return web_answer_error(r, 503, "too many streams");
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
    return web_answer_response(r, 200, "text/event-stream", response);
}

/* Wakes the streams that have something to send. Call a few times a second. */
static void web_pages_tick(struct web_pages *h)
{
    if (h->jobs.step != NULL) h->jobs.step(h->jobs.arg);
    for (struct web_stream *s = h->streams; s != NULL; s = s->next) {
        if (!s->suspended || !is_event_stream_due(s, h->jobs.find(h->jobs.arg, s->id))) continue;
        s->suspended = false;
        h->library->resume_connection(s->connection);
    }
}

/* Their clients get the ends. */
static void end_event_streams(struct web_pages *h)
{
    h->closing = true;
    for (struct web_stream *s = h->streams; s != NULL; s = s->next) {
        if (s->suspended) h->library->resume_connection(s->connection);
        s->suspended = false;
    }
}

/* ---- Routes */

#define APPLICATIONS "/api/v1/applications"

/* `rest`: "", or what follows the list's path: "/ID", "/ID/PART". */
static enum MHD_Result answer_api(struct web_pages *h, const struct web_request *r,
                                  const char *rest)
{
    struct json out = {.failed = false};
    char id[32];
    if (rest[0] == '\0') {
        json_begin(&out, NULL, '[');
        h->jobs.list(h->jobs.arg, &out);
        json_end(&out, ']');
        return web_answer_json(r, 200, &out);
    }
    const size_t size = strcspn(rest + 1, "/");
    if (size >= sizeof id) return web_answer_error(r, 404, "no such job");
    text_format(id, sizeof id, "%.*s", (int)size, rest + 1);
    const struct job_model *m = h->jobs.find(h->jobs.arg, id);
    if (m == NULL) return web_answer_error(r, 404, "no such job");
    const char *part = rest + 1 + size;
    if (strcmp(part, "/events") == 0) return answer_event_stream(h, r, id);
    if (part[0] == '/') {
        const unsigned status =
            web_api_put_resource(&out, m, part + 1, web_request_query, (void *)r);
        return web_answer_json(r, status, &out);
    }
    json_begin(&out, NULL, '{');
    web_api_put_application(&out, m, true);
    json_end(&out, '}');
    return web_answer_json(r, 200, &out);
}

static enum MHD_Result answer_executor_page(struct web_pages *h, const struct web_request *r)
{
    const struct web_jobs *jobs = &h->jobs;
    struct json out = {.failed = false};
    if (jobs->executor == NULL) return web_answer_error(r, 404, "this is the page of a job");
    json_begin(&out, NULL, '{');
    const bool known = jobs->executor(jobs->arg, &out);
    json_end(&out, '}');
    if (known) return web_answer_json(r, 200, &out);
    json_fini(&out);
    return web_answer_error(r, 503, "the executor does not respond");
}

static enum MHD_Result answer_metrics(struct web_pages *h, const struct web_request *r)
{
    const struct web_jobs *jobs = &h->jobs;
    struct buffer text = {NULL, 0, 0};
    const struct job_model *m = jobs->find(jobs->arg, NULL);
    if (m == NULL && jobs->executor_metrics == NULL) return web_answer_error(r, 404, "no job");
    enum MHD_Result result;
    if (m != NULL ? web_put_job_metrics(&text, m) : jobs->executor_metrics(jobs->arg, &text))
        result = web_answer(r, 200, WEB_METRICS_TYPE, text.data, text.size, NULL, NULL);
    else
        result = web_answer_error(r, 503, "the numbers are not known now");
    buffer_fini(&text);
    return result;
}

/* Sets the cookie, and shows the page by an address without the token. */
static enum MHD_Result answer_login(const struct web_request *r)
{
    const struct web_access *access = web_http_access(r->http);
    char cookie[WEB_TOKEN_MAX + 128], location[64] = "./";
    const char *job = web_request_query((void *)r, "job");
    if (job != NULL && strlen(job) < 33 && strspn(job, "0123456789abcdef") == strlen(job))
        text_format(location, sizeof location, "./?job=%s", job);
    text_format(cookie, sizeof cookie, "%s=%s; HttpOnly; SameSite=Strict; Path=/", access->cookie,
                access->token);
    const struct web_library *l = r->library;
    struct MHD_Response *response = l->create_response_from_buffer(0, "", MHD_RESPMEM_PERSISTENT);
    if (response == NULL) return MHD_NO;
    l->add_response_header(response, "Set-Cookie", cookie);
    l->add_response_header(response, "Location", location);
    return web_answer_response(r, 303, WEB_TEXT_TYPE, response);
}

/* web_http_config.answer; `pages` is a struct web_pages. */
static enum MHD_Result answer_by_path(void *pages, const struct web_request *r)
{
    struct web_pages *h = pages;
    const size_t size = strlen(APPLICATIONS);
    if (strcmp(r->path, "/") == 0 && r->by_query) return answer_login(r);
    for (const struct web_file *f = web_files; f->path != NULL; f++)
        if (strcmp(f->path, r->path) == 0)
            return web_answer(r, 200, f->type, f->data, f->size, NULL, NULL);
    if (strncmp(r->path, APPLICATIONS, size) == 0 && strchr("/", r->path[size]) != NULL)
        return answer_api(h, r, r->path + size);
    if (strcmp(r->path, "/api/v1/executor") == 0) return answer_executor_page(h, r);
    if (strcmp(r->path, "/metrics") == 0) return answer_metrics(h, r);
    if (strcmp(r->path, "/healthz") == 0) return web_answer_text(r, 200, "ok\n", NULL, NULL);
    return web_answer_error(r, 404, "no such resource");
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

static int web_feed_add_to_model(struct web_feed *f, struct job_model *m, struct glint_error *error)
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

#define TICK_MS 100u

struct web_server {
    struct web_pages pages;
    struct web_feed feed;
    struct job_model model; /* of the job whose events come to the sink */
    struct event_sink sink;
    bool live; /* shows that model */
    bool threaded, failed;
    uv_loop_t loop;
    uv_timer_t tick;
    uv_async_t stop;
    uv_signal_t signals[2];
    pthread_t thread;
};

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

static void apply_feed_events(struct web_server *s)
{
    struct glint_error error = {.code = GLINT_OK};
    if (!s->live || s->failed) return;
    /* Out of memory: the page stays as it is, and the job goes on. */
    s->failed = web_feed_add_to_model(&s->feed, &s->model, &error) != 0;
}

static void on_web_tick(uv_timer_t *handle)
{
    struct web_server *s = handle->data;
    apply_feed_events(s);
    web_pages_tick(&s->pages);
    web_http_tick(s->pages.http);
}

static void close_web_handle(uv_handle_t *handle, void *arg)
{
    (void)arg;
    if (!uv_is_closing(handle)) uv_close(handle, NULL);
}

static void end_web_loop(struct web_server *s)
{
    apply_feed_events(s);
    end_event_streams(&s->pages);
    web_http_stop(s->pages.http);
    assert(s->pages.streams == NULL);
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
    uv_timer_init(&s->loop, &s->tick);
    const int r = uv_async_init(&s->loop, &s->stop, on_web_stop);
    assert(r == 0); /* its descriptor exists */
    s->tick.data = s->stop.data = s;
    uv_timer_start(&s->tick, on_web_tick, TICK_MS, TICK_MS);
    if (s->pages.jobs.executor == NULL && !s->live) watch_web_signals(s);
}

/* ---- Start and end */

static int open_web_pages(struct web_server *s, const struct web_config *config,
                          struct glint_error *error)
{
    const int r = event_loop_init(&s->loop, config->env, error);
    if (r != 0) return r;
    const struct web_http_config http = {.env = config->env,
                                         .loop = &s->loop,
                                         .host = config->host,
                                         .port = config->port,
                                         .tries = config->port == 0 ? 1 : WEB_PORT_TRIES,
                                         .option = "--ui",
                                         .token = config->token,
                                         .answer = answer_by_path,
                                         .arg = &s->pages};
    s->pages.http = web_http_open(&http, error);
    if (s->pages.http != NULL) return 0;
    const int failed = uv_loop_close(&s->loop);
    assert(failed == 0); /* it has no handles */
    return error->code;
}

struct web_server *web_server_open(const struct web_config *config, struct glint_error *error)
{
    struct web_server *s = mem_zalloc_or_fail(sizeof *s, error);
    if (s == NULL) return NULL;
    json_set_alloc_funcs(mem_alloc, mem_free);
    s->live = config->jobs.find == NULL;
    s->pages = (struct web_pages){.env = config->env, .jobs = config->jobs};
    if (s->live)
        s->pages.jobs = (struct web_jobs){.arg = s, .list = list_live_job, .find = find_live_job};
    s->pages.library = web_library_load(error);
    if (s->pages.library == NULL || open_web_pages(s, config, error) != 0) {
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
    return web_http_url(s->pages.http);
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
    web_http_free(s->pages.http);
    pthread_mutex_destroy(&s->feed.lock);
    buffer_fini(&s->feed.pending);
    buffer_fini(&s->feed.taken);
    job_model_fini(&s->model);
    mem_free(s);
}
