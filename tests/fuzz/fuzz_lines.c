/* Arbitrary bytes, cut into splits of any size, with or without a header, give the lines of a naive
 * splitter, with every SIMD variant. */
#include "engine/input/split.h"
#include "tests/support/memory_env.h"
#include "tests/support/naive_lines.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 4) return 0;
    /* At most a few hundred splits, since each has its own buffer. */
    const uint64_t split_bytes = 1 + size / 256 + (data[0] | (uint64_t)(data[1] & 0x0f) << 8);
    const newlines_index index =
        newlines_index_for_level((enum newlines_level)(data[2] % NEWLINES_LEVELS));
    struct memory_env memory;
    memory_env_init(&memory, data + 4, size - 4);
    memory.read_max = data[3];
    struct input_file file = {.path = "fuzz", .size = memory.size};
    const bool header = data[2] >= 128;
    const struct input_list input = {
        .files = &file, .count = 1, .bytes = file.size, .header = header};
    const struct task_options options = {.line_bytes_max = LINE_BYTES_MAX_DEFAULT};
    struct glint_task task = {.env = &memory.env, .options = &options};
    struct splits splits = {.items = NULL};
    struct buffer got = {NULL, 0, 0}, wanted = {NULL, 0, 0};
    if (splits_make_by_bytes(NULL, &input, split_bytes, &splits, &task.error) != 0) abort();
    int r = 0;
    for (uint32_t i = 0; i < splits.count && r == 0; i++)
        r = read_split(&task, &splits.items[i], index, memory.data, &got);
    naive_lines(memory.data, memory.size, &wanted);
    const bool empty_header = header && line_list_begins_empty(&wanted);
    if (r != (empty_header ? GLINT_E_INPUT_FORMAT : 0)) abort();
    if (header) line_list_drop_first(&wanted);
    if (r == 0 && got.size != wanted.size) abort();
    if (r == 0 && got.size > 0 && memcmp(got.data, wanted.data, got.size) != 0) abort();
    if (r == 0 && task.counters.values[COUNT_BYTES_READ] != (int64_t)memory.size) abort();
    buffer_fini(&got);
    buffer_fini(&wanted);
    splits_fini(&splits);
    if (mem_live_blocks() != 0) abort();
    return 0;
}
