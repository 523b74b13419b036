/* Receiving: bytes to frames. The socket is read to a per-thread buffer, and frames are parsed in
 * it without a copy. Most bytes of a long DATA frame are read, or decrypted, directly to the buffer
 * that the owner of the connection provides. */
#include "engine/net/conn_internal.h"
#include "engine/net/wire.h"

#include <assert.h>
#include <string.h>

#define READ_BYTES                (256 * KIB)
#define READ_SHORT_BYTES          (4 * KIB)  /* a header; the payload after it is read in place */
#define IN_PLACE_BYTES            (64 * KIB) /* shorter payloads are copied: fewer system calls */
#define KEEP_BYTES                (64 * KIB) /* keep the payload buffer up to this size */
#define UNAUTHENTICATED_BYTES_MAX HELLO_BYTES_MAX /* limit of a TLS handshake */
#define MAGIC_BYTES               4u
#define TLS_REPLY_BYTES_MAX       (64 * KIB) /* responses of TLS that a peer does not read */

/* What the connections of a thread share. */
struct read_buffers {
    _Alignas(64) uint8_t read[READ_BYTES + READ_SLACK];
    _Alignas(64) uint8_t plain[TLS_RECORD_BYTES + READ_SLACK]; /* decrypted */
};

/* Allocated at the first use, since most threads have no connections. */
static struct read_buffers *thread_read_buffers(void)
{
    return mem_block_of_thread(sizeof(struct read_buffers));
}

/* Closed, or closing gracefully: discard received bytes. */
static bool conn_discards_input(const struct conn *c)
{
    return c->state == CONN_CLOSED || c->ending;
}

static bool is_reading_payload(const struct conn *c)
{
    return c->header_fill == FRAME_HEADER_BYTES;
}

/* ---- Frames */

static void prepare_for_next_frame(struct conn *c)
{
    c->header_fill = 0;
    c->fill = 0;
    c->data_buffer = NULL;
    if (c->payload.capacity > KEEP_BYTES) buffer_fini(&c->payload);
    c->payload.size = 0;
}

static int on_ping(struct conn *c, struct glint_slice bytes, struct glint_error *error)
{
    struct ping ping;
    int r = ping_decode(bytes, &ping, error);
    if (r == 0 && c->events->ping != NULL) c->events->ping(c->arg, &ping);
    return r;
}

/* A control frame is complete; its checksum is not verified yet. `payload` is borrowed, in a read
 * buffer or in c->payload. */
static void on_control_frame_complete(struct conn *c, const uint8_t *payload)
{
    struct glint_error why = {.code = GLINT_OK};
    struct frame f = c->frame;
    struct glint_slice bytes = {payload, f.length};
    int r = frame_verify_checksum(c->header, &f, payload, &why);
    if (r == 0 && c->state == CONN_HANDSHAKE)
        conn_on_handshake_frame(c, f.type, bytes);
    else if (r == 0 && f.type == FRAME_REJECT)
        reject_decode(bytes, &why);
    else if (r == 0 && f.type == FRAME_PING && (c->has_heartbeat || c->events->ping != NULL))
        r = on_ping(c, bytes, &why);
    else if (r == 0)
        r = c->events->frame(c->arg, c, &f, bytes, &why);
    assert(r == 0 || why.code != GLINT_OK);
    prepare_for_next_frame(c);
    if (why.code != GLINT_OK) conn_fail(c, &why);
}

static void on_data_frame_complete(struct conn *c)
{
    struct frame f = c->frame;
    bool wanted = c->data_buffer != NULL;
    /* Another long DATA frame is likely next. Reading only its header now lets its payload go to
     * its buffer directly. */
    c->short_read = f.length >= IN_PLACE_BYTES;
    prepare_for_next_frame(c);
    if (wanted && c->events->data != NULL) c->events->data(c->arg, c, &f);
}

