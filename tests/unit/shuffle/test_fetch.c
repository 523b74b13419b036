/* Fetching remote map outputs. With every distribution of the inputs, every order of arrival and
 * every window size, the reader gets the same bytes as from local inputs, and a lost map output is
 * reported. */
#include "tests/support/fake_fetcher.h"
#include "tests/support/test_task.h"

#include <criterion/criterion.h>

enum { PARTITIONS = 3, MAPS_MAX = 300 };

struct world {
    struct test_task t;
    struct run runs[MAPS_MAX];
    uint32_t maps;
    struct fake_fetcher fake;
    struct fetch_input inputs[MAPS_MAX];
    struct seen expected;
    atomic_bool cancelled;
    uint32_t lost;
};

static struct world w;

static void next_task(uint64_t memory_bytes)
{
    arena_reset(&w.t.task.arena, 0);
    w.t.task.error.code = GLINT_OK;
    w.t.task.failed_source = NULL;
    w.t.task.attempt_id++;
    w.t.options.memory_bytes = memory_bytes;
    atomic_store(&w.cancelled, false);
    w.lost = UINT32_MAX;
}

static void open_world(uint32_t maps, uint32_t records, uint32_t value_bytes)
{
    memset(&w, 0, sizeof w);
    test_task_init(&w.t, MIB);
    w.t.task.cancel_flag = &w.cancelled;
    w.maps = maps;
    for (uint32_t m = 0; m < maps; m++)
        cr_assert_eq(fake_run(&w.t.task, m, PARTITIONS, m % 5 == 3 ? 0 : records + m % 3,
                              value_bytes, GIB, &w.runs[m]),
                     0);
    next_task(MIB);
}

static void close_world(void)
{
    for (uint32_t m = 0; m < w.maps; m++) run_destroy(&w.runs[m]);
    free(w.expected.data);
    cr_expect(test_task_fini(&w.t), "a file is left");
}

/* Distributes the inputs by the seed: `here` of 8 are local, the others on executors 1 to 4. */
static void place_inputs(uint64_t seed, uint32_t here)
{
    for (uint32_t m = 0; m < w.maps; m++) {
        uint32_t at = (uint32_t)(test_random(&seed) % 8);
        bool local = at < here;
        w.inputs[m] = (struct fetch_input){local ? 0 : 1 + at % 4, m, m % 3, NULL};
        if (local) w.inputs[m].local = &w.runs[m];
    }
}

static void expect_local(uint32_t partition)
{
    static struct run_slice slices[MAPS_MAX];
    w.expected.size = 0;
    next_task(MIB);
    for (uint32_t m = 0; m < w.maps; m++) slices[m] = run_slice(&w.runs[m], partition);
    cr_assert_eq(fake_read(&w.t.task, slices, w.maps, &w.expected), 0);
}

/* Returns 0 if the reader got the expected records, else the task's error. */
static int fetch_all(uint32_t partition, uint64_t memory_bytes)
{
    static struct seen seen;
    struct run_slice *slices = NULL;
    uint32_t count = 0;
    seen.size = 0;
    next_task(memory_bytes);
    struct fetch *f = fetch_open(&w.t.task, &w.fake.fetcher, 9, partition, w.inputs, w.maps,
                                 &slices, &count, &w.lost);
    if (f == NULL) return w.t.task.error.code;
    int r = fake_read(&w.t.task, slices, count, &seen);
    if (r != 0) w.lost = fetch_lost_input(f);
    fetch_close(f);
    if (r != 0) return w.t.task.error.code;
    cr_assert_eq(seen.size, w.expected.size);
    cr_assert(seen.size == 0 || memcmp(seen.data, w.expected.data, seen.size) == 0);
    return 0;
}

