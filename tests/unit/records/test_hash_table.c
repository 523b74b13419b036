/* Compares the hash table with a plain list of keys, and accumulators with plain buffers. */
#include "engine/batch.h"
#include "engine/records/codec.h"
#include "engine/records/hash_table.h"
#include "tests/support/test_task.h"

#include <criterion/criterion.h>
#include <math.h>

#define ROWS 1024

struct list {
    uint8_t (*keys)[64];
    uint64_t *sizes;
    uint32_t count;
};

static uint32_t list_find(struct list *l, struct glint_slice key)
{
    for (uint32_t i = 0; i < l->count; i++)
        if (l->sizes[i] == key.size && memcmp(l->keys[i], key.data, key.size) == 0) return i;
    memcpy(l->keys[l->count], key.data, key.size);
    l->sizes[l->count] = key.size;
    return l->count++;
}

static void check_batch(struct hash_table *t, struct list *l, const struct glint_column *keys)
{
    uint32_t slots[ROWS];
    cr_assert(hash_table_find_or_insert(t, keys, ROWS, slots));
    for (uint32_t i = 0; i < ROWS; i++) {
        uint8_t number[8];
        union glint_value v = glint_column_value(keys, i);
        struct glint_slice key = codec_encode(keys->type, &v, number);
        cr_assert_eq(slots[i], list_find(l, key));
        const struct glint_slice found = hash_table_key(t, slots[i]);
        cr_assert_eq(found.size, key.size);
        cr_assert_eq(memcmp(found.data, key.data, key.size), 0);
    }
    cr_assert_eq(t->slots, l->count);
}

struct columns {
    int64_t i64[ROWS];
    double f64[ROWS];
    uint8_t text[ROWS * 32 + READ_SLACK];
    uint32_t start[ROWS], end[ROWS];
};

static struct glint_column fill_columns(struct columns *c, enum glint_type type, uint64_t range,
                                        uint64_t *seed)
{
    static const double odd[] = {NAN, -0.0, 0.0, INFINITY, -INFINITY, -1.5};
    for (uint32_t i = 0; i < ROWS; i++) {
        uint64_t x = test_random(seed) % range;
        c->i64[i] = (int64_t)x - (int64_t)(range > 5000 ? range / 2 : 0);
        c->f64[i] = x < 6 ? odd[x] : (double)c->i64[i] / 3;
        c->start[i] = i * 32;
        memset(c->text + c->start[i], (int)(x % 7), 20);
        memcpy(c->text + c->start[i], &x, 8);
        c->end[i] = c->start[i] + (uint32_t)(x % 20);
    }
    return (struct glint_column){.type = type,
                                 .base = c->text,
                                 .size = ROWS * 32,
                                 .start = c->start,
                                 .end = c->end,
                                 .i64 = c->i64,
                                 .f64 = c->f64};
}

static void table_case(enum glint_type type, uint64_t range)
{
    static struct columns columns;
    struct acc_pool pool = {.at = NULL};
    struct hash_table t;
    struct list l = {calloc(20 * ROWS, 64), calloc(20 * ROWS, 8), 0};
    uint64_t seed = range;
    hash_table_init(&t, &pool, 42);
    for (int round = 0; round < 2; round++) {
        for (int b = 0; b < 4; b++) {
            uint64_t bound = hash_table_memory_bytes(&t, ROWS);
            struct glint_column keys = fill_columns(&columns, type, range, &seed);
            check_batch(&t, &l, &keys);
            cr_assert_leq(hash_table_memory_bytes(&t, 0), bound);
        }
        hash_table_reset(&t);
        acc_pool_reset(&pool, UINT64_MAX);
        l.count = 0;
    }
    hash_table_fini(&t);
    acc_pool_fini(&pool);
    free(l.keys);
    free(l.sizes);
}

Test(hash_table_slots, equal_linear_search)
{
    int64_t live = mem_live_blocks();
    static const uint64_t ranges[] = {1, 10, 4096, 4200, 1000000};
    for (size_t r = 0; r < sizeof ranges / sizeof ranges[0]; r++) {
        table_case(GLINT_I64, ranges[r]);
        table_case(GLINT_F64, ranges[r]);
        table_case(GLINT_TEXT, ranges[r]);
        table_case(GLINT_NONE, ranges[r]);
    }
    cr_assert_eq(mem_live_blocks(), live);
}

