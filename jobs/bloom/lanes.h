/* The hot loops with one row per vector lane, for any vector: kernel_avx2.c and kernel_avx512.c
 * define the primitives below and include this file. Lanes are rows, not seeds: mixing is done once
 * per row, and one multiplication processes as many rows as there are lanes.
 *
 *   LANES              rows per vector, divides BLOOM_GROUP
 *   LANES_FN           attributes of every function: inline, and the instruction set
 *   LANES_KERNEL       the same for functions that are called through the table
 *   lanes, lanes_mask  the vector of uint32_t, and a boolean per lane
 *   l_*                arithmetic, as each name says; vec_signs is -1 where x < 0, else 0
 *   vec_column           table[lane] from a column padded to 16; `few`: it is not longer than 16
 *   vec_words            the 16 bytes at base + start[lane] + offset, as word 0..3 of every lane
 *   vec_gather           the word at base[lane]; lanes outside `mask` are not read
 *   vec_pack             stores the lanes of `mask` without gaps; writes a whole vector
 *
 * Ids of 8 to 11 bytes (two words and a tail) have a separate fast path; lengths up to 63 bytes may
 * be mixed; rows with longer ids are processed by the scalar kernel, in place. */

enum { LANES_ID_MAX = 63, LANES_WORDS = 15 };

/* Input of the hashes for LANES rows. */
struct ids {
    lanes size;
    lanes whole; /* words that are mixed into the state: size / 4 */
    lanes tail;  /* the bytes after them: for murmur3 mixed, for murmur2 as Java adds them */
    lanes mixed[LANES_WORDS];
    uint32_t words; /* of the longest */
};

/* The columns of the set's table, per lane. */
struct divisors {
    lanes m, magic, shift;
};

/* ---- loading ---- */

/* Rows first .. first + LANES - 1 of a batch; a short group is padded with copies of `first`, so
 * that every lane has readable input. */
struct lane_rows {
    uint32_t start[LANES];
    lanes size, filter;
    uint32_t count; /* without the padding */
};

LANES_FN void lane_rows_load(struct lane_rows *out, const struct bloom_rows *rows, uint32_t first)
{
    uint32_t left = rows->rows - first;
    assert(first < rows->rows);
    out->count = left < LANES ? left : LANES;
    if (left >= LANES) {
        lanes start = vec_load(rows->start + first);
        vec_store(out->start, start);
        out->size = vec_sub(vec_load(rows->end + first), start);
        out->filter = vec_load_u16(rows->filter + first);
        return;
    }
    uint32_t size[LANES], filter[LANES];
    for (uint32_t i = 0; i < LANES; i++) {
        uint32_t row = first + (i < left ? i : 0);
        out->start[i] = rows->start[row];
        size[i] = rows->end[row] - rows->start[row];
        filter[i] = rows->filter[row];
    }
    out->size = vec_load(size);
    out->filter = vec_load(filter);
}

LANES_FN lanes murmur_mix_words(enum bloom_scheme scheme, lanes word)
{
    if (scheme != BLOOM_HADOOP)
        return vec_mul(vec_rotl(vec_mul(word, vec_set(MURMUR3_C1)), 15), vec_set(MURMUR3_C2));
    word = vec_mul(word, vec_set(MURMUR2_M));
    return vec_mul(vec_xor(word, vec_srl(word, 24)), vec_set(MURMUR2_M));
}

/* The word after the whole ones, in the form that the hash adds. */
LANES_FN lanes murmur_mix_tails(enum bloom_scheme scheme, lanes word, lanes size)
{
    lanes bits = vec_sll(vec_and(size, vec_set(3)), 3);
    lanes tail = vec_and(word, vec_sub(vec_sllv(vec_set(1), bits), vec_set(1)));
    if (scheme != BLOOM_HADOOP) return murmur_mix_words(scheme, tail);
    /* As in Java: the last byte is the lowest, and a byte above 127 flips all bits above its own.
     */
    tail = vec_srlv(vec_byteswap(tail), vec_sub(vec_set(32), bits));
    lanes last = vec_sll(vec_and(tail, vec_set(0x80)), 1);
    lanes middle = vec_sll(vec_and(tail, vec_set(0x8000)), 1);
    lanes top = vec_sll(vec_and(tail, vec_set(0x800000)), 1);
    lanes flips = vec_xor(vec_sub(vec_set(0), last),
                          vec_xor(vec_sub(vec_set(0), middle), vec_sub(vec_set(0), top)));
    return vec_xor(tail, flips);
}

