/* Builds arrays of Arrow's C data interface from the text of values: the inverse of
 * arrow_append_text. One thread. */
#ifndef GLINT_INPUT_ARROW_BUILDER_H
#define GLINT_INPUT_ARROW_BUILDER_H

#include "engine/input/arrow.h"

/* A column that grows. */
struct arrow_builder {
    const struct arrow_field *field; /* of a type that can be built; borrowed */
    uint32_t value_bytes;            /* in `values`; 0: not of one size, or bits */
    int64_t rows, nulls;
    struct buffer validity, offsets, values;    /* without nulls, no validity */
    uint64_t expected_offsets, expected_values; /* bytes, as of the last array */
    struct arrow_builder *children;             /* as many as the field has */
};

/* Makes an empty one. Call arrow_builder_fini in any case. Returns false when out of memory. */
bool arrow_builder_init(struct arrow_builder *b, const struct arrow_field *field);

/* Whether values of the type can be built. */
bool arrow_can_build(const struct arrow_field *field);
/* The format of a column without parts that has the values: its own if they can be built, else that
 * of their text or bytes. */
const char *arrow_format_string_to_build(const struct arrow_field *field);
/* Appends the value with this text; data NULL: null. Returns NULL, or why the text is no value of
 * the type (static), and then a part of it may have been appended. Sets *out_no_memory, and returns
 * a reason, when out of memory. */
const char *arrow_builder_append(struct arrow_builder *b, struct glint_slice text,
                                 bool *out_no_memory);
/* The same of a type whose values have one size: their bytes, of a bool 0 or 1, at rows[i] + at,
 * where bit `null` of rows[i] is not set. Returns false when out of memory. */
bool arrow_builder_append_values(struct arrow_builder *b, const uint8_t *const *rows,
                                 uint32_t count, uint32_t null, uint32_t at);
/* As arrow_builder_append, of several texts; *out_appended of them have been. */
const char *arrow_builder_append_texts(struct arrow_builder *b, const struct glint_slice *texts,
                                       uint32_t count, uint32_t *out_appended, bool *out_no_memory);
/* Reads a text as such a value. Returns NULL, or why it is none (static). */
const char *arrow_value_parse(const struct arrow_field *field, struct glint_slice text,
                              uint8_t *out);
/* Moves the columns into a struct array, which frees them when it is released; all have as many
 * rows. They are empty then. Returns false when out of memory. */
bool arrow_builders_finish(struct arrow_builder *builders, uint32_t count, int64_t rows,
                           struct ArrowArray *out);
void arrow_builder_fini(struct arrow_builder *b);

#endif
