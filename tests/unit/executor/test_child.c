/* An executor process's whole life, run by a thread of this one, against a driver of the test's own
 * that it dials: what it answers, what ends it, and that nothing is left. */
#include "engine/executor/child.h"

#include "engine/net/gate.h"
#include "engine/net/loop.h"
#include "engine/net/message.h"
#include "engine/net/wire.h"
#include "engine/plan/stage.h"
#include "tests/support/local.h"

#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>

enum { MAPS = 2, STAGE = 7 };

struct world {
    uv_loop_t loop;
    uv_timer_t limit;
    bool late;
    struct net net;
    struct gate *gate;
    struct conn *control, *data;
    unsigned pings, readies, dones, faileds, gones;
    struct ready ready;
    struct glint_error failure;
    struct glint_config registry;
    struct child_config config;
    char folder[64];
    pthread_t thread;
    struct glint_error error; /* of child_run */
    int code;
};

static struct world w;
static int64_t live;

/* ---- The driver */

static void say(struct conn *c, enum frame_type type, struct buffer *payload)
{
    conn_send(c, type, 0, payload);
    if (payload != NULL) buffer_fini(payload);
}

static int on_frame(void *arg, struct conn *c, const struct frame *f, struct glint_slice payload,
                    struct glint_error *error)
{
    (void)arg, (void)c;
    w.pings += f->type == FRAME_PING;
    w.gones += f->type == FRAME_GONE;
    if (f->type == FRAME_READY) {
        w.readies++;
        return ready_decode(payload, &w.ready, error);
    }
    if (f->type != FRAME_MESSAGE) return 0;
    struct message *m = message_decode(payload, error);
    cr_assert_not_null(m);
    w.dones += m->type == MSG_DONE;
    w.faileds += m->type == MSG_FAILED;
    if (m->error != NULL) w.failure = *m->error;
    message_destroy(m);
    return 0;
}

static void on_closed(void *arg, struct conn *c, const struct glint_error *why)
{
    (void)arg, (void)why;
    if (w.control == c) w.control = NULL;
    if (w.data == c) w.data = NULL;
}

static const struct conn_events events = {.frame = on_frame, .closed = on_closed};

static bool on_accepted(void *arg, struct conn *c, struct glint_error *error)
{
    (void)arg, (void)error;
    cr_expect_eq(conn_peer(c)->role, ROLE_EXECUTOR);
    if (conn_peer(c)->channel == CHANNEL_CONTROL)
        w.control = c;
    else
        w.data = c;
    conn_set(c, &events, NULL);
    return true;
}

static void on_limit(uv_timer_t *timer)
{
    (void)timer;
    w.late = true;
}

