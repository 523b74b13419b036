/* saveAsMsgpackFile, compared with msgpack-c; msgpackFile reads back what was written, for every
 * pair of types and every position of the read window. */
#include "engine/input/compress.h"
#include "tests/unit/ops/msgpack_tables.h"

#include <criterion/criterion.h>
#include <stdio.h>

TestSuite(msgpack_file, .init = scratch_open, .fini = scratch_close);

struct plan {
    struct glint_schema schema;
    char path[PATH_BYTES];
};

static struct glint_rdd *make_file(struct glint *g, void *arg)
{
    const struct plan *p = arg;
    return glint_msgpack_file(g, p->path, p->schema);
}

static void write_table(const char *name, const struct table *t, uint64_t first, uint64_t end)
{
    struct buffer file = table_pack(t, first, end);
    scratch_write(name, file.data, file.size);
    buffer_fini(&file);
}

/* Saves the table on two slots in 3 partitions, and compares the files with msgpack-c's. */
static void save_and_compare(const struct table *t, const char *name)
{
    char path[PATH_BYTES], part[PATH_BYTES];
    struct glint *g = fixture_open(&fixtures[3]);
    struct glint_rdd *rdd = glint_parallelize(g, t->schema, t->rows, t->count, 3);
    cr_assert_eq(glint_save_as_msgpack_file(rdd, scratch_path(name, path)), 0, "%s",
                 glint_error(g)->cause);
    fixture_close(g, GLINT_OK);
    for (uint64_t i = 0; i < 3; i++) {
        snprintf(part, sizeof part, "%s/part-%05llu", name, (unsigned long long)i);
        struct buffer got = scratch_read(part);
        struct buffer expected = table_pack(t, t->count * i / 3, t->count * (i + 1) / 3);
        cr_assert_eq(got.size, expected.size, "%s of (%d, %d): %llu bytes, not %llu", part,
                     t->schema.key, t->schema.value, (unsigned long long)got.size,
                     (unsigned long long)expected.size);
        cr_assert_eq(memcmp(got.data, expected.data, got.size), 0, "%s", part);
        buffer_fini(&got);
        buffer_fini(&expected);
    }
}

Test(msgpack_file, every_schema_round_trips)
{
    const struct fixture base = {.split_bytes = 1000};
    for (int key = GLINT_NONE; key <= GLINT_MSGPACK; key++)
        for (int value = GLINT_NONE; value <= GLINT_MSGPACK; value++) {
            struct plan p = {.schema = {key, value}};
            if (key == GLINT_NONE && value == GLINT_NONE) continue;
            struct table t = awkward_table(p.schema, 100);
            save_and_compare(&t, "out");
            scratch_path("out", p.path);
            plan_expect(make_file, &p, &base, &t);
            scratch_remove("out");
            table_free(&t);
        }
}

/* A first record of varying size moves the others across the end of the first block, byte by
 * byte. */
Test(msgpack_file, record_may_cross_the_read_window)
{
    struct plan p = {.schema = {GLINT_TEXT, GLINT_MSGPACK}};
    static uint8_t filler[READ_BLOCK_BYTES];
    filler[0] = 0xc6;
    for (uint64_t back = 0; back < 80; back++) {
        const uint64_t size = READ_BLOCK_BYTES - 7 - back, body = size - 5;
        for (int i = 0; i < 4; i++) filler[1 + i] = (uint8_t)(body >> (24 - 8 * i));
        struct table t = {.schema = p.schema}, got;
        table_add(&t, text("k"), bytes(filler, size));
        for (int i = 0; i < 10; i++)
            table_add(&t, text("key"), bytes("\x93\xc4\x01x\xcd\x01\x02\xc0", 8));
        write_table("file", &t, 0, t.count);
        struct glint *g = fixture_open(&fixtures[0]);
        scratch_path("file", p.path);
        table_collect(make_file(g, &p), &got);
        table_expect(&got, &t, "shifted");
        fixture_close(g, GLINT_OK);
        table_free(&t);
        table_free(&got);
    }
}

