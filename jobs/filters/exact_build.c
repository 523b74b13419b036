/* Each id has two hashes, that of the filter and a second one, so that a member and an id of the
 * universe are the same only if 128 bits agree. Ids of the universe with equal hashes of 64 bits,
 * of which some are members and others are not, are an error.
 *
 * The lists of a shard: head.8 (2 x bytes of the list, + 1: of members), and then of each id
 *
 *     hash.8 second.8                      of the universe
 *     hash.8 second.8 size.4 size bytes    of members: what an error shows of the id */
#include "jobs/filters/exact_build.h"

#include "engine/base/text.h"
#include "engine/batch.h"
#include "jobs/bloom/block.h"
#include "jobs/bloom/exact.h"
#include "jobs/bloom/fuse.h"
#include "jobs/rows/id_values.h"

#include <assert.h>
#include <math.h>
#include <string.h>

enum {
    LIST_HEAD = sizeof(uint64_t),
    PAIR_BYTES = 2 * sizeof(uint64_t),
    SHOWN_MAX = ID_VALUE_SHOWN_MAX, /* bytes of an id in an error */
    MEMBER_HEAD = PAIR_BYTES + sizeof(uint32_t),
    MEMBER_MAX = MEMBER_HEAD + SHOWN_MAX,
    MEMBERS_MIN = 2 * FIELDS_ROWS_MAX * MEMBER_MAX, /* a list has at most half of it */
};

struct id_hash {
    uint64_t hash, second;
};
static_assert(sizeof(struct id_hash) == PAIR_BYTES, "no padding");

/* ---- bloom.exact_hashes: (shard, list), a list per shard and batch */

struct hashes_state {
    struct bloom_input input;
    struct shard_numbers numbers; /* its sizes are those of `input` */
    int64_t members;              /* the rows are members */
    int shuffle_bytes, no_filter; /* counters */
    uint32_t *cursor;             /* [shards] bytes of a list, or zeros between batches */
    struct id_hash hash[FIELDS_ROWS_MAX];
    uint32_t shard[FIELDS_ROWS_MAX];
    int64_t number[FIELDS_ROWS_MAX];
    uint32_t start[FIELDS_ROWS_MAX], end[FIELDS_ROWS_MAX];
    uint8_t lists[FIELDS_ROWS_MAX * (LIST_HEAD + MEMBER_MAX)];
};

static int exact_hashes_init(struct glint_task *task, void *state)
{
    struct hashes_state *s = state;
    int r = bloom_input_open(task, &s->input);
    if (r == 0) r = shard_numbers_open(task, &s->numbers);
    if (r == 0) r = glint_arg_i64(task, "members", &s->members);
    if (r != 0) return r;
    const uint64_t size = sizeof *s->cursor * s->numbers.first[s->numbers.sizes.count];
    s->shuffle_bytes = glint_counter(task, BLOOM_SHUFFLE_BYTES);
    s->no_filter = glint_counter(task, BLOOM_NO_FILTER);
    s->cursor = glint_scratch(task, size);
    if (s->shuffle_bytes < 0 || s->no_filter < 0 || s->cursor == NULL) return GLINT_E_NO_MEMORY;
    memset(s->cursor, 0, size);
    return 0;
}

static uint32_t entry_bytes(const struct hashes_state *s, uint32_t id_size)
{
    if (s->members == 0) return PAIR_BYTES;
    return MEMBER_HEAD + (id_size < SHOWN_MAX ? id_size : SHOWN_MAX);
}

/* Hashes the rows, and sums the bytes of each shard's list; returns how many shards have any. */
static uint32_t hash_rows_to_shard_lists(struct hashes_state *s, const struct bloom_rows *rows)
{
    const struct bloom_params *params = s->input.sizes.params;
    uint32_t lists = 0;
    for (uint32_t row = 0; row < rows->rows; row++) {
        const uint32_t key = rows->filter[row], first = s->numbers.first[key];
        const uint32_t shards = s->numbers.first[key + 1] - first;
        const uint8_t *id = rows->base + rows->start[row];
        const uint32_t size = rows->end[row] - rows->start[row];
        const XXH128_hash_t both = XXH3_128bits(id, size);
        s->hash[row].hash = params[key].scheme == BLOOM_XXH64 ? XXH64(id, size, 0) : both.low64;
        s->hash[row].second = both.high64;
        s->shard[row] = first + fuse_shard_of(s->hash[row].hash, shards);
        if (s->cursor[s->shard[row]] == 0) s->number[lists++] = s->shard[row];
        s->cursor[s->shard[row]] += entry_bytes(s, size);
    }
    return lists;
}

