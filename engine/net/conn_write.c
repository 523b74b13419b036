/* Sending: frames to bytes. One write at a time: frames queued while it is in progress are sent
 * together by the next one, so that many small frames cost one system call and, with TLS, few
 * records. Without TLS payloads are written from their own memory. With TLS a part of the queue is
 * encrypted per write, so that queued frames stay plain and borrowed. */
#include "engine/net/conn_internal.h"
#include "engine/net/payload.h"

#include <assert.h>
#include <string.h>

#define WRITE_BUFS     64u
#define WRITE_BYTES    MIB        /* per write without TLS; `sent` is called after it */
#define ENCRYPT_BYTES  (64 * KIB) /* per write with TLS; fits the processor's cache */
#define KEEP_BYTES     (16 * KIB) /* buffer that an idle connection keeps */
#define FRAME_BYTES(f) (FRAME_HEADER_BYTES + (f)->bytes.size)

static_assert(ENCRYPT_BYTES % TLS_RECORD_BYTES == 0, "a chunk is whole TLS records");

/* ---- Freeing frames */

/* Memory taken by a frame. For a small frame it is ten times its bytes, so limits count memory,
 * not bytes. */
static uint64_t frame_memory_bytes(const struct out_frame *f)
{
    return sizeof *f + (f->sent == NULL ? f->owned.capacity : f->bytes.size);
}

