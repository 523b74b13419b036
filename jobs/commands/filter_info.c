/* glint filter info: prints each filter's parameters and how full it is. */
#include "engine/base/env.h"
#include "engine/base/json.h"
#include "engine/base/text.h"
#include "engine/base/utf8.h"
#include "engine/cli/options.h"
#include "jobs/bloom/exact.h"
#include "jobs/bloom/id_type.h"
#include "jobs/commands/commands.h"
#include "jobs/commands/filter_parts.h"
#include "jobs/commands/parquet_filters.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { JSON_BYTES = 1 << 16 }; /* buffered before output, about */

struct info_row {
    struct filter_key key; /* text and seeds are in the arena */
    struct bloom_params params;
    uint64_t bits_set;
    double fill_rate;  /* by the bits that are set; NAN: not known */
    uint64_t segments; /* 0: not in segments */
    uint64_t universe; /* ids of the universe of an exact filter; else 0 */
};

struct filter_listing {
    struct info_row *rows;
    uint64_t count, capacity;
    struct arena arena; /* an allocation per key would need more memory than the key */
    struct filter_parts parts;
    struct glint_error error;
};

static int add_listing_row(struct filter_listing *info, const struct filter_key *key,
                           const struct info_row *rest)
{
    if (!array_reserve(&info->rows, &info->capacity, info->count + 1, sizeof *info->rows))
        return error_no_memory(&info->error);
    struct info_row *row = &info->rows[info->count];
    *row = *rest;
    if (!filter_key_copy(&info->arena, key, &row->key)) return error_no_memory(&info->error);
    info->count++;
    assert(row->bits_set <= row->params.m);
    return 0;
}

/* Copies the seeds, because the record is freed. */
static int copy_row_seeds(struct filter_listing *info, struct info_row *row)
{
    const size_t size = row->params.k * BLOOM_SEED_BYTES;
    if (row->params.seeds == NULL) return 0;
    uint8_t *seeds = arena_alloc(&info->arena, size);
    if (seeds == NULL) return error_no_memory(&info->error);
    memcpy(seeds, row->params.seeds, size);
    row->params.seeds = seeds;
    return 0;
}

static int add_listed_record(void *arg, struct filter_record *record)
{
    struct filter_listing *info = arg;
    if (filter_record_is_segment(record))
        return filter_parts_add(&info->parts, record, &info->error);
    struct info_row row = {.params = record->filter.params,
                           .bits_set = bloom_bits_set(&record->filter),
                           .fill_rate = bloom_rate_from_bits(&record->filter)};
    if (row.params.layout == BLOOM_EXACT)
        row.universe = exact_count_universe_ids(record->filter.bits);
    int code = copy_row_seeds(info, &row);
    return code == 0 ? add_listing_row(info, &record->key, &row) : code;
}

/* Adds a row for each filter in segments. */
static int add_rows_of_segments(struct filter_listing *info)
{
    struct filter_whole whole;
    int code = filter_parts_check(&info->parts, &info->error);
    for (uint64_t at = 0; code == 0 && filter_parts_next(&info->parts, &at, &whole);) {
        struct info_row row = {.params = whole.first->segment.params, .segments = whole.count};
        for (uint64_t i = 0; i < whole.count; i++) row.bits_set += whole.first[i].bits_set;
        row.fill_rate = row.params.layout == BLOOM_CLASSIC
                            ? bloom_rate_from_fill(&row.params, row.bits_set)
                            : (double)NAN;
        code = add_listing_row(info, &whole.first->key, &row);
    }
    return code;
}

/* A row for each row group of a Parquet file, whose number is its key. */
static int add_rows_of_parquet(struct filter_listing *info, const char *path, const char *column)
{
    struct parquet_filters p;
    struct buffer bytes = {.data = NULL};
    struct bloom_filter filter;
    int code = parquet_filters_open(&p, env_real(), path, column, UINT32_MAX, &info->error);
    for (uint32_t i = 0; code == 0 && i < p.row_groups; i++) {
        char text[TEXT_NUMBER_MAX];
        const struct filter_key key = {
            .number = true, .order = i, .text = text, .size = text_format_i64(text, i)};
        text[key.size] = '\0';
        code = parquet_filters_read(&p, i, &bytes, &filter);
        if (code != 0) break;
        const uint64_t bits_set = bloom_bits_set(&filter);
        const double ids = bloom_ids_estimate(&filter.params, bits_set);
        filter.params.n = isfinite(ids) && ids > 1 ? (uint64_t)llround(ids) : 1;
        const struct info_row row = {.params = filter.params,
                                     .bits_set = bits_set,
                                     .fill_rate = bloom_rate_from_bits(&filter)};
        code = add_listing_row(info, &key, &row);
    }
    buffer_fini(&bytes);
    parquet_filters_close(&p);
    return code;
}