static void write_hash_entry(struct hashes_state *s, const struct bloom_rows *rows, uint32_t row)
{
    const uint32_t size = rows->end[row] - rows->start[row], bytes = entry_bytes(s, size);
    uint8_t *at = s->lists + s->cursor[s->shard[row]];
    memcpy(at, &s->hash[row], PAIR_BYTES);
    if (s->members != 0) {
        const uint32_t shown = bytes - MEMBER_HEAD;
        memcpy(at + PAIR_BYTES, &size, sizeof size);
        memcpy(at + MEMBER_HEAD, rows->base + rows->start[row], shown);
    }
    s->cursor[s->shard[row]] += bytes;
}

static int emit_exact_hashes(struct glint_task *task, void *state, const struct glint_batch *in,
                             struct glint_emitter *out)
{
    struct hashes_state *s = state;
    struct bloom_rows rows;
    int r = s->members != 0
                ? bloom_input_parse_rows(&s->input, task, in, &rows)
                : bloom_input_parse_known_rows(&s->input, task, in, s->no_filter, &rows);
    if (r != 0) return r;
    const uint32_t lists = hash_rows_to_shard_lists(s, &rows);
    uint32_t at = 0;
    for (uint32_t i = 0; i < lists; i++) {
        const uint64_t bytes = s->cursor[s->number[i]];
        const uint64_t head = 2 * bytes + (s->members != 0);
        memcpy(s->lists + at, &head, sizeof head);
        s->start[i] = at;
        s->cursor[s->number[i]] = at + LIST_HEAD;
        at += LIST_HEAD + (uint32_t)bytes;
        s->end[i] = at;
    }
    assert(at <= sizeof s->lists);
    for (uint32_t row = 0; row < rows.rows; row++) write_hash_entry(s, &rows, row);
    for (uint32_t i = 0; i < lists; i++) s->cursor[s->number[i]] = 0;
    glint_counter_add(task, s->shuffle_bytes, at);
    struct glint_batch batch = {.rows = lists,
                                .key = {.type = GLINT_I64, .i64 = s->number},
                                .value = {.type = GLINT_BYTES,
                                          .base = s->lists,
                                          .size = at,
                                          .start = s->start,
                                          .end = s->end},
                                .origin = in->origin};
    glint_emit_batch(out, &batch);
    return 0;
}

const struct glint_function exact_hashes_of_rows = {.name = "bloom.exact_hashes",
                                                    .kind = GLINT_KIND_FLAT_MAP,
                                                    .in = {GLINT_ANY, GLINT_TEXT},
                                                    .out = {GLINT_I64, GLINT_BYTES},
                                                    .state_size = sizeof(struct hashes_state),
                                                    .open = exact_hashes_init,
                                                    .batch = emit_exact_hashes};

/* ---- bloom.exact_solve: the lists of a shard -> its record (shards.h) */

/* One block: `room` hashes to sort by, `room` of the universe, and the bytes of members. When the
 * shard is sorted, the first have the hashes and members to solve, and the others are free for it.
 */
struct solve_state {
    struct shard_numbers numbers;
    uint32_t key;          /* of the current shard */
    uint64_t planned;      /* room for the largest shard, by COUNTS */
    int64_t memory_max;    /* of `taken` */
    uint64_t taken;        /* bytes of this and of smaller blocks before it */
    uint64_t room;         /* ids of the universe, of which `count` are there */
    uint64_t members_room; /* bytes of members, of which `members_used` are there */
    uint64_t count, members_used;
    struct id_hash *sort;     /* [room] */
    struct id_hash *universe; /* [room] */
    uint8_t *members;         /* their entries */
    uint64_t *hashes;         /* [count] in `sort`, when sorted */
    uint8_t *member;          /* [count] behind them */
    uint64_t ids, n;          /* different ids of the universe; members */
};

