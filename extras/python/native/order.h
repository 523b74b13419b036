/* The order of plain encodings of keys (encoding.h) that are all of one kind, as Python has it. */
#ifndef GLINT_PYTHON_ORDER_H
#define GLINT_PYTHON_ORDER_H

#include "encoding.h"

enum order_kind {
    ORDER_NONE, /* without an order here: None, a bool, a tuple, NaN */
    ORDER_INT,
    ORDER_REAL,
    ORDER_STR,
    ORDER_BYTES
};

struct ordered {
    uint64_t rank; /* equal ranks of str and bytes: `key` decides */
    const uint8_t *key;
};

/* The kind of a complete encoding; sets *out, which borrows it, unless that is ORDER_NONE. */
enum order_kind order_of(const uint8_t *key, struct ordered *out);
/* Of two of one kind: negative, 0 or positive. */
int order_compare(enum order_kind kind, const struct ordered *a, const struct ordered *b);

#endif
