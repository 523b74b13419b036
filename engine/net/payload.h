/* Fields that several payloads share: names, incarnations, errors. Used by engine/net and
 * engine/transfer.
 *
 * Encoders append to the caller's buffer, which a packer owns between payload_pack_begin
 * and payload_pack_end. */
#ifndef GLINT_NET_PAYLOAD_H
#define GLINT_NET_PAYLOAD_H

#include "engine/base/error.h"
#include "engine/data/pack.h"

/* Starts an array of `fields` fields, appended to *out. The packer owns *out
 * until payload_pack_end. */
void payload_pack_begin(struct packer *p, struct buffer *out, uint64_t fields);
/* Returns the buffer to *out. Returns 0, or NO_MEMORY with *out truncated to `before`, its size
 * at payload_pack_begin. */
int payload_pack_end(struct packer *p, struct buffer *out, uint64_t before,
                     struct glint_error *error);
/* Returns 0 if all fields were read and valid, else PROTOCOL with the message "WHAT
 * does not parse". */
int payload_unpack_end(const struct unpacker *u, const char *what, struct glint_error *error);

/* Reads a text. Fails the unpacker if it does not fit or is not printable (base/text.h). */
void unpack_name(struct unpacker *u, char *out, size_t capacity);
/* Reads exactly `size` bytes; any other length fails the unpacker. */
void unpack_fixed_bytes(struct unpacker *u, uint8_t *out, size_t size);
static inline void pack_fixed_bytes(struct packer *p, const uint8_t *data, size_t size)
{
    pack_bytes(p, (struct glint_slice){data, size});
}

/* Writes an error as an array: code, cause, effect, hint. NULL: an empty array. */
void pack_error(struct packer *p, const struct glint_error *e);
/* Fails the unpacker if the code is not in codes.h. */
void unpack_error(struct unpacker *u, struct glint_error *out);

#endif
