/* Paths in JSON: what is one, and the pointers and names that they become. */
#include "engine/input/json_line.h"

#include <criterion/criterion.h>
#include <string.h>

static void expect_pointer(const char *path, const char *wanted)
{
    struct buffer out = {NULL, 0, 0};
    bool no_memory;
    const struct glint_slice text = {(const uint8_t *)path, strlen(path)};
    const char *reason = json_path_append(&out, text, &no_memory);
    cr_assert_null(reason, "%s: %s", path, reason);
    cr_expect(out.size == strlen(wanted) + 1 && strcmp((char *)out.data, wanted) == 0, "%s: %s",
              path, (char *)out.data);
    cr_expect(json_pointers_are_valid((struct glint_slice){out.data, out.size}));
    buffer_fini(&out);
}

Test(json_path, paths_become_pointers)
{
    expect_pointer("id", "/id");
    expect_pointer("user.id", "/user/id");
    expect_pointer("$.user.id", "/user/id");
    expect_pointer(".user.id", "/user/id");
    expect_pointer("$", "/$");
    expect_pointer("$id", "/$id");
    expect_pointer("tags[0]", "/tags/0");
    expect_pointer("[0]", "/0");
    expect_pointer("[1][2].a", "/1/2/a");
    expect_pointer("rows[12][3].x", "/rows/12/3/x");
    expect_pointer("a/b~c", "/a~1b~0c");
    expect_pointer("/a.b/c[0]", "/a.b/c[0]");
    expect_pointer("/", "/");
    expect_pointer("/~0~1", "/~0~1");
}

static void expect_no_path(const char *path, size_t size, const char *wanted)
{
    struct buffer out = {NULL, 0, 0};
    bool no_memory;
    cr_assert(buffer_append(&out, "before", 6));
    const char *reason =
        json_path_append(&out, (struct glint_slice){(const uint8_t *)path, size}, &no_memory);
    cr_assert_not_null(reason, "%s", path);
    cr_expect(strstr(reason, wanted) != NULL && !no_memory, "%s: %s", path, reason);
    cr_expect_eq(out.size, 6);
    buffer_fini(&out);
}

Test(json_path, others_have_a_reason)
{
    char deep[70];
    expect_no_path("", 0, "empty");
    expect_no_path(".", 1, "a name is empty");
    expect_no_path("$.", 2, "a name is empty");
    expect_no_path("a..b", 4, "a name is empty");
    expect_no_path("a.", 2, "a name is empty");
    expect_no_path("a[", 2, "an index is a number");
    expect_no_path("a[x]", 4, "an index is a number");
    expect_no_path("a[0", 3, "an index is a number");
    expect_no_path("a]", 2, "a dot is missing");
    expect_no_path("a[0]b", 5, "a dot is missing");
    expect_no_path("/a~", 3, "~0");
    expect_no_path("/a~2", 4, "~0");
    expect_no_path("a\0b", 3, "NUL");
    expect_no_path("/a\0b", 4, "NUL");
    for (unsigned i = 0; i < sizeof deep; i++) deep[i] = i % 2 == 0 ? '/' : 'x';
    expect_no_path(deep, 2 * (JSON_SEGMENTS_MAX + 1), "more than 32");
    deep[2 * JSON_SEGMENTS_MAX] = '\0';
    expect_pointer(deep, deep);
}

Test(json_path, only_whole_pointers_are_valid)
{
    static const struct {
        const char *bytes;
        size_t size;
        bool valid;
    } pointers[] = {{"", 0, true},      {"/a\0", 3, true},   {"/a\0/b/c\0", 8, true},
                    {"/a", 2, false},   {"a\0", 2, false},   {"\0", 1, false},
                    {"/~\0", 3, false}, {"/\0\0", 3, false}, {"/a\0/b", 5, false}};
    uint8_t many[2 * JSON_PATHS_MAX + 2];
    for (size_t i = 0; i < sizeof pointers / sizeof *pointers; i++)
        cr_expect_eq(json_pointers_are_valid((struct glint_slice){
                         (const uint8_t *)pointers[i].bytes, pointers[i].size}),
                     pointers[i].valid, "%zu", i);
    for (size_t i = 0; i < sizeof many; i++) many[i] = i % 2 == 0 ? '/' : '\0';
    cr_expect(json_pointers_are_valid((struct glint_slice){many, 2 * JSON_PATHS_MAX}));
    cr_expect(!json_pointers_are_valid((struct glint_slice){many, sizeof many}));
}

Test(json_path, names_and_indexes_are_read)
{
    static const char pointers[] = "/a~1b/~01/10\0//007/99999999999999999999\0";
    static const char *const names[2][3] = {{"a/b", "~1", "10"},
                                            {"", "007", "99999999999999999999"}};
    struct arena arena = {NULL, NULL, 0};
    struct json_paths paths;
    const struct glint_slice bytes = {(const uint8_t *)pointers, sizeof pointers - 1};
    cr_assert(json_paths_read(bytes, &arena, &paths));
    cr_assert_eq(paths.count, 2);
    for (int i = 0; i < 2; i++) {
        cr_assert_eq(paths.items[i].count, 3);
        for (int k = 0; k < 3; k++) {
            const struct json_segment *s = &paths.items[i].segments[k];
            cr_expect(s->name.size == strlen(names[i][k]) &&
                      memcmp(s->name.data, names[i][k], s->name.size) == 0);
            cr_expect_eq(s->index, i == 0 && k == 2 ? 10 : UINT64_MAX);
        }
    }
    arena_fini(&arena);
    mem_fail_at(1, true);
    cr_expect(!json_paths_read(bytes, &arena, &paths));
    struct buffer out = {NULL, 0, 0};
    bool no_memory = false;
    cr_expect_not_null(json_path_append(&out, (struct glint_slice){bytes.data, 4}, &no_memory));
    cr_expect(no_memory);
    mem_fail_at(0, false);
    cr_expect_eq(mem_live_blocks(), 0);
}
