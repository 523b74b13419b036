/* The driver's side of a cluster under many threads: tasks and large results are sent while another
 * thread wakes the driver, executors die and reconnect, and a broadcast is sent. A plain program,
 * because Criterion does not run under the thread sanitizer. */
#include "tests/support/fake_cluster.h"
#include "tests/support/fake_driver_calls.h"

#include <pthread.h>
#include <signal.h>

enum { NODES = 3, TASKS = 90, ROUNDS = 3 };

static struct fake_context context;
static struct fake_node nodes[NODES];
static struct cluster_executor executors[NODES];
static uint8_t value[5 * MIB];
static atomic_bool over;

static void *wake_often(void *arg)
{
    const struct transport *t = arg;
    while (!atomic_load(&over)) {
        t->wake(t->arg);
        sched_yield();
    }
    return NULL;
}

static bool send_task(uint32_t executor, uint32_t task)
{
    struct glint_error error = {.code = GLINT_OK};
    struct message *m = message_create(MSG_TASK);
    if (m == NULL) return false;
    m->task = task;
    return context.transport.send(context.transport.arg, executor, m, &error) == 0;
}

static bool send_value(uint32_t executor, uint64_t id)
{
    struct glint_error error = {.code = GLINT_OK};
    struct message *m = message_create(MSG_BROADCAST);
    if (m == NULL) return false;
    m->id = id;
    m->body = (struct buffer){value, sizeof value, sizeof value};
    m->body_borrowed = true;
    return context.transport.send(context.transport.arg, executor, m, &error) == 0;
}

/* All executors run tasks; the second one is killed once and reconnects. */
static bool run_tasks(struct fake_cluster *fakes)
{
    const struct driver *d = &context.driver;
    bool ok = true;
    for (uint32_t e = 0; e < NODES; e++) ok = ok && send_value(e, 9);
    for (uint32_t e = 0; e < NODES; e++) FAKE_UNTIL(&context, nodes[e].values == 1);
    for (uint32_t i = 0; i < TASKS; i++) {
        ok = ok && send_task(i % NODES, i);
        if (i == TASKS / 2) fake_do(fakes, 1, FAKE_DIE, SIGKILL);
    }
    FAKE_UNTIL(&context, d->lost == 1 && d->executors == NODES + 1);
    ok = ok && d->lost == 1 && d->executors == NODES + 1 && send_task(NODES, 1);
    uint32_t wanted = 2 * TASKS / NODES + 1; /* of the live ones and the new one */
    FAKE_UNTIL(&context, d->messages >= wanted);
    return ok && d->messages >= wanted;
}

static bool run(const struct secrets *secrets, const char *secret_path)
{
    struct cluster cluster = {.name = "fake",
                              .secret_file = secret_path,
                              .insecure_plaintext = secrets == NULL,
                              .heartbeat = {20000000, 10000000000, 20000000000},
                              .connect_ms = 10000,
                              .start_ms = 20000,
                              .fetch_ms = 20000,
                              .executors = executors,
                              .executor_count = NODES};
    struct glint_error error = {.code = GLINT_OK};
    pthread_t waker;
    memset(nodes, 0, sizeof nodes);
    for (uint32_t i = 0; i < NODES; i++) {
        static const char *const names[NODES] = {"e1", "e2", "e3"};
        nodes[i].name = names[i];
        nodes[i].slots = 2;
        nodes[i].result = i == 0 ? FAKE_LARGE : FAKE_SMALL;
        nodes[i].result_bytes = i == 0 ? 2 * MIB : 0;
    }
    struct fake_cluster *fakes = fake_start(nodes, NODES, "fake", secrets, 0);
    fake_cluster_run(fakes);
    for (uint32_t i = 0; i < NODES; i++)
        executors[i] = (struct cluster_executor){
            .id = nodes[i].name, .host = "127.0.0.1", .port = nodes[i].port};
    bool ok = fake_context_start(&context, &cluster, &error) == 0;
    if (ok) {
        atomic_store(&over, false);
        ok = pthread_create(&waker, NULL, wake_often, &context.transport) == 0;
        FAKE_UNTIL(&context, context.driver.executors == NODES);
        ok = ok && context.driver.executors == NODES && run_tasks(fakes);
        atomic_store(&over, true);
        pthread_join(waker, NULL);
        fake_context_stop(&context);
    }
    fake_stop(fakes);
    if (!ok) fprintf(stderr, "%s%s\n", error.cause, context.driver.notes);
    return ok;
}

int main(void)
{
    struct secrets secrets;
    struct glint_error error = {.code = GLINT_OK};
    char path[] = "/tmp/plain-remote-XXXXXX/secret";
    unsigned passed = 0, failed = 0;
    for (size_t i = 0; i < sizeof value; i++) value[i] = (uint8_t)(i * 31 + 9);
    path[sizeof "/tmp/plain-remote-XXXXXX" - 1] = '\0';
    if (mkdtemp(path) == NULL) return 1;
    path[sizeof "/tmp/plain-remote-XXXXXX" - 1] = '/';
    if (secret_file_create(env_real(), path, &error) != 0 ||
        secrets_load(env_real(), path, &secrets, &error) != 0) {
        fprintf(stderr, "%s\n", error.cause);
        return 1;
    }
    for (unsigned i = 0; i < ROUNDS; i++) {
        bool ok = run(i == 0 ? &secrets : NULL, path);
        passed += ok;
        failed += !ok;
    }
    env_real()->remove(env_real(), ENV_CWD, path, false);
    path[sizeof "/tmp/plain-remote-XXXXXX" - 1] = '\0';
    env_real()->remove(env_real(), ENV_CWD, path, true);
    if (mem_live_blocks() != 0) failed++;
    printf("%u passed, %u failed\n", passed, failed);
    return failed > 0;
}
