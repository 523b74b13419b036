/* A driver with fake executors: the test decides the outcome of each task. */
#ifndef GLINT_TESTS_DRIVER_FIXTURE_H
#define GLINT_TESTS_DRIVER_FIXTURE_H

#include "engine/driver/driver.h"
#include "engine/driver/driver_internal.h"
#include "engine/executor/executor.h"
#include "engine/net/cluster.h"
#include "engine/plan/context_config.h"
#include "tests/support/local.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

enum { TASKS_MAX = 64, EXECUTORS = 3 };

struct task {
    uint32_t executor, stage, number, attempt, partition;
};

static inline bool same_attempt(const struct task *a, const struct task *b)
{
    return a->executor == b->executor && a->stage == b->stage && a->number == b->number &&
           a->attempt == b->attempt;
}

/* A driver and its fake executors, which call `on_task` for each task at once. */
struct driver_fixture {
    struct env env; /* first */
    struct context_config config;
    struct cluster cluster;
    struct glint *g;
    struct driver *driver;
    uint64_t now;
    struct task tasks[TASKS_MAX]; /* all tasks that were sent */
    uint32_t sent, handled;
    void (*on_task)(struct driver_fixture *w, const struct task *t);
    bool (*idle)(
        struct driver_fixture *w); /* all tasks are handled; may be NULL. False: it did nothing */
    struct task revoked;           /* the last KILL */
    bool killed[TASKS_MAX];        /* per element of `tasks`: a KILL was sent */
    bool lost[EXECUTORS];
    int state; /* for use by the test */
    int64_t live;
};

static uint64_t fixture_now(struct env *env)
{
    return ((struct driver_fixture *)env)->now;
}

static int fixture_send(void *arg, uint32_t executor, struct message *m, struct glint_error *error)
{
    struct driver_fixture *w = arg;
    (void)error;
    cr_assert_not(w->lost[executor]);
    if (m->type == MSG_TASK) {
        cr_assert_lt(w->sent, TASKS_MAX);
        w->tasks[w->sent++] = (struct task){executor, m->stage, m->task, m->attempt, m->partition};
    }
    if (m->type == MSG_KILL) w->revoked = (struct task){executor, m->stage, m->task, m->attempt, 0};
    for (uint32_t i = 0; i < w->sent && m->type == MSG_KILL; i++)
        w->killed[i] = w->killed[i] || same_attempt(&w->tasks[i], &w->revoked);
    message_destroy(m);
    return 0;
}

static void fixture_wait(void *arg, struct driver *driver, uint64_t deadline_ns)
{
    struct driver_fixture *w = arg;
    cr_assert_eq(driver, w->driver);
    w->now++;
    if (w->handled < w->sent)
        w->on_task(w, &w->tasks[w->handled++]);
    else if (w->idle == NULL || !w->idle(w))
        w->now = deadline_ns;
    cr_assert_lt(w->now, UINT64_C(1000000000) * 3600, "the driver does not finish");
}

static void fixture_wake(void *arg)
{
    (void)arg;
}

/* `event_log` may be NULL. */
static void fixture_open_logged(struct driver_fixture *w,
                                void (*on_task)(struct driver_fixture *w, const struct task *t),
                                const char *event_log)
{
    static const char *const names[EXECUTORS] = {"e0", "e1", "e2"};
    memset(w, 0, sizeof *w);
    w->live = mem_live_blocks();
    w->env = *env_real();
    w->env.now_ns = fixture_now;
    w->on_task = on_task;
    w->config = local_config(1, false);
    w->config.env = &w->env;
    w->config.event_log = event_log;
    w->config.cluster = &w->cluster;
    w->config.result_bytes_max = RESULT_BYTES_MAX;
    w->g = calloc(1, sizeof *w->g);
    context_init(w->g, &w->config);
    struct transport transport = {.send = fixture_send,
                                  .wait = fixture_wait,
                                  .wake = fixture_wake,
                                  .destroy = fixture_wake,
                                  .arg = w};
    w->driver = driver_create(w->g, &transport);
    cr_assert_not_null(w->driver);
    for (int i = 0; i < EXECUTORS; i++) {
        struct executor_info info = {.name = names[i], .host = names[i], .slots = 2};
        cr_assert_eq(driver_on_executor_added(w->driver, &info), 0);
    }
}

static void fixture_close(struct driver_fixture *w)
{
    driver_destroy(w->driver);
    context_fini(w->g);
    free(w->g);
    cr_expect_eq(mem_live_blocks(), w->live);
}

/* ---- Outcomes */

static void deliver_message(struct driver_fixture *w, const struct task *t, struct message *m)
{
    m->stage = t->stage;
    m->task = t->number;
    m->attempt = t->attempt;
    m->partition = t->partition;
    driver_on_message(w->driver, t->executor, m);
}

/* Done, with one counter, "sum". */
static inline void done(struct driver_fixture *w, const struct task *t, const char *body,
                        int64_t sum)
{
    struct message *m = message_create(MSG_DONE);
    char name[] = "sum";
    static struct glint_task task;
    task.counters.used = COUNT_BUILT_IN + 1;
    task.counters.names[COUNT_BUILT_IN] = name;
    task.counters.values[COUNT_BUILT_IN] = sum;
    cr_assert_eq(task_counters_encode(&task, &m->counters), 0);
    cr_assert(buffer_append(&m->body, body, strlen(body)));
    deliver_message(w, t, m);
}

static inline void failed(struct driver_fixture *w, const struct task *t, enum glint_code code,
                          const char *cause)
{
    struct message *m = message_create(MSG_FAILED);
    m->error = mem_zalloc(sizeof *m->error);
    error_set(m->error, code, NULL, "%s", cause);
    deliver_message(w, t, m);
}

/* ---- Actions */

static int on_result(void *arg, uint32_t partition, struct glint_slice result)
{
    (void)arg, (void)partition, (void)result;
    return 0;
}

static int act(struct glint_rdd *rdd, const char *output)
{
    const char *name = output != NULL ? "saveAsTextFile" : "count";
    struct action a = {.op = registry_find_op(&rdd->g->config, name),
                       .rdd = rdd,
                       .outputs = &output,
                       .output_count = output != NULL,
                       .on_result = output != NULL ? NULL : on_result};
    cr_assert_not_null(a.op);
    return run_action_of_rdd(&a);
}

#endif
