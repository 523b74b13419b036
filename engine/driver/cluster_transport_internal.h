/* Shared by the files of the cluster transport.
 *
 *   cluster_transport.c  creation and destruction, the loop's thread, its one timer
 *   transport_inbox.c    events for the driver's thread, and `wait`
 *   transport_outbox.c   messages to executors, and `send`
 *   daemon_conn.c        connections to executor daemons, which start executors for the job
 *   daemon_launch.c      starts daemons that are unreachable (daemon_launch.h)
 *   executor_listener.c  where executors connect to the driver
 *   executor_conn.c      connections of executors, from the first to the loss
 *   registration.c       when executors join the job, and when there are too few
 *   acquisition_order.c  applies acquisition_policy.c: what a waiting driver may keep
 *   task_result_fetch.c  fetches large task results
 *   program_server.c     sends this program to daemons of another build
 *   broadcast_server.c   sends broadcasts in blocks
 *   broadcast_tracker.c  which executor fetches which block from where (broadcast_tracker.h)
 *
 * Everything here belongs to the loop's thread unless a comment says otherwise. */
#ifndef GLINT_DRIVER_CLUSTER_TRANSPORT_INTERNAL_H
#define GLINT_DRIVER_CLUSTER_TRANSPORT_INTERNAL_H

#include "engine/driver/acquisition_policy.h"
#include "engine/driver/cluster_transport.h"
#include "engine/driver/daemon_conn.h"
#include "engine/driver/executor_conn.h"
#include "engine/driver/transport_inbox.h"
#include "engine/net/listener.h"
#include "engine/transfer/fetch_server.h"

#include <pthread.h>
#include <stdatomic.h>

/* The transport: `arg` of struct transport. */
struct cluster_transport {
    struct glint *g;
    struct env *env;
    const struct cluster *cluster;
    struct net net;
    struct fetch_server *fetch_server; /* of broadcast blocks */
    struct program_server *program;    /* NULL: no daemon has asked for it */
    struct secret job_key; /* opens the executors and the driver of this job to each other */
    uv_loop_t loop;
    uv_async_t wakeup;
    struct deadline timer;
    pthread_t thread;
    bool stopping; /* all handles are being closed */

    pthread_mutex_t lock;
    pthread_cond_t arrived;                            /* an event, or `woken` */
    struct inbox_event *events, **events_end;          /* under lock */
    bool woken;                                        /* under lock */
    struct outgoing_message *outgoing, **outgoing_end; /* under lock */
    uint64_t outgoing_bytes;                           /* under lock; encoded, in `outgoing` */
    struct served_broadcast *broadcasts; /* under lock; removed by the loop's thread only */
    uint64_t last_served_broadcast;      /* under lock: the highest id that was added */
    struct job_progress progress;        /* under lock */
    struct executor_health *health;      /* under lock; [health_count] by number */
    uint64_t health_capacity;
    uint32_t health_count;
    atomic_bool wake_requested, stop_requested; /* set by any thread, then `wakeup` is sent */
    atomic_uint_fast64_t
        fetched_results_bytes;            /* of results in transfer, or fetched and not yet taken */
    atomic_uint_fast64_t broadcast_bytes; /* sent, after compression */
    uint64_t broadcast_counted; /* those already in the job's counters; driver's thread only */

    struct daemon_conn *daemon_conns; /* [cluster->executor_count]; NULL with listen_host */
    struct daemon_conn **by_id;       /* the same, sorted by executor id */
    enum acquisition_state *acquisition_states; /* scratch of acquisition_order.c */
    uint32_t highest;                           /* highest rank that may be kept or requested */
    struct driver_listener *listeners;
    struct executor_conn *executor_conns, **executor_conns_end; /* oldest first */
    struct executor_conn **executors_by_id; /* [number_capacity] by number; NULL: lost */
    uint32_t number_count, number_capacity;
    uint32_t executor_conn_count, joined_count;
    /* `started`: executors_min have registered, later ones join at once. `no_executors_reported`:
     * the job ends, nothing is dialled or accepted any more. */
    bool started, no_executors_reported;
    uint64_t no_executor_since_ns; /* since when no executor is joined; start_ms counts from it */
    struct inbox_event *no_executors_event; /* preallocated */
};

static inline uint64_t cluster_transport_now(const struct cluster_transport *r)
{
    return r->env->now_ns(r->env);
}
/* Makes the timer expire at `at_ns` at the latest. When it does, every connection's *_on_timer
 * runs; each returns when it wants to run next, UINT64_MAX for never. */
void cluster_transport_arm_timer(struct cluster_transport *r, uint64_t at_ns);

/* transport_outbox.c */
/* Driver's thread: transport->send. Takes ownership of `m`. Returns 0, or NO_MEMORY, PLAN_LIMIT
 * (larger than a control frame). */
