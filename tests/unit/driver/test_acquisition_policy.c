/* Which executors a waiting driver keeps and requests: all states of three daemons, and two drivers
 * that share three daemons in every order of events. */
#include "engine/driver/cluster_transport_internal.h"

#include <criterion/criterion.h>
#include <stdlib.h>

enum { DAEMONS = 3, DRIVERS = 2 };

/* ---- One driver: all states of three daemons */

static void state_of_number(uint32_t number, enum acquisition_state *out)
{
    for (uint32_t i = 0; i < DAEMONS; i++, number /= ACQUISITION_STATES)
        out[i] = number % ACQUISITION_STATES;
}

static uint32_t count_of(const enum acquisition_state *states, enum acquisition_state which)
{
    uint32_t found = 0;
    for (uint32_t i = 0; i < DAEMONS; i++) found += states[i] == which;
    return found;
}

static void release_above(enum acquisition_state *states, uint32_t limit)
{
    for (uint32_t i = 0; i < DAEMONS; i++)
        if (acquisition_must_release(states[i], i, limit)) states[i] = ACQUISITION_RELEASED;
}

static void check_state(uint32_t number, uint32_t wanted)
{
    enum acquisition_state before[DAEMONS], after[DAEMONS];
    state_of_number(number, before);
    state_of_number(number, after);
    const uint32_t limit = acquisition_highest_rank(before, DAEMONS, wanted);
    release_above(after, limit);
    cr_assert_eq(acquisition_highest_rank(after, DAEMONS, wanted), limit,
                 "state %u, %u wanted: the limit depends on what is released", number, wanted);
    const uint32_t kept = count_of(before, ACQUISITION_KEPT),
                   queued = count_of(before, ACQUISITION_QUEUED);
    const bool ordered = wanted > 1 && kept < wanted && queued > 0;
    cr_assert_eq(limit != ACQUISITION_NO_LIMIT, ordered, "state %u, %u wanted", number, wanted);
    if (!ordered) return;
    cr_assert_lt(limit, (uint32_t)DAEMONS);
    cr_assert_geq(count_of(after, ACQUISITION_QUEUED), 1u, "state %u, %u wanted: queued nowhere",
                  number, wanted);
}

Test(acquisition_policy, releases_do_not_change_the_limit_and_leave_a_queue_position)
{
    uint32_t numbers = 1;
    for (uint32_t i = 0; i < DAEMONS; i++) numbers *= ACQUISITION_STATES;
    for (uint32_t number = 0; number < numbers; number++)
        for (uint32_t wanted = 1; wanted <= DAEMONS + 1; wanted++) check_state(number, wanted);
}

static uint32_t limit_of(uint32_t wanted, enum acquisition_state a, enum acquisition_state b,
                         enum acquisition_state c)
{
    return acquisition_highest_rank((enum acquisition_state[]){a, b, c}, DAEMONS, wanted);
}

Test(acquisition_policy, limit_is_the_kth_highest_available)
{
    const enum acquisition_state queued = ACQUISITION_QUEUED, kept = ACQUISITION_KEPT,
                                 fetching = ACQUISITION_FETCHING, gone = ACQUISITION_UNAVAILABLE;
    cr_expect_eq(limit_of(2, queued, queued, kept), 1);
    cr_expect_eq(limit_of(2, queued, queued, queued), 1);
    cr_expect_eq(limit_of(3, queued, queued, kept), 0);
    cr_expect_eq(limit_of(2, queued, kept, gone), 0);
    cr_expect_eq(limit_of(2, kept, queued, gone), 1);
    cr_expect_eq(limit_of(2, fetching, fetching, queued), 2); /* its only position */
    cr_expect_eq(limit_of(2, fetching, queued, queued), 1);
    cr_expect_eq(limit_of(3, fetching, queued, queued), 1);
    cr_expect_eq(limit_of(2, fetching, fetching, kept), ACQUISITION_NO_LIMIT);
}

Test(acquisition_policy, fetching_and_unreachable_daemons_are_not_awaited)
{
    const bool awaited[ACQUISITION_STATES] = {[ACQUISITION_FIRST_DIAL] = true,
                                              [ACQUISITION_RELEASED] = true,
                                              [ACQUISITION_REQUESTED] = true};
    for (enum acquisition_state s = 0; s < ACQUISITION_STATES; s++) {
        const enum acquisition_state states[] = {ACQUISITION_QUEUED, s, ACQUISITION_KEPT};
        cr_expect_eq(acquisition_awaits_response(states, DAEMONS, 1, DAEMONS), awaited[s]);
        cr_expect_not(acquisition_awaits_response(states, DAEMONS, 1, 1));
        cr_expect_eq(acquisition_awaits_response(states, DAEMONS, 0, DAEMONS),
                     awaited[s] && s != ACQUISITION_RELEASED); /* above the limit */
    }
}

/* ---- Two drivers: every order of events
 *
 * A driver sends a request, the daemon responds that it fetches the program, that the driver is
 * queued, or with an executor; a fetch ends; a daemon gives its free executor to the first in its
 * queue; a driver that has enough runs its job and ends. */

struct meeting {
    enum acquisition_state of[DRIVERS][DAEMONS];
    bool second_first[DAEMONS]; /* of two queued drivers the second came first */
    bool ended[DRIVERS];
};

enum { VIEW_BITS = 3, CODES = 1 << (VIEW_BITS * DRIVERS * DAEMONS + DAEMONS + DRIVERS) };

