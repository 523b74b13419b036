/* Decompresses bytes in memory in small steps, for tests of readers and writers. */
#ifndef TESTS_SUPPORT_DECOMPRESS_H
#define TESTS_SUPPORT_DECOMPRESS_H

#include "engine/input/decompress.h"
#include "tests/support/memory_env.h"

#include <criterion/criterion.h>

/* Reads at most `in_step` bytes at once (0: any number). Returns 0 or a code. */
static inline int decompress_by_steps(enum compression format, const struct buffer *in,
                                      uint64_t in_step, uint64_t out_step, struct buffer *out,
                                      struct glint_error *error)
{
    struct memory_env memory;
    memory_env_init(&memory, in->data, in->size);
    memory.read_max = in_step;
    const struct input_source source = {.env = &memory.env, .file = 3, .path = "x"};
    *error = (struct glint_error){.code = GLINT_OK};
    struct decompressor *z = decompressor_create(&source, format, 0, 0);
    cr_assert_not_null(z);
    int64_t n;
    do {
        cr_assert(buffer_reserve(out, out_step));
        n = decompressor_read(z, out->data + out->size, out_step, error);
        cr_assert(n <= (int64_t)out_step);
        if (n > 0) out->size += (uint64_t)n;
    } while (n == (int64_t)out_step);
    if (n >= 0) cr_assert_eq(decompressor_offset(z), in->size);
    cr_assert_eq(error->code, n < 0 ? n : 0);
    decompressor_destroy(z);
    return error->code;
}

#endif
