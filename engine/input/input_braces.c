/* Expands {a,b} in paths, as shells and Spark do: one group after the other, without recursion,
 * until none is left. */
#include "engine/input/input_walk.h"
#include "engine/limits.h"

#include <assert.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

const char *input_brace_end(const char *open)
{
    unsigned depth = 0;
    assert(*open == '{');
    for (const char *p = open; *p != '\0' && p - open < PATH_MAX; p++) {
        depth += *p == '{';
        if (*p == '}' && --depth == 0) return p;
    }
    return NULL;
}

/* Returns the end of the alternative that starts at `p`: its comma, or the closing brace. */
static const char *alternative_end(const char *p)
{
    unsigned depth = 0;
    for (; depth > 0 || (*p != ',' && *p != '}'); p++) {
        assert(*p != '\0');
        depth += *p == '{';
        depth -= *p == '}';
    }
    return p;
}

/* Returns the first group of two or more alternatives, or NULL. */
static const char *find_group(const char *text)
{
    for (const char *p = strchr(text, '{'); p != NULL; p = strchr(p + 1, '{'))
        if (input_brace_end(p) != NULL && *alternative_end(p + 1) == ',') return p;
    return NULL;
}

bool input_has_braces(const char *text)
{
    return find_group(text) != NULL;
}

/* Adds the texts that replace the first group of `text` by each of its alternatives. */
static int expand_group(const char *text, const char *open, struct name_list *out)
{
    const char *end = input_brace_end(open), *p = open;
    int r = 0;
    while (r == 0 && p != end) {
        char path[PATH_MAX];
        const char *start = p + 1;
        p = alternative_end(start);
        const int n = snprintf(path, sizeof path, "%.*s%.*s%s", (int)(open - text), text,
                               (int)(p - start), start, end + 1);
        if (n < 0 || (size_t)n >= sizeof path)
            return input_record_bad_path(out->walk, GLINT_E_INPUT_NOT_FOUND, text,
                                         "an alternative in braces is too long", NULL);
        r = input_names_add(out, path);
    }
    return r;
}

int input_expand_braces(struct input_walk *w, const char *text, struct name_list *out)
{
    bool again = true;
    int r = input_names_add(out, text);
    while (r == 0 && again) {
        struct name_list next = {.walk = w};
        again = false;
        for (uint64_t i = 0; r == 0 && i < out->count; i++) {
            const char *group = find_group(out->items[i]);
            again = again || group != NULL;
            r = group != NULL ? expand_group(out->items[i], group, &next)
                              : input_names_add(&next, out->items[i]);
            if (r == 0 && next.count > INPUT_ALTERNATIVES_MAX)
                r = error_set(w->error, GLINT_E_PLAN_LIMIT, "use a pattern, such as *",
                              "%s: the braces stand for more than %u paths", text,
                              INPUT_ALTERNATIVES_MAX);
        }
        input_names_fini(out);
        *out = next;
    }
    return r;
}