#define UNTIL(condition)                                                                           \
    do {                                                                                           \
        w.late = false;                                                                            \
        uv_timer_start(&w.limit, on_limit, 20000, 0);                                              \
        while (!(condition) && !w.late) uv_run(&w.loop, UV_RUN_ONCE);                              \
        cr_assert(condition, "not within 20 s: " #condition);                                      \
    } while (0)

/* ---- The executor */

static void *run(void *arg)
{
    (void)arg;
    w.code = child_run(&w.config, &w.error);
    return NULL;
}

static void hello_fill(struct hello *h)
{
    h->protocol_min = PROTOCOL_MIN;
    h->protocol_max = PROTOCOL_MAX;
    h->role = ROLE_DRIVER;
    snprintf(h->cluster, sizeof h->cluster, "test");
    snprintf(h->node, sizeof h->node, "driver");
    snprintf(h->build, sizeof h->build, "%s", build_id());
    memset(h->incarnation, 9, sizeof h->incarnation);
}

static void begin(void)
{
    struct glint_error error = {.code = GLINT_OK};
    live = mem_live();
    memset(&w, 0, sizeof w);
    snprintf(w.folder, sizeof w.folder, "/tmp/glint-test-child-XXXXXX");
    cr_assert_not_null(mkdtemp(w.folder));
    cr_assert_eq(loop_open(&w.loop, env_real(), &error), 0);
    uv_timer_init(&w.loop, &w.limit);
    w.net = (struct net){.loop = &w.loop, .env = env_real(), .connect_ms = 20000};
    hello_fill(&w.net.self);
    w.gate = gate_open(&w.net, "127.0.0.1", 0, on_accepted, NULL, &error);
    cr_assert_not_null(w.gate, "%s", error.cause);
    w.registry = local_config(1, false);
    w.config = (struct child_config){.registry = &w.registry,
                                     .env = env_real(),
                                     .cluster = "test",
                                     .node = "n1",
                                     .insecure_plaintext = true,
                                     .host = "127.0.0.1",
                                     .slots = 2,
                                     .memory_bytes = 64 * MIB,
                                     .work_dir = w.folder,
                                     .heartbeat = {20000000, 10000000000, 20000000000},
                                     .connect_ms = 20000,
                                     .fetch_ms = 20000,
                                     .drain_ms = 20000,
                                     .start_ms = 20000,
                                     .join_host = "127.0.0.1",
                                     .join_port = gate_port(w.gate)};
}

static void start(void)
{
    cr_assert_eq(pthread_create(&w.thread, NULL, run, NULL), 0);
    UNTIL(w.readies == 1 && w.data != NULL);
}

/* Everything is over; answers what child_run did. */
static int finish(void)
{
    if (w.control != NULL) conn_close(w.control, false);
    if (w.data != NULL) conn_close(w.data, false);
    gate_close(w.gate);
    uv_close((uv_handle_t *)&w.limit, NULL);
    uv_run(&w.loop, UV_RUN_DEFAULT);
    cr_assert_eq(uv_loop_close(&w.loop), 0);
    pthread_join(w.thread, NULL);
    cr_expect_eq(rmdir(w.folder), 0, "it left files");
    cr_expect_eq(w.code, (int)w.error.code);
    return w.code;
}

static void end(void)
{
    cr_expect_eq(mem_live(), live);
}

TestSuite(child, .init = begin, .fini = end);

/* ---- What it is sent */

static void send_message(const struct message *m)
{
    struct buffer payload = {NULL, 0, 0};
    struct glint_error error = {.code = GLINT_OK};
    cr_assert_eq(message_encode(m, &payload, &error), 0);
    say(w.control, FRAME_MESSAGE, &payload);
}

static void send_job(void)
{
    const struct task_options options = {
        .line_bytes_max = MIB, .result_bytes_max = MIB, .bad_rows_max = -1};
    struct message m = {.type = MSG_JOB, .id = 3};
    struct glint_error error = {.code = GLINT_OK};
    cr_assert_eq(job_encode(&options, &m.body, &error), 0);
    send_message(&m);
    buffer_fini(&m.body);
}

/* A stage of MAPS map tasks, and so many of them. */
static void send_tasks(const char *function, unsigned tasks)
{
    struct glint_error error = {.code = GLINT_OK};
    struct glint_config config = local_config(1, false);
    struct glint *g = glint_create(&config, &error);
    cr_assert_not_null(g, "%s", error.cause);
    struct glint_rdd *numbers = local_numbers(g, 100, MAPS);
    bool endless = strcmp(function, FN_ENDLESS) == 0;
    struct glint_rdd *pairs =
        endless ? glint_flat_map(numbers, function, NULL) : glint_map(numbers, function, NULL);
    struct glint_rdd *parts = glint_partition_by(pairs, MAPS);
    cr_assert_eq(glint_partitions(parts), MAPS);
    struct glint_rdd *wide = parts->shuffle != NULL ? parts->shuffle : parts;
    struct stage_plan plan;
    struct message stage = {.type = MSG_STAGE, .stage = STAGE};
    cr_assert_eq(stage_from_plan(&plan, NULL, wide), 0);
    cr_assert_eq(stage_encode(&plan, &stage.body, &error), 0);
    stage_fini(&plan);
    send_message(&stage);
    buffer_fini(&stage.body);
    for (uint32_t i = 0; i < tasks; i++) {
        struct message task = {.type = MSG_TASK, .stage = STAGE, .task = i, .partition = i};
        cr_assert_eq(stage_splits(g, wide->parents[0], i, &task.body), 0);
        send_message(&task);
        buffer_fini(&task.body);
    }
    glint_finish(g);
    glint_destroy(g);
}

static void send_peer(uint32_t executor, uint16_t port)
{
    const struct peer peer = {
        .executor = executor, .node = "n2", .host = "127.0.0.1", .port = port};
    struct buffer payload = {NULL, 0, 0};
    struct glint_error error = {.code = GLINT_OK};
    cr_assert_eq(peer_encode(&peer, &payload, &error), 0);
    say(w.control, FRAME_PEER, &payload);
}

static void send_get(void)
{
    struct get get = {.kind = GET_RESULT, .id = 77, .size = 10};
    struct buffer payload = {NULL, 0, 0};
    struct glint_error error = {.code = GLINT_OK};
    cr_assert_eq(get_encode(&get, &payload, &error), 0);
    say(w.data, FRAME_GET, &payload);
}

/* ---- Tests */

Test(child, says_what_it_has_and_goes_with_the_driver)
{
    start();
    cr_expect(w.ready.slots == 2 && w.ready.memory_bytes == 64 * MIB && w.ready.port != 0);
    UNTIL(w.pings >= 2);
    cr_expect_eq(finish(), GLINT_OK);
}

Test(child, runs_tasks_and_answers_for_blocks)
{
    start();
    send_job();
    send_peer(1, 1);
    send_tasks(FN_MAP, MAPS);
    UNTIL(w.dones == MAPS);
    send_get();
    UNTIL(w.gones == 1);
    cr_expect_eq(w.faileds, 0);
    cr_expect_eq(finish(), GLINT_OK);
}

/* A socket that listens on *port and does not wait in accept. */
static int listen_at(uint16_t *port)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof at;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
    cr_assert_geq(fd, 0);
    cr_assert_eq(bind(fd, (struct sockaddr *)&at, sizeof at), 0);
    cr_assert_eq(listen(fd, 64), 0);
    cr_assert_eq(getsockname(fd, (struct sockaddr *)&at, &size), 0);
    *port = ntohs(at.sin_port);
    return fd;
}

