/* The decompressors on frames, padding, early ends, flipped bits and too large windows; more of
 * gzip. */
#include "engine/base/mem.h"
#include "engine/input/decompress.h"
#include "engine/input/compress.h"
#include "tests/support/compress.h"
#include "tests/support/decompress.h"
#include "tests/support/memory_env.h"
#include "tests/support/test_task.h"

#define SOURCE(m) (&(struct input_source){.env = &(m)->env, .file = 3, .path = "x"})

#include <criterion/criterion.h>

/* `printf 'hello\n' | gzip -9 -N` with a name; and compressed empty content. */
static const uint8_t hello[] = {0x1f, 0x8b, 0x08, 0x08, 0x2c, 0x91, 0xb5, 0x65, 0x02, 0x03, 'h',
                                'e',  '.',  't',  'x',  't',  0x00, 0xcb, 0x48, 0xcd, 0xc9, 0xc9,
                                0xe7, 0x02, 0x00, 0x20, 0x30, 0x3a, 0x36, 0x06, 0,    0,    0};
static const uint8_t empty[] = {0x1f, 0x8b, 0x08, 0x00, 0, 0, 0, 0, 0x00, 0x03,
                                0x03, 0x00, 0,    0,    0, 0, 0, 0, 0,    0};

static enum compression format = COMPRESSION_GZIP;
static int decompress_in_steps(const struct buffer *in, uint64_t in_step, uint64_t out_step,
                               struct buffer *out, struct glint_error *error)
{
    return decompress_by_steps(format, in, in_step, out_step, out, error);
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
    expect_error(&in, GLINT_E_COMPRESSED_CORRUPT,
                 "bytes follow the end of the gzip data, from byte 106");
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
        cr_assert_eq(r, cut == sizeof hello ? 0 : GLINT_E_COMPRESSED_TRUNCATED, "at %lu: %d", cut,
                     r);
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
        cr_assert(r == 0 || r == GLINT_E_COMPRESSED_CORRUPT || r == GLINT_E_COMPRESSED_TRUNCATED);
        if (r == 0) cr_assert(out.size == 6 && memcmp(out.data, "hello\n", 6) == 0);
        harmless += r == 0;
        buffer_fini(&in);
        buffer_fini(&out);
    }
    cr_expect_leq(harmless, 8 * 15);
}

/* ---- All formats */

#define FOR_ALL_FORMATS for (format = COMPRESSION_GZIP; format < COMPRESSION_COUNT; format++)

Test(decompress, frames_of_each_format_are_concatenated)
{
    static const char *const names[] = {NULL, "gzip", "zstd", "bzip2", "xz", "lz4"};
    FOR_ALL_FORMATS
    {
        struct buffer in = {NULL, 0, 0};
        compress_frame(format, "hello\n", 6, &in);
        expect_content(&in, "hello\n", 6);
        compress_frame(format, "", 0, &in);
        compress_frame(format, "", 0, &in);
        expect_content(&in, "hello\n", 6);
        compress_frame(format, "hello\n", 6, &in);
        expect_content(&in, "hello\nhello\n", 12);
        const uint64_t frames = in.size;
        put_bytes(&in, "some bytes after it", 19);
        char cause[64];
        snprintf(cause, sizeof cause, "bytes follow the end of the %s data, from byte %lu",
                 names[format], frames);
        expect_error(&in, GLINT_E_COMPRESSED_CORRUPT, cause);
        in.size = frames;
        put_bytes(&in, (uint8_t[8]){0}, 8);
        if (format == COMPRESSION_GZIP || format == COMPRESSION_XZ) {
            expect_content(&in, "hello\nhello\n", 12);
            put_bytes(&in, "x", 1);
        }
        struct buffer out = {NULL, 0, 0};
        struct glint_error error;
        const int r = decompress_in_steps(&in, 0, 64, &out, &error);
        cr_expect(r == GLINT_E_COMPRESSED_CORRUPT || r == GLINT_E_COMPRESSED_TRUNCATED, "%d", r);
        buffer_fini(&out);
        in.size = 0;
        put_bytes(&in, "tt0000001\t5.7\t9\n", 16);
        if (format != COMPRESSION_GZIP) expect_error(&in, GLINT_E_COMPRESSED_CORRUPT, "header");
        buffer_fini(&in);
    }
    cr_expect_eq(mem_live_blocks(), 0);
}

