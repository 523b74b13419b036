/* Reads a compressed file and passes it to its format's decoder, frame by frame. Detects the end of
 * the file inside a frame, for which some libraries report success. */
#define ZSTD_STATIC_LINKING_ONLY /* for an allocator of ours */
#include "engine/input/decompress.h"

#include "engine/base/mem.h"
#include "engine/base/text.h"
#include "engine/limits.h"

#include <assert.h>
#include <bzlib.h>
#include <inttypes.h>
#include <isa-l/crc.h>
#include <isa-l/igzip_lib.h>
#include <lz4frame.h>
#include <lzma.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <zstd.h>
#include <zstd_errors.h>

enum decode_result {
    DECODE_MORE,       /* needs more input, or more room for output */
    DECODE_FRAME_END,  /* all of the frame's output is written and its checksum is right */
    DECODE_CORRUPT,    /* `problem` says why */
    DECODE_TOO_LARGE,  /* would need more than DECOMPRESS_MEMORY_MAX */
    DECODE_NO_FRAME,   /* not the magic bytes of a frame */
    DECODE_OLD_FORMAT, /* a frame of a format that is not supported any more */
    DECODE_NO_MEMORY,
};

/* One call: the decoder advances `in` and `out`. */
struct decode {
    const uint8_t *in;
    uint64_t in_size;
    uint8_t *out;
    uint64_t out_size;
    const char *problem; /* static */
    uint64_t needs;      /* bytes, with DECODE_NO_MEMORY; 0: not known */
};

struct decompress_codec {
    const char *name;           /* in messages */
    const char *check, *unpack; /* commands, for hints */
    /* The program that reads a file up to such bytes after its end; NULL: it fails. */
    const char *ignores_trailing;
    size_t state_size;         /* the state starts as zeros */
    unsigned padding;          /* zeros after a frame: a multiple of this; 0: none */
    bool frames_after_padding; /* false: only the last frame has padding */
    /* Returns false when out of memory; close is called in any case. */
    bool (*open)(void *state);
    /* Before each frame. NULL: nothing to do. */
    enum decode_result (*begin)(void *state);
    /* May be called with in_size 0: at the end of the file, or if output is left. */
    enum decode_result (*decode)(void *state, struct decode *d);
    void (*close)(void *state); /* NULL: nothing to do */
};

/* A library has left `in_left` bytes of the input, and written `written`. */
static void advance_decode(struct decode *d, uint64_t in_left, uint64_t written)
{
    assert(in_left <= d->in_size && written <= d->out_size);
    d->in += d->in_size - in_left;
    d->in_size = in_left;
    d->out += written;
    d->out_size -= written;
}

/* For libraries that count in 32 bits. */
static uint32_t output_room_in_32_bits(const struct decode *d)
{
    return d->out_size < GIB ? (uint32_t)d->out_size : (uint32_t)GIB;
}

/* Memory of all libraries but ISA-L and lz4. */
static void free_codec_block(void *arg, void *block)
{
    (void)arg;
    mem_free(block);
}

/* ---- bzip2, by libbz2. */

struct bzip2_state {
    bz_stream stream;
    bool started; /* the stream has memory of libbz2 */
};

static void *bzip2_alloc(void *arg, int items, int size)
{
    (void)arg;
    return items < 0 || size < 0 ? NULL : mem_alloc((uint64_t)items * (uint64_t)size);
}

static bool bzip2_open(void *state)
{
    struct bzip2_state *s = state;
    s->stream.bzalloc = bzip2_alloc;
    s->stream.bzfree = free_codec_block;
    return true;
}

static void bzip2_close(void *state)
{
    struct bzip2_state *s = state;
    if (s->started) BZ2_bzDecompressEnd(&s->stream);
    s->started = false;
}

static enum decode_result bzip2_begin(void *state)
{
    struct bzip2_state *s = state;
    bzip2_close(s);
    s->started = BZ2_bzDecompressInit(&s->stream, 0, 0) == BZ_OK;
    return s->started ? DECODE_MORE : DECODE_NO_MEMORY;
}

