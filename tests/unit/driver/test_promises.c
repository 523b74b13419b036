/* What Spark promises of its driver, as tests of ours: executors are fakes here, which answer each
 * task as the test says. Where a promise is shown elsewhere already, the table names the test. */

/* clang-format off */
/* One task fails
 *   once: it alone runs again               promises.a_map_task_fails_once, a_result_...
 *   each time: four runs, and again so      promises.a_task_that_always_fails_ends_the_job
 *   its last cause reaches whoever waits    promises.the_last_cause_reaches_the_driver
 *   what it says cannot be read             remote_bytes.*, remote_loss.nonsense_ends_it
 *   result too large, function unknown      unit ops/test_result_limit, fuzz_stage
 *   a later error does not hide the first   error.the_first_one_stays, local.the_first_error_sticks
 *   by killing its process, each time       cluster test_faults.Poison
 * Nodes are lost
 *   one, in the map or the result stage     cluster test_faults.KilledInMap, KilledAfterMap
 *   three times over, in either stage       cluster test_promises.Rounds
 *   one silent, the others not              promises.silence_of_one_..., liveness.*
 *   who was given up comes back as new      remote_loss.another_process_comes_under_another_number
 *   and there are as many as before         cluster test_faults.All, Stopped
 *   outputs of a process, of its daemon     cluster test_faults.KilledAfterMap (child, daemon)
 * Values
 *   counters: each task once, sum of 55     promises.counters_add_up_to_55
 *   a broadcast is what it was when sent    values.*; glint_broadcast takes it from the job
 *   variables reach executors               launch.what_options_said_comes_before_the_environment
 *   groups beyond what may be in flight     fetch.large_parts_through_a_small_window
 * Shuffles
 *   201 reducers for 4 keys                 local_promises.many_reducers_for_few_keys
 *   compressed and not                      run.compresses_what_can_be, run.round_trips
 *   lost between two actions                promises.outputs_lost_between_..., ..._while_an_...
 *   as many records read as written         local_promises.records_read_are_records_written
 *   two attempts at a time                  tests/sim (twins), promises_commit.one_attempt_is_kept
 * Stages
 *   many failed fetches are one failure     sched_fetch.many_tasks_that_cannot_fetch_...
 *   four in a row end the job               sched_fetch.four_attempts_in_a_row_...
 *   two and two in two stages do not        sched_fetch.failures_of_two_stages_do_not_add_up
 *   a loss drops its outputs once           sched_fetch.an_executor_lost_while_others_fetch_...
 *   no partitions at all                    sched.a_stage_without_tasks_is_done, local.inputs_...
 *   thirty levels that each meet twice      local_promises.thirty_levels_are_planned_at_once
 *   a cancelled job says why                cluster test_executor, local.endless_tasks_end_...
 *   all tables are empty at the end         tests/sim (memory, stages, tasks)
 * Commit
 *   of two attempts one, never a failed one promises_commit.one_..., commit.attempts_that_lost_...
 *   attempts of two tries are two           sched.the_attempt_that_counts_is_known
 *   none can be kept: no output             promises_commit.what_cannot_be_kept_ends_the_job
 * Not ours: caches, unpersist, the external shuffle service, closures. */
/* clang-format on */
#include "tests/unit/driver/world.h"

#include <stdio.h>
#include <unistd.h>

enum { MAPS = 3, REDUCES = 2 };

static void world_open(struct world *w, void (*answer)(struct world *w, const struct task *t))
{
    world_open_logged(w, answer, NULL);
}

static void fetch_failed(struct world *w, const struct task *t, const struct fetch_fault *fault)
{
    struct message *m = message_create(MSG_FAILED);
    m->error = mem_zalloc(sizeof *m->error);
    error_set(m->error, GLINT_E_FETCH_FAILED, NULL, "a map output is gone");
    cr_assert_eq(fault_encode(fault, &m->body, m->error), 0);
    say(w, t, m);
}

/* Two stages: 3 maps, 2 reducers. */
static struct glint_rdd *sums(struct world *w)
{
    struct glint_rdd *pairs = glint_map(local_numbers(w->g, 30, MAPS), FN_MAP, NULL);
    return glint_with_partitions(local_counts(pairs), REDUCES);
}

static uint32_t runs(const struct world *w, uint32_t stage)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < w->sent; i++) count += w->tasks[i].stage == stage;
    return count;
}

/* ---- One task fails */

static void fail_once(struct world *w, const struct task *t)
{
    if (t->stage == (uint32_t)w->state && t->number == 1 && t->attempt == 0)
        failed(w, t, GLINT_E_SYSTEM, "once");
    else
        done(w, t, "", 0);
}

static void expect_one_more(uint32_t stage, uint32_t maps, uint32_t reduces)
{
    struct world w;
    struct glint_summary summary;
    world_open(&w, fail_once);
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
    w.g->runner->summarize(w.g->runner, &summary);
    cr_expect_eq(summary.retries, 1);
    world_close(&w);
}

