/* The cost of a connection: sends bytes from the memory of one process to that of another over
 * loopback, through a bare libuv stream, through a connection in DATA frames, and through one with
 * TLS.
 *
 *     bench_net_copy [GIB [ROUNDS]]        prints one JSON object to standard output: GiB/s, and
 *                                          the least CPU seconds per GiB of both processes
 *
 * All three modes send from the same blocks and receive into as many; the bare one has no frames.
 * The modes alternate in each round; the best result of each mode counts, since slower rounds were
 * disturbed by other processes. */
#include "engine/base/env.h"
#include "engine/limits.h"
#include "engine/net/listener.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum { BLOCKS = 16, ROUNDS_MAX = 32 };
#define BLOCK_BYTES FETCH_CHUNK_BYTES_MAX

enum mode { MODE_BARE, MODE_PLAIN, MODE_TLS, MODES };
static const char *const mode_names[MODES] = {"bare", "plain", "tls"};

static uint8_t *blocks[BLOCKS];
static uint64_t wanted; /* bytes */

static void require(bool good, const char *what)
{
    if (good) return;
    fprintf(stderr, "bench_net_copy: %s\n", what);
    _exit(1);
}

static void init_net(struct net *net, uv_loop_t *loop, bool tls, uint8_t mark)
{
    struct glint_error error = {.code = GLINT_OK};
    struct secrets secrets = {.count = 1, .list = {{{9, 8, 7}}}};
    *net = (struct net){.loop = loop, .env = env_real(), .connect_ms = 10000};
    net->self = (struct hello){.protocol_min = PROTOCOL_MIN,
                               .protocol_max = PROTOCOL_MAX,
                               .role = ROLE_EXECUTOR,
                               .cluster = "bench",
                               .node = "e"};
    snprintf(net->self.build, sizeof net->self.build, "%s", build_id());
    memset(net->self.incarnation, mark, sizeof net->self.incarnation);
    if (tls) net->tls = tls_context_create(&secrets, false, &error);
    require(!tls || net->tls != NULL, error.cause);
}

/* ---- The sender: a separate process, killed by the receiver */

static uint64_t to_send;

static struct bare_write {
    uv_write_t request;
    unsigned block;
} bare_writes[BLOCKS];

static void bare_send(uv_stream_t *stream, struct bare_write *w);

static void bare_sent(uv_write_t *request, int status)
{
    if (status != 0) _exit(0);
    bare_send(request->handle, request->data);
}

static void bare_send(uv_stream_t *stream, struct bare_write *w)
{
    if (to_send == 0) return;
    to_send -= BLOCK_BYTES;
    uv_buf_t buf = uv_buf_init((char *)blocks[w->block], BLOCK_BYTES);
    w->request.data = w;
    require(uv_write(&w->request, stream, &buf, 1, bare_sent) == 0, "cannot write");
}

static void bare_connected(uv_stream_t *listener, int status)
{
    static uv_tcp_t stream;
    require(status == 0, "no connection");
    uv_tcp_init(listener->loop, &stream);
    require(uv_accept(listener, (uv_stream_t *)&stream) == 0, "cannot accept");
    for (unsigned i = 0; i < BLOCKS; i++) {
        bare_writes[i].block = i;
        bare_send((uv_stream_t *)&stream, &bare_writes[i]);
    }
}

static uint16_t bare_listen(uv_loop_t *loop)
{
    static uv_tcp_t listener;
    struct sockaddr_in at;
    int size = sizeof at;
    uv_tcp_init(loop, &listener);
    uv_ip4_addr("127.0.0.1", 0, &at);
    uv_tcp_bind(&listener, (const struct sockaddr *)&at, 0);
    require(uv_listen((uv_stream_t *)&listener, 4, bare_connected) == 0, "cannot listen");
    uv_tcp_getsockname(&listener, (struct sockaddr *)&at, &size);
    return ntohs(at.sin_port);
}

static struct conn *sender;

static void send_block(unsigned block);

static void block_sent(void *arg, bool ok)
{
    if (!ok) _exit(0);
    send_block((unsigned)((uint8_t **)arg - blocks));
}

