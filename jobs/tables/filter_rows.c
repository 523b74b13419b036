/* filter-rows: the lines whose id is in a stored filter, or is not.
 *
 *     FILTERS -> broadcast; line -> kept or not */
#include "engine/batch.h"
#include "jobs/filters/bloom_functions.h"
#include "jobs/filters/sizes_from.h"
#include "jobs/rows/columns.h"
#include "jobs/rows/id_values.h"
#include "jobs/rows/row_output.h"

#include <assert.h>
#include <string.h>

/* ---- filter_rows.keep */

enum { ANY_FILTER = -1 };

struct keep_state {
    struct columns_reader reader;
    struct bloom_set set;
    int64_t chosen; /* number of the filter, or ANY_FILTER */
    int64_t drop, id_type, id_width;
    struct values_memory { /* of ids */
        uint8_t *bytes;
        uint64_t size;
    } values, texts; /* of those with a type, and of those without escapes */
    uint32_t start[FIELDS_ROWS_MAX], end[FIELDS_ROWS_MAX];
    uint16_t row[FIELDS_ROWS_MAX];    /* of the batch */
    bool null[FIELDS_ROWS_MAX];       /* the id is null, so in no filter */
    uint16_t filter[FIELDS_ROWS_MAX]; /* all are the chosen one */
    uint8_t *hit;                     /* [filter][row] */
};

static int filter_rows_init(struct glint_task *task, void *state)
{
    struct keep_state *s = state;
    int e = columns_open(task, &s->reader);
    if (e == 0) e = glint_arg_i64(task, "chosen", &s->chosen);
    if (e == 0) e = glint_arg_i64(task, "drop", &s->drop);
    if (e == 0) e = glint_arg_i64(task, "id_type", &s->id_type);
    if (e == 0) e = glint_arg_i64(task, "id_width", &s->id_width);
    if (e == 0) e = bloom_open_filters(task, &s->set);
    if (e != 0) return e;
    if (s->id_type != s->set.id_type ||
        s->id_width != bloom_id_width(s->set.scheme, s->set.id_type))
        return glint_fail(task, GLINT_E_PLAN_ARGUMENT, NULL, "invalid type of ids");
    assert(s->chosen >= ANY_FILTER && s->chosen < (int64_t)s->set.count);
    for (uint32_t i = 0; i < FIELDS_ROWS_MAX; i++) s->filter[i] = (uint16_t)s->chosen;
    const uint64_t filters = s->chosen == ANY_FILTER ? s->set.count : 1;
    s->hit = glint_scratch(task, filters * FIELDS_ROWS_MAX);
    return s->hit != NULL ? 0 : GLINT_E_NO_MEMORY;
}

static void filter_rows_fini(struct glint_task *task, void *state)
{
    (void)task;
    bloom_set_fini(&((struct keep_state *)state)->set);
}

/* Finds the ids of all rows, without bad ones that are skipped. Returns 0 or a code. */
static int find_id_columns(struct keep_state *s, struct glint_task *task,
                           const struct glint_column *lines, uint32_t count, struct bloom_rows *out)
{
    struct glint_slice id;
    const uint8_t *base = lines->base;
    uint32_t rows = 0;
    for (uint32_t i = 0; i < count; i++) {
        const struct glint_slice line = glint_column_slice(lines, i);
        int e = columns_find(&s->reader, task, line, &id);
        if (e < 0) return e;
        if (e == 0) continue;
        if (count == 1) base = id.data; /* offsets in a very long line may not fit 32 bits */
        if (id.size > UINT32_MAX) {
            e = glint_bad_row(task, line, "the id is longer than 4 GiB");
            if (e != 0) return e;
            continue;
        }
        s->null[rows] = nulls_is(s->reader.null, id);
        s->start[rows] = (uint32_t)(id.data - base);
        s->end[rows] = s->start[rows] + (uint32_t)id.size;
        s->row[rows++] = (uint16_t)i;
    }
    *out = (struct bloom_rows){base, s->start, s->end, s->filter, rows};
    return 0;
}

/* Room for the ids as texts, and for `more` bytes each. Returns 0 or a code. */
static int reserve_values(const struct keep_state *s, struct glint_task *task, uint32_t count,
                          uint64_t more, struct values_memory *out)
{
    uint64_t need = count * more;
    for (uint32_t i = 0; i < count; i++) need += s->end[i] - s->start[i];
    if (need + BLOOM_ID_SLACK <= out->size) return 0;
    out->size = 2 * need + BLOOM_ID_SLACK;
    out->bytes = glint_scratch(task, out->size);
    if (out->bytes == NULL) return GLINT_E_NO_MEMORY;
    memset(out->bytes, 0, out->size);
    return 0;
}

