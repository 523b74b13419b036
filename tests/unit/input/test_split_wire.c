/* The encoding of splits: what survives a round trip, and what is rejected. */
#include "engine/input/arrow.h"
#include "engine/input/column_map.h"
#include "engine/input/csv.h"
#include "engine/input/split.h"
#include "engine/limits.h"
#include "engine/records/pack.h"

#include <criterion/criterion.h>
#include <string.h>

static struct glint_error error;

static const struct column_map map;
static const struct split_piece pieces[] = {
    {.path = "columns", .length = 9, .file_size = 9, .columns = &map},
    {.path = "same-columns", .length = 9, .file_size = 9, .header = true, .columns = &map},
    {.path = "data/a.tsv",
     .offset = 5,
     .length = 7,
     .file_size = 100,
     .mtime_ns = 1700000000123456789},
    {.path = "\xc3\xa9,[*].gz",
     .length = SPLIT_TO_END,
     .file_size = UINT32_MAX,
     .mtime_ns = -1,
     .compression = COMPRESSION_GZIP},
    {.path = "n-line.xz",
     .offset = 1000,
     .length = 50,
     .file_size = 20,
     .compression = COMPRESSION_XZ},
    {.path = "header.gz",
     .length = SPLIT_TO_END,
     .file_size = 20,
     .compression = COMPRESSION_GZIP,
     .header = true},
    {.path = "header",
     .length = 20,
     .file_size = 20,
     .header = true,
     .csv = ';',
     .nul_is_text = true},
    {.path = "nul", .length = 20, .file_size = 20, .nul_is_text = true},
    {.path = "records", .length = 20, .file_size = 20, .csv = ',', .records = true},
    {.path = "any", .length = 20, .file_size = 20, .csv = CSV_ANY, .records = true},
    {.path = "nulls",
     .length = 20,
     .file_size = 20,
     .csv = ',',
     .nulls = {(const uint8_t *)"0NA", 3}},
    {.path = "lines", .length = 20, .file_size = 20, .json = {(const uint8_t *)"", 0}},
    {.path = "values",
     .length = 20,
     .file_size = 20,
     .json = {(const uint8_t *)"/user/id\0/a~1b", sizeof "/user/id\0/a~1b"}},
    {.path = "out/part-00000",
     .stored = ".out.glint-1/output/part-00000",
     .length = 20,
     .file_size = 20},
    {.path = "first.zst",
     .length = SPLIT_TO_END,
     .file_size = 50,
     .frames_end = 20,
     .compression = COMPRESSION_ZSTD,
     .header = true},
    {.path = "second.zst",
     .offset = 1,
     .length = SPLIT_TO_END,
     .file_size = 50,
     .frames_start = 20,
     .frames_end = 50,
     .compression = COMPRESSION_ZSTD},
};
static const struct row_column row_columns[] = {{0, "id", true, ARROW_COMMON_MAX},
                                                {3, "a name", false, ARROW_COMMON_NONE}};
static const struct row_layout layout = {.fields = 5, .count = 2, .columns = row_columns};
static const char types[] = "u\0l\0g\0u\0b";
static const struct row_layout typed_layout = {.fields = 5,
                                               .count = 2,
                                               .columns = row_columns,
                                               .types = {(const uint8_t *)types, sizeof types}};
static const struct split_piece column_pieces[] = {
    {.path = "a.parquet",
     .offset = 2,
     .length = 3,
     .file_size = 1,
     .format = 1,
     .layout = &layout,
     .rows_before = 70},
    {.path = "b.parquet", .length = 1, .file_size = 9, .format = 2, .layout = &layout},
};

