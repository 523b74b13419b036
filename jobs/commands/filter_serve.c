/* glint filter serve: the options. */
#include "engine/base/file_check.h"
#include "engine/base/text.h"
#include "engine/cli/options.h"
#include "engine/cli/web.h"
#include "engine/net/listener.h"
#include "jobs/commands/commands.h"
#include "jobs/commands/filter_server.h"

#include <string.h>

#define PORT_DEFAULT 6379u /* that of Redis */

/* The first line of a file that only its owner can read. */
static int read_password(const char *path, char out[SERVER_PASSWORD_MAX + 2],
                         struct glint_error *error)
{
    struct env *env = env_real();
    struct env_stat stat;
    const int file = file_open_checked(env, path, FILE_SECRET, GLINT_E_SECRET, &stat, error);
    if (file < 0) return error->code;
    const int64_t n = env_read_full(env, file, out, SERVER_PASSWORD_MAX + 1, 0);
    env->close(env, file);
    if (n < 0) return error_set_system(error, GLINT_E_SECRET, (int)n, "read", path);
    out[n] = '\0';
    const size_t size = strcspn(out, "\r\n");
    const bool valid = size > 0 && size <= SERVER_PASSWORD_MAX && strlen(out) == (size_t)n;
    out[size] = '\0';
    if (valid) return 0;
    return error_set(error, GLINT_E_SECRET, "write a password into its first line",
                     "%s: a password has 1 to %u bytes", path, SERVER_PASSWORD_MAX);
}

/* The socket may be used by its owner only; at an address any user of this machine can ask. */
static int check_address(const struct cli_line *line, struct filter_server_config *config,
                         char *host, size_t capacity, struct glint_error *error)
{
    const char *address = cli_line_option(line, "listen");
    config->socket = cli_line_option(line, "socket");
    if (config->socket == NULL && address == NULL)
        return error_set(error, GLINT_E_USAGE, NULL,
                         "glint filter serve needs --socket PATH or --listen HOST:PORT");
    if (address == NULL) return 0;
    if (!cli_parse_address(address, PORT_DEFAULT, host, capacity, &config->port))
        return error_set(error, GLINT_E_BAD_VALUE, NULL,
                         "--listen=%s: it must be HOST:PORT, as in 127.0.0.1:6379 or [::1]:6379",
                         address);
    if (!host_is_loopback(host))
        return error_set(error, GLINT_E_ADDRESS,
                         "listen on 127.0.0.1, and let a proxy with TLS, or ssh -L, lead there",
                         "%s is not an address of this machine only, and filters are served "
                         "without TLS",
                         host);
    if (!cli_line_has(line, "password-file"))
        return error_set(error, GLINT_E_USAGE,
                         "add --password-file FILE, or use --socket PATH, which has mode 0600",
                         "every user of this machine could ask at %s", address);
    config->host = host;
    return 0;
}

static void serve_filters(const struct cli_line *line, struct glint_error *error)
{
    char host[256], password[SERVER_PASSWORD_MAX + 2];
    struct filter_server_config config = {.env = env_real(), .path = line->arguments[0]};
    const char *file = cli_line_option(line, "password-file"),
               *clients = cli_line_option(line, "clients");
    int64_t count = 0;
    int r = check_address(line, &config, host, sizeof host, error);
    if (r == 0 && file != NULL) {
        r = read_password(file, password, error);
        config.password = password;
    }
    if (r == 0 && (!text_parse_i64((const uint8_t *)clients, strlen(clients), &count) ||
                   count < 1 || count > 1000000))
        r = error_set(error, GLINT_E_BAD_VALUE, NULL, "--clients=%s: it must be 1 to 1000000",
                      clients);
    config.clients_max = (uint32_t)count;
    if (r == 0) r = filter_server_run(&config, error);
    explicit_bzero(password, sizeof password);
}

static const struct glint_job_option serve_options[] = {
    {"socket", "PATH", NULL, "listen on a Unix socket, which only its owner can use"},
    {"listen", "HOST:PORT", NULL, "listen on an address of this machine; needs a password"},
    {"password-file", "FILE", NULL, "clients must send its first line (AUTH)"},
    {"clients", "N", "10000", "connections at a time"},
    {NULL, NULL, NULL, NULL}};

const struct cli_command filter_serve = {
    .name = "serve",
    .summary = "answer clients of Redis from filters (BF.EXISTS)",
    .syntax = {.command = "glint filter serve",
               .summary = "Answers BF.EXISTS, BF.MEXISTS, BF.INFO and BF.CARD of Redis clients.",
               .help = "The name of a filter is its key. Filters are mapped from PATH and read "
                       "only. SIGHUP exchanges them for those that are at PATH then: build into a "
                       "new directory, and rename it. SIGTERM ends the server.",
               .arguments = "PATH",
               .arguments_min = 1,
               .arguments_max = 1,
               .own = serve_options},
    .execute = serve_filters};
