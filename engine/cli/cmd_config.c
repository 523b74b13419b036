/* glint config show: prints the effective configuration of a cluster, from its file, the
 * environment and options, and the origin of each value. Prints the paths of secrets, never their
 * content. */
#include "engine/base/json.h"
#include "engine/cli/cluster_file.h"
#include "engine/cli/commands.h"
#include "engine/cli/options.h"
#include "engine/cli/print.h"

#include <stdio.h>

enum { NAME_WIDTH = 24, VALUE_WIDTH = 28 };

/* Formats a key's value and origin. Returns false if the value is not set. */
static bool format_key(const struct cluster_file *file, const struct cluster_section *s, uint32_t i,
                       struct buffer *value, char *origin, size_t capacity)
{
    value->size = 0;
    cluster_origin_text(file, &s->keys[i], &s->origins[i], origin, capacity);
    return key_print(&s->keys[i], s->target, value);
}

static bool print_text(struct cluster_file *file)
{
    struct buffer value = {NULL, 0, 0};
    char name[128], origin[512];
    bool kept = true;
    for (uint32_t n = 0; n <= file->cluster.executor_count; n++) {
        const struct cluster_section s = cluster_file_section(file, n);
        for (uint32_t i = 0; i < s.count && kept; i++) {
            if (!format_key(file, &s, i, &value, origin, sizeof origin)) value.size = 0;
            if (value.size == 0) kept = buffer_append(&value, "-", 1);
            kept = kept && buffer_append(&value, "", 1);
            if (!kept) break;
            snprintf(name, sizeof name, "%s%s%s", s.executor != NULL ? s.executor : "",
                     s.executor != NULL ? "." : "", s.keys[i].name);
            printf("%-*s ", NAME_WIDTH, name);
            print_escaped(stdout, (const char *)value.data, "");
            printf("%*s ", value.size <= VALUE_WIDTH ? (int)(VALUE_WIDTH + 1 - value.size) : 0, "");
            print_escaped(stdout, origin, "");
            putchar('\n');
        }
    }
    buffer_fini(&value);
    return kept;
}

static void json_keys(struct cluster_file *file, uint32_t n, const char *name, struct json *j)
{
    const struct cluster_section s = cluster_file_section(file, n);
    struct buffer value = {NULL, 0, 0};
    char origin[512];
    json_begin(j, name, '{');
    for (uint32_t i = 0; i < s.count; i++) {
        bool present = format_key(file, &s, i, &value, origin, sizeof origin);
        json_begin(j, s.keys[i].name, '{');
        if (present)
            json_text(j, "value", value.data, value.size);
        else
            json_cstring(j, "value", NULL);
        json_cstring(j, "origin", origin);
        json_end(j, '}');
    }
    json_end(j, '}');
    buffer_fini(&value);
}

static bool print_json(struct cluster_file *file)
{
    struct json j = {.failed = false};
    json_begin(&j, NULL, '{');
    json_cstring(&j, "file", file->cluster.path);
    json_keys(file, 0, "keys", &j);
    json_begin(&j, "executors", '[');
    for (uint32_t n = 1; n <= file->cluster.executor_count; n++) json_keys(file, n, NULL, &j);
    json_end(&j, ']');
    json_end(&j, '}');
    return print_json_object(stdout, &j);
}

static void show_config(const struct cli_line *line, struct glint_error *error)
{
    struct cluster_file file;
    if (cluster_file_read(&file, env_real(), line, false, error) == GLINT_OK &&
        !(cli_line_flag(line, "json") ? print_json(&file) : print_text(&file)))
        error_no_memory(error);
    cluster_file_fini(&file);
}

static const struct glint_job_option show_options[] = {
    {"json", NULL, NULL, "print one JSON object"}, {.name = NULL}};

static const struct cli_command config_show = {
    .name = "show",
    .summary = "print each key, its value, and where it was set",
    .syntax = {.command = "glint config show",
               .summary = "Prints each key of a cluster, its value, and where it was set.",
               .help = "An option overrides the environment (GLINT_HEARTBEAT), which overrides the "
                       "file, which overrides the default. All keys: docs/cluster.md",
               .own = show_options,
               .takes_cluster = true},
    .execute = show_config};

static const struct cli_command *const config_commands[] = {&config_show, NULL};

const struct cli_command cmd_config = {
    .name = "config",
    .summary = "show how a cluster is configured",
    .syntax = {.command = "glint config", .summary = "Shows how a cluster is configured."},
    .commands = config_commands};
