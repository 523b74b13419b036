/* Compares the table of a join's small side with a plain list of rows: which rows it finds, in
 * which order, its size, and errors for invalid blocks. */
#include "jobs/join/join_table.h"

#include "engine/driver/driver.h"
#include "engine/records/task.h"
#include "tests/support/local.h"
#include "tests/support/test_task.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

enum { KEY_BYTES = 8, LINE_BYTES = 40, ROWS_MAX = 5000 };

struct row {
    uint64_t key;
    char line[LINE_BYTES];
    uint32_t size;
};

static struct row rows[ROWS_MAX];
static struct glint *g;
static struct glint_task task;

static void start(void)
{
    const struct context_config config = local_config(1, false);
    struct glint_error error;
    g = context_create(&config, &error);
    cr_assert_not_null(g, "%s", error.cause);
    task = (struct glint_task){.attempt_id = 1};
}

static void stop(void)
{
    glint_finish(g);
    glint_destroy(g);
    cr_expect_eq(mem_live_blocks(), 0);
}

TestSuite(join_table, .init = start, .fini = stop);

/* Keys of many sizes, including the empty one; many are prefixes of others. */
static struct glint_slice key_of(uint64_t number, uint8_t out[KEY_BYTES])
{
    struct glint_slice key = {out, 0};
    for (; number > 0; number = (number - 1) / 7) {
        cr_assert_lt(key.size, KEY_BYTES);
        out[key.size++] = (uint8_t)((number - 1) % 7);
    }
    return key;
}

static void make_rows(uint32_t count, uint64_t keys, uint64_t *random)
{
    for (struct row *r = rows; r < rows + count; r++) {
        r->key = test_random(random) % keys;
        r->size = (uint32_t)(test_random(random) % LINE_BYTES);
        memset(r->line, 'a' + (int)(test_random(random) % 26), r->size);
    }
}

static int add_row(struct join_table_rows *t, const struct row *r)
{
    uint8_t key[KEY_BYTES];
    return join_table_add(t, key_of(r->key, key), (struct glint_slice){(void *)r->line, r->size});
}

/* Fills and frees a block, so that the next allocation does not start as zeros. */
static void leave_dirt(void)
{
    enum { DIRT_BYTES = 64 * 1024 };
    void *dirt = mem_alloc(DIRT_BYTES);
    cr_assert_not_null(dirt);
    memset(dirt, 0xa5, DIRT_BYTES);
    mem_free(dirt);
}

/* Returns the broadcast of a table of these rows, or NULL with the context's error. */
static const struct glint_broadcast *build_table(uint32_t count, uint64_t limit)
{
    struct join_table_rows t = {.g = g, .limit = limit};
    int r = 0;
    for (uint32_t i = 0; i < count && r == 0; i++) r = add_row(&t, &rows[i]);
    if (r != 0) cr_assert_eq(r, glint_error(g)->code);
    const struct glint_broadcast *out = r == 0 ? join_table_broadcast(&t) : NULL;
    join_table_fini(&t);
    return out;
}

static struct join_table open_table(const struct glint_broadcast *b)
{
    struct join_table t;
    cr_assert_not_null(b, "%s", glint_error(g)->cause);
    cr_assert_eq(join_table_open(&task, (struct glint_slice){b->data, b->size}, &t), 0, "%s",
                 task.error.cause);
    return t;
}

/* The table must return exactly the rows of this key, in order. */
static void expect_rows(const struct join_table *t, uint32_t count, uint64_t key)
{
    uint8_t bytes[KEY_BYTES];
    const struct glint_slice slice = key_of(key, bytes);
    const uint32_t hash = join_table_hash(slice);
    join_table_prefetch(t, hash);
    uint32_t at = join_table_find(t, slice, hash);
    for (uint32_t i = 0; i < count; i++) {
        if (rows[i].key != key) continue;
        cr_assert_eq(at, i + 1);
        const struct glint_slice line = join_table_line(t, at - 1);
        cr_assert(line.size == rows[i].size && memcmp(line.data, rows[i].line, line.size) == 0);
        at = t->rows[at - 1].next;
    }
    cr_assert_eq(at, 0);
}

Test(join_table, rows_of_a_key_are_found_in_order)
{
    uint64_t random = 1;
    for (uint32_t count = 0; count <= 300; count += 1 + count / 4)
        for (uint64_t keys = 1; keys <= 2 * count + 1; keys *= 4) {
            make_rows(count, keys, &random);
            leave_dirt();
            const struct join_table t = open_table(build_table(count, GIB));
            cr_assert_eq(t.count, count);
            for (uint64_t key = 0; key < 2 * keys; key++) expect_rows(&t, count, key);
        }
}

Test(join_table, table_grows_to_many_rows)
{
    uint64_t random = 2;
    make_rows(ROWS_MAX, 3 * ROWS_MAX, &random);
    const struct join_table t = open_table(build_table(ROWS_MAX, GIB));
    for (uint64_t key = 0; key < 3 * ROWS_MAX; key++) expect_rows(&t, ROWS_MAX, key);
}

/* ---- Hashes */

struct hashed {
    uint32_t hash, key;
};

static int by_hash(const void *a, const void *b)
{
    const struct hashed *x = a, *y = b;
    if (x->hash != y->hash) return x->hash < y->hash ? -1 : 1;
    return x->key < y->key ? -1 : 1;
}

