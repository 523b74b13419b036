/* Elimination keeps one equation for each slot, the one whose first coefficient it is; slots
 * without one are 0. Which slots these are, and the solution, depend on the set of equations only.
 */
#include "jobs/bloom/ribbon.h"

#include <math.h>
#include <string.h>

__extension__ typedef unsigned __int128 u128;

enum { SEEDS = 4, GROWTHS = 20 };

/* By slot: the equation whose first coefficient it has. */
struct equations {
    u128 *coefficients; /* 0: none */
    uint32_t *value;
    uint64_t slots;
};

/* Measured: 128 coefficients reach a load that falls with the logarithm of the count. */
static uint64_t slot_count_for_equations(uint64_t count, uint32_t growth)
{
    const double n = (double)count, more = n > 64 ? 0.002 * log2(n / 64) : 0;
    return (uint64_t)ceil(n * (1 + more + 0.005 * growth)) + 8 * growth;
}

static uint32_t blocks_of_slots(uint64_t slots)
{
    const uint64_t blocks = (slots + RIBBON_BLOCK - 1) / RIBBON_BLOCK;
    assert(blocks <= UINT32_MAX);
    return blocks < RIBBON_BLOCKS_MIN ? RIBBON_BLOCKS_MIN : (uint32_t)blocks;
}

uint32_t ribbon_blocks(uint64_t count)
{
    return count == 0 ? 0 : blocks_of_slots(slot_count_for_equations(count, 0));
}

uint32_t ribbon_blocks_max(uint64_t count)
{
    return count == 0 ? 0 : blocks_of_slots(slot_count_for_equations(count, GROWTHS));
}

uint64_t ribbon_memory(uint64_t count)
{
    return (uint64_t)ribbon_blocks_max(count) * RIBBON_BLOCK * (sizeof(u128) + sizeof(uint32_t));
}

static uint32_t trailing_zeros(u128 c)
{
    const uint64_t low = (uint64_t)c;
    return (uint32_t)(low != 0 ? __builtin_ctzll(low) : 64 + __builtin_ctzll((uint64_t)(c >> 64)));
}

/* Returns false if the equation contradicts others. */
static bool add_equation(struct equations *e, const struct ribbon_row *row, uint32_t value)
{
    u128 c = (u128)row->high << 64 | row->low;
    for (uint64_t at = row->start; c != 0;) {
        const uint32_t shift = trailing_zeros(c);
        at += shift;
        c >>= shift;
        assert(at < e->slots);
        if (e->coefficients[at] == 0) {
            e->coefficients[at] = c;
            e->value[at] = value;
            return true;
        }
        c ^= e->coefficients[at];
        value ^= e->value[at];
    }
    return value == 0;
}

static void substitute_back(const struct ribbon *ribbon, const struct equations *e, uint8_t *out)
{
    const uint32_t columns = ribbon->columns;
    u128 window[RIBBON_COLUMNS_MAX] = {0}; /* of a column: bit i is that of slot at + i */
    uint64_t words[RIBBON_COLUMNS_MAX] = {0};
    assert(columns > 0 && columns <= RIBBON_COLUMNS_MAX);
    for (uint64_t at = e->slots; at-- > 0;) {
        for (uint32_t j = 0; j < columns; j++) {
            const u128 selected = window[j] << 1 & e->coefficients[at];
            const uint64_t both = (uint64_t)selected ^ (uint64_t)(selected >> 64);
            const uint64_t bit = ((uint64_t)__builtin_parityll(both) ^ e->value[at] >> j) & 1;
            window[j] = window[j] << 1 | bit;
            words[j] = words[j] << 1 | bit;
        }
        if (at % RIBBON_BLOCK == 0)
            memcpy(out + at / RIBBON_BLOCK * columns * 8, words, columns * sizeof *words);
    }
}

static bool solve_equations(const struct ribbon *ribbon, const uint64_t *hashes,
                            const uint8_t *values, uint64_t count, struct equations *e)
{
    memset(e->coefficients, 0, e->slots * sizeof *e->coefficients);
    memset(e->value, 0, e->slots * sizeof *e->value);
    for (uint64_t i = 0; i < count; i++) {
        const struct ribbon_row row = ribbon_row_of(ribbon, hashes[i]);
        if (!add_equation(e, &row, values != NULL ? values[i] : row.fingerprint)) return false;
    }
    return true;
}

bool ribbon_solve(struct ribbon *ribbon, const uint64_t *hashes, const uint8_t *values,
                  uint64_t count, uint8_t *memory, uint8_t *out)
{
    assert((uintptr_t)memory % _Alignof(u128) == 0 && count > 0);
    for (uint32_t growth = 0; growth <= GROWTHS; growth++) {
        ribbon->blocks = blocks_of_slots(slot_count_for_equations(count, growth));
        struct equations e = {.coefficients = (u128 *)(void *)memory,
                              .slots = (uint64_t)ribbon->blocks * RIBBON_BLOCK};
        e.value = (uint32_t *)(e.coefficients + e.slots);
        for (ribbon->seed = growth * SEEDS; ribbon->seed < (growth + 1) * SEEDS; ribbon->seed++) {
            if (!solve_equations(ribbon, hashes, values, count, &e)) continue;
            substitute_back(ribbon, &e, out);
            return true;
        }
    }
    return false;
}

uint32_t ribbon_value(const struct ribbon *ribbon, const uint8_t *slots,
                      const struct ribbon_row *row)
{
    const uint64_t stride = 8 * (uint64_t)ribbon->columns;
    const uint32_t off = row->start % RIBBON_BLOCK;
    const u128 high = (u128)row->high << off; /* shifted by `off`, the coefficients have 3 words */
    const u128 low = (u128)row->low << off;
    const uint64_t c[] = {(uint64_t)low, (uint64_t)high | (uint64_t)(low >> 64),
                          (uint64_t)(high >> 64)};
    const uint8_t *at = slots + row->start / RIBBON_BLOCK * stride;
    const uint64_t last = off > 0 ? 2 * stride : stride;
    uint32_t value = 0;
    for (uint32_t j = 0; j < ribbon->columns; j++, at += 8) {
        const uint64_t sum = (get_u64_native(at) & c[0]) ^ (get_u64_native(at + stride) & c[1]) ^
                             (get_u64_native(at + last) & c[2]);
        value |= (uint32_t)__builtin_parityll(sum) << j;
    }
    return value;
}
