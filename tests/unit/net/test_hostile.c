/* Somebody in the middle of the wire, who cuts it anywhere, keeps bytes back, plays them again, or
 * holds up a mirror. What arrives is right, or nothing does, and nobody waits forever. */
#include "tests/support/wire_tap.h"

#include <criterion/criterion.h>
#include <string.h>

#define FOR_BOTH(secrets) for (unsigned secrets = 0; secrets < 2; secrets++)

enum { FRAMES = 3, FRAME_BYTES = 300, DATA_BYTES = 3000 };

static struct side *const server = &world.server, *const client = &world.client;
static struct tap tap;
static uint8_t data[DATA_BYTES];

/* Frames and data both ways, as soon as it is open; what comes is looked at. */
static void talk(struct side *s, struct conn *c, enum moment at)
{
    if (at == AT_FRAME) cr_assert_eq(s->last_request, s->frames);
    if (at == AT_FRAME) cr_assert(world_is_filled(s->last, s->last_size, s->last_request));
    if (at == AT_DATA) cr_assert(memcmp(s->into, data, sizeof data) == 0);
    if (at != AT_OPENED) return;
    struct glint_slice bytes = {data, sizeof data};
    for (unsigned i = 1; i <= FRAMES; i++) cr_assert(world_send(s, FRAME_BYTES, i));
    cr_assert(conn_send_data(c, 1, bytes, world_on_sent, s));
}

static void open_world(unsigned secrets, uint64_t step)
{
    world_open(secrets);
    world_fill(data, sizeof data, 7);
    client->hook = server->hook = talk;
    client->wants_data = server->wants_data = true;
    tap_open(&tap, step);
}

static void close_world(void)
{
    tap_close(&tap);
    world_close();
    tap_free(&tap);
}

static bool all_came(void)
{
    return server->frames == FRAMES && client->frames == FRAMES && server->datas == 1 &&
           client->datas == 1;
}

Test(hostile, one_byte_at_a_time_is_enough)
{
    FOR_BOTH(secrets)
    {
        open_world(secrets, 1);
        tap_dial(&tap);
        WORLD_WAIT(all_came());
        cr_expect_not(world.late);
        close_world();
    }
}

/* How many bytes a whole talk is, each way. */
static void measure(unsigned secrets, uint64_t sizes[TAP_WAYS])
{
    open_world(secrets, MIB);
    tap_dial(&tap);
    WORLD_WAIT(all_came());
    cr_assert_not(world.late);
    for (int i = 0; i < TAP_WAYS; i++) sizes[i] = tap.ways[i].size;
    close_world();
}

Test(hostile, a_wire_cut_anywhere_ends_both_sides)
{
    uint64_t sizes[TAP_WAYS];
    FOR_BOTH(secrets)
    {
        measure(secrets, sizes);
        for (int way = 0; way < TAP_WAYS; way++) {
            for (uint64_t at = 0; at < sizes[way]; at += at < 1200 ? 23 : 301) {
                open_world(secrets, 500);
                tap.ways[way].cut_at = at;
                tap_dial(&tap);
                WORLD_WAIT(client->closed && (server->closed || server->net.refused > 0));
                cr_assert_not(world.late, "way %d, byte %llu", way, (unsigned long long)at);
                cr_expect_neq(client->why.code, GLINT_OK);
                struct side *reader = way == TAP_TO_SERVER ? server : client;
                cr_expect_eq(reader->datas, 0, "its end did not come");
                close_world();
            }
        }
    }
}

/* Also one who goes silent in the middle of a handshake, which is what slow hands do. */
Test(hostile, silence_anywhere_before_it_is_open_has_an_end)
{
    static const uint64_t places[] = {0, 1, 3, 4, 5, 6, 31, 32, 60, 100, 150, 200, 230};
    FOR_BOTH(secrets)
    {
        for (unsigned i = 0; i < 2 * sizeof places / sizeof places[0]; i++) {
            if (secrets == 0 && places[i / 2] > 60) continue; /* a hello is hardly longer */
            open_world(secrets, MIB);
            client->net.connect_ms = server->net.connect_ms = 40;
            tap.ways[i % 2].cut_at = places[i / 2];
            tap.stalls = true;
            tap_dial(&tap);
            WORLD_WAIT(client->closed);
            cr_assert_not(world.late, "way %u, byte %llu", i % 2,
                          (unsigned long long)places[i / 2]);
            cr_expect_eq(client->why.code, GLINT_E_CONNECTION);
            cr_expect_eq(client->frames, 0);
            WORLD_WAIT(server->opened || server->net.refused > 0);
            cr_expect_not(world.late);
            close_world();
        }
    }
}

Test(hostile, what_was_recorded_opens_nothing)
{
    struct stranger s;
    open_world(1, MIB);
    tap_dial(&tap);
    WORLD_WAIT(all_came());
    cr_assert_not(world.late);
    stranger_dial(&s, tap.ways[TAP_TO_SERVER].bytes, tap.ways[TAP_TO_SERVER].size, 0);
    WORLD_WAIT(s.ended);
    cr_expect_not(world.late);
    cr_expect_eq(world.accepted, 1);
    cr_expect_eq(server->net.refused, 1);
    cr_expect(conn_is_open(server->conn) && server->frames == FRAMES);
    close_world();
}

Test(hostile, a_mirror_is_no_peer)
{
    FOR_BOTH(secrets)
    {
        open_world(secrets, MIB);
        tap.mirror = true;
        tap_dial(&tap);
        WORLD_WAIT(client->closed);
        cr_expect_not(world.late);
        cr_expect_eq(client->opened, 0);
        cr_expect(client->why.code == GLINT_E_PEER_MISMATCH || client->why.code == GLINT_E_AUTH,
                  "%s", client->why.cause);
        close_world();
    }
}

/* ---- Many */

Test(hostile, slow_handshakes_keep_nobody_out)
{
    enum { MANY = 200 };
    static struct stranger many[MANY];
    static uint8_t first[4096];
    FOR_BOTH(secrets)
    {
        open_world(secrets, MIB);
        tap_dial(&tap);
        WORLD_WAIT(all_came());
        uint64_t size = tap.ways[TAP_TO_SERVER].size;
        if (size > sizeof first) size = sizeof first;
        memcpy(first, tap.ways[TAP_TO_SERVER].bytes, size);
        close_world();
        world_open(secrets);
        for (int i = 0; i < MANY; i++) stranger_dial(&many[i], first, 60, 1);
        world_connect();
        cr_expect_eq(world.accepted, 1);
        for (int i = 0; i < MANY; i++) stranger_leave(&many[i], i % 2);
        world_close();
    }
}

/* Whoever comes while there is no memory is turned away, and then the gate goes on. */
Test(hostile, without_memory_the_gate_stays_a_gate)
{
    enum { MANY = 20 };
    static struct stranger many[MANY];
    FOR_BOTH(secrets)
    {
        world_open(secrets);
        mem_fail_at(1, true);
        for (int i = 0; i < MANY; i++) stranger_dial(&many[i], "", 0, 0);
        for (int i = 0; i < MANY; i++) WORLD_WAIT(many[i].ended);
        cr_expect_not(world.late);
        cr_expect_eq(world.accepted, 0);
        mem_fail_at(0, false);
        world_connect();
        world_close();
    }
}
