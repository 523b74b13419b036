/* Values at the limits of every msgpack head, encoded by msgpack-c. */
#include "tests/unit/ops/msgpack_tables.h"

#include "engine/records/codec.h"

#include <criterion/criterion.h>
#include <math.h>
#include <msgpack.h>

static const int64_t numbers[] = {0,
                                  1,
                                  -1,
                                  -32,
                                  -33,
                                  127,
                                  128,
                                  -128,
                                  -129,
                                  255,
                                  256,
                                  INT16_MIN,
                                  INT16_MIN - 1,
                                  UINT16_MAX,
                                  UINT16_MAX + 1,
                                  INT32_MIN,
                                  INT32_MIN - (int64_t)1,
                                  UINT32_MAX,
                                  UINT32_MAX + (int64_t)1,
                                  INT64_MIN,
                                  INT64_MAX};

static const uint64_t sizes[] = {0, 1, 31, 32, 255, 256, 65535, 65536, EMIT_BUFFER_BYTES, 270000};

#define COUNT_OF(a) (sizeof(a) / sizeof *(a))

/* Arbitrary bytes, so most texts are not valid UTF-8. */
static union glint_value awkward_bytes(uint32_t row, uint64_t *seed, struct buffer *memory)
{
    const uint64_t size = row < COUNT_OF(sizes) ? sizes[row] : test_next(seed) % 100;
    memory->size = 0;
    cr_assert(buffer_reserve(memory, size + 8));
    for (uint64_t i = 0; i < size; i += 8) {
        const uint64_t random = test_next(seed);
        memcpy(memory->data + i, &random, sizeof random);
    }
    return bytes(memory->data, size);
}

static int append(void *data, const char *more, size_t size)
{
    return buffer_append(data, more, size) ? 0 : -1;
}

static union glint_value awkward_msgpack(uint32_t row, uint64_t *seed, struct buffer *memory)
{
    msgpack_packer pk;
    memory->size = 0;
    msgpack_packer_init(&pk, memory, append);
    switch (row % 7) {
    case 0: msgpack_pack_nil(&pk); break;
    case 1: msgpack_pack_true(&pk); break;
    case 2: msgpack_pack_int64(&pk, numbers[row % COUNT_OF(numbers)]); break;
    case 3:
        msgpack_pack_map(&pk, 20);
        for (int i = 0; i < 40; i++) msgpack_pack_int(&pk, i * i);
        break;
    case 4:
        for (int i = 0; i < 15; i++) msgpack_pack_array(&pk, 1);
        msgpack_pack_array(&pk, 0);
        break;
    case 5:
        msgpack_pack_array(&pk, 70000);
        for (int i = 0; i < 70000; i++) msgpack_pack_uint8(&pk, test_next(seed) % 256);
        break;
    default: msgpack_pack_ext(&pk, 5, 7); msgpack_pack_ext_body(&pk, "12345", 5);
    }
    return bytes(memory->data, memory->size);
}

static union glint_value make_edge_value(enum glint_type type, uint32_t row, uint64_t *seed,
                                         struct buffer *memory)
{
    static const double reals[] = {0.0, -0.0, 1.5, -1e300, 5e-324, INFINITY, -INFINITY, NAN};
    switch (type) {
    case GLINT_NONE: return none();
    case GLINT_I64:
        return number(row < COUNT_OF(numbers) ? numbers[row]
                                              : (int64_t)(test_next(seed) >> test_next(seed) % 64));
    case GLINT_F64: /* the byte form normalizes -0.0 and NaNs */
        return real(codec_decode_f64(
            codec_encode_f64(row < COUNT_OF(reals) ? reals[row] : (double)test_next(seed))));
    case GLINT_MSGPACK: return awkward_msgpack(row, seed, memory);
    default: return awkward_bytes(row, seed, memory);
    }
}

struct table awkward_table(struct glint_schema schema, uint32_t count)
{
    struct table t = {.schema = schema};
    struct buffer key = {NULL, 0, 0}, value = {NULL, 0, 0};
    uint64_t seed = 0x5eed;
    for (uint32_t row = 0; row < count; row++)
        table_add(&t, make_edge_value(schema.key, row, &seed, &key),
                  make_edge_value(schema.value, row, &seed, &value));
    buffer_fini(&key);
    buffer_fini(&value);
    return t;
}

static void pack_cell(msgpack_packer *pk, enum glint_type type, const union glint_value *v)
{
    const char *data = (const char *)v->bytes.data;
    switch (type) {
    case GLINT_NONE: msgpack_pack_nil(pk); break;
    case GLINT_I64: msgpack_pack_int64(pk, v->i64); break;
    case GLINT_F64: msgpack_pack_double(pk, v->f64); break;
    case GLINT_TEXT:
        msgpack_pack_str(pk, v->bytes.size);
        msgpack_pack_str_body(pk, data, v->bytes.size);
        break;
    case GLINT_BYTES:
        msgpack_pack_bin(pk, v->bytes.size);
        msgpack_pack_bin_body(pk, data, v->bytes.size);
        break;
    default: append(pk->data, data, v->bytes.size);
    }
}

struct buffer table_pack(const struct table *t, uint64_t first, uint64_t end)
{
    struct buffer out = {NULL, 0, 0};
    msgpack_packer pk;
    msgpack_packer_init(&pk, &out, append);
    cr_assert(buffer_reserve(&out, 1));
    for (uint64_t i = first; i < end; i++) {
        if (t->schema.key != GLINT_NONE) {
            msgpack_pack_array(&pk, 2);
            pack_cell(&pk, t->schema.key, &t->rows[i].key);
        }
        pack_cell(&pk, t->schema.value, &t->rows[i].value);
    }
    return out;
}
