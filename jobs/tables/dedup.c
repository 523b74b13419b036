/* dedup: the first line of each key.
 *
 *     line -> (key, line) -> reduceByKey(first) -> line      exact
 *     lines of all splits, one after the other -> a Bloom filter -> lines that it has not seen
 *
 * The filter needs no shuffle and keeps the order of the input; but it is one filter, so one task
 * reads everything, and a false positive drops a line that is no duplicate. */
#include "jobs/bloom/bloom.h"
#include "jobs/filters/sizes.h"
#include "jobs/rows/columns.h"
#include "jobs/rows/row_output.h"

#include <assert.h>
#include <string.h>

enum {
    ROOM_SHARE = 2,       /* fraction of a slot's memory for the filter */
    ESTIMATE_ROWS = 1024, /* the filter's rate is computed again after this many kept rows */
};

#define ROWS_SEEN    "rows looked up"
#define ROWS_DROPPED "rows dropped"
#define ROWS_MISSING "rows probably missing"

/* ---- dedup.key */

struct key_state {
    struct columns_reader reader;
    struct columns_joined joined;
};

static int dedup_key_init(struct glint_task *task, void *state)
{
    return columns_open(task, &((struct key_state *)state)->reader);
}

/* Returns 1, 0 if the row was bad and skipped, or a code. */
static int find_dedup_key(struct key_state *s, struct glint_task *task, struct glint_slice row,
                          struct glint_slice *out)
{
    struct glint_slice fields[COLUMNS_MAX];
    int e = columns_find(&s->reader, task, row, fields);
    if (e <= 0) return e;
    e = columns_join(&s->reader, task, fields, s->reader.columns.count, &s->joined, out);
    return e == 0 ? 1 : e;
}

static int emit_dedup_key(struct glint_task *task, void *state, const struct glint_record *in,
                          struct glint_emitter *out)
{
    struct glint_record record = {.value = in->value};
    int e = find_dedup_key(state, task, in->value.bytes, &record.key.bytes);
    if (e > 0) glint_emit(out, &record);
    return e < 0 ? e : 0;
}

static const struct glint_function key = {.name = "dedup.key",
                                          .kind = GLINT_KIND_MAP,
                                          .in = GLINT_ELEMENTS(GLINT_TEXT),
                                          .out = GLINT_PAIRS(GLINT_TEXT, GLINT_TEXT),
                                          .state_size = sizeof(struct key_state),
                                          .open = dedup_key_init,
                                          .each = emit_dedup_key};

/* ---- dedup.unseen */

struct unseen_state {
    struct key_state key;
    struct bloom_params params;
    uint8_t *bits;
    uint64_t bits_set, rows_dropped;
    uint32_t recent; /* rows that were kept since `missing` was computed */
    double missing;  /* expected number of rows that were dropped although their key was new */
    int seen, dropped, probably_missing; /* counters */
};

static int unseen_keys_init(struct glint_task *task, void *state)
{
    struct unseen_state *s = state;
    int64_t n, m, k;
    int e = dedup_key_init(task, &s->key);
    if (e == 0) e = glint_arg_i64(task, "n", &n);
    if (e == 0) e = glint_arg_i64(task, "m", &m);
    if (e == 0) e = glint_arg_i64(task, "k", &k);
    if (e != 0) return e;
    s->params = (struct bloom_params){
        .scheme = BLOOM_WIDE, .n = (uint64_t)n, .m = (uint64_t)m, .k = (uint32_t)k};
    assert(bloom_params_check(&s->params) == BLOOM_OK);
    s->bits = glint_scratch(task, bloom_bytes(s->params.m));
    if (s->bits == NULL) return GLINT_E_NO_MEMORY;
    memset(s->bits, 0, bloom_bytes(s->params.m));
    s->seen = glint_counter(task, ROWS_SEEN);
    s->dropped = glint_counter(task, ROWS_DROPPED);
    s->probably_missing = glint_counter(task, ROWS_MISSING);
    return s->seen >= 0 && s->dropped >= 0 && s->probably_missing >= 0 ? 0 : GLINT_E_NO_MEMORY;
}

