/* glint filter query: prints the keys whose filters may contain an id. Filters are kept in memory,
 * those in segments on disk, and only the bytes that an id needs are read. Ids are streamed. The
 * output is flushed whenever the input pauses, so that the command can be used as a coprocess. */
#include "engine/base/env.h"
#include "engine/base/utf8.h"
#include "engine/cli/options.h"
#include "engine/cli/print.h"
#include "engine/limits.h"
#include "jobs/commands/commands.h"
#include "jobs/commands/filter_parts.h"
#include "jobs/rows/id_values.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define READ_BYTES (64 * KIB)

/* Larger records are kept; bits and key of smaller ones are copied into the arena. */
enum { RECORD_BYTES_COPIED = 1 << 15 };

/* A filter in memory, or one in segments. */
struct query_filter {
    struct filter_key key; /* in the arena, or owned by the parts */
    struct bloom_filter filter;
    uint8_t *memory; /* of a record that is kept */
    struct filter_whole whole;
};

struct query {
    struct query_filter *filters;
    uint64_t count, capacity;
    struct arena arena; /* an allocation per filter would need more memory than a small filter */
    struct filter_parts parts;
    struct buffer value; /* of an id with a type */
    struct glint_error error;
};

static int add_query_filter(struct query *q, const struct query_filter *filter)
{
    if (!array_reserve(&q->filters, &q->capacity, q->count + 1, sizeof *q->filters))
        return error_no_memory(&q->error);
    q->filters[q->count++] = *filter;
    return 0;
}

/* Copies bits and seeds. Returns false when out of memory. */
static bool copy_filter_bits(struct query *q, const struct bloom_filter *from,
                             struct bloom_filter *out)
{
    const uint64_t bits = bloom_bytes(from->params.m), seeds = from->params.k * BLOOM_SEED_BYTES;
    *out = *from;
    out->bits = arena_alloc(&q->arena, bits);
    if (out->bits == NULL) return false;
    memcpy(out->bits, from->bits, bits);
    if (from->params.seeds == NULL) return true;
    uint8_t *copy = arena_alloc(&q->arena, seeds);
    if (copy != NULL) memcpy(copy, from->params.seeds, seeds);
    out->params.seeds = copy;
    return copy != NULL;
}

static int keep_filter_record(void *arg, struct filter_record *record)
{
    struct query *q = arg;
    if (filter_record_is_segment(record)) return filter_parts_add(&q->parts, record, &q->error);
    struct query_filter f = {.filter = record->filter};
    const bool kept = record->bytes.size > RECORD_BYTES_COPIED;
    if (!filter_key_copy(&q->arena, &record->key, &f.key) ||
        (!kept && !copy_filter_bits(q, &record->filter, &f.filter)))
        return error_no_memory(&q->error);
    if (kept) f.memory = record->bytes.data;
    int code = add_query_filter(q, &f);
    if (code != 0) return code;
    if (kept) record->bytes = (struct buffer){NULL, 0, 0};
    filter_record_fini(record);
    return 0;
}

static int compare_filters(const void *a, const void *b)
{
    return filter_key_compare(&((const struct query_filter *)a)->key,
                              &((const struct query_filter *)b)->key);
}

static int read_filters(struct query *q, const char *const *paths)
{
    struct query_filter filter = {.memory = NULL};
    int code = filter_each(env_real(), paths, 1, keep_filter_record, q, &q->error);
    if (code == 0) code = filter_parts_check(&q->parts, &q->error);
    for (uint64_t at = 0; code == 0 && filter_parts_next(&q->parts, &at, &filter.whole);) {
        filter.key = filter.whole.first->key;
        code = add_query_filter(q, &filter);
    }
    if (code == 0 && q->count > 0) qsort(q->filters, q->count, sizeof *q->filters, compare_filters);
    return code;
}

/* Returns 1, 0, or a code. */
static int contains_in_parts(struct query *q, const struct filter_whole *whole, const uint8_t *id,
                             uint64_t size)
{
    const struct bloom_params *params = &whole->first->segment.params;
    const uint64_t bits = whole->first->segment.size;
    uint64_t indexes[BLOOM_K_MAX];
    bloom_indexes(params, id, size, indexes);
    for (uint32_t i = 0; i < params->k; i++) {
        uint8_t byte;
        assert(indexes[i] / bits < whole->count);
        int code = filter_parts_read(&q->parts, &whole->first[indexes[i] / bits],
                                     indexes[i] % bits / 8, &byte, 1, &q->error);
        if (code != 0) return code;
        if ((byte >> indexes[i] % 8 & 1) == 0) return 0;
    }
    return 1;
}

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
static int contains_value(struct query *q, const struct bloom_filter *filter,
                          struct glint_slice text)
{
    const uint32_t type = filter->params.id_type;
    char name[BLOOM_ID_NAME_MAX];
    if (type == 0) return bloom_contains(filter, text.data, text.size);
    q->value.size = 0;
    if (!buffer_reserve(&q->value, text.size + ID_VALUE_MAX)) return error_no_memory(&q->error);
    const char *wrong = id_value_parse(type, bloom_id_width(filter->params.scheme, type), text,
                                       q->value.data, &q->value.size);
    if (wrong == NULL) return bloom_contains(filter, q->value.data, q->value.size);
    bloom_id_type_name(type, name);
    return error_set(&q->error, GLINT_E_BAD_VALUE, "glint filter info shows the type of ids",
                     "the id \"%.*s\" is no %s: %s", (int)(text.size < 200 ? text.size : 200),
                     (const char *)text.data, name, wrong);
}

/* An id that is none is an error before anything of it is printed, if it is one for all filters. */
static int check_value(struct query *q, struct glint_slice id)
{
    if (q->count == 0 || q->filters[0].whole.count > 0) return 0;
    const int hit = contains_value(q, &q->filters[0].filter, id);
    return hit < 0 ? hit : 0;
}

static int print_matches(struct query *q, const uint8_t *id, uint64_t size)
{
    const char *before = "\t";
    int code = check_value(q, (struct glint_slice){id, size});
    if (code != 0) return code;
    fwrite(id, 1, size, stdout);
    for (uint64_t i = 0; i < q->count; i++) {
        const struct query_filter *f = &q->filters[i];
        int hit = f->whole.count > 0
                      ? contains_in_parts(q, &f->whole, id, size)
                      : contains_value(q, &f->filter, (struct glint_slice){id, size});
        if (hit < 0) return hit;
        if (hit == 0) continue;
        fputs(before, stdout);
        print_encoded_key(&f->key);
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
    struct query q = {.parts.env = env_real()};
    struct buffer input = {NULL, 0, 0};
    int code = read_filters(&q, line->arguments);
    for (uint32_t i = 1; code == 0 && i < line->argument_count; i++)
        code = print_matches(&q, (const uint8_t *)line->arguments[i], strlen(line->arguments[i]));
    if (code == 0 && line->argument_count == 1) query_standard_input(&q, &input);
    *error = q.error;
    for (uint64_t i = 0; i < q.count; i++) mem_free(q.filters[i].memory);
    mem_free(q.filters);
    arena_fini(&q.arena);
    filter_parts_fini(&q.parts);
    buffer_fini(&input);
    buffer_fini(&q.value);
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
