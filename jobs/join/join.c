/* join: the rows of two tables that have equal keys, by one of three methods.
 *
 *     shuffle    both sides -> one shuffle by key -> pairs
 *     broadcast  the build side to every process; the probe side streams past it (join_broadcast.c)
 *     bloom      the build side's keys -> a filter -> broadcast; as shuffle, but of the probe side
 *                only rows that pass the filter. The others have no match: if unmatched rows of
 *                that side are in the output, they are written at once, else dropped
 *
 * All methods give the same lines. The smaller file is the build side. */
#include "jobs/join/join.h"

#include "engine/base/text.h"
#include "jobs/filters/bloom_pipeline.h"
#include "jobs/filters/one_filter.h"
#include "jobs/filters/sizes_from.h"
#include "jobs/rows/where.h"

#include <assert.h>
#include <string.h>

enum {
    /* auto chooses bloom if the probe side has this many times the bytes, or, of files of columns,
     * of which the filter needs the keys alone, half as many. */
    BLOOM_RATIO = 8,
    FILTER_SHARE = 2,     /* fraction of a slot's memory for the filter */
    FILTER_SPLIT = 4 * 8, /* minimum bytes of a build side split per byte of filter */
};

static const char *const type_names[JOIN_TYPES] = {"inner", "left", "right",
                                                   "full",  "semi", "anti"};
static const char *const method_names[JOIN_METHODS] = {"shuffle", "broadcast", "bloom", "auto"};
static const char *const side_names[JOIN_SIDES] = {"left", "right"};
static const char *const delimiters[JOIN_SIDES] = {"left-delimiter", "right-delimiter"};

/* ---- Options */

/* The option's table lists these names. */
static int option_name_index(const struct glint_job_args *args, const char *option,
                             const char *const *names, int count)
{
    const char *name = glint_job_option(args, option);
    int at = 0;
    while (strcmp(name, names[at]) != 0) {
        at++;
        assert(at < count);
    }
    return at;
}

/* The columns of --left-key-column or --right-key-column, or those of --key-column. */
static int read_key_columns(struct join *j, const struct glint_job_args *args, enum join_side side)
{
    static const char *const columns[] = {"left-key-column", "right-key-column"};
    const char *option = columns[side];
    if (glint_job_option(args, "key-column") != NULL) {
        if (glint_job_given(args, option))
            return glint_abort(j->g, GLINT_E_USAGE, NULL, "--key-column and --%s are both set",
                               option);
        option = "key-column";
    }
    struct columns *const keys = &j->keys[side];
    return columns_read_option(&j->tables[side], args, option, "", keys) == 0
               ? columns_reject_parts(j->g, option, keys->number, keys->count)
               : glint_error(j->g)->code;
}

static int read_side_options(struct join *j, const struct glint_job_args *args, enum join_side side)
{
    static const char *const headers[] = {"left-header", "right-header"};
    struct table *t = &j->tables[side];
    t->g = j->g;
    t->delimiter_option = delimiters[side];
    t->header =
        glint_job_option(args, "header") != NULL || glint_job_option(args, headers[side]) != NULL;
    if (fields_delimiter(j->g, args, delimiters[side], t->paths, &t->delimiter, &t->csv) != 0 ||
        nulls_read_option(j->g, args, t->csv, t->delimiter, &t->nulls) != 0)
        return glint_error(j->g)->code;
    t->header |= t->csv == FIELDS_COLUMNS;
    nulls_read_missing_option(j->g, args, t->csv, t->header, &t->nulls);
    return glint_error(j->g)->code;
}

