/* Decompresses files as a stream: gzip (ISA-L), zstd, bzip2, xz and lz4, each by its own library. A
 * file has any number of frames (of gzip: members), which may be empty, and at least one. Bytes
 * after the last frame are an error, except the zeros that gzip and xz allow as padding; so is an
 * early end, or a file without bytes. One thread. */
#ifndef GLINT_INPUT_DECOMPRESS_H
#define GLINT_INPUT_DECOMPRESS_H

#include "engine/input/input_source.h"

/* The numbers are part of an encoded split. */
enum compression {
    COMPRESSION_NONE,
    COMPRESSION_GZIP,
    COMPRESSION_ZSTD,
    COMPRESSION_BZIP2,
    COMPRESSION_XZ,
    COMPRESSION_LZ4,
    COMPRESSION_COUNT,
};

struct decompressor;

/* Will read `source` (borrowed) from the byte at `from`, where a frame starts. If `to` is not 0, a
 * frame must end there; see decompressor_read. Returns NULL when out of memory. */
struct decompressor *decompressor_create(const struct input_source *source,
                                         enum compression compression, uint64_t from, uint64_t to);
/* Decompresses up to `size` > 0 bytes into `out` and returns their number: less than `size` only at
 * the end of the file, and once when the frame that ends at `to` is done; the next call continues
 * behind it. Returns COMPRESSED_TRUNCATED, COMPRESSED_CORRUPT, INPUT_FORMAT (it needs more than
 * DECOMPRESS_MEMORY_MAX), an error of the source, or NO_MEMORY with *error set, whose text
 * contains the offset in the compressed file. Checksums are verified at the end of a frame or
 * block, so a caller must read to the end before it may trust the bytes. */
int64_t decompressor_read(struct decompressor *z, void *out, uint64_t size,
                          struct glint_error *error);
/* Whether the frame that ends at `to` is done. */
bool decompressor_has_reached_range_end(const struct decompressor *z);
/* Returns the offset in the file of the next compressed byte. */
uint64_t decompressor_offset(const struct decompressor *z);
/* NULL is fine. */
void decompressor_destroy(struct decompressor *z);

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
