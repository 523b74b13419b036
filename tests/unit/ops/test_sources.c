/* keyValueTextFile, nLineTextFile and parallelize, compared with lines split by plain loops. */
#include "tests/unit/ops/harness.h"

#include <criterion/criterion.h>
#include <stdio.h>

TestSuite(sources, .init = scratch_open, .fini = scratch_close);

/* Lines with any number of separators, empty lines, and one that does not fit into a batch. */
static struct buffer lines_make(uint32_t count, bool long_line)
{
    struct buffer file = {NULL, 0, 0};
    uint64_t seed = 11;
    cr_assert(buffer_reserve(&file, 1));
    for (uint32_t i = 0; i < count; i++) {
        const uint64_t size = test_next(&seed) % 30;
        for (uint64_t n = 0; n < size; n++)
            cr_assert(buffer_append(&file, &"abc\t,\xff"[test_next(&seed) % 6], 1));
        if (long_line && i == count / 2)
            for (int n = 0; n < 600000; n++) cr_assert(buffer_append(&file, "\tx", 2));
        cr_assert(buffer_append(&file, "\n", 1));
    }
    return file;
}

/* ---- keyValueTextFile */

struct plan {
    char separator;
    uint64_t lines;
    char path[2 * PATH_BYTES];
};

static struct glint_rdd *make_key_value(struct glint *g, void *arg)
{
    const struct plan *p = arg;
    return glint_key_value_text_file(g, p->path, p->separator);
}

static struct glint_rdd *make_n_line(struct glint *g, void *arg)
{
    const struct plan *p = arg;
    return glint_n_line_text_file(g, p->path, p->lines);
}

static struct table pairs_by_hand(const struct buffer *file, char separator)
{
    struct table t = {.schema = {GLINT_TEXT, GLINT_TEXT}};
    uint64_t start = 0, cut = UINT64_MAX;
    for (uint64_t i = 0; i < file->size; i++) {
        if (file->data[i] == (uint8_t)separator && cut == UINT64_MAX) cut = i;
        if (file->data[i] != '\n') continue;
        const uint64_t key = cut == UINT64_MAX ? i : cut;
        const uint64_t value = cut == UINT64_MAX ? i : cut + 1;
        table_add(&t, bytes(file->data + start, key - start), bytes(file->data + value, i - value));
        start = i + 1;
        cut = UINT64_MAX;
    }
    return t;
}

Test(sources, key_value_line_is_cut_at_first_separator)
{
    static const char separators[] = {'\t', ',', '\xff', 'z', '\0'};
    static const uint64_t split_bytes[] = {0, 1000, 100000};
    struct buffer file = lines_make(20000, true);
    struct plan p = {.separator = 0};
    scratch_write("lines", file.data, file.size);
    scratch_path("lines", p.path);
    for (int i = 0; i < 5; i++) {
        p.separator = separators[i];
        struct table expected = pairs_by_hand(&file, p.separator);
        for (int s = 0; s < 3; s++) {
            const struct fixture base = {.split_bytes = split_bytes[s]};
            plan_expect(make_key_value, &p, &base, &expected);
        }
        table_free(&expected);
    }
    buffer_fini(&file);
}

/* ---- nLineTextFile */

/* Two files, whose last partitions are mostly shorter. */
static void expect_n_lines(uint64_t lines, uint64_t split_bytes)
{
    struct plan p = {.lines = lines};
    struct table expected = {.schema = {GLINT_NONE, GLINT_TEXT}};
    char second[PATH_BYTES];
    uint64_t partitions = 0;
    static const uint64_t counts[] = {1000, 337};
    for (int f = 0; f < 2; f++) {
        struct buffer file = {NULL, 0, 0};
        char line[32];
        for (uint64_t i = 0; i < counts[f]; i++) {
            const int size = snprintf(line, sizeof line, "%d:%llu", f, (unsigned long long)i);
            cr_assert(buffer_append(&file, line, (uint64_t)size) && buffer_append(&file, "\n", 1));
            table_add(&expected, none(), text(line));
        }
        scratch_write(f == 0 ? "a" : "b", file.data, file.size);
        partitions += (counts[f] + lines - 1) / lines;
        buffer_fini(&file);
    }
    scratch_path("a", p.path);
    const size_t n = strlen(p.path);
    snprintf(p.path + n, sizeof p.path - n, ",%s", scratch_path("b", second));
    const struct fixture base = {.split_bytes = split_bytes};
    plan_expect(make_n_line, &p, &base, &expected);
    struct glint *g = fixture_open(&fixtures[1]);
    cr_assert_eq(glint_partitions(make_n_line(g, &p)), partitions);
    fixture_close(g, GLINT_OK);
    table_free(&expected);
}

