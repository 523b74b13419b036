/* Line numbers are not counted while lines are read, since a task does not know how many lines
 * precede its split. For an error the file is read again. */
#include "engine/data/line_reader.h"

#include <assert.h>

#define BLOCK_BYTES (64 * KIB)

static int64_t count_lines_before(struct input_stream *s, uint64_t offset)
{
    int64_t number = 1;
    uint8_t *block = mem_alloc(BLOCK_BYTES);
    if (block == NULL) return -1;
    while (number > 0 && s->at < offset) {
        const uint64_t left = offset - s->at;
        const int64_t n = input_stream_read(s, block, left < BLOCK_BYTES ? left : BLOCK_BYTES);
        for (int64_t i = 0; i < n; i++) number += block[i] == '\n';
        if (n <= 0) number = -1;
    }
    mem_free(block);
    return number;
}

int64_t line_number_at(struct env *env, const char *path, bool compressed, uint64_t offset)
{
    struct env_stat now;
    if (env->stat(env, path, &now) < 0) return -1;
    const struct split_piece whole = {.path = path,
                                      .length = SPLIT_TO_END,
                                      .file_size = now.size,
                                      .mtime_ns = now.mtime_ns,
                                      .gzip = compressed};
    struct glint_error ignored = {.code = GLINT_OK};
    struct input_stream s;
    int64_t number = input_stream_open(&s, env, &whole, 0, &ignored);
    if (number == 0) number = count_lines_before(&s, offset);
    input_stream_close(&s);
    return number > 0 ? number : -1;
}
