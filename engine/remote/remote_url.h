/* URLs of input: which ones are read over a network, and how they are shown. Pure; any thread. */
#ifndef GLINT_REMOTE_REMOTE_URL_H
#define GLINT_REMOTE_REMOTE_URL_H

#include <stdbool.h>
#include <stddef.h>

enum remote_kind { REMOTE_NONE, REMOTE_HTTP };

/* By the scheme, in any case: http, https. NONE: not such a URL. */
enum remote_kind remote_url_kind(const char *text);
/* Returns NULL if the URL can be used, or the reason why not (static), with a hint in *out_hint. */
const char *remote_url_check(const char *url, const char **out_hint);
/* Copies the URL as it is shown: a user's name and password, and the values of a query, which may
 * be signatures, are replaced by ***. Returns false if it does not fit. */
bool remote_url_redact(const char *url, char *out, size_t capacity);

#endif
