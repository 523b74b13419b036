/* Records of CSV: what is one and what is not, that rows survive a round trip, and that files can
 * be cut anywhere. */
#include "engine/input/csv.h"
#include "engine/input/line_reader.h"
#include "engine/input/split.h"
#include "tests/support/memory_env.h"
#include "tests/support/naive_lines.h"
#include "tests/support/test_task.h"

#include <criterion/criterion.h>

static const struct glint_slice no_nulls = {NULL, 0}, nulls = {(const uint8_t *)"0\\N", 3};

static void expect_plain(const char *record, char delimiter, const char *wanted)
{
    uint8_t out[100];
    uint64_t size = 0;
    const uint64_t record_size = strlen(record);
    const char *problem =
        csv_to_plain((const uint8_t *)record, record_size, (uint8_t)delimiter, out, &size);
    cr_assert_null(problem, "%s: %s", record, problem);
    cr_expect(size == strlen(wanted) && memcmp(out, wanted, size) == 0, "%s: %.*s", record,
              (int)size, (char *)out);
}

Test(csv, records_become_plain_rows)
{
    expect_plain("", ',', "");
    expect_plain(",", ',', "\x1f");
    expect_plain("a,b", ',',
                 "a\x1f"
                 "b");
    expect_plain("a;b,c", ';',
                 "a\x1f"
                 "b,c");
    expect_plain("\"\"", ',', "");
    expect_plain("\"\",\"\"\"\"", ',', "\x1f\"");
    expect_plain("\"a,\nb\r\n\",\"c \"\"d\"\"\"", ',',
                 "a,\nb\r\n\x1f"
                 "c \"d\"");
    expect_plain(" a , b ", ',', " a \x1f b ");
    expect_plain("5\" disk,a\"b\"", ',',
                 "5\" disk\x1f"
                 "a\"b\"");
    expect_plain(" \"a\"", ',', " \"a\"");
}

static void expect_problem(const char *record, const char *wanted)
{
    uint8_t out[100];
    uint64_t size = 0;
    const char *problem = csv_to_plain((const uint8_t *)record, strlen(record), ',', out, &size);
    cr_assert_not_null(problem, "%s", record);
    cr_expect(strstr(problem, wanted) != NULL, "%s: %s", record, problem);
}

Test(csv, invalid_records_have_a_reason)
{
    expect_problem("\"", "no closing quote");
    expect_problem("a,\"b", "no closing quote");
    expect_problem("\"a\"\"", "no closing quote");
    expect_problem("\"a\"b,c", "continues after its quote");
    expect_problem("\"a\" ,c", "continues after its quote");
}

Test(csv, bytes_of_rows_are_escapes_in_fields)
{
    uint8_t out[100];
    uint64_t size = 0;
    expect_plain("\x1f", ',', "\x1d?");
    expect_plain("a\x1f,\x1e\x1d,\"\x1f\"\"\x1d\"", ',', "a\x1d?\x1f\x1d>\x1d=\x1f\x1d?\"\x1d=");
    expect_plain("\x1c\x20,\x1d?", ',', "\x1c\x20\x1f\x1d=?");
    static const char *const records[] = {"\x1f", "a,\"\x1e\"", "0123456789abcdef\x1d"};
    for (int i = 0; i < 3; i++)
        cr_expect(csv_to_row_as_is((const uint8_t *)records[i], strlen(records[i]), ',', no_nulls,
                                   out, &size) == csv_needs_escape);
}

static bool is_one_record(struct buffer record)
{
    struct csv_scan scan = csv_scan_begin(';');
    return csv_find_row_end(record.data, record.data + record.size, &scan) == NULL && !scan.open;
}

/* Texts of any bytes, around the escapes. */
static struct glint_slice random_text(uint64_t *state, uint8_t *bytes, uint64_t size_max)
{
    static const uint8_t special[] = {0x1c, 0x1d, 0x1e, 0x1f, ' ', '=',  '>',
                                      '?',  0,    '\n', '"',  ',', 0xff, 'a'};
    const uint64_t size = test_random(state) % (size_max + 1);
    const uint64_t kinds = 1 + test_random(state) % sizeof special;
    for (uint64_t i = 0; i < size; i++) bytes[i] = special[test_random(state) % kinds];
    return (struct glint_slice){bytes, size};
}

