/* The fixture (fixture.h), and the driver_on_* functions of the fake driver. */
#include "fixture.h"

#include "tests/support/fake_driver_calls.h"

#include <poll.h>

struct fake_context context;
struct fake_node nodes[FAKE_NODES_MAX];
struct cluster cluster;
struct glint_error error;

static struct cluster_executor executors[FAKE_NODES_MAX];
static struct fake_cluster *fakes;
static struct fake_cluster *silent; /* the last node; NULL: none */
static uint32_t silent_node;
static struct secrets secrets;
static char secret_path[64];
static int64_t live;

static const struct liveness_limits patient = {200 * MS, 60000 * MS, 120000 * MS};

void enter(void)
{
    live = mem_live_blocks();
    fakes = silent = NULL;
    memset(nodes, 0, sizeof nodes);
    for (uint32_t i = 0; i < FAKE_NODES_MAX; i++) {
        static const char *const names[] = {"e1", "e2", "e3", "e4", "e5", "e6", "e7", "e8"};
        nodes[i].name = names[i % 8];
        nodes[i].slots = 2;
    }
    cluster = (struct cluster){.name = "fake",
                               .insecure_plaintext = true,
                               .heartbeat = patient,
                               .connect_ms = 60000,
                               .start_ms = 60000,
                               .fetch_ms = 60000,
                               .executors = executors};
    error = (struct glint_error){.code = GLINT_OK};
}

void leave(void)
{
    cr_expect_eq(mem_live_blocks(), live, "leaked %lld blocks",
                 (long long)(mem_live_blocks() - live));
}

void use_tls(void)
{
    memcpy(secret_path, "/tmp/remote-secret-XXXXXX", sizeof "/tmp/remote-secret-XXXXXX");
    int file = mkstemp(secret_path);
    cr_assert(file >= 0);
    close(file);
    unlink(secret_path);
    cr_assert_eq(secret_file_create(env_real(), secret_path, &error), 0, "%s", error.cause);
    cr_assert_eq(secrets_load(env_real(), secret_path, &secrets, &error), 0, "%s", error.cause);
    cluster.secret_file = secret_path;
    cluster.insecure_plaintext = false;
}

void use_stepped_clock(void)
{
    static const uint64_t hour_ms = 3600 * 1000;
    cluster.start_ms = hour_ms;
    /* A step is no pause of the process, which would be longer than the limit of suspects. */
    cluster.heartbeat = (struct liveness_limits){10 * MS, 24 * hour_ms * MS, 48 * hour_ms * MS};
}

void pass_start_time(void)
{
    fake_context_step(&context, cluster.start_ms * MS);
}

static struct fake_cluster *open_fakes(uint32_t first, uint32_t count, uint16_t driver_port)
{
    const struct secrets *known = cluster.insecure_plaintext ? NULL : &secrets;
    return fake_start(nodes + first, count, "fake", known, driver_port);
}

static void start_fakes(uint32_t count, uint16_t driver_port)
{
    fakes = open_fakes(0, count, driver_port);
    fake_cluster_run(fakes);
}

static void start_driver(uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        executors[i] = (struct cluster_executor){
            .id = nodes[i].name, .host = "127.0.0.1", .port = nodes[i].port};
    cluster.executor_count = count;
    cr_assert_eq(fake_context_start(&context, &cluster, &error), 0, "%s", error.cause);
}

void start(uint32_t count)
{
    start_fakes(count, 0);
    start_driver(count);
}

void start_with_silent_last(uint32_t count)
{
    silent_node = count - 1;
    silent = open_fakes(silent_node, 1, 0);
    start_fakes(silent_node, 0);
    start_driver(count);
}

void respond(void)
{
    fake_cluster_run(silent);
}

void start_listening(uint32_t count)
{
    cluster.listen_host = "127.0.0.1";
    for (uint32_t i = 0; i < count; i++) nodes[i].dials = true;
    cr_assert_eq(fake_context_start(&context, &cluster, &error), 0, "%s", error.cause);
    FAKE_UNTIL(&context, strstr(context.driver.notes, "127.0.0.1:") != NULL);
    const char *at = strstr(context.driver.notes, "127.0.0.1:");
    cr_assert_not_null(at);
    start_fakes(count, (uint16_t)strtoul(at + strlen("127.0.0.1:"), NULL, 10));
}

void act(uint32_t node, enum fake_act what, int value)
{
    if (silent != NULL && node == silent_node)
        fake_do(silent, 0, what, value);
    else
        fake_do(fakes, node, what, value);
}

void stop(void)
{
    fake_context_stop(&context);
    if (fakes != NULL) fake_stop(fakes);
    if (silent != NULL) fake_stop(silent);
    if (cluster.secret_file != NULL) unlink(secret_path);
}

void fake_pause_ms(uint64_t ms)
{
    poll(NULL, 0, (int)ms);
}

int send_task(uint32_t executor, uint32_t task)
{
    struct message *m = message_create(MSG_TASK);
    cr_assert_not_null(m);
    m->stage = 1;
    m->task = m->partition = task;
    m->attempt = 3;
    return context.transport.send(context.transport.arg, executor, m, &error);
}