/* More rows than a batch has and more bytes than a block has, in columns of both kinds. */
Test(msgpack_file, many_rows_round_trip)
{
    struct plan p = {.schema = {GLINT_I64, GLINT_BYTES}};
    struct table t = awkward_table(p.schema, 60000);
    save_and_compare(&t, "out");
    scratch_path("out", p.path);
    plan_expect(make_file, &p, NULL, &t);
    table_free(&t);
}

/* Like filters: an array that ends in a large bin. */
Test(msgpack_file, large_values_round_trip)
{
    struct plan p = {.schema = {GLINT_I64, GLINT_MSGPACK}};
    struct table t = {.schema = p.schema};
    const uint64_t most = 20 * MIB;
    uint8_t *value = mem_zalloc(most);
    cr_assert_not_null(value);
    memcpy(value, "\x93\x01\x02\xc6", 4);
    for (int64_t i = 0; i < 4; i++) {
        const uint64_t size = i == 2 ? 50 : most >> i, body = size - 8;
        for (int b = 0; b < 4; b++) value[4 + b] = (uint8_t)(body >> (24 - 8 * b));
        for (uint64_t at = 8; at < size; at += 997) value[at] = (uint8_t)(at + (uint64_t)i);
        table_add(&t, number(i), bytes(value, size));
    }
    mem_free(value);
    save_and_compare(&t, "out");
    scratch_path("out", p.path);
    plan_expect(make_file, &p, NULL, &t);
    table_free(&t);
}

static struct glint_rdd *make_heads(struct glint *g, void *arg)
{
    const struct plan *p = arg;
    return glint_msgpack_file_heads(g, p->path, p->schema);
}

/* Each value is whole, or its first 4 KiB or more. Returns how many were cut. */
static uint64_t expect_heads(const struct table *got, const struct table *t)
{
    uint64_t cut = 0;
    cr_assert_eq(got->count, t->count);
    for (uint64_t i = 0; i < t->count; i++) {
        const struct glint_slice head = got->rows[i].value.bytes, all = t->rows[i].value.bytes;
        cr_assert_eq(got->rows[i].key.i64, t->rows[i].key.i64);
        cr_assert(head.size == all.size || (head.size >= 4 * KIB && head.size < all.size));
        cr_assert_eq(memcmp(head.data, all.data, head.size), 0);
        cut += head.size < all.size;
    }
    return cut;
}

/* Sizes at which a value ends before, at and behind the first read, and in later ones. */
Test(msgpack_file, heads_of_large_values_are_read)
{
    static const uint64_t sizes[] = {3 * MIB, 60, READ_BLOCK_BYTES - 10, 5000, MIB, 4095, 70};
    struct plan p = {.schema = {GLINT_I64, GLINT_MSGPACK}};
    struct table t = {.schema = p.schema}, got;
    uint8_t *value = mem_zalloc(3 * MIB);
    cr_assert_not_null(value);
    memcpy(value, "\x93\x01\x02\xc6", 4);
    for (int64_t i = 0; i < 700; i++) {
        const uint64_t size = sizes[i % 7] - (i % 7 == 2 ? (uint64_t)i / 7 : 0), body = size - 8;
        if (i > 6 && i % 7 == 0) continue;
        for (int b = 0; b < 4; b++) value[4 + b] = (uint8_t)(body >> (24 - 8 * b));
        table_add(&t, number(i), bytes(value, size));
    }
    mem_free(value);
    scratch_path("file", p.path);
    write_table("file", &t, 0, t.count);
    struct glint *g = fixture_open(&fixtures[0]);
    table_collect(make_heads(g, &p), &got);
    cr_assert_gt(expect_heads(&got, &t), t.count / 8);
    fixture_close(g, GLINT_OK);
    table_free(&got);
    struct buffer file = table_pack(&t, 0, 1); /* without its last byte */
    scratch_write("file", file.data, file.size - 1);
    plan_expect_error(make_heads, &p, NULL, GLINT_E_MSGPACK_CORRUPT, "the file ends inside");
    buffer_fini(&file);
    table_free(&t);
}

/* One value of many small items, so its size is unknown until its end. It needs a large window,
 * which then contains more rows than fit into a batch. */
