/* URLs: file URLs are converted to paths; for other URLs the error names the scheme, so that the
 * user sees that the text was taken for a path. */
#include "engine/base/path.h"

#include "engine/base/text.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define FILE_SCHEME  "file:"
#define DEFAULT_PATH "/usr/local/bin:/usr/bin:/bin"
#define LETTERS      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"

/* Returns the length of the scheme if "://" follows it, such as s3a; 0: not a URL. */
static size_t url_scheme_size(const char *text)
{
    const size_t size = strspn(text, LETTERS "0123456789+-.");
    const bool letter = strspn(text, LETTERS) > 0;
    return letter && strncmp(text + size, "://", 3) == 0 ? size : 0;
}

const char *path_from_file_url(const char *text)
{
    const size_t scheme = sizeof FILE_SCHEME - 1;
    if (strncasecmp(text, FILE_SCHEME, scheme) != 0) return text;
    const char *path = text + scheme;
    if (path[0] != '/') return text;
    if (path[1] != '/') return path;
    const char *host = path + 2, *slash = strchr(host, '/');
    if (slash == NULL) return text;
    const size_t size = (size_t)(slash - host);
    const bool here = size == 0 || (size == 9 && strncasecmp(host, "localhost", 9) == 0);
    return here ? slash : text;
}

const char *path_explain_missing(const char *text, char *hint)
{
    const size_t scheme = url_scheme_size(text);
    const bool file = strncasecmp(text, FILE_SCHEME, sizeof FILE_SCHEME - 1) == 0;
    if (file && path_from_file_url(text) == text) {
        text_format(hint, PATH_HINT_BYTES,
                    "write file:// and an absolute path, as in file:///data/in.tsv");
        return "a file URL without an absolute path on this host";
    }
    if (file && strchr(text, '%') != NULL) {
        text_format(hint, PATH_HINT_BYTES,
                    "percent signs in a file URL are part of the name, as in Spark: write a space "
                    "as a space");
        return "No such file or directory";
    }
    if (scheme > 0 && !file) {
        text_format(hint, PATH_HINT_BYTES,
                    "%.*s:// is not supported here: copy the data to or from a local path, or "
                    "mount the storage and use its path",
                    (int)(scheme < 32 ? scheme : 32), text);
        return "a URL, not a path";
    }
    if (text[0] == '~') {
        text_format(
            hint, PATH_HINT_BYTES,
            "the shell expands ~ only at the start of a word: write $HOME/... or the whole path");
        return "No such file or directory";
    }
    return NULL;
}

bool path_split(const char *path, char *directory, char *name, size_t capacity)
{
    size_t n = strlen(path);
    while (n > 1 && path[n - 1] == '/') n--;
    if (n == 0 || n >= capacity) return false;
    size_t cut = n;
    while (cut > 0 && path[cut - 1] != '/') cut--;
    if (!text_format(name, capacity, "%.*s", (int)(n - cut), path + cut)) return false;
    if (name[0] == '\0' || strcmp(name, ".") == 0 || strcmp(name, "..") == 0) return false;
    if (cut == 0) return text_format(directory, capacity, ".");
    return text_format(directory, capacity, "%.*s", (int)(cut > 1 ? cut - 1 : 1), path);
}

bool path_find_program(struct env *env, const char *name, char *out, size_t capacity)
{
    const char *at = getenv("PATH");
    if (strchr(name, '/') != NULL) return text_format(out, capacity, "%s", name);
    if (at == NULL) at = DEFAULT_PATH;
    for (;;) {
        const char *end = strchrnul(at, ':');
        struct env_stat s;
        if (text_format(out, capacity, "%.*s/%s", end > at ? (int)(end - at) : 1,
                        end > at ? at : ".", name) &&
            env->stat(env, out, &s) == 0 && s.kind == ENV_FILE && (s.mode & 0111) != 0)
            return true;
        if (*end == '\0') return false;
        at = end + 1;
    }
}
