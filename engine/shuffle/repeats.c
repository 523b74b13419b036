/* One text for all levels: plain loops, which the compiler turns into vectors of the level's width.
 */
#include "engine/shuffle/repeats.h"

#include <assert.h>
#include <stddef.h>

static inline __attribute__((always_inline)) bool count_slots(const uint32_t *slot,
                                                              const int64_t *value, uint32_t rows,
                                                              uint32_t slots, uint32_t *out_count)
{
    assert(rows > 0 && slots <= REPEATS_SLOTS_MAX);
    uint64_t differ = 0;
    for (uint32_t i = 0; i < rows; i++) differ |= (uint64_t)(value[i] ^ value[0]);
    if (differ != 0) return false;
    for (uint32_t s = 0; s < slots; s++) {
        uint32_t count = 0;
        for (uint32_t i = 0; i < rows; i++) count += slot[i] == s;
        out_count[s] = count;
    }
    return true;
}

static bool count_portable(const uint32_t *slot, const int64_t *value, uint32_t rows,
                           uint32_t slots, uint32_t *out_count)
{
    return count_slots(slot, value, rows, slots, out_count);
}

#if defined(__x86_64__)

__attribute__((target("avx2"))) static bool count_avx2(const uint32_t *slot, const int64_t *value,
                                                       uint32_t rows, uint32_t slots,
                                                       uint32_t *out_count)
{
    return count_slots(slot, value, rows, slots, out_count);
}

__attribute__((target("avx512f,avx512vl"))) static bool count_avx512(const uint32_t *slot,
                                                                     const int64_t *value,
                                                                     uint32_t rows, uint32_t slots,
                                                                     uint32_t *out_count)
{
    return count_slots(slot, value, rows, slots, out_count);
}

repeats_count repeats_at(enum repeats_level level)
{
    assert(level < REPEATS_LEVELS);
    if (level == REPEATS_AVX512)
        return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl")
                   ? count_avx512
                   : NULL;
    if (level == REPEATS_AVX2) return __builtin_cpu_supports("avx2") ? count_avx2 : NULL;
    return count_portable;
}

#else

repeats_count repeats_at(enum repeats_level level)
{
    assert(level < REPEATS_LEVELS);
    return level == REPEATS_PORTABLE ? count_portable : NULL;
}

#endif

repeats_count repeats_best(void)
{
    for (int level = REPEATS_LEVELS - 1; level > REPEATS_PORTABLE; level--) {
        repeats_count count = repeats_at((enum repeats_level)level);
        if (count != NULL) return count;
    }
    return count_portable;
}
