/* Columns of Arrow's interfaces and blocks of them: what is exported is what was given, parts of it
 * live longer than the rest, and what cannot be right is an error. */
#include "engine/glint_columns.h"
#include "engine/input/columns_block.h"

#include <criterion/criterion.h>
#include <string.h>

static int released;

static void count_release(struct ArrowArray *array)
{
    released++;
    array->release = NULL;
}

static int32_t numbers[] = {7, 1, 2, 3, 4};
static int32_t ends[] = {0, 1, 3, 3, 6};
static uint8_t some_valid[] = {0x1d}; /* row 1 is null */
static const void *number_buffers[] = {some_valid, numbers};
static const void *text_buffers[] = {NULL, ends, "abbccc"};
static const void *no_buffers[] = {NULL};
static struct ArrowArray number_array, text_array;
static struct ArrowArray *columns[] = {&number_array, &text_array};
static struct ArrowSchema number_schema = {.format = "i", .name = "n", .flags = 2},
                          text_schema = {.format = "u", .name = "t", .flags = 2};
static struct ArrowSchema *schemas[] = {&number_schema, &text_schema};
static struct ArrowSchema table = {
    .format = "+s", .name = "", .n_children = 2, .children = schemas};

/* Rows 0 to 3 of (n, t): (7, a), (null, bb), (2, ""), (3, ccc). */
static struct ArrowArray sample(void)
{
    number_array = (struct ArrowArray){
        .length = 4, .null_count = 1, .n_buffers = 2, .buffers = number_buffers};
    text_array = (struct ArrowArray){.length = 4, .n_buffers = 3, .buffers = text_buffers};
    released = 0;
    return (struct ArrowArray){.length = 4,
                               .n_buffers = 1,
                               .buffers = no_buffers,
                               .n_children = 2,
                               .children = columns,
                               .release = count_release};
}

static struct glint_columns *adopt(struct ArrowArray array)
{
    struct glint_error error = {.code = GLINT_OK};
    struct glint_columns *c = glint_columns_adopt(&table, &array, &error);
    cr_assert_not_null(c, "%s", error.cause);
    cr_expect_null(array.release);
    return c;
}

/* The block of some rows, decoded. */
static struct glint_columns *decoded(struct glint_columns *c, uint64_t first, uint64_t count)
{
    struct glint_error error = {.code = GLINT_OK};
    const uint8_t *block;
    uint8_t *copy;
    uint64_t size;
    cr_assert_eq(glint_columns_encode(c, first, count, &block, &size, &error), 0);
    struct glint_columns *d = glint_columns_create(size, &copy);
    cr_assert_not_null(d);
    cr_expect_eq((uintptr_t)copy % 64, 0);
    memcpy(copy, block, size);
    cr_assert_eq(glint_columns_decode(d, &error), 0, "%s", error.cause);
    cr_expect_eq(glint_columns_size(d), size);
    return d;
}

Test(columns, export_shares_and_releases_at_the_end)
{
    struct glint_columns *c = adopt(sample());
    struct ArrowSchema schema;
    struct ArrowArray first, second;
    cr_assert_eq(glint_columns_export(c, &schema, &first), 0);
    cr_assert_eq(glint_columns_export(c, NULL, &second), 0);
    cr_expect_eq(glint_columns_rows(c), 4);
    glint_columns_release(c);
    cr_expect_eq(first.children[0]->buffers[1], numbers, "the values are not copied");
    cr_expect_str_eq(schema.children[1]->name, "t");
    struct ArrowArray moved = *first.children[0]; /* a consumer may move a column out */
    first.children[0]->release = NULL;
    first.release(&first);
    second.release(&second);
    cr_expect_eq(released, 0);
    schema.release(&schema);
    cr_expect_null(schema.release);
    moved.release(&moved);
    cr_expect_eq(released, 1);
}

Test(columns, blocks_have_the_rows)
{
    struct glint_columns *c = adopt(sample()), *d = decoded(c, 1, 3);
    struct ArrowArray array;
    cr_assert_eq(glint_columns_export(d, NULL, &array), 0);
    cr_assert_eq(array.length, 3);
    cr_expect_eq(array.offset, 0, "programs take no table with an offset");
    const struct ArrowArray *n = array.children[0], *t = array.children[1];
    cr_expect_eq(((const int32_t *)n->buffers[1])[n->offset + 2], 3);
    cr_expect_eq(((const uint8_t *)n->buffers[0])[0] >> n->offset & 7, 6);
    const int32_t *offsets = (const int32_t *)t->buffers[1] + t->offset;
    cr_expect_eq(offsets[0], 0);
    cr_expect_eq(offsets[3], 5);
    cr_expect_eq(memcmp(t->buffers[2], "bbccc", 5), 0);
    array.release(&array);
    glint_columns_release(d);
    d = decoded(c, 4, 0);
    cr_expect_eq(glint_columns_rows(d), 0);
    glint_columns_release(d);
    glint_columns_release(c);
}

