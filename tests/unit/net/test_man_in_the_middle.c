/* A man in the middle that cuts the connection at any byte, delays bytes, replays them or reflects
 * them. Data arrives correctly or not at all, and no side waits forever. */
#include "tests/support/wire_tap.h"

#include <criterion/criterion.h>
#include <string.h>

#define FOR_BOTH(secrets) for (unsigned secrets = 0; secrets < 2; secrets++)

enum { FRAMES = 3, FRAME_BYTES = 300, DATA_BYTES = 3000 };

static struct side *const server = &fixture.server, *const client = &fixture.client;
static struct tap tap;
static uint8_t data[DATA_BYTES];

/* Hook of both sides: on open sends frames and data; verifies what is received. */
static void exchange_data(struct side *s, struct conn *c, enum moment at)
{
    if (at == AT_FRAME) cr_assert_eq(s->last_request, s->frames);
    if (at == AT_FRAME) cr_assert(conn_fixture_is_filled(s->last, s->last_size, s->last_request));
    if (at == AT_DATA) cr_assert(memcmp(s->into, data, sizeof data) == 0);
    if (at != AT_OPENED) return;
    struct glint_slice bytes = {data, sizeof data};
    for (unsigned i = 1; i <= FRAMES; i++) cr_assert(conn_fixture_send(s, FRAME_BYTES, i));
    cr_assert(conn_send_data(c, 1, bytes, conn_fixture_on_sent, s));
}

static void open_fixture(unsigned secrets, uint64_t step)
{
    conn_fixture_open(secrets);
    conn_fixture_fill(data, sizeof data, 7);
    client->hook = server->hook = exchange_data;
    client->wants_data = server->wants_data = true;
    tap_open(&tap, step);
}

static void close_fixture(void)
{
    tap_close(&tap);
    conn_fixture_close();
    tap_free(&tap);
}

static bool all_arrived(void)
{
    return server->frames == FRAMES && client->frames == FRAMES && server->datas == 1 &&
           client->datas == 1;
}

Test(man_in_the_middle, byte_by_byte_delivery_works)
{
    FOR_BOTH(secrets)
    {
        open_fixture(secrets, 1);
        tap_dial(&tap);
        CONN_FIXTURE_WAIT(all_arrived());
        cr_expect_not(fixture.late);
        close_fixture();
    }
}

/* Measures the bytes of a complete exchange in each direction. */
static void measure(unsigned secrets, uint64_t sizes[TAP_DIRECTIONS])
{
    open_fixture(secrets, MIB);
    tap_dial(&tap);
    CONN_FIXTURE_WAIT(all_arrived());
    cr_assert_not(fixture.late);
    for (int i = 0; i < TAP_DIRECTIONS; i++) sizes[i] = tap.directions[i].size;
    close_fixture();
}

Test(man_in_the_middle, cut_at_any_byte_closes_both_sides)
{
    uint64_t sizes[TAP_DIRECTIONS];
    FOR_BOTH(secrets)
    {
        measure(secrets, sizes);
        for (int way = 0; way < TAP_DIRECTIONS; way++) {
            for (uint64_t at = 0; at < sizes[way]; at += at < 1200 ? 23 : 301) {
                open_fixture(secrets, 500);
                tap.directions[way].cut_at = at;
                tap_dial(&tap);
                CONN_FIXTURE_WAIT(client->closed && (server->closed || server->net.rejected > 0));
                cr_assert_not(fixture.late, "way %d, byte %llu", way, (unsigned long long)at);
                cr_expect_neq(client->why.code, GLINT_OK);
                struct side *reader = way == TAP_TO_SERVER ? server : client;
                cr_expect_eq(reader->datas, 0, "a truncated frame was delivered");
                close_fixture();
            }
        }
    }
}

