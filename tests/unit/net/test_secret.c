/* Secret files: which are accepted, how they are created, and that two processes that start at the
 * same time agree on one secret. */
#include "engine/net/secret.h"

#include "engine/base/error.h"
#include "tests/support/faults.h"

#include <criterion/criterion.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static const char good[] = "00112233445566778899aabbccddeeff0123456789abcdeffedcba9876543210\n";

static char dir[64], path[128];
static struct glint_error error;
static struct secrets secret; /* last loaded */

static void begin(void)
{
    snprintf(dir, sizeof dir, "/tmp/glint-secret-XXXXXX");
    cr_assert_not_null(mkdtemp(dir));
    snprintf(path, sizeof path, "%s/secret", dir);
    memset(&error, 0, sizeof error);
}

static void end(void)
{
    cr_expect_eq(env_remove_tree(env_real(), ENV_CWD, dir, 8), 0);
}

static void put(const char *text, size_t size, mode_t mode)
{
    unlink(path);
    int file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    cr_assert(file >= 0 && write(file, text, size) == (ssize_t)size);
    cr_assert_eq(fchmod(file, mode), 0);
    close(file);
}

static int load(void)
{
    memset(&error, 0, sizeof error);
    return secrets_load(env_real(), path, &secret, &error);
}

static int load_default(struct env *env, struct secrets *out)
{
    char at[PATH_MAX];
    int r = default_secret_path(env, at, &error);
    return r == 0 ? secrets_load(env, at, out, &error) : r;
}

/* Loading fails, with the path and a hint in the error. */
static void expect_rejected(const char *what)
{
    static const struct secrets cleared;
    memset(&secret, 7, sizeof secret);
    cr_expect_eq(load(), GLINT_E_SECRET, "%s", what);
    cr_expect(strncmp(error.cause, path, strlen(path)) == 0 || strstr(error.cause, path) != NULL,
              "%s", error.cause);
    cr_expect_not_null(strstr(error.cause, what), "%s, not %s", error.cause, what);
    cr_expect(error.hint[0] != '\0');
    cr_expect_eq(memcmp(&secret, &cleared, sizeof secret), 0);
}

/* Whether secret `i` of the file is `good`. */
static bool is_good(unsigned i)
{
    const uint8_t *b = secret.list[i].bytes;
    return b[1] == 0x11 && b[31] == 0x10 && b[15] == 0xff;
}

static unsigned names(const char *at)
{
    unsigned count = 0;
    DIR *d = opendir(at);
    cr_assert_not_null(d);
    for (const struct dirent *e; (e = readdir(d)) != NULL;) count += e->d_name[0] != '.';
    closedir(d);
    return count;
}

Test(secret, file_of_its_owner_is_read)
{
    static const mode_t modes[] = {0600, 0400, 0700};
    begin();
    for (unsigned i = 0; i < 3; i++) {
        put(good, sizeof good - 1, modes[i]);
        cr_expect_eq(load(), 0, "%s", error.cause);
        cr_expect(is_good(0));
    }
    put(good, 64, 0600); /* without a newline */
    cr_expect_eq(load(), 0);
    put("00112233445566778899AABBCCDDEEFF0123456789ABCDEFFEDCBA9876543210\r\n", 66, 0600);
    cr_expect_eq(load(), 0);
    secrets_clear(&secret);
    for (unsigned i = 0; i < SECRET_BYTES; i++) cr_expect_eq(secret.list[0].bytes[i], 0);
    end();
}

Test(secret, file_accessible_to_others_is_rejected)
{
    static const mode_t modes[] = {0604, 0644, 0620, 0602, 0601, 0610, 0660, 0666, 0777};
    begin();
    for (unsigned i = 0; i < sizeof modes / sizeof modes[0]; i++) {
        put(good, sizeof good - 1, modes[i]);
        expect_rejected("other users may");
    }
    put(good, sizeof good - 1, 0640);
    if (geteuid() != 0)
        expect_rejected("other users may"); /* a file of root may be readable by a group */
    else
        cr_expect_eq(load(), 0, "%s", error.cause);
    end();
}

