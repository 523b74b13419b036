/* glint filter serve: the options. */
#include "engine/base/file_check.h"
#include "engine/base/text.h"
#include "engine/cli/options.h"
#include "engine/cli/web.h"
#include "engine/net/listener.h"
#include "engine/web/web_http.h"
#include "jobs/commands/commands.h"
#include "jobs/commands/filter_server.h"

#include <string.h>

#define PORT_DEFAULT      6379u /* that of Redis */
#define HTTP_PORT_DEFAULT 8080u
#define PEM_BYTES_MAX     (1u << 20)

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

/* An address, --listen or --http: any user of this machine can ask there, and beyond it any
 * network sees what is asked. */
struct serve_address {
    const char *option;
    uint16_t port_default;
    char host[256]; /* empty: not given */
    uint16_t port;
};

static int check_address(const struct cli_line *line, struct serve_address *a,
                         struct glint_error *error)
{
    const char *address = cli_line_option(line, a->option);
    a->host[0] = '\0';
    if (address == NULL) return 0;
    if (!cli_parse_address(address, a->port_default, a->host, sizeof a->host, &a->port))
        return error_set(error, GLINT_E_BAD_VALUE, NULL,
                         "--%s=%s: it must be HOST:PORT, as in 127.0.0.1:%u or [::1]:%u", a->option,
                         address, a->port_default, a->port_default);
    if (!host_is_loopback(a->host) && !cli_line_has(line, "tls-cert-file"))
        return error_set(error, GLINT_E_ADDRESS,
                         "add --tls-cert-file FILE --tls-key-file FILE; or listen on 127.0.0.1, "
                         "and let a proxy with TLS, or ssh -L, lead there",
                         "%s is not an address of this machine only, and needs TLS", a->host);
    if (!cli_line_has(line, "password-file"))
        return error_set(error, GLINT_E_USAGE,
                         "add --password-file FILE, or use --socket PATH, which has mode 0600",
                         "every user of this machine could ask at %s", address);
    return 0;
}

static int check_addresses(const struct cli_line *line, struct filter_server_config *config,
                           struct serve_address *listen, struct serve_address *http,
                           struct glint_error *error)
{
    config->socket = cli_line_option(line, "socket");
    if (config->socket == NULL && !cli_line_has(line, "listen") && !cli_line_has(line, "http"))
        return error_set(error, GLINT_E_USAGE, NULL,
                         "glint filter serve needs --socket PATH or --listen HOST:PORT, or --http "
                         "HOST:PORT");
    int r = check_address(line, listen, error);
    if (r == 0) r = check_address(line, http, error);
    if (r != 0) return r;
    if (listen->host[0] != '\0') config->host = listen->host;
    if (http->host[0] != '\0') config->http_host = http->host;
    config->port = listen->port;
    config->http_port = http->port;
    return 0;
}

/* ---- TLS */

/* The text of a file, for libmicrohttpd. Others may read a certificate, but not its key. */
static int read_pem(const char *path, bool secret, struct buffer *out, struct glint_error *error)
{
    struct env *env = env_real();
    struct env_stat stat;
    const int file = secret
                         ? file_open_checked(env, path, FILE_KEY, GLINT_E_SECRET, &stat, error)
                         : env->open(env, ENV_CWD, path, ENV_READ);
    if (file < 0 && secret) return error->code;
    if (file < 0) return error_set_system(error, GLINT_E_SECRET, file, "open", path);
    const bool kept = buffer_reserve(out, PEM_BYTES_MAX + 1);
    const int64_t n = kept ? env_read_full(env, file, out->data, PEM_BYTES_MAX, 0) : 0;
    env->close(env, file);
    if (!kept) return error_no_memory(error);
    if (n < 0) return error_set_system(error, GLINT_E_SECRET, (int)n, "read", path);
    if (n == PEM_BYTES_MAX)
        return error_set(error, GLINT_E_SECRET, NULL, "%s is too large for a certificate or key",
                         path);
    out->size = (uint64_t)n;
    out->data[n] = '\0';
    return 0;
}

