/* The calls that a function may make on its task. */
#include "tests/support/test_task.h"
#include "engine/batch.h"
#include "engine/input/bad_rows.h"
#include "tests/support/memory_env.h"

#include <criterion/criterion.h>
#include <stdatomic.h>

static const char text[] = "id\trating\n\ntt1\tabc\t\"x\\\x01\xff\n";
static struct memory_env memory;
static struct task_options options;
static struct glint_task task;
static struct glint_origin origin;

static void setup(void)
{
    memory_env_init(&memory, text, strlen(text));
    options = (struct task_options){.bad_rows_max = -1};
    task = (struct glint_task){.env = &memory.env, .options = &options, .partition = 3};
    origin = (struct glint_origin){.path = "ratings.tsv",
                                   .base = (const uint8_t *)text + 10,
                                   .size = strlen(text) - 10,
                                   .offset = 10};
    task.origin = &origin;
}

static void teardown(void)
{
    arena_fini(&task.arena);
    cr_expect_eq(mem_live_blocks(), 0);
}

TestSuite(task, .init = setup, .fini = teardown);

static struct glint_slice row_at(uint64_t at, uint64_t size)
{
    return (struct glint_slice){(const uint8_t *)text + at, size};
}

Test(task, first_error_is_kept)
{
    cr_expect_eq(glint_fail(&task, GLINT_E_FUNCTION_FAILED, "do %d", "cause %d", 7),
                 GLINT_E_FUNCTION_FAILED);
    cr_expect_eq(glint_fail(&task, GLINT_E_NO_MEMORY, NULL, "other"), GLINT_E_NO_MEMORY);
    cr_expect_eq(task.error.code, GLINT_E_FUNCTION_FAILED);
    cr_expect_str_eq(task.error.cause, "cause 7");
}

Test(task, row_is_located_by_file_and_line)
{
    char place[64];
    task_describe_row_location(&task, origin.base, place, sizeof place);
    cr_expect_str_eq(place, "ratings.tsv:2");
    task_describe_row_location(&task, origin.base + 1, place, sizeof place);
    cr_expect_str_eq(place, "ratings.tsv:3");
    task_describe_row_location(&task, origin.base + origin.size, place, sizeof place);
    cr_expect_str_eq(place, "ratings.tsv:4");
    task_describe_row_location(&task, (const uint8_t *)place, place, sizeof place);
    cr_expect_str_eq(place, "ratings.tsv", "not in the file's memory");
    memory.fail_at = memory.calls + 1;
    task_describe_row_location(&task, origin.base + 1, place, sizeof place);
    cr_expect_str_eq(place, "ratings.tsv, byte 11", "the file can no longer be read");
    task.origin = NULL;
    task_describe_row_location(&task, NULL, place, sizeof place);
    cr_expect_str_eq(place, "partition 3");
}

Test(task, bad_row_fails_the_task)
{
    cr_expect_eq(glint_bad_row(&task, row_at(11, 12), "averageRating is not a number"),
                 GLINT_E_BAD_ROW);
    cr_expect_str_eq(
        task.error.cause,
        "ratings.tsv:3: averageRating is not a number: \"tt1\\tabc\\t\\\"x\\\\\\x01\"");
    cr_expect_not_null(strstr(task.error.hint, "--bad-rows skip"));
    cr_expect_eq(glint_bad_row(&task, row_at(10, 0), "other"), GLINT_E_BAD_ROW);
    cr_expect_not_null(strstr(task.error.cause, "averageRating"), "the first error is kept");
}

Test(task, long_row_is_truncated_in_error)
{
    uint8_t bytes[4096];
    memset(bytes, 0x80, sizeof bytes);
    task.origin = NULL;
    glint_bad_row(&task, (struct glint_slice){bytes, sizeof bytes}, "reason");
    cr_expect_lt(strlen(task.error.cause), 300);
    cr_expect_not_null(strstr(task.error.cause, "\\x80...\""));
    task.error.code = GLINT_OK;
    memset(bytes, 'a', sizeof bytes);
    glint_bad_row(&task, (struct glint_slice){bytes, 200}, "reason");
    cr_expect_null(strstr(task.error.cause, "..."));
    task.error.code = GLINT_OK;
    glint_bad_row(&task, (struct glint_slice){bytes, 201}, "reason");
    cr_expect_not_null(strstr(task.error.cause, "a...\""));
}