static enum decode_result bzip2_decode(void *state, struct decode *d)
{
    struct bzip2_state *s = state;
    const uint32_t room = output_room_in_32_bits(d);
    s->stream.next_in = (char *)d->in;
    s->stream.avail_in = (uint32_t)d->in_size;
    s->stream.next_out = (char *)d->out;
    s->stream.avail_out = room;
    const int result = BZ2_bzDecompress(&s->stream);
    advance_decode(d, s->stream.avail_in, room - s->stream.avail_out);
    switch (result) {
    case BZ_OK: return DECODE_MORE;
    case BZ_STREAM_END: return DECODE_FRAME_END;
    case BZ_MEM_ERROR: return DECODE_NO_MEMORY;
    case BZ_DATA_ERROR_MAGIC: d->problem = "not a bzip2 header"; return DECODE_NO_FRAME;
    default: d->problem = "bad block or wrong checksum"; break;
    }
    return DECODE_CORRUPT;
}

/* ---- gzip, by ISA-L. The blocks of BGZF are members whose headers give their size, by which files
 * are cut (input/split.h), so the size is checked. */

/* ---- Headers of gzip. Each phase ends after a number of bytes or at a zero byte; the flags give
 * the next phase. */

#define FIXED_BYTES   10
#define FLAG_CHECKSUM 0x02
#define FLAG_EXTRA    0x04
#define FLAG_NAME     0x08
#define FLAG_COMMENT  0x10
#define FLAG_RESERVED 0xe0

static const char *parse_gzip_fixed_byte(struct gzip_header *h, uint8_t byte)
{
    static const uint8_t magic[] = {0x1f, 0x8b};
    if (h->at < sizeof magic && byte != magic[h->at]) return "not a gzip header";
    if (h->at == 2 && byte != 8) return "unknown compression method";
    if (h->at == 3) h->flags = byte;
    return (h->flags & FLAG_RESERVED) != 0 ? "unknown flags" : NULL;
}

/* Parses the subfields of the extra field; one that is cut short is ignored. */
static void parse_gzip_extra_field_byte(struct gzip_header *h, uint8_t byte)
{
    if (h->subfield_at < sizeof h->subfield) {
        h->subfield[h->subfield_at++] = byte;
        h->subfield_left = h->subfield[2] | (uint32_t)h->subfield[3] << 8;
        if (h->subfield_left == 0 && h->subfield_at == sizeof h->subfield) h->subfield_at = 0;
        return;
    }
    static const uint8_t block_size[] = {'B', 'C', 2, 0};
    const bool wanted = memcmp(h->subfield, block_size, sizeof block_size) == 0;
    h->subfield_left--;
    if (wanted && h->subfield_left == 1) h->block_bytes = byte + 1u;
    if (wanted && h->subfield_left == 0) h->block_bytes += (uint32_t)byte << 8;
    if (h->subfield_left == 0) h->subfield_at = 0;
}

static bool gzip_header_phase_has_ended(const struct gzip_header *h, uint8_t byte)
{
    switch (h->phase) {
    case HEADER_FIXED: return h->at == FIXED_BYTES;
    case HEADER_EXTRA: return h->at == h->number;
    case HEADER_NAME:
    case HEADER_COMMENT: return byte == 0;
    default: return h->at == 2;
    }
}

/* Advances to the next phase whose field is present; an extra field of length 0 has no bytes. */
static void advance_gzip_header_phase(struct gzip_header *h)
{
    static const uint8_t needs[HEADER_DONE] = {[HEADER_EXTRA_LENGTH] = FLAG_EXTRA,
                                               [HEADER_EXTRA] = FLAG_EXTRA,
                                               [HEADER_NAME] = FLAG_NAME,
                                               [HEADER_COMMENT] = FLAG_COMMENT,
                                               [HEADER_CHECKSUM] = FLAG_CHECKSUM};
    assert(h->phase < HEADER_DONE);
    do {
        h->phase++;
        if (h->phase == HEADER_EXTRA && h->number == 0) h->phase++;
    } while (h->phase < HEADER_DONE && (h->flags & needs[h->phase]) == 0);
    if (h->phase == HEADER_CHECKSUM) h->number = 0;
    h->at = 0;
}

