/* Dialling a name while the DNS server does not respond: getaddrinfo, which cannot be interrupted,
 * hangs here for one name until the test releases it. */
#include "tests/support/conn_fixture.h"

#include <criterion/criterion.h>
#include <dlfcn.h>
#include <netdb.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <string.h>

static struct side *const client = &fixture.client;
static sem_t hold;
static atomic_uint hanging;

/* Replaces the C library's; called by libuv's thread pool. */
int getaddrinfo(const char *restrict node, const char *restrict service,
                const struct addrinfo *restrict hints, struct addrinfo **restrict out)
{
    __typeof__(&getaddrinfo) real = (__typeof__(&getaddrinfo))dlsym(RTLD_NEXT, "getaddrinfo");
    if (node == NULL || strcmp(node, "hangs.test") != 0) return real(node, service, hints, out);
    atomic_fetch_add(&hanging, 1);
    while (sem_wait(&hold) != 0) continue;
    return EAI_AGAIN;
}

/* Under load the connection may give up before a thread looks the name up. */
static void dial_name(void)
{
    struct glint_error error = {.code = GLINT_OK};
    conn_fixture_dial_to("hangs.test", listener_port(fixture.listener), CHANNEL_DATA, NULL, &error);
    cr_assert_not_null(client->conn);
    while (atomic_load(&hanging) == 0 && client->closed == 0)
        uv_run(&fixture.loop, UV_RUN_NOWAIT);
}

static void release_lookup(void)
{
    const unsigned lookups = atomic_exchange(&hanging, 0);
    cr_expect(lookups == 1 || (lookups == 0 && client->why.code != GLINT_OK), "it still runs");
    if (lookups > 0) sem_post(&hold);
    conn_fixture_close(); /* runs the loop until the result has arrived */
}

Test(dial, close_does_not_wait_for_name_lookup)
{
    sem_init(&hold, 0, 0);
    for (int flush = 0; flush < 2; flush++) {
        conn_fixture_open(1);
        dial_name();
        conn_close(client->conn, flush);
        CONN_FIXTURE_WAIT(client->closed);
        cr_expect_not(fixture.late);
        cr_expect_eq(client->why.code, GLINT_OK);
        release_lookup();
    }
}

Test(dial, slow_name_lookup_times_out)
{
    sem_init(&hold, 0, 0);
    conn_fixture_open(0);
    client->net.connect_ms = 50;
    dial_name();
    CONN_FIXTURE_WAIT(client->closed);
    cr_expect_not(fixture.late);
    cr_expect_eq(client->why.code, GLINT_E_CONNECTION);
    cr_expect_not_null(strstr(client->why.cause, "after 50 ms"), "%s", client->why.cause);
    release_lookup();
}

Test(dial, failed_name_lookup_is_an_error)
{
    sem_init(&hold, 0, 0);
    conn_fixture_open(0);
    dial_name();
    sem_post(&hold);
    CONN_FIXTURE_WAIT(client->closed);
    cr_expect_not(fixture.late);
    cr_expect_eq(client->why.code, GLINT_E_CONNECTION);
    cr_expect_not_null(strstr(client->why.cause, "cannot resolve the address"), "%s",
                       client->why.cause);
    conn_fixture_close();
}
