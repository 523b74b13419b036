/* Compares the kernels' operations on columns of numbers with plain loops. */
#include "jobs/rows/fields_kernel.h"
#include "tests/support/test_task.h"

#include <criterion/criterion.h>

enum { TURNS = 3000, EMPTY = UINT16_MAX };

static uint64_t seed = 7;

static uint32_t random_below(uint32_t n)
{
    return (uint32_t)(test_random(&seed) % n);
}

static uint16_t table[FIELDS_TABLE], found[FIELDS_ROWS_MAX], numbers[FIELDS_ROWS_MAX];
static int64_t keys[FIELDS_ROWS_MAX];

static void check_look_up(const struct fields_kernel *k)
{
    const uint32_t rows = 1 + random_below(FIELDS_ROWS_MAX),
                   empty = random_below(2) ? random_below(FIELDS_TABLE) : EMPTY;
    bool all = true;
    for (uint32_t i = 0; i < FIELDS_TABLE; i++)
        table[i] = i == empty ? EMPTY : (uint16_t)random_below(EMPTY);
    for (uint32_t i = 0; i < rows; i++) keys[i] = random_below(FIELDS_TABLE);
    static const int64_t odd[] = {FIELDS_TABLE, -1,      INT64_MIN,
                                  INT64_MAX,    1 << 16, INT64_C(1) << 32};
    if (random_below(4) == 0)
        keys[random_below(rows)] = odd[random_below(sizeof odd / sizeof odd[0])];
    if (rows < FIELDS_ROWS_MAX) {
        keys[rows] = -1; /* any value may follow the rows; nothing is written there */
        found[rows] = 4711;
    }
    for (uint32_t i = 0; i < rows; i++)
        all &= keys[i] >= 0 && keys[i] < FIELDS_TABLE && table[keys[i]] != EMPTY;
    cr_assert_eq(k->look_up(keys, rows, table, found), all, "%u rows", rows);
    for (uint32_t i = 0; all && i < rows; i++) cr_assert_eq(found[i], table[keys[i]]);
    cr_assert(rows == FIELDS_ROWS_MAX || found[rows] == 4711);
}

static void check_count(const struct fields_kernel *k)
{
    const uint32_t rows = 1 + random_below(FIELDS_ROWS_MAX),
                   values = 1 + random_below(FIELDS_TABLE);
    uint32_t counts[FIELDS_TABLE], plain[FIELDS_TABLE] = {0};
    for (uint32_t i = 0; i < FIELDS_ROWS_MAX; i++) numbers[i] = (uint16_t)random_below(values);
    for (uint32_t i = 0; i < rows; i++) plain[numbers[i]]++;
    k->count(numbers, rows, values, counts);
    for (uint32_t v = 0; v < values; v++)
        cr_assert_eq(counts[v], plain[v], "%u of %u rows", v, rows);
}

Test(fields_kernel, lookup_and_count_equal_plain_loops)
{
    const struct fields_kernel *kernels[] = {fields_kernel_avx2(), fields_kernel_avx512()};
    for (size_t i = 0; i < sizeof kernels / sizeof kernels[0]; i++) {
        const struct fields_kernel *k = kernels[i];
        for (int turn = 0; k != NULL && turn < TURNS; turn++) {
            if (k->look_up != NULL) check_look_up(k);
            if (k->count != NULL) check_count(k);
        }
    }
}