LANES_FN bool all_have_two_words(lanes size)
{
    return vec_all(vec_equal(vec_and(size, vec_set(~3u)), vec_set(8)));
}

LANES_FN void load_two_word_ids(enum bloom_scheme scheme, struct ids *ids, const uint8_t *base,
                                const struct lane_rows *rows)
{
    lanes word[4];
    vec_words(base, rows->start, 0, word);
    ids->size = rows->size;
    ids->mixed[0] = murmur_mix_words(scheme, word[0]);
    ids->mixed[1] = murmur_mix_words(scheme, word[1]);
    ids->tail = murmur_mix_tails(scheme, word[2], rows->size);
}

/* Rows of more than LANES_ID_MAX bytes get undefined values; no more than that many bytes are read.
 */
LANES_FN void load_ids_any_size(enum bloom_scheme scheme, struct ids *ids, const uint8_t *base,
                                const struct lane_rows *rows)
{
    ids->size = rows->size;
    ids->whole = vec_srl(rows->size, 2);
    ids->words = 0;
    while (ids->words < LANES_WORDS && !vec_none(vec_less(vec_set(ids->words), ids->whole)))
        ids->words++;
    lanes tail = vec_set(0);
    for (uint32_t first = 0; first <= ids->words; first += 4) {
        lanes word[4];
        vec_words(base, rows->start, 4 * first, word);
        for (uint32_t w = first; w < first + 4; w++) {
            tail = vec_select(vec_equal(vec_set(w), ids->whole), word[w - first], tail);
            if (w < LANES_WORDS) ids->mixed[w] = murmur_mix_words(scheme, word[w - first]);
        }
    }
    ids->tail = murmur_mix_tails(scheme, tail, rows->size);
}

/* ---- hashing ---- */

/* `two`: every id has two whole words and needs no mask. */
LANES_FN lanes murmur3_of_ids(const struct ids *ids, uint32_t seed, bool two)
{
    lanes h = vec_set(seed);
    uint32_t words = two ? 2 : ids->words;
    for (uint32_t w = 0; w < words; w++) {
        lanes next = vec_rotl(vec_xor(h, ids->mixed[w]), 13);
        next = vec_add(vec_add(next, vec_sll(next, 2)), vec_set(MURMUR3_ADD));
        h = two ? next : vec_select(vec_less(vec_set(w), ids->whole), next, h);
    }
    h = vec_xor(h, vec_xor(ids->tail, ids->size));
    h = vec_mul(vec_xor(h, vec_srl(h, 16)), vec_set(MURMUR3_F1));
    h = vec_mul(vec_xor(h, vec_srl(h, 13)), vec_set(MURMUR3_F2));
    return vec_xor(h, vec_srl(h, 16));
}

LANES_FN lanes murmur2_of_ids(const struct ids *ids, uint32_t seed, bool two)
{
    lanes h = vec_xor(vec_set(seed), ids->size);
    uint32_t words = two ? 2 : ids->words;
    for (uint32_t w = 0; w < words; w++) {
        lanes next = vec_xor(vec_mul(h, vec_set(MURMUR2_M)), ids->mixed[w]);
        h = two ? next : vec_select(vec_less(vec_set(w), ids->whole), next, h);
    }
    lanes_mask no_tail = vec_equal(vec_and(ids->size, vec_set(3)), vec_set(0));
    h = vec_select(no_tail, h, vec_mul(vec_xor(h, ids->tail), vec_set(MURMUR2_M)));
    h = vec_mul(vec_xor(h, vec_srl(h, 13)), vec_set(MURMUR2_M));
    return vec_xor(h, vec_srl(h, 15));
}

/* ---- modulo ---- */

