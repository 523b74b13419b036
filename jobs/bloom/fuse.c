/* Binary fuse filters: the construction of a shard, its check, and look-ups of one id or of many.
 *
 * With s = starts, L = segment and the mixed hash h of an id, its positions are
 *
 *     p0 = floor(h s / 2^64)    p1 = (p0 + L) ^ (h >> 18 mod L)    p2 = (p0 + 2 L) ^ (h mod L)
 *
 * and its fingerprint is the lowest bits of h ^ h >> 32; h = mix(hash + seed), MurmurHash3's
 * finalizer. The construction peels: an id that alone has one of its positions can be solved last,
 * by the fingerprint at this position; without it, others become alone. */
#include "jobs/bloom/fuse.h"

#include "jobs/bloom/block.h"

#include <math.h>

enum {
    ARITY = 3,
    SEGMENT_MAX = 1 << 18,
    TRIES = 1000,
    RADIX_BITS = 13,
    RADIX = 1 << RADIX_BITS,
    SORT_BITS = 2 * RADIX_BITS,
    COUNT_STEP = 4, /* of a cell's counter, whose lowest 2 bits are a sum of positions */
    TOGETHER = 4,   /* cells that are taken from the queue before the first is peeled */
    BLOCKS_LOG2_MAX = 11
};

/* ---- sizes ---- */

/* The sizes of the paper, as xorf computes them. */
struct fuse_size {
    uint32_t segment, starts, count;
};

static struct fuse_size size_of_shard(uint64_t ids)
{
    const double n = (double)ids;
    assert(ids <= FUSE_IDS_MAX);
    uint32_t segment = ids == 0 ? 4 : 1u << (uint32_t)floor(log(n) / log(3.33) + 2.25);
    if (segment > SEGMENT_MAX) segment = SEGMENT_MAX;
    const double factor = ids > 1 ? fmax(1.125, 0.875 + 0.25 * log(1e6) / log(n)) : 0;
    const uint32_t capacity = (uint32_t)round(n * factor);
    const uint32_t segments = (capacity + segment - 1) / segment;
    const uint32_t starts = segments < ARITY ? 1 : segments - (ARITY - 1);
    return (struct fuse_size){segment, starts * segment, (starts + ARITY - 1) * segment};
}

uint32_t fuse_shards(uint64_t n)
{
    const uint64_t shards = n >> FUSE_SHARD_LOG2;
    return shards == 0 ? 1 : shards > FUSE_SHARDS_MAX ? FUSE_SHARDS_MAX : (uint32_t)shards;
}

uint64_t fuse_shard_bytes(enum bloom_layout layout, uint64_t ids)
{
    return FUSE_HEAD + (uint64_t)size_of_shard(ids).count * fuse_width(layout);
}

uint64_t fuse_planned_bytes(enum bloom_layout layout, uint64_t n)
{
    const uint64_t shards = fuse_shards(n), each = n / shards + 1;
    if (each > FUSE_IDS_MAX) return UINT64_MAX;
    return FUSE_FIRST + shards * (FUSE_ENTRY + fuse_shard_bytes(layout, each));
}

/* ---- hashes ---- */

void fuse_hash_rows(enum bloom_scheme scheme, const struct bloom_rows *rows, uint64_t *out)
{
#if BLOOM_LANES
    if (bloom_level_available(BLOOM_AVX512)) {
        fuse_hash_rows_avx512(scheme, rows, out);
        return;
    }
#endif
    for (uint32_t r = 0; r < rows->rows; r++)
        out[r] = block_hash(scheme, rows->base + rows->start[r], rows->end[r] - rows->start[r]);
}

static inline uint64_t mix_key_with_seed(uint64_t key, uint64_t seed)
{
    uint64_t h = key + seed;
    h = (h ^ h >> 33) * 0xff51afd7ed558ccdu;
    h = (h ^ h >> 33) * 0xc4ceb9fe1a85ec53u;
    return h ^ h >> 33;
}