Test(secret, file_of_another_user_is_rejected)
{
    begin();
    put(good, sizeof good - 1, 0600);
    if (chown(path, 65534, 65534) == 0) expect_rejected("another user");
    end();
}

Test(secret, malformed_secret_is_rejected)
{
    static const char *const texts[] = {
        "",
        "\n",
        "00112233445566778899aabbccddeeff\n",
        "not a secret at all",
        "0011223344556677889gaabbccddeeff0123456789abcdeffedcba9876543210\n",
        "00112233445566778899aabbccddeeff0123456789abcdeffedcba98765432100\n",
        "0000000000000000000000000000000000000000000000000000000000000000\n",
        "ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff\n",
        "00112233445566778899aabbccddeeff0123456789abcdeffedcba987654321\n",
        " 0112233445566778899aabbccddeeff0123456789abcdeffedcba9876543210\n"};
    begin();
    for (unsigned i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        put(texts[i], strlen(texts[i]), 0600);
        expect_rejected("64 varied");
    }
    char *large = calloc(1, 100000);
    memset(large, 'a', 100000);
    put(large, 100000, 0600);
    free(large);
    expect_rejected("64 varied");
    end();
}

Test(secret, secret_of_two_digits_is_accepted)
{
    static const char *const texts[] = {
        "0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f\n",
        "000000000000000000000000000000000000000000000000000000000000000f\n",
        "f000000000000000000000000000000000000000000000000000000000000000\n"};
    begin();
    for (unsigned i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        put(texts[i], strlen(texts[i]), 0600);
        cr_expect_eq(load(), 0, "%s", error.cause);
    }
    end();
}

/* Writes lines, each with a newline. */
static void put_lines(unsigned count, const char *const lines[])
{
    char text[4096] = "";
    size_t size = 0;
    for (unsigned i = 0; i < count; i++)
        size += (size_t)snprintf(text + size, sizeof text - size, "%s\n", lines[i]);
    put(text, size, 0600);
}

#define HEX(first) first "0112233445566778899aabbccddeeff0123456789abcdeffedcba9876543210"

Test(secret, file_may_list_several_secrets)
{
    static const char *const lines[] = {HEX("0"), "",       HEX("1"), HEX("2") "\r", HEX("3"),
                                        HEX("4"), HEX("5"), HEX("6"), HEX("7")};
    begin();
    put_lines(9, lines);
    cr_assert_eq(load(), 0, "%s", error.cause);
    cr_expect_eq(secret.count, SECRETS_MAX);
    cr_expect_eq(secret.kind, SECRET_PEER);
    cr_expect(is_good(0));
    for (unsigned i = 0; i < SECRETS_MAX; i++) cr_expect_eq(secret.list[i].bytes[0], i << 4);
    static const char *const many[] = {HEX("0"), HEX("1"), HEX("2"), HEX("3"), HEX("4"),
                                       HEX("5"), HEX("6"), HEX("7"), HEX("8")};
    put_lines(9, many);
    expect_rejected("more secrets than");
    static const char *const bad[] = {HEX("0"), HEX("")};
    put_lines(2, bad);
    expect_rejected("64 varied");
    end();
}