const char *gzip_header_parse_byte(struct gzip_header *h, uint8_t byte)
{
    assert(h->phase < HEADER_DONE);
    const char *problem = h->phase == HEADER_FIXED ? parse_gzip_fixed_byte(h, byte) : NULL;
    if (problem != NULL) return problem;
    if (h->phase == HEADER_EXTRA_LENGTH || h->phase == HEADER_CHECKSUM)
        h->number |= (uint32_t)byte << (8 * h->at);
    /* The optional checksum is the low 16 bits of the CRC-32 of all header bytes before it. */
    if (h->phase != HEADER_CHECKSUM) h->crc = crc32_gzip_refl(h->crc, &byte, 1);
    if (h->phase == HEADER_EXTRA) parse_gzip_extra_field_byte(h, byte);
    h->at++;
    if (!gzip_header_phase_has_ended(h, byte)) return NULL;
    if (h->phase == HEADER_CHECKSUM && h->number != (h->crc & 0xffff))
        return "wrong header checksum";
    advance_gzip_header_phase(h);
    return NULL;
}

struct gzip_state {
    struct gzip_header header;
    uint64_t member_bytes; /* read so far */
    struct inflate_state inflate;
};

static bool gzip_open(void *state)
{
    isal_inflate_init(&((struct gzip_state *)state)->inflate);
    return true;
}

static enum decode_result gzip_begin(void *state)
{
    struct gzip_state *s = state;
    s->header = (struct gzip_header){.phase = HEADER_FIXED};
    s->member_bytes = 0;
    return DECODE_MORE;
}

static enum decode_result read_gzip_header(struct gzip_state *s, struct decode *d)
{
    while (d->in_size > 0 && s->header.phase != HEADER_DONE) {
        d->problem = gzip_header_parse_byte(&s->header, *d->in);
        if (d->problem != NULL) return s->member_bytes < 2 ? DECODE_NO_FRAME : DECODE_CORRUPT;
        d->in++;
        d->in_size--;
        s->member_bytes++;
    }
    if (s->header.phase != HEADER_DONE) return DECODE_MORE;
    isal_inflate_reset(&s->inflate);
    s->inflate.crc_flag = ISAL_GZIP_NO_HDR_VER; /* no header to parse; verify the trailer */
    return DECODE_MORE;
}

static const char *inflate_problem(int result)
{
    switch (result) {
    case ISAL_INVALID_BLOCK: return "bad block";
    case ISAL_INVALID_SYMBOL: return "bad symbol";
    case ISAL_INVALID_LOOKBACK: return "bad distance";
    case ISAL_INCORRECT_CHECKSUM: return "wrong checksum";
    default: return "cannot be decompressed";
    }
}

static enum decode_result gzip_decode(void *state, struct decode *d)
{
    struct gzip_state *s = state;
    if (s->header.phase != HEADER_DONE) return read_gzip_header(s, d);
    const uint32_t room = output_room_in_32_bits(d);
    s->inflate.next_in = (uint8_t *)d->in;
    s->inflate.avail_in = (uint32_t)d->in_size;
    s->inflate.next_out = d->out;
    s->inflate.avail_out = room;
    const int result = isal_inflate(&s->inflate);
    /* After corrupt data ISA-L's avail_in may be wrong by some bytes: use next_in. */
    uint64_t used = (uint64_t)(s->inflate.next_in - d->in);
    if (used > d->in_size) used = d->in_size;
    s->member_bytes += used;
    advance_decode(d, d->in_size - used, room - s->inflate.avail_out);
    if (result < 0 || result == ISAL_NEED_DICT) {
        d->problem = inflate_problem(result);
        return DECODE_CORRUPT;
    }
    /* ISA-L returns success when it needs more input, also at the end of the file. */
    if (s->inflate.block_state != ISAL_BLOCK_FINISH) return DECODE_MORE;
    if (s->header.block_bytes != 0 && s->header.block_bytes != s->member_bytes) {
        d->problem = "the block's size is not the one in its BGZF header";
        return DECODE_CORRUPT;
    }
    return DECODE_FRAME_END;
}

/* ---- The frame format of lz4, by liblz4, which skips skippable frames. A block has at most 4 MiB.
 * The old format, which the program lz4 reads in any frame, is only detected. */

struct lz4_state {
    LZ4F_dctx *context;
    uint8_t magic[4]; /* of the frame, as far as it was read */
    size_t magic_size;
};

static bool lz4_open(void *state)
{
    return !LZ4F_isError(
        LZ4F_createDecompressionContext(&((struct lz4_state *)state)->context, LZ4F_VERSION));
}

static enum decode_result lz4_begin(void *state)
{
    struct lz4_state *s = state;
    LZ4F_resetDecompressionContext(s->context);
    s->magic_size = 0;
    return DECODE_MORE;
}

