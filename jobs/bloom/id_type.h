/* The types that ids can have besides bytes, and how the class of each scheme hashes their values.
 * A value is hashed as its bytes, which id_value_parse (jobs/rows/id_values.h) makes of a text;
 * only orc hashes numbers by a rule of its own. docs/filter-format.md has the table. */
#ifndef GLINT_JOBS_BLOOM_ID_TYPE_H
#define GLINT_JOBS_BLOOM_ID_TYPE_H

#include "jobs/bloom/bloom.h"

enum bloom_id_kind {
    BLOOM_ID_TEXT,  /* the bytes of the text */
    BLOOM_ID_BYTES, /* written as hexadecimal digits */
    BLOOM_ID_I32,
    BLOOM_ID_I64,
    BLOOM_ID_U64,
    BLOOM_ID_F64,
    BLOOM_ID_DATE,      /* days since 1970-01-01 */
    BLOOM_ID_TIMESTAMP, /* microseconds since 1970-01-01, UTC */
    BLOOM_ID_UUID,      /* 16 bytes, as written */
    BLOOM_ID_DECIMAL,   /* a number times 10^scale */
    BLOOM_ID_KINDS,     /* number of kinds */
};

enum {
    BLOOM_ID_NAME_MAX = 16, /* of a name with its NUL */
    BLOOM_ID_DECIMAL_MAX = 18,
    BLOOM_ID_DECIMAL_I32 = 9, /* decimals of so many digits have 4 bytes */
};

/* For options: decimal has precision and scale, decimal(18,2). */
#define BLOOM_ID_TYPES "text|bytes|i32|i64|u64|f64|date|timestamp|uuid|decimal(P,S)"

/* A type as one number, which struct bloom_params has: its kind and, of decimal, its precision and
 * scale. 0 is text. */
static inline uint32_t bloom_id_type(enum bloom_id_kind kind, uint32_t precision, uint32_t scale)
{
    return (uint32_t)kind | precision << 8 | scale << 16;
}
static inline enum bloom_id_kind bloom_id_kind(uint32_t type)
{
    return (enum bloom_id_kind)(type & 0xff);
}
static inline uint32_t bloom_id_scale(uint32_t type)
{
    return type >> 16;
}
static inline uint32_t bloom_id_precision(uint32_t type)
{
    return type >> 8 & 0xff;
}

/* Returns false if there is no such type: another kind, or a decimal out of bounds. */
bool bloom_id_type_is_valid(uint32_t type);
/* "i64", "decimal(18,2)". */
void bloom_id_type_name(uint32_t type, char out[BLOOM_ID_NAME_MAX]);
bool bloom_id_type_parse(const char *name, uint64_t size, uint32_t *out_type);

/* Bytes of a value as the scheme hashes it, at most 16; 0: it has no rule for the type, or ids of
 * the type have any number of bytes (text and bytes, for which every scheme has a rule). */
uint32_t bloom_id_width(enum bloom_scheme scheme, uint32_t type);
bool bloom_id_has_rule(enum bloom_scheme scheme, uint32_t type);
/* The names of schemes with a rule for the type, separated by commas; returns `out`. */
const char *bloom_id_schemes(uint32_t type, char *out, uint64_t capacity);

#endif