int outbox_send(struct cluster_transport *r, uint32_t executor, struct message *m,
                struct glint_error *error);
/* Loop's thread: writes all queued messages to their executors' connections; those to executors
 * that are lost are dropped. */
void outbox_deliver(struct cluster_transport *r);
void outbox_fini(struct cluster_transport *r);

/* registration.c */
/* Lets registered executors join, if executors_min are registered or the job has started. Call
 * after every change of a daemon_conn or executor_conn. */
void registration_join_if_enough(struct cluster_transport *r);
/* Reports missing executors, and NO_EXECUTORS. Returns when to call again. */
uint64_t registration_on_timer(struct cluster_transport *r, uint64_t now);
struct executor_conn *registration_find_executor(const struct cluster_transport *r,
                                                 uint32_t number); /* NULL: lost */
/* Removes an executor that is lost. */
void registration_on_executor_gone(struct executor_conn *l);

/* How many executors must be registered before the first task. */
uint32_t registration_executors_min(const struct cluster_transport *r);

/* acquisition_order.c */
/* False: out of memory. */
bool acquisition_order_init(struct cluster_transport *r);
/* Releases executors and queue positions above the highest rank that the driver may keep. Call
 * after every change of a daemon_conn. */
void acquisition_order_enforce(struct cluster_transport *r);
/* Whether the driver may keep or request this daemon's executor. */
bool acquisition_order_allows(const struct daemon_conn *p);
/* The connection to the daemon is open: whether to send REQUEST_EXECUTOR. Also true while another
 * daemon has not responded yet, since its response may change what is allowed. */
bool acquisition_order_may_request(const struct daemon_conn *p);
/* Whether the job has not started and the driver keeps an executor that others could use. */
bool acquisition_order_keeps_any(const struct cluster_transport *r);

/* executor_listener.c */
/* Listens on cluster->listen_host. Returns 0, or a code of listener_open. */
int executor_listener_open(struct cluster_transport *r, struct glint_error *error);
/* The address that processes of this daemon shall connect to; listens there unless it does already.
 * Returns 0, or a code of listener_open. */
int executor_listener_address(struct cluster_transport *r, const struct conn *daemon,
                              char out_host[HOST_BYTES_MAX], uint16_t *out_port,
                              struct glint_error *error);
uint16_t executor_listener_port(const struct cluster_transport *r); /* of one listener */
void executor_listener_close(struct cluster_transport *r);

/* task_result_fetch.c */
/* Queues the fetch of a DONE whose result stayed with the executor. Takes ownership of `m`. */
void task_result_fetch_add(struct executor_conn *l, struct message *m);
/* Starts queued fetches that fit into result_bytes_max. */
void task_result_fetch_start_pending(struct cluster_transport *r);
/* Frees the queued fetches. Those that were started have ended with the connection. */
void task_result_fetch_fini(struct executor_conn *l);

/* program_server.c */
/* A daemon sent PROGRAM_REQUEST: sends PROGRAM, once the program is hashed. Returns 0, or PROTOCOL,
 * NO_MEMORY, which close the connection. */
int program_server_on_request(struct daemon_conn *p, struct glint_error *error);
/* struct fetch_source: blocks of the program; `arg` is the transport. */
void program_server_find(void *arg, const struct get_request *g, struct fetch_found *out,
                         struct glint_error *why);
void program_server_release(void *arg, void *ref);
void program_server_fini(struct cluster_transport *r);

/* broadcast_server.c */
/* Driver's thread. Adds a broadcast unless it is known; `data` is borrowed until
 * broadcast_server_remove or broadcast_server_fini. Returns 0 or NO_MEMORY. */
int broadcast_server_add(struct cluster_transport *r, uint64_t id, const void *data, uint64_t size,
                         struct glint_error *error);
/* The source of GET_BROADCAST_BLOCK, for fetch_server_create. */
struct fetch_source broadcast_server_source(struct cluster_transport *r);
/* An executor sent BLOCK_REQUEST: sends BLOCK_ASSIGN to it, and to others for which there are
 * blocks now. Returns 0, or PROTOCOL, NO_MEMORY, which close the connection. */
int broadcast_server_on_block_request(struct executor_conn *l, struct glint_slice payload,
                                      struct glint_error *error);
/* Assigns the blocks that were to come from or go to a lost executor again. */
void broadcast_server_on_executor_lost(struct cluster_transport *r, uint32_t number);
/* Driver's thread. Takes ownership of the data: it is freed when no block is being sent. */
void broadcast_server_remove(struct cluster_transport *r, uint64_t id, void *data);
/* Loop's thread. */
void broadcast_server_free_removed(struct cluster_transport *r);
/* Frees all broadcasts, and the data of removed ones. The loop's thread must have ended. */
void broadcast_server_fini(struct cluster_transport *r);

#endif
