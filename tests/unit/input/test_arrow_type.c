/* Types as texts, and nested values that are built from their JSON. */
#include "engine/input/arrow_builder.h"
#include "engine/input/arrow_type.h"

#include <criterion/criterion.h>
#include <string.h>

static struct arena arena;

static struct arrow_field field_of_type(const char *type)
{
    struct ArrowSchema schema;
    struct arrow_field field;
    const char *problem = arrow_type_read("c", type, NULL, &arena, &schema);
    cr_assert_null(problem, "%s: %s", type, problem);
    problem = arrow_field_read(&schema, &arena, &field);
    cr_assert_null(problem, "%s: %s", type, problem);
    return field;
}

static void expect_type(const struct arrow_field *field, const char *wanted)
{
    struct buffer text = {NULL, 0, 0};
    cr_assert(arrow_type_append(field, &text));
    cr_expect(text.size == strlen(wanted) && memcmp(text.data, wanted, text.size) == 0,
              "wanted %s, got %.*s", wanted, (int)text.size, (const char *)text.data);
    buffer_fini(&text);
}

Test(arrow_type, texts_are_read_and_written)
{
    static const char *const types[] = {"u",
                                        "d:12,2",
                                        "tsu:Europe/Berlin",
                                        "+l(item=l)",
                                        "+s(a%2Cb%28%29=i,%25%3D=d:9%2C2)",
                                        "+m(entries=+s(key=u,value=+w:3(item=+L(x=tsn:A%29))))",
                                        "+s(=n)"};
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        const struct arrow_field field = field_of_type(types[i]);
        expect_type(&field, types[i]);
    }
    const struct arrow_field field = field_of_type("+s(a%2Cb%28%29=i,c=u)");
    cr_expect_str_eq(field.children[0].name, "a,b()");
}

Test(arrow_type, what_is_saved_has_no_dictionaries_and_views)
{
    struct ArrowSchema words = {.format = "u", .name = ""}, view = {.format = "vz", .name = "v"},
                       codes = {.format = "c", .name = "d", .dictionary = &words};
    struct ArrowSchema *const parts[] = {&codes, &view};
    const struct ArrowSchema schema = {
        .format = "+s", .name = "c", .n_children = 2, .children = (struct ArrowSchema **)parts};
    struct arrow_field field;
    cr_assert_null(arrow_field_read(&schema, &arena, &field));
    expect_type(&field, "+s(d=u,v=z)");
    struct ArrowSchema empty = {.format = "+s", .name = "e"};
    const struct ArrowSchema list = {
        .format = "+l", .name = "c", .n_children = 1, .children = (struct ArrowSchema *[]){&empty}};
    cr_assert_null(arrow_field_read(&list, &arena, &field));
    expect_type(&field, "+l");
}

Test(arrow_type, other_texts_have_a_reason)
{
    static const char *const types[] = {"+l(",     "+l(item",       "+l(item=", "+l(item=i",
                                        "+l()",    "+l(a=i)x",      "+l(a=%2)", "+l(%00=i)",
                                        "+m(a=i)", "+m(a=+s(b=i))", "+s(a=i,)", "+s(a=i,b)"};
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        struct ArrowSchema schema;
        struct arrow_field field;
        const char *problem = arrow_type_read("c", types[i], NULL, &arena, &schema);
        if (problem == NULL) problem = arrow_field_read(&schema, &arena, &field);
        cr_expect_not_null(problem, "%s", types[i]);
    }
    char deep[1024] = "";
    for (size_t at = 0; at < 500; at += 5) memcpy(deep + at, "+l(a=", 6);
    struct ArrowSchema schema;
    cr_expect_not_null(arrow_type_read("c", deep, NULL, &arena, &schema));
}

/* ---- Values */

static const char *append(struct arrow_builder *b, const char *text)
{
    bool no_memory;
    const struct glint_slice slice = {(const uint8_t *)text, text != NULL ? strlen(text) : 0};
    return arrow_builder_append(b, slice, &no_memory);
}

/* Appends the texts, NULL is null, and expects them in the array. */
static void expect_built(const char *type, const char *const *texts, int64_t count)
{
    const struct arrow_field field = field_of_type(type);
    struct arrow_builder b;
    struct ArrowArray table;
    cr_assert(arrow_can_build(&field));
    cr_assert(arrow_builder_init(&b, &field));
    for (int64_t i = 0; i < count; i++) {
        const char *problem = append(&b, texts[i]);
        cr_assert_null(problem, "%s: %s", texts[i], problem);
    }
    cr_assert(arrow_builders_finish(&b, 1, count, &table));
    const struct ArrowArray *array = table.children[0];
    const char *problem = arrow_array_check(&field, array);
    cr_assert_null(problem, "%s: %s", type, problem);
    struct buffer out = {NULL, 0, 0};
    for (int64_t i = 0; i < count; i++) {
        cr_assert_eq(arrow_is_null(&field, array, i), texts[i] == NULL);
        if (texts[i] == NULL) continue;
        out.size = 0;
        cr_assert(arrow_append_text(&field, array, i, &out));
        cr_expect(out.size == strlen(texts[i]) && memcmp(out.data, texts[i], out.size) == 0,
                  "wanted %s, got %.*s", texts[i], (int)out.size, (const char *)out.data);
    }
    buffer_fini(&out);
    table.release(&table);
    arrow_builder_fini(&b);
}

