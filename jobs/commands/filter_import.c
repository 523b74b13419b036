/* glint filter import: converts files of other systems (jobs/bloom/formats.h) to filters with keys,
 * as bloom-build writes them. Lists the files and sorts their keys first, so that a duplicate key
 * is rejected before anything is written, and the output does not depend on the order of the
 * arguments. */
#include "engine/base/env.h"
#include "engine/base/text.h"
#include "engine/cli/options.h"
#include "engine/cli/signals.h"
#include "engine/records/pack.h"
#include "jobs/bloom/formats.h"
#include "jobs/commands/atomic_output.h"
#include "jobs/commands/commands.h"
#include "jobs/commands/filter_file.h"
#include "jobs/commands/parquet_filters.h"
#include "jobs/filters/sizes.h"
#include "jobs/rows/id_values.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct source_file {
    char *path;            /* owned */
    struct filter_key key; /* owned */
};

struct import {
    struct env *env;
    struct source_file *sources;
    uint64_t count, capacity;
    const char *key;      /* --key; NULL: from the file name */
    const char *key_type; /* --key-type; NULL: numbers if all keys are */
    struct buffer sizes;  /* the list of sizes in the directory `sizes_of`, and its name */
    char sizes_of[PATH_MAX];
    bool parquet_file;   /* the file that is read begins like one */
    const char *listing; /* the directory being listed */
    const char *column;  /* of Parquet files, of which the filters inside are read; NULL: none */
    int64_t row_group;   /* of them; -1: all are united */
    bool detect;         /* without --format: `format` is set for each file */
    enum bloom_format format;
    uint32_t id_type;           /* --id-type */
    bool typed;                 /* it was given */
    struct bloom_params params; /* n: --n, or 0: estimated; of bits also scheme, k and m */
    struct buffer bytes;        /* of the file that is read; the next one has its pages */
    struct atomic_output dir;
    struct glint_error error;
};

/* The format that the file's name ends with, of those that may be read. Returns the size of the
 * name without .FORMAT; -1: none. */
static int64_t find_name_ending(const struct import *x, const char *name,
                                enum bloom_format *out_format)
{
    for (int i = 0; i < BLOOM_FORMATS; i++) {
        char ending[32];
        const enum bloom_format format = (enum bloom_format)i;
        if (x->detect ? format == BLOOM_FORMAT_BITS : format != x->format) continue;
        text_format(ending, sizeof ending, ".%s", bloom_format_name(format));
        if (!text_ends_with(name, ending)) continue;
        *out_format = format;
        return (int64_t)(strlen(name) - strlen(ending));
    }
    return -1;
}

/* Percent-decodes `size` bytes in place. Returns false if a % is not followed by two hex digits. */
static bool decode_percents(char *text, uint64_t *size)
{
    uint64_t used = 0;
    for (uint64_t i = 0; i < *size; i++) {
        char byte = text[i];
        if (byte == '%') {
            const int high = i + 2 < *size ? text_hex_digit((uint8_t)text[i + 1]) : -1;
            const int low = i + 2 < *size ? text_hex_digit((uint8_t)text[i + 2]) : -1;
            if (high < 0 || low < 0) return false;
            byte = (char)(high << 4 | low);
            i += 2;
        }
        text[used++] = byte;
    }
    text[used] = '\0';
    *size = used;
    return true;
}

/* True if the key is an integer and prints the same: 07 is a text. */
static bool is_number_key(const struct filter_key *key)
{
    int64_t number;
    char again[TEXT_NUMBER_MAX];
    return text_parse_i64((const uint8_t *)key->text, key->size, &number) &&
           text_format_i64(again, number) == key->size && memcmp(again, key->text, key->size) == 0;
}

/* Keys are numbers, like the ratings of bloom-build, only if all of them are: a job reads keys of
 * one type. */
