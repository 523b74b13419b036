/* What Spark guarantees of its driver, as tests with fake executors: the test decides the outcome
 * of each task. If a guarantee is tested elsewhere, the table names that test. */

/* clang-format off */
/* A task fails
 *   once: only it runs again                guarantees.failed_map_task_reruns_alone, failed_...
 *   each time: four runs, in a rerun also   guarantees.task_failing_every_attempt_fails_the_job
 *   the caller gets its last cause          guarantees.last_failure_cause_is_reported
 *   its message cannot be decoded           transport_data.*, executor_loss.malformed_message_...
 *   result too large, function unknown      unit ops/test_result_limit, fuzz_stage
 *   a later error does not hide the first   error.first_error_is_kept, local.first_error_is_kept
 *   by killing its process, each time       cluster test_faults.PoisonRow
 * Nodes are lost
 *   one, in the map or the result stage     cluster test_faults.KilledDuringMap, KilledAfterMap
 *   three times over, in either stage       cluster test_guarantees.Rounds
 *   one suspect, the others not             guarantees.lost_executor_affects_..., liveness.*
 *   a lost executor returns as a new one    executor_loss.replacement_executor_gets_a_new_id
 *   their number is as before               cluster test_faults.AllExecutors, PausedProcess
 *   outputs of a process, of its daemon     cluster test_faults.KilledAfterMap (executor, daemon)
 * Counters, broadcasts
 *   counters: each task once, sum of 55     guarantees.counters_count_each_task_once
 *   a broadcast is as it was when sent      broadcast_client.*; glint_broadcast copies the value
 *   variables reach executors               daemon_launch.options_override_the_environment
 *   groups beyond the fetch window          fetch.large_segments_pass_a_small_window
 * Shuffles
 *   201 reducers for 4 keys                 local_guarantees.few_keys_work_with_many_reducers
 *   compressed and not                      run.compressible_..., run.records_round_trip
 *   lost between two actions                guarantees.outputs_lost_between_..., ..._at_action_...
 *   as many records read as written         local_guarantees.records_read_equal_records_written
 *   two attempts at a time                  tests/sim (copies), commit_guarantees.exactly_one_...
 * Stages
 *   many failed fetches are one failure     sched_fetch_failure.concurrent_failures_count_once
 *   four in a row end the job               sched_fetch_failure.four_in_a_row_fail_the_stage
 *   two and two in two stages do not        sched_fetch_failure.failures_of_two_stages_do_not_...
 *   a loss removes its outputs once         sched_fetch_failure.executor_loss_drops_its_outputs_...
 *   no partitions at all                    sched.stage_without_tasks_is_done, local.empty_...
 *   thirty levels, each read twice          local_guarantees.thirty_level_diamond_plan_is_fast
 *   a cancelled job says why                cluster test_executor, local.endless_tasks_end_...
 *   all tables are empty at the end         tests/sim (memory, stages, tasks)
 * Commit
 *   one of two attempts, no failed one      commit_guarantees.one_..., commit.losing_attempts_...
 *   retries have new attempt numbers        sched.successful_attempt_is_recorded
 *   no part can be committed: no output     commit_guarantees.missing_part_file_fails_the_job
 * Not ours: caches, unpersist, the external shuffle service, closures. */
/* clang-format on */
#include "tests/unit/driver/driver_fixture.h"

#include <stdio.h>
#include <unistd.h>

enum { MAPS = 3, REDUCES = 2 };

static void fixture_open(struct driver_fixture *w,
                         void (*on_task)(struct driver_fixture *w, const struct task *t))
{
    fixture_open_logged(w, on_task, NULL);
}

static void fetch_failed(struct driver_fixture *w, const struct task *t,
                         const struct fetch_failure *fault)
{
    struct message *m = message_create(MSG_FAILED);
    m->error = mem_zalloc(sizeof *m->error);
    error_set(m->error, GLINT_E_FETCH_FAILED, NULL, "map output not found");
    cr_assert_eq(fetch_failure_encode(fault, &m->body, m->error), 0);
    deliver_message(w, t, m);
}

/* Two stages: 3 maps, 2 reducers. */
static struct glint_rdd *sums(struct driver_fixture *w)
{
    struct glint_rdd *pairs = glint_map(local_numbers(w->g, 30, MAPS), FN_MAP, NULL);
    return glint_with_partitions(local_counts(pairs), REDUCES);
}

static uint32_t runs(const struct driver_fixture *w, uint32_t stage)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < w->sent; i++) count += w->tasks[i].stage == stage;
    return count;
}