/* The library has only names for its errors. */
static enum decode_result translate_lz4_error(struct decode *d, size_t result)
{
    static const struct {
        const char *name, *problem;
    } problems[] = {
        {"ERROR_headerChecksum_invalid", "wrong header checksum"},
        {"ERROR_contentChecksum_invalid", "wrong checksum"},
        {"ERROR_blockChecksum_invalid", "wrong block checksum"},
        {"ERROR_frameSize_wrong", "its size is not the one in its header"},
    };
    const char *name = LZ4F_getErrorName(result);
    if (strcmp(name, "ERROR_allocation_failed") == 0) return DECODE_NO_MEMORY;
    if (strcmp(name, "ERROR_frameType_unknown") == 0) {
        d->problem = "not an lz4 header";
        return DECODE_NO_FRAME;
    }
    d->problem = "bad block";
    for (size_t i = 0; i < sizeof problems / sizeof problems[0]; i++)
        if (strcmp(name, problems[i].name) == 0) d->problem = problems[i].problem;
    return DECODE_CORRUPT;
}

static enum decode_result lz4_decode(void *state, struct decode *d)
{
    struct lz4_state *s = state;
    size_t in = d->in_size, out = d->out_size;
    const size_t missing = sizeof s->magic - s->magic_size, keep = in < missing ? in : missing;
    memcpy(s->magic + s->magic_size, d->in, keep);
    s->magic_size += keep;
    if (s->magic_size == sizeof s->magic && memcmp(s->magic, "\x02\x21\x4c\x18", 4) == 0)
        return DECODE_OLD_FORMAT;
    const size_t result = LZ4F_decompress(s->context, d->out, &out, d->in, &in, NULL);
    if (LZ4F_isError(result)) return translate_lz4_error(d, result);
    advance_decode(d, d->in_size - in, out);
    return result == 0 ? DECODE_FRAME_END : DECODE_MORE;
}

static void lz4_close(void *state)
{
    LZ4F_freeDecompressionContext(((struct lz4_state *)state)->context);
}

/* ---- xz, by liblzma. A file may demand any amount of memory for its dictionary, so it is limited;
 * the strongest preset, xz -9, needs 65 MiB. */

struct xz_state {
    lzma_stream stream;
    lzma_allocator allocator;
    uint64_t refused; /* bytes of the last allocation that failed */
};

static void *xz_alloc(void *arg, size_t count, size_t size)
{
    struct xz_state *s = arg;
    if (size > 0 && count > SIZE_MAX / size) return NULL;
    void *block = mem_alloc(count * size);
    if (block == NULL) s->refused = count * size;
    return block;
}

static bool xz_open(void *state)
{
    struct xz_state *s = state;
    s->allocator = (lzma_allocator){.alloc = xz_alloc, .free = free_codec_block, .opaque = s};
    s->stream = (lzma_stream)LZMA_STREAM_INIT;
    s->stream.allocator = &s->allocator;
    return true;
}

/* Reuses the memory of the frame before. */
static enum decode_result xz_begin(void *state)
{
    struct xz_state *s = state;
    return lzma_stream_decoder(&s->stream, DECOMPRESS_MEMORY_MAX, LZMA_TELL_UNSUPPORTED_CHECK) ==
                   LZMA_OK
               ? DECODE_MORE
               : DECODE_NO_MEMORY;
}

static enum decode_result xz_decode(void *state, struct decode *d)
{
    struct xz_state *s = state;
    s->stream.next_in = d->in;
    s->stream.avail_in = d->in_size;
    s->stream.next_out = d->out;
    s->stream.avail_out = d->out_size;
    const lzma_ret result = lzma_code(&s->stream, LZMA_RUN);
    advance_decode(d, s->stream.avail_in, d->out_size - s->stream.avail_out);
    switch (result) {
    case LZMA_OK:
    case LZMA_BUF_ERROR: return DECODE_MORE; /* no progress */
    case LZMA_STREAM_END: return DECODE_FRAME_END;
    case LZMA_MEM_ERROR: d->needs = s->refused; return DECODE_NO_MEMORY;
    case LZMA_MEMLIMIT_ERROR: return DECODE_TOO_LARGE;
    case LZMA_FORMAT_ERROR: d->problem = "not an xz header"; return DECODE_NO_FRAME;
    case LZMA_OPTIONS_ERROR: d->problem = "unknown filters or options"; break;
    case LZMA_UNSUPPORTED_CHECK: d->problem = "unknown type of checksum"; break;
    default: d->problem = "bad block or wrong checksum"; break;
    }
    return DECODE_CORRUPT;
}

