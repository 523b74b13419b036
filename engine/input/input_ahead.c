/* See input_ahead.h. What goes wrong here has no consequence: the read asks again. */
#include "engine/input/input_ahead.h"

#include "engine/input/remote_reader.h"
#include "engine/input/remote_transfer.h"

#include <assert.h>

/* Its response fits the buffer of a transfer, so the connection does not wait for the task. */
static bool is_small_object(const struct split_piece *piece)
{
    return piece->remote != NULL && piece->offset == 0 && piece->frames_end == 0 &&
           piece->file_size > 0 && piece->file_size <= REMOTE_SMALL_BYTES_MAX &&
           piece->length >= piece->file_size;
}

/* The bytes to ask for; 0: none. */
static uint64_t bytes_ahead(const struct input_ahead *a, const struct split_piece *piece)
{
    if (is_small_object(piece) && (a->head_bytes == 0 || piece->file_size < a->head_bytes))
        return piece->file_size;
    return piece->remote != NULL && piece->remote->ranges ? a->head_bytes : 0;
}

/* Returns whether the next piece may be started, too. */
static bool start(struct input_ahead *a, struct env *env, int cancelled, uint32_t index)
{
    const struct split_piece *piece = &a->split->pieces[index];
    struct remote_reader **place = &a->readers[index % REMOTE_AHEAD_MAX];
    assert(*place == NULL);
    const uint64_t size = bytes_ahead(a, piece);
    if (size == 0) return true;
    const char *url = piece->stored != NULL ? piece->stored : piece->path;
    struct remote_reader *r = remote_reader_create(env, url, piece->path);
    if (r == NULL) return false;
    remote_reader_expect(r, piece->remote, size);
    if (cancelled > 0) remote_reader_end_waits_on(r, cancelled);
    if (!remote_reader_start(r, a->group, size)) {
        remote_reader_destroy(r);
        return false;
    }
    *place = r;
    return true;
}

struct remote_reader *input_ahead_take(struct input_ahead *a, struct env *env, int cancelled,
                                       uint32_t index)
{
    struct glint_error ignored = {.code = GLINT_OK};
    if (a->split->count == 1 || bytes_ahead(a, &a->split->pieces[index]) == 0) return NULL;
    if (a->group == NULL) a->group = remote_group_open(&ignored);
    if (a->group == NULL) return NULL;
    if (a->next < index) a->next = index;
    while (a->next < a->split->count && a->next - index < REMOTE_AHEAD_MAX &&
           start(a, env, cancelled, a->next))
        a->next++;
    struct remote_reader *r = a->readers[index % REMOTE_AHEAD_MAX];
    a->readers[index % REMOTE_AHEAD_MAX] = NULL;
    return r;
}

void input_ahead_close(struct input_ahead *a)
{
    for (uint32_t i = 0; i < REMOTE_AHEAD_MAX; i++) {
        remote_reader_destroy(a->readers[i]);
        a->readers[i] = NULL;
    }
    remote_group_close(a->group);
    a->group = NULL;
}
