/* The files of a result: OUT/part-00000 and an empty OUT/_SUCCESS, as the engine writes them; and
 * reading a file or all parts of such a directory. Errors end the process. */
#ifndef BASELINE_FILES_H
#define BASELINE_FILES_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* Creates the directory `path` and opens its part-00000. */
FILE *output_create(const char *path);

/* Closes the part and writes _SUCCESS. */
void output_finish(FILE *part, const char *path);

/* Returns the bytes of the file `path`, or of its files part-* in order of their names; the caller
 * frees them. */
uint8_t *input_read(const char *path, size_t *out_length);

/* Reads the number of rows per key from lines `key TAB count`; keys are below KEYS_MAX. */
void counts_read(const char *path, uint64_t *counts);

#endif
