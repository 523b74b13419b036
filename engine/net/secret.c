/* Hex in a file of its owner alone. Bytes of the secret are cleared from every buffer they pass. */
#include "engine/net/secret.h"

#include "engine/base/error.h"
#include "engine/base/text.h"

#include <openssl/crypto.h>

#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HEX_BYTES      (2 * SECRET_BYTES)
#define FILE_BYTES_MAX (HEX_BYTES + 2) /* with an end of line */
#define HINT_NEW       "make one with `glint secret new FILE`, and copy it to every node"

static int refuse(struct glint_error *error, const char *path, const char *what, const char *hint)
{
    return error_set(error, GLINT_E_SECRET, hint, "%s: %s", path, what);
}

static int hex_digit(uint8_t c)
{
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return -1;
}

/* Not short, and not one digit over and over, as an editor or a mistake leaves it. */
static bool parse(const uint8_t *text, uint64_t size, struct secret *out)
{
    bool varied = false;
    while (size > 0 && (text[size - 1] == '\n' || text[size - 1] == '\r')) size--;
    if (size != HEX_BYTES) return false;
    for (unsigned i = 0; i < SECRET_BYTES; i++) {
        int high = hex_digit(text[(size_t)2 * i]), low = hex_digit(text[(size_t)2 * i + 1]);
        if (high < 0 || low < 0) return false;
        out->bytes[i] = (uint8_t)(high << 4 | low);
        varied = varied || text[(size_t)2 * i] != text[0] || text[(size_t)2 * i + 1] != text[0];
    }
    return varied;
}

static int check_file(struct env *env, int file, const char *path, struct glint_error *error)
{
    struct env_stat s;
    int r = env->stat_open(env, file, &s);
    if (r != 0) return error_set_system(error, GLINT_E_SECRET, r, "look at", path);
    if (s.kind != ENV_FILE) return refuse(error, path, "not a regular file", HINT_NEW);
    if (!s.mine) return refuse(error, path, "belongs to another user", "copy it, and own the copy");
    if ((s.mode & 077) != 0)
        return error_set(error, GLINT_E_SECRET,
                         "chmod 600 it; if others may have read it, make a "
                         "new one with `glint secret new`",
                         "%s: others may read it (mode %04o)", path, (unsigned)s.mode);
    return 0;
}

int secret_load(struct env *env, const char *path, struct secret *out, struct glint_error *error)
{
    uint8_t text[FILE_BYTES_MAX + 1];
    int file = env->open(env, path, ENV_OWN);
    if (file == -ELOOP) return refuse(error, path, "a symbolic link", "name the file itself");
    if (file == -ENOENT) return refuse(error, path, "there is no such file", HINT_NEW);
    if (file < 0) return error_set_system(error, GLINT_E_SECRET, file, "open", path);
    int r = check_file(env, file, path, error);
    int64_t n = r == 0 ? env_read_full(env, file, text, sizeof text, 0) : 0;
    env->close(env, file); /* nothing was written: nothing to lose */
    if (n < 0) r = error_set_system(error, GLINT_E_SECRET, (int)n, "read", path);
    if (r == 0 && !parse(text, (uint64_t)n, out))
        r = refuse(error, path, "not 64 varied hexadecimal digits", HINT_NEW);
    OPENSSL_cleanse(text, sizeof text);
    if (r != 0) secret_clear(out);
    assert((r == 0) == (error->code == GLINT_OK));
    return r;
}

int secret_create(struct env *env, const char *path, struct glint_error *error)
{
    struct secret s;
    char text[HEX_BYTES + 2];
    if (env->random(env, s.bytes, sizeof s.bytes) != 0)
        return error_set(error, GLINT_E_SYSTEM, NULL, "the system gave no random numbers");
    for (unsigned i = 0; i < SECRET_BYTES; i++)
        snprintf(text + (size_t)2 * i, 3, "%02x", s.bytes[i]);
    text[HEX_BYTES] = '\n';
    secret_clear(&s);
    int r = 0, file = env->open(env, path, ENV_CREATE);
    if (file == -EEXIST)
        r = error_set(error, GLINT_E_OUTPUT_EXISTS, "name another file; a secret is never replaced",
                      "%s exists", path);
    else if (file < 0)
        r = error_set_system(error, GLINT_E_SECRET, file, "create", path);
    if (r == 0) {
        int w = env_write_all(env, file, text, HEX_BYTES + 1);
        int c = env->close(env, file);
        if (w == 0) w = c;
        if (w != 0) {
            env->remove_file(env, path);
            r = error_set_system(error, GLINT_E_SECRET, w, "write", path);
        }
    }
    OPENSSL_cleanse(text, sizeof text);
    return r;
}

/* Makes the folders of `path`, whatever is missing of them. */
static int make_folders(struct env *env, char *path)
{
    for (char *slash = strchr(path + 1, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        int r = env->make_folder(env, path, true);
        *slash = '/';
        if (r != 0 && r != -EEXIST) return r;
    }
    return 0;
}

/* The whole secret under a name of its own. 0 or a code. */
static int make_fresh(struct env *env, const char *path, char fresh[PATH_MAX],
                      struct glint_error *error)
{
    uint64_t number = 0;
    if (env->random(env, &number, sizeof number) != 0)
        return error_set(error, GLINT_E_SYSTEM, NULL, "the system gave no random numbers");
    if (!text_format(fresh, PATH_MAX, "%s.%016llx", path, (unsigned long long)number))
        return refuse(error, path, "the path is too long", "set XDG_STATE_HOME to a shorter one");
    return secret_create(env, fresh, error);
}

/* It takes its place only where none is: whoever comes second loads the first one's. */
static int make_default(struct env *env, char path[PATH_MAX], struct glint_error *error)
{
    char fresh[PATH_MAX];
    int r = make_folders(env, path);
    if (r != 0) return error_set_system(error, GLINT_E_SECRET, r, "make the folder of", path);
    if (make_fresh(env, path, fresh, error) != 0) return error->code;
    r = env->rename(env, fresh, path, ENV_RENAME_NEW);
    if (r == 0) return 0;
    env->remove_file(env, fresh);
    return r == -EEXIST ? 0 : error_set_system(error, GLINT_E_SECRET, r, "put in place", path);
}

int secret_default(struct env *env, struct secret *out, struct glint_error *error)
{
    char path[PATH_MAX];
    struct env_stat s;
    const char *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");
    bool fits = false;
    if (state != NULL && state[0] == '/')
        fits = text_format(path, sizeof path, "%s/glint/secret", state);
    else if (home != NULL && home[0] == '/')
        fits = text_format(path, sizeof path, "%s/.local/state/glint/secret", home);
    if (!fits)
        return error_set(error, GLINT_E_SECRET, "set HOME, or configure secret_file",
                         "there is no folder for a secret: neither XDG_STATE_HOME nor HOME is set");
    if (env->stat(env, path, &s) == -ENOENT && make_default(env, path, error) != 0)
        return error->code;
    return secret_load(env, path, out, error);
}

void secret_clear(struct secret *s)
{
    OPENSSL_cleanse(s, sizeof *s);
}
