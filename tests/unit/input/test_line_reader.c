/* With every size of splits and blocks and every SIMD variant, the lines equal those of a naive
 * splitter. */
#include "engine/batch.h"
#include "engine/input/split.h"
#include "tests/support/memory_env.h"
#include "tests/support/naive_lines.h"
#include "tests/support/test_task.h"

#include <criterion/criterion.h>
#include <stdatomic.h>

/* A file in memory, a task, and the expected lines. */
struct fixture {
    struct memory_env memory;
    struct task_options options;
    struct glint_task task;
    struct buffer wanted;
    bool header;
};

static void fixture_init(struct fixture *f, const void *data, uint64_t size)
{
    *f = (struct fixture){.options = {.line_bytes_max = LINE_BYTES_MAX_DEFAULT,
                                      .memory_bytes = MEMORY_BYTES_DEFAULT}};
    memory_env_init(&f->memory, data, size);
    naive_lines(data, size, &f->wanted);
    f->task = (struct glint_task){.env = &f->memory.env, .options = &f->options};
}

static void fixture_fini(struct fixture *f)
{
    buffer_fini(&f->wanted);
    cr_expect_eq(f->memory.open_files, 0);
    cr_expect_eq(mem_live_blocks(), 0);
}

static void make_splits(const struct fixture *f, uint64_t split_bytes, struct splits *out)
{
    struct input_file file = {.path = "text", .size = f->memory.size};
    const struct input_list list = {
        .files = &file, .count = 1, .bytes = file.size, .header = f->header};
    struct glint_error error = {.code = GLINT_OK};
    cr_assert_eq(splits_make_by_bytes(NULL, &list, split_bytes, out, &error), 0);
}

/* Reads all splits one after the other. */
static int read_all(struct fixture *f, uint64_t split_bytes, newlines_index index,
                    struct buffer *got)
{
    struct splits splits = {.items = NULL};
    make_splits(f, split_bytes, &splits);
    int r = 0;
    for (uint32_t i = 0; r == 0 && i < splits.count; i++)
        r = read_split(&f->task, &splits.items[i], index, f->memory.data, got);
    splits_fini(&splits);
    return r;
}

static void expect_same(struct fixture *f, uint64_t split_bytes, newlines_index index)
{
    struct buffer got = {NULL, 0, 0};
    const int64_t before = f->task.counters.values[COUNT_BYTES_READ];
    cr_assert_eq(read_all(f, split_bytes, index, &got), 0, "%s", f->task.error.cause);
    cr_assert_eq(got.size, f->wanted.size, "splits of %lu: %lu, not %lu", split_bytes, got.size,
                 f->wanted.size);
    if (got.size > 0) cr_assert_arr_eq(got.data, f->wanted.data, got.size);
    cr_assert_eq(f->task.counters.values[COUNT_BYTES_READ] - before, (int64_t)f->memory.size);
    buffer_fini(&got);
}

/* A header that is an empty line is an error. */
static bool begins_with_empty_line(const char *text)
{
    if (strncmp(text, "\xef\xbb\xbf", 3) == 0) text += 3;
    return text[0] == '\n' || strncmp(text, "\r\n", 2) == 0;
}

static void expect_no_header(struct fixture *f, uint64_t split_bytes, newlines_index index)
{
    struct buffer got = {NULL, 0, 0};
    f->task.error.code = GLINT_OK;
    cr_assert_eq(read_all(f, split_bytes, index, &got), GLINT_E_INPUT_FORMAT);
    cr_assert_not_null(strstr(f->task.error.cause, ":1: the first line, which is the header"));
    buffer_fini(&got);
}

