/* Arbitrary bytes as the headers of a request: none is allowed that does not have the whole token,
 * a known name, and the own origin or none. Lines: Host, Origin, Authorization, Cookie, token. */
#include "engine/web/web_api.h"
#include "engine/web/web_http.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define TOKEN "0123456789abcdef"

static bool is(const char *given, const char *want)
{
    return given != NULL && strcmp(given, want) == 0;
}

/* Lines that start with '-' are headers that were not sent. */
static const char *take_line(char **at)
{
    char *line = *at;
    if (line == NULL) return NULL;
    *at = strchr(line, '\n');
    if (*at != NULL) *(*at)++ = '\0';
    return line[0] == '-' ? NULL : line;
}

static void check_access(char *text)
{
    static const struct web_access a = {
        .token = TOKEN, .address = "127.0.0.1", .port = 4040, .loopback = true};
    struct web_credentials c;
    bool by_query;
    c.host = take_line(&text);
    c.origin = take_line(&text);
    c.authorization = take_line(&text);
    c.cookie = take_line(&text);
    c.query_token = take_line(&text);
    if (web_access_check(&a, &c, &by_query) != WEB_ALLOWED) return;
    const char *bearer = c.authorization != NULL && strlen(c.authorization) > 7
                             ? c.authorization + 7
                             : NULL;
    if (!is(bearer, TOKEN) && !is(c.cookie, TOKEN) && !is(c.query_token, TOKEN)) abort();
    if (by_query && !is(c.query_token, TOKEN)) abort();
    if (c.host == NULL || strlen(c.host) != 14) abort(); /* 127.0.0.1:4040, localhost:4040 */
    if (c.origin != NULL && strlen(c.origin) != 14 + 7 && strlen(c.origin) != 14 + 8) abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint64_t count;
    char *text = malloc(size + 1);
    if (text == NULL) return 0;
    if (size > 0) memcpy(text, data, size);
    text[size] = '\0';
    if (web_parse_count(text, 7, 1000, &count) && count > 1000) abort();
    check_access(text);
    free(text);
    return 0;
}
