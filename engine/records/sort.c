/* A stable MSD radix sort that skips bytes in which all entries are equal; then groups of equal
 * prefixes are sorted by the next eight bytes of their keys. Entries that are in order, or two
 * ranges in order, are merged. */
#include "engine/records/sort.h"

#include "engine/limits.h"

#include <string.h>

#define SMALL_COUNT 48u /* groups up to this size use insertion sort */
#define DEPTH_MAX   64u /* bytes of common prefix; beyond, whole keys are compared */
#define KEYS_AHEAD  16u /* distance at which keys of a group are prefetched, in entries */

struct sorter {
    struct sort_entry *scratch;
    bool descending;
    uint64_t covered; /* entries with equal prefixes are equal in so many bytes of their keys */
    const struct sort_keys *keys;
};

static struct glint_slice sort_entry_key(const struct sorter *s, const struct sort_entry *e)
{
    return s->keys->get(s->keys->arg, sort_entry_reference(e));
}

/* Returns a positive number if `a` sorts after `b`. */
static int compare_sort_entries(const struct sorter *s, const struct sort_entry *a,
                                const struct sort_entry *b)
{
    uint32_t pa = sort_entry_partition(a), pb = sort_entry_partition(b);
    if (pa != pb) return pa > pb ? 1 : -1;
    if (a->prefix != b->prefix) return a->prefix > b->prefix ? 1 : -1;
    if (s->keys == NULL) return 0;
    struct glint_slice x = sort_entry_key(s, a), y = sort_entry_key(s, b);
    if (x.size == y.size && x.size <= s->covered) return 0;
    int c = codec_compare(x, y);
    return s->descending ? -c : c;
}

static void insertion_sort(const struct sorter *s, struct sort_entry *e, uint64_t count)
{
    for (uint64_t i = 1; i < count; i++) {
        struct sort_entry x = e[i];
        uint64_t at = i;
        for (; at > 0 && compare_sort_entries(s, &e[at - 1], &x) > 0; at--) e[at] = e[at - 1];
        e[at] = x;
    }
}

/* Merges the sorted ranges [0, middle) and [middle, count); does nothing if they are in order. */
static void merge_sorted_halves(const struct sorter *s, struct sort_entry *e, uint64_t middle,
                                uint64_t count)
{
    assert(middle > 0 && middle < count);
    if (compare_sort_entries(s, &e[middle - 1], &e[middle]) <= 0) return;
    memcpy(s->scratch, e, middle * sizeof *e);
    uint64_t a = 0, b = middle, to = 0;
    while (a < middle && b < count)
        e[to++] = compare_sort_entries(s, &s->scratch[a], &e[b]) <= 0 ? s->scratch[a++] : e[b++];
    memcpy(e + to, s->scratch + a, (middle - a) * sizeof *e);
}

/* Sorts entries that are at most two ascending ranges, as the sides of a join whose partitions are
 * sorted. Returns false, without a change, if they are not. */
static bool merge_ascending_ranges(const struct sorter *s, struct sort_entry *e, uint64_t count)
{
    uint64_t middle = 0;
    for (uint64_t i = 1; i < count; i++) {
        if (compare_sort_entries(s, &e[i - 1], &e[i]) <= 0) continue;
        if (middle != 0) return false;
        middle = i;
    }
    if (middle != 0) merge_sorted_halves(s, e, middle, count);
    return true;
}

/* A bottom-up merge sort that compares whole keys: for groups whose keys have a long common prefix,
 * where each radix pass over eight bytes would find little difference. */
static void merge_sort(const struct sorter *s, struct sort_entry *e, uint64_t count)
{
    for (uint64_t i = 0; i < count; i += SMALL_COUNT)
        insertion_sort(s, e + i, count - i < SMALL_COUNT ? count - i : SMALL_COUNT);
    for (uint64_t width = SMALL_COUNT; width < count; width *= 2)
        for (uint64_t i = 0; i + width < count; i += 2 * width)
            merge_sorted_halves(s, e + i, width, count - i < 2 * width ? count - i : 2 * width);
}

