/* The group functions of ids.h: the values of a key are streamed, its size first, its ids last. */
#include "jobs/filters/ids.h"

#include <assert.h>
#include <string.h>

/* ---- bloom.fill_ids: builds the key's filter from its ids */

struct ids_fill_state {
    struct ids_group group;
    int surplus, higher_rate; /* counters */
};

static int ids_fill_init(struct glint_task *task, void *state)
{
    struct ids_fill_state *s = state;
    s->surplus = glint_counter(task, IDS_SURPLUS);
    s->higher_rate = glint_counter(task, IDS_HIGHER_RATE);
    const bool counted = s->surplus >= 0 && s->higher_rate >= 0;
    return counted ? ids_group_open(task, &s->group) : GLINT_E_NO_MEMORY;
}

static int ids_fill_begin_key(struct glint_task *task, void *state, const union glint_value *key)
{
    (void)task, (void)key;
    ids_group_begin(&((struct ids_fill_state *)state)->group);
    return 0;
}

/* A key without rows has no filter, so the bits are initialized at the first id. */
static int ids_fill_first_id(struct glint_task *task, struct ids_group *group,
                             const union glint_value *key)
{
    int r = ids_group_reserve(task, group, key);
    if (r != 0) return r;
    memset(group->filter.bits, 0, bloom_bytes(group->filter.params.m));
    group->filled = true;
    return 0;
}

static int ids_fill_set_missing_error(struct glint_task *task, const struct ids_group *group,
                                      const union glint_value *key, struct glint_slice id)
{
    char shown[256];
    bloom_format_key(group->text, key, shown, sizeof shown);
    return glint_bad_row_with_code(task, GLINT_E_COUNT_NOT_FOUND, id, BLOOM_MISSING, shown);
}

static int ids_fill_add_id(struct glint_task *task, void *state, const struct glint_record *in,
                           struct glint_emitter *out)
{
    (void)out;
    struct ids_fill_state *s = state;
    struct ids_group *group = &s->group;
    struct glint_slice bytes;
    bool right;
    int r = ids_group_decode_value(task, in, &right, &bytes);
    if (r != 0) return r;
    if (!right) return ids_group_set_size(task, group, &in->key, bytes);
    if (!group->sized) return ids_fill_set_missing_error(task, group, &in->key, bytes);
    const char *wrong = bloom_id_error(group->sizing.scheme, bytes.size);
    if (wrong != NULL) return glint_bad_row(task, bytes, wrong);
    if (!group->filled) {
        r = ids_fill_first_id(task, group, &in->key);
        glint_counter_add(task, s->higher_rate,
                          sizes_rate_above_planned(&group->filter.params) > 0);
    }
    if (r != 0) return r;
    bloom_add(&group->filter, bytes.data, bytes.size);
    group->rows++;
    return 0;
}

static int ids_fill_emit_filter(struct glint_task *task, void *state, const union glint_value *key,
                                struct glint_emitter *out)
{
    struct ids_fill_state *s = state;
    const struct bloom_params *params = &s->group.filter.params;
    if (!s->group.filled) return 0;
    if (s->group.rows > params->n)
        glint_counter_add(task, s->surplus, (int64_t)(s->group.rows - params->n));
    bloom_emit_filter(params, key, s->group.memory, out);
    return 0;
}

const struct glint_function ids_fill = {.name = "bloom.fill_ids",
                                        .kind = GLINT_KIND_GROUP,
                                        .in = {GLINT_ANY, GLINT_MSGPACK},
                                        .out = {GLINT_SAME, GLINT_MSGPACK},
                                        .state_size = sizeof(struct ids_fill_state),
                                        .open = ids_fill_init,
                                        .begin_group = ids_fill_begin_key,
                                        .each = ids_fill_add_id,
                                        .end_group = ids_fill_emit_filter};

/* ---- bloom.test_ids: the key's (hits, rows) */

struct ids_test_state {
    struct ids_group group;
    uint64_t hits;
    int no_filter; /* counter */
};