Test(msgpack_file, large_value_of_small_items_is_read)
{
    struct plan p = {.schema = {GLINT_NONE, GLINT_MSGPACK}};
    struct table t = {.schema = p.schema};
    struct buffer value = {NULL, 0, 0};
    const uint32_t count = 1000000;
    cr_assert(buffer_append(&value, "\xdd", 1));
    for (int b = 3; b >= 0; b--)
        cr_assert(buffer_append(&value, (uint8_t[]){(uint8_t)(count >> 8 * b)}, 1));
    static const char part[] = {'\xa5', 'b', 'y', 't', 'e', 's'};
    for (uint32_t i = 0; i < count; i++) cr_assert(buffer_append(&value, part, sizeof part));
    table_add(&t, none(), bytes(value.data, value.size));
    static uint8_t row[3000] = {0xc5, 2997 >> 8, 2997 & 0xff};
    for (int i = 0; i < 4000; i++) table_add(&t, none(), bytes(row, sizeof row));
    write_table("file", &t, 0, t.count);
    scratch_path("file", p.path);
    plan_expect(make_file, &p, NULL, &t);
    buffer_fini(&value);
    table_free(&t);
}

static int gzip_write(void *arg, const void *data, uint64_t size)
{
    return buffer_append(arg, data, size) ? 0 : -1;
}

Test(msgpack_file, gzip_file_is_read)
{
    struct plan p = {.schema = {GLINT_TEXT, GLINT_BYTES}};
    struct table t = awkward_table(p.schema, 3000);
    struct buffer plain = table_pack(&t, 0, t.count), packed = {NULL, 0, 0};
    struct compressor *gzip = compressor_create(COMPRESSION_GZIP, gzip_write, &packed);
    cr_assert_not_null(gzip);
    cr_assert_eq(compressor_write(gzip, plain.data, plain.size), 0);
    cr_assert_eq(compressor_finish(gzip), 0);
    compressor_destroy(gzip);
    scratch_write("file.gz", packed.data, packed.size);
    scratch_path("file.gz", p.path);
    plan_expect(make_file, &p, NULL, &t);
    buffer_fini(&plain);
    buffer_fini(&packed);
    table_free(&t);
}

/* Files are not split and stay in order; small ones share a split, empty ones have none. */
Test(msgpack_file, files_stay_whole_in_splits)
{
    struct plan p = {.schema = {GLINT_I64, GLINT_TEXT}};
    struct table t = awkward_table(p.schema, 90);
    struct glint_record *rows = t.rows;
    char name[32];
    t.count = 0; /* only the short rows */
    for (uint32_t i = 30; i < 90; i++) t.rows[t.count++] = rows[i];
    cr_assert_eq(env_real()->make_dir(env_real(), ENV_CWD, scratch_path("in", p.path), true), 0);
    for (uint32_t i = 0; i < 6; i++) {
        snprintf(name, sizeof name, "in/part-%u", i);
        write_table(name, &t, 10 * i, 10 * i + 10);
    }
    scratch_write("in/part-35", "", 0);
    scratch_write("in/_SUCCESS", "", 0);
    const struct {
        uint64_t split_bytes;
        uint32_t partitions;
    } cases[] = {{1, 6}, {100, 6}, {0, 1}, {1 << 20, 1}};
    for (int i = 0; i < 4; i++) {
        const struct fixture base = {.split_bytes = cases[i].split_bytes};
        struct fixture w = {.name = "splits", .slots = 1, .split_bytes = cases[i].split_bytes};
        struct glint *g = fixture_open(&w);
        cr_assert_eq(glint_partitions(make_file(g, &p)), cases[i].partitions);
        fixture_close(g, GLINT_OK);
        plan_expect(make_file, &p, &base, &t);
    }
    table_free(&t);
}

Test(msgpack_file, empty_file_gives_no_rows)
{
    struct plan p = {.schema = {GLINT_I64, GLINT_TEXT}};
    struct table t = {.schema = p.schema};
    scratch_write("empty", "", 0);
    scratch_path("empty", p.path);
    plan_expect(make_file, &p, NULL, &t);
    save_and_compare(&t, "out");
    scratch_path("out", p.path);
    plan_expect(make_file, &p, NULL, &t);
}
