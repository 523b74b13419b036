/* Reads the options that every job has into the settings of a context. */
#ifndef GLINT_CLI_SETTINGS_H
#define GLINT_CLI_SETTINGS_H

#include "engine/cli/cluster_file.h"
#include "engine/cli/options.h"
#include "engine/cli/print.h"
#include "engine/plan/context_config.h"
#include "engine/plan/progress.h"

/* Returns the rows for struct cli_syntax.common: job_keys and the options of a cluster. */
const struct glint_job_option *settings_options(void);

enum graph_format { GRAPH_NONE, GRAPH_DOT, GRAPH_SVG };

/* The settings of one job, as read from its command line. */
struct settings {
    struct context_config config; /* the caller adds operators, modules and callbacks */
    struct cluster_file file;     /* config.cluster may point here, so settings must not move */
    const char *listen;           /* HOST:PORT; NULL: not given */
    const char *ui, *ui_token;    /* [HOST:PORT], FILE; NULL: not given */
    const char *input;            /* the last of them (cli/job.h); NULL: not given */
    uint32_t executors;           /* to wait for; 0: not given */
    enum print_color color;
    enum graph_format graph; /* of explain */
    bool json, quiet, verbose;
};

/* Reads and checks every value, including the cluster's file. Returns false with *error set, which
 * names the option. Texts are borrowed from the line. Call settings_fini in any case. */
bool settings_read(struct settings *out, const struct cli_line *line, struct glint_error *error);
void settings_fini(struct settings *s);

/* Rejects a limit of bad rows that has no effect. Returns 0 or USAGE. */
int settings_check_bad_rows(const struct context_config *config, struct glint_error *error);

/* Parses the value of `option`, HOST:PORT or [::1]:PORT, if it was given; the arena owns the host.
 * Returns false with *error set if it is not valid. */
bool settings_read_address(const struct cli_line *line, const char *option, struct arena *memory,
                           const char **out_host, uint16_t *out_port, struct glint_error *error);

#endif
