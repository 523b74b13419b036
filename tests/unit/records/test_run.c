/* Runs in memory and in files: records read equal those written; damaged bytes are detected at
 * every offset; a failure leaves no files. */
#include "engine/records/run.h"
#include "tests/support/test_task.h"

#include <criterion/criterion.h>

#define PARTITIONS 10

/* Makes a cell of record i, whose bytes depend on i. */
static struct glint_slice make_cell(uint8_t *out, uint64_t i, uint64_t size, bool noise)
{
    uint64_t x = i * 2654435761u + 1;
    for (uint64_t k = 0; k < size; k++) out[k] = (uint8_t)(noise ? test_random(&x) : i + k / 16);
    return (struct glint_slice){out, size};
}

static uint64_t key_size(uint64_t i)
{
    return i % 17 == 3 ? 0 : i % 101 == 7 ? 70000 : i % 40;
}

static uint64_t value_size(uint64_t i)
{
    return i % 5 == 0 ? 0 : i % 97 == 11 ? 3 * RUN_BLOCK_BYTES + 5 : i % 300;
}

/* Partitions 0, 3, 5 and 9 only: the others are empty. */
static uint32_t partition_of(uint64_t i, uint64_t count)
{
    static const uint32_t used[] = {0, 3, 5, 9};
    return used[i * 4 / count];
}

static int write_run(struct glint_task *task, uint64_t count, bool noise, uint64_t memory_max,
                     struct run *out)
{
    static uint8_t key[100000], value[4 * RUN_BLOCK_BYTES];
    struct run_writer w;
    int r = run_writer_init(&w, task, PARTITIONS, memory_max);
    for (uint64_t i = 0; i < count && r == 0; i++)
        r = run_writer_add(&w, partition_of(i, count), make_cell(key, i, key_size(i), noise),
                           make_cell(value, i + 1, value_size(i), noise));
    if (r == 0) r = run_writer_finish(&w, out);
    if (r < 0) run_writer_abort(&w);
    return r;
}

static bool is_equal(struct glint_slice a, struct glint_slice b)
{
    return a.size == b.size && (a.size == 0 || memcmp(a.data, b.data, a.size) == 0);
}

/* Reads one partition and compares it; reads the value of every `each`-th record only. */
static int check_partition(struct glint_task *task, const struct run *run, uint32_t p,
                           uint64_t count, bool noise, uint64_t each)
{
    static uint8_t key[100000], value[4 * RUN_BLOCK_BYTES];
    struct run_reader reader = {.source = NULL};
    struct buffer scratch = {NULL, 0, 0};
    int r = run_reader_open(&reader, task, run_slice(run, p));
    uint64_t i = 0;
    while (r == 0 && (r = run_reader_next(&reader)) > 0) {
        while (partition_of(i, count) != p) i++;
        cr_assert(is_equal(reader.key, make_cell(key, i, key_size(i), noise)), "key %llu",
                  (unsigned long long)i);
        cr_assert_eq(reader.value_size, value_size(i));
        r = 0;
        struct glint_slice v;
        if (i % each == 0 && (r = run_reader_value(&reader, &scratch, &v)) == 0)
            cr_assert(is_equal(v, make_cell(value, i + 1, value_size(i), noise)));
        i++;
    }
    run_reader_close(&reader);
    buffer_fini(&scratch);
    return r;
}

static void round_trip(uint64_t count, bool noise, uint64_t memory_max)
{
    struct test_task t;
    test_task_init(&t, 64 * MIB);
    int64_t live = mem_live_blocks();
    struct run run = {.path = NULL};
    cr_assert_eq(write_run(&t.task, count, noise, memory_max, &run), 0);
    cr_assert_eq(run.records, count);
    cr_assert_eq(run.path == NULL, run.source.bytes <= memory_max);
    uint64_t records = 0;
    for (uint32_t p = 0; p < PARTITIONS; p++) {
        records += run.parts[p].records;
        for (uint64_t each = 1; each <= 3; each++)
            cr_assert_eq(check_partition(&t.task, &run, p, count, noise, each), 0);
    }
    cr_assert_eq(records, count);
    run_destroy(&run);
    cr_assert_eq(mem_live_blocks(), live);
    cr_assert(test_task_fini(&t), "a file is left");
}

