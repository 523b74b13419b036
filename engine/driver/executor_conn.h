/* The connections of an executor to the driver. Loop's thread. */
#ifndef GLINT_DRIVER_EXECUTOR_CONN_H
#define GLINT_DRIVER_EXECUTOR_CONN_H

#include "engine/driver/daemon_conn.h"
#include "engine/transfer/fetch_client.h"

struct inbox_event;
struct result_fetch;

/* The connections to one executor. An executor has two: control (messages, heartbeats) and data
 * (blocks).
 *
 *   OPENING    -> REGISTERED  [executor_conn_check_registered: both are open, REGISTER arrived]
 *   REGISTERED -> JOINED      [registration_join_if_enough: it has a number from here on]
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

#endif
