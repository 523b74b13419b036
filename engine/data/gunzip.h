/* Decompresses gzip files as a stream (ISA-L). A file has any number of members, which may be
 * empty; zero bytes after the last one are padding. Other bytes after it are an error, and so is an
 * early end. One thread. */
#ifndef GLINT_DATA_GUNZIP_H
#define GLINT_DATA_GUNZIP_H

#include "engine/base/env.h"
#include "engine/base/error.h"

struct gunzip;

/* Will read `file` from its first byte with env->pread; the caller still owns and closes it. `path`
 * (borrowed) is for messages. Returns NULL when out of memory (about 150 KiB). */
struct gunzip *gunzip_create(struct env *env, int file, const char *path);
/* Decompresses up to `size` > 0 bytes into `out` and returns their number: less than `size` only at
 * the end, 0 when no bytes are left. Returns GZIP_TRUNCATED, GZIP_CORRUPT or INPUT_IO with *error
 * set, whose text contains the offset in the compressed file. The checksum is verified at the end
 * of each member, so a caller must read to the end before it may trust the bytes. */
int64_t gunzip_read(struct gunzip *z, void *out, uint64_t size, struct glint_error *error);
/* Returns the number of compressed bytes consumed so far. */
uint64_t gunzip_offset(const struct gunzip *z);
/* NULL is fine. */
void gunzip_destroy(struct gunzip *z);

#endif
