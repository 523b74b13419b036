/* The connection to a daemon, which starts an executor for this job. Loop's thread. */
#ifndef GLINT_DRIVER_DAEMON_CONN_H
#define GLINT_DRIVER_DAEMON_CONN_H

#include "engine/net/backoff.h"
#include "engine/net/deadline.h"
#include "engine/net/wire.h"
#include "engine/node/daemon_launch.h"

struct cluster_transport;
struct executor_conn;

/* The connection to the daemon of one [[executor]] of cluster.toml, which starts an executor for
 * this job and reports its exit.
 *
 *   BACKOFF   -> DIALLING          [daemon_conn_dial]
 *   DIALLING  -> REQUESTED         [daemon_conn_on_opened: sends REQUEST_EXECUTOR]
 *   REQUESTED -> EXECUTOR_STARTED  [daemon_conn_on_executor_started]
 *   any       -> BACKOFF           [daemon_conn_back_off, daemon_conn_release_executor]
 *   any       -> REJECTED          [daemon_conn_fail: the error is permanent; final] */
enum daemon_conn_state {
    DAEMON_CONN_BACKOFF,
    DAEMON_CONN_DIALLING,
    DAEMON_CONN_REQUESTED,
    DAEMON_CONN_EXECUTOR_STARTED,
    DAEMON_CONN_REJECTED
};

struct daemon_conn {
    struct cluster_transport *r;
    const struct cluster_executor *at; /* its section in cluster.toml */
    uint32_t index, rank;              /* in r->daemon_conns, in r->by_id */
    enum daemon_conn_state state;
    struct conn *conn; /* to the daemon; after BACKOFF it stays set until it has closed */
    uint8_t incarnation[INCARNATION_BYTES];   /* of the requested process; set in REQUESTED */
    struct executor_conn *executor_conn;      /* of that process; or NULL */
    char driver_address[HOST_BYTES_MAX + 16]; /* where that process connects to, for messages */
    struct deadline redial, queue_note;
    uint64_t next_dial_ns;  /* BACKOFF: when to dial */
    struct backoff backoff; /* failures since an executor of it joined or a launch */
    uint64_t queue_position, queue_position_reported; /* in the daemon's queue, 0: none; the last
                                                         one noted to the user */
    bool fetches_program;  /* the daemon sent PROGRAM_REQUEST, and neither QUEUED nor
                              EXECUTOR_STARTED since */
    bool reached;          /* the last dial reached the right daemon, and it has not failed */
    bool missing_reported; /* the user was told that this executor is missing */
    bool drained;          /* the executor was drained: do not launch the daemon again */
    struct launched_daemon *process; /* NULL: none was launched, or it has exited */
    uint32_t launches;
    bool launch_failed;           /* the launched daemon exited, and would again */
    bool permanently_unreachable; /* launch_failed, and the dial after it failed too */
    struct glint_error why;       /* the last failure */
};

void daemon_conn_init(struct daemon_conn *p);
/* Reports the failure, closes the connection, and dials again later unless it is permanent. */
void daemon_conn_fail(struct daemon_conn *p, const struct glint_error *why);
/* Dials the daemon again, if it is time and the order of acquisition allows. */
void daemon_conn_redial(struct daemon_conn *p);
/* The daemon that was requested to start a process with this incarnation; NULL: none. */
struct daemon_conn *daemon_conn_find_requested(struct cluster_transport *r,
                                               const uint8_t *incarnation);
/* The process has been started: adds its executor. NULL with *error set: as
 * executor_conn_create. */
struct executor_conn *daemon_conn_add_executor(struct daemon_conn *p, struct glint_error *error);
/* The executor of this daemon is lost, because of `why`: requests another one after a backoff. */
void daemon_conn_on_executor_gone(struct daemon_conn *p, const struct glint_error *why,
                                  bool had_joined);
/* Gives up the executor, or the position in the daemon's queue. The daemon is dialled again when
 * acquisition_order_allows. Only before the job has started. */
void daemon_conn_release_executor(struct daemon_conn *p);
/* The transport stops: closes the connection and stops the daemon if it was launched. */
void daemon_conn_close(struct daemon_conn *p);

#endif
