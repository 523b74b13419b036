/* See ids.h: the plan, the function for rows, and what both group functions share. */
#include "jobs/filters/ids.h"
#include "engine/batch.h"

#include <assert.h>
#include <string.h>

/* ---- bloom.rating_ids, bloom.text_ids: row -> (key, id) */

struct ids_rows_state {
    struct fields fields;
    int shuffle_bytes; /* counter */
};

static int ids_rows_init(struct glint_task *task, void *state)
{
    struct ids_rows_state *s = state;
    s->shuffle_bytes = glint_counter(task, BLOOM_SHUFFLE_BYTES);
    return s->shuffle_bytes >= 0 ? fields_open(task, &s->fields, true) : GLINT_E_NO_MEMORY;
}

static int emit_ids_of_rows(struct glint_task *task, void *state, const struct glint_batch *in,
                            struct glint_emitter *out)
{
    struct ids_rows_state *s = state;
    const struct fields *f = &s->fields;
    int r = fields_parse(&s->fields, task, in);
    if (r != 0) return r;
    int64_t bytes = 0;
    for (uint32_t row = 0; row < f->rows; row++) bytes += f->id_end[row] - f->id_start[row];
    glint_counter_add(task, s->shuffle_bytes, bytes);
    struct glint_batch batch = {.rows = f->rows,
                                .key = fields_key_column(f),
                                .value = {.type = GLINT_BYTES,
                                          .base = f->base,
                                          .size = f->size,
                                          .start = f->id_start,
                                          .end = f->id_end},
                                .origin = in->origin};
    glint_emit_batch(out, &batch);
    return 0;
}

#define ROWS_FUNCTION(name_, key_)                                                                 \
    {                                                                                              \
        .name = name_, .kind = GLINT_KIND_MAP, .in = {GLINT_ANY, GLINT_TEXT},                      \
        .out = {key_, GLINT_BYTES}, .state_size = sizeof(struct ids_rows_state),                   \
        .open = ids_rows_init, .batch = emit_ids_of_rows                                           \
    }

const struct glint_function ids_of_ratings = ROWS_FUNCTION("bloom.rating_ids", GLINT_I64);
const struct glint_function ids_of_texts = ROWS_FUNCTION("bloom.text_ids", GLINT_TEXT);

/* ---- The current key */

/* Memory is doubled, and scratch memory is not freed before the task ends: the total is less than
 * this many times the largest filter. */
enum { ROOM_FACTOR = 4 };

static int read_sizing_args(struct glint_task *task, struct bloom_sizing *out)
{
    int64_t scheme = 0, layout = 0, k = 0, id_type = 0;
    struct glint_slice seeds, hash_seed;
    int r = glint_arg_i64(task, "scheme", &scheme);
    if (r == 0) r = glint_arg_i64(task, "layout", &layout);
    if (r == 0) r = glint_arg_i64(task, "k", &k);
    if (r == 0) r = glint_arg_i64(task, "id_type", &id_type);
    if (r == 0) r = glint_arg_f64(task, "p", &out->p);
    if (r == 0) r = glint_arg_f64(task, "bits", &out->bits);
    if (r == 0) r = glint_arg_slice(task, "seeds", &seeds);
    if (r == 0) r = glint_arg_slice(task, "hash_seed", &hash_seed);
    if (r != 0) return r;
    if (scheme < 0 || scheme >= BLOOM_SCHEMES || layout < 0 || layout >= BLOOM_LAYOUTS || k < 0 ||
        k > BLOOM_K_MAX || id_type < 0 || id_type > UINT32_MAX ||
        !bloom_id_type_is_valid((uint32_t)id_type) || hash_seed.size != sizeof out->hash_seed ||
        (seeds.size != 0 && seeds.size != sizeof out->seeds))
        return glint_fail(task, GLINT_E_PLAN_ARGUMENT, NULL, "invalid sizing");
    out->scheme = (enum bloom_scheme)scheme;
    out->layout = (enum bloom_layout)layout;
    out->k = (uint32_t)k;
    out->id_type = (uint32_t)id_type;
    memcpy(out->hash_seed, hash_seed.data, hash_seed.size);
    out->seeded = seeds.size > 0;
    if (out->seeded) memcpy(out->seeds, seeds.data, seeds.size);
    return 0;
}

int ids_group_open(struct glint_task *task, struct ids_group *group)
{
    int r = read_sizing_args(task, &group->sizing);
    if (r == 0) r = glint_arg_i64(task, "text", &group->text);
    if (r == 0) r = glint_arg_i64(task, "params", &group->params);
    if (r == 0) r = glint_arg_i64(task, "room", &group->room_max);
    if (r == 0) r = glint_arg_slice(task, "source", &group->source);
    return r == 0 ? glint_arg_slice(task, "path", &group->path) : r;
}

void ids_group_begin(struct ids_group *group)
{
    group->sized = group->filled = false;
    group->rows = 0;
}

int ids_group_decode_value(struct glint_task *task, const struct glint_record *in, bool *out_right,
                           struct glint_slice *out_bytes)
{
    const struct glint_pair pair = glint_pair(&in->value);
    if (pair.left.type != GLINT_I64 || pair.right.type != GLINT_BYTES)
        return glint_fail(task, GLINT_E_SHUFFLE_CORRUPT, NULL, "invalid pair of a cogroup");
    *out_right = pair.left.value.i64 != 0;
    *out_bytes = pair.right.value.bytes;
    return 0;
}