LANES_FN struct divisors load_filter_divisors(const struct bloom_table *table, lanes filter,
                                              bool few)
{
    return (struct divisors){.m = vec_column(table->m, filter, few),
                             .magic = vec_column(table->magic, filter, few),
                             .shift = vec_column(table->shift, filter, few)};
}

/* n mod m for n <= 2^31: the magic number ceil(2^(32 + shift) / m) is exact for these. */
LANES_FN lanes mod_31_bits(lanes n, const struct divisors *by)
{
    lanes quotient = vec_srlv(vec_mulhi(n, by->magic), by->shift);
    return vec_sub(n, vec_mul(quotient, by->m));
}

/* n mod m for all n, with a magic number of 33 bits, whose top bit is added separately. */
LANES_FN lanes mod_32_bits(lanes n, const struct divisors *by)
{
    lanes high = vec_mulhi(n, by->magic);
    lanes quotient = vec_srlv(vec_add(high, vec_srl(vec_sub(n, high), 1)), by->shift);
    return vec_sub(n, vec_mul(quotient, by->m));
}

LANES_FN lanes hash_ids_by_scheme(enum bloom_scheme scheme, const struct ids *ids, uint32_t seed,
                                  bool two)
{
    return scheme == BLOOM_HADOOP ? murmur2_of_ids(ids, seed, two) : murmur3_of_ids(ids, seed, two);
}

LANES_FN lanes index_of_hashes(enum bloom_scheme scheme, lanes h, const struct divisors *by)
{
    if (scheme == BLOOM_HADOOP) return mod_31_bits(vec_abs(h), by);
    if (scheme == BLOOM_PLAIN) return mod_32_bits(h, by);
    lanes sign = vec_signs(h); /* floor modulo of a negative h is m - 1 - (~h mod m) */
    return vec_add(vec_xor(mod_31_bits(vec_xor(h, sign), by), sign), vec_and(sign, by->m));
}

LANES_FN lanes index_of_ids(enum bloom_scheme scheme, const struct ids *ids, uint32_t seed,
                            const struct divisors *by, bool two)
{
    return index_of_hashes(scheme, hash_ids_by_scheme(scheme, ids, seed, two), by);
}

/* ---- add and indexes ---- */

LANES_FN bool is_any_id_long(lanes size)
{
    return !vec_all(vec_less(size, vec_set(LANES_ID_MAX + 1)));
}

/* The k indexes plus `add` of rows first .. first + LANES - 1: hash i of row r at out[i *
 * BLOOM_GROUP + r]. */
LANES_FN void hash_vector_of_rows(enum bloom_scheme scheme, const struct bloom_set *set,
                                  const struct bloom_rows *rows, uint32_t first, bool absolute,
                                  uint32_t *out)
{
    struct lane_rows lane;
    struct ids ids;
    lane_rows_load(&lane, rows, first);
    bool few = set->count <= 16;
    struct divisors by = load_filter_divisors(set->table, lane.filter, few);
    lanes add = vec_set(0);
    if (absolute) add = vec_sll(vec_column(set->table->word, lane.filter, few), 5);
    if (all_have_two_words(lane.size)) {
        load_two_word_ids(scheme, &ids, rows->base, &lane);
        for (uint32_t i = 0; i < set->k; i++)
            vec_store(out + i * BLOOM_GROUP,
                      vec_add(add, index_of_ids(scheme, &ids, i, &by, true)));
        return;
    }
    load_ids_any_size(scheme, &ids, rows->base, &lane);
    for (uint32_t i = 0; i < set->k; i++)
        vec_store(out + i * BLOOM_GROUP, vec_add(add, index_of_ids(scheme, &ids, i, &by, false)));
    for (uint32_t r = 0; is_any_id_long(lane.size) && r < lane.count; r++) {
        uint32_t row = first + r;
        if (rows->end[row] - rows->start[row] <= LANES_ID_MAX) continue;
        uint32_t offset = absolute ? set->table->word[rows->filter[row]] << 5 : 0;
        bloom_row_indexes(set, rows, row, offset, out + r, BLOOM_GROUP);
    }
}

LANES_FN void hash_group_by_scheme(enum bloom_scheme scheme, const struct bloom_set *set,
                                   const struct bloom_rows *rows, uint32_t first, bool absolute,
                                   uint32_t *out)
{
    for (uint32_t at = first; at < first + BLOOM_GROUP && at < rows->rows; at += LANES)
        hash_vector_of_rows(scheme, set, rows, at, absolute, out + (at - first));
}

