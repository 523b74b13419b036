/* A gzip writer (ISA-L, level 1): one member, no name and no time in it. The compressed bytes
 * follow from the content alone, not from how it was cut into calls; other processors may pick
 * other, equally right ones. */
#ifndef GLINT_DATA_GZIP_H
#define GLINT_DATA_GZIP_H

#include <stdint.h>

struct gzip_writer;

/* `sink` takes compressed bytes, borrowed until it returns; non-zero ends the stream and is
 * returned by the call at hand and by every later one. NULL without memory (about 400 KiB). */
struct gzip_writer *gzip_writer_create(int (*sink)(void *arg, const void *data, uint64_t size),
                                       void *arg);
int gzip_writer_write(struct gzip_writer *w, const void *data, uint64_t size);
/* Writes what is left and the trailer. Once, also for empty content. */
int gzip_writer_finish(struct gzip_writer *w);
void gzip_writer_destroy(struct gzip_writer *w);

#endif
