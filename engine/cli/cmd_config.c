/* glint config show: prints the effective configuration of a cluster, from its file, the
 * environment and options, and the origin of each value. Prints the paths of secrets, never their
 * content. */
#include "engine/base/json.h"
#include "engine/cli/cluster_options.h"
#include "engine/cli/commands.h"
#include "engine/cli/options.h"
#include "engine/cli/print.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

enum { NAME_WIDTH = 24, VALUE_WIDTH = 28 };

/* One table of keys to print. */
struct config_section {
    const struct cluster_file *file;
    const struct cluster_key *keys;
    uint32_t count;
    const void *target;
    const struct cluster_origin *origins;
    const char *executor; /* its id; NULL: keys of the cluster */
};

static void print_keys(const struct config_section *s, struct buffer *value, bool *out_kept)
{
    for (uint32_t i = 0; i < s->count; i++) {
        char name[128], origin[512];
        const struct cluster_key *key = &s->keys[i];
        value->size = 0;
        bool present = key_print(key, s->target, value);
        if (!buffer_append(value, "", 1)) {
            *out_kept = false;
            return;
        }
        snprintf(name, sizeof name, "%s%s%s", s->executor != NULL ? s->executor : "",
                 s->executor != NULL ? "." : "", key->name);
        cluster_origin_text(s->file, key, &s->origins[i], origin, sizeof origin);
        printf("%-*s ", NAME_WIDTH, name);
        print_escaped(stdout, present ? (const char *)value->data : "-", "");
        size_t size = present ? value->size - 1 : 1;
        printf("%*s ", size < VALUE_WIDTH ? (int)(VALUE_WIDTH - size) : 0, "");
        print_escaped(stdout, origin, "");
        putchar('\n');
    }
}

static bool print_text(const struct cluster_file *file)
{
    const struct cluster *c = &file->cluster;
    struct config_section section = {file, cluster_keys, CLUSTER_KEYS, c, file->origins, NULL};
    struct buffer value = {NULL, 0, 0};
    bool kept = true;
    print_keys(&section, &value, &kept);
    for (uint32_t i = 0; i < c->executor_count && kept; i++) {
        struct config_section one = {file,
                                     cluster_executor_keys,
                                     CLUSTER_EXECUTOR_KEYS,
                                     &c->executors[i],
                                     file->executor_origins[i],
                                     c->executors[i].id};
        print_keys(&one, &value, &kept);
    }
    buffer_fini(&value);
    return kept;
}

static void json_keys(const struct config_section *s, struct json *j)
{
    struct buffer value = {NULL, 0, 0};
    json_begin(j, '{');
    for (uint32_t i = 0; i < s->count; i++) {
        char origin[512];
        value.size = 0;
        bool present = key_print(&s->keys[i], s->target, &value);
        cluster_origin_text(s->file, &s->keys[i], &s->origins[i], origin, sizeof origin);
        json_key(j, s->keys[i].name);
        json_begin(j, '{');
        json_key(j, "value");
        if (present)
            json_text(j, value.data, value.size);
        else
            json_cstring(j, NULL);
        json_key(j, "origin");
        json_cstring(j, origin);
        json_end(j, '}');
    }
    json_end(j, '}');
    buffer_fini(&value);
}

static bool print_json(const struct cluster_file *file)
{
    const struct cluster *c = &file->cluster;
    struct config_section section = {file, cluster_keys, CLUSTER_KEYS, c, file->origins, NULL};
    struct json j = {.failed = false};
    json_begin(&j, '{');
    json_key(&j, "file");
    json_cstring(&j, c->path);
    json_key(&j, "keys");
    json_keys(&section, &j);
    json_key(&j, "executors");
    json_begin(&j, '[');
    for (uint32_t i = 0; i < c->executor_count; i++) {
        struct config_section one = {file,
                                     cluster_executor_keys,
                                     CLUSTER_EXECUTOR_KEYS,
                                     &c->executors[i],
                                     file->executor_origins[i],
                                     c->executors[i].id};
        json_keys(&one, &j);
    }
    json_end(&j, ']');
    json_end(&j, '}');
    bool sound = !j.failed;
    if (sound) printf("%.*s\n", (int)j.out.size, (const char *)j.out.data);
    json_fini(&j);
    return sound;
}

static int show_config(const struct cli_line *line)
{
    struct cluster_option options[CLUSTER_KEYS];
    struct cluster_source source = {.path = cli_line_option(line, "cluster"), .options = options};
    struct glint_error error = {.code = GLINT_OK};
    struct cluster_file file;
    source.option_count = cluster_options_read(line, options);
    int code = cluster_file_read(&file, env_real(), &source, &error);
    if (code == GLINT_OK) {
        bool kept = cli_line_flag(line, "json") ? print_json(&file) : print_text(&file);
        if (!kept) error_no_memory(&error);
    }
    cluster_file_fini(&file);
    return error.code != GLINT_OK ? cli_fail(&error) : cli_flush_stdout(0);
}

static int show_run(const struct cli_program *program, int argc, char **argv)
{
    struct glint_job_option options[CLUSTER_KEYS + 3] = {
        {"cluster", "FILE", NULL, "the cluster's file (default: $GLINT_CLUSTER)"},
        {"json", NULL, NULL, "print one JSON object"}};
    const struct cli_syntax syntax = {
        .command = "glint config show",
        .summary = "Prints each key of a cluster, its value, and where it was set.",
        .help = "An option overrides the environment (GLINT_HEARTBEAT), which overrides the file, "
                "which overrides the default. All keys: docs/cluster.md",
        .own = options};
    struct cli_line line;
    int status;
    (void)program;
    cluster_options_make(options + 2);
    if (!cli_line_parse_or_report(&line, &syntax, argc, argv, &status)) return status;
    status = show_config(&line);
    cli_line_fini(&line);
    return status;
}

static int config_run(const struct cli_program *program, int argc, char **argv)
{
    static const struct cli_command config_show = {
        .name = "show",
        .summary = "print each key, its value, and where it was set",
        .usage = "[OPTION...]",
        .run = show_run};
    static const struct cli_command *const commands[] = {&config_show, NULL};
    return cli_dispatch(program, "glint config", "Shows how a cluster is configured.", commands,
                        argc, argv);
}

const struct cli_command cmd_config = {.name = "config",
                                       .summary = "show how a cluster is configured",
                                       .usage = "show [OPTION...]",
                                       .run = config_run};
