/* Formats a string like Python's repr: quoted, with escapes. */
#ifndef GLINT_JOBS_ROWS_PYTHON_REPR_H
#define GLINT_JOBS_ROWS_PYTHON_REPR_H

#include "engine/glint.h"

/* The maximum size of python_repr's output for a text of `size` bytes. */
static inline uint64_t python_repr_max(uint64_t size)
{
    return size * 4 + 2;
}

/* Uses single quotes, or double quotes if the text has single but no double quotes; copies bytes
 * from 0x80 on. Returns the size of the output. */
uint64_t python_repr(struct glint_slice text, uint8_t *out);

#endif