static int compare_slices(struct glint_slice a, struct glint_slice b)
{
    const uint64_t size = a.size < b.size ? a.size : b.size;
    const int r = size > 0 ? memcmp(a.data, b.data, size) : 0;
    return r != 0 ? (r > 0) - (r < 0) : (a.size > b.size) - (a.size < b.size);
}

Test(csv, escaped_texts_have_the_order_of_texts_and_come_back)
{
    enum { TEXT_MAX = 70 };
    uint64_t state = 11;
    for (unsigned round = 0; round < 20000; round++) {
        uint8_t bytes[2][TEXT_MAX], escaped[2][2 * TEXT_MAX], again[2 * TEXT_MAX];
        struct glint_slice texts[2], rows[2];
        for (int i = 0; i < 2; i++) {
            texts[i] = random_text(&state, bytes[i], round % 2 == 0 ? 3 : TEXT_MAX);
            memcpy(escaped[i], bytes[i], texts[i].size);
            rows[i] = (struct glint_slice){escaped[i], row_text_escape(escaped[i], texts[i].size)};
            cr_assert_eq(row_text_is_plain(texts[i]), rows[i].size == texts[i].size);
            cr_assert_eq(glint_field_has_escape(rows[i]), rows[i].size > texts[i].size);
            cr_assert(memchr(escaped[i], CSV_SEPARATOR, rows[i].size) == NULL &&
                      memchr(escaped[i], JSON_ROW, rows[i].size) == NULL &&
                      !(rows[i].size == 1 && escaped[i][0] == ROW_NULL));
            const uint64_t size = glint_unescape_field(rows[i], again);
            cr_assert(size == texts[i].size && (size == 0 || memcmp(again, bytes[i], size) == 0));
        }
        cr_assert_eq(compare_slices(texts[0], texts[1]), compare_slices(rows[0], rows[1]));
    }
}

Test(csv, rows_of_any_texts_and_nulls_are_the_same_after_a_round_trip)
{
    uint64_t state = 13;
    for (unsigned round = 0; round < 5000; round++) {
        uint8_t bytes[20], row[400], again[3000];
        uint64_t size = 0, again_size;
        const uint64_t fields = 1 + test_random(&state) % 6;
        struct buffer record = {NULL, 0, 0};
        for (uint64_t i = 0; i < fields; i++) {
            if (i > 0) row[size++] = CSV_SEPARATOR;
            if (test_random(&state) % 8 == 0) {
                row[size++] = ROW_NULL;
                continue;
            }
            const struct glint_slice text = random_text(&state, bytes, sizeof bytes);
            memcpy(row + size, text.data, text.size);
            size += row_text_escape(row + size, text.size);
        }
        cr_assert(csv_append_row(&record, (struct glint_slice){row, size}, ';', nulls));
        cr_assert(2 * record.size <= sizeof again && is_one_record(record));
        cr_assert_null(csv_to_row(record.data, record.size, ';', nulls, again, &again_size));
        cr_assert(again_size == size && (size == 0 || memcmp(row, again, size) == 0));
        buffer_fini(&record);
    }
}

static void expect_any(const char *text, const char *wanted)
{
    const char *problem = csv_record_problem((const uint8_t *)text, strlen(text));
    cr_expect((problem == NULL) == (wanted == NULL), "%s: %s", text, problem);
    if (problem != NULL && wanted != NULL) cr_expect_not_null(strstr(problem, wanted), "%s", text);
}

Test(csv, records_with_any_delimiter_have_problems)
{
    expect_any("", NULL);
    expect_any("a,b;c|d\te", NULL);
    expect_any("\"a,\n\";\"\"|\"b\"\"c\"", NULL);
    expect_any("a \"b\" c,d\"", NULL);
    expect_any("a,\"b", "no closing quote");
    expect_any("\"a\"\"", "no closing quote");
    expect_any("id,\"qty\n1,5\n7,\"q\"", "continues after its quote");
    expect_any("\"a\" ,c", "continues after its quote");
}