Test(split_wire, pieces_of_files_of_columns_round_trip)
{
    const struct split split = {column_pieces, 2};
    struct split got;
    struct arena arena = {NULL, NULL, 0};
    struct buffer bytes = {NULL, 0, 0};
    cr_assert(split_encode(&split, &bytes));
    for (uint64_t size = 0; size < bytes.size; size++)
        cr_expect_eq(split_decode((struct glint_slice){bytes.data, size}, &arena, &got, &error),
                     GLINT_E_PROTOCOL);
    error = (struct glint_error){.code = GLINT_OK};
    cr_assert_eq(split_decode((struct glint_slice){bytes.data, bytes.size}, &arena, &got, &error),
                 0);
    for (unsigned i = 0; i < 2; i++) {
        const struct split_piece *a = &column_pieces[i], *b = &got.pieces[i];
        cr_expect(a->offset == b->offset && a->length == b->length && a->format == b->format);
        cr_expect_eq(a->rows_before, b->rows_before);
        cr_assert(b->layout->fields == 5 && b->layout->count == 2);
        for (unsigned c = 0; c < 2; c++) {
            cr_expect_eq(b->layout->columns[c].field, row_columns[c].field);
            cr_expect_str_eq(b->layout->columns[c].name, row_columns[c].name);
            cr_expect_eq(b->layout->columns[c].key, row_columns[c].key);
            cr_expect_eq(b->layout->columns[c].common, row_columns[c].common);
        }
    }
    buffer_fini(&bytes);
    arena_fini(&arena);
}

Test(split_wire, types_of_layouts_round_trip)
{
    struct split_piece piece = column_pieces[0];
    struct buffer bytes = {NULL, 0, 0};
    struct arena arena = {NULL, NULL, 0};
    struct split got;
    piece.layout = &typed_layout;
    cr_assert(split_encode(&(struct split){&piece, 1}, &bytes));
    cr_assert_eq(split_decode((struct glint_slice){bytes.data, bytes.size}, &arena, &got, &error),
                 0);
    const struct row_layout *l = got.pieces[0].layout;
    cr_assert(l->count == 2 && l->types.size == sizeof types);
    cr_expect_arr_eq(l->types.data, types, sizeof types);
    cr_expect_str_eq(l->columns[1].name, "a name");
    buffer_fini(&bytes);
    arena_fini(&arena);
}

Test(split_wire, layouts_that_are_no_layouts_are_rejected)
{
    const struct row_column falling[] = {{3, "a", false, 0}, {0, "b", false, 0}},
                            beyond[] = {{5, "a", false, 0}},
                            unknown[] = {{0, "a", false, ARROW_COMMON_MAX + 1}};
    const struct row_layout wrong[] = {{.fields = 5, .count = 2, .columns = falling},
                                       {.fields = 5, .count = 1, .columns = beyond},
                                       {.fields = 5, .count = 1, .columns = unknown}};
    for (unsigned i = 0; i < 3; i++) {
        struct split_piece piece = column_pieces[0];
        struct buffer bytes = {NULL, 0, 0};
        struct arena arena = {NULL, NULL, 0};
        struct split got;
        piece.layout = &wrong[i];
        cr_assert(split_encode(&(struct split){&piece, 1}, &bytes));
        cr_expect_eq(
            split_decode((struct glint_slice){bytes.data, bytes.size}, &arena, &got, &error),
            GLINT_E_PROTOCOL);
        buffer_fini(&bytes);
        arena_fini(&arena);
    }
}

static const struct column_run runs[] = {{2, 1}, {COLUMN_EMPTY, 3}, {0, 2}};
static const struct column_map map = {.runs = runs, .count = 3, .fields = 4, .separator = ';'};
enum { PIECES = sizeof pieces / sizeof *pieces };

