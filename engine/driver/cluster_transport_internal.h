/* Shared by the files of the cluster transport.
 *
 *   cluster_transport.c   creation, the loop's thread, its one timer; the queues of events for the
 *                         driver's thread and of messages to executors; sends broadcasts in blocks,
 *                         and this program to daemons of another build
 *   daemon_conn.c         connections to executor daemons, which start executors for the job
 *   executor_listener.c   where executors connect to the driver; when they join the job, and when
 *                         there are too few
 *   executor_conn.c       connections of executors, from the first to the loss; fetches large task
 *                         results
 *   acquisition_policy.c  what a waiting driver may keep
 *
 * Everything here belongs to the loop's thread unless a comment says otherwise. */
#ifndef GLINT_DRIVER_CLUSTER_TRANSPORT_INTERNAL_H
#define GLINT_DRIVER_CLUSTER_TRANSPORT_INTERNAL_H

#include "engine/base/env.h"
#include "engine/base/error.h"
#include "engine/driver/transport.h"
#include "engine/net/cluster.h"
#include "engine/net/deadline.h"
#include "engine/net/listener.h"
#include "engine/net/wire.h"
#include "engine/transfer/fetch_client.h"
#include "engine/transfer/fetch_server.h"

#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

struct cluster_transport;
struct executor_conn;

/* ---- Events from the loop's thread of the cluster transport to the driver's thread. Loop's
 * thread, except inbox_wait. */

enum inbox_event_kind {
    INBOX_EXECUTOR_ADDED,
    INBOX_MESSAGE,
    INBOX_EXECUTOR_DRAINING,
    INBOX_EXECUTOR_SUSPECT, /* heartbeats are missing */
    INBOX_EXECUTOR_ALIVE,   /* was suspect, responds again */
    INBOX_EXECUTOR_LOST,
    INBOX_NO_EXECUTORS,     /* none is left, and none can come or start_ms has passed */
    INBOX_CANCEL_REQUESTED, /* glint cancel */
    INBOX_NOTE,             /* a line for the user */
};

struct inbox_event {
    struct inbox_event *next;
    enum inbox_event_kind kind;
    uint32_t executor; /* its number; 0 for events of no executor */
    union {
        struct {                     /* MESSAGE */
            struct message *message; /* owned */
            uint64_t fetched_bytes;  /* of a fetched result; part of fetched_results_bytes until
                                        the driver takes it. 0: the result was inline */
        };
        struct { /* EXECUTOR_ADDED */
            uint32_t slots;
            char name[NAME_BYTES_MAX], host[HOST_BYTES_MAX];
        };
        struct { /* EXECUTOR_LOST, NO_EXECUTORS (only `why`) */
            enum executor_loss_reason loss;
            struct glint_error why;
        };
        char line[1024]; /* NOTE */
    };
};

struct inbox_event *inbox_event_create(enum inbox_event_kind kind,
                                       uint32_t executor); /* NULL: out of memory */
void inbox_event_destroy(struct inbox_event *e);           /* and its message; NULL is allowed */
/* Appends an event and wakes the driver. Takes ownership of `e`. */
void inbox_push(struct cluster_transport *r, struct inbox_event *e);
/* Pushes a message, with the bytes of a fetched result that it contains. Takes ownership of `m`.
 * False: out of memory. */
bool inbox_push_message(struct cluster_transport *r, uint32_t executor, struct message *m,
                        uint64_t fetched_bytes);
