/* An eventfd, since a signal handler may write to it; with a time limit also a timerfd, and an
 * epoll descriptor that is readable when one of the two is. */
#include "engine/base/cancel.h"

#include <assert.h>
#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

/* Returns 0 or -1 with errno set. */
static int open_timeout_timer(struct cancel *c, uint64_t timeout_ns)
{
    const struct itimerspec when = {.it_value = {.tv_sec = (time_t)(timeout_ns / SECOND_NS),
                                                 .tv_nsec = (long)(timeout_ns % SECOND_NS)}};
    struct epoll_event readable = {.events = EPOLLIN};
    c->timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    if (c->timer < 0 || timerfd_settime(c->timer, 0, &when, NULL) != 0) return -1;
    c->either = epoll_create1(EPOLL_CLOEXEC);
    if (c->either < 0) return -1;
    if (epoll_ctl(c->either, EPOLL_CTL_ADD, c->timer, &readable) != 0) return -1;
    return epoll_ctl(c->either, EPOLL_CTL_ADD, c->event, &readable);
}

int cancel_open(struct cancel *c, uint64_t timeout_ns, struct glint_error *error)
{
    *c = (struct cancel){.event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
    int r = c->event >= 0 ? 0 : -1;
    if (r == 0 && timeout_ns > 0) r = open_timeout_timer(c, timeout_ns);
    if (r == 0) return 0;
    error_set(error, GLINT_E_SYSTEM, "raise the limit on open files (ulimit -n)",
              "cannot make a descriptor for cancelling: %s", strerror(errno));
    cancel_close(c);
    return error->code;
}

void cancel_post(const struct cancel *c)
{
    static const uint64_t one = 1;
    const ssize_t n = write(c->event, &one, sizeof one);
    assert(n == (ssize_t)sizeof one || errno == EAGAIN); /* EAGAIN: it is readable */
}

void cancel_reset(const struct cancel *c)
{
    uint64_t posts;
    const ssize_t n = read(c->event, &posts, sizeof posts);
    assert(n == (ssize_t)sizeof posts || errno == EAGAIN); /* EAGAIN: none */
}

void cancel_close(struct cancel *c)
{
    if (c->either > 0) close(c->either);
    if (c->timer > 0) close(c->timer);
    if (c->event > 0) close(c->event);
    *c = (struct cancel){.event = 0};
}

static int mark_cancelled(struct glint_error *error)
{
    return error_set(error, GLINT_E_INTERRUPTED, NULL, "the job was cancelled");
}

int cancel_check(struct env *env, int cancelled, struct glint_error *error)
{
    struct pollfd wait = {.fd = cancelled, .events = POLLIN};
    if (cancelled <= 0 || env->poll(env, &wait, 1, 0) <= 0) return 0;
    return mark_cancelled(error);
}

int cancel_wait_readable(struct env *env, int file, int cancelled, struct glint_error *error)
{
    struct pollfd waits[] = {{.fd = file, .events = POLLIN}, {.fd = cancelled, .events = POLLIN}};
    int r = 0;
    while (r == 0) r = env->poll(env, waits, cancelled > 0 ? 2 : 1, -1);
    if (r > 0 && waits[1].revents != 0) return mark_cancelled(error);
    return r < 0 ? r : 0;
}
