/* Cached blocks: what is evicted and when, and that a block which cannot be read is gone. */
#include "engine/executor/store.h"
#include "engine/glint_persist.h"
#include "tests/support/test_task.h"

#include <criterion/criterion.h>
#include <dirent.h>

enum { ROWS = 1000, BATCHES = 20 };
static const struct glint_schema schema = {GLINT_NONE, GLINT_I64};

static struct test_task t;
static int64_t numbers[ROWS];

static void begin(void)
{
    test_task_init(&t, GIB);
    t.task.counters.used = COUNT_BUILT_IN;
}

static void end(void)
{
    cr_expect(test_task_fini(&t), "no file is left");
    cr_expect_eq(mem_live_blocks(), 0);
}

TestSuite(block_store, .init = begin, .fini = end);

static struct glint_batch batch_of(uint32_t rdd)
{
    for (int i = 0; i < ROWS; i++) numbers[i] = rdd * 1000000 + i;
    return (struct glint_batch){
        .rows = ROWS, .key = {.type = GLINT_NONE}, .value = {.type = GLINT_I64, .i64 = numbers}};
}

static void write_block(struct block_store *s, uint32_t rdd, uint32_t partition, unsigned level)
{
    struct block_writer *w = block_writer_open(s, &t.task, rdd, partition, level, schema);
    cr_assert_not_null(w);
    const struct glint_batch batch = batch_of(rdd);
    for (int i = 0; i < BATCHES; i++) block_writer_push(w, &batch);
    block_writer_commit(w);
    block_writer_close(w);
}

static enum flow count_rows(void *arg, const struct glint_batch *batch)
{
    *(int64_t *)arg += batch->rows;
    return FLOW_MORE;
}

/* The rows of a block, -1: there is none, or -2: it cannot be read. */
static int64_t rows_of(struct block_store *s, uint32_t rdd, uint32_t partition)
{
    int64_t rows = 0;
    struct cached_block *b = block_store_acquire(s, rdd, partition);
    if (b == NULL) return -1;
    const struct block_reader to = {schema, count_rows, &rows};
    if (cached_block_read(s, b, &t.task, &to) == FLOW_FAIL) rows = -2;
    block_store_release(s, b);
    return rows;
}

/* A budget for three blocks. */
static struct block_store *open_store(void)
{
    struct block_store *s = block_store_create(&t.env, t.dir, GIB);
    write_block(s, 1, 0, GLINT_MEMORY);
    const uint64_t bytes = block_store_memory_bytes(s);
    cr_assert_geq(bytes, BATCHES * ROWS * sizeof numbers[0]);
    block_store_destroy(s);
    s = block_store_create(&t.env, t.dir, 3 * bytes + bytes / 2);
    cr_assert_not_null(s);
    return s;
}

Test(block_store, least_recently_used_block_is_dropped)
{
    struct block_store *s = open_store();
    for (uint32_t rdd = 1; rdd <= 3; rdd++) write_block(s, rdd, 0, GLINT_MEMORY);
    cr_expect_eq(rows_of(s, 1, 0), BATCHES * ROWS); /* now 2 is the oldest */
    write_block(s, 4, 0, GLINT_MEMORY);
    cr_expect_eq(rows_of(s, 2, 0), -1);
    for (uint32_t rdd = 1; rdd <= 4; rdd++)
        cr_expect(rdd == 2 || rows_of(s, rdd, 0) == BATCHES * ROWS, "RDD %u", rdd);
    cr_expect_eq(t.task.counters.values[COUNT_CACHE_EVICTIONS], 1);
    block_store_destroy(s);
}

Test(block_store, own_blocks_are_not_evicted)
{
    struct block_store *s = open_store();
    for (uint32_t partition = 0; partition < 5; partition++)
        write_block(s, 1, partition, GLINT_MEMORY);
    for (uint32_t partition = 0; partition < 5; partition++)
        cr_expect_eq(rows_of(s, 1, partition), partition < 3 ? BATCHES * ROWS : -1);
    cr_expect_eq(t.task.counters.values[COUNT_CACHE_EVICTIONS], 0);
    block_store_remove_rdd(s, 1);
    cr_expect_eq(block_store_memory_bytes(s), 0);
    cr_expect_eq(rows_of(s, 1, 0), -1);
    block_store_destroy(s);
}

/* One that is being read stays in memory until the reader has released it. */
Test(block_store, evicted_block_moves_to_disk)
{
    struct block_store *s = open_store();
    write_block(s, 1, 0, GLINT_MEMORY | GLINT_DISK);
    struct cached_block *read = block_store_acquire(s, 1, 0);
    write_block(s, 2, 0, GLINT_MEMORY | GLINT_DISK);
    write_block(s, 3, 0, GLINT_MEMORY | GLINT_DISK);
    write_block(s, 4, 0, GLINT_MEMORY);
    struct cached_block_state *changes;
    const uint32_t count = block_store_take_changes(s, &changes);
    cr_assert_eq(count, 5);
    cr_expect(changes[3].rdd == 2 && changes[3].memory_bytes == 0 && changes[3].disk_bytes > 0);
    cr_expect(changes[4].rdd == 4 && changes[4].memory_bytes > 0 && changes[4].disk_bytes == 0);
    mem_free(changes);
    block_store_release(s, read);
    for (uint32_t rdd = 1; rdd <= 4; rdd++) cr_expect_eq(rows_of(s, rdd, 0), BATCHES * ROWS);
    block_store_destroy(s);
}

/* Cuts the only file of the directory. */
static void damage_file(void)
{
    char path[400] = "";
    DIR *dir = opendir(t.dir);
    for (struct dirent *entry; (entry = readdir(dir)) != NULL;)
        if (entry->d_name[0] != '.') snprintf(path, sizeof path, "%s/%s", t.dir, entry->d_name);
    closedir(dir);
    cr_assert_eq(truncate(path, 100), 0, "%s", path);
}

Test(block_store, damaged_block_is_removed)
{
    struct block_store *s = open_store();
    write_block(s, 1, 0, GLINT_DISK);
    cr_expect_eq(rows_of(s, 1, 0), BATCHES * ROWS);
    cr_expect_eq(block_store_memory_bytes(s), 0);
    damage_file();
    cr_expect_eq(rows_of(s, 1, 0), -2);
    cr_expect_neq(t.task.error.code, GLINT_OK);
    cr_expect_eq(rows_of(s, 1, 0), -1);
    t.task.error.code = GLINT_OK;
    write_block(s, 1, 0, GLINT_DISK); /* computed again */
    cr_expect_eq(rows_of(s, 1, 0), BATCHES * ROWS);
    block_store_destroy(s);
}

/* Each call on files fails once: the block is kept or given up, and nothing else happens. */
Test(block_store, failed_writes_give_a_block_up)
{
    for (uint64_t fail = 1; fail < 6; fail++) {
        struct block_store *s = open_store();
        t.calls = 0;
        t.fail_at = fail;
        t.error = -ENOSPC;
        write_block(s, 1, 0, GLINT_DISK);
        t.fail_at = 0;
        const int64_t rows = rows_of(s, 1, 0);
        cr_expect(rows == -1 || rows == BATCHES * ROWS, "%lld", (long long)rows);
        cr_expect(fail > 1 || rows == -1, "a file that cannot be opened");
        cr_expect_eq(t.task.error.code, GLINT_OK);
        block_store_destroy(s);
    }
}
