/* The fixture of these tests: a cluster transport connected to fake nodes
 * (tests/support/fake_cluster.h), driven by a fake driver. */
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
extern struct fake_node nodes[FAKE_NODES_MAX]; /* their behaviour; set before start */
extern struct cluster cluster; /* set before start; default: plaintext, long timeouts */
extern struct glint_error error;

/* Criterion's init: resets everything. */
void enter(void);
/* Criterion's fini: fails if memory of the engine is still allocated. */
void leave(void);
/* Before start: uses TLS with a new secret. */
void use_tls(void);
/* Before start: start_ms has passed for the driver when pass_start_time says so, and not before. */
void use_stepped_clock(void);
void pass_start_time(void);
/* Starts daemons of the first `count` nodes, and a transport that dials them. */
void start(uint32_t count);
/* As start, but the last node's daemon says nothing on its connections until respond(). */
void start_with_silent_last(uint32_t count);
void respond(void);
/* Starts a transport that listens, and `count` executors that dial it. */
void start_listening(uint32_t count);
/* Makes a running node do something. */
void act(uint32_t node, enum fake_act what, int value);
void stop(void);
/* Waits for another process. Tests check again afterwards and do not rely on the time. */
void fake_pause_ms(uint64_t ms);
/* Sends a TASK to an executor. Returns what send returns. */
int send_task(uint32_t executor, uint32_t task);
/* Runs the transport's `wait` until the condition is true or a long timeout has passed. */

#define UNTIL(condition) FAKE_UNTIL(&context, condition)
#define UNTIL_TRUE(condition)                                                                      \
    do {                                                                                           \
        UNTIL(condition);                                                                          \
        cr_assert(condition, "%s; notes: %s", #condition, context.driver.notes);                   \
    } while (0)

#endif
