/* Secret files: reading, creation and key derivation. Every buffer that contained secret bytes is
 * cleared after use. */
#include "engine/net/secret.h"

#include "engine/base/error.h"
#include "engine/base/file_check.h"
#include "engine/base/text.h"
#include "engine/net/crypto_library.h"

#include <openssl/params.h>

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define HEX_BYTES      (2 * SECRET_BYTES)
#define CLIENT_WORD    "client "
#define CLIENT_INFO    "glint client 1 secret"
#define LINE_BYTES_MAX (sizeof CLIENT_WORD + HEX_BYTES + 2) /* with an end of line */
#define FILE_BYTES_MAX (SECRETS_MAX * LINE_BYTES_MAX)
#define HINT_NEW       "create one with `glint secret new FILE`, and copy it to every node"

static int set_secret_error(struct glint_error *error, const char *path, const char *what,
                            const char *hint)
{
    return error_set(error, GLINT_E_SECRET, hint, "%s: %s", path, what);
}

/* Parses 64 hex digits. Rejects a secret of one repeated digit, which is a placeholder or
 * a mistake. */
static bool parse_secret_hex(const uint8_t *text, uint64_t size, struct secret *out)
{
    bool varied = false;
    if (size != HEX_BYTES) return false;
    for (unsigned i = 0; i < SECRET_BYTES; i++) {
        int high = text_hex_digit(text[(size_t)2 * i]);
        int low = text_hex_digit(text[(size_t)2 * i + 1]);
        if (high < 0 || low < 0) return false;
        out->bytes[i] = (uint8_t)(high << 4 | low);
        varied = varied || text[(size_t)2 * i] != text[0] || text[(size_t)2 * i + 1] != text[0];
    }
    return varied;
}

/* Parses one line and appends it to *out. Returns NULL, or what is wrong. */
static const char *parse_secret_line(const uint8_t *text, uint64_t size, struct secrets *out)
{
    static const uint64_t word = sizeof CLIENT_WORD - 1;
    bool client = size > word && memcmp(text, CLIENT_WORD, word) == 0;
    enum secret_kind kind = client ? SECRET_CLIENT : SECRET_PEER;
    if (out->count == SECRETS_MAX) return "more secrets than a file may contain (8)";
    if (out->count > 0 && kind != out->kind) return "secrets and client secrets in one file";
    if (client) {
        text += word;
        size -= word;
    }
    if (!parse_secret_hex(text, size, &out->list[out->count]))
        return "not 64 varied hexadecimal digits";
    out->kind = kind;
    out->count++;
    return NULL;
}

/* Parses all lines; empty lines are ignored. Returns NULL, or what is wrong. */
static const char *parse_secrets(const uint8_t *text, uint64_t size, struct secrets *out)
{
    const char *wrong = NULL;
    for (uint64_t at = 0, end; at < size && wrong == NULL; at = end + 1) {
        end = at;
        while (end < size && text[end] != '\n') end++;
        uint64_t n = end - at;
        if (n > 0 && text[end - 1] == '\r') n--;
        if (n > 0) wrong = parse_secret_line(text + at, n, out);
    }
    return wrong == NULL && out->count == 0 ? "not 64 varied hexadecimal digits" : wrong;
}

int secrets_load(struct env *env, const char *path, struct secrets *out, struct glint_error *error)
{
    uint8_t text[FILE_BYTES_MAX + 1];
    const char *wrong = NULL;
    struct env_stat stat;
    *out = (struct secrets){.count = 0};
    int r = 0, file = file_open_checked(env, path, FILE_SECRET, GLINT_E_SECRET, &stat, error);
    if (file == -ENOENT) text_format(error->hint, sizeof error->hint, HINT_NEW);
    if (file < 0) return error->code;
    int64_t n = env_read_full(env, file, text, sizeof text, 0);
    env->close(env, file); /* read only: an error of close does not matter */
    if (n < 0) r = error_set_system(error, GLINT_E_SECRET, (int)n, "read", path);
    if (r == 0) wrong = parse_secrets(text, (uint64_t)n, out);
    if (wrong != NULL) r = set_secret_error(error, path, wrong, HINT_NEW);
    explicit_bzero(text, sizeof text);
    if (r != 0) secrets_clear(out);
    assert((r == 0) == (error->code == GLINT_OK));
    return r;
}

static int set_write_error(struct glint_error *error, int r, const char *what, const char *path)
{
    if (r == -EEXIST)
        return error_set(error, GLINT_E_OUTPUT_EXISTS,
                         "name another file; an existing secret is never replaced", "%s exists",
                         path);
    return error_set_system(error, GLINT_E_SECRET, r, what, path);
}

/* Writes a new file under a temporary name, then renames it to `path`: a secret is complete or
 * not there, also if this process is killed. Returns 0 or a code. */
