/* Each read returns its own bytes, even if reads of the same job fail; there are at most
 * FILE_READER_BUFFERS_MAX buffers. */
#include "engine/transfer/fetch_server.h"
#include "engine/limits.h"
#include "tests/support/test_task.h"

#include <criterion/criterion.h>

enum { READS = 3 * FILE_READER_BUFFERS_MAX, MISSING = 5, PAST_END = 6 };
#define CHUNK      (FETCH_CHUNK_BYTES_MAX / 64)
#define FILE_BYTES (READS * CHUNK)

static struct test_task t;
static struct file_reader blocks;
static uv_loop_t loop;
static struct run here, missing;
static struct file_read reads[READS];
static uint32_t started, done;
static int codes[READS];

static uint8_t byte_at(uint64_t offset)
{
    return (uint8_t)(offset / CHUNK * 7 + offset % 251);
}

static void begin(void)
{
    static char path[PATH_MAX], nowhere[PATH_MAX];
    static uint8_t bytes[FILE_BYTES];
    test_task_init(&t, 16 * MIB);
    snprintf(path, sizeof path, "%s/run", t.dir);
    snprintf(nowhere, sizeof nowhere, "%s/nowhere", t.dir);
    for (uint64_t i = 0; i < FILE_BYTES; i++) bytes[i] = byte_at(i);
    FILE *f = fopen(path, "w");
    cr_assert(f != NULL && fwrite(bytes, 1, sizeof bytes, f) == sizeof bytes && fclose(f) == 0);
    here = (struct run){.path = path, .env = env_real()};
    missing = (struct run){.path = nowhere, .env = env_real()};
    started = done = 0;
    uv_loop_init(&loop);
    file_reader_init(&blocks, &loop);
}

static void end(void)
{
    file_reader_fini(&blocks);
    cr_expect_eq(uv_loop_close(&loop), 0);
    unlink(here.path);
    cr_expect(test_task_fini(&t));
}

TestSuite(file_reader, .init = begin, .fini = end);

/* Starts reads until no buffer is free. */
static int start_reads(void)
{
    int r = 0;
    while (started < READS && (r = file_reader_start(&blocks, &reads[started])) == 0) started++;
    return r;
}

static void on_done(struct file_read *r, int code)
{
    uint64_t i = (uint64_t)(r - reads);
    codes[i] = code;
    for (uint64_t k = 0; code == 0 && k < r->size; k++)
        cr_assert_eq(r->bytes[k], byte_at(r->offset + k), "read %llu", (unsigned long long)i);
    done++;
    file_reader_release_buffer(&blocks, r);
    cr_expect_null(r->bytes);
    start_reads();
}

static void init_reads(void)
{
    for (uint64_t i = 0; i < READS; i++)
        reads[i] =
            (struct file_read){.run = &here, .offset = i * CHUNK, .size = CHUNK, .done = on_done};
}

Test(file_reader, reads_return_their_own_bytes)
{
    init_reads();
    cr_expect_eq(start_reads(), FILE_READER_BUSY);
    cr_expect_eq(started, FILE_READER_BUFFERS_MAX);
    uv_run(&loop, UV_RUN_DEFAULT);
    cr_expect_eq(done, READS);
    for (uint32_t i = 0; i < READS; i++) cr_expect_eq(codes[i], 0);
}

Test(file_reader, failed_read_affects_no_other)
{
    init_reads();
    reads[MISSING].run = &missing;
    reads[PAST_END].offset = FILE_BYTES - 1;
    start_reads();
    uv_run(&loop, UV_RUN_DEFAULT);
    cr_expect_eq(done, READS);
    for (uint32_t i = 0; i < READS; i++)
        cr_expect_eq(codes[i], i == MISSING ? UV_ENOENT : i == PAST_END ? UV_EOF : 0);
}

Test(file_reader, out_of_memory_starts_no_read)
{
    init_reads();
    mem_fail_at(1, true);
    cr_expect_eq(start_reads(), GLINT_E_NO_MEMORY);
    mem_fail_at(0, false);
    cr_expect_eq(started, 0);
    cr_expect_eq(start_reads(), FILE_READER_BUSY);
    uv_run(&loop, UV_RUN_DEFAULT);
    cr_expect_eq(done, READS);
}
