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
#ifndef GLINT_EXECUTOR_LINE_H
#define GLINT_EXECUTOR_LINE_H

#include "engine/base/mem.h"
#include "engine/glint.h"

#include <uv.h>

#define LINE_BYTES_MAX (32u * 1024)

enum line_kind {
    LINE_CONFIG = 1, /* to the child, once: child_config.h */
    LINE_READY,      /* from the child, once: an ADMITTED of net/wire.h */
    LINE_FAILED,     /* from the child, instead: an error, a GONE of net/wire.h */
    LINE_STATE,      /* from the child, at each of its signs of life: child_config.h */
    LINE_CRASHED,    /* from the child, as it crashes: the text of base/crash.h */
    LINE_KINDS_END
};

struct line_events {
    /* The payload is borrowed. False: nonsense, which ends the line. */
    bool (*message)(void *arg, enum line_kind kind, struct glint_slice payload);
    /* The other side is gone, or spoke nonsense. Once; line_close is still due. */
    void (*ended)(void *arg);
};

struct line {
    uv_pipe_t pipe;
    struct buffer in;
    const struct line_events *events;
    void *arg;
    bool open, ended;
    void (*closed)(void *arg);
};

/* The handle alone, not connected. */
void line_init(struct line *l, uv_loop_t *loop, const struct line_events *events, void *arg);
/* Takes over a descriptor that was inherited, and keeps it from programs that this one starts. 0 or
 * a negative errno; line_close is due in any case. */
int line_take(struct line *l, int file);
/* Begins to read. 0 or a negative errno. */
int line_start(struct line *l);
/* Takes over payload->data. A line whose other side does not read loses what is sent; whoever needs
 * an answer has a deadline for it. False: it was not sent. */
bool line_send(struct line *l, enum line_kind kind, struct buffer *payload);
/* The frame of a message, by hand: for a child that crashes, from its signal handler. `file` is its
 * end of the pipe; what does not go at once is lost. */
void line_write_now(int file, enum line_kind kind, const char *text, size_t size);
/* `closed`, which may be NULL, comes from the loop; the line's memory is the caller's again. Once.
 */
void line_close(struct line *l, void (*closed)(void *arg));

#endif
