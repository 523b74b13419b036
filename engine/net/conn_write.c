/* Frames out. While a write is under way the next frames gather, and go together: a loop's turn of
 * small frames is one system call and, through TLS, few records. Without TLS payloads go to the
 * socket from where they are; with it they are encrypted a part at a time, so that what waits is
 * plain, and borrowed. */
#include "engine/net/conn_internal.h"

#include <assert.h>
#include <string.h>

#define WRITE_BUFS     64u
#define WRITE_BYTES    MIB        /* without TLS: then `sent` is told */
#define ENCRYPT_BYTES  (64 * KIB) /* at a time: it stays in the processor's cache */
#define KEEP_BYTES     (16 * KIB) /* of an idle connection's buffer */
#define FRAME_BYTES(f) (FRAME_HEADER_BYTES + (f)->bytes.size)

static_assert(ENCRYPT_BYTES % TLS_RECORD_BYTES == 0, "whole records");

/* ---- The end of frames */

/* The memory that a frame holds, which for a small one is ten times its bytes. */
static uint64_t frame_memory(const struct out_frame *f)
{
    return sizeof *f + (f->sent == NULL ? f->owned.capacity : f->bytes.size);
}

static void frame_free(struct conn *c, struct out_frame *f, bool ok)
{
    uint64_t memory = frame_memory(f);
    assert(c->queued >= memory);
    c->queued -= memory;
    if (f->sent == NULL) {
        assert(c->queued_control >= memory);
        c->queued_control -= memory;
    } else {
        f->sent(f->arg, ok);
    }
    buffer_fini(&f->owned);
    mem_free(f);
}

/* All of a list that no longer belongs to anybody; the callbacks may send again. */
static void frames_free(struct conn *c, struct out_frame *f, bool ok)
{
    for (struct out_frame *next; f != NULL; f = next) {
        next = f->next;
        frame_free(c, f, ok);
    }
}

void conn_discard_queue(struct conn *c)
{
    struct out_frame *waiting = c->first;
    c->first = c->last = NULL;
    c->encrypted_bytes = 0;
    frames_free(c, waiting, false);
}

void conn_write_fini(struct conn *c)
{
    struct out_frame *writing = c->writing;
    assert(c->state == CONN_CLOSED && !c->busy);
    c->writing = NULL;
    frames_free(c, writing, false);
    conn_discard_queue(c);
    assert(c->first == NULL); /* what has ended takes no more */
    buffer_fini(&c->encrypted);
}

/* ---- Writing */

static void on_shutdown(uv_shutdown_t *shutdown, int status)
{
    struct conn *c = shutdown->data;
    if (c->state != CONN_CLOSED && status != 0)
        conn_on_write_error(c, status, "end the connection");
}

/* All is sent. What ends says so by a FIN and waits for the other side's, since closing a socket
 * with unread bytes would take back what has just been sent. */
static void write_idle(struct conn *c)
{
    if (c->encrypted.capacity > KEEP_BYTES) buffer_fini(&c->encrypted);
    if (c->tls != NULL) {
        tls_take_output(c->tls, &c->encrypted); /* its memory, if it has some */
        assert(c->encrypted.size == 0);
        if (c->encrypted.capacity > KEEP_BYTES) buffer_fini(&c->encrypted);
    }
    if (!c->ending || c->shut) return;
    c->shut = true;
    int r = uv_shutdown(&c->shutdown, (uv_stream_t *)&c->tcp, on_shutdown);
    if (r != 0) conn_fail_uv(c, r, "end the connection");
}

static void on_written(uv_write_t *write, int status)
{
    struct conn *c = write->data;
    struct out_frame *written = c->writing;
    c->writing = NULL;
    c->encrypted.size = 0;
    frames_free(c, written, status == 0); /* still busy: what they send gathers */
    c->busy = false;
    if (c->state == CONN_CLOSED) return;
    if (status != 0)
        conn_on_write_error(c, status, "send");
    else
        conn_flush(c);
    conn_resume_reading(c);
}

/* The frame that is to go next: before OPEN only what the handshake says. */
static struct out_frame *next_frame(const struct conn *c)
{
    return c->first != NULL && (c->state == CONN_OPEN || c->first->early) ? c->first : NULL;
}

