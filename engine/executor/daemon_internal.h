/* What the files of a daemon share.
 *
 *   daemon.c          its life: start, signals, the one timer, the end
 *   daemon_visitor.c  connections: drivers, who wait and are served, and clients
 *   daemon_child.c    child processes, from their start to the report of their end
 *   daemon_status.c   what it answers to STATUS and CANCEL
 *
 * Everything belongs to one thread. */
#ifndef GLINT_EXECUTOR_DAEMON_INTERNAL_H
#define GLINT_EXECUTOR_DAEMON_INTERNAL_H

#include "engine/executor/child_config.h"
#include "engine/executor/daemon.h"
#include "engine/executor/line.h"
#include "engine/net/gate.h"
#include "engine/net/spawn.h"

#define MS_NS            ((uint64_t)1000000)
#define QUEUE_LENGTH_MAX 64u
#define VISITORS_MAX     256u
#define DAEMON_SIGNALS   3u

/* A connection.
 *
 *   NEW    -> QUEUED [ADMIT]                  QUEUED -> SERVED [queue_pump: it has a child]
 *   SERVED -> NEW    [visitor_on_ended: its child has] */
enum visitor_state { VISITOR_NEW, VISITOR_QUEUED, VISITOR_SERVED };

struct visitor {
    struct visitor *next;
    struct daemon *d;
    struct conn *conn;
    enum visitor_state state;
    struct liveness liveness;
    bool is_driver, closing;
    uint64_t job;
    char name[NAME_BYTES_MAX];
    struct job_progress progress;
    uint64_t ticket;   /* order in the queue */
    uint64_t place;    /* as it was told; 0: not yet */
    uint64_t since_ns; /* ADMIT */
    struct ward *ward; /* SERVED */
};

/* A child process, as its daemon sees it.
 *
 *   STARTING -> RUNNING [READY on the line]
 *   any      -> LEAVING [ward_let_go: nobody wants it, its line is closed]
 *   any      -> OVER    [ward_finish: it has ended, and that was told] */
enum ward_state { WARD_STARTING, WARD_RUNNING, WARD_LEAVING, WARD_OVER };

struct ward {
    struct ward *next;
    struct daemon *d;
    enum ward_state state;
    struct visitor *visitor; /* NULL: gone */
    struct spawn process;
    struct line line;
    unsigned handles; /* open ones */
    bool exited, line_ended, line_closed;
    int32_t wait_status;
    uint64_t job;
    uint64_t deadline_ns; /* STARTING: to be READY; LEAVING: to be killed; exited: to be told */
    uint64_t oom_before;
    struct child_state told;
    struct glint_error failure;                      /* why it could not serve, in its own words */
    char crash[sizeof((struct ended *)NULL)->crash]; /* the same, of its crash */
};

struct daemon {
    const struct daemon_config *config;
    const struct cluster *cluster;
    const struct cluster_executor *self;
    struct env *env;
    uv_loop_t loop;
    uv_timer_t timer;
    uint64_t timer_ns; /* when it rings; UINT64_MAX: not set */
    uv_signal_t signals[DAEMON_SIGNALS];
    struct net net;
    struct gate *gate;
    struct visitor *visitors;
    uint32_t visitor_count;
    struct ward *wards;
    uint32_t ward_count; /* those that are not OVER */
    uint64_t last_ticket, started_ns;
    bool draining, stopping;
    uint64_t drain_end_ns;
    uint64_t lonely_end_ns; /* launched, and no driver is there; UINT64_MAX: one is */
    char log[sizeof((struct ended *)NULL)->log];
};

static inline uint64_t daemon_now(const struct daemon *d)
{
    return d->env->now_ns(d->env);
}

/* daemon.c */
/* Rings the timer at `at_ns` at the latest. */
void daemon_due(struct daemon *d, uint64_t at_ns);
uint64_t daemon_log_bytes_max(const struct daemon *d); /* 0: no bound */
/* Something has ended: is there still anything to be here for? */
void daemon_check(struct daemon *d);

/* daemon_visitor.c */
bool visitor_on_accepted(void *arg, struct conn *conn, struct glint_error *error);
/* Closes the connection, with a reason that the other side understands. */
void visitor_refuse(struct visitor *v, const struct glint_error *why);
void visitor_send(struct visitor *v, enum frame_type type, uint64_t request,
                  struct buffer *payload);
void visitor_on_ended(struct visitor *v);
uint64_t visitor_look(struct visitor *v, uint64_t now);
void visitor_close(struct visitor *v);
/* Serves who waits, as far as there is room, and tells the others their places. */
void queue_pump(struct daemon *d);
void queue_refuse_all(struct daemon *d);

/* daemon_child.c */
/* Starts a child for a driver. 0, or a code with *error set. */
int ward_start(struct daemon *d, struct visitor *v, struct glint_error *error);
/* Its driver is gone: it ends, or is ended. */
void ward_let_go(struct ward *w);
/* SIGTERM. `now`: and no time is left. */
void ward_drain(struct ward *w, bool now);
uint64_t ward_look(struct ward *w, uint64_t now);
struct ward *ward_next(struct ward *w); /* of those that are not OVER */

/* daemon_status.c: 0, or a code with *error set, which ends the connection. */
int status_answer(struct visitor *v, struct glint_error *error);
int cancel_answer(struct visitor *v, struct glint_slice payload, struct glint_error *error);

#endif
