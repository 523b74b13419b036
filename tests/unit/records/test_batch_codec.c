/* Encoded batches: a round trip changes nothing, and what is truncated or damaged is rejected. */
#include "engine/records/batch_codec.h"
#include "engine/records/codec.h"
#include "tests/support/test_task.h"

#include <criterion/criterion.h>

static const enum glint_type types[] = {GLINT_NONE, GLINT_I64,   GLINT_F64,
                                        GLINT_TEXT, GLINT_BYTES, GLINT_MSGPACK};
enum { TYPES = 6, CELLS = 3 * BATCH_ROWS_MAX };

/* Columns of all types; cells have 0 to 4 bytes, with gaps between them. */
static uint8_t cells[2 * CELLS];
static uint32_t start[BATCH_ROWS_MAX], end[BATCH_ROWS_MAX];
static int64_t integers[BATCH_ROWS_MAX];
static double reals[BATCH_ROWS_MAX];

static void fill(void)
{
    uint64_t state = 42;
    uint32_t at = 0;
    for (uint32_t i = 0; i < sizeof cells; i++) cells[i] = (uint8_t)test_random(&state);
    for (uint32_t i = 0; i < BATCH_ROWS_MAX; i++) {
        start[i] = at;
        end[i] = at + (uint32_t)(test_random(&state) % 5);
        at = end[i] + i % 2;
        integers[i] = (int64_t)test_random(&state);
        reals[i] = (double)integers[i] / 3;
    }
}

static struct glint_column column(enum glint_type type)
{
    struct glint_column c = {.type = type};
    if (type == GLINT_I64) c.i64 = integers;
    if (type == GLINT_F64) c.f64 = reals;
    if (!codec_type_is_bytes(type)) return c;
    c.base = cells;
    c.start = start;
    c.end = end;
    c.size = sizeof cells;
    return c;
}

static void expect_same(const struct glint_batch *got, const struct glint_batch *want)
{
    cr_assert_eq(got->rows, want->rows);
    for (uint32_t row = 0; row < want->rows; row++) {
        const struct glint_record a = glint_batch_record(got, row);
        const struct glint_record b = glint_batch_record(want, row);
        const union glint_value *x[] = {&a.key, &a.value}, *y[] = {&b.key, &b.value};
        const enum glint_type type[] = {want->key.type, want->value.type};
        for (int i = 0; i < 2; i++) {
            if (type[i] == GLINT_I64) cr_assert_eq(x[i]->i64, y[i]->i64);
            if (type[i] == GLINT_F64) cr_assert_eq(x[i]->f64, y[i]->f64);
            if (!codec_type_is_bytes(type[i])) continue;
            cr_assert_eq(x[i]->bytes.size, y[i]->bytes.size);
            cr_assert_eq(memcmp(x[i]->bytes.data, y[i]->bytes.data, x[i]->bytes.size), 0);
        }
    }
}

/* Returns the encoded batch, with READ_SLACK, for free. */
static uint8_t *encode(const struct glint_batch *batch, uint64_t *size)
{
    *size = batch_encoded_size(batch);
    uint8_t *out = aligned_alloc(8, (*size + READ_SLACK + 7) / 8 * 8);
    cr_assert_not_null(out);
    memset(out, 0xAA, *size + READ_SLACK);
    batch_encode(batch, out);
    return out;
}

TestSuite(batch_codec, .init = fill);

Test(batch_codec, round_trip)
{
    static const uint32_t rows[] = {1, 2, 3, 100, BATCH_ROWS_MAX};
    for (int k = 0; k < TYPES; k++)
        for (int v = 0; v < TYPES; v++)
            for (int i = 0; i < 5; i++) {
                const struct glint_schema schema = {types[k], types[v]};
                const struct glint_batch batch = {
                    .rows = rows[i], .key = column(types[k]), .value = column(types[v])};
                struct glint_batch back;
                uint64_t size;
                uint8_t *bytes = encode(&batch, &size);
                cr_assert(batch_decode((struct glint_slice){bytes, size}, schema, &back));
                expect_same(&back, &batch);
                for (uint64_t cut = 0; cut < size; cut += 1 + size / 97)
                    cr_assert_not(batch_decode((struct glint_slice){bytes, cut}, schema, &back));
                free(bytes);
            }
}

static bool is_valid(const uint8_t *bytes, uint64_t size)
{
    struct glint_batch back;
    return batch_decode((struct glint_slice){bytes, size},
                        (struct glint_schema){GLINT_TEXT, GLINT_I64}, &back);
}

/* The header and the offsets; cells may have any bytes. */
Test(batch_codec, damage_is_rejected)
{
    const struct glint_batch batch = {
        .rows = 50, .key = column(GLINT_TEXT), .value = column(GLINT_I64)};
    uint64_t size;
    uint8_t *bytes = encode(&batch, &size);
    cr_assert(is_valid(bytes, size));
    cr_expect_not(is_valid(bytes, size + 8), "bytes after it");
    for (uint64_t at = 0; at < 24; at++)
        for (int bit = 0; bit < 8; bit++) {
            bytes[at] ^= (uint8_t)(1 << bit);
            /* Fewer or more bytes of keys may be padded to the same length: then offsets differ. */
            cr_expect_not(is_valid(bytes, size), "byte %d", (int)at);
            bytes[at] ^= (uint8_t)(1 << bit);
        }
    bytes[24 + 4 * 20 + 3] = 0x7f; /* offset 20 is after offset 21 */
    cr_expect_not(is_valid(bytes, size));
    free(bytes);
}

Test(batch_codec, small_batches_are_collected)
{
    struct batch_collector *c = mem_zalloc(sizeof *c);
    struct glint_batch got;
    cr_assert_not_null(c);
    c->schema = (struct glint_schema){GLINT_TEXT, GLINT_F64};
    for (uint32_t i = 0; i < 10; i++) {
        struct glint_batch part = {
            .rows = 7, .key = column(GLINT_TEXT), .value = column(GLINT_F64)};
        part.key.start += 7 * i;
        part.key.end += 7 * i;
        part.value.f64 += 7 * i;
        cr_assert(batch_collector_fits(c, &part) && batch_collector_add(c, &part));
    }
    const struct glint_batch all = {
        .rows = 70, .key = column(GLINT_TEXT), .value = column(GLINT_F64)};
    batch_collector_take(c, &got);
    expect_same(&got, &all);
    const struct glint_batch full = {
        .rows = BATCH_ROWS_MAX, .key = column(GLINT_TEXT), .value = column(GLINT_F64)};
    cr_expect(batch_collector_fits(c, &full) && batch_collector_add(c, &full));
    cr_expect_not(batch_collector_fits(c, &all));
    batch_collector_fini(c);
    mem_free(c);
    cr_expect_eq(mem_live_blocks(), 0);
}
