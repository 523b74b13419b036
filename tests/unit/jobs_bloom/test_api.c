/* <glint/bloom.h> as used by another program: errors instead of aborts, estimates, bytes and files,
 * and reading from many threads. */
#include "jobs/bloom/glint/bloom.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

static char dir[64], path[96];

static void start(void)
{
    snprintf(dir, sizeof dir, "/tmp/glint-bloom-XXXXXX");
    cr_assert_not_null(mkdtemp(dir));
    snprintf(path, sizeof path, "%s/file", dir);
}

static void stop(void)
{
    unlink(path);
    cr_expect_eq(rmdir(dir), 0, "something was left in %s", dir);
}

TestSuite(api, .init = start, .fini = stop);

static struct glint_bloom_params sized(enum glint_bloom_layout layout, uint64_t ids)
{
    struct glint_bloom_params params;
    cr_assert_eq(glint_bloom_size_by_rate(GLINT_BLOOM_WIDE, layout, ids, 0.01, &params), 0);
    return params;
}

static glint_bloom *made(enum glint_bloom_layout layout, int from, int to)
{
    struct glint_bloom_params params = sized(layout, 10000);
    glint_bloom *filter;
    cr_assert_eq(glint_bloom_create(&params, &filter), 0);
    for (int i = from; i < to; i++) {
        char id[16];
        int size = snprintf(id, sizeof id, "tt%07d", i);
        cr_assert_eq(glint_bloom_add(filter, id, (size_t)size), 0);
    }
    return filter;
}

static int holds(const glint_bloom *filter, int from, int to)
{
    int held = 0;
    for (int i = from; i < to; i++) {
        char id[16];
        int size = snprintf(id, sizeof id, "tt%07d", i);
        held += glint_bloom_contains(filter, id, (size_t)size);
    }
    return held;
}

Test(api, every_result_has_a_message)
{
    for (int result = GLINT_BLOOM_ERR_COLUMN; result <= 0; result++)
        cr_assert_eq(strcmp(glint_bloom_strerror(result), "unknown result") == 0, result == -17);
    cr_assert_str_eq(glint_bloom_strerror(1), "unknown result");
    cr_assert_str_eq(glint_bloom_strerror(-1000), "unknown result");
}

Test(api, schemes_and_layouts_have_names)
{
    enum glint_bloom_scheme scheme;
    enum glint_bloom_layout layout;
    cr_assert_eq(glint_bloom_scheme_named("md5-random", &scheme), 0);
    cr_assert_eq(scheme, GLINT_BLOOM_MD5_RANDOM);
    cr_assert_eq(glint_bloom_scheme_named("md6", &scheme), GLINT_BLOOM_ERR_SCHEME);
    cr_assert_eq(glint_bloom_layout_named("split-block", &layout), 0);
    cr_assert_eq(layout, GLINT_BLOOM_SPLIT_BLOCK);
    cr_assert_eq(glint_bloom_layout_named("", &layout), GLINT_BLOOM_ERR_LAYOUT);
    cr_assert_str_eq(glint_bloom_scheme_name(GLINT_BLOOM_XXH64), "xxh64");
    cr_assert_str_eq(glint_bloom_layout_name(GLINT_BLOOM_BLOCK512), "block512");
    cr_assert_null(glint_bloom_scheme_name((enum glint_bloom_scheme)20));
    cr_assert_null(glint_bloom_layout_name((enum glint_bloom_layout) - 1));
}

Test(api, invalid_sizes_return_errors)
{
    struct glint_bloom_params params;
    glint_bloom *filter;
    cr_assert_eq(glint_bloom_size_by_rate(GLINT_BLOOM_SPARK, GLINT_BLOOM_CLASSIC, 0, 0.1, &params),
                 GLINT_BLOOM_ERR_N);
    cr_assert_eq(params.bits, 0);
    cr_assert_eq(glint_bloom_size_by_rate(GLINT_BLOOM_SPARK, GLINT_BLOOM_CLASSIC, 1, NAN, &params),
                 GLINT_BLOOM_ERR_P);
    cr_assert_eq(
        glint_bloom_size_by_rate(GLINT_BLOOM_SPARK, GLINT_BLOOM_SPLIT_BLOCK, 1, 0.1, &params),
        GLINT_BLOOM_ERR_PAIR);
    cr_assert_eq(glint_bloom_size_by_bits(GLINT_BLOOM_WIDE, GLINT_BLOOM_CLASSIC, 1, 0.5, &params),
                 GLINT_BLOOM_ERR_BITS);
    cr_assert_eq(
        glint_bloom_size_by_bits((enum glint_bloom_scheme)99, GLINT_BLOOM_CLASSIC, 1, 8, &params),
        GLINT_BLOOM_ERR_SCHEME);
    params = (struct glint_bloom_params){GLINT_BLOOM_WIDE, GLINT_BLOOM_CLASSIC, 1, 0, 3, 0};
    cr_assert_eq(glint_bloom_check(&params), GLINT_BLOOM_ERR_M);
    cr_assert_eq(glint_bloom_create(&params, &filter), GLINT_BLOOM_ERR_M);
    cr_assert_null(filter);
    cr_assert(isnan(glint_bloom_expected_rate(&params)));
    cr_assert_eq(glint_bloom_size_by_bits(GLINT_BLOOM_WIDE, GLINT_BLOOM_CLASSIC, 10, 8, &params),
                 0);
    cr_assert(params.bits == 80 && params.hashes == 6);
    glint_bloom_destroy(NULL);
    glint_bloom_close(NULL);
}

