/* A driver's transport over fake nodes: what the tests of this folder share. */
#ifndef TESTS_UNIT_DRIVER_REMOTE_FIXTURE_H
#define TESTS_UNIT_DRIVER_REMOTE_FIXTURE_H

#include "engine/net/hello.h"
#include "tests/support/fake_cluster.h"
#include "tests/support/fake_driver.h"

#include <criterion/criterion.h>
#include <pthread.h>
#include <unistd.h>

#define MS (UINT64_C(1000000))

extern struct fake_context context;
extern struct fake_node nodes[FAKE_NODES_MAX]; /* to be told before start */
extern struct cluster cluster;                 /* likewise; without TLS, patient */
extern struct glint_error error;

void enter(void);
void leave(void); /* nothing of the engine is left */
void use_tls(void);
/* Daemons of the first `count` nodes, and a driver that knows them. */
void start(uint32_t count);
/* A driver that waits, and `count` processes that dial it. */
void start_listening(uint32_t count);
void act(uint32_t node, enum fake_act what, int value);
void stop(void);
/* For what another process does; tests look again after it, and do not rely on it. */
void fake_pause_ms(uint64_t ms);
/* A TASK to an executor of the driver; what send answers. */
int send_task(uint32_t executor, uint32_t task);

#define UNTIL(condition) FAKE_UNTIL(&context, condition)
#define UNTIL_TRUE(condition)                                                                      \
    do {                                                                                           \
        UNTIL(condition);                                                                          \
        cr_assert(condition, "%s; notes: %s", #condition, context.driver.notes);                   \
    } while (0)

#endif