static int choose_key_type(struct import *x)
{
    const bool text = x->key_type != NULL && strcmp(x->key_type, "text") == 0;
    const struct source_file *other = NULL; /* whose key is no number */
    for (uint64_t i = 0; i < x->count && other == NULL; i++)
        if (!is_number_key(&x->sources[i].key)) other = &x->sources[i];
    if (x->key_type != NULL && !text && other != NULL)
        return error_set(&x->error, GLINT_E_BAD_VALUE, "use --key-type text",
                         "--key-type int: the key of %s is not a number: \"%s\"", other->path,
                         other->key.text);
    for (uint64_t i = 0; i < x->count && !text && other == NULL; i++) {
        struct filter_key *key = &x->sources[i].key;
        int64_t number = 0;
        key->number = text_parse_i64((const uint8_t *)key->text, key->size, &number);
        key->order = (double)number;
    }
    return GLINT_OK;
}

static int make_filter_key(struct import *x, const char *path, struct filter_key *out)
{
    const char *slash = strrchr(path, '/'), *name = slash != NULL ? slash + 1 : path;
    const char *text = x->key != NULL ? x->key : name;
    uint64_t size = strlen(text);
    *out = (struct filter_key){.text = mem_strdup(text)};
    if (out->text == NULL) return error_no_memory(&x->error);
    enum bloom_format format;
    const int64_t plain = x->key == NULL ? find_name_ending(x, name, &format) : -1;
    if (plain >= 0) size = (uint64_t)plain;
    if (x->key == NULL && !decode_percents(out->text, &size))
        return error_set(&x->error, GLINT_E_BAD_VALUE, "pass the key with --key",
                         "%s: the file name is not a percent-encoded key", path);
    out->text[size] = '\0';
    out->size = size;
    return GLINT_OK;
}

static int add_import_source(struct import *x, const char *path)
{
    if (!array_reserve(&x->sources, &x->capacity, x->count + 1, sizeof *x->sources))
        return error_no_memory(&x->error);
    struct source_file *source = &x->sources[x->count++];
    *source = (struct source_file){.path = mem_strdup(path)};
    if (source->path == NULL) return error_no_memory(&x->error);
    return make_filter_key(x, path, &source->key);
}

static int add_listed_source(void *arg, const char *name)
{
    struct import *x = arg;
    char path[PATH_MAX];
    enum bloom_format format;
    if (find_name_ending(x, name, &format) < 0) return 0;
    if (text_format(path, sizeof path, "%s/%s", x->listing, name))
        return add_import_source(x, path);
    return error_set(&x->error, GLINT_E_INPUT_NOT_FOUND, NULL, "%s/%s: the path is too long",
                     x->listing, name);
}

/* Adds a file, or all files of a directory that have names as written by export. */
static int add_import_path(struct import *x, const char *path)
{
    struct env_stat stat;
    const uint64_t before = x->count;
    int failed = x->env->stat(x->env, path, &stat);
    if (failed != 0)
        return error_set_system(&x->error, input_error_code(failed), failed, "open", path);
    if (stat.kind != ENV_DIRECTORY) return add_import_source(x, path);
    x->listing = path;
    failed = env_list_dir(x->env, path, add_listed_source, x);
    if (x->error.code != GLINT_OK) return x->error.code;
    if (failed != 0)
        return error_set_system(&x->error, input_error_code(failed), failed, "list", path);
    if (x->count > before) return GLINT_OK;
    return error_set(&x->error, GLINT_E_INPUT_NOT_FOUND,
                     "name the files one by one if their names end differently",
                     "%s has no file *.%s", path,
                     x->detect ? "FORMAT" : bloom_format_name(x->format));
}

static int compare_sources(const void *a, const void *b)
{
    const struct source_file *x = a, *y = b;
    const int c = filter_key_compare(&x->key, &y->key);
    return c != 0 ? c : strcmp(x->path, y->path);
}

static int list_sources(struct import *x, const struct cli_line *line)
{
    int code = GLINT_OK;
    for (uint32_t i = 0; code == 0 && i < line->argument_count; i++)
        code = add_import_path(x, line->arguments[i]);
    if (code == 0) code = choose_key_type(x);
    if (code != 0) return code;
    assert(x->count > 0);
    qsort(x->sources, x->count, sizeof *x->sources, compare_sources);
    for (uint64_t i = 1; i < x->count; i++) {
        const struct source_file *a = &x->sources[i - 1], *b = &x->sources[i];
        if (filter_key_compare(&a->key, &b->key) == 0)
            return error_set(&x->error, x->key != NULL ? GLINT_E_USAGE : GLINT_E_FILTER_INVALID,
                             x->key != NULL ? "--key needs exactly one file" : NULL,
                             "%s and %s have the same key, %s", a->path, b->path, a->key.text);
    }
    return GLINT_OK;
}

