/* Looks up batches of ids in all filters. */
#include "engine/base/text.h"
#include "engine/batch.h"
#include "jobs/filters/bloom_functions.h"
#include "jobs/papers/membership.h"

#include <assert.h>
#include <string.h>

enum { ROW_STRIDE = FIELDS_ROWS_MAX };

struct look_up {
    struct fields fields;
    struct sizes sizes;
    struct bloom_set set;
    int64_t members;                    /* the key column has the key of each id */
    uint16_t own[FIELDS_ROWS_MAX];      /* the filter of the row's key, or SIZES_NONE */
    uint16_t positive[FIELDS_ROWS_MAX]; /* number of filters that report the row's id */
    uint8_t *hit;                       /* [filters][ROW_STRIDE] */
};

static int member_lookup_init(struct glint_task *task, struct look_up *l)
{
    int r = fields_open(task, &l->fields, true);
    if (r == 0) r = sizes_open(task, &l->sizes);
    if (r == 0) r = glint_arg_i64(task, "members", &l->members);
    if (r == 0) r = bloom_open_filters(task, &l->set);
    if (r != 0) return r;
    assert(l->set.count == l->sizes.count);
    l->hit = glint_scratch(task, (uint64_t)l->set.count * ROW_STRIDE);
    return l->hit != NULL ? 0 : GLINT_E_NO_MEMORY;
}

/* Fills own, positive and hit for the batch's rows. Returns 0 or a code. */
static int member_lookup_rows(struct look_up *l, struct glint_task *task,
                              const struct glint_batch *in)
{
    struct fields *f = &l->fields;
    int r = fields_parse(f, task, in);
    if (r != 0) return r;
    if (l->members)
        sizes_find_rows(&l->sizes, f, l->own);
    else
        memset(l->own, 0xff, sizeof l->own);
    memset(l->positive, 0, sizeof l->positive);
    const struct bloom_rows rows = {f->base, f->id_start, f->id_end, NULL, f->rows};
    bloom_set_contains_all(&l->set, &rows, l->hit, ROW_STRIDE);
    for (uint32_t i = 0; i < l->set.count; i++) {
        const uint8_t *hit = l->hit + (uint64_t)i * ROW_STRIDE;
        for (uint32_t row = 0; row < f->rows; row++) l->positive[row] += hit[row];
    }
    return 0;
}

/* ---- membership.tally: how many ids each filter reports, and how many filters report each id */

struct tally_state {
    struct look_up look_up;
    struct member_tally *filters; /* [set.count] */
    uint64_t *counts;             /* [set.count + 1] */
    int no_filter;
};

static int member_tally_init(struct glint_task *task, void *state)
{
    struct tally_state *s = state;
    int r = member_lookup_init(task, &s->look_up);
    if (r != 0) return r;
    const uint32_t count = s->look_up.set.count;
    s->no_filter = glint_counter(task, "no filter");
    s->filters = glint_scratch(task, sizeof *s->filters * count);
    s->counts = glint_scratch(task, sizeof *s->counts * (count + 1));
    if (s->no_filter < 0 || s->filters == NULL || s->counts == NULL) return GLINT_E_NO_MEMORY;
    memset(s->filters, 0, sizeof *s->filters * count);
    memset(s->counts, 0, sizeof *s->counts * (count + 1));
    return 0;
}

static int member_tally_add_rows(struct glint_task *task, void *state, const struct glint_batch *in,
                                 struct glint_emitter *out)
{
    (void)out;
    struct tally_state *s = state;
    struct look_up *l = &s->look_up;
    int r = member_lookup_rows(l, task, in);
    if (r != 0) return r;
    uint32_t without = 0;
    for (uint32_t i = 0; i < l->set.count; i++) {
        const uint8_t *hit = l->hit + (uint64_t)i * ROW_STRIDE;
        uint32_t hits = 0;
        for (uint32_t row = 0; row < l->fields.rows; row++) hits += hit[row];
        s->filters[i].hits += hits;
    }
    for (uint32_t row = 0; row < l->fields.rows; row++) {
        s->counts[l->positive[row]]++;
        const uint32_t own = l->own[row];
        if (own == SIZES_NONE) {
            without++;
            continue;
        }
        s->filters[own].own++;
        s->filters[own].own_hits += l->hit[(uint64_t)own * ROW_STRIDE + row];
    }
    if (l->members) glint_counter_add(task, s->no_filter, without);
    return 0;
}

static void emit_member_tally(struct glint_emitter *out, int64_t number,
                              const struct member_tally *tally)
{
    struct glint_record record = {.key.i64 = number,
                                  .value.bytes = {(const uint8_t *)tally, sizeof *tally}};
    glint_emit(out, &record);
}

static int member_tally_emit(struct glint_task *task, void *state, struct glint_emitter *out)
{
    (void)task;
    const struct tally_state *s = state;
    const uint32_t count = s->look_up.set.count;
    for (uint32_t i = 0; i < count; i++)
        if (s->filters[i].hits + s->filters[i].own > 0) emit_member_tally(out, i, &s->filters[i]);
    for (uint32_t c = 0; c <= count; c++) {
        const struct member_tally tally = {.hits = s->counts[c]};
        if (tally.hits > 0) emit_member_tally(out, MEMBER_COUNTS + c, &tally);
    }
    return 0;
}

static void member_tally_fini(struct glint_task *task, void *state)
{
    (void)task;
    bloom_set_fini(&((struct tally_state *)state)->look_up.set);
}

