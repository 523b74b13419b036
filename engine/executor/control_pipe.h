/* The pipe between a daemon and a child: small messages both ways, and an end that tells either
 * side that the other one is gone, whatever way it went.
 *
 *     0         4      5
 *     +---------+------+---------
 *     | length  | kind | payload       length: of the payload, little-endian
 *     +---------+------+---------
 *
 * What runs in a child may be anybody's code, so the daemon believes nothing that comes from there
 * unchecked. Loop thread only. */
#ifndef GLINT_EXECUTOR_CONTROL_PIPE_H
#define GLINT_EXECUTOR_CONTROL_PIPE_H

#include "engine/base/mem.h"
#include "engine/glint.h"

#include <uv.h>

#define CONTROL_PIPE_BYTES_MAX (32u * 1024)

enum control_pipe_kind {
    PIPE_CONFIG = 1, /* to the child, once: executor_process_config.h */
    PIPE_READY,      /* from the child, once: an EXECUTOR_STARTED of net/wire.h */
    PIPE_FAILED,     /* from the child, instead: an error, a FETCH_ERROR of net/wire.h */
    PIPE_METRICS,    /* from the child, at each of its signs of life: executor_process_config.h */
    PIPE_CRASHED,    /* from the child, as it crashes: the text of base/crash.h */
    PIPE_KINDS_END
};

struct control_pipe_events {
    /* The payload is borrowed. False: nonsense, which ends the line. */
    bool (*message)(void *arg, enum control_pipe_kind kind, struct glint_slice payload);
    /* The other side is gone, or spoke nonsense. Once; control_pipe_close is still due. */
    void (*ended)(void *arg);
};

struct control_pipe {
    uv_pipe_t pipe;
    struct buffer in;
    const struct control_pipe_events *events;
    void *arg;
    bool open, ended;
    void (*closed)(void *arg);
};

/* The handle alone, not connected. */
void control_pipe_init(struct control_pipe *l, uv_loop_t *loop,
                       const struct control_pipe_events *events, void *arg);
/* Takes over a descriptor that was inherited, and keeps it from programs that this one starts. 0 or
 * a negative errno; control_pipe_close is due in any case. */
int control_pipe_open(struct control_pipe *l, int file);
/* Begins to read. 0 or a negative errno. */
int control_pipe_read_start(struct control_pipe *l);
/* Takes over payload->data. A line whose other side does not read loses what is sent; whoever needs
 * an answer has a deadline for it. False: it was not sent. */
bool control_pipe_send(struct control_pipe *l, enum control_pipe_kind kind, struct buffer *payload);
/* The frame of a message, by hand: for a child that crashes, from its signal handler. `file` is its
 * end of the pipe; what does not go at once is lost. */
void control_pipe_write_from_signal(int file, enum control_pipe_kind kind, const char *text,
                                    size_t size);
/* `closed`, which may be NULL, comes from the loop; the line's memory is the caller's again. Once.
 */
void control_pipe_close(struct control_pipe *l, void (*closed)(void *arg));

#endif
