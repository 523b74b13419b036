/* What the files of an executor process share.
 *
 *   executor_process.c          its life: start, the one timer, the end
 *   executor_main.c     the process that a daemon spawns: its line, its signals
 *   driver_conn.c   what the driver says, and what it is told
 *   inbound_peers.c    connections that come in: the driver's, other executors'
 *   driver_dial.c     --join: dials the driver
 *   executor_outbox.c   outcomes of tasks, from slots' threads to the driver
 *   executor_process_config.c   what passes the line
 *
 *   STARTING -> WAITING [executor_process_start: its port is open, or it dials]
 *   WAITING  -> SERVING [driver_conn_on_opened: both connections of the driver are there]
 *   any      -> ENDING  [executor_process_end: tasks are cancelled, connections close]
 *   ENDING   -> CLOSING [process_on_timer: no task runs, no connection is left: the rest closes] */
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

/* A connection of another executor, which asks for blocks. */
struct inbound_peer {
    struct inbound_peer *next;
    struct executor_process *executor_process;
    struct conn *conn;
};

struct executor_process {
    struct executor_process_config config;
    struct env *env;
    enum executor_process_phase phase;
    struct glint_error why; /* of the end; OK: its work was done, or nobody wants it any more */
    uv_loop_t loop;
    uv_timer_t timer;
    uv_async_t outcome_added;
    uv_signal_t terminate, interrupt;
    uint64_t timer_ns; /* when it rings; UINT64_MAX: not set */
    struct net net;
    struct listener *listener;
    struct work_dir work_dir;
    struct control_pipe control_pipe; /* of a daemon's child */
    bool has_control_pipe;

    /* The driver. */
    struct conn *control, *data;
    uint8_t driver[INCARNATION_BYTES];
    struct liveness liveness;
    uint64_t deadline_ns;  /* WAITING: for the driver; ENDING: of all that is waited for */
    uint64_t redial_at_ns; /* --join: when to dial again; UINT64_MAX: not waiting */
    uint32_t dial_attempts, auth_failures; /* of those: in a row, TLS failed */
    bool waiting_logged;
    struct glint_error last; /* --join: why the last connection failed */
    bool draining;
    uint64_t drain_deadline_ns;
    unsigned signals;

    struct inbound_peer *inbound_peers;
    uint32_t inbound_peer_count;

    /* From JOB on. */
    bool has_job;
    uint32_t number, peers_connected_early; /* our own; peers that we have connected with ahead */
    struct peers *peers;
    struct fetcher fetcher;
    struct broadcast_client *broadcasts;
    struct executor *executor;
    struct fetch_server *fetch_server;
    struct message *cancel; /* made ahead, so that the end needs no memory */

    pthread_mutex_t lock;                  /* guards the outbox */
    struct message *first, **last_outcome; /* outcomes that wait to be sent */
};

static inline uint64_t executor_process_now(const struct executor_process *c)
{
    return c->env->now_ns(c->env);
}

/* executor_process.c */
int executor_process_init(struct executor_process *c, struct env *env, struct glint_error *error);
/* With a configuration: 0, or a code with *error set. */
int executor_process_start(struct executor_process *c, const struct executor_process_config *config,
                           struct glint_error *error);
/* Runs the loop to the end, and frees what the child holds. Answers why->code. */
int executor_process_run_loop(struct executor_process *c);
/* Rings the timer at `at_ns` at the latest. */
void executor_process_arm_timer(struct executor_process *c, uint64_t at_ns);
/* The end of it; the first cause stays. NULL: in order. */
void executor_process_end(struct executor_process *c, const struct glint_error *why);
/* SIGTERM, or an interrupt: drains; the second one ends. */
void executor_process_on_signal(struct executor_process *c);

/* driver_conn.c */
extern const struct conn_events driver_conn_events;
/* A connection of the driver is open. */
void driver_conn_on_opened(struct executor_process *c, struct conn *conn);
/* What is due about the driver; answers when to look again. */
uint64_t driver_conn_on_timer(struct executor_process *c, uint64_t now);
void driver_conn_send_drain(struct executor_process *c);

/* inbound_peers.c */
bool executor_process_on_accepted(void *arg, struct conn *conn, struct glint_error *error);

/* driver_dial.c */
void driver_dial(struct executor_process *c);
/* A connection to a driver that was not there yet has failed: another try, or the end. */
void driver_dial_failed(struct executor_process *c, const struct glint_error *why);

/* executor_outbox.c */
void executor_outbox_add(void *arg, struct message *m); /* any thread */
/* Sends what the connection has room for; answers when to try again, UINT64_MAX: all is sent. */
uint64_t executor_outbox_send(struct executor_process *c, uint64_t now);
bool executor_outbox_is_empty(struct executor_process *c);
void executor_outbox_fini(struct executor_process *c);

#endif
