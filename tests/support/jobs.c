/* Runs jobs as `glint submit` does: from their tables, with a parsed command line. */
#include "tests/support/jobs.h"

#include "engine/cli/cli.h"
#include "engine/driver/driver.h"
#include "jobs/generate/ratings.h"
#include "jobs/jobs.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

extern const struct op *const ops_table[];

static char scratch[PATH_MAX];

static void require_ok(bool good, const char *what)
{
    if (good) return;
    perror(what);
    exit(2);
}

void scratch_open(void)
{
    const char *parent = getenv("TMPDIR");
    snprintf(scratch, sizeof scratch, "%s/glint-test-XXXXXX", parent != NULL ? parent : "/tmp");
    require_ok(mkdtemp(scratch) != NULL, scratch);
    require_ok(chdir(scratch) == 0 && mkdir("work", 0700) == 0, scratch);
}

void scratch_remove(const char *name)
{
    int r = env_remove_tree(env_real(), ENV_CWD, name, 4);
    if (r == -ENOTDIR) r = env_real()->remove(env_real(), ENV_CWD, name, false);
    errno = -r;
    require_ok(r == 0, name);
}

void scratch_close(void)
{
    require_ok(chdir("/") == 0, "/");
    scratch_remove(scratch);
}

void scratch_write(const char *name, const void *data, size_t size)
{
    FILE *file = fopen(name, "wb");
    require_ok(file != NULL, name);
    require_ok(fwrite(data, 1, size, file) == size && fclose(file) == 0, name);
}

void scratch_ratings(const char *name, uint64_t rows)
{
    size_t capacity = (size_t)rows * RATINGS_ROW_BYTES_MAX;
    uint8_t *data = malloc(capacity);
    require_ok(data != NULL, name);
    scratch_write(name, data, ratings_format_rows(1, 0, rows, data, capacity));
    free(data);
}

static const struct glint_job *find_job(const char *name)
{
    for (uint32_t i = 0; jobs_table[i] != NULL; i++)
        if (strcmp(jobs_table[i]->name, name) == 0) return jobs_table[i];
    fprintf(stderr, "no job is called %s\n", name);
    exit(2);
}

void test_job_init(struct test_job *t, const char *const *words)
{
    int argc = 0;
    uint32_t arguments = 0;
    t->job = find_job(words[0]);
    while (words[argc] != NULL) argc++;
    while (t->job->positional[arguments] != NULL) arguments++;
    t->syntax = (struct cli_syntax){.command = t->job->name,
                                    .summary = t->job->summary,
                                    .own = t->job->options,
                                    .common = settings_option_table(),
                                    .arguments_min = arguments,
                                    .arguments_max = arguments};
    struct glint_error error = {.code = GLINT_OK};
    if (cli_line_parse(&t->line, &t->syntax, argc, (char **)(uintptr_t)words, &error)) return;
    fprintf(stderr, "%s: %s\n", t->job->name, error.cause);
    exit(2);
}

void test_job_fini(struct test_job *t)
{
    cli_line_fini(&t->line);
}

void test_job_config(struct context_config *config)
{
    if (config->env == NULL) config->env = env_real();
    config->work_dir = "work";
    config->ops = ops_table;
    config->modules = builtin_modules;
    config->jobs = jobs_table;
}

int test_job_run(const struct test_job *t, const struct context_config *config,
                 struct glint_error *error)
{
    struct context_config full = *config;
    test_job_config(&full);
    *error = (struct glint_error){.code = GLINT_OK};
    struct glint *g = context_create(&full, error);
    assert((g == NULL) == (error->code != GLINT_OK));
    if (g == NULL) return error->code;
    struct cli_line line = t->line; /* it has the context of each run */
    line.context = g;
    struct glint_job_args args = {line.arguments, line.argument_count, &line};
    t->job->run(g, &args);
    int code = glint_finish(g);
    *error = *glint_error(g);
    glint_destroy(g);
    return code;
}

int test_job_once(const struct context_config *config, const char *const *words,
                  struct glint_error *error)
{
    struct glint_error own;
    struct test_job job;
    test_job_init(&job, words);
    int code = test_job_run(&job, config, error != NULL ? error : &own);
    test_job_fini(&job);
    return code;
}

static int by_name(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}

static int is_part(const struct dirent *entry)
{
    return strncmp(entry->d_name, "part-", 5) == 0;
}

static void append_file(FILE *out, const char *path)
{
    char block[4096];
    FILE *in = fopen(path, "rb");
    require_ok(in != NULL, path);
    for (size_t n; (n = fread(block, 1, sizeof block, in)) > 0;)
        require_ok(fwrite(block, 1, n, out) == n, path);
    fclose(in);
}

struct output output_read(const char *name)
{
    char path[PATH_MAX];
    struct dirent **parts;
    snprintf(path, sizeof path, "%s/_SUCCESS", name);
    struct output o = {NULL, 0};
    if (access(path, F_OK) != 0) return o;
    FILE *out = open_memstream(&o.data, &o.size);
    require_ok(out != NULL, name);
    int count = scandir(name, &parts, is_part, by_name);
    require_ok(count >= 0, name);
    for (int i = 0; i < count; i++) {
        snprintf(path, sizeof path, "%s/%s", name, parts[i]->d_name);
        append_file(out, path);
        free(parts[i]);
    }
    free(parts);
    require_ok(fclose(out) == 0, name);
    return o;
}

void output_free(struct output *o)
{
    free(o->data);
    *o = (struct output){NULL, 0};
}

bool output_same(const struct output *a, const struct output *b)
{
    if (a->data == NULL || b->data == NULL || a->size != b->size) return false;
    return memcmp(a->data, b->data, a->size) == 0;
}

/* Counts the entries of a directory except . and .., or only its hidden ones; removes them
 * if `sweep`. */
static unsigned count_or_remove_files(const char *path, bool hidden_only, bool sweep)
{
    unsigned count = 0;
    char name[PATH_MAX];
    DIR *dir = opendir(path);
    require_ok(dir != NULL, path);
    for (struct dirent *entry; (entry = readdir(dir)) != NULL;) {
        bool dots = strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0;
        if (dots || (hidden_only && entry->d_name[0] != '.')) continue;
        count++;
        int size = snprintf(name, sizeof name, "%s/%s", path, entry->d_name);
        require_ok(size > 0 && (size_t)size < sizeof name, path);
        if (sweep) scratch_remove(name);
    }
    closedir(dir);
    return count;
}

unsigned scratch_files_left(void)
{
    return count_or_remove_files(".", true, false) + count_or_remove_files("work", false, false);
}

void scratch_sweep(void)
{
    count_or_remove_files(".", true, true);
    count_or_remove_files("work", false, true);
}

unsigned open_files(void)
{
    return count_or_remove_files("/proc/self/fd", false, false) - 1; /* the listing's own */
}
