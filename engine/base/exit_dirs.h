/* Directories that belong only to this process, so that it can remove them even if it ends
 * abruptly, by a crash or a second signal. */
#ifndef GLINT_BASE_EXIT_DIRS_H
#define GLINT_BASE_EXIT_DIRS_H

#include <stdbool.h>

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