/* `other`: the file has this format; BLOOM_FORMATS: unknown. */
static int set_invalid_file_error(struct import *x, const char *path, uint64_t at,
                                  const char *reason, enum bloom_format other)
{
    char hint[128];
    const char *name = bloom_format_name(x->format), *program = bloom_format_program(x->format);
    if (other != BLOOM_FORMATS)
        text_format(hint, sizeof hint, "it may be %s: use --format %s", bloom_format_program(other),
                    bloom_format_name(other));
    else
        text_format(hint, sizeof hint, "--format %s: the file must be %s", name, program);
    if (x->parquet_file)
        text_format(hint, sizeof hint, "it is a Parquet file: name a column with --column");
    return error_set(&x->error, GLINT_E_FILTER_INVALID, hint, "%s, byte %llu: %s", path,
                     (unsigned long long)at, reason);
}

/* Reads [0, size) of the file. */
static int read_filter_bits(struct import *x, int file, const char *path, uint8_t *out,
                            uint64_t size)
{
    const int64_t n = env_read_full(x->env, file, out, size, 0);
    if (n < 0) return error_set_system(&x->error, GLINT_E_INPUT_IO, (int)n, "read", path);
    if ((uint64_t)n == size) return GLINT_OK;
    return error_set(&x->error, GLINT_E_INPUT_CHANGED, NULL, "%s was truncated while it was read",
                     path);
}

/* Reads DIR/FILTER_SIZES_FILE of the file's directory, once for its files; without it the list is
 * empty. */
static int read_import_sizes(struct import *x, const char *path)
{
    const char *slash = strrchr(path, '/');
    const int size = slash != NULL ? (int)(slash - path) + 1 : 0;
    char dir[PATH_MAX], list[PATH_MAX];
    struct env_stat stat;
    if (!text_format(dir, sizeof dir, "%.*s", size, path) ||
        !text_format(list, sizeof list, "%s" FILTER_SIZES_FILE, dir))
        return error_set(&x->error, GLINT_E_INPUT_NOT_FOUND, NULL, "%s: the path is too long",
                         path);
    if (x->sizes.data != NULL && strcmp(dir, x->sizes_of) == 0) return GLINT_OK;
    x->sizes.size = 0;
    memcpy(x->sizes_of, dir, sizeof dir);
    if (!buffer_append(&x->sizes, "\n", 1)) return error_no_memory(&x->error);
    const int file = x->env->open(x->env, ENV_CWD, list, ENV_READ);
    if (file == -ENOENT) return GLINT_OK;
    if (file < 0) return error_set_system(&x->error, input_error_code(file), file, "open", list);
    int code = x->env->stat_open(x->env, file, &stat) == 0 && stat.kind == ENV_FILE
                   ? GLINT_OK
                   : error_set(&x->error, GLINT_E_INPUT_KIND, NULL, "%s is no file", list);
    if (code == 0 && !buffer_reserve(&x->sizes, stat.size)) code = error_no_memory(&x->error);
    if (code == 0) code = read_filter_bits(x, file, list, x->sizes.data + 1, stat.size);
    if (code == 0) x->sizes.size += stat.size;
    x->env->close(x->env, file);
    return code;
}

/* Raw bits do not contain their number: it is in the list that export writes, a line NAME TAB M. */
static int find_listed_bit_count(struct import *x, const char *path, uint64_t *out)
{
    const char *slash = strrchr(path, '/'), *name = slash != NULL ? slash + 1 : path;
    char line[PATH_MAX];
    int64_t m = 0;
    if (read_import_sizes(x, path) != 0) return x->error.code;
    text_format(line, sizeof line, "\n%s\t", name);
    const uint8_t *end = x->sizes.data + x->sizes.size;
    const uint8_t *at = memmem(x->sizes.data, x->sizes.size, line, strlen(line));
    if (at != NULL) at += strlen(line);
    const uint8_t *stop = at != NULL ? memchr(at, '\n', (size_t)(end - at)) : NULL;
    if (stop != NULL && text_parse_i64(at, (uint64_t)(stop - at), &m) && m > 0 &&
        (uint64_t)m <= BLOOM_M_MAX) {
        *out = (uint64_t)m;
        return GLINT_OK;
    }
    return error_set(&x->error, GLINT_E_USAGE, "pass the number of bits with --m",
                     "%s: raw bits do not say how many they are, and " FILTER_SIZES_FILE
                     " next to the file does not list it",
                     path);
}