/* As xz allows, and no other format. */
Test(decompress, padding_may_be_between_frames_of_xz)
{
    FOR_ALL_FORMATS
    {
        struct buffer in = {NULL, 0, 0};
        for (uint64_t zeros = 0; zeros <= 9; zeros++) {
            in.size = 0;
            compress_frame(format, "one\n", 4, &in);
            put_bytes(&in, (uint8_t[9]){0}, zeros);
            compress_frame(format, "two\n", 4, &in);
            if (zeros == 0 || (format == COMPRESSION_XZ && zeros % 4 == 0))
                expect_content(&in, "one\ntwo\n", 8);
            else
                expect_error(&in, GLINT_E_COMPRESSED_CORRUPT,
                             format == COMPRESSION_XZ ? "padding" : "bytes follow the end");
        }
        buffer_fini(&in);
    }
    cr_expect_eq(mem_live_blocks(), 0);
}

/* The program lz4 reads it. */
Test(decompress, old_frames_of_lz4_are_named)
{
    struct buffer in = {NULL, 0, 0};
    format = COMPRESSION_LZ4;
    for (unsigned before = 0; before < 2; before++) {
        in.size = 0;
        if (before > 0) compress_frame(format, "new\n", 4, &in);
        put_bytes(&in, "\x02\x21\x4c\x18\x05\0\0\0\x40old\n", 13);
        expect_error(&in, GLINT_E_INPUT_FORMAT, "is in its old format");
    }
    buffer_fini(&in);
}

Test(decompress, truncation_at_each_byte_is_reported)
{
    FOR_ALL_FORMATS
    {
        struct buffer whole = {NULL, 0, 0};
        compress_frame(format, "hello\n", 6, &whole);
        const uint64_t one = whole.size;
        compress_frame(format, "again\n", 6, &whole);
        for (uint64_t cut = 0; cut < whole.size; cut++) {
            struct buffer in = {whole.data, cut, cut}, out = {NULL, 0, 0};
            struct glint_error error;
            const int r = decompress_in_steps(&in, cut % 7, 64, &out, &error);
            cr_assert_eq(r, cut == one ? 0 : GLINT_E_COMPRESSED_TRUNCATED, "format %d at %lu: %d",
                         format, cut, r);
            char place[32];
            snprintf(place, sizeof place, "at byte %lu", cut);
            if (r != 0) cr_assert(strstr(error.cause, place) != NULL, "%s", error.cause);
            buffer_fini(&out);
        }
        buffer_fini(&whole);
    }
    cr_expect_eq(mem_live_blocks(), 0);
}

/* All formats here have a checksum of the content. */
Test(decompress, flipped_bits_of_each_format_never_change_content)
{
    FOR_ALL_FORMATS
    {
        struct buffer whole = {NULL, 0, 0};
        compress_frame(format, "hello hello hello\n", 18, &whole);
        for (uint64_t bit = 0; bit < 8 * whole.size; bit++) {
            struct buffer out = {NULL, 0, 0};
            struct glint_error error;
            whole.data[bit / 8] ^= (uint8_t)(1 << bit % 8);
            const int r = decompress_in_steps(&whole, 0, 64, &out, &error);
            cr_assert(r == 0 || r == GLINT_E_COMPRESSED_CORRUPT || r == GLINT_E_INPUT_FORMAT ||
                          r == GLINT_E_COMPRESSED_TRUNCATED,
                      "format %d, bit %lu: %d", format, bit, r);
            /* zstd and lz4 skip what a flipped bit makes a skippable frame. */
            if (r == 0)
                cr_assert(out.size == 0 || memcmp(out.data, "hello hello hello\n", 18) == 0);
            whole.data[bit / 8] ^= (uint8_t)(1 << bit % 8);
            buffer_fini(&out);
        }
        buffer_fini(&whole);
    }
    cr_expect_eq(mem_live_blocks(), 0);
}

