/* Columns of ids as in <glint/bloom.h>: every kind of column gives what single calls give, also
 * where ids are absent, empty or long, and where memory ends with the last id. */
#include "jobs/bloom/glint/bloom.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { IDS = 5000, WIDTH = 24 };

/* The ids of a test in every form; the bytes end at a page that cannot be read. */
static uint8_t *pages, *data;
static size_t mapped, data_size;
static int32_t offsets_32[IDS + 1];
static int64_t offsets_64[IDS + 1];
static uint8_t valid[(IDS + 7) / 8];
static uint8_t fixed[IDS * WIDTH];

static uint32_t id_size(int i)
{
    static const uint32_t sizes[] = {9, 9, 12, 8, 15, 0, 3, 16, 23, 9, 9};
    return sizes[(uint32_t)i % (sizeof sizes / sizeof sizes[0])];
}

static void start(void)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    for (int i = 0; i < IDS; i++) {
        offsets_64[i] = (int64_t)data_size;
        offsets_32[i] = (int32_t)data_size;
        data_size += id_size(i);
    }
    offsets_64[IDS] = (int64_t)data_size;
    offsets_32[IDS] = (int32_t)data_size;
    const size_t readable = (data_size + page - 1) / page * page;
    mapped = readable + page;
    pages = mmap(NULL, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    cr_assert(pages != MAP_FAILED);
    cr_assert_eq(mprotect(pages + readable, page, PROT_NONE), 0);
    data = pages + readable - data_size;
    for (int i = 0; i < IDS; i++) {
        char id[32];
        snprintf(id, sizeof id, "%07dabcdefghijklmnopqrst", i);
        memcpy(data + offsets_64[i], id, id_size(i));
        memcpy(fixed + i * WIDTH, id, id_size(i));
        if (i % 7 != 2) valid[i / 8] |= (uint8_t)(1u << i % 8);
    }
}

static void stop(void)
{
    munmap(pages, mapped);
}

TestSuite(many, .init = start, .fini = stop);

static struct glint_bloom_column column(enum glint_bloom_column_kind kind, bool nulls)
{
    struct glint_bloom_column ids = {.kind = kind,
                                     .count = IDS,
                                     .valid = nulls ? valid : NULL,
                                     .offsets = offsets_32,
                                     .data = data,
                                     .data_size = data_size};
    if (kind == GLINT_BLOOM_OFFSETS_64) ids.offsets = offsets_64;
    if (kind == GLINT_BLOOM_PADDED || kind == GLINT_BLOOM_FIXED) {
        ids.offsets = NULL;
        ids.width = WIDTH;
        ids.data = fixed;
        ids.data_size = sizeof fixed;
    }
    return ids;
}

static glint_bloom *created(enum glint_bloom_scheme scheme, enum glint_bloom_layout layout,
                            uint64_t ids)
{
    struct glint_bloom_params params;
    glint_bloom *filter;
    cr_assert_eq(glint_bloom_size_by_rate(scheme, layout, ids, 0.02, &params), 0);
    cr_assert_eq(glint_bloom_create(&params, &filter), 0);
    return filter;
}

static bool is_there(const struct glint_bloom_column *ids, uint64_t i)
{
    return ids->valid == NULL || (valid[i / 8] >> i % 8 & 1) != 0;
}

static const void *id_of(const struct glint_bloom_column *ids, uint64_t i, size_t *out_size)
{
    *out_size = ids->kind == GLINT_BLOOM_FIXED ? WIDTH : id_size((int)i);
    return ids->width > 0 && ids->kind != GLINT_BLOOM_VIEWS ? fixed + i * WIDTH
                                                            : data + offsets_64[i];
}

/* Adds a third of the column at once and singly, and looks up all of it both ways. */
static void expect_same(glint_bloom *at_once, glint_bloom *singly, struct glint_bloom_column ids)
{
    static uint8_t hit[IDS];
    size_t bytes, other, size;
    ids.first = 13;
    ids.count = IDS / 3;
    cr_assert_eq(glint_bloom_add_many(at_once, &ids), 0);
    for (uint64_t i = ids.first; i < ids.first + ids.count; i++) {
        const void *id = id_of(&ids, i, &size);
        if (is_there(&ids, i)) cr_assert_eq(glint_bloom_add(singly, id, size), 0);
    }
    const uint8_t *bits = glint_bloom_bits(at_once, &bytes);
    cr_assert_arr_eq(bits, glint_bloom_bits(singly, &other), bytes);
    ids.first = 5;
    ids.count = IDS - 5;
    memset(hit, 7, sizeof hit);
    cr_assert_eq(glint_bloom_contains_many(singly, &ids, hit), 0);
    for (uint64_t i = 0; i < ids.count; i++) {
        const void *id = id_of(&ids, ids.first + i, &size);
        bool expected = is_there(&ids, ids.first + i) && glint_bloom_contains(singly, id, size);
        cr_assert_eq(hit[i], expected, "id %d", (int)i);
    }
    cr_assert_eq(hit[IDS - 5], 7);
}

