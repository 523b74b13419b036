/* The fetch phase of a shuffle: one process fetches map outputs, which are in the page cache of
 * another, over loopback and discards them; plain and through TLS, compared with a bare libuv copy
 * of the same bytes (files read on libuv's pool, written to one connection, read and discarded).
 *
 *     bench_fetch [GIB [SLOTS [ROUNDS]]]        prints one JSON object to standard output
 *
 * The modes alternate in each round; the best result of each mode counts. */
#include "engine/base/thread.h"
#include "engine/executor/store.h"
#include "engine/net/listener.h"
#include "engine/transfer/fetch_client.h"
#include "tests/support/test_task.h"

#include <assert.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>

enum { MAPS = 16, SLOTS_LIMIT = 8, BARE_BUFFERS = 8 };
#define SHUFFLE     1
#define VALUE_BYTES (60 * KIB)
#define SINK_BYTES  (64 * KIB)
#define BARE_BYTES  MIB
#define SLOT_MEMORY (256 * MIB)

enum mode { MODE_BARE, MODE_PLAIN, MODE_TLS, MODES };
static const char *const mode_names[MODES] = {"bare", "plain", "tls"};

static struct test_task maker;
static struct run runs[MAPS];
static uint32_t slots = 1;
static uint64_t total_bytes;

static void require(bool good, const char *what)
{
    if (good) return;
    fprintf(stderr, "bench_fetch: %s\n", what);
    _exit(1);
}

static uint64_t now_ns(void)
{
    return env_real()->now_ns(env_real());
}

/* One partition per slot, of random bytes, so that nothing is compressed. */
static void make_run(uint32_t map, uint64_t bytes)
{
    static uint8_t value[VALUE_BYTES];
    struct run_writer w;
    char key[32];
    uint64_t seed = 1 + map;
    require(run_writer_init(&w, &maker.task, slots, 0) == 0, "no memory");
    for (uint32_t p = 0; p < slots; p++) {
        for (uint64_t i = 0; i * VALUE_BYTES < bytes / slots; i++) {
            for (uint64_t k = 0; k < VALUE_BYTES; k += 8) {
                uint64_t x = test_random(&seed);
                memcpy(value + k, &x, sizeof x);
            }
            int n = snprintf(key, sizeof key, "%012llu", (unsigned long long)i);
            require(run_writer_add(&w, p, (struct glint_slice){(uint8_t *)key, (uint64_t)n},
                                   (struct glint_slice){value, VALUE_BYTES}) == 0,
                    "a map output cannot be written");
        }
    }
    require(run_writer_finish(&w, &runs[map]) == 0, "a map output cannot be written");
    total_bytes += runs[map].source.bytes;
}

static void net_init(struct net *net, uv_loop_t *loop, bool tls, uint8_t number)
{
    struct glint_error error = {.code = GLINT_OK};
    struct secrets secrets = {.count = 1, .list = {{{9, 8, 7}}}};
    *net = (struct net){.loop = loop, .env = env_real(), .connect_ms = 10000};
    net->self.protocol_min = PROTOCOL_MIN;
    net->self.protocol_max = PROTOCOL_MAX;
    net->self.role = ROLE_EXECUTOR;
    snprintf(net->self.cluster, sizeof net->self.cluster, "bench");
    snprintf(net->self.node, sizeof net->self.node, "e%u", number);
    snprintf(net->self.build, sizeof net->self.build, "%s", build_id());
    memset(net->self.incarnation, number, sizeof net->self.incarnation);
    if (tls) net->tls = tls_context_create(&secrets, false, &error);
    require(!tls || net->tls != NULL, error.cause);
}

static void tell_port(int out, uint16_t port)
{
    require(write(out, &port, sizeof port) == sizeof port, "the pipe broke");
}

/* ---- The process with the map outputs; killed at the end */

static int on_get(void *arg, struct conn *c, const struct frame *f, struct glint_slice payload,
                  struct glint_error *error)
{
    return fetch_server_on_get(arg, c, f, payload, error);
}

static void on_closed(void *arg, struct conn *c, const struct glint_error *why)
{
    (void)why;
    fetch_server_on_closed(arg, c);
}