/* Ids of a shard, whose number varies by its square root. */
static uint64_t capacity_for_shard_ids(uint64_t n)
{
    const uint64_t each = n / exact_shards(n) + 1;
    return each + 8 * (uint64_t)sqrt((double)each) + 64;
}

/* Bytes of a block with the fewest for members, those that solving needs anyway, and with those
 * that are enough for all ids to be members. */
static uint64_t least_bytes_of_solve_block(uint64_t room)
{
    const uint64_t solve = exact_solve_bytes_max(room) + SHARD_RECORD_HEAD + PAIR_BYTES,
                   universe = PAIR_BYTES * room;
    return universe + (solve > universe + MEMBERS_MIN ? solve : universe + MEMBERS_MIN);
}
static uint64_t enough_bytes_of_solve_block(uint64_t room)
{
    return least_bytes_of_solve_block(room) + (MEMBER_MAX + MEMBER_MAX / 4) * room;
}

/* Says how much is enough, for COUNTS that are right. */
static int set_solve_memory_error(struct glint_task *task, const struct solve_state *s,
                                  uint64_t room)
{
    char key[256], hint[256];
    const uint64_t n = s->numbers.sizes.params[s->key].n;
    sizes_key_text(&s->numbers.sizes, s->key, key, sizeof key);
    text_format(hint, sizeof hint, "%sraise --memory, so that each slot has %s%llu bytes",
                room <= s->planned ? "" : "let COUNTS be the counts of --universe, or ",
                room <= s->planned ? "" : "more than ",
                (unsigned long long)(room <= s->planned
                                         ? enough_bytes_of_solve_block(room)
                                         : s->taken + enough_bytes_of_solve_block(room)));
    return glint_fail(task, GLINT_E_MEMORY_LIMIT, hint,
                      "a shard of the exact filter of key %s has %llu ids and %llu bytes of "
                      "members so far, COUNTS has %llu ids in %u shards, a slot has %lld bytes",
                      key, (unsigned long long)s->count, (unsigned long long)s->members_used,
                      (unsigned long long)n, exact_shards(n), (long long)s->memory_max);
}

/* Takes a block for so many ids, with what a slot has for members; what is there moves. */
static int allocate_solve_block(struct glint_task *task, struct solve_state *s, uint64_t room)
{
    const uint64_t left = (uint64_t)s->memory_max - s->taken,
                   most = enough_bytes_of_solve_block(room);
    const uint64_t bytes = most <= left ? most : left;
    assert(s->taken <= (uint64_t)s->memory_max && room >= s->count);
    if (room > FUSE_IDS_MAX || least_bytes_of_solve_block(room) > left ||
        bytes - 2 * PAIR_BYTES * room <= s->members_used)
        return set_solve_memory_error(task, s, room);
    struct id_hash *sort = glint_scratch(task, bytes);
    if (sort == NULL) return GLINT_E_NO_MEMORY;
    struct id_hash *universe = sort + room;
    uint8_t *members = (uint8_t *)(universe + room);
    if (s->count > 0) memcpy(universe, s->universe, s->count * PAIR_BYTES);
    if (s->members_used > 0) memcpy(members, s->members, s->members_used);
    s->sort = sort;
    s->universe = universe;
    s->members = members;
    s->room = room;
    s->members_room = bytes - 2 * PAIR_BYTES * room;
    s->taken += bytes;
    return 0;
}

static int exact_solve_init(struct glint_task *task, void *state)
{
    struct solve_state *s = state;
    int r = shard_numbers_open(task, &s->numbers);
    if (r == 0) r = glint_arg_i64(task, "memory", &s->memory_max);
    for (uint32_t i = 0; r == 0 && i < s->numbers.sizes.count; i++) {
        const uint64_t more = capacity_for_shard_ids(s->numbers.sizes.params[i].n);
        if (more > s->planned) s->planned = more;
    }
    return r == 0 ? allocate_solve_block(task, s, s->planned) : r;
}

