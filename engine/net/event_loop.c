/* Before uv_loop_init, opens as many descriptors as it will need, to find out whether the limit
 * allows it: an epoll descriptor, an eventfd, and two pipes for signals, one of the process and one
 * of the loop. */
#include "engine/net/event_loop.h"

#include <assert.h>
#include <errno.h>
#include <signal.h>
#include <sys/eventfd.h>

#define LOOP_FILES 6

static int check_descriptors_left(struct env *env)
{
    int files[LOOP_FILES], count = 0;
    while (count < LOOP_FILES && (files[count] = eventfd(0, EFD_CLOEXEC)) >= 0) count++;
    int r = count == LOOP_FILES ? 0 : -errno;
    assert(r <= 0 && count <= LOOP_FILES);
    while (count > 0) env->close(env, files[--count]);
    return r;
}

int event_loop_init(uv_loop_t *loop, struct env *env, struct glint_error *error)
{
    int r = check_descriptors_left(env);
    if (r == 0) r = uv_loop_init(loop);
    if (r == 0) return 0;
    assert(r < 0);
    return error_set(error, GLINT_E_SYSTEM, "raise the limit on open files (ulimit -n)",
                     "cannot start an event loop: %s", uv_strerror(r));
}

void signal_close_and_ignore(uv_signal_t *handler)
{
    static const int signals[] = {SIGTERM, SIGINT, SIGHUP};
    sigset_t blocked;
    assert(!uv_is_closing((uv_handle_t *)handler));
    sigemptyset(&blocked);
    for (unsigned i = 0; i < sizeof signals / sizeof signals[0]; i++)
        sigaddset(&blocked, signals[i]);
    /* A signal between uv_close, which restores the default action, and SIG_IGN would kill
     * the process. */
    pthread_sigmask(SIG_BLOCK, &blocked, NULL); /* stay blocked; ignored below */
    uv_close((uv_handle_t *)handler, NULL);
    for (unsigned i = 0; i < sizeof signals / sizeof signals[0]; i++) signal(signals[i], SIG_IGN);
}