/* Under a limit of the address space, which is too small for a sanitizer. */
Test(api, out_of_memory_returns_an_error)
{
    if (getenv("GLINT_SANITIZED") != NULL) cr_skip_test("sanitized");
    struct rlimit limit = {256 << 20, 256 << 20};
    struct glint_bloom_params params = {GLINT_BLOOM_WIDE, GLINT_BLOOM_CLASSIC, 1, 1ull << 34, 7, 0};
    glint_bloom *filter;
    cr_assert_eq(setrlimit(RLIMIT_AS, &limit), 0);
    cr_assert_eq(glint_bloom_create(&params, &filter), GLINT_BLOOM_ERR_MEMORY);
    cr_assert_null(filter);
}

Test(api, add_contains_clear_and_copy_work)
{
    for (int layout = 0; layout < 3; layout++) {
        glint_bloom *filter = made((enum glint_bloom_layout)layout, 0, 10000), *copy;
        cr_assert_eq(holds(filter, 0, 10000), 10000);
        cr_assert_lt(holds(filter, 10000, 20000), 150);
        cr_assert_float_eq(glint_bloom_rate(filter), 0.01, 0.001);
        cr_assert_float_eq(glint_bloom_ids(filter), 10000, 200);
        cr_assert_eq(glint_bloom_copy(filter, &copy), 0);
        cr_assert_eq(glint_bloom_clear(filter), 0);
        cr_assert_eq(glint_bloom_bits_set(filter), 0);
        cr_assert_eq(glint_bloom_ids(filter), 0);
        cr_assert_eq(holds(copy, 0, 10000), 10000);
        struct glint_bloom_params params = glint_bloom_params_of(copy);
        cr_assert(params.ids == 10000 && (int)params.layout == layout);
        size_t bytes;
        cr_assert_not_null(glint_bloom_bits(copy, &bytes));
        cr_assert_eq(bytes, (params.bits + 7) / 8);
        glint_bloom_destroy(filter);
        glint_bloom_destroy(copy);
    }
}

Test(api, unions_and_id_estimates_are_right)
{
    for (int layout = 0; layout < 3; layout++) {
        enum glint_bloom_layout in = (enum glint_bloom_layout)layout;
        glint_bloom *a = made(in, 0, 6000), *b = made(in, 4000, 10000), *other;
        struct glint_bloom_params params = sized(in, 9999999);
        double ids;
        cr_assert_eq(glint_bloom_union_ids(a, b, &ids), 0);
        cr_assert_float_eq(ids, 10000, 250, "%g", ids);
        cr_assert_eq(glint_bloom_intersection_ids(a, b, &ids), 0);
        cr_assert_float_eq(ids, 2000, 400, "%g", ids);
        cr_assert_eq(glint_bloom_unite(a, b), 0);
        cr_assert_eq(holds(a, 0, 10000), 10000);
        cr_assert_eq(glint_bloom_create(&params, &other), 0);
        cr_assert_eq(glint_bloom_unite(a, other), GLINT_BLOOM_ERR_MISMATCH);
        cr_assert_eq(glint_bloom_union_ids(a, other, &ids), GLINT_BLOOM_ERR_MISMATCH);
        cr_assert_eq(glint_bloom_intersection_ids(a, other, &ids), GLINT_BLOOM_ERR_MISMATCH);
        glint_bloom_destroy(a);
        glint_bloom_destroy(b);
        glint_bloom_destroy(other);
    }
}

