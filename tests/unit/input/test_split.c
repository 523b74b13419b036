/* Splits: how input is cut by bytes, and that splits by lines have N lines each. */
#include "engine/input/column_file.h"
#include "engine/input/split.h"
#include "tests/support/compress.h"
#include "tests/support/memory_env.h"
#include "tests/support/naive_lines.h"
#include "tests/support/test_task.h"

#include <criterion/criterion.h>

static struct splits splits;
static struct glint_error error;

static void make_splits(struct input_file *files, uint64_t count, uint64_t split_bytes)
{
    struct input_list list = {.files = files, .count = count};
    for (uint64_t i = 0; i < count; i++) list.bytes += files[i].size;
    splits_fini(&splits);
    error = (struct glint_error){.code = GLINT_OK};
    splits_make_by_bytes(NULL, &list, split_bytes, &splits, &error);
}

static uint64_t bytes_of(const struct split *split)
{
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < split->count; i++) bytes += split->pieces[i].length;
    return bytes;
}

Test(split, ranges_cover_file_evenly)
{
    static const uint64_t split_sizes[] = {1, 2, 7, 10, 64, 100, 1000, 4096};
    for (uint64_t size = 1; size < 3000; size += 1 + size / 9) {
        for (unsigned s = 0; s < sizeof split_sizes / sizeof *split_sizes; s++) {
            struct input_file file = {.path = "a", .size = size, .mtime_ns = 5};
            make_splits(&file, 1, split_sizes[s]);
            uint64_t at = 0, least = size, most = 0;
            for (uint32_t i = 0; i < splits.count; i++) {
                const struct split_piece *p = splits.items[i].pieces;
                cr_assert(splits.items[i].count == 1 && p->offset == at && p->file_size == size);
                at += p->length;
                if (p->length < least) least = p->length;
                if (p->length > most) most = p->length;
            }
            cr_assert_eq(at, size);
            cr_assert_leq(most - least, 1);
            cr_assert_leq(10 * most, 11 * split_sizes[s]);
            cr_assert(splits.count == 1 || 2 * most >= split_sizes[s], "no needless split");
        }
    }
    splits_fini(&splits);
}

Test(split, default_split_size_follows_input_size)
{
    struct input_file file = {.path = "a", .size = 100};
    make_splits(&file, 1, 0);
    cr_expect_eq(splits.count, 1);
    file.size = 10 * MIB;
    make_splits(&file, 1, 0);
    cr_expect_eq(splits.count, 10);
    file.size = 320 * MIB;
    make_splits(&file, 1, 0);
    cr_expect_eq(splits.count, SPLIT_TARGET_COUNT);
    file.size = 10 * GIB;
    make_splits(&file, 1, 0);
    cr_expect_eq(splits.count, 10 * GIB / SPLIT_BYTES_MAX);
    file.size = UINT64_MAX / 4;
    make_splits(&file, 1, 0);
    cr_expect_eq(error.code, GLINT_E_PLAN_LIMIT);
    splits_fini(&splits);
}

Test(split, only_the_first_range_has_a_header)
{
    struct input_file files[] = {{.path = "a", .size = 100},
                                 {.path = "b.gz", .size = 7, .compression = COMPRESSION_GZIP}};
    const struct input_list list = {.files = files, .count = 2, .bytes = 107, .header = true};
    cr_assert_eq(splits_make_by_bytes(NULL, &list, 30, &splits, &error), 0);
    uint32_t headers = 0, pieces_seen = 0;
    for (uint32_t i = 0; i < splits.count; i++)
        for (uint32_t n = 0; n < splits.items[i].count; n++, pieces_seen++) {
            const struct split_piece *p = &splits.items[i].pieces[n];
            cr_expect_eq(p->header, p->offset == 0);
            headers += p->header;
        }
    cr_expect(headers == 2 && pieces_seen > 3);
    splits_fini(&splits);
}

