/* Detection of formats by their first bytes, and of text that starts like one. */
#include "engine/input/format.h"
#include "engine/input/format_library.h"

#include <criterion/criterion.h>
#include <string.h>

#define HEAD(text) (const uint8_t *)(text), sizeof(text) - 1

static char reason[FORMAT_REASON_BYTES];

static void expect_rejected(const uint8_t *head, uint64_t size, const char *what)
{
    const char *hint = format_detect_unsupported(head, size, false, reason);
    cr_expect(hint != NULL && hint[0] != '\0', "%s is detected as text", what);
    cr_expect(strstr(reason, what) != NULL, "%s: %s", what, reason);
}

static void expect_text(const uint8_t *head, uint64_t size)
{
    const char *hint = format_detect_unsupported(head, size, false, reason);
    cr_expect_null(hint, "%.*s: %s", (int)size, (const char *)head, reason);
    cr_expect_eq(format_detect_compression(head, size), COMPRESSION_NONE, "%.*s", (int)size,
                 (const char *)head);
}

Test(format, files_of_columns_are_recognized)
{
    cr_expect_eq(format_detect_columns(HEAD("PAR1\x15\x04\x15")), FORMAT_PARQUET);
    cr_expect_eq(format_detect_columns(HEAD("PARE\x01\0\0")), FORMAT_PARQUET);
    cr_expect_eq(format_detect_columns(HEAD("ARROW1\0\0")), FORMAT_ARROW_FILE);
    cr_expect_eq(format_detect_columns(HEAD("Obj\x01\x04\x14"
                                            "avro.codec")),
                 FORMAT_AVRO);
    cr_expect_eq(format_detect_columns(HEAD("\xff\xff\xff\xff\x80\0\0\0\x10\0\0\0\0\0\0\0")),
                 FORMAT_ARROW_STREAM);
    cr_expect_eq(format_detect_columns(HEAD("\xff\xff\xff\xff\x80\0\0\0\x14\0\0\0\0\0\0\0")),
                 FORMAT_ARROW_STREAM);
    cr_expect_eq(format_detect_columns(HEAD("\xff\xff\xff\xff\x80\0\0\0\x14\1\0\0\0\0\0\0")), 0);
    cr_expect_eq(format_detect_columns(HEAD("ORC\x0a\x05\0\x08\x01")), FORMAT_ORC);
    cr_expect_eq(format_detect_columns(HEAD("ORC\x08\x03\x10\x03ORC\x09")), FORMAT_ORC);
    cr_expect_eq(format_detect_columns(HEAD("ORC\t7.0\t1\nORC\t8.0\t1\n")), 0);
    cr_expect_eq(format_detect_columns(HEAD("ORC\n")), 0);
    cr_expect_eq(format_detect_columns(HEAD("ORC\nORC\nORC\n")), 0);
    cr_expect_eq(format_detect_columns(HEAD("PAR1")), 0);
    cr_expect_eq(format_detect_columns(HEAD("PAR1 is the first name of a text")), 0);
    cr_expect_eq(format_detect_columns(HEAD("PARENT\tCHILD")), 0);
    cr_expect_eq(format_detect_columns(HEAD("ARROW1 is text")), 0);
    cr_expect_eq(format_detect_columns(HEAD("Obj\x01\tkey")), 0);
    cr_expect_eq(format_detect_columns(NULL, 0), 0);
}

Test(format, binary_formats_are_recognized)
{
    expect_rejected(HEAD("\x02\x21\x4c\x18\x64"), "lz4");
    expect_rejected(HEAD("FEA1\0\0\0\0"), "Feather file of version 1");
    expect_rejected(HEAD("PK\x03\x04\x14"), "zip");
    expect_rejected(HEAD("PK\x05\x06"), "zip");
    expect_rejected(HEAD("\xff\xfe"
                         "a\0\n\0"),
                    "UTF-16");
    expect_rejected(HEAD("\xfe\xff\0a\0\n"), "UTF-16");
    uint8_t tar[512] = "a.tsv";
    memcpy(tar + 257, "ustar", 5);
    expect_rejected(tar, sizeof tar, "tar");
}

