/* Resolving a user's paths: directories, globs, links, and everything that is not a file. */
#include "engine/base/cancel.h"
#include "engine/input/input.h"
#include "engine/input/input_source.h"
#include "engine/input/input_walk.h"
#include "tests/support/test_task.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

static struct env env; /* the real one; calls fail for paths with these endings */
static const char *denied = "", *unlisted = "";
static char scratch_dir[] = "/tmp/glint-input-XXXXXX";
static enum input_content content = INPUT_BINARY; /* the format does not matter */
static struct input_list list;
static struct glint_error error;

static bool ends_with(const char *path, const char *end)
{
    const size_t n = strlen(path), m = strlen(end);
    return m > 0 && n >= m && strcmp(path + n - m, end) == 0;
}

static int test_env_open(struct env *e, int dir, const char *path, enum env_open_mode mode)
{
    (void)e;
    bool refused = mode == ENV_DIR ? ends_with(path, unlisted) : ends_with(path, denied);
    return refused ? -EACCES : env_real()->open(env_real(), dir, path, mode);
}

static void make_file(const char *name, uint64_t size)
{
    int f = open(name, O_WRONLY | O_CREAT | O_EXCL, 0666);
    cr_assert_geq(f, 0, "%s", name);
    cr_assert_eq(ftruncate(f, (off_t)size), 0);
    close(f);
}

/* A working directory with `a.tsv`, `b.gz` and the directory `d` of four files and two hidden
 * ones. */
static void setup(void)
{
    env = *env_real();
    env.open = test_env_open;
    cr_assert_not_null(mkdtemp(scratch_dir));
    cr_assert_eq(chdir(scratch_dir), 0);
    make_file("a.tsv", 3);
    make_file("b.gz", 4);
    cr_assert_eq(mkdir("d", 0777), 0);
    make_file("d/part-2", 1);
    make_file("d/part-10", 2);
    make_file("d/part-1.gz", 0);
    make_file("d/other", 7);
    make_file("d/_SUCCESS", 1);
    make_file("d/.part-3.crc", 1);
}

static void teardown(void)
{
    input_list_fini(&list);
    cr_expect_eq(mem_live_blocks(), 0);
    env_remove_tree(env_real(), ENV_CWD, scratch_dir, 5);
}

TestSuite(input, .init = setup, .fini = teardown);

static int make_list(const char *paths)
{
    input_list_fini(&list);
    error = (struct glint_error){.code = GLINT_OK};
    return input_list_resolve(&env, paths, content, &list, &error);
}

/* `wanted` is separated by spaces. */
static void expect_files(const char *paths, const char *wanted)
{
    char got[4096] = "";
    cr_expect_eq(make_list(paths), 0, "%s: %s", paths, error.cause);
    for (uint64_t i = 0; i < list.count; i++)
        snprintf(got + strlen(got), sizeof got - strlen(got), "%s%s", i > 0 ? " " : "",
                 list.files[i].path);
    cr_expect_str_eq(got, wanted, "%s: %s", paths, got);
}

static void expect_bad(const char *paths, int code, const char *cause)
{
    cr_expect_eq(make_list(paths), code, "%s: %d, %s", paths, error.code, error.cause);
    cr_expect(strstr(error.cause, cause) != NULL, "%s: %s", paths, error.cause);
}

Test(input, files_are_listed_in_given_order)
{
    expect_files("a.tsv", "a.tsv");
    cr_expect(list.files[0].size == 3 && list.files[0].compression == COMPRESSION_NONE &&
              list.files[0].mtime_ns != 0);
    expect_files("b.gz,a.tsv,b.gz", "b.gz a.tsv b.gz");
    cr_expect(list.files[0].compression == COMPRESSION_GZIP && list.bytes == 11);
}

Test(input, dirs_are_sorted_without_hidden_files)
{
    expect_files("d", "d/other d/part-1.gz d/part-10 d/part-2");
    expect_files("./d/,a.tsv", "./d/other ./d/part-1.gz ./d/part-10 ./d/part-2 a.tsv");
    cr_assert_eq(mkdir("none", 0777), 0);
    expect_files("none", "");
    expect_files("d/_SUCCESS", "d/_SUCCESS"); /* named explicitly */
}

