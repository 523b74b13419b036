/* Small shuffles in which each allocation and each system call fails once: the task returns the
 * right code and leaves no files and no memory. */
#include "tests/unit/shuffle/harness.h"

#include <criterion/criterion.h>

struct fault_case {
    struct shuffle_spec spec;
    struct workload workload;
    uint32_t maps;
    uint64_t count;
    bool remote, local;
};

static const struct fault_case cases[] = {
    {{.dependency.combine = COMBINE_REDUCE,
      .map_side = true,
      .fn = &fn_concat,
      .key = GLINT_TEXT,
      .value = GLINT_TEXT,
      .acc = GLINT_TEXT,
      .partitions = 3},
     {GLINT_TEXT, GLINT_TEXT, 60, 40, 40, 80000, 0},
     3,
     300,
     false,
     false},
    {{.dependency.combine = COMBINE_REDUCE,
      .map_side = true,
      .fn = &fn_concat_chunks,
      .key = GLINT_I64,
      .value = GLINT_TEXT,
      .acc = GLINT_TEXT,
      .partitions = 2},
     {GLINT_I64, GLINT_TEXT, 5, 400, 100, 3 * MIB, 0},
     2,
     250,
     false,
     false},
    {{.dependency.combine = COMBINE_AGGREGATE,
      .sequential = true,
      .map_side = true,
      .fn = &fn_list,
      .key = GLINT_I64,
      .value = GLINT_I64,
      .acc = GLINT_TEXT,
      .partitions = 2},
     {GLINT_I64, GLINT_I64, 5000, 0, 0, 0, 0},
     2,
     600,
     false,
     false},
    /* The frequent key's records are kept on disk, the others are spilled. */
    {{.dependency.combine = COMBINE_NONE,
      .key = GLINT_I64,
      .value = GLINT_TEXT,
      .acc = GLINT_TEXT,
      .partitions = 1},
     {GLINT_I64, GLINT_TEXT, 100, 20, 0, 0, 80},
     4,
     5000,
     true,
     false},
    /* Large values become runs of their own, the others are spilled. */
    {{.dependency.combine = COMBINE_NONE,
      .key = GLINT_TEXT,
      .value = GLINT_TEXT,
      .acc = GLINT_TEXT,
      .partitions = 1},
     {GLINT_TEXT, GLINT_TEXT, 60, 40, 40, 80000, 0},
     1,
     900,
     false,
     true},
    {{.dependency.combine = COMBINE_NONE,
      .key = GLINT_TEXT,
      .value = GLINT_I64,
      .acc = GLINT_I64,
      .partitions = 1},
     {GLINT_TEXT, GLINT_I64, 1000, 0, 0, 0, 0},
     130,
     260,
     false,
     false},
};

/* Runs the case once with one fault. */
static int run_case(const struct fault_case *c, uint64_t fail_call, int error, int64_t fail_memory,
                    uint64_t *out_calls)
{
    struct test_task t;
    test_task_init(&t, 40 * KIB);
    struct records in = {.items = NULL};
    static struct records got; /* grown before any allocation may fail */
    make_records(&in, &c->workload, c->maps, c->count);
    if (got.items == NULL) got.items = mem_alloc(100000 * sizeof *got.items);
    got.capacity = 100000;
    got.count = 0;
    for (uint32_t k = 0; k < 4; k++) {
        got.bytes[k].size = 0;
        cr_assert(buffer_reserve(&got.bytes[k], 8 * MIB));
    }
    got.chunks = 1;
    int64_t live = mem_live_blocks();
    t.fail_at = fail_call;
    t.error = error;
    struct plan plan = {&c->spec, c->maps, 50, c->remote, c->local};
    mem_fail_at(fail_memory, false);
    int r = run_shuffle(&t, &plan, &in, &got);
    mem_fail_at(0, false);
    cr_assert_eq(r, t.task.error.code);
    cr_assert_eq(mem_live_blocks(), live, "a leak");
    cr_assert_leq(got.chunks, 4);
    records_fini(&in);
    *out_calls = t.calls;
    cr_assert(test_task_fini(&t), "a file is left");
    return r;
}

Test(shuffle_faults, failed_syscall_is_reported)
{
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
        uint64_t calls, total;
        cr_assert_eq(run_case(&cases[c], 0, 0, 0, &total), 0);
        /* The last case merges its many inputs in memory. */
        cr_assert(total > 10 || cases[c].maps > MERGE_FAN_IN_MAX, "something must have spilled");
        uint64_t step = 1 + total / 150;
        for (uint64_t n = 1; n <= total; n += step) {
            int r = run_case(&cases[c], n, -ENOSPC, 0, &calls);
            if (r != 0) cr_assert_eq(r, GLINT_E_SPILL_FULL);
            r = run_case(&cases[c], n, -EIO, 0, &calls);
            if (r != 0) cr_assert_eq(r, GLINT_E_SPILL_IO);
        }
    }
}

Test(shuffle_faults, out_of_memory_is_reported)
{
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
        uint64_t calls;
        int r = -1;
        for (int64_t n = 1; r != 0 && n < 3000; n += 1 + n / 100) {
            r = run_case(&cases[c], 0, 0, n, &calls);
            if (r != 0) cr_assert_eq(r, GLINT_E_NO_MEMORY);
        }
    }
}

/* A cancelled task ends soon, with INTERRUPTED. */
Test(shuffle_faults, cancelled_task_ends)
{
    static const _Atomic bool cancelled = true;
    struct test_task t;
    test_task_init(&t, MIB);
    struct records in = {.items = NULL}, got = {.items = NULL};
    make_records(&in, &cases[0].workload, 1, 10);
    t.task.cancel_flag = &cancelled;
    struct plan plan = {&cases[0].spec, 1, 50, false, false};
    cr_assert_eq(run_shuffle(&t, &plan, &in, &got), GLINT_E_INTERRUPTED);
    records_fini(&in);
    records_fini(&got);
    cr_assert(test_task_fini(&t));
}