/* ---- One task fails */

static void fail_once(struct driver_fixture *w, const struct task *t)
{
    if (t->stage == (uint32_t)w->state && t->number == 1 && t->attempt == 0)
        failed(w, t, GLINT_E_SYSTEM, "once");
    else
        done(w, t, "", 0);
}

static void expect_one_more(uint32_t stage, uint32_t maps, uint32_t reduces)
{
    struct driver_fixture w;
    struct glint_summary summary;
    fixture_open(&w, fail_once);
    w.state = (int)stage;
    cr_expect_eq(act(sums(&w), NULL), 0);
    cr_expect_eq(runs(&w, 1), maps);
    cr_expect_eq(runs(&w, 2), reduces);
    const struct task *again = &w.tasks[0], *first = NULL;
    for (uint32_t i = 0; i < w.sent; i++) {
        if (w.tasks[i].attempt == 1) again = &w.tasks[i];
        if (w.tasks[i].stage == stage && w.tasks[i].number == 1 && w.tasks[i].attempt == 0)
            first = &w.tasks[i];
    }
    cr_expect(again->stage == stage && again->number == 1 && again->executor != first->executor);
    driver_summarize(w.driver, &summary);
    cr_expect_eq(summary.retries, 1);
    fixture_close(&w);
}

Test(guarantees, failed_map_task_reruns_alone)
{
    expect_one_more(1, MAPS + 1, REDUCES);
}

Test(guarantees, failed_result_task_reruns_alone)
{
    expect_one_more(2, MAPS, REDUCES + 1);
}

static void fail_always(struct driver_fixture *w, const struct task *t)
{
    char cause[32];
    snprintf(cause, sizeof cause, "failed=%u", t->attempt + 1);
    if (t->number == 1)
        failed(w, t, GLINT_E_SYSTEM, cause);
    else
        done(w, t, "", 0);
}

Test(guarantees, task_failing_every_attempt_fails_the_job)
{
    for (int run = 0; run < 2; run++) { /* and the same when the job is run again */
        struct driver_fixture w;
        uint32_t attempts = 0;
        fixture_open(&w, fail_always);
        struct glint_rdd *rdd = sums(&w);
        cr_expect_eq(act(rdd, NULL), GLINT_E_SYSTEM);
        for (uint32_t i = 0; i < w.sent; i++) attempts += w.tasks[i].number == 1;
        cr_expect_eq(attempts, TASK_ATTEMPTS_MAX);
        cr_expect_eq(runs(&w, 2), 0);
        /* Nothing runs in a context that has failed. */
        cr_expect_eq(act(rdd, NULL), GLINT_E_SYSTEM);
        cr_expect_eq(w.sent, w.handled);
        fixture_close(&w);
    }
}

Test(guarantees, last_failure_cause_is_reported)
{
    struct driver_fixture w;
    fixture_open(&w, fail_always);
    cr_expect_eq(act(sums(&w), NULL), GLINT_E_SYSTEM);
    cr_expect_str_eq(glint_error(w.g)->cause, "failed=4");
    cr_expect_not_null(strstr(glint_error(w.g)->effect, "task 1 of stage 0"));
    cr_expect_not_null(strstr(glint_error(w.g)->effect, "in all attempts"));
    fixture_close(&w);
}

/* ---- Counters */

/* Each third task fails once and runs again. */
static void count_to_ten(struct driver_fixture *w, const struct task *t)
{
    if (t->number % 3 == 0 && t->attempt == 0)
        failed(w, t, GLINT_E_SYSTEM, "not yet");
    else
        done(w, t, "", t->number + 1);
}

Test(guarantees, counters_count_each_task_once)
{
    struct driver_fixture w;
    fixture_open(&w, count_to_ten);
    cr_expect_eq(act(local_numbers(w.g, 100, 10), NULL), 0);
    cr_expect_eq(w.sent, 14);
    cr_expect_eq(glint_counter_value(w.g, "sum"), 55);
    fixture_close(&w);
}

/* ---- Shuffles */

/* The second action's first reducer cannot fetch map output 2. */
static void lose_between(struct driver_fixture *w, const struct task *t)
{
    const struct action_run *a = w->driver->action_run;
    const struct map_outputs *o = a->stages[0].map_outputs;
    bool reducer = t->stage == a->first_stage + 1;
    if (w->state == 1 && reducer) {
        w->state = 2;
        fetch_failed(w, t,
                     &(struct fetch_failure){.shuffle = o->shuffle,
                                             .map = 2,
                                             .executor = o->locations[2].executor,
                                             .attempt = o->locations[2].attempt});
    } else {
        done(w, t, "", 0);
    }
}