static int read_key_types(struct join *j, const struct glint_job_args *args)
{
    static const char *const kinds[] = {"left-key", "right-key"};
    static const char *const names[] = {"text", "int"};
    int kind[JOIN_SIDES];
    for (int side = 0; side < JOIN_SIDES; side++)
        kind[side] = option_name_index(args, kinds[side], names, 2);
    j->ints = kind[JOIN_SIDE_LEFT] == 1;
    if (kind[JOIN_SIDE_LEFT] == kind[JOIN_SIDE_RIGHT]) return glint_error(j->g)->code;
    return glint_abort(j->g, GLINT_E_PLAN_TYPE, "set --left-key and --right-key to the same type",
                       "the left side's keys are of type %s, the right side's of type %s",
                       names[kind[JOIN_SIDE_LEFT]], names[kind[JOIN_SIDE_RIGHT]]);
}

int join_side_options(struct join *j, const struct glint_job_args *args)
{
    static const char *const wheres[] = {"left-where", "right-where"};
    if (read_key_types(j, args) != 0 || read_side_options(j, args, JOIN_SIDE_LEFT) != 0 ||
        read_side_options(j, args, JOIN_SIDE_RIGHT) != 0)
        return glint_error(j->g)->code;
    const bool typed = j->keep_types && j->tables[JOIN_SIDE_LEFT].csv == FIELDS_COLUMNS &&
                       j->tables[JOIN_SIDE_RIGHT].csv == FIELDS_COLUMNS &&
                       row_output_keeps_types(args);
    for (int side = 0; side < JOIN_SIDES; side++) {
        j->tables[side].typed = typed;
        j->tables[side].lines = table_source(&j->tables[side]);
        table_saves_rows(&j->tables[side]);
        if (read_key_columns(j, args, (enum join_side)side) != 0 ||
            where_option(&j->tables[side], args, wheres[side]) != 0)
            return glint_error(j->g)->code;
        table_key_columns(&j->tables[side], &j->keys[side], 0, j->keys[side].count);
    }
    const uint32_t left = j->keys[JOIN_SIDE_LEFT].count, right = j->keys[JOIN_SIDE_RIGHT].count;
    if (left == right) return join_choose_key_kinds(j);
    return glint_abort(j->g, GLINT_E_BAD_VALUE,
                       "list the columns of both keys in the same order, as in a,b and x,y",
                       "the left side's key has %u column%s, the right side's %u", left,
                       left == 1 ? "" : "s", right);
}

static int read_join_options(struct join *j, const struct glint_job_args *args)
{
    j->type = (enum join_type)option_name_index(args, "type", type_names, JOIN_TYPES);
    j->method = (enum join_method)option_name_index(args, "method", method_names, JOIN_METHODS);
    if (j->method != JOIN_BLOOM && j->method != JOIN_AUTO && glint_job_given(args, "p"))
        glint_abort(j->g, GLINT_E_USAGE, "add --method bloom or auto",
                    "--p has no effect with --method %s", method_names[j->method]);
    if (j->method != JOIN_AUTO && glint_job_given(args, "broadcast-limit"))
        glint_abort(j->g, GLINT_E_USAGE, "add --method auto",
                    "--broadcast-limit has no effect with --method %s", method_names[j->method]);
    return join_side_options(j, args);
}

/* ---- Shared by the plans */

struct glint_rdd *join_side_lines(const struct join *j, enum join_side side)
{
    return table_read_again(&j->tables[side]);
}

/* The same for functions that read only the keys. */
static struct glint_rdd *key_lines(const struct join *j, enum join_side side)
{
    struct table keys = j->tables[side];
    table_read_only_columns(&keys, &j->keys[side]);
    return table_read_again(&keys);
}

/* One key column as the only column of a table. */
static struct fields fields_of_key_column(const struct join *j, enum join_side side)
{
    const struct table *t = &j->tables[side];
    const uint32_t column = j->keys[side].number[0];
    return (struct fields){.id_column = column,
                           .key_column = column,
                           .delimiter = t->delimiter,
                           .csv = t->csv,
                           .json_paths = {t->json_paths[0]}, /* the key's only one */
                           .json_count = t->json_count > 0,
                           .names = columns_names(t),
                           .skip_empty = table_skip_empty(t, column, true),
                           .key = FIELDS_TEXT,
                           .keep_nulls = true,
                           .nulls = t->nulls};
}

