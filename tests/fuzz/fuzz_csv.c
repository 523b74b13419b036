/* Arbitrary bytes as CSV, cut into splits of any size, give the same records; a record that is
 * valid is the same row after it was written and read again. */
#include "engine/input/csv.h"
#include "engine/input/format.h"
#include "engine/input/split.h"
#include "tests/support/memory_env.h"
#include "tests/support/naive_lines.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_record(const uint8_t *record, uint64_t size, uint8_t delimiter)
{
    const struct glint_slice nulls = {(const uint8_t *)"0\\N", 3};
    uint8_t *plain = malloc(2 * size + 1), *again = malloc(2 * (2 * size + 2) + 1);
    uint64_t plain_size = 0, again_size = 0;
    struct buffer written = {NULL, 0, 0};
    if (plain == NULL || again == NULL) abort();
    if (csv_to_row(record, size, delimiter, nulls, plain, &plain_size) == NULL) {
        if (plain_size > 2 * size) abort();
        const char *problem = csv_to_row_as_is(record, size, delimiter, nulls, again, &again_size);
        if (problem != NULL && problem != csv_needs_escape) abort();
        if (problem == NULL && (again_size > size || again_size != plain_size ||
                                memcmp(plain, again, plain_size) != 0))
            abort();
        if (!csv_append_row(&written, (struct glint_slice){plain, plain_size}, delimiter, nulls))
            abort();
        struct csv_scan scan = csv_scan_begin(delimiter);
        const uint8_t *text = written.size > 0 ? written.data : (const uint8_t *)"";
        if (written.size > 2 * size + 2) abort();
        if (csv_find_row_end(text, text + written.size, &scan) != NULL || scan.open) abort();
        if (csv_to_row(text, written.size, delimiter, nulls, again, &again_size) != NULL) abort();
        if (again_size != plain_size || memcmp(plain, again, plain_size) != 0) abort();
    }
    buffer_fini(&written);
    free(plain);
    free(again);
}

/* Whether an error is one of what is read: of a header that is empty or no record, or of lines that
 * end in CR alone. */
static bool error_is_right(int code, const struct memory_env *memory,
                           const struct input_list *input)
{
    if (input->header && (code == GLINT_E_BAD_ROW || code == GLINT_E_INPUT_FORMAT)) return true;
    const uint64_t mark = byte_order_mark_size(memory->data, memory->size);
    return code == GLINT_E_INPUT_FORMAT &&
           csv_has_cr(memory->data + mark, memory->size - mark, input->csv);
}

/* Returns 0, or the code of an error. */
static int read_records(const struct memory_env *memory, const struct input_list *input,
                        uint64_t split_bytes, struct buffer *out)
{
    const struct task_options options = {.line_bytes_max = LINE_BYTES_MAX_DEFAULT};
    struct env *env = (struct env *)(uintptr_t)&memory->env;
    struct glint_task task = {.env = env, .options = &options};
    struct splits splits = {.items = NULL};
    if (splits_make_by_bytes(env, input, split_bytes, &splits, &task.error) != 0) abort();
    int r = 0;
    for (uint32_t i = 0; i < splits.count && r == 0; i++)
        r = read_split(&task, &splits.items[i], NULL, memory->data, out);
    if (r != 0 && !error_is_right(r, memory, input)) abort();
    if (r != 0) out->size = 0;
    if (r == 0 && task.counters.values[COUNT_BYTES_READ] != (int64_t)memory->size) abort();
    splits_fini(&splits);
    return r;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 4) return 0;
    struct memory_env memory;
    memory_env_init(&memory, data + 2, size - 2);
    struct input_file file = {.path = "fuzz", .size = memory.size};
    const struct input_list input = {.files = &file,
                                     .count = 1,
                                     .bytes = file.size,
                                     .header = data[0] >= 128,
                                     .csv = data[0] % 2 == 0 ? ',' : ';'};
    struct buffer whole = {NULL, 0, 0}, cut = {NULL, 0, 0};
    const int r = read_records(&memory, &input, 2 * memory.size, &whole);
    if (read_records(&memory, &input, 1 + size / 256 + data[1], &cut) != r) abort();
    if (whole.size != cut.size || (cut.size > 0 && memcmp(whole.data, cut.data, cut.size) != 0))
        abort();
    for (uint64_t at = 0; at < whole.size;) {
        uint64_t record = 0;
        memcpy(&record, whole.data + at, sizeof record);
        check_record(whole.data + at + sizeof record, record, input.csv);
        at += sizeof record + record;
    }
    buffer_fini(&whole);
    buffer_fini(&cut);
    if (mem_live_blocks() != 0 || memory.open_files != 0) abort();
    return 0;
}
