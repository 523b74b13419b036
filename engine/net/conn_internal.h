/* A connection's inside, for conn.c (its life), conn_dial.c, conn_handshake.c, conn_read.c,
 * conn_write.c and listener.c.
 *
 * While OPEN it may be `ending` (conn_close with flush: takes no more frames, sends what it has,
 * then FIN, and waits for the other side's) or `broken` (writing failed: what the other side still
 * said is read). Both last CLOSE_MS at most. */
#ifndef GLINT_NET_CONN_INTERNAL_H
#define GLINT_NET_CONN_INTERNAL_H

#include "engine/base/mem.h"
#include "engine/limits.h"
#include "engine/net/conn.h"
#include "engine/net/pending_conns.h"

#define HOST_TEXT_MAX 256u

enum conn_state { CONN_DIALLING, CONN_TLS_HANDSHAKE, CONN_HANDSHAKE, CONN_OPEN, CONN_CLOSED };

/* One frame that waits to be sent, or is being sent. */
struct out_frame {
    struct out_frame *next;
    uint8_t header[FRAME_HEADER_BYTES];
    bool early;          /* HELLO, REJECT: sent before OPEN */
    struct buffer owned; /* a control frame's payload */
    struct glint_slice bytes;
    void (*sent)(void *arg, bool ok); /* of DATA; NULL: a control frame */
    void *arg;
};

/* What is being resolved; it may outlive its connection, since libuv cannot always cancel. */
struct name_lookup {
    uv_getaddrinfo_t request;
    struct conn *conn; /* NULL: has ended */
};

struct conn {
    struct net *net;
    uv_tcp_t tcp;
    uv_timer_t timer; /* until OPEN; until CLOSED when ending or broken */
    unsigned handles; /* open ones */
    enum conn_state state;
    bool dialling, has_opened, ending, broken;
    enum channel channel;
    struct hello peer;
    struct frame_type_set expected;
    uint8_t expected_incarnation[INCARNATION_BYTES];
    struct tls *tls;                  /* NULL: plain text, or accepted and still silent */
    const struct conn_events *events; /* NULL: none yet */
    void *arg;
    struct glint_error why;
    char host[HOST_TEXT_MAX];
    char address[HOST_TEXT_MAX + 8];
    /* Dialling (conn_dial.c). */
    uv_connect_t connect;
    struct name_lookup *name_lookup;
    struct addrinfo *addresses, *next_address;
    /* Reading (conn_read.c): a frame's header, then its payload. */
    uint8_t header[FRAME_HEADER_BYTES];
    uint32_t header_fill;
    struct frame frame;
    uint64_t fill;                  /* bytes of the payload so far */
    struct buffer payload;          /* of a control frame that came in pieces */
    uint8_t *data_buffer;           /* of a DATA frame; NULL: passed over */
    bool in_place;                  /* the socket is being read to `into` */
    bool short_read;                /* the next bytes are likely a header, and then long ones */
    bool half_duplex, paused;       /* conn_set_half_duplex; and nothing is read now */
    uint32_t unauthenticated_bytes; /* bytes fed to TLS before it was ready */
    /* Writing (conn_write.c): `first` to `last` wait; `writing` are with the kernel. */
    struct out_frame *first, *last, *writing;
    uint64_t encrypted_bytes; /* bytes of `first`, header included, that are encrypted */
    struct buffer encrypted;  /* with the kernel */
    uint64_t queued, queued_control;
    uv_write_t write;
    uv_shutdown_t shutdown;
    bool busy;   /* `write` is under way */
    bool corked; /* frames only queue up */
    bool shut;   /* `shutdown` is under way or done */
    /* Accepted, and not OPEN or CLOSED yet (listener.c, pending_conns.c). */
    struct listener *listener;
    uint64_t source_key;
    struct pending_source *source;
    enum pending_class pending_class;
    uint32_t pending_at;
};

/* conn.c */
struct conn *conn_create(struct net *net, bool dialling, struct glint_error *error);
/* Fills in host and address. Of an accepted one before conn_on_connected. */
void conn_set_peer_address(struct conn *c);
/* The TCP connection is there: TLS and hello begin. */
void conn_on_connected(struct conn *c);
/* With the secrets of now. An accepted connection needs no TLS before its first byte: one that
 * stays silent costs little. False: it has ended. */
bool conn_start_tls(struct conn *c);
void conn_set_state(struct conn *c, enum conn_state state);
/* It ends, with *why unless it has another reason already. */
void conn_fail(struct conn *c, const struct glint_error *why);
/* The same of a failed call: `code` is libuv's. */
void conn_fail_uv(struct conn *c, int code, const char *operation);
/* As conn_close with flush, in any state in which there is something to send. */
void conn_close_gracefully(struct conn *c);
/* Writing failed: called from the loop, never from inside a call. */
void conn_on_write_error(struct conn *c, int code, const char *operation);
void conn_on_handle_closed(uv_handle_t *handle);

/* conn_dial.c */
void conn_dial_fini(struct conn *c);

/* conn_handshake.c */
/* TLS is ready, or not wanted: the side that dialled says hello. */
void conn_start_handshake(struct conn *c);
/* A HELLO or REJECT in HANDSHAKE. */
void conn_on_handshake_frame(struct conn *c, enum frame_type type, struct glint_slice payload);

/* conn_read.c */
int conn_read_start(struct conn *c);
/* Reads on, if that was put off and nothing waits to be sent any more. */
void conn_resume_reading(struct conn *c);

/* conn_write.c */
/* A control frame; HELLO and REJECT before all others. False without memory. */
bool conn_enqueue(struct conn *c, enum frame_type type, uint64_t request, struct buffer *payload);
void conn_flush(struct conn *c);
/* Everything that was not sent ends now. */
void conn_discard_queue(struct conn *c);
void conn_write_fini(struct conn *c);

/* listener.c */
/* Whether its owner wants it; conn_set_events has been called then. */
bool listener_accept(struct conn *c, struct glint_error *error);
/* Its ClientHello was accepted. */
void listener_on_known_key(struct conn *c);
/* The connection is OPEN or CLOSED, and waits at the gate no more. */
void listener_remove_pending(struct conn *c);

#endif