/* Sets the format that the first bytes name, which the file's name must not contradict: a damaged
 * file may look like another. If they are of none or of several, the name says which is meant. */
static int detect_format(struct import *x, const char *path, const uint8_t *head, uint64_t size)
{
    enum bloom_format fits[BLOOM_FORMATS], named = BLOOM_FORMATS;
    char list[256] = "";
    const uint32_t count = bloom_format_detect(head, size, fits);
    find_name_ending(x, path, &named);
    bool known = count == 0 && named != BLOOM_FORMATS;
    x->format = named;
    for (uint32_t i = 0; i < count; i++) {
        known = known || fits[i] == named;
        const size_t used = strlen(list);
        text_format(list + used, sizeof list - used, "%s%s", i == 0 ? "" : " or ",
                    bloom_format_name(fits[i]));
    }
    if (count == 1 && named == BLOOM_FORMATS) x->format = fits[0];
    if (known || (count == 1 && named == BLOOM_FORMATS)) return GLINT_OK;
    if (count == 1)
        return error_set(&x->error, GLINT_E_FILTER_INVALID, "pass the format with --format",
                         "%s, byte 0: its name says %s, its first bytes say %s", path,
                         bloom_format_name(named), list);
    return error_set(&x->error, GLINT_E_FILTER_INVALID,
                     x->parquet_file ? "it is a Parquet file: name a column with --column"
                                     : "pass the format with --format",
                     "%s, byte 0: the file is of %s", path, count == 0 ? "no known format" : list);
}

/* The only format that the file has; BLOOM_FORMATS: none. Nearly any damaged file may be rbloom's,
 * which has no length. */
static enum bloom_format find_other_format_of_file(const struct import *x, const uint8_t *head,
                                                   uint64_t size)
{
    enum bloom_format fits[BLOOM_FORMATS];
    const bool one = !x->detect && bloom_format_detect(head, size, fits) == 1;
    return one && fits[0] != x->format && fits[0] != BLOOM_FORMAT_RBLOOM ? fits[0] : BLOOM_FORMATS;
}

/* Reads the header first, so that a wrong size is detected before memory is allocated for it. */
static int read_filter(struct import *x, int file, const char *path, struct bloom_filter *out)
{
    struct buffer *bytes = &x->bytes;
    struct env_stat stat;
    uint8_t head[BLOOM_FORMAT_HEAD_MAX] = {0};
    uint64_t at;
    int failed = x->env->stat_open(x->env, file, &stat);
    if (failed != 0) return error_set_system(&x->error, GLINT_E_INPUT_IO, failed, "stat", path);
    if (stat.kind != ENV_FILE)
        return error_set(&x->error, GLINT_E_INPUT_KIND, NULL, "%s is not a regular file", path);
    int code =
        read_filter_bits(x, file, path, head, stat.size < sizeof head ? stat.size : sizeof head);
    if (code != 0) return code;
    x->parquet_file = stat.size >= 4 && memcmp(head, "PAR1", 4) == 0;
    if (x->detect) code = detect_format(x, path, head, stat.size);
    if (code != 0) return code;
    struct bloom_params params = x->params;
    if (x->format == BLOOM_FORMAT_BITS && params.m == 0)
        code = find_listed_bit_count(x, path, &params.m);
    if (code != 0) return code;
    out->params = params;
    const char *wrong = bloom_format_decode_head(x->format, head, stat.size, &out->params, &at);
    if (wrong != NULL)
        return set_invalid_file_error(x, path, at, wrong,
                                      find_other_format_of_file(x, head, stat.size));
    bytes->size = 0;
    if (!buffer_reserve(bytes, stat.size)) return error_no_memory(&x->error);
    code = read_filter_bits(x, file, path, bytes->data, stat.size);
    if (code != 0) return code;
    bytes->size = stat.size;
    wrong = bloom_format_decode(x->format, bytes->data, bytes->size, &params, out, &at);
    out->params.id_type = x->id_type;
    return wrong == NULL ? GLINT_OK : set_invalid_file_error(x, path, at, wrong, BLOOM_FORMATS);
}

