/* The secret is in memory for as long as its key is derived; the key, for as long as the process
 * lives, which is why the process keeps to itself. */
#include "engine/net/setup.h"

#include "engine/base/env.h"
#include "engine/base/text.h"
#include "engine/net/secret.h"

#include <assert.h>
#include <errno.h>
#include <sys/prctl.h>

static int open_tls(struct net *net, const struct net_config *c, struct glint_error *error)
{
    struct secret secret;
    if (c->insecure_plaintext) return 0;
    if (prctl(PR_SET_DUMPABLE, 0L, 0L, 0L, 0L) != 0)
        return error_set_system(error, GLINT_E_SYSTEM, -errno, "keep core dumps from", "the key");
    int r = c->secret_file != NULL ? secret_load(net->env, c->secret_file, &secret, error)
                                   : secret_default(net->env, &secret, error);
    if (r != 0) return r;
    bool bulk = c->role == ROLE_DRIVER || c->role == ROLE_EXECUTOR;
    net->tls = tls_context_create(&secret, bulk, error);
    secret_clear(&secret);
    return net->tls != NULL ? 0 : error->code;
}

int net_init(struct net *net, uv_loop_t *loop, struct env *env, const struct net_config *config,
             struct glint_error *error)
{
    struct hello *h = &net->self;
    assert(config->connect_ms > 0 && config->role > 0 && config->role < ROLES_END);
    *net = (struct net){.loop = loop, .env = env, .connect_ms = config->connect_ms};
    h->protocol_min = PROTOCOL_MIN;
    h->protocol_max = PROTOCOL_MAX;
    h->role = config->role;
    bool fits = text_format(h->cluster, sizeof h->cluster, "%s", config->cluster) &&
                text_format(h->node, sizeof h->node, "%s", config->node) &&
                text_format(h->build, sizeof h->build, "%s", build_id());
    if (!fits)
        return error_set(error, GLINT_E_CONFIG, "choose a shorter one",
                         "the name of a cluster or an executor has more than %u bytes",
                         NAME_BYTES_MAX - 1);
    if (env->random(env, h->incarnation, sizeof h->incarnation) != 0)
        return error_set(error, GLINT_E_SYSTEM, NULL, "the system gave no random numbers");
    return open_tls(net, config, error);
}

void net_fini(struct net *net)
{
    tls_context_destroy(net->tls);
    net->tls = NULL;
}
