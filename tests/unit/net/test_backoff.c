/* Backoff: the jitter is drawn from the environment, within half and all of the duration. */
#include "engine/net/deadline.h"

#include <criterion/criterion.h>
#include <string.h>

#define SECOND_NS UINT64_C(1000000000)

static uint8_t random_byte;
static int random_result;

static int fake_random(struct env *env, void *out, size_t size)
{
    (void)env;
    memset(out, random_byte, size);
    return random_result;
}

static uint64_t draw_u64(uint8_t byte, int result, uint64_t ns)
{
    struct env env = *env_real();
    env.random = fake_random;
    random_byte = byte;
    random_result = result;
    return backoff_with_jitter(&env, ns);
}

Test(backoff, jitter_is_between_half_and_all)
{
    cr_expect_eq(draw_u64(0x00, 0, SECOND_NS), SECOND_NS / 2);
    cr_expect_eq(draw_u64(0xff, 0, SECOND_NS), SECOND_NS);
    uint64_t middle = draw_u64(0x40, 0, SECOND_NS);
    cr_expect(middle > SECOND_NS / 2 + SECOND_NS / 9 && middle < SECOND_NS / 2 + SECOND_NS / 7);
}

Test(backoff, without_random_bytes_it_is_three_quarters)
{
    cr_expect_eq(draw_u64(0x00, -1, SECOND_NS), SECOND_NS / 4 * 3);
}
