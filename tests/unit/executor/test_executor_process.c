/* The life cycle of an executor process, run on a thread of the test, which dials a driver in the
 * test: what it sends, what ends it, and that it leaves nothing behind. */
#include "engine/executor/executor_process.h"

#include "engine/driver/driver.h"
#include "engine/net/listener.h"
#include "engine/net/net_init.h"
#include "engine/net/wire.h"
#include "engine/plan/stage_plan.h"
#include "engine/transfer/message.h"
#include "engine/transfer/wire_fetch.h"
#include "tests/support/local.h"

#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>

enum { MAPS = 2, STAGE = 7 };

struct process_fixture {
    uv_loop_t loop;
    uv_timer_t limit;
    bool late;
    struct net net;
    struct listener *listener;
    struct conn *control, *data;
    bool sends_key;       /* the driver sends JOB_KEY */
    unsigned failed_data; /* how many data connections it rejects */
    unsigned pings, registrations, done_count, failed_count, fetch_errors;
    struct executor_registration registration;
    struct glint_error failure;
    struct context_config registry;
    struct cluster cluster;
    struct executor_process_config config;
    char dir[64];
    pthread_t thread;
    struct glint_error error; /* executor_process_run's */
    int code;
};

static struct process_fixture w;
static int64_t live;

/* ---- Driver */

static void send_frame(struct conn *c, enum frame_type type, struct buffer *payload)
{
    conn_send(c, type, 0, payload);
    if (payload != NULL) buffer_fini(payload);
}