static const struct conn_events serve_events = {.frame = on_get, .closed = on_closed};

static bool on_accepted(void *arg, struct conn *c, struct glint_error *error)
{
    (void)error;
    conn_set_events(c, &serve_events, arg);
    return true;
}

static void serve_outputs(bool tls, int out)
{
    static uv_loop_t loop;
    static struct net net;
    struct glint_error error = {.code = GLINT_OK};
    uv_loop_init(&loop);
    net_init(&net, &loop, tls, 1);
    struct store *store = store_create();
    for (uint32_t m = 0; m < MAPS; m++)
        require(store_add_map_output(store, SHUFFLE, m, 0, &runs[m]) == 0, "no memory");
    struct fetch_server *serve = store_create_fetch_server(&loop, store, NULL, NULL);
    struct listener *listener = listener_open(&net, "127.0.0.1", 0, on_accepted, serve, &error);
    require(listener != NULL, error.cause);
    tell_port(out, listener_port(listener));
    uv_run(&loop, UV_RUN_DEFAULT);
    _exit(0);
}

static struct bare {
    uv_loop_t loop;
    uv_tcp_t listener, stream;
    struct bare_buffer {
        uv_write_t write;
        uint8_t *bytes;
        bool busy;
    } buffers[BARE_BUFFERS];
    uv_fs_t read;
    bool reading;
    uint32_t map;
    int file;
    int64_t at;
} bare;

static void bare_next(void);

static void bare_written(uv_write_t *write, int status)
{
    struct bare_buffer *b = write->data;
    if (status != 0) _exit(0);
    b->busy = false;
    bare_next();
}

static void bare_was_read(uv_fs_t *read)
{
    struct bare_buffer *b = read->data;
    int64_t n = read->result;
    uv_fs_req_cleanup(read);
    bare.reading = false;
    require(n >= 0, "a map output cannot be read");
    bare.at += n;
    if (n == 0) {
        close(bare.file);
        bare.at = 0;
        bare.map++;
        b->busy = false;
    } else {
        uv_buf_t buffer = uv_buf_init((char *)b->bytes, (unsigned)n);
        b->write.data = b;
        uv_write(&b->write, (uv_stream_t *)&bare.stream, &buffer, 1, bare_written);
    }
    bare_next();
}

static void bare_next(void)
{
    if (bare.reading || bare.map == MAPS) return;
    struct bare_buffer *b = bare.buffers;
    while (b < bare.buffers + BARE_BUFFERS && b->busy) b++;
    if (b == bare.buffers + BARE_BUFFERS) return;
    if (bare.at == 0) bare.file = open(runs[bare.map].path, O_RDONLY);
    require(bare.file >= 0, "a map output cannot be opened");
    uv_buf_t buffer = uv_buf_init((char *)b->bytes, BARE_BYTES);
    b->busy = bare.reading = true;
    bare.read.data = b;
    uv_fs_read(&bare.loop, &bare.read, bare.file, &buffer, 1, bare.at, bare_was_read);
}

static void bare_connected(uv_stream_t *listener, int status)
{
    require(status == 0, "no connection");
    uv_tcp_init(&bare.loop, &bare.stream);
    uv_accept(listener, (uv_stream_t *)&bare.stream);
    bare_next();
}

static void serve_bare(int out)
{
    struct sockaddr_in address;
    int size = sizeof address;
    uv_loop_init(&bare.loop);
    for (uint32_t i = 0; i < BARE_BUFFERS; i++) bare.buffers[i].bytes = mem_alloc(BARE_BYTES);
    uv_tcp_init(&bare.loop, &bare.listener);
    uv_ip4_addr("127.0.0.1", 0, &address);
    uv_tcp_bind(&bare.listener, (const struct sockaddr *)&address, 0);
    require(uv_listen((uv_stream_t *)&bare.listener, 4, bare_connected) == 0, "cannot listen");
    uv_tcp_getsockname(&bare.listener, (struct sockaddr *)&address, &size);
    tell_port(out, ntohs(address.sin_port));
    uv_run(&bare.loop, UV_RUN_DEFAULT);
    _exit(0);
}

