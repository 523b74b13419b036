/* Rejects an output that overlaps with an input of the same job: replacing the output would remove
 * the input, or the output would be inside an input directory and be read as input later. Compares
 * device and inode, so links and bind mounts are found. */
#ifndef GLINT_DRIVER_OUTPUT_OVERLAP_H
#define GLINT_DRIVER_OUTPUT_OVERLAP_H

#include "engine/driver/commit.h"
#include "engine/input/input.h"

/* Returns 0, or OUTPUT_EXISTS (an input is a file of the replaced output), OUTPUT_CREATE (the
 * output is inside an input directory, or the old output cannot be read), NO_MEMORY. */
int output_overlap_check(const struct commit *c, const struct input_list *inputs,
                         struct glint_error *error);

#endif