/* Pushes a line for the user. Dropped when out of memory. */
void inbox_push_note(struct cluster_transport *r, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* ---- The connection to a daemon, which starts an executor for this job. Loop's thread. */

/* The connection to the daemon of one [[executor]] of cluster.toml, which starts an executor for
 * this job and reports its exit.
 *
 *   BACKOFF   -> DIALLING          [daemon_conn_dial]
 *   DIALLING  -> REQUESTED         [daemon_conn_on_opened: sends REQUEST_EXECUTOR]
 *   REQUESTED -> EXECUTOR_STARTED  [daemon_conn_on_executor_started]
 *   any       -> BACKOFF           [daemon_conn_back_off, daemon_conn_release_executor]
 *   any       -> REJECTED          [daemon_conn_fail: the error is permanent; final] */
enum daemon_conn_state {
    DAEMON_CONN_BACKOFF,
    DAEMON_CONN_DIALLING,
    DAEMON_CONN_REQUESTED,
    DAEMON_CONN_EXECUTOR_STARTED,
    DAEMON_CONN_REJECTED
};

struct daemon_conn {
    struct cluster_transport *r;
    const struct cluster_executor *at; /* its section in cluster.toml */
    uint32_t index, rank;              /* in r->daemon_conns, in r->by_id */
    enum daemon_conn_state state;
    struct conn *conn; /* to the daemon; after BACKOFF it stays set until it has closed */
    uint8_t incarnation[INCARNATION_BYTES];   /* of the requested process; set in REQUESTED */
    struct executor_conn *executor_conn;      /* of that process; or NULL */
    char driver_address[HOST_BYTES_MAX + 16]; /* where that process connects to, for messages */
    struct deadline redial, queue_note;
    uint64_t next_dial_ns;  /* BACKOFF: when to dial */
    struct backoff backoff; /* failures since an executor of it joined or a launch */
    uint64_t queue_position, queue_position_reported; /* in the daemon's queue, 0: none; the last
                                                         one noted to the user */
    bool fetches_program;  /* the daemon sent PROGRAM_REQUEST, and neither QUEUED nor
                              EXECUTOR_STARTED since */
    bool reached;          /* the last dial reached the right daemon, and it has not failed */
    bool missing_reported; /* the user was told that this executor is missing */
    bool drained;          /* the executor was drained: do not launch the daemon again */
    struct launched_daemon *process; /* NULL: none was launched, or it has exited */
    uint32_t launches;
    bool launch_failed;           /* the launched daemon exited, and would again */
    bool permanently_unreachable; /* launch_failed, and the dial after it failed too */
    struct glint_error why;       /* the last failure */
};

void daemon_conn_init(struct daemon_conn *p);
/* Reports the failure, closes the connection, and dials again later unless it is permanent. */
void daemon_conn_fail(struct daemon_conn *p, const struct glint_error *why);
/* Dials the daemon again, if it is time and the order of acquisition allows. */
void daemon_conn_redial(struct daemon_conn *p);
/* The process has been started: adds its executor. NULL with *error set: as
 * executor_conn_create. */
struct executor_conn *daemon_conn_add_executor(struct daemon_conn *p, struct glint_error *error);
/* The executor of this daemon is lost, because of `why`: requests another one after a backoff. */
void daemon_conn_on_executor_gone(struct daemon_conn *p, const struct glint_error *why,
                                  bool had_joined);
/* Gives up the executor, or the position in the daemon's queue. The daemon is dialled again when
 * acquisition_order_allows. Only before the job has started. */
void daemon_conn_release_executor(struct daemon_conn *p);
/* The transport stops: closes the connection and stops the daemon if it was launched. */
void daemon_conn_close(struct daemon_conn *p);

/* ---- The connections of an executor to the driver. Loop's thread. */

struct result_fetch;

/* The connections to one executor. An executor has two: control (messages, heartbeats) and data
 * (blocks).
 *
 *   OPENING    -> REGISTERED  [executor_conn_check_registered: both are open, REGISTER arrived]
 *   REGISTERED -> JOINED      [registration_join_if_enough_executors: it has a number from here on]
 *   any        -> CLOSING     [executor_conn_fail: waits for the daemon's EXECUTOR_EXITED]
 *   CLOSING    -> CLOSED      [executor_conn_finalize: the loss is reported]
 *
 * Freed when it is CLOSED and both connections have closed. */
enum executor_conn_state {
    EXECUTOR_CONN_OPENING,
    EXECUTOR_CONN_REGISTERED,
    EXECUTOR_CONN_JOINED,
    EXECUTOR_CONN_CLOSING,
    EXECUTOR_CONN_CLOSED
};

struct executor_conn {
    struct executor_conn *next;
    struct cluster_transport *r;
    enum executor_conn_state state;
    struct daemon_conn *daemon_conn; /* of the daemon that started it; NULL: started by --join */
    struct conn *control, *data;     /* NULL: closed, or not accepted yet */
    struct deadline deadline; /* OPENING: to register; has_exited: to close; CLOSING: to finalize */
    bool freeing;             /* `deadline` is being closed */
    uint8_t incarnation[INCARNATION_BYTES];
    char name[NAME_BYTES_MAX], host[HOST_BYTES_MAX];
    uint16_t port;
    uint32_t slots;
    bool is_registered; /* REGISTER arrived; the connections may not be open yet */
    bool joined, draining;
    uint32_t number;        /* valid if `joined`: the executor's number in the job */
    uint64_t memory_bytes;  /* for its tasks */
    uint32_t tasks_running; /* by its last heartbeat */
    struct glint_error why; /* CLOSING: the first failure */
    bool has_exited;        /* the daemon sent EXECUTOR_EXITED: `exited` is valid */
    struct executor_exited exited;
    struct inbox_event *lost_event;      /* joined: preallocated, reporting a loss cannot fail */
    struct fetch_client fetches;         /* of results, on `data` */
    struct result_fetch *result_fetches; /* in order of arrival */
};

/* Adds an executor in OPENING without connections; it must register in time. NULL with *error set:
 * NO_EXECUTORS (the job has too many), NO_MEMORY. */
struct executor_conn *executor_conn_create(struct cluster_transport *r, const uint8_t *incarnation,
                                           struct glint_error *error);
/* Takes an open connection that was accepted, as control or data by its hello. */
void executor_conn_attach(struct executor_conn *l, struct conn *c);
/* Closes both connections; the loss is reported by the timer, not from inside this call. The first
 * cause is kept. */
void executor_conn_fail(struct executor_conn *l, const struct glint_error *why);
void executor_conn_fail_with(struct executor_conn *l, enum glint_code code, const char *cause, ...)
    __attribute__((format(printf, 3, 4)));
/* Sets *out to what the daemon reported about the exit of a process. */
void executor_exited_describe(const struct executor_exited *e, struct glint_error *out);
/* The daemon reported the exit of the executor's process. */
void executor_conn_on_executor_exited(struct executor_conn *l,
                                      const struct executor_exited *exited);
/* Reports the loss of a CLOSING executor with what is known by now. May free `l`. */
void executor_conn_finalize(struct executor_conn *l);
/* Fails an executor whose fetches make no progress. Returns when to call again. */
uint64_t executor_conn_on_timer(struct executor_conn *l, uint64_t now);
/* The transport stops. May free `l`. */
void executor_conn_close(struct executor_conn *l);

/* ---- The transport */

/* `arg` of struct transport. */
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
    sem_t arrived;                                     /* an event, or `wake` */
    struct inbox_event *events, **events_end;          /* under lock */
    struct outgoing_message *outgoing, **outgoing_end; /* under lock */
    uint64_t outgoing_bytes;                           /* under lock; encoded, in `outgoing` */
    struct served_broadcast *broadcasts; /* under lock; removed by the loop's thread only */
    uint64_t last_served_broadcast;      /* under lock: the highest id that was added */
    struct job_progress progress;        /* under lock */
    struct executor_health *health;      /* under lock; [health_count] by number */
    uint64_t health_capacity;
    uint32_t health_count;
    atomic_bool stop_requested; /* set by any thread, then `wakeup` is sent */
    atomic_uint_fast64_t
        fetched_results_bytes;            /* of results in transfer, or fetched and not yet taken */
    atomic_uint_fast64_t broadcast_bytes; /* sent, after compression */
    uint64_t broadcast_counted; /* those already in the job's counters; driver's thread only */

    /* [daemon_conn_count], the number of [[executor]] sections; NULL with listen_host. */
    struct daemon_conn *daemon_conns;
    uint32_t daemon_conn_count;
    struct daemon_conn **by_id;                 /* the same, sorted by executor id */
    enum acquisition_state *acquisition_states; /* scratch of acquisition_policy.c */
    uint32_t highest;                           /* highest rank that may be kept or requested */
    struct driver_listener *listeners;
    struct executor_conn *executor_conns, **executor_conns_end; /* oldest first */
    struct executor_conn **executors_by_id; /* [number_capacity] by number; NULL: lost */
    uint64_t number_capacity;
    uint32_t number_count, executor_conn_count, joined_count;
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

/* executor_listener.c */
/* Lets registered executors join, if executors_min are registered or the job has started. Call
 * after every change of a daemon_conn or executor_conn. */
void registration_join_if_enough_executors(struct cluster_transport *r);
/* Reports missing executors, and NO_EXECUTORS. Returns when to call again. */
uint64_t registration_on_timer(struct cluster_transport *r, uint64_t now);
struct executor_conn *registration_find_executor(const struct cluster_transport *r,
                                                 uint32_t number); /* NULL: lost */
/* Removes an executor that is lost. */
void registration_on_executor_gone(struct executor_conn *l);

/* How many executors must be registered before the first task. */
uint32_t registration_executors_min(const struct cluster_transport *r);

/* acquisition_policy.c */
/* False: out of memory. */
bool acquisition_order_init(struct cluster_transport *r);
/* Releases executors and queue positions above the highest rank that the driver may keep. Call
 * after every change of a daemon_conn. */
void acquisition_order_release_above_limit(struct cluster_transport *r);
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
void executor_listener_close(struct cluster_transport *r);

/* executor_conn.c */
/* Starts queued fetches of results that fit into result_bytes_max. */
void task_result_fetch_start_pending(struct cluster_transport *r);

/* cluster_transport.c */
/* A daemon sent PROGRAM_REQUEST: sends PROGRAM, once the program is hashed. Returns 0, or PROTOCOL,
 * NO_MEMORY, which close the connection. */
int program_server_on_request(struct daemon_conn *p, struct glint_error *error);

/* An executor sent BLOCK_REQUEST: sends BLOCK_ASSIGN to it, and to others for which there are
 * blocks now. Returns 0, or PROTOCOL, NO_MEMORY, which close the connection. */
int broadcast_server_on_block_request(struct executor_conn *l, struct glint_slice payload,
                                      struct glint_error *error);
/* Assigns the blocks that were to come from or go to a lost executor again. */
void broadcast_server_on_executor_lost(struct cluster_transport *r, uint32_t number);

/* ---- Which executors a driver that needs several may keep and request while it waits: a function
 * of what it knows of each daemon, without connections and clocks. acquisition_policy.c applies it,
 * and says why there is an order. */

/* What the driver knows of one daemon. */
enum acquisition_state {
    ACQUISITION_UNAVAILABLE, /* it cannot be reached, or rejected the driver */
    ACQUISITION_FIRST_DIAL,  /* being dialled for the first time */
    ACQUISITION_RELEASED,    /* reached before, and will be dialled when the limit allows it */
    ACQUISITION_REQUESTED,   /* reached, and will respond within a deadline */
    ACQUISITION_FETCHING,    /* it fetches the driver's program, which may take long */
    ACQUISITION_QUEUED,      /* the driver has a position in its queue */
    ACQUISITION_KEPT,        /* the driver has its executor */
    ACQUISITION_STATES
};

#define ACQUISITION_NO_LIMIT UINT32_MAX

/* Returns the highest rank that the driver may keep or request; `states` has `count` of them, by
 * rank. ACQUISITION_NO_LIMIT if the order does not matter: the driver needs one executor, has
 * enough, or is queued nowhere. Otherwise the driver is queued at that rank or below, and the limit
 * stays the same when the executors and queue positions above it are released. */
uint32_t acquisition_highest_rank(const enum acquisition_state *states, uint32_t count,
                                  uint32_t wanted);

/* Whether a daemon other than `except` (`count`: none) responds within a deadline. Its response may
 * change the limit, so nothing is released until then. One that fetches the program is not waited
 * for. */
bool acquisition_awaits_response(const enum acquisition_state *states, uint32_t count,
                                 uint32_t limit, uint32_t except);

/* Whether the executor or queue position at this rank must be released. */
static inline bool acquisition_must_release(enum acquisition_state state, uint32_t rank,
                                            uint32_t limit)
{
    return rank > limit && (state == ACQUISITION_KEPT || state == ACQUISITION_QUEUED);
}

/* ---- Starts executor daemons of cluster.toml that are unreachable, and stops them again.
 *
 * LAUNCH_LOCAL runs this program with `executor --cluster FILE --id ID`. LAUNCH_SSH runs
 * launch_command with {host}, {id} and {config} replaced, without a shell. Standard output and
 * standard error go to log_dir/ID.log. Loop thread only. */

struct launched_daemon;

/* Starts the daemon of cluster->executors[executor]. Returns NULL with *error set on failure.
 * `ended` is called at most once, on the loop thread: when the process exits before
 * launched_daemon_stop was called. The loop frees the object after `ended` has returned. */
struct launched_daemon *launched_daemon_start(uv_loop_t *loop, struct env *env,
                                              const struct cluster *cluster, uint32_t executor,
                                              void (*ended)(void *arg, int wait_status), void *arg,
                                              struct glint_error *error);
/* The path is valid as long as `p` is. */
const char *launched_daemon_log_path(const struct launched_daemon *p);
/* Sends SIGTERM, and SIGKILL if the process still runs after `grace_ms`. The loop frees `p` when
 * the process has exited; the caller must not use it any more. Call once. */
void launched_daemon_stop(struct launched_daemon *p, uint64_t grace_ms);

#endif
