/* A compressed file that is cut between its frames: whatever the sizes of frames and splits, the
 * lines, their numbers in messages and the counted bytes are those of the file read whole. */
#include "engine/batch.h"
#include "engine/input/split.h"
#include "tests/support/compress.h"
#include "tests/support/memory_env.h"
#include "tests/support/naive_lines.h"
#include "tests/support/test_task.h"

#include <criterion/criterion.h>

struct fixture {
    struct memory_env memory;
    struct task_options options;
    struct glint_task task;
    bool header;
};

static void fixture_init(struct fixture *f, const struct buffer *stored)
{
    *f = (struct fixture){.options = {.line_bytes_max = LINE_BYTES_MAX_DEFAULT}};
    memory_env_init(&f->memory, stored->data, stored->size);
    f->task = (struct glint_task){.env = &f->memory.env, .options = &f->options};
}

/* The lines of all pieces, some with the number that an error message would show. Returns 0 or a
 * code. */
static int read_frames(struct fixture *f, enum compression compression, uint64_t split_bytes,
                       struct buffer *got)
{
    struct input_file file = {.path = "text", .size = f->memory.size, .compression = compression};
    const struct input_list list = {
        .files = &file, .count = 1, .bytes = file.size, .header = f->header};
    struct splits splits = {.items = NULL};
    int64_t number = 1 + f->header;
    int r = splits_make_by_bytes(&f->memory.env, &list, split_bytes, &splits, &f->task.error);
    for (uint32_t i = 0; r == 0 && i < splits.count; i++) {
        struct line_reader l;
        struct glint_batch batch;
        r = line_reader_open(&l, &f->task, &splits.items[i]);
        while (r == 0 && (r = line_reader_next(&l, &batch)) > 0) {
            for (uint32_t row = 0; row < batch.rows; row++, number++) {
                const struct glint_slice line = glint_column_slice(&batch.value, row);
                line_list_add(got, line.data, line.size);
                if (line.size == 0 || number % 5 != 0) continue;
                const uint64_t at = (uint64_t)(line.data - batch.origin->base);
                cr_assert_eq(line_number_at(&f->memory.env, batch.origin, at), number);
            }
            r = 0;
        }
        line_reader_close(&l);
    }
    splits_fini(&splits);
    return r;
}

static void expect_lines(const char *text, uint64_t size, const struct buffer *stored, bool header,
                         enum compression compression, uint64_t split_bytes)
{
    struct fixture f;
    struct buffer got = {NULL, 0, 0}, wanted = {NULL, 0, 0};
    fixture_init(&f, stored);
    f.header = header;
    naive_lines((const uint8_t *)text, size, &wanted);
    if (header) line_list_drop_first(&wanted);
    cr_assert_eq(read_frames(&f, compression, split_bytes, &got), 0, "%s", f.task.error.cause);
    cr_assert_eq(got.size, wanted.size, "splits of %lu", split_bytes);
    cr_assert_arr_eq(got.data, wanted.data, got.size);
    cr_assert_eq(f.task.counters.values[COUNT_BYTES_READ], (int64_t)stored->size);
    cr_expect_eq(f.memory.open_files, 0);
    buffer_fini(&got);
    buffer_fini(&wanted);
}

/* Lines of 0 to 60 bytes in frames of any size: shorter than a line, with and without a line end at
 * their ends, and empty ones. */
Test(frames, frames_of_any_size_give_the_same_lines)
{
    enum { SIZE = 400, MIDDLE = 150 };
    char text[SIZE] = "\xef\xbb\xbf";
    uint64_t state = 11;
    for (unsigned i = 3; i < SIZE; i++) {
        const uint64_t byte = test_random(&state) % 30;
        text[i] = byte == 0 || (i > 100 && i < 110) ? '\n' : byte == 1 ? '\r' : 'x';
    }
    const uint8_t *data = (const uint8_t *)text;
    for (enum compression c = COMPRESSION_GZIP; c <= COMPRESSION_ZSTD; c++)
        for (uint64_t step = 1; step < SIZE; step += 1 + step / 4) {
            struct buffer stored = {NULL, 0, 0};
            compress_frames(c, data, MIDDLE, step, &stored);
            for (unsigned n = 0; n < 3; n++) compress_frames(c, data, 0, 0, &stored);
            compress_frames(c, data + MIDDLE, SIZE - MIDDLE, step, &stored);
            for (uint64_t size = 1; size < 2 * stored.size; size += 1 + size)
                expect_lines(text, SIZE, &stored, step % 2 == 0, c, size);
            buffer_fini(&stored);
        }
    cr_expect_eq(mem_live_blocks(), 0);
}

/* Also for a split whose frames before and after are right. */
Test(frames, damaged_frame_is_an_error_for_any_split_size)
{
    const uint8_t text[300] = {'a', '\n'};
    for (enum compression c = COMPRESSION_GZIP; c <= COMPRESSION_ZSTD; c++) {
        struct buffer stored = {NULL, 0, 0};
        compress_frames(c, text, sizeof text, 30, &stored);
        for (uint64_t at = 0; at < stored.size; at += 5) {
            stored.data[at] ^= 0x10;
            int whole = 0;
            for (uint64_t size = 2 * stored.size; size > 0; size /= 4) {
                struct fixture f;
                struct buffer got = {NULL, 0, 0};
                fixture_init(&f, &stored);
                const int r = read_frames(&f, c, size, &got);
                if (size == 2 * stored.size) whole = r;
                cr_assert_eq(r < 0, whole < 0, "byte %lu, splits of %lu: %d", at, size, r);
                cr_expect_eq(f.memory.open_files, 0);
                buffer_fini(&got);
            }
            stored.data[at] ^= 0x10;
        }
        buffer_fini(&stored);
    }
    cr_expect_eq(mem_live_blocks(), 0);
}
