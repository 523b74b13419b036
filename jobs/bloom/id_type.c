/* The table of types and schemes: how many bytes a value has. All are little-endian, except uuid,
 * so that 4 and 8 bytes are what the classes hash of an int and a long:
 *
 *     xxh64           the PLAIN encoding of Parquet's physical type
 *     spark-bloom     putLong, of every integer; MurmurHash3 of 8 bytes is Spark's hashLong
 *     guava           intFunnel, longFunnel
 *     datasketches    update(long), update(double)
 *     orc             addLong, addDouble; Thomas Wang's hash instead of MurmurHash (formats/orc.c)
 *     wide            as xxh64 */
#include "jobs/bloom/id_type.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

static const char *const kind_names[BLOOM_ID_KINDS] = {"text", "bytes", "i32",       "i64",  "u64",
                                                       "f64",  "date",  "timestamp", "uuid", NULL};

enum { DECIMAL_WIDTH = 255 }; /* 4 or 8, by its precision */

#define PLAIN_WIDTHS                                                                               \
    {                                                                                              \
        [BLOOM_ID_I32] = 4, [BLOOM_ID_I64] = 8, [BLOOM_ID_U64] = 8, [BLOOM_ID_F64] = 8,            \
        [BLOOM_ID_DATE] = 4, [BLOOM_ID_TIMESTAMP] = 8, [BLOOM_ID_UUID] = 16,                       \
        [BLOOM_ID_DECIMAL] = DECIMAL_WIDTH                                                         \
    }

static const uint8_t widths[BLOOM_SCHEMES][BLOOM_ID_KINDS] = {
    [BLOOM_WIDE] = PLAIN_WIDTHS,
    [BLOOM_XXH64] = PLAIN_WIDTHS,
    [BLOOM_SPARK_BLOOM] = {[BLOOM_ID_I32] = 8, [BLOOM_ID_I64] = 8},
    [BLOOM_SPARK_BLOOM_V2] = {[BLOOM_ID_I32] = 8, [BLOOM_ID_I64] = 8},
    [BLOOM_GUAVA] = {[BLOOM_ID_I32] = 4, [BLOOM_ID_I64] = 8},
    [BLOOM_DATASKETCHES] = {[BLOOM_ID_I32] = 8, [BLOOM_ID_I64] = 8, [BLOOM_ID_F64] = 8},
    [BLOOM_ORC] = {[BLOOM_ID_I32] = 8, [BLOOM_ID_I64] = 8, [BLOOM_ID_F64] = 8, [BLOOM_ID_DATE] = 8},
};

bool bloom_id_type_is_valid(uint32_t type)
{
    const uint32_t precision = bloom_id_precision(type), scale = bloom_id_scale(type);
    if (bloom_id_kind(type) >= BLOOM_ID_KINDS) return false;
    if (bloom_id_kind(type) != BLOOM_ID_DECIMAL) return precision == 0 && scale == 0;
    return precision > 0 && precision <= BLOOM_ID_DECIMAL_MAX && scale <= precision;
}

void bloom_id_type_name(uint32_t type, char out[BLOOM_ID_NAME_MAX])
{
    assert(bloom_id_type_is_valid(type));
    const char *name = kind_names[bloom_id_kind(type)];
    const int size = name != NULL ? snprintf(out, BLOOM_ID_NAME_MAX, "%s", name)
                                  : snprintf(out, BLOOM_ID_NAME_MAX, "decimal(%u,%u)",
                                             bloom_id_precision(type), bloom_id_scale(type));
    assert(size > 0 && size < BLOOM_ID_NAME_MAX);
}

bool bloom_id_type_parse(const char *name, uint64_t size, uint32_t *out_type)
{
    char known[BLOOM_ID_NAME_MAX];
    for (uint32_t kind = 0; kind < BLOOM_ID_DECIMAL; kind++) {
        *out_type = kind;
        if (strlen(kind_names[kind]) == size && memcmp(kind_names[kind], name, size) == 0)
            return true;
    }
    for (uint32_t precision = 1; precision <= BLOOM_ID_DECIMAL_MAX; precision++) {
        for (uint32_t scale = 0; scale <= precision; scale++) {
            *out_type = bloom_id_type(BLOOM_ID_DECIMAL, precision, scale);
            bloom_id_type_name(*out_type, known);
            if (strlen(known) == size && memcmp(known, name, size) == 0) return true;
        }
    }
    *out_type = 0;
    return false;
}

uint32_t bloom_id_width(enum bloom_scheme scheme, uint32_t type)
{
    assert((unsigned)scheme < BLOOM_SCHEMES && bloom_id_kind(type) < BLOOM_ID_KINDS);
    const uint32_t width = widths[scheme][bloom_id_kind(type)];
    if (width != DECIMAL_WIDTH) return width;
    return bloom_id_precision(type) <= BLOOM_ID_DECIMAL_I32 ? 4 : 8;
}

bool bloom_id_has_rule(enum bloom_scheme scheme, uint32_t type)
{
    return bloom_id_kind(type) <= BLOOM_ID_BYTES || bloom_id_width(scheme, type) > 0;
}

const char *bloom_id_schemes(uint32_t type, char *out, uint64_t capacity)
{
    uint64_t used = 0;
    assert(capacity > 0);
    out[0] = '\0';
    for (unsigned i = 0; i < BLOOM_SCHEMES; i++) {
        if (!bloom_id_has_rule((enum bloom_scheme)i, type)) continue;
        const int size = snprintf(out + used, capacity - used, "%s%s", used > 0 ? ", " : "",
                                  bloom_scheme_name((enum bloom_scheme)i));
        if (size < 0 || (uint64_t)size >= capacity - used) break;
        used += (uint64_t)size;
    }
    return out;
}
