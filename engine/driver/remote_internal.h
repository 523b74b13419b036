/* What the files of the driver's end of a cluster share.
 *
 *   remote.c          its life, the loop's thread, the one timer
 *   remote_inbox.c    what waits for the driver's thread, and `wait`
 *   remote_outbox.c   what waits for the loop's thread, and `send`
 *   remote_post.c     the executors that the cluster's file names: daemons, dialled and asked
 *   remote_link.c     executor processes, from their connections to their end
 *   remote_loss.c     why one ended
 *   remote_join.c     when they become executors of the job
 *   remote_order.c    which of them it may keep while it waits for others
 *   remote_listen.c   those that dial us
 *   remote_large.c    results that are fetched
 *   remote_broadcasts.c  broadcasts, block by block
 *
 * All of it belongs to the loop's thread, but for what `lock` guards. */
#ifndef GLINT_DRIVER_REMOTE_INTERNAL_H
#define GLINT_DRIVER_REMOTE_INTERNAL_H

#include "engine/driver/launch.h"
#include "engine/driver/remote.h"
#include "engine/driver/tracker.h"
#include "engine/net/gate.h"
#include "engine/net/wire.h"

#include <pthread.h>
#include <stdatomic.h>

#define MS_NS ((uint64_t)1000000)

/* ---- To the driver's thread */

enum event_kind {
    EVENT_JOINED,
    EVENT_MESSAGE,
    EVENT_DRAINING,
    EVENT_SILENT,
    EVENT_HEARD,
    EVENT_LOST,
    EVENT_DESERTED,
    EVENT_CANCELED,
    EVENT_NOTE,
};

struct event {
    struct event *next;
    enum event_kind kind;
    uint32_t executor;
    union {
        struct {
            struct message *message;
            uint64_t held_bytes; /* of a fetched result: counted in results_held until taken */
        };
        struct {
            uint32_t slots;
            char name[NAME_BYTES_MAX], host[HOST_BYTES_MAX];
        };
        struct {
            enum loss loss;
            struct glint_error why;
        };
        char line[1024];
    };
};

/* ---- To the loop's thread */

struct parcel {
    struct parcel *next;
    uint32_t executor;
    struct buffer bytes;  /* an encoded message */
    uint64_t value_bytes; /* of a broadcast that is in it */
};

/* ---- What there is */

/* A block of a broadcast as it is sent: packed where that pays. */
struct sent_block {
    struct buffer packed;
    uint64_t sum;
    bool has_sum, pays_not;
};

/* A broadcast: the bytes are the context's. `tracker` and `blocks` are the loop's. */
struct value {
    struct value *next;
    uint64_t id, size;
    const uint8_t *data;
    struct tracker *tracker;
    struct sent_block *blocks;
};

/* An executor of the cluster's file.
 *
 *   RESTING -> DIALLING   [post_dial]        DIALLING -> ASKED    [post_opened: ADMIT]
 *   ASKED   -> ADMITTED   [post_on_admitted] any      -> RESTING  [post_rest, post_give_back]
 *   any     -> REFUSED    [post_fail: another try would end the same way] */
enum post_state { POST_RESTING, POST_DIALLING, POST_ASKED, POST_ADMITTED, POST_REFUSED };

struct post {
    struct remote *r;
    const struct cluster_executor *at;
    uint32_t index, rank; /* in `posts`, in `by_id` */
    enum post_state state;
    struct conn *conn; /* to its daemon; still there for a moment after RESTING */
    struct liveness liveness;
    struct link *link;           /* the process that it gave us */
    uint64_t due_ns;             /* RESTING: when to dial */
    uint32_t tries;              /* since one of its processes joined */
    uint64_t place, place_noted; /* in its queue, 0: in none; the one that a person knows */
    uint64_t queued_ns;          /* since when */
    bool reached;                /* its daemon was there the last time it was dialled */
    uint32_t auth_failures;      /* in a row: TLS failed */
    bool noted;                  /* a person knows that it is not there */
    bool drained;                /* it was asked to end: not to be started again */
    struct launch_process *process;
    uint32_t launches;
    bool spent;             /* what was launched ended, and would again */
    bool hopeless;          /* and nothing answers */
    struct glint_error why; /* of the last failure */
};

