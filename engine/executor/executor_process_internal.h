/* Shared by the files of an executor process. Loop thread only, unless stated.
 *
 *    executor_process.c  life cycle: start, signals, the pipe to the daemon, deadlines, shutdown;
 *                        connections of other executors; task outcomes, from slots' threads to the
 *                        driver
 *    driver_conn.c       connections to the driver: dialling, frames, messages
 *
 *    WAITING -> SERVING [driver_on_opened: both connections to the driver are open]
 *    any     -> ENDING  [executor_process_end: cancels tasks, closes connections]
 *    ENDING  -> CLOSING [close_remaining: no task runs, no connection is open] */
#ifndef GLINT_EXECUTOR_EXECUTOR_PROCESS_INTERNAL_H
#define GLINT_EXECUTOR_EXECUTOR_PROCESS_INTERNAL_H

#include "engine/base/locked_dir.h"
#include "engine/executor/executor.h"
#include "engine/executor/executor_process.h"
#include "engine/net/deadline.h"
#include "engine/net/listener.h"
#include "engine/net/wire.h"
#include "engine/transfer/fetch_client.h"

#include <pthread.h>

enum executor_process_phase { PROCESS_WAITING, PROCESS_SERVING, PROCESS_ENDING, PROCESS_CLOSING };

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
    struct deadline timer;
    uv_async_t outcome_added;
    uv_signal_t terminate, interrupt;
    struct net net;
    struct listener *listener;
    struct work_dir work_dir;
    uv_pipe_t daemon_pipe; /* only with has_daemon */
    bool has_daemon;

    /* The driver. */
    struct conn *control, *data;
    uint8_t driver[INCARNATION_BYTES];
    uint64_t deadline_ns;  /* WAITING: for the driver; ENDING: for tasks and connections */
    uint64_t redial_at_ns; /* when to dial again; UINT64_MAX: not waiting */
    struct backoff backoff;
    bool waiting_logged;
    struct glint_error last, before; /* why the last connection failed, and the one before */
    bool has_registered;             /* REGISTER was sent on the present connection */
    bool has_job_key;
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

    pthread_mutex_t lock;        /* guards the outbox */
    struct message_queue outbox; /* outcomes not sent yet */
};

static inline uint64_t executor_process_now(const struct executor_process *c)
{
    return c->env->now_ns(c->env);
}

/* Makes the timer fire at `at_ns` at the latest. */
void executor_process_arm_timer(struct executor_process *c, uint64_t at_ns);
/* Starts the shutdown; only the first call counts. `why` NULL: normal end. */
void executor_process_end(struct executor_process *c, const struct glint_error *why);

/* driver_conn.c */
/* Opens the control connection; the data connection is dialled when that is open. */
void driver_conn_dial(struct executor_process *c);
/* The driver that requested this process cannot be reached: ends it. */
void driver_conn_give_up(struct executor_process *c);
void driver_conn_send_drain(struct executor_process *c);

/* executor_process.c */
/* executor_config.deliver: queues an outcome and wakes the loop. */
void executor_outbox_add(void *arg, struct message *m); /* any thread */

#endif