const struct glint_function membership_tally = {.name = "membership.tally",
                                                .kind = GLINT_KIND_FLAT_MAP,
                                                .in = {GLINT_ANY, GLINT_TEXT},
                                                .out = {GLINT_I64, GLINT_BYTES},
                                                .state_size = sizeof(struct tally_state),
                                                .open = member_tally_init,
                                                .batch = member_tally_add_rows,
                                                .end = member_tally_emit,
                                                .close = member_tally_fini};

static int add_member_tallies(struct glint_task *task, void *state, struct glint_acc *acc,
                              const union glint_value *value)
{
    (void)state;
    struct member_tally a, b;
    if (acc->value.bytes.size != sizeof a || value->bytes.size != sizeof b)
        return glint_fail(task, GLINT_E_SHUFFLE_CORRUPT, NULL, "a tally has an invalid size");
    memcpy(&a, acc->value.bytes.data, sizeof a);
    memcpy(&b, value->bytes.data, sizeof b);
    a.hits += b.hits;
    a.own += b.own;
    a.own_hits += b.own_hits;
    memcpy(glint_acc_bytes(acc), &a, sizeof a);
    return 0;
}

const struct glint_function membership_add = {.name = "membership.add",
                                              .kind = GLINT_KIND_REDUCE,
                                              .in = {GLINT_ANY, GLINT_BYTES},
                                              .out = {GLINT_SAME, GLINT_SAME},
                                              .merge = add_member_tallies};

/* ---- membership.sets: id TAB KEY,KEY,... */

struct sets_state {
    struct look_up look_up;
    struct glint_slice *names; /* of the filters, as printed */
    uint64_t names_bytes;      /* of all together, with commas */
    uint8_t *list;             /* has room for all */
};

/* Percent-encodes commas, control characters and %, so that a list of keys is unambiguous. Returns
 * the size, at most 3 bytes per byte of the key. */
static uint64_t percent_encode_name(struct glint_slice key, uint8_t *out)
{
    static const char hex[] = "0123456789ABCDEF";
    uint64_t n = 0;
    for (uint64_t i = 0; i < key.size; i++) {
        const uint8_t byte = key.data[i];
        if (byte >= 0x20 && byte != 0x7f && byte != ',' && byte != '%') {
            out[n++] = byte;
            continue;
        }
        out[n++] = '%';
        out[n++] = (uint8_t)hex[byte >> 4];
        out[n++] = (uint8_t)hex[byte & 15];
    }
    return n;
}

static int name_filter_sets(struct glint_task *task, struct sets_state *s)
{
    const struct sizes *sizes = &s->look_up.sizes;
    s->names = glint_scratch(task, sizeof *s->names * sizes->count);
    if (s->names == NULL) return GLINT_E_NO_MEMORY;
    for (uint32_t i = 0; i < sizes->count; i++) {
        const uint64_t most = sizes->text ? 3 * sizes->keys[i].bytes.size : TEXT_NUMBER_MAX;
        uint8_t *name = glint_scratch(task, most + 1);
        if (name == NULL) return GLINT_E_NO_MEMORY;
        s->names[i].data = name;
        s->names[i].size = sizes->text ? percent_encode_name(sizes->keys[i].bytes, name)
                                       : text_format_i64((char *)name, sizes->keys[i].i64);
        s->names_bytes += s->names[i].size + 1;
    }
    s->list = glint_scratch(task, s->names_bytes + 1);
    return s->list != NULL ? 0 : GLINT_E_NO_MEMORY;
}

static int filter_sets_init(struct glint_task *task, void *state)
{
    struct sets_state *s = state;
    int r = member_lookup_init(task, &s->look_up);
    return r == 0 ? name_filter_sets(task, s) : r;
}

static void emit_filter_set(const struct sets_state *s, uint32_t row, struct glint_emitter *out)
{
    const struct look_up *l = &s->look_up;
    const struct fields *f = &l->fields;
    uint8_t *at = s->list;
    uint32_t left = l->positive[row];
    for (uint32_t i = 0; left > 0; i++) {
        assert(i < l->set.count);
        if (!l->hit[(uint64_t)i * ROW_STRIDE + row]) continue;
        memcpy(at, s->names[i].data, s->names[i].size);
        at += s->names[i].size;
        if (--left > 0) *at++ = ',';
    }
    const struct glint_record record = {
        .key.bytes = {f->base + f->id_start[row], f->id_end[row] - f->id_start[row]},
        .value.bytes = {s->list, (uint64_t)(at - s->list)}};
    glint_emit(out, &record);
}

static int emit_filter_sets(struct glint_task *task, void *state, const struct glint_batch *in,
                            struct glint_emitter *out)
{
    struct sets_state *s = state;
    int r = member_lookup_rows(&s->look_up, task, in);
    for (uint32_t row = 0; r == 0 && row < s->look_up.fields.rows; row++)
        emit_filter_set(s, row, out);
    return r;
}

static void filter_sets_fini(struct glint_task *task, void *state)
{
    (void)task;
    bloom_set_fini(&((struct sets_state *)state)->look_up.set);
}

const struct glint_function membership_sets = {.name = "membership.sets",
                                               .kind = GLINT_KIND_FLAT_MAP,
                                               .in = {GLINT_ANY, GLINT_TEXT},
                                               .out = {GLINT_TEXT, GLINT_TEXT},
                                               .state_size = sizeof(struct sets_state),
                                               .open = filter_sets_init,
                                               .batch = emit_filter_sets,
                                               .close = filter_sets_fini};
