/* Initialization of a process's net: its hello, and its TLS keys. */
#ifndef GLINT_NET_NET_INIT_H
#define GLINT_NET_NET_INIT_H

#include "engine/base/env.h"
#include "engine/base/error.h"
#include "engine/net/conn.h"

#include <uv.h>

/* Parameters of net_init, borrowed until it returns. */
struct net_config {
    enum role role;
    const char *cluster, *node;   /* shorter than NAME_BYTES_MAX */
    const char *secret_file;      /* NULL: the user's default secret */
    const struct secret *job_key; /* used instead of a secret file; NULL: none */
    const uint8_t *incarnation;   /* NULL: random */
    bool insecure_plaintext;      /* no TLS */
    uint64_t connect_ms;
    const char *build; /* of the program that executors run; NULL: of this one */
};

/* Initializes *net. With TLS, the process writes no core dumps from then
 * on, and other processes of the user cannot read its memory (PR_SET_DUMPABLE). A client secret
 * requires the role CLIENT. Returns 0, or a code with *error set. Call net_fini in both cases. *net
 * must not move: connections point to it. */
int net_init(struct net *net, uv_loop_t *loop, struct env *env, const struct net_config *config,
             struct glint_error *error);
/* Also accepts connections with the key of a job. Does nothing without TLS. Returns 0 or SYSTEM. */
int net_set_job_key(struct net *net, const struct secret *key, struct glint_error *error);
/* Keeps only the key of the job, with which it also dials from then on. */
void net_forget_secrets(struct net *net);
/* Call after the last connection is closed. A zeroed *net is allowed. */
void net_fini(struct net *net);

/* Creation of libuv loops without the abort: uv_loop_init itself aborts the process when no file
 * descriptor is left for what a loop opens. */

/* As uv_loop_init. Returns 0, or SYSTEM with *error set and nothing open. */
int event_loop_init(uv_loop_t *loop, struct env *env, struct glint_error *error);
/* For a process that is shutting down: closes a signal handler and ignores SIGTERM, SIGINT and
 * SIGHUP from then on. Otherwise libuv would restore their default action, and a second signal
 * would kill the process before it has cleaned up. Loop thread. */
void signal_close_and_ignore(uv_signal_t *handler);

#endif