Test(format, compressions_are_recognized)
{
    static const struct {
        const char *head;
        uint64_t size;
        enum compression wanted;
    } heads[] = {
        {"\x1f\x8b\x08\x00\x01", 5, COMPRESSION_GZIP},
        {"\x28\xb5\x2f\xfd\x24\x05", 6, COMPRESSION_ZSTD},
        {"BZh91AY&SY\x84\x32", 12, COMPRESSION_BZIP2},
        {"BZh9\x17\x72\x45\x38\x50\x90", 10, COMPRESSION_BZIP2},
        {"\xfd"
         "7zXZ\0\0\x04",
         8, COMPRESSION_XZ},
        {"\x04\x22\x4d\x18\x64", 5, COMPRESSION_LZ4},
        /* after skippable frames, which zstd and lz4 share; pzstd starts with one */
        {"\x50\x2a\x4d\x18\x01\0\0\0x\x28\xb5\x2f\xfd", 13, COMPRESSION_ZSTD},
        {"\x5f\x2a\x4d\x18\x01\0\0\0x\x04\x22\x4d\x18", 13, COMPRESSION_LZ4},
        {"\x50\x2a\x4d\x18\x00\x00\x01\0x", 9, COMPRESSION_ZSTD}, /* longer than the head */
        {"\x50\x2a\x4d\x18\x01\0\0\0xtext", 13, COMPRESSION_NONE},
    };
    for (unsigned i = 0; i < sizeof heads / sizeof *heads; i++)
        cr_expect_eq(format_detect_compression((const uint8_t *)heads[i].head, heads[i].size),
                     heads[i].wanted, "%u", i);
}

Test(format, nul_byte_means_binary_and_is_located)
{
    uint8_t head[FORMAT_HEAD_BYTES + 10];
    expect_rejected(HEAD("\0"), "byte 0 is NUL");
    expect_rejected(HEAD("id\t\0\t1\n"), "byte 3 is NUL");
    memset(head, 'x', sizeof head);
    head[FORMAT_HEAD_BYTES] = 0; /* after the examined bytes */
    expect_text(head, sizeof head);
    head[FORMAT_HEAD_BYTES - 1] = 0;
    cr_expect_null(
        format_detect_unsupported(head, sizeof head, true, reason)); /* or NUL bytes are text */
    expect_rejected(head, sizeof head, "byte 4095 is NUL");
}

Test(format, text_similar_to_a_format_is_accepted)
{
    static const char *const texts[] = {"",
                                        "\n",
                                        "B",
                                        "BZh",
                                        "BZh9 is a name\n",
                                        "BZh91AY&S",
                                        "PK",
                                        "PK\t5.0\t1\n",
                                        "PAR1",
                                        "PAR1\t5.0\nPAR2\t4.0\nPAR1",
                                        "ORC",
                                        "ORC\tan orc\n",
                                        "Obj\x01 a column\x01more\n",
                                        "7zXZ\n",
                                        "\x1f",
                                        "\x1f\x8b",
                                        "\x28\xb5\x2f",
                                        "P*M\x18 text",
                                        "\xff\xfe in Latin-1\n",
                                        "\xef\xbb\xbfid\n",
                                        "\x01\x02\x03\x7f\x80\xc3\x28\xff"};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        expect_text((const uint8_t *)texts[i], strlen(texts[i]));
    char ustar[600];
    memset(ustar, 'u', sizeof ustar);
    memcpy(ustar + 257, "ustar", 5);
    expect_text((const uint8_t *)ustar, sizeof ustar);
}

Test(format, gzip_header_is_recognized)
{
    cr_expect_eq(format_detect_compression(HEAD("\x1f\x8b\x08\0\0\0\0\0\0\x03")), COMPRESSION_GZIP);
    cr_expect_eq(format_detect_compression(HEAD("\x1f\x8b\x08\0")), COMPRESSION_GZIP);
    expect_text(HEAD("\x1f\x8b\x08"));
    expect_text(HEAD("\x1f\x8b\x08\x80"));
    expect_text(HEAD("\x1f\x8b\x07\x01"));
}
