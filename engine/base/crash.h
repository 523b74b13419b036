/* What a process says of its own crash: SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT. The signal still
 * ends the process, with a core file where the system is set so.
 *
 * A handler that is there already (of a sanitizer, of the program) stays. */
#ifndef GLINT_BASE_CRASH_H
#define GLINT_BASE_CRASH_H

#include <stddef.h>
#include <stdint.h>

#define CRASH_TEXT_MAX 1024u

/* One line, cut where it is full. Its functions may be called in a signal handler. */
struct crash_text {
    char text[CRASH_TEXT_MAX]; /* no NUL at its end */
    size_t size;
};
void crash_text_append(struct crash_text *t, const char *text);
void crash_text_append_u64(struct crash_text *t, uint64_t number);

/* Main thread, once. `name`, which stays, is the job's, or the executor's. `report` takes one line
 * about the crash and then the backtrace, a line per frame, if there is one; NULL: they go to
 * standard error. It is called in the signal handler. */
void crash_handler_install(const char *name, void (*report)(const char *text, size_t size));
/* From here on a stack that overflows is a crash like others, and a crash of this thread is
 * described by `describe`, in the signal handler; NULL: the thread runs no tasks. */
void crash_handler_enter_thread(void (*describe)(void *arg, struct crash_text *out), void *arg);
/* At the end of a thread that has begun so. */
void crash_handler_leave_thread(void);

#endif
