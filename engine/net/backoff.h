/* Failed attempts to connect: how long to wait before the next one, and when it is of no use. */
#ifndef GLINT_NET_BACKOFF_H
#define GLINT_NET_BACKOFF_H

#include "engine/base/env.h"
#include "engine/codes.h"

#include <stdbool.h>
#include <stdint.h>

struct backoff {
    uint32_t attempts;      /* that failed since the last reset to 0 */
    uint32_t auth_failures; /* the last so many in a row: TLS handshakes that failed */
};

/* Whether the peer, or another process at its address, responded and rejected this side. */
bool error_is_rejection(enum glint_code code);
/* An attempt failed. Returns whether the next one would fail the same way. */
bool backoff_on_error(struct backoff *b, enum glint_code code);
/* Returns how long to wait now, and counts the attempt: 10 ms, twice as long after each failure, at
 * most 1 s, with backoff_with_jitter. */
uint64_t backoff_next_ns(struct backoff *b, struct env *env);

/* Returns a random duration in [ns / 2, ns]: processes that lost their connections at the same
 * moment do not reconnect all at once. Without random bytes: 3/4 of ns. */
uint64_t backoff_with_jitter(struct env *env, uint64_t ns);

#endif
