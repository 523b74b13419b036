/* See exit_report.h. */
#include "engine/net/exit_report.h"

#include "engine/base/error.h"
#include "engine/base/text.h"

#include <string.h>

#define CODE_BYTES 6u /* "E0601 " */

size_t exit_report_format(const struct glint_error *why, char *out, size_t capacity)
{
    text_format(out, capacity, "E%04d %s\n%s\n", -why->code, why->cause, why->hint);
    return strlen(out);
}

/* Removes the first line from *rest and returns it without its end. */
static struct glint_slice next_report_line(struct glint_slice *rest)
{
    const uint8_t *end = rest->size > 0 ? memchr(rest->data, '\n', rest->size) : NULL;
    uint64_t size = end != NULL ? (uint64_t)(end - rest->data) : rest->size;
    struct glint_slice line = {rest->data, size};
    uint64_t used = size + (end != NULL);
    *rest = (struct glint_slice){used > 0 ? rest->data + used : rest->data, rest->size - used};
    return line;
}

struct glint_slice exit_report_parse(struct glint_slice report, struct glint_error *out)
{
    int64_t number;
    struct glint_slice rest = report, cause = next_report_line(&rest), hint = {NULL, 0};
    enum glint_code code = GLINT_E_EXECUTOR_LOST;
    memset(out, 0, sizeof *out);
    if (report.size == 0) return rest;
    bool has_code = cause.size >= CODE_BYTES && cause.data[0] == 'E' &&
                    text_parse_i64(cause.data + 1, CODE_BYTES - 2, &number) && number > 0;
    if (has_code) {
        if (error_is_known((enum glint_code) - number)) code = (enum glint_code) - number;
        cause = (struct glint_slice){cause.data + CODE_BYTES, cause.size - CODE_BYTES};
        hint = next_report_line(&rest);
    }
    error_set(out, code, NULL, "%.*s", (int)cause.size, (const char *)cause.data);
    text_format(out->hint, sizeof out->hint, "%.*s", (int)hint.size, (const char *)hint.data);
    text_make_printable(out->cause);
    text_make_printable(out->hint);
    return rest;
}
