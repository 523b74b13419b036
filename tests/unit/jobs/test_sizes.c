/* The sizes of many filters, which each task has in memory. */
#include "engine/base/mem.h"
#include "tests/support/jobs.h"

#include <criterion/criterion.h>
#include <stdio.h>

TestSuite(sizes, .init = scratch_open, .fini = scratch_close);

/* The arrays of 4,000 keys are in several blocks of the task's memory: each of them may be the one
 * that is not there. */
Test(sizes, no_memory_for_any_array)
{
    enum { KEYS = 4000, QUIET_RUNS = 25 };
    static char counts[KEYS * 16];
    size_t size = 0;
    for (int i = 0; i < KEYS; i++)
        size += (size_t)snprintf(counts + size, sizeof counts - size, "k%d\t1\n", i);
    scratch_write("counts", counts, size);
    scratch_write("in.tsv", "a\tk1\nb\tk3999\n", 13);
    const struct context_config config = {.slots = 1, .bad_rows_max = -1};
    struct test_job job;
    struct glint_error error;
    unsigned failures = 0;
    test_job_init(&job, (const char *const[]){"bloom-build", "--key", "text", "0.1", "in.tsv",
                                              "counts", "out", NULL});
    for (int64_t n = 1, quiet = 0; quiet < QUIET_RUNS; n++) {
        mem_fail_at(n, false);
        const int r = test_job_run(&job, &config, &error);
        mem_fail_at(0, false);
        cr_assert(r == 0 || r == GLINT_E_NO_MEMORY, "allocation %d: %s", (int)n, error.cause);
        quiet = r == 0 ? quiet + 1 : 0;
        failures += r != 0;
        scratch_remove("out");
        scratch_sweep();
    }
    test_job_fini(&job);
    cr_expect_gt(failures, 100);
}
