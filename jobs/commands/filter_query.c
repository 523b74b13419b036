/* glint filter query: prints the keys whose filters may contain an id. Ids are streamed. The
 * output is flushed whenever the input pauses, so that the command can be used as a coprocess. */
#include "engine/base/env.h"
#include "engine/base/utf8.h"
#include "engine/cli/options.h"
#include "engine/limits.h"
#include "jobs/bloom/id_type.h"
#include "jobs/commands/commands.h"
#include "jobs/commands/filter_table.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define READ_BYTES (64 * KIB)

struct query {
    struct filter_table table;
    struct glint_error error;
};

/* Percent-encodes commas, % and bytes that are unsafe for a terminal, so that a list of keys is
 * unambiguous; % is the empty key, since nothing is no key. */
static void print_encoded_key(const struct filter_key *key)
{
    if (key->size == 0) putchar('%');
    const uint8_t *at = (const uint8_t *)key->text, *end = at + key->size;
    for (unsigned n; at < end; at += n) {
        n = utf8_printable_size(at, (uint64_t)(end - at));
        if (n > 0 && *at != ',' && *at != '%') {
            fwrite(at, 1, n, stdout);
        } else {
            printf("%%%02X", *at);
            n = 1;
        }
    }
}

/* Returns 1, 0, or a code: the text is no value of the filter's type. */
static int look_up_text(struct query *q, const struct table_filter *f, struct glint_slice text)
{
    char name[BLOOM_ID_NAME_MAX];
    const char *wrong;
    const int hit = filter_table_contains_text(f, text, &wrong);
    if (hit >= 0) return hit;
    if (wrong == NULL) return error_no_memory(&q->error);
    bloom_id_type_name(f->filter.params.id_type, name);
    return error_set(&q->error, GLINT_E_BAD_VALUE, "glint filter info shows the type of ids",
                     "the id \"%.*s\" is no %s: %s", (int)(text.size < 200 ? text.size : 200),
                     (const char *)text.data, name, wrong);
}

/* An id that is none for the first filter is an error before anything of it is printed. */
static int print_matches(struct query *q, const uint8_t *id, uint64_t size)
{
    const struct filter_table *t = &q->table;
    const char *before = "\t";
    assert(t->count > 0);
    int hit = look_up_text(q, &t->filters[0], (struct glint_slice){id, size});
    if (hit < 0) return hit;
    fwrite(id, 1, size, stdout);
    for (uint64_t i = 0; i < t->count; i++) {
        if (i > 0) hit = look_up_text(q, &t->filters[i], (struct glint_slice){id, size});
        if (hit < 0) return hit;
        if (hit == 0) continue;
        fputs(before, stdout);
        print_encoded_key(&t->filters[i].key);
        before = ",";
    }
    fputs(before[0] == '\t' ? "\t\n" : "\n", stdout);
    return 0;
}

/* Looks up the complete lines of `b`, removes them, and keeps the beginning of the next one.
 * *scanned: number of bytes known to contain no line end. */
static int query_complete_lines(struct query *q, struct buffer *b, uint64_t *scanned)
{
    uint64_t start = 0;
    int code = 0;
    assert(*scanned <= b->size);
    while (code == 0) {
        const uint8_t *end = memchr(b->data + *scanned, '\n', b->size - *scanned);
        if (end == NULL) break;
        uint64_t stop = (uint64_t)(end - b->data), size = stop - start;
        if (size > 0 && b->data[stop - 1] == '\r') size--;
        code = print_matches(q, b->data + start, size);
        start = *scanned = stop + 1;
    }
    if (start > 0) memmove(b->data, b->data + start, b->size - start);
    b->size -= start;
    *scanned = b->size;
    return code;
}

static int query_standard_input(struct query *q, struct buffer *b)
{
    uint64_t scanned = 0;
    for (;;) {
        if (!buffer_reserve(b, READ_BYTES)) return error_no_memory(&q->error);
        ssize_t n = read(STDIN_FILENO, b->data + b->size, READ_BYTES);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0)
            return error_set_system(&q->error, GLINT_E_INPUT_IO, -errno, "read", "standard input");
        if (n == 0) break;
        b->size += (uint64_t)n;
        int code = query_complete_lines(q, b, &scanned);
        if (code != 0) return code;
        if (b->size > LINE_BYTES_MAX_DEFAULT)
            return error_set(&q->error, GLINT_E_LINE_TOO_LONG, NULL,
                             "a line of standard input is longer than %llu bytes",
                             (unsigned long long)LINE_BYTES_MAX_DEFAULT);
        if (fflush(stdout) != 0)
            return GLINT_OK; /* the reader closed the pipe: cli_flush_stdout reports it */
    }
    return b->size > 0 ? print_matches(q, b->data, b->size) : 0;
}

static void query_filters(const struct cli_line *line, struct glint_error *error)
{
    struct query q = {.error.code = GLINT_OK};
    struct buffer input = {NULL, 0, 0};
    int code = filter_table_open(&q.table, env_real(), line->arguments[0], false, &q.error);
    for (uint32_t i = 1; code == 0 && i < line->argument_count; i++)
        code = print_matches(&q, (const uint8_t *)line->arguments[i], strlen(line->arguments[i]));
    if (code == 0 && line->argument_count == 1) query_standard_input(&q, &input);
    *error = q.error;
    filter_table_close(&q.table);
    buffer_fini(&input);
}

const struct cli_command filter_query = {
    .name = "query",
    .summary = "print the keys whose filters may contain an id",
    .syntax = {.command = "glint filter query",
               .summary = "Prints, per id, the keys whose filters may contain it.",
               .help = "Ids are the arguments after PATH, or the lines of standard input. The "
                       "output has a line for each: the id, a tab, the keys separated by commas (a "
                       "comma inside a key is %2C, an empty key %).",
               .arguments = "PATH [ID...]",
               .arguments_min = 1,
               .arguments_max = CLI_ARGUMENTS_ANY},
    .execute = query_filters};
