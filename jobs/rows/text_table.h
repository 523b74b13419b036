/* A small table that a job creates on the driver: lines of tab-separated columns, saved as one
 * part. The first line names the columns. If the job's rows are CSV or JSON lines, it is CSV with
 * tabs. */
#ifndef GLINT_JOBS_ROWS_TEXT_TABLE_H
#define GLINT_JOBS_ROWS_TEXT_TABLE_H

#include "engine/glint.h"

struct text_table {
    struct glint *g;
    bool csv; /* keys are quoted where needed */
    char *text; /* the lines, concatenated */
    uint64_t size, capacity;
    uint64_t *ends; /* of lines */
    uint64_t lines, line_capacity;
};

/* Adds a line, without its line end. When out of memory, sets the context's error. */
void text_table_add(struct text_table *t, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Adds a line whose first column is a key, as count-keys prints it. */
void text_table_add_key(struct text_table *t, bool text, const union glint_value *key,
                        const char *format, ...) __attribute__((format(printf, 4, 5)));
/* Returns 0 or the context's code. */
int text_table_save(struct text_table *t, const char *path);
void text_table_fini(struct text_table *t);

#endif
