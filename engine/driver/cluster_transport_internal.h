/* What the files of the driver's end of a cluster share.
 *
 *   cluster_transport.c its life, the loop's thread, the one timer
 *   transport_inbox.c    what waits for the driver's thread, and `wait`
 *   transport_outbox.c   what waits for the loop's thread, and `send`
 *   daemon_conn.c     the executors that the cluster's file names: daemons, dialled and asked
 *   executor_conn.c     executor processes, from their connections to their end
 *   executor_loss.c     why one ended
 *   registration.c     when they become executors of the job
 *   acquisition_order.c    which of them it may keep while it waits for others
 *   executor_listener.c   those that dial us
 *   task_result_fetch.c    results that are fetched
 *   broadcast_server.c  broadcasts, block by block
 *
 * All of it belongs to the loop's thread, but for what `lock` guards. */
#ifndef GLINT_DRIVER_CLUSTER_TRANSPORT_INTERNAL_H
#define GLINT_DRIVER_CLUSTER_TRANSPORT_INTERNAL_H

#include "engine/driver/broadcast_tracker.h"
#include "engine/driver/cluster_transport.h"
#include "engine/driver/daemon_launch.h"
#include "engine/net/listener.h"
#include "engine/net/wire.h"

#include <pthread.h>
#include <stdatomic.h>

#define MS_NS ((uint64_t)1000000)

/* ---- To the driver's thread */

enum inbox_event_kind {
    INBOX_EXECUTOR_ADDED,
    INBOX_MESSAGE,
    INBOX_EXECUTOR_DRAINING,
    INBOX_EXECUTOR_SUSPECT,
    INBOX_EXECUTOR_ALIVE,
    INBOX_EXECUTOR_LOST,
    INBOX_NO_EXECUTORS,
    INBOX_CANCEL_REQUESTED,
    INBOX_NOTE,
};

struct inbox_event {
    struct inbox_event *next;
    enum inbox_event_kind kind;
    uint32_t executor;
    union {
        struct {
            struct message *message;
            uint64_t fetched_bytes; /* of a fetched result: counted in fetched_results_bytes until
                                       taken */
        };
        struct {
            uint32_t slots;
            char name[NAME_BYTES_MAX], host[HOST_BYTES_MAX];
        };
        struct {
            enum executor_loss_reason loss;
            struct glint_error why;
        };
        char line[1024];
    };
};

/* ---- To the loop's thread */

struct outgoing_message {
    struct outgoing_message *next;
    uint32_t executor;
    struct buffer bytes;             /* an encoded message */
    uint64_t inline_broadcast_bytes; /* of a broadcast that is in it */
};

/* ---- What there is */

/* A block of a broadcast as it is sent: packed where that pays. */
struct sent_block {
    struct buffer packed;
    uint64_t checksum;
    bool has_checksum, incompressible;
};

/* A broadcast: the bytes are the context's. `tracker` and `blocks` are the loop's. */
struct served_broadcast {
    struct served_broadcast *next;
    uint64_t id, size;
    const uint8_t *data;
    struct tracker *tracker;
    struct sent_block *blocks;
};

/* An executor of the cluster's file.
 *
 *   BACKOFF -> DIALLING   [daemon_conn_dial]        DIALLING -> REQUESTED [daemon_conn_on_opened:
 * REQUEST_EXECUTOR] REQUESTED   -> EXECUTOR_STARTED   [daemon_conn_on_executor_started] any      ->
 * BACKOFF  [daemon_conn_back_off, daemon_conn_release_executor] any     -> REJECTED
 * [daemon_conn_fail: another try would end the same way] */
enum daemon_conn_state {
    DAEMON_CONN_BACKOFF,
    DAEMON_CONN_DIALLING,
    DAEMON_CONN_REQUESTED,
    DAEMON_CONN_EXECUTOR_STARTED,
    DAEMON_CONN_REJECTED
};

struct daemon_conn {
    struct cluster_transport *r;
    const struct cluster_executor *at;
    uint32_t index, rank; /* in `posts`, in `by_id` */
    enum daemon_conn_state state;
    struct conn *conn; /* to its daemon; still there for a moment after BACKOFF */
    struct liveness liveness;
    struct executor_conn *executor_conn; /* the process that it gave us */
    uint64_t next_dial_ns;               /* BACKOFF: when to dial */
    uint32_t tries;                      /* since one of its processes joined */
    uint64_t queue_position,
        queue_position_reported; /* in its queue, 0: in none; the one that a person knows */
    uint64_t queued_ns;          /* since when */
    bool reached;                /* its daemon was there the last time it was dialled */
    uint32_t auth_failures;      /* in a row: TLS failed */
    bool missing_reported;       /* a person knows that it is not there */
    bool drained;                /* it was asked to end: not to be started again */
    struct launched_daemon *process;
    uint32_t launches;
    bool launch_failed;           /* what was launched ended, and would again */
    bool permanently_unreachable; /* and nothing answers */
    struct glint_error why;       /* of the last failure */
};