static void xz_close(void *state)
{
    lzma_end(&((struct xz_state *)state)->stream);
}

/* ---- zstd, by libzstd, which skips skippable frames. The window, and with it the memory, is
 * limited: the header of a frame may demand up to 2 GiB. */

#define WINDOW_LOG_MAX 27

static_assert(UINT64_C(1) << WINDOW_LOG_MAX <= DECOMPRESS_MEMORY_MAX, "the limit of all formats");

struct zstd_state {
    ZSTD_DCtx *context;
    uint8_t head[ZSTD_FRAMEHEADERSIZE_MAX]; /* of the frame, as far as it was read */
    size_t head_size;
    uint64_t content; /* bytes of the frame so far */
    uint64_t refused; /* bytes of the last allocation that failed */
};

/* Frames begin with 0x28, skippable ones with 0x50 to 0x5f. Libraries may also decode formats of
 * before zstd 1.0, without all of their checks: what they return for damaged data depends on the
 * sizes of the pieces. */
static bool byte_begins_zstd_frame(uint8_t byte)
{
    return byte == 0x28 || (byte & 0xf0) == 0x50;
}

static void *zstd_alloc(void *arg, size_t size)
{
    struct zstd_state *s = arg;
    void *block = mem_alloc(size);
    if (block == NULL) s->refused = size;
    return block;
}

static bool zstd_open(void *state)
{
    struct zstd_state *s = state;
    s->context = ZSTD_createDCtx_advanced((ZSTD_customMem){zstd_alloc, free_codec_block, s});
    if (s->context == NULL) return false;
    const size_t r = ZSTD_DCtx_setParameter(s->context, ZSTD_d_windowLogMax, WINDOW_LOG_MAX);
    assert(!ZSTD_isError(r)); /* the parameter is valid */
    return true;
}

static enum decode_result translate_zstd_error(struct decode *d, size_t result)
{
    switch (ZSTD_getErrorCode(result)) {
    case ZSTD_error_memory_allocation: return DECODE_NO_MEMORY;
    case ZSTD_error_frameParameter_windowTooLarge: return DECODE_TOO_LARGE;
    case ZSTD_error_prefix_unknown: d->problem = "not a zstd header"; return DECODE_NO_FRAME;
    case ZSTD_error_checksum_wrong: d->problem = "wrong checksum"; break;
    case ZSTD_error_dictionary_wrong: d->problem = "it needs a dictionary"; break;
    /* A frame that was made with raw content as its dictionary does not say so. */
    default: d->problem = "bad block, or it needs a dictionary"; break;
    }
    return DECODE_CORRUPT;
}

/* The library does not compare the size of the content with the header if the last block is empty.
 */
static enum decode_result end_zstd_frame(struct zstd_state *s, struct decode *d)
{
    const unsigned long long size = s->head[0] == 0x28
                                        ? ZSTD_getFrameContentSize(s->head, s->head_size)
                                        : ZSTD_CONTENTSIZE_UNKNOWN;
    const bool equal = size == ZSTD_CONTENTSIZE_UNKNOWN || size == s->content;
    s->head_size = 0;
    s->content = 0;
    if (equal) return DECODE_FRAME_END;
    d->problem = "a frame has less content than its header says";
    return DECODE_CORRUPT;
}

static enum decode_result zstd_decode(void *state, struct decode *d)
{
    struct zstd_state *s = state;
    ZSTD_inBuffer in = {d->in, d->in_size, 0};
    ZSTD_outBuffer out = {d->out, d->out_size, 0};
    if (s->head_size == 0 && d->in_size > 0 && !byte_begins_zstd_frame(d->in[0])) {
        d->problem = "not a zstd header";
        return DECODE_NO_FRAME;
    }
    const size_t result = ZSTD_decompressStream(s->context, &out, &in);
    const size_t room = sizeof s->head - s->head_size, keep = in.pos < room ? in.pos : room;
    memcpy(s->head + s->head_size, d->in, keep);
    s->head_size += keep;
    s->content += out.pos;
    advance_decode(d, d->in_size - in.pos, out.pos);
    d->needs = s->refused;
    if (ZSTD_isError(result)) return translate_zstd_error(d, result);
    return result > 0 ? DECODE_MORE : end_zstd_frame(s, d);
}