/* Of a Parquet file: by its column's type unless --id-type is given. */
static int read_filter_of_column(struct import *x, const char *path, struct bloom_filter *out)
{
    struct parquet_filters p;
    int code = parquet_filters_open(&p, x->env, path, x->column, x->typed ? x->id_type : UINT32_MAX,
                                    &x->error);
    if (code == 0 && x->row_group >= (int64_t)p.row_groups)
        code = error_set(&x->error, GLINT_E_BAD_VALUE, "they count from 0",
                         "--row-group %lld: %s has %u row groups", (long long)x->row_group, path,
                         p.row_groups);
    if (code == 0)
        code = x->row_group >= 0 ? parquet_filters_read(&p, (uint32_t)x->row_group, &x->bytes, out)
                                 : parquet_filters_unite(&p, &x->bytes, out);
    parquet_filters_close(&p);
    if (code == 0) out->params.n = x->params.n;
    return code;
}

static int estimate_missing_n(struct import *x, const char *path, struct bloom_filter *filter)
{
    if (filter->params.n > 0) return GLINT_OK;
    const uint64_t bits_set = bloom_bits_set(filter);
    if (bits_set == filter->params.m)
        return error_set(&x->error, GLINT_E_FILTER_INVALID, "pass it with --n",
                         "%s: all bits are set, so the number of ids is unknown", path);
    const double estimate = bloom_ids_estimate(&filter->params, bits_set);
    filter->params.n = estimate > 1 ? (uint64_t)llround(estimate) : 1;
    return GLINT_OK;
}

/* The scheme may have limits of its own: raw bits can be anything. */
static int check_params(struct import *x, const char *path, const struct bloom_params *params)
{
    const enum bloom_result result = bloom_params_check(params);
    char problem[128], hint[256];
    if (id_type_problem(params->scheme, x->id_type, problem, sizeof problem, hint, sizeof hint))
        return error_set(&x->error, GLINT_E_BAD_VALUE, hint, "--id-type, %s: %s", path, problem);
    if (result == BLOOM_OK) return GLINT_OK;
    return error_set(&x->error, GLINT_E_FILTER_INVALID,
                     "see docs/filter-format.md for the bounds of each scheme",
                     "%s: scheme %s, %llu bits, %u hashes: %s", path,
                     bloom_scheme_name(params->scheme), (unsigned long long)params->m, params->k,
                     bloom_strerror(result));
}

static int write_filter_record(struct import *x, int file, const struct filter_key *key,
                               const struct bloom_filter *filter)
{
    struct packer pair = {.failed = false};
    uint8_t header[BLOOM_HEADER_MAX];
    int64_t number;
    pack_array(&pair, 2);
    if (key->number && text_parse_i64((const uint8_t *)key->text, key->size, &number))
        pack_i64(&pair, number);
    else
        pack_str(&pair, (struct glint_slice){(const uint8_t *)key->text, key->size});
    assert(bloom_params_check(&filter->params) == BLOOM_OK);
    const uint32_t size = bloom_encode_header(filter, header);
    int code = pair.failed ? error_no_memory(&x->error) : GLINT_OK, failed = 0;
    if (code == 0) failed = env_write_all(x->env, file, pair.out.data, pair.out.size);
    if (code == 0 && failed == 0) failed = env_write_all(x->env, file, header, size);
    if (code == 0 && failed == 0)
        failed = env_write_all(x->env, file, filter->bits, bloom_bytes(filter->params.m));
    packer_fini(&pair);
    if (failed == 0) return code;
    return error_set_system(&x->error, GLINT_E_OUTPUT_IO, failed, "write", x->dir.path);
}