Test(input, globs_match_paths_of_a_list)
{
    static const struct {
        const char *pattern, *path;
        bool directory;
        enum glob_match match;
        size_t size; /* of the directory */
    } cases[] = {{"*", "a", false, GLOB_FILE, 0},
                 {"*", "_a", false, GLOB_NONE, 0},
                 {"*", "a/b", false, GLOB_DIRECTORY, 1},
                 {"*", "a/_b", false, GLOB_NONE, 0},
                 {"*", "a", true, GLOB_DIRECTORY, 1},
                 {"_*", "_a", false, GLOB_FILE, 0},
                 {"_*", ".a", false, GLOB_NONE, 0},
                 {"a*/b", "a1/b", false, GLOB_FILE, 0},
                 {"a*/b", "a1", true, GLOB_BEGIN, 0},
                 {"a*/b", "c/b", false, GLOB_NONE, 0},
                 {"a*/b", "c", true, GLOB_NONE, 0},
                 {"a*/b", "a1/b/c", false, GLOB_DIRECTORY, 4},
                 {"a*/b", "a1/b", true, GLOB_DIRECTORY, 4},
                 {"a*/b", "a1", false, GLOB_NONE, 0},
                 {"a*/", "a1/x", false, GLOB_FILE, 0},
                 {"a*/", "a1/_x", false, GLOB_NONE, 0},
                 {"**", "a/b/c", false, GLOB_FILE, 0},
                 {"**", "a/_b/c", false, GLOB_NONE, 0},
                 {"**", "a", true, GLOB_BEGIN, 0},
                 {"**", "_a", true, GLOB_NONE, 0},
                 {"**/b", "b", false, GLOB_FILE, 0},
                 {"**/b", "a/a/b", false, GLOB_FILE, 0},
                 {"**/b", "a/b/c", false, GLOB_DIRECTORY, 3},
                 {"**/b", "b/x/y", false, GLOB_DIRECTORY, 1},
                 {"**/b", "b/c/b", false, GLOB_FILE, 0},
                 {"**/b", "b/_c", false, GLOB_NONE, 0},
                 {"**/b", "b", true, GLOB_BEGIN, 0},
                 {"**/*", "a", false, GLOB_FILE, 0},
                 {"**/*", "a/b/c", false, GLOB_FILE, 0},
                 {"**/*", "a/b/_c", false, GLOB_NONE, 0},
                 {"**/*", "a/_b/c", false, GLOB_NONE, 0},
                 {"**/*", "a", true, GLOB_BEGIN, 0},
                 {"**/*", "a/_b", true, GLOB_NONE, 0},
                 {"**/", "a/b", false, GLOB_FILE, 0},
                 {"**/_*", "a/_b", false, GLOB_FILE, 0},
                 {"**/_b/**", "a/_b/c/d", false, GLOB_FILE, 0},
                 {"**/a/**/b", "a/x/a/y/b", false, GLOB_FILE, 0},
                 {"**/a/**/b", "x/b", false, GLOB_NONE, 0},
                 {"a*//b", "a//b", false, GLOB_FILE, 0},
                 {"a*/b", "a//b", false, GLOB_NONE, 0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct input_glob glob;
        char pattern[32];
        snprintf(pattern, sizeof pattern, "%s", cases[i].pattern);
        input_glob_init(&glob, pattern);
        size_t size;
        cr_expect_eq(input_glob_match(&glob, cases[i].path, cases[i].directory, &size),
                     cases[i].match, "%s %s", cases[i].pattern, cases[i].path);
        if (cases[i].match == GLOB_DIRECTORY)
            cr_expect_eq(size, cases[i].size, "%s %s", cases[i].pattern, cases[i].path);
    }
    char many[2 * GLOB_COMPONENTS_MAX + 2];
    for (uint32_t i = 0; i + 1 < sizeof many; i++) many[i] = i % 2 == 0 ? '*' : '/';
    many[sizeof many - 1] = '\0';
    struct input_glob glob;
    input_glob_init(&glob, many);
    cr_expect(glob.too_long);
}

Test(input, globs_match_sorted_paths)
{
    expect_files("d/part-*", "d/part-1.gz d/part-10 d/part-2");
    expect_files("?.*", "a.tsv b.gz");
    expect_files("d/part-[12]", "d/part-2");
    expect_files("*/oth*,a*", "d/other a.tsv");
    expect_files("*/other", "d/other");
    expect_files("d*", "d/other d/part-1.gz d/part-10 d/part-2");
    cr_assert_eq(mkdir("e", 0777), 0);
    make_file("e/part-2", 1);
    expect_files("?/part-2", "d/part-2 e/part-2");
    char absolute[100], wanted[100];
    snprintf(absolute, sizeof absolute, "%s/[ab].*z", scratch_dir);
    snprintf(wanted, sizeof wanted, "%s/b.gz", scratch_dir);
    expect_files(absolute, wanted);
    expect_bad("x*", GLINT_E_INPUT_NOT_FOUND, "x*: no file matches");
    expect_files("d/_*", "d/_SUCCESS"); /* its name begins so */
    expect_bad("d/[_]*", GLINT_E_INPUT_NOT_FOUND, "no file matches");
    expect_bad("*/part-[", GLINT_E_INPUT_NOT_FOUND, "no file matches");
    expect_bad("a.tsv/*", GLINT_E_INPUT_NOT_FOUND, "no file matches");
}

Test(input, braces_are_alternatives)
{
    expect_files("{a.tsv,b.gz}", "a.tsv b.gz");
    expect_files("b.gz,{a,a}.tsv,b.gz", "b.gz a.tsv a.tsv b.gz");
    expect_files("d/{part-1{.gz,0},other}", "d/part-1.gz d/part-10 d/other");
    expect_files("d/part-{1*,[2]}", "d/part-1.gz d/part-10 d/part-2");
    expect_bad("{d,./d}/{o,oth}{er,}", GLINT_E_INPUT_NOT_FOUND, "d/oer: No such file");
    expect_bad("{{a.tsv},{b.gz}}", GLINT_E_INPUT_NOT_FOUND, "{a.tsv}: No such file");
    expect_bad("{x,a.tsv", GLINT_E_INPUT_NOT_FOUND, "{x: No such file");
    make_file("{x", 1);
    make_file("a{b.gz,}", 1);
    expect_files("{x,a.tsv", "{x a.tsv");
    expect_files("a{b.gz,},a.tsv", "a{b.gz,} a.tsv"); /* a name that exists */
    expect_bad("{0,1}{0,1}{0,1}{0,1}{0,1}{0,1}{0,1}{0,1}{0,1}{0,1}{0,1}{0,1}{0,1}{0,1}",
               GLINT_E_PLAN_LIMIT, "more than 10000 paths");
    char deep[9000];
    memset(deep, '{', sizeof deep);
    deep[sizeof deep - 1] = '\0';
    expect_bad(deep, GLINT_E_INPUT_NOT_FOUND, "");
}

/* A directory is listed once, however many ** reach it; links to directories are not followed. */
Test(input, double_star_matches_directories_at_any_depth)
{
    cr_assert(mkdir("d/e", 0777) == 0 && mkdir("d/e/f", 0777) == 0 && mkdir("d/_h", 0777) == 0);
    make_file("d/e/x.tsv", 1);
    make_file("d/e/f/y.tsv", 1);
    make_file("d/_h/z.tsv", 1);
    cr_assert(symlink("..", "d/e/f/up") == 0 && symlink("x.tsv", "d/e/link.tsv") == 0);
    expect_files("d/**",
                 "d/e/f/y.tsv d/e/link.tsv d/e/x.tsv d/other d/part-1.gz d/part-10 d/part-2");
    expect_files("**/*.tsv", "a.tsv d/e/f/y.tsv d/e/link.tsv d/e/x.tsv");
    expect_files("d/**/**/y.tsv", "d/e/f/y.tsv");
    expect_files("d//**//x.tsv,a.tsv", "d//e/x.tsv a.tsv");
    expect_bad("**/none", GLINT_E_INPUT_NOT_FOUND, "**/none: no file matches");
    expect_bad("a.tsv/**", GLINT_E_INPUT_NOT_FOUND, "a.tsv/**: no file matches");
    unlisted = "e/f/";
    expect_bad("d/**", GLINT_E_INPUT_PERMISSION, "d/e/f/: Permission denied");
    unlisted = "";
}

Test(input, existing_name_is_not_a_glob)
{
    make_file("a[1].tsv", 1);
    make_file("a1.tsv", 1);
    make_file("what*", 1);
    make_file("what else", 1);
    expect_files("a[1].tsv", "a[1].tsv");
    expect_files("what*", "what*");
    expect_files("wha*", "what else what*");
    expect_files("a[12].tsv", "a1.tsv");
}

Test(input, existing_name_is_not_a_list)
{
    make_file("a,b.tsv", 1);
    make_file("b.tsv", 1);
    expect_files("a,b.tsv", "a,b.tsv");
    expect_files("b.tsv,a.tsv", "b.tsv a.tsv");
    expect_bad("a,b.tsv,a.tsv", GLINT_E_INPUT_NOT_FOUND, "a: No such file");
    cr_assert_eq(mkdir("x,y", 0777), 0);
    make_file("x,y/z", 1);
    expect_files("x,y", "x,y/z");
}

Test(input, backslash_before_a_comma_belongs_to_a_name)
{
    make_file("a,b.tsv", 1);
    make_file("c\\,d", 1);
    make_file("e\\", 1);
    make_file("f", 1);
    expect_files("a\\,b.tsv", "a,b.tsv");
    expect_files("f,a\\,b.tsv,f", "f a,b.tsv f");
    expect_files("c\\\\\\,d,f", "c\\,d f");
    expect_files("e\\\\,f,e\\", "e\\ f e\\");
    expect_bad("f\\,", GLINT_E_INPUT_NOT_FOUND, "f,: No such file");
    char path[2 * PATH_MAX];
    memset(path, 'x', sizeof path);
    path[PATH_MAX] = ',';
    path[sizeof path - 1] = '\0';
    expect_bad(path, GLINT_E_INPUT_NOT_FOUND, "File name too long");
}

Test(input, file_urls_are_paths)
{
    char url[100], wanted[200];
    snprintf(url, sizeof url, "file://%s/a.tsv", scratch_dir);
    snprintf(wanted, sizeof wanted, "%s/a.tsv", scratch_dir);
    expect_files(url, wanted);
    snprintf(url, sizeof url, "file:%s/d/part-1*", scratch_dir);
    snprintf(wanted, sizeof wanted, "%s/d/part-1.gz %s/d/part-10", scratch_dir, scratch_dir);
    expect_files(url, wanted);
    expect_bad("file:///nowhere/at/all", GLINT_E_INPUT_NOT_FOUND,
               "file:///nowhere/at/all: No such");
    expect_bad("gs://host/a.tsv", GLINT_E_INPUT_NOT_FOUND, "gs://host/a.tsv: a URL");
    cr_expect(strstr(error.hint, "gs://") != NULL, "%s", error.hint);
    expect_bad("abfs://bucket/part-*", GLINT_E_INPUT_NOT_FOUND, "abfs://bucket/part-*: a URL");
    cr_expect(strstr(error.hint, "abfs://") != NULL, "%s", error.hint);
    expect_bad("gone,~/a.tsv", GLINT_E_INPUT_NOT_FOUND, "~/a.tsv: No such file");
    cr_expect(strstr(error.hint, "$HOME") != NULL, "%s", error.hint);
    /* A file may have a name that looks like a URL. */
    cr_assert_eq(mkdir("s3:", 0777), 0);
    cr_assert_eq(mkdir("file:", 0777), 0);
    make_file("s3:/b", 1);
    make_file("file:/c", 1);
    expect_files("s3://b", "s3://b");
    expect_files("file:/c", "file:/c");
}

static void text_file(const char *name, const char *bytes, size_t size)
{
    FILE *f = fopen(name, "w");
    cr_assert_not_null(f);
    cr_assert_eq(fwrite(bytes, 1, size, f), size);
    cr_assert_eq(fclose(f), 0);
}

Test(input, format_is_detected_by_first_bytes)
{
    content = INPUT_TEXT;
    text_file("t.tsv", "PK\t1\n", 5);
    text_file("t.bin", "abc\0def", 7);
    text_file("t.txt", "\x1f\x8b\x08\0\0\0\0\0\0\x03", 10);
    text_file("t.zst.gz", "\x28\xb5\x2f\xfd\x24\x05\x29", 7);
    text_file("t.old", "\x02\x21\x4c\x18\x64", 5);
    /* accepted: the decompressor reports the error */
    text_file("t.gz", "ab\0", 3);
    text_file("t.xz", "ab\0", 3);
    expect_files("t.tsv,t.txt,t.gz,t.zst.gz,t.xz", "t.tsv t.txt t.gz t.zst.gz t.xz");
    cr_expect_eq(list.files[0].compression, COMPRESSION_NONE);
    cr_expect_eq(list.files[1].compression, COMPRESSION_GZIP);
    cr_expect_eq(list.files[2].compression, COMPRESSION_GZIP);
    cr_expect_eq(list.files[3].compression, COMPRESSION_ZSTD);
    cr_expect_eq(list.files[4].compression, COMPRESSION_XZ);
    expect_bad("t.tsv,t.old,t.bin,gone", GLINT_E_INPUT_FORMAT,
               "t.old: it is compressed by lz4 in its old format; t.bin: it is binary: byte 3 is "
               "NUL; gone: No such file");
    cr_expect(strstr(error.hint, "lz4 -d") != NULL, "%s", error.hint);
    content = INPUT_BINARY;
    expect_files("t.tsv,t.zst.gz,t.bin,t.txt", "t.tsv t.zst.gz t.bin t.txt");
    cr_expect_eq(list.files[1].compression, COMPRESSION_GZIP);
    cr_expect_eq(list.files[3].compression, COMPRESSION_NONE);
}

Test(input, all_bad_paths_are_reported_at_once)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX, .sun_path = "socket"};
    int s = socket(AF_UNIX, SOCK_STREAM, 0);
    cr_assert_eq(bind(s, (struct sockaddr *)&address, sizeof address), 0);
    cr_assert_eq(mkfifo("fifo", 0666), 0);
    cr_assert_eq(symlink("nowhere", "link"), 0);
    cr_assert_eq(symlink("loop", "loop"), 0);
    expect_bad("missing,a.tsv,fifo,link,loop,socket,/dev/zero,x*,,a.tsv/b", GLINT_E_INPUT_NOT_FOUND,
               "missing: No such file or directory; fifo: a pipe, which only one process can read; "
               "link: No such file or directory; loop: Too many levels of symbolic links; "
               "socket: not a regular file; /dev/zero: not a regular file; x*: no file matches; "
               "'': an empty path; a.tsv/b: Not a directory");
    expect_bad("fifo,missing", GLINT_E_INPUT_KIND, "fifo");
    expect_bad("fif*", GLINT_E_INPUT_KIND, "fifo: a named pipe that a pattern matches");
    expect_bad("lin*", GLINT_E_INPUT_NOT_FOUND, "link: a dangling symbolic link");
    expect_bad("", GLINT_E_INPUT_NOT_FOUND, "an empty path");
    close(s);
}