static pid_t start_server(enum mode mode, uint16_t *port)
{
    int ends[2];
    require(pipe(ends) == 0, "no pipe");
    pid_t pid = fork();
    require(pid >= 0, "no process");
    if (pid == 0) {
        close(ends[0]);
        if (mode == MODE_BARE)
            serve_bare(ends[1]);
        else
            serve_outputs(mode == MODE_TLS, ends[1]);
    }
    close(ends[1]);
    require(read(ends[0], port, sizeof *port) == sizeof *port, "the server did not start");
    close(ends[0]);
    return pid;
}

/* ---- The fetching process */

static uv_async_t over;
static uint32_t slots_over;
static pthread_mutex_t over_lock = PTHREAD_MUTEX_INITIALIZER;

struct slot {
    pthread_t thread;
    uint32_t partition;
    const struct fetcher *fetcher;
    struct test_task t;
    uint64_t bytes;
};

/* Reads like a merge: one block from each input in turn. */
static int drain(struct slot *s, const struct run_slice *slices, uint32_t count)
{
    static _Thread_local uint8_t sink[SINK_BYTES];
    bool more = true;
    for (uint64_t at = 0; more; at += SINK_BYTES) {
        more = false;
        for (uint32_t i = 0; i < count; i++) {
            uint64_t left = slices[i].part.bytes > at ? slices[i].part.bytes - at : 0;
            uint64_t n = left < SINK_BYTES ? left : SINK_BYTES;
            if (n == 0) continue;
            const struct run_source *source = slices[i].source;
            int r = source->read(source, &s->t.task, slices[i].part.offset + at, n, sink);
            if (r != 0) return r;
            s->bytes += n;
            more = true;
        }
    }
    return 0;
}

static void *slot_main(void *arg)
{
    struct slot *s = arg;
    struct fetch_input inputs[MAPS];
    struct run_slice *slices;
    uint32_t count, lost;
    thread_set_batch_policy(); /* as an executor does for its slots */
    for (uint32_t m = 0; m < MAPS; m++) inputs[m] = (struct fetch_input){0, m, 0, NULL};
    struct fetch *f = fetch_open(&s->t.task, s->fetcher, SHUFFLE, s->partition, inputs, MAPS,
                                 &slices, &count, &lost);
    require(f != NULL && drain(s, slices, count) == 0, s->t.task.error.cause);
    fetch_close(f);
    pthread_mutex_lock(&over_lock);
    if (++slots_over == slots) uv_async_send(&over);
    pthread_mutex_unlock(&over_lock);
    return NULL;
}

static void on_over(uv_async_t *async)
{
    uv_stop(async->loop);
}

static void on_peers_closed(void *arg)
{
    (void)arg;
    uv_close((uv_handle_t *)&over, NULL);
}

static void fetch_outputs(bool tls, uint16_t port)
{
    uv_loop_t loop;
    struct net net;
    static struct slot all[SLOTS_LIMIT];
    struct glint_error error = {.code = GLINT_OK};
    struct executor_address where = {
        .executor = 0, .node = "e1", .host = "127.0.0.1", .port = port};
    uv_loop_init(&loop);
    uv_async_init(&loop, &over, on_over);
    net_init(&net, &loop, tls, 2);
    memset(where.incarnation, 1, sizeof where.incarnation);
    struct peers *peers = peers_create(&net, 20000, &error);
    require(peers != NULL && peers_add_executor(peers, &where, false) == 0, "no memory");
    struct fetcher fetcher = peers_as_fetcher(peers);
    slots_over = 0;
    for (uint32_t i = 0; i < slots; i++) {
        all[i] = (struct slot){.partition = i, .fetcher = &fetcher};
        test_task_init(&all[i].t, SLOT_MEMORY);
        all[i].t.task.attempt_id = i + 1;
        require(pthread_create(&all[i].thread, NULL, slot_main, &all[i]) == 0, "no thread");
    }
    uv_run(&loop, UV_RUN_DEFAULT);
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < slots; i++) {
        pthread_join(all[i].thread, NULL);
        bytes += all[i].bytes;
        test_task_fini(&all[i].t);
    }
    require(bytes == total_bytes, "bytes are missing");
    error_set(&error, GLINT_E_CONNECTION, NULL, "it is over");
    peers_close(peers, &error, on_peers_closed, NULL);
    uv_run(&loop, UV_RUN_DEFAULT);
    uv_loop_close(&loop);
    tls_context_destroy(net.tls);
}

