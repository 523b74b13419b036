/* The pipe between an executor daemon and an executor process it spawned: small messages in both
 * directions. End of file tells each side that the other has exited, however it exited.
 *
 *    0         4      5
 *    +---------+------+---------
 *    | length  | kind | payload       length: of the payload, little-endian
 *    +---------+------+---------
 *
 * A job can run arbitrary code in the executor process, so the daemon validates everything it
 * reads. Loop thread only, except control_pipe_write_from_signal. */
#ifndef GLINT_EXECUTOR_CONTROL_PIPE_H
#define GLINT_EXECUTOR_CONTROL_PIPE_H

#include "engine/base/mem.h"
#include "engine/glint.h"

#include <uv.h>

#define CONTROL_PIPE_BYTES_MAX (32u * 1024)

enum control_pipe_kind {
    PIPE_CONFIG = 1, /* to the executor, once: see executor_process_config.h */
    PIPE_READY,      /* from the executor, once: EXECUTOR_STARTED (net/wire.h) */
    PIPE_FAILED,     /* from the executor, instead of READY: FETCH_ERROR (net/wire.h) */
    PIPE_METRICS,    /* from the executor, with each heartbeat: struct executor_metrics */
    PIPE_CRASHED,    /* from the executor's signal handler: the text of base/crash.h */
    PIPE_KINDS_END
};

struct control_pipe_events {
    /* One message; the payload is borrowed. Return false if it is invalid, which ends the pipe. */
    bool (*message)(void *arg, enum control_pipe_kind kind, struct glint_slice payload);
    /* The peer closed the pipe or sent an invalid message. Called at most once; the caller
     * must still call control_pipe_close. */
    void (*ended)(void *arg);
};

/* One end of the pipe, in the caller's memory. `open` until control_pipe_close is called; `ended`
 * once nothing more is read or sent. */
struct control_pipe {
    uv_pipe_t pipe;
    struct buffer in;
    const struct control_pipe_events *events;
    void *arg;
    bool open, ended;
    void (*closed)(void *arg);
};

/* Initializes the libuv handle, without a descriptor. `events` and `arg` are borrowed. */
void control_pipe_init(struct control_pipe *l, uv_loop_t *loop,
                       const struct control_pipe_events *events, void *arg);
/* Takes ownership of an inherited descriptor and sets close-on-exec, so that programs started by
 * this process do not inherit it. Returns 0 or a negative errno; control_pipe_close is required in
 * either case. */
int control_pipe_open(struct control_pipe *l, int file);
/* Starts reading. Returns 0 or a negative errno. */
int control_pipe_read_start(struct control_pipe *l);
/* Takes ownership of payload->data and queues the message. Messages are dropped when the peer
 * does not read, so a caller that needs a response sets a deadline. Returns false if the message
 * was not queued. */
bool control_pipe_send(struct control_pipe *l, enum control_pipe_kind kind, struct buffer *payload);
/* Writes one message directly to `file`, the executor's end of the pipe; for the signal handler of
 * a crashing process. Cuts the text at CONTROL_PIPE_BYTES_MAX and ignores write errors. */
void control_pipe_write_from_signal(int file, enum control_pipe_kind kind, const char *text,
                                    size_t size);
/* Closes the pipe, once. `closed` (may be NULL) is called from the loop, after which the struct's
 * memory may be reused. */
void control_pipe_close(struct control_pipe *l, void (*closed)(void *arg));

#endif
