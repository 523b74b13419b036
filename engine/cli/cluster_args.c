/* Every key is an option of every such command, so that options of submit work here too; the help
 * shows only those that matter to the command. */
#include "engine/cli/cluster_args.h"

#include "engine/cli/cluster_options.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

void cluster_args_options(const char *const *shown,
                          struct glint_job_option out[CLUSTER_ARGS_OPTIONS_MAX])
{
    out[0] = (struct glint_job_option){"cluster", "FILE", NULL,
                                       "the cluster's file (default: $GLINT_CLUSTER)"};
    cluster_options_make(out + 1);
    for (struct glint_job_option *row = out + 1; row->name != NULL; row++) {
        bool show = false;
        for (uint32_t i = 0; shown[i] != NULL; i++) show = show || strcmp(shown[i], row->name) == 0;
        /* A row without help works, but is hidden. */
        if (!show) row->help = NULL;
        assert(row - out < CLUSTER_ARGS_OPTIONS_MAX);
    }
}

bool cluster_args_read(const struct cli_line *line, bool listens, struct cluster_file *out,
                       struct glint_error *error)
{
    struct cluster_option options[CLUSTER_KEYS];
    const char *path = cli_line_option(line, "cluster"), *variable = getenv("GLINT_CLUSTER");
    const struct cluster_source source = {.path = path,
                                          .options = options,
                                          .option_count = cluster_options_read(line, options),
                                          .listens = listens};
    /* The caller calls cluster_file_fini even after an early return. */
    memset(out, 0, sizeof *out);
    if (path == NULL && !listens && (variable == NULL || variable[0] == '\0')) {
        error_set(error, GLINT_E_USAGE, "add --cluster FILE, as in --cluster cluster.toml",
                  "%s needs a cluster file", line->syntax->command);
        return false;
    }
    return cluster_file_read(out, env_real(), &source, error) == GLINT_OK;
}
