/* Options that override keys of a cluster's file: --heartbeat for heartbeat. */
#ifndef GLINT_CLI_CLUSTER_OPTIONS_H
#define GLINT_CLI_CLUSTER_OPTIONS_H

#include "engine/cli/cluster_file.h"
#include "engine/cli/options.h"

/* Writes a row for each key that has an option, and the end row; `out` has CLUSTER_KEYS + 1. */
void cluster_options_make(struct glint_job_option *out);
/* Collects the options that were given; all must be in the line's tables. `out` has room for
 * CLUSTER_KEYS. Returns the count. Texts are borrowed from the line. */
uint32_t cluster_options_read(const struct cli_line *line, struct cluster_option *out);

#endif
