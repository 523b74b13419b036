/* join by broadcast: every process has the build side as a table, the probe side is streamed past
 * it, and nothing is shuffled.
 *
 *     probe rows -> look-up ->  lines of the output
 *     build rows -> those without a match (outer joins), or with one (semi) -> lines
 *
 * The second branch is needed if unmatched rows of the build side are in the output, or if the
 * output consists of rows of the build side. A pass over the probe side comes first: each task
 * marks the matched keys in a bitmap, and the bitmaps are combined by OR. */
#include "engine/batch.h"
#include "jobs/filters/bloom_functions.h"
#include "jobs/join/join.h"
#include "jobs/join/join_table.h"
#include "jobs/rows/task_results.h"

#include <assert.h>
#include <string.h>

enum { TABLE_SHARE = 2 }; /* fraction of a slot's memory for the table */

struct probe_state {
    struct join_rows rows;
    struct join_table table;
    uint32_t hash[FIELDS_ROWS_MAX], found[FIELDS_ROWS_MAX]; /* found: row of the table + 1 */
    uint8_t matched[FIELDS_ROWS_MAX];
    uint8_t *bitmap;         /* join.matched: for each row that begins a key */
    struct glint_slice seen; /* join.build_rows: bitmaps of all tasks; bytes past the end are 0 */
};

static uint64_t bitmap_bytes(const struct join_table *t)
{
    return ((uint64_t)t->count + 7) / 8;
}

static int broadcast_probe_init(struct glint_task *task, void *state)
{
    struct probe_state *s = state;
    struct glint_slice block;
    int e = join_rows_open(task, &s->rows);
    if (e == 0) e = glint_arg_broadcast(task, "table", &block);
    return e == 0 ? join_table_open(task, block, &s->table) : e;
}

static void look_up_keys_in_table(struct probe_state *s, const struct glint_column *keys,
                                  uint32_t rows)
{
    for (uint32_t row = 0; row < rows; row++) {
        s->hash[row] = join_table_hash(glint_column_slice(keys, row));
        join_table_prefetch(&s->table, s->hash[row]);
    }
    for (uint32_t row = 0; row < rows; row++) {
        s->found[row] = join_table_find(&s->table, glint_column_slice(keys, row), s->hash[row]);
        s->matched[row] = s->found[row] != 0;
        assert(s->found[row] <= s->table.count);
    }
}

/* Parses the lines and looks up all keys. */
static int parse_and_probe_rows(struct probe_state *s, struct glint_task *task,
                                const struct glint_batch *in)
{
    int e = join_rows_parse(&s->rows, task, in);
    if (e != 0) return e;
    const struct glint_column keys = join_rows_keys(&s->rows);
    look_up_keys_in_table(s, &keys, s->rows.rows);
    return 0;
}

/* ---- join.probe */

static int keep_matched_rows(struct glint_task *task, void *state,
                             const struct glint_column *values, uint32_t rows, uint8_t *keep)
{
    struct probe_state *s = state;
    (void)task;
    assert(rows <= FIELDS_ROWS_MAX);
    look_up_keys_in_table(s, values, rows);
    memcpy(keep, s->matched, rows);
    join_keep_special_keys(&s->rows, values, rows, keep);
    return 0;
}

/* Of files of columns, rows that would only be dropped are not made, if their keys are values of
 * one column. */
static int probe_init(struct glint_task *task, void *state)
{
    struct probe_state *s = state;
    const int e = broadcast_probe_init(task, s);
    const struct join_rows *r = &s->rows;
    if (e == 0 && r->key_columns == 1 && !r->values && !join_keeps_unmatched(r->type, r->side))
        glint_skip_rows(task, join_key_column(r), keep_matched_rows);
    return e;
}

/* Joins each row with all table rows of its key, or emits it alone if it is unmatched and the join
 * type includes it. */
static int emit_joined_pairs(struct probe_state *s, struct glint_task *task,
                             struct glint_emitter *out)
{
    static const struct glint_slice none = {NULL, 0};
    struct join_rows *r = &s->rows;
    const bool unmatched = join_keeps_unmatched(r->type, r->side);
    int e = 0;
    for (uint32_t row = 0; e == 0 && row < r->rows; row++) {
        const struct glint_slice own = join_rows_line(r, row);
        if (s->found[row] == 0 && unmatched) e = join_rows_emit(r, task, own, none, out);
        for (uint32_t at = s->found[row]; e == 0 && at != 0; at = s->table.rows[at - 1].next)
            e = join_rows_emit(r, task, own, join_table_line(&s->table, at - 1), out);
    }
    return e;
}

