/* hadoop-pipeline: builds and tests filters like the papers' Hadoop programs.
 *
 *     TRAIN, with --lines per split -> rows of each key -> sizes
 *     TRAIN -> row -> (key, its k positions) -> grouped, 4 partitions -> filter -.
 *     TEST  -> row -> (key, its k positions) ------------- cogroup, 4 partitions -+
 *                                                   -> KEY TAB (hits, rows, rate)
 *
 * Positions have a fixed width and are not combined: the shuffle moves what the Hadoop program
 * moves. With --emit filters each split fills a filter per key instead, and these are combined by
 * OR.
 *
 * Only sizes are broadcast: a filter is shuffled to the reduce task of its key, where rows are
 * streamed past it. It is the first of its group, as with Hadoop's secondary sort: a shuffle keeps
 * the order of the map partitions, and those of the filters come first. */
#include "engine/batch.h"
#include "jobs/filters/bloom_functions.h"
#include "jobs/filters/bloom_pipeline.h"
#include "jobs/filters/sizes_from.h"
#include "jobs/rows/row_counts.h"

#include <assert.h>
#include <string.h>

enum { REDUCERS_MAX = 10000 };

/* ---- hadoop.rating_hashes, hadoop.text_hashes: a row's key and its bit indexes */

struct hashes_state {
    struct bloom_input input;
    struct bloom_set set; /* the parameters; its bits are not used */
    uint32_t *indexes;    /* [FIELDS_ROWS_MAX * k] */
    int no_filter;        /* counter */
    uint32_t start[FIELDS_ROWS_MAX], end[FIELDS_ROWS_MAX];
};

static int hadoop_hashes_init(struct glint_task *task, void *state)
{
    struct hashes_state *s = state;
    int r = bloom_input_open(task, &s->input);
    if (r != 0) return r;
    enum bloom_result result =
        bloom_set_borrow(&s->set, s->input.sizes.params, s->input.sizes.count, NULL);
    if (result != BLOOM_OK)
        return glint_fail(task, GLINT_E_FILTER_LIMIT, NULL, "%s", bloom_strerror(result));
    assert(!s->set.wide);
    s->no_filter = glint_counter(task, BLOOM_NO_FILTER);
    s->indexes = glint_scratch(task, sizeof *s->indexes * FIELDS_ROWS_MAX * s->set.k);
    return s->indexes != NULL && s->no_filter >= 0 ? 0 : GLINT_E_NO_MEMORY;
}

static int emit_hadoop_hashes(struct glint_task *task, void *state, const struct glint_batch *in,
                              struct glint_emitter *out)
{
    struct hashes_state *s = state;
    struct bloom_rows rows;
    int r = bloom_input_parse_known_rows(&s->input, task, in, s->no_filter, &rows);
    if (r != 0) return r;
    const uint32_t bytes = s->set.k * (uint32_t)sizeof *s->indexes;
    bloom_hash_rows_to_indexes(&s->set, &rows, s->indexes);
    for (uint32_t row = 0; row < rows.rows; row++) {
        s->start[row] = row * bytes;
        s->end[row] = s->start[row] + bytes;
    }
    struct glint_batch batch = {.rows = rows.rows,
                                .key = fields_key_column(&s->input.fields),
                                .value = {.type = GLINT_BYTES,
                                          .base = (const uint8_t *)s->indexes,
                                          .size = (uint64_t)rows.rows * bytes,
                                          .start = s->start,
                                          .end = s->end},
                                .origin = in->origin};
    glint_emit_batch(out, &batch);
    return 0;
}

static void hadoop_hashes_fini(struct glint_task *task, void *state)
{
    (void)task;
    bloom_set_fini(&((struct hashes_state *)state)->set);
}

#define HASHES_FUNCTION(name_, key_)                                                               \
    {                                                                                              \
        .name = name_, .kind = GLINT_KIND_FLAT_MAP, .in = {GLINT_ANY, GLINT_TEXT},                 \
        .out = {key_, GLINT_BYTES}, .state_size = sizeof(struct hashes_state),                     \
        .open = hadoop_hashes_init, .batch = emit_hadoop_hashes, .close = hadoop_hashes_fini       \
    }

static const struct glint_function rating_hashes =
    HASHES_FUNCTION("hadoop.rating_hashes", GLINT_I64);
static const struct glint_function text_hashes = HASHES_FUNCTION("hadoop.text_hashes", GLINT_TEXT);

/* ---- hadoop.verify: reads a group's filter, then its rows */

struct verify_state {
    struct bloom_filter filter; /* of the current group; m = 0: not received yet */
    uint8_t *bits;              /* a copy of its bits */
    uint64_t capacity;
    struct bloom_tally tally;
};

static int verify_begin_key(struct glint_task *task, void *state, const union glint_value *key)
{
    (void)task;
    (void)key;
    struct verify_state *s = state;
    memset(&s->filter, 0, sizeof s->filter);
    memset(&s->tally, 0, sizeof s->tally);
    return 0;
}

