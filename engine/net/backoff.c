/* Backoff: see backoff.h. */
#include "engine/net/backoff.h"

uint64_t backoff_with_jitter(struct env *env, uint64_t ns)
{
    uint32_t random = 0;
    if (env->random(env, &random, sizeof random) != 0) random = UINT32_MAX / 2 + 1;
    return ns / 2 + (uint64_t)((double)(ns - ns / 2) * random / UINT32_MAX);
}
