/* Before the job of a seed: several drivers that each need several executors of the same daemons,
 * with messages and ends of fetches in any order. A driver follows acquisition_policy.c as
 * acquisition_policy.c and daemon_conn.c do; a daemon fetches the programs of some drivers, queues
 * drivers, and serves one at a time. Connections break and daemons start late. Every driver must
 * get its executors, and request none of them too often. */
#include "engine/driver/cluster_transport_internal.h"
#include "tests/sim/sim.h"

#include <assert.h>
#include <string.h>

enum { DRIVERS_MAX = 6, DAEMONS_MAX = 6, IN_FLIGHT_MAX = 8, STEPS_MAX = 200000 };

enum daemon_message {
    /* to the daemon */
    DIAL,
    REQUEST,
    CLOSE,
    /* to the driver */
    OPENED,
    FETCHING,
    QUEUED,
    STARTED,
    LOST,
};

/* What a daemon knows of a driver. */
enum session { NO_SESSION, OPEN, FETCHES, WAITS, SERVED };

/* Messages of one direction, oldest first, each of one connection. */
struct message_lane {
    struct {
        enum daemon_message message;
        uint32_t connection;
    } sent[IN_FLIGHT_MAX];
    uint32_t count;
};

struct link {
    struct message_lane to_daemon, to_driver;
    enum acquisition_state state; /* as the driver sees it */
    uint32_t connection;          /* the driver's current one */
    uint32_t requests;
    enum session session; /* of the daemon */
    uint32_t session_connection;
    uint64_t order; /* in its queue */
    bool fetched;   /* it has the driver's program */
};

struct meeting {
    struct sim *s;
    uint32_t drivers, daemons, breaks_left, starts_left;
    uint32_t wanted[DRIVERS_MAX], limit[DRIVERS_MAX];
    bool started[DRIVERS_MAX], ended[DRIVERS_MAX], up[DAEMONS_MAX];
    struct link links[DRIVERS_MAX][DAEMONS_MAX];
    uint64_t order;
};

static void put(struct message_lane *lane, enum daemon_message message, uint32_t connection)
{
    assert(lane->count < IN_FLIGHT_MAX);
    lane->sent[lane->count].message = message;
    lane->sent[lane->count++].connection = connection;
}

/* ---- Drivers */

static void states_of(const struct meeting *m, uint32_t d, enum acquisition_state *out)
{
    for (uint32_t e = 0; e < m->daemons; e++) out[e] = m->links[d][e].state;
}

static void dial(struct link *l)
{
    l->connection++;
    put(&l->to_daemon, DIAL, l->connection);
}

static void release(struct meeting *m, struct link *l)
{
    put(&l->to_daemon, CLOSE, l->connection++);
    l->state = ACQUISITION_RELEASED;
    m->s->counts.released++;
}

/* acquisition_order_release_above_limit, and the dials that it allows. */
static void enforce(struct meeting *m, uint32_t d)
{
    enum acquisition_state states[DAEMONS_MAX] = {ACQUISITION_UNAVAILABLE};
    states_of(m, d, states);
    const uint32_t n = m->daemons, limit = m->started[d]
                                               ? ACQUISITION_NO_LIMIT
                                               : acquisition_highest_rank(states, n, m->wanted[d]);
    m->limit[d] = limit;
    if (limit != ACQUISITION_NO_LIMIT && !acquisition_awaits_response(states, n, limit, n)) {
        m->s->counts.ordered++;
        for (uint32_t e = 0; e < n; e++)
            if (acquisition_must_release(states[e], e, limit)) release(m, &m->links[d][e]);
        states_of(m, d, states);
        if (acquisition_highest_rank(states, n, m->wanted[d]) != limit)
            sim_fail(m->s, "driver %u: the limit %u depends on what is released", d, limit);
    }
    for (uint32_t e = 0; e < n && !m->ended[d]; e++) {
        struct link *l = &m->links[d][e];
        if (l->state != ACQUISITION_RELEASED || e > m->limit[d]) continue;
        l->state = ACQUISITION_REQUESTED;
        dial(l);
    }
}