/* Replaces the ids by their texts. */
static int unescape_ids(struct keep_state *s, struct glint_task *task, struct bloom_rows *rows)
{
    uint64_t used = 0;
    int e = reserve_values(s, task, rows->rows, 0, &s->texts);
    for (uint32_t i = 0; e == 0 && i < rows->rows; i++) {
        const struct glint_slice id = {rows->base + s->start[i], s->end[i] - s->start[i]};
        s->start[i] = (uint32_t)used;
        used += glint_unescape_field(id, s->texts.bytes + used);
        s->end[i] = (uint32_t)used;
    }
    rows->base = s->texts.bytes;
    return e;
}

/* Replaces the texts of the ids by the bytes of their values; a null has none. */
static int convert_ids_to_values(struct keep_state *s, struct glint_task *task,
                                 struct bloom_rows *rows)
{
    const uint32_t count = rows->rows;
    uint64_t used = 0, size;
    int e = reserve_values(s, task, count, ID_VALUE_MAX, &s->values);
    if (e != 0) return e;
    rows->rows = 0;
    for (uint32_t i = 0; i < count; i++) {
        const struct glint_slice id = {rows->base + s->start[i], s->end[i] - s->start[i]};
        size = 0;
        const char *wrong = s->null[i] ? NULL
                                       : id_value_parse((uint32_t)s->id_type, (uint32_t)s->id_width,
                                                        id, s->values.bytes + used, &size);
        e = wrong != NULL ? columns_bad_value(&s->reader, task, id, 0, id, wrong) : 0;
        if (e < 0) return e;
        if (wrong != NULL) continue;
        const uint32_t kept = rows->rows++;
        s->null[kept] = s->null[i];
        s->row[kept] = s->row[i];
        s->start[kept] = (uint32_t)used;
        s->end[kept] = (uint32_t)(used += size);
        assert(used <= s->values.size && kept <= i);
    }
    rows->base = s->values.bytes;
    return 0;
}

/* hit[i]: the chosen filter, or any one, may contain row i. */
static void look_up_ids_of_rows(struct keep_state *s, const struct bloom_rows *rows)
{
    if (s->chosen != ANY_FILTER) {
        bloom_set_contains_rows(&s->set, rows, s->hit);
        return;
    }
    bloom_set_contains_all(&s->set, rows, s->hit, FIELDS_ROWS_MAX);
    for (uint32_t f = 1; f < s->set.count; f++)
        for (uint32_t i = 0; i < rows->rows; i++) s->hit[i] |= s->hit[f * FIELDS_ROWS_MAX + i];
}

static int select_filtered_rows(struct glint_task *task, void *state, const struct glint_batch *in,
                                uint16_t *out_rows, uint32_t *out_count)
{
    struct keep_state *s = state;
    struct bloom_rows rows;
    uint32_t kept = 0;
    *out_count = 0;
    assert(in->rows <= FIELDS_ROWS_MAX);
    int e = find_id_columns(s, task, &in->value, in->rows, &rows);
    if (e == 0 && columns_may_escape(&s->reader, in)) e = unescape_ids(s, task, &rows);
    if (e == 0 && s->id_type != 0 && rows.rows > 0) e = convert_ids_to_values(s, task, &rows);
    if (e != 0) return e;
    if (rows.rows > 0) look_up_ids_of_rows(s, &rows);
    for (uint32_t i = 0; i < rows.rows; i++) {
        out_rows[kept] = s->row[i];
        kept += (s->hit[i] != 0 && !s->null[i]) != (s->drop != 0);
    }
    *out_count = kept;
    return 0;
}

static const struct glint_function keep = {.name = "filter_rows.keep",
                                           .kind = GLINT_KIND_FILTER,
                                           .in = {GLINT_ANY, GLINT_TEXT},
                                           .out = {GLINT_SAME, GLINT_SAME},
                                           .state_size = sizeof(struct keep_state),
                                           .open = filter_rows_init,
                                           .keep_batch = select_filtered_rows,
                                           .close = filter_rows_fini};

/* ---- The plan */

struct stored {
    struct sizes sizes;
    struct glint_broadcast *broadcast;
    double *rates;  /* of each filter, from its bits */
    int64_t chosen; /* by --filter-key, or ANY_FILTER */
};

static int choose_stored_filter(struct glint *g, const struct glint_job_args *args,
                                const char *path, struct stored *s)
{
    const char *name = glint_job_option(args, "filter-key");
    s->chosen = ANY_FILTER;
    if (name == NULL) return 0;
    const struct glint_slice text = {(const uint8_t *)name, strlen(name)};
    union glint_value key = {.bytes = text};
    if (!s->sizes.text && !glint_parse_i64(text, &key.i64))
        return glint_abort(g, GLINT_E_BAD_VALUE, "use --key-type text if keys are texts",
                           "--filter-key \"%s\" is not an integer", name);
    const uint32_t number = sizes_find_key(&s->sizes, &key);
    s->chosen = number;
    if (number != SIZES_NONE || glint_explaining(g)) return 0;
    return glint_abort(g, GLINT_E_FILTER_MISMATCH, "glint filter info FILTERS lists the keys",
                       "%s: no filter has the key %s", path, name);
}

