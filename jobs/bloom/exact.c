/* Exact filters: the sizes of the levels, solving and checking a shard, look-ups. */
#include "jobs/bloom/exact.h"

#include "jobs/bloom/block.h"
#include "jobs/bloom/fuse.h"
#include "jobs/bloom/ribbon.h"

#include <math.h>
#include <string.h>

/* ---- sizes ---- */

uint32_t exact_shards(uint64_t n)
{
    const uint64_t shards = n >> EXACT_SHARD_LOG2;
    return shards == 0 ? 1 : shards > FUSE_SHARDS_MAX ? FUSE_SHARDS_MAX : (uint32_t)shards;
}

/* About how many ids pass the first level. */
static double second_level_ids(double rare, double ids, uint32_t columns)
{
    return rare + (ids - rare) * exp2(-(double)columns);
}

/* The number of columns that needs the fewest blocks of 64 bits. */
static uint32_t best_first_level_columns(uint64_t rare, uint64_t ids)
{
    uint64_t least = UINT64_MAX;
    uint32_t best = 0;
    for (uint32_t c = 0; c <= RIBBON_COLUMNS_MAX; c++) {
        const double second = second_level_ids((double)rare, (double)ids, c);
        const uint64_t blocks =
            (uint64_t)ribbon_blocks(rare) * c + ribbon_blocks((uint64_t)ceil(second));
        if (blocks >= least) continue;
        least = blocks;
        best = c;
    }
    return best;
}

struct exact_plan exact_plan_shard(uint64_t ids, uint64_t members)
{
    assert(members <= ids && ids <= FUSE_IDS_MAX);
    struct exact_plan plan = {.rare = members <= ids - members ? members : ids - members,
                              .bytes_max = EXACT_HEAD};
    if (plan.rare == 0) return plan;
    plan.columns = best_first_level_columns(plan.rare, ids);
    const double second = second_level_ids((double)plan.rare, (double)ids, (uint32_t)plan.columns);
    plan.second_max = (uint64_t)(second + 16 * sqrt(second) + 64);
    if (plan.second_max > ids) plan.second_max = ids;
    plan.bytes_max += 8 * (ribbon_blocks_max(plan.rare) * plan.columns +
                           (uint64_t)ribbon_blocks_max(plan.second_max));
    plan.memory = ribbon_memory(plan.second_max) + 9 * plan.second_max;
    return plan;
}

/* Both levels have the fewest blocks, so that they have not many more than one of all ids. */
uint64_t exact_solve_bytes_max(uint64_t ids)
{
    const uint64_t blocks = (uint64_t)ribbon_blocks_max(ids) + RIBBON_COLUMNS_MAX;
    return ribbon_memory(ids) + 9 * ids + EXACT_HEAD + 16 * blocks;
}

uint64_t exact_planned_bytes(uint64_t n)
{
    const uint64_t shards = exact_shards(n), each = n / shards + 1;
    if (each > FUSE_IDS_MAX) return UINT64_MAX;
    return EXACT_FIRST +
           shards * (EXACT_ENTRY + EXACT_HEAD + 8 * (uint64_t)ribbon_blocks_max(each));
}

uint64_t exact_expected_bytes(uint64_t n, uint64_t members)
{
    const uint64_t shards = exact_shards(n), each = n / shards;
    const uint64_t few = members <= n - members ? members : n - members;
    const uint64_t rare = (few + shards - 1) / shards;
    const uint32_t columns = best_first_level_columns(rare, each);
    const double second = second_level_ids((double)rare, (double)each, columns);
    const uint64_t blocks =
        rare == 0 ? 0
                  : (uint64_t)ribbon_blocks(rare) * columns + ribbon_blocks((uint64_t)ceil(second));
    return EXACT_FIRST + shards * (EXACT_ENTRY + EXACT_HEAD + 8 * blocks);
}

/* ---- a shard ---- */

struct exact_shard {
    bool rare; /* members are the rarer class */
    struct ribbon first, second;
    const uint8_t *slots; /* of `first`, then of `second` */
};

static inline struct exact_shard read_exact_shard(const uint8_t *at)
{
    return (struct exact_shard){.rare = get_u32_native(at) != 0,
                                .first = {.columns = get_u32_native(at + 4),
                                          .blocks = get_u32_native(at + 8),
                                          .seed = get_u32_native(at + 12)},
                                .second = {.columns = 1,
                                           .blocks = get_u32_native(at + 16),
                                           .seed = get_u32_native(at + 20)},
                                .slots = at + EXACT_HEAD};
}

