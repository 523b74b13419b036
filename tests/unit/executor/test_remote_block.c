/* Reading a cached block of another executor: whole, in memory or in a file, and what happens if it
 * is gone, cut or damaged on the way. The fetcher answers at once, in this thread. */
#include "engine/executor/store.h"
#include "engine/glint_persist.h"
#include "tests/support/test_task.h"

#include <criterion/criterion.h>

enum { ROWS = 1000, BATCHES = 300 };
static const struct glint_schema schema = {GLINT_NONE, GLINT_I64};

static struct test_task t;
static struct block_store *store;
static struct {
    uint64_t requests, bytes;
    uint64_t damaged, missing; /* number of the request, from 1; 0: none */
    bool cancels;              /* the task, when it is asked for the first range */
    atomic_bool cancel;
} peer;

static int serve_range(const struct fetch_found *found, const struct get_request *g, uint8_t *into)
{
    if (found->file == NULL) {
        cr_assert(found->is_range && found->bytes.size == g->size);
        memcpy(into, found->bytes.data, g->size);
        return 0;
    }
    cr_assert_leq(g->offset + g->size, found->file->source.bytes);
    const int file = t.env.open(&t.env, ENV_CWD, found->file->path, ENV_READ);
    cr_assert_geq(file, 0);
    const int64_t n = env_read_full(&t.env, file, into, g->size, g->offset);
    t.env.close(&t.env, file);
    return n == (int64_t)g->size ? 0 : GLINT_E_FETCH_FAILED;
}

static void answer(struct fetch_request *r)
{
    const struct fetch_source source = block_store_source(store);
    struct fetch_found found = {.file = NULL};
    cr_assert(r->get.kind == GET_CACHED_BLOCK && r->executor == 7);
    cr_assert_leq(r->get.size, FETCH_CHUNK_BYTES_MAX);
    peer.requests++;
    peer.bytes += r->get.size;
    if (peer.cancels) atomic_store(&peer.cancel, true);
    if (peer.requests == peer.missing)
        error_set(&r->error, GLINT_E_CONNECTION, NULL, "the connection was closed");
    else
        source.find(source.arg, &r->get, &found, &r->error);
    if (r->error.code == GLINT_OK) serve_range(&found, &r->get, r->into);
    if (peer.requests == peer.damaged) r->into[r->get.size / 2] ^= 1;
    if (found.ref != NULL) source.release(source.arg, found.ref);
    r->done(r);
}

static void submit(void *arg, struct fetch_request *first)
{
    (void)arg;
    for (struct fetch_request *next; first != NULL; first = next) {
        next = first->next;
        answer(first);
    }
}
static const struct fetcher fetcher = {.submit = submit};

static void write_block(unsigned level)
{
    static int64_t numbers[ROWS];
    struct block_writer *w = block_writer_open(store, &t.task, 3, 5, level, schema);
    cr_assert_not_null(w);
    for (int64_t b = 0; b < BATCHES; b++) {
        for (int64_t i = 0; i < ROWS; i++) numbers[i] = b * ROWS + i;
        const struct glint_batch batch = {.rows = ROWS,
                                          .key = {.type = GLINT_NONE},
                                          .value = {.type = GLINT_I64, .i64 = numbers}};
        block_writer_push(w, &batch);
    }
    block_writer_commit(w);
    block_writer_close(w);
}

static void begin(void)
{
    test_task_init(&t, GIB);
    t.task.counters.used = COUNT_BUILT_IN;
    t.task.cancel_flag = &peer.cancel;
    store = block_store_create(&t.env, t.dir, GIB);
    cr_assert_not_null(store);
    write_block(GLINT_MEMORY);
}

static void end(void)
{
    block_store_destroy(store);
    cr_expect(test_task_fini(&t), "no file is left");
    cr_expect_eq(mem_live_blocks(), 0);
}

TestSuite(remote_block, .init = begin, .fini = end);

static enum flow check_numbers(void *arg, const struct glint_batch *batch)
{
    int64_t *rows = arg;
    for (uint32_t i = 0; i < batch->rows; i++) cr_assert_eq(batch->value.i64[i], *rows + i);
    *rows += batch->rows;
    return FLOW_MORE;
}