static void zstd_close(void *state)
{
    ZSTD_freeDCtx(((struct zstd_state *)state)->context);
}

/* ---- decompress */

#define IN_BYTES (64 * KIB)

/* The states, with the function of each change:
 *
 *     BETWEEN_FRAMES -> IN_FRAME       [next_compressed_frame]
 *     IN_FRAME       -> BETWEEN_FRAMES [decode_available_input]
 *     BETWEEN_FRAMES -> ENDED          [next_compressed_frame, skip_zero_padding] */
enum decompressor_state { BETWEEN_FRAMES, IN_FRAME, ENDED };

struct decompressor {
    const struct input_source *source;
    const struct decompress_codec *codec;
    void *codec_state;
    enum decompressor_state state;
    uint64_t in_at; /* offset of `in` in the file */
    uint64_t to;    /* 0: none */
    bool past;      /* the frame that ends at `to` is done */
    bool file_ended;
    uint64_t frames;   /* started so far */
    uint64_t frame_at; /* offset of the last one */
    uint64_t in_size;
    const uint8_t *next; /* the unread part of `in` */
    uint64_t left;
    uint8_t in[IN_BYTES];
};

static const struct decompress_codec codecs[COMPRESSION_COUNT] = {
    [COMPRESSION_BZIP2] = {.name = "bzip2",
                           .check = "bzip2 -t",
                           .unpack = "bzip2 -d",
                           .ignores_trailing = "bzip2 -dc",
                           .state_size = sizeof(struct bzip2_state),
                           .open = bzip2_open,
                           .begin = bzip2_begin,
                           .decode = bzip2_decode,
                           .close = bzip2_close},
    [COMPRESSION_GZIP] = {.name = "gzip",
                          .check = "gzip -t",
                          .unpack = "gzip -d",
                          .ignores_trailing = "gzip -dc",
                          .state_size = sizeof(struct gzip_state),
                          .padding = 1,
                          .open = gzip_open,
                          .begin = gzip_begin,
                          .decode = gzip_decode},
    [COMPRESSION_LZ4] = {.name = "lz4",
                         .check = "lz4 -t",
                         .unpack = "lz4 -d",
                         .state_size = sizeof(struct lz4_state),
                         .open = lz4_open,
                         .begin = lz4_begin,
                         .decode = lz4_decode,
                         .close = lz4_close},
    [COMPRESSION_XZ] = {.name = "xz",
                        .check = "xz -t",
                        .unpack = "xz -d",
                        .state_size = sizeof(struct xz_state),
                        .padding = 4,
                        .frames_after_padding = true,
                        .open = xz_open,
                        .begin = xz_begin,
                        .decode = xz_decode,
                        .close = xz_close},
    [COMPRESSION_ZSTD] = {.name = "zstd",
                          .check = "zstd -t",
                          .unpack = "zstd -d --long=31",
                          .state_size = sizeof(struct zstd_state),
                          .open = zstd_open,
                          .decode = zstd_decode,
                          .close = zstd_close},
};

struct decompressor *decompressor_create(const struct input_source *source,
                                         enum compression compression, uint64_t from, uint64_t to)
{
    assert(compression > COMPRESSION_NONE && compression < COMPRESSION_COUNT);
    const struct decompress_codec *codec = &codecs[compression];
    struct decompressor *z = mem_alloc(sizeof *z);
    if (z == NULL) return NULL;
    memset(z, 0, offsetof(struct decompressor, in)); /* the buffer needs no zeros */
    z->source = source;
    z->codec = codec;
    z->in_at = from;
    z->frames = from > 0; /* those before: padding may follow */
    z->to = to;
    z->next = z->in;
    z->codec_state = mem_zalloc(codec->state_size);
    if (z->codec_state != NULL && codec->open(z->codec_state)) return z;
    decompressor_destroy(z);
    return NULL;
}

void decompressor_destroy(struct decompressor *z)
{
    if (z == NULL) return;
    if (z->codec_state != NULL && z->codec->close != NULL) z->codec->close(z->codec_state);
    mem_free(z->codec_state);
    mem_free(z);
}

uint64_t decompressor_offset(const struct decompressor *z)
{
    return z->in_at + (z->in_size - z->left);
}

bool decompressor_has_reached_range_end(const struct decompressor *z)
{
    return z->past;
}

