/* What the files of an executor process share.
 *
 *   child.c          its life: start, the one timer, the end
 *   child_main.c     the process that a daemon spawns: its line, its signals
 *   child_driver.c   what the driver says, and what it is told
 *   child_peers.c    connections that come in: the driver's, other executors'
 *   child_join.c     --join: dials the driver
 *   child_outbox.c   outcomes of tasks, from slots' threads to the driver
 *   child_config.c   what passes the line
 *
 *   STARTING -> WAITING [child_start: its port is open, or it dials]
 *   WAITING  -> SERVING [child_on_driver: both connections of the driver are there]
 *   any      -> ENDING  [child_end: tasks are cancelled, connections close]
 *   ENDING   -> CLOSING [child_look: no task runs, no connection is left: the rest closes] */
#ifndef GLINT_EXECUTOR_CHILD_INTERNAL_H
#define GLINT_EXECUTOR_CHILD_INTERNAL_H

#include "engine/executor/child_config.h"
#include "engine/executor/executor.h"
#include "engine/executor/line.h"
#include "engine/executor/peers.h"
#include "engine/executor/serve.h"
#include "engine/executor/work_dir.h"
#include "engine/net/gate.h"

#include <pthread.h>

#define MS_NS ((uint64_t)1000000)

enum child_phase { CHILD_STARTING, CHILD_WAITING, CHILD_SERVING, CHILD_ENDING, CHILD_CLOSING };

/* A connection of another executor, which asks for blocks. */
struct guest {
    struct guest *next;
    struct child *child;
    struct conn *conn;
};

struct child {
    struct child_config config;
    struct env *env;
    enum child_phase phase;
    struct glint_error why; /* of the end; OK: its work was done, or nobody wants it any more */
    uv_loop_t loop;
    uv_timer_t timer;
    uv_async_t arrived;
    uv_signal_t terminate, interrupt;
    uint64_t timer_ns; /* when it rings; UINT64_MAX: not set */
    struct net net;
    struct gate *gate;
    struct work_dir work_dir;
    struct line line; /* of a daemon's child */
    bool has_line;

    /* The driver. */
    struct conn *control, *data;
    uint8_t driver[INCARNATION_BYTES];
    struct liveness liveness;
    uint64_t deadline_ns; /* WAITING: for the driver; ENDING: of all that is waited for */
    uint64_t redial_ns;   /* --join: when to dial again; UINT64_MAX: not waiting */
    uint32_t dials, auth_failures; /* of those: in a row, TLS failed */
    bool waiting_told;
    struct glint_error last; /* --join: why the last connection failed */
    bool draining;
    uint64_t drain_end_ns;
    unsigned signals;

    struct guest *guests;
    uint32_t guest_count;

    /* From JOB on. */
    bool has_job;
    uint32_t number, peers_ahead; /* our own; peers that we have connected with ahead */
    struct peers *peers;
    struct fetcher fetcher;
    struct values *values;
    struct executor *executor;
    struct serve *serve;
    struct message *cancel; /* made ahead, so that the end needs no memory */

    pthread_mutex_t lock;                  /* guards the outbox */
    struct message *first, **last_outcome; /* outcomes that wait to be sent */
};

static inline uint64_t child_now(const struct child *c)
{
    return c->env->now_ns(c->env);
}

/* child.c */
int child_open(struct child *c, struct env *env, struct glint_error *error);
/* With a configuration: 0, or a code with *error set. */
int child_start(struct child *c, const struct child_config *config, struct glint_error *error);
/* Runs the loop to the end, and frees what the child holds. Answers why->code. */
int child_close(struct child *c);
/* Rings the timer at `at_ns` at the latest. */
void child_due(struct child *c, uint64_t at_ns);
/* The end of it; the first cause stays. NULL: in order. */
void child_end(struct child *c, const struct glint_error *why);
/* SIGTERM, or an interrupt: drains; the second one ends. */
void child_on_signal(struct child *c);

/* child_driver.c */
extern const struct conn_events child_driver_events;
/* A connection of the driver is open. */
void child_on_driver(struct child *c, struct conn *conn);
/* What is due about the driver; answers when to look again. */
uint64_t child_driver_look(struct child *c, uint64_t now);
void child_send_drain(struct child *c);

/* child_peers.c */
bool child_on_accepted(void *arg, struct conn *conn, struct glint_error *error);

/* child_join.c */
void child_join(struct child *c);
/* A connection to a driver that was not there yet has failed: another try, or the end. */
void child_join_failed(struct child *c, const struct glint_error *why);

/* child_outbox.c */
void child_deliver(void *arg, struct message *m); /* any thread */
/* Sends what the connection has room for; answers when to try again, UINT64_MAX: all is sent. */
uint64_t child_outbox_send(struct child *c, uint64_t now);
bool child_outbox_is_empty(struct child *c);
void child_outbox_fini(struct child *c);

#endif