/* SplitMix64 (Steele, Lea, Flood, 2014). */
static uint64_t next_seed(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

static inline uint32_t fingerprint(uint64_t h)
{
    return (uint32_t)(h ^ h >> 32);
}

static inline void cell_positions_of_hash(uint64_t h, uint32_t segment, uint32_t starts,
                                          uint32_t out[ARITY])
{
    const uint32_t mask = segment - 1;
    out[0] = (uint32_t)((unsigned __int128)h * starts >> 64);
    out[1] = (out[0] + segment) ^ ((uint32_t)(h >> 18) & mask);
    out[2] = (out[0] + 2 * segment) ^ ((uint32_t)h & mask);
}

/* Sorts by the digit at `shift`. */
static void radix_pass(const uint64_t *from, uint64_t *to, uint64_t count, uint32_t shift)
{
    uint32_t starts[RADIX] = {0};
    for (uint64_t i = 0; i < count; i++) starts[from[i] >> shift & (RADIX - 1)]++;
    uint32_t sum = 0;
    for (uint32_t digit = 0; digit < RADIX; digit++) {
        const uint32_t size = starts[digit];
        starts[digit] = sum;
        sum += size;
    }
    for (uint64_t i = 0; i < count; i++) to[starts[from[i] >> shift & (RADIX - 1)]++] = from[i];
}

/* Sorts hashes with equal lower bits, which are adjacent, by the others. Few hashes have equal ones
 * unless they are equal, so moves are few; returns false if they are not. */
static bool sort_runs_of_equal_digits(uint64_t *hashes, uint64_t count)
{
    uint64_t moves = 0;
    for (uint64_t i = 1; i < count; i++) {
        const uint64_t hash = hashes[i];
        uint64_t at = i;
        for (; at > 0 && hashes[at - 1] > hash && (hashes[at - 1] ^ hash) << (64 - SORT_BITS) == 0;
             at--)
            hashes[at] = hashes[at - 1];
        hashes[at] = hash;
        moves += i - at;
        if (moves > 2 * count) return false;
    }
    return true;
}

uint64_t fuse_sort_unique(uint64_t *hashes, uint64_t count, uint64_t *scratch)
{
    uint64_t kept = 0;
    assert(count <= UINT32_MAX);
    static_assert(SORT_BITS == 2 * RADIX_BITS && 5 * RADIX_BITS >= 64, "two passes, or five");
    radix_pass(hashes, scratch, count, 0);
    radix_pass(scratch, hashes, count, RADIX_BITS);
    if (!sort_runs_of_equal_digits(hashes, count)) { /* by the upper bits first */
        radix_pass(hashes, scratch, count, 2 * RADIX_BITS);
        radix_pass(scratch, hashes, count, 3 * RADIX_BITS);
        radix_pass(hashes, scratch, count, 4 * RADIX_BITS);
        radix_pass(scratch, hashes, count, 0);
        radix_pass(hashes, scratch, count, RADIX_BITS);
        memcpy(hashes, scratch, count * sizeof *hashes);
    }
    for (uint64_t i = 0; i < count; i++) {
        hashes[kept] = hashes[i];
        kept += i + 1 == count || hashes[i] != hashes[i + 1];
    }
    return kept;
}

/* ---- construction ---- */

struct peeling {
    struct fuse_size size;
    uint64_t *order;  /* [ids] mixed hashes by place, then in the order in which they were peeled */
    uint64_t *sum;    /* [count] exclusive or of the hashes of a cell */
    uint32_t *alone;  /* [count] cells with one hash */
    uint8_t *counter; /* [count] */
    uint8_t *which;   /* [ids] the position at which a peeled hash was alone */
};

uint64_t fuse_solve_memory(uint64_t ids)
{
    const uint64_t cells = size_of_shard(ids).count;
    return ids * 9 + cells * 13 + 64;
}

static struct peeling place_peeling_in_memory(uint8_t *memory, uint64_t ids)
{
    struct peeling p = {.size = size_of_shard(ids)};
    assert((uintptr_t)memory % sizeof(uint64_t) == 0);
    p.order = (uint64_t *)(void *)memory;
    p.sum = p.order + ids;
    p.alone = (uint32_t *)(void *)(p.sum + p.size.count);
    p.counter = (uint8_t *)(p.alone + p.size.count);
    p.which = p.counter + p.size.count;
    return p;
}

/* Orders the hashes by their first position, roughly: the cells of neighbours are then in the
 * cache. */
static void order_hashes_by_position(struct peeling *p, const uint64_t *hashes, uint64_t ids,
                                     uint64_t seed)
{
    uint32_t log2 = 0, start[1 << BLOCKS_LOG2_MAX] = {0}, sum = 0;
    while (log2 < BLOCKS_LOG2_MAX && p->size.segment << log2 < p->size.count) log2++;
    for (uint64_t i = 0; log2 > 0 && i < ids; i++)
        start[mix_key_with_seed(hashes[i], seed) >> (64 - log2)]++;
    for (uint32_t block = 0; block < 1u << log2; block++) {
        const uint32_t size = start[block];
        start[block] = sum;
        sum += size;
    }
    for (uint64_t i = 0; i < ids; i++) {
        const uint64_t h = mix_key_with_seed(hashes[i], seed);
        p->order[start[log2 > 0 ? h >> (64 - log2) : 0]++] = h;
    }
}

/* The other positions of an id than the one at which it was found, of 0 to 2. */
static const uint8_t other_positions[ARITY][ARITY - 1] = {{1, 2}, {0, 2}, {0, 1}};

/* Returns false if a cell has more hashes than its counter can count. */
static bool count_hashes_per_cell(struct peeling *p, uint64_t ids)
{
    uint32_t at[ARITY], fits = COUNT_STEP;
    memset(p->counter, 0, p->size.count);
    memset(p->sum, 0, p->size.count * sizeof *p->sum);
    for (uint64_t i = 0; i < ids; i++) {
        const uint64_t h = p->order[i];
        cell_positions_of_hash(h, p->size.segment, p->size.starts, at);
        for (uint32_t j = 0; j < ARITY; j++) {
            const uint8_t counter = (uint8_t)((p->counter[at[j]] + COUNT_STEP) ^ j);
            p->counter[at[j]] = counter;
            p->sum[at[j]] ^= h;
            fits = counter < fits ? counter : fits;
        }
    }
    return fits == COUNT_STEP;
}

/* Peels the hash that is alone in the cell. Whether another cell becomes alone cannot be predicted:
 * it is always written behind the queue, which grows if it did. Returns what is queued. */
static inline uint32_t peel_cell(struct peeling *p, uint32_t cell, uint64_t peeled, uint32_t queued)
{
    uint32_t at[ARITY];
    const uint64_t h = p->sum[cell];
    const uint32_t found = p->counter[cell] % COUNT_STEP;
    assert(found < ARITY && queued + ARITY - 1 <= p->size.count);
    cell_positions_of_hash(h, p->size.segment, p->size.starts, at);
    p->order[peeled] = h;
    p->which[peeled] = (uint8_t)found;
    p->counter[cell] = 0;
    for (uint32_t i = 0; i < ARITY - 1; i++) {
        const uint32_t j = other_positions[found][i], other = at[j];
        const uint8_t counter = (uint8_t)((p->counter[other] - COUNT_STEP) ^ j);
        p->counter[other] = counter;
        p->sum[other] ^= h;
        p->alone[queued] = other;
        queued += counter / COUNT_STEP == 1;
    }
    return queued;
}

/* Peels as many hashes as possible, and returns how many. Some cells are taken at a time, so that
 * one need not wait for the cell before, and from the end, which is in the cache. */
static uint64_t peel_hashes(struct peeling *p)
{
    uint64_t peeled = 0;
    uint32_t queued = 0;
    for (uint32_t cell = 0; cell < p->size.count; cell++) {
        p->alone[queued] = cell;
        queued += p->counter[cell] / COUNT_STEP == 1;
    }
    while (queued > 0) {
        uint32_t cells[TOGETHER];
        const uint32_t some = queued < TOGETHER ? queued : TOGETHER;
        queued -= some;
        memcpy(cells, p->alone + queued, some * sizeof *cells);
        for (uint32_t i = 0; i < some; i++)
            if (p->counter[cells[i]] / COUNT_STEP == 1)
                queued = peel_cell(p, cells[i], peeled++, queued);
    }
    return peeled;
}

static void write_shard_head(const struct fuse_size *size, uint64_t seed, uint8_t *out)
{
    const uint32_t lengths[] = {size->segment, size->segment - 1, size->starts};
    const uint64_t count = size->count;
    memcpy(out, &seed, sizeof seed);
    memcpy(out + 8, lengths, sizeof lengths);
    memcpy(out + 20, &count, sizeof count);
}

static inline uint32_t load_fingerprint(const uint8_t *cells, uint32_t at, uint32_t width)
{
    uint16_t two;
    if (width == 1) return cells[at];
    memcpy(&two, cells + 2 * (uint64_t)at, sizeof two);
    return two;
}

/* The hash that was peeled last comes first: the cell where another one was alone is then free, and
 * 0. */
static void assign_fingerprints(const struct peeling *p, uint64_t ids, uint32_t width,
                                uint8_t *cells)
{
    uint32_t at[ARITY];
    memset(cells, 0, (uint64_t)p->size.count * width);
    for (uint64_t i = ids; i-- > 0;) {
        cell_positions_of_hash(p->order[i], p->size.segment, p->size.starts, at);
        uint32_t value = fingerprint(p->order[i]);
        for (uint32_t j = 0; j < ARITY; j++) value ^= load_fingerprint(cells, at[j], width);
        const uint16_t two = (uint16_t)value;
        if (width == 1)
            cells[at[p->which[i]]] = (uint8_t)value;
        else
            memcpy(cells + 2 * (uint64_t)at[p->which[i]], &two, sizeof two);
    }
}

/* With the seed of this number. */
static bool solve_with_seed(enum bloom_layout layout, uint64_t seed, const uint64_t *hashes,
                            uint64_t ids, uint8_t *memory, uint8_t *out)
{
    struct peeling p = place_peeling_in_memory(memory, ids);
    order_hashes_by_position(&p, hashes, ids, seed);
    if (!count_hashes_per_cell(&p, ids) || peel_hashes(&p) != ids) return false;
    write_shard_head(&p.size, seed, out);
    assign_fingerprints(&p, ids, fuse_width(layout), out + FUSE_HEAD);
    assert(fuse_is_shard_valid(layout, out, fuse_shard_bytes(layout, ids)));
    return true;
}

/* A hash that is there twice is alone in no cell, so that no seed has a solution: without the time
 * to sort them, the first seed says whether there may be any. */
bool fuse_solve(enum bloom_layout layout, uint64_t *hashes, uint64_t *ids, uint8_t *memory,
                uint8_t *out)
{
    uint64_t state = 1;
    const uint64_t first = next_seed(&state), count = *ids;
    if (solve_with_seed(layout, first, hashes, count, memory, out)) return true;
    *ids = fuse_sort_unique(hashes, count, (uint64_t *)(void *)memory);
    if (*ids < count) state = 1;
    for (uint32_t i = 0; i < TRIES; i++)
        if (solve_with_seed(layout, next_seed(&state), hashes, *ids, memory, out)) return true;
    return false;
}

/* ---- checks ---- */

bool fuse_is_shard_valid(enum bloom_layout layout, const uint8_t *shard, uint64_t size)
{
    if (size < FUSE_HEAD) return false;
    const uint32_t segment = get_u32_native(shard + 8), mask = get_u32_native(shard + 12);
    const uint64_t starts = get_u32_native(shard + 16), count = get_u64_native(shard + 20);
    return segment > 0 && segment <= SEGMENT_MAX && (segment & (segment - 1)) == 0 &&
           mask == segment - 1 && starts > 0 && starts % segment == 0 &&
           count == starts + (ARITY - 1) * (uint64_t)segment && count <= UINT32_MAX &&
           size == FUSE_HEAD + count * fuse_width(layout);
}

bool fuse_is_valid(const struct bloom_params *params, const uint8_t *bits)
{
    const uint64_t size = bloom_bytes(params->m);
    if (size < FUSE_FIRST) return false;
    const uint64_t shards = get_u64_native(bits);
    if (shards == 0 || shards > FUSE_SHARDS_MAX || size < FUSE_FIRST + FUSE_ENTRY * shards)
        return false;
    uint64_t begin = FUSE_FIRST + FUSE_ENTRY * shards, ids = 0;
    for (uint32_t i = 0; i < shards; i++) {
        const uint8_t *entry = bits + FUSE_FIRST + FUSE_ENTRY * i;
        const uint64_t end = get_u64_native(entry), own = get_u64_native(entry + 8);
        if (end < begin || end > size || own > FUSE_IDS_MAX ||
            !fuse_is_shard_valid(params->layout, bits + begin, end - begin))
            return false;
        begin = end;
        ids += own;
    }
    return begin == size && ids == params->n;
}

/* ---- look-ups ---- */

struct fuse_probe {
    const uint8_t *cells;
    uint32_t at[ARITY], print;
};

static inline struct fuse_probe probe_of_hash(const uint8_t *bits, uint64_t hash)
{
    const uint8_t *shard = fuse_shard_at(bits, hash);
    const uint64_t h = mix_key_with_seed(hash, get_u64_native(shard));
    struct fuse_probe probe = {.cells = shard + FUSE_HEAD, .print = fingerprint(h)};
    cell_positions_of_hash(h, get_u32_native(shard + 8), get_u32_native(shard + 16), probe.at);
    return probe;
}

static inline bool test_probe(const struct fuse_probe *probe, uint32_t width)
{
    uint32_t value = probe->print;
    for (uint32_t j = 0; j < ARITY; j++)
        value ^= load_fingerprint(probe->cells, probe->at[j], width);
    return (width == 1 ? (uint8_t)value : (uint16_t)value) == 0;
}

bool fuse_contains_hash(enum bloom_layout layout, const uint8_t *bits, uint64_t hash)
{
    const struct fuse_probe probe = probe_of_hash(bits, hash);
    return test_probe(&probe, fuse_width(layout));
}

static inline __attribute__((always_inline)) void
contains_rows_of_width(const struct bloom_set *set, const struct bloom_rows *rows, uint8_t *out_hit,
                       uint32_t width)
{
    struct fuse_probe probe[BLOOM_GROUP];
    for (uint32_t first = 0; first < rows->rows; first += BLOOM_GROUP) {
        const uint32_t left = rows->rows - first, count = left < BLOOM_GROUP ? left : BLOOM_GROUP;
        for (uint32_t r = 0; r < count; r++) {
            const uint32_t row = first + r;
            const uint64_t hash = block_hash(set->scheme, rows->base + rows->start[row],
                                             rows->end[row] - rows->start[row]);
            probe[r] = probe_of_hash(set->bits + set->table->slot[rows->filter[row]].offset, hash);
            for (uint32_t j = 0; !set->table->small && j < ARITY; j++)
                __builtin_prefetch(probe[r].cells + (uint64_t)probe[r].at[j] * width);
        }
        for (uint32_t r = 0; r < count; r++) out_hit[first + r] = test_probe(&probe[r], width);
    }
}

static void fuse_contains_rows(const struct bloom_set *set, const struct bloom_rows *rows,
                               uint8_t *out_hit)
{
    if (set->layout == BLOOM_FUSE8)
        contains_rows_of_width(set, rows, out_hit, 1);
    else
        contains_rows_of_width(set, rows, out_hit, 2);
}

const struct bloom_kernel bloom_kernel_fuse = {.contains = fuse_contains_rows};
