/* The jobs of event logs, for the web page: of one file, or of all files in a directory. */
#ifndef GLINT_CLI_HISTORY_JOBS_H
#define GLINT_CLI_HISTORY_JOBS_H

#include "engine/base/env.h"
#include "engine/web/web_http.h"

struct history_jobs;

/* Reads the logs once. Returns NULL with *error set: INPUT_..., EVENT_LOG_INVALID (of a single
 * file), NO_MEMORY. Files of a directory that are not event logs are ignored. */
struct history_jobs *history_jobs_open(struct env *env, const char *path,
                                       struct glint_error *error);
/* Reads logs again that have changed. */
struct web_jobs history_jobs_as_web(struct history_jobs *j);
void history_jobs_close(struct history_jobs *j); /* NULL is allowed */

#endif
