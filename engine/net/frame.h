/* Frames: the unit of all communication between processes. Pure functions.
 *
 *     0        4     5      6       8        12       16           24           32
 *     +--------+-----+------+-------+--------+--------+------------+------------+---------
 *     | "GLNT" | ver | type | flags | length | head   | request id | XXH3-64    | payload
 *     +--------+-----+------+-------+--------+--------+------------+------------+---------
 *
 * Numbers are little-endian. `length` is the size of the payload; flags are 0. The checksum covers
 * the 24 bytes before it and the first `head` bytes of the payload: the complete payload of control
 * frames (head = length), none of DATA (head = 0), whose blocks have had their own checksums since
 * they were written. The checksum detects bugs and broken hardware; TLS protects against attackers.
 *
 * An invalid frame is a PROTOCOL error and closes the connection, because the start of the next
 * frame is unknown. */
#ifndef GLINT_NET_FRAME_H
#define GLINT_NET_FRAME_H

#include "engine/base/error.h"

#include <stdbool.h>
#include <stdint.h>

#define FRAME_HEADER_BYTES 32u
#define FRAME_VERSION      1u

enum frame_type {
    FRAME_HELLO = 1,        /* hello.h; the first frame of each side */
    FRAME_REJECT,           /* hello.h; instead of a hello, before closing */
    FRAME_PING,             /* a heartbeat, wire.h */
    FRAME_MESSAGE,          /* between driver and executor, message.h */
    FRAME_REGISTER,         /* executor to driver: its port, slots and memory, wire.h */
    FRAME_EXECUTOR_ADDED,   /* driver to executor: address of another executor, wire.h */
    FRAME_REQUEST_EXECUTOR, /* driver to daemon: start an executor for a job, wire.h */
    FRAME_QUEUED,           /* daemon: the request id is the queue position, from 1 */
    FRAME_EXECUTOR_STARTED, /* daemon: the executor process runs; no payload */
    FRAME_EXECUTOR_EXITED,  /* daemon: exit status of the executor, wire.h */
    FRAME_STATUS,           /* client to daemon: no payload */
    FRAME_STATUS_REPLY,     /* daemon: wire.h */
    FRAME_CANCEL,           /* client to daemon, daemon to driver: job, wire.h */
    FRAME_CANCELLED,        /* daemon to client: the jobs cancelled, wire.h */
    FRAME_DRAIN,            /* executor to driver: assign no more tasks to me */
    FRAME_GET,         /* request for bytes, transfer/wire_fetch.h; the response has the same id */
    FRAME_DATA,        /* response to GET: the bytes */
    FRAME_FETCH_ERROR, /* response to GET: an error */
    FRAME_BLOCK_REQUEST,   /* executor to driver: asks which broadcast blocks to fetch */
    FRAME_BLOCK_ASSIGN,    /* driver: blocks and the executors to fetch them from */
    FRAME_PROGRESS,        /* driver to daemon: progress of the job, wire.h */
    FRAME_JOB_KEY,         /* driver to executor: the key of the job, wire.h */
    FRAME_PROGRAM_REQUEST, /* daemon to driver: which program is it? No payload */
    FRAME_PROGRAM,         /* driver to daemon: its size and hash, wire.h */
    FRAME_TYPES_END        /* at most 32: see FRAME_BIT */
};

/* A decoded header. `length`, `head`: see above. */
struct frame {
    enum frame_type type;
    uint32_t length, head;
    uint64_t request;
};

/* E.g. "PING"; "unknown" if out of range. */
const char *frame_type_name(enum frame_type type);
/* The payload limit of a frame type. Senders check it before they encode. */
uint32_t frame_payload_bytes_max(enum frame_type type);
/* Writes the header of *frame. `head` points to the first frame->head bytes of the payload: the
 * complete payload, or nothing for DATA. */
void frame_encode(const struct frame *frame, const uint8_t *head, uint8_t out[FRAME_HEADER_BYTES]);
/* The frame types a peer may send, one bit each, and a description of the connection for error
 * messages, e.g. "before the hello". */
struct frame_type_set {
    uint32_t types;
    const char *where;
};
#define FRAME_BIT(type) (UINT32_C(1) << (type))
extern const struct frame_type_set frames_before_hello; /* HELLO and REJECT */

/* Decodes a header and checks all that does not need the payload: magic, version, type, flags, and
 * `length` against the limit of its type (limits.h), before memory is allocated for it. The
 * checksum is not verified. Returns 0, or PROTOCOL with *error set; the message names HTTP, SSH or
 * TLS if the bytes look like it. */
int frame_decode(const uint8_t in[FRAME_HEADER_BYTES], const struct frame_type_set *expected,
                 struct frame *out, struct glint_error *error);
/* Verifies the checksum once the frame->head bytes at `head` have been received. Returns 0
 * or PROTOCOL. */
int frame_verify_checksum(const uint8_t in[FRAME_HEADER_BYTES], const struct frame *frame,
                          const uint8_t *head, struct glint_error *error);

#endif