Test(csv, row_is_the_same_after_a_round_trip)
{
    uint64_t state = 5;
    for (unsigned round = 0; round < 2000; round++) {
        static const char bytes[] = "ab\",;\n\r\t \x1f\x1f";
        uint8_t row[40], again[200];
        uint64_t size = test_random(&state) % sizeof row, again_size = 0;
        struct buffer record = {NULL, 0, 0};
        for (uint64_t i = 0; i < size; i++)
            row[i] = (uint8_t)bytes[test_random(&state) % (sizeof bytes - 1)];
        cr_assert(csv_append_row(&record, (struct glint_slice){row, size}, ';', no_nulls));
        cr_assert(2 * record.size <= sizeof again && is_one_record(record));
        cr_assert_null(csv_to_plain(record.data, record.size, ';', again, &again_size));
        cr_assert(again_size == size && (size == 0 || memcmp(row, again, size) == 0));
        buffer_fini(&record);
    }
    struct buffer record = {NULL, 0, 0};
    mem_fail_at(1, false);
    cr_expect(
        !csv_append_row(&record, (struct glint_slice){(const uint8_t *)"a\"b", 3}, ',', no_nulls));
    mem_fail_at(0, false);
    buffer_fini(&record);
}

Test(csv, null_is_a_field_without_quotes)
{
    static const char record[] = "\\N,\"\\N\",,\"\",\\n,\\N";
    static const char plain[] = "\x1d\x1f\\N\x1f\x1f\x1f\\n\x1f\x1d";
    uint8_t out[80];
    uint64_t size;
    struct buffer written = {NULL, 0, 0};
    cr_assert_null(csv_to_row((const uint8_t *)record, sizeof record - 1, ',', nulls, out, &size));
    cr_assert(size == sizeof plain - 1 && memcmp(out, plain, size) == 0);
    cr_assert(csv_append_row(&written, (struct glint_slice){out, size}, ',', nulls));
    cr_expect(written.size == strlen("\\N,\"\\N\",,,\\n,\\N") &&
              memcmp(written.data, "\\N,\"\\N\",,,\\n,\\N", written.size) == 0);
    buffer_fini(&written);
    for (int i = 0; i < 4; i++) {
        const char *mark = i % 2 == 0 ? "a,\"\x1d\"" : "a,\x1d";
        cr_expect_null(csv_to_row((const uint8_t *)mark, strlen(mark), ',',
                                  i < 2 ? nulls : no_nulls, out, &size));
        cr_expect(size == 4 && memcmp(out, "a\x1f\x1d=", size) == 0);
    }
}

/* A record of at least a block, with one field that is not as it is, wherever it is. */
Test(csv, long_records_are_as_short_ones)
{
    static const struct {
        const char *field, *row;
    } fields[] = {{"plain", "plain"}, {"\\N", "\x1d"}, {"\"a,b\"", "a,b"}, {"\\n", "\\n"},
                  {"5\"", "5\""},     {"", ""},        {"\x1d", "\x1d="},  {"x\x1fy", "x\x1d?y"}};
    for (size_t f = 0; f < sizeof fields / sizeof fields[0]; f++)
        for (int before = 0; before < 50; before++)
            for (int after = 0; after < 50; after++) {
                char record[128], row[128];
                uint8_t out[256];
                uint64_t got;
                const int size = snprintf(record, sizeof record, "%.*s,%s,%.*s", before,
                                          "abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyz",
                                          fields[f].field, after,
                                          "0123456789012345678901234567890123456789012345678901");
                const char *text = fields[f].row;
                const bool escape = strlen(text) > strlen(fields[f].field);
                const int wanted = snprintf(row, sizeof row, "%.*s\x1f%s\x1f%.*s", before, record,
                                            text, after, record + size - after);
                memset(out, 'z', sizeof out);
                const char *problem =
                    csv_to_row((const uint8_t *)record, (uint64_t)size, ',', nulls, out, &got);
                cr_assert_null(problem);
                cr_assert(got == (uint64_t)wanted && memcmp(out, row, got) == 0 && out[got] == 'z',
                          "%s", record);
                uint8_t *const same = (uint8_t *)record;
                problem = csv_to_row_as_is(same, (uint64_t)size, ',', nulls, same, &got);
                cr_assert(problem == (escape ? csv_needs_escape : NULL));
                if (escape) continue;
                cr_assert(got == (uint64_t)wanted && memcmp(record, row, got) == 0);
            }
}

