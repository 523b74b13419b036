/* Fault injection for connections: for every n the n-th allocation fails, or all from the n-th on,
 * while a connection is dialled, opened, used in both directions and closed, with and without TLS.
 *
 * Whatever fails, either all frames arrive or one side closes with an error; `sent` is called for
 * every DATA frame, and nothing is leaked (conn_fixture_close checks). */
#include "tests/support/conn_fixture.h"

#include <stdio.h>
#include <stdlib.h>

enum { FRAMES = 4, DATAS = 3, DATA_BYTES = 300000, QUIET_RUNS = 6 };

static unsigned passed, failed;
static uint8_t *data;
static unsigned data_queued[2];
static bool gave_up; /* out of memory in the test itself */

static void check(bool good, unsigned secrets, bool stays, int64_t n, const char *what)
{
    if (good) {
        passed++;
        return;
    }
    if (failed++ < 20)
        fprintf(stderr, "%s TLS, allocation %lld%s: %s\n", secrets ? "with" : "without",
                (long long)n, stays ? " and all later ones" : "", what);
}

/* Sends all frames as soon as the connection is open. */
static void use(struct side *s, struct conn *c, enum moment at)
{
    if (at != AT_OPENED) return;
    for (unsigned i = 0; i < FRAMES; i++) {
        if (conn_fixture_send(s, i * 30000, i)) continue;
        conn_close(c, false);
        gave_up = true;
    }
    for (unsigned i = 0; i < DATAS; i++) {
        struct glint_slice bytes = {data, DATA_BYTES};
        data_queued[s == &fixture.client] += conn_send_data(c, i, bytes, conn_fixture_on_sent, s);
    }
}

static bool all_arrived(const struct side *s)
{
    return s->frames == FRAMES && s->datas == DATAS && s->sent == DATAS;
}

static bool is_over(void)
{
    return (all_arrived(&fixture.client) && all_arrived(&fixture.server)) ||
           fixture.client.closed || fixture.server.closed;
}

/* Returns whether everything arrived. */
static bool run_one(unsigned secrets, bool stays, int64_t n)
{
    struct glint_error error = {.code = GLINT_OK};
    struct side *client = &fixture.client, *server = &fixture.server;
    conn_fixture_open(secrets);
    data_queued[0] = data_queued[1] = 0;
    gave_up = false;
    client->wants_data = server->wants_data = true;
    client->hook = server->hook = use;
    mem_fail_at(n, stays);
    bool dialled = conn_fixture_dial(CHANNEL_DATA, NULL, &error);
    if (dialled) CONN_FIXTURE_WAIT(is_over());
    bool well = dialled && all_arrived(client) && all_arrived(server);
    if (client->conn != NULL) conn_close(client->conn, well);
    if (server->conn != NULL) conn_close(server->conn, well);
    CONN_FIXTURE_WAIT(client->conn == NULL && server->conn == NULL);
    mem_fail_at(0, false);
    check(!fixture.late, secrets, stays, n, "timeout");
    check(dialled || error.code == GLINT_E_NO_MEMORY, secrets, stays, n,
          "dialling failed without an error");
    bool has_reason = client->why.code != GLINT_OK || server->why.code != GLINT_OK;
    check(well || !dialled || gave_up || has_reason, secrets, stays, n, "closed without an error");
    check(client->sent + client->unsent == data_queued[1], secrets, stays, n,
          "`sent` calls of the client");
    check(server->sent + server->unsent == data_queued[0], secrets, stays, n,
          "`sent` calls of the server");
    if (well) {
        check(conn_fixture_is_filled(client->into, DATA_BYTES, 1), secrets, stays, n, "wrong data");
        check(conn_fixture_is_filled(server->into, DATA_BYTES, 1), secrets, stays, n, "wrong data");
    }
    conn_fixture_close();
    return well;
}

int main(void)
{
    data = malloc(DATA_BYTES);
    if (data == NULL) return 1;
    conn_fixture_fill(data, DATA_BYTES, 1);
    for (unsigned secrets = 0; secrets < 2; secrets++) {
        for (int stays = 0; stays < 2; stays++) {
            int64_t n = 1;
            for (int quiet = 0; quiet < QUIET_RUNS; n++)
                quiet = run_one(secrets, stays, n) ? quiet + 1 : 0;
            check(n > 20, secrets, stays, n, "nothing failed");
            printf("%s TLS, %s: %lld allocations\n", secrets ? "with" : "without",
                   stays ? "from there on" : "once", (long long)(n - QUIET_RUNS));
        }
    }
    free(data);
    printf("%u passed, %u failed\n", passed, failed);
    return failed > 0;
}