/* Processes up to 16 rows from `first` on; returns how many. Not inline: the callers would contain
 * 18 copies. */
LANES_KERNEL __attribute__((noinline)) uint32_t hash_group(const struct bloom_set *set,
                                                           const struct bloom_rows *rows,
                                                           uint32_t first, bool absolute,
                                                           uint32_t *out)
{
    switch (set->scheme) {
    case BLOOM_SPARK: hash_group_by_scheme(BLOOM_SPARK, set, rows, first, absolute, out); break;
    case BLOOM_HADOOP: hash_group_by_scheme(BLOOM_HADOOP, set, rows, first, absolute, out); break;
    default:
        assert(set->scheme == BLOOM_PLAIN);
        hash_group_by_scheme(BLOOM_PLAIN, set, rows, first, absolute, out);
    }
    uint32_t left = rows->rows - first;
    return left < BLOOM_GROUP ? left : BLOOM_GROUP;
}

LANES_FN void add_rows_with_k(struct bloom_adder *adder, const struct bloom_rows *rows, uint32_t k)
{
    const struct bloom_set *set = adder->set;
    bool absolute = set->bytes <= UINT32_MAX / 8; /* bit numbers in the whole area fit in a lane */
    for (uint32_t first = 0; first < rows->rows; first += BLOOM_GROUP) {
        struct bloom_hashed *group = adder_next_group(adder);
        group->rows = hash_group(set, rows, first, absolute, group->index.narrow[0]);
        for (uint32_t r = 0; r < BLOOM_GROUP; r++) group->base[r] = set->bits;
        for (uint32_t r = 0; !absolute && r < group->rows; r++)
            group->base[r] += set->table->slot[rows->filter[first + r]].offset;
        adder_push_group(adder, k, false);
    }
}

/* The common numbers of hashes as constants, so that the loops over a row's bits are unrolled. */
LANES_KERNEL void lanes_add(struct bloom_adder *adder, const struct bloom_rows *rows)
{
    switch (adder->set->k) {
    case 4: add_rows_with_k(adder, rows, 4); return;
    case 5: add_rows_with_k(adder, rows, 5); return;
    case 7: add_rows_with_k(adder, rows, 7); return;
    case 10: add_rows_with_k(adder, rows, 10); return;
    default: add_rows_with_k(adder, rows, adder->set->k);
    }
}

LANES_KERNEL void lanes_indexes(const struct bloom_set *set, const struct bloom_rows *rows,
                                uint32_t *out_indexes)
{
    uint32_t narrow[BLOOM_K_MAX * BLOOM_GROUP];
    for (uint32_t first = 0; first < rows->rows; first += BLOOM_GROUP) {
        uint32_t count = hash_group(set, rows, first, false, narrow);
        for (uint32_t r = 0; r < count; r++)
            for (uint32_t i = 0; i < set->k; i++) *out_indexes++ = narrow[i * BLOOM_GROUP + r];
    }
}

/* ---- contains ---- */

/* Rows whose bits were all set so far, without gaps: one column per value that the next hash needs,
 * and few of them, because each is moved once per hash. The columns of a block fit in the L1 cache.
 */
enum { BLOCK = 512, ROWS_AHEAD = 64 };

/* The identity of a survivor in one column: its row in the block, its size, its filter. */
enum { WHO_SIZE = 9, WHO_FILTER = 13 };
static_assert(BLOCK <= 1 << WHO_SIZE, "a row of the block fits");
static_assert(12 <= 1 << (WHO_FILTER - WHO_SIZE), "sizes of two words and a tail fit");
static_assert(BLOOM_SET_MAX <= 1 << (32 - WHO_FILTER), "a filter's number fits");

struct survivors {
    uint32_t who[BLOCK + LANES], index[BLOCK + LANES];
    uint32_t tail[BLOCK + LANES], mixed[2][BLOCK + LANES];
    uint32_t count;
};

LANES_FN lanes survivor_filter(lanes who)
{
    return vec_srl(who, WHO_FILTER);
}

