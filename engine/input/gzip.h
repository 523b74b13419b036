/* A gzip writer (ISA-L, level 1): one member, without name and time. The compressed bytes depend
 * only on the content, not on how it is divided into calls; another type of CPU may produce others
 * that decompress to the same content. */
#ifndef GLINT_INPUT_GZIP_H
#define GLINT_INPUT_GZIP_H

#include <stdint.h>

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

#endif
