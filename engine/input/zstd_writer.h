/* A zstd writer (level 1): a frame per MiB of content, with its size and checksum, so that a reader
 * can cut the file between them (input/split.h). The compressed bytes depend only on the content,
 * not on how it is divided into calls. */
#ifndef GLINT_INPUT_ZSTD_WRITER_H
#define GLINT_INPUT_ZSTD_WRITER_H

#include <stdint.h>

struct zstd_writer;

/* As gzip_writer_create and the functions after it (input/gzip.h). Needs about 4 MiB. */
struct zstd_writer *zstd_writer_create(int (*sink)(void *arg, const void *data, uint64_t size),
                                       void *arg);
int zstd_writer_write(struct zstd_writer *w, const void *data, uint64_t size);
int zstd_writer_finish(struct zstd_writer *w);
void zstd_writer_destroy(struct zstd_writer *w);

#endif
