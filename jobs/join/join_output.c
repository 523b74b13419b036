/* join: its output as a file of columns. */
#include "jobs/join/join.h"
#include "jobs/rows/row_output.h"

#include <assert.h>
#include <string.h>

#define RIGHT_SUFFIX "_right" /* of a name that LEFT has, too */

/* Whether rows of the side have ROW_OUTPUT_SEPARATOR between fields that have names. */
static bool side_is_named(const struct table *t)
{
    return t->csv == FIELDS_COLUMNS || (t->csv != 0 && t->csv != FIELDS_JSON && t->header);
}

static bool has_name(struct glint_slice names, struct glint_slice name)
{
    struct glint_slice rest = names, other;
    while (glint_next_name(&rest, ROW_OUTPUT_SEPARATOR, &other))
        if (other.size == name.size && memcmp(other.data, name.data, name.size) == 0) return true;
    return false;
}

static uint32_t count_names(struct glint_slice names)
{
    struct glint_slice rest = names, name;
    uint32_t count = 0;
    while (glint_next_name(&rest, ROW_OUTPUT_SEPARATOR, &name)) count++;
    return count;
}

/* Appends the names of RIGHT to those of LEFT at `out`, which has room. Returns the size. */
static uint64_t append_right_names(struct glint_slice left, struct glint_slice right, uint8_t *out)
{
    struct glint_slice rest = right, name;
    uint64_t size = left.size;
    while (glint_next_name(&rest, ROW_OUTPUT_SEPARATOR, &name)) {
        out[size++] = ROW_OUTPUT_SEPARATOR;
        if (name.size > 0) memcpy(out + size, name.data, name.size);
        size += name.size;
        if (!has_name(left, name)) continue;
        memcpy(out + size, RIGHT_SUFFIX, strlen(RIGHT_SUFFIX));
        size += strlen(RIGHT_SUFFIX);
    }
    return size;
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
    struct glint_slice names[JOIN_SIDES] = {glint_first_line(left->lines), {NULL, 0}};
    if (join_has_pairs(j->type)) names[JOIN_SIDE_RIGHT] = glint_first_line(right->lines);
    if (glint_error(j->g)->code != GLINT_OK) return glint_error(j->g)->code;
    const struct glint_slice l = names[JOIN_SIDE_LEFT], r = names[JOIN_SIDE_RIGHT];
    if (l.data == NULL) return row_output_no_names(j->g, "LEFT");
    if (r.data == NULL && join_has_pairs(j->type)) return row_output_no_names(j->g, "RIGHT");
    const uint32_t left_count = count_names(l), right_count = r.data != NULL ? count_names(r) : 0;
    uint8_t *text = glint_alloc(j->g, l.size + 1 + r.size + right_count * sizeof RIGHT_SUFFIX);
    const char **types =
        glint_alloc(j->g, ((uint64_t)left_count + right_count + 1) * sizeof *types);
    if (text != NULL && types != NULL) {
        if (l.size > 0) memcpy(text, l.data, l.size);
        const uint64_t size = right_count > 0 ? append_right_names(l, r, text) : l.size;
        append_types(left, left_count, types);
        if (right_count > 0) append_types(right, right_count, types + left_count);
        const struct row_output_columns columns = {
            .names = {text, size}, .types = types, .named = true};
        row_output_save_columns(lines, left->lines, args, path, &columns);
    }
    glint_free(text);
    glint_free(types);
    return glint_error(j->g)->code;
}

int join_save(const struct join *j, struct glint_rdd *lines, const struct glint_job_args *args,
              const char *path)
{
    const char *format = glint_job_option(args, "output-format");
    const struct table *left = &j->tables[JOIN_SIDE_LEFT], *right = &j->tables[JOIN_SIDE_RIGHT];
    const bool pairs = join_has_pairs(j->type);
    if (side_is_named(left) && (!pairs || side_is_named(right)) &&
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
                       side_is_named(left) ? "RIGHT" : "LEFT");
}