static void write_exact_head(const struct exact_shard *s, uint8_t *out)
{
    const uint32_t head[] = {s->rare,       s->first.columns, s->first.blocks,
                             s->first.seed, s->second.blocks, s->second.seed};
    static_assert(sizeof head == EXACT_HEAD, "no padding");
    memcpy(out, head, sizeof head);
}

static inline bool passes_first_level(const struct exact_shard *s, uint64_t hash)
{
    if (s->first.blocks == 0) return true;
    const struct ribbon_row row = ribbon_row_of(&s->first, hash);
    return ribbon_value(&s->first, s->slots, &row) == row.fingerprint;
}

static inline bool is_member_of_shard(const struct exact_shard *s, uint64_t hash)
{
    bool rare = s->second.blocks > 0 && passes_first_level(s, hash);
    if (rare) {
        const struct ribbon_row row = ribbon_row_of(&s->second, hash);
        rare = ribbon_value(&s->second, s->slots + ribbon_bytes(&s->first), &row) != 0;
    }
    return rare == s->rare;
}

/* Lists the hashes of the rarer class, or, with a first level, all that pass it. Returns how many,
 * or UINT64_MAX if there are more than the most. */
static uint64_t list_hashes_of_level(const struct exact_shard *s, const uint64_t *hashes,
                                     const uint8_t *member, uint64_t ids, bool second,
                                     uint64_t most, uint64_t *out, uint8_t *out_value)
{
    uint64_t count = 0;
    for (uint64_t i = 0; i < ids; i++) {
        const bool rare = (member[i] != 0) == s->rare;
        if (!rare && (!second || !passes_first_level(s, hashes[i]))) continue;
        if (count == most) return UINT64_MAX;
        out[count] = hashes[i];
        out_value[count++] = rare;
    }
    return count;
}

uint64_t exact_solve(const struct exact_plan *plan, const uint64_t *hashes, const uint8_t *member,
                     uint64_t ids, uint8_t *memory, uint8_t *out)
{
    uint64_t members = 0;
    for (uint64_t i = 0; i < ids; i++) members += member[i];
    struct exact_shard s = {.rare = members <= ids - members,
                            .first.columns = (uint32_t)plan->columns,
                            .second.columns = 1,
                            .slots = out + EXACT_HEAD};
    uint8_t *solve = memory, *slots = out + EXACT_HEAD;
    uint64_t *list = (uint64_t *)(void *)(memory + ribbon_memory(plan->second_max));
    uint8_t *value = (uint8_t *)(list + plan->second_max);
    assert((uintptr_t)memory % 16 == 0 && plan->rare <= ids - plan->rare);
    if (plan->rare > 0 && plan->columns > 0) {
        const uint64_t count =
            list_hashes_of_level(&s, hashes, member, ids, false, plan->second_max, list, value);
        assert(count == plan->rare);
        if (!ribbon_solve(&s.first, list, NULL, count, solve, slots)) return 0;
    }
    if (plan->rare > 0) {
        const uint64_t count =
            list_hashes_of_level(&s, hashes, member, ids, true, plan->second_max, list, value);
        if (count == UINT64_MAX ||
            !ribbon_solve(&s.second, list, value, count, solve, slots + ribbon_bytes(&s.first)))
            return 0;
    }
    write_exact_head(&s, out);
    const uint64_t size = EXACT_HEAD + ribbon_bytes(&s.first) + ribbon_bytes(&s.second);
    assert(size <= plan->bytes_max && exact_is_shard_valid(out, size));
    return size;
}

bool exact_shard_agrees(const uint8_t *shard, const uint64_t *hashes, const uint8_t *member,
                        uint64_t ids)
{
    const struct exact_shard s = read_exact_shard(shard);
    uint64_t wrong = 0;
    for (uint64_t i = 0; i < ids; i++) wrong += is_member_of_shard(&s, hashes[i]) != member[i];
    return wrong == 0;
}

/* ---- checks ---- */