static int import_source(struct import *x, int file, const struct source_file *source)
{
    struct bloom_filter filter = {.bits = NULL};
    enum glint_code stop = signals_pending();
    if (stop != GLINT_OK) return error_set(&x->error, stop, NULL, "interrupted by a signal");
    const int from = x->env->open(x->env, ENV_CWD, source->path, ENV_READ);
    if (from < 0)
        return error_set_system(&x->error, input_error_code(from), from, "open", source->path);
    int code = x->column == NULL ? read_filter(x, from, source->path, &filter) : GLINT_OK;
    x->env->close(x->env, from);
    if (x->column != NULL) code = read_filter_of_column(x, source->path, &filter);
    if (code == 0) code = estimate_missing_n(x, source->path, &filter);
    if (code == 0) code = check_params(x, source->path, &filter.params);
    if (code == 0) code = write_filter_record(x, file, &source->key, &filter);
    return code;
}

/* Creates a file of the output; `filled`: writes the filters to it. */
static int write_imported_file(struct import *x, const char *name, bool filled)
{
    char path[PATH_MAX];
    const int file = atomic_output_open_file(&x->dir, x->env, name, path, &x->error);
    int code = x->error.code;
    if (file < 0) return code;
    for (uint64_t i = 0; filled && code == 0 && i < x->count; i++)
        code = import_source(x, file, &x->sources[i]);
    return atomic_output_sync_and_close_file(x->env, file, code, path, &x->error);
}

/* A whole number from 1 to `most`; 0 if the option is not given. */
static int read_number_option(struct import *x, const struct cli_line *line, const char *name,
                              uint64_t most, uint64_t *out)
{
    const char *text = cli_line_option(line, name);
    int64_t number = 0;
    if (text != NULL && (!text_parse_i64((const uint8_t *)text, strlen(text), &number) ||
                         number < 1 || (uint64_t)number > most))
        return error_set(&x->error, GLINT_E_BAD_VALUE, NULL,
                         "--%s %s: it must be a whole number from 1 to %llu", name, text,
                         (unsigned long long)most);
    *out = (uint64_t)number;
    return GLINT_OK;
}

/* The files of a format have their own scheme, k and m, except raw bits. */
static int read_bits_options(struct import *x, const struct cli_line *line)
{
    static const char *const names[] = {"scheme", "k", "m"};
    const char *scheme = cli_line_option(line, "scheme");
    uint64_t k = 0;
    const bool bits = !x->detect && x->format == BLOOM_FORMAT_BITS;
    for (size_t i = 0; !bits && i < sizeof names / sizeof *names; i++)
        if (cli_line_option(line, names[i]) != NULL)
            return error_set(&x->error, GLINT_E_USAGE, "use only one of them",
                             "--%s is for --format bits; files of --format %s have it", names[i],
                             x->detect ? "FORMAT" : bloom_format_name(x->format));
    int code = read_number_option(x, line, "k", BLOOM_K_MAX, &k);
    if (code == 0) code = read_number_option(x, line, "m", BLOOM_M_MAX, &x->params.m);
    if (code != 0 || !bits) return code;
    x->params.k = (uint32_t)k;
    if (scheme == NULL || k == 0)
        return error_set(&x->error, GLINT_E_USAGE, NULL, "--format bits needs --scheme and --k");
    bloom_scheme_parse(scheme, strlen(scheme), &x->params.scheme);
    return GLINT_OK;
}

/* --column and --row-group: the files are Parquet files. */
static int read_column_options(struct import *x, const struct cli_line *line)
{
    const char *group = cli_line_option(line, "row-group");
    x->column = cli_line_option(line, "column");
    x->row_group = -1;
    if (x->column == NULL && group == NULL) return GLINT_OK;
    if (x->column == NULL || (!x->detect && x->format != BLOOM_FORMAT_PARQUET))
        return error_set(&x->error, GLINT_E_USAGE, NULL,
                         x->column == NULL ? "--row-group needs --column"
                                           : "--column is for --format parquet");
    x->detect = false;
    x->format = BLOOM_FORMAT_PARQUET;
    if (group == NULL) return GLINT_OK;
    if (text_parse_i64((const uint8_t *)group, strlen(group), &x->row_group) && x->row_group >= 0)
        return GLINT_OK;
    return error_set(&x->error, GLINT_E_BAD_VALUE, "row groups count from 0",
                     "--row-group %s: it must be a whole number from 0 on", group);
}