/* Nulls for all columns that the first line of a side has, in place of a row; of typed rows their
 * types. */
static void add_missing_row_arg(struct glint_args *args, const char *name, const struct table *t)
{
    const struct glint_slice types =
        t->typed ? glint_row_types(t->lines) : (struct glint_slice){NULL, 0};
    if (types.size > 0) {
        glint_args_add_bytes(args, name, types.data, types.size);
        return;
    }
    const struct glint_slice null = nulls_in_rows(&t->nulls);
    const uint32_t columns = t->csv == FIELDS_JSON ? 1 : columns_count(t);
    const uint64_t size = columns * (null.size + 1) - 1;
    uint8_t *const row = glint_alloc(t->g, size + 1), *at = row;
    if (row == NULL) return;
    for (uint32_t i = 0; i < columns; i++) {
        if (null.size > 0) memcpy(at, null.data, null.size);
        at += null.size;
        *at++ = t->delimiter;
    }
    glint_args_add_bytes(args, name, row, size);
    glint_free(row);
}

struct glint_args *join_function_args(const struct join *j, enum join_side side)
{
    const struct table *left = &j->tables[JOIN_SIDE_LEFT];
    const struct fields fields = fields_of_key_column(j, side);
    struct glint_args *args = glint_args(j->g);
    if (j->keys[side].count == 1 && !left->typed)
        fields_args(args, &fields);
    else
        columns_args(args, &j->tables[side], &j->keys[side]);
    glint_args_add_i64(args, "key_columns", j->keys[side].count);
    glint_args_add_bytes(args, "kinds", j->kinds[side], j->keys[side].count);
    glint_args_add_i64(args, "type", j->type);
    glint_args_add_i64(args, "side", side);
    glint_args_add_i64(args, "out_delimiter", left->delimiter);
    glint_args_add_i64(args, "json", left->csv == FIELDS_JSON);
    glint_args_add_i64(args, "typed", left->typed);
    const bool counted = side == JOIN_SIDE_LEFT && join_has_pairs(j->type) && left->csv != 0 &&
                         left->csv != FIELDS_JSON && left->csv != FIELDS_COLUMNS;
    glint_args_add_i64(args, "fields", counted ? columns_count(left) : 0);
    add_missing_row_arg(args, "left_missing", left);
    add_missing_row_arg(args, "right_missing", &j->tables[JOIN_SIDE_RIGHT]);
    return args;
}

/* The side with its keys, as input of the shuffle. */
struct glint_rdd *join_side_rdd(const struct join *j, enum join_side side, bool lines,
                                const struct key_filter *filter)
{
    const bool filtered = side != j->build && filter->broadcast != NULL;
    struct glint_args *args = join_function_args(j, side);
    glint_args_add_i64(args, "filtered", filtered);
    if (filtered) glint_args_add_broadcast(args, "filters", filter->broadcast);
    return lines ? glint_flat_map(join_side_lines(j, side), &join_side_rows, args)
                 : glint_flat_map(key_lines(j, side), &join_side_keys, args);
}

/* The left rows whose key is on both sides, or the others. Only the keys of the right side are
 * shuffled, and they come first in each group, so nothing is buffered. */
static struct glint_rdd *semi_or_anti_join_rows(const struct join *j,
                                                const struct key_filter *filter)
{
    struct glint_rdd *left = join_side_rdd(j, JOIN_SIDE_LEFT, true, filter);
    struct glint_rdd *keys = join_side_rdd(j, JOIN_SIDE_RIGHT, false, filter);
    if (j->type == JOIN_ANTI) return glint_values(glint_subtract_by_key(left, keys));
    struct glint_rdd *groups = glint_cogroup(keys, left);
    return glint_values(glint_flat_map_values(groups, &join_present, NULL));
}

/* Pairs of rows as lines. The build side's rows of a key are buffered, the probe side's rows are
 * streamed. */
