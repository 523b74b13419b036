/* top: the N lines with the largest numbers, or texts, in a column.
 *
 *     lines of a partition -> its N best as (key, line) -> sortByKey into 1 partition -> the first
 * N
 *
 * The key's bytes begin with the best ones. A task keeps N lines in memory, in a heap with the
 * worst one at the top, so that most lines are rejected by one comparison. Of lines with equal keys
 * the first ones of the input win.
 *
 *     line -> (group and key, line) -> sorted, by group -> the first N of each group      --per
 *
 * There all lines are shuffled: neither the groups nor their lines need to fit in memory. */
#include "engine/base/text.h"
#include "jobs/rows/row_output.h"
#include "jobs/tables/group_partition.h"
#include "jobs/tables/sort_key.h"
#include "jobs/tables/text_column.h"

#include <assert.h>
#include <string.h>

#define TOP_ROWS_MAX INT64_C(100000000)
enum { MIB = 1 << 20, ROOM_SHARE = 2 }; /* fraction of a slot's memory for the lines */

/* ---- top.best */

struct entry {
    uint8_t *bytes; /* the key, then the line */
    uint64_t key_size, line_size, capacity;
    uint64_t index; /* of the line in the partition */
};

struct best_state {
    struct sort_keys keys;
    int64_t rows_max, room_max;
    struct entry *heap; /* each entry is at least as good as the one at (i - 1) / 2 */
    uint64_t count, capacity, index, room;
};

static int top_rows_init(struct glint_task *task, void *state)
{
    struct best_state *s = state;
    int e = sort_keys_open(task, &s->keys);
    if (e == 0) e = glint_arg_i64(task, "rows", &s->rows_max);
    if (e == 0) e = glint_arg_i64(task, "room", &s->room_max);
    assert(e != 0 || s->rows_max > 0);
    return e;
}

static int compare_keys(struct glint_slice a, struct glint_slice b)
{
    const uint64_t size = a.size < b.size ? a.size : b.size;
    const int r = size > 0 ? memcmp(a.data, b.data, size) : 0;
    return r != 0 ? r : (a.size > b.size) - (a.size < b.size);
}

static struct glint_slice top_entry_key(const struct entry *e)
{
    return (struct glint_slice){e->bytes, e->key_size};
}

static bool is_worse_entry(const struct entry *a, const struct entry *b)
{
    const int r = compare_keys(top_entry_key(a), top_entry_key(b));
    return r != 0 ? r > 0 : a->index > b->index;
}

static void swap_entries(struct entry *a, struct entry *b)
{
    const struct entry c = *a;
    *a = *b;
    *b = c;
}

static void top_heap_sift_up(struct entry *heap, uint64_t at)
{
    for (; at > 0 && is_worse_entry(&heap[at], &heap[(at - 1) / 2]); at = (at - 1) / 2)
        swap_entries(&heap[at], &heap[(at - 1) / 2]);
}

static void top_heap_sift_down(struct entry *heap, uint64_t count)
{
    for (uint64_t at = 0, child; (child = 2 * at + 1) < count; at = child) {
        if (child + 1 < count && is_worse_entry(&heap[child + 1], &heap[child])) child++;
        if (!is_worse_entry(&heap[child], &heap[at])) return;
        swap_entries(&heap[at], &heap[child]);
    }
}

static uint64_t next_heap_capacity(uint64_t capacity)
{
    return 2 * capacity + 64;
}

/* The bytes that grow_heap allocates in all for so many rows. */
static double heap_bytes_for(uint64_t rows)
{
    double sum = 0;
    for (uint64_t capacity = 0; capacity < rows;) {
        capacity = next_heap_capacity(capacity);
        sum += (double)capacity * sizeof(struct entry);
    }
    return sum;
}

/* What all rows need, if they are like those that fit. Memory of an entry that doubles for a longer
 * line is not used again, so that two sizes come to 3 times the first. */
static int set_top_memory_error(const struct best_state *s, struct glint_task *task, uint64_t size)
{
    const double heap = heap_bytes_for(s->capacity), rows = (double)s->rows_max;
    const double lines = (double)(s->room + (s->count < s->capacity ? size : 0)) - heap;
    const double each = 3 * lines / (double)(s->count > 0 ? s->count : 1);
    const double need = (heap_bytes_for((uint64_t)s->rows_max) + rows * each) * ROOM_SHARE;
    char hint[128];
    text_format(hint, sizeof hint,
                "raise --memory, so that each slot has about %.0f MiB, or use sort",
                need / MIB + 1);
    return glint_fail(task, GLINT_E_MEMORY_LIMIT, hint,
                      "the best %lld lines of a partition do not fit in %lld bytes",
                      (long long)s->rows_max, (long long)s->room_max);
}

