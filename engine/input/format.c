/* A format whose magic bytes cannot start a text is detected by them alone. If a text could start
 * with them, more is compared: bzip2's first block, or whether a NUL byte occurs.
 * Any other file with a NUL byte in its head is binary, as for grep and git; a NUL byte after the
 * head is read as part of the text. */
#include "engine/input/format.h"

#include "engine/base/text.h"
#include "engine/input/format_library.h"

#include <inttypes.h>

struct bytes {
    const char *data;
    uint16_t size, at;
};

#define BYTES(text, at)                                                                            \
    {                                                                                              \
        text, sizeof text - 1, at                                                                  \
    }

struct format {
    struct bytes magic;
    bool binary; /* the head must also contain a NUL byte */
    const char *name, *hint;
};

static const struct format formats[] = {
    {BYTES("\x02\x21\x4c\x18", 0), .name = "compressed by lz4 in its old format",
     .hint = "decompress it first (lz4 -d)"},
    {BYTES("FEA1", 0), .binary = true, .name = "a Feather file of version 1",
     .hint = "write it again with pyarrow.feather.write_feather, which writes version 2"},
    {BYTES("PK\x03\x04", 0), .name = "a zip archive", .hint = "unpack it first (unzip)"},
    {BYTES("PK\x05\x06", 0), .name = "a zip archive", .hint = "unpack it first (unzip)"},
    {BYTES("ustar", 257), .binary = true, .name = "a tar archive",
     .hint = "unpack it first (tar -xf)"},
    {BYTES("\xff\xfe", 0), .binary = true, .name = "text in UTF-16",
     .hint = "convert it first: iconv -f UTF-16 -t UTF-8"},
    {BYTES("\xfe\xff", 0), .binary = true, .name = "text in UTF-16",
     .hint = "convert it first: iconv -f UTF-16 -t UTF-8"},
};

/* No bytes match anywhere. */
static bool matches_magic_bytes(const struct bytes *b, const uint8_t *head, uint64_t size)
{
    return b->size == 0 ||
           (size >= (uint64_t)b->at + b->size && memcmp(head + b->at, b->data, b->size) == 0);
}

bool format_is_orc_by_ends(const uint8_t *head, const uint8_t *tail)
{
    return memcmp(head, "ORC", 3) == 0 && memcmp(tail, "\x03ORC", 4) == 0;
}

static bool begins_as_orc(const uint8_t *head, uint64_t size, bool nul)
{
    if (size < 8 || memcmp(head, "ORC", 3) != 0) return false;
    return nul || (size < FORMAT_HEAD_BYTES &&
                   format_is_orc_by_ends(head, head + size - FORMAT_TAIL_BYTES));
}

uint8_t format_detect_columns(const uint8_t *head, uint64_t size)
{
    static const struct {
        struct bytes first;
        bool binary;
        enum format_kind kind;
    } kinds[] = {
        /* 0x15 starts the first page's header, or the footer if the file has no rows. */
        {BYTES("PAR1\x15", 0), false, FORMAT_PARQUET},
        {BYTES("PARE", 0), true, FORMAT_PARQUET}, /* with an encrypted footer */
        {BYTES("ARROW1\0\0", 0), false, FORMAT_ARROW_FILE},
    };
    if (size > FORMAT_HEAD_BYTES) size = FORMAT_HEAD_BYTES;
    const bool nul = size > 0 && memchr(head, 0, size) != NULL;
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        if (matches_magic_bytes(&kinds[i].first, head, size) && (!kinds[i].binary || nul))
            return (uint8_t)kinds[i].kind;
    /* The header's map has these two keys, and perhaps others. */
    if (size > 4 && memcmp(head, "Obj\x01", 4) == 0 && memmem(head, size, "avro.", 5) != NULL)
        return FORMAT_AVRO;
    if (begins_as_orc(head, size, nul)) return FORMAT_ORC;
    /* A stream: a message's mark, the size of its metadata, and there the offset of its table,
     * after the table's list of fields: 0x10 or a little more. */
    uint32_t words[3] = {0, 0, 0};
    if (size >= 16) memcpy(words, head, sizeof words);
    const bool stream = words[0] == UINT32_MAX && words[1] >= 16 && words[1] % 8 == 0 &&
                        words[1] < 64u << 20 && words[2] % 4 == 0 && words[2] >= 4 &&
                        words[2] < 0x80 && words[2] < words[1];
    return stream ? FORMAT_ARROW_STREAM : 0;
}

