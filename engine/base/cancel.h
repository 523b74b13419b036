/* A descriptor that ends waits: what blocks polls it beside its own, and stops when it is readable.
 * It stays readable. An int is passed on as `cancelled`; 0: waits are not ended. */
#ifndef GLINT_BASE_CANCEL_H
#define GLINT_BASE_CANCEL_H

#include "engine/base/env.h"
#include "engine/base/error.h"

struct cancel {
    int event;         /* what waits poll, unless there is a timer */
    int timer, either; /* 0: none; an epoll of both */
};

/* It becomes readable by cancel_post, or after `timeout_ns` unless that is 0. Returns 0, or SYSTEM
 * with nothing open. */
int cancel_open(struct cancel *c, uint64_t timeout_ns, struct glint_error *error);
/* Any thread, also signal handlers. */
void cancel_post(const struct cancel *c);
/* Waits may begin again; it becomes readable by the next post, or when its time has passed. */
void cancel_reset(const struct cancel *c);
static inline int cancel_file(const struct cancel *c)
{
    return c->timer > 0 ? c->either : c->event;
}
/* Zeros are fine. */
void cancel_close(struct cancel *c);

/* Whether waits are to end. Returns 0, or INTERRUPTED with *error set; the context replaces it by
 * the reason (context_check_interrupt). */
int cancel_check(struct env *env, int cancelled, struct glint_error *error);
/* Waits until `file` can be read, or has an error. Returns as cancel_check, or a negative errno
 * (poll), with no error set. */
int cancel_wait_readable(struct env *env, int file, int cancelled, struct glint_error *error);

#endif