static int emit_probed_rows(struct glint_task *task, void *state, const struct glint_batch *in,
                            struct glint_emitter *out)
{
    struct probe_state *s = state;
    int e = parse_and_probe_rows(s, task, in);
    if (e != 0) return e;
    if (join_has_pairs(s->rows.type)) return emit_joined_pairs(s, task, out);
    join_rows_select(&s->rows, s->matched, s->rows.type == JOIN_SEMI);
    struct glint_batch batch = {
        .rows = s->rows.rows, .key = {.type = GLINT_NONE}, .value = join_rows_lines(&s->rows)};
    glint_emit_batch(out, &batch);
    return 0;
}

const struct glint_function join_probe = {.name = "join.probe",
                                          .kind = GLINT_KIND_FLAT_MAP,
                                          .in = {GLINT_ANY, GLINT_TEXT},
                                          .out = {GLINT_NONE, GLINT_TEXT},
                                          .state_size = sizeof(struct probe_state),
                                          .open = probe_init,
                                          .batch = emit_probed_rows};

/* ---- join.matched: marks the keys of the table that the probe side has */

static int matched_keys_init(struct glint_task *task, void *state)
{
    struct probe_state *s = state;
    int e = broadcast_probe_init(task, s);
    if (e != 0) return e;
    s->bitmap = glint_scratch(task, bitmap_bytes(&s->table) + 1);
    if (s->bitmap == NULL) return GLINT_E_NO_MEMORY;
    memset(s->bitmap, 0, bitmap_bytes(&s->table));
    return 0;
}

static int mark_matched_keys(struct glint_task *task, void *state, const struct glint_batch *in,
                             struct glint_emitter *out)
{
    (void)out;
    struct probe_state *s = state;
    int e = parse_and_probe_rows(s, task, in);
    for (uint32_t row = 0; e == 0 && row < s->rows.rows; row++) {
        if (!s->matched[row]) continue;
        const uint32_t found = s->found[row] - 1;
        s->bitmap[found / 8] |= (uint8_t)(1 << found % 8);
    }
    return e;
}

static int emit_matched_bitmap(struct glint_task *task, void *state, struct glint_emitter *out)
{
    (void)task;
    struct probe_state *s = state;
    struct glint_record record = {.key.i64 = 0,
                                  .value.bytes = {s->bitmap, bitmap_bytes(&s->table)}};
    glint_emit(out, &record);
    return 0;
}

const struct glint_function join_matched = {.name = "join.matched",
                                            .kind = GLINT_KIND_FLAT_MAP,
                                            .in = {GLINT_ANY, GLINT_TEXT},
                                            .out = {GLINT_I64, GLINT_BYTES},
                                            .state_size = sizeof(struct probe_state),
                                            .open = matched_keys_init,
                                            .batch = mark_matched_keys,
                                            .end = emit_matched_bitmap};

/* ---- join.build_rows: rows of the build side that are in the output without a row of the other
 * side */

static int unmatched_rows_init(struct glint_task *task, void *state)
{
    struct probe_state *s = state;
    int e = broadcast_probe_init(task, s);
    return e == 0 ? glint_arg_broadcast(task, "matched", &s->seen) : e;
}

static int emit_unmatched_build_rows(struct glint_task *task, void *state,
                                     const struct glint_batch *in, struct glint_emitter *out)
{
    struct probe_state *s = state;
    int e = parse_and_probe_rows(s, task, in);
    if (e != 0) return e;
    for (uint32_t row = 0; row < s->rows.rows; row++) {
        assert(s->matched[row]); /* the table was made from these rows */
        const uint32_t found = s->found[row] - 1;
        s->matched[row] = found / 8 < s->seen.size && s->seen.data[found / 8] >> found % 8 & 1;
    }
    join_rows_select(&s->rows, s->matched, s->rows.type == JOIN_SEMI);
    return join_rows_emit_unmatched(&s->rows, task, out);
}

const struct glint_function join_build_rows = {.name = "join.build_rows",
                                               .kind = GLINT_KIND_FLAT_MAP,
                                               .in = {GLINT_ANY, GLINT_TEXT},
                                               .out = {GLINT_NONE, GLINT_TEXT},
                                               .state_size = sizeof(struct probe_state),
                                               .open = unmatched_rows_init,
                                               .batch = emit_unmatched_build_rows};

/* ---- The plan */

