/* A test that must fail. If tests/run ever sees it pass, it no longer sees failures at all. */
#include <criterion/criterion.h>

Test(canary, must_fail)
{
    cr_assert_eq(1, 2, "this failure is expected");
}