static int read_certificate(const struct cli_line *line, struct filter_server_config *config,
                            struct buffer *certificate, struct buffer *key,
                            struct glint_error *error)
{
    config->certificate = cli_line_option(line, "tls-cert-file");
    config->key = cli_line_option(line, "tls-key-file");
    if (config->certificate == NULL && config->key == NULL) return 0;
    if (config->certificate == NULL || config->key == NULL)
        return error_set(error, GLINT_E_USAGE, NULL,
                         "--tls-cert-file and --tls-key-file belong together");
    if (config->host == NULL && config->http_host == NULL)
        return error_set(error, GLINT_E_USAGE, "add --listen HOST:PORT",
                         "--tls-cert-file has no effect on a Unix socket");
    int r = read_pem(config->certificate, false, certificate, error);
    if (r == 0) r = read_pem(config->key, true, key, error);
    config->certificate_text = (const char *)certificate->data;
    config->key_text = (const char *)key->data;
    return r;
}

static void serve_filters(const struct cli_line *line, struct glint_error *error)
{
    char password[SERVER_PASSWORD_MAX + 2] = "";
    struct serve_address listen = {.option = "listen", .port_default = PORT_DEFAULT},
                         http = {.option = "http", .port_default = HTTP_PORT_DEFAULT};
    struct buffer certificate = {NULL, 0, 0}, key = {NULL, 0, 0};
    struct filter_server_config config = {.env = env_real(), .path = line->arguments[0]};
    const char *file = cli_line_option(line, "password-file"),
               *clients = cli_line_option(line, "clients");
    int64_t count = 0;
    int r = check_addresses(line, &config, &listen, &http, error);
    if (r == 0) r = read_certificate(line, &config, &certificate, &key, error);
    if (r == 0 && file != NULL) {
        r = read_password(file, password, error);
        config.password = password;
    }
    if (r == 0 && config.http_host != NULL && !web_token_is_valid(password))
        r = error_set(error, GLINT_E_SECRET, "make one: glint secret new FILE",
                      "%s: for HTTP a password has 16 to 255 letters, digits, and - _ . ~", file);
    if (r == 0 && (!text_parse_i64((const uint8_t *)clients, strlen(clients), &count) ||
                   count < 1 || count > 1000000))
        r = error_set(error, GLINT_E_BAD_VALUE, NULL, "--clients=%s: it must be 1 to 1000000",
                      clients);
    config.clients_max = (uint32_t)count;
    if (r == 0) r = filter_server_run(&config, error);
    explicit_bzero(password, sizeof password);
    if (key.data != NULL) explicit_bzero(key.data, key.capacity);
    buffer_fini(&certificate);
    buffer_fini(&key);
}

static const struct glint_job_option serve_options[] = {
    {"socket", "PATH", NULL, "listen on a Unix socket, which only its owner can use"},
    {"listen", "HOST:PORT", NULL,
     "listen on an address; needs a password, beyond this machine TLS"},
    {"http", "HOST:PORT", NULL, "answer HTTP, too; needs the same"},
    {"password-file", "FILE", NULL, "clients must send its first line (AUTH; HTTP: Bearer)"},
    {"tls-cert-file", "FILE", NULL, "TLS at these addresses: the certificate and its chain, PEM"},
    {"tls-key-file", "FILE", NULL, "its key, PEM, which only its owner may read"},
    {"clients", "N", "10000", "connections at a time"},
    {NULL, NULL, NULL, NULL}};

const struct cli_command filter_serve = {
    .name = "serve",
    .summary = "answer clients of Redis (BF.EXISTS) and HTTP from filters",
    .syntax = {.command = "glint filter serve",
               .summary = "Answers BF.EXISTS, BF.MEXISTS, BF.INFO and BF.CARD of Redis clients.",
               .help = "The name of a filter is its key. Filters are mapped from PATH and read "
                       "only. SIGHUP exchanges them for those that are at PATH then: build into a "
                       "new directory, and rename it. SIGTERM ends the server. Over HTTP, POST "
                       "/api/v1/contains?key=KEY looks up lines (text/plain) or an array of "
                       "strings (application/json).",
               .arguments = "PATH",
               .arguments_min = 1,
               .arguments_max = 1,
               .own = serve_options},
    .execute = serve_filters};
