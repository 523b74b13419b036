/* Directories that belong to this process alone, so that one that ends at once, by a crash or a
 * second signal, can still remove them. */
#ifndef GLINT_BASE_EXIT_DIRS_H
#define GLINT_BASE_EXIT_DIRS_H

#include <stdbool.h>

/* The directory at `path`, as it is now: it is opened. Beyond EXIT_DIRS_MAX, or where it cannot be
 * opened, it is left for the next run to remove. Any thread. */
#define EXIT_DIRS_MAX 64
void exit_dirs_register(const char *path);
/* It is removed, or must stay. Nothing, if it was not added. `path` as it was given to add. */
void exit_dirs_unregister(const char *path);
bool exit_dirs_any_registered(void);
/* Removes them, while other threads may still write into them. True: none is left. May be called in
 * a signal handler. */
bool exit_dirs_remove_all(void);

#endif