Test(line_reader, any_split_size_gives_the_same_lines)
{
    static const char *const texts[] = {
        "",
        "\n",
        "\r",
        "\r\n",
        "a",
        "a\n",
        "\n\n\n",
        "a\r\nb\r\n",
        "a\r\nb\r",
        "\r\r\n\r\n",
        "a\n\nb\n\n",
        "a\nb",
        "\xef\xbb",
        "\xef\xbb\xbf",
        "\xef\xbb\xbf\n",
        "\xef\xbb\xbf\r\nx",
        "\xef\xbb\xbf"
        "abc\ndef",
        "one\xef\xbb\xbf\n\xef\xbb\xbftwo\n",
        "tt0000001\t5.7\t1234\ntt0000002\t10.0\t5\ntt019323",
        "\xff\xfe\n\x80\x81\r\n\xc3",
        "a line that is longer than sixty-four bytes, so that it spans chunks of the index\nb\r\n"
        "and one more, this one without a line feed at its end, but with a carriage return\r",
    };
    for (unsigned i = 0; i < 2 * sizeof texts / sizeof *texts; i++) {
        struct fixture f;
        fixture_init(&f, texts[i / 2], strlen(texts[i / 2]));
        f.header = i % 2 == 1;
        const bool no_header = f.header && begins_with_empty_line(texts[i / 2]);
        if (f.header) line_list_drop_first(&f.wanted);
        for (uint64_t split = 1; split <= 64; split++)
            for (int level = 0; level < NEWLINES_LEVELS; level++)
                (no_header ? expect_no_header : expect_same)(
                    &f, split, newlines_index_for_level((enum newlines_level)level));
        fixture_fini(&f);
    }
}

/* A CR LF across the end of a block, with no other CR near it. */
Test(line_reader, crlf_across_blocks_is_one_line_end)
{
    const uint64_t size = READ_BLOCK_BYTES + 1000;
    uint8_t *text = malloc(size);
    for (uint64_t at = READ_BLOCK_BYTES - 3; at < READ_BLOCK_BYTES + 3; at++) {
        memset(text, 'x', size);
        for (uint64_t i = 50; i < size; i += 100) text[i] = '\n';
        memcpy(text + at, "\r\n", 2);
        struct fixture f;
        fixture_init(&f, text, size);
        expect_same(&f, 1 << 30, NULL);
        fixture_fini(&f);
    }
    free(text);
}

Test(line_reader, nul_bytes_are_kept)
{
    struct fixture f;
    fixture_init(&f, "\0\0\n\0a\r\n\0", 8);
    for (uint64_t split = 1; split <= 9; split++) expect_same(&f, split, NULL);
    fixture_fini(&f);
}

/* Makes lines of random lengths around the sizes that matter: chunks, blocks, batches. */
static uint8_t *make_text(uint64_t size, uint64_t seed, uint64_t longest)
{
    uint8_t *text = malloc(size);
    cr_assert_not_null(text);
    uint64_t left = 0;
    for (uint64_t i = 0; i < size; i++) {
        if (left == 0) {
            const uint64_t r = test_random(&seed);
            left = 1 + r % (r % 7 == 0 ? longest : 30);
            text[i] = '\n';
            if (i > 0 && r % 5 == 0) text[i - 1] = '\r';
            continue;
        }
        text[i] = (uint8_t)('a' + i % 23);
        left--;
    }
    return text;
}

Test(line_reader, long_lines_span_blocks)
{
    static const uint64_t longest[] = {100, 70000, 600000, 3000000};
    for (unsigned i = 0; i < 4; i++) {
        const uint64_t size = 7 * MIB + 13;
        uint8_t *text = make_text(size, 11 + i, longest[i]);
        struct fixture f;
        fixture_init(&f, text, size);
        for (int level = 0; level < NEWLINES_LEVELS; level++)
            expect_same(&f, 0, newlines_index_for_level((enum newlines_level)level));
        expect_same(&f, 100000, NULL);
        expect_same(&f, 262144, NULL);
        expect_same(&f, 1 << 30, NULL);
        f.memory.read_max = 1000; /* a short read is not the end of the file */
        expect_same(&f, 1 << 30, NULL);
        fixture_fini(&f);
        free(text);
    }
}

Test(line_reader, only_newlines_are_empty_lines)
{
    const uint64_t size = 600 * KIB;
    uint8_t *text = malloc(size);
    memset(text, '\n', size);
    struct fixture f;
    fixture_init(&f, text, size);
    for (int level = 0; level < NEWLINES_LEVELS; level++)
        expect_same(&f, 0, newlines_index_for_level((enum newlines_level)level));
    cr_expect_eq(f.task.counters.values[COUNT_ROWS_READ] % (int64_t)size, 0);
    fixture_fini(&f);
    free(text);
}

