/* Paths as users write them. Pure; any thread. */
#ifndef GLINT_BASE_PATH_H
#define GLINT_BASE_PATH_H

#include <stdbool.h>
#include <stddef.h>

#define PATH_HINT_BYTES 256u

/* The path in a file URL: "file:///a", "file:/a" and "file://localhost/a" are /a. As in Spark,
 * nothing is percent-decoded. All other text as it is. Points into `text`. */
const char *path_from_file_url(const char *text);

/* Why there may be nothing at `text`, as its form tells: it is another URL, a ~ that no shell has
 * expanded, a file URL of another host or with percent signs. Writes what to do into `hint`
 * (PATH_HINT_BYTES) and returns the reason, a static text. NULL: its form says nothing. */
const char *path_explain_missing(const char *text, char *hint);

/* The directory that `path` is in, "." where it names none, and its own name; slashes at its end do
 * not count. Both have `capacity` bytes. False: too long, or it has no name of its own. */
bool path_split(const char *path, char *directory, char *name, size_t capacity);

#endif
