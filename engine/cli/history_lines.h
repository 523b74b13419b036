/* Reads an event log line by line. Each line must be JSON with a known schema version and the
 * fields of its event. */
#ifndef GLINT_CLI_HISTORY_LINES_H
#define GLINT_CLI_HISTORY_LINES_H

#include "engine/base/env.h"
#include "engine/base/error.h"

#include <jansson.h>
#include <stdbool.h>

/* Makes jansson allocate with mem_*. Call it once, before any other function of jansson. */
void history_lines_init(void);
/* True if jansson has been unable to allocate since history_lines_init. */
bool history_lines_out_of_memory(void);
/* Calls `line` for each line; it must json_incref what it keeps. It returns 0, or a code with
 * *error set, to whose cause file and line are prepended. Returns 0, INPUT_..., EVENT_LOG_INVALID
 * or NO_MEMORY. *out_truncated: an incomplete last line was ignored. */
int history_read_lines(struct env *env, const char *path,
                       int (*line)(void *arg, json_t *o, struct glint_error *error), void *arg,
                       bool *out_truncated, struct glint_error *error);

#endif