static int collect_build_row(void *arg, const struct glint_record *record)
{
    return join_table_add(arg, record->key.bytes, record->value.bytes);
}

static int collect_build_key(void *arg, const struct glint_record *record)
{
    return join_table_add(arg, record->key.bytes, (struct glint_slice){NULL, 0});
}

static void set_broadcast_too_large_error(const struct join *j, uint64_t limit)
{
    if (j->chosen) return;
    glint_abort(j->g, GLINT_E_MEMORY_LIMIT, "use --method shuffle or bloom, or raise --memory",
                "%s: larger than the limit of %llu bytes for a broadcast side",
                j->tables[j->build].paths, (unsigned long long)limit);
}

/* The rows of the build side, or only its keys if the rows are not needed. */
static struct glint_broadcast *broadcast_build_table(const struct join *j)
{
    const bool lines = join_has_pairs(j->type);
    struct join_table_rows table = {.g = j->g, .limit = glint_slot_memory(j->g) / TABLE_SHARE};
    struct glint_args *args = join_function_args(j, j->build);
    glint_args_add_i64(args, "filtered", 0);
    struct glint_rdd *rows = glint_flat_map(join_side_lines(j, j->build),
                                            lines ? &join_side_rows : &join_side_keys, args);
    struct glint_broadcast *out = NULL;
    int r = glint_collect_each(rows, lines ? collect_build_row : collect_build_key, &table);
    if (r == JOIN_TABLE_FULL) set_broadcast_too_large_error(j, table.limit);
    if (r == 0) out = join_table_broadcast(&table);
    join_table_fini(&table);
    return out;
}

struct bitmap {
    struct glint *g;
    uint8_t *data;
    uint64_t size;
};

static int collect_matched_bitmap(void *arg, const struct glint_record *record)
{
    struct bitmap *b = arg;
    const struct glint_slice bytes = record->value.bytes;
    if (b->data != NULL) return task_result_fail(b->g, "a second bitmap"); /* one key */
    b->data = glint_alloc(b->g, bytes.size + 1);
    if (b->data == NULL) return glint_error(b->g)->code;
    memcpy(b->data, bytes.data, bytes.size);
    b->size = bytes.size;
    return 0;
}

/* The keys of the table that any probe row has. */
static struct glint_broadcast *broadcast_matched_keys(const struct join *j,
                                                      struct glint_broadcast *table)
{
    struct bitmap b = {.g = j->g};
    struct glint_args *args = join_function_args(j, join_probe_side(j));
    glint_args_add_broadcast(args, "table", table);
    struct glint_rdd *matched =
        glint_map_partitions(join_side_lines(j, join_probe_side(j)), &join_matched, args);
    struct glint_rdd *all = glint_with_partitions(glint_reduce_by_key(matched, &bloom_or, NULL), 1);
    int r = glint_collect_each(all, collect_matched_bitmap, &b);
    if (r == 0 && b.data == NULL) { /* the probe side is empty: no task, no bitmap */
        b.size = 1;
        b.data = glint_alloc(j->g, b.size);
        if (b.data != NULL) b.data[0] = 0;
    }
    if (r == 0 && b.data != NULL) return glint_broadcast(j->g, b.data, b.size);
    glint_free(b.data);
    return NULL;
}

struct glint_rdd *join_by_broadcast(const struct join *j)
{
    const bool pairs = join_has_pairs(j->type);
    const bool emit_probe_rows = pairs || j->build == JOIN_SIDE_RIGHT;
    const bool emit_build_rows = pairs ? join_keeps_unmatched(j->type, j->build) : !emit_probe_rows;
    struct glint_broadcast *table = broadcast_build_table(j);
    struct glint_rdd *from_probe = NULL, *from_build = NULL;
    if (table == NULL) return NULL;
    if (emit_probe_rows) {
        struct glint_args *args = join_function_args(j, join_probe_side(j));
        glint_args_add_broadcast(args, "table", table);
        from_probe = glint_flat_map(join_side_lines(j, join_probe_side(j)), &join_probe, args);
        if (!emit_build_rows || from_probe == NULL) return from_probe;
    }
    struct glint_broadcast *matched = broadcast_matched_keys(j, table);
    if (matched == NULL) return NULL;
    struct glint_args *args = join_function_args(j, j->build);
    glint_args_add_broadcast(args, "table", table);
    glint_args_add_broadcast(args, "matched", matched);
    from_build = glint_flat_map(join_side_lines(j, j->build), &join_build_rows, args);
    return emit_probe_rows ? glint_union(from_probe, from_build) : from_build;
}