bool exact_is_shard_valid(const uint8_t *shard, uint64_t size)
{
    if (size < EXACT_HEAD) return false;
    const struct exact_shard s = read_exact_shard(shard);
    const bool levels =
        s.first.blocks == 0 ? s.first.columns == 0 : s.first.columns > 0 && s.second.blocks > 0;
    return get_u32_native(shard) <= 1 && levels && s.first.columns <= RIBBON_COLUMNS_MAX &&
           (s.first.blocks == 0 || s.first.blocks >= RIBBON_BLOCKS_MIN) &&
           (s.second.blocks == 0 || s.second.blocks >= RIBBON_BLOCKS_MIN) &&
           size == EXACT_HEAD + ribbon_bytes(&s.first) + ribbon_bytes(&s.second);
}

bool exact_is_valid(const struct bloom_params *params, const uint8_t *bits)
{
    const uint64_t size = bloom_bytes(params->m);
    if (size < EXACT_FIRST) return false;
    const uint64_t shards = get_u64_native(bits);
    if (shards == 0 || shards > FUSE_SHARDS_MAX || size < EXACT_FIRST + EXACT_ENTRY * shards)
        return false;
    uint64_t begin = EXACT_FIRST + EXACT_ENTRY * shards, all = 0;
    for (uint32_t i = 0; i < shards; i++) {
        const uint8_t *entry = bits + EXACT_FIRST + EXACT_ENTRY * i;
        const uint64_t end = get_u64_native(entry), members = get_u64_native(entry + 8),
                       ids = get_u64_native(entry + 16);
        if (end < begin || end > size || ids > FUSE_IDS_MAX || members > ids ||
            !exact_is_shard_valid(bits + begin, end - begin))
            return false;
        begin = end;
        all += members;
    }
    return begin == size && all == params->n;
}

/* ---- look-ups ---- */

static inline const uint8_t *exact_shard_at(const uint8_t *bits, uint64_t hash)
{
    const uint64_t shards = get_u64_native(bits);
    const uint32_t shard = fuse_shard_of(hash, shards);
    return bits + (shard == 0
                       ? EXACT_FIRST + EXACT_ENTRY * shards
                       : get_u64_native(bits + EXACT_FIRST + EXACT_ENTRY * (uint64_t)(shard - 1)));
}

bool exact_contains_hash(const uint8_t *bits, uint64_t hash)
{
    const struct exact_shard s = read_exact_shard(exact_shard_at(bits, hash));
    return is_member_of_shard(&s, hash);
}

uint64_t exact_count_universe_ids(const uint8_t *bits)
{
    const uint64_t shards = get_u64_native(bits);
    uint64_t ids = 0;
    for (uint64_t i = 0; i < shards; i++)
        ids += get_u64_native(bits + EXACT_FIRST + EXACT_ENTRY * i + 16);
    return ids;
}

static inline void prefetch_first_level(const struct exact_shard *s, uint64_t hash)
{
    const struct ribbon *first = s->first.blocks > 0 ? &s->first : &s->second;
    const struct ribbon_row row = ribbon_row_of(first, hash);
    const uint8_t *at = s->slots + row.start / RIBBON_BLOCK * 8 * first->columns;
    for (uint64_t line = 0; line < 24 * (uint64_t)first->columns; line += 64)
        __builtin_prefetch(at + line);
}

static void exact_contains_rows(const struct bloom_set *set, const struct bloom_rows *rows,
                                uint8_t *out_hit)
{
    struct exact_shard shard[BLOOM_GROUP];
    uint64_t hash[BLOOM_GROUP];
    for (uint32_t first = 0; first < rows->rows; first += BLOOM_GROUP) {
        const uint32_t left = rows->rows - first, count = left < BLOOM_GROUP ? left : BLOOM_GROUP;
        for (uint32_t r = 0; r < count; r++) {
            const uint32_t row = first + r;
            hash[r] = block_hash(set->scheme, rows->base + rows->start[row],
                                 rows->end[row] - rows->start[row]);
            shard[r] = read_exact_shard(
                exact_shard_at(set->bits + set->table->slot[rows->filter[row]].offset, hash[r]));
            if (!set->table->small && shard[r].second.blocks > 0)
                prefetch_first_level(&shard[r], hash[r]);
        }
        for (uint32_t r = 0; r < count; r++)
            out_hit[first + r] = is_member_of_shard(&shard[r], hash[r]);
    }
}

const struct bloom_kernel bloom_kernel_exact = {.contains = exact_contains_rows};