/* Copies the filter's bits, because the batch that contains them is reused. */
static int copy_filter_to_verify(struct verify_state *s, struct glint_task *task,
                                 struct glint_slice value)
{
    struct bloom_filter view;
    enum bloom_result result = bloom_decode(value.data, value.size, &view);
    if (result != BLOOM_OK || s->filter.params.m != 0)
        return glint_fail(task, GLINT_E_SHUFFLE_CORRUPT, NULL, "the filter of a group: %s",
                          result != BLOOM_OK ? bloom_strerror(result) : "duplicate");
    const uint64_t bytes = bloom_bytes(view.params.m);
    if (bytes > s->capacity) {
        s->bits = glint_scratch(task, bytes);
        s->capacity = s->bits != NULL ? bytes : 0;
    }
    if (s->bits == NULL) return GLINT_E_NO_MEMORY;
    memcpy(s->bits, view.bits, bytes);
    s->filter = (struct bloom_filter){.params = view.params, .bits = s->bits};
    return 0;
}

static int verify_row(struct verify_state *s, struct glint_task *task, struct glint_slice indexes)
{
    const struct bloom_params *p = &s->filter.params;
    if (p->m == 0 || indexes.size != p->k * sizeof(uint32_t))
        return glint_fail(task, GLINT_E_SHUFFLE_CORRUPT, NULL, "%s",
                          p->m == 0 ? "the rows of a group precede their filter"
                                    : "a hashed row has an invalid size");
    bool hit = true;
    for (uint32_t i = 0; hit && i < p->k; i++) {
        uint32_t index;
        memcpy(&index, indexes.data + i * sizeof index, sizeof index);
        if (index >= p->m)
            return glint_fail(task, GLINT_E_SHUFFLE_CORRUPT, NULL,
                              "an index is out of range of its filter");
        hit = s->filter.bits[index / 8] >> index % 8 & 1;
    }
    s->tally.hits += hit;
    s->tally.rows++;
    return 0;
}

static int verify_filter_or_row(struct glint_task *task, void *state, const struct glint_record *in,
                                struct glint_emitter *out)
{
    (void)out;
    const struct glint_pair pair = glint_pair(&in->value);
    const bool filter = pair.left.type == GLINT_I64 && pair.left.value.i64 == 0;
    if (pair.left.type != GLINT_I64 || pair.right.type != (filter ? GLINT_MSGPACK : GLINT_BYTES))
        return glint_fail(task, GLINT_E_SHUFFLE_CORRUPT, NULL, "invalid record of a cogroup");
    if (filter) return copy_filter_to_verify(state, task, pair.right.value.bytes);
    return verify_row(state, task, pair.right.value.bytes);
}

/* A key without look-ups has no line, as in bloom-test. */
static int verify_emit_result(struct glint_task *task, void *state, const union glint_value *key,
                              struct glint_emitter *out)
{
    (void)task;
    struct verify_state *s = state;
    assert(s->tally.hits <= s->tally.rows);
    if (s->tally.rows == 0) return 0;
    struct glint_record record = {.key = *key,
                                  .value.bytes = {(const uint8_t *)&s->tally, sizeof s->tally}};
    glint_emit(out, &record);
    return 0;
}

static const struct glint_function verify = {.name = "hadoop.verify",
                                             .kind = GLINT_KIND_GROUP,
                                             .in = {GLINT_ANY, GLINT_MSGPACK},
                                             .out = {GLINT_SAME, GLINT_BYTES},
                                             .state_size = sizeof(struct verify_state),
                                             .begin_group = verify_begin_key,
                                             .each = verify_filter_or_row,
                                             .end_group = verify_emit_result};

/* ---- The plan */

struct hadoop_plan {
    struct glint *g;
    struct fields fields;
    struct sizes sizes;
    struct bloom_sizing sizing;
    int64_t lines;     /* per split */
    uint32_t reducers; /* partitions after each shuffle */
    bool text;
    bool partials; /* mappers emit filters instead of positions */
};

static struct glint_rdd *read_pipeline_input(const struct hadoop_plan *o, const char *path)
{
    return fields_n_line_text_file(o->g, path, (uint64_t)o->lines, &o->fields);
}

/* A reduce task has one filter in memory, and a copy as the value that is shuffled to the tester.
 */
static int check_pipeline_memory(const struct hadoop_plan *o)
{
    if (o->partials) return bloom_check_memory(o->g, &o->sizes);
    const uint64_t need = 2 * bloom_largest_bytes(&o->sizes), have = glint_slot_memory(o->g);
    if (need <= have) return 0;
    return glint_abort(o->g, GLINT_E_MEMORY_LIMIT, "raise --memory",
                       "the largest filter needs %llu bytes per slot, --memory gives %llu",
                       (unsigned long long)need, (unsigned long long)have);
}

static int count_training_rows(struct hadoop_plan *o, const char *train)
{
    struct glint_args *columns = glint_args(o->g);
    fields_args(columns, &o->fields);
    const struct glint_function *one = o->text ? &count_text : &count_number;
    struct glint_rdd *ones = glint_map(read_pipeline_input(o, train), one, columns);
    struct glint_rdd *counts = glint_reduce_by_key(ones, &GLINT_SUM_I64, NULL);
    int r = sizes_from_counts(glint_with_partitions(counts, o->reducers), o->text, &o->sizes);
    if (r == 0) r = sizes_compute_params(o->g, &o->sizes, &o->sizing);
    return r == 0 ? check_pipeline_memory(o) : r;
}

