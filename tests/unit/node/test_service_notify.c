/* Notifications to a service manager, recorded by an env. */
#include "engine/node/daemon_internal.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

static uv_loop_t loop;
static struct env env;
static struct service_notify service;
static char sent[256], to[128];
static unsigned stop_after; /* stops the loop at the n-th datagram; 0: never */

static int record(struct env *e, const char *socket, const char *text)
{
    cr_assert(e == &env);
    strncpy(to, socket, sizeof to - 1);
    strncat(sent, text, sizeof sent - strlen(sent) - 2);
    strncat(sent, "\n", 2);
    if (stop_after > 0 && --stop_after == 0) uv_stop(&loop);
    return 0;
}

static int refuse(struct env *e, const char *socket, const char *text)
{
    (void)e, (void)socket, (void)text;
    return -ECONNREFUSED;
}

static void enter(void)
{
    env = *env_real();
    env.send_datagram = record;
    cr_assert_eq(uv_loop_init(&loop), 0);
}

static void leave(void)
{
    service_notify_close(&service);
    uv_run(&loop, UV_RUN_DEFAULT);
    cr_assert_eq(uv_loop_close(&loop), 0);
}

TestSuite(service_notify, .init = enter, .fini = leave);

static void life(void)
{
    service_notify_init(&service, &loop, &env);
    service_notify_ready(&service);
    service_notify_stopping(&service);
}

Test(service_notify, sends_nothing_without_a_service_manager)
{
    unsetenv("NOTIFY_SOCKET");
    setenv("WATCHDOG_USEC", "1000000", 1);
    life();
    cr_expect_str_eq(sent, "");
    cr_expect_eq(service.period_ms, 0);
}

Test(service_notify, sends_ready_and_stopping)
{
    setenv("NOTIFY_SOCKET", "@manager", 1);
    life();
    cr_expect_str_eq(sent, "READY=1\nSTOPPING=1\n");
    cr_expect_str_eq(to, "@manager");
}

Test(service_notify, removes_the_variables_from_the_environment)
{
    setenv("NOTIFY_SOCKET", "/run/manager", 1);
    setenv("WATCHDOG_USEC", "30000000", 1);
    service_notify_init(&service, &loop, &env);
    cr_expect_null(getenv("NOTIFY_SOCKET"));
    cr_expect_null(getenv("WATCHDOG_USEC"));
    cr_expect_eq(service.period_ms, 15000);
}

Test(service_notify, answers_the_watchdog_until_it_is_closed)
{
    setenv("NOTIFY_SOCKET", "/run/manager", 1);
    setenv("WATCHDOG_USEC", "2000", 1);
    service_notify_init(&service, &loop, &env);
    service_notify_ready(&service);
    stop_after = 2;
    uv_run(&loop, UV_RUN_DEFAULT);
    service_notify_stopping(&service);
    stop_after = 1; /* a process that drains is alive */
    uv_run(&loop, UV_RUN_DEFAULT);
    cr_expect_str_eq(sent, "READY=1\nWATCHDOG=1\nWATCHDOG=1\nSTOPPING=1\nWATCHDOG=1\n");
}

Test(service_notify, ignores_the_watchdog_of_another_process)
{
    setenv("NOTIFY_SOCKET", "/run/manager", 1);
    setenv("WATCHDOG_USEC", "2000", 1);
    setenv("WATCHDOG_PID", "1", 1);
    service_notify_init(&service, &loop, &env);
    cr_expect_eq(service.period_ms, 0);
}

Test(service_notify, ignores_times_that_are_not_numbers)
{
    setenv("NOTIFY_SOCKET", "/run/manager", 1);
    setenv("WATCHDOG_USEC", "-5x", 1);
    service_notify_init(&service, &loop, &env);
    cr_expect_eq(service.period_ms, 0);
}

Test(service_notify, goes_on_if_the_service_manager_cannot_be_reached)
{
    env.send_datagram = refuse;
    setenv("NOTIFY_SOCKET", "/run/manager", 1);
    life();
    cr_expect_str_eq(sent, "");
}
