/* The writers of gzip and zstd: the same bytes for any sizes of writes, and errors of the sink. */
#include "engine/base/mem.h"
#include "engine/input/compress.h"
#include "engine/limits.h"
#include "tests/support/compress.h"
#include "tests/support/decompress.h"
#include "tests/support/test_task.h"

#include <malloc.h>
#include <sys/mman.h>

static void compress_in_steps(const uint8_t *data, uint64_t size, uint64_t step, struct buffer *out)
{
    struct compressor *w = compressor_create(COMPRESSION_GZIP, compress_keep, out);
    cr_assert_not_null(w);
    for (uint64_t at = 0; at < size; at += step)
        cr_assert_eq(compressor_write(w, data + at, size - at < step ? size - at : step), 0);
    cr_assert_eq(compressor_finish(w), 0);
    compressor_destroy(w);
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
        cr_assert_eq(decompress_by_steps(COMPRESSION_GZIP, &whole, 0, 1 << 20, &out, &error), 0);
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

/* Each of 10,000 compressors is in pages of its own: what the addresses change in the first matches
 * that are found, they change in some of so many. */
Test(gzip, output_is_the_same_at_any_address)
{
    enum { ADDRESSES = 10000, PAGES = 448 << 10 }; /* a compressor has more */
    char text[1000];
    size_t size = 0;
    for (int i = 0; i < 30; i++)
        size += (size_t)snprintf(text + size, sizeof text - size, "tt%07d\t%d.%d\t%d\n",
                                 i * 97 % 30, i % 9, i * 7 % 10, i * i * 31 % 1000);
    struct buffer first = {NULL, 0, 0}, out = {NULL, 0, 0};
    mallopt(M_MMAP_THRESHOLD, PAGES / 2); /* sanitizers have no such option, and map large blocks */
    for (unsigned i = 0; i < ADDRESSES; i++) {
        struct buffer *to = i == 0 ? &first : &out;
        out.size = 0;
        compress_in_steps((const uint8_t *)text, size, size, to);
        cr_assert_eq(to->size, first.size, "address %u", i);
        cr_assert_arr_eq(to->data, first.data, first.size, "address %u", i);
        /* The next compressor is below these pages, which are not used. */
        cr_assert_neq(mmap(NULL, PAGES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), MAP_FAILED);
    }
    buffer_fini(&first);
    buffer_fini(&out);
}

static void compress_zstd_in_steps(const uint8_t *data, uint64_t size, uint64_t step,
                                   struct buffer *out)
{
    struct compressor *w = compressor_create(COMPRESSION_ZSTD, compress_keep, out);
    cr_assert_not_null(w);
    for (uint64_t at = 0; at < size; at += step)
        cr_assert_eq(compressor_write(w, data + at, size - at < step ? size - at : step), 0);
    cr_assert_eq(compressor_finish(w), 0);
    compressor_destroy(w);
}

Test(zstd_writer, output_is_the_same_for_any_write_size)
{
    static const uint64_t sizes[] = {0, 1, MIB - 1, MIB, MIB + 1, 3 * MIB};
    for (unsigned i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        const uint64_t size = sizes[i];
        uint8_t *data = malloc(size + 1);
        uint64_t state = 9;
        for (uint64_t k = 0; k < size; k++) data[k] = "0123456789\t\n"[test_random(&state) % 12];
        struct buffer whole = {NULL, 0, 0}, cut = {NULL, 0, 0}, out = {NULL, 0, 0};
        struct glint_error error;
        compress_zstd_in_steps(data, size, 4 * MIB, &whole);
        compress_zstd_in_steps(data, size, 7777, &cut);
        cr_assert_eq(whole.size, cut.size);
        cr_assert_arr_eq(whole.data, cut.data, cut.size);
        cr_assert_eq(decompress_by_steps(COMPRESSION_ZSTD, &whole, 0, 1 << 20, &out, &error), 0);
        cr_assert_eq(out.size, size);
        if (size > 0) cr_assert_arr_eq(out.data, data, size);
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
    struct compressor *w = compressor_create(COMPRESSION_GZIP, refuse, &calls);
    cr_expect_eq(compressor_write(w, noise, MIB), -28);
    cr_expect_eq(compressor_write(w, noise, 1), -28);
    cr_expect_eq(compressor_finish(w), -28);
    cr_expect_eq(calls, 0, "no call after the error");
    compressor_destroy(w);
    free(noise);
    mem_fail_at(1, false);
    cr_expect_null(compressor_create(COMPRESSION_GZIP, refuse, &calls));
}

Test(zstd_writer, failures_are_reported)
{
    int calls = 1;
    uint8_t *zeros = calloc(1, 3 * MIB);
    struct compressor *w = compressor_create(COMPRESSION_ZSTD, refuse, &calls);
    cr_expect_eq(compressor_write(w, zeros, 3 * MIB), -28);
    cr_expect_eq(compressor_write(w, zeros, 1), -28);
    cr_expect_eq(compressor_finish(w), -28);
    cr_expect_eq(calls, 0, "no call after the error");
    compressor_destroy(w);
    free(zeros);
    w = NULL;
    for (int64_t n = 1; w == NULL; n++) {
        mem_fail_at(n, false);
        w = compressor_create(COMPRESSION_ZSTD, refuse, &calls);
        mem_fail_at(0, false);
        cr_expect(w == NULL || n > 2);
    }
    compressor_destroy(w);
    cr_expect_eq(mem_live_blocks(), 0);
}
