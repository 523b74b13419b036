/* A text as Python's repr prints it: quoted, with escapes. */
#ifndef GLINT_JOBS_ROWS_PYTHON_REPR_H
#define GLINT_JOBS_ROWS_PYTHON_REPR_H

#include "engine/glint.h"

/* The most bytes that python_repr writes for a text of `size` bytes. */
static inline uint64_t python_repr_max(uint64_t size)
{
    return size * 4 + 2;
}

/* Single quotes, or double ones where the text has single but no double quotes; bytes from 0x80 on
 * stay as they are. Answers the size. */
uint64_t python_repr(struct glint_slice text, uint8_t *out);

#endif