/* The digits of the radix sort: the bytes of the partition, then those of the prefix. */
#define PARTITION_DIGITS ((64 - SORT_REFERENCE_BITS) / 8)
#define DIGITS           (PARTITION_DIGITS + 8)

static inline uint64_t radix_digit_word(const struct sort_entry *e, unsigned digit)
{
    return digit < PARTITION_DIGITS ? e->packed_reference : e->prefix;
}

static inline unsigned radix_digit_shift(unsigned digit)
{
    return 56 - 8 * (digit < PARTITION_DIGITS ? digit : digit - PARTITION_DIGITS);
}

/* Returns the first digit from `digit` on in which the entries differ, or DIGITS. */
static unsigned first_different_digit(const struct sort_entry *e, uint64_t count, unsigned digit)
{
    uint64_t prefixes = 0, partitions = 0;
    for (uint64_t i = 1; i < count; i++) {
        prefixes |= e[i].prefix ^ e[0].prefix;
        partitions |= e[i].packed_reference ^ e[0].packed_reference;
    }
    const struct sort_entry differ = {prefixes, partitions};
    while (digit < DIGITS &&
           (radix_digit_word(&differ, digit) >> radix_digit_shift(digit) & 255) == 0)
        digit++;
    return digit;
}

/* Counts the values of a digit: `end` gets where each value's entries end. */
static void count_digit_values(const struct sort_entry *e, uint64_t count, unsigned digit,
                               uint64_t *end)
{
    const unsigned shift = radix_digit_shift(digit);
    memset(end, 0, 256 * sizeof *end);
    for (uint64_t i = 0; i < count; i++) end[radix_digit_word(&e[i], digit) >> shift & 255]++;
    for (unsigned v = 1; v < 256; v++) end[v] += end[v - 1];
    assert(end[255] == count);
}

static void insertion_sort_prefixes(struct sort_entry *e, uint64_t count)
{
    for (uint64_t i = 1; i < count; i++) {
        const struct sort_entry x = e[i];
        const uint64_t partition = x.packed_reference >> SORT_REFERENCE_BITS;
        uint64_t at = i;
        for (; at > 0; at--) {
            const uint64_t before = e[at - 1].packed_reference >> SORT_REFERENCE_BITS;
            if (before < partition || (before == partition && e[at - 1].prefix <= x.prefix)) break;
            e[at] = e[at - 1];
        }
        e[at] = x;
    }
}

/* Sorts `e` by (partition, prefix), stable, from digit `digit` on: before it the entries are equal.
 * The result is in `e` if `in_place`, else in `other`. Recursion is at most DIGITS deep: after few
 * digits the groups fit into the cache, and small ones are sorted by insertion. */
static void radix_sort(struct sort_entry *e, struct sort_entry *other, uint64_t count,
                       unsigned digit, bool in_place)
{
    const bool small = count <= SMALL_COUNT;
    if (small) insertion_sort_prefixes(e, count);
    if (!small) digit = first_different_digit(e, count, digit);
    if (small || digit == DIGITS) {
        if (!in_place) memcpy(other, e, count * sizeof *e);
        return;
    }
    uint64_t end[256];
    count_digit_values(e, count, digit, end);
    const unsigned shift = radix_digit_shift(digit);
    for (uint64_t i = count; i-- > 0;)
        other[--end[radix_digit_word(&e[i], digit) >> shift & 255]] = e[i];
    /* Now end[v] is where the entries of v begin. */
    for (unsigned v = 0; v < 256; v++) {
        const uint64_t begin = end[v], size = (v < 255 ? end[v + 1] : count) - begin;
        if (size > 0) radix_sort(other + begin, e + begin, size, digit + 1, !in_place);
    }
}

static_assert(SORT_REFERENCE_BITS % 8 == 0, "the partition starts at a whole byte");
static_assert(PARTITIONS_MAX >> (64 - SORT_REFERENCE_BITS) == 0,
              "the partition fits above the reference");

/* Sets the prefixes to the eight bytes at `depth`. The entries are of one partition, with keys that
 * are equal before `depth`. */
