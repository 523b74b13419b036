/* A line is split from its end, since a key of text may contain tabs. */
#include "jobs/rows/key_lines.h"

#include "engine/input/csv.h"

#include <string.h>

struct glint_rdd *key_lines_file(struct glint *g, const char *path, uint8_t csv)
{
    struct glint_rdd *lines = glint_text_file(g, path);
    return csv != 0 ? glint_with_csv_records(lines, '\t') : lines;
}

struct glint_args *key_lines_args(struct glint *g, uint8_t csv)
{
    const struct key_lines lines = {.csv = csv != 0};
    return glint_bind(g, &lines, sizeof lines);
}

/* Removes the field behind the last separator from `line`. Returns false if there is none. */
static bool cut_last_field_of_line(struct glint_slice *line, uint8_t separator,
                                   struct glint_slice *out_field)
{
    const uint8_t *at = line->size > 0 ? memrchr(line->data, separator, line->size) : NULL;
    if (at == NULL) return false;
    *out_field = (struct glint_slice){at + 1, line->size - (uint64_t)(at - line->data) - 1};
    line->size = (uint64_t)(at - line->data);
    return true;
}

static int reserve_unquoted_line(struct key_lines *k, struct glint_task *task, uint64_t size)
{
    if (k->plain != NULL && 2 * size <= k->plain_bytes) return 0;
    k->plain = glint_scratch(task, 2 * size + 256);
    k->plain_bytes = k->plain != NULL ? 2 * size + 256 : 0;
    return k->plain != NULL ? 0 : GLINT_E_NO_MEMORY;
}

int key_lines_split(struct key_lines *k, struct glint_task *task, struct glint_slice line,
                    uint32_t count, struct glint_slice *out_key, struct glint_slice *out_fields,
                    const char **out_reason)
{
    *out_reason = NULL;
    *out_key = line;
    if (k->csv) {
        if (reserve_unquoted_line(k, task, line.size) != 0) return GLINT_E_NO_MEMORY;
        if (line.size > 0 && line.data[0] != '"' && memchr(line.data, '"', line.size) != NULL)
            *out_reason = "a key with a quote needs quotes"; /* it was written without --csv */
        else
            *out_reason = csv_to_plain(line.data, line.size, '\t', k->plain, &out_key->size);
        out_key->data = k->plain;
    }
    for (uint32_t i = count; *out_reason == NULL && i > 0; i--)
        if (!cut_last_field_of_line(out_key, k->csv ? CSV_SEPARATOR : '\t', &out_fields[i - 1]))
            *out_reason = count == 1 ? "no tab" : "fewer than four fields";
    if (*out_reason == NULL && k->csv &&
        memchr(out_key->data, CSV_SEPARATOR, out_key->size) != NULL)
        *out_reason = "a key with a tab needs quotes";
    if (*out_reason == NULL && k->csv && glint_field_has_escape(*out_key))
        out_key->size = glint_unescape_field(*out_key, k->plain);
    return 0;
}