static int list_filters_of_paths(struct filter_listing *info, const struct cli_line *line)
{
    const char *column = cli_line_option(line, "column");
    if (column == NULL)
        return filter_each(env_real(), line->arguments, line->argument_count, add_listed_record,
                           info, &info->error);
    if (line->argument_count == 1) return add_rows_of_parquet(info, line->arguments[0], column);
    return error_set(&info->error, GLINT_E_USAGE, NULL, "--column needs exactly one file");
}

static int compare_rows(const void *a, const void *b)
{
    return filter_key_compare(&((const struct info_row *)a)->key,
                              &((const struct info_row *)b)->key);
}

static double fill_ratio(const struct info_row *row)
{
    return (double)row->bits_set / (double)bloom_positions(&row->params);
}

/* Prints a key on one line. Returns its width; `out` NULL: only that. */
static int print_key(FILE *out, const struct filter_key *key)
{
    const uint8_t *at = (const uint8_t *)key->text, *end = at + key->size;
    int width = 0;
    for (unsigned n; at < end; at += n) {
        n = utf8_printable_size(at, (uint64_t)(end - at));
        if (n > 0 && out != NULL) fwrite(at, 1, n, out);
        if (n == 0 && out != NULL) fprintf(out, "\\x%02x", *at);
        width += n > 0 ? (int)n : 4;
        if (n == 0) n = 1;
    }
    return width;
}

/* Of the column of the types of ids, with a space after it; 0: all are text. */
static int width_of_id_types(const struct filter_listing *info)
{
    int width = 0;
    for (uint64_t i = 0; i < info->count; i++) {
        char type[BLOOM_ID_NAME_MAX];
        bloom_id_type_name(info->rows[i].params.id_type, type);
        const int size = info->rows[i].params.id_type != 0 ? (int)strlen(type) + 1 : 0;
        if (size > width) width = size;
    }
    return width > 0 && width < 5 ? 5 : width;
}

static void print_listing_table(const struct filter_listing *info)
{
    static const char title[] = "KEY";
    int width = (int)sizeof title - 1, scheme = 10;
    for (uint64_t i = 0; i < info->count; i++) {
        const int name = (int)strlen(bloom_scheme_name(info->rows[i].params.scheme));
        const int size = info->rows[i].key.size < 40 ? print_key(NULL, &info->rows[i].key) : 0;
        if (size > width) width = size;
        if (name > scheme) scheme = name;
    }
    const bool segments = info->parts.count > 0;
    const int types = width_of_id_types(info);
    printf("%-*s %12s %13s %3s  %-*s  %-11s %*s%13s %7s  %s%s  %s\n", width, title, "N", "M", "K",
           scheme, "SCHEME", "LAYOUT", -types, types > 0 ? "IDS" : "", "BITS SET", "FILL",
           segments ? "SEGMENTS  " : "", "EXPECTED RATE", "RATE BY FILL");
    for (uint64_t i = 0; i < info->count; i++) {
        const struct info_row *row = &info->rows[i];
        const int gap = width - print_key(stdout, &row->key);
        char type[BLOOM_ID_NAME_MAX] = "";
        if (types > 0) bloom_id_type_name(row->params.id_type, type);
        printf("%*s %12llu %13llu %3u  %-*s  %-11s %*s%13llu %6.2f%%  ", gap > 0 ? gap : 0, "",
               (unsigned long long)row->params.n, (unsigned long long)row->params.m, row->params.k,
               scheme, bloom_scheme_name(row->params.scheme), bloom_layout_name(row->params.layout),
               -types, type, (unsigned long long)row->bits_set, 100 * fill_ratio(row));
        if (segments) printf("%8llu  ", (unsigned long long)row->segments);
        printf("%-13.6g  ", bloom_expected_rate(&row->params));
        if (isnan(row->fill_rate))
            puts("-");
        else
            printf("%.6g\n", row->fill_rate);
    }
}

/* Says which filters cannot keep their rate because of their scheme's hashes. */
static void print_rate_notes(const struct filter_listing *info)
{
    for (uint64_t i = 0; i < info->count; i++) {
        const struct info_row *row = &info->rows[i];
        double least, most, planned = bloom_expected_rate(&row->params);
        bloom_predict_rate(&row->params, &least, &most);
        if (most <= 1.05 * planned) continue;
        fputs("note: key ", stderr);
        print_key(stderr, &row->key);
        fprintf(stderr,
                ": scheme %s has hashes of 32 bits, too few for %llu ids: expect a rate of up to "
                "%.3g instead of %.3g; wide, guava and spark-v2 keep it\n",
                bloom_scheme_name(row->params.scheme), (unsigned long long)row->params.n, most,
                planned);
    }
}