Test(split, small_files_share_a_split)
{
    enum { FILES = 10000 };
    struct input_file *files = calloc(FILES, sizeof *files);
    for (unsigned i = 0; i < FILES; i++)
        files[i] = (struct input_file){.path = "a", .size = i % 3 == 0 ? 0 : 10, .mtime_ns = i};
    make_splits(files, FILES, 0);
    cr_assert_eq(splits.count, 2); /* 6,666 files are not empty, SPLIT_FILES_MAX in one split */
    cr_expect_eq(splits.items[0].count, SPLIT_FILES_MAX);
    cr_expect_eq(splits.items[0].count + splits.items[1].count, FILES - (FILES + 2) / 3);
    make_splits(files, FILES, 100);
    int64_t last = -1;
    for (uint32_t i = 0; i < splits.count; i++) {
        cr_assert_leq(bytes_of(&splits.items[i]), 100);
        for (uint32_t k = 0; k < splits.items[i].count; k++) {
            cr_assert_gt(splits.items[i].pieces[k].mtime_ns, last, "in the order of the list");
            last = splits.items[i].pieces[k].mtime_ns;
        }
    }
    cr_expect_eq(splits.count, 667);
    for (unsigned i = 0; i < FILES; i++) files[i].size = 0;
    make_splits(files, FILES, 0);
    cr_expect_eq(splits.count, 0);
    make_splits(files, 0, 0);
    cr_expect_eq(splits.count, 0);
    files[1].compression = COMPRESSION_GZIP; /* no content, which its task reports */
    make_splits(files, 2, 0);
    cr_expect(splits.count == 1 && splits.items[0].count == 1 &&
              splits.items[0].pieces[0].length == SPLIT_TO_END);
    free(files);
    splits_fini(&splits);
}

/* Row groups of `files` files, `groups` in each: 10 rows, and bytes of 3 columns decoded. */
enum { GROUPS = 20 };
static void split_groups(uint32_t files, uint64_t memory, uint32_t needed, uint64_t split_bytes)
{
    static struct input_file list_files[4];
    static struct format_piece pieces[4 * GROUPS];
    static uint32_t starts[5];
    static const struct row_column columns[] = {
        {.field = 0, .name = "a"}, {.field = 1, .name = "b"}, {.field = 2, .name = "c"}};
    const struct row_layout layout = {.fields = 3, .count = needed, .columns = columns};
    static const struct schema_column sound[3];
    const struct column_schema schema = {
        .count = 3, .columns = sound, .pieces = pieces, .starts = starts};
    const struct input_list list = {.files = list_files,
                                    .count = files,
                                    .has_columns = true,
                                    .schema = &schema,
                                    .layout = &layout};
    for (uint32_t i = 0; i < files; i++) {
        list_files[i] = (struct input_file){.path = "a", .size = 100, .format = FORMAT_PARQUET};
        starts[i + 1] = (i + 1) * GROUPS;
    }
    for (uint32_t i = 0; i < files * GROUPS; i++)
        pieces[i] = (struct format_piece){.rows = 10, .bytes = 1, .memory = memory};
    splits_fini(&splits);
    error = (struct glint_error){.code = GLINT_OK};
    cr_assert_eq(splits_make_by_bytes(NULL, &list, split_bytes, &splits, &error), 0);
}

static void expect_groups(uint32_t files)
{
    uint64_t next = 0;
    for (uint32_t i = 0; i < splits.count; i++)
        for (uint32_t k = 0; k < splits.items[i].count; k++) {
            const struct split_piece *piece = &splits.items[i].pieces[k];
            cr_expect_eq(piece->offset, next % GROUPS);
            cr_expect_eq(piece->rows_before, piece->offset * 10);
            next += piece->length;
            cr_expect_leq(piece->offset + piece->length, GROUPS);
        }
    cr_expect_eq(next, files * GROUPS);
}

Test(split, row_groups_are_split_by_what_their_columns_decode_to)
{
    split_groups(1, 300, 3, 3000);
    cr_assert_eq(splits.count, 2);
    cr_expect_eq(bytes_of(&splits.items[0]), 10, "not 9 and 11 row groups");
    expect_groups(1);
    split_groups(1, 300, 1, 3000);
    cr_expect_eq(splits.count, 1, "a column of three");
    split_groups(1, 300, 3, 2500);
    cr_assert_eq(splits.count, 3);
    for (unsigned i = 0; i < 3; i++) cr_expect(bytes_of(&splits.items[i]) - 6 <= 1);
    expect_groups(1);
    split_groups(1, 300, 3, 1);
    cr_expect_eq(splits.count, GROUPS);
    expect_groups(1);
    split_groups(3, 300, 3, 4500);
    cr_assert_eq(splits.count, 4);
    for (unsigned i = 0; i < 4; i++) cr_expect_eq(bytes_of(&splits.items[i]), 15);
    cr_expect_eq(splits.items[1].count, 2, "parts of two files");
    expect_groups(3);
    split_groups(2, UINT64_MAX, 3, 100);
    expect_groups(2);
    split_groups(2, 0, 0, 0);
    cr_expect_eq(splits.count, 1);
    expect_groups(2);
    splits_fini(&splits);
}

