/* gzip, by ISA-L. The blocks of BGZF are members whose headers give their size, by which files are
 * cut (input/frames.h), so the size is checked. */
#include "engine/input/decompress_codec.h"
#include "engine/input/gzip_header.h"
#include "engine/limits.h"

#include <isa-l/igzip_lib.h>

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
    const uint32_t room = d->out_size < GIB ? (uint32_t)d->out_size : (uint32_t)GIB;
    s->inflate.next_in = (uint8_t *)d->in;
    s->inflate.avail_in = (uint32_t)d->in_size;
    s->inflate.next_out = d->out;
    s->inflate.avail_out = room;
    const int result = isal_inflate(&s->inflate);
    /* After corrupt data ISA-L's avail_in may be wrong by some bytes: use next_in. */
    uint64_t used = (uint64_t)(s->inflate.next_in - d->in);
    if (used > d->in_size) used = d->in_size;
    s->member_bytes += used;
    d->in += used;
    d->in_size -= used;
    d->out += room - s->inflate.avail_out;
    d->out_size -= room - s->inflate.avail_out;
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

static void gzip_close(void *state)
{
    (void)state;
}

const struct decompress_codec decompress_gzip = {.name = "gzip",
                                                 .check = "gzip -t",
                                                 .unpack = "gzip -d",
                                                 .ignores_trailing = "gzip -dc",
                                                 .state_size = sizeof(struct gzip_state),
                                                 .padding = 1,
                                                 .open = gzip_open,
                                                 .begin = gzip_begin,
                                                 .decode = gzip_decode,
                                                 .close = gzip_close};
