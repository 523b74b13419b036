/* Internals of a connection, shared by conn.c (lifecycle), conn_read.c, conn_write.c and
 * listener.c.
 *
 * An OPEN connection may be `ending` (conn_close with flush: discards received frames, sends its
 * queue, then FIN, and waits for the peer's FIN) or `broken` (a write failed: received bytes are
 * still processed). Both last at most CLOSE_MS. */
#ifndef GLINT_NET_CONN_INTERNAL_H
#define GLINT_NET_CONN_INTERNAL_H

#include "engine/base/mem.h"
#include "engine/limits.h"
#include "engine/net/conn.h"
#include "engine/net/deadline.h"

#include <netinet/in.h>
#include <sys/queue.h>

#define HOST_TEXT_MAX 256u

enum conn_state { CONN_DIALLING, CONN_TLS_HANDSHAKE, CONN_HANDSHAKE, CONN_OPEN, CONN_CLOSED };

/* A frame that is queued or being written. */
struct out_frame {
    STAILQ_ENTRY(out_frame) next;
    uint8_t header[FRAME_HEADER_BYTES];
    bool early;                       /* HELLO or REJECT: sent before OPEN */
    struct buffer owned;              /* a control frame's payload */
    struct glint_slice bytes;         /* payload: `owned`, or borrowed */
    void (*sent)(void *arg, bool ok); /* DATA only; NULL: a control frame */
    void *arg;
};

STAILQ_HEAD(out_frames, out_frame);

/* Pending connections: accepted, but not open yet. If there are too many, chooses one to drop. Two
 * classes, each of at most PENDING_MAX connections:
 *
 *   UNKNOWN  only its address is known
 *   KNOWN    its ClientHello named one of our keys with a valid binder [pending_conns_mark_known]
 *
 * A new connection can displace only one of its own class, so a flood from hosts without a key
 * never displaces a host with a key. Within a class the source with the most connections loses one
 * of them, chosen at random (possibly the new one): a source with one connection keeps it while
 * another source has two, and a slow, distant host is not at a disadvantage. A source is an IPv4
 * address, or an IPv6 /64, which is what one host typically has.
 *
 * Adding and choosing scan all sources and connections once. Loop thread only. */
enum pending_class { PENDING_UNKNOWN, PENDING_KNOWN, PENDING_CLASSES };

/* Connection counts of one source; the entry is free if all are 0. */
struct pending_source {
    uint64_t key;
    uint32_t counts[PENDING_CLASSES];
};

struct pending_conns {
    struct env *env;
    struct pending_source sources[PENDING_CLASSES * (PENDING_MAX + 1)];
    struct pending_list {
        uint32_t count;
        struct conn *list[PENDING_MAX + 1]; /* plus a new one, until one is dropped */
    } classes[PENDING_CLASSES];
};

/* A getaddrinfo request. It may outlive its connection, because libuv cannot cancel a request that
 * a pool thread is already running. */
struct name_lookup {
    uv_getaddrinfo_t request;
    struct conn *conn; /* NULL: the connection has ended */
};

struct conn {
    struct net *net;
    uv_tcp_t tcp;
    uv_timer_t timer; /* timeout until OPEN; heartbeats; timeout until CLOSED if ending or broken */
    unsigned handles; /* not closed yet; the conn is freed at 0 */
    enum conn_state state;
    bool dialling, has_opened, ending, broken;
    enum channel channel;
    struct hello peer;
    struct frame_type_set expected;                  /* what the peer may send in this state */
    uint8_t expected_incarnation[INCARNATION_BYTES]; /* zeros: any */
    struct tls *tls;                  /* NULL: plain text, or accepted with no byte received yet */
    const struct conn_events *events; /* NULL: not accepted by the listener's owner yet */
    void *arg;
    struct glint_error why; /* reason for the end; OK: closed by this side */
    char host[HOST_TEXT_MAX];
    char address[HOST_TEXT_MAX + 8];
    /* Dialling (conn.c): the resolved addresses, and the next to try. */
    uv_connect_t connect;
    struct name_lookup *name_lookup;
    struct addrinfo *addresses, *next_address;
    /* Reading (conn_read.c): first a frame's header, then its payload. */
    uint8_t header[FRAME_HEADER_BYTES];
    uint32_t header_fill;
    struct frame frame;
    uint64_t fill;                  /* payload bytes received so far */
    struct buffer payload;          /* of a control frame split over several reads */
    uint8_t *data_buffer;           /* from buffer_for; NULL: discard the bytes */
    bool in_place;                  /* the current read goes directly to data_buffer */
    bool short_read;                /* read a short piece: a long DATA frame is likely next */
    bool half_duplex, paused;       /* conn_pause_reads_while_sending; reading is stopped now */
    uint32_t unauthenticated_bytes; /* fed to TLS before the handshake was done */
    /* Writing (conn_write.c): frames that wait, and those in the current write. */
    struct out_frames queue, writing;
    uint64_t encrypted_bytes;        /* of the first queued frame, including its header */
    struct buffer encrypted;         /* in the current write */
    uint64_t queued, queued_control; /* memory of queued frames: all; control frames */
    uv_write_t write;
    uv_shutdown_t shutdown;
    bool busy;   /* `write` is in progress */
    bool corked; /* do not start a write: more frames will be queued now */
    bool shut;   /* `shutdown` was started */
    /* Heartbeats (conn.c). */
    bool has_heartbeat, suspect;
    struct liveness liveness;
    /* Set from accept until OPEN or CLOSED (listener.c). */
    struct listener *listener;
    uint64_t source_key;
    struct pending_source *source;
    enum pending_class pending_class;
    uint32_t pending_at;
};

