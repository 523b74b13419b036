/* Lines with the size of each key's filter, parsed by tasks (jobs/rows/key_lines.h):
 *
 *     COUNTS, of count-keys   KEY TAB N
 *     PARAMS, of params       KEY TAB N TAB M TAB K */
#ifndef GLINT_JOBS_FILTERS_SIZE_LINES_H
#define GLINT_JOBS_FILTERS_SIZE_LINES_H

#include "jobs/bloom/bloom.h"
#include "jobs/filters/sizes.h"

/* A parsed line: the value of its key, native-endian. */
struct size_line {
    uint64_t n, m; /* m = 0: COUNTS; the filter's size follows from a sizing */
    uint32_t k, zero;
};

/* (key, size_line) of each line, as a side file, in the form of the job's rows. A bad line fails
 * the task with COUNTS_INVALID or PARAMS_INVALID, file and line. Returns NULL with the context's
 * error set. */
struct glint_rdd *size_lines_rdd(struct glint *g, const struct sizes_source *source,
                                 const struct fields *fields);
/* Returns false if the bytes are not a size_line. */
bool size_line_read(struct glint_slice bytes, struct size_line *out);
/* The filter's parameters: M and K of the line, or else by `sizing`; the scheme, the layout and the
 * seeds (borrowed) are the sizing's. */
enum bloom_result size_line_params(const struct size_line *line, const struct bloom_sizing *sizing,
                                   struct bloom_params *out);

extern const struct glint_function size_counts_number, size_counts_text, size_params_number,
    size_params_text;

#endif