Test(api, encoded_filter_round_trips)
{
    glint_bloom *filter = made(GLINT_BLOOM_SPLIT_BLOCK, 0, 100), *view, *copy;
    size_t size = glint_bloom_encoded_size(filter);
    uint8_t *data = malloc(size + 1);
    cr_assert_not_null(data);
    cr_assert_eq(glint_bloom_encode(filter, data, size - 1), GLINT_BLOOM_ERR_ROOM);
    cr_assert_eq(glint_bloom_encode(filter, data, size), 0);
    cr_assert_eq(glint_bloom_view(data, size, &view), 0);
    cr_assert_eq(glint_bloom_decode(data, size, &copy), 0);
    cr_assert_eq(glint_bloom_add(view, "x", 1), GLINT_BLOOM_ERR_READ_ONLY);
    cr_assert_eq(glint_bloom_clear(view), GLINT_BLOOM_ERR_READ_ONLY);
    cr_assert_eq(glint_bloom_unite(view, copy), GLINT_BLOOM_ERR_READ_ONLY);
    cr_assert_eq(glint_bloom_unite(copy, view), 0);
    cr_assert_eq(glint_bloom_add(copy, "x", 1), 0);
    cr_assert_eq(holds(view, 0, 100), 100);
    glint_bloom_destroy(view);
    data[size] = 0;
    cr_assert_eq(glint_bloom_view(data, size + 1, &view), GLINT_BLOOM_ERR_TRAILING);
    cr_assert_null(view);
    data[size - 1] ^= 1;
    cr_assert_eq(glint_bloom_decode(data, size, &view), GLINT_BLOOM_ERR_CHECKSUM);
    cr_assert_eq(glint_bloom_decode(data, 0, &view), GLINT_BLOOM_ERR_TRUNCATED);
    glint_bloom_destroy(filter);
    glint_bloom_destroy(copy);
    free(data);
}

/* ---- files ---- */

Test(api, every_kind_of_key_is_found)
{
    static const int64_t numbers[] = {
        0,     1,          127,        128,         255,         256,       65535,
        -1,    -32,        -33,        -128,        -129,        -32768,    -32769,
        65536, 4294967295, 4294967296, -2147483648, -2147483649, INT64_MAX, INT64_MIN};
    static const size_t sizes[] = {0, 1, 31, 32, 255, 256, 65535, 65536};
    enum { NUMBERS = sizeof numbers / sizeof *numbers, TEXTS = sizeof sizes / sizeof *sizes };
    struct glint_bloom_entry entries[NUMBERS + TEXTS + 1];
    glint_bloom *filter = made(GLINT_BLOOM_BLOCK512, 0, 10);
    char *text = calloc(65536, 1);
    cr_assert_not_null(text);
    for (int i = 0; i < NUMBERS; i++)
        entries[i] = (struct glint_bloom_entry){
            .kind = GLINT_BLOOM_KEY_INT, .number = numbers[i], .filter = filter};
    for (int i = 0; i < TEXTS; i++)
        entries[NUMBERS + i] = (struct glint_bloom_entry){
            .kind = GLINT_BLOOM_KEY_TEXT, .text = text, .text_size = sizes[i], .filter = filter};
    entries[NUMBERS + TEXTS] =
        (struct glint_bloom_entry){.kind = GLINT_BLOOM_KEY_DOUBLE, .real = -1.5, .filter = filter};
    cr_assert_eq(glint_bloom_write(path, entries, NUMBERS + TEXTS + 1), 0);
    for (int mode = GLINT_BLOOM_READ; mode <= GLINT_BLOOM_MAP; mode++) {
        glint_bloom_file *file;
        cr_assert_eq(glint_bloom_open(path, (enum glint_bloom_open_mode)mode, &file), 0);
        cr_assert_eq(glint_bloom_entries(file), NUMBERS + TEXTS + 1);
        for (size_t i = 0; i < NUMBERS + TEXTS + 1; i++) {
            struct glint_bloom_entry got = glint_bloom_entry_at(file, i);
            cr_assert_eq(got.kind, entries[i].kind);
            cr_assert_eq(got.number, entries[i].number);
            cr_assert_eq(got.real, entries[i].real);
            cr_assert_eq(got.text_size, entries[i].text_size);
            cr_assert_eq(memcmp(got.text_size > 0 ? got.text : "", text, got.text_size), 0);
            cr_assert_eq(holds(got.filter, 0, 10), 10);
        }
        cr_assert_eq(glint_bloom_find_int(file, -129), glint_bloom_entry_at(file, 11).filter);
        cr_assert_eq(glint_bloom_find_text(file, "", 0),
                     glint_bloom_entry_at(file, NUMBERS).filter);
        cr_assert_null(glint_bloom_find_text(file, "a", 1));
        cr_assert_null(glint_bloom_find_int(file, 2));
        cr_assert_null(glint_bloom_entry_at(file, NUMBERS + TEXTS + 1).filter);
        glint_bloom_close(file);
    }
    glint_bloom_destroy(filter);
    free(text);
}

