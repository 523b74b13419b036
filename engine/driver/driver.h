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
    /* Takes the message, which goes at the next `wait` or `destroy` at the latest. 0, or a code
     * with *error set. To an executor that is lost: 0, the loss is an event of its own. */
    int (*send)(void *arg, uint32_t executor, struct message *m, struct glint_error *error);
    /* Blocks until something happened or the clock (env->now_ns) has reached the deadline;
     * calls driver_on_message for all that has arrived. */
    void (*wait)(void *arg, struct driver *driver, uint64_t deadline_ns);
    /* Makes a blocked wait return. Any thread, and signal handlers. */
    void (*wake)(void *arg);
    /* How far the job is, for `glint status`. NULL: not reported. */
    void (*progress)(void *arg, const struct progress *p);
    /* Ends all that stands behind the transport, and frees it. */
    void (*destroy)(void *arg);
    void *arg;
};

/* Takes the transport. Executors are told by driver_on_executor_added. NULL: the context's error is
 * set, and the transport is the caller's. */
struct driver *driver_create(struct glint *g, const struct transport *transport);
/* The context's runner, whose destroy ends the driver. */
struct runner *driver_as_runner(struct driver *d);

/* Events, on the driver's thread: from the transport's `wait`, or right after driver_create. */

struct executor_info {
    const char *name; /* for people: "e1" */
    const char *host; /* one name on one host is one node, however often its process starts */
    uint32_t slots;
};
/* Executors are numbered from 0 in the order of these calls. 0, or NO_MEMORY, the context's error:
 * the job will end with it. */
int driver_on_executor_added(struct driver *d, const struct executor_info *info);
/* Takes the message. */
void driver_on_message(struct driver *d, uint32_t executor, struct message *m);
void driver_on_executor_draining(struct driver *d, uint32_t executor);
/* No sign of life for some time; then heard again, or lost. */
void driver_on_executor_suspect(struct driver *d, uint32_t executor, bool suspect);
/* Once per executor; nothing comes from it after that. */
enum executor_loss_reason {
    LOSS_CONNECTION, /* also: heartbeat, daemon, a path that broke */
    LOSS_SIGNALED,   /* its process died by a signal: the tasks it ran are to blame */
    LOSS_DRAINED,    /* it left in order */
};
void driver_on_executor_lost(struct driver *d, uint32_t executor, enum executor_loss_reason loss,
                             const struct glint_error *why);
/* The transport's own part in the job's counters: "broadcast bytes sent". */
void driver_on_counter_increment(struct driver *d, const char *name, int64_t by);
/* The transport can have no more executors, and none is left: the job ends with *why. */
void driver_on_no_executors(struct driver *d, const struct glint_error *why);
/* Somebody wants the job to end (glint cancel). */
void driver_on_cancel_requested(struct driver *d);

#endif
