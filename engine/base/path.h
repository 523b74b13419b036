/* Paths as users write them. Any thread. */
#ifndef GLINT_BASE_PATH_H
#define GLINT_BASE_PATH_H

#include "engine/base/env.h"

#include <stdbool.h>
#include <stddef.h>

#define PATH_HINT_BYTES 256u

/* Returns the path of a file URL: "file:///a", "file:/a" and "file://localhost/a" are /a. As in
 * Spark, nothing is percent-decoded. Any other text is returned unchanged. Points into `text`. */
const char *path_from_file_url(const char *text);

/* Explains from its form why `text` may not exist as a path: another kind of URL, a ~ that no shell
 * has expanded, a file URL of another host or with percent signs. Writes a hint (PATH_HINT_BYTES)
 * and returns the reason, a static string. NULL: the form gives no explanation. */
const char *path_explain_missing(const char *text, char *hint);

/* Splits `path` into its directory ("." if it names none) and its last component, ignoring trailing
 * slashes. Both outputs have `capacity` bytes. Returns false if it is too long, or the last
 * component is empty, "." or "..". */
bool path_split(const char *path, char *directory, char *name, size_t capacity);

/* Writes the path of the program `name`: itself if it has a slash, else that of the first
 * executable file of that name in the directories of $PATH. Returns false if there is none. */
bool path_find_program(struct env *env, const char *name, char *out, size_t capacity);

#endif