Test(guarantees, outputs_lost_between_actions_are_recomputed)
{
    struct driver_fixture w;
    fixture_open(&w, lose_between);
    struct glint_rdd *rdd = sums(&w);
    cr_expect_eq(act(rdd, NULL), 0);
    cr_expect_eq(w.sent, MAPS + REDUCES);
    w.state = 1;
    cr_expect_eq(act(rdd, NULL), 0);
    cr_expect_eq(runs(&w, 3), 1); /* only the lost output */
    cr_expect_eq(runs(&w, 4), REDUCES + 1);
    cr_expect_eq(act(rdd, NULL), 0); /* all outputs are available again */
    cr_expect_eq(runs(&w, 5), 0);
    cr_expect_eq(runs(&w, 6), REDUCES);
    fixture_close(&w);
}

/* The first result is enough; meanwhile the other reducer cannot fetch map output 1. */
static void lose_at_the_end(struct driver_fixture *w, const struct task *t)
{
    const struct action_run *a = w->driver->action_run;
    const struct map_outputs *o = a->stages[0].map_outputs;
    struct fetch_failure fault = {.shuffle = o->shuffle,
                                  .map = 1,
                                  .executor = o->locations[1].executor,
                                  .attempt = o->locations[1].attempt};
    if (w->state == 0 && t->stage == a->first_stage + 1 && t->number == 1)
        fetch_failed(w, t, &fault);
    else
        done(w, t, "", 0);
}

static int one_is_enough(void *arg, uint32_t partition, struct glint_slice result)
{
    (void)arg, (void)partition, (void)result;
    return 77;
}

Test(guarantees, outputs_lost_at_action_end_are_recomputed)
{
    struct driver_fixture w;
    fixture_open(&w, lose_at_the_end);
    struct glint_rdd *rdd = sums(&w);
    struct action a = {
        .op = registry_find_op(&w.config, "count"), .rdd = rdd, .on_result = one_is_enough};
    cr_expect_eq(run_action_of_rdd(&a), 77);
    w.state = 1;
    cr_expect_eq(act(rdd, NULL), 0);
    cr_expect_eq(runs(&w, 3), 1);
    cr_expect_eq(runs(&w, 4), REDUCES);
    fixture_close(&w);
}

/* ---- Nodes */

static void become_suspect(struct driver_fixture *w, const struct task *t)
{
    struct glint_error why = {.code = GLINT_OK};
    if (t->executor != 1 || w->lost[1]) {
        if (!w->lost[t->executor]) done(w, t, "", 1);
        return;
    }
    driver_on_executor_suspect(w->driver, 1, true);
    error_set(&why, GLINT_E_EXECUTOR_LOST, NULL, "no heartbeat");
    w->lost[1] = true;
    driver_on_executor_lost(w->driver, 1, LOSS_CONNECTION, &why);
}

Test(guarantees, lost_executor_affects_only_its_tasks)
{
    struct driver_fixture w;
    fixture_open(&w, become_suspect);
    cr_expect_eq(act(local_numbers(w.g, 100, 12), NULL), 0);
    cr_expect_eq(glint_counter_value(w.g, "sum"), 12);
    for (uint32_t i = 0; i < w.sent; i++)
        if (w.tasks[i].attempt > 0) cr_expect_neq(w.tasks[i].executor, 1);
    cr_expect_eq(w.sent, 14); /* the two that ran there run again */
    fixture_close(&w);
}

/* ---- Commit */

static char directory[] = "/tmp/glint-guarantees-XXXXXX";
static char path[64], second[64]; /* outputs */

static void begin(void)
{
    cr_assert_not_null(mkdtemp(directory));
    snprintf(path, sizeof path, "%s/out", directory);
    snprintf(second, sizeof second, "%s/second", directory);
}

static void end(void)
{
    env_remove_tree(env_real(), ENV_CWD, path, 2);
    env_remove_tree(env_real(), ENV_CWD, second, 2);
    cr_expect_eq(rmdir(directory), 0, "leftover files");
}

TestSuite(commit_guarantees, .init = begin, .fini = end);

/* Writes a part file as an attempt does, in each output. Sets `name` to the file's name. */
static void write_attempt(struct driver_fixture *w, const struct task *t, char *name,
                          size_t capacity)
{
    const struct action_run *a = w->driver->action_run;
    char full[PATH_MAX + 64];
    snprintf(name, capacity, "part-%05u.attempt-%u", t->partition, t->attempt);
    for (uint32_t i = 0; i < a->commit_count; i++) {
        snprintf(full, sizeof full, "%s/%s", a->commits[i]->attempts, name);
        FILE *file = fopen(full, "w");
        cr_assert_not_null(file);
        fprintf(file, "%u\n", t->attempt);
        fclose(file);
    }
}

