/* Times of attempts on the driver's clock, of executors whose clocks are elsewhere. */
#include "engine/driver/driver_internal.h"

#include <criterion/criterion.h>

#define FAR (UINT64_MAX - 500) /* the executor's clock: it wraps around in a test */

static struct executor_clock c;

static void begin(void)
{
    cr_assert(executor_clock_init(&c, 2));
}

static void end(void)
{
    executor_clock_fini(&c);
}

TestSuite(executor_clock, .init = begin, .fini = end);

/* `start` on the driver's clock, which is FAR behind the executor's. */
static void expect(uint32_t slot, uint64_t sent, uint64_t start, uint64_t run, uint64_t received,
                   uint64_t want_start, uint64_t want_end)
{
    const struct message m = {
        .type = MSG_DONE, .slot = slot, .start_ns = start + FAR, .run_ns = run};
    const struct attempt_times t = executor_clock_convert(&c, &m, sent, received);
    cr_expect(t.start_ns == want_start && t.end_ns == want_end, "%llu to %llu",
              (unsigned long long)t.start_ns, (unsigned long long)t.end_ns);
}

Test(executor_clock, time_in_a_queue_is_not_time_of_running)
{
    expect(0, 1000, 1000, 100, 1100, 1000, 1100);
    expect(0, 1000, 1100, 200, 1300, 1100, 1300);
    expect(0, 1000, 1350, 50, 1400, 1350, 1400);
}

Test(executor_clock, messages_that_arrive_together_or_late_do_not_move_attempts)
{
    expect(0, 1000, 1000, 100, 1100, 1000, 1100);
    expect(0, 1000, 1100, 200, 5000, 1100, 1300);
    expect(1, 1000, 1000, 400, 5000, 1000, 1400);
    expect(0, 1000, 1300, 10, 5000, 1300, 1310);
    expect(1, 1000, 1400, 10, 9000, 1400, 1410);
}

Test(executor_clock, one_message_late_at_first_is_corrected_without_an_overlap)
{
    expect(0, 1000, 1050, 100, 1850, 1750, 1850); /* as if the clocks were 700 apart */
    expect(0, 1000, 1200, 800, 2000, 1850, 2000);
    expect(1, 1000, 1200, 800, 2010, 1200, 2000);
    expect(0, 1000, 2000, 50, 2050, 2000, 2050);
}

Test(executor_clock, attempts_start_after_they_were_sent)
{
    expect(0, 1000, 1000, 100, 1100, 1000, 1100);
    expect(1, 2500, 2400, 100, 2700, 2500, 2600); /* its clock is slower, now 100 behind */
    expect(0, 2500, 2500, 50, 2800, 2600, 2650);
}

Test(executor_clock, invalid_times_are_within_those_of_the_driver)
{
    static const uint64_t odd[] = {0, 1, UINT64_MAX / 2, UINT64_MAX / 2 + 1, UINT64_MAX};
    for (uint32_t i = 0; i < 125; i++) {
        const uint64_t sent = 1000 + 10 * i, received = sent + 500;
        const struct message m = {.type = MSG_FAILED,
                                  .slot = i % 5 == 4 ? SLOTS_MAX - 1 : i % 2,
                                  .start_ns = odd[i / 25],
                                  .run_ns = odd[i / 5 % 5]};
        const struct attempt_times t = executor_clock_convert(&c, &m, sent, received);
        cr_expect(sent <= t.start_ns && t.start_ns <= t.end_ns && t.end_ns <= received);
    }
}