static struct glint_rdd *joined_pair_lines(const struct join *j, const struct key_filter *filter)
{
    struct glint_rdd *probe = join_side_rdd(j, join_probe_side(j), true, filter);
    struct glint_rdd *build = join_side_rdd(j, j->build, true, filter);
    const bool keep_probe = join_keeps_unmatched(j->type, join_probe_side(j));
    const bool keep_build = join_keeps_unmatched(j->type, j->build);
    struct glint_rdd *pairs = keep_probe && keep_build ? glint_full_outer_join(probe, build)
                              : keep_probe             ? glint_left_outer_join(probe, build)
                              : keep_build             ? glint_right_outer_join(probe, build)
                                                       : glint_join(probe, build);
    return glint_map(pairs, &join_pairs, join_function_args(j, join_probe_side(j)));
}

struct glint_rdd *join_by_shuffle(const struct join *j, const struct key_filter *filter)
{
    struct glint_rdd *matched =
        join_has_pairs(j->type) ? joined_pair_lines(j, filter) : semi_or_anti_join_rows(j, filter);
    if (filter->broadcast == NULL || !join_keeps_unmatched(j->type, join_probe_side(j)))
        return matched;
    struct glint_args *args = join_function_args(j, join_probe_side(j));
    glint_args_add_i64(args, "filtered", 1);
    glint_args_add_broadcast(args, "filters", filter->broadcast);
    return glint_union(
        matched, glint_flat_map(join_side_lines(j, join_probe_side(j)), &join_rejected, args));
}

/* ---- The filter of the build side's keys */

/* Returns false if the filter is too large; that is an error unless auto chose the method. */
static bool check_filter_fits(const struct join *j, const struct sizes *sizes, uint64_t keys)
{
    const uint64_t bytes_max = glint_slot_memory(j->g) / FILTER_SHARE;
    if (sizes->bits_bytes <= bytes_max) return true;
    if (!j->chosen)
        glint_abort(j->g, GLINT_E_MEMORY_LIMIT, "raise --memory or --p, or use --method shuffle",
                    "%s: a filter of %llu keys needs %llu bytes; the limit is %llu",
                    j->tables[j->build].paths, (unsigned long long)keys,
                    (unsigned long long)sizes->bits_bytes, (unsigned long long)bytes_max);
    return false;
}

static struct glint_rdd *build_side_ids(const struct join *j, uint64_t split_bytes)
{
    struct glint_rdd *lines = glint_with_split_bytes(key_lines(j, j->build), split_bytes);
    return glint_flat_map(lines, &join_ids, join_function_args(j, j->build));
}

int join_count_build_rows(const struct join *j, uint64_t *out)
{
    int64_t rows = 0;
    int r = glint_count(build_side_ids(j, 0), &rows);
    if (rows == 0 && glint_explaining(j->g))
        rows = (int64_t)sizes_estimate_rows(join_side_lines(j, j->build));
    *out = (uint64_t)rows;
    return r;
}

int join_filter_sizes(const struct join *j, double p, uint64_t keys, struct sizes *out)
{
    struct one_filter choice = {.k = 0};
    *out = (struct sizes){.count = 0};
    enum bloom_result result =
        bloom_sizing_for_rate(BLOOM_XXH64, BLOOM_SPLIT_BLOCK, p, &choice.sizing);
    if (result != BLOOM_OK) return sizes_set_error(j->g, result, "--p");
    return one_filter_sizes(j->g, &choice, keys, out);
}

struct glint_rdd *join_filter_rdd(const struct join *j, const struct sizes *sizes)
{
    const struct fields ids = fields_of_lines();
    struct glint_rdd *rows = build_side_ids(j, FILTER_SPLIT * sizes->bits_bytes);
    if (rows == NULL) return NULL;
    enum bloom_method method = bloom_method_choose(j->g, sizes, glint_partitions(rows));
    return bloom_pipeline(rows, sizes, method, &ids);
}