/* Splits records byte by byte, as Python's csv does with what is valid: the oracle. Returns true if
 * there is only one, which has a CR outside of quotes that is not its last byte. */
static bool naive_records(const uint8_t *data, uint64_t size, struct buffer *list)
{
    enum { FIELD_START, UNQUOTED, QUOTED, CLOSED } state = FIELD_START;
    uint64_t record = 0;
    bool cr = false;
    for (uint64_t i = 0; i < size; i++) {
        if (data[i] == '"' && state != UNQUOTED)
            state = state == QUOTED ? CLOSED : QUOTED;
        else if (state != QUOTED)
            state = data[i] == ',' || data[i] == '\n' ? FIELD_START : UNQUOTED;
        cr |= data[i] == '\r' && state != QUOTED && i + 1 < size;
        if (data[i] != '\n' || state != FIELD_START) continue;
        const uint64_t end = i > record && data[i - 1] == '\r' ? i - 1 : i;
        line_list_add(list, data + record, end - record);
        record = i + 1;
    }
    if (record < size) line_list_add(list, data + record, size - record);
    return record == 0 && cr && state != QUOTED;
}

static bool begins_with_record(const uint8_t *data, uint64_t size)
{
    uint8_t plain[600];
    struct csv_scan quotes = csv_scan_begin(',');
    const uint8_t *lf = csv_find_row_end(data, data + size, &quotes);
    uint64_t first = lf != NULL ? (uint64_t)(lf - data) : size;
    if (first > 0 && data[first - 1] == '\r') first--;
    return 2 * first > sizeof plain ||
           csv_to_row_as_is(data, first, ',', no_nulls, plain, &first) == NULL;
}

/* Splits of `records` each or, if that is 0, of `split_bytes`. A header that is no record fails. */
static void expect_split_records(const uint8_t *data, uint64_t size, uint64_t split_bytes,
                                 uint64_t records, bool header, uint64_t read_max)
{
    struct memory_env memory;
    memory_env_init(&memory, data, size);
    memory.read_max = read_max;
    struct input_file file = {.path = "t.csv", .size = size};
    const struct input_list list = {
        .files = &file, .count = 1, .bytes = size, .header = header, .csv = ','};
    const struct task_options options = {.line_bytes_max = LINE_BYTES_MAX_DEFAULT};
    struct glint_task task = {.env = &memory.env, .options = &options};
    struct splits splits = {.items = NULL};
    struct buffer got = {NULL, 0, 0}, wanted = {NULL, 0, 0};
    int r = records > 0
                ? splits_make_by_lines(&memory.env, &list, records, &splits, &task.error)
                : splits_make_by_bytes(&memory.env, &list, split_bytes, &splits, &task.error);
    cr_assert_eq(r, 0);
    const bool mac = naive_records(data, size, &wanted);
    const bool bad = mac || (header && !begins_with_record(data, size));
    if (bad)
        cr_assert_eq(read_split(&task, &splits.items[0], NULL, data, &got),
                     mac ? GLINT_E_INPUT_FORMAT : GLINT_E_BAD_ROW);
    for (uint32_t i = 0; !bad && i < splits.count; i++) {
        const int64_t before = task.counters.values[COUNT_ROWS_READ];
        cr_assert_eq(read_split(&task, &splits.items[i], NULL, data, &got), 0);
        const uint64_t rows = (uint64_t)(task.counters.values[COUNT_ROWS_READ] - before);
        cr_assert(records == 0 || rows == records || (i + 1 == splits.count && rows < records));
    }
    if (header && !bad) line_list_drop_first(&wanted);
    if (bad) wanted.size = 0;
    cr_assert_eq(got.size, wanted.size, "splits of %lu", split_bytes);
    if (got.size > 0) cr_assert_arr_eq(got.data, wanted.data, got.size);
    cr_assert(bad || task.counters.values[COUNT_BYTES_READ] == (int64_t)size);
    splits_fini(&splits);
    buffer_fini(&got);
    buffer_fini(&wanted);
    cr_assert_eq(memory.open_files, 0);
}

