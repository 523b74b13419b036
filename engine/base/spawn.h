/* Child processes: starting a program, and waiting for its exit on the event loop. The child
 * inherits only the given files, with no signal blocked or ignored. Its exit is reported through a
 * pidfd. Loop thread only, except where stated. */
#ifndef GLINT_BASE_SPAWN_H
#define GLINT_BASE_SPAWN_H

#include "engine/base/error.h"

#include <stdbool.h>
#include <sys/types.h>
#include <uv.h>

#define SPAWN_FILES_MAX 5u

/* What to start; borrowed until the call returns. */
struct spawn_program {
    const char *path;           /* spawn_start searches it in $PATH if it has no slash */
    char *const *words;         /* argv, NULL-terminated */
    char *const *variables;     /* environment; NULL: inherit */
    int files[SPAWN_FILES_MAX]; /* its descriptors 0, 1, ..; -1: /dev/null */
    uint32_t file_count;
    bool own_session; /* setsid: detached from the terminal */
    /* With own_session: if it is killed or fails, the processes that it has started end, too. */
    bool end_session;
    /* It leads a process group of its own, one of those below, and the kernel kills it when the
     * calling thread ends. */
    bool ends_with_thread;
};

/* Starts a program. Returns its pid and sets *out_exited to a pidfd, readable on exit; or returns a
 * negative errno with nothing running or open. Any thread. */
int spawn_process(const struct spawn_program *p, int *out_exited);

/* A child process; zeros: never started. */
struct spawn {
    uv_poll_t poll;
    pid_t pid;
    int file; /* pidfd, readable on exit */
    bool open, running, end_session;
    void (*exited)(void *arg, int wait_status);
    void (*closed)(void *arg);
    void *arg;
};

/* Starts a program. `exited` is called once, from the loop, with the status as from waitpid.
 * Returns 0, or a negative errno with nothing running or open. */
int spawn_start(struct spawn *s, uv_loop_t *loop, const struct spawn_program *program,
                void (*exited)(void *arg, int wait_status), void *arg);
/* Sets *error after spawn_start returned `failed`: `name` could not be started, or /dev/null does
 * not exist. Returns the code. */
int spawn_set_error(struct glint_error *error, enum glint_code code, int failed, const char *name);
/* Sends a signal. Does nothing if the process has exited. */
void spawn_kill(struct spawn *s, int number);
/* Stops waiting for the exit; a running process is not killed, and `exited` is not called.
 * `closed` is called from the loop; *s may be freed then. Returns false if *s is not open:
 * `closed` is not called. */
bool spawn_close(struct spawn *s, void (*closed)(void *arg));

/* The process groups of running commands, so that a process that crashes or ends at once can kill
 * them: the kernel kills only the leaders, which are its children (PR_SET_PDEATHSIG). */

/* Without a free slot it is not registered. */
void child_process_groups_add(int group);
/* Call it before the leader is reaped: until then the number is still that of the group. */
void child_process_groups_remove(int group);
/* Kills what is left of all groups. Async-signal-safe. */
void child_process_groups_kill_all(void);

#endif