/* Frames of 100 bytes each, about `split_bytes` of them per piece; returns the pieces. */
static uint32_t split_frames(enum compression compression, const struct buffer *stored,
                             uint64_t split_bytes)
{
    struct memory_env memory;
    memory_env_init(&memory, stored->data, stored->size);
    struct input_file file = {.path = "x", .size = stored->size, .compression = compression};
    const struct input_list list = {.files = &file, .count = 1, .bytes = file.size};
    splits_fini(&splits);
    error = (struct glint_error){.code = GLINT_OK};
    cr_assert_eq(splits_make_by_bytes(&memory.env, &list, split_bytes, &splits, &error), 0);
    cr_expect_eq(memory.open_files, 0);
    return splits.count;
}

Test(split, compressed_file_is_cut_between_frames)
{
    uint8_t data[10000];
    uint64_t state = 5;
    for (unsigned i = 0; i < sizeof data; i++) data[i] = (uint8_t)test_random(&state);
    for (enum compression c = COMPRESSION_GZIP; c < COMPRESSION_COUNT; c++) {
        struct buffer stored = {NULL, 0, 0}, one = {NULL, 0, 0};
        const bool found = c == COMPRESSION_GZIP || c == COMPRESSION_ZSTD;
        compress_frames(c, data, sizeof data, 100, &stored);
        cr_expect_eq(split_frames(c, &stored, stored.size), 1);
        cr_expect_eq(split_frames(c, &stored, 1), found ? 100 : 1);
        const uint32_t count = split_frames(c, &stored, 1000);
        cr_expect(found ? count > 10 && count < 20 : count == 1, "%u", count);
        uint64_t at = 0;
        for (uint32_t i = 0; found && i < count; i++) {
            const struct split_piece *p = splits.items[i].pieces;
            cr_expect(p->frames_start == at && p->frames_end > at && p->offset == (i > 0));
            cr_expect(p->length == SPLIT_TO_END && splits.items[i].count == 1);
            at = p->frames_end;
        }
        cr_expect(!found || at == stored.size);
        compress_frame(c, data, sizeof data, &one);
        cr_expect_eq(split_frames(c, &one, 1000), 1, "one frame");
        buffer_fini(&stored);
        buffer_fini(&one);
    }
    splits_fini(&splits);
    cr_expect_eq(mem_live_blocks(), 0);
}

/* Frames are found up to the first bytes that are none; the rest is in the last piece, whose task
 * reports what is wrong. */
Test(split, scan_for_frames_stops_at_wrong_bytes)
{
    uint8_t data[1000] = {1};
    for (enum compression c = COMPRESSION_GZIP; c <= COMPRESSION_ZSTD; c++) {
        struct buffer stored = {NULL, 0, 0};
        compress_frames(c, data, sizeof data, 100, &stored);
        const uint64_t good = stored.size;
        cr_assert(buffer_append(&stored, (uint8_t[100]){0}, 100));
        cr_expect_eq(split_frames(c, &stored, 1), 11);
        cr_expect_eq(splits.items[10].pieces->frames_start, good);
        stored.size = good - 1; /* truncated */
        cr_expect_eq(split_frames(c, &stored, 1), 10);
        stored.size = good;
        const uint64_t fifth = splits.items[4].pieces->frames_start;
        stored.data[fifth] ^= 1;
        cr_expect_eq(split_frames(c, &stored, 1), 5);
        buffer_fini(&stored);
    }
    struct buffer reserved = {NULL, 0, 0}; /* a block of the reserved type */
    cr_assert(buffer_append(&reserved,
                            "\x28\xb5\x2f\xfd\x00\x58\x06\x00\x00"
                            "abcdefgh",
                            17));
    cr_expect_eq(split_frames(COMPRESSION_ZSTD, &reserved, 1), 1);
    buffer_fini(&reserved);
    splits_fini(&splits);
    cr_expect_eq(mem_live_blocks(), 0);
}

Test(split, failing_scan_for_frames_is_reported)
{
    uint8_t data[1000] = {1};
    for (enum compression c = COMPRESSION_GZIP; c <= COMPRESSION_ZSTD; c++) {
        struct buffer stored = {NULL, 0, 0};
        compress_frames(c, data, sizeof data, 500, &stored);
        struct input_file file = {.path = "x", .size = stored.size, .compression = c};
        const struct input_list list = {.files = &file, .count = 1, .bytes = file.size};
        int r = -1;
        for (uint64_t n = 1; r < 0; n++) {
            struct memory_env memory;
            memory_env_init(&memory, stored.data, stored.size);
            memory.fail_at = n;
            error = (struct glint_error){.code = GLINT_OK};
            r = splits_make_by_bytes(&memory.env, &list, 1, &splits, &error);
            cr_expect(r == 0 || r == GLINT_E_INPUT_IO, "%d", r);
            cr_expect(r < 0 || n > 3, "open and reads");
            cr_expect_eq(memory.open_files, 0);
            splits_fini(&splits);
        }
        buffer_fini(&stored);
    }
    cr_expect_eq(mem_live_blocks(), 0);
}

