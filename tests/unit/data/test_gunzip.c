/* The gzip reader on members, padding, early ends, flipped bits and the output of the gzip
 * writer. */
#include "engine/base/mem.h"
#include "engine/data/gunzip.h"
#include "engine/data/gzip.h"
#include "engine/data/gzip_header.h"
#include "tests/support/memory_env.h"
#include "tests/support/test_task.h"

#include <criterion/criterion.h>

/* `printf 'hello\n' | gzip -9 -N` with a name; and compressed empty content. */
static const uint8_t hello[] = {0x1f, 0x8b, 0x08, 0x08, 0x2c, 0x91, 0xb5, 0x65, 0x02, 0x03, 'h',
                                'e',  '.',  't',  'x',  't',  0x00, 0xcb, 0x48, 0xcd, 0xc9, 0xc9,
                                0xe7, 0x02, 0x00, 0x20, 0x30, 0x3a, 0x36, 0x06, 0,    0,    0};
static const uint8_t empty[] = {0x1f, 0x8b, 0x08, 0x00, 0, 0, 0, 0, 0x00, 0x03,
                                0x03, 0x00, 0,    0,    0, 0, 0, 0, 0,    0};

static int keep(void *arg, const void *data, uint64_t size)
{
    cr_assert(buffer_append(arg, data, size));
    return 0;
}

static void compress_in_steps(const uint8_t *data, uint64_t size, uint64_t step, struct buffer *out)
{
    struct gzip_writer *w = gzip_writer_create(keep, out);
    cr_assert_not_null(w);
    for (uint64_t at = 0; at < size; at += step)
        cr_assert_eq(gzip_writer_write(w, data + at, size - at < step ? size - at : step), 0);
    cr_assert_eq(gzip_writer_finish(w), 0);
    gzip_writer_destroy(w);
}

static int decompress_in_steps(const struct buffer *in, uint64_t in_step, uint64_t out_step,
                               struct buffer *out, struct glint_error *error)
{
    struct memory_env memory;
    memory_env_init(&memory, in->data, in->size);
    memory.read_max = in_step;
    *error = (struct glint_error){.code = GLINT_OK};
    struct gunzip *z = gunzip_create(&memory.env, 3, "x.gz");
    cr_assert_not_null(z);
    int64_t n;
    do {
        cr_assert(buffer_reserve(out, out_step));
        n = gunzip_read(z, out->data + out->size, out_step, error);
        cr_assert(n <= (int64_t)out_step);
        if (n > 0) out->size += (uint64_t)n;
    } while (n == (int64_t)out_step);
    if (n >= 0) cr_assert_eq(gunzip_offset(z), in->size);
    cr_assert_eq(error->code, n < 0 ? n : 0);
    gunzip_destroy(z);
    return error->code;
}

static void expect_content(const struct buffer *in, const char *wanted, uint64_t size)
{
    for (uint64_t in_step = 0; in_step <= 40; in_step++) {
        for (uint64_t out_step = 1; out_step <= 1 << 16; out_step = out_step * 5 + 1) {
            struct buffer out = {NULL, 0, 0};
            struct glint_error error;
            int r = decompress_in_steps(in, in_step, out_step, &out, &error);
            cr_assert_eq(r, 0, "%s", error.cause);
            cr_assert_eq(out.size, size);
            if (size > 0) cr_assert_arr_eq(out.data, wanted, size);
            buffer_fini(&out);
        }
    }
}

static void expect_error(const struct buffer *in, int code, const char *cause)
{
    for (uint64_t in_step = 0; in_step <= 20; in_step++) {
        struct buffer out = {NULL, 0, 0};
        struct glint_error error;
        cr_assert_eq(decompress_in_steps(in, in_step, 100, &out, &error), code, "%s", error.cause);
        cr_assert(strstr(error.cause, cause) != NULL, "%s", error.cause);
        buffer_fini(&out);
    }
}

static void put_bytes(struct buffer *b, const void *data, uint64_t size)
{
    cr_assert(buffer_append(b, data, size));
}

Test(gunzip, members_are_concatenated)
{
    struct buffer in = {NULL, 0, 0};
    expect_content(&in, "", 0);
    put_bytes(&in, hello, sizeof hello);
    expect_content(&in, "hello\n", 6);
    put_bytes(&in, empty, sizeof empty);
    put_bytes(&in, empty, sizeof empty);
    expect_content(&in, "hello\n", 6);
    put_bytes(&in, hello, sizeof hello);
    expect_content(&in, "hello\nhello\n", 12);
    put_bytes(&in, (uint8_t[700]){0}, 700);
    expect_content(&in, "hello\nhello\n", 12);
    put_bytes(&in, "x", 1);
    expect_error(&in, GLINT_E_GZIP_CORRUPT, "unexpected bytes after");
    buffer_fini(&in);
}

Test(gunzip, truncation_is_reported_with_offset)
{
    struct buffer whole = {NULL, 0, 0};
    put_bytes(&whole, hello, sizeof hello);
    put_bytes(&whole, empty, sizeof empty);
    for (uint64_t cut = 1; cut < whole.size; cut++) {
        struct buffer in = {whole.data, cut, cut}, out = {NULL, 0, 0};
        struct glint_error error;
        const int r = decompress_in_steps(&in, 0, 64, &out, &error);
        cr_assert_eq(r, cut == sizeof hello ? 0 : GLINT_E_GZIP_TRUNCATED, "at %lu: %d", cut, r);
        char place[32];
        snprintf(place, sizeof place, "at byte %lu", cut);
        if (r != 0) cr_assert(strstr(error.cause, place) != NULL, "%s", error.cause);
        buffer_fini(&out);
    }
    buffer_fini(&whole);
}