/* Sets the bits of an id; returns how many were not set. */
static uint32_t set_dedup_bits(struct unseen_state *s, struct glint_slice id)
{
    uint64_t indexes[BLOOM_K_MAX];
    uint32_t fresh = 0;
    bloom_compute_indexes(&s->params, id.data, id.size, indexes);
    for (uint32_t i = 0; i < s->params.k; i++) {
        uint8_t *const byte = &s->bits[indexes[i] / 8];
        const uint8_t bit = (uint8_t)(1u << indexes[i] % 8);
        fresh += (*byte & bit) == 0;
        *byte |= bit;
    }
    return fresh;
}

/* Of new keys a share of `rate` is dropped: rate / (1 - rate) for each one that is kept. */
static void estimate_keys_dropped_wrongly(struct unseen_state *s)
{
    const double rate = bloom_rate_from_fill(&s->params, s->bits_set);
    s->missing += s->recent * rate / (1 - rate);
    s->recent = 0;
}

static int emit_if_unseen(struct glint_task *task, void *state, const struct glint_record *in,
                          struct glint_emitter *out)
{
    struct unseen_state *s = state;
    struct glint_slice id;
    int e = find_dedup_key(&s->key, task, in->value.bytes, &id);
    if (e <= 0) return e;
    glint_counter_add(task, s->seen, 1);
    const uint32_t fresh = set_dedup_bits(s, id);
    if (fresh == 0) {
        glint_counter_add(task, s->dropped, 1);
        s->rows_dropped++;
        return 0;
    }
    s->bits_set += fresh;
    if (s->bits_set < s->params.m && ++s->recent == ESTIMATE_ROWS) estimate_keys_dropped_wrongly(s);
    glint_emit(out, in);
    return 0;
}

static int add_unseen_estimate(struct glint_task *task, void *state, struct glint_emitter *out)
{
    struct unseen_state *s = state;
    double missing = (double)s->rows_dropped; /* of a full filter nothing better is known */
    (void)out;
    if (s->bits_set < s->params.m) estimate_keys_dropped_wrongly(s);
    if (s->bits_set < s->params.m && s->missing < missing) missing = s->missing;
    glint_counter_add(task, s->probably_missing, (int64_t)(missing + 0.5));
    return 0;
}

static const struct glint_function unseen = {.name = "dedup.unseen",
                                             .kind = GLINT_KIND_FLAT_MAP,
                                             .in = GLINT_ELEMENTS(GLINT_TEXT),
                                             .out = GLINT_ELEMENTS(GLINT_TEXT),
                                             .state_size = sizeof(struct unseen_state),
                                             .open = unseen_keys_init,
                                             .each = emit_if_unseen,
                                             .end = add_unseen_estimate};

/* ---- The plan */

/* Sizes the filter for --keys different keys, or for the rows of the input. */
static int size_dedup_filter(const struct table *t, const struct glint_job_args *args,
                             struct bloom_params *out)
{
    const double p = glint_job_f64(t->g, args, "bloom");
    int64_t n = 0;
    if (glint_job_option(args, "keys") != NULL)
        n = glint_job_i64(t->g, args, "keys", 1, INT64_MAX);
    else if (glint_error(t->g)->code == GLINT_OK)
        glint_count(table_read_again(t), &n);
    if (n == 0 && glint_explaining(t->g)) n = (int64_t)sizes_estimate_rows(t->lines);
    if (glint_error(t->g)->code != GLINT_OK) return glint_error(t->g)->code;
    enum bloom_result result = bloom_params_for(BLOOM_WIDE, n > 0 ? (uint64_t)n : 1, p, out);
    if (result != BLOOM_OK)
        return glint_abort(t->g, GLINT_E_FILTER_LIMIT, "use a larger P, or no --bloom",
                           "--bloom %s, %lld keys: %s", glint_job_option(args, "bloom"),
                           (long long)n, bloom_strerror(result));
    const uint64_t room = glint_slot_memory(t->g) / ROOM_SHARE;
    if (bloom_bytes(out->m) <= room) return 0;
    return glint_abort(t->g, GLINT_E_MEMORY_LIMIT, "raise --memory or P, or use no --bloom",
                       "the filter of %lld keys has %llu bytes, a slot has memory for %llu",
                       (long long)n, (unsigned long long)bloom_bytes(out->m),
                       (unsigned long long)room);
}

