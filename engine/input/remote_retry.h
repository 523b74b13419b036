/* When a failed request is repeated, and when not any more. The time that a server takes is
 * limited, not the number of attempts: what it has sent, at the least rate, pays for it. So neither
 * a server that is down nor one that sends a byte now and then holds a task. One thread. */
#ifndef GLINT_INPUT_REMOTE_RETRY_H
#define GLINT_INPUT_REMOTE_RETRY_H

#include "engine/input/remote_transfer.h"
#include "engine/input/remote_url.h"

struct remote_retry {
    uint32_t failures; /* since the server was not late */
    uint64_t late_ns;  /* that bytes have not paid for */
    uint64_t since_ns; /* until then time is counted */
    uint64_t wait_ms;  /* at least, before the next attempt: the server asks for it */
    int cancelled;     /* a descriptor that is readable when the wait must end; 0: none */
};

/* The server is asked for bytes, from now on. */
void remote_retry_begin(struct remote_retry *r, struct env *env);
/* So many bytes were received. Returns 0, or INPUT_IO with *error set: the server is too slow. */
int remote_retry_received(struct remote_retry *r, struct env *env, const char *name, uint64_t bytes,
                          struct glint_error *error);
/* After a failure: waits with backoff and jitter and returns true if there is time for another
 * attempt. `first`: nothing was read yet, so the URL may be wrong; less time then. */
bool remote_retry_wait(struct remote_retry *r, struct env *env, enum remote_result result,
                       bool first);
/* Sets *error to the last problem, with the number of attempts. Returns its code. */
int remote_retry_set_error(const struct remote_retry *r, const struct glint_error *last,
                           struct glint_error *error);
/* Sets the error of a response that has no content. */
enum remote_result remote_set_status_error(enum remote_kind kind, const char *name,
                                           const struct remote_transfer *t,
                                           struct glint_error *error);

#endif