static void on_data_frame_header(struct conn *c)
{
    struct glint_error why = {.code = GLINT_OK};
    struct frame f = c->frame;
    if (frame_verify_checksum(c->header, &f, NULL, &why) != 0) {
        conn_fail(c, &why);
        return;
    }
    /* This side sent no request on this connection. */
    if (c->events->buffer_for == NULL) {
        error_set(&why, GLINT_E_PROTOCOL, NULL, "unsolicited DATA frame");
        conn_fail(c, &why);
        return;
    }
    c->data_buffer = c->events->buffer_for(c->arg, c, &f);
    if (f.length == 0 && !conn_discards_input(c)) on_data_frame_complete(c);
}

static void on_header_complete(struct conn *c)
{
    struct glint_error why = {.code = GLINT_OK};
    assert(c->fill == 0 && c->data_buffer == NULL && c->payload.size == 0);
    c->short_read = false;
    conn_on_any_bytes(c);
    if (frame_decode(c->header, &c->expected, &c->frame, &why) != 0)
        conn_fail(c, &why);
    else if (c->frame.type == FRAME_DATA)
        on_data_frame_header(c);
    else if (c->frame.length == 0)
        on_control_frame_complete(c, NULL);
}

/* Detects another protocol (HTTP, SSH, TLS) from the first bytes. A client of another protocol may
 * wait for a response before it has sent as many bytes as a frame header. */
static void check_frame_magic(struct conn *c)
{
    struct glint_error why = {.code = GLINT_OK};
    struct frame ignored;
    static const uint8_t magic[MAGIC_BYTES] = {'G', 'L', 'N', 'T'};
    if (c->state != CONN_HANDSHAKE || c->header_fill < MAGIC_BYTES) return;
    if (memcmp(c->header, magic, sizeof magic) == 0) return;
    memset(c->header + c->header_fill, 0, FRAME_HEADER_BYTES - c->header_fill);
    frame_decode(c->header, &frames_before_hello, &ignored, &why);
    conn_fail(c, &why);
}

/* `n` more bytes of the payload are at their destination. */
static void payload_advance(struct conn *c, uint64_t n)
{
    c->fill += n;
    assert(c->fill <= c->frame.length);
    conn_on_any_bytes(c);
    if (c->fill < c->frame.length) return;
    if (c->frame.type == FRAME_DATA)
        on_data_frame_complete(c);
    else
        on_control_frame_complete(c, c->payload.data);
}

static uint64_t consume_header(struct conn *c, const uint8_t *bytes, uint64_t size)
{
    uint64_t n = FRAME_HEADER_BYTES - c->header_fill;
    if (n > size) n = size;
    memcpy(c->header + c->header_fill, bytes, n);
    c->header_fill += (uint32_t)n;
    if (is_reading_payload(c))
        on_header_complete(c);
    else
        check_frame_magic(c);
    return n;
}

static uint64_t consume_payload(struct conn *c, const uint8_t *bytes, uint64_t size)
{
    struct glint_error why = {.code = GLINT_OK};
    uint64_t n = c->frame.length - c->fill;
    /* The complete payload is in the read buffer: no copy. */
    if (c->frame.type != FRAME_DATA && c->fill == 0 && size >= n) {
        on_control_frame_complete(c, bytes);
        return n;
    }
    if (n > size) n = size;
    if (c->frame.type == FRAME_DATA) {
        if (c->data_buffer != NULL) memcpy(c->data_buffer + c->fill, bytes, n);
    } else if (buffer_reserve(&c->payload, c->frame.length - c->payload.size)) {
        buffer_append(&c->payload, bytes, n);
    } else {
        error_no_memory(&why);
        conn_fail(c, &why);
        return n;
    }
    payload_advance(c, n);
    return n;
}

static void consume_frame_bytes(struct conn *c, const uint8_t *bytes, uint64_t size)
{
    while (size > 0 && !conn_discards_input(c)) {
        uint64_t n = is_reading_payload(c) ? consume_payload(c, bytes, size)
                                           : consume_header(c, bytes, size);
        assert(n > 0 && n <= size);
        bytes += n;
        size -= n;
    }
}

