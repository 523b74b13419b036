/* glint filter query: which keys may hold an id. Filters stay in memory, ids stream by; answers are
 * flushed whenever the input pauses, so that the verb can stand in a conversation of pipes. */
#include "engine/base/env.h"
#include "engine/cli/options.h"
#include "engine/cli/print.h"
#include "engine/limits.h"
#include "jobs/filter_file.h"
#include "jobs/verbs.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define READ_BYTES (64 * KIB)

struct query {
    struct filter_record *records;
    uint64_t count, capacity;
    struct glint_error error;
};

static int keep_record(void *arg, struct filter_record *record)
{
    struct query *q = arg;
    if (q->count == q->capacity) {
        uint64_t capacity = q->capacity > 0 ? 2 * q->capacity : 64;
        struct filter_record *records =
            mem_grow(q->records, q->count * sizeof *records, capacity * sizeof *records);
        if (records == NULL) return error_no_memory(&q->error);
        q->records = records;
        q->capacity = capacity;
    }
    q->records[q->count++] = *record;
    return 0;
}

static int compare_records(const void *a, const void *b)
{
    return filter_key_compare(&((const struct filter_record *)a)->key,
                              &((const struct filter_record *)b)->key);
}

/* Commas, control characters and % itself are percent-encoded: a list of keys has one reading. */
static void print_key(const struct filter_key *key)
{
    for (uint64_t i = 0; i < key->size; i++) {
        uint8_t byte = (uint8_t)key->text[i];
        if (byte < 0x20 || byte == 0x7f || byte == ',' || byte == '%')
            printf("%%%02X", byte);
        else
            putchar(byte);
    }
}

static void answer(const struct query *q, const uint8_t *id, uint64_t size)
{
    const char *before = "\t";
    fwrite(id, 1, size, stdout);
    for (uint64_t i = 0; i < q->count; i++) {
        const struct filter_record *r = &q->records[i];
        if (!bloom_contains(&r->filter, id, size)) continue;
        fputs(before, stdout);
        print_key(&r->key);
        before = ",";
    }
    fputs(before[0] == '\t' ? "\t\n" : "\n", stdout);
}

/* Answers the lines that are whole in `b`, drops them, and keeps the beginning of the next one.
 * *scanned: so many bytes are known to hold no line end. */
static void answer_lines(const struct query *q, struct buffer *b, uint64_t *scanned)
{
    uint64_t start = 0;
    assert(*scanned <= b->size);
    for (;;) {
        const uint8_t *end = memchr(b->data + *scanned, '\n', b->size - *scanned);
        if (end == NULL) break;
        uint64_t stop = (uint64_t)(end - b->data), size = stop - start;
        if (size > 0 && b->data[stop - 1] == '\r') size--;
        answer(q, b->data + start, size);
        start = *scanned = stop + 1;
    }
    if (start > 0) memmove(b->data, b->data + start, b->size - start);
    b->size -= start;
    *scanned = b->size;
}

static int answer_stream(struct query *q, struct buffer *b)
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
        answer_lines(q, b, &scanned);
        if (b->size > LINE_BYTES_MAX_DEFAULT)
            return error_set(&q->error, GLINT_E_LINE_TOO_LONG, NULL,
                             "a line of standard input is longer than %llu bytes",
                             (unsigned long long)LINE_BYTES_MAX_DEFAULT);
        if (fflush(stdout) != 0) return GLINT_OK; /* nobody listens: cli_flush_stdout says so */
    }
    if (b->size > 0) answer(q, b->data, b->size);
    return GLINT_OK;
}

static int query_run(const struct cli_program *program, int argc, char **argv)
{
    (void)program;
    static const struct cli_syntax syntax = {
        .command = "glint filter query",
        .summary = "Prints, per id, the keys whose filters may hold it.",
        .help =
            "Ids are the arguments after PATH, or else the lines of standard input. Each gives a "
            "line: the id, a tab, the keys with commas between them (a comma inside a key is %2C).",
        .arguments = "PATH [ID...]",
        .arguments_min = 1,
        .arguments_max = CLI_ARGUMENTS_ANY};
    struct cli_line line;
    struct query q = {.records = NULL};
    struct buffer input = {NULL, 0, 0};
    int status;
    if (!cli_line_open(&line, &syntax, argc, argv, &status)) return status;
    int code = filter_each(env_real(), line.arguments, 1, keep_record, &q, &q.error);
    if (code == 0 && q.count > 0) qsort(q.records, q.count, sizeof *q.records, compare_records);
    for (uint32_t i = 1; code == 0 && i < line.argument_count; i++)
        answer(&q, (const uint8_t *)line.arguments[i], strlen(line.arguments[i]));
    if (code == 0 && line.argument_count == 1) code = answer_stream(&q, &input);
    status = cli_flush_stdout(code != 0 ? cli_fail(&q.error) : 0);
    for (uint64_t i = 0; i < q.count; i++) filter_record_fini(&q.records[i]);
    mem_free(q.records);
    buffer_fini(&input);
    cli_line_fini(&line);
    return status;
}

const struct cli_verb filter_query = {.name = "query",
                                      .summary = "print the keys that may hold an id",
                                      .usage = "PATH [ID...]",
                                      .run = query_run};
