/* Reads the rows of job_keys, then selects where a job runs: in this process (--master), on the
 * executors of a file (--cluster), or on executors that connect (--listen). Options without effect
 * are rejected instead of being silently ignored, so that users do not rely on them. */
#include "engine/cli/cli_internal.h"
#include "engine/cli/web.h"

#include <string.h>

const struct glint_job_option *settings_option_table(void)
{
    static struct glint_job_option rows[JOB_KEYS + CLUSTER_OPTIONS_MAX];
    for (uint32_t i = 0; i < JOB_KEYS; i++) {
        const struct config_key *key = &job_keys[i];
        rows[i] = (struct glint_job_option){key->option, key->value, key->default_value, key->help};
    }
    cluster_option_table("speculate", rows + JOB_KEYS);
    return rows;
}

bool settings_read_address(const struct cli_line *line, const char *option, struct arena *memory,
                           const char **out_host, uint16_t *out_port, struct glint_error *error)
{
    const char *text = cli_line_option(line, option);
    char host[256];
    if (text == NULL) return true;
    if (text[0] != ':' && cli_parse_address(text, 0, host, sizeof host, out_port) &&
        *out_port != 0 && config_key_is_host(host) &&
        (*out_host = arena_strdup(memory, host)) != NULL)
        return true;
    error_set(error, GLINT_E_BAD_VALUE, NULL,
              "--%s %s: it must be HOST:PORT, as in 127.0.0.1:7400 or [::1]:7400", option, text);
    return false;
}

static int read_job_settings(struct settings *out, const struct cli_line *line,
                             struct glint_error *error)
{
    for (uint32_t i = 0; i < JOB_KEYS; i++) {
        const struct config_key *key = &job_keys[i];
        const char *text = cli_line_option(line, key->option);
        char expected[128];
        /* No job key is a path or a list, so no memory is allocated. */
        if (text == NULL || config_key_set_text(key, text, NULL, out) == KEY_SET) continue;
        config_key_format_expected(key, expected, sizeof expected);
        return error_set(error, GLINT_E_BAD_VALUE, NULL, "--%s %s: it must be %s", key->option,
                         text, expected);
    }
    if (out->config.event_log == NULL || strcmp(out->config.event_log, "-") != 0) return 0;
    return error_set(error, GLINT_E_BAD_VALUE, "name a file; one that is named - is ./-",
                     "--event-log -: an event log is not written to standard output");
}

int settings_check_bad_rows(const struct context_config *config, struct glint_error *error)
{
    if (config->bad_rows_max < 0 || config->skip_bad_rows) return 0;
    return error_set(
        error, GLINT_E_USAGE, "add --bad-rows skip",
        "--max-bad-rows has no effect: without --bad-rows skip the first bad row fails "
        "the job");
}

static bool check_option_conflicts(const struct settings *s, const struct cli_line *line,
                                   struct glint_error *error)
{
    if (s->json && s->graph != GRAPH_NONE)
        error_set(error, GLINT_E_USAGE, "use only one of them",
                  "--json and --graph %s both write to standard output",
                  cli_line_option(line, "graph"));
    if (s->ui_token != NULL && s->ui == NULL)
        error_set(error, GLINT_E_USAGE, "add --ui", "--ui-token has no effect without --ui");
    settings_check_bad_rows(&s->config, error);
    if (cli_line_has(line, "master") && (cli_line_has(line, "cluster") || s->listen != NULL))
        error_set(error, GLINT_E_USAGE, "use only one of them",
                  "--master runs the job in this process, --%s on executors",
                  cli_line_has(line, "cluster") ? "cluster" : "listen");
    return error->code == GLINT_OK;
}

static int reject_cluster_options(const struct cli_line *line, struct glint_error *error)
{
    const char *name = cli_line_has(line, "executors") ? "executors" : NULL;
    for (uint32_t i = 0; name == NULL && i < CLUSTER_KEYS; i++)
        if (cluster_keys[i].option != NULL && cli_line_has(line, cluster_keys[i].option))
            name = cluster_keys[i].option;
    if (name == NULL) return 0;
    return error_set(error, GLINT_E_USAGE, "add --cluster FILE or --listen HOST:PORT",
                     "--%s has no effect in a job of one process", name);
}

static int read_cluster_settings(struct settings *out, const struct cli_line *line,
                                 struct glint_error *error)
{
    struct cluster *c = &out->file.cluster;
    /* --master overrides $GLINT_CLUSTER, which may be set for other jobs. */
    if (cli_line_has(line, "master") || (cluster_file_name(line) == NULL && out->listen == NULL))
        return reject_cluster_options(line, error);
    if (cli_line_has(line, "work-dir"))
        return error_set(error, GLINT_E_USAGE,
                         "set work_dir of each executor in the cluster's file",
                         "--work-dir has no effect in a cluster");
    if (!cluster_file_open(&out->file, line, out->listen != NULL, error) ||
        !settings_read_address(line, "listen", &out->file.memory, &c->listen_host, &c->listen_port,
                               error))
        return error->code;
    if (c->listen_host != NULL && !cluster_may_listen(c, c->listen_host))
        return error_set(error, GLINT_E_CONFIG, cluster_secret_hint,
                         "other hosts can connect to --listen %s, but no secret_file is configured",
                         out->listen);
    if (out->listen == NULL && out->executors > c->executor_count)
        return error_set(error, GLINT_E_BAD_VALUE, NULL,
                         "--executors %u: it must be a whole number from 1 to %u", out->executors,
                         c->executor_count);
    c->executors_min = out->executors;
    out->config.cluster = c;
    /* Use the memory of its slots. */
    if (!cli_line_has(line, "memory")) out->config.memory_bytes = 0;
    return 0;
}

bool settings_read(struct settings *out, const struct cli_line *line, struct glint_error *error)
{
    *out = (struct settings){.config = {.bad_rows_max = -1}};
    if (read_job_settings(out, line, error) != 0 || !check_option_conflicts(out, line, error))
        return false;
    out->verbose = out->verbose && !out->quiet;
    return read_cluster_settings(out, line, error) == 0;
}

void settings_fini(struct settings *s)
{
    cluster_file_fini(&s->file);
    s->config.cluster = NULL;
}
