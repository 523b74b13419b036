/* Inputs and outputs of one job that are in each other's way: replacing the output would remove the
 * input, or the output would stand in a directory that is read as an input. By device and inode,
 * so that no other name of either helps: links, bind mounts. */
#ifndef GLINT_DRIVER_OUTPUT_OVERLAP_H
#define GLINT_DRIVER_OUTPUT_OVERLAP_H

#include "engine/data/input.h"
#include "engine/driver/commit.h"

/* 0, or OUTPUT_EXISTS (an input is a file of what is replaced), OUTPUT_CREATE (the output is inside
 * an input directory), NO_MEMORY. */
int output_overlap_check(const struct commit *c, const struct input_list *inputs,
                         struct glint_error *error);

#endif
