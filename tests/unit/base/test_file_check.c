/* Which files are trusted: by owner, mode and kind, and by every link on the path to them. A
 * replaced env call fakes owners that only root can set. */
#include "engine/base/file_check.h"
#include "tests/support/faults.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum owner { OURS, ROOT, ANOTHER };

static char scratch[] = "/tmp/file-check-test-XXXXXX";
static struct env env; /* the real one; tests replace some calls */
static enum owner file_owner, link_owner;
static const char *owned_link; /* the link whose owner is link_owner; all other links are ours */
static struct glint_error error;

static void set_owner(struct env_stat *s, enum owner owner)
{
    s->mine = owner == OURS;
    s->owner = owner == OURS ? 1000 : owner == ROOT ? 0 : 2000;
}

static int stat_with_owner(struct env *e, int file, struct env_stat *out)
{
    int r = env_real()->stat_open(e, file, out);
    set_owner(out, file_owner);
    return r;
}

static int link_with_owner(struct env *e, int dir, const char *name, char *out, size_t capacity,
                           struct env_stat *stat)
{
    int r = env_real()->read_link(e, dir, name, out, capacity, stat);
    bool owned = owned_link != NULL && strcmp(name, owned_link) == 0;
    set_owner(stat, owned ? link_owner : OURS);
    return r;
}

static void enter_scratch_dir(void)
{
    env = *env_real();
    env.stat_open = stat_with_owner;
    env.read_link = link_with_owner;
    umask(022);
    cr_assert(mkdtemp(scratch) != NULL && chdir(scratch) == 0);
}

static void leave_scratch_dir(void)
{
    cr_assert_eq(chdir("/"), 0);
    cr_expect_eq(env_remove_tree(env_real(), ENV_CWD, scratch, 8), 0);
}

TestSuite(file_check, .init = enter_scratch_dir, .fini = leave_scratch_dir);

static void put_file(const char *path, mode_t mode)
{
    FILE *file = fopen(path, "we");
    cr_assert(file != NULL && fputs(path, file) >= 0 && fclose(file) == 0);
    cr_assert_eq(chmod(path, mode), 0);
}

static unsigned open_files(void)
{
    unsigned count = 0;
    for (int i = 0; i < 256; i++) count += fcntl(i, F_GETFD) >= 0;
    return count;
}

/* Returns the errno, or 0. No descriptor stays open in either case. */
static int check_open(const char *path, enum file_use use)
{
    struct env_stat stat;
    unsigned files = open_files();
    error = (struct glint_error){.code = GLINT_OK};
    int file = file_open_checked(&env, path, use, GLINT_E_CONFIG, &stat, &error);
    if (file >= 0) env.close(&env, file);
    cr_expect_eq(open_files(), files, "%s", path);
    cr_expect_eq(error.code, file < 0 ? GLINT_E_CONFIG : GLINT_OK, "%s", path);
    return file < 0 ? file : 0;
}

static void expect_rejected(const char *path, enum file_use use, const char *why, const char *hint)
{
    cr_expect_eq(check_open(path, use), -EPERM, "%s", path);
    cr_expect_eq(strncmp(error.cause, path, strlen(path)), 0, "%s", error.cause);
    cr_expect_not_null(strstr(error.cause, why), "%s, not %s", error.cause, why);
    cr_expect_not_null(strstr(error.hint, hint), "%s, not %s", error.hint, hint);
}

/* Whether the file at `path` can be opened and contains `text`. */
static bool leads_to(const char *path, const char *text)
{
    struct env_stat stat;
    char found[64] = "";
    error = (struct glint_error){.code = GLINT_OK};
    int file = file_open_checked(&env, path, FILE_CONFIG, GLINT_E_CONFIG, &stat, &error);
    if (file < 0) return false;
    cr_expect_gt(read(file, found, sizeof found - 1), 0);
    close(file);
    return strcmp(found, text) == 0;
}