static int reopened(const uint8_t *data, size_t size)
{
    FILE *file = fopen(path, "wb");
    cr_assert_not_null(file);
    cr_assert_eq(fwrite(data, 1, size, file), size);
    cr_assert_eq(fclose(file), 0);
    glint_bloom_file *read = NULL, *mapped = NULL;
    int result = glint_bloom_open(path, GLINT_BLOOM_READ, &read);
    cr_assert_eq(glint_bloom_open(path, GLINT_BLOOM_MAP, &mapped), result);
    cr_assert_eq(read == NULL, result != 0);
    glint_bloom_close(read);
    glint_bloom_close(mapped);
    return result;
}

Test(api, damaged_file_returns_an_error)
{
    glint_bloom *filter = made(GLINT_BLOOM_CLASSIC, 0, 1);
    glint_bloom *small;
    struct glint_bloom_params params = {GLINT_BLOOM_WIDE, GLINT_BLOOM_CLASSIC, 1, 20, 3, 0};
    cr_assert_eq(glint_bloom_create(&params, &small), 0);
    struct glint_bloom_entry entries[2] = {
        {.kind = GLINT_BLOOM_KEY_TEXT, .text = "key", .text_size = 3, .filter = small},
        {.kind = GLINT_BLOOM_KEY_INT, .number = 70000, .filter = small}};
    cr_assert_eq(glint_bloom_write(path, entries, 2), 0);
    uint8_t data[512];
    FILE *file = fopen(path, "rb");
    cr_assert_not_null(file);
    size_t size = fread(data, 1, sizeof data, file);
    fclose(file);
    cr_assert_eq(reopened(data, size), 0);
    size_t first = 1 + 4 + glint_bloom_encoded_size(small);
    for (size_t shorter = 1; shorter < size; shorter++) {
        int result = reopened(data, shorter);
        cr_assert_eq(result == 0, shorter == first, "%zu bytes", shorter);
        bool in_key = shorter < 5 || (shorter > first && shorter < first + 6);
        if (in_key) cr_assert_eq(result, GLINT_BLOOM_ERR_TRUNCATED, "%zu bytes", shorter);
    }
    for (size_t bit = 0; bit < size * 8; bit++) {
        uint8_t saved = data[bit / 8];
        data[bit / 8] ^= (uint8_t)(1u << bit % 8);
        bool key = (bit / 8 > 0 && bit / 8 < 5) || (bit / 8 > first && bit / 8 < first + 6);
        int result = reopened(data, size);
        cr_assert(key || result != 0, "bit %zu", bit); /* keys have no checksum */
        data[bit / 8] = saved;
    }
    cr_assert_eq(reopened(data, 0), 0); /* an empty part file has no keys */
    cr_assert_eq(reopened((const uint8_t *)"\x92\xc0", 2), GLINT_BLOOM_ERR_KEY);
    cr_assert_eq(reopened((const uint8_t *)"\x92\x07\x9c\xadglint.segment\x01", 18),
                 GLINT_BLOOM_ERR_SEGMENT);
    size_t alone = glint_bloom_encoded_size(small);
    cr_assert_eq(glint_bloom_encode(small, data, sizeof data), 0);
    cr_assert_eq(reopened(data, alone), 0);
    data[alone] = 0x92;
    cr_assert_eq(reopened(data, alone + 1), GLINT_BLOOM_ERR_TRAILING);
    glint_bloom_destroy(small);
    glint_bloom_destroy(filter);
}

