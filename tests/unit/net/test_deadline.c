/* Deadlines, in a loop of their own. No test depends on how long a timer takes. */
#include "engine/net/deadline.h"

#include <criterion/criterion.h>

static uv_loop_t loop;
static struct deadline deadline;
static unsigned expired, closed;

static void on_expired(void *arg)
{
    cr_assert(arg == &expired);
    expired++;
}

static void on_closed(void *arg)
{
    cr_assert(arg == &expired);
    closed++;
}

static void enter(void)
{
    cr_assert_eq(uv_loop_init(&loop), 0);
    deadline_init(&deadline, &loop, on_expired, &expired);
}

static void leave(void)
{
    deadline_close(&deadline, on_closed);
    cr_assert_eq(closed, 0);
    cr_assert_eq(uv_run(&loop, UV_RUN_DEFAULT), 0);
    cr_assert_eq(closed, 1);
    cr_assert_eq(uv_loop_close(&loop), 0);
}

TestSuite(deadline, .init = enter, .fini = leave);

Test(deadline, expires_once_per_start)
{
    deadline_start(&deadline, 0);
    cr_expect_eq(expired, 0);
    uv_run(&loop, UV_RUN_DEFAULT);
    cr_expect_eq(expired, 1);
    deadline_start(&deadline, 1);
    uv_run(&loop, UV_RUN_DEFAULT);
    cr_expect_eq(expired, 2);
}

Test(deadline, start_replaces_an_earlier_start)
{
    deadline_start(&deadline, 0);
    deadline_start(&deadline, 1000000);
    uv_run(&loop, UV_RUN_NOWAIT);
    cr_expect_eq(expired, 0);
    deadline_start(&deadline, 0);
    uv_run(&loop, UV_RUN_DEFAULT);
    cr_expect_eq(expired, 1);
}

Test(deadline, start_earlier_keeps_the_earlier_one)
{
    deadline_start_earlier(&deadline, 0); /* not started: as deadline_start */
    deadline_start_earlier(&deadline, 1000000);
    uv_run(&loop, UV_RUN_DEFAULT);
    cr_expect_eq(expired, 1);
    deadline_start(&deadline, 1000000);
    deadline_start_earlier(&deadline, 0);
    uv_run(&loop, UV_RUN_DEFAULT);
    cr_expect_eq(expired, 2);
}

Test(deadline, start_by_keeps_the_earlier_one)
{
    const uint64_t now = 5 * MS_NS;
    deadline_start_by(&deadline, UINT64_MAX, now); /* never */
    cr_expect_eq(uv_run(&loop, UV_RUN_DEFAULT), 0);
    cr_expect_eq(expired, 0);
    deadline_start_by(&deadline, now + 1000 * SECOND_NS, now);
    deadline_start_by(&deadline, now - MS_NS, now); /* has passed */
    deadline_start_by(&deadline, now + 1000 * SECOND_NS, now);
    uv_run(&loop, UV_RUN_DEFAULT);
    cr_expect_eq(expired, 1);
    cr_expect_eq(deadline.expired_by_ns, now - MS_NS);
    deadline_start_by(&deadline, now + MS_NS, now); /* again, although later than the last one */
    uv_run(&loop, UV_RUN_DEFAULT);
    cr_expect_eq(expired, 2);
}

Test(deadline, stopped_or_closed_one_does_not_expire)
{
    deadline_start(&deadline, 0);
    deadline_stop(&deadline);
    uv_run(&loop, UV_RUN_DEFAULT);
    cr_expect_eq(expired, 0);
    deadline_start(&deadline, 0); /* leave closes it */
}

Test(deadline, milliseconds_are_rounded_up)
{
    cr_expect_eq(ms_until(5, 5), 0);
    cr_expect_eq(ms_until(5, 6), 0);
    cr_expect_eq(ms_until(6, 5), 1);
    cr_expect_eq(ms_until(5 + MS_NS, 5), 1);
    cr_expect_eq(ms_until(6 + MS_NS, 5), 2);
}
