/* The handshake: identity, cluster and build of both sides. Pure functions, except build_id.
 *
 * The dialling side sends its HELLO. The other side responds with its own HELLO, or with a REJECT
 * whose error contains both values of the mismatch, and then closes. A hello is a msgpack array.
 * Its first two fields, the range of protocol versions, will never change, so that any version can
 * reject any other with a readable message. */
#ifndef GLINT_NET_HELLO_H
#define GLINT_NET_HELLO_H

#include "engine/base/env.h"
#include "engine/base/error.h"
#include "engine/base/mem.h"
#include "engine/limits.h"
#include "engine/net/frame.h"

#define PROTOCOL_MIN      1u
#define PROTOCOL_MAX      1u
#define INCARNATION_BYTES 16u

/* What kind of process a peer is. CLIENT: a command such as `glint status`. */
enum role { ROLE_DRIVER = 1, ROLE_EXECUTOR, ROLE_DAEMON, ROLE_CLIENT, ROLES_END };
/* CONTROL: messages and heartbeats; reading never pauses. DATA: GET, BLOCK_REQUEST and
 * their responses. */
enum channel { CHANNEL_CONTROL = 1, CHANNEL_DATA, CHANNELS_END };

/* One side's description of itself. */
struct hello {
    uint32_t protocol_min, protocol_max;
    enum role role;
    enum channel channel;
    char cluster[NAME_BYTES_MAX];
    char node[NAME_BYTES_MAX];
    uint8_t incarnation[INCARNATION_BYTES]; /* random, new for each process */
    /* The incarnation the dialling side wants to reach; all zeros: any. A restarted process
     * rejects it. */
    uint8_t expected_incarnation[INCARNATION_BYTES];
    char build[NAME_BYTES_MAX];
};

/* Appends to *out. Returns 0 or NO_MEMORY. */
int hello_encode(const struct hello *h, struct buffer *out, struct glint_error *error);
/* Decodes a hello and validates all of it: bounds, ranges, no control characters in texts. Returns
 * 0; PEER_MISMATCH with both ranges if the protocol versions do not overlap; or PROTOCOL. */
int hello_decode(struct glint_slice bytes, struct hello *out, struct glint_error *error);
/* Checks protocol versions, cluster, build (not of a daemon), incarnations, and that the channel
 * exists between the two roles; a peer with the incarnation of `self` is this process itself. Both
 * sides check: the dialling one with its own expected_incarnation in `self`, the accepting one with
 * zeros there. Returns 0, or PEER_MISMATCH with both values and the names of the nodes. */
int hello_check_compatible(const struct hello *self, const struct hello *peer,
                           struct glint_error *error);

/* The frame types `self` accepts from `peer` after the handshake. `dialled`: self is the
 * dialling side. */
struct frame_type_set hello_allowed_frames(const struct hello *self, const struct hello *peer,
                                           bool dialled);

/* Appends to *out, with cause and hint truncated. Returns 0 or NO_MEMORY. */
int reject_encode(const struct glint_error *why, struct buffer *out, struct glint_error *error);
/* Sets *error to the peer's error, or to PROTOCOL if it does not parse. Returns the code. */
int reject_decode(struct glint_slice bytes, struct glint_error *error);

/* The version and the linker's build id of this program, e.g. "0.1.0-9f3a...". Any thread. */
#define BUILD_UNMARKED "-unmarked" /* no build id; compatible with no program */
const char *build_id(void);
/* Whether a build has a build id: only then equal texts mean equal programs. */
bool build_has_id(const char *build);

/* SHA-256 of a file, by OpenSSL. */

#define SHA256_BYTES    32u
#define SHA256_TEXT_MAX (2 * SHA256_BYTES + 1)

/* Hashes all of an open file. Returns 0 or a negative errno. Any thread; blocks on disk. */
int sha256_of_file(struct env *env, int file, uint8_t out[SHA256_BYTES]);

#endif
