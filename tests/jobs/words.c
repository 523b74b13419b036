/* A word count that sorts, one with a partitioner, and one that prints between its actions, both of
 * which a file can block; and jobs that cannot continue without a result. */
#include "tests/jobs/jobs.h"

#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static int split_each(struct glint_task *task, void *state, const struct glint_record *in,
                      struct glint_emitter *out)
{
    (void)task, (void)state;
    const uint8_t *at = in->value.bytes.data, *end = at + in->value.bytes.size;
    while (at < end) {
        const uint8_t *space = memchr(at, ' ', (size_t)(end - at));
        if (space == NULL) space = end;
        struct glint_record r = {.key.bytes = {at, (uint64_t)(space - at)}, .value.i64 = 1};
        if (r.key.bytes.size > 0) glint_emit(out, &r);
        at = space + 1;
    }
    return 0;
}

struct hold {
    char path[1024];
};

static int hold_open(struct glint_task *task, void *state)
{
    struct glint_slice path;
    struct hold *h = state;
    int r = glint_arg_slice(task, "while", &path);
    if (r != 0) return r;
    if (path.size >= sizeof h->path) return glint_fail(task, GLINT_E_BAD_VALUE, NULL, "too long");
    memcpy(h->path, path.data, path.size);
    h->path[path.size] = '\0';
    return 0;
}

static int hold_each(struct glint_task *task, void *state, const struct glint_record *in,
                     struct glint_emitter *out)
{
    const struct hold *h = state;
    const struct timespec pause = {.tv_nsec = 5000000};
    (void)task;
    while (access(h->path, F_OK) == 0) nanosleep(&pause, NULL);
    glint_emit(out, in);
    return 0;
}

static const struct glint_function split = {.name = "words.split",
                                            .kind = GLINT_KIND_FLAT_MAP,
                                            .in = {GLINT_NONE, GLINT_TEXT},
                                            .out = {GLINT_TEXT, GLINT_I64},
                                            .each = split_each};
static const struct glint_function hold = {.name = "words.hold",
                                           .kind = GLINT_KIND_MAP,
                                           .in = {GLINT_ANY, GLINT_ANY},
                                           .out = {GLINT_SAME, GLINT_SAME},
                                           .state_size = sizeof(struct hold),
                                           .open = hold_open,
                                           .each = hold_each};
/* By the first byte; words that begin with the byte `outside` get an index out of range. */
struct by_letter {
    int64_t outside; /* bound */
};

static int64_t choose_by_letter(struct glint_task *task, void *state, const union glint_value *word,
                                uint32_t partitions)
{
    const struct by_letter *s = state;
    (void)task;
    return word->bytes.data[0] == s->outside ? partitions : word->bytes.data[0] % partitions;
}

static const struct glint_function by_letter = GLINT_PARTITION(
    "words.by_letter", GLINT_TEXT, choose_by_letter, .state_size = sizeof(struct by_letter));
/* Passes records on only once the file named by the option does not exist. */
static struct glint_rdd *hold_while(struct glint_rdd *rdd, const struct glint_job_args *args,
                                    const char *option)
{
    const char *path = glint_job_option(args, option);
    if (path == NULL || rdd == NULL) return rdd;
    struct glint_args *held = glint_args(glint_context(rdd));
    glint_args_add_text(held, "while", path);
    return glint_map(rdd, &hold, held);
}

static struct glint_rdd *counts_in(struct glint *g, const struct glint_job_args *args,
                                   const char *path)
{
    struct glint_rdd *lines = hold_while(glint_text_file(g, path), args, "hold-lines");
    struct glint_rdd *words = glint_flat_map(lines, &split, NULL);
    return hold_while(glint_reduce_by_key(words, &GLINT_SUM_I64, NULL), args, "hold-counts");
}

static struct glint_rdd *counts_of(struct glint *g, const struct glint_job_args *args)
{
    return counts_in(g, args, args->positional[0]);
}

