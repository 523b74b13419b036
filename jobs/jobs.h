/* The jobs of this program: one file each, listed in table.c. */
#ifndef GLINT_JOBS_H
#define GLINT_JOBS_H

#include "engine/glint.h"

extern const struct glint_job *const jobs_table[]; /* ends with NULL */

#endif