Test(split_wire, encoded_split_round_trips)
{
    const struct split split = {pieces, PIECES};
    struct split got;
    struct arena arena = {NULL, NULL, 0};
    struct buffer bytes = {NULL, 0, 0};
    cr_assert(split_encode(&split, &bytes));
    cr_assert_eq(split_decode((struct glint_slice){bytes.data, bytes.size}, &arena, &got, &error),
                 0);
    cr_assert_eq(got.count, PIECES);
    for (unsigned i = 0; i < PIECES; i++) {
        const struct split_piece *a = &pieces[i], *b = &got.pieces[i];
        cr_expect_str_eq(a->path, b->path);
        cr_expect_eq(a->stored == NULL, b->stored == NULL);
        if (a->stored != NULL) cr_expect_str_eq(a->stored, b->stored);
        cr_expect(a->offset == b->offset && a->length == b->length &&
                  a->compression == b->compression);
        cr_expect(a->file_size == b->file_size && a->mtime_ns == b->mtime_ns);
        cr_expect(a->header == b->header && a->csv == b->csv && a->nul_is_text == b->nul_is_text);
        cr_expect_eq(a->records, b->records);
        cr_expect((a->json.data == NULL) == (b->json.data == NULL));
        cr_assert_eq(a->json.size, b->json.size);
        cr_expect(a->json.size == 0 || memcmp(a->json.data, b->json.data, a->json.size) == 0);
        cr_assert_eq(a->columns == NULL, b->columns == NULL);
        if (a->columns != NULL)
            cr_expect(b->columns->count == 3 && b->columns->fields == 4 &&
                      b->columns->separator == ';' &&
                      memcmp(b->columns->runs, runs, sizeof runs) == 0);
        cr_assert(a->nulls.size == b->nulls.size);
        cr_expect(a->nulls.size == 0 || memcmp(a->nulls.data, b->nulls.data, a->nulls.size) == 0);
        cr_expect(a->frames_start == b->frames_start && a->frames_end == b->frames_end);
    }
    for (uint64_t size = 0; size < bytes.size; size++) {
        error = (struct glint_error){.code = GLINT_OK};
        const struct glint_slice part = {bytes.data, size};
        cr_expect_eq(split_decode(part, &arena, &got, &error), GLINT_E_PROTOCOL);
        cr_expect_eq(got.count, 0);
    }
    mem_fail_at(1, false);
    error = (struct glint_error){.code = GLINT_OK};
    arena_fini(&arena);
    cr_expect_eq(split_decode((struct glint_slice){bytes.data, bytes.size}, &arena, &got, &error),
                 GLINT_E_NO_MEMORY);
    mem_fail_at(0, false);
    buffer_fini(&bytes);
    arena_fini(&arena);
}

Test(split_wire, impossible_ranges_of_frames_are_rejected)
{
    static const struct split_piece wrong[] = {
        {.offset = 1,
         .length = SPLIT_TO_END,
         .frames_start = 20,
         .frames_end = 51,
         .compression = COMPRESSION_ZSTD},
        {.offset = 1,
         .length = SPLIT_TO_END,
         .frames_start = 20,
         .frames_end = 20,
         .compression = COMPRESSION_ZSTD},
        {.offset = 0,
         .length = SPLIT_TO_END,
         .frames_start = 20,
         .frames_end = 50,
         .compression = COMPRESSION_ZSTD},
        {.offset = 1,
         .length = 7,
         .frames_start = 20,
         .frames_end = 50,
         .compression = COMPRESSION_ZSTD},
        {.offset = 1, .length = SPLIT_TO_END, .frames_start = 20, .compression = COMPRESSION_ZSTD},
        {.offset = 1, .length = 7, .frames_start = 20, .frames_end = 50},
    };
    for (unsigned i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct split_piece piece = wrong[i];
        piece.path = "x";
        piece.file_size = 50;
        const struct split split = {&piece, 1};
        struct split got;
        struct arena arena = {NULL, NULL, 0};
        struct buffer bytes = {NULL, 0, 0};
        error = (struct glint_error){.code = GLINT_OK};
        cr_assert(split_encode(&split, &bytes));
        const struct glint_slice sent = {bytes.data, bytes.size};
        cr_expect_eq(split_decode(sent, &arena, &got, &error), GLINT_E_PROTOCOL, "%u", i);
        buffer_fini(&bytes);
        arena_fini(&arena);
    }
}