Test(fetch, remote_inputs_read_like_local_ones)
{
    static const uint32_t maps[] = {1, 2, 7, 100, 128, 129, 300};
    static const uint64_t memory[] = {20 * KIB, 300 * KIB, 16 * MIB, 400 * MIB};
    for (size_t i = 0; i < sizeof maps / sizeof maps[0]; i++) {
        open_world(maps[i], maps[i] > 50 ? 20 : 300, maps[i] > 50 ? 900 : 9000);
        for (uint32_t k = 0; k < 12; k++) {
            uint32_t partition = k % PARTITIONS;
            expect_local(partition);
            place_inputs(k * 31 + 1 + i, k % 4 == 0 ? 0 : k % 7);
            fake_fetcher_start(&w.fake, w.runs, w.maps, k);
            cr_assert_eq(fetch_all(partition, memory[k % 4]), 0, "%s", w.t.task.error.cause);
            fake_fetcher_stop(&w.fake);
            uint64_t window =
                memory[k % 4] / 2 < FETCH_WINDOW_BYTES ? memory[k % 4] / 2 : FETCH_WINDOW_BYTES;
            uint64_t least = 4 * KIB * MERGE_FAN_IN_MAX; /* one chunk per input is the minimum */
            cr_expect_leq(w.fake.largest, window > least ? window : least);
        }
        close_world();
    }
}

/* The parts are several times the window, and the merge reads all of them at once. */
Test(fetch, large_segments_pass_a_small_window)
{
    open_world(5, 12, 3 * MIB);
    for (uint32_t k = 0; k < 3; k++) {
        expect_local(k);
        place_inputs(k + 1, k);
        fake_fetcher_start(&w.fake, w.runs, w.maps, k);
        cr_assert_eq(fetch_all(k, 16 * MIB), 0, "%s", w.t.task.error.cause);
        cr_expect_leq(w.fake.largest, 8 * MIB);
        fake_fetcher_stop(&w.fake);
    }
    close_world();
}

Test(fetch, failed_request_names_its_input)
{
    open_world(23, 40, 2000);
    expect_local(1);
    bool failed = true;
    uint64_t n = 0;
    for (; failed && n < 5000; n++) {
        place_inputs(5, 2);
        fake_fetcher_start(&w.fake, w.runs, w.maps, n);
        w.fake.fail_at = n;
        int r = fetch_all(1, 100 * KIB);
        failed = r != 0;
        if (failed) {
            cr_assert_eq(r, GLINT_E_FETCH_FAILED);
            cr_assert_lt(w.lost, w.maps);
            cr_expect_eq(w.inputs[w.lost].executor, w.fake.failed_executor);
            cr_expect_null(w.inputs[w.lost].local);
        }
        fake_fetcher_stop(&w.fake);
    }
    cr_expect(!failed && n > 100);
    close_world();
}

Test(fetch, missing_map_output_is_named)
{
    open_world(20, 5, 100);
    for (uint32_t missing = 0; missing < 20; missing++) {
        place_inputs(5, 0);
        fake_fetcher_start(&w.fake, w.runs, w.maps, missing);
        w.fake.missing_map = missing;
        cr_expect_eq(fetch_all(0, MIB), GLINT_E_FETCH_FAILED);
        cr_expect_eq(w.lost, missing);
        fake_fetcher_stop(&w.fake);
    }
    close_world();
}

/* With one record per input all parts are inline in the index; with 50 none is. */
static void fetch_damaged(uint32_t records, int32_t damages, int32_t lists, int expected)
{
    open_world(6, records, 5000);
    expect_local(0);
    place_inputs(3, 0);
    fake_fetcher_start(&w.fake, w.runs, w.maps, 1);
    w.fake.damaged_map = 4;
    w.fake.damages = damages;
    w.fake.damaged_lists = lists;
    cr_expect_eq(fetch_all(0, 300 * KIB), expected, "%s", w.t.task.error.cause);
    if (expected == 0) cr_expect(w.fake.damages == 0 && w.fake.damaged_lists == 0, "all arrived");
    if (expected == GLINT_E_SHUFFLE_CORRUPT) {
        cr_expect_eq(w.lost, 4);
        cr_expect_not_null(strstr(w.t.task.error.cause, "; read again likewise"));
    }
    fake_fetcher_stop(&w.fake);
    close_world();
}

