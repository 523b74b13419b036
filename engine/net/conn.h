/* A connection: frames over libuv TCP, encrypted with TLS unless the net is plain text.
 *
 *   DIALLING      -> TLS_HANDSHAKE [TCP connected; an accepted connection starts here]
 *   TLS_HANDSHAKE -> HANDSHAKE     [tls_is_handshake_done; at once without TLS]
 *   HANDSHAKE     -> OPEN          [hellos are compatible]
 *   any           -> CLOSED        [conn_close, error, timeout]
 *
 * Loop thread only. Callbacks run from the loop, never from inside a call to a function below,
 * and may call all of these functions. A conn is freed after its `closed` callback returns, or,
 * if it has no events, after its handles are closed. After a write error the bytes that the peer
 * has already sent are still read and delivered. The first connection of a process makes it
 * ignore SIGPIPE. */
#ifndef GLINT_NET_CONN_H
#define GLINT_NET_CONN_H

#include "engine/net/deadline.h"
#include "engine/net/frame.h"
#include "engine/net/hello.h"
#include "engine/net/tls.h"

#include <uv.h>

/* The secret file of a net, and its stat when it was last read, to detect a replacement. */
struct secret_file {
    const char *path; /* NULL: never read again */
    struct env_stat seen;
};

/* State shared by all connections of a process. Constant while connections exist, except for the
 * counters and for secrets, which net_reload_secrets replaces. */
struct net {
    uv_loop_t *loop;
    struct env *env;
    struct tls_context *tls; /* NULL: insecure_plaintext */
    struct secret_file secret_file;
    struct hello self;   /* channel and expected_incarnation are set per connection */
    uint64_t connect_ms; /* timeout from dialling or accepting to OPEN */
    uint64_t bytes_sent, bytes_received;
    uint64_t rejected; /* connections that ended before OPEN */
};

struct conn;
struct payload_format;
struct ping;

/* Callbacks of a connection; `arg` is the one passed to conn_dial or conn_set_events. */
struct conn_events {
    /* A dialled connection is OPEN and conn_peer_hello is set. (An accepted connection gets the
     * listener's `accepted` instead.) */
    void (*opened)(void *arg, struct conn *c);
    /* A complete frame; the payload is borrowed until return. Not called for DATA frames, nor
     * for PING frames after conn_start_heartbeat or with `ping`. Returns
     * 0, or a code with *error set, which closes the connection. */
    int (*frame)(void *arg, struct conn *c, const struct frame *f, struct glint_slice payload,
                 struct glint_error *error);
    /* Returns the buffer for the f->length bytes of a DATA frame. The connection writes to it
     * until `data` or `closed` is called. Returns NULL to discard the bytes; `data` is not
     * called then. If the callback itself is NULL, no DATA is expected, and a DATA frame closes
     * the connection. */
    uint8_t *(*buffer_for)(void *arg, struct conn *c, const struct frame *f);
    /* The buffer from buffer_for is filled. */
    void (*data)(void *arg, struct conn *c, const struct frame *f);
    /* The peer misses heartbeats (suspect_ns without a frame), or, with false, sends again. */
    void (*suspect)(void *arg, struct conn *c, bool suspect);
    /* Called before each heartbeat: may add to *ping, and send other frames. NULL: neither. */
    void (*heartbeat)(void *arg, struct conn *c, struct ping *ping);
    /* A heartbeat of the peer; NULL: not needed. */
    void (*ping)(void *arg, const struct ping *ping);
    /* Last callback, once. why->code is OK if this side closed the connection. */
    void (*closed)(void *arg, struct conn *c, const struct glint_error *why);
};

/* What to connect to. */
struct conn_target {
    const char *host; /* an address or a name, which is resolved asynchronously */
    uint16_t port;
    enum channel channel;
    const uint8_t *incarnation; /* that the peer must have; NULL: any */
};

/* Connects; `events` stays borrowed. Returns NULL with *error set if it fails at once; later
 * failures are reported by `closed`. */