static void send_block(unsigned block)
{
    if (to_send == 0) return;
    to_send -= BLOCK_BYTES;
    conn_send_data(sender, block, (struct glint_slice){blocks[block], BLOCK_BYTES}, block_sent,
                   &blocks[block]);
}

static int no_frame(void *arg, struct conn *c, const struct frame *f, struct glint_slice payload,
                    struct glint_error *error)
{
    (void)arg;
    (void)c;
    (void)payload;
    return error_set(error, GLINT_E_PROTOCOL, NULL, "a frame of type %d", (int)f->type);
}

static const struct conn_events sender_events = {.frame = no_frame};

static bool accepted(void *arg, struct conn *c, struct glint_error *error)
{
    (void)arg;
    (void)error;
    sender = c;
    conn_set_events(c, &sender_events, NULL);
    for (unsigned i = 0; i < BLOCKS; i++) send_block(i);
    return true;
}

static void send_all(enum mode mode, int out)
{
    uv_loop_t loop;
    struct net net;
    struct glint_error error = {.code = GLINT_OK};
    uint16_t port;
    to_send = wanted;
    signal(SIGPIPE, SIG_IGN);
    require(uv_loop_init(&loop) == 0, "no loop");
    if (mode == MODE_BARE) {
        port = bare_listen(&loop);
    } else {
        init_net(&net, &loop, mode == MODE_TLS, 1);
        struct listener *listener = listener_open(&net, "127.0.0.1", 0, accepted, NULL, &error);
        require(listener != NULL, error.cause);
        port = listener_port(listener);
    }
    require(write(out, &port, sizeof port) == sizeof port, "the pipe broke");
    uv_run(&loop, UV_RUN_DEFAULT);
    _exit(0);
}

/* ---- The receiver */

static struct {
    uint64_t bytes, begin_ns, end_ns;
} got;

static void count(uint64_t n)
{
    if (got.bytes == 0) got.begin_ns = env_real()->now_ns(env_real());
    got.bytes += n;
    if (got.bytes >= wanted) got.end_ns = env_real()->now_ns(env_real());
}

static void bare_alloc(uv_handle_t *handle, size_t suggested, uv_buf_t *out)
{
    (void)handle;
    (void)suggested;
    uint64_t at = got.bytes % (BLOCKS * BLOCK_BYTES), inside = at % BLOCK_BYTES;
    *out = uv_buf_init((char *)blocks[at / BLOCK_BYTES] + inside, (unsigned)(BLOCK_BYTES - inside));
}

static void bare_read(uv_stream_t *stream, ssize_t n, const uv_buf_t *buf)
{
    (void)buf;
    require(n >= 0, "the sender has exited");
    if (n > 0) count((uint64_t)n);
    if (got.bytes == wanted) uv_close((uv_handle_t *)stream, NULL);
}

static void bare_dialled(uv_connect_t *connect, int status)
{
    require(status == 0 && uv_read_start(connect->handle, bare_alloc, bare_read) == 0,
            "cannot connect");
}

static uint8_t *data_into(void *arg, struct conn *c, const struct frame *f)
{
    (void)arg;
    (void)c;
    require(f->length == BLOCK_BYTES, "unexpected frame");
    return blocks[f->request];
}

static void data_came(void *arg, struct conn *c, const struct frame *f)
{
    (void)arg;
    count(f->length);
    if (got.bytes == wanted) conn_close(c, false);
}

static void conn_gone(void *arg, struct conn *c, const struct glint_error *why)
{
    (void)arg;
    (void)c;
    require(why->code == GLINT_OK, why->cause);
}

static const struct conn_events receiver_events = {
    .frame = no_frame, .buffer_for = data_into, .data = data_came, .closed = conn_gone};

