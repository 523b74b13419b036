/* The token's file must be private to its owner, as a secret's. */
#include "engine/cli/web.h"

#include "engine/base/file_check.h"
#include "engine/base/log.h"
#include "engine/base/text.h"
#include "engine/web/web_http.h"

#include <stdio.h>
#include <string.h>

static int read_web_token(const char *path, char *out, struct glint_error *error)
{
    struct env *env = env_real();
    struct env_stat stat;
    int file = file_open_checked(env, path, FILE_SECRET, GLINT_E_SECRET, &stat, error);
    if (file < 0) return error->code;
    int64_t n = env_read_full(env, file, out, WEB_TOKEN_MAX, 0);
    env->close(env, file);
    if (n < 0) return error_set_system(error, GLINT_E_SECRET, (int)n, "read", path);
    out[n < WEB_TOKEN_MAX ? n : WEB_TOKEN_MAX - 1] = '\0';
    out[strcspn(out, "\r\n")] = '\0';
    if (n < WEB_TOKEN_MAX && web_token_is_valid(out)) return 0;
    return error_set(error, GLINT_E_SECRET, "make one: glint secret new FILE",
                     "%s: a token has 16 to 255 letters, digits, and - _ . ~", path);
}

bool cli_parse_address(const char *text, uint16_t port_default, char *host, size_t capacity,
                       uint16_t *out_port)
{
    const char *colon = strrchr(text, ':'), *bracket = strrchr(text, ']');
    int64_t port = port_default;
    if (bracket != NULL && colon < bracket) colon = NULL;
    const size_t size = colon != NULL ? (size_t)(colon - text) : strlen(text);
    if (colon != NULL && (!text_parse_i64((const uint8_t *)colon + 1, strlen(colon + 1), &port) ||
                          port < 0 || port > UINT16_MAX))
        return false;
    *out_port = (uint16_t)port;
    if (size == 0) return text_format(host, capacity, "127.0.0.1");
    const bool brackets = text[0] == '[' && text[size - 1] == ']';
    if (!brackets && memchr(text, ':', size) != NULL) return false; /* ::1:4040 is ambiguous */
    return text_format(host, capacity, "%.*s", (int)(size - 2 * brackets), text + brackets);
}

struct web_server *cli_web_open(const char *address, const char *token_file,
                                const struct web_jobs *jobs, bool log, struct glint_error *error)
{
    char host[256], token[WEB_TOKEN_MAX + 1];
    struct web_config config = {.env = env_real(), .host = host};
    if (jobs != NULL) config.jobs = *jobs;
    if (!cli_parse_address(address, WEB_PORT_DEFAULT, host, sizeof host, &config.port)) {
        error_set(error, GLINT_E_BAD_VALUE, NULL,
                  "--ui=%s: it must be HOST:PORT, as in 127.0.0.1:4040 or [::1]:4040", address);
        return NULL;
    }
    if (log && token_file == NULL) {
        error_set(error, GLINT_E_USAGE, "add --ui-token FILE; make one: glint secret new FILE",
                  "the log would show the token of the page");
        return NULL;
    }
    if (token_file != NULL && read_web_token(token_file, token, error) != 0) return NULL;
    config.token = token_file != NULL ? token : NULL;
    struct web_server *s = web_server_open(&config, error);
    if (s == NULL) return NULL;
    const char *url = web_server_url(s);
    if (log)
        log_line(LOG_INFO, NULL, "page: %.*s", (int)strcspn(url, "?"), url);
    else
        fprintf(stderr, "page: %s\n", url);
    return s;
}