Test(columns, a_table_with_an_offset)
{
    struct ArrowArray all = sample();
    all.offset = 1;
    all.length = 3;
    struct glint_columns *c = adopt(all), *d = decoded(c, 1, 2);
    struct ArrowArray array;
    cr_assert_eq(glint_columns_export(c, NULL, &array), 0);
    cr_expect_eq(array.offset, 0);
    cr_expect_eq(array.children[0]->offset, 1);
    cr_expect_eq(array.children[1]->length, 3);
    array.release(&array);
    cr_assert_eq(glint_columns_export(d, NULL, &array), 0);
    const struct ArrowArray *n = array.children[0];
    cr_expect_eq(((const int32_t *)n->buffers[1])[n->offset], 2);
    array.release(&array);
    glint_columns_release(d);
    glint_columns_release(c);
}

Test(columns, an_array_becomes_a_column)
{
    struct glint_error error = {.code = GLINT_OK};
    (void)sample();
    struct ArrowSchema alone = {.format = "i", .name = ""}, schema;
    struct glint_columns *c = glint_columns_borrow(&alone, &number_array, &error);
    cr_assert_not_null(c);
    cr_assert_eq(glint_columns_export(c, &schema, NULL), 0);
    cr_expect_eq(schema.n_children, 1);
    cr_expect_str_eq(schema.children[0]->name, "value");
    schema.release(&schema);
    glint_columns_release(c);
}

static void expect_refused(struct ArrowArray array, const char *why)
{
    struct glint_error error = {.code = GLINT_OK};
    cr_expect_null(glint_columns_adopt(&table, &array, &error));
    cr_expect_eq(error.code, GLINT_E_BAD_VALUE);
    cr_expect_not_null(strstr(error.cause, why), "%s", error.cause);
}

Test(columns, what_cannot_be_right_is_refused)
{
    static int32_t falling[] = {0, 3, 1, 3, 6};
    static const void *falling_buffers[] = {NULL, falling, "abbccc"}, *null_rows[] = {some_valid};
    struct ArrowArray array = sample();
    text_array.buffers = falling_buffers;
    expect_refused(array, "offsets of an array fall");
    cr_expect_eq(released, 1, "it is taken also when it is refused");
    array = sample();
    number_array.length = 3;
    expect_refused(array, "a part of an array is too short");
    array = sample();
    array.buffers = null_rows;
    array.null_count = 1;
    expect_refused(array, "a row is null");
    array.release = NULL;
    expect_refused(array, "released before");
}

/* Each byte of the head and of what describes the arrays, changed: an error, or an array within its
 * block; with ASan nothing outside of it is read. */
Test(columns, changed_blocks)
{
    struct glint_columns *c = adopt(sample());
    struct glint_error error = {.code = GLINT_OK};
    const uint8_t *block;
    uint64_t size, refused = 0;
    cr_assert_eq(glint_columns_encode(c, 0, 4, &block, &size, &error), 0);
    for (uint64_t at = 0; at < size; at++) {
        uint8_t *copy;
        struct glint_columns *d = glint_columns_create(size, &copy);
        memcpy(copy, block, size);
        copy[at] ^= 0x81;
        refused += glint_columns_decode(d, &error) != 0;
        glint_columns_release(d);
    }
    cr_expect_gt(refused, 100);
    cr_expect_eq(error.code, GLINT_E_BAD_VALUE);
    for (uint64_t cut = 0; cut < size; cut += 8) {
        uint8_t *copy;
        struct glint_columns *d = glint_columns_create(cut, &copy);
        memcpy(copy, block, cut);
        cr_expect_neq(glint_columns_decode(d, &error), 0);
        glint_columns_release(d);
    }
    glint_columns_release(c);
}

Test(columns, streams)
{
    struct glint_error error = {.code = GLINT_OK};
    struct glint_columns *c = adopt(sample()), *both[] = {c, c};
    struct ArrowArrayStream stream;
    struct ArrowSchema schema;
    struct ArrowArray array;
    cr_assert_eq(glint_columns_stream(both, 2, &stream, &error), 0);
    cr_assert_eq(stream.get_schema(&stream, &schema), 0);
    schema.release(&schema);
    for (int i = 0; i < 2; i++) {
        cr_assert_eq(stream.get_next(&stream, &array), 0);
        cr_expect_eq(array.length, 4);
        array.release(&array);
    }
    cr_assert_eq(stream.get_next(&stream, &array), 0);
    cr_expect_null(array.release, "the end");
    stream.release(&stream);
    struct ArrowSchema alone = {.format = "i", .name = "other"};
    struct glint_columns *other = glint_columns_borrow(&alone, &number_array, &error);
    both[1] = other;
    cr_expect_eq(glint_columns_stream(both, 2, &stream, &error), GLINT_E_BAD_VALUE);
    glint_columns_release(other);
    glint_columns_release(c);
    cr_expect_eq(released, 1);
}
