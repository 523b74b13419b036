/* Creation and destruction of a context (glint_context.h): checks the options and starts the
 * driver, with executors in this process or of a cluster. */
#include "engine/driver/create.h"
#include "engine/base/text.h"
#include "engine/driver/cluster_transport.h"
#include "engine/driver/local_transport.h"
#include "engine/driver/stage_session.h"

#include <string.h>
#include <unistd.h>

/* The planner sizes partitions by the memory of a slot, and any task may run on any executor: takes
 * the smallest slot of the cluster, times `slots`. 0 with --listen, where executors are not known
 * yet. */
static uint64_t cluster_memory_bytes(const struct cluster *cluster, uint32_t slots)
{
    uint64_t least = 0;
    for (uint32_t i = 0; cluster->listen_host == NULL && i < cluster->executor_count; i++) {
        const struct cluster_executor *e = &cluster->executors[i];
        /* Without `slots` in its file an executor uses its processors: assume as many as here. */
        uint64_t share = e->memory_bytes / (e->slots > 0 ? e->slots : slots);
        if (share < SLOT_MEMORY_BYTES_MIN) share = SLOT_MEMORY_BYTES_MIN; /* else it won't start */
        if (i == 0 || share < least) least = share;
    }
    return least * slots;
}

/* Replaces zeros by defaults and checks limits. Returns 0, or BAD_VALUE, MEMORY_LIMIT. */
static int config_check(struct context_config *c, struct glint_error *error)
{
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    if (c->slots == 0) c->slots = processors > 0 ? (uint32_t)processors : 1;
    if (c->memory_bytes == 0 && c->cluster != NULL && c->slots <= SLOTS_MAX)
        c->memory_bytes = cluster_memory_bytes(c->cluster, c->slots);
    if (c->memory_bytes == 0) c->memory_bytes = MEMORY_BYTES_DEFAULT;
    if (c->line_bytes_max == 0) c->line_bytes_max = LINE_BYTES_MAX_DEFAULT;
    if (c->result_bytes_max == 0) c->result_bytes_max = RESULT_BYTES_MAX;
    if (c->env == NULL) c->env = env_real();
    if (c->slots > SLOTS_MAX)
        return error_set(error, GLINT_E_BAD_VALUE, NULL, "local[%u]: at most %u slots", c->slots,
                         SLOTS_MAX);
    char need[TEXT_NUMBER_MAX];
    text_format_bytes(need, SLOT_MEMORY_BYTES_MIN * c->slots);
    if (c->memory_bytes / c->slots < SLOT_MEMORY_BYTES_MIN)
        return error_set(error, GLINT_E_MEMORY_LIMIT, "raise --memory, or use fewer slots",
                         "%u slots need at least %s", c->slots, need);
    if (c->line_bytes_max > VALUE_BYTES_MAX)
        return error_set(error, GLINT_E_BAD_VALUE, NULL, "--max-line is at most 4 GiB");
    if (c->result_bytes_max > RESULT_BYTES_MAX)
        return error_set(error, GLINT_E_BAD_VALUE, NULL, "the result limit is at most %llu bytes",
                         (unsigned long long)RESULT_BYTES_MAX);
    return 0;
}

/* This process runs all tasks, or passes on what another engine has made of them. */
static int create_local_transport(struct glint *g, struct transport *out)
{
    struct transport local;
    int r = local_transport_create(g, out);
    if (r != 0 || g->config.stage == NULL) return r;
    local = *out;
    r = stage_transport_create(g, g->config.stage, &local, out);
    if (r != 0) local.destroy(local.arg);
    return r;
}

/* On a cluster, executors are added later, by events of the transport. Returns 0, or a code with
 * the context's error set. */
static int start_driver(struct glint *g, bool remote)
{
    struct transport transport;
    int r = remote ? cluster_transport_create(g, g->config.cluster, &transport, &g->error)
                   : create_local_transport(g, &transport);
    if (r != 0) return r;
    struct driver *driver = driver_create(g, &transport);
    if (driver == NULL) {
        transport.destroy(transport.arg);
        return g->error.code;
    }
    struct runner *runner = driver_as_runner(driver);
    const struct executor_info info = {
        .name = "local", .host = "localhost", .slots = g->config.slots};
    if (remote || driver_on_executor_added(driver, &info) == 0) {
        g->runner = runner;
        return 0;
    }
    runner->destroy(runner); /* and the transport */
    return g->error.code;
}

struct glint *context_create(const struct context_config *config, struct glint_error *error)
{
    struct context_config c = *config;
    memset(error, 0, sizeof *error);
    if (config_check(&c, error) != 0) return NULL;
    struct glint *g = mem_zalloc(sizeof *g);
    if (g == NULL) {
        error_no_memory(error);
        return NULL;
    }
    context_init(g, &c);
    if (c.env->random(c.env, &g->job_id, sizeof g->job_id) != 0)
        error_set(&g->error, GLINT_E_SYSTEM, NULL, "cannot get random numbers");
    if (g->job_id == 0) g->job_id = 1;             /* 0 is no job */
    bool remote = c.cluster != NULL && !c.explain; /* explain needs no executors */
    int r = g->error.code;
    if (r == 0) r = start_driver(g, remote);
    if (r == 0) return g;
    *error = g->error;
    context_fini(g);
    mem_free(g);
    return NULL;
}

int glint_finish(struct glint *g)
{
    return g->runner->finish(g->runner);
}

void glint_destroy(struct glint *g)
{
    if (g == NULL) return;
    bool stuck = g->runner->stuck;
    g->runner->destroy(g->runner);
    if (stuck) return; /* a task still runs and uses the context: leak it, the process exits */
    context_fini(g);
    mem_free(g);
}

uint64_t glint_job_id(const struct glint *g)
{
    return g->job_id;
}

void glint_interrupt(struct glint *g, enum glint_code code)
{
    g->runner->interrupt(g->runner, code);
}

const struct glint_summary *glint_summarize(struct glint *g)
{
    g->runner->summarize(g->runner, &g->summary);
    g->summary.answers = g->answers;
    return &g->summary;
}
