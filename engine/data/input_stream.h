/* The bytes of one file from some offset on, decompressed where it is gzip, and the promise that
 * the file is still the one the splits were made from. Reads with pread, never by mapping: a file
 * that is cut short meanwhile must be an error, not a dead process. */
#ifndef GLINT_DATA_INPUT_STREAM_H
#define GLINT_DATA_INPUT_STREAM_H

#include "engine/data/split.h"

struct gunzip;

struct input_stream {
    struct env *env;
    const struct split_piece *piece; /* borrowed while open */
    struct glint_error *error;
    struct gunzip *gunzip; /* of gzip files */
    uint64_t at;           /* offset of the next byte, decompressed */
    int file;
    bool open;
    bool ended; /* no byte is left */
};

/* Opens the piece's file at `offset` (any, not only the piece's own). `s` needs no preparation, and
 * input_stream_close in any case. All answer 0 or a negative code with *error set: INPUT_NOT_FOUND,
 * _DENIED, _KIND, _CHANGED, _IO, GZIP_*, SYSTEM, NO_MEMORY. */
int input_stream_open(struct input_stream *s, struct env *env, const struct split_piece *piece,
                      uint64_t offset, struct glint_error *error);
/* Up to `size` > 0 bytes, fewer only at the end of the file; s->ended is then set. How many, or a
 * code. */
int64_t input_stream_read(struct input_stream *s, void *out, uint64_t size);
/* Looks once more whether the file changed. Call it when the last byte was read. */
int input_stream_check_unchanged(struct input_stream *s);
/* Bytes of the file on disk that were consumed; for gzip, compressed ones. */
uint64_t input_stream_disk_offset(const struct input_stream *s);
void input_stream_close(struct input_stream *s);

#endif
