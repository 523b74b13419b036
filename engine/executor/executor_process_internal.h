/* Shared by the files of an executor process. Loop thread only, unless stated.
 *
 *    executor_process.c         life cycle: start, the timer, shutdown
 *    executor_main.c            main function when spawned by a daemon: control pipe, signals
 *    driver_conn.c              connections of the driver: frames, messages, heartbeats
 *    inbound_peers.c            accepted connections: of the driver, of other executors
 *    driver_dial.c              --join: dials the driver
 *    executor_outbox.c          task outcomes, from slots' threads to the driver
 *    executor_process_config.c  encoding for the control pipe
 *
 *    STARTING -> WAITING [executor_process_start: listens, or dials the driver]
 *    WAITING  -> SERVING [driver_conn_on_opened: both connections of the driver are open]
 *    any      -> ENDING  [executor_process_end: cancels tasks, closes connections]
 *    ENDING   -> CLOSING [close_remaining: no task runs, no connection is open] */
#ifndef GLINT_EXECUTOR_EXECUTOR_PROCESS_INTERNAL_H
#define GLINT_EXECUTOR_EXECUTOR_PROCESS_INTERNAL_H

#include "engine/executor/control_pipe.h"
#include "engine/executor/executor.h"
#include "engine/executor/executor_process_config.h"
#include "engine/executor/fetch_server.h"
#include "engine/executor/peers.h"
#include "engine/executor/work_dir.h"
#include "engine/net/listener.h"

#include <pthread.h>

#define MS_NS ((uint64_t)1000000)

enum executor_process_phase {
    PROCESS_STARTING,
    PROCESS_WAITING,
    PROCESS_SERVING,
    PROCESS_ENDING,
    PROCESS_CLOSING
};

/* A connection from another executor, which sends GET frames. */
struct inbound_peer {
    struct inbound_peer *next;
    struct executor_process *executor_process;
    struct conn *conn;
};

struct executor_process {
    struct executor_process_config config;
    struct env *env;
    enum executor_process_phase phase;
    struct glint_error why; /* why it ends; OK: normal end */
    uv_loop_t loop;
    uv_timer_t timer;
    uv_async_t outcome_added;
    uv_signal_t terminate, interrupt;
    uint64_t timer_ns; /* when the timer fires; UINT64_MAX: not set */
    struct net net;
    struct listener *listener;
    struct work_dir work_dir;
    struct control_pipe control_pipe; /* only when spawned by a daemon */
    bool has_control_pipe;

    /* The driver. */
    struct conn *control, *data;
    uint8_t driver[INCARNATION_BYTES];
    struct liveness liveness;
    uint64_t deadline_ns;  /* WAITING: for the driver; ENDING: for tasks and connections */
    uint64_t redial_at_ns; /* --join: when to dial again; UINT64_MAX: not waiting */
    uint32_t dial_attempts, auth_failures; /* auth_failures: TLS failures in a row */
    bool waiting_logged;
    struct glint_error last; /* --join: why the last connection failed */
    bool draining;
    uint64_t drain_deadline_ns;
    unsigned signals;

    struct inbound_peer *inbound_peers;
    uint32_t inbound_peer_count;

    /* Set when JOB arrives. */
    bool has_job;
    uint32_t number, peers_connected_early; /* this executor's; peers dialled in advance */
    struct peers *peers;
    struct fetcher fetcher;
    struct broadcast_client *broadcasts;
    struct executor *executor;
    struct fetch_server *fetch_server;
    struct message *cancel; /* preallocated: ending must not fail */

    pthread_mutex_t lock;                  /* guards the outbox */
    struct message *first, **last_outcome; /* outcomes not sent yet */
};

static inline uint64_t executor_process_now(const struct executor_process *c)
{
    return c->env->now_ns(c->env);
}

/* executor_process.c */
/* Sets up the loop, timer and signal handles. Returns 0, or a code with *error set. */
int executor_process_init(struct executor_process *c, struct env *env, struct glint_error *error);
/* Opens the work directory and the port, or dials the driver. `config`'s strings are borrowed.
 * Returns 0, or a code with *error set (the caller then calls executor_process_end). */
int executor_process_start(struct executor_process *c, const struct executor_process_config *config,
                           struct glint_error *error);
/* Runs the loop until the process is CLOSING and frees everything. Returns why.code. */
int executor_process_run_loop(struct executor_process *c);
/* Makes the timer fire at `at_ns` at the latest. */
void executor_process_arm_timer(struct executor_process *c, uint64_t at_ns);
/* Starts the shutdown; only the first call counts. `why` NULL: normal end. */
void executor_process_end(struct executor_process *c, const struct glint_error *why);
/* SIGTERM or SIGINT: the first drains, the second ends. */
void executor_process_on_signal(struct executor_process *c);

/* driver_conn.c */
extern const struct conn_events driver_conn_events;
/* One of the driver's two connections is open. */
void driver_conn_on_opened(struct executor_process *c, struct conn *conn);
/* Sends a heartbeat if one is due and checks the driver's. Returns when to call it again. */
uint64_t driver_conn_on_timer(struct executor_process *c, uint64_t now);
void driver_conn_send_drain(struct executor_process *c);

/* inbound_peers.c */
/* listener_open's `accepted`: the driver, or another executor of the job. Returns false with *error
 * set to reject. */
bool executor_process_on_accepted(void *arg, struct conn *conn, struct glint_error *error);

/* driver_dial.c */
/* Opens the control connection; the data connection is dialled when that is open. */
void driver_dial(struct executor_process *c);
/* A connection failed before the driver accepted: schedules a retry, or ends the process. */
void driver_dial_failed(struct executor_process *c, const struct glint_error *why);

/* executor_outbox.c */
/* executor_config.deliver: queues an outcome and wakes the loop. */
void executor_outbox_add(void *arg, struct message *m); /* any thread */
/* Sends outcomes while the connection has room. Returns when to call it again; UINT64_MAX: all
 * sent. */
uint64_t executor_outbox_send(struct executor_process *c, uint64_t now);
bool executor_outbox_is_empty(struct executor_process *c);
void executor_outbox_fini(struct executor_process *c);

#endif
