/* Paths as users write them. Pure; any thread. */
#ifndef GLINT_BASE_PATH_H
#define GLINT_BASE_PATH_H

#include <stddef.h>

#define PATH_HINT_BYTES 256u

/* The path in a file URL: "file:///a", "file:/a" and "file://localhost/a" are /a. As in Spark,
 * nothing is percent-decoded. All other text as it is. Points into `text`. */
const char *path_local(const char *text);

/* Why there may be nothing at `text`, as its form tells: it is another URL, a ~ that no shell has
 * expanded, a file URL of another host or with percent signs. Writes what to do into `hint`
 * (PATH_HINT_BYTES) and returns the reason, a static text. NULL: its form says nothing. */
const char *path_explain(const char *text, char *hint);

#endif