static int set_truncated_input_error(const struct decompressor *z, struct glint_error *error)
{
    return error_set(error, GLINT_E_COMPRESSED_TRUNCATED, "copy or download the file again",
                     "%s: the %s data ends early, at byte %" PRIu64, z->source->path,
                     z->codec->name, decompressor_offset(z));
}

static int set_corrupt_input_error(const struct decompressor *z, struct glint_error *error,
                                   const char *reason)
{
    char hint[sizeof error->hint];
    text_format(hint, sizeof hint, "check the file with %s", z->codec->check);
    return error_set(error, GLINT_E_COMPRESSED_CORRUPT, hint,
                     "%s: damaged %s data at byte %" PRIu64 ": %s", z->source->path, z->codec->name,
                     decompressor_offset(z), reason);
}

/* Windows are not part of --memory. */
static int set_window_memory_error(const struct decompressor *z, uint64_t needs,
                                   struct glint_error *error)
{
    char hint[sizeof error->hint];
    text_format(hint, sizeof hint,
                "decompress it first (%s), or let the process have %" PRIu64
                " MiB for each slot besides --memory",
                z->codec->unpack, (needs + MIB - 1) / MIB);
    return error_set(error, GLINT_E_NO_MEMORY, hint,
                     "%s: to decompress the %s data at byte %" PRIu64 " takes %" PRIu64
                     " bytes of memory",
                     z->source->path, z->codec->name, z->frame_at, needs);
}

static int set_window_too_large_error(const struct decompressor *z, struct glint_error *error)
{
    char hint[sizeof error->hint];
    text_format(hint, sizeof hint, "decompress it first (%s), or compress it with a smaller window",
                z->codec->unpack);
    return error_set(error, GLINT_E_INPUT_FORMAT, hint,
                     "%s: to decompress the %s data at byte %" PRIu64 " takes more than %" PRIu64
                     " MiB of memory",
                     z->source->path, z->codec->name, decompressor_offset(z),
                     DECOMPRESS_MEMORY_MAX / MIB);
}

static int set_old_format_error(const struct decompressor *z, struct glint_error *error)
{
    char hint[sizeof error->hint];
    text_format(hint, sizeof hint, "decompress it first (%s)", z->codec->unpack);
    return error_set(error, GLINT_E_INPUT_FORMAT, hint,
                     "%s: the %s data at byte %" PRIu64 " is in its old format", z->source->path,
                     z->codec->name, z->frame_at);
}

/* What follows the last frame, at `at`, is no frame. */
static int set_trailing_bytes_error(const struct decompressor *z, uint64_t at,
                                    struct glint_error *error)
{
    char hint[sizeof error->hint], reader[64], count[32] = "";
    text_format(reader, sizeof reader, "head -c %" PRIu64, at);
    text_format(hint, sizeof hint, "to read what precedes them: %s FILE | glint ... -",
                z->codec->ignores_trailing != NULL ? z->codec->ignores_trailing : reader);
    if (z->source->size > at)
        text_format(count, sizeof count, "%" PRIu64 " ", z->source->size - at);
    return error_set(error, GLINT_E_COMPRESSED_CORRUPT, hint,
                     "%s: %sbytes follow the end of the %s data, from byte %" PRIu64,
                     z->source->path, count, z->codec->name, at);
}

static int set_decode_error(const struct decompressor *z, enum decode_result result,
                            const struct decode *d, struct glint_error *error)
{
    assert(result > DECODE_FRAME_END);
    if (result == DECODE_NO_MEMORY)
        return d->needs > 0 ? set_window_memory_error(z, d->needs, error) : error_no_memory(error);
    if (result == DECODE_TOO_LARGE) return set_window_too_large_error(z, error);
    if (result == DECODE_OLD_FORMAT) return set_old_format_error(z, error);
    if (result == DECODE_NO_FRAME && z->frames > 1)
        return set_trailing_bytes_error(z, z->frame_at, error);
    return set_corrupt_input_error(z, error,
                                   d->problem != NULL ? d->problem : "cannot be decompressed");
}

/* Reads the next bytes into the empty `in`. Returns 0 or a code. */
static int refill_compressed_input(struct decompressor *z, struct glint_error *error)
{
    assert(z->left == 0);
    if (z->file_ended) return 0;
    z->in_at += z->in_size;
    z->in_size = 0;
    const int64_t n = input_source_read(z->source, z->in, IN_BYTES, z->in_at, error);
    if (n < 0) return (int)n;
    assert((uint64_t)n <= IN_BYTES);
    z->file_ended = n == 0;
    z->in_size = z->left = (uint64_t)n;
    z->next = z->in;
    return 0;
}

