/* A format whose magic bytes cannot start a text is detected by them alone. If a text could start
 * with them, more is compared: bzip2's first block, Avro's schema, or whether a NUL byte occurs.
 * Any other file with a NUL byte in its head is binary, as for grep and git; a NUL byte after the
 * head is read as part of the text. */
#include "engine/data/format.h"

#include "engine/base/text.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

struct bytes {
    const char *data;
    uint16_t size, at;
};

#define BYTES(text, at)                                                                            \
    {                                                                                              \
        text, sizeof text - 1, at                                                                  \
    }

struct format {
    struct bytes first, second; /* second.size 0: only the first is compared */
    bool anywhere;              /* the second may be anywhere in the head */
    bool binary;                /* the head must also contain a NUL byte */
    const char *name, *hint;
};

#define UNPACK(how)  "decompress it first (" how "); gzip is the only compression that jobs read"
#define CONVERT_HINT "convert it to text first, one row per line; jobs read text, plain or gzip"

static const struct format formats[] = {
    {BYTES("\x28\xb5\x2f\xfd", 0), .name = "compressed by zstd", .hint = UNPACK("zstd -d")},
    {BYTES("BZh", 0), BYTES("1AY&SY", 4), .name = "compressed by bzip2",
     .hint = UNPACK("bzip2 -d")},
    {BYTES("BZh", 0), BYTES("\x17\x72\x45\x38\x50\x90", 4), .name = "compressed by bzip2",
     .hint = UNPACK("bzip2 -d")}, /* of empty content */
    {BYTES("\xfd\x37\x7a\x58\x5a\0", 0), .name = "compressed by xz", .hint = UNPACK("xz -d")},
    {BYTES("\x04\x22\x4d\x18", 0), .name = "compressed by lz4", .hint = UNPACK("lz4 -d")},
    {BYTES("\x02\x21\x4c\x18", 0), .name = "compressed by lz4", .hint = UNPACK("lz4 -d")},
    /* 0x15 starts the first page's header, or the footer if the file has no rows. */
    {BYTES("PAR1\x15", 0), .name = "a Parquet file", .hint = CONVERT_HINT},
    {BYTES("ORC", 0), .binary = true, .name = "an ORC file", .hint = CONVERT_HINT},
    {BYTES("Obj\x01", 0), BYTES("avro.schema", 0), .anywhere = true, .name = "an Avro file",
     .hint = CONVERT_HINT},
    {BYTES("PK\x03\x04", 0), .name = "a zip archive", .hint = "unpack it first (unzip)"},
    {BYTES("PK\x05\x06", 0), .name = "a zip archive", .hint = "unpack it first (unzip)"},
    {BYTES("ustar", 257), .binary = true, .name = "a tar archive",
     .hint = "unpack it first (tar -xf)"},
    {BYTES("\xff\xfe", 0), .binary = true, .name = "text in UTF-16",
     .hint = "convert it first: iconv -f UTF-16 -t UTF-8"},
    {BYTES("\xfe\xff", 0), .binary = true, .name = "text in UTF-16",
     .hint = "convert it first: iconv -f UTF-16 -t UTF-8"},
};

static bool matches_at(const struct bytes *b, const uint8_t *head, uint64_t size)
{
    return size >= (uint64_t)b->at + b->size && memcmp(head + b->at, b->data, b->size) == 0;
}

static bool is_format(const struct format *f, const uint8_t *head, uint64_t size, bool nul)
{
    assert(f->first.size > 0);
    if (!matches_at(&f->first, head, size) || (f->binary && !nul)) return false;
    if (f->anywhere) return memmem(head, size, f->second.data, f->second.size) != NULL;
    return f->second.size == 0 || matches_at(&f->second, head, size);
}

bool format_is_gzip(const uint8_t *head, uint64_t size)
{
    const bool magic = size >= 4 && memcmp(head, "\x1f\x8b\x08", 3) == 0;
    return magic && (head[3] & 0xe0) == 0; /* the reserved flags must be 0 */
}

const char *format_detect_unsupported(const uint8_t *head, uint64_t size, bool compressed,
                                      char *reason)
{
    if (size > FORMAT_HEAD_BYTES) size = FORMAT_HEAD_BYTES;
    const uint8_t *nul = size > 0 ? memchr(head, 0, size) : NULL;
    for (size_t i = 0; i < sizeof formats / sizeof formats[0]; i++) {
        if (!is_format(&formats[i], head, size, nul != NULL)) continue;
        text_format(reason, FORMAT_REASON_BYTES, "it is %s", formats[i].name);
        return formats[i].hint;
    }
    if (nul == NULL || compressed) return NULL;
    text_format(reason, FORMAT_REASON_BYTES, "it is binary: byte %" PRIu64 " is NUL",
                (uint64_t)(nul - head));
    return "jobs read text, plain or gzip; if this is text, remove its NUL bytes: tr -d '\\000'";
}