LANES_FN lanes_mask bits_are_set(const struct bloom_set *set, lanes index, lanes word,
                                 lanes_mask mask)
{
    lanes found = vec_gather(set->bits, vec_add(word, vec_srl(index, 5)), mask);
    lanes bit = vec_sllv(vec_set(1), vec_and(index, vec_set(31)));
    return vec_mask_and(mask, vec_test(found, bit));
}

/* All rows of a vector start as survivors; `row` is the first one's number in the block. */
LANES_FN void survivors_start(struct survivors *alive, uint32_t row, const struct ids *ids,
                              const struct lane_rows *lane)
{
    uint32_t at = alive->count;
    lanes who = vec_add(vec_set(row), vec_numbers());
    who = vec_add(who, vec_sll(ids->size, WHO_SIZE));
    vec_store(alive->who + at, vec_add(who, vec_sll(lane->filter, WHO_FILTER)));
    vec_store(alive->tail + at, ids->tail);
    vec_store(alive->mixed[0] + at, ids->mixed[0]);
    vec_store(alive->mixed[1] + at, ids->mixed[1]);
    alive->count += lane->count;
    assert(alive->count <= BLOCK);
}

LANES_FN lanes survivors_index(enum bloom_scheme scheme, const struct bloom_set *set,
                               const struct survivors *alive, uint32_t at, uint32_t seed, bool few)
{
    struct ids ids;
    lanes who = vec_load(alive->who + at);
    ids.size = vec_and(vec_srl(who, WHO_SIZE), vec_set((1u << (WHO_FILTER - WHO_SIZE)) - 1));
    ids.tail = vec_load(alive->tail + at);
    ids.mixed[0] = vec_load(alive->mixed[0] + at);
    ids.mixed[1] = vec_load(alive->mixed[1] + at);
    struct divisors by = load_filter_divisors(set->table, survivor_filter(who), few);
    return index_of_ids(scheme, &ids, seed, &by, true);
}

LANES_FN void survivors_prefetch(const struct survivors *alive, uint32_t at, uint32_t count,
                                 const struct bloom_set *set)
{
    for (uint32_t i = at; i < at + LANES && i < count; i++)
        __builtin_prefetch(set->bits + 4 * (uint64_t)set->table->word[alive->who[i] >> WHO_FILTER] +
                           alive->index[i] / 8);
}

/* Appends those of the vector at `at` whose bit is set to the survivors. */
LANES_FN void survivors_keep(struct survivors *alive, const struct bloom_set *set, lanes index,
                             uint32_t at, uint32_t *kept, bool few)
{
    uint32_t to = *kept;
    assert(to <= at);
    lanes who = vec_load(alive->who + at);
    lanes word = vec_column(set->table->word, survivor_filter(who), few);
    lanes_mask mask = bits_are_set(set, index, word, vec_first(alive->count - at));
    vec_pack(alive->who + to, who, mask);
    vec_pack(alive->tail + to, vec_load(alive->tail + at), mask);
    vec_pack(alive->mixed[0] + to, vec_load(alive->mixed[0] + at), mask);
    vec_pack(alive->mixed[1] + to, vec_load(alive->mixed[1] + at), mask);
    *kept += vec_count(mask);
}

/* Tests one more hash of all survivors; removes those whose bit is not set. */
LANES_FN void test_survivors(enum bloom_scheme scheme, const struct bloom_set *set,
                             struct survivors *alive, uint32_t seed, bool few)
{
    uint32_t kept = 0;
    for (uint32_t at = 0; at < alive->count; at += LANES)
        survivors_keep(alive, set, survivors_index(scheme, set, alive, at, seed, few), at, &kept,
                       few);
    alive->count = kept;
}

/* If the set is larger than the L2 cache, prefetches a bit while the bits of earlier rows are
 * tested. */