static void expect_all_kinds(enum glint_bloom_scheme scheme, enum glint_bloom_layout layout,
                             uint64_t sized_for)
{
    for (int kind = GLINT_BLOOM_OFFSETS_32; kind <= GLINT_BLOOM_PADDED; kind++)
        for (int nulls = 0; nulls < 2; nulls++) {
            glint_bloom *a = created(scheme, layout, sized_for);
            glint_bloom *b = created(scheme, layout, sized_for);
            expect_same(a, b, column((enum glint_bloom_column_kind)kind, nulls == 1));
            glint_bloom_destroy(a);
            glint_bloom_destroy(b);
        }
}

Test(many, blocks)
{
    expect_all_kinds(GLINT_BLOOM_XXH64, GLINT_BLOOM_SPLIT_BLOCK, 3000);
    expect_all_kinds(GLINT_BLOOM_XXH64, GLINT_BLOOM_BLOCK512, 3000);
    expect_all_kinds(GLINT_BLOOM_WIDE, GLINT_BLOOM_SPLIT_BLOCK, 3000);
}

Test(many, blocks_larger_than_a_cache)
{
    expect_all_kinds(GLINT_BLOOM_XXH64, GLINT_BLOOM_SPLIT_BLOCK, 4000000);
}

Test(many, classic)
{
    for (int scheme = GLINT_BLOOM_SPARK; scheme <= GLINT_BLOOM_RBLOOM; scheme++)
        if (scheme != GLINT_BLOOM_XXH64 && scheme != GLINT_BLOOM_POLY_MOD)
            expect_all_kinds((enum glint_bloom_scheme)scheme, GLINT_BLOOM_CLASSIC, 3001);
}

/* The bits of a view may end anywhere: here, where memory does. */
Test(many, views_of_filters)
{
    static uint8_t hit[IDS];
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    const struct glint_bloom_column ids = column(GLINT_BLOOM_OFFSETS_32, false);
    for (uint64_t n = 300; n < 310; n++) {
        glint_bloom *filter = created(GLINT_BLOOM_SPARK, GLINT_BLOOM_CLASSIC, n), *view;
        cr_assert_eq(glint_bloom_add_many(filter, &ids), 0);
        const size_t size = glint_bloom_encoded_size(filter);
        cr_assert(size <= page);
        uint8_t *two =
            mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        cr_assert(two != MAP_FAILED);
        cr_assert_eq(mprotect(two + page, page, PROT_NONE), 0);
        cr_assert_eq(glint_bloom_encode(filter, two + page - size, size), 0);
        cr_assert_eq(glint_bloom_view(two + page - size, size, &view), 0);
        cr_assert_eq(glint_bloom_add_many(view, &ids), GLINT_BLOOM_ERR_READ_ONLY);
        cr_assert_eq(glint_bloom_contains_many(view, &ids, hit), 0);
        for (int i = 0; i < IDS; i++) cr_assert_eq(hit[i], 1);
        glint_bloom_destroy(view);
        glint_bloom_destroy(filter);
        munmap(two, 2 * page);
    }
}

/* ---- string views ---- */

struct view {
    int32_t size;
    uint8_t prefix[4];
    int32_t buffer, offset;
};

static struct glint_bloom_column views(struct view *out, const uint8_t **buffers, int64_t *sizes)
{
    buffers[0] = NULL, sizes[0] = 0;
    buffers[1] = data, sizes[1] = (int64_t)data_size;
    for (int i = 0; i < IDS; i++) {
        const uint8_t *id = data + offsets_64[i];
        const uint32_t size = id_size(i);
        out[i] = (struct view){.size = (int32_t)size, .buffer = 1, .offset = offsets_32[i]};
        memcpy(out[i].prefix, id, size < 4 ? size : 4);
        if (size <= 12) memcpy((uint8_t *)&out[i] + 4, id, size);
    }
    return (struct glint_bloom_column){.kind = GLINT_BLOOM_VIEWS,
                                       .count = IDS,
                                       .offsets = out,
                                       .width = 2,
                                       .data = buffers,
                                       .buffers = sizes};
}

Test(many, string_views)
{
    static struct view table[IDS];
    const uint8_t *buffers[2];
    int64_t sizes[2];
    struct glint_bloom_column ids = views(table, buffers, sizes);
    glint_bloom *a = created(GLINT_BLOOM_XXH64, GLINT_BLOOM_SPLIT_BLOCK, 3000);
    glint_bloom *b = created(GLINT_BLOOM_XXH64, GLINT_BLOOM_SPLIT_BLOCK, 3000);
    expect_same(a, b, ids);
    ids.valid = valid;
    expect_same(a, b, ids);
    glint_bloom_destroy(a);
    glint_bloom_destroy(b);
}