/* Memory of the task, whose sum is limited. Returns 0 or a code. */
static int allocate_limited_task_memory(struct best_state *s, struct glint_task *task,
                                        uint64_t size, void **out)
{
    if (size > (uint64_t)s->room_max - s->room) return set_top_memory_error(s, task, size);
    *out = glint_scratch(task, size);
    s->room += size;
    return *out != NULL ? 0 : GLINT_E_NO_MEMORY;
}

static int copy_row_to_heap_entry(struct best_state *s, struct glint_task *task, struct entry *e,
                                  struct glint_slice key, struct glint_slice line)
{
    const uint64_t need = key.size + line.size;
    if (need > e->capacity) {
        e->capacity = need < e->capacity * 2 ? e->capacity * 2 : need;
        void *bytes = NULL;
        int r = allocate_limited_task_memory(s, task, e->capacity, &bytes);
        if (r != 0) return r;
        e->bytes = bytes;
    }
    if (key.size > 0) memcpy(e->bytes, key.data, key.size);
    if (line.size > 0) memcpy(e->bytes + key.size, line.data, line.size);
    e->key_size = key.size;
    e->line_size = line.size;
    e->index = s->index;
    return 0;
}

static int grow_heap(struct best_state *s, struct glint_task *task)
{
    const uint64_t capacity = next_heap_capacity(s->capacity);
    void *memory = NULL;
    int r = allocate_limited_task_memory(s, task, capacity * sizeof(struct entry), &memory);
    if (r != 0) return r;
    struct entry *heap = memory;
    memset(heap, 0, capacity * sizeof *heap);
    if (s->count > 0) memcpy(heap, s->heap, s->count * sizeof *heap);
    s->heap = heap;
    s->capacity = capacity;
    return 0;
}

static int add_to_best_rows(struct glint_task *task, void *state, const struct glint_record *in,
                            struct glint_emitter *out)
{
    struct best_state *s = state;
    struct glint_slice key;
    bool empty;
    (void)out;
    int e = sort_keys_make(&s->keys, task, in->value.bytes, &key, &empty);
    if (e <= 0 || empty) return e < 0 ? e : 0;
    s->index++;
    if (s->count == (uint64_t)s->rows_max) {
        if (compare_keys(key, top_entry_key(&s->heap[0])) >= 0) return 0;
        e = copy_row_to_heap_entry(s, task, &s->heap[0], key, in->value.bytes);
        if (e == 0) top_heap_sift_down(s->heap, s->count);
        return e;
    }
    e = s->count == s->capacity ? grow_heap(s, task) : 0;
    if (e == 0) e = copy_row_to_heap_entry(s, task, &s->heap[s->count], key, in->value.bytes);
    if (e == 0) top_heap_sift_up(s->heap, s->count++);
    return e;
}

/* Emits the lines from the best to the worst: equal keys stay in the order of the input. */
static int emit_best_rows(struct glint_task *task, void *state, struct glint_emitter *out)
{
    struct best_state *s = state;
    (void)task;
    for (uint64_t left = s->count; left > 1; left--) {
        swap_entries(&s->heap[0], &s->heap[left - 1]);
        top_heap_sift_down(s->heap, left - 1);
    }
    for (uint64_t i = 0; i < s->count; i++) {
        const struct entry *e = &s->heap[i];
        const struct glint_record record = {.key.bytes = top_entry_key(e),
                                            .value.bytes = {e->bytes + e->key_size, e->line_size}};
        glint_emit(out, &record);
    }
    return 0;
}

static const struct glint_function best = {.name = "top.best",
                                           .kind = GLINT_KIND_FLAT_MAP,
                                           .in = GLINT_ELEMENTS(GLINT_TEXT),
                                           .out = GLINT_PAIRS(GLINT_BYTES, GLINT_TEXT),
                                           .state_size = sizeof(struct best_state),
                                           .open = top_rows_init,
                                           .each = add_to_best_rows,
                                           .end = emit_best_rows};

/* ---- top.first */

struct first_state {
    int64_t rows_max, rows;
};

static int first_rows_init(struct glint_task *task, void *state)
{
    return glint_arg_i64(task, "rows", &((struct first_state *)state)->rows_max);
}