static void move_to_writing(struct conn *c, struct out_frame ***end)
{
    struct out_frame *f = c->first;
    c->first = f->next;
    if (c->first == NULL) c->last = NULL;
    f->next = NULL;
    **end = f;
    *end = &f->next;
}

static unsigned collect_plain(struct conn *c, uv_buf_t bufs[WRITE_BUFS])
{
    struct out_frame **end = &c->writing, *f;
    uint64_t bytes = 0;
    unsigned n = 0;
    while (bytes < WRITE_BYTES && n + 2 <= WRITE_BUFS && (f = next_frame(c)) != NULL) {
        bufs[n++] = uv_buf_init((char *)f->header, sizeof f->header);
        if (f->bytes.size > 0)
            bufs[n++] = uv_buf_init((char *)(uintptr_t)f->bytes.data, (unsigned)f->bytes.size);
        bytes += FRAME_BYTES(f);
        move_to_writing(c, &end);
    }
    return n;
}

/* Bytes on their way into records that are full, but for the last one. */
struct record {
    struct tls *tls;
    uint64_t fill;
    uint8_t bytes[TLS_RECORD_BYTES];
};

static int record_append(struct record *r, struct glint_slice in, struct glint_error *why)
{
    int code = 0;
    while (code == 0 && in.size > 0) {
        uint64_t n;
        if (r->fill == 0 && in.size >= sizeof r->bytes) {
            n = in.size - in.size % sizeof r->bytes;
            code = tls_write(r->tls, (struct glint_slice){in.data, n}, why);
        } else {
            n = sizeof r->bytes - r->fill < in.size ? sizeof r->bytes - r->fill : in.size;
            memcpy(r->bytes + r->fill, in.data, n);
            r->fill += n;
        }
        if (code == 0 && r->fill == sizeof r->bytes) {
            code = tls_write(r->tls, (struct glint_slice){r->bytes, r->fill}, why);
            r->fill = 0;
        }
        in.data += n;
        in.size -= n;
    }
    return code;
}

/* Of `first`, whatever is left of it, at most `room` bytes; answers how many. */
static uint64_t next_part(struct conn *c, const struct out_frame *f, uint64_t room,
                          struct glint_slice *out)
{
    if (c->encrypted_bytes < FRAME_HEADER_BYTES) {
        *out = (struct glint_slice){f->header + c->encrypted_bytes,
                                    FRAME_HEADER_BYTES - c->encrypted_bytes};
    } else {
        uint64_t at = c->encrypted_bytes - FRAME_HEADER_BYTES;
        *out = (struct glint_slice){f->bytes.data + at, f->bytes.size - at};
    }
    if (out->size > room) out->size = room;
    c->encrypted_bytes += out->size;
    return out->size;
}

/* 0 or a code. */
static int encrypt_frames(struct conn *c, struct glint_error *why)
{
    struct record record;
    struct out_frame **end = &c->writing, *f;
    uint64_t room = ENCRYPT_BYTES;
    int code = 0;
    record.tls = c->tls;
    record.fill = 0;
    while (code == 0 && room > 0 && (f = next_frame(c)) != NULL) {
        struct glint_slice part;
        room -= next_part(c, f, room, &part);
        code = record_append(&record, part, why);
        if (c->encrypted_bytes == FRAME_BYTES(f)) {
            c->encrypted_bytes = 0;
            move_to_writing(c, &end);
        }
    }
    if (code == 0 && record.fill > 0)
        code = tls_write(c->tls, (struct glint_slice){record.bytes, record.fill}, why);
    return code;
}

static unsigned collect_encrypted(struct conn *c, uv_buf_t bufs[WRITE_BUFS],
                                  struct glint_error *why)
{
    assert(c->encrypted.size == 0);
    tls_take_output(c->tls,
                    &c->encrypted); /* so that the memory that was just sent is used again */
    if (c->encrypted.size == 0) {
        if (tls_is_handshake_done(c->tls)) encrypt_frames(c, why);
        tls_take_output(c->tls, &c->encrypted); /* after a failure too: an alert */
    }
    if (c->encrypted.size == 0) return 0;
    bufs[0] = uv_buf_init((char *)c->encrypted.data, (unsigned)c->encrypted.size);
    return 1;
}

