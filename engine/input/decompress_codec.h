/* What decompress.c needs of each format: how one frame is decoded. Files, sequences of frames and
 * messages are the same for all. */
#ifndef GLINT_INPUT_DECOMPRESS_CODEC_H
#define GLINT_INPUT_DECOMPRESS_CODEC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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
    void (*close)(void *state);
};

extern const struct decompress_codec decompress_gzip, decompress_zstd, decompress_bzip2,
    decompress_xz, decompress_lz4;

#endif