/* An executor process.
 *
 *   OPENING -> READY   [link_check: two connections and a READY]
 *   READY   -> JOINED  [join_look: enough are there; it has a number]
 *   any     -> ENDING  [link_fail; waits for its daemon's word]
 *   ENDING  -> GONE    [link_settle: the loss is reported]; freed with its last connection */
enum link_state { LINK_OPENING, LINK_READY, LINK_JOINED, LINK_ENDING, LINK_GONE };

struct link {
    struct link *next;
    struct remote *r;
    enum link_state state;
    struct post *post; /* whose process it is; NULL: it dialled us */
    struct conn *control, *data;
    struct liveness liveness;
    uint8_t incarnation[INCARNATION_BYTES];
    char name[NAME_BYTES_MAX], host[HOST_BYTES_MAX];
    uint16_t port;
    uint32_t slots;
    bool is_ready; /* READY has come */
    bool joined, draining, silent;
    uint32_t number;      /* joined */
    uint64_t deadline_ns; /* OPENING: to be READY; ENDING: to be told why */
    struct glint_error why;
    bool has_ended;
    struct ended ended;
    struct event *lost; /* joined: made ahead, so that a loss needs no memory */
    struct result *results;
    uint64_t sending_bytes; /* broadcast blocks on their way to it */
};

struct remote {
    struct glint *g;
    struct env *env;
    const struct cluster *cluster;
    struct net net;
    uv_loop_t loop;
    uv_async_t poke;
    uv_timer_t timer;
    uint64_t timer_ns; /* when it rings; UINT64_MAX: not set */
    pthread_t thread;
    bool stopping;

    pthread_mutex_t lock;
    pthread_cond_t arrived;
    struct event *events, **events_end;    /* under lock */
    bool woken;                            /* under lock */
    struct parcel *parcels, **parcels_end; /* under lock */
    uint64_t parcel_bytes;                 /* under lock; of those */
    struct value *values;                  /* under lock; nothing leaves it before the end */
    struct job_progress progress;          /* under lock */
    atomic_bool wake_wish, stop_wish;
    atomic_uint_fast64_t results_held;    /* bytes of fetched results until the driver took them */
    atomic_uint_fast64_t broadcast_bytes; /* sent */
    uint64_t broadcast_counted;           /* of those; the driver's thread's */

    struct post *posts;  /* [cluster->executor_count] */
    struct post **by_id; /* the same, in order of their ids */
    uint32_t highest;    /* the rank of the highest that may be kept or asked */
    struct gate *gate;
    struct link *links, **links_end; /* in order of their coming */
    struct link **numbered;          /* [number_capacity]; NULL: gone */
    uint32_t number_count, number_capacity;
    uint32_t link_count, joined_count;
    bool begun, deserted;
    uint64_t alone_since_ns;
    uint32_t next_result;
    struct event *desertion; /* made ahead */
};

static inline uint64_t remote_now(const struct remote *r)
{
    return r->env->now_ns(r->env);
}
/* Rings the timer at `at_ns` at the latest: everything that waits is looked at then. */
void remote_due(struct remote *r, uint64_t at_ns);

/* remote_inbox.c. Loop's thread, but for inbox_wait. */
struct event *event_create(enum event_kind kind, uint32_t executor); /* NULL without memory */
void event_destroy(struct event *e);
void inbox_push(struct remote *r, struct event *e);
/* A line for a person; without memory it is not said. */
void inbox_note(struct remote *r, const char *format, ...) __attribute__((format(printf, 2, 3)));
void inbox_wake(struct remote *r);
void inbox_wait(struct remote *r, struct driver *driver, uint64_t deadline_ns);