struct conn *conn_dial(struct net *net, const struct conn_target *to,
                       const struct conn_events *events, void *arg, struct glint_error *error);
/* Queues a control frame, which is sent once OPEN. Takes ownership of payload->data and empties
 * *payload, also on failure (NULL: no payload). Returns false when out of memory, when the payload
 * is over the limit of its type or when queued control frames would take more than
 * CONN_QUEUE_BYTES_MAX of memory: the connection then fails. Also returns false if the connection
 * is already ending. */
bool conn_send(struct conn *c, enum frame_type type, uint64_t request, struct buffer *payload);
/* As conn_send, of a payload that was encoded for it. If that failed, `why` says so: also fails the
 * connection and returns false. */
bool conn_send_encoded(struct conn *c, enum frame_type type, uint64_t request,
                       struct buffer *payload, const struct glint_error *why);
/* Encodes *v (`format`) and calls conn_send_encoded. */
bool conn_send_payload(struct conn *c, enum frame_type type, uint64_t request,
                       const struct payload_format *format, const void *v);
/* Queues a DATA frame. `bytes` are borrowed until `sent` is called, which always happens: with ok
 * false, before `closed`, if the connection ends first. Without TLS they are written to the socket
 * without a copy. Returns false, and `sent` is not called, when out of memory (the connection then
 * fails) or if the connection is already ending. */
bool conn_send_data(struct conn *c, uint64_t request, struct glint_slice bytes,
                    void (*sent)(void *arg, bool ok), void *arg);
/* Memory taken by queued frames. A sender of much data limits it to a window (backpressure). */
uint64_t conn_queued_bytes(const struct conn *c);
/* Stops reading while frames are queued. For a connection on which the peer only sends requests: a
 * peer that does not read responses cannot send more requests. */
void conn_pause_reads_while_sending(struct conn *c);
/* Closes the connection. With `flush`, after the queued frames are sent and the peer has closed
 * too, but within CLOSE_MS; frames received in that time are discarded. Without `flush`, or before
 * OPEN, immediately. `closed` is called later, from the loop. */
void conn_close(struct conn *c, bool flush);

/* Starts heartbeats on an OPEN connection: sends one per heartbeat_ns, calls `suspect`, and fails
 * the connection (CONNECTION) after dead_ns without a frame of the peer. `limits` stays borrowed.
 */
void conn_start_heartbeat(struct conn *c, const struct liveness_limits *limits);
/* When the peer's last frame came. Only after conn_start_heartbeat. */
uint64_t conn_last_seen_ns(const struct conn *c);
/* Fails the connection when sent bytes stay unacknowledged for `ms` (TCP_USER_TIMEOUT): detects a
 * dead host or a broken network. A busy or stopped peer process does not trigger it while its
 * kernel has buffer space to acknowledge the bytes. */
void conn_set_ack_timeout(struct conn *c, uint64_t ms);
/* OPEN, and neither closing nor failed: frames can be sent. */
bool conn_is_open(const struct conn *c);
/* Only for a connection that has been OPEN; valid as long as the conn. */
const struct hello *conn_peer_hello(const struct conn *c);
/* The secret that the session uses; PEER without TLS. For connections that have been OPEN. */
enum secret_kind conn_secret_kind(const struct conn *c);
/* For messages, e.g. "10.0.0.2:7400"; valid as long as the conn. */
const char *conn_peer_address(const struct conn *c);
/* The peer's address without the port, in the form that conn_dial takes. */
void conn_peer_host(const struct conn *c, char *out, size_t capacity);
/* This side's address of an open connection, in the same form. Returns false if it has failed. */
bool conn_local_host(const struct conn *c, char *out, size_t capacity);
/* Replaces the callbacks; `events` stays borrowed. */
void conn_set_events(struct conn *c, const struct conn_events *events, void *arg);

/* "HOST:PORT", or "[HOST]:PORT" of IPv6; cut if it does not fit. */
void host_format_address(char *out, size_t capacity, const char *host, unsigned port);

#endif
