/* What a file is, told by its first bytes: text, gzip, or something that no source reads. Pure; any
 * thread. */
#ifndef GLINT_DATA_FORMAT_H
#define GLINT_DATA_FORMAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FORMAT_HEAD_BYTES   4096u /* what is looked at: one page, one read */
#define FORMAT_REASON_BYTES 128u

/* The head of a gzip stream; no text begins so. */
bool format_is_gzip(const uint8_t *head, uint64_t size);

/* Is this the beginning of a file in another format, or of a binary one? Then writes why, as a
 * cause says it behind the file's name, into `reason` (FORMAT_REASON_BYTES) and returns what to do,
 * a static text. NULL: it is text, as far as these bytes tell. `size` may be less than
 * FORMAT_HEAD_BYTES only where the file is. gzip is not asked for here. `packed`: it is compressed
 * by its name, so NUL bytes mean nothing. */
const char *format_detect_unsupported(const uint8_t *head, uint64_t size, bool compressed,
                                      char *reason);

#endif
