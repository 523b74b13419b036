/* The same ids give the same filter, however they are split: a shard depends on the set of its
 * hashes only, and shards are joined in the order of their numbers. */
#include "jobs/filters/fuse_build.h"

#include "engine/batch.h"
#include "jobs/bloom/block.h"
#include "jobs/bloom/fuse.h"

#include <assert.h>
#include <math.h>
#include <string.h>

enum { HASH_BYTES = sizeof(uint64_t) };

/* ---- bloom.fuse_hashes: (shard, hashes of ids), a list per shard and batch */

struct hashes_state {
    struct bloom_input input;
    struct shard_numbers numbers; /* its sizes are those of `input` */
    int shuffle_bytes;            /* counter */
    uint32_t *cursor;             /* [shards] zeros between batches */
    uint64_t hash[FIELDS_ROWS_MAX], sorted[FIELDS_ROWS_MAX];
    uint32_t shard[FIELDS_ROWS_MAX];
    int64_t number[FIELDS_ROWS_MAX];
    uint32_t start[FIELDS_ROWS_MAX], end[FIELDS_ROWS_MAX];
};

static int fuse_hashes_init(struct glint_task *task, void *state)
{
    struct hashes_state *s = state;
    int r = bloom_input_open(task, &s->input);
    if (r == 0) r = shard_numbers_open(task, &s->numbers);
    if (r != 0) return r;
    const uint64_t size = sizeof *s->cursor * s->numbers.first[s->numbers.sizes.count];
    s->shuffle_bytes = glint_counter(task, BLOOM_SHUFFLE_BYTES);
    s->cursor = glint_scratch(task, size);
    if (s->shuffle_bytes < 0 || s->cursor == NULL) return GLINT_E_NO_MEMORY;
    memset(s->cursor, 0, size);
    return 0;
}

/* Hashes the rows, and counts those of each shard; returns how many shards have any. */
static uint32_t hash_rows_to_shards(struct hashes_state *s, const struct bloom_rows *rows)
{
    uint32_t lists = 0;
    fuse_hash_rows(s->input.sizes.params[0].scheme, rows,
                   s->hash); /* all filters have one scheme */
    for (uint32_t row = 0; row < rows->rows; row++) {
        const uint32_t key = rows->filter[row], first = s->numbers.first[key];
        const uint32_t shards = s->numbers.first[key + 1] - first;
        s->shard[row] = first + fuse_shard_of(s->hash[row], shards);
        if (s->cursor[s->shard[row]]++ == 0) s->number[lists++] = s->shard[row];
    }
    return lists;
}

static int emit_fuse_hashes(struct glint_task *task, void *state, const struct glint_batch *in,
                            struct glint_emitter *out)
{
    struct hashes_state *s = state;
    struct bloom_rows rows;
    int r = bloom_input_parse_rows(&s->input, task, in, &rows);
    if (r != 0) return r;
    assert(rows.rows <= FIELDS_ROWS_MAX);
    const uint32_t lists = hash_rows_to_shards(s, &rows);
    uint32_t at = 0;
    for (uint32_t i = 0; i < lists; i++) {
        s->start[i] = at * HASH_BYTES;
        at += s->cursor[s->number[i]];
        s->end[i] = at * HASH_BYTES;
        s->cursor[s->number[i]] = s->start[i] / HASH_BYTES;
    }
    assert(at == rows.rows);
    for (uint32_t row = 0; row < rows.rows; row++)
        s->sorted[s->cursor[s->shard[row]]++] = s->hash[row];
    for (uint32_t i = 0; i < lists; i++) s->cursor[s->number[i]] = 0;
    glint_counter_add(task, s->shuffle_bytes, rows.rows * HASH_BYTES);
    struct glint_batch batch = {.rows = lists,
                                .key = {.type = GLINT_I64, .i64 = s->number},
                                .value = {.type = GLINT_BYTES,
                                          .base = (const uint8_t *)s->sorted,
                                          .size = rows.rows * HASH_BYTES,
                                          .start = s->start,
                                          .end = s->end},
                                .origin = in->origin};
    glint_emit_batch(out, &batch);
    return 0;
}

