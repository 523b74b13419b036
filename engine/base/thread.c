/* The stack has a size of our own: the default is the limit of the first thread's (ulimit -s), and
 * thread-local buffers, which lie in it, too, are larger than a small one. */
#include "engine/base/thread.h"

#include <assert.h>
#include <signal.h>
#include <string.h>

#define STACK_BYTES ((size_t)8 << 20) /* what is touched takes memory, the rest addresses */

int thread_start(pthread_t *out, void *(*run)(void *arg), void *arg, struct glint_error *error)
{
    pthread_attr_t attributes;
    sigset_t all, before;
    if (pthread_attr_init(&attributes) != 0) return error_no_memory(error);
    int failed = pthread_attr_setstacksize(&attributes, STACK_BYTES);
    assert(failed == 0);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before); /* what is started inherits it */
    failed = pthread_create(out, &attributes, run, arg);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
    if (failed == 0) return 0;
    return error_set(error, GLINT_E_SYSTEM,
                     "raise the limit on processes (ulimit -u) or on memory, or use fewer slots",
                     "cannot start a thread: %s", strerror(failed));
}
