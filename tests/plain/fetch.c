/* Several slots fetch from one fetcher at the same time, and some are cancelled meanwhile. A plain
 * program, for the thread sanitizer. */
#include "tests/support/fake_fetcher.h"
#include "tests/support/test_task.h"

#include <assert.h>
#include <stdio.h>

enum { SLOTS = 4, MAPS = 40, PARTITIONS = 4, ROUNDS = 12 };

struct slot {
    pthread_t thread;
    uint32_t number;
    struct test_task t;
    atomic_bool cancel;
    atomic_uint_fast64_t attempt_id; /* of the current round */
    struct seen seen;
    unsigned passed, failed;
};

static struct run runs[MAPS];
static struct seen expected[PARTITIONS];
static struct fake_fetcher fake;
static atomic_uint running;

static void check(struct slot *s, bool good, const char *what)
{
    if (good) {
        s->passed++;
        return;
    }
    s->failed++;
    fprintf(stderr, "slot %u: %s: %s\n", s->number, what, s->t.task.error.cause);
}

static void fetch_round(struct slot *s, uint32_t round)
{
    struct fetch_input inputs[MAPS];
    struct run_slice *slices;
    uint32_t count, lost, partition = (s->number + round) % PARTITIONS;
    for (uint32_t m = 0; m < MAPS; m++) {
        bool here = (m + round) % 5 == 0;
        inputs[m] = (struct fetch_input){here ? 0 : 1 + m % 3, m, m % 3, here ? &runs[m] : NULL};
    }
    arena_reset(&s->t.task.arena, MIB);
    s->t.task.error.code = GLINT_OK;
    s->t.task.attempt_id = 1 + s->number + SLOTS * round;
    atomic_store(&s->cancel, false);
    atomic_store(&s->attempt_id, s->t.task.attempt_id);
    s->seen.size = 0;
    struct fetch *f =
        fetch_open(&s->t.task, &fake.fetcher, 1, partition, inputs, MAPS, &slices, &count, &lost);
    int r = f != NULL ? fake_read(&s->t.task, slices, count, &s->seen) : s->t.task.error.code;
    fetch_close(f);
    const struct seen *e = &expected[partition];
    if (r == 0)
        check(s, s->seen.size == e->size && memcmp(s->seen.data, e->data, e->size) == 0, "bytes");
    else
        check(s, r == GLINT_E_INTERRUPTED, "an error");
}

static void *slot_main(void *arg)
{
    struct slot *s = arg;
    for (uint32_t round = 0; round < ROUNDS; round++) fetch_round(s, round);
    atomic_fetch_sub(&running, 1);
    return NULL;
}

/* Cancels the last slot's fetches again and again, in the same order as executor.c. */
static void cancel_until_over(struct slot *s)
{
    while (atomic_load(&running) > 0) {
        uint64_t attempt_id = atomic_load(&s->attempt_id);
        atomic_store(&s->cancel, true);
        fake.fetcher.cancel(fake.fetcher.arg, attempt_id);
        sched_yield();
    }
}

int main(void)
{
    static struct slot slots[SLOTS];
    struct test_task t;
    struct run_slice slices[MAPS];
    unsigned passed = 0, failed = 0;
    test_task_init(&t, MIB);
    for (uint32_t m = 0; m < MAPS; m++)
        if (fake_run(&t.task, m, PARTITIONS, 60, 3000, GIB, &runs[m]) != 0) return 1;
    for (uint32_t p = 0; p < PARTITIONS; p++) {
        for (uint32_t m = 0; m < MAPS; m++) slices[m] = run_slice(&runs[m], p);
        if (fake_read(&t.task, slices, MAPS, &expected[p]) != 0) return 1;
    }
    fake_fetcher_start(&fake, runs, MAPS, 7);
    atomic_store(&running, SLOTS);
    for (uint32_t i = 0; i < SLOTS; i++) {
        slots[i].number = i;
        test_task_init(&slots[i].t, 400 * KIB);
        slots[i].t.task.cancel_flag = &slots[i].cancel;
        if (pthread_create(&slots[i].thread, NULL, slot_main, &slots[i]) != 0) return 1;
    }
    cancel_until_over(&slots[SLOTS - 1]);
    for (uint32_t i = 0; i < SLOTS; i++) {
        pthread_join(slots[i].thread, NULL);
        check(&slots[i], test_task_fini(&slots[i].t), "a file is left");
        free(slots[i].seen.data);
        passed += slots[i].passed;
        failed += slots[i].failed;
    }
    fake_fetcher_stop(&fake);
    for (uint32_t m = 0; m < MAPS; m++) run_destroy(&runs[m]);
    for (uint32_t p = 0; p < PARTITIONS; p++) free(expected[p].data);
    if (!test_task_fini(&t)) failed++;
    printf("%u passed, %u failed\n", passed, failed);
    return failed > 0;
}
