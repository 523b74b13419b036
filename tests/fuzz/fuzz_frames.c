/* Arbitrary bytes as a file of many frames: cut into splits of any size, it gives the same lines as
 * when it is read whole, or both end with an error. */
#include "engine/input/split.h"
#include "tests/support/memory_env.h"
#include "tests/support/naive_lines.h"

#define LINES_BYTES_MAX (1 << 20) /* a limit for decompression bombs */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Returns 0, or 1 after an error. */
static int read_lines(struct memory_env *memory, const struct input_list *input,
                      uint64_t split_bytes, struct buffer *out)
{
    const struct task_options options = {.line_bytes_max = LINE_BYTES_MAX_DEFAULT};
    struct glint_task task = {.env = &memory->env, .options = &options};
    struct splits splits = {.items = NULL};
    if (splits_make_by_bytes(&memory->env, input, split_bytes, &splits, &task.error) != 0) abort();
    int r = 0;
    for (uint32_t i = 0; r >= 0 && i < splits.count && out->size < LINES_BYTES_MAX; i++) {
        struct line_reader l;
        struct glint_batch batch;
        r = line_reader_open(&l, &task, &splits.items[i]);
        while (r >= 0 && out->size < LINES_BYTES_MAX && (r = line_reader_next(&l, &batch)) > 0)
            for (uint32_t row = 0; row < batch.rows; row++) {
                const struct glint_slice line = glint_column_slice(&batch.value, row);
                line_list_add(out, line.data, line.size);
            }
        line_reader_close(&l);
    }
    if (r < 0 && task.error.code == GLINT_OK) abort();
    splits_fini(&splits);
    return r < 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 4) return 0;
    struct memory_env memory;
    memory_env_init(&memory, data + 2, size - 2);
    struct input_file file = {.path = "fuzz",
                              .size = memory.size,
                              .compression =
                                  data[0] % 2 == 0 ? COMPRESSION_GZIP : COMPRESSION_ZSTD};
    const struct input_list input = {
        .files = &file, .count = 1, .bytes = file.size, .header = data[0] >= 128};
    struct buffer whole = {NULL, 0, 0}, cut = {NULL, 0, 0};
    const int a = read_lines(&memory, &input, memory.size, &whole);
    const int b = read_lines(&memory, &input, 1 + data[1], &cut);
    if (whole.size < LINES_BYTES_MAX && cut.size < LINES_BYTES_MAX) {
        if (a != b) abort();
        if (a == 0 && (whole.size != cut.size ||
                       (cut.size > 0 && memcmp(whole.data, cut.data, cut.size) != 0)))
            abort();
    }
    buffer_fini(&whole);
    buffer_fini(&cut);
    if (mem_live_blocks() != 0 || memory.open_files != 0) abort();
    return 0;
}