Test(secret, client_secret_is_derived_and_distinguished)
{
    static const char *const client[] = {"client " HEX("0"), "client " HEX("1")},
                             *const mixed[] = {HEX("0"), "client " HEX("1")},
                             *const wrong[] = {"client" HEX("0")},
                             *const other[] = {"daemon " HEX("0")};
    /* HKDF-SHA256, computed by another program (python3: hmac, hashlib). */
    static const uint8_t expected[] = {0xaa, 0x4e, 0x2c, 0x82, 0xcb, 0x5f, 0xb2, 0x66};
    struct secrets from = {.count = 2, .list = {{{1, 2, 3}}, {{9}}}};
    struct stat s;
    begin();
    put_lines(2, client);
    cr_assert_eq(load(), 0, "%s", error.cause);
    cr_expect(secret.kind == SECRET_CLIENT && secret.count == 2 && is_good(0));
    put_lines(2, mixed);
    expect_rejected("in one file");
    put_lines(1, wrong);
    expect_rejected("64 varied");
    put_lines(1, other);
    expect_rejected("64 varied");
    unlink(path);
    cr_assert_eq(client_secret_file_create(env_real(), &from, path, &error), 0, "%s", error.cause);
    cr_assert_eq(stat(path, &s), 0);
    cr_expect_eq(s.st_mode & 07777, 0600);
    cr_assert_eq(load(), 0, "%s", error.cause);
    cr_expect(secret.kind == SECRET_CLIENT && secret.count == 1);
    cr_expect_eq(memcmp(secret.list[0].bytes, expected, sizeof expected), 0);
    cr_expect_eq(client_secret_file_create(env_real(), &from, path, &error), GLINT_E_OUTPUT_EXISTS);
    end();
}

Test(secret, own_symlink_is_followed)
{
    char target[128];
    begin();
    put(good, sizeof good - 1, 0600);
    snprintf(target, sizeof target, "%s/target", dir);
    cr_assert_eq(rename(path, target), 0);
    cr_assert_eq(symlink(target, path), 0);
    cr_expect_eq(load(), 0, "%s", error.cause);
    if (lchown(path, 65534, 65534) == 0) expect_rejected("another user");
    unlink(path);
    cr_assert_eq(symlink("/nowhere", path), 0);
    expect_rejected("No such file");
    end();
}

Test(secret, directory_or_pipe_is_rejected)
{
    begin();
    expect_rejected("No such file");
    cr_expect_not_null(strstr(error.hint, "glint secret new"), "%s", error.hint);
    cr_assert_eq(mkdir(path, 0700), 0);
    expect_rejected("a directory");
    rmdir(path);
    cr_assert_eq(mkfifo(path, 0600), 0);
    expect_rejected("a pipe or a device");
    end();
}

Test(secret, new_secret_is_private_and_replaces_nothing)
{
    struct secrets first;
    struct stat s;
    begin();
    umask(0);
    cr_assert_eq(secret_file_create(env_real(), path, &error), 0);
    cr_assert_eq(stat(path, &s), 0);
    cr_expect_eq(s.st_mode & 07777, 0600);
    cr_assert_eq(load(), 0, "%s", error.cause);
    first = secret;
    cr_expect_eq(secret_file_create(env_real(), path, &error), GLINT_E_OUTPUT_EXISTS);
    cr_expect_eq(load(), 0);
    cr_expect_eq(memcmp(&first, &secret, sizeof first), 0);
    unlink(path);
    memset(&error, 0, sizeof error);
    cr_assert_eq(secret_file_create(env_real(), path, &error), 0);
    cr_assert_eq(load(), 0);
    cr_expect_neq(memcmp(&first, &secret, sizeof first), 0);
    end();
}

Test(secret, default_is_created_once_in_user_state_dir)
{
    char at[128];
    struct secrets first;
    struct stat s;
    begin();
    umask(0);
    snprintf(at, sizeof at, "%s/state", dir);
    setenv("XDG_STATE_HOME", at, 1);
    cr_assert_eq(load_default(env_real(), &first), 0, "%s", error.cause);
    cr_assert_eq(load_default(env_real(), &secret), 0);
    cr_expect_eq(memcmp(&first, &secret, sizeof first), 0);
    snprintf(at, sizeof at, "%s/state/glint", dir);
    cr_assert_eq(stat(at, &s), 0);
    cr_expect_eq(s.st_mode & 07777, 0700);
    cr_expect_eq(names(at), 1);
    setenv("XDG_STATE_HOME", "relative", 1); /* relative: ignored, as XDG specifies */
    setenv("HOME", dir, 1);
    cr_assert_eq(load_default(env_real(), &secret), 0);
    cr_expect_neq(memcmp(&first, &secret, sizeof first), 0);
    snprintf(path, sizeof path, "%s/.local/state/glint/secret", dir);
    cr_expect_eq(load(), 0);
    setenv("XDG_STATE_HOME", "/proc/none", 1);
    cr_expect_eq(load_default(env_real(), &secret), GLINT_E_SECRET);
    cr_expect_not_null(strstr(error.cause, "create the directory of"), "%s", error.cause);
    unsetenv("XDG_STATE_HOME");
    unsetenv("HOME");
    cr_expect_eq(load_default(env_real(), &secret), GLINT_E_SECRET);
    end();
}

