/* Listening on a range of ports. */
#include "tests/support/conn_fixture.h"

#include <criterion/criterion.h>
#include <string.h>

static struct side *const server = &fixture.server;

static bool accept_none(void *arg, struct conn *c, struct glint_error *error)
{
    (void)arg, (void)c;
    error_set(error, GLINT_E_PEER_MISMATCH, NULL, "none is accepted");
    return false;
}

Test(listener_ports, first_free_port_of_a_range_is_used)
{
    struct glint_error error = {.code = GLINT_OK};
    conn_fixture_open(0);
    const uint16_t taken = listener_port(fixture.listener);
    struct net *net = &server->net;
    cr_expect_null(listener_open_in_range(net, "127.0.0.1", (struct port_range){taken, taken},
                                          accept_none, NULL, &error));
    cr_expect_eq(error.code, GLINT_E_ADDRESS);
    error.code = GLINT_OK;
    struct listener *any = listener_open_in_range(net, "127.0.0.1", (struct port_range){0, 0},
                                                  accept_none, NULL, &error);
    cr_assert_not_null(any);
    cr_expect(listener_port(any) > 0 && listener_port(any) != taken);
    const struct port_range range = {taken, (uint16_t)(taken < 65000 ? taken + 500 : taken)};
    struct listener *next =
        listener_open_in_range(net, "127.0.0.1", range, accept_none, NULL, &error);
    cr_assert_not_null(next, "%s", error.cause);
    cr_expect_eq(error.code, GLINT_OK);
    cr_expect(listener_port(next) > taken && listener_port(next) <= range.last);
    /* Not an address of this host: no other port is tried, and no larger range advised. */
    cr_expect_null(listener_open_in_range(net, "192.0.2.1", range, accept_none, NULL, &error));
    cr_expect_eq(strncmp(error.cause, "cannot listen on 192.0.2.1 port", 31), 0, "%s", error.cause);
    cr_expect_str_eq(error.hint, "listen on an address of this host");
    listener_close(any);
    listener_close(next);
    conn_fixture_close();
}