static struct glint_rdd *hadoop_filters_rdd(const struct hadoop_plan *o, const char *train,
                                            struct glint_args *args)
{
    struct glint_rdd *lines = read_pipeline_input(o, train);
    if (o->partials) {
        glint_args_add_i64(args, "strict", false);
        glint_args_add_i64(args, "remove", false);
        const struct glint_function *fill = o->text ? &bloom_text_partials : &bloom_rating_partials;
        struct glint_rdd *partials = glint_map_partitions(lines, fill, args);
        struct glint_rdd *merged = glint_reduce_by_key(partials, &bloom_or, NULL);
        return glint_map_values(glint_with_partitions(merged, o->reducers), &bloom_seal, args);
    }
    const struct glint_function *index = o->text ? &bloom_text_indexes : &bloom_rating_indexes;
    struct glint_rdd *lists = glint_group_by_key(glint_map(lines, index, args));
    return glint_map_values(glint_with_partitions(lists, o->reducers), &bloom_fill, args);
}

static uint64_t map_output_bytes(const struct hadoop_plan *o)
{
    return (uint64_t)glint_counter_value(o->g, "map output bytes");
}

static int run_pipeline(struct hadoop_plan *o, const char *const *paths, const char *filters_path)
{
    int r = count_training_rows(o, paths[0]);
    if (r != 0) return r;
    struct glint_args *args = glint_args(o->g);
    fields_args(args, &o->fields);
    glint_args_add_i64(args, "method", BLOOM_LISTS_FIXED);
    glint_args_add_broadcast(args, "sizes", sizes_broadcast(o->g, &o->sizes));
    struct glint_rdd *filters = hadoop_filters_rdd(o, paths[0], args);
    if (filters_path != NULL) glint_save_as_msgpack_file(filters, filters_path);
    const struct glint_function *hash = o->text ? &text_hashes : &rating_hashes;
    struct glint_rdd *rows = glint_flat_map(read_pipeline_input(o, paths[1]), hash, args);
    struct glint_rdd *groups = glint_with_partitions(glint_cogroup(filters, rows), o->reducers);
    struct glint_rdd *tallies = glint_map_values(groups, &verify, NULL);
    const struct glint_function *report = &bloom_report_functions[o->text][true];
    const uint64_t before = map_output_bytes(o);
    r = glint_save_as_text_file(glint_map(tallies, report, NULL), paths[2]);
    if (r == 0 && !glint_explaining(o->g))
        glint_note(o->g, "%llu bytes shuffled for building and testing, none broadcast",
                   (unsigned long long)(map_output_bytes(o) - before));
    return r;
}

static int hadoop_pipeline_run(struct glint *g, const struct glint_job_args *args)
{
    struct hadoop_plan o = {.g = g};
    o.lines = glint_job_i64(g, args, "lines", 1, INT64_MAX);
    o.reducers = (uint32_t)glint_job_i64(g, args, "reducers", 1, REDUCERS_MAX);
    const double p = glint_job_f64(g, args, "p");
    o.partials = strcmp(glint_job_option(args, "emit"), "filters") == 0;
    if (fields_read_options(g, args, args->positional[0], &o.fields) != 0)
        return glint_error(g)->code;
    o.text = fields_key_type(&o.fields) == GLINT_TEXT;
    enum bloom_result result = bloom_sizing_for_rate(BLOOM_HADOOP, BLOOM_CLASSIC, p, &o.sizing);
    if (result == BLOOM_OK)
        run_pipeline(&o, args->positional, glint_job_option(args, "filters"));
    else
        sizes_set_error(g, result, "--p");
    sizes_fini(&o.sizes);
    return glint_error(g)->code;
}

static const struct glint_job_option options[] = {
    FIELDS_OPTIONS,
    {"p", "P", "0.01", "false positive probability of each filter"},
    {"lines", "N", "15000", "lines of a split"},
    {"reducers", "N", "4", "partitions after each shuffle"},
    {"emit", "positions|filters", "positions",
     "what the mappers of the build emit: the k positions of each row, or a filter per key, to be "
     "ORed"},
    {"filters", "DIR", NULL, "directory for the filters"},
    {NULL, NULL, NULL, NULL}};

const struct glint_job hadoop_pipeline_job = {
    .name = "hadoop-pipeline",
    .summary = "build and test filters like the Hadoop programs",
    .help =
        "Builds a filter per key from TRAIN by scheme hadoop, and looks up each row of TEST, "
        "whose ids are not in TRAIN, in the filter of its key. No filter is broadcast: a reduce "
        "task reads the filter of a key, then its hashed rows. Saves a line per key: KEY TAB "
        "(FALSE POSITIVES, ROWS, RATE).",
    .positional = {"TRAIN", "TEST", "OUTPUT"},
    .outputs = {"OUTPUT", "filters"},
    .options = options,
    .functions = {&rating_hashes, &text_hashes, &verify},
    .run = hadoop_pipeline_run};