Test(run, records_round_trip)
{
    round_trip(0, false, MIB);
    round_trip(0, false, 0);
    round_trip(1, true, MIB);
    round_trip(1000, false, 64 * MIB);
    round_trip(1000, true, 64 * MIB);
    round_trip(1000, false, 0);
    round_trip(1000, true, 0);
    round_trip(3000, true, MIB);
}

/* What stays in the process is not: it is neither sent nor written to disk if memory suffices. */
Test(run, outputs_for_other_processes_and_spills_are_compressed)
{
    struct test_task t;
    test_task_init(&t, 64 * MIB);
    struct run stays, spilled, sent;
    cr_assert_eq(write_run(&t.task, 1000, false, 64 * MIB, &stays), 0);
    cr_assert_eq(write_run(&t.task, 1000, false, 0, &spilled), 0);
    t.task.compress_outputs = true;
    cr_assert_eq(write_run(&t.task, 1000, false, 64 * MIB, &sent), 0);
    cr_assert_eq(spilled.source.bytes, sent.source.bytes);
    cr_assert_lt(sent.source.bytes, stays.source.bytes / 4);
    run_destroy(&stays);
    run_destroy(&spilled);
    run_destroy(&sent);
    cr_assert(test_task_fini(&t));
}

Test(run, compressible_blocks_are_compressed)
{
    struct test_task t;
    test_task_init(&t, 64 * MIB);
    t.task.compress_outputs = true;
    struct run plain, noise;
    cr_assert_eq(write_run(&t.task, 1000, false, 64 * MIB, &plain), 0);
    cr_assert_eq(write_run(&t.task, 1000, true, 64 * MIB, &noise), 0);
    cr_assert_lt(plain.source.bytes, noise.source.bytes / 4);
    uint64_t raw = 0;
    for (uint32_t p = 0; p < PARTITIONS; p++) raw += noise.parts[p].raw;
    cr_assert_lt(noise.source.bytes, raw + raw / 100, "incompressible data does not grow");
    run_destroy(&plain);
    run_destroy(&noise);
    cr_assert(test_task_fini(&t));
}

/* Flips every bit of a small run: each must be rejected, never read as other data. */
Test(run, flipped_bits_are_detected)
{
    struct test_task t;
    test_task_init(&t, 64 * MIB);
    for (int noise = 0; noise < 2; noise++) {
        struct run run;
        cr_assert_eq(write_run(&t.task, 7, noise != 0, 64 * MIB, &run), 0);
        for (uint64_t at = 0; at < run.source.bytes; at++) {
            unsigned bit = 1u << at % 8;
            run.memory[at] ^= (uint8_t)bit;
            int worst = 0;
            for (uint32_t p = 0; p < PARTITIONS; p++) {
                t.task.error.code = 0;
                int r = check_partition(&t.task, &run, p, 7, noise != 0, 1);
                if (r < 0) worst = r;
            }
            cr_assert_eq(worst, GLINT_E_SHUFFLE_CORRUPT, "byte %llu", (unsigned long long)at);
            run.memory[at] ^= (uint8_t)bit;
        }
        run_destroy(&run);
    }
    cr_assert(test_task_fini(&t));
}

/* An index with any of its numbers changed. */
Test(run, wrong_index_is_detected)
{
    struct test_task t;
    test_task_init(&t, 64 * MIB);
    struct run run;
    cr_assert_eq(write_run(&t.task, 40, true, 64 * MIB, &run), 0);
    for (int field = 0; field < 4; field++) {
        for (int64_t by = -3; by <= 3; by++) {
            struct run_part *p = &run.parts[3], was = *p;
            uint64_t *number[] = {&p->offset, &p->bytes, &p->raw, &p->records};
            *number[field] += (uint64_t)by;
            t.task.error.code = 0;
            struct run_reader reader = {.source = NULL};
            int r = run_reader_open(&reader, &t.task, run_slice(&run, 3));
            while (r == 0 && (r = run_reader_next(&reader)) > 0) r = 0;
            cr_assert_eq(t.task.error.code, by == 0 ? GLINT_OK : GLINT_E_SHUFFLE_CORRUPT);
            run_reader_close(&reader);
            *p = was;
        }
    }
    run.parts[3].bytes = UINT64_MAX;
    struct run_reader reader = {.source = NULL};
    t.task.error.code = 0;
    cr_assert_eq(run_reader_open(&reader, &t.task, run_slice(&run, 3)), GLINT_E_SHUFFLE_CORRUPT);
    run_reader_close(&reader);
    run_destroy(&run);
    cr_assert(test_task_fini(&t));
}

