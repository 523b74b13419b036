/* Processes that fork workers (extras/python): such a parent is a program that is started once, so
 * that a worker costs a fork and not the start of an interpreter. It gets requests on a socket, its
 * descriptor 0, and never runs what its workers run:
 *
 *   request  'F', the size of what follows (32 bit, little-endian), and with them, as ancillary
 *            data, the standard input, output and error of a new worker; then its words and
 *            NAME=VALUE of its environment, each with a NUL, and an empty one after each list
 *   response the pid (32 bit), of a process that leads a group; or 0, the size of a text, and why
 *            there is no worker
 *   request  'R' and the pid (32 bit) of a worker that has exited
 *   response its status, as from waitpid (32 bit)
 *
 * Its workers end with it, and it ends with the thread that has started it. */
#ifndef GLINT_BASE_WORKER_PARENT_H
#define GLINT_BASE_WORKER_PARENT_H

#include "engine/base/env.h"
#include "engine/base/mem.h"

#include <pthread.h>

#define WORKER_WHY_BYTES 1024u

/* A parent for each command and environment. Any thread. */
struct worker_parents {
    pthread_mutex_t lock;
    struct worker_parent *first; /* under lock */
};
void worker_parents_init(struct worker_parents *w);
/* Kills them, and so their workers. */
void worker_parents_fini(struct worker_parents *w);

/* What to start; borrowed until the call returns. */
struct worker_start {
    const char *path;       /* of the parent */
    char *const *words;     /* its arguments; end with NULL */
    char *const *variables; /* its environment; end with NULL */
    /* Of the worker; end with NULL. The variables are added to those of the parent. */
    char *const *worker_words, *const *worker_variables;
};
/* Starts a worker, and its parent unless that runs. Returns 0, or a negative errno with nothing
 * running or open: -EPROTO with a text in *why if the parent has refused or has ended, else the
 * parent could not be started. */
int worker_start(struct worker_parents *w, const struct worker_start *start, struct env_child *out,
                 char why[WORKER_WHY_BYTES]);
/* The same as env->reap. A worker whose parent has ended was killed with it. */
int worker_reap(struct worker_parents *w, int pid);

#endif