void conn_flush(struct conn *c)
{
    struct glint_error why = {.code = GLINT_OK};
    uv_buf_t bufs[WRITE_BUFS];
    if (c->busy || c->corked || c->broken || c->shut) return;
    if (c->state == CONN_CLOSED || c->state == CONN_DIALLING) return;
    if (c->net->tls != NULL && c->tls == NULL) return; /* it has yet to say something */
    assert(c->writing == NULL);
    unsigned n = c->tls == NULL ? collect_plain(c, bufs) : collect_encrypted(c, bufs, &why);
    if (n > 0) {
        for (unsigned i = 0; i < n; i++) c->net->bytes_sent += bufs[i].len;
        int r = uv_write(&c->write, (uv_stream_t *)&c->tcp, bufs, n, on_written);
        c->busy = r == 0;
        if (r != 0) conn_fail_uv(c, r, "send");
    }
    if (why.code != GLINT_OK)
        conn_fail(c, &why);
    else if (n == 0)
        write_idle(c);
}

/* ---- Queueing */

static void enqueue_frame(struct conn *c, struct out_frame *f)
{
    c->queued += frame_memory(f);
    if (f->sent == NULL) c->queued_control += frame_memory(f);
    assert(!f->early || c->encrypted_bytes == 0);
    f->next = f->early ? c->first : NULL;
    if (c->first == NULL || f->early)
        c->first = f;
    else
        c->last->next = f;
    if (f->next == NULL) c->last = f;
}

bool conn_enqueue(struct conn *c, enum frame_type type, uint64_t request, struct buffer *payload)
{
    struct out_frame *f = mem_alloc(sizeof *f);
    if (f == NULL) return false;
    *f = (struct out_frame){.early = type == FRAME_HELLO || type == FRAME_REJECT};
    assert(type != FRAME_DATA);
    if (payload != NULL) {
        f->owned = *payload;
        *payload = (struct buffer){NULL, 0, 0};
    }
    f->bytes = (struct glint_slice){f->owned.data, f->owned.size};
    uint32_t size = (uint32_t)f->bytes.size;
    frame_encode(&(struct frame){type, size, size, request}, f->bytes.data, f->header);
    enqueue_frame(c, f);
    return true;
}

static bool accepts_frames(const struct conn *c)
{
    return c->state != CONN_CLOSED && !c->ending && !c->broken;
}

static int check_send_limits(const struct conn *c, enum frame_type type,
                             const struct buffer *payload, struct glint_error *why)
{
    uint64_t size = payload != NULL ? payload->size : 0;
    uint64_t memory = sizeof(struct out_frame) + (payload != NULL ? payload->capacity : 0);
    if (size > frame_payload_bytes_max(type))
        return error_set(why, GLINT_E_PROTOCOL, NULL, "a %s frame of %llu bytes, at most %u",
                         frame_type_name(type), (unsigned long long)size,
                         frame_payload_bytes_max(type));
    if (c->queued_control + memory > CONN_QUEUE_BYTES_MAX)
        return error_set(why, GLINT_E_CONNECTION, "its machine or the network may be overloaded",
                         "the other side does not read: %llu bytes wait for it",
                         (unsigned long long)c->queued_control);
    return 0;
}

bool conn_send(struct conn *c, enum frame_type type, uint64_t request, struct buffer *payload)
{
    struct glint_error why = {.code = GLINT_OK};
    bool alive = accepts_frames(c);
    if (alive && check_send_limits(c, type, payload, &why) == 0) {
        if (conn_enqueue(c, type, request, payload)) {
            conn_flush(c);
            return true;
        }
        error_no_memory(&why);
    }
    if (payload != NULL) buffer_fini(payload);
    if (alive) conn_fail(c, &why);
    return false;
}

bool conn_send_data(struct conn *c, uint64_t request, struct glint_slice bytes,
                    void (*sent)(void *arg, bool ok), void *arg)
{
    struct glint_error why = {.code = GLINT_OK};
    assert(sent != NULL && bytes.size <= DATA_FRAME_BYTES_MAX);
    if (!accepts_frames(c)) return false;
    struct out_frame *f = mem_alloc(sizeof *f);
    if (f == NULL) {
        error_no_memory(&why);
        conn_fail(c, &why);
        return false;
    }
    *f = (struct out_frame){.bytes = bytes, .sent = sent, .arg = arg};
    frame_encode(&(struct frame){FRAME_DATA, (uint32_t)bytes.size, 0, request}, NULL, f->header);
    enqueue_frame(c, f);
    conn_flush(c);
    return true;
}
