/* Fetching remote map outputs. With every distribution of the inputs, every order of arrival and
 * every window size, the reader gets the same bytes as from local inputs, and a lost map output is
 * reported. */
#include "engine/transfer/fetch.h"
#include "tests/support/fake_fetcher.h"
#include "tests/support/test_task.h"

#include <criterion/criterion.h>
#include <semaphore.h>

enum { PARTITIONS = 3, MAPS_MAX = 300 };

struct fetch_fixture {
    struct test_task t;
    struct run runs[MAPS_MAX];
    uint32_t maps;
    struct fake_fetcher fake;
    struct fetch_input inputs[MAPS_MAX];
    struct seen expected;
    atomic_bool cancelled;
    uint32_t lost;
    uint64_t arena_fill; /* fetch_all: bytes used in the arena, which then cannot grow */
};

static struct fetch_fixture fixture;

static void next_task(uint64_t memory_bytes)
{
    arena_reset(&fixture.t.task.arena, 0);
    fixture.t.task.error.code = GLINT_OK;
    fixture.t.task.failed_source = NULL;
    fixture.t.task.attempt_id++;
    fixture.t.options.memory_bytes = memory_bytes;
    atomic_store(&fixture.cancelled, false);
    fixture.lost = UINT32_MAX;
}

static void fixture_init(uint32_t maps, uint32_t records, uint32_t value_bytes)
{
    memset(&fixture, 0, sizeof fixture);
    test_task_init(&fixture.t, MIB);
    fixture.t.task.cancel_flag = &fixture.cancelled;
    fixture.maps = maps;
    for (uint32_t m = 0; m < maps; m++)
        cr_assert_eq(fake_run(&fixture.t.task, m, PARTITIONS, m % 5 == 3 ? 0 : records + m % 3,
                              value_bytes, GIB, &fixture.runs[m]),
                     0);
    next_task(MIB);
}

static void fixture_fini(void)
{
    for (uint32_t m = 0; m < fixture.maps; m++) run_destroy(&fixture.runs[m]);
    free(fixture.expected.data);
    cr_expect(test_task_fini(&fixture.t), "a file is left");
}

/* Distributes the inputs by the seed: `local_count` of 8 are local, the others on executors 1 to 4.
 */
static void distribute_inputs(uint64_t seed, uint32_t local_count)
{
    for (uint32_t m = 0; m < fixture.maps; m++) {
        uint32_t at = (uint32_t)(test_random(&seed) % 8);
        bool local = at < local_count;
        fixture.inputs[m] = (struct fetch_input){local ? 0 : 1 + at % 4, m, m % 3, NULL};
        if (local) fixture.inputs[m].local = &fixture.runs[m];
    }
}

static void expect_local(uint32_t partition)
{
    static struct run_slice slices[MAPS_MAX];
    fixture.expected.size = 0;
    next_task(MIB);
    for (uint32_t m = 0; m < fixture.maps; m++) slices[m] = run_slice(&fixture.runs[m], partition);
    cr_assert_eq(fake_read(&fixture.t.task, slices, fixture.maps, &fixture.expected), 0);
}

/* Returns 0 if the reader got the expected records, else the task's error. */
static int fetch_all(uint32_t partition, uint64_t memory_bytes)
{
    static struct seen seen;
    struct run_slice *slices = NULL;
    uint32_t count = 0;
    seen.size = 0;
    next_task(memory_bytes);
    if (fixture.arena_fill > 0) {
        cr_assert_not_null(arena_alloc(&fixture.t.task.arena, fixture.arena_fill));
        mem_fail_at(1, false);
    }
    struct fetch *f = fetch_open(&fixture.t.task, &fixture.fake.fetcher, 9, partition,
                                 fixture.inputs, fixture.maps, &slices, &count, &fixture.lost);
    if (f == NULL) return fixture.t.task.error.code;
    int r = fake_read(&fixture.t.task, slices, count, &seen);
    if (r != 0) fixture.lost = fetch_find_lost_input(f);
    fetch_close(f);
    if (r != 0) return fixture.t.task.error.code;
    cr_assert_eq(seen.size, fixture.expected.size);
    cr_assert(seen.size == 0 || memcmp(seen.data, fixture.expected.data, seen.size) == 0);
    return 0;
}

Test(fetch, remote_inputs_read_like_local_ones)
{
    static const uint32_t maps[] = {1, 2, 7, 100, 128, 129, 300};
    static const uint64_t memory[] = {20 * KIB, 300 * KIB, 16 * MIB, 400 * MIB};
    for (size_t i = 0; i < sizeof maps / sizeof maps[0]; i++) {
        fixture_init(maps[i], maps[i] > 50 ? 20 : 300, maps[i] > 50 ? 900 : 9000);
        for (uint32_t k = 0; k < 12; k++) {
            uint32_t partition = k % PARTITIONS;
            expect_local(partition);
            distribute_inputs(k * 31 + 1 + i, k % 4 == 0 ? 0 : k % 7);
            fake_fetcher_start(&fixture.fake, fixture.runs, fixture.maps, k);
            cr_assert_eq(fetch_all(partition, memory[k % 4]), 0, "%s", fixture.t.task.error.cause);
            fake_fetcher_stop(&fixture.fake);
            uint64_t window =
                memory[k % 4] / 2 < FETCH_WINDOW_BYTES ? memory[k % 4] / 2 : FETCH_WINDOW_BYTES;
            uint64_t least = 4 * KIB * MERGE_FAN_IN_MAX; /* one chunk per input is the minimum */
            cr_expect_leq(fixture.fake.largest, window > least ? window : least);
        }
        fixture_fini();
    }
}