/* A peer that stalls in the middle of the handshake, as a slow-loris attacker does. */
Test(man_in_the_middle, stall_during_handshake_times_out)
{
    static const uint64_t places[] = {0, 1, 3, 4, 5, 6, 31, 32, 60, 100, 150, 200, 230};
    FOR_BOTH(secrets)
    {
        for (unsigned i = 0; i < 2 * sizeof places / sizeof places[0]; i++) {
            if (secrets == 0 && places[i / 2] > 60) continue; /* beyond the length of a hello */
            open_fixture(secrets, MIB);
            client->net.connect_ms = server->net.connect_ms = 40;
            tap.directions[i % 2].cut_at = places[i / 2];
            tap.stalls = true;
            tap_dial(&tap);
            CONN_FIXTURE_WAIT(client->closed);
            cr_assert_not(fixture.late, "way %u, byte %llu", i % 2,
                          (unsigned long long)places[i / 2]);
            cr_expect_eq(client->why.code, GLINT_E_CONNECTION);
            cr_expect_eq(client->frames, 0);
            CONN_FIXTURE_WAIT(server->opened || server->net.rejected > 0);
            cr_expect_not(fixture.late);
            close_fixture();
        }
    }
}

Test(man_in_the_middle, replayed_traffic_is_rejected)
{
    struct raw_client s;
    open_fixture(1, MIB);
    tap_dial(&tap);
    CONN_FIXTURE_WAIT(all_arrived());
    cr_assert_not(fixture.late);
    raw_client_dial(&s, tap.directions[TAP_TO_SERVER].bytes, tap.directions[TAP_TO_SERVER].size, 0);
    CONN_FIXTURE_WAIT(s.ended);
    cr_expect_not(fixture.late);
    cr_expect_eq(fixture.accepted, 1);
    cr_expect_eq(server->net.rejected, 1);
    cr_expect(conn_is_open(server->conn) && server->frames == FRAMES);
    close_fixture();
}

Test(man_in_the_middle, reflected_traffic_is_rejected)
{
    FOR_BOTH(secrets)
    {
        open_fixture(secrets, MIB);
        tap.reflects = true;
        tap_dial(&tap);
        CONN_FIXTURE_WAIT(client->closed);
        cr_expect_not(fixture.late);
        cr_expect_eq(client->opened, 0);
        cr_expect(client->why.code == GLINT_E_PEER_MISMATCH || client->why.code == GLINT_E_AUTH,
                  "%s", client->why.cause);
        close_fixture();
    }
}

/* ---- Many connections */

Test(man_in_the_middle, slow_handshakes_do_not_block_peers)
{
    enum { MANY = 200 };
    static struct raw_client many[MANY];
    static uint8_t first[4096];
    FOR_BOTH(secrets)
    {
        open_fixture(secrets, MIB);
        tap_dial(&tap);
        CONN_FIXTURE_WAIT(all_arrived());
        uint64_t size = tap.directions[TAP_TO_SERVER].size;
        if (size > sizeof first) size = sizeof first;
        memcpy(first, tap.directions[TAP_TO_SERVER].bytes, size);
        close_fixture();
        conn_fixture_open(secrets);
        for (int i = 0; i < MANY; i++) raw_client_dial(&many[i], first, 60, 1);
        conn_fixture_connect();
        cr_expect_eq(fixture.accepted, 1);
        for (int i = 0; i < MANY; i++) raw_client_close(&many[i], i % 2);
        conn_fixture_close();
    }
}

/* Connections without memory for them are closed; the listener keeps working. */
Test(man_in_the_middle, listener_survives_out_of_memory)
{
    enum { MANY = 20 };
    static struct raw_client many[MANY];
    FOR_BOTH(secrets)
    {
        conn_fixture_open(secrets);
        mem_fail_at(1, true);
        for (int i = 0; i < MANY; i++) raw_client_dial(&many[i], "", 0, 0);
        for (int i = 0; i < MANY; i++) CONN_FIXTURE_WAIT(many[i].ended);
        cr_expect_not(fixture.late);
        cr_expect_eq(fixture.accepted, 0);
        mem_fail_at(0, false);
        conn_fixture_connect();
        conn_fixture_close();
    }
}
