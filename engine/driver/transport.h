/* Between the driver and its executors: what carries messages, and what it tells the driver. */
#ifndef GLINT_DRIVER_TRANSPORT_H
#define GLINT_DRIVER_TRANSPORT_H

#include "engine/plan/context.h"
#include "engine/transfer/message.h"

/* What an executor's heartbeats say. */
struct executor_health {
    uint64_t received_ns;  /* when the last one arrived */
    uint64_t memory_bytes; /* resident */
    uint64_t memory_max;   /* for tasks */
};

/* How messages reach executors: in the same process, over the network, or
 * simulated. All but `wake` are called on the driver's thread. */
struct transport {
    /* Takes ownership of the message, also on error. It is sent at the next `wait` or `destroy` at
     * the latest. Returns 0, or a code with *error set. Sending to a lost executor returns 0: the
     * loss arrives as an event. */
    int (*send)(void *arg, uint32_t executor, struct message *m, struct glint_error *error);
    /* Blocks until an event arrives, `wake` is called, or env->now_ns reaches the deadline. Calls
     * driver_on_message and the other driver_on_* functions for all events that have arrived. */
    void (*wait)(void *arg, struct driver *driver, uint64_t deadline_ns);
    /* Makes a blocked `wait` return, or the next one if none is blocked. Any thread; also safe in
     * signal handlers. */
    void (*wake)(void *arg);
    /* No executor needs the broadcast any more: takes ownership of its data. NULL: mem_free. */
    void (*free_broadcast)(void *arg, uint64_t id, void *data);
    /* The executor is in this process, so that no map output is lost with it. */
    bool local;
    /* The job's progress, for `glint status`. NULL: not reported. */
    void (*progress)(void *arg, const struct progress *p);
    /* False: not known. NULL: there are no heartbeats. */
    bool (*health)(void *arg, uint32_t executor, struct executor_health *out);
    /* Stops the transport's threads and executors, and frees it. */
    void (*destroy)(void *arg);
    void *arg;
};

/* The options of tasks that are the job's, and not those of an executor. Relative paths of the job
 * refer to the driver's directory; if it was removed, only absolute paths work. */
struct task_options transport_task_options(const struct context_config *c);

/* local_transport.c: one executor in this process. */
/* Starts the executor, number 0. Returns 0, or a code with the context's error set. */
int local_transport_create(struct glint *g, struct transport *out);

/* cluster_transport.c: executors on other machines. */
/* Starts the loop's thread; does not wait for executors. `cluster` is borrowed until
 * out->destroy. Returns 0, or a code with *error set: CONFIG, SYSTEM, NO_MEMORY, and those of
 * net_init and listener_open. */
int cluster_transport_create(struct glint *g, const struct cluster *cluster, struct transport *out,
                             struct glint_error *error);
/* Returns the bytes of broadcasts sent so far, after compression. Any thread. */
uint64_t cluster_transport_broadcast_bytes(const struct transport *t);

/* Events: called on the driver's thread, by the transport's `wait` or right after driver_create. */

/* Borrowed until driver_on_executor_added returns. */
struct executor_info {
    const char *name; /* for users: "e1" */
    const char *host; /* equal name and host: the same node, also after its process restarts */
    uint32_t slots;
};
/* Numbers executors from 0 in the order of the calls. Returns 0, or NO_MEMORY with the context's
 * error set, which ends the job. */
int driver_on_executor_added(struct driver *d, const struct executor_info *info);
/* Takes ownership of the message. Ignores messages of stages that are not in the running action. */
void driver_on_message(struct driver *d, uint32_t executor, struct message *m);
/* The executor finishes its tasks and then leaves: it gets no new ones. */
void driver_on_executor_draining(struct driver *d, uint32_t executor);
/* No heartbeat for some time. Later the executor is alive again (false), or lost. */
void driver_on_executor_suspect(struct driver *d, uint32_t executor, bool suspect);
/* At most once per executor, as its last event. `why` is for users. */
enum executor_loss_reason {
    LOSS_CONNECTION, /* closed connection, heartbeat timeout, process exit without a signal */
    LOSS_SIGNALED,   /* its process died by a signal: counts as a failure of its running tasks */
    LOSS_DRAINED,    /* it was draining: not counted as a loss */
};
void driver_on_executor_lost(struct driver *d, uint32_t executor, enum executor_loss_reason loss,
                             const struct glint_error *why);
/* Adds to a job counter that the transport maintains: "broadcast bytes sent". */
void driver_on_counter_increment(struct driver *d, const char *name, int64_t by);
/* No executor is left, and no more can be acquired: the job ends with *why. */
void driver_on_no_executors(struct driver *d, const struct glint_error *why);
/* `glint cancel` was called for this job. */
void driver_on_cancel_requested(struct driver *d);

/* Ends the job with `code`. Any thread, also signal handlers. */
void driver_interrupt(struct driver *d, enum glint_code code);
void driver_summarize(struct driver *d, struct glint_summary *out);

#endif