Test(promises, a_map_task_fails_once)
{
    expect_one_more(1, MAPS + 1, REDUCES);
}

Test(promises, a_result_task_fails_once)
{
    expect_one_more(2, MAPS, REDUCES + 1);
}

static void fail_always(struct world *w, const struct task *t)
{
    char cause[32];
    snprintf(cause, sizeof cause, "failed=%u", t->attempt + 1);
    if (t->number == 1)
        failed(w, t, GLINT_E_SYSTEM, cause);
    else
        done(w, t, "", 0);
}

Test(promises, a_task_that_always_fails_ends_the_job)
{
    for (int run = 0; run < 2; run++) { /* and the same when it is run again */
        struct world w;
        uint32_t attempts = 0;
        world_open(&w, fail_always);
        struct glint_rdd *rdd = sums(&w);
        cr_expect_eq(act(rdd, NULL), GLINT_E_SYSTEM);
        for (uint32_t i = 0; i < w.sent; i++) attempts += w.tasks[i].number == 1;
        cr_expect_eq(attempts, TASK_ATTEMPTS_MAX);
        cr_expect_eq(runs(&w, 2), 0);
        cr_expect_eq(act(rdd, NULL), GLINT_E_SYSTEM); /* in the same context nothing runs */
        cr_expect_eq(w.sent, w.answered);
        world_close(&w);
    }
}

Test(promises, the_last_cause_reaches_the_driver)
{
    struct world w;
    world_open(&w, fail_always);
    cr_expect_eq(act(sums(&w), NULL), GLINT_E_SYSTEM);
    cr_expect_str_eq(glint_error(w.g)->cause, "failed=4");
    cr_expect_not_null(strstr(glint_error(w.g)->effect, "task 1 of stage 0"));
    cr_expect_not_null(strstr(glint_error(w.g)->effect, "in all attempts"));
    world_close(&w);
}

/* ---- Values */

/* Each third task runs twice, and says its number both times. */
static void count_to_ten(struct world *w, const struct task *t)
{
    if (t->number % 3 == 0 && t->attempt == 0)
        failed(w, t, GLINT_E_SYSTEM, "not yet");
    else
        done(w, t, "", t->number + 1);
}

Test(promises, counters_add_up_to_55)
{
    struct world w;
    world_open(&w, count_to_ten);
    cr_expect_eq(act(local_numbers(w.g, 100, 10), NULL), 0);
    cr_expect_eq(w.sent, 14);
    cr_expect_eq(glint_counter_value(w.g, "sum"), 55);
    world_close(&w);
}

/* ---- Shuffles */

/* The second action's first reducer does not find map output 2. */
static void lose_between(struct world *w, const struct task *t)
{
    const struct active *a = w->driver->active;
    const struct outputs *o = a->stages[0].outputs;
    bool reducer = t->stage == a->first_stage + 1;
    if (w->state == 1 && reducer) {
        w->state = 2;
        fetch_failed(w, t,
                     &(struct fetch_fault){.shuffle = o->shuffle,
                                           .map = 2,
                                           .executor = o->places[2].executor,
                                           .attempt = o->places[2].attempt});
    } else {
        done(w, t, "", 0);
    }
}

Test(promises, outputs_lost_between_actions_are_made_again)
{
    struct world w;
    world_open(&w, lose_between);
    struct glint_rdd *rdd = sums(&w);
    cr_expect_eq(act(rdd, NULL), 0);
    cr_expect_eq(w.sent, MAPS + REDUCES);
    w.state = 1;
    cr_expect_eq(act(rdd, NULL), 0);
    cr_expect_eq(runs(&w, 3), 1); /* only what was lost */
    cr_expect_eq(runs(&w, 4), REDUCES + 1);
    cr_expect_eq(act(rdd, NULL), 0); /* all is there again */
    cr_expect_eq(runs(&w, 5), 0);
    cr_expect_eq(runs(&w, 6), REDUCES);
    world_close(&w);
}

