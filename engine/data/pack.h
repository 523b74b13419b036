/* msgpack-c's packer on top of struct buffer. */
#ifndef GLINT_DATA_PACK_H
#define GLINT_DATA_PACK_H

#include "engine/base/mem.h"

#include <msgpack.h>

/* For msgpack_packer_init(&packer, buffer, pack_write): pack calls then answer 0, or -1 without
 * memory. */
static inline int pack_write(void *buffer, const char *data, size_t size)
{
    return buffer_append(buffer, data, size) ? 0 : -1;
}

#endif
