/* Waits that end when they are cancelled or when their time has passed. */
#include "engine/base/cancel.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <sys/resource.h>
#include <unistd.h>

static struct glint_error error;

static int check(const struct cancel *c)
{
    error = (struct glint_error){.code = GLINT_OK};
    const int r = cancel_check(env_real(), cancel_file(c), &error);
    cr_expect_eq(r, error.code);
    return r;
}

Test(cancel, file_stays_readable_after_a_post)
{
    struct cancel c;
    cr_assert_eq(cancel_open(&c, 0, &error), 0);
    cr_expect_eq(check(&c), 0);
    for (int i = 0; i < 3; i++) {
        cancel_post(&c);
        cr_expect_eq(check(&c), GLINT_E_INTERRUPTED);
    }
    for (int i = 0; i < 2; i++) {
        cancel_reset(&c);
        cr_expect_eq(check(&c), 0);
    }
    cancel_post(&c);
    cr_expect_eq(check(&c), GLINT_E_INTERRUPTED);
    cancel_close(&c);
    cancel_close(&c);
    cr_expect_eq(cancel_check(env_real(), 0, &error), 0, "0: never");
}

Test(cancel, time_limit_and_post_end_a_wait)
{
    int ends[2];
    cr_assert_eq(pipe(ends), 0);
    for (int posted = 0; posted < 2; posted++) {
        struct cancel c;
        error = (struct glint_error){.code = GLINT_OK};
        cr_assert_eq(cancel_open(&c, posted ? UINT64_MAX / 2 : 1000, &error), 0);
        if (posted) cancel_post(&c);
        const int r = cancel_wait_readable(env_real(), ends[0], cancel_file(&c), &error);
        cr_expect_eq(r, GLINT_E_INTERRUPTED);
        cr_expect_eq(error.code, GLINT_E_INTERRUPTED);
        cancel_close(&c);
    }
    error = (struct glint_error){.code = GLINT_OK};
    cr_assert_eq(write(ends[1], "x", 1), 1);
    cr_expect_eq(cancel_wait_readable(env_real(), ends[0], 0, &error), 0);
    close(ends[0]);
    close(ends[1]);
}

Test(cancel, missing_descriptors_are_reported)
{
    struct cancel c;
    const int first = dup(0);
    cr_assert(first > 0);
    close(first);
    for (rlim_t free_files = 0; free_files < 3; free_files++) {
        const struct rlimit few = {(rlim_t)first + free_files, 1024};
        error = (struct glint_error){.code = GLINT_OK};
        cr_assert_eq(setrlimit(RLIMIT_NOFILE, &few), 0);
        cr_expect_eq(cancel_open(&c, 1000, &error), GLINT_E_SYSTEM);
        cr_expect(error.cause[0] != '\0' && c.event == 0 && c.timer == 0 && c.either == 0);
        const int next = dup(0);
        cr_expect_eq(next, free_files > 0 ? first : -1, "nothing stays open");
        if (next >= 0) close(next);
    }
}