Test(input, lists_end_when_the_job_is_cancelled)
{
    static const char *const paths[] = {"a.tsv", "d", "d/*", "**", "gone,a.tsv", "fifo"};
    struct input_spool spool = {.parent = scratch_dir};
    struct cancel cancel;
    cr_assert_eq(cancel_open(&cancel, 0, &error), 0);
    cr_assert_eq(mkfifo("fifo", 0666), 0);
    for (int posted = 0; posted < 2; posted++) {
        for (size_t i = 0; i < sizeof paths / sizeof *paths - (posted == 0); i++) {
            input_list_fini(&list);
            list.cancelled = cancel_file(&cancel);
            list.spool = &spool;
            error = (struct glint_error){.code = GLINT_OK};
            int r = input_list_resolve(&env, paths[i], content, &list, &error);
            int wanted = posted ? GLINT_E_INTERRUPTED : 0;
            if (!posted && strcmp(paths[i], "gone,a.tsv") == 0) wanted = GLINT_E_INPUT_NOT_FOUND;
            if (!posted && strcmp(paths[i], "**") == 0) wanted = GLINT_E_INPUT_KIND;
            cr_expect_eq(r, wanted, "%s: %s", paths[i], error.cause);
        }
        cancel_post(&cancel);
    }
    input_spool_fini(&spool, &env);
    cancel_close(&cancel);
}