/* What the driver knows: the bytes of the block of partition 5 of RDD 3. */
static uint64_t block_bytes(void)
{
    struct cached_block_state *changes;
    const uint32_t count = block_store_take_changes(store, &changes);
    cr_assert_gt(count, 0);
    const struct cached_block_state last = changes[count - 1];
    mem_free(changes);
    return last.memory_bytes > 0 ? last.memory_bytes : last.disk_bytes;
}

/* The rows that were read, or -1 and the task's error. */
static int64_t read_rows(uint32_t partition, uint64_t bytes)
{
    const struct remote_block b = {
        .fetcher = &fetcher, .executor = 7, .rdd = 3, .partition = partition, .bytes = bytes};
    int64_t rows = 0;
    const struct block_reader to = {schema, check_numbers, &rows};
    return remote_block_read(&b, &t.task, &to) == FLOW_FAIL ? -1 : rows;
}

Test(remote_block, whole_block_from_memory_and_file)
{
    const uint64_t bytes = block_bytes();
    cr_assert_gt(bytes, 8 * FETCH_CHUNK_BYTES_MAX, "more ranges than are in flight");
    cr_expect_eq(read_rows(5, bytes), BATCHES * ROWS);
    cr_expect_eq(peer.bytes, bytes, "each byte once");
    block_store_remove_rdd(store, 3);
    write_block(GLINT_DISK);
    cr_expect_eq(block_bytes(), bytes, "the file has the same bytes");
    cr_expect_eq(block_store_memory_bytes(store), 0);
    cr_expect_eq(read_rows(5, bytes), BATCHES * ROWS);
}

static enum flow stop_at_once(void *arg, const struct glint_batch *batch)
{
    *(int64_t *)arg += batch->rows;
    return FLOW_STOP;
}

/* What is in flight then is waited for, and no more is requested. */
Test(remote_block, reader_needs_no_more)
{
    int64_t rows = 0;
    const struct block_reader to = {schema, stop_at_once, &rows};
    const struct remote_block b = {&fetcher, 7, 3, 5, block_bytes()};
    cr_expect_eq(remote_block_read(&b, &t.task, &to), FLOW_STOP);
    cr_expect_gt(rows, 0);
    cr_expect_lt(peer.bytes, b.bytes);
}

static void expect_lost(int64_t rows, const char *cause)
{
    cr_expect_eq(rows, -1);
    cr_expect_eq(t.task.error.code, GLINT_E_SPILL_IO);
    cr_expect_not_null(strstr(t.task.error.cause,
                              "the cached block of partition 5 of RDD 3 at executor 7 is lost: "));
    cr_expect_not_null(strstr(t.task.error.cause, cause), "%s", t.task.error.cause);
    t.task.error.code = GLINT_OK;
}

Test(remote_block, gone_cut_or_damaged)
{
    const uint64_t bytes = block_bytes();
    peer.damaged = 3;
    expect_lost(read_rows(5, bytes), "a chunk was damaged on the way");
    peer.damaged = 0;
    peer.missing = peer.requests + 6;
    expect_lost(read_rows(5, bytes), "the connection was closed");
    peer.missing = 0;
    expect_lost(read_rows(5, bytes - 8), "a chunk is larger than the block");
    expect_lost(read_rows(5, 8), "its last chunk is cut");
    expect_lost(read_rows(5, bytes + 8), "it was removed");
    block_store_remove_rdd(store, 3);
    expect_lost(read_rows(5, bytes), "it was removed");
}

Test(remote_block, cancelled_task_does_not_lose_the_block)
{
    peer.cancels = true;
    peer.missing = 2;
    cr_expect_eq(read_rows(5, block_bytes()), -1);
    cr_expect_eq(t.task.error.code, GLINT_E_INTERRUPTED);
}

Test(remote_block, no_memory)
{
    const uint64_t bytes = block_bytes();
    for (int64_t fail = 1; fail < 8; fail++) {
        mem_fail_at(fail, false);
        const int64_t rows = read_rows(5, bytes);
        mem_fail_at(0, false);
        cr_expect(rows == -1 || rows == BATCHES * ROWS);
        if (rows == -1) cr_expect_eq(t.task.error.code, GLINT_E_NO_MEMORY);
        t.task.error.code = GLINT_OK;
    }
}
