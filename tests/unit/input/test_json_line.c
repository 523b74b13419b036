/* Lines of JSON: which are accepted, and what is at a path. */
#include "engine/input/json_line.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct arena arena;
static struct json_paths paths;
static struct json_value values[JSON_PATHS_MAX];

static struct glint_slice slice(const char *text)
{
    return (struct glint_slice){(const uint8_t *)text, strlen(text)};
}

static void set_paths(const char *pointers, size_t size)
{
    cr_assert(json_pointers_are_valid((struct glint_slice){(const uint8_t *)pointers, size}));
    cr_assert(
        json_paths_read((struct glint_slice){(const uint8_t *)pointers, size}, &arena, &paths));
}

static void teardown(void)
{
    arena_fini(&arena);
    cr_expect_eq(mem_live_blocks(), 0);
}

TestSuite(json_line, .fini = teardown);

/* Copies the line to a block of its own size, so that a sanitizer sees reads beyond it. */
static const char *scan(struct glint_slice line, uint64_t *at)
{
    static uint8_t *copy;
    free(copy);
    copy = malloc(line.size + 1);
    memcpy(copy, line.data, line.size);
    return json_line_scan(&paths, (struct glint_slice){copy, line.size}, values, at);
}

static void expect_value(const char *line, const char *wanted)
{
    uint8_t text[64];
    uint64_t at;
    const char *problem = scan(slice(line), &at);
    cr_assert_null(problem, "%s: %s", line, problem);
    const struct json_value *v = &values[0];
    cr_assert(v->kind == JSON_KIND_TEXT || v->kind == JSON_KIND_LITERAL, "%s: %d", line, v->kind);
    const uint64_t size = v->escaped ? json_text_decode(v->raw, text) : v->raw.size;
    const uint8_t *got = v->escaped ? text : v->raw.data;
    cr_expect(size == strlen(wanted) && memcmp(got, wanted, size) == 0, "%s: %.*s", line, (int)size,
              (const char *)got);
}

static void expect_kind(const char *line, enum json_kind kind)
{
    uint64_t at;
    const char *problem = scan(slice(line), &at);
    cr_assert_null(problem, "%s: %s", line, problem);
    cr_expect_eq(values[0].kind, kind, "%s", line);
}

Test(json_line, value_at_a_path_is_found)
{
    set_paths("/a/b", sizeof "/a/b");
    expect_value("{\"a\":{\"b\":1}}", "1");
    expect_value(" { \"x\" : [ { \"b\" : 2 } ] , \"a\" : { \"c\" : 3 , \"b\" : -0.50e+01 } } \r",
                 "-0.50e+01");
    expect_value("{\"a\":{\"b\":12345678901234567890123456789}}", "12345678901234567890123456789");
    expect_value("{\"a\":{\"b\":true}}", "true");
    expect_value("{\"a\":{\"b\":\"\"}}", "");
    expect_value("{\"a\":{\"b\":1},\"a\":{\"b\":2}}", "2");
    expect_kind("{\"a\":{\"b\":1},\"a\":{}}", JSON_KIND_MISSING);
    expect_kind("{\"a\":{\"b\":1},\"a\":2}", JSON_KIND_MISSING);
    expect_value("{\"b\":5,\"a\":{\"a\":{\"b\":6},\"b\":7,\"c\":{\"b\":8}}}", "7");
    expect_value("{\"\\u0061\":{\"\\u0062\":\"x\"}}", "x");
    expect_kind("{\"a\":{\"b\":null}}", JSON_KIND_NULL);
    expect_kind("{\"a\":{\"b\":[1]}}", JSON_KIND_CONTAINER);
    expect_kind("{\"a\":{\"b\":{}}}", JSON_KIND_CONTAINER);
    expect_kind("{\"a\":{\"c\":1}}", JSON_KIND_MISSING);
    expect_kind("{\"a\":1}", JSON_KIND_MISSING);
    expect_kind("{\"a\":[{\"b\":1}]}", JSON_KIND_MISSING);
    expect_kind("{\"a\":{\"\\u0062b\":1,\"\\n\":2}}", JSON_KIND_MISSING);
    expect_kind("{}", JSON_KIND_MISSING);
}