Test(line_reader, huge_line_has_its_own_batch)
{
    const uint64_t size = 3 * MIB;
    uint8_t *text = malloc(size);
    memset(text, 'x', size);
    text[0] = text[size - 3] = text[size - 2] = '\n';
    struct fixture f;
    fixture_init(&f, text, size);
    struct splits splits = {.items = NULL};
    make_splits(&f, 1 << 30, &splits);
    struct line_reader l;
    struct glint_batch batch;
    bool alone = false;
    cr_assert_eq(line_reader_open(&l, &f.task, &splits.items[0]), 0);
    while (line_reader_next(&l, &batch) > 0) {
        if (batch.value.start != NULL) continue;
        cr_expect(batch.rows == 1 && batch.value.size == size - 4 && !alone);
        alone = true;
    }
    cr_expect(alone && f.task.error.code == GLINT_OK);
    line_reader_close(&l);
    splits_fini(&splits);
    expect_same(&f, 1 << 30, NULL);
    fixture_fini(&f);
    free(text);
}

static void expect_limit(const char *text, uint64_t limit, bool fits)
{
    struct fixture f;
    struct buffer got = {NULL, 0, 0};
    fixture_init(&f, text, strlen(text));
    f.options.line_bytes_max = limit;
    for (uint64_t split = 1; split <= 20; split++) {
        f.task.error.code = GLINT_OK;
        const int r = read_all(&f, split, NULL, &got);
        cr_expect_eq(r, fits ? 0 : GLINT_E_LINE_TOO_LONG, "%s, limit %lu, split %lu: %d", text,
                     limit, split, r);
        if (!fits) cr_expect_not_null(strstr(f.task.error.hint, "--max-line"));
    }
    buffer_fini(&got);
    fixture_fini(&f);
}

Test(line_reader, too_long_line_is_rejected)
{
    expect_limit("abcde\n", 5, true);
    expect_limit("abcde\r\n", 5, true);
    expect_limit("abcde", 5, true);
    expect_limit("abcde\r", 5, false);
    expect_limit("x\nabcdef\n", 5, false);
    expect_limit("x\nabcdef\r\n", 5, false);
    expect_limit("x\nabcdef", 5, false);
    expect_limit("x\nabcde\r\nyy\n", 5, true);
    expect_limit("x\nabcdef\nyy\n", 5, false);
    expect_limit("\nabcdefghijklmnopqrstuvwxyz", 5, false);
}

Test(line_reader, line_limit_applies_across_blocks)
{
    const uint64_t size = 2 * MIB;
    uint8_t *text = malloc(size);
    memset(text, 'x', size);
    memcpy(text, "ab\n", 3);
    struct fixture f;
    struct buffer got = {NULL, 0, 0};
    fixture_init(&f, text, size);
    f.options.line_bytes_max = size - 3;
    expect_same(&f, 0, NULL);
    f.options.line_bytes_max = size - 4;
    cr_expect_eq(read_all(&f, 0, NULL, &got), GLINT_E_LINE_TOO_LONG);
    cr_expect_not_null(strstr(f.task.error.cause, "text, byte 3:"), "%s", f.task.error.cause);
    f.options.line_bytes_max = 1000;
    f.task.error.code = GLINT_OK;
    f.memory.calls = 0;
    cr_expect_eq(read_all(&f, 1 << 30, NULL, &got), GLINT_E_LINE_TOO_LONG);
    cr_expect_eq(f.memory.calls, 3, "open, stat and one block: no more is read");
    buffer_fini(&got);
    fixture_fini(&f);
    free(text);
}

Test(line_reader, changed_file_is_detected)
{
    const char text[] = "one\ntwo\nthree\n";
    /* Calls 1 to 4 are open, stat, pread, stat; a change after the last stat is not detected. */
    for (uint64_t call = 1; call <= 6; call++) {
        struct fixture f;
        struct buffer got = {NULL, 0, 0};
        fixture_init(&f, text, strlen(text));
        f.memory.change_at = call;
        const int r = read_all(&f, 0, NULL, &got);
        cr_expect_eq(r, call <= 4 ? GLINT_E_INPUT_CHANGED : 0, "call %lu: %d", call, r);
        buffer_fini(&got);
        fixture_fini(&f);
    }
}