static uint32_t code_of(const struct meeting *m)
{
    uint32_t code = 0;
    for (uint32_t d = 0; d < DRIVERS; d++)
        for (uint32_t e = 0; e < DAEMONS; e++) code = code << VIEW_BITS | m->of[d][e];
    for (uint32_t e = 0; e < DAEMONS; e++) code = code << 1 | m->second_first[e];
    for (uint32_t d = 0; d < DRIVERS; d++) code = code << 1 | m->ended[d];
    return code;
}

static uint32_t wanted_by[DRIVERS];
static uint32_t *reached; /* codes, in the order in which they were found */
static struct meeting *meetings;
static uint32_t reached_count;
static uint8_t *known; /* [CODES] 0: not reached, 1: reached, 2: all drivers can end */
static bool ends;      /* of visit: any successor can end */

static bool is_free(const struct meeting *m, uint32_t e)
{
    for (uint32_t d = 0; d < DRIVERS; d++)
        if (m->of[d][e] == ACQUISITION_KEPT) return false;
    return true;
}

static void visit(struct meeting m, uint32_t d)
{
    const uint32_t limit = acquisition_highest_rank(m.of[d], DAEMONS, wanted_by[d]);
    if (limit != ACQUISITION_NO_LIMIT &&
        !acquisition_awaits_response(m.of[d], DAEMONS, limit, DAEMONS))
        release_above(m.of[d], limit);
    for (uint32_t e = 0; e < DAEMONS; e++)
        if (m.of[0][e] != ACQUISITION_QUEUED || m.of[1][e] != ACQUISITION_QUEUED)
            m.second_first[e] = false;
    const uint32_t code = code_of(&m);
    ends |= known[code] == 2;
    if (known[code] != 0) return;
    known[code] = 1;
    meetings[reached_count] = m;
    reached[reached_count++] = code;
    cr_assert_lt(reached_count, 1u << 20);
}

static void visit_change(struct meeting m, uint32_t d, uint32_t e, enum acquisition_state to)
{
    m.of[d][e] = to;
    if (to == ACQUISITION_QUEUED) m.second_first[e] = d == 0 && m.of[1][e] == to;
    visit(m, d);
}

/* The daemon has the program: it starts an executor, or queues the driver. */
static void visit_enqueued(const struct meeting *m, uint32_t d, uint32_t e)
{
    const bool starts = is_free(m, e) && m->of[1 - d][e] != ACQUISITION_QUEUED;
    visit_change(*m, d, e, starts ? ACQUISITION_KEPT : ACQUISITION_QUEUED);
}

static void visit_successors_of(const struct meeting *m, uint32_t d, uint32_t e)
{
    const uint32_t limit = acquisition_highest_rank(m->of[d], DAEMONS, wanted_by[d]);
    const bool first = m->of[1 - d][e] != ACQUISITION_QUEUED || m->second_first[e] == (d == 1);
    switch (m->of[d][e]) {
    case ACQUISITION_RELEASED:
        if (limit == ACQUISITION_NO_LIMIT || e <= limit)
            visit_change(*m, d, e, ACQUISITION_REQUESTED);
        return;
    case ACQUISITION_REQUESTED:
        visit_change(*m, d, e, ACQUISITION_FETCHING);
        visit_enqueued(m, d, e);
        return;
    case ACQUISITION_FETCHING: visit_enqueued(m, d, e); return;
    case ACQUISITION_QUEUED:
        if (is_free(m, e) && first) visit_change(*m, d, e, ACQUISITION_KEPT);
        return;
    default: return;
    }
}

static void visit_successors(const struct meeting *m)
{
    for (uint32_t d = 0; d < DRIVERS; d++) {
        if (m->ended[d]) continue;
        for (uint32_t e = 0; e < DAEMONS; e++) visit_successors_of(m, d, e);
        if (count_of(m->of[d], ACQUISITION_KEPT) < wanted_by[d]) continue;
        struct meeting after = *m;
        after.ended[d] = true;
        for (uint32_t e = 0; e < DAEMONS; e++) after.of[d][e] = ACQUISITION_UNAVAILABLE;
        visit(after, d);
    }
}

/* From the last states to the first, until nothing changes. */
static uint32_t count_states_that_end(void)
{
    uint32_t found = 0, before;
    do {
        before = found;
        for (uint32_t i = reached_count; i-- > 0;) {
            if (known[reached[i]] == 2) continue;
            ends = meetings[i].ended[0] && meetings[i].ended[1];
            visit_successors(&meetings[i]);
            if (!ends) continue;
            known[reached[i]] = 2;
            found++;
        }
    } while (found > before);
    return found;
}

static void meet(uint32_t first, uint32_t second)
{
    struct meeting start = {.ended = {false}};
    wanted_by[0] = first;
    wanted_by[1] = second;
    reached_count = 0;
    known = calloc(CODES, 1);
    reached = calloc(1u << 20, sizeof *reached);
    meetings = calloc(1u << 20, sizeof *meetings);
    cr_assert(known != NULL && reached != NULL && meetings != NULL);
    for (uint32_t d = 0; d < DRIVERS; d++)
        for (uint32_t e = 0; e < DAEMONS; e++) start.of[d][e] = ACQUISITION_RELEASED;
    visit(start, 0);
    for (uint32_t i = 0; i < reached_count; i++) visit_successors(&meetings[i]);
    const uint32_t all = reached_count;
    cr_expect_gt(all, 1000u);
    cr_expect_eq(count_states_that_end(), all, "%u and %u of 3: a deadlock", first, second);
    free(known);
    free(reached);
    free(meetings);
}

Test(acquisition_policy, two_drivers_never_deadlock)
{
    for (uint32_t first = 1; first <= DAEMONS; first++)
        for (uint32_t second = first; second <= DAEMONS; second++) meet(first, second);
}