/* Bytes of the current frame to read directly to data_buffer + fill; 0 if fewer than
 * `least` remain. */
static uint64_t bytes_to_read_directly(const struct conn *c, uint64_t least)
{
    if (!is_reading_payload(c) || c->data_buffer == NULL || conn_discards_input(c)) return 0;
    uint64_t n = c->frame.length - c->fill;
    return n >= least ? n : 0;
}

/* ---- TLS */

/* Detects peers that do not speak TLS, to give a better error than OpenSSL's. Returns true if the
 * bytes are not TLS: the connection has failed, or more bytes are needed to tell which protocol
 * it is. */
static bool reject_if_not_tls(struct conn *c, const uint8_t *bytes, uint64_t size)
{
    struct glint_error why = {.code = GLINT_OK};
    struct frame ignored;
    uint64_t n =
        FRAME_HEADER_BYTES - c->header_fill < size ? FRAME_HEADER_BYTES - c->header_fill : size;
    /* The content types of TLS records. */
    if (c->header_fill == 0 && bytes[0] >= 0x14 && bytes[0] <= 0x17) return false;
    memcpy(c->header + c->header_fill, bytes, n);
    c->header_fill += (uint32_t)n;
    if (c->header_fill < MAGIC_BYTES) return true; /* wait for more */
    memset(c->header + c->header_fill, 0, FRAME_HEADER_BYTES - c->header_fill);
    if (memcmp(c->header, "GLNT", MAGIC_BYTES) == 0)
        error_set(&why, GLINT_E_PROTOCOL, "insecure_plaintext must be the same on both sides",
                  "the peer uses plain text, this side TLS");
    else
        frame_decode(c->header, &frames_before_hello, &ignored, &why);
    conn_fail(c, &why);
    return true;
}

/* Feeds received bytes to the TLS handshake. Returns true once it is done. */
static bool tls_handshake_step(struct conn *c, struct glint_slice bytes)
{
    struct glint_error why = {.code = GLINT_OK};
    if (c->unauthenticated_bytes == 0 && reject_if_not_tls(c, bytes.data, bytes.size)) return false;
    if (c->tls == NULL && !conn_start_tls(c)) return false;
    /* Checked before feeding, so that the bytes of one last read may exceed the limit: a fast peer
     * may send its first frames with the end of its handshake. */
    if (c->unauthenticated_bytes > UNAUTHENTICATED_BYTES_MAX) {
        error_set(&why, GLINT_E_AUTH, NULL, "the TLS handshake exceeds %llu bytes",
                  (unsigned long long)UNAUTHENTICATED_BYTES_MAX);
    } else {
        uint64_t all = c->unauthenticated_bytes + bytes.size;
        c->unauthenticated_bytes = all < UINT32_MAX ? (uint32_t)all : UINT32_MAX;
        tls_feed(c->tls, bytes, &why);
    }
    /* Before the TLS handshake is done: from now on the connection does not compete with
     * connections of hosts without a key. */
    if (why.code == GLINT_OK && !c->dialling && tls_has_known_key(c->tls)) listener_on_known_key(c);
    /* listener_on_known_key may have dropped this connection. */
    if (c->state == CONN_CLOSED) return false;
    if (why.code == GLINT_OK && tls_is_handshake_done(c->tls)) {
        conn_start_handshake(c);
        return true;
    }
    conn_flush(c); /* the handshake's response, or an alert with the reason */
    if (why.code != GLINT_OK) conn_fail(c, &why);
    return false;
}

