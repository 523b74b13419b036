/* A plain program that must fail, as tests/unit/canary must. */
#include <stdio.h>

int main(void)
{
    fputs("this failure is expected\n", stderr);
    return 1;
}