static int read_import_options(struct import *x, const struct cli_line *line)
{
    const char *format = cli_line_option(line, "format");
    x->detect = format == NULL;
    if (format != NULL) bloom_format_parse(format, strlen(format), &x->format);
    int code = read_column_options(x, line);
    if (code == 0) code = read_number_option(x, line, "n", INT64_MAX, &x->params.n);
    if (code == 0) code = read_bits_options(x, line);
    if (code != 0) return code;
    x->key = cli_line_option(line, "key");
    x->key_type = cli_line_option(line, "key-type");
    const char *type = cli_line_option(line, "id-type");
    x->typed = type != NULL;
    if (type != NULL && !bloom_id_type_parse(type, strlen(type), &x->id_type))
        return error_set(&x->error, GLINT_E_BAD_VALUE,
                         "use " BLOOM_ID_TYPES ", with P from 1 to 18",
                         "--id-type %s: there is no such type of ids", type);
    if (cli_line_option(line, "output") != NULL) return GLINT_OK;
    return error_set(&x->error, GLINT_E_USAGE, NULL, "glint filter import needs --output DIR");
}

static int read_and_import_filters(struct import *x, const struct cli_line *line)
{
    int code = read_import_options(x, line);
    if (code == 0) code = list_sources(x, line);
    if (code == 0)
        code = atomic_output_open_dir(&x->dir, x->env, cli_line_option(line, "output"), &x->error);
    if (code != 0) return code;
    code = write_imported_file(x, "part-00000", true);
    if (code == 0) code = write_imported_file(x, "_SUCCESS", false);
    return atomic_output_commit_or_remove_dir(&x->dir, x->env, code, &x->error);
}

static void import_filters(const struct cli_line *line, struct glint_error *error)
{
    struct import x = {.env = env_real()};
    signals_start("a hidden directory next to the output remains");
    read_and_import_filters(&x, line);
    *error = x.error;
    for (uint64_t i = 0; i < x.count; i++) {
        mem_free(x.sources[i].path);
        mem_free(x.sources[i].key.text);
    }
    mem_free(x.sources);
    buffer_fini(&x.sizes);
    buffer_fini(&x.bytes);
}

static const struct glint_job_option import_options[] = {
    {"output", "DIR", NULL, "directory to create; it must not exist"},
    {"format", BLOOM_FORMAT_CHOICES, NULL, "format of the files (default: by their first bytes)"},
    {"key", "KEY", NULL, "key of the only file (default: the decoded file name)"},
    {"key-type", "int|text", NULL,
     "type of the keys (default: int if all of them are integers, else text)"},
    {"column", "COL", NULL,
     "of Parquet files: the column, by name or number, whose filters inside the files are read"},
    {"row-group", "N", NULL, "with --column: only of this row group, from 0 (all, united)"},
    {"id-type", "TYPE", NULL,
     "type of the ids, which the files do not say: " BLOOM_ID_TYPES
     " (text; with --column that of the column)"},
    {"n", "N", NULL,
     "number of ids in each filter (default: of the file; if it has none, estimated from the X "
     "set bits: -m/k ln(1 - X/m))"},
    {"scheme", SIZES_CLASSIC_CHOICES "|xxh64", NULL, "with --format bits: the index rule"},
    {"k", "K", NULL, "with --format bits: number of hashes per id"},
    {"m", "M", NULL,
     "with --format bits: number of bits (default: as export lists it in " FILTER_SIZES_FILE ")"},
    {NULL, NULL, NULL, NULL}};

const struct cli_command filter_import = {
    .name = "import",
    .summary = "convert the filters of other programs",
    .syntax = {.command = "glint filter import",
               .summary = "Converts files KEY.FORMAT to filters, as bloom-build writes them.",
               .help = "A PATH is a file, or a directory, of which all files *.FORMAT are read, as "
                       "glint filter export writes them. File names are percent-encoded keys. They "
                       "become numbers if all of them are integers, else text (--key-type). With "
                       "--column the files are Parquet files that have Bloom filters. DIR is "
                       "created atomically, at the end.",
               .arguments = "PATH...",
               .arguments_min = 1,
               .arguments_max = CLI_ARGUMENTS_ANY,
               .own = import_options},
    .execute = import_filters};