Test(json_line, paths_lead_through_arrays_and_names_of_any_kind)
{
    set_paths("/a/1/0\0/0\0/\0/~1", sizeof "/a/1/0\0/0\0/\0/~1");
    uint64_t at;
    cr_assert_null(
        scan(slice("{\"0\":\"zero\",\"\":\"empty\",\"/\":\"slash\",\"a\":[7,[8,9],10]}"), &at));
    cr_assert_eq(paths.count, 4);
    static const char *const wanted[] = {"8", "zero", "empty", "slash"};
    for (int i = 0; i < 4; i++)
        cr_expect(values[i].raw.size == strlen(wanted[i]) &&
                      memcmp(values[i].raw.data, wanted[i], values[i].raw.size) == 0,
                  "%d", i);
}

Test(json_line, escapes_are_decoded)
{
    set_paths("/a", sizeof "/a");
    expect_value("{\"a\":\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"}", "\"\\/\b\f\n\r\t");
    expect_value("{\"a\":\"x\\u00e9\\u20ac\\uD83D\\uDE00y\"}",
                 "x\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80y");
    expect_value("{\"a\":\"\xc3\xa9\xf0\x9f\x98\x80\"}", "\xc3\xa9\xf0\x9f\x98\x80");
    expect_value("{\"a\":\"\x7f\"}", "\x7f");
    uint8_t nul[2];
    uint64_t at;
    cr_assert_null(scan(slice("{\"a\":\"\\u0000\"}"), &at));
    cr_expect(json_text_decode(values[0].raw, nul) == 1 && nul[0] == 0);
}

static void expect_problem(const char *line, const char *wanted, uint64_t offset)
{
    uint64_t at;
    const char *problem = scan(slice(line), &at);
    cr_assert_not_null(problem, "%s", line);
    cr_expect(strstr(problem, wanted) != NULL, "%s: %s", line, problem);
    cr_expect_eq(at, offset, "%s: %lu", line, at);
}

Test(json_line, other_lines_have_a_reason_and_a_place)
{
    set_paths("/a", sizeof "/a");
    expect_problem("", "not an object", 0);
    expect_problem("  ", "not an object", 2);
    expect_problem("1", "not an object", 0);
    expect_problem("[{}]", "an array, not an object", 0);
    expect_problem("{} {}", "more text after", 3);
    expect_problem("{}}", "more text after", 2);
    expect_problem("{", "the line ends", 1);
    expect_problem("{\"a\"", "the line ends", 4);
    expect_problem("{\"a\":", "the line ends", 5);
    expect_problem("{\"a\":1", "the line ends", 6);
    expect_problem("{\"a\":1,", "the line ends", 7);
    expect_problem("{\"a\":[", "the line ends", 6);
    expect_problem("{\"a\":1,}", "a name is not a string", 7);
    expect_problem("{,}", "a name is not a string", 1);
    expect_problem("{a:1}", "a name is not a string", 1);
    expect_problem("{\"a\" 1}", "no colon", 5);
    expect_problem("{\"a\":1 \"b\":2}", "neither , nor }", 7);
    expect_problem("{\"a\":1]", "neither , nor }", 6);
    expect_problem("{\"a\":[1}", "neither , nor ]", 7);
    expect_problem("{\"a\":[1,]}", "a value is not valid", 8);
    expect_problem("{\"a\":[,1]}", "a value is not valid", 6);
    expect_problem("{\"a\":}", "a value is not valid", 5);
    expect_problem("{\"a\":tru}", "a value is not valid", 5);
    expect_problem("{\"a\":nul", "a value is not valid", 5);
    expect_problem("{\"a\":NaN}", "a value is not valid", 5);
    expect_problem("{\"a\":truex}", "neither , nor }", 9);
    static const char *const numbers[] = {"01", "-", "1.", ".5", "-x", "1e", "1e+", "1.e1", "00"};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        char line[32];
        snprintf(line, sizeof line, "{\"a\":%s}", numbers[i]);
        expect_problem(line,
                       numbers[i][0] == '.' ? "a value is not valid" : "a number is not valid", 5);
    }
    expect_problem("{\"a\":1x}", "neither , nor }", 6);
    expect_problem("{\"a\":+1}", "a value is not valid", 5);
    expect_problem("{\"a\":\"x", "no closing quote", 7);
    expect_problem("{\"a\":\"x\\\"}", "no closing quote", 10);
    expect_problem("{\"a\":\"\t\"}", "a control character", 6);
    expect_problem("{\"a\":\"\x1f\"}", "a control character", 6);
}

