/* Numbers of columns in bytes, between a source of rows and a job's functions, and in what a
 * job shuffles. A cell is a byte that tells its kind, and what follows it:
 *
 *     CELL_NULL                            nothing
 *     CELL_F64                             a double
 *     CELL_DECIMAL + decimals              units, 8 bytes in two's complement: units / 10^decimals
 *     CELL_WIDE | CELL_DECIMAL + decimals  the same in 16 bytes, the lower ones first
 *
 * Numbers are in the byte order of the machine, and nothing is aligned. Pure; any thread. */
#ifndef GLINT_BASE_CELL_H
#define GLINT_BASE_CELL_H

#include <stdint.h>
#include <string.h>

enum { CELL_NULL = 0, CELL_F64 = 1, CELL_DECIMAL = 2, CELL_WIDE = 0x80 };
enum { CELL_DECIMALS_MAX = 38, CELL_NUMBER_BYTES_MAX = 17 };

/* Each writes a cell, and returns its end. */

static inline uint8_t *cell_put_null(uint8_t *out)
{
    *out = CELL_NULL;
    return out + 1;
}

static inline uint8_t *cell_put_decimal(uint8_t *out, int64_t units, int decimals)
{
    *out = (uint8_t)(CELL_DECIMAL + decimals);
    memcpy(out + 1, &units, sizeof units);
    return out + 1 + sizeof units;
}

static inline uint8_t *cell_put_wide(uint8_t *out, uint64_t low, int64_t high, int decimals)
{
    *out = (uint8_t)(CELL_WIDE | (CELL_DECIMAL + decimals));
    memcpy(out + 1, &low, sizeof low);
    memcpy(out + 1 + sizeof low, &high, sizeof high);
    return out + 1 + sizeof low + sizeof high;
}

static inline uint8_t *cell_put_f64(uint8_t *out, double value)
{
    *out = CELL_F64;
    memcpy(out + 1, &value, sizeof value);
    return out + 1 + sizeof value;
}

/* The bytes of a cell that begins with this one; 0: it is no cell. */
static inline uint32_t cell_number_bytes(uint8_t kind)
{
    if (kind == CELL_NULL) return 1;
    if (kind == CELL_F64) return 1 + sizeof(double);
    const uint8_t decimals = (uint8_t)((kind & ~CELL_WIDE) - CELL_DECIMAL);
    if (decimals > CELL_DECIMALS_MAX) return 0;
    return 1 + ((kind & CELL_WIDE) != 0 ? 2 : 1) * sizeof(int64_t);
}

#endif
