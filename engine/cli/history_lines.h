/* The lines of an event log, one by one: each is JSON, of a schema that is known, and has the
 * fields of its event. */
#ifndef GLINT_CLI_HISTORY_LINES_H
#define GLINT_CLI_HISTORY_LINES_H

#include "engine/base/env.h"
#include "engine/base/error.h"

#include <jansson.h>
#include <stdbool.h>

/* jansson's memory comes from mem_*: once, before any of its calls. */
void history_lines_init(void);
/* Calls `line` for each; what it keeps it must json_incref. It answers 0, or a code with *error
 * set, whose cause then gets the file and line in front. 0, INPUT_..., EVENT_LOG_INVALID or
 * NO_MEMORY. *out_torn: behind the last line end there was more, which was passed over. */
int history_read_lines(struct env *env, const char *path,
                       int (*line)(void *arg, json_t *o, struct glint_error *error), void *arg,
                       bool *out_torn, struct glint_error *error);

#endif