Test(line_reader, shrunk_file_is_detected)
{
    const char text[] = "one\ntwo\nthree\n";
    struct fixture f;
    struct buffer got = {NULL, 0, 0};
    fixture_init(&f, text, strlen(text));
    struct splits splits = {.items = NULL};
    make_splits(&f, 0, &splits);
    f.memory.size -= 3;
    cr_expect_eq(read_split(&f.task, &splits.items[0], NULL, f.memory.data, &got),
                 GLINT_E_INPUT_CHANGED);
    splits_fini(&splits);
    buffer_fini(&got);
    fixture_fini(&f);
}

Test(line_reader, every_failed_syscall_is_reported)
{
    const uint64_t size = 600 * KIB;
    uint8_t *text = make_text(size, 3, 1000);
    int r = GLINT_E_INPUT_IO;
    uint64_t call = 0;
    while (r != 0) {
        struct fixture f;
        struct buffer got = {NULL, 0, 0};
        fixture_init(&f, text, size);
        f.memory.fail_at = ++call;
        r = read_all(&f, 200 * KIB, NULL, &got);
        cr_assert(r == 0 ? f.memory.calls < call : r == GLINT_E_INPUT_IO, "call %lu: %d", call, r);
        cr_assert_eq(r, f.task.error.code);
        buffer_fini(&got);
        fixture_fini(&f);
    }
    cr_expect_gt(call, 9);
    free(text);
}

Test(line_reader, every_failed_allocation_is_reported)
{
    const uint64_t size = 3 * MIB; /* one line, so the buffer must grow */
    uint8_t *text = malloc(size);
    memset(text, 'x', size);
    struct fixture f;
    fixture_init(&f, text, size);
    struct splits splits = {.items = NULL};
    make_splits(&f, 1 << 30, &splits);
    int r = GLINT_E_NO_MEMORY;
    int64_t n = 0;
    for (; r != 0; n++) {
        struct line_reader l;
        struct glint_batch batch;
        f.task.error = (struct glint_error){.code = GLINT_OK};
        mem_fail_at(n + 1, false);
        r = line_reader_open(&l, &f.task, &splits.items[0]);
        while (r == 0 && (r = line_reader_next(&l, &batch)) > 0) r = 0;
        if (r == 0 && f.task.error.code == GLINT_OK) r = 0;
        line_reader_close(&l);
        mem_fail_at(0, false);
        cr_assert(r == 0 || r == GLINT_E_NO_MEMORY);
        if (r == 0) break;
    }
    cr_expect_geq(n, 5);
    splits_fini(&splits);
    fixture_fini(&f);
    free(text);
}

Test(line_reader, close_clears_only_its_own_origin)
{
    struct fixture f;
    fixture_init(&f, "a\nb\n", 4);
    struct splits splits = {.items = NULL};
    make_splits(&f, 0, &splits);
    struct line_reader l;
    struct glint_batch batch;
    const struct glint_origin other = {.path = "other"};
    cr_assert_eq(line_reader_open(&l, &f.task, &splits.items[0]), 0);
    cr_assert_eq(line_reader_next(&l, &batch), 1);
    f.task.origin = batch.origin;
    line_reader_close(&l);
    cr_expect_null(f.task.origin);
    f.task.origin = &other;
    line_reader_close(&l);
    cr_expect_eq(f.task.origin, &other);
    splits_fini(&splits);
    fixture_fini(&f);
}

Test(line_reader, cancelled_task_stops_reading)
{
    struct fixture f;
    struct buffer got = {NULL, 0, 0};
    fixture_init(&f, "a\nb\n", 4);
    atomic_bool flag = false;
    f.task.cancel_flag = &flag;
    cr_expect_eq(read_all(&f, 0, NULL, &got), 0);
    atomic_store(&flag, true);
    cr_expect_eq(read_all(&f, 0, NULL, &got), GLINT_E_INTERRUPTED);
    buffer_fini(&got);
    fixture_fini(&f);
}

