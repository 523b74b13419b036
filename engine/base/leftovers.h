/* Directories that belong to this process alone, so that one that ends at once, by a crash or a
 * second signal, can still remove them. */
#ifndef GLINT_BASE_LEFTOVERS_H
#define GLINT_BASE_LEFTOVERS_H

#include <stdbool.h>

/* The directory at `path`, as it is now: it is opened. Beyond LEFTOVERS_MAX, or where it cannot be
 * opened, it is left for the next run to remove. Any thread. */
#define LEFTOVERS_MAX 64
void leftovers_add(const char *path);
/* It is removed, or must stay. Nothing, if it was not added. `path` as it was given to add. */
void leftovers_drop(const char *path);
bool leftovers_any(void);
/* Removes them, while other threads may still write into them. True: none is left. May be called in
 * a signal handler. */
bool leftovers_remove(void);

#endif
