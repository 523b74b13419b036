/* One connection: frames over libuv TCP, through TLS where there is a key.
 *
 *   DIALLING -> TLS_HANDSHAKE [tcp connected or accepted]   TLS_HANDSHAKE -> HANDSHAKE
 * [tls_is_handshake_done] HANDSHAKE -> OPEN     [both hellos fit]             any -> CLOSED
 * [conn_close, error, deadline]
 *
 * Loop thread only. Callbacks come from the loop, never from inside a call; they may call whatever
 * is here. After `closed` returns the conn is gone. Where
 * writing fails, what the other side had still sent is read first. SIGPIPE is ignored from the
 * first connection on. */
#ifndef GLINT_NET_CONN_H
#define GLINT_NET_CONN_H

#include "engine/net/frame.h"
#include "engine/net/hello.h"
#include "engine/net/tls.h"

#include <uv.h>

/* Where the secrets of a net come from, and what the file was like when it was read. */
struct secret_file {
    const char *path; /* NULL: it is never read again */
    struct env_stat seen;
};

/* What connections of one process share. Constant while one lives, but for the counters and for
 * secrets that change. */
struct net {
    uv_loop_t *loop;
    struct env *env;
    struct tls_context *tls; /* NULL: insecure_plaintext */
    struct secret_file secret_file;
    struct hello self;   /* channel and wanted are each connection's */
    uint64_t connect_ms; /* deadline from dialling or accepting to OPEN */
    uint64_t bytes_sent, bytes_received;
    uint64_t rejected; /* connections that did not get to OPEN */
};

struct conn;

/* `arg` is the conn's. */
struct conn_events {
    /* Of a connection that we dialled: conn_peer_hello is known. (Of others listener.h's
     * `accepted`.) */
    void (*opened)(void *arg, struct conn *c);
    /* A whole frame; the payload is borrowed. Not for DATA frames that went to `into`. Answers 0,
     * or a code with *error set, which ends the connection. */
    int (*frame)(void *arg, struct conn *c, const struct frame *f, struct glint_slice payload,
                 struct glint_error *error);
    /* Where the bytes of a DATA frame go: f->length bytes, which stay the connection's until
     * `data`, or `closed`; NULL: nobody wants them, they are passed over, and `data` is not called.
     * May itself be NULL: no DATA is expected, and the connection ends if some comes. */
    uint8_t *(*buffer_for)(void *arg, struct conn *c, const struct frame *f);
    void (*data)(void *arg, struct conn *c, const struct frame *f);
    /* Once, after anything else; why->code is OK where we closed it. */
    void (*closed)(void *arg, struct conn *c, const struct glint_error *why);
};

/* Dials; a name is resolved. NULL: *error set. `wanted` may be NULL. */
struct conn *conn_dial(struct net *net, const char *host, uint16_t port, enum channel channel,
                       const uint8_t *expected_incarnation, const struct conn_events *events,
                       void *arg, struct glint_error *error);
/* Queues a control frame, which is sent once OPEN; takes over payload->data, which is empty then
 * (NULL: no payload). False without memory, or when what waits to be sent takes
 * CONN_QUEUE_BYTES_MAX of it: the connection then ends by itself; or where it ends already. */
bool conn_send(struct conn *c, enum frame_type type, uint64_t request, struct buffer *payload);
/* Queues a DATA frame whose bytes are borrowed until `sent` is called, which is always (when the
 * connection ends: with ok false, before `closed`). Without TLS they go to the socket from where
 * they are. False, and `sent` will not be called: without memory, the connection then ends by
 * itself; or where it ends already. */
bool conn_send_data(struct conn *c, uint64_t request, struct glint_slice bytes,
                    void (*sent)(void *arg, bool ok), void *arg);
/* The memory of what waits to be sent. A sender of much data keeps it below a window of its own. */
uint64_t conn_queued_bytes(const struct conn *c);
/* From now on nothing more is read while something waits to be sent: for a connection on which the
 * other side only asks and we only answer, so that whoever reads no answers cannot ask for more. */
void conn_set_half_duplex(struct conn *c);
/* With `flush` after what is queued has been sent and the other side has closed too, but not later
 * than CLOSE_MS; frames that come until then are passed over. */
void conn_close(struct conn *c, bool flush);

/* From now on the connection ends when what was sent is not acknowledged for so long: nobody is
 * there. Who is there and busy, or stopped, is acknowledged for by its system while that has room.
 */
void conn_set_ack_timeout(struct conn *c, uint64_t ms);
bool conn_is_open(const struct conn *c);
const struct hello *conn_peer_hello(const struct conn *c);
/* Whether the other side has proved no more than a client secret; of an accepted connection. */
bool conn_has_client_secret(const struct conn *c);
/* "10.0.0.2:7400" */
const char *conn_peer_address(const struct conn *c);
/* The other side's address alone, as conn_dial takes it. */
void conn_peer_host(const struct conn *c, char *out, size_t capacity);
void conn_set_events(struct conn *c, const struct conn_events *events, void *arg);

#endif