Test(file_check, owner_and_mode_are_checked)
{
    static const struct {
        enum file_use use;
        enum owner owner;
        mode_t mode;
        const char *wrong, *hint; /* NULL: the file is accepted */
    } rows[] = {
        {FILE_CONFIG, OURS, 0600, NULL, NULL},
        {FILE_CONFIG, OURS, 0755, NULL, NULL},
        {FILE_CONFIG, OURS, 0664, "other users may write to it (mode 0664)", "chmod go-w f"},
        {FILE_CONFIG, OURS, 0646, "other users may write to it (mode 0646)", "chmod go-w f"},
        {FILE_CONFIG, ROOT, 0644, NULL, NULL},
        {FILE_CONFIG, ROOT, 0664, "other users may write to it", "chmod go-w f"},
        {FILE_CONFIG, ANOTHER, 0644, "another user", "to you or to root"},
        {FILE_CONFIG, ANOTHER, 0600, "another user", "to you or to root"},
        {FILE_SECRET, OURS, 0600, NULL, NULL},
        {FILE_SECRET, OURS, 0400, NULL, NULL},
        {FILE_SECRET, OURS, 0700, NULL, NULL},
        {FILE_SECRET, OURS, 0640, "other users may read or write it (mode 0640)", "chmod 600 f"},
        {FILE_SECRET, OURS, 0620, "other users may read or write it", "chmod 600 f"},
        {FILE_SECRET, OURS, 0610, "other users may read or write it", "chmod 600 f"},
        {FILE_SECRET, OURS, 0604, "other users may read or write it", "chmod 600 f"},
        {FILE_SECRET, OURS, 0602, "other users may read or write it", "chmod 600 f"},
        {FILE_SECRET, OURS, 0601, "other users may read or write it", "chmod 600 f"},
        {FILE_SECRET, ROOT, 0600, NULL, NULL},
        {FILE_SECRET, ROOT, 0640, NULL, NULL},
        {FILE_SECRET, ROOT, 0440, NULL, NULL},
        {FILE_SECRET, ROOT, 0660, "other users may read or write it", "chmod 640 f"},
        {FILE_SECRET, ROOT, 0650, "other users may read or write it", "chmod 640 f"},
        {FILE_SECRET, ROOT, 0644, "other users may read or write it (mode 0644)", "chmod 640 f"},
        {FILE_SECRET, ROOT, 0642, "other users may read or write it", "chmod 640 f"},
        {FILE_SECRET, ROOT, 0641, "other users may read or write it", "chmod 640 f"},
        {FILE_SECRET, ANOTHER, 0600, "another user", "a file of your own"},
        {FILE_LOG, OURS, 0600, NULL, NULL},
        {FILE_LOG, OURS, 0666, NULL, NULL},
        {FILE_LOG, ROOT, 0666, "another user", "set log_dir"},
        {FILE_LOG, ANOTHER, 0666, "another user", "set log_dir"},
    };
    put_file("f", 0600);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        file_owner = rows[i].owner;
        cr_assert_eq(chmod("f", rows[i].mode), 0);
        if (rows[i].wrong != NULL)
            expect_rejected("f", rows[i].use, rows[i].wrong, rows[i].hint);
        else
            cr_expect_eq(check_open("f", rows[i].use), 0, "row %zu: %s", i, error.cause);
    }
}

Test(file_check, real_owner_is_checked)
{
    if (geteuid() != 0) cr_skip_test("only root can give files away");
    env = *env_real();
    put_file("f", 0600);
    cr_expect_eq(check_open("f", FILE_SECRET), 0);
    cr_assert_eq(symlink("f", "link"), 0);
    cr_expect_eq(check_open("link", FILE_SECRET), 0);
    cr_assert_eq(lchown("link", 65534, 65534), 0);
    for (enum file_use use = FILE_CONFIG; use <= FILE_SECRET; use++)
        expect_rejected("link", use, "the symbolic link link in this path belongs to another user",
                        "name the file itself");
    cr_assert_eq(chown("f", 65534, 65534), 0);
    for (enum file_use use = FILE_CONFIG; use <= FILE_LOG; use++)
        expect_rejected("f", use, "another user", "");
}

