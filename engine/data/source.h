/* The bytes of one file from some offset on, decompressed where it is gzip, and the promise that
 * the file is still the one the splits were made from. Reads with pread, never by mapping: a file
 * that is cut short meanwhile must be an error, not a dead process. */
#ifndef GLINT_DATA_SOURCE_H
#define GLINT_DATA_SOURCE_H

#include "engine/data/split.h"

struct gunzip;

struct source {
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
 * source_close in any case. All answer 0 or a negative code with *error set: INPUT_MISSING,
 * _DENIED, _KIND, _CHANGED, _IO, GZIP_*, SYSTEM, NO_MEMORY. */
int source_open(struct source *s, struct env *env, const struct split_piece *piece, uint64_t offset,
                struct glint_error *error);
/* Up to `size` > 0 bytes, fewer only at the end of the file; s->ended is then set. How many, or a
 * code. */
int64_t source_read(struct source *s, void *out, uint64_t size);
/* Looks once more whether the file changed. Call it when the last byte was read. */
int source_check(struct source *s);
/* Bytes of the file on disk that were consumed; for gzip, compressed ones. */
uint64_t source_disk_offset(const struct source *s);
void source_close(struct source *s);

#endif
