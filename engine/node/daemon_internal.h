/* Shared by the files of the executor daemon.
 *
 *    daemon.c           life cycle: start, signals, the timer, shutdown
 *    daemon.c   connections: drivers that are queued or served, and clients
 *    executor_runner.c  executor processes, from spawn to EXECUTOR_EXITED
 *    daemon.c    replies to STATUS and CANCEL
 *
 * Everything runs on the loop thread. */
#ifndef GLINT_NODE_DAEMON_INTERNAL_H
#define GLINT_NODE_DAEMON_INTERNAL_H

#include "engine/base/env.h"
#include "engine/base/error.h"
#include "engine/base/spawn.h"
#include "engine/net/conn.h"
#include "engine/net/deadline.h"
#include "engine/net/listener.h"
#include "engine/net/wire.h"
#include "engine/node/daemon.h"

#include <limits.h>

/* ---- Programs of other builds that this daemon has fetched from drivers: files named by their
 * SHA-256 in a private directory, $XDG_CACHE_HOME/glint/programs (~/.cache if unset), mode 0700,
 * shared by the daemons of one user. It keeps PROGRAM_CACHE_FILES files of PROGRAM_CACHE_BYTES at
 * most; those used longest ago are removed first, but none that is in use: a file in use has a
 * shared lock. Loop thread; blocks on disk. */

#define PROGRAM_CACHE_FILES 8u
#define PROGRAM_CACHE_BYTES (1 * GIB)

/* A file of the cache that is in use, or is being written. */
struct program_file {
    int file; /* open and locked; -1: none */
    char path[PATH_MAX];
    bool temporary; /* being written: removed by program_file_close */
};
#define PROGRAM_FILE_NONE ((struct program_file){.file = -1})

/* Ends the use of a file. */
void program_file_close(struct env *env, struct program_file *f);

/* Gets the program of a driver whose build is not the daemon's own: from the cache, or from the
 * driver, in chunks over the connection of its session. The complete file is verified by its
 * SHA-256 before it is used, in either case. Loop thread only; hashing is done on libuv's thread
 * pool. */
struct program_fetch;

/* Starts by asking the driver for the size and hash of its program. `done` is called once, from the
 * loop, unless program_fetch_release is called before: with the verified file, which the callee may
 * move to itself, or with *why. Returns NULL when out of memory. */
struct program_fetch *program_fetch_start(struct net *net, struct conn *conn, uint64_t fetch_ms,
                                          void (*done)(void *arg, struct program_file *file,
                                                       const struct glint_error *why),
                                          void *arg);
/* PROGRAM, and the responses to GET. */
int program_fetch_on_frame(struct program_fetch *p, const struct frame *f,
                           struct glint_slice payload, struct glint_error *error);
uint8_t *program_fetch_buffer_for(struct program_fetch *p, const struct frame *f);
void program_fetch_on_data(struct program_fetch *p, const struct frame *f);
/* Call when the connection has closed. The loop frees it. NULL is allowed. */
void program_fetch_release(struct program_fetch *p);

/* Tells the service manager that started this process (systemd, Type=notify) when it is ready and
 * when it stops, and that it is alive: the protocol of sd_notify(3). Without a service manager,
 * which sets $NOTIFY_SOCKET, all functions do nothing. Loop thread only. */

struct service_notify {
    struct env *env;
    char socket[108];   /* a path, as long as sun_path; "": no service manager */
    uint64_t period_ms; /* of the watchdog: half of what the service manager allows; 0: none */
    struct deadline watchdog; /* only with a period */
};

/* Reads and removes the service manager's variables, so that no child process inherits them: call
 * it while the process has one thread. */
void service_notify_init(struct service_notify *n, uv_loop_t *loop, struct env *env);
void service_notify_ready(struct service_notify *n);
/* The process drains; it still answers the watchdog. */
void service_notify_stopping(struct service_notify *n);
/* Required before the loop is closed. */
void service_notify_close(struct service_notify *n);

#define QUEUE_LENGTH_MAX 64u
#define DRIVERS_MAX      192u /* connections of drivers */
#define CLIENTS_MAX      64u  /* of clients: of one more, that without a request for longest goes */
#define DAEMON_SIGNALS   3u

/* A connection of a driver or of a client (`glint status`, `glint cancel`).
 *
 *    NEW      -> FETCHING [on_executor_request: the driver is of another build]
 *    NEW      -> QUEUED   [on_executor_request: it is of this build]
 *    FETCHING -> QUEUED   [on_program_fetched]
 *    QUEUED   -> SERVED   [start_executor: a runner is available]
 *    SERVED   -> NEW      [session_on_executor_exited]
 *    any      -> NEW      [session_reject] */