static bool is_dialed(int listener)
{
    int fd = accept(listener, NULL, NULL);
    return fd >= 0 && close(fd) == 0;
}

/* It is executor 3: 1 and 2 connect with it, and it with the first 8 of the others. */
Test(child, connects_with_executors_of_higher_numbers)
{
    uint16_t ports[4 + PEERS_AHEAD_MAX];
    int listeners[4 + PEERS_AHEAD_MAX];
    start();
    send_job();
    for (uint32_t i = 0; i < 4 + PEERS_AHEAD_MAX; i++) {
        listeners[i] = listen_at(&ports[i]);
        send_peer(i < 2 ? 1 + i : 2 + i, ports[i]);
    }
    for (uint32_t i = 2; i < 2 + PEERS_AHEAD_MAX; i++) {
        bool dialed = false;
        UNTIL((dialed = dialed || is_dialed(listeners[i])));
    }
    for (uint32_t i = 0; i < 4 + PEERS_AHEAD_MAX; i++) {
        cr_expect_not(is_dialed(listeners[i]), "%u", i);
        close(listeners[i]);
    }
    cr_expect_eq(finish(), GLINT_OK);
}

Test(child, tasks_that_run_end_with_the_driver)
{
    start();
    atomic_store(&local_started, 0);
    send_job();
    send_tasks(FN_ENDLESS, MAPS);
    UNTIL(atomic_load(&local_started) == MAPS || w.pings > 500);
    cr_expect_eq(atomic_load(&local_started), MAPS);
    cr_expect_eq(finish(), GLINT_OK);
}

