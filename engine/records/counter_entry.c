/* See counter_entry.h. */
#include "engine/records/counter_entry.h"

#include "engine/records/codec.h"

bool counter_entry_unpack(struct unpacker *u, struct counter_entry *out)
{
    struct unpacker entry = unpack_array(u);
    *out = (struct counter_entry){.is_accumulator = entry.count == 4};
    unpack_text(&entry, out->name, sizeof out->name);
    if (!out->is_accumulator) {
        out->value = unpack_i64(&entry);
        return unpack_is_complete(&entry);
    }
    union glint_value value;
    unpack_text(&entry, out->function, sizeof out->function);
    out->type = (enum glint_type)unpack_u64(&entry, GLINT_MSGPACK);
    out->bytes = unpack_bytes(&entry);
    return unpack_is_complete(&entry) && out->name[0] != '\0' && out->type > GLINT_NONE &&
           codec_decode(out->type, out->bytes, &value);
}