Test(file_check, non_regular_file_is_rejected_without_blocking)
{
    cr_assert(mkdir("dir", 0700) == 0 && mkfifo("fifo", 0600) == 0);
    for (enum file_use use = FILE_CONFIG; use <= FILE_LOG; use++)
        expect_rejected("fifo", use, "a pipe or a device", "");
    for (enum file_use use = FILE_CONFIG; use <= FILE_SECRET; use++) {
        expect_rejected("dir", use, "a directory", "");
        expect_rejected("dir/", use, "a directory", "");
        expect_rejected("/", use, "a directory", "");
        expect_rejected("/dev/null", use, "a pipe or a device", "");
    }
    cr_expect_eq(check_open("dir", FILE_LOG), -EISDIR);
    int reader = open("fifo", O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    cr_assert_geq(reader, 0);
    expect_rejected("fifo", FILE_LOG, "a pipe or a device", "remove it");
    close(reader);
}

Test(file_check, log_is_private_and_has_one_name)
{
    struct stat s;
    umask(0);
    cr_expect_eq(check_open("log", FILE_LOG), 0);
    cr_expect(stat("log", &s) == 0 && (s.st_mode & 07777) == 0600);
    cr_assert_eq(symlink("log", "link"), 0);
    expect_rejected("link", FILE_LOG, "it is a symbolic link", "remove it");
    cr_assert_eq(link("log", "second"), 0);
    expect_rejected("log", FILE_LOG, "more than one hard link", "remove it");
    cr_expect_eq(check_open("missing/log", FILE_LOG), -ENOENT);
    cr_expect_not_null(strstr(error.cause, "cannot write the log missing/log"));
}

Test(file_check, symlinks_are_followed)
{
    char absolute[128], path[256];
    cr_assert(mkdir("a", 0755) == 0 && mkdir("a/b", 0755) == 0);
    put_file("a/b/f", 0644);
    put_file("other", 0644);
    snprintf(absolute, sizeof absolute, "%s/a/b", scratch);
    cr_assert(symlink("a", "to-a") == 0 && symlink("../to-a/b", "a/to-b") == 0);
    cr_assert(symlink(absolute, "to-b") == 0 && symlink("to-b/f", "to-f") == 0);
    cr_assert(symlink("to-f", "to-to-f") == 0 && symlink("nowhere", "dangling") == 0);
    cr_assert(symlink("loop", "loop") == 0 && symlink("a/", "slash") == 0);
    static const char *const ways[] = {"a/b/f",    "to-a/b/f",  "./a//b/../b/./f",
                                       "a/to-b/f", "to-b/f",    "to-f",
                                       "to-to-f",  "slash/b/f", "to-a/../to-f"};
    for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++) {
        cr_expect(leads_to(ways[i], "a/b/f"), "%s: %s", ways[i], error.cause);
        snprintf(path, sizeof path, "/%s//%s", scratch, ways[i]);
        cr_expect(leads_to(path, "a/b/f"), "%s: %s", path, error.cause);
    }
    cr_expect_eq(check_open("dangling", FILE_CONFIG), -ENOENT);
    cr_expect_eq(check_open("missing/f", FILE_CONFIG), -ENOENT);
    cr_expect_eq(check_open("", FILE_CONFIG), -ENOENT);
    cr_expect_eq(check_open("loop", FILE_CONFIG), -ELOOP);
    cr_expect_eq(check_open("loop/f", FILE_CONFIG), -ELOOP);
    cr_expect_eq(check_open("other/f", FILE_CONFIG), -ENOTDIR);
    cr_expect_eq(check_open("other/", FILE_CONFIG), -ENOTDIR);
    cr_expect_eq(check_open("other/..", FILE_CONFIG), -ENOTDIR);
}

Test(file_check, too_long_path_is_rejected)
{
    char path[2 * PATH_MAX];
    memset(path, 'x', sizeof path);
    path[sizeof path - 1] = '\0';
    cr_expect_eq(check_open(path, FILE_CONFIG), -ENAMETOOLONG);
    path[NAME_MAX + 1] = '\0';
    cr_expect_eq(check_open(path, FILE_CONFIG), -ENAMETOOLONG);
    path[NAME_MAX] = '\0';
    cr_expect_eq(check_open(path, FILE_CONFIG), -ENOENT);
    char target[PATH_MAX - 8] = "";
    for (size_t n = 0; n + 2 < sizeof target; n += 2) memcpy(target + n, "./", 3);
    cr_assert_eq(symlink(target, "long"), 0);
    put_file("f", 0644);
    cr_expect_eq(check_open("long/f", FILE_CONFIG), 0, "%s", error.cause);
    cr_expect_eq(check_open("long/././././././././f", FILE_CONFIG), -ENAMETOOLONG);
}