Test(sources, n_line_partitions_contain_all_lines)
{
    static const uint64_t lines[] = {1, 7, 100, 337, 999, 1000, 1001, 5000000};
    for (int i = 0; i < 8; i++) expect_n_lines(lines[i], i % 2 == 0 ? 0 : 10);
}

/* Each partition has exactly its own lines. */
static struct glint_rdd *make_n_line_indexed(struct glint *g, void *arg)
{
    return glint_map_partitions_with_index(make_n_line(g, arg), fn("test.with_index"), NULL);
}

Test(sources, n_line_partition_has_n_lines)
{
    struct plan p = {.lines = 2};
    struct table expected = {.schema = {GLINT_I64, GLINT_TEXT}};
    scratch_write("file", "a\nb\nc\nd\ne", 9);
    scratch_path("file", p.path);
    for (int i = 0; i < 5; i++) {
        const char letter[] = {(char)('a' + i), '\0'};
        table_add(&expected, number(i / 2), text(letter));
        if (i % 2 == 1 || i == 4) table_add(&expected, number(i / 2), text("end"));
    }
    plan_expect(make_n_line_indexed, &p, NULL, &expected);
    table_free(&expected);
}

Test(sources, empty_file_is_accepted_and_missing_file_fails)
{
    struct plan p = {.separator = ',', .lines = 3};
    struct table pairs = {.schema = {GLINT_TEXT, GLINT_TEXT}};
    struct table lines = {.schema = {GLINT_NONE, GLINT_TEXT}};
    scratch_write("empty", "", 0);
    scratch_path("empty", p.path);
    plan_expect(make_key_value, &p, NULL, &pairs);
    plan_expect(make_n_line, &p, NULL, &lines);
    p.lines = 0;
    plan_expect_error(make_n_line, &p, NULL, GLINT_E_BAD_VALUE, "nLineTextFile");
    p.lines = 1;
    scratch_path("missing", p.path);
    plan_expect_error(make_key_value, &p, NULL, GLINT_E_INPUT_NOT_FOUND, "missing");
    plan_expect_error(make_n_line, &p, NULL, GLINT_E_INPUT_NOT_FOUND, "missing");
}

/* ---- Headers */

static struct glint_rdd *make_headed(struct glint *g, void *arg)
{
    return glint_with_header(glint_text_file(g, arg));
}

static struct glint_rdd *make_headed_pairs(struct glint *g, void *arg)
{
    return glint_with_header(glint_key_value_text_file(g, arg, '='));
}

static struct glint_rdd *make_headed_n_line(struct glint *g, void *arg)
{
    struct glint_rdd *lines = glint_with_header(glint_n_line_text_file(g, arg, 2));
    return glint_map_partitions_with_index(lines, fn("test.with_index"), NULL);
}