LANES_FN void test_survivors_with_prefetch(enum bloom_scheme scheme, const struct bloom_set *set,
                                           struct survivors *alive, uint32_t seed, bool few)
{
    uint32_t count = alive->count, kept = 0;
    for (uint32_t next = 0; next < count + ROWS_AHEAD; next += LANES) {
        if (next < count) {
            vec_store(alive->index + next, survivors_index(scheme, set, alive, next, seed, few));
            survivors_prefetch(alive, next, count, set);
        }
        if (next < ROWS_AHEAD || next - ROWS_AHEAD >= count) continue;
        uint32_t at = next - ROWS_AHEAD;
        survivors_keep(alive, set, vec_load(alive->index + at), at, &kept, few);
    }
    alive->count = kept;
}

/* Rows of other lengths: tests all hashes at once, until every lane has failed. */
LANES_FN void contains_ids_any_size(enum bloom_scheme scheme, const struct bloom_set *set,
                                    const struct bloom_rows *rows, uint32_t first,
                                    const struct lane_rows *lane, uint8_t *out_hit)
{
    bool few = set->count <= 16;
    struct divisors by = load_filter_divisors(set->table, lane->filter, few);
    lanes word = vec_column(set->table->word, lane->filter, few);
    struct ids ids;
    load_ids_any_size(scheme, &ids, rows->base, lane);
    lanes_mask mask = vec_first(lane->count);
    for (uint32_t i = 0; i < set->k && !vec_none(mask); i++)
        mask = bits_are_set(set, index_of_ids(scheme, &ids, i, &by, false), word, mask);
    uint32_t hits = vec_bits(mask);
    for (uint32_t r = 0; r < lane->count; r++) out_hit[first + r] = hits >> r & 1;
    for (uint32_t r = 0; is_any_id_long(lane->size) && r < lane->count; r++) {
        uint32_t row = first + r, size = rows->end[row] - rows->start[row];
        if (size <= LANES_ID_MAX) continue;
        struct bloom_filter filter = bloom_set_filter(set, rows->filter[row]);
        out_hit[row] = bloom_contains(&filter, rows->base + rows->start[row], size);
    }
}

LANES_FN void lanes_contains_block(enum bloom_scheme scheme, const struct bloom_set *set,
                                   const struct bloom_rows *rows, uint32_t first, uint32_t end,
                                   uint8_t *out_hit)
{
    struct survivors alive;
    alive.count = 0;
    for (uint32_t at = first; at < end; at += LANES) {
        struct lane_rows lane;
        lane_rows_load(&lane, rows, at);
        if (!all_have_two_words(lane.size)) {
            contains_ids_any_size(scheme, set, rows, at, &lane, out_hit);
            continue;
        }
        struct ids ids;
        load_two_word_ids(scheme, &ids, rows->base, &lane);
        survivors_start(&alive, at - first, &ids, &lane);
    }
    bool few = set->count <= 16, near = set->table->small;
    for (uint32_t i = 0; i < set->k && alive.count > 0; i++) {
        if (near && few)
            test_survivors(scheme, set, &alive, i, true);
        else if (near)
            test_survivors(scheme, set, &alive, i, false);
        else
            test_survivors_with_prefetch(scheme, set, &alive, i, few);
    }
    for (uint32_t i = 0; i < alive.count; i++)
        out_hit[first + (alive.who[i] & ((1u << WHO_SIZE) - 1))] = 1;
}

LANES_FN void contains_by_scheme(enum bloom_scheme scheme, const struct bloom_set *set,
                                 const struct bloom_rows *rows, uint8_t *out_hit)
{
    memset(out_hit, 0, rows->rows);
    for (uint32_t first = 0; first < rows->rows; first += BLOCK) {
        uint32_t left = rows->rows - first;
        lanes_contains_block(scheme, set, rows, first, first + (left < BLOCK ? left : BLOCK),
                             out_hit);
    }
}

LANES_KERNEL void lanes_contains_rows(const struct bloom_set *set, const struct bloom_rows *rows,
                                      uint8_t *out_hit)
{
    switch (set->scheme) {
    case BLOOM_SPARK: contains_by_scheme(BLOOM_SPARK, set, rows, out_hit); return;
    case BLOOM_HADOOP: contains_by_scheme(BLOOM_HADOOP, set, rows, out_hit); return;
    default:
        assert(set->scheme == BLOOM_PLAIN);
        contains_by_scheme(BLOOM_PLAIN, set, rows, out_hit);
    }
}