static int exact_solve_begin(struct glint_task *task, void *state, const union glint_value *key)
{
    struct solve_state *s = state;
    s->count = s->members_used = 0;
    return shard_numbers_find_key(task, &s->numbers, key->i64, &s->key);
}

enum { RADIX_BITS = 11, RADIX = 1 << RADIX_BITS, PASSES = 6 };

/* Sorts by the hash; a second hash stays with its own. An even number of passes ends in `ids`. */
static void sort_by_hash(struct id_hash *ids, struct id_hash *scratch, uint64_t count)
{
    static_assert(PASSES * RADIX_BITS >= 64 && PASSES % 2 == 0, "all bits, and back");
    assert(count <= UINT32_MAX);
    for (uint32_t pass = 0; pass < PASSES; pass++) {
        const uint32_t shift = pass * RADIX_BITS;
        uint32_t starts[RADIX] = {0}, sum = 0;
        for (uint64_t i = 0; i < count; i++) starts[ids[i].hash >> shift & (RADIX - 1)]++;
        for (uint32_t digit = 0; digit < RADIX; digit++) {
            const uint32_t size = starts[digit];
            starts[digit] = sum;
            sum += size;
        }
        for (uint64_t i = 0; i < count; i++)
            scratch[starts[ids[i].hash >> shift & (RADIX - 1)]++] = ids[i];
        struct id_hash *other = ids;
        ids = scratch;
        scratch = other;
    }
}

/* Removes equal ids of sorted ones. Returns how many remain. */
static uint64_t remove_equal_ids(struct id_hash *ids, uint64_t count)
{
    uint64_t kept = 0, run = 0; /* where the hash of the last one began */
    for (uint64_t i = 0; i < count; i++) {
        if (kept == 0 || ids[i].hash != ids[kept - 1].hash) run = kept;
        uint64_t at = run;
        while (at < kept && ids[at].second != ids[i].second) at++;
        if (at == kept) ids[kept++] = ids[i];
    }
    return kept;
}

/* Makes room for so many more ids of the universe: by removing equal ones, or by a larger block. */
static int make_room_for_ids(struct glint_task *task, struct solve_state *s, uint64_t more)
{
    if (more <= s->room - s->count) return 0;
    sort_by_hash(s->universe, s->sort, s->count);
    s->count = remove_equal_ids(s->universe, s->count);
    const uint64_t most = s->room - s->room / 8;
    if (s->count <= most && more <= most - s->count) return 0;
    const uint64_t need = s->count + more, larger = s->room + s->room / 2;
    return allocate_solve_block(task, s, need > larger ? need : larger);
}

/* The bytes of the entry of a member, or 0 if it is invalid. */
static uint32_t member_bytes(const uint8_t *at, uint64_t left)
{
    uint32_t size = 0;
    if (left < MEMBER_HEAD) return 0;
    memcpy(&size, at + PAIR_BYTES, sizeof size);
    const uint32_t bytes = MEMBER_HEAD + (size < SHOWN_MAX ? size : SHOWN_MAX);
    return bytes <= left ? bytes : 0;
}

/* Removes equal members, by a table of where they are, in `sort`: their offsets + 1, or 0. More
 * than `room` are not looked for. */
static int remove_equal_members(struct glint_task *task, struct solve_state *s)
{
    uint64_t *table = (uint64_t *)(void *)s->sort, kept = 0, different = 0, bytes = 0;
    const uint64_t slots = s->room * (PAIR_BYTES / sizeof *table);
    memset(table, 0, slots * sizeof *table);
    for (uint64_t at = 0; at < s->members_used; at += bytes) {
        uint64_t hash;
        bytes = member_bytes(s->members + at, s->members_used - at);
        if (bytes == 0)
            return glint_fail(task, GLINT_E_SHUFFLE_CORRUPT, NULL, "invalid list of members");
        memcpy(&hash, s->members + at + sizeof hash, sizeof hash);
        uint64_t slot = hash % slots;
        while (table[slot] != 0 &&
               memcmp(s->members + table[slot] - 1, s->members + at, PAIR_BYTES) != 0)
            slot = slot + 1 < slots ? slot + 1 : 0;
        if (table[slot] != 0) continue;
        if (different < s->room) table[slot] = kept + 1;
        different++;
        memmove(s->members + kept, s->members + at, bytes);
        kept += bytes;
    }
    assert(kept <= s->members_used);
    s->members_used = kept;
    return 0;
}