Test(decompress, memory_is_limited)
{
    struct buffer in = {NULL, 0, 0};
    /* A frame with a window of 2 GiB, and an empty raw block. */
    put_bytes(&in, "\x28\xb5\x2f\xfd\x00\xa8\x01\x00\x00", 9);
    format = COMPRESSION_ZSTD;
    expect_error(&in, GLINT_E_INPUT_FORMAT, "takes more than 128 MiB");
    in.data[5] = 0x88; /* 128 MiB */
    expect_content(&in, "", 0);
    in.size = 0;
    lzma_options_lzma options;
    lzma_lzma_preset(&options, 0);
    options.dict_size = 1 << 28;
    lzma_filter filters[] = {{LZMA_FILTER_LZMA2, &options}, {LZMA_VLI_UNKNOWN, NULL}};
    cr_assert(buffer_reserve(&in, 1024));
    size_t used = 0;
    cr_assert_eq(lzma_stream_buffer_encode(filters, LZMA_CHECK_CRC32, NULL,
                                           (const uint8_t *)"hello", 5, in.data, &used, 1024),
                 LZMA_OK);
    in.size = used;
    format = COMPRESSION_XZ;
    expect_error(&in, GLINT_E_INPUT_FORMAT, "takes more than 128 MiB");
    buffer_fini(&in);
}

Test(decompress, every_failing_allocation_and_read_is_reported)
{
    FOR_ALL_FORMATS
    {
        struct buffer in = {NULL, 0, 0};
        compress_frame(format, "hello\n", 6, &in);
        compress_frame(format, "again\n", 6, &in);
        struct memory_env memory;
        int64_t n = 0;
        bool done = false;
        for (uint64_t fail = 1; !done; fail++) {
            uint8_t out[16];
            struct glint_error error = {.code = GLINT_OK};
            memory_env_init(&memory, in.data, in.size);
            mem_fail_at((int64_t)fail, false);
            struct decompressor *z = decompressor_create(SOURCE(&memory), format, 0, 0);
            n = z != NULL ? decompressor_read(z, out, sizeof out, &error) : GLINT_E_NO_MEMORY;
            mem_fail_at(0, false);
            done = n == 12;
            cr_assert(done || n == GLINT_E_NO_MEMORY, "format %d, %lu: %ld", format, fail, n);
            cr_assert(!done || fail > 2);
            decompressor_destroy(z);
        }
        for (uint64_t fail = 1; fail <= 2; fail++) {
            uint8_t out[16];
            struct glint_error error = {.code = GLINT_OK};
            memory_env_init(&memory, in.data, in.size);
            memory.fail_at = fail;
            struct decompressor *z = decompressor_create(SOURCE(&memory), format, 0, 0);
            cr_expect_eq(decompressor_read(z, out, sizeof out, &error), GLINT_E_INPUT_IO);
            decompressor_destroy(z);
        }
        buffer_fini(&in);
    }
    cr_expect_eq(mem_live_blocks(), 0);
}

