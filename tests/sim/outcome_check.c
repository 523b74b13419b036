/* Checks how a job ended: an error must be justified by faults that were seen, and with a permanent
 * fault alone the outcome is determined. */
#include "engine/base/error.h"
#include "tests/sim/sim.h"

#include <assert.h>

/* Whether the faults that were seen can lead to this error. */
static bool error_is_justified(const struct sim *s, enum glint_code code)
{
    const struct sim_seen *o = &s->seen;
    switch (code) {
    case GLINT_E_TOO_MANY_EXECUTOR_FAILURES: return o->losses > EXECUTOR_FAILURES_MAX;
    case GLINT_E_FETCH_FAILED: return o->stage_attempts_exhausted;
    case GLINT_E_NO_EXECUTORS: return s->no_executors;
    case GLINT_E_INTERRUPTED: return s->interrupted_at != 0;
    case GLINT_E_TIMEOUT: return s->config.timeout_ns > 0 && s->now >= s->config.timeout_ns;
    case GLINT_E_OUTPUT_FULL:
        return s->commit_refused || (o->fatal == code && s->output_refused > 0);
    case GLINT_E_FUNCTION_FAILED: return o->fatal == code && s->lasting == LASTING_BAD_ROW;
    case GLINT_E_EXECUTOR_LOST: return o->exhausted == code;
    case GLINT_E_SPILL_FULL: return o->exhausted == code && s->counts.full_disks > 0;
    case GLINT_E_SYSTEM: return o->exhausted == code && s->lasting == LASTING_BAD_NODES;
    default: return false;
    }
}

/* Without temporary faults the permanent one determines how the job must end. */
static void check_lasting_outcome(struct sim *s, const struct glint_error *error)
{
    uint32_t bad = 0, corrupting = 0, severed = 0;
    enum glint_code code = error->code, wanted = code;
    for (uint32_t n = 0; n < s->node_count; n++) {
        bad += s->nodes[n].bad;
        corrupting += s->nodes[n].corrupts_outputs;
        severed += s->severed[n];
    }
    assert(s->faults == 0 && s->node_count > 0);
    switch (s->lasting) {
    case LASTING_POISON:
        wanted = s->seen.exhausted; /* OK: a task that was still needed never exhausted them */
        if (s->poison_done < TASK_ATTEMPTS_MAX) wanted = GLINT_OK;
        if (!s->cluster.speculate && s->poison_done > TASK_ATTEMPTS_MAX)
            sim_fail(s, "one task killed %u processes", s->poison_done);
        break;
    case LASTING_BAD_NODES: /* all nodes join at time 0, so tasks can avoid the bad ones */
        if (bad < TASK_ATTEMPTS_MAX && bad < s->node_count) wanted = GLINT_OK;
        if (bad == s->node_count) wanted = GLINT_E_SYSTEM;
        break;
    case LASTING_CORRUPT_OUTPUTS:
        if (corrupting == s->node_count && s->counts.flips > 0) wanted = GLINT_E_FETCH_FAILED;
        break;
    case LASTING_SEVERED:
        if (severed == 1) wanted = GLINT_OK; /* the other nodes can run all tasks */
        break;
    case LASTING_BAD_ROW: wanted = GLINT_E_FUNCTION_FAILED; break;
    case LASTING_NOTHING:
    case LASTING_LEAVING: wanted = GLINT_OK; break;
    default: break; /* it may happen after the end, or affect nothing */
    }
    if (code != wanted)
        sim_fail(s, "ended with %s, expected %s", glint_code_name(code), glint_code_name(wanted));
}

/* Without any fault nothing is retried. */
static void check_quiet_outcome(struct sim *s, const struct glint_summary *summary)
{
    if (summary->retries > 0 || s->counts.losses > 0 || s->counts.own_failures > 0 ||
        s->counts.fetch_failures > 0)
        sim_fail(s, "%u retries, %u losses, %u failures, %u failed fetches without any fault",
                 summary->retries, s->counts.losses, s->counts.own_failures,
                 s->counts.fetch_failures);
}

void check_outcome(struct sim *s, const struct glint_error *error,
                   const struct glint_summary *summary)
{
    const struct sim_seen *o = &s->seen;
    if (error->code != GLINT_OK && !error_is_justified(s, error->code))
        sim_fail(s, "failed without a fault that explains it: %s %s; %s",
                 glint_code_name(error->code), error->cause, error->effect);
    if (error->code == GLINT_OK && (o->too_many_losses || s->no_executors || o->fatal != GLINT_OK))
        sim_fail(s, "succeeded after %u losses%s%s", o->losses,
                 s->no_executors ? ", without executors" : "",
                 o->fatal != GLINT_OK ? ", after an error that is not retryable" : "");
    if (error->code == GLINT_OK && s->interrupted_at != 0)
        sim_fail(s, "succeeded after an interrupt");
    if (s->faults == 0) check_lasting_outcome(s, error);
    if (s->faults == 0 && s->lasting == LASTING_NOTHING) check_quiet_outcome(s, summary);
    uint64_t told_at = s->interrupted_at != 0 ? s->interrupted_at : s->config.timeout_ns;
    bool told_to = error->code == GLINT_E_INTERRUPTED || error->code == GLINT_E_TIMEOUT;
    if (told_to && s->now > told_at + 11 * SECOND)
        sim_fail(s, "the job ended only after %llu ms",
                 (unsigned long long)((s->now - told_at) / MILLI));
}
