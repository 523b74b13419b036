/* glint filter export: writes each filter for other programs, one file per key: only its bits, or
 * the format of another system (jobs/bloom/formats.h). */
#include "engine/base/env.h"
#include "engine/base/text.h"
#include "engine/cli/options.h"
#include "engine/cli/signals.h"
#include "jobs/bloom/formats.h"
#include "jobs/commands/atomic_output.h"
#include "jobs/commands/commands.h"
#include "jobs/commands/filter_parts.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct export
{
    struct env *env;
    enum bloom_format format;
    struct atomic_output dir;
    struct filter_parts parts;
    char **sizes; /* of raw bits, the lines of FILTER_SIZES_FILE; owned */
    uint64_t size_count, size_capacity;
    struct glint_error error;
};

enum { COPY_BYTES = 1 << 20 };
static_assert(COPY_BYTES % 8 == 0, "a piece is a whole number of words");

/* What writes one file; room for a piece of bits and for what is made of it. */
struct export_file {
    struct bloom_format_writer writer;
    int file;
    uint8_t *piece, *out;
};

/* Percent-encodes as RFC 3986, and also a leading dot, because it would hide the file. Returns
 * false if the buffer is too small. */
static bool percent_encode_key(const struct filter_key *key, char *out, size_t capacity)
{
    static const char plain[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_~.";
    size_t used = 0;
    for (uint64_t i = 0; i < key->size; i++) {
        uint8_t byte = (uint8_t)key->text[i];
        if (used + 4 > capacity) return false;
        bool kept = byte != '\0' && strchr(plain, byte) != NULL && (byte != '.' || i > 0);
        if (kept)
            out[used++] = (char)byte;
        else
            used += (size_t)snprintf(out + used, 4, "%%%02X", byte);
    }
    out[used] = '\0';
    return true;
}

static int write_bytes(struct export *x, int file, const uint8_t *data, uint64_t size)
{
    const int failed = env_write_all(x->env, file, data, size);
    if (failed != 0)
        return error_set_system(&x->error, GLINT_E_OUTPUT_IO, failed, "write", x->dir.path);
    return signals_pending() == GLINT_OK
               ? GLINT_OK
               : error_set(&x->error, signals_pending(), NULL, "interrupted by a signal");
}

/* Appends a piece of at most COPY_BYTES. */
static int write_converted_bits(struct export *x, struct export_file *to, const uint8_t *bits,
                                uint64_t size)
{
    assert(size <= COPY_BYTES);
    return write_bytes(x, to->file, to->out, bloom_format_write(&to->writer, bits, size, to->out));
}

static int write_filter_bits(struct export *x, struct export_file *to,
                             const struct bloom_filter *filter)
{
    const uint64_t size = bloom_bytes(filter->params.m);
    int code = 0;
    for (uint64_t at = 0; code == 0 && at < size; at += COPY_BYTES)
        code = write_converted_bits(x, to, filter->bits + at,
                                    size - at < COPY_BYTES ? size - at : COPY_BYTES);
    return code;
}

/* All segments but the last one are a whole number of words. */
static int write_segments(struct export *x, struct export_file *to,
                          const struct filter_whole *whole)
{
    int code = 0;
    for (uint64_t i = 0; code == 0 && i < whole->count; i++) {
        const uint64_t size = bloom_bytes(bloom_segment_bits(&whole->first[i].segment));
        for (uint64_t at = 0; code == 0 && at < size; at += COPY_BYTES) {
            const uint64_t more = size - at < COPY_BYTES ? size - at : COPY_BYTES;
            code = filter_parts_read(&x->parts, &whole->first[i], at, to->piece, more, &x->error);
            if (code == 0) code = write_converted_bits(x, to, to->piece, more);
        }
    }
    return code;
}

static int write_contents(struct export *x, int file, const struct bloom_filter *filter,
                          const struct filter_whole *whole)
{
    const struct bloom_params *params =
        filter != NULL ? &filter->params : &whole->first->segment.params;
    uint8_t head[BLOOM_FORMAT_HEAD_MAX];
    struct export_file to = {.file = file,
                             .piece = whole != NULL ? mem_alloc(COPY_BYTES) : NULL,
                             .out = mem_alloc(BLOOM_FORMAT_WRITE_MAX(COPY_BYTES))};
    int code = to.out == NULL || (whole != NULL && to.piece == NULL) ? error_no_memory(&x->error)
                                                                     : GLINT_OK;
    if (code == 0)
        code = write_bytes(x, file, head, bloom_format_begin(&to.writer, x->format, params, head));
    if (code == 0)
        code = filter != NULL ? write_filter_bits(x, &to, filter) : write_segments(x, &to, whole);
    if (code == 0) code = write_bytes(x, file, head, bloom_format_end(&to.writer, head));
    mem_free(to.piece);
    mem_free(to.out);
    return code;
}

/* Writes either the filter or its segments. */
static int write_filter_file(struct export *x, const char *path, const struct bloom_filter *filter,
                             const struct filter_whole *whole)
{
    struct env *env = x->env;
    int file = env->open(env, ENV_CWD, path, ENV_CREATE_PUBLIC);
    if (file < 0) return error_set_system(&x->error, GLINT_E_OUTPUT_CREATE, file, "create", path);
    return atomic_output_sync_and_close_file(env, file, write_contents(x, file, filter, whole),
                                             path, &x->error);
}

/* Adds the number of a filter's bits, which the file itself does not say. Returns false when out of
 * memory. */
static bool add_size_line(struct export *x, const char *name, const struct bloom_filter *filter,
                          const struct filter_whole *whole)
{
    const uint64_t m = filter != NULL ? filter->params.m : whole->first->segment.params.m;
    char line[512];
    text_format(line, sizeof line, "%s.%s\t%llu\n", name, bloom_format_name(x->format),
                (unsigned long long)m);
    if (!array_reserve(&x->sizes, &x->size_capacity, x->size_count + 1, sizeof *x->sizes))
        return false;
    char *copy = mem_strdup(line);
    if (copy != NULL) x->sizes[x->size_count++] = copy;
    return copy != NULL;
}

/* Writes KEY.FORMAT; a key has one filter. `from` is the filter's source, for messages. */
static int export_filter(struct export *x, const struct filter_key *key, const char *from,
                         const struct bloom_filter *filter, const struct filter_whole *whole)
{
    struct env_stat stat;
    char name[256], path[PATH_MAX];
    enum glint_code stop = signals_pending();
    assert((filter == NULL) != (whole == NULL));
    if (stop != GLINT_OK) return error_set(&x->error, stop, NULL, "interrupted by a signal");
    const char *format = bloom_format_name(x->format);
    if (!percent_encode_key(key, name, sizeof name - strlen(format) - 2) ||
        !text_format(path, sizeof path, "%s/%s.%s", x->dir.hidden, name, format))
        return error_set(&x->error, GLINT_E_OUTPUT_CREATE, NULL,
                         "%s: the key is too long for the name of a file", from);
    if (x->env->stat(x->env, path, &stat) == 0)
        return error_set(&x->error, GLINT_E_FILTER_INVALID, NULL, "%s: duplicate key (%s)", from,
                         name);
    return x->format == BLOOM_FORMAT_BITS && !add_size_line(x, name, filter, whole)
               ? error_no_memory(&x->error)
               : write_filter_file(x, path, filter, whole);
}

static int compare_size_lines(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* In the order of the names, whatever the parts of FILTERS are. */
static int write_size_lines(struct export *x)
{
    struct env *env = x->env;
    char path[PATH_MAX];
    if (x->size_count == 0) return GLINT_OK;
    qsort(x->sizes, x->size_count, sizeof *x->sizes, compare_size_lines);
    const int file = atomic_output_open_file(&x->dir, env, FILTER_SIZES_FILE, path, &x->error);
    if (file < 0) return x->error.code;
    int failed = 0;
    for (uint64_t i = 0; failed == 0 && i < x->size_count; i++)
        failed = env_write_all(env, file, x->sizes[i], strlen(x->sizes[i]));
    if (failed != 0) error_set_system(&x->error, GLINT_E_OUTPUT_IO, failed, "write", path);
    return atomic_output_sync_and_close_file(env, file, x->error.code, path, &x->error);
}

/* Checks that the format can represent the filter. */
static int check_export_format(struct export *x, const struct filter_record *record)
{
    const struct bloom_params *params =
        filter_record_is_segment(record) ? &record->segment.params : &record->filter.params;
    const unsigned long long most = bloom_format_m_max(x->format), at = record->offset;
    char hint[128];
    if (params->layout == BLOOM_EXACT)
        return error_set(
            &x->error, GLINT_E_FILTER_MISMATCH, "build a filter of another layout, with --format",
            "%s, byte %llu: no other system reads filters of the layout exact", record->path, at);
    if (bloom_format_fits(x->format, params) && params->m <= most) return GLINT_OK;
    if (bloom_format_fits(x->format, params))
        return error_set(&x->error, GLINT_E_FILTER_LIMIT, "build it for a larger P",
                         "%s, byte %llu: the filter has %llu bits; %s has at most %llu",
                         record->path, at, (unsigned long long)params->m,
                         bloom_format_program(x->format), most);
    text_format(hint, sizeof hint, "build it with --format %s, or export it with --format bits",
                bloom_format_name(x->format));
    return error_set(&x->error, GLINT_E_FILTER_MISMATCH, hint,
                     "%s, byte %llu: the filter has scheme %s, layout %s; %s needs %s, %s",
                     record->path, at, bloom_scheme_name(params->scheme),
                     bloom_layout_name(params->layout), bloom_format_program(x->format),
                     bloom_scheme_name(bloom_format_scheme(x->format)),
                     bloom_layout_name(bloom_format_layout(x->format)));
}

static int export_filter_record(void *arg, struct filter_record *record)
{
    struct export *x = arg;
    struct bloom_filter classic = {.bits = NULL};
    char from[PATH_MAX + 32];
    /* A filter with counters is exported as that with a bit for each counter over 0. */
    if (!filter_record_is_segment(record) && record->filter.params.layout == BLOOM_COUNTING) {
        if (bloom_counting_to_classic(&record->filter, &classic) != BLOOM_OK)
            return error_no_memory(&x->error);
        record->filter.params = classic.params;
    }
    int code = check_export_format(x, record);
    snprintf(from, sizeof from, "%s, byte %llu", record->path, (unsigned long long)record->offset);
    if (code == 0 && filter_record_is_segment(record))
        code = filter_parts_add(&x->parts, record, &x->error);
    else if (code == 0)
        code = export_filter(x, &record->key, from,
                             classic.bits != NULL ? &classic : &record->filter, NULL);
    bloom_fini(&classic);
    return code;
}

static int export_segmented_filters(struct export *x)
{
    struct filter_whole whole;
    int code = filter_parts_check(&x->parts, &x->error);
    for (uint64_t at = 0; code == 0 && filter_parts_next(&x->parts, &at, &whole);)
        code = export_filter(x, &whole.first->key, x->parts.files[whole.first->file].path, NULL,
                             &whole);
    return code;
}

static int read_and_export_filters(struct export *x, const struct cli_line *line)
{
    const char *format = cli_line_option(line, "format"), *output = cli_line_option(line, "output");
    bloom_format_parse(format, strlen(format), &x->format);
    if (output == NULL)
        return error_set(&x->error, GLINT_E_USAGE, NULL, "glint filter export needs --output DIR");
    int code = atomic_output_open_dir(&x->dir, x->env, output, &x->error);
    if (code != 0) return code;
    code = filter_each(x->env, line->arguments, line->argument_count, export_filter_record, x,
                       &x->error);
    if (code == 0) code = export_segmented_filters(x);
    if (code == 0) code = write_size_lines(x);
    return atomic_output_commit_or_remove_dir(&x->dir, x->env, code, &x->error);
}

static void export_filters(const struct cli_line *line, struct glint_error *error)
{
    struct export x = {.env = env_real(), .parts.env = env_real()};
    signals_start("a hidden directory next to the output remains");
    read_and_export_filters(&x, line);
    *error = x.error;
    filter_parts_fini(&x.parts);
    for (uint64_t i = 0; i < x.size_count; i++) mem_free(x.sizes[i]);
    mem_free(x.sizes);
}

static const struct glint_job_option export_options[] = {
    {"output", "DIR", NULL, "directory to create; it must not exist"},
    {"format", BLOOM_FORMAT_CHOICES, "bits",
     "bits: bit i is bit (i mod 8) of byte i / 8, and how many they are is in " FILTER_SIZES_FILE
     "; others: files of their own, for filters built with the same --format"},
    {NULL, NULL, NULL, NULL}};

const struct cli_command filter_export = {
    .name = "export",
    .summary = "write filters to files for other programs",
    .syntax = {.command = "glint filter export",
               .summary = "Writes each filter to DIR/KEY.FORMAT.",
               .help = "Keys are percent-encoded in file names. DIR is created atomically, at the "
                       "end.",
               .arguments = "PATH...",
               .arguments_min = 1,
               .arguments_max = CLI_ARGUMENTS_ANY,
               .own = export_options},
    .execute = export_filters};
