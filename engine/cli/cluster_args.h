/* The options of verbs that talk to a cluster without being a job: --cluster, and those that stand
 * for keys of its file. */
#ifndef GLINT_CLI_CLUSTER_ARGS_H
#define GLINT_CLI_CLUSTER_ARGS_H

#include "engine/cli/cluster_file.h"
#include "engine/cli/options.h"

#define CLUSTER_ARGS_OPTIONS_MAX (CLUSTER_KEYS + 2)

/* --cluster, a row for each key that has an option, and the end. Help shows those whose names stand
 * in `shown`, which ends with NULL. */
void cluster_args_options(const char *const *shown,
                          struct glint_job_option out[CLUSTER_ARGS_OPTIONS_MAX]);
/* `listens`: the file need not name executors. Without it a file must be named, by --cluster or
 * $GLINT_CLUSTER. False: *error is set. cluster_file_fini in any case. */
bool cluster_args_read(const struct cli_line *line, bool listens, struct cluster_file *out,
                       struct glint_error *error);

#endif