/* The parts are several times the window, and the merge reads all of them at once. */
Test(fetch, large_segments_pass_a_small_window)
{
    fixture_init(5, 12, 3 * MIB);
    for (uint32_t k = 0; k < 3; k++) {
        expect_local(k);
        distribute_inputs(k + 1, k);
        fake_fetcher_start(&fixture.fake, fixture.runs, fixture.maps, k);
        cr_assert_eq(fetch_all(k, 16 * MIB), 0, "%s", fixture.t.task.error.cause);
        cr_expect_leq(fixture.fake.largest, 8 * MIB);
        fake_fetcher_stop(&fixture.fake);
    }
    fixture_fini();
}

Test(fetch, failed_request_names_its_input)
{
    fixture_init(23, 40, 2000);
    expect_local(1);
    bool failed = true;
    uint64_t n = 0;
    for (; failed && n < 5000; n++) {
        distribute_inputs(5, 2);
        fake_fetcher_start(&fixture.fake, fixture.runs, fixture.maps, n);
        fixture.fake.fail_at = n;
        int r = fetch_all(1, 100 * KIB);
        failed = r != 0;
        if (failed) {
            cr_assert_eq(r, GLINT_E_FETCH_FAILED);
            cr_assert_lt(fixture.lost, fixture.maps);
            cr_expect_eq(fixture.inputs[fixture.lost].executor, fixture.fake.failed_executor);
            cr_expect_null(fixture.inputs[fixture.lost].local);
        }
        fake_fetcher_stop(&fixture.fake);
    }
    cr_expect(!failed && n > 100);
    fixture_fini();
}

Test(fetch, missing_map_output_is_named)
{
    fixture_init(20, 5, 100);
    for (uint32_t missing = 0; missing < 20; missing++) {
        distribute_inputs(5, 0);
        fake_fetcher_start(&fixture.fake, fixture.runs, fixture.maps, missing);
        fixture.fake.missing_map = missing;
        cr_expect_eq(fetch_all(0, MIB), GLINT_E_FETCH_FAILED);
        cr_expect_eq(fixture.lost, missing);
        fake_fetcher_stop(&fixture.fake);
    }
    fixture_fini();
}

/* With one record per input all parts are inline in the index; with 50 none is. */
static void fetch_damaged(uint32_t records, int32_t damages, int32_t lists, int expected)
{
    fixture_init(6, records, 5000);
    expect_local(0);
    distribute_inputs(3, 0);
    fake_fetcher_start(&fixture.fake, fixture.runs, fixture.maps, 1);
    fixture.fake.damaged_map = 4;
    fixture.fake.damages = damages;
    fixture.fake.damaged_lists = lists;
    cr_expect_eq(fetch_all(0, 300 * KIB), expected, "%s", fixture.t.task.error.cause);
    if (expected == 0)
        cr_expect(fixture.fake.damages == 0 && fixture.fake.damaged_lists == 0,
                  "all damage was sent");
    if (expected == GLINT_E_SHUFFLE_CORRUPT) {
        cr_expect_eq(fixture.lost, 4);
        cr_expect_not_null(strstr(fixture.t.task.error.cause, "; the second read failed too"));
    }
    fake_fetcher_stop(&fixture.fake);
    fixture_fini();
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
    fixture_init(300, 2, 200);
    for (uint32_t k = 0; k < PARTITIONS; k++) {
        expect_local(k);
        distribute_inputs(k + 1, 2);
        fake_fetcher_start(&fixture.fake, fixture.runs, fixture.maps, k);
        cr_assert_eq(fetch_all(k, 16 * MIB), 0, "%s", fixture.t.task.error.cause);
        cr_expect_eq(fixture.fake.requests, 4);
        fake_fetcher_stop(&fixture.fake);
    }
    fixture_fini();
}

Test(fetch, cancelled_task_stops_waiting)
{
    fixture_init(23, 40, 2000);
    expect_local(1);
    bool cancelled = true;
    uint64_t n = 0;
    for (; cancelled && n < 5000; n++) {
        distribute_inputs(5, 2);
        fake_fetcher_start(&fixture.fake, fixture.runs, fixture.maps, n);
        fixture.fake.hold_from = n;
        fixture.fake.cancel_flag = &fixture.cancelled;
        int r = fetch_all(1, 100 * KIB);
        cancelled = fixture.fake.held;
        cr_expect_eq(r, cancelled ? GLINT_E_INTERRUPTED : 0);
        fake_fetcher_stop(&fixture.fake);
    }
    cr_expect(!cancelled && n > 100);
    fixture_fini();
}

