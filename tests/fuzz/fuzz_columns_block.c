/* Blocks of columns from anywhere: what is read is within the block, and what was read can be
 * written again, also a part of it, with the same text of each value. */
#include "engine/input/columns_block.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { TEXT_ROWS_MAX = 64 };

static void append_rows(const struct arrow_field *f, const struct ArrowArray *a, int64_t first,
                        int64_t count, struct buffer *out)
{
    for (uint32_t i = 0; i < f->child_count; i++)
        for (int64_t row = first; row < first + count && out->size < 1 << 16; row++) {
            const struct arrow_field *field = &f->children[i];
            const int64_t at = a->offset + row; /* of the part */
            const bool null = arrow_is_null(field, a->children[i], at);
            if (!buffer_append(out, null ? "\n-" : "\n+", 2) ||
                (!null && !arrow_append_text(field, a->children[i], at, out)))
                abort();
        }
}

/* Writes rows as a block, and reads it. */
static void write_and_compare(const struct ArrowSchema *schema, const struct arrow_field *field,
                              const struct ArrowArray *array, int64_t first, int64_t count)
{
    struct buffer block = {NULL, 0, 0}, before = {NULL, 0, 0}, after = {NULL, 0, 0};
    struct arena arena = {NULL, NULL, 0};
    struct ArrowSchema schema_2;
    struct ArrowArray array_2;
    struct arrow_field field_2;
    if (columns_block_write(schema, field, array, first, count, &block) != NULL) abort();
    uint8_t *exact = malloc(block.size);
    if (exact == NULL) abort();
    memcpy(exact, block.data, block.size);
    if (columns_block_read(exact, block.size, &arena, &schema_2, &field_2, &array_2) != NULL)
        abort();
    append_rows(field, array, first, count, &before);
    append_rows(&field_2, &array_2, 0, count, &after);
    if (array_2.length != count || before.size != after.size ||
        (before.size > 0 && memcmp(before.data, after.data, before.size) != 0))
        abort();
    free(exact);
    buffer_fini(&block);
    buffer_fini(&before);
    buffer_fini(&after);
    arena_fini(&arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena arena = {NULL, NULL, 0};
    struct ArrowSchema schema;
    struct ArrowArray array;
    struct arrow_field field;
    uint8_t *block = malloc(size + 1);
    if (block == NULL) abort();
    memcpy(block, data, size);
    if (columns_block_read(block, size, &arena, &schema, &field, &array) == NULL) {
        const int64_t count = array.length < TEXT_ROWS_MAX ? array.length : TEXT_ROWS_MAX;
        assert(field.type == ARROW_STRUCT);
        write_and_compare(&schema, &field, &array, 0, count);
        if (count > 3) write_and_compare(&schema, &field, &array, 3, count - 3);
    }
    free(block);
    arena_fini(&arena);
    return 0;
}