static void driver_on_opened(struct meeting *m, uint32_t d, uint32_t e)
{
    enum acquisition_state states[DAEMONS_MAX] = {ACQUISITION_UNAVAILABLE};
    struct link *l = &m->links[d][e];
    l->state = ACQUISITION_REQUESTED;
    enforce(m, d);
    states_of(m, d, states);
    if (e <= m->limit[d] || acquisition_awaits_response(states, m->daemons, m->limit[d], e)) {
        put(&l->to_daemon, REQUEST, l->connection);
        l->requests++;
        return;
    }
    release(m, l);
    enforce(m, d);
}

static void driver_receives(struct meeting *m, uint32_t d, uint32_t e)
{
    struct link *l = &m->links[d][e];
    const enum daemon_message message = l->to_driver.sent[0].message;
    const uint32_t connection = l->to_driver.sent[0].connection;
    memmove(l->to_driver.sent, l->to_driver.sent + 1,
            --l->to_driver.count * sizeof l->to_driver.sent[0]);
    if (connection != l->connection || m->ended[d]) return; /* of a closed connection */
    switch (message) {
    case OPENED: driver_on_opened(m, d, e); return;
    case FETCHING: l->state = ACQUISITION_FETCHING; break;
    case QUEUED: l->state = ACQUISITION_QUEUED; break;
    case STARTED: l->state = ACQUISITION_KEPT; break;
    default: l->state = ACQUISITION_UNAVAILABLE; break;
    }
    uint32_t kept = 0;
    for (uint32_t i = 0; i < m->daemons; i++) kept += m->links[d][i].state == ACQUISITION_KEPT;
    m->started[d] = m->started[d] || kept >= m->wanted[d];
    enforce(m, d);
}

static void driver_ends(struct meeting *m, uint32_t d)
{
    m->ended[d] = true;
    for (uint32_t e = 0; e < m->daemons; e++)
        put(&m->links[d][e].to_daemon, CLOSE, m->links[d][e].connection++);
}

/* ---- Daemons */

/* Serves the driver that has waited longest, if it serves none. */
static void serve_next(struct meeting *m, uint32_t e)
{
    struct link *first = NULL;
    for (uint32_t d = 0; d < m->drivers; d++) {
        struct link *l = &m->links[d][e];
        if (l->session == SERVED) return;
        if (l->session == WAITS && (first == NULL || l->order < first->order)) first = l;
    }
    if (first == NULL) return;
    first->session = SERVED;
    put(&first->to_driver, STARTED, first->session_connection);
}

static void enqueue(struct meeting *m, uint32_t e, struct link *l)
{
    l->session = WAITS;
    l->order = ++m->order;
    serve_next(m, e);
    if (l->session == WAITS) put(&l->to_driver, QUEUED, l->session_connection);
}

static void daemon_receives(struct meeting *m, uint32_t d, uint32_t e)
{
    struct link *l = &m->links[d][e];
    const enum daemon_message message = l->to_daemon.sent[0].message;
    const uint32_t connection = l->to_daemon.sent[0].connection;
    memmove(l->to_daemon.sent, l->to_daemon.sent + 1,
            --l->to_daemon.count * sizeof l->to_daemon.sent[0]);
    if (message == DIAL) {
        put(&l->to_driver, m->up[e] ? OPENED : LOST, connection);
        l->session = m->up[e] ? OPEN : NO_SESSION;
        l->session_connection = connection;
    } else if (connection != l->session_connection || l->session == NO_SESSION) {
        return; /* of a connection that broke */
    } else if (message == CLOSE) {
        l->session = NO_SESSION;
    } else if (l->fetched) {
        enqueue(m, e, l);
    } else {
        l->session = FETCHES;
        put(&l->to_driver, FETCHING, connection);
    }
    serve_next(m, e);
}

