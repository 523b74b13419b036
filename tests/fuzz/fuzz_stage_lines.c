/* Arbitrary bytes as the result lines of a stage: either rejected, or the result of each task. A
 * field that is accepted is the same after a round trip. As pairs of raw bytes they are rejected,
 * or are all of the input. */
#include "engine/foreign/stage_file.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { TASKS = 2 };

static void check_results(const uint8_t *data, size_t size)
{
    struct line_input in = {.name = "fuzz", .ended = true};
    struct stage_results results = {.tasks = 0};
    struct glint_error error = {.code = GLINT_OK};
    in.bytes = (struct buffer){(uint8_t *)(uintptr_t)data, size, size};
    const int r = stage_results_read(&results, &in, 1, TASKS, NULL, 0, NULL, &error);
    assert(r == error.code && (r == 0 || r == GLINT_E_STAGE_LINES));
    stage_results_fini(&results);
}

static void check_pairs(const uint8_t *data, size_t size)
{
    struct line_input in = {.name = "fuzz", .raw = true, .ended = true};
    struct glint_error error = {.code = GLINT_OK};
    struct glint_slice pair, key;
    uint64_t read = 0;
    int r;
    in.bytes = (struct buffer){(uint8_t *)(uintptr_t)data, size, size};
    while ((r = line_input_next(&in, &pair, &error)) > 0) {
        assert(line_input_take_key(&in, &pair, &key));
        assert(key.data == data + read + 4 && pair.data == key.data + key.size + 4);
        read += 8 + key.size + pair.size;
        assert(read <= size);
    }
    assert(r == error.code && (r == 0 ? read == size : r == GLINT_E_STAGE_LINES));
}

static void check_field(struct glint_slice field)
{
    struct buffer bytes = {NULL, 0, 0}, text = {NULL, 0, 0}, again = {NULL, 0, 0};
    struct glint_error error = {.code = GLINT_OK};
    if (stage_text_parse(field, &bytes, &error) == 0) {
        if (!stage_text_append(&text, (struct glint_slice){bytes.data, bytes.size})) abort();
        const struct glint_slice written = {text.data, text.size};
        if (stage_text_parse(written, &again, &error) != 0) abort();
        assert(again.size == bytes.size);
        assert(bytes.size == 0 || memcmp(again.data, bytes.data, bytes.size) == 0);
    }
    buffer_fini(&bytes);
    buffer_fini(&text);
    buffer_fini(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    check_results(data, size);
    check_pairs(data, size);
    check_field((struct glint_slice){data, size});
    assert(mem_live_blocks() == 0);
    return 0;
}