/* The byte after the padding is not zero. */
static int check_padding_before_frame(const struct decompressor *z, uint64_t zeros,
                                      struct glint_error *error)
{
    if (!z->codec->frames_after_padding)
        return set_trailing_bytes_error(z, decompressor_offset(z) - zeros, error);
    if (zeros % z->codec->padding == 0) return 0;
    return set_corrupt_input_error(z, error, "the padding before it has a wrong length");
}

/* Zeros up to the end of the file are no error: tapes pad files with them. */
static int skip_zero_padding(struct decompressor *z, struct glint_error *error)
{
    uint64_t zeros = 0;
    for (;;) {
        for (; z->left > 0; z->left--, z->next++, zeros++)
            if (*z->next != 0) return check_padding_before_frame(z, zeros, error);
        int r = refill_compressed_input(z, error);
        if (r < 0) return r;
        if (z->file_ended) break;
    }
    if (zeros % z->codec->padding != 0) return set_truncated_input_error(z, error);
    z->state = ENDED;
    return 0;
}

static int next_compressed_frame(struct decompressor *z, struct glint_error *error)
{
    assert(z->state == BETWEEN_FRAMES);
    int r = z->left == 0 ? refill_compressed_input(z, error) : 0;
    if (r < 0) return r;
    if (z->left == 0) {
        if (z->frames == 0) return set_truncated_input_error(z, error);
        z->state = ENDED;
        return 0;
    }
    /* Padding only after a frame: a file that starts with a zero byte has another format. */
    if (z->frames > 0 && *z->next == 0 && z->codec->padding > 0) return skip_zero_padding(z, error);
    z->frames++;
    z->frame_at = decompressor_offset(z);
    const enum decode_result result =
        z->codec->begin != NULL ? z->codec->begin(z->codec_state) : DECODE_MORE;
    if (result != DECODE_MORE)
        return set_decode_error(z, result, &(struct decode){.needs = 0}, error);
    z->state = IN_FRAME;
    return 0;
}

/* Returns the number of bytes written to `out`, or a code. */
static int64_t decode_available_input(struct decompressor *z, void *out, uint64_t size,
                                      struct glint_error *error)
{
    int r = z->left == 0 ? refill_compressed_input(z, error) : 0;
    if (r < 0) return r;
    struct decode d = {.in = z->next, .in_size = z->left, .out = out, .out_size = size};
    const enum decode_result result = z->codec->decode(z->codec_state, &d);
    assert(d.in_size <= z->left && d.out_size <= size);
    const bool progress = d.in_size < z->left || d.out_size < size;
    z->next = d.in;
    z->left = d.in_size;
    if (result > DECODE_FRAME_END) return set_decode_error(z, result, &d, error);
    if (result == DECODE_FRAME_END)
        z->state = BETWEEN_FRAMES;
    else if (!progress)
        return z->left == 0 ? set_truncated_input_error(z, error)
                            : set_corrupt_input_error(z, error, "cannot be decompressed");
    return (int64_t)(size - d.out_size);
}

/* Between two frames: returns 1 if the frame before is the one that ends at `to`, 0 if not. */
static int check_end_of_frame_range(struct decompressor *z, struct glint_error *error)
{
    const uint64_t at = decompressor_offset(z);
    if (z->to == 0 || z->past || at < z->to) return 0;
    if (at > z->to)
        return set_corrupt_input_error(z, error, "the frame ends later than its header says");
    z->past = true;
    return 1;
}

int64_t decompressor_read(struct decompressor *z, void *out, uint64_t size,
                          struct glint_error *error)
{
    assert(size > 0 && size <= INT64_MAX);
    uint64_t done = 0;
    while (done < size && z->state != ENDED) {
        int64_t n;
        if (z->state == IN_FRAME) {
            n = decode_available_input(z, (uint8_t *)out + done, size - done, error);
        } else {
            n = check_end_of_frame_range(z, error);
            if (n > 0) break;
            if (n == 0) n = next_compressed_frame(z, error);
        }
        if (n < 0) return n;
        done += (uint64_t)n;
    }
    return (int64_t)done;
}