static void consume_tls_bytes(struct conn *c, struct glint_slice bytes)
{
    struct glint_error why = {.code = GLINT_OK};
    if (c->state != CONN_TLS_HANDSHAKE)
        tls_feed(c->tls, bytes, &why);
    else if (!tls_handshake_step(c, bytes))
        return;
    struct read_buffers *buffers = thread_read_buffers();
    assert(buffers != NULL); /* `bytes` are in them */
    int64_t n = 1;
    while (n > 0 && !conn_discards_input(c)) {
        uint64_t room = bytes_to_read_directly(c, TLS_RECORD_BYTES);
        if (room > 0) {
            n = tls_read(c->tls, c->data_buffer + c->fill, room, &why);
            if (n > 0) payload_advance(c, (uint64_t)n);
        } else {
            n = tls_read(c->tls, buffers->plain, TLS_RECORD_BYTES, &why);
            if (n > 0) consume_frame_bytes(c, buffers->plain, (uint64_t)n);
        }
    }
    /* A peer that sends KeyUpdate requests without reading would make the output grow
     * without limit. */
    if (n >= 0 && tls_output_bytes(c->tls) > TLS_REPLY_BYTES_MAX)
        n = error_set(&why, GLINT_E_PROTOCOL, NULL,
                      "the peer sends KeyUpdate requests without reading the responses");
    if (tls_output_bytes(c->tls) > 0) conn_flush(c); /* a response to KeyUpdate, or an alert */
    if (n < 0) conn_fail(c, &why);
}

/* ---- The socket */

static void on_conn_alloc(uv_handle_t *handle, size_t suggested, uv_buf_t *out)
{
    struct conn *c = handle->data;
    (void)suggested;
    bool plain = c->net->tls == NULL, short_read = c->half_duplex || (plain && c->short_read);
    uint64_t n = plain ? bytes_to_read_directly(c, IN_PLACE_BYTES) : 0;
    c->in_place = n > 0;
    if (c->in_place) {
        *out = uv_buf_init((char *)c->data_buffer + c->fill, (unsigned)n);
        return;
    }
    struct read_buffers *buffers = thread_read_buffers();
    if (buffers != NULL) /* otherwise libuv reports UV_ENOBUFS, which ends the connection */
        *out = uv_buf_init((char *)buffers->read, short_read ? READ_SHORT_BYTES : READ_BYTES);
}

/* Half duplex: stops reading while responses are queued, so that a peer that does not read them
 * cannot fill the memory. At most the frames of READ_SHORT_BYTES are processed beyond that. */
static void pause_reading(struct conn *c)
{
    if (!c->half_duplex || c->paused || c->state == CONN_CLOSED || c->ending || c->queued == 0)
        return;
    c->paused = true;
    uv_read_stop((uv_stream_t *)&c->tcp);
}

void conn_resume_reading(struct conn *c)
{
    /* A closing connection reads on even with a queue: it waits for the peer's FIN. */
    if (!c->paused || c->state == CONN_CLOSED || (c->queued > 0 && !c->ending)) return;
    c->paused = false;
    int r = conn_read_start(c);
    if (r != 0) conn_fail_uv(c, r, "receive");
}

static void on_conn_read(uv_stream_t *stream, ssize_t n, const uv_buf_t *buf)
{
    struct conn *c = stream->data;
    if (c->state == CONN_CLOSED || n == 0) return;
    if (n < 0) {
        conn_fail_uv(c, (int)n, "receive");
        return;
    }
    assert((size_t)n <= buf->len);
    c->net->bytes_received += (uint64_t)n;
    /* Read and discard until EOF: closing a socket with unread bytes would reset it, and the peer
     * would lose what it has not read yet. */
    if (conn_discards_input(c)) return;
    if (c->in_place)
        payload_advance(c, (uint64_t)n);
    else if (c->net->tls == NULL)
        consume_frame_bytes(c, (const uint8_t *)buf->base, (uint64_t)n);
    else
        consume_tls_bytes(c, (struct glint_slice){(const uint8_t *)buf->base, (uint64_t)n});
    pause_reading(c);
}

int conn_read_start(struct conn *c)
{
    return uv_read_start((uv_stream_t *)&c->tcp, on_conn_alloc, on_conn_read);
}

void conn_pause_reads_while_sending(struct conn *c)
{
    c->half_duplex = true;
}
