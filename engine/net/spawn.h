/* A program that is started, and its end.
 *
 * By posix_spawn: a fork would copy the tables of all memory, and the locks of whatever thread held
 * them. The program gets the files it is given and no others, no signal blocked or ignored. Its end
 * is heard of through a descriptor of its own. Loop thread only. */
#ifndef GLINT_NET_SPAWN_H
#define GLINT_NET_SPAWN_H

#include "engine/base/error.h"

#include <stdbool.h>
#include <sys/types.h>
#include <uv.h>

#define SPAWN_FILES_MAX 4u

struct spawn_program {
    const char *path;           /* looked for in $PATH where it has no slash */
    char *const *words;         /* its arguments, the name first; NULL behind the last */
    char *const *variables;     /* its environment; NULL: this process's own */
    int files[SPAWN_FILES_MAX]; /* what its descriptors 0, 1, .. are; -1: nothing */
    uint32_t file_count;
    bool own_session; /* away from the terminal */
};

/* Zeros are one that was never started. */
struct spawn {
    uv_poll_t poll;
    pid_t pid;
    int file; /* that tells of its end */
    bool open, running;
    void (*exited)(void *arg, int wait_status);
    void (*closed)(void *arg);
    void *arg;
};

/* `ended`: from the loop, once. 0, or a negative errno: nothing runs, and nothing is open. */
int spawn_start(struct spawn *s, uv_loop_t *loop, const struct spawn_program *program,
                void (*exited)(void *arg, int wait_status), void *arg);
/* The error of a spawn_start that answered `failed`: it could not start `name`, or, where there is
 * no /dev/null, not give it that. Returns the code. */
int spawn_set_error(struct glint_error *error, enum glint_code code, int failed, const char *name);
/* One that has ended gets none. */
void spawn_kill(struct spawn *s, int number);
/* Hears no more of it; `closed` comes from the loop, then the memory is the caller's again. False:
 * nothing is open, and it will not come. */
bool spawn_close(struct spawn *s, void (*closed)(void *arg));

#endif