/* Three files, one of which has only a header; rows may look like headers. */
Test(sources, headers_of_all_files_are_dropped)
{
    static const char *const files[] = {"h=v\na=1\nh=v\nb=2\nc=3", "h=v", "h=v\nd=4\n"};
    static const char *const rows[] = {"a=1", "h=v", "b=2", "c=3", "d=4"};
    static const uint64_t split_bytes[] = {0, 1, 2, 3, 5, 8, 13, 100};
    struct table lines = {.schema = {GLINT_NONE, GLINT_TEXT}};
    struct table pairs = {.schema = {GLINT_TEXT, GLINT_TEXT}};
    struct table indexed = {.schema = {GLINT_I64, GLINT_TEXT}};
    static const int64_t where[] = {0, 0, 1, 1, 3};
    char paths[4 * PATH_BYTES] = "", path[PATH_BYTES];
    for (int i = 0; i < 3; i++) {
        const char name[] = {(char)('x' + i), '\0'};
        scratch_write(name, files[i], strlen(files[i]));
        snprintf(paths + strlen(paths), sizeof paths - strlen(paths), "%s%s", i > 0 ? "," : "",
                 scratch_path(name, path));
    }
    for (int i = 0; i < 5; i++) {
        table_add(&lines, none(), text(rows[i]));
        table_add(&pairs, bytes(rows[i], 1), text(rows[i] + 2));
    }
    for (int i = 0, p = 0; p < 4; p++) {
        for (; i < 5 && where[i] == p; i++) table_add(&indexed, number(p), text(rows[i]));
        table_add(&indexed, number(p), text("end"));
    }
    for (size_t i = 0; i < sizeof split_bytes / sizeof *split_bytes; i++) {
        const struct fixture base = {.split_bytes = split_bytes[i]};
        plan_expect(make_headed, paths, &base, &lines);
        plan_expect(make_headed_pairs, paths, &base, &pairs);
        plan_expect(make_headed_n_line, paths, &base, &indexed);
    }
    table_free(&lines);
    table_free(&pairs);
    table_free(&indexed);
}

static struct glint_rdd *make_headed_too_late(struct glint *g, void *arg)
{
    struct glint_rdd *lines = glint_text_file(g, arg);
    cr_expect_gt(glint_partitions(lines), 0);
    return glint_with_header(lines);
}

static struct glint_rdd *make_headed_map(struct glint *g, void *arg)
{
    return glint_with_header(
        glint_map_partitions_with_index(glint_text_file(g, arg), fn("test.with_index"), NULL));
}

static struct glint_rdd *make_headed_msgpack(struct glint *g, void *arg)
{
    return glint_with_header(
        glint_msgpack_file(g, arg, (struct glint_schema){GLINT_NONE, GLINT_I64}));
}

Test(sources, header_needs_a_text_source)
{
    char path[PATH_BYTES];
    scratch_write("file", "\x01", 1);
    scratch_path("file", path);
    plan_expect_error(make_headed_too_late, path, NULL, GLINT_E_PLAN_ARGUMENT, "textFile");
    plan_expect_error(make_headed_map, path, NULL, GLINT_E_PLAN_ARGUMENT, "mapPartitions");
    plan_expect_error(make_headed_msgpack, path, NULL, GLINT_E_PLAN_ARGUMENT, "msgpackFile");
}

/* ---- Lines of JSON */

static struct glint_rdd *make_json(struct glint *g, void *arg)
{
    const struct glint_slice paths[] = {{(const uint8_t *)"a.b", 3}, {(const uint8_t *)"/c", 2}};
    return glint_with_json_lines(glint_text_file(g, arg), paths, 2);
}

static struct glint_rdd *make_json_lines(struct glint *g, void *arg)
{
    return glint_with_json_lines(make_json(g, arg), NULL, 0);
}

static struct glint_rdd *make_json_pairs(struct glint *g, void *arg)
{
    return glint_with_json_lines(glint_key_value_text_file(g, arg, ':'), NULL, 0);
}

