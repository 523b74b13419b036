/* Reads the options that every job has into the settings of a context. */
#ifndef GLINT_CLI_SETTINGS_H
#define GLINT_CLI_SETTINGS_H

#include "engine/cli/cluster_file.h"
#include "engine/cli/options.h"
#include "engine/cli/print.h"
#include "engine/plan/progress.h"

/* The table, for struct cli_syntax.common. */
extern const struct glint_job_option settings_options[];

enum plan_format { PLAN_TEXT, PLAN_DOT, PLAN_SVG };

/* The settings of one job, as read from its command line. */
struct settings {
    struct glint_config config; /* the caller adds operators, modules and callbacks */
    struct cluster_file file;   /* config.cluster may point here, so settings must not move */
    enum print_color color;
    enum plan_format format; /* of explain */
    bool json, quiet, verbose;
};

/* Reads and checks every value, including the cluster's file. Returns false with *error set, which
 * names the option. Texts are borrowed from the line. Call settings_fini in any case. */
bool settings_read(struct settings *out, const struct cli_line *line, struct glint_error *error);
void settings_fini(struct settings *s);

/* Reads the options about a cluster (settings_cluster.c); sets config.cluster if there is one. */
bool settings_read_cluster(struct settings *out, const struct cli_line *line,
                           struct glint_error *error);

/* Parse single values. Return false if the form is wrong, or the value is out of range. */
bool settings_parse_master(const char *text,
                           uint32_t *out_slots); /* local: 1, local[N], local[*]: 0 */
/* HOST:PORT or [::1]:PORT; the arena owns the host. */
bool settings_parse_address(const char *text, struct arena *memory, const char **out_host,
                            uint16_t *out_port);
bool settings_parse_duration(const char *text,
                             uint64_t *out_ns); /* 90, 200ms, 1.5s, 5m, 2h; above 0 */

#endif