/* Finds two keys with the same 32-bit hash; among half a million there are some. */
static void find_colliding_keys(uint64_t out[2])
{
    enum { MANY = 500000 };
    uint8_t bytes[KEY_BYTES];
    struct hashed *all = malloc(MANY * sizeof *all);
    cr_assert_not_null(all);
    for (uint32_t i = 0; i < MANY; i++)
        all[i] = (struct hashed){join_table_hash(key_of(i, bytes)), i};
    qsort(all, MANY, sizeof *all, by_hash);
    uint32_t at = 1;
    while (at < MANY && all[at].hash != all[at - 1].hash) at++;
    cr_assert_lt(at, MANY);
    out[0] = all[at - 1].key;
    out[1] = all[at].key;
    free(all);
}

Test(join_table, colliding_keys_stay_apart)
{
    uint64_t keys[2];
    find_colliding_keys(keys);
    for (uint32_t count = 0; count <= 6; count++)
        for (uint32_t first = 0; first < 2; first++) {
            for (uint32_t i = 0; i < count; i++)
                rows[i] = (struct row){keys[(first + i) % 2], {(char)('a' + i)}, 1};
            const struct join_table t = open_table(build_table(count, GIB));
            expect_rows(&t, count, keys[0]);
            expect_rows(&t, count, keys[1]);
        }
}

/* "", "0", "00", ... all looked up with the hash of the one that was added. */
Test(join_table, keys_of_different_sizes_differ)
{
    static const uint8_t zeros[KEY_BYTES];
    for (uint64_t size = 0; size <= KEY_BYTES; size++) {
        struct join_table_rows r = {.g = g, .limit = GIB};
        const struct glint_slice key = {zeros, size};
        const uint32_t hash = join_table_hash(key);
        cr_assert_eq(join_table_add(&r, key, key), 0);
        const struct join_table t = open_table(join_table_broadcast(&r));
        join_table_fini(&r);
        for (uint64_t other = 0; other <= KEY_BYTES; other++)
            cr_assert_eq(join_table_find(&t, (struct glint_slice){zeros, other}, hash),
                         other == size);
    }
}

/* ---- Bounds and errors */

Test(join_table, size_limit_is_exact)
{
    uint64_t random = 3;
    for (uint32_t count = 1; count <= 200; count += 1 + count / 3) {
        make_rows(count, count, &random);
        const uint64_t size = build_table(count, GIB)->size;
        const struct glint_broadcast *whole = build_table(count, size);
        cr_assert(whole != NULL && whole->size == size);
        struct join_table_rows t = {.g = g, .limit = size - 1};
        for (uint32_t i = 0; i + 1 < count; i++) cr_assert_eq(add_row(&t, &rows[i]), 0);
        cr_assert_eq(add_row(&t, &rows[count - 1]), JOIN_TABLE_FULL);
        cr_assert_eq(glint_error(g)->code, GLINT_OK);
        cr_assert_eq(t.count, count - 1);
        join_table_fini(&t);
    }
}

static void expect_rejected(const uint8_t *data, uint64_t size)
{
    struct join_table t;
    task.error = (struct glint_error){.code = GLINT_OK};
    cr_assert_eq(join_table_open(&task, (struct glint_slice){data, size}, &t), GLINT_E_PROTOCOL);
    cr_assert_eq(task.error.code, GLINT_E_PROTOCOL);
}

Test(join_table, block_of_wrong_size_is_rejected)
{
    uint64_t random = 4;
    make_rows(20, 10, &random);
    const struct glint_broadcast *b = build_table(20, GIB);
    for (uint64_t size = 0; size < b->size; size++) expect_rejected(b->data, size);
    uint8_t *longer = mem_zalloc(b->size + 1);
    cr_assert_not_null(longer);
    memcpy(longer, b->data, b->size);
    expect_rejected(longer, b->size + 1);
    mem_free(longer);
}

Test(join_table, invalid_head_is_rejected)
{
    static const uint64_t others[] = {0, 1, 2, 1 << 20, UINT32_MAX, UINT64_MAX / 2, UINT64_MAX};
    uint64_t random = 5, head[3]; /* rows, slots, bytes */
    make_rows(20, 10, &random);
    const struct glint_broadcast *b = build_table(20, GIB);
    for (size_t field = 0; field < 3; field++)
        for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
            memcpy(head, b->data, sizeof head);
            const uint64_t before = head[field];
            head[field] = others[i];
            memcpy(b->data, head, sizeof head);
            expect_rejected(b->data, b->size);
            head[field] = before;
            memcpy(b->data, head, sizeof head);
        }
    open_table(b);
}

Test(join_table, every_failed_allocation_is_reported)
{
    uint64_t random = 6;
    const struct glint_broadcast *b = NULL;
    make_rows(3000, 1000, &random);
    for (int64_t n = 1; b == NULL; n++) {
        mem_fail_at(n, false);
        b = build_table(3000, GIB);
        mem_fail_at(0, false);
        if (b != NULL) continue;
        cr_assert_eq(glint_error(g)->code, GLINT_E_NO_MEMORY);
        stop();
        start();
        cr_assert_lt(n, 1000);
    }
    const struct join_table t = open_table(b);
    for (uint64_t key = 0; key < 1000; key++) expect_rows(&t, 3000, key);
}
