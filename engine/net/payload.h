/* What several payloads have in common: names, incarnations, errors. Internal to engine/net.
 *
 * Encoders append to the caller's buffer: a packer borrows it between payload_pack_begin and
 * payload_pack_end. */
#ifndef GLINT_NET_PAYLOAD_H
#define GLINT_NET_PAYLOAD_H

#include "engine/base/error.h"
#include "engine/data/pack.h"

/* The packer appends to *out, which is the packer's until payload_pack_end. */
void payload_pack_begin(struct packer *p, struct buffer *out, uint64_t fields);
/* Gives the buffer back. 0, or NO_MEMORY, and *out is as long as it was (`before`: its size at
 * payload_pack_begin). */
int payload_pack_end(struct packer *p, struct buffer *out, uint64_t before,
                     struct glint_error *error);
/* Ends `u`: 0 where all fields were read and right, else PROTOCOL: "WHAT does not parse". */
int payload_unpack_end(struct unpacker *u, const char *what, struct glint_error *error);

/* A text that is fit to be shown (base/text.h), or the unpacker fails. */
void unpack_name(struct unpacker *u, char *out, size_t capacity);
/* Exactly `size` bytes. */
void unpack_fixed_bytes(struct unpacker *u, uint8_t *out, size_t size);
static inline void pack_fixed_bytes(struct packer *p, const uint8_t *data, size_t size)
{
    pack_bytes(p, (struct glint_slice){data, size});
}

/* An error as an array of its own: code, cause, effect, hint; NULL: an empty array. */
void pack_error(struct packer *p, const struct glint_error *e);
/* The code must be one of codes.h: others fail. */
void unpack_error(struct unpacker *u, struct glint_error *out);

#endif