static int ids_test_init(struct glint_task *task, void *state)
{
    struct ids_test_state *s = state;
    s->no_filter = glint_counter(task, BLOOM_NO_FILTER);
    return s->no_filter >= 0 ? ids_group_open(task, &s->group) : GLINT_E_NO_MEMORY;
}

static int ids_test_begin_key(struct glint_task *task, void *state, const union glint_value *key)
{
    (void)task, (void)key;
    struct ids_test_state *s = state;
    ids_group_begin(&s->group);
    s->hits = 0;
    return 0;
}

static int set_ids_filter_error(struct glint_task *task, const struct ids_group *group,
                                const union glint_value *key, enum glint_code code,
                                const char *what)
{
    char shown[256];
    bloom_format_key(group->text, key, shown, sizeof shown);
    return glint_fail(task, code, bloom_mismatch_hint(group->params),
                      "%.*s: the filter of key %s: %s", (int)group->path.size,
                      (const char *)group->path.data, shown, what);
}

/* Reads the key's filter, checks its size, and copies it. */
static int ids_test_read_filter(struct glint_task *task, struct ids_group *group,
                                const union glint_value *key, struct glint_slice bytes)
{
    struct bloom_filter filter;
    char what[256];
    enum bloom_result result = bloom_decode(bytes.data, bytes.size, &filter);
    if (result != BLOOM_OK)
        return set_ids_filter_error(task, group, key, GLINT_E_FILTER_INVALID,
                                    bloom_strerror(result));
    if (!group->sized)
        return set_ids_filter_error(task, group, key, GLINT_E_FILTER_MISMATCH,
                                    bloom_no_such_key_text(group->params));
    if (group->filled)
        return set_ids_filter_error(task, group, key, GLINT_E_FILTER_MISMATCH, "duplicate key");
    if (bloom_is_static(filter.params.layout)) group->filter.params.m = filter.params.m;
    if (!bloom_params_equal(&filter.params, &group->filter.params)) {
        bloom_mismatch_text(&filter.params, &group->filter.params, group->params, what,
                            sizeof what);
        return set_ids_filter_error(task, group, key, GLINT_E_FILTER_MISMATCH, what);
    }
    int r = ids_group_reserve(task, group, key);
    if (r != 0) return r;
    memcpy(group->filter.bits, filter.bits, bloom_bytes(filter.params.m));
    group->filled = true;
    return 0;
}

static int ids_test_record(struct glint_task *task, void *state, const struct glint_record *in,
                           struct glint_emitter *out)
{
    (void)out;
    struct ids_test_state *s = state;
    struct ids_group *group = &s->group;
    struct glint_slice bytes;
    bool right;
    int r = ids_group_decode_value(task, in, &right, &bytes);
    if (r != 0) return r;
    if (!right && bytes.size == sizeof(struct size_line)) /* smaller than any filter */
        return ids_group_set_size(task, group, &in->key, bytes);
    if (!right) return ids_test_read_filter(task, group, &in->key, bytes);
    if (!group->filled) {
        glint_counter_add(task, s->no_filter, 1);
        return 0;
    }
    group->rows++;
    s->hits += bloom_contains(&group->filter, bytes.data, bytes.size);
    return 0;
}

static int ids_test_emit_tally(struct glint_task *task, void *state, const union glint_value *key,
                               struct glint_emitter *out)
{
    (void)task;
    const struct ids_test_state *s = state;
    if (s->group.rows == 0) return 0;
    const struct bloom_tally tally = {s->hits, s->group.rows};
    assert(tally.hits <= tally.rows);
    struct glint_record record = {.key = *key,
                                  .value.bytes = {(const uint8_t *)&tally, sizeof tally}};
    glint_emit(out, &record);
    return 0;
}

const struct glint_function ids_test = {.name = "bloom.test_ids",
                                        .kind = GLINT_KIND_GROUP,
                                        .in = {GLINT_ANY, GLINT_MSGPACK},
                                        .out = {GLINT_SAME, GLINT_BYTES},
                                        .state_size = sizeof(struct ids_test_state),
                                        .open = ids_test_init,
                                        .begin_group = ids_test_begin_key,
                                        .each = ids_test_record,
                                        .end_group = ids_test_emit_tally};
