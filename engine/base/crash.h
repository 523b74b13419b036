/* Reports crashes of this process (SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT). The signal then still
 * ends the process, with a core file if the system is configured so.
 *
 * A handler that is already installed (by a sanitizer or the program) is kept. */
#ifndef GLINT_BASE_CRASH_H
#define GLINT_BASE_CRASH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CRASH_TEXT_MAX 1024u

/* One line of text, truncated when full. The functions are async-signal-safe. */
struct crash_text {
    char text[CRASH_TEXT_MAX]; /* not NUL-terminated */
    size_t size;
};
/* Append text, with unprintable bytes escaped, or a decimal or hexadecimal number. */
void crash_text_append(struct crash_text *t, const char *text);
void crash_text_append_u64(struct crash_text *t, uint64_t number);

/* Main thread, once. `name` is the job's or the executor's, and must stay valid. `report` is called
 * in the signal handler with one line about the crash and the backtrace, one line per frame, if
 * available; NULL: print to standard error. */
void crash_handler_install(const char *name, void (*report)(const char *text, size_t size));
/* Gives the calling thread a signal stack, so that a stack overflow is reported too. `describe`
 * adds what the thread was doing, in the signal handler; NULL: the thread runs no tasks. */
void crash_handler_enter_thread(void (*describe)(void *arg, struct crash_text *out), void *arg);
/* Call it at the end of a thread that called crash_handler_enter_thread. */
void crash_handler_leave_thread(void);

/* ---- Directories that belong only to this process, so that it can remove them even if it ends
 * abruptly, by a crash or a second signal. */

/* Registers the directory at `path` and keeps it open. If EXIT_DIRS_MAX are registered, or it
 * cannot be opened, it is left to the next run's cleanup. Any thread. */
#define EXIT_DIRS_MAX 64
void exit_dirs_register(const char *path);
/* Call it when the directory has been removed, or must be kept. No effect if it is not registered.
 * `path` must be the same text as in exit_dirs_register. */
void exit_dirs_unregister(const char *path);
bool exit_dirs_any_registered(void);
/* Removes all registered directories, while other threads may still write into them. Returns true
 * if none is left. Async-signal-safe. */
bool exit_dirs_remove_all(void);

#endif
