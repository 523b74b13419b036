/* Line numbers are not counted while lines are read, since a task does not know how many lines
 * precede its split. For an error the file is read again. */
#include "engine/input/line_reader.h"

#include <assert.h>

#define BLOCK_BYTES (64 * KIB)

/* Counts up to `offset` after the frames before the piece, if the piece is a range of frames. */
static int64_t count_lines_before(struct input_stream *s, uint64_t offset)
{
    const bool frames = s->piece->frames_end > 0;
    int64_t number = 1;
    uint8_t *block = mem_alloc(BLOCK_BYTES);
    if (block == NULL) return -1;
    while (number > 0) {
        uint64_t left = BLOCK_BYTES;
        const bool known = !frames || s->past_frames;
        if (known) left = s->frames_bytes + offset - s->at;
        if (left == 0) break;
        const int64_t n = input_stream_read(s, block, left < BLOCK_BYTES ? left : BLOCK_BYTES);
        for (int64_t i = 0; i < n; i++) number += block[i] == '\n';
        if (n < 0 || s->ended) number = known && n == (int64_t)left ? number : -1;
        if (s->ended) break;
    }
    mem_free(block);
    return number;
}

int64_t line_number_at(struct env *env, const struct glint_origin *o, uint64_t offset)
{
    struct env_stat now;
    const char *stored = o->piece != NULL ? o->piece->stored : NULL;
    if (o->piece != NULL && o->piece->remote != NULL) return -1; /* not sent a second time */
    if (env->stat(env, stored != NULL ? stored : o->path, &now) < 0) return -1;
    const struct split_piece whole = {.path = o->path,
                                      .stored = stored,
                                      .length = SPLIT_TO_END,
                                      .file_size = now.size,
                                      .mtime_ns = now.mtime_ns,
                                      .frames_end = o->frames_start,
                                      .compression = (enum compression)o->compression};
    struct glint_error ignored = {.code = GLINT_OK};
    struct input_stream s;
    int64_t number = input_stream_open(&s, env, &whole, 0, &ignored);
    if (number == 0) number = count_lines_before(&s, o->offset + offset);
    input_stream_close(&s);
    return number > 0 ? number : -1;
}
