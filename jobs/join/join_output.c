/* join: its output as a file of columns. */
#include "jobs/join/join.h"
#include "jobs/rows/row_output.h"

#include "engine/base/name_table.h"

#include <assert.h>
#include <string.h>

#define RIGHT_SUFFIX "_right" /* of a name that LEFT has, too */

/* Whether rows of the side have ROW_OUTPUT_SEPARATOR between fields that have names. */
static bool side_has_named_columns(const struct table *t)
{
    return t->csv == FIELDS_COLUMNS || (t->csv != 0 && t->csv != FIELDS_JSON && t->header);
}

static uint32_t count_names(struct glint_slice names)
{
    struct glint_slice rest = names, name;
    uint32_t count = 0;
    while (glint_next_name(&rest, ROW_OUTPUT_SEPARATOR, &name)) count++;
    return count;
}

/* Adds names, which end with NULs in `text`, of the names' size and one more byte. Returns false
 * when out of memory. */
static bool add_names(struct name_table *table, struct glint_slice names, char *text)
{
    struct glint_slice rest = names, name;
    bool ok = true;
    while (ok && glint_next_name(&rest, ROW_OUTPUT_SEPARATOR, &name)) {
        if (name.size > 0) memcpy(text, name.data, name.size);
        text[name.size] = '\0';
        ok = name_table_add(table, text);
        text += name.size + 1;
    }
    return ok;
}

/* Appends the names of RIGHT to those of LEFT at `out`, which has room. `text` has room for the
 * names of LEFT and then one of RIGHT, each with a NUL. Returns the size, or 0 when out of memory.
 */
static uint64_t append_right_names(struct glint_slice left, struct glint_slice right, char *text,
                                   uint8_t *out)
{
    struct name_table names = {.names = NULL};
    struct glint_slice rest = right, name;
    uint64_t size = left.size;
    char *const copy = text + left.size + 1;
    const bool added = add_names(&names, left, text);
    while (added && glint_next_name(&rest, ROW_OUTPUT_SEPARATOR, &name)) {
        out[size++] = ROW_OUTPUT_SEPARATOR;
        if (name.size > 0) memcpy(out + size, name.data, name.size);
        size += name.size;
        if (name.size > 0) memcpy(copy, name.data, name.size);
        copy[name.size] = '\0';
        if (name_table_find(&names, copy) == UINT32_MAX) continue;
        memcpy(out + size, RIGHT_SUFFIX, strlen(RIGHT_SUFFIX));
        size += strlen(RIGHT_SUFFIX);
    }
    name_table_fini(&names);
    return added ? size : 0;
}

/* Sets the types of a side's columns: NULL, text, for those of CSV. */
static uint32_t append_types(const struct table *t, uint32_t names, const char **out)
{
    uint32_t count = 0;
    const struct glint_column_type *types = glint_column_types(t->lines, &count);
    assert(count == 0 || count == names);
    for (uint32_t i = 0; i < names; i++) out[i] = count > 0 ? types[i].type : NULL;
    return names;
}

static int save_named_lines(const struct join *j, struct glint_rdd *lines,
                            const struct glint_job_args *args, const char *path)
{
    const struct table *left = &j->tables[JOIN_SIDE_LEFT], *right = &j->tables[JOIN_SIDE_RIGHT];
    const struct glint_slice none = {NULL, 0};
    struct glint_slice names[JOIN_SIDES] = {glint_first_line(left->lines), none};
    if (join_has_pairs(j->type)) names[JOIN_SIDE_RIGHT] = glint_first_line(right->lines);
    if (glint_error(j->g)->code != GLINT_OK) return glint_error(j->g)->code;
    const struct glint_slice l = names[JOIN_SIDE_LEFT], r = names[JOIN_SIDE_RIGHT];
    if (l.data == NULL) return row_output_fail_without_names(j->g, "LEFT");
    if (r.data == NULL && join_has_pairs(j->type))
        return row_output_fail_without_names(j->g, "RIGHT");
    const uint32_t left_count = count_names(l), right_count = r.data != NULL ? count_names(r) : 0;
    uint8_t *text = glint_alloc(j->g, l.size + 1 + r.size + right_count * sizeof RIGHT_SUFFIX);
    char *copies = glint_alloc(j->g, l.size + r.size + 2);
    const char **types =
        glint_alloc(j->g, ((uint64_t)left_count + right_count + 1) * sizeof *types);
    uint64_t size = l.size;
    if (text != NULL && l.size > 0) memcpy(text, l.data, l.size);
    if (text != NULL && copies != NULL && right_count > 0)
        size = append_right_names(l, r, copies, text);
    if (size < l.size) glint_abort(j->g, GLINT_E_NO_MEMORY, NULL, "out of memory");
    if (text != NULL && types != NULL && size >= l.size) {
        append_types(left, left_count, types);
        if (right_count > 0) append_types(right, right_count, types + left_count);
        const struct row_output_columns columns = {
            .names = {text, size},
            .types = types,
            .row_types = {left->typed ? glint_row_types(left->lines) : none,
                          left->typed && r.data != NULL ? glint_row_types(right->lines) : none},
            .named = true,
            .rename = "give it another name first: glint submit select --columns 'NAME AS OTHER'"};
        row_output_save_columns(lines, left->lines, args, path, &columns);
    }
    glint_free(text);
    glint_free(copies);
    glint_free(types);
    return glint_error(j->g)->code;
}

int join_save(const struct join *j, struct glint_rdd *lines, const struct glint_job_args *args,
              const char *path)
{
    const char *format = glint_job_option(args, "output-format");
    const struct table *left = &j->tables[JOIN_SIDE_LEFT], *right = &j->tables[JOIN_SIDE_RIGHT];
    const bool pairs = join_has_pairs(j->type);
    if (side_has_named_columns(left) && (!pairs || side_has_named_columns(right)) &&
        (format != NULL || (left->csv == FIELDS_COLUMNS && right->csv == FIELDS_COLUMNS)))
        return save_named_lines(j, lines, args, path);
    const bool rows = left->csv != 0 && left->csv != FIELDS_JSON;
    if (pairs && (left->csv == FIELDS_COLUMNS) != (right->csv == FIELDS_COLUMNS) &&
        !(rows && right->csv != 0))
        return glint_abort(j->g, GLINT_E_USAGE,
                           "make both files of columns: glint submit select --csv --header "
                           "--output-format parquet",
                           "one side is a file of columns, and the other one lines of text");
    if (format == NULL || (strcmp(format, "csv") == 0 && rows))
        return row_output_save_text(lines, args, path);
    return glint_abort(j->g, GLINT_E_USAGE,
                       left->csv == FIELDS_JSON ? "leave it out: pairs are arrays of two objects"
                                                : "add --csv --header",
                       "--output-format %s needs the names of columns of %s", format,
                       side_has_named_columns(left) ? "RIGHT" : "LEFT");
}
