/* The handshake: who is there, which cluster, which build. Pure.
 *
 * The side that dials sends its HELLO, the other one answers with its own or with REJECT, whose
 * error holds both values of what did not fit; then the connection ends. A hello is one msgpack
 * array whose first two fields will never change: the range of protocol versions, so that any
 * version can read the refusal of any other. */
#ifndef GLINT_NET_HELLO_H
#define GLINT_NET_HELLO_H

#include "engine/base/error.h"
#include "engine/base/mem.h"
#include "engine/limits.h"
#include "engine/net/frame.h"

#define PROTOCOL_MIN      1u
#define PROTOCOL_MAX      1u
#define INCARNATION_BYTES 16u

enum role { ROLE_DRIVER = 1, ROLE_EXECUTOR, ROLE_DAEMON, ROLE_CLIENT, ROLES_END };
/* CONTROL: messages and signs of life; its reads never stop. DATA: GET, BLOCK_REQUEST and their
 * answers. */
enum channel { CHANNEL_CONTROL = 1, CHANNEL_DATA, CHANNELS_END };

struct hello {
    uint32_t protocol_min, protocol_max;
    enum role role;
    enum channel channel;
    char cluster[NAME_BYTES_MAX];
    char node[NAME_BYTES_MAX];
    uint8_t incarnation[INCARNATION_BYTES]; /* random, of this start of the process */
    /* Whom the dialling side wants to reach; all zeros: anybody. Another one refuses. */
    uint8_t expected_incarnation[INCARNATION_BYTES];
    char build[NAME_BYTES_MAX];
};

/* 0 or NO_MEMORY. */
int hello_encode(const struct hello *h, struct buffer *out, struct glint_error *error);
/* Everything is checked: bounds, ranges, texts without control characters. A hello of a protocol
 * without overlap is PEER_MISMATCH with both ranges. 0 or a code. */
int hello_decode(struct glint_slice bytes, struct hello *out, struct glint_error *error);
/* What `self` has against `peer`: protocol, its own incarnation (a mirror), cluster, build, roles
 * that have no such channel between them, another incarnation wanted. Both sides ask: the one that
 * dialled with its own `wanted` in self, the one that accepted with zeros there. 0, or
 * PEER_MISMATCH with both values and the names of the nodes. */
int hello_check_compatible(const struct hello *self, const struct hello *peer,
                           struct glint_error *error);

/* Which frames `self` takes from `peer` once their hellos fit. `dialled`: self has. */
struct frame_type_set hello_allowed_frames(const struct hello *self, const struct hello *peer,
                                           bool dialled);

int reject_encode(const struct glint_error *why, struct buffer *out, struct glint_error *error);
/* Sets *error to what the peer says, or PROTOCOL. Returns the code. */
int reject_decode(struct glint_slice bytes, struct glint_error *error);

/* "0.1.0-9f3a...": the version and the linker's build id of this program. Any thread. */
#define BUILD_UNMARKED "-unmarked" /* instead of an id; such a program fits no other */
const char *build_id(void);

#endif