Test(secret, concurrent_processes_agree_on_one_secret)
{
    enum { MANY = 16 };
    struct secrets all[MANY];
    for (unsigned round = 0; round < 10; round++) {
        int start[2], results[2], status;
        begin();
        setenv("XDG_STATE_HOME", dir, 1);
        cr_assert(pipe(start) == 0 && pipe(results) == 0);
        for (unsigned i = 0; i < MANY; i++) {
            if (fork() != 0) continue;
            char go;
            close(start[1]);
            if (read(start[0], &go, 1) != 0) _exit(1);
            if (load_default(env_real(), &secret) != 0) _exit(2);
            _exit(write(results[1], &secret, sizeof secret) == (ssize_t)sizeof secret ? 0 : 3);
        }
        close(start[0]);
        close(start[1]); /* lets both processes start */
        for (unsigned i = 0; i < MANY; i++) {
            cr_assert(wait(&status) > 0 && status == 0, "status %x", (unsigned)status);
            cr_assert_eq(read(results[0], &all[i], sizeof all[i]), (ssize_t)sizeof all[i]);
            cr_assert_eq(memcmp(&all[i], &all[0], sizeof all[i]), 0);
        }
        close(results[0]);
        close(results[1]);
        snprintf(path, sizeof path, "%s/glint", dir);
        cr_expect_eq(names(path), 1);
        end();
    }
}

static int64_t write_and_look(struct env *env, int file, const void *data, size_t size)
{
    struct stat s;
    cr_expect(stat(path, &s) != 0 && errno == ENOENT, "the name is given before the bytes");
    return env_real()->write(env, file, data, size);
}

/* A process that is killed between two calls leaves no part of a secret under its name. */
Test(secret, name_appears_with_all_bytes)
{
    struct env env = *env_real();
    env.write = write_and_look;
    begin();
    cr_assert_eq(secret_file_create(&env, path, &error), 0, "%s", error.cause);
    cr_expect_eq(load(), 0, "%s", error.cause);
    cr_expect_eq(names(dir), 1);
    end();
}

/* For each failing system call: a valid secret, or an error and no file left. */
Test(secret, failed_call_leaves_no_partial_secret)
{
    static const int errors[] = {-EIO, -ENOSPC, -EMFILE};
    for (unsigned e = 0; e < 3; e++) {
        bool reached = true;
        for (int64_t n = 1; reached; n++) {
            char at[128];
            begin();
            setenv("XDG_STATE_HOME", dir, 1);
            faults_set(FAULT_ONCE, n, errors[e]);
            int r = load_default(faults_env(), &secret);
            reached = faults_failed() != NULL;
            cr_expect((r == 0) == (error.code == GLINT_OK));
            cr_expect(r == 0 || (error.cause[0] != '\0' && reached));
            cr_expect(reached || r == 0);
            snprintf(at, sizeof at, "%s/glint", dir);
            struct stat s;
            unsigned left = stat(at, &s) == 0 ? names(at) : 0;
            cr_expect_leq(left, 1, "call %d", (int)n);
            memset(&error, 0, sizeof error);
            cr_expect_eq(load_default(env_real(), &secret), 0, "%s", error.cause);
            end();
        }
    }
}
