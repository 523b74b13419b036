/* Writers of compressed files. The bytes depend only on the content, not on how it is divided into
 * calls. */
#ifndef GLINT_INPUT_COMPRESS_H
#define GLINT_INPUT_COMPRESS_H

#include <stdint.h>

/* gzip (ISA-L, level 1): one member, without name and time. Another type of CPU may produce other
 * bytes that decompress to the same content. */
struct gzip_writer;

/* The writer passes compressed bytes to `sink`, borrowed until it returns. If `sink` returns
 * non-zero, the stream has failed: the current and every later call return that number. Returns
 * NULL when out of memory (about 400 KiB). */
struct gzip_writer *gzip_writer_create(int (*sink)(void *arg, const void *data, uint64_t size),
                                       void *arg);
/* Compresses `size` bytes. Returns 0 or the number that `sink` returned. */
int gzip_writer_write(struct gzip_writer *w, const void *data, uint64_t size);
/* Writes the remaining bytes and the trailer. Call once, also for empty content. Returns 0 or the
 * number that `sink` returned. */
int gzip_writer_finish(struct gzip_writer *w);
/* NULL is fine. */
void gzip_writer_destroy(struct gzip_writer *w);

/* zstd (level 1): a frame per MiB of content, with its size and checksum, so that a reader can cut
 * the file between them (input/split.h). */
struct zstd_writer;

/* As gzip_writer_create and the functions after it. Needs about 4 MiB. */
struct zstd_writer *zstd_writer_create(int (*sink)(void *arg, const void *data, uint64_t size),
                                       void *arg);
int zstd_writer_write(struct zstd_writer *w, const void *data, uint64_t size);
int zstd_writer_finish(struct zstd_writer *w);
void zstd_writer_destroy(struct zstd_writer *w);

#endif