static void put_json_seeds(struct json *j, const struct info_row *row)
{
    json_begin(j, "seeds", '[');
    for (uint32_t i = 0; i < row->params.k; i++) {
        uint32_t seed;
        static_assert(sizeof seed == BLOOM_SEED_BYTES, "little-endian, as in the library");
        memcpy(&seed, row->params.seeds + i * sizeof seed, sizeof seed);
        json_u64(j, NULL, seed);
    }
    json_end(j, ']');
}

/* As --hash-seed takes it: of 32 and 64 bits the int or long of Java, of 128 bits both halves, the
 * lower one first. */
static void put_json_hash_seed(struct json *j, const struct bloom_params *params)
{
    const uint32_t bits = bloom_hash_seed_bits(params->scheme);
    const uint64_t seed = params->hash_seed[0];
    const int64_t number = bits == 32 ? (int32_t)seed : (int64_t)seed;
    if (bits > 0 && bits <= 64) json_i64(j, "hash_seed", number);
    if (bits <= 64) return;
    json_begin(j, "hash_seed", '[');
    json_u64(j, NULL, params->hash_seed[0]);
    json_u64(j, NULL, params->hash_seed[1]);
    json_end(j, ']');
}

static void put_listing_row(struct json *j, const struct info_row *row)
{
    json_begin(j, NULL, '{');
    json_text(j, "key", row->key.text, row->key.size);
    json_u64(j, "n", row->params.n);
    json_u64(j, "m", row->params.m);
    json_u64(j, "k", row->params.k);
    json_cstring(j, "scheme", bloom_scheme_name(row->params.scheme));
    json_cstring(j, "layout", bloom_layout_name(row->params.layout));
    if (row->params.seeds != NULL) put_json_seeds(j, row);
    put_json_hash_seed(j, &row->params);
    if (row->params.id_type != 0) {
        char type[BLOOM_ID_NAME_MAX];
        bloom_id_type_name(row->params.id_type, type);
        json_cstring(j, "id_type", type);
    }
    json_u64(j, "bits_set", row->bits_set);
    json_f64(j, "fill", fill_ratio(row));
    json_f64(j, "expected_rate", bloom_expected_rate(&row->params));
    double least, most;
    bloom_predict_rate(&row->params, &least, &most);
    json_f64(j, "predicted_rate", most);
    if (!isnan(row->fill_rate)) json_f64(j, "fill_rate", row->fill_rate);
    if (row->segments > 0) json_u64(j, "segments", row->segments);
    if (row->universe > 0) json_u64(j, "universe", row->universe);
    json_end(j, '}');
}

/* Prints the part of the object that is buffered. */
static void flush_json(struct json *j)
{
    if (!j->failed) fwrite(j->out.data, 1, j->out.size, stdout);
    j->out.size = 0;
}

static bool print_listing_json(const struct filter_listing *info)
{
    struct json j = {.failed = false};
    json_begin(&j, NULL, '{');
    json_i64(&j, "schema", 1);
    json_begin(&j, "filters", '[');
    for (uint64_t i = 0; i < info->count; i++) {
        put_listing_row(&j, &info->rows[i]);
        if (j.out.size > JSON_BYTES) flush_json(&j);
    }
    json_end(&j, ']');
    json_end(&j, '}');
    const bool made = !j.failed;
    flush_json(&j);
    if (made) putchar('\n');
    json_fini(&j);
    return made;
}

static void list_filters(const struct cli_line *line, struct glint_error *error)
{
    struct filter_listing info = {.parts.env = env_real()};
    int code = list_filters_of_paths(&info, line);
    if (code == 0) code = add_rows_of_segments(&info);
    if (code == 0) {
        if (info.count > 0) qsort(info.rows, info.count, sizeof *info.rows, compare_rows);
        print_rate_notes(&info);
        if (!cli_line_flag(line, "json"))
            print_listing_table(&info);
        else if (!print_listing_json(&info))
            error_no_memory(&info.error);
    }
    *error = info.error;
    mem_free(info.rows);
    arena_fini(&info.arena);
    filter_parts_fini(&info.parts);
}

static const struct glint_job_option info_options[] = {
    {"json", NULL, NULL, "print one JSON object"},
    {"column", "COL", NULL,
     "PATH is a Parquet file: the Bloom filters of this column, whose keys are the numbers of the "
     "row groups, from 0, and whose N is estimated from their bits"},
    {NULL, NULL, NULL, NULL}};

const struct cli_command filter_info = {
    .name = "info",
    .summary = "list filters and how full they are",
    .syntax = {.command = "glint filter info",
               .summary = "Lists filters: size, scheme, fill, expected rate.",
               .help = "PATH is a directory that bloom-build wrote, or one of its files. The "
                       "expected rate of false positives is (1 - e^(-kn/m))^k, with a block layout "
                       "the mean over its blocks; that by the fill is (bits set / m)^k, which is "
                       "more if the filter has more ids than n.",
               .arguments = "PATH...",
               .arguments_min = 1,
               .arguments_max = CLI_ARGUMENTS_ANY,
               .own = info_options},
    .execute = list_filters};
