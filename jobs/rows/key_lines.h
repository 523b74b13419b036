/* Lines KEY TAB VALUE... as jobs save them for other jobs: COUNTS, PARAMS, probabilities of keys.
 *
 * They have the form of the job's rows. Of text, a key is its bytes, up to the tab before the
 * values. If rows are CSV or JSON lines, a line is CSV with tabs: a key with quotes, tabs or line
 * ends is quoted. */
#ifndef GLINT_JOBS_ROWS_KEY_LINES_H
#define GLINT_JOBS_ROWS_KEY_LINES_H

#include "jobs/rows/fields.h"

/* The state of a function that reads such lines. */
struct key_lines {
    int64_t csv;          /* bound by the plan */
    uint8_t *plain;       /* the fields of the last record, without their quotes */
    uint64_t plain_bytes; /* allocated */
};

/* Driver: the lines of a file, passed to a function of one record at a time whose state begins with
 * struct key_lines. `csv`: struct fields. NULL with the context's error set. */
struct glint_rdd *key_lines_file(struct glint *g, const char *path, uint8_t csv);
struct glint_args *key_lines_args(struct glint *g, uint8_t csv);

/* Task: splits a line into the key and the `count` fields behind it. *out_reason: why the line is
 * invalid (static), or NULL. The fields are valid until the next call. Returns 0 or a code. */
int key_lines_split(struct key_lines *k, struct glint_task *task, struct glint_slice line,
                    uint32_t count, struct glint_slice *out_key, struct glint_slice *out_fields,
                    const char **out_reason);

#endif
