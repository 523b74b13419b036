/* See join_model.h. */
#include "tests/unit/ops/join_model.h"

#include "engine/records/codec.h"

#include <msgpack.h>

struct glint_rdd *sides_left(struct glint *g, const struct sides *s)
{
    return glint_parallelize(g, s->left.schema, s->left.rows, s->left.count, s->left_maps);
}

struct glint_rdd *sides_right(struct glint *g, const struct sides *s)
{
    return glint_parallelize(g, s->right.schema, s->right.rows, s->right.count, s->right_maps);
}

struct glint_rdd *sides_make(struct glint *g, void *arg)
{
    const struct sides *s = arg;
    struct glint_rdd *left = sides_left(g, s);
    return glint_with_partitions(s->op(left, sides_right(g, s)), s->partitions);
}

void sides_free(struct sides *s)
{
    table_free(&s->left);
    table_free(&s->right);
}

/* Texts of which many begin alike; some are empty. */
static union glint_value make_cell(enum glint_type type, uint64_t random, uint64_t different,
                                   uint8_t *memory)
{
    const uint64_t n = random % different;
    if (type == GLINT_NONE) return none();
    if (type == GLINT_I64) return number((int64_t)(n * n * n) - 20);
    if (type == GLINT_F64) return real(((double)n - 4) / 3);
    if (type == GLINT_MSGPACK) { /* [n, "abc"] */
        memory[0] = 0x92, memory[1] = (uint8_t)(n & 0x7f);
        memcpy(memory + 2,
               "\xa3"
               "abc",
               4);
        return bytes(memory, 6);
    }
    const uint64_t size = n % 40;
    memset(memory, 'a', size);
    if (size > 0) memory[size - 1] = (uint8_t)('a' + n / 40);
    return bytes(memory, size);
}

static void fill_table(struct table *t, uint64_t rows, uint64_t first_key, uint64_t *seed)
{
    uint8_t key[64], value[64];
    for (uint64_t i = 0; i < rows; i++) {
        const uint64_t k = first_key + (test_next(seed) >> 7) % 40;
        const union glint_value a = make_cell(t->schema.key, k, 120, key);
        table_add(t, a, make_cell(t->schema.value, test_next(seed) >> 7, 100, value));
    }
}

struct sides sides_random(struct glint_schema left, struct glint_schema right, uint64_t rows,
                          uint64_t seed)
{
    struct sides s = {.left = {.schema = left},
                      .right = {.schema = right},
                      .left_maps = 3,
                      .right_maps = 2,
                      .partitions = 4};
    seed = seed * 2 + 1;
    fill_table(&s.left, rows, 0, &seed);
    fill_table(&s.right, rows, 15, &seed);
    return s;
}

bool same_key(enum glint_type type, const union glint_value *a, const union glint_value *b)
{
    uint8_t x[CODEC_NUMBER_BYTES], y[CODEC_NUMBER_BYTES];
    return codec_compare(codec_encode(type, a, x), codec_encode(type, b, y)) == 0;
}

uint64_t count_key(const struct table *t, const union glint_value *key)
{
    uint64_t n = 0;
    for (uint64_t i = 0; i < t->count; i++) n += same_key(t->schema.key, &t->rows[i].key, key);
    return n;
}

static void pack_cell(msgpack_packer *pk, enum glint_type type, const union glint_value *v)
{
    if (v == NULL || type == GLINT_NONE) {
        msgpack_pack_nil(pk);
    } else if (type == GLINT_I64) {
        msgpack_pack_int64(pk, v->i64);
    } else if (type == GLINT_F64) {
        msgpack_pack_double(pk, v->f64);
    } else if (type == GLINT_TEXT) {
        msgpack_pack_str(pk, v->bytes.size);
        msgpack_pack_str_body(pk, v->bytes.data, v->bytes.size);
    } else if (type == GLINT_BYTES) {
        msgpack_pack_bin(pk, v->bytes.size);
        msgpack_pack_bin_body(pk, v->bytes.data, v->bytes.size);
    } else {
        msgpack_sbuffer_write(pk->data, (const char *)v->bytes.data, v->bytes.size);
    }
}

void add_pair(struct table *t, const union glint_value *key, enum glint_type first_type,
              const union glint_value *first, enum glint_type second_type,
              const union glint_value *second)
{
    msgpack_sbuffer out;
    msgpack_packer pk;
    msgpack_sbuffer_init(&out);
    msgpack_packer_init(&pk, &out, msgpack_sbuffer_write);
    msgpack_pack_array(&pk, 2);
    pack_cell(&pk, first_type, first);
    pack_cell(&pk, second_type, second);
    table_add(t, *key, bytes(out.data, out.size));
    msgpack_sbuffer_destroy(&out);
}

struct table join_model(const struct sides *s, bool keep_left, bool keep_right)
{
    const enum glint_type key = s->left.schema.key;
    const enum glint_type a = s->left.schema.value, b = s->right.schema.value;
    struct table t = {.schema = {key, GLINT_MSGPACK}};
    for (uint64_t i = 0; i < s->left.count; i++) {
        const struct glint_record *l = &s->left.rows[i];
        for (uint64_t j = 0; j < s->right.count; j++) {
            const struct glint_record *r = &s->right.rows[j];
            if (same_key(key, &l->key, &r->key)) add_pair(&t, &l->key, a, &l->value, b, &r->value);
        }
        if (keep_left && count_key(&s->right, &l->key) == 0)
            add_pair(&t, &l->key, a, &l->value, b, NULL);
    }
    for (uint64_t j = 0; keep_right && j < s->right.count; j++) {
        const struct glint_record *r = &s->right.rows[j];
        if (count_key(&s->left, &r->key) == 0) add_pair(&t, &r->key, a, NULL, b, &r->value);
    }
    table_by_hash(&t, s->partitions);
    return t;
}
