/* One loop over the items for each type of item. */
#include "jobs/papers/lists.h"

#include <assert.h>
#include <math.h>
#include <string.h>

bool list_next(struct list_cursor *c, const char *text, struct glint_slice *out)
{
    if (!c->started) c->rest = text;
    c->started = true;
    if (c->rest == NULL) return false;
    const char *comma = strchr(c->rest, ',');
    uint64_t size = comma != NULL ? (uint64_t)(comma - c->rest) : strlen(c->rest);
    *out = (struct glint_slice){(const uint8_t *)c->rest, size};
    c->rest = comma != NULL ? comma + 1 : NULL;
    return true;
}

static int set_list_item_error(struct glint *g, const char *option, struct glint_slice item,
                               const char *hint)
{
    return glint_abort(g, GLINT_E_BAD_VALUE, hint, "--%s: invalid value \"%.*s\"", option,
                       (int)(item.size > 100 ? 100 : item.size), (const char *)item.data);
}

static int set_list_full_error(struct glint *g, const char *option)
{
    return glint_abort(g, GLINT_E_BAD_VALUE, NULL, "--%s: more than %d items", option, LIST_MAX);
}

static bool is_probability(double x)
{
    return x > 0 && x < 1;
}

static bool is_finite(double x)
{
    return isfinite(x);
}

static int read_reals(struct glint *g, const struct glint_job_args *args, const char *option,
                      bool (*fits)(double), const char *hint, struct list_f64 *out)
{
    struct list_cursor c = {NULL, false};
    struct glint_slice item;
    out->count = 0;
    while (list_next(&c, glint_job_option(args, option), &item)) {
        double value;
        if (out->count == LIST_MAX) return set_list_full_error(g, option);
        if (!glint_parse_f64(item, &value) || !fits(value))
            return set_list_item_error(g, option, item, hint);
        out->items[out->count++] = value;
    }
    assert(out->count > 0);
    return 0;
}

int list_parse_probabilities(struct glint *g, const struct glint_job_args *args, const char *option,
                             struct list_f64 *out)
{
    return read_reals(g, args, option, is_probability,
                      "use false positive probabilities, such as 0.01,0.05", out);
}

int list_parse_reals(struct glint *g, const struct glint_job_args *args, const char *option,
                     struct list_f64 *out)
{
    return read_reals(g, args, option, is_finite, "use numbers separated by commas", out);
}

int list_parse_numbers(struct glint *g, const struct glint_job_args *args, const char *option,
                       int64_t min, int64_t max, struct list_i64 *out)
{
    struct list_cursor c = {NULL, false};
    struct glint_slice item;
    out->count = 0;
    assert(min <= max);
    while (list_next(&c, glint_job_option(args, option), &item)) {
        int64_t value;
        if (out->count == LIST_MAX) return set_list_full_error(g, option);
        if (!glint_parse_i64(item, &value))
            return set_list_item_error(g, option, item, "use whole numbers separated by commas");
        if (value < min || value > max)
            return glint_abort(g, GLINT_E_BAD_VALUE, NULL,
                               "--%s: %lld is out of range (%lld to %lld)", option,
                               (long long)value, (long long)min, (long long)max);
        out->items[out->count++] = value;
    }
    assert(out->count > 0);
    return 0;
}

int list_parse_schemes(struct glint *g, const struct glint_job_args *args, const char *option,
                       struct list_schemes *out)
{
    struct list_cursor c = {NULL, false};
    struct glint_slice item;
    out->count = 0;
    while (list_next(&c, glint_job_option(args, option), &item)) {
        if (out->count == LIST_MAX) return set_list_full_error(g, option);
        if (bloom_scheme_parse((const char *)item.data, item.size, &out->items[out->count]) !=
            BLOOM_OK)
            return set_list_item_error(g, option, item, "use one of: " SIZES_CLASSIC_SCHEMES);
        out->count++;
    }
    assert(out->count > 0);
    return 0;
}
