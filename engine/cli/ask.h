/* One question to every daemon of a cluster, all at once. */
#ifndef GLINT_CLI_ASK_H
#define GLINT_CLI_ASK_H

#include "engine/glint.h"
#include "engine/net/cluster.h"
#include "engine/net/frame.h"

struct ask {
    const struct cluster *cluster;
    enum frame_type question, answer;
    struct glint_slice payload; /* of the question */
    /* The answer of one daemon; the payload is borrowed. 0, or a code with *error set: it counts as
     * none. */
    int (*answered)(void *arg, uint32_t executor, const struct frame *f, struct glint_slice payload,
                    struct glint_error *error);
    /* Instead: why there is none. Each executor gets one of the two, once. */
    void (*failed)(void *arg, uint32_t executor, const struct glint_error *why);
    void *arg;
};

/* Returns when all have answered, or connect_ms are over for those that have not. 0, or a code with
 * *error set: nobody was asked. */
int ask_all(const struct ask *ask, struct glint_error *error);

#endif