/* Each split except the last has `lines` lines, and together they are the lines of the file. */
static void check_lines(const char *text, uint64_t lines, bool gzip, bool header)
{
    const uint8_t *data = (const uint8_t *)text;
    const uint64_t size = strlen(text);
    struct buffer stored = {NULL, 0, 0}, wanted = {NULL, 0, 0}, got = {NULL, 0, 0};
    compress_gzip(data, size, &stored);
    struct memory_env memory;
    memory_env_init(&memory, gzip ? stored.data : data, gzip ? stored.size : size);
    struct input_file file = {.path = "x",
                              .size = memory.size,
                              .compression = gzip ? COMPRESSION_GZIP : COMPRESSION_NONE};
    const struct input_list list = {
        .files = &file, .count = 1, .bytes = file.size, .header = header};
    const struct task_options options = {.line_bytes_max = 1000};
    struct glint_task task = {.env = &memory.env, .options = &options};
    cr_assert_eq(splits_make_by_lines(&memory.env, &list, lines, &splits, &error), 0);
    for (uint32_t i = 0; i < splits.count; i++) {
        const int64_t before = task.counters.values[COUNT_ROWS_READ];
        cr_assert_eq(read_split(&task, &splits.items[i], NULL, data, &got), 0);
        const int64_t rows = task.counters.values[COUNT_ROWS_READ] - before;
        cr_assert(rows == (int64_t)lines || (i + 1 == splits.count && rows < (int64_t)lines));
        cr_assert(rows > 0 || (header && splits.count == 1));
    }
    if (gzip && splits.count > 0) { /* up to the checksum */
        const struct split *last = &splits.items[splits.count - 1];
        cr_assert_eq(last->pieces[last->count - 1].length, SPLIT_TO_END);
    }
    naive_lines(data, size, &wanted);
    if (header) line_list_drop_first(&wanted);
    cr_assert_eq(got.size, wanted.size);
    if (got.size > 0) cr_assert_arr_eq(got.data, wanted.data, got.size);
    if (!gzip) cr_assert_eq(task.counters.values[COUNT_BYTES_READ], (int64_t)size);
    splits_fini(&splits);
    buffer_fini(&stored);
    buffer_fini(&wanted);
    buffer_fini(&got);
}

Test(split, splits_have_the_given_number_of_lines)
{
    static const char *const texts[] = {"",
                                        "a",
                                        "\n",
                                        "a\nb\n",
                                        "a\r\nb\r\n\r\nc",
                                        "\n\n\n\n\n",
                                        ("\xef\xbb\xbf"
                                         "a\nb\nc\nd\ne\nf\ng")};
    for (unsigned i = 0; i < sizeof texts / sizeof *texts; i++)
        for (uint64_t lines = 1; lines <= 8; lines++) {
            for (unsigned n = 0; n < 4; n++) {
                const bool header = n / 2 == 1 && texts[i][0] != '\n'; /* not an empty one */
                check_lines(texts[i], lines, n % 2 == 1, header);
            }
        }
    char *many = malloc(400001);
    for (unsigned i = 0; i < 400000; i++) many[i] = i % 5 == 4 || i % 11 == 7 ? '\n' : 'x';
    many[400000] = '\0';
    check_lines(many, 5000, false, false);
    check_lines(many, 5000, false, true);
    check_lines(many, 9999, true, true);
    check_lines(many, 1000000, true, false);
    free(many);
    cr_expect_eq(mem_live_blocks(), 0);
}

Test(split, every_failure_while_splitting_is_reported)
{
    const char text[] = "a\nb\nc\n";
    struct input_file file = {.path = "x", .size = strlen(text)};
    const struct input_list list = {.files = &file, .count = 1, .bytes = file.size};
    for (uint64_t n = 1; n <= 6; n++) {
        struct memory_env memory;
        memory_env_init(&memory, text, strlen(text));
        memory.fail_at = n; /* open, stat, pread, stat */
        error = (struct glint_error){.code = GLINT_OK};
        const int r = splits_make_by_lines(&memory.env, &list, 1, &splits, &error);
        cr_expect_eq(r, n <= 4 ? GLINT_E_INPUT_IO : 0);
        splits_fini(&splits);
        memory.fail_at = 0;
        mem_fail_at((int64_t)n, false);
        error = (struct glint_error){.code = GLINT_OK};
        const int m = splits_make_by_lines(&memory.env, &list, 1, &splits, &error);
        mem_fail_at(0, false);
        cr_expect_eq(m, n <= 5 ? GLINT_E_NO_MEMORY : 0, "allocation %lu: %d", n, m);
        splits_fini(&splits);
        cr_expect(memory.open_files == 0 && mem_live_blocks() == 0);
    }
}