static int write_new_file(struct env *env, const char *path, const char *text, size_t size,
                          struct glint_error *error)
{
    char temp[PATH_MAX];
    const char *what = "create";
    uint64_t number = 0;
    if (env->random(env, &number, sizeof number) != 0)
        return error_set(error, GLINT_E_SYSTEM, NULL, "cannot get random numbers");
    if (!text_format(temp, sizeof temp, "%s.%016llx", path, (unsigned long long)number))
        return set_secret_error(error, path, "the path is too long", "name a shorter path");
    const int file = env->open(env, ENV_CWD, temp, ENV_CREATE);
    if (file < 0) return set_write_error(error, file, what, path);
    int r = env_write_all(env, file, text, size);
    const int c = env->close(env, file);
    if (r == 0) r = c;
    if (r == 0) {
        what = "rename a new secret to";
        r = env->rename(env, ENV_CWD, temp, ENV_CWD, path, ENV_RENAME_NOREPLACE);
    } else {
        what = "write";
    }
    if (r == 0) return 0;
    env->remove(env, ENV_CWD, temp, false);
    return set_write_error(error, r, what, path);
}

/* Creates a file of one line: `word`, then the secret in hex. Returns 0 or a code. */
static int write_secret_file(struct env *env, const char *path, const char *word,
                             const struct secret *secret, struct glint_error *error)
{
    char text[LINE_BYTES_MAX];
    size_t size = strlen(word);
    memcpy(text, word, size);
    text_format_hex(text + size, secret->bytes, SECRET_BYTES);
    size += HEX_BYTES;
    text[size++] = '\n';
    const int r = write_new_file(env, path, text, size, error);
    explicit_bzero(text, sizeof text);
    return r;
}

int secret_file_create(struct env *env, const char *path, struct glint_error *error)
{
    struct secret s;
    if (env->random(env, s.bytes, sizeof s.bytes) != 0)
        return error_set(error, GLINT_E_SYSTEM, NULL, "cannot get random numbers");
    int r = write_secret_file(env, path, "", &s, error);
    explicit_bzero(&s, sizeof s);
    return r;
}

int client_secret_file_create(struct env *env, const struct secrets *from, const char *path,
                              struct glint_error *error)
{
    struct secret s;
    assert(from->kind == SECRET_PEER && from->count > 0);
    if (!secret_derive_client_secret(&from->list[0], &s))
        return error_set(error, GLINT_E_SYSTEM, "check the installation of OpenSSL 3",
                         "cannot derive a secret");
    int r = write_secret_file(env, path, CLIENT_WORD, &s, error);
    explicit_bzero(&s, sizeof s);
    return r;
}

/* ---- Derivation */

bool secret_derive_key(const struct secret *secret, const char *info, uint8_t *out, size_t size)
{
    struct glint_error unused = {.code = GLINT_OK};
    if (crypto_library_load(&unused) != 0) return false;
    EVP_KDF *kdf = crypto.EVP_KDF_fetch(NULL, "HKDF", NULL);
    EVP_KDF_CTX *c = kdf != NULL ? crypto.EVP_KDF_CTX_new(kdf) : NULL;
    OSSL_PARAM params[] = {
        crypto.OSSL_PARAM_construct_utf8_string("digest", (char *)"SHA256", 0),
        crypto.OSSL_PARAM_construct_octet_string("key", (void *)(uintptr_t)secret->bytes,
                                                 SECRET_BYTES),
        crypto.OSSL_PARAM_construct_octet_string("info", (void *)(uintptr_t)info, strlen(info)),
        crypto.OSSL_PARAM_construct_end()};
    bool ok = c != NULL && crypto.EVP_KDF_derive(c, out, size, params) > 0;
    crypto.EVP_KDF_CTX_free(c);
    crypto.EVP_KDF_free(kdf);
    return ok;
}

bool secret_derive_client_secret(const struct secret *secret, struct secret *out)
{
    return secret_derive_key(secret, CLIENT_INFO, out->bytes, sizeof out->bytes);
}

/* ---- The default secret file */

/* Creates the default secret. If two processes do this at the same time, the second one uses the
 * secret of the first. Returns 0 or a code. */
static int create_default_secret(struct env *env, char path[PATH_MAX], struct glint_error *error)
{
    const int r = env_make_parents(env, path);
    if (r != 0) return error_set_system(error, GLINT_E_SECRET, r, "create the directory of", path);
    if (secret_file_create(env, path, error) != GLINT_E_OUTPUT_EXISTS) return error->code;
    *error = (struct glint_error){.code = GLINT_OK};
    return 0;
}

int default_secret_path(struct env *env, char out[PATH_MAX], struct glint_error *error)
{
    struct env_stat s;
    const char *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");
    bool fits = false;
    /* The XDG Base Directory Specification says to ignore a relative path. */
    if (state != NULL && state[0] == '/')
        fits = text_format(out, PATH_MAX, "%s/glint/secret", state);
    else if (home != NULL && home[0] == '/')
        fits = text_format(out, PATH_MAX, "%s/.local/state/glint/secret", home);
    if (!fits)
        return error_set(error, GLINT_E_SECRET, "set HOME, or configure secret_file",
                         "no directory for a secret: neither XDG_STATE_HOME nor HOME is set");
    if (env->stat(env, out, &s) == -ENOENT && create_default_secret(env, out, error) != 0)
        return error->code;
    return 0;
}

void secret_clear(struct secret *s)
{
    explicit_bzero(s, sizeof *s);
}

void secrets_clear(struct secrets *s)
{
    explicit_bzero(s, sizeof *s);
}
