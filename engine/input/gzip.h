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

/* Parses the header of a gzip member (RFC 1952) byte by byte. ISA-L's own parser loses the flags
 * when a header spans two input buffers, and then misses the optional fields. */
enum gzip_header_phase {
    HEADER_FIXED, /* ten bytes; each of the next phases only if its flag is set */
    HEADER_EXTRA_LENGTH,
    HEADER_EXTRA,
    HEADER_NAME,
    HEADER_COMMENT,
    HEADER_CHECKSUM,
    HEADER_DONE,
};

/* Zeros are the start of a header. */
struct gzip_header {
    enum gzip_header_phase phase;
    uint8_t flags;
    uint32_t at;     /* bytes of the phase so far */
    uint32_t number; /* the bytes so far of the extra field's length or of the checksum */
    uint32_t crc;    /* of all bytes before the checksum */
    /* The block's size that a BGZF header contains, in its subfield BC; 0: there is none. */
    uint32_t block_bytes;
    uint32_t subfield_at, subfield_left; /* bytes of the current subfield */
    uint8_t subfield[4];                 /* its id and length */
};

/* Parses one byte; call it until the phase is HEADER_DONE. Returns NULL, or the reason (static) why
 * the header is invalid. */
const char *gzip_header_parse_byte(struct gzip_header *h, uint8_t byte);

#endif
