/* The driver's own life: it is made with a transport, runs actions (action.c), and in the end
 * publishes or removes outputs (commits.c). */
#include "engine/driver/driver.h"

#include "engine/base/text.h"
#include "engine/driver/internal.h"
#include "engine/driver/journal.h"

#include <assert.h>
#include <string.h>

static int driver_finish(struct runner *runner)
{
    struct driver *d = (struct driver *)runner;
    struct glint_error *e = driver_error(d);
    if (e->code == GLINT_OK) driver_check_clock(d);
    if (d->g->config.explain) explain_end(d);
    if (e->code == GLINT_OK) commits_publish(d);
    if (e->code == GLINT_OK) {
        journal_job_end(d);
        return 0;
    }
    const char *kept = commits_discard(d);
    char what[sizeof e->effect];
    memcpy(what, e->effect, sizeof what);
    text_format(e->effect, sizeof e->effect, "%s%s%s", what, what[0] ? "; " : "", kept);
    journal_job_end(d);
    return e->code;
}

static int driver_reserve(struct runner *runner, const char *path)
{
    return commits_reserve((struct driver *)runner, path);
}

static void driver_interrupt(struct runner *runner, enum glint_code code)
{
    struct driver *d = (struct driver *)runner;
    int none = 0;
    atomic_compare_exchange_strong(&d->interrupt, &none, (int)code);
    d->transport.wake(d->transport.arg);
}

static void driver_summarize(struct runner *runner, struct glint_summary *out)
{
    struct driver *d = (struct driver *)runner;
    tally_sort(&d->tally);
    *out = (struct glint_summary){
        .job_id = d->g->job_id,
        .elapsed_ns = d->env->now_ns(d->env) - d->begun_ns,
        .stages = d->tally.stage_count,
        .tasks = d->tally.tasks,
        .stages_skipped = d->tally.stages_skipped,
        .retries = d->tally.retries,
        .counter_count = d->tally.counter_count,
        .counter_names = (const char *const *)d->tally.names,
        .counter_values = d->tally.values,
        .stage_count = d->tally.stage_count,
        .stage_times = d->tally.stages,
        .output_count = d->g->error.code == GLINT_OK ? d->published_count : 0,
        .outputs = d->published};
}

static int64_t driver_counter(struct runner *runner, const char *name)
{
    return tally_value(&((struct driver *)runner)->tally, name);
}

static void driver_destroy(struct runner *runner)
{
    struct driver *d = (struct driver *)runner;
    commits_fini(d);
    d->transport.destroy(d->transport.arg);
    journal_close(d);
    if (d->runner.stuck) return; /* the transport may still be told */
    outputs_destroy(d->outputs);
    members_fini(d);
    reach_fini(&d->reach);
    tally_fini(&d->tally);
    mem_free(d);
}

struct driver *driver_create(struct glint *g, const struct transport *transport)
{
    struct driver *d = mem_zalloc(sizeof *d);
    struct env *env = g->config.env;
    assert(transport->send != NULL && transport->wait != NULL);
    if (d == NULL) {
        error_no_memory(&g->error);
        return NULL;
    }
    *d = (struct driver){.runner = {.run = driver_run,
                                    .reserve = driver_reserve,
                                    .finish = driver_finish,
                                    .interrupt = driver_interrupt,
                                    .summarize = driver_summarize,
                                    .counter = driver_counter,
                                    .destroy = driver_destroy},
                         .g = g,
                         .env = env,
                         .transport = *transport,
                         .next_stage = 1,
                         .begun_ns = env->now_ns(env)};
    if (g->config.timeout_ns > 0) d->deadline_ns = d->begun_ns + g->config.timeout_ns;
    if (journal_open(d) == 0) return d;
    mem_free(d);
    return NULL;
}

struct runner *driver_runner(struct driver *d)
{
    return &d->runner;
}
