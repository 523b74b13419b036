/* glint config show: prints the effective configuration of a cluster, from its file, the
 * environment and options, and the origin of each value. Prints the paths of secrets, never their
 * content. */
#include "engine/base/json.h"
#include "engine/cli/cli.h"
#include "engine/cli/cluster_file.h"
#include "engine/cli/options.h"
#include "engine/cli/print.h"

#include <stdio.h>

enum { NAME_WIDTH = 24, VALUE_WIDTH = 28 };

/* Prints the keys of one section as members of an object or, if `j` is NULL, as rows of text.
 * Returns false when out of memory. */
static bool print_config_section(struct cluster_file *file, uint32_t n, struct json *j)
{
    const struct cluster_section s = cluster_file_section(file, n);
    struct buffer value = {NULL, 0, 0};
    char name[128], origin[512];
    for (uint32_t i = 0; i < s.count; i++) {
        const struct config_key *key = &s.keys[i];
        value.size = 0;
        if (!config_key_print(key, s.target, &value)) value.size = 0;
        if (!buffer_append(&value, "", 1)) break;
        const char *text = value.size > 1 ? (const char *)value.data : NULL;
        cluster_key_origin_format(file, key, &s.origins[i], origin, sizeof origin);
        if (j != NULL) {
            json_begin(j, key->name, '{');
            json_cstring(j, "value", text);
            json_cstring(j, "origin", origin);
            json_end(j, '}');
            continue;
        }
        const int width = text != NULL ? (int)value.size - 1 : 1;
        snprintf(name, sizeof name, "%s%s%s", s.executor != NULL ? s.executor : "",
                 s.executor != NULL ? "." : "", key->name);
        printf("%-*s ", NAME_WIDTH, name);
        print_escaped(stdout, text != NULL ? text : "-", "");
        printf("%*s ", width < VALUE_WIDTH ? VALUE_WIDTH - width : 0, "");
        print_escaped(stdout, origin, "");
        putchar('\n');
    }
    const bool kept = value.size > 0;
    buffer_fini(&value);
    return kept;
}

static bool print_config_text(struct cluster_file *file)
{
    bool kept = true;
    for (uint32_t n = 0; n <= file->cluster.executor_count && kept; n++)
        kept = print_config_section(file, n, NULL);
    return kept;
}

static bool print_config_json(struct cluster_file *file)
{
    struct json j = {.failed = false};
    json_begin(&j, NULL, '{');
    json_cstring(&j, "file", file->cluster.path);
    json_begin(&j, "keys", '{');
    print_config_section(file, 0, &j);
    json_end(&j, '}');
    json_begin(&j, "executors", '[');
    for (uint32_t n = 1; n <= file->cluster.executor_count; n++) {
        json_begin(&j, NULL, '{');
        print_config_section(file, n, &j);
        json_end(&j, '}');
    }
    json_end(&j, ']');
    json_end(&j, '}');
    return print_json_object(stdout, &j);
}

static void show_config(const struct cli_line *line, struct glint_error *error)
{
    struct cluster_file file;
    if (cluster_file_read(&file, env_real(), line, false, error) == GLINT_OK &&
        !(cli_line_flag(line, "json") ? print_config_json(&file) : print_config_text(&file)))
        error_no_memory(error);
    cluster_file_fini(&file);
}

static const struct cli_command config_show = {
    .name = "show",
    .summary = "print each key, its value, and where it was set",
    .syntax = {.command = "glint config show",
               .summary = "Prints each key of a cluster, its value, and where it was set.",
               .help = "An option overrides the environment (GLINT_HEARTBEAT), which overrides the "
                       "file, which overrides the default. All keys: docs/cluster.md",
               .own = cli_json_option,
               .takes_cluster = true},
    .execute = show_config};

static const struct cli_command *const config_commands[] = {&config_show, NULL};

const struct cli_command cmd_config = {
    .name = "config",
    .summary = "show how a cluster is configured",
    .syntax = {.command = "glint config", .summary = "Shows how a cluster is configured."},
    .commands = config_commands};