static void receive_all(enum mode mode, uint16_t port)
{
    uv_loop_t loop;
    uv_tcp_t stream;
    uv_connect_t connect;
    struct sockaddr_in at;
    struct net net;
    struct glint_error error = {.code = GLINT_OK};
    memset(&got, 0, sizeof got);
    require(uv_loop_init(&loop) == 0, "no loop");
    uv_ip4_addr("127.0.0.1", port, &at);
    init_net(&net, &loop, mode == MODE_TLS, 2);
    if (mode == MODE_BARE) {
        uv_tcp_init(&loop, &stream);
        uv_tcp_connect(&connect, &stream, (const struct sockaddr *)&at, bare_dialled);
    } else {
        require(conn_dial(&net, &(struct conn_target){"127.0.0.1", port, CHANNEL_DATA, NULL},
                          &receiver_events, NULL, &error) != NULL,
                error.cause);
    }
    uv_run(&loop, UV_RUN_DEFAULT);
    require(got.bytes == wanted && uv_loop_close(&loop) == 0, "bytes are missing");
    tls_context_destroy(net.tls);
}

/* ---- Measuring a mode */

static double processor_s(const struct rusage *r)
{
    return (double)(r->ru_utime.tv_sec + r->ru_stime.tv_sec) +
           (double)(r->ru_utime.tv_usec + r->ru_stime.tv_usec) / 1e6;
}

/* Returns GiB/s. Sets *cost to CPU seconds per GiB. */
static double measure(enum mode mode, double *cost)
{
    struct rusage before, after, other;
    int ends[2], status;
    uint16_t port;
    require(pipe(ends) == 0, "no pipe");
    pid_t pid = fork();
    require(pid >= 0, "no process");
    if (pid == 0) {
        close(ends[0]);
        send_all(mode, ends[1]);
    }
    close(ends[1]);
    require(read(ends[0], &port, sizeof port) == sizeof port, "the sender did not start");
    close(ends[0]);
    getrusage(RUSAGE_SELF, &before);
    receive_all(mode, port);
    getrusage(RUSAGE_SELF, &after);
    kill(pid, SIGKILL);
    require(wait4(pid, &status, 0, &other) == pid, "the sender is lost");
    double gib = (double)wanted / (double)GIB;
    *cost = (processor_s(&after) - processor_s(&before) + processor_s(&other)) / gib;
    return gib / ((double)(got.end_ns - got.begin_ns) / 1e9);
}

int main(int argc, char **argv)
{
    double best[MODES] = {0}, least[MODES] = {1e9, 1e9, 1e9}, cost;
    double gib = argc > 1 ? strtod(argv[1], NULL) : 4;
    long rounds = argc > 2 ? strtol(argv[2], NULL, 10) : 5;
    require(gib > 0 && gib < 1024 && rounds > 0 && rounds <= ROUNDS_MAX, "bad arguments");
    wanted = (uint64_t)(gib * 1024) * BLOCK_BYTES;
    require(wanted > 0, "too little");
    for (unsigned i = 0; i < BLOCKS; i++) {
        blocks[i] = mem_alloc(BLOCK_BYTES);
        require(blocks[i] != NULL, "no memory");
        memset(blocks[i], (int)i, BLOCK_BYTES);
    }
    printf("{\"gib\": %.3f, \"rounds\": [", (double)wanted / (double)GIB);
    for (long r = 0; r < rounds; r++) {
        printf("%s{", r > 0 ? ", " : "");
        for (int mode = 0; mode < MODES; mode++) {
            double speed = measure((enum mode)mode, &cost);
            if (cost < least[mode]) least[mode] = cost;
            if (speed > best[mode]) best[mode] = speed;
            printf("%s\"%s\": %.3f", mode > 0 ? ", " : "", mode_names[mode], speed);
            fflush(stdout);
        }
        printf("}");
    }
    printf("], \"best\": {\"bare\": %.3f, \"plain\": %.3f, \"tls\": %.3f}, "
           "\"processor\": {\"bare\": %.3f, \"plain\": %.3f, \"tls\": %.3f}, "
           "\"plain_over_bare\": %.3f, \"tls_over_plain\": %.3f}\n",
           best[MODE_BARE], best[MODE_PLAIN], best[MODE_TLS], least[MODE_BARE], least[MODE_PLAIN],
           least[MODE_TLS], best[MODE_PLAIN] / best[MODE_BARE], best[MODE_TLS] / best[MODE_PLAIN]);
    for (unsigned i = 0; i < BLOCKS; i++) mem_free(blocks[i]);
    return 0;
}
