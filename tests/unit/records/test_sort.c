/* Compares sort_entries with qsort on whole keys. */
#include "engine/records/sort.h"
#include "tests/support/test_task.h"

#include <criterion/criterion.h>

#define KEY_BYTES 120

struct sample {
    uint8_t (*keys)[KEY_BYTES + READ_SLACK];
    uint64_t *sizes;
    bool descending;
};

static const struct sample *at_hand;

static struct glint_slice key_of(const void *arg, uint64_t reference)
{
    const struct sample *s = arg;
    return (struct glint_slice){s->keys[reference], s->sizes[reference]};
}

static void prefetch(const void *arg, uint64_t reference)
{
    cr_assert_leq(key_of(arg, reference).size, KEY_BYTES); /* it is the reference of an entry */
}

/* References are assigned in the original order, so as the last criterion they make it stable. */
static int oracle(const void *a, const void *b)
{
    const struct sort_entry *x = a, *y = b;
    if (sort_entry_partition(x) != sort_entry_partition(y))
        return sort_entry_partition(x) < sort_entry_partition(y) ? -1 : 1;
    int c = codec_compare(key_of(at_hand, sort_entry_reference(x)),
                          key_of(at_hand, sort_entry_reference(y)));
    if (at_hand->descending) c = -c;
    if (c != 0) return c;
    return sort_entry_reference(x) < sort_entry_reference(y)
               ? -1
               : sort_entry_reference(x) > sort_entry_reference(y);
}

/* shape 0: short keys of few letters; 1: a long common prefix; 2: eight bytes each; 3: equal except
 * for their lengths; 4: empty; 5: twenty bytes, different in the last two. */
static uint64_t fill_key(uint8_t *key, int shape, uint64_t *seed)
{
    memset(key, 'p', KEY_BYTES);
    uint64_t size = test_random(seed) % 20;
    if (shape == 4) return 0;
    if (shape == 3) memset(key, 0, KEY_BYTES);
    if (shape == 3) return size * 5;
    uint64_t from = shape == 1 ? 90 : shape == 5 ? 18 : 0;
    if (shape == 5) size = 2;
    if (shape == 2) size = 8;
    for (uint64_t i = from; i < from + size; i++) key[i] = (uint8_t)(test_random(seed) % 3 * 100);
    return from + size;
}

/* `ranges`: the entries are so many sorted ranges, or in no order (0). */
static void sort_case(uint64_t count, int shape, uint32_t partitions, bool descending,
                      uint64_t ranges)
{
    uint64_t seed = count + (uint64_t)shape + 99;
    struct sample s = {calloc(count + 1, sizeof *s.keys), calloc(count + 1, sizeof *s.sizes),
                       descending};
    struct sort_entry *got = calloc(count + 1, sizeof *got),
                      *scratch = calloc(count + 1, sizeof *got);
    struct sort_entry *expected = calloc(count + 1, sizeof *expected);
    for (uint64_t i = 0; i < count; i++) {
        s.sizes[i] = fill_key(s.keys[i], shape, &seed);
        got[i].prefix = sort_key_prefix(key_of(&s, i), 0, descending);
        got[i].packed_reference =
            sort_pack_reference((uint32_t)(test_random(&seed) % partitions), i);
        expected[i] = got[i];
    }
    at_hand = &s;
    for (uint64_t i = 0; i < ranges; i++)
        qsort(got + i * count / ranges, (i + 1) * count / ranges - i * count / ranges, sizeof *got,
              oracle);
    qsort(expected, count, sizeof *expected, oracle);
    const struct sort_keys keys = {key_of, prefetch, &s};
    sort_entries(got, scratch, count, descending, shape == 2 || shape == 4 ? NULL : &keys);
    for (uint64_t i = 0; i < count; i++)
        cr_assert_eq(got[i].packed_reference, expected[i].packed_reference,
                     "shape %d, %llu of %llu", shape, (unsigned long long)i,
                     (unsigned long long)count);
    free(s.keys);
    free(s.sizes);
    free(got);
    free(scratch);
    free(expected);
}

Test(sort, equals_qsort)
{
    static const uint64_t counts[] = {0, 1, 2, 47, 48, 49, 97, 300, 5000};
    for (size_t c = 0; c < sizeof counts / sizeof counts[0]; c++)
        for (int shape = 0; shape <= 5; shape++)
            for (int descending = 0; descending < 2; descending++) {
                for (uint64_t ranges = 0; ranges <= 3; ranges++) {
                    sort_case(counts[c], shape, 1, descending != 0, ranges);
                    sort_case(counts[c], shape, 3, descending != 0, ranges);
                }
                sort_case(counts[c], shape, PARTITIONS_MAX, descending != 0, 0);
            }
}
