/* Typed rows: where values are, and their texts. */
#include "engine/input/typed_row.h"
#include "engine/records/task.h"

#include <criterion/criterion.h>
#include <string.h>

static struct glint_task task;

static const struct typed_form *form_of(const char *types, uint64_t size)
{
    task.error = (struct glint_error){.code = GLINT_OK};
    return typed_form_read(&task, (struct glint_slice){(const uint8_t *)types, size});
}
#define FORM(types) form_of(types, sizeof types)

static void free_forms(void)
{
    arena_fini(&task.arena);
}

TestSuite(typed_row, .fini = free_forms);

Test(typed_row, values_of_one_size_are_before_ends_of_texts)
{
    const struct typed_form *f = FORM("u\0l\0b\0z\0d:38,2\0tdD\0+l(item=i)\0f\0vu");
    static const uint32_t sizes[] = {0, 8, 1, 0, 16, 4, 0, 4, 0},
                          at[] = {35, 2, 10, 39, 11, 27, 43, 31, 47};
    cr_assert_not_null(f);
    cr_assert_eq(f->count, 9);
    for (uint32_t i = 0; i < f->count; i++) {
        cr_expect_eq(f->columns[i].size, sizes[i], "%u: %u", i, f->columns[i].size);
        cr_expect_eq(f->columns[i].at, at[i], "%u: %u", i, f->columns[i].at);
    }
    cr_expect_eq(f->texts_at, 51);
    cr_expect_eq(f->columns[0].before, 0);
    cr_expect_eq(f->columns[3].before, f->columns[0].at);
    cr_expect_eq(f->last, f->columns[8].at);
}

/* Times of day and the like have texts that their bytes do not have. */
Test(typed_row, other_types_are_texts)
{
    static const char *const types[] = {"n",   "e",      "ttm",     "ttn", "tdm",
                                        "w:3", "d:9,-2", "+s(a=i)", "+r",  "none"};
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        const struct typed_form *f = form_of(types[i], strlen(types[i]) + 1);
        cr_assert_not_null(f, "%s", types[i]);
        cr_expect_eq(f->columns[0].size, 0, "%s", types[i]);
    }
}

Test(typed_row, types_that_do_not_end_are_rejected)
{
    cr_expect_null(form_of("u", 1));
    cr_expect_eq(task.error.code, GLINT_E_PROTOCOL);
    cr_expect_null(form_of("", 0));
    cr_expect_eq(task.error.code, GLINT_E_PROTOCOL);
    cr_expect_not_null(FORM("u"));
}

Test(typed_row, a_row_as_text)
{
    const struct typed_form *f = FORM("u\0l\0b\0tsu:UTC\0u\0g");
    uint8_t row[200] = {0};
    const int64_t number = -7, time = 1;
    const double real = 0.1;
    const uint32_t ends[] = {2, 2};
    struct buffer text = {NULL, 0, 0};
    cr_assert(f != NULL && f->texts_at < 190);
    typed_row_set_null(row, 4);
    memcpy(row + f->columns[1].at, &number, sizeof number);
    row[f->columns[2].at] = 1;
    memcpy(row + f->columns[3].at, &time, sizeof time);
    memcpy(row + f->columns[5].at, &real, sizeof real);
    memcpy(row + f->columns[0].at, &ends[0], sizeof ends[0]);
    memcpy(row + f->columns[4].at, &ends[1], sizeof ends[1]);
    memcpy(row + f->texts_at, "ab", 2);
    cr_expect_eq(typed_row_size(f, row), f->texts_at + 2);
    cr_expect(typed_row_is_null(row, 4) && !typed_row_is_null(row, 3));
    cr_assert(typed_row_append_row(f, row, &text));
    static const char wanted[] = "ab\x1f-7\x1ftrue\x1f"
                                 "1970-01-01T00:00:00.000001Z\x1f\x1d\x1f"
                                 "0.1";
    cr_expect(text.size == sizeof wanted - 1 && memcmp(text.data, wanted, text.size) == 0, "%.*s",
              (int)text.size, (const char *)text.data);
    buffer_fini(&text);
}
