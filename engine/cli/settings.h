/* The options that every job takes, read into what a context is made of. */
#ifndef GLINT_CLI_SETTINGS_H
#define GLINT_CLI_SETTINGS_H

#include "engine/cli/cluster_file.h"
#include "engine/cli/options.h"
#include "engine/cli/print.h"
#include "engine/plan/progress.h"

/* The table, for struct cli_syntax.common. */
extern const struct glint_job_option settings_options[];

enum plan_format { PLAN_TEXT, PLAN_DOT, PLAN_SVG };

struct settings {
    struct glint_config config; /* operators, modules and callbacks are the caller's to add */
    struct cluster_file file;   /* where config.cluster points to: settings stay where they are */
    enum print_color color;
    enum plan_format format; /* of explain */
    bool json, quiet, verbose;
};

/* Checks every value, the cluster's file included. False: *error names the option. Texts stay
 * borrowed from the line. settings_fini in any case. */
bool settings_read(struct settings *out, const struct cli_line *line, struct glint_error *error);
void settings_fini(struct settings *s);

/* The options about a cluster (settings_cluster.c); sets config.cluster where there is one. */
bool settings_read_cluster(struct settings *out, const struct cli_line *line,
                           struct glint_error *error);

/* Single values. False: not of that form, or out of its range. */
bool settings_parse_master(const char *text,
                           uint32_t *out_slots); /* local, local[N], local[*]: 0 */
/* HOST:PORT, [::1]:PORT; the host is the arena's. */
bool settings_parse_address(const char *text, struct arena *memory, const char **out_host,
                            uint16_t *out_port);
bool settings_parse_duration(const char *text,
                             uint64_t *out_ns); /* 90, 200ms, 1.5s, 5m, 2h; above 0 */

#endif