Test(input, files_whose_size_is_unknown_need_a_copy)
{
    expect_bad("/proc/cpuinfo", GLINT_E_INPUT_KIND, "size is only known when it is read");
    content = INPUT_BINARY;
    expect_bad("a.tsv,/proc/self/mount*", GLINT_E_INPUT_KIND, "/proc/self/mounts: a file whose");
    expect_files("/dev/null", "/dev/null");
    cr_expect_eq(list.bytes, 0);
}

Test(input, dir_with_non_files_is_rejected)
{
    cr_assert_eq(mkdir("d/sub", 0777), 0);
    expect_bad("d", GLINT_E_INPUT_KIND, "d/sub: a nested directory");
    expect_bad("*", GLINT_E_INPUT_KIND, "d/sub: a nested directory");
    rmdir("d/sub");
    cr_assert_eq(symlink("nowhere", "d/link"), 0);
    cr_assert_eq(mkfifo("d/fifo", 0666), 0);
    expect_bad("d", GLINT_E_INPUT_KIND,
               "d/fifo: not a regular file; d/link: a dangling symbolic link");
    unlink("d/fifo");
    unlink("d/link");
    cr_assert_eq(symlink("../a.tsv", "d/link"), 0);
    expect_files("d/link", "d/link");
}

Test(input, permission_denied_is_reported)
{
    denied = "part-2";
    unlisted = "e";
    cr_assert_eq(mkdir("e", 0777), 0);
    expect_bad("d", GLINT_E_INPUT_PERMISSION, "d/part-2: Permission denied");
    expect_bad("e", GLINT_E_INPUT_PERMISSION, "e: Permission denied");
    unlisted = "e/";
    expect_bad("e/*", GLINT_E_INPUT_PERMISSION, "e/: Permission denied");
}

