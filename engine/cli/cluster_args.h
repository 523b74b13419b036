/* Options for commands that connect to a cluster without running a job: --cluster, and the options
 * that override keys of its file. */
#ifndef GLINT_CLI_CLUSTER_ARGS_H
#define GLINT_CLI_CLUSTER_ARGS_H

#include "engine/cli/cluster_file.h"
#include "engine/cli/options.h"

#define CLUSTER_ARGS_OPTIONS_MAX (CLUSTER_KEYS + 2)

/* Fills `out` with --cluster, a row for each key that has an option, and the end row. The help
 * shows only those named in `shown`, which ends with NULL. */
void cluster_args_options(const char *const *shown,
                          struct glint_job_option out[CLUSTER_ARGS_OPTIONS_MAX]);
/* Reads the cluster from options, environment and file. `listens`: the file need not list
 * executors, and may be omitted; otherwise --cluster or $GLINT_CLUSTER is required. Returns false
 * with *error set. Call cluster_file_fini in any case. */
bool cluster_args_read(const struct cli_line *line, bool listens, struct cluster_file *out,
                       struct glint_error *error);

#endif
