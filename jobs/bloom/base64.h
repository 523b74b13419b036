/* Base64 of whole files (RFC 4648), which are large. */
#ifndef GLINT_JOBS_BLOOM_BASE64_H
#define GLINT_JOBS_BLOOM_BASE64_H

#include <stdbool.h>
#include <stdint.h>

enum { BASE64_GROUP = 3, BASE64_GROUP_TEXT = 4, BASE64_PAIRS = 1 << 12 };

/* The two digits of 12 bits. */
struct base64_pairs {
    char digits[BASE64_PAIRS][2];
};

/* `url`: with the digits of URLs and file names (section 5). */
void base64_pairs_init(struct base64_pairs *p, bool url);
/* Pads the last group. Returns the size of the text: 4 for each 3 bytes, or fewer at the end. */
uint64_t base64_encode(const struct base64_pairs *p, const uint8_t *in, uint64_t size,
                       uint8_t *out);
/* Decodes the text of exactly `size` bytes, in place. Returns UINT64_MAX, or the place of a digit
 * or a padding that is wrong; bits behind the last byte must be 0. */
uint64_t base64_decode(bool url, uint8_t *text, uint64_t size);

#endif