/* Any cuts give the same rows; a function gets the line and the values. */
Test(sources, lines_of_json_have_values)
{
    static const char file[] = "{\"c\":1.50,\"a\":{\"b\":\"\\u0041\"}}\n\n{\"a\":{\"b\":null},"
                               "\"c\":true}\r\n {\"a\":{\"b\":[],\"b\":0},\"c\":\"\"}";
    static const char *const lines[] = {"{\"c\":1.50,\"a\":{\"b\":\"\\u0041\"}}",
                                        "{\"a\":{\"b\":null},\"c\":true}",
                                        " {\"a\":{\"b\":[],\"b\":0},\"c\":\"\"}"};
    static const char *const values[] = {"\x1f"
                                         "A\x1f"
                                         "1.50",
                                         "\x1f\x1ftrue",
                                         "\x1f"
                                         "0\x1f"};
    struct table rows = {.schema = {GLINT_NONE, GLINT_TEXT}};
    struct table whole = {.schema = {GLINT_NONE, GLINT_TEXT}};
    struct table pairs = {.schema = {GLINT_TEXT, GLINT_TEXT}};
    char path[PATH_BYTES], row[100];
    scratch_write("json", file, sizeof file - 1);
    scratch_path("json", path);
    for (int i = 0; i < 3; i++) {
        snprintf(row, sizeof row, "\x1e%s%s", lines[i], values[i]);
        table_add(&rows, none(), text(row));
        table_add(&whole, none(), text(lines[i]));
        const char *colon = strchr(lines[i], ':');
        table_add(&pairs, bytes(lines[i], (size_t)(colon - lines[i])), text(colon + 1));
    }
    for (uint64_t split_bytes = 1; split_bytes < 100; split_bytes = 2 * split_bytes + 1) {
        const struct fixture base = {.split_bytes = split_bytes};
        plan_expect(make_json, path, &base, &rows);
        plan_expect(make_json_lines, path, &base, &whole);
        plan_expect(make_json_pairs, path, &base, &pairs);
    }
    table_free(&rows);
    table_free(&whole);
    table_free(&pairs);
}

static struct glint_rdd *make_json_without_path(struct glint *g, void *arg)
{
    return glint_with_json_lines(glint_text_file(g, arg),
                                 &(const struct glint_slice){(const uint8_t *)"a..b", 4}, 1);
}

static struct glint_rdd *make_json_of_many_paths(struct glint *g, void *arg)
{
    struct glint_slice paths[65];
    for (int i = 0; i < 65; i++) paths[i] = (struct glint_slice){(const uint8_t *)"a", 1};
    return glint_with_json_lines(glint_text_file(g, arg), paths, 65);
}

static struct glint_rdd *make_json_and_csv(struct glint *g, void *arg)
{
    return glint_with_csv(glint_with_json_lines(glint_text_file(g, arg), NULL, 0), ',');
}

static struct glint_rdd *make_csv_and_json(struct glint *g, void *arg)
{
    return glint_with_json_lines(glint_with_csv(glint_text_file(g, arg), ','), NULL, 0);
}

static struct glint_rdd *make_json_with_header(struct glint *g, void *arg)
{
    return glint_with_header(glint_with_json_lines(glint_text_file(g, arg), NULL, 0));
}

static struct glint_rdd *make_json_too_late(struct glint *g, void *arg)
{
    struct glint_rdd *lines = glint_text_file(g, arg);
    cr_expect_gt(glint_partitions(lines), 0);
    return glint_with_json_lines(lines, NULL, 0);
}

Test(sources, json_needs_paths_and_lines)
{
    char path[PATH_BYTES];
    scratch_write("file", "{}\n", 3);
    scratch_path("file", path);
    plan_expect_error(make_json, path, NULL, GLINT_E_BAD_ROW, "no value at /a/b");
    plan_expect_error(make_json_without_path, path, NULL, GLINT_E_BAD_VALUE, "a name is empty");
    plan_expect_error(make_json_of_many_paths, path, NULL, GLINT_E_PLAN_LIMIT, "64");
    plan_expect_error(make_json_and_csv, path, NULL, GLINT_E_PLAN_ARGUMENT, "CSV or JSON");
    plan_expect_error(make_csv_and_json, path, NULL, GLINT_E_PLAN_ARGUMENT, "no CSV");
    plan_expect_error(make_json_with_header, path, NULL, GLINT_E_PLAN_ARGUMENT, "no header");
    plan_expect_error(make_json_too_late, path, NULL, GLINT_E_PLAN_ARGUMENT, "withJsonLines");
}

