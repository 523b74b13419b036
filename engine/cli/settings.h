/* The options that every job takes, read into what a context is made of. */
#ifndef GLINT_CLI_SETTINGS_H
#define GLINT_CLI_SETTINGS_H

#include "engine/cli/options.h"
#include "engine/cli/print.h"
#include "engine/plan/config.h"

/* The table, for struct cli_syntax.common. */
extern const struct glint_job_option settings_options[];

struct settings {
    struct glint_config config; /* operators, modules and callbacks are the caller's to add */
    enum print_color color;
    bool json, quiet, verbose;
};

/* Checks every value. False: *error names the option. Texts stay borrowed from the line. */
bool settings_read(struct settings *out, const struct cli_line *line, struct glint_error *error);

/* Single values. False: not of that form, or out of its range. */
bool settings_master(const char *text, uint32_t *out_slots); /* local, local[N], local[*]: 0 */
bool settings_duration(const char *text, uint64_t *out_ns);  /* 90, 200ms, 1.5s, 5m, 2h; above 0 */

#endif
