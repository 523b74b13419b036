/* Files of other systems' filters, for the tests of formats: filters sized by a class, their files,
 * and files that are rejected. */
#ifndef GLINT_TESTS_SUPPORT_FORMAT_FILES_H
#define GLINT_TESTS_SUPPORT_FORMAT_FILES_H

#include "jobs/bloom/formats.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

/* As the class of the format computes them. */
static inline struct bloom_params format_params(enum bloom_format format, uint64_t n, double p)
{
    struct bloom_sizing sizing;
    struct bloom_params params;
    cr_assert_eq(
        bloom_sizing_for_rate(bloom_format_scheme(format), bloom_format_layout(format), p, &sizing),
        BLOOM_OK);
    cr_assert_eq(bloom_sizing_params(&sizing, n, &params), BLOOM_OK);
    return params;
}

/* Encodes a filter in pieces of `piece` bytes, a multiple of 8, which do not change the file. The
 * caller frees it. */
static inline uint8_t *format_file(enum bloom_format format, const struct bloom_filter *filter,
                                   uint64_t piece, uint64_t *out_size)
{
    const uint64_t bytes = bloom_bytes(filter->params.m);
    struct bloom_format_writer writer;
    uint8_t *file = calloc(1, 2 * BLOOM_FORMAT_HEAD_MAX + BLOOM_FORMAT_WRITE_MAX(bytes));
    cr_assert(file != NULL && piece % 8 == 0);
    uint64_t size = bloom_format_begin(&writer, format, &filter->params, file);
    for (uint64_t at = 0; at < bytes; at += piece)
        size += bloom_format_write(&writer, filter->bits + at,
                                   bytes - at < piece ? bytes - at : piece, file + size);
    *out_size = size + bloom_format_end(&writer, file + size);
    return file;
}

#define BYTES(bytes_) bytes_, sizeof bytes_ - 1

struct format_case {
    enum bloom_format format;
    const char *bytes;
    uint64_t size, at; /* `at` of an error */
    const char *wrong; /* NULL: valid */
};

/* Decodes each file, in memory of exactly its size: reading beyond it is an error of sanitizers.
 * `to_end`: of valid ones the last byte is the last that is read, as without a trailer. */
static inline void check_format_cases(const struct format_case *cases, size_t count, bool to_end)
{
    const struct bloom_params none = {.n = 0};
    for (size_t i = 0; i < count; i++) {
        const struct format_case *c = &cases[i];
        struct bloom_filter view;
        uint64_t at = 99;
        uint8_t *data = malloc(c->size + (c->size == 0));
        cr_assert_not_null(data);
        memcpy(data, c->bytes, c->size);
        const char *wrong = bloom_format_decode(c->format, data, c->size, &none, &view, &at);
        cr_assert_eq(wrong == NULL, c->wrong == NULL, "%zu: %s", i, wrong);
        if (wrong != NULL) cr_expect_str_eq(wrong, c->wrong, "%zu: %s", i, wrong);
        if (wrong != NULL || to_end)
            cr_expect_eq(at, wrong != NULL ? c->at : c->size - 1, "%zu: %lu", i, at);
        cr_assert_eq(view.bits != NULL, wrong == NULL);
        free(data);
    }
}

#endif