Test(child, a_plan_that_it_cannot_read_fails_its_tasks)
{
    start();
    static const struct glint_module *const none[] = {NULL};
    w.registry.modules = none; /* before JOB nobody looks */
    send_job();
    send_tasks(FN_MAP, 1);
    UNTIL(w.faileds == 1);
    cr_expect_neq(w.failure.code, GLINT_OK);
    cr_expect_not_null(w.control);
    cr_expect_eq(finish(), GLINT_OK);
}

Test(child, one_lost_connection_is_the_driver_lost)
{
    start();
    send_job();
    conn_close(w.data, false);
    UNTIL(w.control == NULL);
    cr_expect_eq(finish(), GLINT_OK);
}

Test(child, a_silent_driver_is_gone)
{
    w.config.heartbeat = (struct liveness_limits){10000000, 50000000, 100000000};
    start();
    send_job();
    UNTIL(w.control == NULL);
    cr_expect_eq(finish(), GLINT_OK);
}

Test(child, a_message_before_job)
{
    start();
    send_message(&(struct message){.type = MSG_CANCEL});
    UNTIL(w.control == NULL);
    cr_expect_eq(finish(), GLINT_E_PROTOCOL);
}

Test(child, a_second_job)
{
    start();
    send_job();
    send_job();
    UNTIL(w.control == NULL);
    cr_expect_eq(finish(), GLINT_E_PROTOCOL);
}

Test(child, a_peer_before_job)
{
    start();
    send_peer(1, 1);
    UNTIL(w.control == NULL);
    cr_expect_eq(finish(), GLINT_E_PROTOCOL);
}

Test(child, a_get_before_job)
{
    start();
    send_get();
    UNTIL(w.data == NULL);
    cr_expect_eq(finish(), GLINT_E_PROTOCOL);
}

Test(child, frames_of_others)
{
    start();
    say(w.control, FRAME_STATUS, NULL);
    UNTIL(w.control == NULL);
    cr_expect_eq(finish(), GLINT_E_PROTOCOL);
}

Test(child, a_payload_that_does_not_parse)
{
    struct buffer payload = {NULL, 0, 0};
    start();
    cr_assert(buffer_append(&payload, "nonsense", 8));
    say(w.control, FRAME_MESSAGE, &payload);
    UNTIL(w.control == NULL);
    cr_expect_eq(finish(), GLINT_E_PROTOCOL);
}

Test(child, nobody_waits_for_it)
{
    w.config.join_port = 1;
    w.config.start_ms = 100;
    cr_assert_eq(pthread_create(&w.thread, NULL, run, NULL), 0);
    cr_expect_eq(finish(), GLINT_E_CONNECTION);
    cr_expect_not_null(strstr(w.error.cause, "no driver at 127.0.0.1:1"));
}

Test(child, a_driver_of_another_cluster)
{
    snprintf(w.net.self.cluster, sizeof w.net.self.cluster, "other");
    cr_assert_eq(pthread_create(&w.thread, NULL, run, NULL), 0);
    UNTIL(w.net.refused > 0);
    cr_expect_eq(finish(), GLINT_E_PEER_MISMATCH);
}

Test(child, a_folder_that_is_not_there)
{
    w.config.work_dir = "/nonexistent/folder";
    cr_assert_eq(pthread_create(&w.thread, NULL, run, NULL), 0);
    cr_expect_eq(finish(), GLINT_E_WORK_DIR);
}

Test(child, a_folder_with_too_long_a_path)
{
    char path[5000];
    memset(path, 'a', sizeof path - 1);
    path[sizeof path - 1] = '\0';
    w.config.work_dir = path;
    cr_assert_eq(pthread_create(&w.thread, NULL, run, NULL), 0);
    cr_expect_eq(finish(), GLINT_E_WORK_DIR);
    cr_expect_not_null(strstr(w.error.cause, "too long"), "%s", w.error.cause);
}

Test(child, too_little_memory)
{
    w.config.memory_bytes = MIB;
    cr_assert_eq(pthread_create(&w.thread, NULL, run, NULL), 0);
    cr_expect_eq(finish(), GLINT_E_MEMORY_LIMIT);
}