/* Reads all filters. Returns 0 or the context's code. */
static int read_stored_filters(struct glint *g, const struct glint_job_args *args, struct stored *s)
{
    const char *path = glint_job_option(args, "with");
    const bool text = strcmp(glint_job_option(args, "key-type"), "text") == 0;
    if (path == NULL)
        return glint_abort(g, GLINT_E_USAGE, "filter-rows --with FILTERS INPUT OUTPUT",
                           "--with is missing");
    const struct glint_schema schema = {text ? GLINT_TEXT : GLINT_I64, GLINT_MSGPACK};
    struct glint_rdd *filters = glint_msgpack_file_by_name(g, path, schema);
    int r = sizes_from_filters(filters, text, path, &s->sizes);
    if (r == 0) r = choose_stored_filter(g, args, path, s);
    if (r != 0) return r;
    s->rates = glint_alloc(g, s->sizes.count * sizeof *s->rates);
    if (s->rates != NULL)
        s->broadcast = filters_broadcast(filters, &s->sizes, path, NULL, s->rates);
    return glint_error(g)->code;
}

/* The share of other ids that are treated as if they were in a filter. */
static void note_false_positive_rate(struct glint *g, const struct stored *s)
{
    double none = 1;
    for (uint32_t i = 0; i < s->sizes.count; i++)
        if (s->chosen == ANY_FILTER || s->chosen == i) none *= 1 - s->rates[i];
    glint_note(g, "false positive rate of the %s: %.3g",
               s->chosen == ANY_FILTER && s->sizes.count > 1 ? "filters together" : "filter",
               1 - none);
}

static int filter_rows_run(struct glint *g, const struct glint_job_args *args)
{
    struct stored stored = {.chosen = ANY_FILTER};
    struct table table;
    struct columns columns = {.count = 0};
    struct fields ids = fields_of_lines();
    int r = table_open(g, args, args->positional[0], &table);
    if (r == 0) table_saves_rows(&table);
    if (r == 0) r = columns_read_option(&table, args, "id-column", "", &columns);
    if (r == 0 && columns.count != 1)
        r = glint_abort(g, GLINT_E_BAD_VALUE, NULL, "--id-column: more than one column");
    if (r == 0) r = read_stored_filters(g, args, &stored);
    if (r == 0)
        r = sizes_use_id_type(g, args, glint_job_option(args, "with"), &stored.sizes.params[0],
                              &ids);
    if (r == 0) {
        ids.csv = columns_is_part(columns.number[0]) ? 0 : table.csv;
        ids.id_column = columns.number[0];
        sizes_warn_of_text_ids(g, args, table.paths, &ids);
        struct glint_args *keep_args = glint_args(g);
        columns_args(keep_args, &table, &columns);
        glint_args_add_i64(keep_args, "chosen", stored.chosen);
        glint_args_add_i64(keep_args, "id_type", ids.id_type);
        glint_args_add_i64(keep_args, "id_width", ids.id_width);
        glint_args_add_i64(keep_args, "drop", glint_job_option(args, "drop") != NULL);
        glint_args_add_broadcast(keep_args, "filters", stored.broadcast);
        struct glint_rdd *kept = glint_filter(table_rows(&table), &keep, keep_args);
        r = row_output_save(kept, table.lines, args, args->positional[1]);
    }
    if (r == 0 && !glint_explaining(g)) note_false_positive_rate(g, &stored);
    glint_free(stored.rates);
    sizes_fini(&stored.sizes);
    return glint_error(g)->code;
}

static const struct glint_job_option options[] = {
    {"with", "FILTERS", NULL, "directory or file of filters that bloom-build or union saved"},
    {"drop", NULL, NULL, "save the lines whose id is in no filter, instead of the others"},
    {"id-column", "COL", "1", "column of the id: number or, with --header, name"},
    {"filter-key", "KEY", NULL, "look up only in the filter of this key (in all of them)"},
    {"key-type", "int|text", "int", "type of the filters' keys"},
    SIZES_FILTERS_ID_TYPE_OPTION,
    TABLE_OPTIONS,
    OUTPUT_FORMAT_OPTIONS,
    {NULL, NULL, NULL, NULL}};

const struct glint_job filter_rows_job = {
    .name = "filter-rows",
    .summary = "save the lines whose id may be in a stored filter",
    .help =
        "The lines stay in the order of INPUT. A filter has false positives, at a rate that is "
        "printed: with --drop such lines are missing, without it they are too many. The filters "
        "must fit in the memory of a process; those in segments are not supported.",
    .positional = {"INPUT", "OUTPUT"},
    .outputs = {"OUTPUT"},
    .options = options,
    .functions = {&keep, &sizes_filter_head},
    .run = filter_rows_run};