static int first_rows_keep(struct glint_task *task, void *state, const struct glint_record *in)
{
    struct first_state *s = state;
    (void)task, (void)in;
    return s->rows++ < s->rows_max;
}

static const struct glint_function first = {.name = "top.first",
                                            .kind = GLINT_KIND_FILTER,
                                            .in = {GLINT_ANY, GLINT_ANY},
                                            .out = {GLINT_SAME, GLINT_SAME},
                                            .state_size = sizeof(struct first_state),
                                            .open = first_rows_init,
                                            .keep = first_rows_keep};

/* ---- --per: top.groupKey, top.groupPartition, top.firstOfGroup */

static int group_key_open(struct glint_task *task, void *state)
{
    struct sort_keys *s = state;
    int64_t per;
    int e = sort_keys_open(task, s);
    if (e == 0) e = glint_arg_i64(task, "per", &per);
    if (e != 0) return e;
    assert(per > 0 && per < s->reader.columns.count);
    s->groups = (uint32_t)per;
    return 0;
}

static int group_key_each(struct glint_task *task, void *state, const struct glint_record *in,
                          struct glint_emitter *out)
{
    struct glint_record record = {.value = in->value};
    bool empty;
    int e = sort_keys_make(state, task, in->value.bytes, &record.key.bytes, &empty);
    if (e > 0 && !empty) glint_emit(out, &record);
    return e < 0 ? e : 0;
}

static const struct glint_function group_key = {.name = "top.groupKey",
                                                .kind = GLINT_KIND_FLAT_MAP,
                                                .in = GLINT_ELEMENTS(GLINT_TEXT),
                                                .out = GLINT_PAIRS(GLINT_BYTES, GLINT_TEXT),
                                                .state_size = sizeof(struct sort_keys),
                                                .open = group_key_open,
                                                .each = group_key_each};

struct group_state {
    int64_t per, rows_max, rows;
    struct glint_buffer group; /* of the previous record */
};

static int group_open(struct glint_task *task, void *state)
{
    struct group_state *s = state;
    int e = glint_arg_i64(task, "per", &s->per);
    return e == 0 ? glint_arg_i64(task, "rows", &s->rows_max) : e;
}

static int64_t partition_of_key(struct glint_task *task, void *state, const union glint_value *key,
                                uint32_t partitions)
{
    const struct group_state *s = state;
    (void)task;
    return group_partition(sort_key_head(key->bytes, (uint32_t)s->per), partitions);
}

static const struct glint_function by_group = {.name = "top.groupPartition",
                                               .kind = GLINT_KIND_PARTITION,
                                               .in = {GLINT_BYTES, GLINT_ANY},
                                               .state_size = sizeof(struct group_state),
                                               .open = group_open,
                                               .partition = partition_of_key};

/* Groups are adjacent, in one partition. */
static int first_of_group_keep(struct glint_task *task, void *state, const struct glint_record *in)
{
    struct group_state *s = state;
    const struct glint_slice group = sort_key_head(in->key.bytes, (uint32_t)s->per);
    if (compare_keys(group, (struct glint_slice){s->group.data, s->group.size}) != 0) {
        s->group.size = 0;
        s->rows = 0;
        int e = glint_append(task, &s->group, group.data, group.size);
        if (e != 0) return e;
    }
    return s->rows++ < s->rows_max;
}

static const struct glint_function first_of_group = {.name = "top.firstOfGroup",
                                                     .kind = GLINT_KIND_FILTER,
                                                     .in = {GLINT_ANY, GLINT_ANY},
                                                     .out = {GLINT_SAME, GLINT_SAME},
                                                     .state_size = sizeof(struct group_state),
                                                     .open = group_open,
                                                     .keep = first_of_group_keep};

/* ---- The plan */

static int run_per_group(const struct table *t, const struct glint_job_args *options,
                         struct glint_args *args, uint32_t per, const char *output)
{
    glint_args_add_i64(args, "per", per);
    struct glint_rdd *keyed = glint_flat_map(table_rows(t), &group_key, args);
    struct glint_rdd *sorted = glint_with_partitioner(
        glint_repartition_and_sort_within_partitions(keyed, 0, true), &by_group, args);
    return row_output_save(glint_values(glint_filter(sorted, &first_of_group, args)), t->lines,
                           options, output);
}

#define BY_LETTERS "nt" /* --by v:n */
enum { BY_NUMERIC = 1, BY_TEXT = 2 };