Test(fetch, damaged_block_is_fetched_again)
{
    fetch_damaged(50, 1, 0, 0);
    fetch_damaged(1, 1, 0, 0);
}

Test(fetch, permanently_damaged_map_output_is_named)
{
    fetch_damaged(50, INT32_MAX, 0, GLINT_E_SHUFFLE_CORRUPT);
    fetch_damaged(1, INT32_MAX, 0, GLINT_E_SHUFFLE_CORRUPT);
}

Test(fetch, damaged_index_is_requested_again)
{
    fetch_damaged(50, 0, 1, 0);
    fetch_damaged(1, 0, 1, 0);
    fetch_damaged(50, 0, INT32_MAX, GLINT_E_FETCH_FAILED);
}

/* One request per executor, for any number of small parts. */
Test(fetch, small_segments_are_inlined_in_the_index)
{
    open_world(300, 2, 200);
    for (uint32_t k = 0; k < PARTITIONS; k++) {
        expect_local(k);
        place_inputs(k + 1, 2);
        fake_fetcher_start(&w.fake, w.runs, w.maps, k);
        cr_assert_eq(fetch_all(k, 16 * MIB), 0, "%s", w.t.task.error.cause);
        cr_expect_eq(w.fake.requests, 4);
        fake_fetcher_stop(&w.fake);
    }
    close_world();
}

Test(fetch, cancelled_task_stops_waiting)
{
    open_world(23, 40, 2000);
    expect_local(1);
    bool cancelled = true;
    uint64_t n = 0;
    for (; cancelled && n < 5000; n++) {
        place_inputs(5, 2);
        fake_fetcher_start(&w.fake, w.runs, w.maps, n);
        w.fake.hold_from = n;
        w.fake.cancel_flag = &w.cancelled;
        int r = fetch_all(1, 100 * KIB);
        cancelled = w.fake.held;
        cr_expect_eq(r, cancelled ? GLINT_E_INTERRUPTED : 0);
        fake_fetcher_stop(&w.fake);
    }
    cr_expect(!cancelled && n > 100);
    close_world();
}

/* A reader that stops early has requests in flight: fetch_close waits for them. */
Test(fetch, early_close_waits_for_requests)
{
    open_world(40, 40, 2000);
    for (uint64_t k = 0; k < 20; k++) {
        struct run_slice *slices;
        uint32_t count, lost;
        uint8_t header[RUN_BLOCK_HEADER_BYTES];
        place_inputs(k + 3, 1);
        fake_fetcher_start(&w.fake, w.runs, w.maps, k);
        next_task(MIB);
        struct fetch *f =
            fetch_open(&w.t.task, &w.fake.fetcher, 9, 0, w.inputs, w.maps, &slices, &count, &lost);
        cr_assert_not_null(f);
        for (uint32_t i = 0; i < count && k % 2 == 0; i++)
            if (slices[i].source->memory == NULL)
                cr_expect_eq(
                    slices[i].source->read(slices[i].source, &w.t.task, 0, sizeof header, header),
                    0);
        fetch_close(f);
        fake_fetcher_stop(&w.fake);
    }
    close_world();
}

Test(fetch, out_of_memory_is_reported)
{
    open_world(9, 30, 2000);
    expect_local(2);
    place_inputs(2, 2);
    int r = -1;
    for (int64_t n = 1; r != 0 && n < 3000; n++) {
        fake_fetcher_start(&w.fake, w.runs, w.maps, (uint64_t)n);
        next_task(64 * KIB);
        int64_t live = mem_live_blocks();
        mem_fail_at(n, false);
        r = fetch_all(2, 64 * KIB);
        mem_fail_at(0, false);
        cr_expect(r == 0 || r == GLINT_E_NO_MEMORY, "%d", r);
        fake_fetcher_stop(&w.fake);
        arena_reset(&w.t.task.arena, 0);
        cr_expect_eq(mem_live_blocks(), live);
    }
    cr_expect_eq(r, 0);
    close_world();
}