static bool begins_as_gzip(const uint8_t *head, uint64_t size)
{
    const bool magic = size >= 4 && memcmp(head, "\x1f\x8b\x08", 3) == 0;
    return magic && (head[3] & 0xe0) == 0; /* the reserved flags must be 0 */
}

/* Returns the size of the skippable frame of zstd or lz4 at `at`, or 0. Text may start with the
 * first three bytes, but has no NUL after them. */
static uint64_t skippable_frame_bytes(const uint8_t *head, uint64_t size, uint64_t at)
{
    if (at > size || size - at < 8) return 0;
    const uint8_t *p = head + at;
    if ((p[0] & 0xf0) != 0x50 || memcmp(p + 1, "\x2a\x4d\x18", 3) != 0 || p[7] != 0) return 0;
    return 8 + (p[4] | (uint64_t)p[5] << 8 | (uint64_t)p[6] << 16);
}

enum compression format_detect_compression(const uint8_t *head, uint64_t size)
{
    static const struct {
        struct bytes first, second;
        enum compression compression;
    } magics[] = {
        {BYTES("\x28\xb5\x2f\xfd", 0), {NULL, 0, 0}, COMPRESSION_ZSTD},
        {BYTES("\x04\x22\x4d\x18", 0), {NULL, 0, 0}, COMPRESSION_LZ4},
        {BYTES("\xfd\x37\x7a\x58\x5a\0", 0), {NULL, 0, 0}, COMPRESSION_XZ},
        {BYTES("BZh", 0), BYTES("1AY&SY", 4), COMPRESSION_BZIP2},
        {BYTES("BZh", 0), BYTES("\x17\x72\x45\x38\x50\x90", 4), COMPRESSION_BZIP2}, /* empty */
    };
    if (size > FORMAT_HEAD_BYTES) size = FORMAT_HEAD_BYTES;
    if (begins_as_gzip(head, size)) return COMPRESSION_GZIP;
    uint64_t at = 0, frame;
    while ((frame = skippable_frame_bytes(head, size, at)) > 0) at += frame;
    if (at >= size) return at > 0 ? COMPRESSION_ZSTD : COMPRESSION_NONE;
    for (size_t i = 0; i < sizeof magics / sizeof magics[0]; i++)
        if (matches_magic_bytes(&magics[i].first, head + at, size - at) &&
            matches_magic_bytes(&magics[i].second, head + at, size - at))
            return magics[i].compression;
    return COMPRESSION_NONE;
}

const char *format_detect_unsupported(const uint8_t *head, uint64_t size, bool nul_is_text,
                                      char *reason)
{
    if (size > FORMAT_HEAD_BYTES) size = FORMAT_HEAD_BYTES;
    const uint8_t *nul = size > 0 ? memchr(head, 0, size) : NULL;
    for (size_t i = 0; i < sizeof formats / sizeof formats[0]; i++) {
        if (!matches_magic_bytes(&formats[i].magic, head, size) ||
            (formats[i].binary && nul == NULL))
            continue;
        text_format(reason, FORMAT_REASON_BYTES, "it is %s", formats[i].name);
        return formats[i].hint;
    }
    if (nul == NULL || nul_is_text) return NULL;
    text_format(reason, FORMAT_REASON_BYTES, "it is binary: byte %" PRIu64 " is NUL",
                (uint64_t)(nul - head));
    return "jobs read text, plain or compressed; if this is text, add --binary-files text";
}

bool format_is_columns_name(const char *path)
{
    return text_ends_with(path, ".parquet") || text_ends_with(path, ".arrow") ||
           text_ends_with(path, ".arrows") || text_ends_with(path, ".feather");
}

enum compression format_compression_of_name(const char *path)
{
    static const char *const ends[COMPRESSION_COUNT] = {
        [COMPRESSION_GZIP] = ".gz", [COMPRESSION_ZSTD] = ".zst", [COMPRESSION_BZIP2] = ".bz2",
        [COMPRESSION_XZ] = ".xz",   [COMPRESSION_LZ4] = ".lz4",
    };
    for (unsigned i = COMPRESSION_NONE + 1; i < COMPRESSION_COUNT; i++)
        if (text_ends_with(path, ends[i])) return (enum compression)i;
    return COMPRESSION_NONE;
}

const char *format_detect(const char *path, const uint8_t *head, uint64_t size, bool nul_is_text,
                          enum compression *out, char *reason)
{
    *out = format_detect_compression(head, size);
    if (*out != COMPRESSION_NONE) return NULL;
    *out = format_compression_of_name(path);
    return format_detect_unsupported(head, size, nul_is_text || *out != COMPRESSION_NONE, reason);
}
