/* A header may have many thousand names: a message shows the first ones. */
#include "engine/base/header_names.h"

#include "engine/base/text.h"

#include <assert.h>
#include <inttypes.h>

#define MORE_BYTES (sizeof " and 18446744073709551615 more")

size_t header_name_append(char *out, size_t size, size_t capacity, struct glint_slice name)
{
    assert(size < capacity);
    for (uint64_t i = 0; i < name.size && size + 1 < capacity; i++)
        out[size++] = (char)(name.data[i] >= ' ' && name.data[i] != 0x7f ? name.data[i] : '?');
    out[size] = '\0';
    return size;
}

void header_names_format(struct glint_slice header, uint8_t separator, char *out, size_t capacity)
{
    struct glint_slice name;
    size_t size = 0;
    uint64_t more = 0;
    bool first = true;
    assert(capacity > 2 * MORE_BYTES);
    const size_t room = capacity - MORE_BYTES;
    out[0] = '\0';
    while (glint_next_name(&header, (char)separator, &name)) {
        if (!first && (more > 0 || name.size + 2 >= room - size)) {
            more++;
            continue;
        }
        if (!first) {
            out[size++] = ',';
            out[size++] = ' ';
        }
        size = header_name_append(out, size, room, name);
        first = false;
    }
    if (more > 0) text_format(out + size, capacity - size, " and %" PRIu64 " more", more);
}
