/* What the first line of a table says about all rows: see columns.h. */
#include "jobs/rows/columns.h"

#include <assert.h>
#include <string.h>

/* A name that is the whole line was chosen as such. */
static bool is_first_column_chosen_by_name(const struct table *t)
{
    for (uint32_t i = 0; i < t->use_count; i++)
        if (t->uses[i].number == 0 && t->uses[i].by_name) return true;
    return false;
}

static void warn_of_other_delimiter(const struct table *t, struct glint_slice line)
{
    static const struct {
        char byte;
        const char *name, *value;
    } usual[] = {
        {'\t', "tab", "\\t"}, {',', "comma", ","}, {';', "semicolon", ";"}, {'|', "|", "|"}};
    for (size_t i = 0; i < sizeof usual / sizeof usual[0]; i++) {
        /* That of CSV was in quotes. */
        if (t->csv == usual[i].byte || memchr(line.data, usual[i].byte, line.size) == NULL)
            continue;
        glint_warn(t->g,
                   "%s: the first line has one column, so column 1 is the whole line; it contains "
                   "a %s: try --%s '%s'",
                   t->paths, usual[i].name,
                   t->delimiter_option != NULL ? t->delimiter_option : "delimiter", usual[i].value);
        return;
    }
}

bool table_skip_empty(const struct table *t, uint32_t last, bool first)
{
    assert(last == 0 || first);
    if (t->csv == FIELDS_COLUMNS || t->csv == FIELDS_JSON) return false;
    if (last > 0) return true;
    const struct glint_slice line = glint_first_line(t->lines);
    if (line.size == 0) return false;
    if (t->csv == 0 && memchr(line.data, '\r', line.size) != NULL)
        glint_warn(t->g,
                   "%s: the first line contains a CR: if lines end in CR alone, end them in LF "
                   "first: tr '\\r' '\\n' <FILE",
                   t->paths);
    if (memchr(line.data, t->delimiter, line.size) != NULL) return true;
    if (first && !is_first_column_chosen_by_name(t)) warn_of_other_delimiter(t, line);
    return false;
}