enum daemon_session_state { SESSION_NEW, SESSION_FETCHING, SESSION_QUEUED, SESSION_SERVED };

struct daemon_session {
    struct daemon_session *next;
    struct daemon *d;
    struct conn *conn;
    enum daemon_session_state state;
    bool is_driver, closing;
    bool dropped;             /* a client that is no longer counted */
    uint64_t last_request_ns; /* of a client; or when it connected */
    struct executor_request request;
    struct program_fetch *fetch; /* NULL: the driver is of this build */
    struct program_file program; /* fetched: to run instead of the daemon's own */
    struct job_progress progress;
    uint64_t queue_order;           /* lower is served first */
    uint64_t queue_position;        /* as last sent to the driver; 0: not yet */
    uint64_t requested_ns;          /* when REQUEST_EXECUTOR arrived */
    struct executor_runner *runner; /* set while SERVED */
};

/* An executor process, as its daemon sees it.
 *
 *    RUNNING -> STOPPING [arm_kill_deadline: it should exit, and is killed in time]
 *    any     -> CLOSED   [runner_close: it has exited, and EXECUTOR_EXITED was sent] */
enum executor_runner_state { RUNNER_RUNNING, RUNNER_STOPPING, RUNNER_CLOSED };

struct executor_runner {
    struct executor_runner *next;
    struct daemon *d;
    enum executor_runner_state state;
    struct daemon_session *session; /* the driver's; NULL: disconnected */
    struct spawn process;
    struct program_file program; /* that it runs; closed: the daemon's own */
    uv_pipe_t pipe;              /* wire.h */
    struct buffer report;        /* what came from it */
    unsigned handles;            /* CLOSED: libuv handles still closing */
    bool exited, pipe_ended;     /* pipe_ended: nothing more is read */
    int32_t wait_status;
    uint64_t job;
    struct deadline deadline; /* for SIGKILL, or for the rest of the pipe */
    uint64_t kill_ns;         /* STOPPING: when SIGKILL is due */
    uint64_t oom_kills_before;
};

struct daemon {
    const struct daemon_config *config;
    const struct cluster *cluster;
    const struct cluster_executor *self;
    struct env *env;
    uv_loop_t loop;
    struct deadline drain_deadline;
    struct deadline idle_deadline;   /* launched, and no driver is connected: exit */
    struct deadline client_deadline; /* the next client without a request for dead_ms */
    uv_signal_t signals[DAEMON_SIGNALS];
    struct service_notify service;
    struct net net;
    struct listener *listener;
    struct daemon_session *sessions;
    uint32_t driver_count, client_count; /* of the sessions; without dropped ones */
    struct executor_runner *runners;
    uint32_t runner_count; /* runners not CLOSED */
    uint64_t last_queue_order, started_ns;
    bool draining, stopping, idle; /* idle: idle_deadline runs */
    char log[sizeof((struct executor_exited *)NULL)->log];
};

static inline uint64_t daemon_now(const struct daemon *d)
{
    return d->env->now_ns(d->env);
}

/* daemon.c */
uint64_t daemon_log_bytes_max(const struct daemon *d); /* 0: no limit */
/* Call when a runner or session ends: stops a daemon that has drained, and starts the idle deadline
 * of a launched one. */
void daemon_stop_if_done(struct daemon *d);

/* daemon.c */
/* The session's executor has exited; the driver may request another one. */
void session_on_executor_exited(struct daemon_session *v);
/* Starts executors for queued drivers while drivers_max allows, and sends the others their new
 * positions. */
void job_queue_start_next(struct daemon *d);

/* executor_runner.c */
/* OOM kills in this process's control group so far; 0 if there is no such counter. A caller
 * compares two values, before and after. */
uint64_t oom_kill_count(struct env *env);
/* Spawns an executor for `v`'s driver. Returns 0, or a code with *error set. */
int executor_runner_start(struct daemon *d, struct daemon_session *v, struct glint_error *error);
/* Call when the driver disconnects: closes the pipe, on which the executor exits; kills it if it
 * does not. */
void executor_runner_stop(struct executor_runner *w);
/* Sends SIGTERM. `now` (the drain time is over): also closes the pipe, and kills it soon. */
void executor_runner_drain(struct executor_runner *w, bool now);
struct executor_runner *
executor_runner_next(struct executor_runner *w); /* w, or the first after it, not CLOSED */

#endif
