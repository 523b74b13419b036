/* The failure detector, as tables of steps. Limits: heartbeat 1 s, suspect 5 s, dead 10 s. */
#include "engine/net/deadline.h"

#include <criterion/criterion.h>

#define MS UINT64_C(1000000)

static const struct liveness_limits limits = {1000 * MS, 5000 * MS, 10000 * MS};

struct step {
    uint64_t at_ms;
    bool heartbeat; /* a heartbeat arrives before the timer fires */
    enum life life;
    bool heartbeat_due;
    uint64_t next_ms; /* 0: never */
};

static void play(const struct step *steps, size_t count)
{
    const uint64_t start = UINT64_C(123456789) * MS; /* a monotonic clock has an arbitrary start */
    struct liveness l;
    liveness_init(&l, &limits, start);
    for (size_t i = 0; i < count; i++) {
        const struct step *s = &steps[i];
        uint64_t now = start + s->at_ms * MS, next = 0;
        bool heartbeat_due = false;
        if (s->heartbeat) liveness_on_heartbeat(&l, now);
        cr_expect_eq(liveness_on_timer(&l, now, &heartbeat_due, &next), s->life, "at %lu ms",
                     s->at_ms);
        cr_expect_eq(heartbeat_due, s->heartbeat_due, "at %lu ms", s->at_ms);
        cr_expect_eq(next, s->next_ms > 0 ? start + s->next_ms * MS : UINT64_MAX, "at %lu ms: %lu",
                     s->at_ms, (next - start) / MS);
    }
}
#define PLAY(steps) play(steps, sizeof steps / sizeof steps[0])

Test(liveness, heartbeat_is_due_once_per_interval)
{
    static const struct step steps[] = {
        {0, false, LIFE_ALIVE, false, 1000},   {999, false, LIFE_ALIVE, false, 1000},
        {1000, true, LIFE_ALIVE, true, 2000},  {1000, false, LIFE_ALIVE, false, 2000},
        {2300, true, LIFE_ALIVE, true, 3300},  {3299, true, LIFE_ALIVE, false, 3300},
        {3300, false, LIFE_ALIVE, true, 4300},
    };
    PLAY(steps);
}

Test(liveness, silence_means_suspect_then_dead)
{
    static const struct step steps[] = {
        {4000, false, LIFE_ALIVE, true, 5000},     {4999, false, LIFE_ALIVE, false, 5000},
        {5000, false, LIFE_SUSPECT, true, 6000},   {9500, false, LIFE_SUSPECT, true, 10000},
        {9999, false, LIFE_SUSPECT, false, 10000}, {10000, false, LIFE_DEAD, false, 0},
        {10001, true, LIFE_DEAD, false, 0},        {99999, true, LIFE_DEAD, false, 0},
    };
    PLAY(steps);
}

Test(liveness, heartbeat_clears_suspicion)
{
    static const struct step steps[] = {
        {4500, false, LIFE_ALIVE, true, 5000},     {5000, false, LIFE_SUSPECT, false, 5500},
        {5100, true, LIFE_ALIVE, false, 5500},     {9600, false, LIFE_ALIVE, true, 10100},
        {10099, false, LIFE_ALIVE, false, 10100},  {10100, false, LIFE_SUSPECT, false, 10600},
        {15000, false, LIFE_SUSPECT, true, 15100}, {15100, false, LIFE_DEAD, false, 0},
    };
    PLAY(steps);
}

/* A pause of 20 s: heartbeats could not be received, so the timeouts restart. */
Test(liveness, process_pause_restarts_the_timeouts)
{
    static const struct step steps[] = {
        {1000, true, LIFE_ALIVE, true, 2000},      {21000, false, LIFE_ALIVE, true, 22000},
        {25999, false, LIFE_ALIVE, true, 26000},   {26000, false, LIFE_SUSPECT, false, 26999},
        {30999, false, LIFE_SUSPECT, true, 31000}, {31000, false, LIFE_DEAD, false, 0},
    };
    PLAY(steps);
}

/* A delay of exactly suspect_ns is not a pause: the timer was only late. */
Test(liveness, late_timer_is_not_a_process_pause)
{
    static const struct step steps[] = {
        {1000, true, LIFE_ALIVE, true, 2000},
        {6000, false, LIFE_SUSPECT, true, 7000},
        {11000, false, LIFE_DEAD, false, 0},
    };
    PLAY(steps);
}

Test(liveness, process_pause_clears_suspicion)
{
    static const struct step steps[] = {
        {5000, false, LIFE_SUSPECT, true, 6000},
        {10001, false, LIFE_ALIVE, true, 11001},
    };
    PLAY(steps);
}

/* A heartbeat processed late must not set last_seen_ns back. */
Test(liveness, older_heartbeat_changes_nothing)
{
    struct liveness l;
    bool heartbeat_due;
    uint64_t next;
    liveness_init(&l, &limits, 0);
    liveness_on_heartbeat(&l, 4000 * MS);
    liveness_on_heartbeat(&l, 3000 * MS);
    cr_expect_eq(liveness_on_timer(&l, 4500 * MS, &heartbeat_due, &next), LIFE_ALIVE);
    cr_expect_eq(l.last_seen_ns, 4000 * MS);
    cr_expect_eq(liveness_on_timer(&l, 8999 * MS, &heartbeat_due, &next), LIFE_ALIVE);
    cr_expect_eq(liveness_on_timer(&l, 9000 * MS, &heartbeat_due, &next), LIFE_SUSPECT);
}

/* Two peers that run the timer at *out_next_ns and send heartbeats when due never suspect
 * each other. */
Test(liveness, two_heartbeating_peers_stay_alive)
{
    struct liveness a, b;
    uint64_t now = 0, next_a = 0, next_b = 0;
    bool heartbeat_due;
    liveness_init(&a, &limits, 0);
    liveness_init(&b, &limits, 0);
    for (int i = 0; i < 1000; i++) {
        now = next_a < next_b ? next_a : next_b;
        if (now == next_a) {
            cr_assert_eq(liveness_on_timer(&a, now, &heartbeat_due, &next_a), LIFE_ALIVE);
            if (heartbeat_due) liveness_on_heartbeat(&b, now + 3 * MS);
        }
        if (now == next_b) {
            cr_assert_eq(liveness_on_timer(&b, now, &heartbeat_due, &next_b), LIFE_ALIVE);
            if (heartbeat_due) liveness_on_heartbeat(&a, now + 3 * MS);
        }
    }
    cr_expect_gt(now, 100 * 1000 * MS);
}
