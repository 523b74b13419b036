/* Arbitrary bytes as what servers send, and as URLs: the first byte says which. */
#include "engine/base/mem.h"
#include "engine/input/remote_transfer.h"
#include "engine/input/remote_url.h"
#include "engine/input/remote_list.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int check_name(void *arg, const struct listed_object *object)
{
    const struct remote_identity *identity = &object->identity;
    if (object->name[0] == '\0' || strlen(object->name) >= S3_TOKEN_BYTES) abort();
    if (object->known && (identity->size > INT64_MAX || identity->version[0] == '\0' ||
                          strlen(identity->version) >= sizeof identity->version))
        abort();
    return ++*(int *)arg == 3 ? 7 : 0;
}

static int check_component(void *arg, const struct listed_object *object)
{
    if (strchr(object->name, '/') != NULL) abort();
    return check_name(arg, object);
}

static void add_headers(const uint8_t *data, size_t size)
{
    struct remote_response r = {.length = 0};
    while (size > 0) {
        const uint8_t *lf = memchr(data, '\n', size);
        const size_t n = lf != NULL ? (size_t)(lf - data) + 1 : size;
        remote_response_add_line(&r, (const char *)data, n);
        if (r.malformed) return;
        if (r.has_range && r.has_total && (r.from > r.to || r.to > r.total)) abort();
        if (r.length > INT64_MAX || strlen(r.version) >= sizeof r.version) abort();
        data += n;
        size -= n;
    }
}

/* What is shown of a URL with a signature does not contain it. */
static void redact(const char *text)
{
    char shown[4096], url[4096];
    const char *hint;
    if (!remote_text_redact(text, shown, sizeof shown)) return;
    if (remote_url_kind(text) == REMOTE_NONE) return;
    remote_url_check(text, &hint);
    const struct remote_place p = remote_url_split(text);
    if (p.path != p.host + p.host_size) abort();
    const size_t n = strcspn(text, "?# ,@");
    if (n + 20 > sizeof url || remote_url_kind(text) != REMOTE_HTTP) return;
    memcpy(url, text, n);
    url[n] = '\0';
    if (strstr(url, "SeCrEt") != NULL) return; /* a name that the input has itself */
    memcpy(url + n, "?sig=SeCrEt&x", sizeof "?sig=SeCrEt&x");
    if (!remote_text_redact(url, shown, sizeof shown)) return;
    if (strstr(shown, "SeCrEt") != NULL) abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char token[S3_TOKEN_BYTES], text[4096];
    struct listed_object status;
    int seen = 0;
    if (size == 0) return 0;
    const uint8_t which = data[0] % 4;
    data++;
    size--;
    if (which == 0) add_headers(data, size);
    if (which == 1 && s3_list_parse(data, size, token, check_name, &seen) == 0 &&
        strlen(token) >= sizeof token)
        abort();
    if (which == 2 && hdfs_status_parse(data, size, &status) &&
        (!status.known || status.identity.size > INT64_MAX))
        abort();
    if (which == 2) hdfs_list_parse(data, size, check_component, &seen);
    if (which == 3 && size < sizeof text) {
        memcpy(text, data, size);
        text[size] = '\0';
        redact(text);
    }
    if (mem_live_blocks() != 0) abort();
    return 0;
}
