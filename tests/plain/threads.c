/* Contexts under the thread sanitizer: many slots, attempts that fail, interrupts at any moment,
 * two contexts at the same time in one process. A plain program, because Criterion does not run
 * under the sanitizer. */
#include "engine/base/hash.h"
#include "engine/driver/driver.h"
#include "tests/support/local.h"

#include <pthread.h>
#include <stdio.h>
#include <time.h>

enum { ROUNDS = 40, NUMBERS = 2000, SLOTS = 8 };

static atomic_uint passed, failed;

static void check(bool good, const char *what, int code)
{
    atomic_fetch_add(good ? &passed : &failed, 1);
    if (!good) fprintf(stderr, "%s (%d)\n", what, code);
}

static int count_keys(struct glint *g, const struct glint_function *function, int64_t *keys)
{
    struct glint_rdd *pairs = glint_map(local_numbers(g, NUMBERS, 3 * SLOTS), function, NULL);
    return glint_count(local_counts(glint_union(pairs, pairs)), keys);
}

static struct glint *open_context(bool encode)
{
    struct context_config c = local_config(SLOTS, encode);
    struct glint_error error;
    struct glint *g = context_create(&c, &error);
    check(g != NULL, error.cause, error.code);
    return g;
}

static void run_plain(bool encode)
{
    int64_t keys = 0;
    struct glint *g = open_context(encode);
    if (g == NULL) return;
    atomic_store(&local_failures, TASK_ATTEMPTS_MAX - 1);
    int r = count_keys(g, FN_FLAKY, &keys);
    check(r == 0 && keys == 10, "counting with failures", r);
    r = count_keys(g, FN_MAP, &keys);
    check(r == 0 && keys == 10, "counting again", r);
    check(glint_finish(g) == 0, "finish", glint_error(g)->code);
    glint_destroy(g);
}

struct interrupting {
    struct glint *g;
    uint64_t after_ns;
};

static void *interrupt(void *arg)
{
    const struct interrupting *i = arg;
    struct timespec wait = {.tv_nsec = (long)i->after_ns};
    nanosleep(&wait, NULL);
    glint_interrupt(i->g, GLINT_E_INTERRUPTED);
    return NULL;
}

/* The job is interrupted, or succeeds if the interrupt came too late. */
static void run_interrupted(uint64_t seed)
{
    struct interrupting i = {open_context(seed % 2), hash_mix(seed) % 8000000};
    pthread_t thread;
    int64_t keys;
    if (i.g == NULL) return;
    bool started = pthread_create(&thread, NULL, interrupt, &i) == 0;
    check(started, "pthread_create", 0);
    int r = 0;
    for (int action = 0; action < 3 && r == 0; action++)
        r = count_keys(i.g, seed % 3 == 0 ? FN_FLAKY : FN_MAP, &keys);
    check(r == 0 || r == GLINT_E_INTERRUPTED, glint_error(i.g)->cause, r);
    int finished = glint_finish(i.g);
    check(finished == r || finished == GLINT_E_INTERRUPTED, "finish", finished);
    if (started) pthread_join(thread, NULL);
    glint_destroy(i.g);
}

/* Endless tasks end only if each one checks its cancel flag. */
static void run_endless(void)
{
    struct interrupting i = {open_context(false), 2000000};
    pthread_t thread;
    int64_t n;
    if (i.g == NULL) return;
    bool started = pthread_create(&thread, NULL, interrupt, &i) == 0;
    check(started, "pthread_create", 0);
    int r =
        started ? glint_count(glint_flat_map(local_numbers(i.g, 64, 64), FN_ENDLESS, NULL), &n) : 0;
    check(r == GLINT_E_INTERRUPTED, "an endless action", r);
    if (started) pthread_join(thread, NULL);
    glint_finish(i.g);
    glint_destroy(i.g);
}

static int stop_at_once(void *arg, const struct glint_record *record)
{
    (void)arg, (void)record;
    return 1;
}

/* An action that ends while its tasks run, followed at once by another action. */
static void run_early(bool encode)
{
    struct glint *g = open_context(encode);
    int64_t keys = 0;
    if (g == NULL) return;
    struct glint_rdd *pairs = glint_map(local_numbers(g, NUMBERS * 10, 40), FN_MAP, NULL);
    int r = glint_collect_each(pairs, stop_at_once, NULL);
    check(r == 1, "an early end", r);
    r = count_keys(g, FN_MAP, &keys);
    check(r == 0 && keys == 10, "the next action", r);
    check(glint_finish(g) == 0, "finish", glint_error(g)->code);
    glint_destroy(g);
}

static void *play(void *arg)
{
    uint64_t seed = *(const uint64_t *)arg;
    for (uint64_t round = 0; round < ROUNDS; round++) {
        uint64_t r = hash_mix(seed + round);
        switch (r % 4) {
        case 0: run_plain(r / 4 % 2); break;
        case 1: run_early(r / 4 % 2); break;
        case 2: run_endless(); break;
        default: run_interrupted(r / 4);
        }
    }
    return NULL;
}

int main(void)
{
    uint64_t seeds[] = {1, 1000};
    pthread_t other;
    int64_t live = mem_live_blocks();
    bool started = pthread_create(&other, NULL, play, &seeds[1]) == 0;
    check(started, "pthread_create", 0);
    play(&seeds[0]);
    if (started) pthread_join(other, NULL);
    check(mem_live_blocks() == live, "leaked memory", 0);
    printf("%u passed, %u failed\n", atomic_load(&passed), atomic_load(&failed));
    return atomic_load(&failed) > 0;
}
