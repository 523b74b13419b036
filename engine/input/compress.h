/* Writers of compressed files. The bytes depend only on the content, not on how it is divided into
 * calls. */
#ifndef GLINT_INPUT_COMPRESS_H
#define GLINT_INPUT_COMPRESS_H

#include "engine/input/decompress.h"

/* gzip (ISA-L, level 1): one member, without name and time. Another type of CPU may produce other
 * bytes that decompress to the same content.
 *
 * zstd (level 1): a frame per MiB of content, with its size and checksum, so that a reader can cut
 * the file between them (input/split.h). */
struct compressor;

/* COMPRESSION_GZIP or _ZSTD. The compressor passes compressed bytes to `sink`, borrowed until it
 * returns. If `sink` returns non-zero, the stream has failed: the current and every later call
 * return that number. Returns NULL when out of memory (about 400 KiB; zstd 4 MiB). */
struct compressor *compressor_create(enum compression compression,
                                     int (*sink)(void *arg, const void *data, uint64_t size),
                                     void *arg);
/* Compresses `size` bytes. Returns 0 or the number that `sink` returned. */
int compressor_write(struct compressor *w, const void *data, uint64_t size);
/* Writes the remaining bytes and the trailer. Call once, also for empty content. Returns 0 or the
 * number that `sink` returned. */
int compressor_finish(struct compressor *w);
/* NULL is fine. */
void compressor_destroy(struct compressor *w);

#endif
