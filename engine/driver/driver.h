/* The driver: runs actions on executors that it reaches through a transport.
 *
 * An action becomes stages (one per shuffle that is not there yet, one for the action itself),
 * stages become tasks, tasks go where the scheduler says. Results are handed on in order of the
 * partitions, whatever order they arrive in. The driver knows neither threads nor sockets: `wait`
 * of the transport calls driver_on_message. Driver thread only, but for the runner's interrupt. */
#ifndef GLINT_DRIVER_DRIVER_H
#define GLINT_DRIVER_DRIVER_H

#include "engine/net/message.h"
#include "engine/plan/context.h"

struct driver;

struct transport {
    /* Takes the message. 0, or a code with *error set. */
    int (*send)(void *arg, uint32_t executor, struct message *m, struct glint_error *error);
    /* Blocks until something happened or the clock (env->now_ns) has reached the deadline;
     * calls driver_on_message for all that has arrived. */
    void (*wait)(void *arg, struct driver *driver, uint64_t deadline_ns);
    /* Makes a blocked wait return. Any thread, and signal handlers. */
    void (*wake)(void *arg);
    /* Ends all that stands behind the transport, and frees it. */
    void (*destroy)(void *arg);
    void *arg;
};

/* The context's runner. Takes the transport. NULL: error set, the transport is the caller's. */
struct runner *driver_create(struct glint *g, const struct transport *transport,
                             const uint32_t *executor_slots, uint32_t executor_count);
/* Takes the message. */
void driver_on_message(struct driver *d, uint32_t executor, struct message *m);

#endif
