/* See arrow_type.h. */
#include "engine/input/arrow_type.h"

#include "engine/base/text.h"
#include "engine/input/arrow_builder.h"
#include "engine/input/json_line.h"

#include <assert.h>
#include <string.h>

/* ---- Writing */

static bool append_arrow_type_escaped(struct buffer *out, const char *text)
{
    bool ok = true;
    for (; ok && *text != '\0'; text++) {
        char escape[4];
        if (strchr("(),=%", *text) == NULL) {
            ok = buffer_append(out, text, 1);
            continue;
        }
        text_format(escape, sizeof escape, "%%%02X", (unsigned)*text);
        ok = buffer_append(out, escape, 3);
    }
    return ok;
}

static const char *arrow_format_to_write(const struct arrow_field *f)
{
    return f->type == ARROW_UTF8_VIEW ? "u" : f->type == ARROW_BINARY_VIEW ? "z" : f->format;
}

static bool can_write_arrow_type(const struct arrow_field *field)
{
    const struct arrow_field *f = arrow_value_field(field);
    if (f->type == ARROW_NULL || f->type == ARROW_UTF8_VIEW || f->type == ARROW_BINARY_VIEW)
        return true;
    if (f->type < ARROW_LIST) return arrow_can_build(f);
    bool can = f->child_count > 0;
    for (uint32_t i = 0; can && i < f->child_count; i++)
        can = can_write_arrow_type(&f->children[i]);
    return can;
}

static bool append_arrow_type(const struct arrow_field *field, struct buffer *out)
{
    const struct arrow_field *f = arrow_value_field(field);
    assert(f->type != ARROW_RUN_END && f->dictionary == NULL);
    bool ok = append_arrow_type_escaped(out, arrow_format_to_write(f));
    for (uint32_t i = 0; ok && i < f->child_count; i++)
        ok = buffer_append(out, i == 0 ? "(" : ",", 1) &&
             append_arrow_type_escaped(out, f->children[i].name) && buffer_append(out, "=", 1) &&
             append_arrow_type(&f->children[i], out);
    return ok && (f->child_count == 0 || buffer_append(out, ")", 1));
}

bool arrow_type_append(const struct arrow_field *field, struct buffer *out)
{
    const struct arrow_field *f = arrow_value_field(field);
    if (f->type >= ARROW_LIST && can_write_arrow_type(f)) return append_arrow_type(f, out);
    return buffer_append(out, f->format, strlen(f->format));
}

/* ---- Reading */

static const char not_a_type[] = "it is not the type of a column";

struct type_text {
    const char *at;
    void (*change)(char *format);
    struct arena *arena;
};

/* Reads up to one of the bytes that are escaped. Returns NULL when out of memory, or if an escape
 * is not valid. */
static char *read_escaped_arrow_part(struct type_text *t)
{
    size_t size = strcspn(t->at, "(),=");
    char *out = arena_alloc(t->arena, size + 1), *to = out;
    if (out == NULL) return NULL;
    for (const char *end = t->at + size; t->at < end; t->at++) {
        *to++ = *t->at;
        if (*t->at != '%') continue;
        const int high = end - t->at > 2 ? text_hex_digit((uint8_t)t->at[1]) : -1;
        const int low = high >= 0 ? text_hex_digit((uint8_t)t->at[2]) : -1;
        if (low < 0 || high + low == 0) return NULL;
        to[-1] = (char)(high * 16 + low);
        t->at += 2;
    }
    *to = '\0';
    return out;
}

static const char *read_arrow_type(struct type_text *t, unsigned depth, struct ArrowSchema *out);

