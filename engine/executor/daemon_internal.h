/* What the files of a daemon share.
 *
 *   daemon.c          its life: start, signals, the one timer, the end
 *   daemon_session.c  connections: drivers, who wait and are served, and clients
 *   executor_runner.c    child processes, from their start to the report of their end
 *   daemon_status.c   what it answers to STATUS and CANCEL
 *
 * Everything belongs to one thread. */
#ifndef GLINT_EXECUTOR_DAEMON_INTERNAL_H
#define GLINT_EXECUTOR_DAEMON_INTERNAL_H

#include "engine/executor/control_pipe.h"
#include "engine/executor/daemon.h"
#include "engine/executor/executor_process_config.h"
#include "engine/net/listener.h"
#include "engine/net/spawn.h"

#define MS_NS            ((uint64_t)1000000)
#define QUEUE_LENGTH_MAX 64u
#define SESSIONS_MAX     256u
#define DAEMON_SIGNALS   3u

/* A connection.
 *
 *   NEW    -> QUEUED [REQUEST_EXECUTOR]                  QUEUED -> SERVED [job_queue_run: it has a
 * child] SERVED -> NEW    [session_on_executor_exited: its child has] */
enum daemon_session_state { SESSION_NEW, SESSION_QUEUED, SESSION_SERVED };

struct daemon_session {
    struct daemon_session *next;
    struct daemon *d;
    struct conn *conn;
    enum daemon_session_state state;
    struct liveness liveness;
    bool is_driver, closing;
    uint64_t job;
    char name[NAME_BYTES_MAX];
    struct job_progress progress;
    uint64_t queue_order;           /* order in the queue */
    uint64_t queue_position;        /* as it was told; 0: not yet */
    uint64_t requested_ns;          /* REQUEST_EXECUTOR */
    struct executor_runner *runner; /* SERVED */
};

/* A child process, as its daemon sees it.
 *
 *   STARTING -> RUNNING [READY on the line]
 *   any      -> STOPPING [executor_runner_stop: nobody wants it, its line is closed]
 *   any      -> CLOSED    [runner_finish: it has ended, and that was told] */
enum executor_runner_state { RUNNER_STARTING, RUNNER_RUNNING, RUNNER_STOPPING, RUNNER_CLOSED };

struct executor_runner {
    struct executor_runner *next;
    struct daemon *d;
    enum executor_runner_state state;
    struct daemon_session *session; /* NULL: gone */
    struct spawn process;
    struct control_pipe control_pipe;
    unsigned handles; /* open ones */
    bool exited, pipe_ended, pipe_closed;
    int32_t wait_status;
    uint64_t job;
    uint64_t deadline_ns; /* STARTING: to be READY; STOPPING: to be killed; exited: to be told */
    uint64_t oom_kills_before;
    struct executor_metrics reported;
    struct glint_error failure; /* why it could not serve, in its own words */
    char crash[sizeof((struct executor_exited *)NULL)->crash]; /* the same, of its crash */
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
    struct listener *listener;
    struct daemon_session *sessions;
    uint32_t session_count;
    struct executor_runner *runners;
    uint32_t runner_count; /* those that are not CLOSED */
    uint64_t last_queue_order, started_ns;
    bool draining, stopping;
    uint64_t drain_deadline_ns;
    uint64_t idle_deadline_ns; /* launched, and no driver is there; UINT64_MAX: one is */
    char log[sizeof((struct executor_exited *)NULL)->log];
};

static inline uint64_t daemon_now(const struct daemon *d)
{
    return d->env->now_ns(d->env);
}

/* daemon.c */
/* Rings the timer at `at_ns` at the latest. */
void daemon_arm_timer(struct daemon *d, uint64_t at_ns);
uint64_t daemon_log_bytes_max(const struct daemon *d); /* 0: no bound */
/* Something has ended: is there still anything to be here for? */
void daemon_stop_if_done(struct daemon *d);

/* daemon_session.c */
bool session_on_accepted(void *arg, struct conn *conn, struct glint_error *error);
/* Closes the connection, with a reason that the other side understands. */
void session_reject(struct daemon_session *v, const struct glint_error *why);
void session_send(struct daemon_session *v, enum frame_type type, uint64_t request,
                  struct buffer *payload);
void session_on_executor_exited(struct daemon_session *v);
uint64_t session_on_timer(struct daemon_session *v, uint64_t now);
void session_close(struct daemon_session *v);
/* Serves who waits, as far as there is room, and tells the others their places. */
void job_queue_run(struct daemon *d);
void job_queue_reject_all(struct daemon *d);

/* executor_runner.c */
/* Starts a child for a driver. 0, or a code with *error set. */
int executor_runner_start(struct daemon *d, struct daemon_session *v, struct glint_error *error);
/* Its driver is gone: it ends, or is ended. */
void executor_runner_stop(struct executor_runner *w);
/* SIGTERM. `now`: and no time is left. */
void executor_runner_drain(struct executor_runner *w, bool now);
uint64_t executor_runner_on_timer(struct executor_runner *w, uint64_t now);
struct executor_runner *
executor_runner_next(struct executor_runner *w); /* of those that are not CLOSED */

/* daemon_status.c: 0, or a code with *error set, which ends the connection. */
int session_reply_status(struct daemon_session *v, struct glint_error *error);
int session_reply_cancel(struct daemon_session *v, struct glint_slice payload,
                         struct glint_error *error);

#endif
