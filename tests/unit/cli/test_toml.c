/* From TOML to plain values, and what is rejected before the parser runs. */
#include "engine/base/mem.h"
#include "engine/cli/toml_shim.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

static struct arena memory;
static struct toml_failure failure;
static struct toml_value root;

static bool read_text(const char *text)
{
    return toml_read(&memory, (const uint8_t *)text, strlen(text), &root, &failure);
}

static void fini(void)
{
    arena_fini(&memory);
}

TestSuite(toml, .fini = fini);

Test(toml, values_keep_file_order_and_position)
{
    cr_assert(read_text("z = 'text'\na = -7\nb = true\nr = 1.5\nd = 2026-11-21\n"
                        "l = ['x', 2]\n[[t]]\nk = 1\n[[t]]\n"));
    static const enum toml_kind kinds[] = {TOML_TEXT, TOML_INTEGER, TOML_BOOL, TOML_REAL,
                                           TOML_DATE, TOML_ARRAY,   TOML_ARRAY};
    cr_assert_eq(root.count, 7);
    for (uint32_t i = 0; i < root.count; i++) {
        cr_expect_eq(root.items[i].kind, kinds[i], "%s", root.items[i].key);
        cr_expect_eq(root.items[i].key_at.column, i < 6 ? 1 : 3);
        cr_expect_eq(root.items[i].key_at.line, i + 1);
    }
    cr_expect_str_eq(root.items[0].text, "text");
    cr_expect_eq(root.items[0].at.column, 5);
    cr_expect_str_eq(root.items[1].text, "-7");
    cr_expect_str_eq(root.items[2].text, "true");
    cr_expect_str_eq(root.items[3].text, "a number with a fraction");
    cr_expect_str_eq(root.items[4].text, "a date");
    cr_expect_str_eq(root.items[5].items[0].text, "x");
    cr_expect_null(root.items[5].items[0].key);
    cr_expect_eq(root.items[6].count, 2);
    cr_expect_eq(root.items[6].items[1].at.line, 9);
    cr_expect_eq(root.items[6].items[1].count, 0);
}

Test(toml, byte_order_mark_is_skipped)
{
    cr_assert(read_text("\xef\xbb\xbf"
                        "a = '\xc3\xa9'\n"));
    cr_expect_str_eq(root.items[0].text, "\xc3\xa9");
}

Test(toml, values_beyond_max_depth_are_dropped)
{
    cr_assert(read_text("a = [[[[[1]]]]]"));
    const struct toml_value *v = &root;
    for (unsigned depth = 0; depth < TOML_DEPTH_MAX; depth++) {
        cr_assert_eq(v->count, 1);
        v = &v->items[0];
    }
    cr_expect_eq(v->kind, TOML_ARRAY);
    cr_expect_eq(v->count, 0);
}

static void expect_rejected(const char *text, uint32_t line, uint32_t column, const char *reason)
{
    cr_assert_not(read_text(text), "%s", text);
    cr_expect_not(failure.no_memory);
    cr_expect_eq(failure.at.line, line, "%s: line %u", text, failure.at.line);
    cr_expect_eq(failure.at.column, column, "%s: column %u", text, failure.at.column);
    cr_expect_not_null(strstr(failure.reason, reason), "%s: %s", text, failure.reason);
    arena_reset(&memory, 0);
}

Test(toml, errors_have_line_and_column)
{
    expect_rejected("a = 1\na = 2\n", 2, 5, "cannot redefine");
    expect_rejected("a = \n", 1, 5, "expected value");
    expect_rejected("a = \"x\n", 1, 7, "");
    expect_rejected("a = 99999999999999999999\n", 1, 25, "");
    expect_rejected("a = '\xff'\n", 1, 6, "byte 0xff is not UTF-8");
    expect_rejected("# \xc3\xa9\n\xc3(", 2, 1, "byte 0xc3 is not UTF-8");
    expect_rejected("# \xc3\xa9\na\xef\xbb\xb7 = 1\n", 2, 2, "non-ASCII");
    expect_rejected("a = \"x\\u0000y\"\n", 1, 5, "character 0");
    expect_rejected("\"a\\u0000\" = 1\n", 1, 1, "character 0");
}

/* `count` times `open`, then `middle`. */
static const char *nested_arrays(const char *before, const char *open, unsigned count,
                                 const char *middle)
{
    static char text[1 << 16];
    size_t used = (size_t)snprintf(text, sizeof text, "%s", before);
    for (unsigned i = 0; i < count; i++)
        used += (size_t)snprintf(text + used, sizeof text - used, "%s", open);
    snprintf(text + used, sizeof text - used, "%s", middle);
    cr_assert_lt(used, sizeof text - 64);
    return text;
}

static void expect_scan(bool sound, const char *text)
{
    bool passed = toml_scan((const uint8_t *)text, strlen(text), &failure);
    cr_expect_eq(passed, sound, "%.80s: %s", text, failure.reason);
}

Test(toml, nesting_is_bounded_before_parsing)
{
    static const unsigned depths[] = {TOML_NESTING_MAX + 1, 5000};
    for (size_t i = 0; i < 2; i++) {
        expect_scan(false, nested_arrays("a = ", "[", depths[i], ""));
        expect_scan(false, nested_arrays("a = ", "{a = ", depths[i], "1"));
        expect_scan(false, nested_arrays("", "a . ", depths[i], "b = 1"));
        expect_scan(false, nested_arrays("", "\"a.\" . ", depths[i], "b = 1"));
        expect_scan(false, nested_arrays("[", "a.", depths[i], "b]"));
        expect_scan(false, nested_arrays("a = ['''x''''', ", "[", depths[i], ""));
        expect_scan(false, nested_arrays("a = [\"\"\"x\\\"\"\"\"\", ", "[", depths[i], ""));
        expect_scan(false, nested_arrays("a = ['\\', ", "[", depths[i], ""));
        expect_scan(false, nested_arrays("a = \"open\nb = ", "[", depths[i], ""));
    }
    expect_scan(true, nested_arrays("a = ", "[", TOML_NESTING_MAX, ""));
    expect_scan(true, nested_arrays("a = [", "1.5, ", 5000, "]"));
    expect_scan(true, nested_arrays("a = '", "[{.", 5000, "'"));
    expect_scan(true, nested_arrays("a = \"\\\"", "[{.", 5000, "\""));
    expect_scan(true, nested_arrays("a = \"\"\"\n\"\"", "[{.", 5000, "\"\"\""));
    expect_scan(true, nested_arrays("# ", "[{.", 5000, ""));
    expect_scan(true, nested_arrays("", "[a.b]\n", 5000, ""));
}

Test(toml, out_of_memory_is_reported)
{
    static const char text[] = "a = 'x'\nb = ['y']\n";
    bool read = false;
    for (int64_t n = 1; !read; n++) {
        struct arena small = {.first = NULL};
        cr_assert_lt(n, 100);
        mem_fail_at(n, true);
        read = toml_read(&small, (const uint8_t *)text, strlen(text), &root, &failure);
        mem_fail_at(0, false);
        cr_expect(read || failure.no_memory);
        arena_fini(&small);
    }
}

Test(toml, oversized_text_is_rejected)
{
    char *text = mem_alloc(TOML_BYTES_MAX + 1);
    cr_assert_not_null(text);
    memset(text, '\n', TOML_BYTES_MAX + 1);
    cr_expect(toml_scan((uint8_t *)text, TOML_BYTES_MAX, &failure));
    cr_expect_not(toml_scan((uint8_t *)text, TOML_BYTES_MAX + 1, &failure));
    mem_free(text);
}