/* A reader of a range stops once at its end, and a frame that goes on there is an error. */
Test(decompress, range_ends_at_a_frame)
{
    struct buffer in = {NULL, 0, 0};
    compress_bgzf_block("one\n", 4, &in);
    const uint64_t first = in.size;
    compress_bgzf_block("two\n", 4, &in);
    const uint64_t second = in.size;
    compress_bgzf_block("three\n", 6, &in);
    format = COMPRESSION_GZIP;
    struct memory_env memory;
    struct glint_error error = {.code = GLINT_OK};
    uint8_t out[16];
    memory_env_init(&memory, in.data, in.size);
    struct decompressor *z = decompressor_create(SOURCE(&memory), format, first, second);
    cr_expect_eq(decompressor_offset(z), first);
    cr_expect(decompressor_read(z, out, 4, &error) == 4 && !decompressor_has_reached_range_end(z));
    cr_expect(decompressor_read(z, out, 16, &error) == 0 && decompressor_has_reached_range_end(z));
    cr_expect(decompressor_read(z, out, 16, &error) == 6 && memcmp(out, "three\n", 6) == 0);
    decompressor_destroy(z);
    z = decompressor_create(SOURCE(&memory), format, first, second - 1);
    cr_expect_eq(decompressor_read(z, out, 16, &error), GLINT_E_COMPRESSED_CORRUPT);
    cr_expect(strstr(error.cause, "ends later") != NULL, "%s", error.cause);
    decompressor_destroy(z);
    in.data[first + 16]++; /* BC of the second block */
    expect_error(&in, GLINT_E_COMPRESSED_CORRUPT, "not the one in its BGZF header");
    buffer_fini(&in);
}

/* ---- gzip */

static void expect_corrupt_zstd(const uint8_t *data, uint64_t size)
{
    const struct buffer in = {(uint8_t *)(uintptr_t)data, size, 0};
    format = COMPRESSION_ZSTD;
    for (uint64_t in_step = 0; in_step <= size; in_step++) {
        struct buffer out = {NULL, 0, 0};
        struct glint_error error;
        decompress_in_steps(&in, in_step, 64, &out, &error);
        cr_expect_eq(error.code, GLINT_E_COMPRESSED_CORRUPT);
        buffer_fini(&out);
    }
}

/* Both found by fuzzing: a frame of zstd 0.6, whose damage the library reports only for some sizes
 * of pieces, and one of 24,459 bytes according to its header, whose only block is empty. */
Test(decompress, zstd_frames_that_the_library_accepts_are_rejected)
{
    static const uint8_t old[] = {0x26, 0xb5, 0x2f, 0xfd, 0,    0,    0, 0x21,
                                  0x08, 0,    0x23, 0x2f, 0xfd, 0x04, 0, 0x02};
    static const uint8_t empty_block[] = {0x28, 0xb5, 0x2f, 0xfd, 0x40, 0x30,
                                          0x8b, 0x5f, 0x01, 0,    0};
    expect_corrupt_zstd(old, sizeof old);
    expect_corrupt_zstd(empty_block, sizeof empty_block);
}

Test(gunzip, other_data_is_rejected)
{
    struct buffer in = {NULL, 0, 0};
    put_bytes(&in, "tt0000001\t5.7\t9\n", 16);
    expect_error(&in, GLINT_E_COMPRESSED_CORRUPT, "byte 0: not a gzip header");
    in.size = 0;
    put_bytes(&in, (uint8_t[40]){0}, 40);
    expect_error(&in, GLINT_E_COMPRESSED_CORRUPT, "not a gzip header");
    buffer_fini(&in);
}

Test(gunzip, read_error_is_reported)
{
    struct memory_env memory;
    memory_env_init(&memory, hello, sizeof hello);
    memory.fail_at = 1;
    struct glint_error error = {.code = GLINT_OK};
    uint8_t out[16];
    struct decompressor *z = decompressor_create(SOURCE(&memory), format, 0, 0);
    cr_expect_eq(decompressor_read(z, out, sizeof out, &error), GLINT_E_INPUT_IO);
    decompressor_destroy(z);
    mem_fail_at(1, false);
    cr_expect_null(decompressor_create(SOURCE(&memory), format, 0, 0));
    decompressor_destroy(NULL);
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
