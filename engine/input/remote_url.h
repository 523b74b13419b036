/* URLs of input: which ones are read over a network, and how they are shown. Pure; any thread. */
#ifndef GLINT_INPUT_REMOTE_URL_H
#define GLINT_INPUT_REMOTE_URL_H

#include <stdbool.h>
#include <stddef.h>

enum remote_kind { REMOTE_NONE, REMOTE_HTTP, REMOTE_S3, REMOTE_WEBHDFS };

/* By the scheme, in any case: http, https; s3, s3a; webhdfs, swebhdfs. NONE: not such a URL. */
enum remote_kind remote_url_kind(const char *text);
/* Returns NULL if the URL can be used, or the reason why not (static), with a hint in *out_hint. */
const char *remote_url_check(const char *url, const char **out_hint);
/* Copies the URL as it is shown: a user's name and password, and the values of a query, which may
 * be signatures, are replaced by ***. Returns false if it does not fit. */
bool remote_url_redact(const char *url, char *out, size_t capacity);
/* The same for a text that may contain URLs, such as an argument. */
bool remote_text_redact(const char *text, char *out, size_t capacity);

/* The parts of a URL of s3 or webhdfs; they point into it. */
struct remote_place {
    enum remote_kind kind;
    bool tls;         /* swebhdfs */
    const char *host; /* or bucket, not terminated */
    size_t host_size;
    const char *path; /* from its first / on; "" if there is none */
};
struct remote_place remote_url_split(const char *url);

/* Appends `text` with all bytes percent-encoded except letters, digits, -, ., _, ~ and those in
 * `keep`. Returns false if it does not fit. */
bool remote_url_append_encoded(const char *text, size_t size, const char *keep, char *out,
                               size_t capacity);
/* Appends NAME=VALUE to a query or to a URL with one, the value encoded; after & unless it is empty
 * or ends in ?. Returns false if it does not fit. */
bool remote_url_add_parameter(char *out, size_t capacity, const char *name, const char *value);

#endif
