/* The pipe semaphore: every post ends one wait, whichever comes first. */
#include "engine/base/thread.h"

#include <criterion/criterion.h>
#include <sys/resource.h>

enum { WAITERS = 4, WAITS = 500 };

static void *wait_often(void *arg)
{
    for (int i = 0; i < WAITS; i++) pipe_semaphore_wait(arg);
    return NULL;
}

Test(pipe_semaphore, each_post_ends_one_wait)
{
    struct pipe_semaphore semaphore;
    pthread_t waiters[WAITERS];
    struct glint_error error = {.code = GLINT_OK};
    cr_assert_eq(pipe_semaphore_open(&semaphore, &error), 0);
    for (int i = 0; i < WAITS; i++) pipe_semaphore_post(&semaphore);
    for (int i = 0; i < WAITERS; i++)
        cr_assert_eq(thread_start(&waiters[i], wait_often, &semaphore, &error), 0);
    for (int i = 0; i < (WAITERS - 1) * WAITS; i++) pipe_semaphore_post(&semaphore);
    for (int i = 0; i < WAITERS; i++) pthread_join(waiters[i], NULL);
    pipe_semaphore_post(&semaphore);
    pipe_semaphore_wait(&semaphore); /* the count is exact: this wait returns */
    pipe_semaphore_close(&semaphore);
}

Test(pipe_semaphore, open_fails_without_descriptors)
{
    struct pipe_semaphore semaphore;
    struct rlimit limit, none;
    struct glint_error error = {.code = GLINT_OK};
    cr_assert_eq(getrlimit(RLIMIT_NOFILE, &limit), 0);
    none = (struct rlimit){0, limit.rlim_max};
    cr_assert_eq(setrlimit(RLIMIT_NOFILE, &none), 0);
    int r = pipe_semaphore_open(&semaphore, &error);
    cr_assert_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
    cr_expect_eq(r, GLINT_E_SYSTEM);
    cr_expect(error.hint[0] != '\0');
}