/* As for ids. A block that has less than enough for members is all that a slot has. */
static int make_room_for_members(struct glint_task *task, struct solve_state *s, uint64_t bytes)
{
    if (bytes <= s->members_room - s->members_used) return 0;
    int r = remove_equal_members(task, s);
    uint64_t most = s->members_room - s->members_room / 8;
    while (r == 0 && (s->members_used > most || bytes > most - s->members_used)) {
        const bool all =
            s->members_room + 2 * PAIR_BYTES * s->room < enough_bytes_of_solve_block(s->room);
        r = all ? set_solve_memory_error(task, s, s->room)
                : allocate_solve_block(task, s, s->room + s->room / 2);
        most = s->members_room - s->members_room / 8;
    }
    return r;
}

static int append_shard_list(struct glint_task *task, struct solve_state *s, bool members,
                             struct glint_slice list)
{
    if (list.size == 0 || (!members && list.size % PAIR_BYTES != 0))
        return glint_fail(task, GLINT_E_SHUFFLE_CORRUPT, NULL, "invalid list of hashes");
    int r = members ? make_room_for_members(task, s, list.size)
                    : make_room_for_ids(task, s, list.size / PAIR_BYTES);
    if (r != 0) return r;
    if (members) {
        memcpy(s->members + s->members_used, list.data, list.size);
        s->members_used += list.size;
    } else {
        memcpy(s->universe + s->count, list.data, list.size);
        s->count += list.size / PAIR_BYTES;
    }
    return 0;
}

static int exact_solve_add_lists(struct glint_task *task, void *state,
                                 const struct glint_record *in, struct glint_emitter *out)
{
    (void)out;
    struct solve_state *s = state;
    struct glint_slice left = in->value.bytes;
    while (left.size > 0) {
        uint64_t head = UINT64_MAX;
        if (left.size >= LIST_HEAD) memcpy(&head, left.data, sizeof head);
        if (head / 2 > left.size - LIST_HEAD)
            return glint_fail(task, GLINT_E_SHUFFLE_CORRUPT, NULL, "invalid list of hashes");
        const struct glint_slice list = {left.data + LIST_HEAD, head / 2};
        int r = append_shard_list(task, s, head % 2 != 0, list);
        if (r != 0) return r;
        left.data += LIST_HEAD + list.size;
        left.size -= LIST_HEAD + list.size;
    }
    return 0;
}

/* The index of the id, or `count`. */
static uint64_t find_id(const struct id_hash *ids, uint64_t count, const struct id_hash *id)
{
    uint64_t low = 0, high = count; /* the first with this hash is in [low, high] */
    while (low < high) {
        const uint64_t middle = low + (high - low) / 2;
        if (ids[middle].hash < id->hash)
            low = middle + 1;
        else
            high = middle;
    }
    while (low < count && ids[low].hash == id->hash && ids[low].second != id->second) low++;
    return low < count && ids[low].hash == id->hash ? low : count;
}

static int set_missing_member_error(struct glint_task *task, const struct solve_state *s,
                                    const uint8_t *entry)
{
    char key[256], shown[ID_VALUE_TEXT_MAX];
    uint32_t size;
    memcpy(&size, entry + PAIR_BYTES, sizeof size);
    const bool whole = size <= SHOWN_MAX;
    id_value_format(s->numbers.sizes.params[s->key].id_type, entry + MEMBER_HEAD,
                    whole ? size : SHOWN_MAX, whole, shown);
    sizes_key_text(&s->numbers.sizes, s->key, key, sizeof key);
    return glint_fail(
        task, GLINT_E_FILTER_MISMATCH, "add it to the rows of --universe, or remove it from INPUT",
        "the id \"%s\"%s of key %s is not in the universe", shown, whole ? "" : "...", key);
}