Test(gunzip, flipped_bits_never_change_content)
{
    uint64_t harmless = 0; /* time, system, name, and the unused bits of the content's last byte */
    for (uint64_t bit = 0; bit < 8 * sizeof hello; bit++) {
        struct buffer in = {NULL, 0, 0}, out = {NULL, 0, 0};
        struct glint_error error;
        put_bytes(&in, hello, sizeof hello);
        in.data[bit / 8] ^= (uint8_t)(1 << bit % 8);
        const int r = decompress_in_steps(&in, 0, 64, &out, &error);
        cr_assert(r == 0 || r == GLINT_E_GZIP_CORRUPT || r == GLINT_E_GZIP_TRUNCATED);
        if (r == 0) cr_assert(out.size == 6 && memcmp(out.data, "hello\n", 6) == 0);
        harmless += r == 0;
        buffer_fini(&in);
        buffer_fini(&out);
    }
    cr_expect_leq(harmless, 8 * 15);
}

Test(gunzip, other_data_is_rejected)
{
    struct buffer in = {NULL, 0, 0};
    put_bytes(&in, "tt0000001\t5.7\t9\n", 16);
    expect_error(&in, GLINT_E_GZIP_CORRUPT, "byte 0: not a gzip header");
    in.size = 0;
    put_bytes(&in, (uint8_t[40]){0}, 40);
    expect_error(&in, GLINT_E_GZIP_CORRUPT, "not a gzip header");
    buffer_fini(&in);
}

Test(gunzip, read_error_is_reported)
{
    struct memory_env memory;
    memory_env_init(&memory, hello, sizeof hello);
    memory.fail_at = 1;
    struct glint_error error = {.code = GLINT_OK};
    uint8_t out[16];
    struct gunzip *z = gunzip_create(&memory.env, 3, "x.gz");
    cr_expect_eq(gunzip_read(z, out, sizeof out, &error), GLINT_E_INPUT_IO);
    gunzip_destroy(z);
    mem_fail_at(1, false);
    cr_expect_null(gunzip_create(&memory.env, 3, "x.gz"));
    gunzip_destroy(NULL);
}

/* All optional fields. The parser gets one byte at a time, so every split of them is the same. */
Test(gunzip, header_with_all_fields_is_parsed)
{
    const uint8_t bytes[] = {0x1f, 0x8b, 8,   0x1f, 1,   2,   3, 4,   5,   6,   3, 0, 'a',
                             'b',  'c',  'n', 'a',  'm', 'e', 0, 'c', 'o', 'm', 0, 0, 0};
    struct gzip_header h = {.phase = HEADER_FIXED};
    for (uint64_t i = 0; i < sizeof bytes - 2; i++)
        cr_assert_null(gzip_header_parse_byte(&h, bytes[i]));
    cr_assert_eq(h.phase, HEADER_CHECKSUM);
    const uint32_t crc = h.crc;
    struct gzip_header wrong = h;
    cr_expect_null(gzip_header_parse_byte(&h, (uint8_t)crc));
    cr_expect_null(gzip_header_parse_byte(&h, (uint8_t)(crc >> 8)));
    cr_expect_eq(h.phase, HEADER_DONE);
    cr_expect_null(gzip_header_parse_byte(&wrong, (uint8_t)crc));
    cr_expect_not_null(gzip_header_parse_byte(&wrong, (uint8_t)(crc >> 8) ^ 1));
}

Test(gzip, output_is_the_same_for_any_write_size)
{
    static const uint64_t sizes[] = {0, 1, 65535, 65536, 65537, 1000000};
    for (unsigned i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        const uint64_t size = sizes[i];
        uint8_t *data = malloc(size + 1);
        uint64_t state = 9;
        for (uint64_t k = 0; k < size; k++) data[k] = "0123456789\t\n"[test_random(&state) % 12];
        struct buffer whole = {NULL, 0, 0}, cut = {NULL, 0, 0}, out = {NULL, 0, 0};
        struct glint_error error;
        compress_in_steps(data, size, 1 << 20, &whole);
        compress_in_steps(data, size, 777, &cut);
        cr_assert_eq(whole.size, cut.size);
        cr_assert_arr_eq(whole.data, cut.data, cut.size);
        cr_assert_eq(decompress_in_steps(&whole, 0, 1 << 20, &out, &error), 0);
        cr_assert_eq(out.size, size);
        if (size > 0) cr_assert_arr_eq(out.data, data, size);
        if (size > 100) cr_assert_lt(whole.size, size * 6 / 10);
        buffer_fini(&whole);
        buffer_fini(&cut);
        buffer_fini(&out);
        free(data);
    }
    cr_expect_eq(mem_live_blocks(), 0);
}

static int refuse(void *arg, const void *data, uint64_t size)
{
    (void)data;
    (void)size;
    return --*(int *)arg == 0 ? -28 : 0;
}

Test(gzip, sink_error_is_sticky)
{
    int calls = 1;
    uint8_t *noise = malloc(MIB);
    uint64_t state = 3;
    for (uint64_t i = 0; i < MIB; i++) noise[i] = (uint8_t)test_random(&state);
    struct gzip_writer *w = gzip_writer_create(refuse, &calls);
    cr_expect_eq(gzip_writer_write(w, noise, MIB), -28);
    cr_expect_eq(gzip_writer_write(w, noise, 1), -28);
    cr_expect_eq(gzip_writer_finish(w), -28);
    cr_expect_eq(calls, 0, "no call after the error");
    gzip_writer_destroy(w);
    free(noise);
    mem_fail_at(1, false);
    cr_expect_null(gzip_writer_create(refuse, &calls));
}