const struct glint_function fuse_hashes_of_rows = {.name = "bloom.fuse_hashes",
                                                   .kind = GLINT_KIND_FLAT_MAP,
                                                   .in = {GLINT_ANY, GLINT_TEXT},
                                                   .out = {GLINT_I64, GLINT_BYTES},
                                                   .state_size = sizeof(struct hashes_state),
                                                   .open = fuse_hashes_init,
                                                   .batch = emit_fuse_hashes};

/* ---- bloom.fuse_solve: the hashes of a shard -> its record (shards.h) */

/* Room for the hashes of a shard, whose number varies by its square root. */
static uint64_t capacity_for_shard_hashes(uint64_t n)
{
    const uint64_t each = n / fuse_shards(n) + 1;
    return each + 8 * (uint64_t)sqrt((double)each) + 64;
}

struct solve_state {
    struct shard_numbers numbers;
    uint32_t key; /* of the current shard */
    uint64_t count, room;
    uint64_t *hashes; /* [room] */
    uint8_t *solve;   /* scratch for sorting and solving `room` hashes, and the result */
};

static int fuse_solve_init(struct glint_task *task, void *state)
{
    return shard_numbers_open(task, &((struct solve_state *)state)->numbers);
}

static int fuse_solve_begin(struct glint_task *task, void *state, const union glint_value *key)
{
    struct solve_state *s = state;
    s->count = 0;
    return shard_numbers_find_key(task, &s->numbers, key->i64, &s->key);
}

static uint64_t solve_bytes(enum bloom_layout layout, uint64_t room)
{
    const uint64_t solve = fuse_solve_memory(room);
    assert(solve >= room * HASH_BYTES);
    return solve + SHARD_RECORD_HEAD + fuse_shard_bytes(layout, room);
}

/* Makes room for one more hash: by removing equal ones, or by a larger array. */
static int make_room_for_hash(struct glint_task *task, struct solve_state *s)
{
    if (s->count < s->room) return 0;
    if (s->count > 0)
        s->count = fuse_sort_unique(s->hashes, s->count, (uint64_t *)(void *)s->solve);
    if (s->count < s->room - s->room / 8) return 0;
    const enum bloom_layout layout = s->numbers.sizes.params[s->key].layout;
    const uint64_t planned = capacity_for_shard_hashes(s->numbers.sizes.params[s->key].n);
    const uint64_t more = planned > s->room ? planned : s->room + s->room / 2;
    uint64_t *hashes = more <= FUSE_IDS_MAX ? glint_scratch(task, HASH_BYTES * more) : NULL;
    uint8_t *solve = hashes != NULL ? glint_scratch(task, solve_bytes(layout, more)) : NULL;
    if (solve == NULL)
        return glint_fail(task, GLINT_E_NO_MEMORY, "count the ids of INPUT with count-keys",
                          "a shard of the filter has more than %llu ids, of %llu in the filter",
                          (unsigned long long)s->count,
                          (unsigned long long)s->numbers.sizes.params[s->key].n);
    if (s->count > 0) memcpy(hashes, s->hashes, s->count * HASH_BYTES);
    s->hashes = hashes;
    s->solve = solve;
    s->room = more;
    return 0;
}

static int fuse_solve_add_hashes(struct glint_task *task, void *state,
                                 const struct glint_record *in, struct glint_emitter *out)
{
    (void)out;
    struct solve_state *s = state;
    const struct glint_slice list = in->value.bytes;
    if (list.size % HASH_BYTES != 0)
        return glint_fail(task, GLINT_E_SHUFFLE_CORRUPT, NULL, "invalid list of hashes");
    for (uint64_t at = 0; at < list.size;) {
        int r = make_room_for_hash(task, s);
        if (r != 0) return r;
        const uint64_t left = list.size - at, room = (s->room - s->count) * HASH_BYTES;
        const uint64_t size = left < room ? left : room;
        memcpy(s->hashes + s->count, list.data + at, size);
        s->count += size / HASH_BYTES;
        at += size;
    }
    return 0;
}