/* An executor process.
 *
 *   OPENING -> REGISTERED   [executor_conn_check_registered: two connections and a REGISTERED]
 *   REGISTERED   -> JOINED  [registration_join_if_enough: enough are there; it has a number]
 *   any     -> CLOSING  [executor_conn_fail; waits for its daemon's word]
 *   CLOSING  -> CLOSED    [executor_conn_finalize: the loss is reported]; freed with its last
 * connection */
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
    struct daemon_conn *daemon_conn; /* whose process it is; NULL: it dialled us */
    struct conn *control, *data;
    struct liveness liveness;
    uint8_t incarnation[INCARNATION_BYTES];
    char name[NAME_BYTES_MAX], host[HOST_BYTES_MAX];
    uint16_t port;
    uint32_t slots;
    bool is_registered; /* REGISTERED has come */
    bool joined, draining, suspect;
    uint32_t number;      /* joined */
    uint64_t deadline_ns; /* OPENING: to be REGISTERED; CLOSING: to be told why */
    struct glint_error why;
    bool has_exited;
    struct executor_exited exited;
    struct inbox_event *lost_event; /* joined: made ahead, so that a loss needs no memory */
    struct result_fetch *result_fetches;
    uint64_t sending_bytes; /* broadcast blocks on their way to it */
};

struct cluster_transport {
    struct glint *g;
    struct env *env;
    const struct cluster *cluster;
    struct net net;
    uv_loop_t loop;
    uv_async_t wakeup;
    uv_timer_t timer;
    uint64_t timer_ns; /* when it rings; UINT64_MAX: not set */
    pthread_t thread;
    bool stopping;

    pthread_mutex_t lock;
    pthread_cond_t arrived;
    struct inbox_event *events, **events_end;          /* under lock */
    bool woken;                                        /* under lock */
    struct outgoing_message *outgoing, **outgoing_end; /* under lock */
    uint64_t outgoing_bytes;                           /* under lock; of those */
    struct served_broadcast *broadcasts; /* under lock; nothing leaves it before the end */
    struct job_progress progress;        /* under lock */
    atomic_bool wake_requested, stop_requested;
    atomic_uint_fast64_t
        fetched_results_bytes;            /* bytes of fetched results until the driver took them */
    atomic_uint_fast64_t broadcast_bytes; /* sent */
    uint64_t broadcast_counted;           /* of those; the driver's thread's */

    struct daemon_conn *daemon_conns; /* [cluster->executor_count] */
    struct daemon_conn **by_id;       /* the same, in order of their ids */
    uint32_t highest;                 /* the rank of the highest that may be kept or asked */
    struct listener *listener;
    struct executor_conn *executor_conns, **executor_conns_end; /* in order of their coming */
    struct executor_conn **executors_by_id;                     /* [number_capacity]; NULL: gone */
    uint32_t number_count, number_capacity;
    uint32_t executor_conn_count, joined_count;
    bool started, no_executors_reported;
    uint64_t no_executor_since_ns;
    uint32_t next_fetch_id;
    struct inbox_event *no_executors_event; /* made ahead */
};

static inline uint64_t cluster_transport_now(const struct cluster_transport *r)
{
    return r->env->now_ns(r->env);
}
/* Rings the timer at `at_ns` at the latest: everything that waits is looked at then. */
void cluster_transport_arm_timer(struct cluster_transport *r, uint64_t at_ns);

/* transport_inbox.c. Loop's thread, but for inbox_wait. */
struct inbox_event *inbox_event_create(enum inbox_event_kind kind,
                                       uint32_t executor); /* NULL without memory */
