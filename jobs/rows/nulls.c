/* Nulls in rows: see nulls.h. */
#include "jobs/rows/nulls.h"

#include "jobs/rows/fields.h"

enum { TEXT_MAX = 64 };

static const char *null_text_problem(const char *text, uint8_t csv, uint8_t delimiter)
{
    if (strlen(text) > TEXT_MAX) return "it has more than 64 bytes";
    if (strpbrk(text, "\n\r") != NULL) return "it contains a line end";
    if (csv != 0 && strpbrk(text, "\"\x1d\x1e\x1f") != NULL) return "it contains a quote";
    const uint8_t cut = csv == FIELDS_JSON || csv == FIELDS_COLUMNS ? ','
                        : csv != 0                                  ? csv
                                                                    : delimiter;
    return strchr(text, cut) != NULL ? "it contains the delimiter" : NULL;
}

int nulls_read_option(struct glint *g, const struct glint_job_args *args, uint8_t csv,
                      uint8_t delimiter, struct nulls *out)
{
    const char *text = glint_job_option(args, "null");
    const char *problem = null_text_problem(text, csv, delimiter);
    /* An empty field has no room for a mark: with --null '' of CSV every empty field is null. */
    const bool typed = csv == FIELDS_JSON || csv == FIELDS_COLUMNS;
    *out = (struct nulls){.text = text, .marked = typed || (csv != 0 && *text != 0)};
    if (problem == NULL) return glint_error(g)->code;
    return glint_abort(g, GLINT_E_BAD_VALUE, "use a text such as NULL, NA or ''",
                       "--null \"%s\": %s", text, problem);
}

void nulls_read_missing_option(struct glint *g, const struct glint_job_args *args, uint8_t csv,
                               bool header, struct nulls *n)
{
    const char *missing = glint_job_option(args, "missing");
    n->header = header;
    n->missing = missing != NULL ? strcmp(missing, "null") == 0 : csv == FIELDS_JSON;
    if (missing != NULL && !header && csv != FIELDS_JSON && csv != FIELDS_COLUMNS)
        glint_abort(g, GLINT_E_USAGE, "leave it out, or add --json-lines or --header",
                    "--missing has no effect without --json-lines, --header or files of columns");
}

struct glint_rdd *nulls_source(struct glint_rdd *lines, const struct nulls *n)
{
    return n->marked || n->header ? glint_with_nulls(lines, n->text, n->missing) : lines;
}

struct glint_slice nulls_in_rows(const struct nulls *n)
{
    static const uint8_t mark = NULLS_MARK;
    if (n->marked) return (struct glint_slice){&mark, sizeof mark};
    const char *text = n->text != NULL ? n->text : "";
    return (struct glint_slice){(const uint8_t *)text, strlen(text)};
}

void nulls_args(struct glint_args *args, const struct nulls *n)
{
    const struct glint_slice null = nulls_in_rows(n);
    glint_args_add_bytes(args, "null", null.data, null.size);
}

int nulls_open(struct glint_task *task, struct glint_slice *out)
{
    struct glint_slice null;
    int r = glint_arg_slice(task, "null", &null);
    if (r == 0) *out = null;
    return r;
}