#define BUILT(type, ...)                                                                           \
    expect_built(type, (const char *const[]){__VA_ARGS__},                                         \
                 sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *))

Test(arrow_type, nested_values_are_built)
{
    BUILT("+l(item=l)", "[1,null,-3]", NULL, "[]", "[null]");
    BUILT("+L(item=u)", "[\"a\\\"b\",\"\",null]", "[]", NULL, "[\"\\u0000\xc3\xa9\"]");
    BUILT("+w:2(item=b)", "[true,null]", NULL, "[false,true]");
    BUILT("+s(a=i,b=+l(item=+s(x=u,y=+l(z=C))))", "{\"a\":null,\"b\":null}", NULL,
          "{\"a\":-1,\"b\":[null,{\"x\":\"x\",\"y\":[]},{\"x\":null,\"y\":[255,null]}]}");
    BUILT("+m(entries=+s(key=u,value=g))", "[{\"key\":\"k\",\"value\":0.5}]", "[]", NULL,
          "[{\"key\":\"\",\"value\":null},{\"key\":\"l\",\"value\":\"nan\"}]");
    BUILT("+l(item=z)", "[\"\\udcff\\udc80a\"]", "[\"\xf0\x9f\x98\x80\"]");
    BUILT("+s(t=tsu:UTC,d=tdD,w=w:2,n=n)", "{\"t\":\"2026-01-31T12:00:00.250Z\",\"d\":\"0001-01-"
                                           "01\",\"w\":\"\\udcff\\\\\",\"n\":null}");
}

Test(arrow_type, wide_decimals_are_built)
{
    BUILT("d:76,5,256", "0.00001", NULL, "-0.00001", "0.00000",
          "99999999999999999999999999999999999999999999999999999999999999999999999.99999",
          "-99999999999999999999999999999999999999999999999999999999999999999999999.99999");
}

Test(arrow_type, other_values_have_a_reason)
{
    static const struct {
        const char *type, *text;
    } values[] = {{"+l(item=l)", "[1"},
                  {"+l(item=l)", "[1,]"},
                  {"+l(item=l)", "[1]]"},
                  {"+l(item=l)", "{}"},
                  {"+l(item=l)", ""},
                  {"+l(item=l)", "[x]"},
                  {"+l(item=c)", "[128]"},
                  {"u", "caf\xe9"},
                  {"U", "long enough, and then \xed\xa0\x80"},
                  {"+l(item=u)", "[1]"},
                  {"+l(item=u)", "[\"\\udcff\"]"},
                  {"+l(item=z)", "[\"\\ud800\"]"},
                  {"+l(item=z)", "[\"\\x\"]"},
                  {"+l(item=n)", "[1]"},
                  {"+w:2(item=l)", "[1]"},
                  {"+w:2(item=l)", "[1,2,3]"},
                  {"+s(a=l)", "{\"b\":1}"},
                  {"+s(a=l)", "{\"a\":1,\"b\":1}"},
                  {"+s(a=l)", "{}"},
                  {"+m(entries=+s(key=u,value=l))", "[null]"},
                  {"+m(entries=+s(key=u,value=l))", "[{\"key\":null,\"value\":1}]"},
                  {"d:76,5,256", "0.000001"},
                  {"d:76,5,256", "1e5"}};
    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) {
        const struct arrow_field field = field_of_type(values[i].type);
        struct arrow_builder b;
        cr_assert(arrow_builder_init(&b, &field));
        cr_expect_not_null(append(&b, values[i].text), "%s", values[i].text);
        arrow_builder_fini(&b);
    }
}

/* Texts of a batch: also two that are UTF-8 only when they are joined. */
Test(arrow_type, texts_are_utf8)
{
    static const char *const texts[] = {"ascii that is longer than a few words of the machine",
                                        "\xc3\xa9", "", "a\xc3", "\xa9"};
    struct glint_slice slices[5];
    for (int i = 0; i < 5; i++)
        slices[i] = (struct glint_slice){(const uint8_t *)texts[i], strlen(texts[i])};
    for (int bytes = 0; bytes < 2; bytes++) {
        const struct arrow_field field = field_of_type(bytes ? "z" : "u");
        struct arrow_builder b;
        uint32_t appended;
        bool no_memory;
        cr_assert(arrow_builder_init(&b, &field));
        cr_expect_null(arrow_builder_append_texts(&b, slices, 3, &appended, &no_memory));
        cr_expect_eq(appended, 3);
        const char *problem = arrow_builder_append_texts(&b, slices, 5, &appended, &no_memory);
        cr_expect_eq(problem == NULL, bytes != 0);
        cr_expect_eq(appended, bytes ? 5 : 3);
        cr_expect_not(no_memory);
        arrow_builder_fini(&b);
    }
}
