/* Frames: what every byte between two processes belongs to. Pure.
 *
 *     0        4     5      6       8        12       16           24           32
 *     +--------+-----+------+-------+--------+--------+------------+------------+---------
 *     | "GLNT" | ver | type | flags | length | head   | request id | XXH3-64    | payload
 *     +--------+-----+------+-------+--------+--------+------------+------------+---------
 *
 * Numbers are little-endian; `length` is that of the payload, flags are 0. The checksum covers the
 * 24 bytes before it and the first `head` bytes of the payload: of control frames all of it (head =
 * length), of data frames only what describes the data, whose blocks carry the checksums that were
 * made when they were written. It finds bugs and broken hardware; what finds enemies is TLS.
 *
 * A frame that does not fit is PROTOCOL, and the connection's end: behind it no byte can be
 * believed. */
#ifndef GLINT_NET_FRAME_H
#define GLINT_NET_FRAME_H

#include "engine/base/error.h"

#include <stdbool.h>
#include <stdint.h>

#define FRAME_HEADER_BYTES 32u
#define FRAME_VERSION      1u

enum frame_type {
    FRAME_HELLO = 1,        /* hello.h; the first frame of both sides */
    FRAME_REJECT,           /* hello.h; instead of a hello, and then the end */
    FRAME_PING,             /* a sign of life, wire.h */
    FRAME_MESSAGE,          /* message.h: between driver and executor */
    FRAME_REGISTER,         /* executor to driver: what it has to offer, wire.h */
    FRAME_EXECUTOR_ADDED,   /* driver to executor: where another one is, wire.h */
    FRAME_REQUEST_EXECUTOR, /* driver to daemon: wants an executor of its own, wire.h */
    FRAME_QUEUED,           /* daemon: request id is the place in the queue, from 1 */
    FRAME_EXECUTOR_STARTED, /* daemon: where the executor listens, wire.h */
    FRAME_EXECUTOR_EXITED,  /* daemon: how the executor ended, wire.h */
    FRAME_STATUS,           /* anybody to daemon: no payload */
    FRAME_STATUS_REPLY,     /* daemon: wire.h */
    FRAME_CANCEL,           /* anybody to daemon, daemon to its driver: job, wire.h */
    FRAME_CANCELLED,        /* daemon: the jobs that were meant, wire.h */
    FRAME_DRAIN,            /* executor to driver: give me no more tasks */
    FRAME_GET,  /* wants bytes, wire.h; answered by DATA or FETCH_ERROR of the same request id */
    FRAME_DATA, /* head: empty; the bytes */
    FRAME_FETCH_ERROR,   /* they are not there: an error, wire.h */
    FRAME_BLOCK_REQUEST, /* executor to driver: which blocks of a broadcast next? wire.h */
    FRAME_BLOCK_ASSIGN,  /* driver: these, from there, wire.h */
    FRAME_PROGRESS,      /* driver to a daemon that serves it: how far its job is, wire.h */
    FRAME_TYPES_END      /* at most 32: see FRAME_BIT */
};

struct frame {
    enum frame_type type;
    uint32_t length, head;
    uint64_t request;
};

/* "PING"; "unknown" for what is none. */
const char *frame_type_name(enum frame_type type);
/* The longest payload that a frame of this type may have; a sender asks before it encodes. */
uint32_t frame_payload_bytes_max(enum frame_type type);
/* Writes the header; `head` points at the first frame->head bytes of the payload: all of it, but
 * none of DATA. */
void frame_encode(const struct frame *frame, const uint8_t *head, uint8_t out[FRAME_HEADER_BYTES]);
/* Which types of frames may come, a bit each, and where that is, for people: "before any hello". */
struct frame_type_set {
    uint32_t types;
    const char *where;
};
#define FRAME_BIT(type) (UINT32_C(1) << (type))
extern const struct frame_type_set frames_before_hello; /* HELLO and REJECT */

/* Checks what the header alone can tell: magic, version, type, flags, and `length` against the
 * bound of its type (limits.h), before memory is reserved for it. 0, or PROTOCOL with *error set,
 * whose cause names what was seen, also a plain HTTP request or a TLS record. */
int frame_decode(const uint8_t in[FRAME_HEADER_BYTES], const struct frame_type_set *expected,
                 struct frame *out, struct glint_error *error);
/* The checksum, once `head` (frame->head bytes) is there too. 0 or PROTOCOL. */
int frame_verify_checksum(const uint8_t in[FRAME_HEADER_BYTES], const struct frame *frame,
                          const uint8_t *head, struct glint_error *error);

#endif