/* The first result is enough; meanwhile the other reducer does not find map output 1. */
static void lose_at_the_end(struct world *w, const struct task *t)
{
    const struct active *a = w->driver->active;
    const struct outputs *o = a->stages[0].outputs;
    struct fetch_fault fault = {.shuffle = o->shuffle,
                                .map = 1,
                                .executor = o->places[1].executor,
                                .attempt = o->places[1].attempt};
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

Test(promises, outputs_lost_while_an_action_ends_are_made_again)
{
    struct world w;
    world_open(&w, lose_at_the_end);
    struct glint_rdd *rdd = sums(&w);
    struct action a = {
        .op = registry_op(&w.config, "count"), .rdd = rdd, .on_result = one_is_enough};
    cr_expect_eq(action_run(&a), 77);
    w.state = 1;
    cr_expect_eq(act(rdd, NULL), 0);
    cr_expect_eq(runs(&w, 3), 1);
    cr_expect_eq(runs(&w, 4), REDUCES);
    world_close(&w);
}

/* ---- Nodes */

static void go_silent(struct world *w, const struct task *t)
{
    struct glint_error why = {.code = GLINT_OK};
    if (t->executor != 1 || w->lost[1]) {
        if (!w->lost[t->executor]) done(w, t, "", 1);
        return;
    }
    driver_on_silent(w->driver, 1, true);
    error_set(&why, GLINT_E_EXECUTOR_LOST, NULL, "no sign of life");
    w->lost[1] = true;
    driver_on_lost(w->driver, 1, LOSS_CONNECTION, &why);
}

Test(promises, silence_of_one_concerns_no_other)
{
    struct world w;
    world_open(&w, go_silent);
    cr_expect_eq(act(local_numbers(w.g, 100, 12), NULL), 0);
    cr_expect_eq(glint_counter_value(w.g, "sum"), 12);
    for (uint32_t i = 0; i < w.sent; i++)
        if (w.tasks[i].attempt > 0) cr_expect_neq(w.tasks[i].executor, 1);
    cr_expect_eq(w.sent, 14); /* the two that ran there */
    world_close(&w);
}

/* ---- Commit */

static char folder[] = "/tmp/glint-promises-XXXXXX";
static char path[64], second[64]; /* outputs */

static void begin(void)
{
    cr_assert_not_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/out", folder);
    snprintf(second, sizeof second, "%s/second", folder);
}

static void end(void)
{
    env_remove_tree(env_real(), ENV_CWD, path, 2);
    env_remove_tree(env_real(), ENV_CWD, second, 2);
    cr_expect_eq(rmdir(folder), 0, "something is left");
}

TestSuite(promises_commit, .init = begin, .fini = end);

/* As an attempt does, in each output; stores the files' bare name. */
static void write_attempt(struct world *w, const struct task *t, char *name, size_t capacity)
{
    const struct active *a = w->driver->active;
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
    const struct action a = {.op = registry_op(&rdd->g->config, "saveAsTextFiles"),
                             .rdd = rdd,
                             .outputs = outputs,
                             .output_count = 2};
    return action_run(&a);
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

/* The first attempt is whole, fails all the same, and says at last that it is done. */
static void fail_and_come_late(struct world *w, const struct task *t)
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

Test(promises_commit, one_attempt_is_kept)
{
    struct world w;
    world_open(&w, fail_and_come_late);
    cr_expect_eq(act(local_numbers(w.g, 10, 2), path), 0);
    cr_expect_eq(glint_finish(w.g), 0, "%s", glint_error(w.g)->cause);
    cr_expect_eq(glint_counter_value(w.g, "sum"), 2);
    expect_parts_of_attempt(path, "1\n");
    world_close(&w);
}

Test(promises_commit, one_attempt_is_kept_in_all_outputs)
{
    struct world w;
    world_open(&w, fail_and_come_late);
    cr_expect_eq(save_both(local_numbers(w.g, 10, 2)), 0);
    cr_expect(access(path, F_OK) != 0 && access(second, F_OK) != 0);
    cr_expect_eq(glint_finish(w.g), 0, "%s", glint_error(w.g)->cause);
    cr_expect_eq(glint_counter_value(w.g, "sum"), 2);
    expect_parts_of_attempt(path, "1\n");
    expect_parts_of_attempt(second, "1\n");
    world_close(&w);
}

/* The last task's file is missing in the second output only. */
static void lose_a_part(struct world *w, const struct task *t)
{
    char name[64], full[PATH_MAX + 64];
    write_attempt(w, t, name, sizeof name);
    snprintf(full, sizeof full, "%s/%s", w->driver->active->commits[1]->attempts, name);
    if (t->partition == 1) cr_assert_eq(unlink(full), 0);
    done(w, t, name, 1);
}

Test(promises_commit, a_part_missing_in_one_output_ends_the_job)
{
    struct world w;
    world_open(&w, lose_a_part);
    cr_expect_eq(save_both(local_numbers(w.g, 10, 2)), GLINT_E_PATH_NOT_SHARED);
    cr_expect_not_null(strstr(glint_error(w.g)->cause, second));
    cr_expect_eq(glint_finish(w.g), GLINT_E_PATH_NOT_SHARED);
    cr_expect(access(path, F_OK) != 0 && access(second, F_OK) != 0);
    world_close(&w);
}

static void name_nothing(struct world *w, const struct task *t)
{
    done(w, t, t->partition == 0 ? "part-00000.attempt-0" : "part-00001.attempt-0", 0);
}

Test(promises_commit, what_cannot_be_kept_ends_the_job)
{
    struct world w;
    world_open(&w, name_nothing);
    cr_expect_eq(act(local_numbers(w.g, 10, 2), path), GLINT_E_PATH_NOT_SHARED);
    cr_expect_eq(glint_finish(w.g), GLINT_E_PATH_NOT_SHARED);
    cr_expect_neq(access(path, F_OK), 0);
    world_close(&w);
}