Test(run, truncated_file_is_detected)
{
    struct test_task t;
    test_task_init(&t, 64 * MIB);
    struct run run;
    cr_assert_eq(write_run(&t.task, 400, true, 0, &run), 0);
    cr_assert_eq(truncate(run.path, (off_t)run.source.bytes - 1), 0);
    cr_assert_eq(check_partition(&t.task, &run, 9, 400, true, 1), GLINT_E_SHUFFLE_CORRUPT);
    cr_assert(strstr(t.task.error.cause, run.path) != NULL, "the error names the file");
    run_destroy(&run);
    cr_assert(test_task_fini(&t));
}

Test(run, too_long_key_is_rejected)
{
    struct test_task t;
    test_task_init(&t, 64 * MIB);
    struct run_writer w;
    uint8_t byte = 0;
    cr_assert_eq(run_writer_init(&w, &t.task, 1, MIB), 0);
    int r = run_writer_add(&w, 0, (struct glint_slice){&byte, KEY_BYTES_MAX + 1},
                           (struct glint_slice){&byte, 1});
    cr_assert_eq(r, GLINT_E_VALUE_LIMIT);
    run_writer_abort(&w);
    cr_assert(test_task_fini(&t));
}

Test(run, longest_key_is_accepted)
{
    struct test_task t;
    test_task_init(&t, 64 * MIB);
    struct run run = {.path = NULL};
    struct run_writer w;
    struct run_reader reader;
    uint8_t *key = calloc(1, KEY_BYTES_MAX);
    cr_assert_not_null(key);
    cr_assert_eq(run_writer_init(&w, &t.task, 1, MIB), 0);
    cr_assert_eq(run_writer_add(&w, 0, (struct glint_slice){key, KEY_BYTES_MAX},
                                (struct glint_slice){key, 1}),
                 0);
    cr_assert_eq(run_writer_finish(&w, &run), 0);
    cr_assert_eq(run_reader_open(&reader, &t.task, run_slice(&run, 0)), 0);
    cr_expect_eq(run_reader_next(&reader), 1, "%s", t.task.error.cause);
    cr_expect_eq(reader.key.size, KEY_BYTES_MAX);
    run_reader_close(&reader);
    run_destroy(&run);
    free(key);
    cr_assert(test_task_fini(&t));
}

/* A part whose only stored bytes are one block with the sizes of a record: an empty key, and a
 * value of `size` bytes. */
static uint8_t first_block[1024];
static uint64_t first_block_bytes;

static int read_part(const struct run_source *source, struct glint_task *task, uint64_t offset,
                     uint64_t size, uint8_t *out)
{
    (void)source, (void)task;
    cr_assert_eq(offset, 0, "nothing after the first block is read");
    memset(out, 0, size);
    memcpy(out, first_block, size < first_block_bytes ? size : first_block_bytes);
    return 0;
}

static int read_first_record(struct glint_task *task, uint64_t size, struct run_reader *out)
{
    static struct run_source source;
    uint8_t *at = first_block + RUN_BLOCK_HEADER_BYTES;
    *at++ = 0;
    at += codec_put_varint(at, size);
    first_block_bytes = (uint64_t)(at - first_block);
    uint32_t sizes = (uint32_t)(first_block_bytes - RUN_BLOCK_HEADER_BYTES);
    run_block_write_header(first_block, (struct run_block){sizes, sizes}, 0);
    struct run_part part = {.bytes = size / 64, .raw = sizes + size, .records = 1};
    source = (struct run_source){.bytes = part.bytes, .read = read_part, .name = "a long record"};
    int r = run_reader_open(out, task, (struct run_slice){&source, part, false});
    return r == 0 ? run_reader_next(out) : r;
}

Test(run, longest_value_is_accepted)
{
    struct test_task t;
    struct run_reader reader = {.source = NULL};
    test_task_init(&t, 64 * MIB);
    cr_expect_eq(read_first_record(&t.task, VALUE_BYTES_MAX, &reader), 1, "%s", t.task.error.cause);
    cr_expect_eq(reader.value_size, VALUE_BYTES_MAX);
    run_reader_close(&reader);
    cr_expect_eq(read_first_record(&t.task, VALUE_BYTES_MAX + 1, &reader), GLINT_E_SHUFFLE_CORRUPT);
    run_reader_close(&reader);
    cr_assert(test_task_fini(&t));
}

