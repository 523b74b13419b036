/* The options that stand for keys of a cluster's file: --heartbeat for heartbeat. */
#ifndef GLINT_CLI_CLUSTER_OPTIONS_H
#define GLINT_CLI_CLUSTER_OPTIONS_H

#include "engine/cli/cluster_file.h"
#include "engine/cli/options.h"

/* A row for each key that has an option, and the end: room for CLUSTER_KEYS + 1. */
void cluster_options_make(struct glint_job_option *out);
/* Those that were given; every one must be in the line's tables. `out` has room for CLUSTER_KEYS.
 * Answers how many. Texts stay borrowed from the line. */
uint32_t cluster_options_read(const struct cli_line *line, struct cluster_flag *out);

#endif