Test(split_wire, impossible_columns_are_rejected)
{
    static const struct column_run past[] = {{3, 2}}, none[] = {{0, 0}},
                                   many[] = {{COLUMN_EMPTY, UINT32_MAX}};
    static const struct column_map wrong[] = {
        {.runs = past, .count = 1, .fields = 4},          {.runs = none, .count = 1, .fields = 4},
        {.runs = many, .count = 1, .fields = 4},          {.runs = runs, .count = 3, .fields = 0},
        {.runs = runs, .count = 3, .fields = UINT32_MAX}, {.runs = runs, .count = 0, .fields = 4}};
    for (unsigned i = 0; i < sizeof wrong / sizeof *wrong + 1; i++) {
        const bool json = i == sizeof wrong / sizeof *wrong;
        struct split_piece piece = {.path = "x", .length = 5, .file_size = 5};
        piece.columns = json ? &map : &wrong[i];
        if (json) piece.json = (struct glint_slice){(const uint8_t *)"", 0};
        struct split got;
        struct arena arena = {NULL, NULL, 0};
        struct buffer bytes = {NULL, 0, 0};
        error = (struct glint_error){.code = GLINT_OK};
        cr_assert(split_encode(&(struct split){&piece, 1}, &bytes));
        const struct glint_slice sent = {bytes.data, bytes.size};
        cr_expect_eq(split_decode(sent, &arena, &got, &error), GLINT_E_PROTOCOL, "%u", i);
        buffer_fini(&bytes);
        arena_fini(&arena);
    }
}

Test(split_wire, invalid_nulls_are_rejected)
{
    static const char *const wrong[] = {"2NA", "NA", "0"};
    for (unsigned i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        const struct split_piece piece = {.path = "x",
                                          .length = 10,
                                          .file_size = 10,
                                          .csv = ',',
                                          .nulls = {(const uint8_t *)wrong[i], strlen(wrong[i])}};
        struct split got;
        struct arena arena = {NULL, NULL, 0};
        struct buffer bytes = {NULL, 0, 0};
        error = (struct glint_error){.code = GLINT_OK};
        cr_assert(split_encode(&(struct split){&piece, 1}, &bytes));
        const struct glint_slice sent = {bytes.data, bytes.size};
        cr_expect_eq(split_decode(sent, &arena, &got, &error), GLINT_E_PROTOCOL, "%u", i);
        buffer_fini(&bytes);
        arena_fini(&arena);
    }
}

Test(split_wire, max_files_per_split_round_trip)
{
    static struct split_piece files[SPLIT_FILES_MAX];
    struct arena arena = {NULL, NULL, 0};
    struct buffer bytes = {NULL, 0, 0};
    struct split got;
    for (uint32_t i = 0; i < SPLIT_FILES_MAX; i++)
        files[i] = (struct split_piece){.path = "a", .length = 1, .file_size = 1};
    cr_assert(split_encode(&(struct split){files, SPLIT_FILES_MAX}, &bytes));
    cr_expect_eq(split_decode((struct glint_slice){bytes.data, bytes.size}, &arena, &got, &error),
                 0, "%s", error.cause);
    cr_expect_eq(got.count, SPLIT_FILES_MAX);
    buffer_fini(&bytes);
    arena_fini(&arena);
}

static uint64_t rows_before; /* of a file of columns */
static int decode_rows(const char *path, uint64_t offset, uint64_t length, uint64_t size,
                       uint64_t compression, uint64_t header, uint64_t csv, uint64_t json,
                       struct glint_slice pointers)
{
    struct packer p = {.failed = false};
    struct arena arena = {NULL, NULL, 0};
    struct split got;
    pack_array(&p, 1);
    pack_array(&p, 20);
    pack_text(&p, path);
    pack_text(&p, NULL);
    pack_u64(&p, offset);
    pack_u64(&p, length);
    pack_u64(&p, size);
    pack_i64(&p, 0);
    pack_u64(&p, compression);
    pack_u64(&p, header);
    pack_u64(&p, csv);
    pack_u64(&p, json);
    pack_bytes(&p, pointers);
    pack_u64(&p, 0);
    pack_u64(&p, 0);
    pack_u64(&p, 0);
    pack_text(&p, NULL);
    pack_array(&p, 0);
    pack_bytes(&p, (struct glint_slice){(const uint8_t *)"", 0});
    pack_u64(&p, 0);
    pack_array(&p, 0);
    pack_u64(&p, rows_before);
    error = (struct glint_error){.code = GLINT_OK};
    const int r = split_decode((struct glint_slice){p.out.data, p.out.size}, &arena, &got, &error);
    packer_fini(&p);
    arena_fini(&arena);
    return r;
}