/* Marks the members in `member`; all must be ids of the universe. */
static int mark_members(struct glint_task *task, struct solve_state *s, const struct id_hash *ids)
{
    const uint8_t *at = s->members, *end = at + s->members_used;
    memset(s->member, 0, s->count);
    s->n = 0;
    while (at < end) {
        struct id_hash id;
        const uint32_t bytes = member_bytes(at, (uint64_t)(end - at));
        if (bytes == 0)
            return glint_fail(task, GLINT_E_SHUFFLE_CORRUPT, NULL, "invalid list of members");
        memcpy(&id, at, sizeof id);
        const uint64_t found = find_id(ids, s->count, &id);
        if (found == s->count) return set_missing_member_error(task, s, at);
        s->n += s->member[found] == 0;
        s->member[found] = 1;
        at += bytes;
    }
    return 0;
}

/* Keeps one of ids with equal hashes, which must be all members, or all others. */
static int merge_equal_hashes(struct glint_task *task, struct solve_state *s)
{
    uint64_t kept = 0;
    for (uint64_t i = 0; i < s->count; i++) {
        const bool equal = kept > 0 && s->hashes[i] == s->hashes[kept - 1];
        if (equal && s->member[i] != s->member[kept - 1])
            return glint_fail(task, GLINT_E_FILTER_LIMIT, "use another --scheme: wide or xxh64",
                              "a member and another id of the universe have the same hash");
        s->hashes[kept] = s->hashes[i];
        s->member[kept] = s->member[i];
        kept += !equal;
    }
    s->count = kept;
    return 0;
}

/* Sorts the universe, and says which of its hashes are those of members. */
static int mark_members_of_universe(struct glint_task *task, struct solve_state *s)
{
    struct id_hash *ids = s->universe;
    sort_by_hash(ids, s->sort, s->count);
    s->ids = s->count = remove_equal_ids(ids, s->count);
    s->hashes = (uint64_t *)(void *)s->sort;
    s->member = (uint8_t *)(s->hashes + s->count);
    static_assert(sizeof *s->hashes + 1 <= PAIR_BYTES, "both fit in the room of the universe");
    int r = mark_members(task, s, ids);
    for (uint64_t i = 0; i < s->count; i++) s->hashes[i] = ids[i].hash;
    return r == 0 ? merge_equal_hashes(task, s) : r;
}

static int exact_solve_emit(struct glint_task *task, void *state, const union glint_value *key,
                            struct glint_emitter *out)
{
    struct solve_state *s = state;
    int r = mark_members_of_universe(task, s);
    if (r != 0) return r;
    uint64_t members = 0;
    for (uint64_t i = 0; i < s->count; i++) members += s->member[i];
    const struct exact_plan plan = exact_plan_shard(s->count, members);
    const uint64_t solve = bloom_round_up(plan.memory, PAIR_BYTES);
    uint8_t *memory = (uint8_t *)s->universe; /* and behind it; its hashes are in `sort` */
    uint8_t *record = memory + solve, *shard = record + SHARD_RECORD_HEAD;
    assert(solve + SHARD_RECORD_HEAD + plan.bytes_max <= PAIR_BYTES * s->room + s->members_room);
    const uint64_t size = exact_solve(&plan, s->hashes, s->member, s->count, memory, shard);
    if (size == 0)
        return glint_fail(task, GLINT_E_FILTER_LIMIT, "use --scheme wide, or xxh64",
                          "no seed has a solution for a shard of %llu ids",
                          (unsigned long long)s->count);
    assert(exact_shard_agrees(shard, s->hashes, s->member, s->count));
    const uint64_t head[] = {(uint64_t)key->i64 - s->numbers.first[s->key], s->n, s->ids, size};
    static_assert(sizeof head == SHARD_RECORD_HEAD, "number, ids, universe, size");
    memcpy(record, head, sizeof head);
    struct glint_record solved = {.key = *key, .value.bytes = {record, sizeof head + size}};
    glint_emit(out, &solved);
    return 0;
}

