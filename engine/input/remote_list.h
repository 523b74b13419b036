/* Lists what is at a URL of a store: the objects below a prefix (s3), the files of a directory
 * (webhdfs). */
#ifndef GLINT_INPUT_REMOTE_LIST_H
#define GLINT_INPUT_REMOTE_LIST_H

#include "engine/input/listed_object.h"

/* `url` is of s3 or webhdfs, without a slash at its end. Calls `entry` for each name in it, in any
 * order: relative to the URL. Names that do not begin with `begin` may be left out. With
 * `recursive` names have slashes; a directory, which s3 does not have, is listed if `entry` returns
 * 1 for it. Otherwise the first result that is not 0 ends the walk and is returned; or returns 0,
 * or a code with *error set: INTERRUPTED once `cancelled` (0: none) is readable, INPUT_URL also for
 * a list that has no end. */
int remote_list(struct env *env, const char *url, const char *begin, bool recursive, int cancelled,
                listed_object_call *entry, void *arg, struct glint_error *error);

#endif