/* Builds one filter of the build side's keys if it fits; none if the side has no rows. */
static int make_join_filter(const struct join *j, double p, struct key_filter *out)
{
    struct sizes sizes = {.count = 0};
    *out = (struct key_filter){.keys = 0};
    int r = join_count_build_rows(j, &out->keys);
    if (r == 0 && out->keys > 0) r = join_filter_sizes(j, p, out->keys, &sizes);
    if (r == 0 && out->keys > 0 && check_filter_fits(j, &sizes, out->keys)) {
        struct glint_rdd *filter = join_filter_rdd(j, &sizes);
        out->broadcast =
            filters_broadcast(filter, &sizes, j->tables[j->build].paths, NULL, &out->rate);
        out->bytes = sizes.bits_bytes;
    }
    sizes_fini(&sizes);
    return glint_error(j->g)->code;
}

/* ---- Choice of the method */

static enum join_method choose_method(const struct join *j, const uint64_t bytes[JOIN_SIDES],
                                      uint64_t broadcast_limit)
{
    const uint64_t build = bytes[j->build], probe = bytes[join_probe_side(j)];
    if (j->method != JOIN_AUTO) return j->method;
    if (build <= broadcast_limit && build <= glint_slot_memory(j->g) / 8) return JOIN_BROADCAST;
    const bool columns = j->tables[j->build].csv == FIELDS_COLUMNS;
    if (probe / (columns ? BLOOM_RATIO / 2 : BLOOM_RATIO) >= build &&
        build <= glint_slot_memory(j->g))
        return JOIN_BLOOM;
    return JOIN_SHUFFLE;
}

static void note_input_sizes(const struct join *j, const uint64_t bytes[JOIN_SIDES])
{
    const uint64_t build = bytes[j->build], probe = bytes[join_probe_side(j)];
    glint_note(j->g, "left: %llu bytes; right: %llu bytes; the build side is the %s one",
               (unsigned long long)bytes[JOIN_SIDE_LEFT],
               (unsigned long long)bytes[JOIN_SIDE_RIGHT], side_names[j->build]);
    glint_note(j->g,
               "estimate: shuffle moves %llu bytes; broadcast %llu to each process; bloom %llu and "
               "the part of %llu that passes the filter",
               (unsigned long long)(build + probe), (unsigned long long)build,
               (unsigned long long)build, (unsigned long long)probe);
    glint_note(j->g, "method: %s%s", method_names[j->method], j->chosen ? ", chosen by auto" : "");
}

static void note_join_result(const struct join *j, const struct key_filter *filter)
{
    const uint64_t shuffled = (uint64_t)glint_counter_value(j->g, JOIN_SHUFFLE_BYTES);
    glint_note(j->g, "%s join by %s: %llu bytes shuffled", type_names[j->type],
               method_names[j->method], (unsigned long long)shuffled);
    if (filter->broadcast != NULL)
        glint_note(j->g,
                   "a filter of %llu keys in %llu bytes, rate %.6g, kept %llu of %llu rows out of "
                   "the shuffle",
                   (unsigned long long)filter->keys, (unsigned long long)filter->bytes,
                   filter->rate, (unsigned long long)glint_counter_value(j->g, JOIN_ROWS_FILTERED),
                   (unsigned long long)glint_counter_value(j->g, JOIN_ROWS_PROBED));
}

/* The lines of the output. If auto chose a method that does not fit in memory, uses the next
 * method. */
static struct glint_rdd *plan_join_lines(struct join *j, double p, struct key_filter *filter)
{
    if (j->method == JOIN_BROADCAST) {
        struct glint_rdd *lines = join_by_broadcast(j);
        if (lines != NULL || glint_error(j->g)->code != GLINT_OK) return lines;
        j->method = JOIN_BLOOM;
    }
    if (j->method == JOIN_BLOOM && make_join_filter(j, p, filter) != 0) return NULL;
    if (j->chosen && filter->broadcast == NULL) j->method = JOIN_SHUFFLE;
    return join_by_shuffle(j, filter);
}

