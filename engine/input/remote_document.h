/* Reads small responses as a whole: lists of objects, and descriptions of files. */
#ifndef GLINT_INPUT_REMOTE_DOCUMENT_H
#define GLINT_INPUT_REMOTE_DOCUMENT_H

#include "engine/base/mem.h"
#include "engine/input/remote_target.h"

/* Appends the response to the query to `out`, with retries. Returns 0 or a code with *error set, as
 * remote_reader_read, or INPUT_URL if it is longer than `size_max`. Ends with INTERRUPTED when
 * the target's `cancelled` is readable. */
int remote_document_read(struct remote_target *target, struct env *env, const char *name,
                         const char *query, uint64_t size_max, struct buffer *out,
                         struct glint_error *error);

#endif