/* conn.c */
/* Starts the connect timeout. Returns NULL with *error set when out of memory. */
struct conn *conn_create(struct net *net, bool dialling, struct glint_error *error);
/* Sets host, address and source_key. An accepted connection needs it before conn_on_connected. */
void conn_set_peer_address(struct conn *c);
/* TCP is connected: starts reading and the TLS handshake, or the hello without TLS. */
void conn_on_connected(struct conn *c);
/* Creates the TLS session, after reloading changed secrets. For an accepted connection it is called
 * on the first received byte, so that an idle connection costs no TLS session. Returns false if the
 * connection failed. */
bool conn_start_tls(struct conn *c);
/* Ends the connection. *why becomes its reason unless it already has one or is ending. */
void conn_fail(struct conn *c, const struct glint_error *why);
/* As conn_fail, for a failed libuv call with result `code`; the message is "cannot OPERATION". */
void conn_fail_uv(struct conn *c, int code, const char *operation);
/* A write failed. Called from the loop only, since it calls `sent` callbacks. */
void conn_on_write_error(struct conn *c, int code, const char *operation);
/* A frame has arrived, or a part of its payload: on a slow network a long one takes longer than the
 * peer may be silent. */
void conn_on_any_bytes(struct conn *c);

/* TLS is established, or not used: the dialling side sends its hello. */
void conn_start_handshake(struct conn *c);
/* Handles a HELLO or REJECT received in HANDSHAKE. */
void conn_on_handshake_frame(struct conn *c, enum frame_type type, struct glint_slice payload);

/* conn_read.c */
/* Returns 0 or libuv's error. */
int conn_read_start(struct conn *c);
/* Resumes reading if half duplex paused it and the write queue is empty again. */
void conn_resume_reading(struct conn *c);

/* conn_write.c */
/* Appends a control frame to the queue; HELLO and REJECT go to its front. Takes *payload over.
 * Returns false when out of memory; *payload is unchanged then. */
bool conn_enqueue(struct conn *c, enum frame_type type, uint64_t request, struct buffer *payload);
/* Starts the next write unless one is in progress. Sends FIN if the connection is ending and the
 * queue is empty. */
void conn_flush(struct conn *c);
/* Frees all frames that are not being written; calls `sent` with ok false. */
void conn_discard_queue(struct conn *c);
/* After the handles are closed: frees all frames, also those being written. */
void conn_write_fini(struct conn *c);

/* net_init.c */
/* Called before each handshake: reloads the secret file if it was replaced, so that secrets
 * change without a restart. If the new file is invalid, logs a warning and keeps the old secrets.
 * Loop thread. */
void net_reload_secrets(struct net *net);

/* listener.c */
/* Calls the listener's `accepted`. Returns true if it accepted the connection and called
 * conn_set_events, or false with *error set. */
bool listener_accept(struct conn *c, struct glint_error *error);
/* The ClientHello named a known key with a valid binder: moves c to the class KNOWN. */
void listener_on_known_key(struct conn *c);
/* The connection is OPEN or CLOSED: no longer pending. Does nothing if it was dialled. */
void listener_remove_pending(struct conn *c);

/* The source that an address belongs to. */
uint64_t address_source_key(const struct sockaddr *address);
/* Adds c to the class UNKNOWN; its source_key must be set. */
void pending_conns_add(struct pending_conns *p, struct conn *c);
/* Moves c from UNKNOWN to KNOWN. */
void pending_conns_mark_known(struct pending_conns *p, struct conn *c);
void pending_conns_remove(struct pending_conns *p, struct conn *c);
/* Returns the connection to drop from a class that is not empty. Does not remove it. */
struct conn *pending_conns_choose_to_drop(struct pending_conns *p, enum pending_class class);

#endif