/* Kubernetes: NAME is a link to ..data/NAME, and ..data one to the directory of this version. */
static void mount_secret(void)
{
    cr_assert_eq(mkdir("mount", 0755), 0);
    cr_assert_eq(mkdir("mount/..2026_11_22_06_11_31.1234", 0755), 0);
    put_file("mount/..2026_11_22_06_11_31.1234/secret", 0440);
    cr_assert_eq(symlink("..2026_11_22_06_11_31.1234", "mount/..data"), 0);
    cr_assert_eq(symlink("..data/secret", "mount/secret"), 0);
}

Test(file_check, symlink_must_belong_to_user_or_root)
{
    static const char *const links[] = {"secret", "..data"};
    mount_secret();
    file_owner = ROOT;
    for (int i = 0; i < 2; i++) {
        owned_link = links[i];
        link_owner = ROOT;
        cr_expect_eq(check_open("mount/secret", FILE_SECRET), 0, "%s", error.cause);
        link_owner = ANOTHER;
        expect_rejected("mount/secret", FILE_SECRET, "belongs to another user", "name the file");
        cr_expect_not_null(strstr(error.cause, links[i]), "%s", error.cause);
        expect_rejected("mount/secret", FILE_CONFIG, "belongs to another user", "name the file");
    }
}

static int link_is_swapped(struct env *e, int dir, const char *name, char *out, size_t capacity,
                           struct env_stat *stat)
{
    int r = env_real()->read_link(e, dir, name, out, capacity, stat);
    cr_assert(unlink("link") == 0 && symlink("evil", "link") == 0);
    return r;
}

static int open_and_swap(struct env *e, int dir, const char *name, enum env_open_mode mode)
{
    int file = env_real()->open(e, dir, name, mode);
    if (mode == ENV_SEARCH && strcmp(name, "a") == 0)
        cr_assert(rename("a", "aside") == 0 && symlink("evil", "a") == 0);
    return file;
}

/* If the path changes during the check, the checked file is opened, not the new one. */
Test(file_check, checked_file_is_the_opened_file)
{
    cr_assert(mkdir("a", 0755) == 0 && mkdir("evil", 0755) == 0);
    put_file("a/f", 0644);
    put_file("evil/f", 0644);
    cr_assert_eq(symlink("a", "link"), 0);
    env.read_link = link_is_swapped;
    cr_expect(leads_to("link/f", "a/f"), "%s", error.cause);
    env.read_link = link_with_owner;
    env.open = open_and_swap;
    cr_expect(leads_to("a/f", "a/f"), "%s", error.cause);
}

Test(file_check, every_failed_syscall_is_reported)
{
    struct env_stat stat;
    char mounted[128];
    mount_secret();
    cr_assert_eq(chmod("mount/secret", 0400), 0);
    snprintf(mounted, sizeof mounted, "%s/mount/secret", scratch);
    for (enum file_use use = FILE_CONFIG; use <= FILE_LOG; use++) {
        const char *path = use == FILE_LOG ? "log" : mounted;
        bool reached = true;
        for (int64_t n = 1; reached; n++) {
            unsigned files = open_files();
            error = (struct glint_error){.code = GLINT_OK};
            faults_set(FAULT_ONCE, n, -EIO);
            int file = file_open_checked(faults_env(), path, use, GLINT_E_CONFIG, &stat, &error);
            reached = faults_failed() != NULL; /* a failing close loses nothing */
            bool failed = reached && strcmp(faults_failed(), "close") != 0;
            cr_expect_eq(file < 0, failed, "%s", error.cause);
            cr_expect_eq(error.code, failed ? GLINT_E_CONFIG : GLINT_OK);
            if (file >= 0) close(file);
            cr_expect_eq(open_files(), files);
        }
    }
}