static void expect_records(const uint8_t *data, uint64_t size, uint64_t split_bytes, bool header,
                           uint64_t read_max)
{
    expect_split_records(data, size, split_bytes, 0, header, read_max);
    expect_split_records(data, size, 0, 1 + split_bytes % 9, header, read_max);
}

/* Also quotes in wrong places, and one that is never closed. */
Test(csv, any_split_size_gives_the_same_records)
{
    uint64_t state = 7;
    for (unsigned round = 0; round < 60; round++) {
        uint8_t data[300];
        const uint64_t size = test_random(&state) % sizeof data + 1;
        const uint64_t rare = 2 + round % 30;
        for (uint64_t i = 0; i < size; i++) {
            const uint64_t kind = test_random(&state) % (4 * rare);
            data[i] = kind < 4 ? '\n' : kind < 6 ? '"' : kind == 6 ? '\r' : kind < 9 ? ',' : 'x';
        }
        for (uint64_t split_bytes = 1; split_bytes < 2 * size; split_bytes += 1 + split_bytes / 3)
            expect_records(data, size, split_bytes, round % 3 == 0, round % 5);
    }
    cr_expect_eq(mem_live_blocks(), 0);
}

/* A record that is larger than a batch and has many lines; more records than a batch has rows. */
Test(csv, large_records_are_read)
{
    const uint64_t size = 5 * MIB;
    uint8_t *data = malloc(size);
    for (uint64_t i = 0; i < size; i++) data[i] = i % 50 == 49 ? '\n' : i % 3 == 0 ? ',' : 'x';
    data[100000] = data[100000 + 3 * MIB] = '"';
    expect_records(data, size, 300 * KIB, false, 0);
    expect_split_records(data, size, 0, 2000, false, 0);
    expect_records(data, size, 10 * MIB, true, 0);
    free(data);
    cr_expect_eq(mem_live_blocks(), 0);
}

Test(csv, every_failure_while_splitting_is_reported)
{
    const char text[] = "a,\"b\nc\"\nd,e\nf,g\n";
    struct input_file file = {.path = "t.csv", .size = strlen(text)};
    const struct input_list list = {.files = &file, .count = 1, .bytes = file.size, .csv = ','};
    for (uint64_t n = 1; n <= 5; n++) {
        struct memory_env memory;
        struct splits splits = {.items = NULL};
        struct glint_error error = {.code = GLINT_OK};
        memory_env_init(&memory, text, strlen(text));
        memory.fail_at = n; /* open, stat, pread, stat */
        const int r = splits_make_by_bytes(&memory.env, &list, 5, &splits, &error);
        cr_expect_eq(r, n <= 4 ? GLINT_E_INPUT_IO : 0);
        splits_fini(&splits);
        memory.fail_at = 0;
        error = (struct glint_error){.code = GLINT_OK};
        mem_fail_at((int64_t)n, false);
        const int m = splits_make_by_bytes(&memory.env, &list, 5, &splits, &error);
        mem_fail_at(0, false);
        cr_expect(m == 0 || m == GLINT_E_NO_MEMORY, "%d", m);
        cr_expect(m < 0 || n > 3);
        splits_fini(&splits);
        cr_expect(memory.open_files == 0 && mem_live_blocks() == 0);
    }
}