Test(line_reader, early_close_counts_rows_read)
{
    const uint64_t size = MIB;
    uint8_t *text = make_text(size, 5, 40);
    struct fixture f;
    fixture_init(&f, text, size);
    struct splits splits = {.items = NULL};
    make_splits(&f, 1 << 30, &splits);
    struct line_reader l;
    struct glint_batch batch;
    cr_assert_eq(line_reader_open(&l, &f.task, &splits.items[0]), 0);
    cr_assert_eq(line_reader_next(&l, &batch), 1);
    const uint32_t rows = batch.rows;
    line_reader_close(&l);
    cr_expect_eq(f.task.counters.values[COUNT_ROWS_READ], rows);
    cr_expect_gt(f.task.counters.values[COUNT_BYTES_READ], rows);
    cr_expect_lt(f.task.counters.values[COUNT_BYTES_READ], (int64_t)(100 * KIB));
    splits_fini(&splits);
    fixture_fini(&f);
    free(text);
}

Test(line_reader, line_number_of_offset_is_found)
{
    const char text[] = "one\ntwo\n\nfour";
    struct fixture f;
    fixture_init(&f, text, strlen(text));
    struct env *env = &f.memory.env;
    const struct glint_origin text_origin = {.path = "text"};
    const struct glint_origin gzip_origin = {.path = "text", .compression = COMPRESSION_GZIP};
    cr_expect_eq(line_number_at(env, &text_origin, 0), 1);
    cr_expect_eq(line_number_at(env, &text_origin, 3), 1);
    cr_expect_eq(line_number_at(env, &text_origin, 4), 2);
    cr_expect_eq(line_number_at(env, &text_origin, 8), 3);
    cr_expect_eq(line_number_at(env, &text_origin, 9), 4);
    cr_expect_eq(line_number_at(env, &text_origin, 13), 4);
    cr_expect_eq(line_number_at(env, &text_origin, 14), -1, "past the end of the file");
    cr_expect_eq(line_number_at(env, &gzip_origin, 4), -1, "not a gzip file");
    for (uint64_t call = 1; call <= 4; call++) {
        f.memory.calls = 0;
        f.memory.fail_at = call;
        cr_expect_eq(line_number_at(env, &text_origin, 9), -1);
    }
    fixture_fini(&f);
}

static void expect_first(const char *text, uint64_t size_max, const char *wanted)
{
    struct fixture f;
    struct buffer got = {NULL, 0, 0};
    struct glint_error problem = {.code = GLINT_OK};
    bool found;
    fixture_init(&f, text, strlen(text));
    const struct split_piece file = {
        .path = "text", .length = SPLIT_TO_END, .file_size = f.memory.size};
    const int r = read_first_line(&f.memory.env, &file, size_max, &got, &found, &problem);
    cr_expect_eq(r, wanted != NULL ? 0 : GLINT_E_LINE_TOO_LONG, "%s", problem.cause);
    cr_expect_eq(found, text[0] != '\0');
    if (wanted != NULL)
        cr_expect(got.size == strlen(wanted) &&
                      (got.size == 0 || memcmp(got.data, wanted, got.size) == 0),
                  "%s: %.*s", text, (int)got.size, (const char *)got.data);
    buffer_fini(&got);
    fixture_fini(&f);
}

Test(line_reader, first_line_is_read)
{
    expect_first("id\tname\nrow", 64, "id\tname");
    expect_first("\xef\xbb\xbfid\r\nrow", 64, "id");
    expect_first("\nrow", 64, "row");
    expect_first("\r\n\n\r\nrow\n\n", 64, "row");
    expect_first("\xef\xbb\xbf\n\rrow", 64, "\rrow");
    expect_first("\n\r\n", 64, "");
    expect_first("all", 64, "all");
    expect_first("", 64, "");
    expect_first("four\r\n", 4, "four");
    expect_first("fiver\n", 4, NULL);
    static char wide[3 * 4096];
    memset(wide, 'n', sizeof wide - 1);
    expect_first(wide, sizeof wide, wide);
    struct fixture f;
    struct buffer got = {NULL, 0, 0};
    struct glint_error problem = {.code = GLINT_OK};
    bool found;
    fixture_init(&f, "row\n", 4);
    const struct split_piece file = {.path = "text", .length = SPLIT_TO_END, .file_size = 4};
    f.memory.error = -EIO;
    for (f.memory.fail_at = 1; f.memory.fail_at <= 2; f.memory.fail_at++) {
        f.memory.calls = 0;
        problem.code = GLINT_OK;
        cr_expect_eq(read_first_line(&f.memory.env, &file, 64, &got, &found, &problem),
                     GLINT_E_INPUT_IO);
    }
    buffer_fini(&got);
    fixture_fini(&f);
}