Test(api, system_errors_are_returned)
{
    glint_bloom_file *file;
    glint_bloom *filter = made(GLINT_BLOOM_CLASSIC, 0, 1);
    struct glint_bloom_entry entry = {.filter = filter};
    char inside[128];
    cr_assert_eq(glint_bloom_open(path, GLINT_BLOOM_READ, &file), GLINT_BLOOM_ERR_IO);
    cr_assert_eq(errno, ENOENT);
    cr_assert_null(file);
    cr_assert_eq(glint_bloom_open(dir, GLINT_BLOOM_MAP, &file), GLINT_BLOOM_ERR_IO);
    cr_assert_eq(errno, EISDIR);
    cr_assert_eq(mkfifo(path, 0600), 0);
    cr_assert_eq(glint_bloom_open(path, GLINT_BLOOM_READ, &file), GLINT_BLOOM_ERR_IO);
    snprintf(inside, sizeof inside, "%s/none/file", dir);
    cr_assert_eq(glint_bloom_write(inside, &entry, 1), GLINT_BLOOM_ERR_IO);
    cr_assert_eq(errno, ENOENT);
    cr_assert_eq(glint_bloom_write(dir, &entry, 1), GLINT_BLOOM_ERR_IO); /* leaves no file */
    struct glint_bloom_entry two[2] = {entry, entry};
    cr_assert_eq(glint_bloom_write(path, two, 2), GLINT_BLOOM_ERR_KEY);
    entry.kind = (enum glint_bloom_key_kind)9;
    cr_assert_eq(glint_bloom_write(path, &entry, 1), GLINT_BLOOM_ERR_KEY);
    glint_bloom_destroy(filter);
}

/* If a program has closed its standard input, the next open returns descriptor 0. */
Test(api, descriptor_0_is_accepted)
{
    glint_bloom *filter = made(GLINT_BLOOM_CLASSIC, 0, 10);
    struct glint_bloom_entry entry = {.filter = filter};
    cr_assert_eq(close(STDIN_FILENO), 0);
    cr_assert_eq(glint_bloom_write(path, &entry, 1), 0);
    for (int mode = GLINT_BLOOM_READ; mode <= GLINT_BLOOM_MAP; mode++) {
        glint_bloom_file *file;
        cr_assert_eq(glint_bloom_open(path, (enum glint_bloom_open_mode)mode, &file), 0);
        cr_assert_eq(holds(glint_bloom_entry_at(file, 0).filter, 0, 10), 10);
        glint_bloom_close(file);
    }
    glint_bloom_destroy(filter);
}

static void *query_all(void *arg)
{
    return holds(arg, 0, 10000) == 10000 && glint_bloom_rate(arg) > 0 ? arg : NULL;
}

Test(api, threads_can_read_concurrently)
{
    glint_bloom *filter = made(GLINT_BLOOM_SPLIT_BLOCK, 0, 10000);
    pthread_t threads[8];
    for (int i = 0; i < 8; i++)
        cr_assert_eq(pthread_create(&threads[i], NULL, query_all, filter), 0);
    for (int i = 0; i < 8; i++) {
        void *answer;
        cr_assert_eq(pthread_join(threads[i], &answer), 0);
        cr_assert_eq(answer, filter);
    }
    glint_bloom_destroy(filter);
}

/* A failing call sets its result to NULL, and a program that does not check the code passes that
 * NULL on. */
Test(api, null_arguments_are_safe)
{
    size_t size = 1;
    double ids = 1;
    glint_bloom_file *file = (void *)&size;
    cr_assert_eq(glint_bloom_open("/nowhere/at/all", GLINT_BLOOM_READ, &file), GLINT_BLOOM_ERR_IO);
    cr_assert_null(file);
    cr_expect_eq(glint_bloom_entries(file), 0);
    struct glint_bloom_entry entry = glint_bloom_entry_at(file, 0);
    cr_expect(entry.filter == NULL && entry.text == NULL && entry.kind == GLINT_BLOOM_KEY_NONE);
    cr_expect_null(glint_bloom_find_text(file, "a", 1));
    cr_expect_null(glint_bloom_find_int(file, 0));
    glint_bloom_close(file);
    cr_expect(!glint_bloom_contains(NULL, "a", 1));
    cr_expect_eq(glint_bloom_params_of(NULL).bits, 0);
    cr_expect_eq(glint_bloom_bits_set(NULL), 0);
    cr_expect(glint_bloom_rate(NULL) == 0 && glint_bloom_ids(NULL) == 0);
    cr_expect_null(glint_bloom_bits(NULL, &size));
    cr_expect_eq(size, 0);
    cr_expect_eq(glint_bloom_encoded_size(NULL), 0);
    glint_bloom *filter = made(GLINT_BLOOM_CLASSIC, 0, 10);
    cr_expect_eq(glint_bloom_union_ids(filter, NULL, &ids), GLINT_BLOOM_ERR_MISMATCH);
    cr_expect_eq(glint_bloom_intersection_ids(NULL, filter, &ids), GLINT_BLOOM_ERR_MISMATCH);
    cr_expect_eq(ids, 0);
    glint_bloom_destroy(filter);
    glint_bloom_destroy(NULL);
}