static int save_both(struct glint_rdd *rdd)
{
    const char *const outputs[] = {path, second};
    const struct action a = {.op = registry_find_op(&rdd->g->config, "saveAsTextFiles"),
                             .rdd = rdd,
                             .outputs = outputs,
                             .output_count = 2};
    return run_action_of_rdd(&a);
}

static void expect_parts_of_attempt(const char *output, const char *attempt)
{
    char part[128], line[8] = "";
    for (int i = 0; i < 2; i++) {
        snprintf(part, sizeof part, "%s/part-%05d", output, i);
        FILE *file = fopen(part, "r");
        cr_assert_not_null(file, "%s", part);
        cr_expect_not_null(fgets(line, sizeof line, file));
        cr_expect_str_eq(line, attempt);
        fclose(file);
    }
}

/* The first attempt writes its whole file and fails; later a stale DONE of it arrives. */
static void fail_and_come_late(struct driver_fixture *w, const struct task *t)
{
    char name[64];
    write_attempt(w, t, name, sizeof name);
    if (t->attempt == 0) {
        failed(w, t, GLINT_E_OUTPUT_IO, "not closed");
        return;
    }
    struct task first = w->tasks[0];
    cr_assert_eq(first.attempt, 0);
    if (first.number == t->number) done(w, &first, "part-00000.attempt-0", 1);
    done(w, t, name, 1);
    done(w, t, name, 1); /* twice */
}

Test(commit_guarantees, exactly_one_attempt_is_committed)
{
    struct driver_fixture w;
    fixture_open(&w, fail_and_come_late);
    cr_expect_eq(act(local_numbers(w.g, 10, 2), path), 0);
    cr_expect_eq(glint_finish(w.g), 0, "%s", glint_error(w.g)->cause);
    cr_expect_eq(glint_counter_value(w.g, "sum"), 2);
    expect_parts_of_attempt(path, "1\n");
    fixture_close(&w);
}

Test(commit_guarantees, one_attempt_is_committed_to_all_outputs)
{
    struct driver_fixture w;
    fixture_open(&w, fail_and_come_late);
    cr_expect_eq(save_both(local_numbers(w.g, 10, 2)), 0);
    cr_expect(access(path, F_OK) != 0 && access(second, F_OK) != 0);
    cr_expect_eq(glint_finish(w.g), 0, "%s", glint_error(w.g)->cause);
    cr_expect_eq(glint_counter_value(w.g, "sum"), 2);
    expect_parts_of_attempt(path, "1\n");
    expect_parts_of_attempt(second, "1\n");
    fixture_close(&w);
}

/* The last task's file is missing in the second output only. */
static void lose_a_part(struct driver_fixture *w, const struct task *t)
{
    char name[64], full[PATH_MAX + 64];
    write_attempt(w, t, name, sizeof name);
    snprintf(full, sizeof full, "%s/%s", w->driver->action_run->commits[1]->attempts, name);
    if (t->partition == 1) cr_assert_eq(unlink(full), 0);
    done(w, t, name, 1);
}

Test(commit_guarantees, part_missing_in_one_output_fails_the_job)
{
    struct driver_fixture w;
    fixture_open(&w, lose_a_part);
    cr_expect_eq(save_both(local_numbers(w.g, 10, 2)), GLINT_E_PATH_NOT_SHARED);
    cr_expect_not_null(strstr(glint_error(w.g)->cause, second));
    cr_expect_eq(glint_finish(w.g), GLINT_E_PATH_NOT_SHARED);
    cr_expect(access(path, F_OK) != 0 && access(second, F_OK) != 0);
    fixture_close(&w);
}

static void name_nothing(struct driver_fixture *w, const struct task *t)
{
    done(w, t, t->partition == 0 ? "part-00000.attempt-0" : "part-00001.attempt-0", 0);
}

Test(commit_guarantees, missing_part_file_fails_the_job)
{
    struct driver_fixture w;
    fixture_open(&w, name_nothing);
    cr_expect_eq(act(local_numbers(w.g, 10, 2), path), GLINT_E_PATH_NOT_SHARED);
    cr_expect_eq(glint_finish(w.g), GLINT_E_PATH_NOT_SHARED);
    cr_expect_neq(access(path, F_OK), 0);
    fixture_close(&w);
}