/* A run in a file; each system call fails once. */
Test(run, failed_syscall_leaves_no_file)
{
    static const struct {
        int error;
        enum glint_code code;
    } cases[] = {
        {-EIO, GLINT_E_SPILL_IO}, {-ENOSPC, GLINT_E_SPILL_FULL}, {-EMFILE, GLINT_E_SYSTEM}};
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
        bool failed = true;
        for (uint64_t n = 1; failed; n++) {
            struct test_task t;
            test_task_init(&t, 64 * MIB);
            int64_t live = mem_live_blocks();
            t.fail_at = n;
            t.error = cases[c].error;
            struct run run = {.path = NULL};
            int r = write_run(&t.task, 200, true, 0, &run);
            for (uint32_t p = 0; p < PARTITIONS && r == 0; p++)
                r = check_partition(&t.task, &run, p, 200, true, 1);
            failed = t.calls >= n;
            /* An error of close after reading is ignored: no data is lost. */
            if (r < 0) cr_assert_eq(r, cases[c].code, "call %llu: %d", (unsigned long long)n, r);
            run_destroy(&run);
            cr_assert_eq(mem_live_blocks(), live);
            cr_assert(test_task_fini(&t), "a file is left after call %llu", (unsigned long long)n);
        }
    }
}

Test(run, out_of_memory_leaves_no_file)
{
    for (int64_t n = 1;; n++) {
        struct test_task t;
        test_task_init(&t, 64 * MIB);
        int64_t live = mem_live_blocks();
        struct run run = {.path = NULL};
        mem_fail_at(n, false);
        int r = write_run(&t.task, 200, n % 2 == 0, 0, &run);
        for (uint32_t p = 0; p < PARTITIONS && r == 0; p++)
            r = check_partition(&t.task, &run, p, 200, n % 2 == 0, 1);
        mem_fail_at(0, false);
        run_destroy(&run);
        cr_assert_eq(mem_live_blocks(), live);
        cr_assert(test_task_fini(&t));
        if (r == 0) break;
        cr_assert_eq(r, GLINT_E_NO_MEMORY);
    }
}

/* Many partitions, of which every `step`-th has a record: each is found, the others are empty, and
 * the index is not larger than they need. */
static void expect_index(uint32_t partitions, uint32_t step, bool sparse)
{
    struct test_task t;
    struct run_writer w;
    struct run run = {.path = NULL};
    const uint8_t bytes[READ_SLACK] = {1, 2, 3};
    test_task_init(&t, 64 * MIB);
    cr_assert_eq(run_writer_init(&w, &t.task, partitions, 8 * MIB), 0);
    for (uint32_t p = 0; p < partitions; p += step) {
        const struct glint_slice cell = {bytes, 1 + p % 3};
        cr_assert_eq(run_writer_add(&w, p, cell, cell), 0);
    }
    cr_assert_eq(run_writer_finish(&w, &run), 0);
    cr_expect_eq(run.numbers != NULL, sparse);
    cr_expect_eq(run.partitions, partitions);
    if (sparse) cr_expect_eq(run.used, (partitions + step - 1) / step);
    for (uint32_t p = 0; p < partitions; p++) {
        const struct run_part part = run_find_part(&run, p);
        cr_assert_eq(part.records, p % step == 0, "partition %u", p);
        cr_assert_eq(part.raw, p % step == 0 ? 2 * (2 + p % 3) : 0, "partition %u", p);
        struct run_reader reader = {.task = NULL};
        cr_assert_eq(run_reader_open(&reader, &t.task, run_slice(&run, p)), 0);
        cr_assert_eq(run_reader_next(&reader), p % step == 0, "partition %u", p);
        run_reader_close(&reader);
    }
    run_destroy(&run);
    cr_assert(test_task_fini(&t), "a file is left");
}

Test(run, index_has_only_used_partitions)
{
    expect_index(10000, 500, true);
    expect_index(10000, 10001, true); /* only the first */
    expect_index(1000, 2, true);
    expect_index(1000, 1, false);
    expect_index(63, 60, false);
}
