/* Looks up every row in every filter, for any vector; included after lanes.h.
 *
 * The first hashes of a row are the same for all filters, so they are computed once, and each
 * filter only divides them. The rows that survive them, a quarter if half of the bits are set, are
 * tested by the sieve of the filter. */

enum { SHARED = 2 }; /* hashes that are computed once */
static_assert((int)BLOCK == (int)BLOOM_ALL_ROWS, "a call is one block");

struct shared {
    struct survivors rows; /* all rows, with filter 0 */
    uint32_t hash[SHARED][BLOCK + LANES];
};

/* Returns false if an id is not two words and a tail. */
LANES_FN bool load_shared_ids(enum bloom_scheme scheme, struct shared *shared,
                              const struct bloom_rows *rows)
{
    shared->rows.count = 0;
    for (uint32_t at = 0; at < rows->rows; at += LANES) {
        struct lane_rows lane;
        struct ids ids;
        lane_rows_load(&lane, rows, at);
        if (!all_have_two_words(lane.size)) return false;
        load_two_word_ids(scheme, &ids, rows->base, &lane);
        lane.filter = vec_set(0);
        survivors_start(&shared->rows, at, &ids, &lane);
        for (uint32_t s = 0; s < SHARED; s++)
            vec_store(shared->hash[s] + at, hash_ids_by_scheme(scheme, &ids, s, true));
    }
    return true;
}

/* Copies those of the rows at `from` that are in `mask` to `alive` at `to`. Returns how many. */
LANES_FN uint32_t append_masked_rows(const struct survivors *rows, uint32_t from, lanes filter,
                                     lanes_mask mask, struct survivors *alive, uint32_t to)
{
    vec_pack(alive->who + to, vec_add(vec_load(rows->who + from), filter), mask);
    vec_pack(alive->tail + to, vec_load(rows->tail + from), mask);
    vec_pack(alive->mixed[0] + to, vec_load(rows->mixed[0] + from), mask);
    vec_pack(alive->mixed[1] + to, vec_load(rows->mixed[1] + from), mask);
    return vec_count(mask);
}

/* Selects the rows whose first two bits are set in filter `f`. Packs the survivors in between: a
 * gather costs the same for unused lanes. */
LANES_FN void select_rows_of_filter(enum bloom_scheme scheme, const struct bloom_set *set,
                                    const struct shared *shared, uint32_t f,
                                    struct survivors *alive)
{
    const struct bloom_table *table = set->table;
    const struct divisors by = {vec_set(table->m[f]), vec_set(table->magic[f]),
                                vec_set(table->shift[f])};
    const lanes word = vec_set(table->word[f]), filter = vec_set(f << WHO_FILTER);
    const struct survivors *all = &shared->rows;
    uint32_t kept = 0, count = 0;
    for (uint32_t at = 0; at < all->count; at += LANES) {
        lanes index = index_of_hashes(scheme, vec_load(shared->hash[0] + at), &by);
        lanes_mask mask = bits_are_set(set, index, word, vec_first(all->count - at));
        vec_pack(alive->index + count, vec_load(shared->hash[1] + at), mask);
        count += append_masked_rows(all, at, filter, mask, alive, count);
    }
    for (uint32_t at = 0; at < count && set->k > 1; at += LANES) {
        lanes index = index_of_hashes(scheme, vec_load(alive->index + at), &by);
        lanes_mask mask = bits_are_set(set, index, word, vec_first(count - at));
        kept += append_masked_rows(alive, at, vec_set(0), mask, alive, kept);
    }
    alive->count = set->k > 1 ? kept : count;
}

LANES_FN bool contains_all_by_scheme(enum bloom_scheme scheme, const struct bloom_set *set,
                                     const struct bloom_rows *rows, uint8_t *out_hit,
                                     uint64_t stride)
{
    struct shared shared;
    struct survivors alive;
    const bool few = set->count <= 16;
    assert(rows->rows <= BLOCK);
    if (!load_shared_ids(scheme, &shared, rows)) return false;
    for (uint32_t f = 0; f < set->count; f++) {
        uint8_t *hit = out_hit + f * stride;
        select_rows_of_filter(scheme, set, &shared, f, &alive);
        for (uint32_t i = SHARED; i < set->k && alive.count > 0; i++) {
            if (few)
                test_survivors(scheme, set, &alive, i, true);
            else
                test_survivors(scheme, set, &alive, i, false);
        }
        memset(hit, 0, rows->rows);
        for (uint32_t i = 0; i < alive.count; i++) hit[alive.who[i] & ((1u << WHO_SIZE) - 1)] = 1;
    }
    return true;
}

/* Only if the bits fit in the cache: otherwise they have to be prefetched, as contains does. */
LANES_KERNEL bool lanes_contains_all(const struct bloom_set *set, const struct bloom_rows *rows,
                                     uint8_t *out_hit, uint64_t stride)
{
    if (!set->table->small) return false;
    switch (set->scheme) {
    case BLOOM_SPARK: return contains_all_by_scheme(BLOOM_SPARK, set, rows, out_hit, stride);
    case BLOOM_HADOOP: return contains_all_by_scheme(BLOOM_HADOOP, set, rows, out_hit, stride);
    default:
        assert(set->scheme == BLOOM_PLAIN);
        return contains_all_by_scheme(BLOOM_PLAIN, set, rows, out_hit, stride);
    }
}