static void note_dropped_new_rows(struct glint *g, const struct bloom_params *params)
{
    glint_note(g,
               "dropped %lld of %lld rows; about %lld of them had a new key, by the filter's false "
               "positive rate (m = %llu, k = %u)",
               (long long)glint_counter_value(g, ROWS_DROPPED),
               (long long)glint_counter_value(g, ROWS_SEEN),
               (long long)glint_counter_value(g, ROWS_MISSING), (unsigned long long)params->m,
               params->k);
}

static int run_bloom_dedup(const struct table *t, const struct glint_job_args *args,
                           struct glint_args *key_args)
{
    struct bloom_params params;
    if (size_dedup_filter(t, args, &params) != 0) return glint_error(t->g)->code;
    glint_args_add_i64(key_args, "n", (int64_t)params.n);
    glint_args_add_i64(key_args, "m", (int64_t)params.m);
    glint_args_add_i64(key_args, "k", params.k);
    struct glint_rdd *lines = glint_coalesce(table_rows(t), 1);
    int r = row_output_save(glint_map_partitions(lines, &unseen, key_args), t->lines, args,
                            args->positional[1]);
    if (r == 0 && !glint_explaining(t->g)) note_dropped_new_rows(t->g, &params);
    return glint_error(t->g)->code;
}

static int dedup_run(struct glint *g, const struct glint_job_args *args)
{
    struct table table;
    struct columns columns = {.count = 0};
    const bool typed = glint_job_option(args, "by") != NULL; /* else whole lines */
    if (table_open_typed(g, args, args->positional[0], typed, &table) != 0)
        return glint_error(g)->code;
    table_saves_rows(&table);
    if (columns_read_option(&table, args, "by", "", &columns) != 0) return glint_error(g)->code;
    const bool lines = columns.count == 0;
    if (lines) {
        columns_add_whole_line(&columns);
        glint_key_columns(table.lines, NULL, 0);
    }
    table_key_columns(&table, &columns, 0, lines ? 0 : columns.count);
    struct glint_args *key_args = glint_args(g);
    columns_args(key_args, &table, &columns);
    if (glint_job_option(args, "bloom") != NULL) return run_bloom_dedup(&table, args, key_args);
    struct glint_rdd *keyed = glint_map(table_rows(&table), &key, key_args);
    struct glint_rdd *kept = lines ? glint_distinct(table_rows(&table))
                                   : glint_values(glint_reduce_by_key(keyed, &GLINT_FIRST, NULL));
    return row_output_save(kept, table.lines, args, args->positional[1]);
}

static const struct glint_job_option options[] = {
    {"by", "COLS", NULL,
     "columns that make the key: numbers or, with --header, names, separated by commas (the whole "
     "line)"},
    {"bloom", "P", NULL,
     "remember keys in a Bloom filter, which wrongly drops a line with probability P at most"},
    {"keys", "N", NULL, "--bloom: the expected number of different keys (the rows of INPUT)"},
    TABLE_OPTIONS,
    OUTPUT_FORMAT_OPTIONS,
    {NULL, NULL, NULL, NULL}};

const struct glint_job dedup_job = {
    .name = "dedup",
    .summary = "save the first line of each key",
    .help = "The lines of OUTPUT are sorted by key within each part. With --bloom they stay in the "
            "order of INPUT, nothing is shuffled, and one task reads everything with bounded "
            "memory; how many lines are probably missing is printed. Without --keys, INPUT is read "
            "once more to count its rows.",
    .positional = {"INPUT", "OUTPUT"},
    .outputs = {"OUTPUT"},
    .options = options,
    .functions = {&key, &unseen},
    .run = dedup_run};