/* remote_outbox.c */
int outbox_send(struct remote *r, uint32_t executor, struct message *m, struct glint_error *error);
void outbox_deliver(struct remote *r);
void outbox_fini(struct remote *r);

/* remote_post.c */
/* What is due; answers when to look again. */
uint64_t post_look(struct post *p, uint64_t now);
/* Its process has gone: asks for another one, later. `why`: as link_fail's. */
void post_on_gone(struct post *p, const struct glint_error *why, bool had_joined);
/* Gives up its place in the queue, or its process. It is asked again when order_allows. */
void post_give_back(struct post *p);
void post_stop(struct post *p);

/* remote_link.c */
struct link *link_create(struct remote *r, const uint8_t *incarnation, struct glint_error *error);
/* Dials the process that the post's daemon has started. 0 or a code. */
int link_dial(struct post *p, const struct admitted *a, struct glint_error *error);
/* A connection that is open is the link's from here on. */
void link_attach(struct link *l, struct conn *c);
/* The end of it; the first cause stays. */
void link_fail(struct link *l, const struct glint_error *why);
void link_fail_with(struct link *l, enum glint_code code, const char *cause, ...)
    __attribute__((format(printf, 3, 4)));
/* The daemon says how it ended. */
void link_on_ended(struct link *l, const struct ended *ended);
/* Nothing more will be known of how it ended. */
void link_settle(struct link *l);
uint64_t link_look(struct link *l, uint64_t now);
void link_stop(struct link *l);
/* Sends a frame on one of its connections; a failure is the connection's end. */
void link_send(struct conn *c, enum frame_type type, uint64_t request, struct buffer *payload);

/* remote_loss.c: fills the error of a loss, and says what kind it is. */
enum loss loss_describe(const struct link *l, struct glint_error *out);

/* remote_join.c */
/* Something has changed: takes in who is ready, if it is time. */
void join_look(struct remote *r);
uint64_t join_deadline(struct remote *r, uint64_t now);
struct link *join_find(const struct remote *r, uint32_t number); /* NULL: gone */
void join_on_gone(struct link *l);

/* How many must be ready before the first task. */
uint32_t join_wanted(const struct remote *r);

/* remote_order.c */
/* False without memory. */
bool order_open(struct remote *r);
/* After any change of a post: gives back what the driver may not keep, or wait for, any more. */
void order_review(struct remote *r);
bool order_allows(const struct post *p);
/* The connection to its daemon is open. While others are asked, too, it may be of use. */
bool order_may_ask(const struct post *p);
/* Not begun, and the driver keeps at least one. */
bool order_keeps_any(const struct remote *r);

/* remote_listen.c. 0 or a code. */
int listen_open(struct remote *r, struct glint_error *error);

/* remote_large.c */
/* A DONE whose result is with the executor. Takes the message. */
void large_add(struct link *l, struct message *m);
uint8_t *large_into(struct link *l, const struct frame *f);
void large_on_data(struct link *l, const struct frame *f);
int large_on_gone(struct link *l, const struct frame *f, struct glint_slice payload,
                  struct glint_error *error);
/* Starts what there is room for. */
void large_pump(struct remote *r);
uint64_t large_look(struct link *l, uint64_t now);
/* No connection can bring anything any more. */
void large_fini(struct link *l);

/* remote_broadcasts.c */
/* Driver's thread. 0 or NO_MEMORY. */
int broadcasts_add(struct remote *r, uint64_t id, const void *data, uint64_t size,
                   struct glint_error *error);
/* A GET or TRACK of an executor. 0, or a code: the end of the connection. */
int broadcasts_on_get(struct link *l, const struct frame *f, struct glint_slice payload,
                      struct glint_error *error);
int broadcasts_on_track(struct link *l, struct glint_slice payload, struct glint_error *error);
void broadcasts_on_lost(struct remote *r, uint32_t number);
void broadcasts_fini(struct remote *r);

#endif