static void frame_end_and_free(struct conn *c, struct out_frame *f, bool ok)
{
    uint64_t memory = frame_memory_bytes(f);
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

/* Empties a list of the connection first, since the `sent` callbacks may queue frames. */
static void frames_end_and_free(struct conn *c, struct out_frames *list, bool ok)
{
    struct out_frames detached = STAILQ_HEAD_INITIALIZER(detached);
    STAILQ_CONCAT(&detached, list);
    for (struct out_frame *f; (f = STAILQ_FIRST(&detached)) != NULL;) {
        STAILQ_REMOVE_HEAD(&detached, next);
        frame_end_and_free(c, f, ok);
    }
}

void conn_discard_queue(struct conn *c)
{
    c->encrypted_bytes = 0;
    frames_end_and_free(c, &c->queue, false);
}

void conn_write_fini(struct conn *c)
{
    assert(c->state == CONN_CLOSED && !c->busy);
    frames_end_and_free(c, &c->writing, false);
    conn_discard_queue(c);
    assert(STAILQ_EMPTY(&c->queue)); /* a closed connection accepts no frames */
    buffer_fini(&c->encrypted);
}

/* ---- Writing */

static void on_shutdown(uv_shutdown_t *shutdown, int status)
{
    struct conn *c = shutdown->data;
    if (c->state != CONN_CLOSED && status != 0)
        conn_on_write_error(c, status, "shut down the connection");
}

/* The queue is empty. An ending connection sends FIN and waits for the peer's FIN: closing a socket
 * with unread bytes sends RST, which makes the peer lose bytes it has not read yet. */
static void on_queue_empty(struct conn *c)
{
    if (c->encrypted.capacity > KEEP_BYTES) buffer_fini(&c->encrypted);
    if (c->tls != NULL) {
        tls_take_output(c->tls, &c->encrypted); /* the output is empty; frees the memory it keeps */
        assert(c->encrypted.size == 0);
        if (c->encrypted.capacity > KEEP_BYTES) buffer_fini(&c->encrypted);
    }
    if (!c->ending || c->shut) return;
    c->shut = true;
    int r = uv_shutdown(&c->shutdown, (uv_stream_t *)&c->tcp, on_shutdown);
    if (r != 0) conn_fail_uv(c, r, "shut down the connection");
}

static void on_frames_written(uv_write_t *write, int status)
{
    struct conn *c = write->data;
    c->encrypted.size = 0;
    frames_end_and_free(c, &c->writing,
                        status == 0); /* still busy: frames they queue are sent together */
    c->busy = false;
    if (c->state == CONN_CLOSED) return;
    if (status != 0)
        conn_on_write_error(c, status, "send");
    else
        conn_flush(c);
    conn_resume_reading(c);
}

/* The next frame to send, or NULL. Before OPEN only HELLO and REJECT may be sent. */
static struct out_frame *next_frame_to_send(const struct conn *c)
{
    struct out_frame *f = STAILQ_FIRST(&c->queue);
    return f != NULL && (c->state == CONN_OPEN || f->early) ? f : NULL;
}

static void move_first_frame_to_writing(struct conn *c)
{
    struct out_frame *f = STAILQ_FIRST(&c->queue);
    STAILQ_REMOVE_HEAD(&c->queue, next);
    STAILQ_INSERT_TAIL(&c->writing, f, next);
}

static unsigned collect_plain_frames(struct conn *c, uv_buf_t bufs[WRITE_BUFS])
{
    struct out_frame *f;
    uint64_t bytes = 0;
    unsigned n = 0;
    while (bytes < WRITE_BYTES && n + 2 <= WRITE_BUFS && (f = next_frame_to_send(c)) != NULL) {
        bufs[n++] = uv_buf_init((char *)f->header, sizeof f->header);
        if (f->bytes.size > 0)
            bufs[n++] = uv_buf_init((char *)(uintptr_t)f->bytes.data, (unsigned)f->bytes.size);
        bytes += FRAME_BYTES(f);
        move_first_frame_to_writing(c);
    }
    return n;
}

/* Collects bytes so that all TLS records but the last are full. */
struct record {
    struct tls *tls;
    uint64_t fill;
    uint8_t bytes[TLS_RECORD_BYTES];
};

static int tls_record_append(struct record *r, struct glint_slice in, struct glint_error *why)
{
    int code = 0;
    while (code == 0 && in.size > 0) {
        uint64_t n;
        /* Full records are encrypted from the source without a copy. */
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

/* The next part of frame `f`, the first in the queue: at most `room` bytes of its header or its
 * payload. Returns the number of bytes. */
static uint64_t next_frame_part(struct conn *c, const struct out_frame *f, uint64_t room,
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

/* Encrypts up to ENCRYPT_BYTES of the queue; a long frame may need several calls. Returns 0 or
 * a code. */
static int encrypt_frames(struct conn *c, struct glint_error *why)
{
    struct record record;
    struct out_frame *f;
    uint64_t room = ENCRYPT_BYTES;
    int code = 0;
    record.tls = c->tls;
    record.fill = 0;
    while (code == 0 && room > 0 && (f = next_frame_to_send(c)) != NULL) {
        struct glint_slice part;
        room -= next_frame_part(c, f, room, &part);
        code = tls_record_append(&record, part, why);
        if (c->encrypted_bytes == FRAME_BYTES(f)) {
            c->encrypted_bytes = 0;
            move_first_frame_to_writing(c);
        }
    }
    if (code == 0 && record.fill > 0)
        code = tls_write(c->tls, (struct glint_slice){record.bytes, record.fill}, why);
    return code;
}

static unsigned collect_encrypted_frames(struct conn *c, uv_buf_t bufs[WRITE_BUFS],
                                         struct glint_error *why)
{
    assert(c->encrypted.size == 0);
    /* Gives the memory that was just written back for reuse. */
    tls_take_output(c->tls, &c->encrypted);
    /* TLS has no output of its own (handshake, alert, KeyUpdate): encrypt frames. */
    if (c->encrypted.size == 0) {
        if (tls_is_handshake_done(c->tls)) encrypt_frames(c, why);
        tls_take_output(c->tls, &c->encrypted); /* after a failure too: there may be an alert */
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
    if (c->net->tls != NULL && c->tls == NULL) return; /* accepted, nothing received yet */
    assert(STAILQ_EMPTY(&c->writing));
    unsigned n =
        c->tls == NULL ? collect_plain_frames(c, bufs) : collect_encrypted_frames(c, bufs, &why);
    if (n > 0) {
        for (unsigned i = 0; i < n; i++) c->net->bytes_sent += bufs[i].len;
        int r = uv_write(&c->write, (uv_stream_t *)&c->tcp, bufs, n, on_frames_written);
        c->busy = r == 0;
        if (r != 0) conn_fail_uv(c, r, "send");
    }
    /* After uv_write, which sends at once what the socket accepts: an alert tells the peer why. */
    if (why.code != GLINT_OK)
        conn_fail(c, &why);
    else if (n == 0)
        on_queue_empty(c);
}

/* ---- Queueing */

static void enqueue_frame(struct conn *c, struct out_frame *f)
{
    c->queued += frame_memory_bytes(f);
    if (f->sent == NULL) c->queued_control += frame_memory_bytes(f);
    /* Nothing may be inserted in the middle of a partly encrypted frame. */
    assert(!f->early || c->encrypted_bytes == 0);
    /* HELLO and REJECT precede frames queued before OPEN. */
    if (f->early)
        STAILQ_INSERT_HEAD(&c->queue, f, next);
    else
        STAILQ_INSERT_TAIL(&c->queue, f, next);
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
    f->bytes = buffer_slice(&f->owned);
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
        return error_set(why, GLINT_E_PROTOCOL, NULL,
                         "%s frame of %llu bytes exceeds the limit of %u", frame_type_name(type),
                         (unsigned long long)size, frame_payload_bytes_max(type));
    /* Bounds the memory for a peer that does not read. DATA is not counted: its senders limit it
     * themselves (conn_queued_bytes). */
    if (c->queued_control + memory > CONN_QUEUE_BYTES_MAX)
        return error_set(why, GLINT_E_CONNECTION,
                         "the peer's machine or the network may be overloaded",
                         "send queue full: %llu bytes that the peer does not read",
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
    /* Ownership passes on failure too. */
    if (payload != NULL) buffer_fini(payload);
    /* A lost control frame would leave the two sides with different states: fail the connection. */
    if (alive) conn_fail(c, &why);
    return false;
}

bool conn_send_encoded(struct conn *c, enum frame_type type, uint64_t request,
                       struct buffer *payload, const struct glint_error *why)
{
    if (why->code == GLINT_OK) return conn_send(c, type, request, payload);
    buffer_fini(payload);
    conn_fail(c, why);
    return false;
}

bool conn_send_payload(struct conn *c, enum frame_type type, uint64_t request,
                       const struct payload_format *format, const void *v)
{
    struct buffer payload = {NULL, 0, 0};
    struct glint_error why = {.code = GLINT_OK};
    payload_encode(format, v, &payload, &why);
    return conn_send_encoded(c, type, request, &payload, &why);
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