static uint64_t bare_bytes;
static char *bare_buffer;

static void bare_room(uv_handle_t *handle, size_t suggested, uv_buf_t *out)
{
    (void)handle, (void)suggested;
    *out = uv_buf_init(bare_buffer, BARE_BYTES);
}

static void bare_arrived(uv_stream_t *stream, ssize_t n, const uv_buf_t *buffer)
{
    (void)buffer;
    require(n >= 0, "the connection broke");
    bare_bytes += (uint64_t)n;
    if (bare_bytes == total_bytes) uv_close((uv_handle_t *)stream, NULL);
}

static void bare_dialled(uv_connect_t *connect, int status)
{
    require(status == 0, "cannot connect");
    uv_read_start(connect->handle, bare_room, bare_arrived);
}

static void fetch_bare(uint16_t port)
{
    uv_loop_t loop;
    uv_tcp_t stream;
    uv_connect_t connect;
    struct sockaddr_in address;
    uv_loop_init(&loop);
    uv_tcp_init(&loop, &stream);
    uv_ip4_addr("127.0.0.1", port, &address);
    bare_bytes = 0;
    bare_buffer = mem_alloc(BARE_BYTES);
    uv_tcp_connect(&connect, &stream, (const struct sockaddr *)&address, bare_dialled);
    uv_run(&loop, UV_RUN_DEFAULT);
    uv_loop_close(&loop);
    mem_free(bare_buffer);
}

/* Seconds. */
static double run(enum mode mode)
{
    uint16_t port;
    pid_t server = start_server(mode, &port);
    uint64_t started = now_ns();
    if (mode == MODE_BARE)
        fetch_bare(port);
    else
        fetch_outputs(mode == MODE_TLS, port);
    double seconds = (double)(now_ns() - started) / 1e9;
    kill(server, SIGKILL);
    waitpid(server, NULL, 0);
    return seconds;
}

int main(int argc, char **argv)
{
    double gib = argc > 1 ? strtod(argv[1], NULL) : 1, best[MODES] = {0};
    slots = argc > 2 ? (uint32_t)strtoul(argv[2], NULL, 10) : 1;
    unsigned long rounds = argc > 3 ? strtoul(argv[3], NULL, 10) : 3;
    require(gib > 0 && slots > 0 && slots <= SLOTS_LIMIT,
            "usage: bench_fetch [GIB [SLOTS [ROUNDS]]]");
    signal(SIGPIPE, SIG_IGN);
    test_task_init(&maker, SLOT_MEMORY);
    for (uint32_t m = 0; m < MAPS; m++) make_run(m, (uint64_t)(gib * (double)GIB / MAPS));
    for (unsigned long i = 0; i < rounds; i++) {
        for (enum mode m = 0; m < MODES; m++) {
            double seconds = run(m);
            if (best[m] == 0 || seconds < best[m]) best[m] = seconds;
        }
    }
    printf("{\"bytes\": %llu, \"slots\": %u, \"rounds\": %lu", (unsigned long long)total_bytes,
           slots, rounds);
    for (enum mode m = 0; m < MODES; m++)
        printf(", \"%s_seconds\": %.3f, \"%s_gb_per_s\": %.3f", mode_names[m], best[m],
               mode_names[m], (double)total_bytes / best[m] / 1e9);
    printf(", \"plain_of_bare\": %.3f, \"tls_of_plain\": %.3f}\n",
           best[MODE_BARE] / best[MODE_PLAIN], best[MODE_PLAIN] / best[MODE_TLS]);
    for (uint32_t m = 0; m < MAPS; m++) run_destroy(&runs[m]);
    return test_task_fini(&maker) ? 0 : 1;
}
