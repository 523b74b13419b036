/* What a process needs before it can dial or listen: its hello, and the key of TLS. */
#ifndef GLINT_NET_NET_INIT_H
#define GLINT_NET_NET_INIT_H

#include "engine/net/conn.h"

struct net_config {
    enum role role;
    const char *cluster, *node; /* shorter than NAME_BYTES_MAX */
    const char *secret_file;    /* NULL: the user's own */
    bool insecure_plaintext;    /* no TLS */
    uint64_t connect_ms;
};

/* Fills *net, with an incarnation of its own. Where there is a key the process writes no core dumps
 * from then on, and other processes of the user cannot look into it. With a client secret the role
 * must be CLIENT. 0, or a code with *error set. net_fini in any case; *net stays where it is. */
int net_init(struct net *net, uv_loop_t *loop, struct env *env, const struct net_config *config,
             struct glint_error *error);
/* Before a handshake: if the secrets' file was replaced since it was read, takes the new ones, so
 * that secrets change without a restart. A file that cannot be used is logged, and changes nothing.
 * Loop thread. */
void net_reload_secrets(struct net *net);
/* After the last connection has closed. Zeros are fine. */
void net_fini(struct net *net);

#endif
