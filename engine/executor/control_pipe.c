/* See control_pipe.h. Messages are rare and small: each is one allocation and one write. */
#include "engine/executor/control_pipe.h"

#include "engine/base/endian.h"
#include "engine/base/env.h"

#include <assert.h>
#include <string.h>
#include <sys/ioctl.h>

#define HEADER_BYTES     5u
#define QUEUED_BYTES_MAX (4u * CONTROL_PIPE_BYTES_MAX)
#define READ_AT_ONCE     1024u
#define IN_BYTES_MAX     (HEADER_BYTES + CONTROL_PIPE_BYTES_MAX)

struct control_pipe_write {
    uv_write_t write;
    uint8_t header[HEADER_BYTES];
    struct buffer payload;
};

void control_pipe_init(struct control_pipe *l, uv_loop_t *loop,
                       const struct control_pipe_events *events, void *arg)
{
    *l = (struct control_pipe){.events = events, .arg = arg, .open = true};
    uv_pipe_init(loop, &l->pipe, 0); /* cannot fail: opens no descriptor */
    l->pipe.data = l;
}

int control_pipe_open(struct control_pipe *l, int file)
{
    assert(l->open && file >= 0);
    int r = uv_pipe_open(&l->pipe, file);
    if (r == 0 && ioctl(file, FIOCLEX) != 0) r = UV_EBADF;
    return r;
}

/* Reports the end once; after that no message is read or sent. */
static void control_pipe_end(struct control_pipe *l)
{
    if (l->ended) return;
    l->ended = true;
    uv_read_stop((uv_stream_t *)&l->pipe);
    l->events->ended(l->arg);
}

/* Passes the complete messages in the buffer to the callback and removes them. The callback may
 * close the pipe, which stops the loop. */
static void consume_messages(struct control_pipe *l)
{
    uint64_t at = 0;
    while (!l->ended && l->open && l->in.size - at >= HEADER_BYTES) {
        const uint8_t *p = l->in.data + at;
        uint32_t size = get_le32(p);
        enum control_pipe_kind kind = p[4];
        /* Check the header first: the length limits how much of a message is buffered. */
        bool valid = size <= CONTROL_PIPE_BYTES_MAX && kind > 0 && kind < PIPE_KINDS_END;
        if (valid && l->in.size - at - HEADER_BYTES < size) break;
        if (!valid ||
            !l->events->message(l->arg, kind, (struct glint_slice){p + HEADER_BYTES, size}))
            control_pipe_end(l);
        at += HEADER_BYTES + (valid ? size : 0);
    }
    if (at == 0) return;
    assert(at <= l->in.size);
    memmove(l->in.data, l->in.data + at, l->in.size - at);
    l->in.size -= at;
}

static void on_alloc(uv_handle_t *handle, size_t suggested, uv_buf_t *out)
{
    struct control_pipe *l = handle->data;
    (void)suggested;
    assert(l->in.size < IN_BYTES_MAX);
    /* Out of memory: libuv reports UV_ENOBUFS to on_read, which ends the pipe. */
    bool room = buffer_reserve(&l->in, READ_AT_ONCE);
    *out = room ? uv_buf_init((char *)l->in.data + l->in.size, READ_AT_ONCE) : uv_buf_init(NULL, 0);
}

static void on_read(uv_stream_t *stream, ssize_t n, const uv_buf_t *buf)
{
    struct control_pipe *l = stream->data;
    (void)buf;
    if (n < 0) {
        control_pipe_end(l);
        return;
    }
    l->in.size += (uint64_t)n;
    consume_messages(l);
}

int control_pipe_read_start(struct control_pipe *l)
{
    return uv_read_start((uv_stream_t *)&l->pipe, on_alloc, on_read);
}

static void on_written(uv_write_t *write, int status)
{
    struct control_pipe_write *w = write->data;
    (void)status; /* the reader reports that the pipe has ended */
    buffer_fini(&w->payload);
    mem_free(w);
}

bool control_pipe_send(struct control_pipe *l, enum control_pipe_kind kind, struct buffer *payload)
{
    assert(kind > 0 && kind < PIPE_KINDS_END && payload->size <= CONTROL_PIPE_BYTES_MAX);
    uv_stream_t *stream = (uv_stream_t *)&l->pipe;
    struct control_pipe_write *w = NULL;
    /* A process that does not read must not make the sender run out of memory. */
    bool may = l->open && !l->ended && uv_stream_get_write_queue_size(stream) < QUEUED_BYTES_MAX;
    if (may) w = mem_zalloc(sizeof *w);
    if (w == NULL) {
        buffer_fini(payload);
        return false;
    }
    w->write.data = w;
    w->payload = *payload;
    *payload = (struct buffer){NULL, 0, 0};
    put_le32(w->header, (uint32_t)w->payload.size);
    w->header[4] = (uint8_t)kind;
    uv_buf_t bufs[] = {uv_buf_init((char *)w->header, sizeof w->header),
                       uv_buf_init((char *)w->payload.data, (unsigned)w->payload.size)};
    int r = uv_write(&w->write, stream, bufs, 2, on_written);
    if (r != 0) on_written(&w->write, r);
    return r == 0;
}

void control_pipe_write_from_signal(int file, enum control_pipe_kind kind, const char *text,
                                    size_t size)
{
    /* Static: too large for a signal handler's stack. */
    static uint8_t message[HEADER_BYTES + CONTROL_PIPE_BYTES_MAX];
    if (size > CONTROL_PIPE_BYTES_MAX) size = CONTROL_PIPE_BYTES_MAX;
    put_le32(message, (uint32_t)size);
    message[4] = (uint8_t)kind;
    memcpy(message + HEADER_BYTES, text, size);
    env_write_all(env_real(), file, message, HEADER_BYTES + size);
}

static void on_closed(uv_handle_t *handle)
{
    struct control_pipe *l = handle->data;
    buffer_fini(&l->in);
    if (l->closed != NULL) l->closed(l->arg);
}

void control_pipe_close(struct control_pipe *l, void (*closed)(void *arg))
{
    assert(l->open);
    l->open = false;
    l->ended = true;
    l->closed = closed;
    uv_close((uv_handle_t *)&l->pipe, on_closed);
}