Test(sources, first_line_is_that_of_the_first_nonempty_file)
{
    char path[3 * PATH_BYTES], second[PATH_BYTES];
    scratch_write("empty", "", 0);
    scratch_write("file", "id,name\nrow", 11);
    scratch_path("empty", path);
    const size_t n = strlen(path);
    struct glint *g = fixture_open(&fixtures[0]);
    cr_expect_eq(glint_first_line(glint_text_file(g, path)).size, 0);
    snprintf(path + n, sizeof path - n, ",%s", scratch_path("file", second));
    struct glint_rdd *lines = glint_text_file(g, path);
    const struct glint_slice line = glint_first_line(lines);
    cr_expect(line.size == 7 && memcmp(line.data, "id,name", 7) == 0);
    scratch_remove("file");
    scratch_write("file", "x", 1);
    cr_expect_eq(glint_first_line(glint_text_file(g, path)).size, 1);
    scratch_remove("file");
    struct glint_rdd *other = glint_map_partitions_with_index(lines, fn("test.with_index"), NULL);
    cr_expect_eq(glint_first_line(other).size, 0);
    cr_expect_eq(glint_first_line(NULL).size, 0);
    cr_expect_eq(glint_error(g)->code, GLINT_OK);
    cr_expect_eq(glint_first_line(lines).size, 0, "the file is gone");
    fixture_close(g, GLINT_E_INPUT_NOT_FOUND);
}

/* ---- parallelize */

struct parallel {
    struct table table;
    uint32_t partitions;
};

static struct glint_rdd *make_parallel(struct glint *g, void *arg)
{
    const struct parallel *p = arg;
    return glint_parallelize(g, p->table.schema, p->table.rows, p->table.count, p->partitions);
}

static struct glint_rdd *make_parallel_indexed(struct glint *g, void *arg)
{
    return glint_map_partitions_with_index(make_parallel(g, arg), fn("test.with_index"), NULL);
}

Test(sources, parallelize_keeps_rows_and_order)
{
    static const uint32_t partitions[] = {0, 1, 2, 3, 10, 5000};
    static char large[300000];
    memset(large, 'x', sizeof large);
    for (int i = 0; i < 6; i++) {
        struct parallel p = {.table = {.schema = {GLINT_F64, GLINT_BYTES}},
                             .partitions = partitions[i]};
        for (int row = 0; row < 3000; row++)
            table_add(&p.table, real(row / 8.0),
                      bytes(large, row == 77 ? 300000 : (uint64_t)row % 50));
        plan_expect(make_parallel, &p, NULL, &p.table);
        table_free(&p.table);
    }
}

Test(sources, parallelize_splits_rows_evenly)
{
    struct parallel p = {.table = {.schema = {GLINT_NONE, GLINT_TEXT}}, .partitions = 4};
    struct table expected = {.schema = {GLINT_I64, GLINT_TEXT}};
    static const int64_t where[] = {0, 0, 1, 1, 1, 2, 2, 3, 3, 3};
    for (int i = 0; i < 10; i++) {
        const char letter[] = {(char)('a' + i), '\0'};
        table_add(&p.table, none(), text(letter));
        table_add(&expected, number(where[i]), text(letter));
        if (i == 9 || where[i + 1] != where[i]) table_add(&expected, number(where[i]), text("end"));
    }
    plan_expect(make_parallel_indexed, &p, NULL, &expected);
    table_free(&expected);
    table_free(&p.table);
}

Test(sources, parallelize_accepts_no_rows_and_rejects_misuse)
{
    struct parallel p = {.table = {.schema = {GLINT_I64, GLINT_NONE}}, .partitions = 3};
    plan_expect(make_parallel, &p, NULL, &p.table);
    p.partitions = PARTITIONS_MAX + 1;
    plan_expect_error(make_parallel, &p, NULL, GLINT_E_PLAN_LIMIT, "partitions");
    p.partitions = 1;
    p.table.schema = (struct glint_schema){GLINT_NONE, GLINT_NONE};
    plan_expect_error(make_parallel, &p, NULL, GLINT_E_PLAN_TYPE, "parallelize");
    p.table.schema = (struct glint_schema){GLINT_ANY, GLINT_I64};
    plan_expect_error(make_parallel, &p, NULL, GLINT_E_PLAN_TYPE, "parallelize");
}