static int on_frame(void *arg, struct conn *c, const struct frame *f, struct glint_slice payload,
                    struct glint_error *error)
{
    (void)arg, (void)c;
    w.pings += f->type == FRAME_PING;
    w.fetch_errors += f->type == FRAME_FETCH_ERROR;
    if (f->type == FRAME_REGISTER) {
        w.registrations++;
        return executor_registration_decode(payload, &w.registration, error);
    }
    if (f->type != FRAME_MESSAGE) return 0;
    struct message *m = message_decode(payload, error);
    cr_assert_not_null(m);
    w.done_count += m->type == MSG_DONE;
    w.failed_count += m->type == MSG_FAILED;
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

static void send_key(struct conn *c)
{
    struct buffer payload = {NULL, 0, 0};
    struct glint_error error = {.code = GLINT_OK};
    cr_assert_eq(job_key_encode(&(struct secret){{7}}, &payload, &error), 0);
    send_frame(c, FRAME_JOB_KEY, &payload);
}

static bool on_accepted(void *arg, struct conn *c, struct glint_error *error)
{
    (void)arg;
    bool control = conn_peer_hello(c)->channel == CHANNEL_CONTROL;
    cr_expect_eq(conn_peer_hello(c)->role, ROLE_EXECUTOR);
    if (!control && w.failed_data > 0) {
        w.failed_data--;
        error_set(error, GLINT_E_CONNECTION, NULL, "not now");
        return false;
    }
    if (control)
        w.control = c;
    else
        w.data = c;
    conn_set_events(c, &events, NULL);
    if (control && w.sends_key) send_key(c);
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
        uv_timer_start(&w.limit, on_limit, 180000, 0);                                             \
        while (!(condition) && !w.late) uv_run(&w.loop, UV_RUN_ONCE);                              \
        cr_assert(condition, "not within 3 minutes: " #condition);                                 \
    } while (0)

/* ---- Executor */

static void *run(void *arg)
{
    (void)arg;
    w.code = executor_process_run(&w.config, &w.error);
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
    live = mem_live_blocks();
    memset(&w, 0, sizeof w);
    snprintf(w.dir, sizeof w.dir, "/tmp/glint-test-child-XXXXXX");
    cr_assert_not_null(mkdtemp(w.dir));
    cr_assert_eq(event_loop_init(&w.loop, env_real(), &error), 0);
    uv_timer_init(&w.loop, &w.limit);
    w.net = (struct net){.loop = &w.loop, .env = env_real(), .connect_ms = 20000};
    hello_fill(&w.net.self);
    w.listener = listener_open(&w.net, "127.0.0.1", 0, on_accepted, NULL, &error);
    cr_assert_not_null(w.listener, "%s", error.cause);
    w.registry = local_config(1, false);
    w.cluster = (struct cluster){.name = "test",
                                 .insecure_plaintext = true,
                                 .heartbeat = {20000000, 10000000000, 20000000000},
                                 .connect_ms = 20000,
                                 .fetch_ms = 20000,
                                 .drain_ms = 20000,
                                 .start_ms = 20000};
    w.config = (struct executor_process_config){.registry = &w.registry,
                                                .env = env_real(),
                                                .cluster = &w.cluster,
                                                .node = "n1",
                                                .host = "127.0.0.1",
                                                .slots = 2,
                                                .memory_bytes = 64 * MIB,
                                                .work_dir = w.dir,
                                                .join_host = "127.0.0.1",
                                                .join_port = listener_port(w.listener)};
}

static void start(void)
{
    cr_assert_eq(pthread_create(&w.thread, NULL, run, NULL), 0);
    UNTIL(w.registrations == 1 && w.data != NULL);
}

/* Closes everything and checks for leftovers. Returns executor_process_run's code. */
static int finish(void)
{
    if (w.control != NULL) conn_close(w.control, false);
    if (w.data != NULL) conn_close(w.data, false);
    listener_close(w.listener);
    uv_close((uv_handle_t *)&w.limit, NULL);
    uv_run(&w.loop, UV_RUN_DEFAULT);
    cr_assert_eq(uv_loop_close(&w.loop), 0);
    pthread_join(w.thread, NULL);
    cr_expect_eq(rmdir(w.dir), 0, "the process left files");
    cr_expect_eq(w.code, (int)w.error.code);
    return w.code;
}

static void end(void)
{
    cr_expect_eq(mem_live_blocks(), live);
}

TestSuite(executor_process, .init = begin, .fini = end);

/* ---- Connecting */

Test(executor_process, each_attempt_to_connect_gets_a_key)
{
    w.sends_key = true;
    w.failed_data = 2;
    cr_assert_eq(pthread_create(&w.thread, NULL, run, NULL), 0);
    UNTIL(w.registrations == 3 && w.data != NULL);
    cr_expect_eq(finish(), 0, "%s", w.error.cause);
}

/* ---- Messages to the executor */

static void send_message(const struct message *m)
{
    struct buffer payload = {NULL, 0, 0};
    struct glint_error error = {.code = GLINT_OK};
    cr_assert_eq(message_encode(m, &payload, &error), 0);
    send_frame(w.control, FRAME_MESSAGE, &payload);
}

static void send_job(void)
{
    const struct task_options options = {
        .line_bytes_max = MIB, .result_bytes_max = MIB, .bad_rows_max = -1};
    struct message m = {.type = MSG_JOB, .id = 3};
    struct glint_error error = {.code = GLINT_OK};
    cr_assert_eq(job_options_encode(&options, &m.body, &error), 0);
    send_message(&m);
    buffer_fini(&m.body);
}

/* Sends a stage of MAPS map tasks, and `tasks` of its tasks. */
static void send_tasks(const struct glint_function *function, unsigned tasks)
{
    struct glint_error error = {.code = GLINT_OK};
    struct context_config config = local_config(1, false);
    struct glint *g = context_create(&config, &error);
    cr_assert_not_null(g, "%s", error.cause);
    struct glint_rdd *numbers = local_numbers(g, 100, MAPS);
    bool endless = function == FN_ENDLESS;
    struct glint_rdd *pairs =
        endless ? glint_flat_map(numbers, function, NULL) : glint_map(numbers, function, NULL);
    struct glint_rdd *parts = glint_partition_by(pairs, MAPS);
    cr_assert_eq(glint_partitions(parts), MAPS);
    struct glint_rdd *wide = parts->shuffle != NULL ? parts->shuffle : parts;
    struct stage_plan plan;
    struct message stage = {.type = MSG_STAGE, .stage = STAGE};
    cr_assert_eq(stage_plan_create(&plan, NULL, wide), 0);
    cr_assert_eq(stage_plan_encode(&plan, &stage.body, &error), 0);
    stage_plan_fini(&plan);
    send_message(&stage);
    buffer_fini(&stage.body);
    for (uint32_t i = 0; i < tasks; i++) {
        struct message task = {.type = MSG_TASK, .stage = STAGE, .task = i, .partition = i};
        cr_assert_eq(rdd_encode_partition_splits(g, wide->parents[0], i, &task.body), 0);
        send_message(&task);
        buffer_fini(&task.body);
    }
    glint_finish(g);
    glint_destroy(g);
}

static void send_peer(uint32_t executor, uint16_t port)
{
    const struct executor_address peer = {
        .executor = executor, .node = "n2", .host = "127.0.0.1", .port = port};
    struct buffer payload = {NULL, 0, 0};
    struct glint_error error = {.code = GLINT_OK};
    cr_assert_eq(executor_address_encode(&peer, &payload, &error), 0);
    send_frame(w.control, FRAME_EXECUTOR_ADDED, &payload);
}

static void send_get(void)
{
    struct get_request get = {.kind = GET_RESULT, .id = 77, .size = 10};
    struct buffer payload = {NULL, 0, 0};
    struct glint_error error = {.code = GLINT_OK};
    cr_assert_eq(get_request_encode(&get, &payload, &error), 0);
    send_frame(w.data, FRAME_GET, &payload);
}

/* ---- Tests */

Test(executor_process, registers_and_exits_with_the_driver)
{
    start();
    cr_expect(w.registration.slots == 2 && w.registration.memory_bytes == 64 * MIB &&
              w.registration.port != 0);
    UNTIL(w.pings >= 2);
    cr_expect_eq(finish(), GLINT_OK);
}

Test(executor_process, runs_tasks_and_answers_block_requests)
{
    start();
    send_job();
    send_peer(1, 1);
    send_tasks(FN_MAP, MAPS);
    UNTIL(w.done_count == MAPS);
    send_get();
    UNTIL(w.fetch_errors == 1);
    cr_expect_eq(w.failed_count, 0);
    cr_expect_eq(finish(), GLINT_OK);
}

/* Returns a non-blocking socket that listens on *port. */
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

/* The executor's number is 3: executors 1 and 2 would dial it, and it dials the first
 * PEERS_PRECONNECT_MAX with a higher number. */
Test(executor_process, dials_peers_with_higher_ids)
{
    uint16_t ports[4 + PEERS_PRECONNECT_MAX];
    int listeners[4 + PEERS_PRECONNECT_MAX];
    start();
    send_job();
    for (uint32_t i = 0; i < 4 + PEERS_PRECONNECT_MAX; i++) {
        listeners[i] = listen_at(&ports[i]);
        send_peer(i < 2 ? 1 + i : 2 + i, ports[i]);
    }
    for (uint32_t i = 2; i < 2 + PEERS_PRECONNECT_MAX; i++) {
        bool dialed = false;
        UNTIL((dialed = dialed || is_dialed(listeners[i])));
    }
    for (uint32_t i = 0; i < 4 + PEERS_PRECONNECT_MAX; i++) {
        cr_expect_not(is_dialed(listeners[i]), "%u", i);
        close(listeners[i]);
    }
    cr_expect_eq(finish(), GLINT_OK);
}

Test(executor_process, running_tasks_end_with_the_driver)
{
    start();
    atomic_store(&local_started, 0);
    send_job();
    send_tasks(FN_ENDLESS, MAPS);
    UNTIL(atomic_load(&local_started) == MAPS || w.pings > 500);
    cr_expect_eq(atomic_load(&local_started), MAPS);
    cr_expect_eq(finish(), GLINT_OK);
}

Test(executor_process, invalid_plan_fails_its_tasks_with_the_cause)
{
    start();
    static const struct glint_module *const none[] = {NULL};
    w.registry.modules = none; /* read when JOB arrives */
    send_job();
    send_tasks(FN_MAP, 1);
    UNTIL(w.failed_count == 1);
    cr_expect_eq(w.failure.code, GLINT_E_PLAN_FUNCTION);
    cr_expect_not_null(strstr(w.failure.cause, "this executor has no function named local."), "%s",
                       w.failure.cause);
    cr_expect_neq(w.failure.hint[0], '\0');
    cr_expect_not_null(w.control);
    cr_expect_eq(finish(), GLINT_OK);
}

Test(executor_process, any_lost_connection_means_driver_lost)
{
    start();
    send_job();
    conn_close(w.data, false);
    UNTIL(w.control == NULL);
    cr_expect_eq(finish(), GLINT_OK);
}

Test(executor_process, silent_driver_is_lost)
{
    w.cluster.heartbeat = (struct liveness_limits){10000000, 50000000, 100000000};
    start();
    send_job();
    UNTIL(w.control == NULL);
    cr_expect_eq(finish(), GLINT_OK);
}

Test(executor_process, message_before_job_is_rejected)
{
    start();
    send_message(&(struct message){.type = MSG_CANCEL});
    UNTIL(w.control == NULL);
    cr_expect_eq(finish(), GLINT_E_PROTOCOL);
}

Test(executor_process, second_job_is_rejected)
{
    start();
    send_job();
    send_job();
    UNTIL(w.control == NULL);
    cr_expect_eq(finish(), GLINT_E_PROTOCOL);
}

Test(executor_process, executor_added_before_job_is_rejected)
{
    start();
    send_peer(1, 1);
    UNTIL(w.control == NULL);
    cr_expect_eq(finish(), GLINT_E_PROTOCOL);
}

Test(executor_process, get_before_job_is_rejected)
{
    start();
    send_get();
    UNTIL(w.data == NULL);
    cr_expect_eq(finish(), GLINT_E_PROTOCOL);
}

Test(executor_process, unexpected_frame_is_rejected)
{
    start();
    send_frame(w.control, FRAME_STATUS, NULL);
    UNTIL(w.control == NULL);
    cr_expect_eq(finish(), GLINT_E_PROTOCOL);
}

Test(executor_process, malformed_payload_is_rejected)
{
    struct buffer payload = {NULL, 0, 0};
    start();
    cr_assert(buffer_append(&payload, "nonsense", 8));
    send_frame(w.control, FRAME_MESSAGE, &payload);
    UNTIL(w.control == NULL);
    cr_expect_eq(finish(), GLINT_E_PROTOCOL);
}

Test(executor_process, absent_driver_is_an_error)
{
    w.config.join_port = 1;
    w.cluster.start_ms = 100;
    cr_assert_eq(pthread_create(&w.thread, NULL, run, NULL), 0);
    cr_expect_eq(finish(), GLINT_E_CONNECTION);
    cr_expect_not_null(strstr(w.error.cause, "no driver at 127.0.0.1:1"));
}

Test(executor_process, driver_of_other_cluster_is_rejected)
{
    snprintf(w.net.self.cluster, sizeof w.net.self.cluster, "other");
    cr_assert_eq(pthread_create(&w.thread, NULL, run, NULL), 0);
    UNTIL(w.net.rejected > 0);
    cr_expect_eq(finish(), GLINT_E_PEER_MISMATCH);
}

Test(executor_process, missing_work_dir_is_an_error)
{
    w.config.work_dir = "/nonexistent/directory";
    cr_assert_eq(pthread_create(&w.thread, NULL, run, NULL), 0);
    cr_expect_eq(finish(), GLINT_E_WORK_DIR);
}

Test(executor_process, overlong_work_dir_is_an_error)
{
    char path[5000];
    memset(path, 'a', sizeof path - 1);
    path[sizeof path - 1] = '\0';
    w.config.work_dir = path;
    cr_assert_eq(pthread_create(&w.thread, NULL, run, NULL), 0);
    cr_expect_eq(finish(), GLINT_E_WORK_DIR);
    cr_expect_not_null(strstr(w.error.cause, "too long"), "%s", w.error.cause);
}

Test(executor_process, too_little_memory_is_an_error)
{
    w.config.memory_bytes = MIB;
    cr_assert_eq(pthread_create(&w.thread, NULL, run, NULL), 0);
    cr_expect_eq(finish(), GLINT_E_MEMORY_LIMIT);
}