/* Without a letter the type of a column tells how its values are compared; fields of text are
 * numbers, unless --text is set. */
static void set_by_letters(const struct table *t, const struct glint_job_args *args, uint32_t per,
                           struct columns *c)
{
    const bool all_text = glint_job_option(args, "text") != NULL;
    const bool smallest = glint_job_option(args, "smallest") != NULL;
    for (uint32_t i = per; i < c->count; i++) {
        const enum column_values values = columns_value_kind(t, c->number[i]);
        const bool chosen = c->letters[i] != 0, text = (c->letters[i] & BY_TEXT) != 0;
        const bool typed_text = all_text || values > VALUES_NUMBERS;
        const bool time = values == VALUES_TIMES && !text;
        c->letters[i] = smallest ? 0 : SORT_REVERSE;
        if (time)
            c->letters[i] |= SORT_TIME;
        else if (chosen ? !text : !typed_text)
            c->letters[i] |= SORT_NUMERIC;
        if (!chosen && !all_text) text_column_warn(t, "by", c->number[i], "texts are compared");
    }
}

static int top_run(struct glint *g, const struct glint_job_args *args)
{
    const char *const *paths = args->positional + 1; /* INPUT OUTPUT */
    const char *const number = args->positional[0];
    struct table table;
    struct columns columns = {.count = 0};
    int64_t rows;
    if (!glint_parse_i64((struct glint_slice){(const uint8_t *)number, strlen(number)}, &rows) ||
        rows < 1 || rows > TOP_ROWS_MAX)
        return glint_abort(g, GLINT_E_BAD_VALUE, "top N INPUT OUTPUT --by COL",
                           "N, \"%s\", is not a number from 1 to %lld", number,
                           (long long)TOP_ROWS_MAX);
    const bool typed = glint_job_option(args, "by") != NULL; /* else whole lines */
    if (table_open_typed(g, args, paths[0], typed, &table) != 0)
        return glint_error(g)->code;
    table_saves_rows(&table);
    if (columns_read_option(&table, args, "per", "", &columns) != 0) return glint_error(g)->code;
    const uint32_t per = columns.count;
    if (columns_read_option(&table, args, "by", BY_LETTERS, &columns) != 0)
        return glint_error(g)->code;
    if (columns.count == per && per == COLUMNS_MAX)
        return glint_abort(g, GLINT_E_BAD_VALUE, NULL, "--per: more than %d columns",
                           COLUMNS_MAX - 1);
    if (columns.count == per) columns_add_whole_line(&columns);
    table_key_columns(&table, &columns, 0, per);
    set_by_letters(&table, args, per, &columns);
    struct glint_args *best_args = glint_args(g);
    columns_args(best_args, &table, &columns);
    glint_args_add_i64(best_args, "rows", rows);
    glint_args_add_i64(best_args, "room", (int64_t)(glint_slot_memory(g) / ROOM_SHARE));
    if (per > 0) return run_per_group(&table, args, best_args, per, paths[1]);
    struct glint_rdd *candidates = glint_map_partitions(table_rows(&table), &best, best_args);
    struct glint_rdd *sorted = glint_with_partitions(glint_sort_by_key(candidates, true), 1);
    return row_output_save(glint_values(glint_filter(sorted, &first, best_args)), table.lines, args,
                           paths[1]);
}

static const struct glint_job_option options[] = {
    {"by", "COLS", NULL,
     "columns to compare, the first one first: numbers or, with --header, names; letters after a "
     "colon: n as numbers, t as text (whole lines)"},
    {"per", "COLS", NULL, "N lines of each group: columns that make a group; shuffles all lines"},
    {"text", NULL, NULL, "compare them as text, as times and texts of Parquet are"},
    {"smallest", NULL, NULL, "the smallest instead of the largest"},
    TABLE_OPTIONS,
    OUTPUT_FORMAT_OPTIONS,
    {NULL, NULL, NULL, NULL}};

const struct glint_job top_job = {
    .name = "top",
    .summary = "save the lines with the largest or smallest numbers",
    .help =
        "Saves N lines in one part, the largest number first; of equal ones the first lines of "
        "INPUT, in that order. Lines whose number is null or empty are left out; another text "
        "is a bad row. A task has N lines in memory: for a large N use sort. With --per the groups "
        "are sorted within each part.",
    .positional = {"N", "INPUT", "OUTPUT"},
    .outputs = {"OUTPUT"},
    .options = options,
    .functions = {&best, &first, &group_key, &by_group, &first_of_group},
    .run = top_run};