Test(task, skipped_rows_are_counted_by_reason_up_to_limit)
{
    options.skip_bad_rows = true;
    for (int i = 0; i < 5; i++) cr_expect_eq(glint_bad_row(&task, row_at(11, 3), "too short"), 0);
    cr_expect_eq(glint_bad_row(&task, row_at(11, 3), "no number"), 0);
    cr_expect_eq(task.counters.values[glint_counter(&task, "bad rows: too short")], 5);
    cr_expect_eq(task.counters.values[glint_counter(&task, "bad rows: no number")], 1);
    options.bad_rows_max = 7;
    cr_expect_eq(glint_bad_row(&task, row_at(11, 3), "no number"), 0);
    cr_expect_eq(glint_bad_row(&task, row_at(11, 3), "no number"), GLINT_E_TOO_MANY_BAD_ROWS);
    cr_expect_eq(task.error.code, GLINT_E_TOO_MANY_BAD_ROWS);
    cr_expect_not_null(strstr(task.error.hint, "--max-bad-rows"));
}

Test(task, skipped_row_without_a_counter_is_an_error)
{
    char name[16];
    options.skip_bad_rows = true;
    options.bad_rows_max = -1;
    for (unsigned i = 0; task.counters.used < COUNTERS_MAX; i++) {
        snprintf(name, sizeof name, "n%u", i);
        cr_assert_geq(glint_counter(&task, name), 0);
    }
    cr_expect_eq(glint_bad_row(&task, row_at(11, 3), "too short"), GLINT_E_PLAN_LIMIT);
    cr_expect_eq(task.error.code, GLINT_E_PLAN_LIMIT);
}

Test(task, named_counters_add_up_and_are_limited)
{
    const int a = glint_counter(&task, "a"), b = glint_counter(&task, "b");
    cr_expect(a >= COUNT_BUILT_IN && b == a + 1);
    cr_expect_eq(glint_counter(&task, "a"), a);
    glint_counter_add(&task, a, 5);
    glint_counter_add(&task, a, -2);
    glint_counter_add(&task, -1, 100);
    cr_expect_eq(task.counters.values[a], 3);
    cr_expect_eq(task.counters.values[b], 0);
    char name[16];
    int last = 0;
    for (unsigned i = 0; last >= 0; i++) {
        snprintf(name, sizeof name, "n%u", i);
        last = glint_counter(&task, name);
        cr_assert_leq(i, COUNTERS_MAX);
    }
    cr_expect(last == GLINT_E_PLAN_LIMIT && task.counters.used == COUNTERS_MAX);
    for (int i = 0; i < COUNT_BUILT_IN; i++) cr_expect_not_null(task_counter_names[i]);
}

Test(task, scratch_is_aligned_and_reports_out_of_memory)
{
    uint8_t *p = glint_scratch(&task, 100);
    cr_assert_not_null(p);
    cr_expect_eq((uintptr_t)p % 64, 0);
    memset(p, 1, 100 + READ_SLACK);
    cr_expect_not_null(task_alloc(&task, 10));
    mem_fail_at(1, false);
    cr_expect_null(glint_scratch(&task, 10 * MIB));
    cr_expect_eq(task.error.code, GLINT_E_NO_MEMORY);
}

Test(task, cancel_flag_and_partition_are_readable)
{
    atomic_bool flag = false;
    cr_expect(!task_is_cancelled(&task));
    task.cancel_flag = &flag;
    cr_expect(!task_is_cancelled(&task));
    atomic_store(&flag, true);
    cr_expect(task_is_cancelled(&task));
    cr_expect_eq(glint_partition(&task), 3);
}
