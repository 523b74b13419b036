/* Selects where a job runs: in this process (--master), on the executors of a file (--cluster), or
 * on executors that connect (--listen). Options that only matter in a cluster are rejected without
 * one, instead of being silently ignored. */
#include "engine/base/text.h"
#include "engine/cli/cluster_options.h"
#include "engine/cli/settings.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

bool settings_parse_address(const char *text, struct arena *memory, const char **out_host,
                            uint16_t *out_port)
{
    const char *colon = strrchr(text, ':');
    if (colon == NULL || colon == text) return false;
    size_t size = (size_t)(colon - text);
    bool brackets = text[0] == '[' && text[size - 1] == ']';
    if (!brackets && memchr(text, ':', size) != NULL) return false; /* ::1:7400 is ambiguous */
    int64_t port;
    if (!text_parse_i64((const uint8_t *)colon + 1, strlen(colon + 1), &port)) return false;
    if (port < 1 || port > UINT16_MAX) return false;
    struct cluster_executor address = {.id = NULL};
    char *host = arena_alloc(memory, size + 1);
    if (host == NULL) return false;
    text_format(host, size + 1, "%.*s", (int)(size - 2 * brackets), text + brackets);
    const struct toml_value value = {.kind = TOML_TEXT, .text = host};
    if (key_set(&cluster_executor_keys[1], &value, "", memory, &address) != KEY_SET) return false;
    assert(address.host == host);
    *out_host = host;
    *out_port = (uint16_t)port;
    return true;
}

static bool reject_without_cluster(const struct cli_line *line, struct glint_error *error)
{
    struct cluster_option options[CLUSTER_KEYS];
    const char *name = NULL;
    if (cluster_options_read(line, options) > 0) name = options[0].key->option;
    if (cli_line_has(line, "executors")) name = "executors";
    if (name == NULL) return true;
    error_set(error, GLINT_E_USAGE, "add --cluster FILE or --listen HOST:PORT",
              "--%s has no effect in a job of one process", name);
    return false;
}

static bool read_listen(struct cluster_file *file, const char *text, struct glint_error *error)
{
    struct cluster *c = &file->cluster;
    if (text == NULL) return true;
    if (!settings_parse_address(text, &file->memory, &c->listen_host, &c->listen_port)) {
        error_set(error, GLINT_E_BAD_VALUE, NULL,
                  "--listen %s: it must be HOST:PORT, as in 127.0.0.1:7400 or [::1]:7400", text);
        return false;
    }
    if (cluster_may_listen(c, c->listen_host)) return true;
    error_set(error, GLINT_E_CONFIG, cluster_secret_hint,
              "other hosts can connect to --listen %s, but no secret_file is configured", text);
    return false;
}

static bool read_executors(struct cluster *c, const char *text, struct glint_error *error)
{
    int64_t count, most = c->listen_host != NULL ? CLUSTER_EXECUTORS_MAX : c->executor_count;
    if (text == NULL) return true;
    if (!text_parse_i64((const uint8_t *)text, strlen(text), &count) || count < 1 || count > most) {
        error_set(error, GLINT_E_BAD_VALUE, NULL,
                  "--executors %s: it must be a whole number from 1 to %lld", text,
                  (long long)most);
        return false;
    }
    c->executors_min = (uint32_t)count;
    return true;
}

bool settings_read_cluster(struct settings *out, const struct cli_line *line,
                           struct glint_error *error)
{
    struct cluster_option options[CLUSTER_KEYS];
    struct cluster *c = &out->file.cluster;
    const char *listen = cli_line_option(line, "listen"), *variable = getenv("GLINT_CLUSTER");
    bool named = cli_line_has(line, "cluster"), in_process = cli_line_has(line, "master");
    if (in_process && (named || listen != NULL)) {
        error_set(error, GLINT_E_USAGE, "use only one of them",
                  "--master runs the job in this process, --%s on executors",
                  named ? "cluster" : "listen");
        return false;
    }
    /* --master overrides $GLINT_CLUSTER, which may be set for other jobs. */
    bool by_variable = variable != NULL && variable[0] != '\0' && !in_process;
    if (!named && listen == NULL && !by_variable) return reject_without_cluster(line, error);
    if (cli_line_has(line, "work-dir")) {
        error_set(error, GLINT_E_USAGE, "set work_dir of each executor in the cluster's file",
                  "--work-dir has no effect in a cluster");
        return false;
    }
    const struct cluster_source source = {.path = cli_line_option(line, "cluster"),
                                          .options = options,
                                          .option_count = cluster_options_read(line, options),
                                          .listens = listen != NULL};
    if (cluster_file_read(&out->file, env_real(), &source, error) != GLINT_OK ||
        !read_listen(&out->file, listen, error) ||
        !read_executors(c, cli_line_option(line, "executors"), error))
        return false;
    out->config.cluster = c;
    /* Use the memory of its slots. */
    if (!cli_line_has(line, "memory")) out->config.memory_bytes = 0;
    return true;
}
