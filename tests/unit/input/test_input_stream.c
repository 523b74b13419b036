/* Bytes of an input, of a file that changes while it is read. */
#include "engine/input/input_stream.h"
#include "tests/support/memory_env.h"

#include <criterion/criterion.h>

/* After the file was opened it ends just where a read begins: no byte is there, nor an error. */
Test(input_stream, read_at_the_end_of_a_truncated_file)
{
    static const uint8_t data[100] = {1};
    const struct split_piece piece = {.path = "a", .length = 100, .file_size = 100};
    struct memory_env memory;
    struct input_stream s;
    struct glint_error error = {.code = GLINT_OK};
    uint8_t out[10];
    memory_env_init(&memory, data, sizeof data);
    cr_assert_eq(input_stream_open(&s, &memory.env, &piece, 0, &error), 0, "%s", error.cause);
    cr_expect_eq(input_stream_read_at(&s, out, sizeof out, 90), 0);
    for (memory.size = 89; memory.size <= 99; memory.size++) {
        error = (struct glint_error){.code = GLINT_OK};
        cr_expect_eq(input_stream_read_at(&s, out, sizeof out, 90), GLINT_E_INPUT_CHANGED);
        cr_expect_str_eq(error.cause, "a: it was truncated");
    }
    input_stream_close(&s);
}