const struct glint_function exact_solve_shard = {.name = "bloom.exact_solve",
                                                 .kind = GLINT_KIND_GROUP,
                                                 .in = {GLINT_I64, GLINT_BYTES},
                                                 .out = {GLINT_SAME, GLINT_BYTES},
                                                 .state_size = sizeof(struct solve_state),
                                                 .open = exact_solve_init,
                                                 .begin_group = exact_solve_begin,
                                                 .each = exact_solve_add_lists,
                                                 .end_group = exact_solve_emit};

/* ---- The driver */

/* The members are known later: a shard that needs more for them than a slot has, and a filter that
 * is larger, end the job then. */
int exact_check_memory(struct glint *g, const struct sizes *sizes)
{
    uint64_t need = 0, enough = 0, shards = 0;
    char hint[128];
    for (uint32_t i = 0; i < sizes->count; i++) {
        const uint64_t n = sizes->params[i].n, room = capacity_for_shard_ids(n);
        const uint64_t most = enough_bytes_of_solve_block(room),
                       filter = 2 * exact_planned_bytes(n);
        if (least_bytes_of_solve_block(room) > need) need = least_bytes_of_solve_block(room);
        if (most > enough) enough = most;
        if (filter > enough) enough = filter;
        shards += exact_shards(n);
    }
    const uint64_t have = glint_slot_memory(g);
    if (glint_explaining(g))
        glint_note(g, "shards: %llu; a slot has %llu bytes, they need %llu, and at most %llu",
                   (unsigned long long)shards, (unsigned long long)have, (unsigned long long)need,
                   (unsigned long long)enough);
    if (shards > SHARDS_TOTAL_MAX)
        return glint_abort(g, GLINT_E_FILTER_LIMIT, "use --layout fuse8 or split-block",
                           "the filters need %llu shards, the limit is %d",
                           (unsigned long long)shards, SHARDS_TOTAL_MAX);
    if (need <= have) return 0;
    text_format(hint, sizeof hint, "raise --memory, so that each slot has %llu bytes",
                (unsigned long long)enough);
    return glint_abort(g, GLINT_E_MEMORY_LIMIT, hint,
                       "exact filters need %llu bytes per slot, --memory gives %llu",
                       (unsigned long long)need, (unsigned long long)have);
}

static struct glint_rdd *hash_lines_to_shards_rdd(struct glint_rdd *lines,
                                                  const struct fields *fields,
                                                  struct glint_broadcast *sizes, bool members)
{
    if (lines == NULL) return NULL;
    struct glint_args *args = glint_args(glint_context(lines));
    fields_args(args, fields);
    glint_args_add_i64(args, "members", members);
    glint_args_add_broadcast(args, "sizes", sizes);
    return glint_map_partitions(lines, &exact_hashes_of_rows, args);
}

struct glint_rdd *exact_pipeline(struct glint_rdd *members, const struct fields *fields,
                                 struct glint_rdd *universe, const struct fields *other,
                                 const struct sizes *sizes)
{
    if (members == NULL || universe == NULL) return NULL;
    struct glint *g = glint_context(members);
    struct glint_broadcast *broadcast = sizes_broadcast(g, sizes);
    struct glint_args *args = glint_args(g);
    glint_args_add_broadcast(args, "sizes", broadcast);
    glint_args_add_i64(args, "memory", (int64_t)glint_slot_memory(g));
    struct glint_rdd *hashes =
        glint_union(hash_lines_to_shards_rdd(universe, other, broadcast, false),
                    hash_lines_to_shards_rdd(members, fields, broadcast, true));
    struct glint_rdd *lists = glint_reduce_by_key(hashes, &bloom_extend, NULL);
    struct glint_rdd *solved = glint_map_values(lists, &exact_solve_shard, args);
    return shards_joined_rdd(solved, sizes->text, args);
}