Test(json_line, wrong_escapes_and_bytes_are_rejected)
{
    static const char *const escapes[] = {"\\x", "\\u12", "\\u123g", "\\U0041", "\\ud80"};
    static const char *const bytes[] = {"\xff", "\xc0\x80", "\xed\xa0\x80", "\xf4\x90\x80\x80",
                                        "\xc3", "\x80"};
    char line[40];
    set_paths("/a", sizeof "/a");
    for (size_t i = 0; i < sizeof escapes / sizeof *escapes; i++) {
        snprintf(line, sizeof line, "{\"a\":\"%s\"}", escapes[i]);
        expect_problem(line, "an escape", 6);
    }
    for (size_t i = 0; i < sizeof bytes / sizeof *bytes; i++) {
        snprintf(line, sizeof line, "{\"a\":\"x%s\"}", bytes[i]);
        expect_problem(line, "not UTF-8", 7);
        snprintf(line, sizeof line, "{\"%s\":1}", bytes[i]);
        expect_problem(line, "not UTF-8", 2);
    }
}

Test(json_line, half_of_a_surrogate_pair_is_known)
{
    static const char *const halves[] = {
        "\\ud800",  "\\udc00",        "\\ud800\\u0041",        "\\ud800\\ud800",
        "\\uD83Dx", "\\ude00\\ud83d", "\\ud800\\ud83d\\ude00", "\\udbff\\n"};
    char line[80];
    set_paths("/a\0/\xed\xa0\x80", sizeof "/a\0/\xed\xa0\x80");
    for (size_t i = 0; i < sizeof halves / sizeof *halves; i++) {
        snprintf(line, sizeof line, "{\"a\":\"%s\"}", halves[i]);
        expect_kind(line, JSON_KIND_TEXT);
        cr_expect(values[0].unpaired, "%s", line);
        snprintf(line, sizeof line, "{\"b\":\"%s\",\"a\":\"x\"}", halves[i]);
        expect_value(line, "x");
        cr_expect_not(values[0].unpaired, "%s", line);
        snprintf(line, sizeof line, "{\"a\":1,\"%s\":2}", halves[i]); /* is no path's name */
        expect_value(line, "1");
        cr_expect_eq(values[1].kind, JSON_KIND_MISSING);
    }
    expect_value("{\"a\":\"\\ud83d\\ude00\"}", "\xf0\x9f\x98\x80");
    cr_expect_not(values[0].unpaired);
    expect_problem("{\"a\":\"\\ud800\\u12\"}", "an escape", 12);
}

/* Neither the stack nor memory grows with the depth of a line. */
Test(json_line, depth_has_a_limit)
{
    const size_t depth = 1000000;
    char *line = malloc(depth + 2 * JSON_DEPTH_MAX);
    uint64_t at;
    set_paths("/a/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0",
              sizeof "/a/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0");
    memcpy(line, "{\"a\":", 5);
    memset(line + 5, '[', depth);
    const struct glint_slice bomb = {(const uint8_t *)line, 5 + depth};
    const char *problem = json_line_scan(&paths, bomb, values, &at);
    cr_assert_not_null(problem);
    cr_expect(strstr(problem, "1024 levels") != NULL && at == 5 + JSON_DEPTH_MAX - 1, "%s",
              problem);
    memset(line + 5 + JSON_DEPTH_MAX - 1, ']', JSON_DEPTH_MAX - 1);
    line[5 + 2 * (JSON_DEPTH_MAX - 1)] = '}';
    const struct glint_slice deepest = {bomb.data, 6 + 2 * (JSON_DEPTH_MAX - 1)};
    problem = json_line_scan(&paths, deepest, values, &at);
    cr_assert_null(problem, "%s", problem);
    cr_expect_eq(values[0].kind, JSON_KIND_CONTAINER);
    free(line);
}

Test(json_line, blank_lines_and_lines_of_rows)
{
    cr_expect(json_line_is_blank(slice("")) && json_line_is_blank(slice(" \t\r")));
    cr_expect(!json_line_is_blank(slice(" {}")));
    struct glint_slice line = json_row_line(slice("\x1e{\"a\":1}\x1f"
                                                  "1"));
    cr_expect(line.size == 7 && memcmp(line.data, "{\"a\":1}", 7) == 0);
    line = json_row_line(slice("\x1e[]"));
    cr_expect(line.size == 2 && memcmp(line.data, "[]", 2) == 0);
    line = json_row_line(slice("a\x1f"
                               "b"));
    cr_expect_eq(line.size, 3);
    cr_expect_eq(json_row_line(slice("")).size, 0);
}
