/* Creates and destroys the driver, and ends the job: publishes its outputs, or removes them after
 * an error (job_outputs.c). Actions: action.c. */
#include "engine/driver/driver.h"

#include "engine/base/text.h"
#include "engine/driver/driver_internal.h"
#include "engine/driver/event_log_listener.h"

#include <assert.h>
#include <string.h>

/* Publishes the outputs if no error has occurred. commit_job can itself fail; then nothing is
 * published, as after any other error. */
static int driver_finish_job(struct runner *runner)
{
    struct driver *d = (struct driver *)runner;
    struct glint_error *e = driver_error(d);
    /* The last chance to cancel: after this the outputs are published. */
    if (e->code == GLINT_OK) driver_check_interrupt_or_timeout(d);
    if (d->g->config.explain) explain_finish_job(d);
    if (e->code == GLINT_OK) commit_job(d);
    if (e->code == GLINT_OK) {
        event_log_listener_on_job_end(d);
        return 0;
    }
    const char *kept = abort_job(d);
    /* text_format cannot read what it overwrites, so copy the effect first. */
    char what[sizeof e->effect];
    memcpy(what, e->effect, sizeof what);
    char left[64] = "";
    if (d->kept_count > 0)
        text_format(left, sizeof left, "; %u checkpoint%s left", d->kept_count,
                    d->kept_count == 1 ? " is" : "s are");
    text_format(e->effect, sizeof e->effect, "%s%s%s%s", what, what[0] ? "; " : "", kept, left);
    event_log_listener_on_job_end(d);
    return e->code;
}

static int driver_reserve_output(struct runner *runner, const char *path)
{
    return job_outputs_reserve((struct driver *)runner, path);
}

/* Any thread, also signal handlers: only atomics, a write and the transport's wake. */
static void driver_interrupt(struct runner *runner, enum glint_code code)
{
    struct driver *d = (struct driver *)runner;
    int none = 0;
    atomic_compare_exchange_strong(&d->interrupt, &none, (int)code); /* the first reason is kept */
    if (atomic_load(&d->cancel_opened)) cancel_post(&d->cancel);
    d->transport.wake(d->transport.arg);
}

static int driver_cancel_file(struct runner *runner)
{
    struct driver *d = (struct driver *)runner;
    const uint64_t now = d->env->now_ns(d->env);
    if (!atomic_load(&d->cancel_opened)) {
        uint64_t left = 0;
        if (d->deadline_ns != 0) left = d->deadline_ns > now ? d->deadline_ns - now : 1;
        if (cancel_open(&d->cancel, left, driver_error(d)) != 0) return driver_error(d)->code;
        atomic_store(&d->cancel_opened, true);
        /* After the store: an interrupt that came before it has not posted. */
        if (atomic_load(&d->interrupt) != 0) cancel_post(&d->cancel);
    }
    return cancel_file(&d->cancel);
}

static void driver_check_interrupt(struct runner *runner)
{
    driver_check_interrupt_or_timeout((struct driver *)runner);
}

static void driver_recover(struct runner *runner)
{
    struct driver *d = (struct driver *)runner;
    assert(d->action_run == NULL);
    /* Not closed: sources that exist have its number, and an interrupt may post now. */
    if (atomic_exchange(&d->interrupt, 0) != 0 && atomic_load(&d->cancel_opened))
        cancel_reset(&d->cancel);
    job_outputs_remove_failed(d);
}

static void driver_summarize(struct runner *runner, struct glint_summary *out)
{
    struct driver *d = (struct driver *)runner;
    job_metrics_sort_counters(&d->metrics);
    *out = (struct glint_summary){.job_id = d->g->job_id,
                                  .elapsed_ns = d->env->now_ns(d->env) - d->start_ns,
                                  .stages = d->metrics.stages_started,
                                  .tasks = d->metrics.tasks,
                                  .stages_skipped = d->metrics.stages_skipped,
                                  .retries = d->metrics.retries,
                                  .counter_count = d->metrics.counter_count,
                                  .counter_names = (const char *const *)d->metrics.names,
                                  .counter_values = d->metrics.values,
                                  .stage_count = d->metrics.stage_count,
                                  .stage_times = d->metrics.stages,
                                  .output_count =
                                      d->g->error.code == GLINT_OK ? d->published_count : 0,
                                  .outputs = d->published,
                                  .accumulators = accumulators_list(&d->accumulators)};
}

static void driver_unpersist(struct runner *runner, const struct glint_rdd *rdd)
{
    struct driver *d = (struct driver *)runner;
    if (!cached_rdds_remove(&d->cached, rdd->id)) return;
    d->cached_changes++;
    send_free(d, FREE_CACHED_BLOCKS, rdd->id, 0);
}

/* Between actions. A stuck task may still use what would be freed. */
static void driver_free_rdd(struct runner *runner, const struct glint_rdd *rdd)
{
    struct driver *d = (struct driver *)runner;
    uint32_t maps = 0;
    assert(d->action_run == NULL);
    if (d->runner.stuck) return;
    driver_unpersist(runner, rdd);
    if (map_outputs_remove_shuffle(&d->map_outputs, rdd->id, &maps))
        send_free(d, FREE_MAP_OUTPUTS, rdd->id, maps);
}

static void driver_free_broadcast(struct runner *runner, uint64_t id, void *data)
{
    struct driver *d = (struct driver *)runner;
    assert(d->action_run == NULL);
    if (d->runner.stuck) return;
    send_free(d, FREE_BROADCAST, id, 0);
    if (d->transport.free_broadcast != NULL)
        d->transport.free_broadcast(d->transport.arg, id, data);
    else
        mem_free(data);
}

static int64_t driver_counter(struct runner *runner, const char *name)
{
    return job_metrics_counter_value(&((struct driver *)runner)->metrics, name);
}

static bool driver_accumulator(struct runner *runner, const char *name, struct glint_cell *out)
{
    return accumulators_find(&((struct driver *)runner)->accumulators, name, out);
}

static void driver_destroy(struct runner *runner)
{
    struct driver *d = (struct driver *)runner;
    job_outputs_fini(d);
    cancel_close(&d->cancel);
    d->transport.destroy(d->transport.arg);
    event_log_listener_close(d);
    if (d->runner.stuck) return; /* a task that still runs may use the transport and the driver */
    map_outputs_destroy(d->map_outputs);
    cached_rdds_destroy(d->cached);
    executors_fini(d);
    reachability_fini(&d->reachability);
    job_metrics_fini(&d->metrics);
    accumulators_fini(&d->accumulators);
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
    *d = (struct driver){.runner = {.run = driver_run_action,
                                    .reserve = driver_reserve_output,
                                    .finish = driver_finish_job,
                                    .unpersist = driver_unpersist,
                                    .free_rdd = driver_free_rdd,
                                    .free_broadcast = driver_free_broadcast,
                                    .interrupt = driver_interrupt,
                                    .cancel_file = driver_cancel_file,
                                    .check_interrupt = driver_check_interrupt,
                                    .recover = driver_recover,
                                    .summarize = driver_summarize,
                                    .counter = driver_counter,
                                    .accumulator = driver_accumulator,
                                    .destroy = driver_destroy},
                         .g = g,
                         .env = env,
                         .transport = *transport,
                         .next_stage = 1,
                         .start_ns = env->now_ns(env)};
    if (g->config.timeout_ns > 0) d->deadline_ns = d->start_ns + g->config.timeout_ns;
    if (event_log_listener_open(d) == 0) return d;
    mem_free(d);
    return NULL;
}

struct runner *driver_as_runner(struct driver *d)
{
    return &d->runner;
}
