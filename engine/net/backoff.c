/* Backoff: see backoff.h. */
#include "engine/net/backoff.h"

#include "engine/limits.h"

#define BACKOFF_NS_MIN (10 * MS_NS)
#define BACKOFF_NS_MAX (1000 * MS_NS)

bool error_is_rejection(enum glint_code code)
{
    return code == GLINT_E_AUTH || code == GLINT_E_PEER_MISMATCH || code == GLINT_E_NOT_PERMITTED;
}

/* A REJECT frame comes through TLS, so it is the peer's own decision and permanent. A failed TLS
 * handshake can be caused by any process on the network path, or one that has the port for a
 * moment: it is permanent only after AUTH_FAILURES_MAX in a row. */
bool backoff_on_error(struct backoff *b, enum glint_code code)
{
    b->auth_failures = code == GLINT_E_AUTH ? b->auth_failures + 1 : 0;
    return error_is_rejection(code) &&
           (code != GLINT_E_AUTH || b->auth_failures >= AUTH_FAILURES_MAX);
}

uint64_t backoff_next_ns(struct backoff *b, struct env *env)
{
    uint64_t ns = BACKOFF_NS_MIN << (b->attempts < 8 ? b->attempts : 8);
    /* The maximum after a failed TLS handshake: leave time for the cause to go away before the
     * third failure makes it permanent. */
    if (ns > BACKOFF_NS_MAX || b->auth_failures > 0) ns = BACKOFF_NS_MAX;
    b->attempts++;
    return backoff_with_jitter(env, ns);
}

uint64_t backoff_with_jitter(struct env *env, uint64_t ns)
{
    uint32_t random = 0;
    if (env->random(env, &random, sizeof random) != 0) random = UINT32_MAX / 2 + 1;
    return ns / 2 + (uint64_t)((double)(ns - ns / 2) * random / UINT32_MAX);
}