Test(input, many_bad_paths_are_counted)
{
    char *paths = malloc(100000);
    size_t n = 0;
    for (int i = 0; i < 5000; i++)
        n += (size_t)snprintf(paths + n, 32, "%smissing-%d", i ? "," : "", i);
    cr_expect_eq(make_list(paths), GLINT_E_INPUT_NOT_FOUND);
    cr_expect_lt(strlen(error.cause), sizeof error.cause - 1);
    const char *more = strstr(error.cause, "; and ");
    cr_assert_not_null(more, "%s", error.cause);
    int shown = 0;
    for (const char *p = error.cause; (p = strstr(p, "missing-")) != NULL; p++) shown++;
    cr_expect_eq(shown + strtol(more + 6, NULL, 10), 5000);
    memset(paths, 'x', 9000);
    paths[9000] = '\0';
    expect_bad(paths, GLINT_E_INPUT_NOT_FOUND, "");
    free(paths);
}

/* After a name that does not fit, shorter ones are not shown either: the shown names are the first
 * ones. */
Test(input, bad_paths_are_shown_until_one_does_not_fit)
{
    char paths[8200];
    size_t n = (size_t)snprintf(paths, sizeof paths, "missing-0,");
    memset(paths + n, 'x', 8001);
    paths[n + 4000] = ',';
    snprintf(paths + n + 8001, sizeof paths - n - 8001, ",missing-3");
    cr_expect_eq(make_list(paths), GLINT_E_INPUT_NOT_FOUND);
    cr_expect_not_null(strstr(error.cause, "missing-0"), "%s", error.cause);
    cr_expect_not_null(strstr(error.cause, "; and 2 more"), "%s", error.cause);
}

Test(input, ten_thousand_files_are_listed)
{
    cr_assert_eq(mkdir("many", 0777), 0);
    char name[32];
    for (int i = 0; i < 10000; i++) {
        snprintf(name, sizeof name, "many/%d", i);
        make_file(name, (uint64_t)i % 5);
    }
    cr_assert_eq(make_list("many"), 0);
    cr_expect(list.count == 10000 && list.bytes == 20000);
    cr_expect_str_eq(list.files[9999].path, "many/9999");
    cr_assert_eq(make_list("many/*"), 0);
    cr_expect_eq(list.count, 10000);
}

Test(input, every_failed_allocation_is_reported)
{
    int r = GLINT_E_NO_MEMORY;
    int64_t n = 0;
    while (r != 0) {
        mem_fail_at(++n, false);
        r = make_list("d,*/part*,a.tsv,**/other");
        mem_fail_at(0, false);
        cr_assert(r == 0 || r == GLINT_E_NO_MEMORY);
        input_list_fini(&list);
        cr_assert_eq(mem_live_blocks(), 0);
    }
    cr_expect_gt(n, 4);
}
