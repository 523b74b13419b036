/* Decompression of gzip files as a stream (ISA-L): any number of members, some may be empty; zeros
 * after the last one are padding. All else that follows it is an error, and so is an early end. */
#ifndef GLINT_DATA_GUNZIP_H
#define GLINT_DATA_GUNZIP_H

#include "engine/base/env.h"
#include "engine/base/error.h"

struct gunzip;

/* Reads `file` from its first byte on with env->pread; the file stays the caller's. `path`
 * (borrowed) is for messages. NULL without memory (about 150 KiB). */
struct gunzip *gunzip_create(struct env *env, int file, const char *path);
/* Up to `size` > 0 decompressed bytes into `out`, fewer only at the end, 0 when nothing is left; or
 * GZIP_TRUNCATED, GZIP_CORRUPT, INPUT_IO with *error set, naming the offset in the compressed file.
 * A wrong checksum shows at a member's end only: what was read before is not to be trusted before
 * the end. */
int64_t gunzip_read(struct gunzip *z, void *out, uint64_t size, struct glint_error *error);
/* Compressed bytes consumed so far. */
uint64_t gunzip_offset(const struct gunzip *z);
void gunzip_destroy(struct gunzip *z);

#endif