/* Counts the words of two inputs: two stages that can run at once. */
static int both_run(struct glint *g, const struct glint_job_args *args)
{
    struct glint_rdd *counts = counts_in(g, args, args->positional[1]);
    int64_t words = 0;
    if (glint_count(glint_union(counts_of(g, args), counts), &words) != 0)
        return glint_error(g)->code;
    printf("%lld words\n", (long long)words);
    return 0;
}

/* lines -> words -> counts -> sorted, with a sample */
static int words_run(struct glint *g, const struct glint_job_args *args)
{
    struct glint_rdd *sorted = glint_sort_by_key(counts_of(g, args), true);
    return glint_save_as_text_file(glint_with_partitions(sorted, 3), args->positional[1]);
}

/* lines -> words -> counts, partitioned by letter */
static int letters_run(struct glint *g, const struct glint_job_args *args)
{
    const char *outside = glint_job_option(args, "outside");
    const struct by_letter letter = {.outside = outside != NULL ? (uint8_t)outside[0] : -1};
    struct glint_rdd *counts = glint_with_partitioner(counts_of(g, args), &by_letter,
                                                      glint_bind(g, &letter, sizeof letter));
    return glint_save_as_text_file(glint_with_partitions(counts, 4), args->positional[1]);
}

/* The counts joined with the words, or with counts again. With --forget the plan does not know that
 * they are partitioned, so all is shuffled. */
static int joined_run(struct glint *g, const struct glint_job_args *args)
{
    const bool again = glint_job_option(args, "again") != NULL;
    const bool forget = glint_job_option(args, "forget") != NULL;
    struct glint_rdd *counts = glint_with_partitions(counts_of(g, args), 4), *other;
    struct glint_rdd *lines = glint_text_file(g, args->positional[0]);
    other = glint_flat_map(lines, &split, NULL);
    if (again) other = glint_with_partitions(glint_reduce_by_key(other, &GLINT_MAX_I64, NULL), 4);
    if (forget) counts = glint_coalesce(counts, 4);
    if (forget && again) other = glint_coalesce(other, 4);
    const char *name = glint_job_option(args, "name");
    struct glint_rdd *joined = glint_full_outer_join(counts, other);
    if (name != NULL) joined = glint_with_name(joined, name);
    return glint_save_as_text_file(joined, args->positional[1]);
}

static int print_row(void *arg, const struct glint_record *row)
{
    (void)arg;
    printf("%.*s: %lld\n", (int)row->key.bytes.size, (const char *)row->key.bytes.data,
           (long long)row->value.i64);
    fflush(stdout);
    return 0;
}

/* Prints after its first action, and the rows of its second one. */
static int talk_run(struct glint *g, const struct glint_job_args *args)
{
    struct glint_rdd *counts = counts_of(g, args);
    int64_t words = 0;
    if (glint_count(counts, &words) != 0) return glint_error(g)->code;
    printf("%lld words\n", (long long)words);
    fflush(stdout);
    return glint_collect_each(glint_with_partitions(glint_sort_by_key(counts, true), 1), print_row,
                              NULL);
}

/* Two actions on persisted words; prints after the first one, and what was read from blocks. */
static int kept_run(struct glint *g, const struct glint_job_args *args)
{
    const char *level = glint_job_option(args, "level");
    const char *path = glint_job_option(args, "checkpoint");
    struct glint_rdd *words = glint_flat_map(glint_text_file(g, args->positional[0]), &split, NULL);
    int64_t count = 0;
    if (path != NULL) words = glint_checkpoint(words, path);
    glint_persist(words, level == NULL                  ? GLINT_MEMORY
                         : strcmp(level, "disk") == 0 ? GLINT_DISK
                                                      : GLINT_MEMORY | GLINT_DISK);
    if (glint_count(words, &count) != 0) return glint_error(g)->code;
    printf("%lld words\n", (long long)count);
    fflush(stdout);
    struct glint_rdd *held = hold_while(words, args, "hold-counts");
    int r = glint_save_as_text_file(glint_reduce_by_key(held, &GLINT_SUM_I64, NULL),
                                    args->positional[1]);
    printf("hits: %lld\nmisses: %lld\n", (long long)glint_counter_value(g, "cache hits"),
           (long long)glint_counter_value(g, "cache misses"));
    glint_unpersist(words);
    return r;
}

