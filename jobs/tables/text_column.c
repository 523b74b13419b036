/* Notes about texts that may be numbers: see text_column.h. */
#include "jobs/tables/text_column.h"

#include "engine/base/text.h"

#include <assert.h>
#include <string.h>

static bool is_text_type(const char *type)
{
    return type == NULL || strcmp(type, "u") == 0 || strcmp(type, "U") == 0 ||
           strcmp(type, "vu") == 0;
}

void text_column_warn(const struct table *t, const char *option, uint32_t number,
                      const char *effect)
{
    char shown[COLUMN_LABEL_BYTES] = "";
    struct glint_slice rest = t->names, name = {NULL, 0};
    const char *type = NULL;
    bool several = false;
    uint32_t count = 0;
    if (columns_value_kind(t, number) != VALUES_TEXTS) return;
    if (columns_is_part(number)) {
        assert(number - COLUMNS_PART < t->part_count);
        name = t->parts[number - COLUMNS_PART].name;
        type = t->parts[number - COLUMNS_PART].part.type;
    } else {
        const struct glint_column_type *types = glint_column_types(t->lines, &count);
        if (number >= count) return;
        type = types[number].type;
        several = types[number].several_kinds;
        for (uint32_t at = 0; at <= number; at++)
            if (!glint_next_name(&rest, (char)t->delimiter, &name)) return;
    }
    if (!is_text_type(type)) return;
    header_name_append(shown, 0, sizeof shown, name);
    glint_warn(t->g, "--%s: %s %s %s: %s; %s:n compares numbers", option, shown,
               several ? "has several types in" : "is text in", t->paths, effect, shown);
}