static int plan_and_run_join(struct join *j, double p, uint64_t broadcast_limit,
                             const struct glint_job_args *args)
{
    uint64_t bytes[JOIN_SIDES];
    struct key_filter filter = {.keys = 0};
    for (int side = 0; side < JOIN_SIDES; side++)
        bytes[side] = glint_input_bytes(join_side_lines(j, (enum join_side)side));
    j->build = bytes[JOIN_SIDE_LEFT] < bytes[JOIN_SIDE_RIGHT] ? JOIN_SIDE_LEFT : JOIN_SIDE_RIGHT;
    j->chosen = j->method == JOIN_AUTO;
    j->method = choose_method(j, bytes, broadcast_limit);
    assert(j->method != JOIN_AUTO);
    if (glint_explaining(j->g)) note_input_sizes(j, bytes);
    struct glint_rdd *lines = plan_join_lines(j, p, &filter);
    if (lines == NULL) return glint_error(j->g)->code;
    int r = join_save(j, lines, args, args->positional[2]);
    if (r == 0 && !glint_explaining(j->g)) note_join_result(j, &filter);
    return r;
}

static uint64_t broadcast_limit(struct glint *g, const struct glint_job_args *args)
{
    const char *text = glint_job_option(args, "broadcast-limit");
    uint64_t bytes = 0;
    if (!text_parse_bytes(text, &bytes))
        glint_abort(g, GLINT_E_BAD_VALUE, NULL,
                    "--broadcast-limit %s: it must be bytes, as in 4096, 64K or 1.5G", text);
    return bytes;
}

static int join_run(struct glint *g, const struct glint_job_args *args)
{
    struct join j = {.g = g,
                     .keep_types = true,
                     .tables = {{.paths = args->positional[0]}, {.paths = args->positional[1]}}};
    const uint64_t limit = broadcast_limit(g, args);
    const double p = glint_job_f64(g, args, "p");
    if (read_join_options(&j, args) == 0 && glint_error(g)->code == GLINT_OK)
        plan_and_run_join(&j, p, limit, args);
    return glint_error(g)->code;
}

static const struct glint_job_option options[] = {
    {"type", "inner|left|right|full|semi|anti", "inner",
     "left, right, full: also rows of that side without a match; semi, anti: rows of LEFT"},
    {"method", "shuffle|broadcast|bloom|auto", "auto", "auto: by file sizes"},
    JOIN_SIDE_OPTIONS,
    {"broadcast-limit", "BYTES", "10M", "with auto: size of the largest file to broadcast"},
    {NULL, NULL, NULL, NULL}};

const struct glint_job join_job = {
    .name = "join",
    .summary = "join the rows of two tables that have equal keys",
    .help =
        "Saves a line per pair: LEFT's row, LEFT's delimiter, RIGHT's row; in place of a missing "
        "row a null for each column that the first line of its side has. A null key equals no "
        "other. In files of columns a name of RIGHT that LEFT has, too, ends with _right. "
        "semi and anti save the rows of LEFT whose key is in RIGHT, or is not. All methods give "
        "the same lines, in different orders. shuffle moves both sides by key; broadcast sends the "
        "smaller side to every process; bloom sends a filter of the smaller side's keys, and rows "
        "of the larger side that it rejects are not shuffled: left and anti (if LEFT is the larger "
        "side), right (if RIGHT is) and full write them at once, the others drop them. auto uses "
        "broadcast for a side up to --broadcast-limit, bloom if one file has 8 times the bytes of "
        "the other (4 times, if that is a file of columns), else shuffle.",
    .positional = {"LEFT", "RIGHT", "OUTPUT"},
    .outputs = {"OUTPUT"},
    .options = options,
    .functions = {&join_ids, &join_side_rows, &join_side_keys, &join_rejected, &join_pairs,
                  &join_present, &join_probe, &join_matched, &join_build_rows},
    .run = join_run};