/* Each of these makes one view invalid; a valid column afterwards is accepted. */
Test(many, invalid_string_views)
{
    static struct view table[IDS];
    static uint8_t hit[IDS];
    const uint8_t *buffers[2];
    int64_t sizes[2];
    const struct glint_bloom_column ids = views(table, buffers, sizes);
    glint_bloom *filter = created(GLINT_BLOOM_XXH64, GLINT_BLOOM_SPLIT_BLOCK, 3000);
    const struct view wrong[] = {{.size = -1},
                                 {.size = INT32_MIN},
                                 {.size = 13, .buffer = 2},
                                 {.size = 13, .buffer = -1},
                                 {.size = 13, .buffer = 0},
                                 {.size = 13, .buffer = 1, .offset = -1},
                                 {.size = 13, .buffer = 1, .offset = (int32_t)data_size - 12},
                                 {.size = INT32_MAX, .buffer = 1, .offset = INT32_MAX}};
    for (size_t w = 0; w < sizeof wrong / sizeof wrong[0]; w++) {
        const struct view kept = table[IDS / 2];
        table[IDS / 2] = wrong[w];
        cr_assert_eq(glint_bloom_contains_many(filter, &ids, hit), GLINT_BLOOM_ERR_COLUMN);
        cr_assert_eq(glint_bloom_add_many(filter, &ids), GLINT_BLOOM_ERR_COLUMN);
        table[IDS / 2] = kept;
        cr_assert_eq(glint_bloom_contains_many(filter, &ids, hit), 0);
    }
    glint_bloom_destroy(filter);
}

/* ---- ids with a byte between them ---- */

/* The ids of a test, each followed by a line break except the last one. */
static struct glint_bloom_column lines(uint8_t *out)
{
    size_t size = 0;
    for (int i = 0; i < IDS; i++) {
        memcpy(out + size, data + offsets_64[i], id_size(i));
        size += id_size(i);
        out[size++] = '\n';
    }
    return (struct glint_bloom_column){.kind = GLINT_BLOOM_SEPARATED,
                                       .count = IDS,
                                       .width = '\n',
                                       .data = out,
                                       .data_size = size - 1};
}

Test(many, separated)
{
    static uint8_t text[IDS * WIDTH], hit[IDS];
    struct glint_bloom_column ids = lines(text);
    const struct glint_bloom_column same = column(GLINT_BLOOM_OFFSETS_32, true);
    glint_bloom *a = created(GLINT_BLOOM_XXH64, GLINT_BLOOM_SPLIT_BLOCK, 3000);
    glint_bloom *b = created(GLINT_BLOOM_XXH64, GLINT_BLOOM_SPLIT_BLOCK, 3000);
    ids.valid = valid;
    size_t bytes, other;
    cr_assert_eq(glint_bloom_add_many(a, &ids), 0);
    cr_assert_eq(glint_bloom_add_many(b, &same), 0);
    const uint8_t *bits = glint_bloom_bits(a, &bytes);
    cr_assert_arr_eq(bits, glint_bloom_bits(b, &other), bytes);
    cr_assert_eq(glint_bloom_contains_many(a, &ids, hit), 0);
    for (int i = 0; i < IDS; i++) cr_assert_eq(hit[i], i % 7 != 2);
    /* Fewer ids than there are, and more. */
    ids.count = IDS - 1;
    cr_assert_eq(glint_bloom_contains_many(a, &ids, hit), 0);
    ids.count = IDS + 1;
    cr_assert_eq(glint_bloom_contains_many(a, &ids, hit), GLINT_BLOOM_ERR_COLUMN);
    ids = (struct glint_bloom_column){.kind = GLINT_BLOOM_SEPARATED, .count = 1, .data = text};
    cr_assert_eq(glint_bloom_contains_many(a, &ids, hit), 0); /* one empty id */
    cr_assert_eq(hit[0], 1);
    ids.data_size = 1ull << 32;
    cr_assert_eq(glint_bloom_add_many(a, &ids), GLINT_BLOOM_ERR_COLUMN);
    glint_bloom_destroy(a);
    glint_bloom_destroy(b);
}

/* ---- invalid columns, and none ---- */

static void expect_column_error(const glint_bloom *filter, glint_bloom *into,
                                const struct glint_bloom_column *ids)
{
    static uint8_t hit[IDS];
    cr_assert_eq(glint_bloom_contains_many(filter, ids, hit), GLINT_BLOOM_ERR_COLUMN);
    cr_assert_eq(glint_bloom_add_many(into, ids), GLINT_BLOOM_ERR_COLUMN);
}

