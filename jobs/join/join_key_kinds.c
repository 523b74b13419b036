/* join: what key columns are compared as. Columns of text, of any kind of file, are compared as
 * texts. Of files of columns, whose types are known, pairs of different numeric types, and dates
 * and times, are compared by value, as Spark does; other pairs as texts, with a note. */
#include "jobs/join/join.h"

#include "engine/base/text.h"

#include <assert.h>
#include <string.h>

enum { TYPE_NAME_BYTES = 32 };

static bool is_float_type(const char *type)
{
    return type != NULL && type[0] != '\0' && strchr("efg", type[0]) != NULL;
}

static bool is_integer_type(const char *type)
{
    return type[0] != '\0' && type[1] == '\0' && strchr("cCsSiIlL", type[0]) != NULL;
}

/* A date, or a time with or without a zone. */
static int form_of_time(const char *type)
{
    if (type[1] == 'd') return 0;
    const char *zone = strchr(type, ':');
    return zone == NULL || zone[1] == '\0' ? 1 : 2;
}

static enum join_key_kind kind_of_float(const char *type)
{
    return type != NULL && strcmp(type, "f") == 0   ? JOIN_KEY_F32
           : type != NULL && strcmp(type, "e") == 0 ? JOIN_KEY_F16
                                                    : JOIN_KEY_F64;
}

/* The type of a key column: NULL if it is text, or unknown. */
static struct glint_column_type type_of_key(const struct table *t, uint32_t number)
{
    uint32_t count = 0;
    const struct glint_column_type *types = glint_column_types(t->lines, &count);
    return number < count ? types[number] : (struct glint_column_type){.type = NULL};
}

static void describe_type(const struct table *t, enum column_values values,
                          const struct glint_column_type *column, char *out)
{
    const char *const type = column->type;
    static const struct {
        char format;
        const char *name;
    } names[] = {{'c', "int8"},   {'C', "uint8"}, {'s', "int16"},  {'S', "uint16"}, {'i', "int32"},
                 {'I', "uint32"}, {'l', "int64"}, {'L', "uint64"}, {'e', "half"},   {'f', "float"},
                 {'g', "double"}, {'b', "bool"},  {'z', "binary"}};
    static const char *const kinds[] = {[VALUES_UNKNOWN] = "text",
                                        [VALUES_NUMBERS] = "number",
                                        [VALUES_TIMES] = "timestamp",
                                        [VALUES_TIMES_OF_DAY] = "time",
                                        [VALUES_BOOLEANS] = "bool",
                                        [VALUES_TEXTS] = "string",
                                        [VALUES_NESTED] = "nested"};
    const char *name = kinds[values];
    if (t->csv != FIELDS_COLUMNS) name = t->csv == FIELDS_JSON ? "JSON" : "text";
    for (size_t i = 0; type != NULL && i < sizeof names / sizeof names[0]; i++)
        if (type[0] == names[i].format) name = names[i].name;
    if (type != NULL && strncmp(type, "td", 2) == 0) name = "date";
    if (type != NULL && strncmp(type, "tD", 2) == 0) name = "duration";
    if (column->several_kinds) name = "of several types";
    if (type != NULL && strncmp(type, "d:", 2) == 0)
        text_format(out, TYPE_NAME_BYTES, "decimal(%s)", type + 2);
    else
        text_format(out, TYPE_NAME_BYTES, "%s", name);
}

static void warn_of_keys_compared_as_texts(const struct join *j, uint32_t i,
                                           const enum column_values *values,
                                           const struct glint_column_type *types)
{
    char labels[JOIN_SIDES][COLUMN_LABEL_BYTES], names[JOIN_SIDES][TYPE_NAME_BYTES];
    for (int side = 0; side < JOIN_SIDES; side++) {
        const struct table *t = &j->tables[side];
        const uint32_t number = j->keys[side].number[i];
        columns_label_of(t, number, labels[side]);
        describe_type(t, values[side], &types[side], names[side]);
    }
    glint_warn(j->g,
               "keys are compared as texts: LEFT's %s is %s, RIGHT's %s %s; give both one type by "
               "select",
               labels[JOIN_SIDE_LEFT], names[JOIN_SIDE_LEFT], labels[JOIN_SIDE_RIGHT],
               names[JOIN_SIDE_RIGHT]);
}