/* Continues only if there is a first line. */
static int first_run(struct glint *g, const struct glint_job_args *args)
{
    struct glint_rdd *lines = glint_text_file(g, args->positional[0]);
    struct glint_rows first;
    int r = glint_first(lines, &first);
    if (r != 0) return r;
    struct glint_record row = glint_rows_at(&first, 0);
    printf("%.*s\n", (int)row.value.bytes.size, (const char *)row.value.bytes.data);
    glint_rows_free(&first);
    return glint_save_as_text_file(lines, args->positional[1]);
}

/* Returns 5 without setting an error if the input is empty. */
static int some_run(struct glint *g, const struct glint_job_args *args)
{
    struct glint_rdd *lines = glint_text_file(g, args->positional[0]);
    int64_t rows;
    int r = glint_count(lines, &rows);
    if (r != 0 || rows == 0) return r != 0 ? r : 5;
    return glint_save_as_text_file(lines, args->positional[1]);
}

/* Makes a mistake that does not depend on a result. */
static int null_run(struct glint *g, const struct glint_job_args *args)
{
    int64_t rows;
    if (glint_count(glint_text_file(g, args->positional[0]), &rows) != 0)
        return glint_error(g)->code;
    glint_save_as_text_file(NULL, args->positional[1]);
    return 0;
}

/* Counts until the input has a line. */
static int forever_run(struct glint *g, const struct glint_job_args *args)
{
    struct glint_rdd *lines = glint_text_file(g, args->positional[0]);
    for (int64_t rows = 0; rows == 0;)
        if (glint_count(lines, &rows) != 0) return glint_error(g)->code;
    return glint_save_as_text_file(lines, args->positional[1]);
}

static const struct glint_job_option options[] = {
    {"hold-lines", "FILE", NULL, "lines wait while this file exists"},
    {"hold-counts", "FILE", NULL, "counts wait while this file exists"},
    {"again", NULL, NULL, "join counts with counts"},
    {"name", "NAME", NULL, "name of the join"},
    {"forget", NULL, NULL, "shuffle all inputs of the join"},
    {"outside", "LETTER", NULL, "words that begin so have no partition"},
    {"level", "LEVEL", NULL, "of the words that are kept: disk, both; else memory"},
    {"checkpoint", "DIR", NULL, "keeps the words there, too"},
    {NULL, NULL, NULL, NULL}};

#define JOB(name_, summary_, positional_, run_)                                                    \
    {                                                                                              \
        .name = name_, .summary = summary_, .positional = {"INPUT", positional_},                  \
        .options = options, .functions = {&split, &hold, &by_letter}, .run = run_                  \
    }

const struct glint_job words_job = JOB("words", "count words, sorted", "OUTPUT", words_run);
const struct glint_job letters_job =
    JOB("letters", "count words, partitioned by letter", "OUTPUT", letters_run);
const struct glint_job joined_job = JOB("joined", "join counts", "OUTPUT", joined_run);
const struct glint_job talk_job = JOB("talk", "print between actions", NULL, talk_run);
const struct glint_job both_job = JOB("both", "count words of two inputs", "OTHER", both_run);
const struct glint_job kept_job = JOB("kept", "two actions on the same words", "OUTPUT", kept_run);
const struct glint_job first_job = JOB("first", "need a first line", "OUTPUT", first_run);
const struct glint_job some_job = JOB("some", "return 5 without lines", "OUTPUT", some_run);
const struct glint_job null_job = JOB("null", "save NULL", "OUTPUT", null_run);
const struct glint_job forever_job =
    JOB("forever", "count until it is not 0", "OUTPUT", forever_run);
