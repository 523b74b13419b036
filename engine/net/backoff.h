/* Backoff before a connection is dialled again. */
#ifndef GLINT_NET_BACKOFF_H
#define GLINT_NET_BACKOFF_H

#include "engine/base/env.h"

#include <stdint.h>

/* Returns a random duration in [ns / 2, ns]: processes that lost their connections at the same
 * moment do not reconnect all at once. Without random bytes: 3/4 of ns. */
uint64_t backoff_with_jitter(struct env *env, uint64_t ns);

#endif