/* Adds `batches` of new numbers, and returns how often the array of keys moved. */
static uint32_t add_numbers(struct hash_table *t, uint32_t batches)
{
    static double numbers[ROWS];
    uint32_t slots[ROWS], moves = 0;
    const struct glint_column keys = {.type = GLINT_F64, .f64 = numbers};
    for (uint32_t b = 0; b < batches; b++) {
        const struct hash_table_key *before = t->keys;
        for (uint32_t i = 0; i < ROWS; i++) numbers[i] = (double)(b * ROWS + i) / 3;
        cr_assert(hash_table_find_or_insert(t, &keys, ROWS, slots));
        for (uint32_t i = 0; i < ROWS; i++) cr_assert_eq(slots[i], b * ROWS + i);
        moves += t->keys != before;
        cr_assert(hash_table_find_or_insert(t, &keys, ROWS, slots));
        cr_assert_eq(slots[ROWS - 1], (b + 1) * ROWS - 1);
    }
    return moves;
}

Test(hash_table_slots, expected_ones_are_reserved_at_once)
{
    struct acc_pool pool = {.at = NULL};
    struct hash_table t;
    hash_table_init(&t, &pool, 42);
    t.expected = 256 * ROWS;
    const uint32_t small = HASH_TABLE_SMALL_SLOTS / ROWS - 1;
    cr_assert_geq(add_numbers(&t, small), 2);
    cr_assert_lt(hash_table_memory_bytes(&t, 0), 512 * ROWS); /* a small table reserves nothing */
    hash_table_reset(&t);
    cr_assert_eq(add_numbers(&t, 64), 1);
    const uint64_t large = hash_table_memory_bytes(&t, 0);
    cr_assert_geq(large, 512 * ROWS * sizeof(struct hash_table_bucket));
    hash_table_reset(&t); /* keeps the memory, and no key */
    cr_assert_eq(add_numbers(&t, 64), 0);
    cr_assert_eq(hash_table_memory_bytes(&t, 0), large);
    hash_table_fini(&t);
    acc_pool_fini(&pool);
}

Test(accumulator, append_grows_the_buffer)
{
    struct test_task t;
    test_task_init(&t, MIB);
    int64_t live = mem_live_blocks();
    struct acc_pool pool = {.at = NULL};
    struct glint_acc a = acc_init(&pool), b = acc_init(&pool);
    struct buffer plain = {NULL, 0, 0};
    uint8_t bytes[3000];
    uint64_t seed = 5;
    for (int i = 0; i < 200; i++) {
        uint64_t size = test_random(&seed) % sizeof bytes;
        memset(bytes, i, sizeof bytes);
        cr_assert_eq(glint_acc_append(&t.task, &a, bytes, size), 0);
        cr_assert(buffer_append(&plain, bytes, size));
        if (i % 3 == 0) cr_assert_eq(glint_acc_set(&t.task, &b, bytes, size), 0);
        cr_assert_eq(a.value.bytes.size, plain.size);
        cr_assert_eq(memcmp(a.value.bytes.data, plain.data, plain.size), 0);
    }
    cr_assert_gt(a.capacity, ACC_LARGE_BYTES);
    cr_assert_eq(pool.large_bytes, a.capacity);
    cr_assert_eq(glint_acc_append(&t.task, &a, bytes, VALUE_BYTES_MAX), GLINT_E_VALUE_LIMIT);
    acc_free_large(&a);
    acc_free_large(&b);
    cr_assert_eq(pool.large_bytes, 0);
    acc_pool_fini(&pool);
    buffer_fini(&plain);
    cr_assert_eq(mem_live_blocks(), live);
    cr_assert(test_task_fini(&t));
}

Test(accumulator, exchange_takes_over_a_block)
{
    struct test_task t;
    test_task_init(&t, MIB);
    int64_t live = mem_live_blocks();
    struct acc_pool pool = {.at = NULL};
    struct glint_acc acc = acc_init(&pool);
    struct buffer block = {NULL, 0, 0};
    cr_assert_eq(glint_acc_set(&t.task, &acc, "small", 5), 0);
    for (int i = 0; i < 3; i++) {
        const uint64_t size = ACC_LARGE_BYTES + 1 + (uint64_t)i, capacity = acc.capacity;
        block.size = 0;
        cr_assert(buffer_reserve(&block, size));
        memset(block.data, 'a' + i, size);
        block.size = size;
        const uint8_t *bytes = block.data, *before = acc.value.bytes.data;
        acc_swap_buffer(&acc, &block);
        cr_assert_eq(acc.value.bytes.data, bytes);
        cr_assert_eq(acc.value.bytes.size, size);
        cr_assert_eq(pool.large_bytes, acc.capacity);
        cr_assert_eq(block.data, i > 0 ? before : NULL);
        cr_assert_eq(block.capacity, i > 0 ? capacity : 0);
        cr_assert_eq(glint_acc_append(&t.task, &acc, "more", 4), 0);
        cr_assert_eq(acc.value.bytes.data[size - 1], 'a' + i);
    }
    acc_free_large(&acc);
    cr_assert_eq(pool.large_bytes, 0);
    buffer_fini(&block);
    acc_pool_fini(&pool);
    cr_assert_eq(mem_live_blocks(), live);
    cr_assert(test_task_fini(&t));
}