void inbox_event_destroy(struct inbox_event *e);
void inbox_push(struct cluster_transport *r, struct inbox_event *e);
/* A line for a person; without memory it is not said. */
void inbox_push_note(struct cluster_transport *r, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void inbox_wake_driver(struct cluster_transport *r);
void inbox_wait(struct cluster_transport *r, struct driver *driver, uint64_t deadline_ns);

/* transport_outbox.c */
int outbox_send(struct cluster_transport *r, uint32_t executor, struct message *m,
                struct glint_error *error);
void outbox_deliver(struct cluster_transport *r);
void outbox_fini(struct cluster_transport *r);

/* daemon_conn.c */
/* What is due; answers when to look again. */
uint64_t daemon_conn_on_timer(struct daemon_conn *p, uint64_t now);
/* Its process has gone: asks for another one, later. `why`: as executor_conn_fail's. */
void daemon_conn_on_executor_gone(struct daemon_conn *p, const struct glint_error *why,
                                  bool had_joined);
/* Gives up its place in the queue, or its process. It is asked again when acquisition_order_allows.
 */
void daemon_conn_release_executor(struct daemon_conn *p);
void daemon_conn_close(struct daemon_conn *p);

/* executor_conn.c */
struct executor_conn *executor_conn_create(struct cluster_transport *r, const uint8_t *incarnation,
                                           struct glint_error *error);
/* Dials the process that the post's daemon has started. 0 or a code. */
int executor_conn_dial(struct daemon_conn *p, const struct executor_started *a,
                       struct glint_error *error);
/* A connection that is open is the link's from here on. */
void executor_conn_attach(struct executor_conn *l, struct conn *c);
/* The end of it; the first cause stays. */
void executor_conn_fail(struct executor_conn *l, const struct glint_error *why);
void executor_conn_fail_with(struct executor_conn *l, enum glint_code code, const char *cause, ...)
    __attribute__((format(printf, 3, 4)));
/* The daemon says how it ended. */
void executor_conn_on_executor_exited(struct executor_conn *l,
                                      const struct executor_exited *exited);
/* Nothing more will be known of how it ended. */
void executor_conn_finalize(struct executor_conn *l);
uint64_t executor_conn_on_timer(struct executor_conn *l, uint64_t now);
void executor_conn_close(struct executor_conn *l);
/* Sends a frame on one of its connections; a failure is the connection's end. */
void send_frame(struct conn *c, enum frame_type type, uint64_t request, struct buffer *payload);

/* executor_loss.c: fills the error of a loss, and says what kind it is. */
enum executor_loss_reason executor_loss_describe(const struct executor_conn *l,
                                                 struct glint_error *out);

/* registration.c */
/* Something has changed: takes in who is ready, if it is time. */
void registration_join_if_enough(struct cluster_transport *r);
uint64_t registration_on_timer(struct cluster_transport *r, uint64_t now);
struct executor_conn *executor_conn_find(const struct cluster_transport *r,
                                         uint32_t number); /* NULL: gone */
void registration_on_executor_gone(struct executor_conn *l);

/* How many must be ready before the first task. */
uint32_t registration_executors_min(const struct cluster_transport *r);

/* acquisition_order.c */
/* False without memory. */
bool acquisition_order_init(struct cluster_transport *r);
/* After any change of a post: gives back what the driver may not keep, or wait for, any more. */
void acquisition_order_enforce(struct cluster_transport *r);
bool acquisition_order_allows(const struct daemon_conn *p);
/* The connection to its daemon is open. While others are asked, too, it may be of use. */
bool acquisition_order_may_request(const struct daemon_conn *p);
/* Not begun, and the driver keeps at least one. */
bool acquisition_order_keeps_any(const struct cluster_transport *r);

/* executor_listener.c. 0 or a code. */
int executor_listener_open(struct cluster_transport *r, struct glint_error *error);

/* task_result_fetch.c */
/* A DONE whose result is with the executor. Takes the message. */
void task_result_fetch_add(struct executor_conn *l, struct message *m);
uint8_t *task_result_fetch_buffer_for(struct executor_conn *l, const struct frame *f);
void task_result_fetch_on_data(struct executor_conn *l, const struct frame *f);
int task_result_fetch_on_error(struct executor_conn *l, const struct frame *f,
                               struct glint_slice payload, struct glint_error *error);
/* Starts what there is room for. */
void task_result_fetch_start_pending(struct cluster_transport *r);
uint64_t task_result_fetch_on_timer(struct executor_conn *l, uint64_t now);
/* No connection can bring anything any more. */
void task_result_fetch_fini(struct executor_conn *l);

/* broadcast_server.c */
/* Driver's thread. 0 or NO_MEMORY. */
int broadcast_server_add(struct cluster_transport *r, uint64_t id, const void *data, uint64_t size,
                         struct glint_error *error);
/* A GET or BLOCK_REQUEST of an executor. 0, or a code: the end of the connection. */
int broadcast_server_on_get(struct executor_conn *l, const struct frame *f,
                            struct glint_slice payload, struct glint_error *error);
int broadcast_server_on_block_request(struct executor_conn *l, struct glint_slice payload,
                                      struct glint_error *error);
void broadcast_server_on_executor_lost(struct cluster_transport *r, uint32_t number);
void broadcast_server_fini(struct cluster_transport *r);

#endif
