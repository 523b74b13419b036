/* Heartbeats of a connection. The clock of the server is the test's: it advances by no more than
 * STEP_NS per turn of the loop, so that a slow machine looks like a slow clock, not like a pause.
 */
#include "engine/net/conn_internal.h"
#include "engine/net/deadline.h"
#include "engine/net/wire.h"
#include "tests/support/conn_fixture.h"

#include <criterion/criterion.h>
#include <string.h>

#define STEP_NS MS_NS

static struct side *const server = &fixture.server, *const client = &fixture.client;
static const struct liveness_limits limits = {2 * MS_NS, 10 * MS_NS, 20 * MS_NS};
/* Of the client, which has the system's clock. */
static const struct liveness_limits patient = {2 * MS_NS, 100000 * MS_NS, 200000 * MS_NS};

static struct env clock_env;
static uint64_t clock_ns;
static struct conn_events server_events, client_events;
static unsigned suspected, alive_again, pings, heartbeats;
static bool close_in_heartbeat;
static struct ping last_ping;

static uint64_t now_ns(struct env *env)
{
    (void)env;
    return clock_ns;
}

static void on_suspect(void *arg, struct conn *c, bool suspect)
{
    cr_assert(arg == server && c == server->conn);
    suspected += suspect;
    alive_again += !suspect;
}

static void on_heartbeat(void *arg, struct conn *c, struct ping *ping)
{
    cr_assert(arg == server && c == server->conn && conn_is_open(c));
    cr_assert_eq(ping->sent_ns, clock_ns);
    ping->memory_bytes = 77;
    ping->tasks_running = 3;
    heartbeats++;
    if (close_in_heartbeat) conn_close(c, false);
}

static void on_ping(void *arg, const struct ping *ping)
{
    (void)arg;
    last_ping = *ping;
    pings++;
}

/* Both sides are open, on the control channel. */
static void open_both(void)
{
    struct glint_error error = {.code = GLINT_OK};
    conn_fixture_open(0);
    clock_env = *env_real();
    clock_env.now_ns = now_ns;
    clock_ns = 1000 * MS_NS;
    server->net.env = &clock_env;
    suspected = alive_again = pings = heartbeats = 0;
    close_in_heartbeat = false;
    cr_assert(conn_fixture_dial(CHANNEL_CONTROL, NULL, &error), "%s", error.cause);
    CONN_FIXTURE_WAIT(server->opened == 1 && client->opened == 1);
    server_events = client_events = conn_fixture_events;
    server_events.suspect = on_suspect;
    server_events.heartbeat = on_heartbeat;
    client_events.ping = on_ping;
    conn_set_events(server->conn, &server_events, server);
    conn_set_events(client->conn, &client_events, client);
}

#define ADVANCE_UNTIL(done)                                                                        \
    do {                                                                                           \
        conn_fixture_begin_wait();                                                                 \
        while (!(done) && conn_fixture_run_once()) clock_ns += STEP_NS;                            \
        cr_assert(done);                                                                           \
    } while (0)

Test(conn_heartbeat, ping_has_what_the_heartbeat_fills_in)
{
    open_both();
    conn_start_heartbeat(server->conn, &limits);
    ADVANCE_UNTIL(pings == 3);
    cr_expect_eq(last_ping.memory_bytes, 77);
    cr_expect_eq(last_ping.tasks_running, 3);
    cr_expect(last_ping.sent_ns > 1000 * MS_NS && last_ping.sent_ns <= clock_ns);
    cr_expect_geq(heartbeats, 3);
    conn_fixture_close();
}

Test(conn_heartbeat, silent_peer_is_suspect_then_dead)
{
    open_both();
    conn_start_heartbeat(server->conn, &limits);
    ADVANCE_UNTIL(suspected == 1);
    cr_expect(conn_is_open(server->conn));
    cr_expect_geq(clock_ns, 1000 * MS_NS + limits.suspect_ns);
    cr_expect_eq(conn_last_seen_ns(server->conn), 1000 * MS_NS);
    ADVANCE_UNTIL(server->closed == 1);
    cr_expect_geq(clock_ns, 1000 * MS_NS + limits.dead_ns);
    cr_expect_eq(suspected, 1);
    cr_expect_eq(alive_again, 0);
    cr_expect_eq(server->why.code, GLINT_E_CONNECTION);
    cr_expect_str_eq(server->why.cause, "no heartbeat for 20 ms");
    conn_fixture_close();
}

Test(conn_heartbeat, suspect_peer_that_sends_is_alive_again)
{
    open_both();
    conn_start_heartbeat(server->conn, &limits);
    ADVANCE_UNTIL(suspected == 1);
    conn_start_heartbeat(client->conn, &patient);
    CONN_FIXTURE_WAIT(alive_again == 1); /* the server's clock is stopped */
    cr_expect_eq(alive_again, 1);
    cr_expect_eq(conn_last_seen_ns(server->conn), clock_ns);
    cr_expect(conn_is_open(server->conn));
    cr_expect_eq(server->frames, 0, "a PING is no frame for the owner of the connection");
    conn_fixture_close();
}

Test(conn_heartbeat, closed_connection_sends_no_ping)
{
    open_both();
    conn_start_heartbeat(server->conn, &limits);
    ADVANCE_UNTIL(pings == 1);
    const unsigned before = heartbeats;
    conn_close(server->conn, true);
    clock_ns += limits.heartbeat_ns;
    CONN_FIXTURE_WAIT(server->closed == 1 && client->closed == 1);
    cr_expect_eq(server->closed + client->closed, 2);
    cr_expect_eq(heartbeats, before);
    cr_expect_eq(pings, before);
    conn_fixture_close();
}

Test(conn_heartbeat, connection_may_be_closed_in_the_heartbeat)
{
    open_both();
    close_in_heartbeat = true;
    conn_start_heartbeat(server->conn, &limits);
    ADVANCE_UNTIL(server->closed == 1 && client->closed == 1);
    cr_expect_eq(heartbeats, 1);
    cr_expect_eq(pings, 0);
    cr_expect_eq(server->why.code, GLINT_OK);
    conn_fixture_close();
}