/* ---- What happens next */

/* The connection breaks: both sides see it. */
static void break_link(struct meeting *m, struct link *l, uint32_t e)
{
    if (l->session == NO_SESSION || m->breaks_left == 0 || !sim_chance(m->s, 20)) return;
    m->breaks_left--;
    l->session = NO_SESSION;
    put(&l->to_driver, LOST, l->session_connection);
    serve_next(m, e);
}

/* One step of this driver with this daemon, if there is any. */
static void step(struct meeting *m, uint32_t d, uint32_t e)
{
    struct link *l = &m->links[d][e];
    switch (sim_random(m->s, 6)) {
    case 0:
        if (l->to_daemon.count > 0) daemon_receives(m, d, e);
        return;
    case 1:
        if (l->to_driver.count > 0) driver_receives(m, d, e);
        return;
    case 2: /* its program has arrived */
        if (l->session != FETCHES || !sim_chance(m->s, 8)) return;
        l->fetched = true;
        m->s->counts.program_fetches++;
        enqueue(m, e, l);
        return;
    case 3:
        if (m->started[d] && !m->ended[d] && sim_chance(m->s, 10)) driver_ends(m, d);
        return;
    case 4:
        if (!m->ended[d]) break_link(m, l, e);
        return;
    default: /* the daemon starts, or is dialled again */
        if (!m->up[e] && sim_chance(m->s, 10)) m->up[e] = true;
        if (l->state != ACQUISITION_UNAVAILABLE || m->ended[d]) return;
        if (l->to_daemon.count + l->to_driver.count == 0) dial(l);
        return;
    }
}

static void meeting_init(struct meeting *m, struct sim *s)
{
    *m = (struct meeting){.s = s, .breaks_left = (uint32_t)sim_random(s, 4)};
    m->drivers = 2 + (uint32_t)sim_random(s, DRIVERS_MAX - 1);
    m->daemons = 2 + (uint32_t)sim_random(s, DAEMONS_MAX - 1);
    for (uint32_t e = 0; e < m->daemons; e++) m->up[e] = !sim_chance(s, 5);
    for (uint32_t d = 0; d < m->drivers; d++) {
        const bool other_build = sim_chance(s, 2);
        m->wanted[d] = 1 + (uint32_t)sim_random(s, m->daemons);
        m->limit[d] = ACQUISITION_NO_LIMIT;
        for (uint32_t e = 0; e < m->daemons; e++) {
            m->links[d][e].state = ACQUISITION_FIRST_DIAL;
            m->links[d][e].fetched = !other_build || sim_chance(s, 4);
            dial(&m->links[d][e]);
        }
    }
}

/* A driver requests an executor once for each one gained, and again after a broken connection. */
static void check_requests(const struct meeting *m, uint32_t d)
{
    for (uint32_t e = 0; e < m->daemons; e++)
        if (m->links[d][e].requests > 3 * (m->daemons + 1))
            sim_fail(m->s, "driver %u requested executor %u %u times", d, e,
                     m->links[d][e].requests);
}

void daemons_meet(struct sim *s)
{
    static struct meeting m;
    const uint64_t random = s->random; /* the job of this seed does not depend on it */
    meeting_init(&m, s);
    uint32_t left = m.drivers;
    for (uint32_t i = 0; i < STEPS_MAX && left > 0; i++) {
        step(&m, (uint32_t)sim_random(s, m.drivers), (uint32_t)sim_random(s, m.daemons));
        left = 0;
        for (uint32_t d = 0; d < m.drivers; d++) left += !m.ended[d];
    }
    if (left > 0) sim_fail(s, "%u of %u drivers never get their executors", left, m.drivers);
    for (uint32_t d = 0; d < m.drivers; d++) check_requests(&m, d);
    s->random = random;
}
