/* For every n, the driver's side of a cluster when its n-th allocation fails, or all from the n-th
 * on: it continues or returns an error, and frees everything. The executors are in another process,
 * whose allocations do not fail. */
#include "tests/support/fake_cluster.h"
#include "tests/support/fake_driver_calls.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

enum { NODES = 2, ONCE_RUNS = 260, FROM_RUNS = 60, FROM_STEP = 4, WAIT_NS = 300000000 };

static struct fake_context context;
static struct cluster_executor executors[NODES];
static uint8_t value[100];

/* The other process: writes its ports to `ports` and runs until `until` is closed. */
static void run_nodes(int ports, int until)
{
    static struct fake_node nodes[NODES];
    char byte;
    for (uint32_t i = 0; i < NODES; i++) {
        nodes[i] = (struct fake_node){.name = i == 0 ? "e1" : "e2",
                                      .slots = 1,
                                      .result = i == 0 ? FAKE_LARGE : FAKE_SMALL,
                                      .result_bytes = i == 0 ? 1100000 : 0};
    }
    struct fake_cluster *f = fake_start(nodes, NODES, "fake", NULL, 0);
    fake_cluster_run(f);
    for (uint32_t i = 0; i < NODES; i++)
        if (write(ports, &nodes[i].port, sizeof nodes[i].port) < 0) abort();
    while (read(until, &byte, 1) > 0) {
    }
    fake_stop(f);
    _exit(0);
}

static int send_all(uint32_t executor)
{
    struct glint_error error = {.code = GLINT_OK};
    const struct transport *t = &context.transport;
    int r = 0;
    for (uint32_t task = 0; task < 2 && r == 0; task++) {
        struct message *m = message_create(MSG_TASK);
        if (m == NULL) return error_no_memory(&error);
        m->task = task;
        r = t->send(t->arg, executor, m, &error);
    }
    struct message *m = r == 0 ? message_create(MSG_BROADCAST) : NULL;
    if (m == NULL) return r != 0 ? r : error_no_memory(&error);
    m->id = 3;
    m->body = (struct buffer){value, sizeof value, sizeof value};
    m->body_borrowed = true;
    r = t->send(t->arg, executor, m, &error);
    return r == 0 || error.code == r ? r : GLINT_E_PROTOCOL;
}

static bool is_finished(const struct driver *d, uint64_t end_ns)
{
    return d->no_executors > 0 || d->lost > 0 || d->messages >= 2 * NODES ||
           env_real()->now_ns(env_real()) >= end_ns;
}

/* Returns whether the run behaved. With `from` no allocation succeeds, not even that of an error
 * message, so the wait has a limit. */
static bool try(int64_t n, bool from)
{
    struct cluster cluster = {.name = "fake",
                              .insecure_plaintext = true,
                              .heartbeat = {100000000, 60000000000, 120000000000},
                              .connect_ms = 60000,
                              .start_ms = from ? 50 : 60000,
                              .fetch_ms = 60000,
                              .executors_min = from ? 1 : NODES,
                              .executors = executors,
                              .executor_count = NODES};
    struct glint_error error = {.code = GLINT_OK};
    const struct driver *d = &context.driver;
    int64_t before = mem_live_blocks();
    mem_fail_at(n, from);
    int r = fake_context_start(&context, &cluster, &error);
    bool ok = r == error.code && (r == 0 || r == GLINT_E_NO_MEMORY || r == GLINT_E_SYSTEM);
    if (r == 0) {
        uint64_t end_ns =
            env_real()->now_ns(env_real()) + (from ? WAIT_NS : 600 * (uint64_t)WAIT_NS);
        uint32_t sent_to = 0;
        while (!is_finished(d, end_ns)) {
            fake_context_wait_ms(&context, 20);
            while (sent_to < d->executors && r == 0 && d->lost == 0) r = send_all(sent_to++);
            if (r != 0) break;
        }
        ok = ok && (r == 0 || r == GLINT_E_NO_MEMORY);
        ok = ok && (from || r != 0 || d->lost > 0 || d->messages >= 2 * NODES);
        if (!ok)
            fprintf(stderr, "%u joined, %u lost, %u messages, %d\n", d->executors, d->lost,
                    d->messages, r);
        fake_context_stop(&context);
    }
    mem_fail_at(0, false);
    if (ok && mem_live_blocks() == before) return true;
    fprintf(stderr, "%s %lld: %lld blocks are left; %s\n", from ? "from" : "once", (long long)n,
            (long long)(mem_live_blocks() - before), error.cause);
    return false;
}

int main(void)
{
    int ports[2], until[2], status = 1;
    unsigned passed = 0, failed = 0;
    for (size_t i = 0; i < sizeof value; i++) value[i] = (uint8_t)(i * 31 + 3);
    if (pipe(ports) != 0 || pipe(until) != 0) return 1;
    pid_t child = fork();
    if (child == 0) {
        close(until[1]);
        run_nodes(ports[1], until[0]);
    }
    for (uint32_t i = 0; i < NODES; i++) {
        executors[i] = (struct cluster_executor){.id = i == 0 ? "e1" : "e2", .host = "127.0.0.1"};
        if (read(ports[0], &executors[i].port, sizeof executors[i].port) < 0) return 1;
    }
    for (int64_t n = 0; n < ONCE_RUNS; n++) {
        bool ok = try(n, false); /* n 0: nothing fails */
        passed += ok;
        failed += !ok;
    }
    for (int64_t n = 1; n < FROM_RUNS * FROM_STEP; n += FROM_STEP) {
        bool ok = try(n, true);
        passed += ok;
        failed += !ok;
    }
    close(until[1]);
    if (waitpid(child, &status, 0) != child || status != 0) failed++;
    printf("%u passed, %u failed\n", passed, failed);
    return failed > 0;
}
