/* Helpers for tests of decoders: fixtures that reset the error and check for memory leaks, and
 * systematic corruption of a byte string, one byte at a time. */
#ifndef GLINT_TESTS_NET_BYTES_H
#define GLINT_TESTS_NET_BYTES_H

#include "engine/base/error.h"
#include "engine/base/mem.h"

#include <criterion/criterion.h>
#include <string.h>

static struct glint_error error;
static int64_t live;

static void begin(void)
{
    live = mem_live_blocks();
    memset(&error, 0, sizeof error);
}

static void end(void)
{
    cr_expect_eq(mem_live_blocks(), live);
}

static inline struct glint_slice whole(const struct buffer *b)
{
    return (struct glint_slice){b->data, b->size};
}

static inline bool same(const struct buffer *a, const struct buffer *b)
{
    return a->size == b->size && (a->size == 0 || memcmp(a->data, b->data, a->size) == 0);
}

/* Calls `check` with every truncation of `good`, and with every value of every byte of it
 * (including the good value, once per byte). Each input is in a heap block of exactly its size, so
 * that sanitizers detect reads past the end. */
static inline void damage(struct glint_slice good,
                          void (*check)(struct glint_slice bad, bool cut, void *arg), void *arg)
{
    for (uint64_t at = 0; at < good.size; at++) {
        uint8_t *cut = malloc(at + 1);
        memcpy(cut, good.data, at);
        check((struct glint_slice){cut, at}, true, arg);
        free(cut);
    }
    uint8_t *bad = malloc(good.size);
    memcpy(bad, good.data, good.size);
    for (uint64_t at = 0; at < good.size; at++) {
        for (unsigned value = 0; value < 256; value++) {
            bad[at] = (uint8_t)value;
            check((struct glint_slice){bad, good.size}, false, arg);
        }
        bad[at] = good.data[at];
    }
    free(bad);
}

#endif