static int decode_piece(const char *path, uint64_t offset, uint64_t length, uint64_t size,
                        uint64_t compression, uint64_t header)
{
    const struct glint_slice none = {NULL, 0};
    return decode_rows(path, offset, length, size, compression, header, 0, 0, none);
}

static int decode_json(uint64_t header, uint64_t csv, uint64_t json, const char *pointers,
                       uint64_t size)
{
    const struct glint_slice bytes = {(const uint8_t *)pointers, size};
    return decode_rows("a", 0, 10, 10, 0, header, csv, json, bytes);
}

Test(split_wire, malformed_json_is_rejected)
{
    cr_expect_eq(decode_json(0, 0, 1, "", 0), 0);
    cr_expect_eq(decode_json(0, 0, 1, "/a", 3), 0);
    cr_expect_eq(decode_json(0, 0, 1, "/a", 2), GLINT_E_PROTOCOL, "without an end");
    cr_expect_eq(decode_json(0, 0, 1, "a", 2), GLINT_E_PROTOCOL, "no pointer");
    cr_expect_eq(decode_json(0, 0, 0, "/a", 3), GLINT_E_PROTOCOL, "not JSON");
    cr_expect_eq(decode_json(0, ',', 1, "/a", 3), GLINT_E_PROTOCOL, "CSV and JSON");
    cr_expect_eq(decode_json(1, 0, 1, "/a", 3), GLINT_E_PROTOCOL, "with a header");
    cr_expect_eq(decode_json(0, 0, 2, "/a", 3), GLINT_E_PROTOCOL);
    cr_expect_eq(decode_json(4, ',', 0, "", 0), 0, "records of CSV");
    cr_expect_eq(decode_json(4, CSV_ANY, 0, "", 0), 0);
    cr_expect_eq(decode_json(0, CSV_ANY, 0, "", 0), GLINT_E_PROTOCOL, "rows with any delimiter");
    cr_expect_eq(decode_json(4, 0, 0, "", 0), GLINT_E_PROTOCOL, "records of no CSV");
}

Test(split_wire, malformed_split_is_rejected)
{
    rows_before = 1;
    cr_expect_eq(decode_piece("a", 0, 10, 10, 0, 0), GLINT_E_PROTOCOL);
    rows_before = 0;
    cr_expect_eq(decode_piece("a", 0, 10, 10, 0, 0), 0);
    cr_expect_eq(decode_piece("a", 0, 11, 10, 0, 0), GLINT_E_PROTOCOL, "past the end");
    cr_expect_eq(decode_piece("a", 11, 1, 10, 0, 0), GLINT_E_PROTOCOL);
    cr_expect_eq(decode_piece("a", 0, 0, 10, 0, 0), GLINT_E_PROTOCOL, "empty");
    cr_expect_eq(decode_piece("a", 0, SPLIT_TO_END, 10, 0, 0), 0, "a whole file");
    cr_expect_eq(decode_piece("a", 0, SPLIT_TO_END, 0, 0, 0), 0, "that is empty");
    cr_expect_eq(decode_piece("a", 1, SPLIT_TO_END, 10, 0, 0), GLINT_E_PROTOCOL);
    cr_expect_eq(decode_piece("a", 0, SPLIT_TO_END, 10, 1, 0), 0);
    cr_expect_eq(decode_piece("a", 5, UINT64_MAX - 3, 10, 1, 0), GLINT_E_PROTOCOL, "wraps around");
    cr_expect_eq(decode_piece("a", 0, 10, 10, 0, 1), 0);
    cr_expect_eq(decode_piece("a", 1, 9, 10, 0, 1), GLINT_E_PROTOCOL, "a header after the start");
    cr_expect_eq(decode_piece("a", 0, 10, 10, 6, 0), GLINT_E_PROTOCOL);
    cr_expect_eq(decode_piece("a", 0, 10, 10, 0, 2), 0);
    cr_expect_eq(decode_piece("a", 0, 10, 10, 0, 4), GLINT_E_PROTOCOL);
    cr_expect_eq(decode_piece("", 0, 10, 10, 0, 0), GLINT_E_PROTOCOL);
    cr_expect_eq(decode_piece(NULL, 0, 10, 10, 0, 0), GLINT_E_PROTOCOL);
}