int ids_group_set_size(struct glint_task *task, struct ids_group *group,
                       const union glint_value *key, struct glint_slice bytes)
{
    struct size_line line;
    char shown[256];
    bloom_format_key(group->text, key, shown, sizeof shown);
    if (!size_line_read(bytes, &line))
        return glint_fail(task, GLINT_E_SHUFFLE_CORRUPT, NULL, "invalid size");
    if (group->sized)
        return glint_fail(task, group->params ? GLINT_E_PARAMS_INVALID : GLINT_E_COUNTS_INVALID,
                          group->params ? "write one line for each key" : "count each key once",
                          "%.*s: duplicate key (%s)", (int)group->source.size,
                          (const char *)group->source.data, shown);
    enum bloom_result result = size_line_params(&line, &group->sizing, &group->filter.params);
    if (result != BLOOM_OK) {
        char why[256];
        const char *hint;
        sizes_describe_limit(&group->sizing, line.m == 0 ? line.n : 0, result, why, sizeof why,
                             &hint);
        return glint_fail(task, GLINT_E_FILTER_LIMIT, hint, "the filter of key %s, n = %llu: %s",
                          shown, (unsigned long long)line.n, why);
    }
    group->sized = true;
    return 0;
}

int ids_group_reserve(struct glint_task *task, struct ids_group *group,
                      const union glint_value *key)
{
    const uint64_t need = bloom_bytes(group->filter.params.m);
    char shown[256];
    assert(group->sized);
    if (need > (uint64_t)group->room_max) {
        bloom_format_key(group->text, key, shown, sizeof shown);
        return glint_fail(task, GLINT_E_MEMORY_LIMIT, "raise --memory",
                          "the filter of key %s has %llu bytes, a slot has memory for %lld", shown,
                          (unsigned long long)need, (long long)group->room_max);
    }
    if (group->memory == NULL || need > group->room) {
        const uint64_t room = need > 2 * group->room ? need : 2 * group->room;
        group->memory = glint_scratch(task, BLOOM_HEADER_MAX + room);
        if (group->memory == NULL) return GLINT_E_NO_MEMORY;
        group->room = room;
    }
    group->filter.bits = group->memory + BLOOM_HEADER_MAX;
    return 0;
}

/* ---- The plan */

static struct glint_args *ids_group_args(struct glint *g, const char *path,
                                         const struct sizes_source *source, bool text,
                                         const struct bloom_sizing *sizing)
{
    struct glint_args *args = glint_args(g);
    glint_args_add_i64(args, "scheme", sizing->scheme);
    glint_args_add_i64(args, "layout", sizing->layout);
    glint_args_add_i64(args, "k", sizing->k);
    glint_args_add_i64(args, "id_type", sizing->id_type);
    glint_args_add_f64(args, "p", sizing->p);
    glint_args_add_f64(args, "bits", sizing->bits);
    glint_args_add_bytes(args, "hash_seed", (const uint8_t *)sizing->hash_seed,
                         sizeof sizing->hash_seed);
    glint_args_add_bytes(args, "seeds", sizing->seeds, sizing->seeded ? sizeof sizing->seeds : 0);
    glint_args_add_i64(args, "text", text);
    glint_args_add_i64(args, "params", source->params);
    glint_args_add_i64(args, "room", (int64_t)(glint_slot_memory(g) / ROOM_FACTOR));
    glint_args_add_text(args, "source", source->path);
    glint_args_add_text(args, "path", path);
    return args;
}

/* Cogroups `left` with the ids of the rows, in as many partitions as a shuffle of only the rows. */
static struct glint_rdd *cogroup_with_ids(struct glint_rdd *left, struct glint_rdd *lines,
                                          const struct fields *fields)
{
    struct glint_args *columns = glint_args(glint_context(lines));
    const bool text = fields_key_type(fields) == GLINT_TEXT;
    fields_args(columns, fields);
    struct glint_rdd *ids = glint_map(lines, text ? &ids_of_texts : &ids_of_ratings, columns);
    if (left == NULL || ids == NULL) return NULL;
    const uint32_t parts = glint_partitions(glint_partition_by(ids, 0));
    return glint_with_partitions(glint_cogroup(left, ids), parts);
}

struct glint_rdd *ids_build_filters(struct glint_rdd *lines, const struct sizes_source *source,
                                    const struct fields *fields, const struct bloom_sizing *sizing)
{
    if (lines == NULL) return NULL;
    struct glint *g = glint_context(lines);
    const bool text = fields_key_type(fields) == GLINT_TEXT;
    struct glint_rdd *both = cogroup_with_ids(size_lines_rdd(g, source, fields), lines, fields);
    if (both == NULL) return NULL;
    struct glint_args *args = ids_group_args(g, "", source, text, sizing);
    return glint_flat_map_values(both, &ids_fill, args);
}

struct glint_rdd *ids_test_filters(struct glint_rdd *lines, struct glint_rdd *filters,
                                   const char *path, const struct sizes_source *source,
                                   const struct fields *fields, const struct bloom_sizing *sizing)
{
    if (lines == NULL || filters == NULL) return NULL;
    struct glint *g = glint_context(lines);
    const bool text = fields_key_type(fields) == GLINT_TEXT;
    struct glint_rdd *left = glint_union(size_lines_rdd(g, source, fields), filters);
    struct glint_rdd *both = cogroup_with_ids(left, lines, fields);
    if (both == NULL) return NULL;
    struct glint_args *args = ids_group_args(g, path, source, text, sizing);
    return glint_flat_map_values(both, &ids_test, args);
}