/* The parts in brackets. */
static const char *read_arrow_type_parts(struct type_text *t, unsigned depth,
                                         struct ArrowSchema *out)
{
    const char *problem = NULL;
    uint64_t capacity = 0;
    struct ArrowSchema **parts = NULL; /* of the heap while it grows */
    assert(*t->at == '(' && out->n_children == 0);
    do {
        struct ArrowSchema *part = arena_alloc(t->arena, sizeof *part);
        t->at++;
        if (part == NULL || out->n_children == ARROW_FIELDS_MAX ||
            !array_reserve(&parts, &capacity, (uint64_t)out->n_children + 1, sizeof(void *))) {
            problem = "out of memory";
            break;
        }
        *part = (struct ArrowSchema){.name = read_escaped_arrow_part(t)};
        problem = part->name == NULL || *t->at != '=' ? not_a_type : NULL;
        if (problem == NULL) {
            t->at++;
            problem = read_arrow_type(t, depth + 1, part);
        }
        parts[out->n_children++] = part;
    } while (problem == NULL && *t->at == ',');
    if (problem == NULL && *t->at++ != ')') problem = not_a_type;
    const uint64_t bytes = (uint64_t)out->n_children * sizeof *parts;
    out->children = problem == NULL ? arena_copy(t->arena, parts, bytes) : NULL;
    if (out->children == NULL && problem == NULL) problem = "out of memory";
    mem_free(parts);
    return problem;
}

static const char *read_arrow_type(struct type_text *t, unsigned depth, struct ArrowSchema *out)
{
    char *format = depth <= ARROW_DEPTH_MAX ? read_escaped_arrow_part(t) : NULL;
    if (format == NULL) return not_a_type;
    if (t->change != NULL) t->change(format);
    out->format = format;
    out->flags = ARROW_FLAG_NULLABLE;
    const char *problem = *t->at == '(' ? read_arrow_type_parts(t, depth, out) : NULL;
    if (problem != NULL || strcmp(format, "+m") != 0) return problem;
    /* Neither the pairs of a map nor their keys are null. */
    struct ArrowSchema *const pairs = out->n_children == 1 ? out->children[0] : NULL;
    if (pairs == NULL || pairs->n_children != 2) return not_a_type;
    pairs->flags = pairs->children[0]->flags = 0;
    return NULL;
}

const char *arrow_type_read(const char *name, const char *type, void (*change)(char *format),
                            struct arena *arena, struct ArrowSchema *out)
{
    assert(name != NULL && type != NULL);
    struct type_text t = {.at = type, .change = change, .arena = arena};
    *out = (struct ArrowSchema){.name = arena_strdup(arena, name), .flags = ARROW_FLAG_NULLABLE};
    if (out->name == NULL) return "out of memory";
    if (*type == '+') {
        const char *problem = read_arrow_type(&t, 0, out);
        return problem == NULL && *t.at != '\0' ? not_a_type : problem;
    }
    char *format = arena_strdup(arena, type); /* without parts nothing is escaped */
    if (format == NULL) return "out of memory";
    if (change != NULL) change(format);
    out->format = format;
    return NULL;
}

/* ---- Parts */

static const struct arrow_field *find_child_field(const struct arrow_field *f,
                                                  const struct json_segment *segment)
{
    assert(segment->name.data != NULL);
    const bool list =
        f->type == ARROW_LIST || f->type == ARROW_LARGE_LIST || f->type == ARROW_FIXED_LIST;
    if (list) return segment->index != UINT64_MAX ? &f->children[0] : NULL;
    for (uint32_t i = 0; f->type == ARROW_STRUCT && i < f->child_count; i++) {
        const char *name = f->children[i].name;
        if (strlen(name) == segment->name.size &&
            memcmp(name, segment->name.data, segment->name.size) == 0)
            return &f->children[i];
    }
    return NULL;
}

bool arrow_type_of_part(const char *type, const struct json_path *path, struct arena *arena,
                        const char **out)
{
    struct ArrowSchema schema;
    struct arrow_field whole;
    const char *problem = arrow_type_read("", type, NULL, arena, &schema);
    if (problem == NULL) problem = arrow_field_read(&schema, arena, &whole);
    const struct arrow_field *f = problem == NULL ? &whole : NULL;
    for (uint32_t i = 0; f != NULL && i < path->count; i++)
        f = find_child_field(f, &path->segments[i]);
    *out = NULL;
    if (f == NULL) return true;
    struct buffer text = {NULL, 0, 0};
    if (arrow_type_append(f, &text) && buffer_append(&text, "", 1))
        *out = arena_strdup(arena, (const char *)text.data);
    buffer_fini(&text);
    return *out != NULL;
}
