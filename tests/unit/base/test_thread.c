/* The bell: every ring lets one wait end, whichever of them comes first. */
#include "engine/base/thread.h"

#include <criterion/criterion.h>
#include <sys/resource.h>

enum { WAITERS = 4, WAITS = 500 };

static void *wait_often(void *arg)
{
    for (int i = 0; i < WAITS; i++) bell_wait(arg);
    return NULL;
}

Test(bell, each_ring_ends_one_wait)
{
    struct bell bell;
    pthread_t waiters[WAITERS];
    struct glint_error error = {.code = GLINT_OK};
    cr_assert_eq(bell_open(&bell, &error), 0);
    for (int i = 0; i < WAITS; i++) bell_ring(&bell);
    for (int i = 0; i < WAITERS; i++)
        cr_assert_eq(thread_start(&waiters[i], wait_often, &bell, &error), 0);
    for (int i = 0; i < (WAITERS - 1) * WAITS; i++) bell_ring(&bell);
    for (int i = 0; i < WAITERS; i++) pthread_join(waiters[i], NULL);
    bell_ring(&bell);
    bell_wait(&bell); /* none was left, none is missing */
    bell_close(&bell);
}

Test(bell, without_descriptors_there_is_none)
{
    struct bell bell;
    struct rlimit limit, none;
    struct glint_error error = {.code = GLINT_OK};
    cr_assert_eq(getrlimit(RLIMIT_NOFILE, &limit), 0);
    none = (struct rlimit){0, limit.rlim_max};
    cr_assert_eq(setrlimit(RLIMIT_NOFILE, &none), 0);
    int r = bell_open(&bell, &error);
    cr_assert_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
    cr_expect_eq(r, GLINT_E_SYSTEM);
    cr_expect(error.hint[0] != '\0');
}
