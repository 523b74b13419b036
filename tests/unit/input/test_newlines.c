/* Compares every variant of the newline index with a loop over the bytes. */
#include "engine/input/newlines.h"
#include "tests/support/test_task.h"

#include <criterion/criterion.h>

#define TEXT_BYTES 4096
#define WORDS      (BATCH_ROWS_MAX + NEWLINES_SLACK)

static uint8_t text[TEXT_BYTES + READ_SLACK];
static uint32_t start[WORDS + 1], end[WORDS + 1];

static void check_range(newlines_index index, uint32_t from, uint32_t to)
{
    start[0] = 12345;
    start[WORDS] = end[WORDS] = 54321;
    struct newlines found = index(text, from, to, start, end);
    cr_assert(found.scanned <= to && found.count <= BATCH_ROWS_MAX);
    cr_assert(found.scanned == to || found.count > BATCH_ROWS_MAX - 64, "stopped too early");
    uint32_t count = 0;
    bool any_cr = false;
    for (uint32_t at = from; at < found.scanned; at++) {
        any_cr |= text[at] == '\r';
        if (text[at] != '\n') continue;
        cr_assert_eq(end[count], at);
        cr_assert_eq(start[++count], at + 1);
    }
    cr_assert_eq(found.count, count);
    cr_assert_eq(found.any_cr, any_cr);
    cr_assert_eq(start[0], 12345, "the caller sets the first start");
    cr_assert(start[WORDS] == 54321 && end[WORDS] == 54321);
}

static void check_all(newlines_index index)
{
    for (uint32_t from = 0; from < 140; from += from < 66 ? 1 : 7)
        for (uint32_t to = from; to < from + 150; to++) check_range(index, from, to);
    check_range(index, 0, TEXT_BYTES);
    check_range(index, 33, TEXT_BYTES - 1);
}

static void check_level(enum newlines_level level)
{
    newlines_index index = newlines_index_for_level(level);
    if (index == NULL) cr_skip_test("not supported by this CPU");
    uint64_t state = 7;
    for (unsigned every = 1; every <= 256; every *= 4) { /* a newline after every `every` bytes */
        for (uint32_t i = 0; i < sizeof text; i++) {
            uint64_t r = test_random(&state);
            text[i] = r % every == 0 ? '\n' : r % (3 * every) == 1 ? '\r' : (uint8_t)(r >> 32);
        }
        check_all(index);
    }
    for (unsigned byte = 0; byte < 256; byte++) { /* every byte value between LFs */
        memset(text, (int)byte, sizeof text);
        for (uint32_t i = 0; i < 256; i += 11) text[i] = i % 2 ? '\n' : (uint8_t)(byte ^ 0x80);
        check_range(index, 0, 256);
        check_range(index, 5, 251);
    }
}

Test(newlines, scalar_index_equals_plain_loop)
{
    check_level(NEWLINES_SCALAR);
}
Test(newlines, avx2_index_equals_plain_loop)
{
    check_level(NEWLINES_AVX2);
}
Test(newlines, avx512_index_equals_plain_loop)
{
    check_level(NEWLINES_AVX512);
}

Test(newlines, best_level_is_available)
{
    newlines_index best = newlines_index_for_cpu();
    cr_assert_not_null(best);
    bool known = false;
    for (int level = 0; level < NEWLINES_LEVELS; level++)
        known |= best == newlines_index_for_level((enum newlines_level)level);
    cr_assert(known);
}