static int fuse_solve_emit(struct glint_task *task, void *state, const union glint_value *key,
                           struct glint_emitter *out)
{
    struct solve_state *s = state;
    const enum bloom_layout layout = s->numbers.sizes.params[s->key].layout;
    uint64_t ids = s->count;
    if (ids == 0) return glint_fail(task, GLINT_E_SHUFFLE_CORRUPT, NULL, "a shard without hashes");
    uint8_t *record = s->solve + fuse_solve_memory(s->room);
    assert(ids <= s->room);
    if (!fuse_solve(layout, s->hashes, &ids, s->solve, record + SHARD_RECORD_HEAD))
        return glint_fail(task, GLINT_E_FILTER_LIMIT, "use another layout, or --scheme wide",
                          "no seed has a solution for a shard of %llu ids",
                          (unsigned long long)ids);
    const uint64_t size = fuse_shard_bytes(layout, ids);
    const uint64_t head[] = {(uint64_t)key->i64 - s->numbers.first[s->key], ids, ids, size};
    static_assert(sizeof head == SHARD_RECORD_HEAD, "number, ids, universe, size");
    memcpy(record, head, sizeof head);
    struct glint_record solved = {.key = *key, .value.bytes = {record, SHARD_RECORD_HEAD + size}};
    glint_emit(out, &solved);
    return 0;
}

const struct glint_function fuse_solve_shard = {.name = "bloom.fuse_solve",
                                                .kind = GLINT_KIND_GROUP,
                                                .in = {GLINT_I64, GLINT_BYTES},
                                                .out = {GLINT_SAME, GLINT_BYTES},
                                                .state_size = sizeof(struct solve_state),
                                                .open = fuse_solve_init,
                                                .begin_group = fuse_solve_begin,
                                                .each = fuse_solve_add_hashes,
                                                .end_group = fuse_solve_emit};

/* ---- The driver */

int fuse_check_memory(struct glint *g, const struct sizes *sizes)
{
    uint64_t need = 0, shards = 0;
    for (uint32_t i = 0; i < sizes->count; i++) {
        const struct bloom_params *p = &sizes->params[i];
        const uint64_t room = capacity_for_shard_hashes(p->n),
                       filter = bloom_bytes(p->m) + bloom_bytes(p->m) / 64;
        const uint64_t solve = HASH_BYTES * room + solve_bytes(p->layout, room);
        need = need > solve ? need : solve;
        need = need > filter ? need : filter;
        shards += fuse_shards(p->n);
    }
    const uint64_t have = glint_slot_memory(g);
    if (glint_explaining(g))
        glint_note(g, "shards: %llu; a slot has %llu bytes, they need %llu",
                   (unsigned long long)shards, (unsigned long long)have, (unsigned long long)need);
    if (shards > SHARDS_TOTAL_MAX)
        return glint_abort(g, GLINT_E_FILTER_LIMIT, "use --layout split-block",
                           "the filters need %llu shards, the limit is %d",
                           (unsigned long long)shards, SHARDS_TOTAL_MAX);
    if (need <= have) return 0;
    return glint_abort(g, GLINT_E_MEMORY_LIMIT, "raise --memory, or use --layout split-block",
                       "layout %s needs %llu bytes per slot, --memory gives %llu",
                       bloom_layout_name(sizes->params[0].layout), (unsigned long long)need,
                       (unsigned long long)have);
}

struct glint_rdd *fuse_pipeline(struct glint_rdd *lines, const struct sizes *sizes,
                                const struct fields *fields)
{
    if (lines == NULL) return NULL;
    struct glint_args *args = glint_args(glint_context(lines));
    fields_args(args, fields);
    glint_args_add_broadcast(args, "sizes", sizes_broadcast(glint_context(lines), sizes));
    glint_args_add_i64(args, "memory", (int64_t)glint_slot_memory(glint_context(lines)));
    struct glint_rdd *hashes = glint_map_partitions(lines, &fuse_hashes_of_rows, args);
    struct glint_rdd *lists = glint_reduce_by_key(hashes, &bloom_extend, NULL);
    struct glint_rdd *solved = glint_map_values(lists, &fuse_solve_shard, args);
    return shards_joined_rdd(solved, sizes->text, args);
}