/* A reader that stops early has requests in flight: fetch_close waits for them. */
Test(fetch, early_close_waits_for_requests)
{
    fixture_init(40, 40, 2000);
    for (uint64_t k = 0; k < 20; k++) {
        struct run_slice *slices;
        uint32_t count, lost;
        uint8_t header[RUN_BLOCK_HEADER_BYTES];
        distribute_inputs(k + 3, 1);
        fake_fetcher_start(&fixture.fake, fixture.runs, fixture.maps, k);
        next_task(MIB);
        struct fetch *f = fetch_open(&fixture.t.task, &fixture.fake.fetcher, 9, 0, fixture.inputs,
                                     fixture.maps, &slices, &count, &lost);
        cr_assert_not_null(f);
        for (uint32_t i = 0; i < count && k % 2 == 0; i++)
            if (slices[i].source->memory == NULL)
                cr_expect_eq(slices[i].source->read(slices[i].source, &fixture.t.task, 0,
                                                    sizeof header, header),
                             0);
        fetch_close(f);
        fake_fetcher_stop(&fixture.fake);
    }
    fixture_fini();
}

/* The task's arena is full at any of the allocations that come first, and cannot grow. */
Test(fetch, full_arena_is_reported)
{
    enum { ARENA_BYTES = 65536, FROM_BYTES = 32768, STEP_BYTES = 16 };
    fixture_init(9, 30, 100);
    expect_local(2);
    distribute_inputs(2, 2);
    uint32_t failed = 0;
    for (uint64_t fill = FROM_BYTES; fill < ARENA_BYTES; fill += STEP_BYTES) {
        fake_fetcher_start(&fixture.fake, fixture.runs, fixture.maps, fill);
        fixture.arena_fill = fill;
        int r = fetch_all(2, 64 * KIB);
        mem_fail_at(0, false);
        cr_assert(r == 0 || r == GLINT_E_NO_MEMORY, "%d", r);
        failed += r != 0;
        fake_fetcher_stop(&fixture.fake);
    }
    cr_expect_gt(failed, 0);
    fixture_fini();
}

Test(fetch, out_of_memory_is_reported)
{
    fixture_init(9, 30, 2000);
    expect_local(2);
    distribute_inputs(2, 2);
    int r = -1;
    for (int64_t n = 1; r != 0 && n < 3000; n++) {
        fake_fetcher_start(&fixture.fake, fixture.runs, fixture.maps, (uint64_t)n);
        next_task(64 * KIB);
        int64_t live = mem_live_blocks();
        mem_fail_at(n, false);
        r = fetch_all(2, 64 * KIB);
        mem_fail_at(0, false);
        cr_expect(r == 0 || r == GLINT_E_NO_MEMORY, "%d", r);
        fake_fetcher_stop(&fixture.fake);
        arena_reset(&fixture.t.task.arena, 0);
        cr_expect_eq(mem_live_blocks(), live);
    }
    cr_expect_eq(r, 0);
    fixture_fini();
}

/* A clock that the slot reads only when it has to wait, and 5 ms later when it has waited. */
static sem_t waiting;
static atomic_uint clock_reads;

static uint64_t counting_clock(struct env *env)
{
    (void)env;
    const unsigned n = atomic_fetch_add(&clock_reads, 1);
    sem_post(&waiting);
    return SECOND_NS + n * 5 * MS_NS;
}

static struct fetch_request *submitted;

static void submit_one(void *arg, struct fetch_request *first)
{
    (void)arg;
    submitted = first;
}

static void *finish_when_waited_for(void *arg)
{
    while (sem_wait(&waiting) != 0) continue;
    submitted->done(submitted);
    return arg;
}

Test(fetch, time_of_waiting_is_counted)
{
    struct env env = {.now_ns = counting_clock};
    struct glint_task task = {.env = &env};
    const struct fetcher fetcher = {.submit = submit_one};
    struct pending_fetch a = {.finished = false};
    struct fetch_wait w;
    pthread_t thread;
    sem_init(&waiting, 0, 0);
    fetch_wait_init(&w, &task, &fetcher);
    fetch_wait_submit(&w, &a.request);
    cr_assert_eq(pthread_create(&thread, NULL, finish_when_waited_for, NULL), 0);
    fetch_wait_until_done(&w, &a);
    cr_expect_eq(task.counters.values[COUNT_FETCH_WAIT_US], 5000);
    fetch_wait_until_done(&w, &a); /* it has finished: no time, and no clock */
    cr_expect_eq(task.counters.values[COUNT_FETCH_WAIT_US], 5000);
    cr_expect_eq(atomic_load(&clock_reads), 2);
    pthread_join(thread, NULL);
    fetch_wait_fini(&w);
    sem_destroy(&waiting);
}