/* Whether a value has one text, whatever the type of its column is. */
static bool value_has_one_text(enum column_values values, const char *type)
{
    return values == VALUES_UNKNOWN || values == VALUES_TEXTS || values == VALUES_BOOLEANS ||
           (values == VALUES_NUMBERS && type != NULL && is_integer_type(type));
}

static bool is_null_type(const char *type)
{
    return type != NULL && strcmp(type, "n") == 0;
}

/* Whether the types differ by file, all of numbers or all of times: one value has several texts. */
static bool are_key_types_mixed(enum column_values values, const char *type)
{
    return type != NULL && strcmp(type, "u") == 0 &&
           (values == VALUES_NUMBERS || values == VALUES_TIMES);
}

/* Sets the kinds of one pair of columns. */
static void choose_kinds(struct join *j, uint32_t i)
{
    enum column_values values[JOIN_SIDES];
    struct glint_column_type types[JOIN_SIDES];
    for (int side = 0; side < JOIN_SIDES; side++) {
        values[side] = columns_value_kind(&j->tables[side], j->keys[side].number[i]);
        types[side] = type_of_key(&j->tables[side], j->keys[side].number[i]);
    }
    const char *const a = types[0].type, *const b = types[1].type;
    const bool durations = (a != NULL && strncmp(a, "tD", 2) == 0) ||
                           (b != NULL && strncmp(b, "tD", 2) == 0);
    const bool one = values[0] == values[1], known = a != NULL && b != NULL;
    const bool mixed = are_key_types_mixed(values[0], a) || are_key_types_mixed(values[1], b);
    if (is_null_type(a) || is_null_type(b)) return;
    if (types[0].several_kinds || types[1].several_kinds) {
        warn_of_keys_compared_as_texts(j, i, values, types);
        return;
    }
    if (known && !mixed && strcmp(a, b) == 0) return;
    if (one && values[0] == VALUES_NUMBERS && !durations) {
        /* Of several types, in different files, numbers are compared by all their digits. */
        const bool exact = !is_float_type(a) && !is_float_type(b);
        if (known && is_integer_type(a) && is_integer_type(b)) return;
        for (int side = 0; side < JOIN_SIDES; side++)
            j->kinds[side][i] =
                (uint8_t)(exact ? JOIN_KEY_NUMBER : kind_of_float(types[side].type));
        return;
    }
    if (one && values[0] == VALUES_TIMES) {
        if (known && !mixed && form_of_time(a) == form_of_time(b)) return;
        j->kinds[0][i] = j->kinds[1][i] = JOIN_KEY_TIME;
        return;
    }
    if (one && !durations) return;
    const bool unknown = values[0] == VALUES_UNKNOWN || values[1] == VALUES_UNKNOWN;
    if (!unknown || !value_has_one_text(values[0], a) || !value_has_one_text(values[1], b))
        warn_of_keys_compared_as_texts(j, i, values, types);
}

int join_choose_key_kinds(struct join *j)
{
    const uint32_t count = j->keys[JOIN_SIDE_LEFT].count;
    assert(count == j->keys[JOIN_SIDE_RIGHT].count && count <= COLUMNS_MAX);
    const bool columns = j->tables[JOIN_SIDE_LEFT].csv == FIELDS_COLUMNS ||
                         j->tables[JOIN_SIDE_RIGHT].csv == FIELDS_COLUMNS;
    for (uint32_t i = 0; i < count && glint_error(j->g)->code == GLINT_OK; i++)
        if (j->ints)
            j->kinds[0][i] = j->kinds[1][i] = JOIN_KEY_INT;
        else if (columns)
            choose_kinds(j, i);
    return glint_error(j->g)->code;
}