static void load_key_prefixes(const struct sorter *s, struct sort_entry *e, uint64_t count,
                              uint64_t depth)
{
    for (uint64_t i = 0; i < count; i++)
        e[i].prefix = sort_key_prefix(sort_entry_key(s, &e[i]), depth, s->descending);
}

static bool all_keys_longer(const struct sorter *s, const struct sort_entry *e, uint64_t count,
                            uint64_t depth)
{
    for (uint64_t i = 0; i < count; i++)
        if (sort_entry_key(s, &e[i]).size <= depth) return false;
    return true;
}

/* Sorts a small group: reads each key once, then mostly compares prefixes. */
static void sort_small_group(const struct sorter *s, struct sort_entry *e, uint64_t count,
                             uint64_t depth)
{
    struct sorter deeper = *s;
    deeper.covered = depth + 8;
    load_key_prefixes(s, e, count, depth);
    insertion_sort(&deeper, e, count);
}

/* Whether all keys are equal. Their bytes before `depth` are equal already, so keys of one size
 * that end before it are. */
static bool all_keys_equal(const struct sorter *s, const struct sort_entry *e, uint64_t count,
                           uint64_t depth)
{
    uint64_t size = sort_entry_key(s, &e[0]).size;
    if (size > depth) return false;
    for (uint64_t i = 1; i < count; i++)
        if (sort_entry_key(s, &e[i]).size != size) return false;
    return true;
}

/* Keys of groups are read, and are mostly cache misses. */
static void prefetch_group_keys(const struct sorter *s, const struct sort_entry *e, uint64_t left)
{
    if (s->keys->prefetch == NULL || left <= KEYS_AHEAD) return;
    if (e[KEYS_AHEAD].prefix != e[KEYS_AHEAD - 1].prefix) return;
    s->keys->prefetch(s->keys->arg, sort_entry_reference(&e[KEYS_AHEAD - 1]));
    s->keys->prefetch(s->keys->arg, sort_entry_reference(&e[KEYS_AHEAD]));
}

/* Sorts each group of equal (partition, prefix) by the rest of the keys. Recursion is at most
 * DEPTH_MAX / 8 deep. A group goes on with the next eight bytes only if all its keys are longer
 * than `depth`: the zeros that pad a shorter key could equal bytes of a longer one. */
static void sort_equal_prefix_groups(const struct sorter *s, struct sort_entry *e, uint64_t count,
                                     uint64_t depth)
{
    assert(depth <= DEPTH_MAX);
    uint64_t begin = 0;
    for (uint64_t i = 1; i <= count; i++) {
        prefetch_group_keys(s, e + i, count - i);
        if (i < count && e[i].prefix == e[begin].prefix &&
            sort_entry_partition(&e[i]) == sort_entry_partition(&e[begin]))
            continue;
        struct sort_entry *group = e + begin;
        uint64_t size = i - begin;
        begin = i;
        if (size == 1) continue;
        if (size <= SMALL_COUNT) {
            sort_small_group(s, group, size, depth);
        } else if (all_keys_equal(s, group, size, depth)) {
            continue;
        } else if (depth < DEPTH_MAX && all_keys_longer(s, group, size, depth)) {
            load_key_prefixes(s, group, size, depth);
            radix_sort(group, s->scratch, size, PARTITION_DIGITS, true);
            sort_equal_prefix_groups(s, group, size, depth + 8);
        } else {
            merge_sort(s, group, size);
        }
    }
}

void sort_entries(struct sort_entry *entries, struct sort_entry *scratch, uint64_t count,
                  bool descending, const struct sort_keys *keys)
{
    struct sorter s = {scratch, descending, 8, keys};
    if (count <= SMALL_COUNT) {
        insertion_sort(&s, entries, count);
        return;
    }
    if (merge_ascending_ranges(&s, entries, count)) return;
    radix_sort(entries, scratch, count, 0, true);
    if (keys != NULL) sort_equal_prefix_groups(&s, entries, count, 8);
}
