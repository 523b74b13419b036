/* Sends the requests for the small objects of a split, or for the first bytes of all its objects,
 * before they are read: a server takes its time to answer each. One thread. */
#ifndef GLINT_INPUT_INPUT_AHEAD_H
#define GLINT_INPUT_INPUT_AHEAD_H

#include "engine/input/split.h"
#include "engine/limits.h"

struct remote_reader;
struct remote_session;

/* Zeros, and `split`, which is borrowed, are one without requests. */
struct input_ahead {
    const struct split *split;
    uint32_t head_bytes; /* of each object; 0: small objects whole, no others */
    uint32_t next;       /* the first piece whose request was not sent */
    struct remote_session *group;
    struct remote_reader *readers[REMOTE_AHEAD_MAX]; /* of piece i: [i % REMOTE_AHEAD_MAX] */
};

/* Sends requests for the pieces from `index` on, whose waits end once `cancelled` (0: none) is
 * readable. Returns the reader of piece `index`, which the caller destroys before
 * input_ahead_close; NULL: none was started, which is no error. */
struct remote_reader *input_ahead_take(struct input_ahead *a, struct env *env, int cancelled,
                                       uint32_t index);
/* Zeros are fine. */
void input_ahead_close(struct input_ahead *a);

#endif
