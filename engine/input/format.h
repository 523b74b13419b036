/* Detects a file's format from its first bytes: text, a compression, or a format that glint cannot
 * read. Pure; any thread. */
#ifndef GLINT_INPUT_FORMAT_H
#define GLINT_INPUT_FORMAT_H

#include "engine/input/decompress.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define FORMAT_HEAD_BYTES   4096u /* bytes examined: one page, one read */
#define FORMAT_TAIL_BYTES   5u
#define FORMAT_REASON_BYTES 128u

enum { BYTE_ORDER_MARK_BYTES = 3 };
/* The size of the byte order mark of UTF-8 at the start of a text, or 0. */
static inline uint64_t byte_order_mark_size(const uint8_t *text, uint64_t size)
{
    return size >= BYTE_ORDER_MARK_BYTES && memcmp(text, "\xef\xbb\xbf", BYTE_ORDER_MARK_BYTES) == 0
               ? BYTE_ORDER_MARK_BYTES
               : 0;
}

/* Returns the compression of the file that starts with `head`; no text starts like this. */
enum compression format_detect_compression(const uint8_t *head, uint64_t size);

/* Returns the enum format_kind of the file of columns that starts with `head`, or 0. */
uint8_t format_detect_columns(const uint8_t *head, uint64_t size);
/* Whether the file that starts with `head` and whose last FORMAT_TAIL_BYTES are `tail` is ORC: both
 * have its magic, the tail after its size and before the postscript's. There need not be a NUL
 * between them for long. */
bool format_is_orc_by_ends(const uint8_t *head, const uint8_t *tail);

/* Whether the name of a file tells that it is a file of columns. */
bool format_is_columns_name(const char *path);

/* Returns the compression that the name of a file tells. */
enum compression format_compression_of_name(const char *path);

/* Detects files in another format and binary files. Returns NULL if the bytes look like text. Else
 * returns a hint for the user (static) and writes the reason into `reason` (FORMAT_REASON_BYTES),
 * worded to follow the file's name in an error's cause. `size` may be less than FORMAT_HEAD_BYTES
 * only if the file is that short. Does not detect what format_detect_compression
 * does. `nul_is_text`: NUL bytes do not make a file binary. */
const char *format_detect_unsupported(const uint8_t *head, uint64_t size, bool nul_is_text,
                                      char *reason);
/* Sets *out to the compression of a file with this name and these first bytes. Returns NULL if it
 * can be read, or else as format_detect_unsupported. If the name says that the file is compressed,
 * as .gz does, NUL bytes are expected; the decompressor reports what is wrong with the file. */
const char *format_detect(const char *path, const uint8_t *head, uint64_t size, bool nul_is_text,
                          enum compression *out, char *reason);

#endif
