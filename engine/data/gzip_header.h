/* A gzip member's header (RFC 1952), byte by byte. ISA-L's own reader forgets the flags when a
 * header stands across two of its input buffers, and with them the fields that still have to come.
 */
#ifndef GLINT_DATA_GZIP_HEADER_H
#define GLINT_DATA_GZIP_HEADER_H

#include <stdint.h>

enum gzip_header_phase {
    HEADER_FIXED, /* ten bytes; from here on only the phases that the flags name */
    HEADER_EXTRA_LENGTH,
    HEADER_EXTRA,
    HEADER_NAME,
    HEADER_COMMENT,
    HEADER_CHECKSUM,
    HEADER_DONE,
};

/* Zeros are a header of which nothing has been read. */
struct gzip_header {
    enum gzip_header_phase phase;
    uint8_t flags;
    uint32_t at;     /* bytes of the phase so far */
    uint32_t number; /* the extra field's length, or the checksum, as far as it was read */
    uint32_t crc;    /* of all bytes before the checksum */
};

/* Takes one byte, until the phase is HEADER_DONE. NULL, or what is wrong. */
const char *gzip_header_parse_byte(struct gzip_header *h, uint8_t byte);

#endif
