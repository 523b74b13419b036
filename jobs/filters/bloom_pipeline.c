/* The methods in one place: bloom-build uses two of them, constructions compares all. */
#include "jobs/filters/bloom_pipeline.h"

#include "jobs/filters/bloom_functions.h"
#include "jobs/filters/index_codes.h"

#include <assert.h>

enum {
    SPLIT_FACTOR = 8, /* a split has at least this many bytes per byte of filters */
    FEW_FACTOR = 4,   /* few rows have at most this part of the filters' bytes */
};

const char *const bloom_method_names[BLOOM_METHODS] = {"lists-fixed", "lists-varint", "lists-vint",
                                                       "lists-once", "partials"};

uint64_t bloom_method_bytes(const struct sizes *s, enum bloom_method method, uint64_t tasks)
{
    assert(s->count > 0 && method < BLOOM_METHODS);
    uint64_t bytes = 0, fixed = bloom_indexes_are_wide(&s->params[0]) ? 8 : 4;
    for (uint32_t i = 0; i < s->count; i++) {
        const struct bloom_params *p = &s->params[i];
        const uint64_t v = method == BLOOM_LISTS_FIXED  ? fixed
                           : method == BLOOM_LISTS_VINT ? vint_bytes(p->m - 1)
                                                        : varint_bytes(p->m - 1);
        bytes += method == BLOOM_PARTIALS ? tasks * (bloom_bytes(p->m) + BLOOM_PARTIAL_EXTRA)
                                          : p->k * p->n * v;
    }
    return bytes;
}

static uint64_t partials_memory(const struct sizes *s)
{
    return 2 * s->bits_bytes;
}

int bloom_check_memory(struct glint *g, const struct sizes *s)
{
    const uint64_t need = partials_memory(s), have = glint_slot_memory(g);
    if (need <= have) return 0;
    return glint_abort(g, GLINT_E_MEMORY_LIMIT, "raise --memory",
                       "partial filters need %llu bytes per slot, --memory gives %llu",
                       (unsigned long long)need, (unsigned long long)have);
}

uint32_t bloom_largest_k(const struct sizes *s)
{
    uint32_t largest = 0;
    for (uint32_t i = 0; i < s->count; i++)
        if (s->params[i].k > largest) largest = s->params[i].k;
    return largest;
}

uint64_t bloom_largest_bytes(const struct sizes *s)
{
    uint64_t largest = 0;
    for (uint32_t i = 0; i < s->count; i++) {
        const uint64_t bytes = bloom_bytes(s->params[i].m);
        if (bytes > largest) largest = bytes;
    }
    return largest;
}

uint64_t bloom_split_bytes(const struct sizes *s)
{
    return s->bits_bytes * SPLIT_FACTOR;
}

enum bloom_method bloom_method_choose(const struct glint *g, const struct sizes *s, uint64_t tasks)
{
    bool fits = partials_memory(s) <= glint_slot_memory(g);
    return fits && bloom_method_bytes(s, BLOOM_PARTIALS, tasks) <=
                       bloom_method_bytes(s, BLOOM_LISTS_VARINT, tasks)
               ? BLOOM_PARTIALS
               : BLOOM_LISTS_VARINT;
}

static struct glint_rdd *index_lists_pipeline(struct glint_rdd *lines, bool text,
                                              struct glint_args *args)
{
    const struct glint_function *index = text ? &bloom_text_indexes : &bloom_rating_indexes;
    struct glint_rdd *indexes = glint_map(lines, index, args);
    struct glint_rdd *merged = glint_reduce_by_key(indexes, &bloom_extend, NULL);
    return glint_map_values(merged, &bloom_fill, args);
}

/* What combines partial filters. */
static const struct glint_function *combine_function(const struct sizes *s)
{
    return s->params[0].layout == BLOOM_COUNTING ? &bloom_add_counters : &bloom_or;
}

static struct glint_rdd *partial_filters_pipeline(struct glint_rdd *lines, const struct sizes *s,
                                                  struct glint_args *args)
{
    const bool text = s->text;
    const struct glint_function *fill = text ? &bloom_text_partials : &bloom_rating_partials;
    struct glint_rdd *partials = glint_map_partitions(lines, fill, args);
    struct glint_rdd *merged = glint_reduce_by_key(partials, combine_function(s), NULL);
    return glint_map_values(merged, &bloom_seal, args);
}

static struct glint_args *make_filter_function_args(struct glint_rdd *lines, const struct sizes *s,
                                                    const struct fields *f)
{
    struct glint_args *args = glint_args(glint_context(lines));
    fields_args(args, f);
    glint_args_add_broadcast(args, "sizes", sizes_broadcast(glint_context(lines), s));
    return args;
}

struct glint_rdd *bloom_pipeline(struct glint_rdd *lines, const struct sizes *s,
                                 enum bloom_method method, const struct fields *f)
{
    if (lines == NULL) return NULL;
    struct glint_args *args = make_filter_function_args(lines, s, f);
    glint_args_add_i64(args, "method", method);
    glint_args_add_i64(args, "strict", false);
    glint_args_add_i64(args, "remove", false);
    return method == BLOOM_PARTIALS ? partial_filters_pipeline(lines, s, args)
                                    : index_lists_pipeline(lines, s->text, args);
}

/* Of few rows the hashes fit, and the filters are changed in place; else partial filters must fit.
 */
static struct glint_rdd *change_filters_rdd(struct glint_rdd *lines, struct glint_rdd *filters,
                                            const struct sizes *s, struct glint_args *args,
                                            bool remove, bool few)
{
    struct glint_rdd *split = glint_with_split_bytes(lines, bloom_split_bytes(s));
    const struct glint_function *fill = s->text ? &bloom_text_partials : &bloom_rating_partials;
    struct glint_rdd *rows = glint_map_partitions(split, fill, args);
    struct glint_rdd *both = glint_union(glint_map_values(filters, &bloom_bits, args), rows);
    struct glint_rdd *merged = glint_reduce_by_key(both, combine_function(s), NULL);
    /* Few rows have one partition, but with --partitions, which only the shuffle gives. */
    struct glint_rdd *alone = glint_reduce_by_key(rows, combine_function(s), NULL);
    const bool fits = partials_memory(s) <= glint_slot_memory(glint_context(lines));
    if (few && bloom_can_broadcast_rows(split, s, remove) &&
        (!fits || glint_partitions(alone) == 1))
        return bloom_add_few_rows(lines, filters, s, args, remove);
    if (bloom_check_memory(glint_context(lines), s) != 0) return NULL;
    return glint_map_values(merged, &bloom_seal, args);
}

struct glint_rdd *bloom_remove_pipeline(struct glint_rdd *lines, struct glint_rdd *filters,
                                        const struct sizes *s, const struct fields *f)
{
    if (lines == NULL || filters == NULL) return NULL;
    struct glint_args *args = make_filter_function_args(lines, s, f);
    glint_args_add_i64(args, "strict", false);
    glint_args_add_i64(args, "remove", true);
    return change_filters_rdd(lines, filters, s, args, true, true);
}

struct glint_rdd *bloom_add_pipeline(struct glint_rdd *lines, struct glint_rdd *filters,
                                     const struct sizes *s, const struct fields *f, bool strict)
{
    if (lines == NULL || filters == NULL) return NULL;
    struct glint_args *args = make_filter_function_args(lines, s, f);
    glint_args_add_i64(args, "strict", strict);
    glint_args_add_i64(args, "remove", false);
    return change_filters_rdd(lines, filters, s, args, false,
                              glint_input_bytes(lines) <= s->bits_bytes / FEW_FACTOR);
}