Test(many, invalid_offsets)
{
    static uint8_t hit[IDS];
    glint_bloom *filter = created(GLINT_BLOOM_XXH64, GLINT_BLOOM_SPLIT_BLOCK, 3000);
    const int places[] = {0, 1, 700, 1024, 1025, IDS - 1, IDS};
    const int64_t values[] = {-1, INT32_MIN, INT32_MAX};
    for (size_t p = 0; p < sizeof places / sizeof places[0]; p++)
        for (size_t v = 0; v < sizeof values / sizeof values[0]; v++) {
            struct glint_bloom_column narrow = column(GLINT_BLOOM_OFFSETS_32, false);
            struct glint_bloom_column large = column(GLINT_BLOOM_OFFSETS_64, v == 1);
            const int32_t kept = offsets_32[places[p]];
            offsets_32[places[p]] = (int32_t)values[v];
            offsets_64[places[p]] = values[v] * (1ll << 31);
            expect_column_error(filter, filter, &narrow);
            expect_column_error(filter, filter, &large);
            offsets_32[places[p]] = kept;
            offsets_64[places[p]] = kept;
            cr_assert_eq(glint_bloom_contains_many(filter, &narrow, hit), 0);
            cr_assert_eq(glint_bloom_contains_many(filter, &large, hit), 0);
        }
    struct glint_bloom_column cut = column(GLINT_BLOOM_PADDED, false);
    cut.data_size--;
    expect_column_error(filter, filter, &cut);
    glint_bloom_destroy(filter);
}

/* Ids so large that 32-bit offsets do not reach over a piece of the column. */
Test(many, wide_ids)
{
    const uint64_t width = 5ull << 20, count = 900;
    uint8_t *zeros = mmap(NULL, width * count, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    cr_assert(zeros != MAP_FAILED);
    const struct glint_bloom_column ids = {.kind = GLINT_BLOOM_PADDED,
                                           .first = count - 2,
                                           .count = 2,
                                           .width = width,
                                           .data = zeros,
                                           .data_size = width * count};
    struct glint_bloom_column far = {
        .kind = GLINT_BLOOM_OFFSETS_64,
        .count = 3,
        .offsets = (int64_t[]){0, 3, (int64_t)(width * count) - 2, (int64_t)(width * count)},
        .valid = (const uint8_t[]){0x5},
        .data = zeros,
        .data_size = width * count};
    uint8_t hit[3];
    glint_bloom *filter = created(GLINT_BLOOM_XXH64, GLINT_BLOOM_SPLIT_BLOCK, 3000);
    cr_assert_eq(glint_bloom_add_many(filter, &ids), 0);
    cr_assert(glint_bloom_contains(filter, "", 0));
    cr_assert_eq(glint_bloom_add_many(filter, &far), 0);
    cr_assert(glint_bloom_contains(filter, zeros, 3) && glint_bloom_contains(filter, zeros, 2));
    cr_assert_eq(glint_bloom_contains_many(filter, &far, hit), 0);
    cr_assert(hit[0] == 1 && hit[1] == 0 && hit[2] == 1);
    glint_bloom_destroy(filter);
    munmap(zeros, width * count);
}

Test(many, no_ids_and_no_filter)
{
    struct glint_bloom_column ids = column(GLINT_BLOOM_OFFSETS_32, false);
    uint8_t hit[3] = {7, 7, 7};
    glint_bloom *filter = created(GLINT_BLOOM_XXH64, GLINT_BLOOM_SPLIT_BLOCK, 3000);
    ids.count = 3;
    cr_assert_eq(glint_bloom_contains_many(NULL, &ids, hit), 0);
    cr_assert(hit[0] == 0 && hit[1] == 0 && hit[2] == 0);
    ids = (struct glint_bloom_column){.kind = GLINT_BLOOM_OFFSETS_32};
    cr_assert_eq(glint_bloom_add_many(filter, &ids), 0);
    cr_assert_eq(glint_bloom_contains_many(filter, &ids, hit), 0);
    cr_assert_eq(glint_bloom_bits_set(filter), 0);
    /* Only empty ids, without any data. */
    const int32_t zeros[4] = {0};
    ids.offsets = zeros;
    ids.count = 3;
    cr_assert_eq(glint_bloom_contains_many(filter, &ids, hit), 0);
    cr_assert_eq(hit[2], 0);
    cr_assert_eq(glint_bloom_add_many(filter, &ids), 0);
    cr_assert_eq(glint_bloom_contains_many(filter, &ids, hit), 0);
    cr_assert_eq(hit[2], 1);
    glint_bloom_destroy(filter);
}
