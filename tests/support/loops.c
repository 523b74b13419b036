/* See loops.h. */
#include "tests/support/loops.h"

#include "engine/base/text.h"
#include "engine/plan/context_config.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define CENTRES_MAX 8u

/* ---- Functions */

static bool parse_i64(struct glint_slice text, int64_t *out)
{
    return text_parse_i64(text.data, text.size, out);
}

static int both_each(struct glint_task *task, void *state, const struct glint_record *in,
                     struct glint_emitter *out)
{
    struct glint_record there, back;
    (void)state;
    if (!parse_i64(in->key.bytes, &there.key.i64) || !parse_i64(in->value.bytes, &there.value.i64))
        return glint_bad_row(task, in->key.bytes, "not two vertices");
    back = (struct glint_record){.key = there.value, .value = there.key};
    glint_emit(out, &there);
    glint_emit(out, &back);
    return 0;
}

static int least_merge(struct glint_task *task, void *state, struct glint_acc *acc,
                       const union glint_value *value)
{
    (void)task, (void)state;
    if (value->i64 < acc->value.i64) acc->value.i64 = value->i64;
    return 0;
}

/* (vertex, [neighbour, label]) -> (neighbour, label) */
static int send_each(struct glint_task *task, void *state, const struct glint_record *in,
                     struct glint_emitter *out)
{
    const struct glint_pair pair = glint_pair(&in->value);
    const struct glint_record r = {pair.left.value, pair.right.value};
    (void)state;
    if (pair.left.type != GLINT_I64 || pair.right.type != GLINT_I64)
        return glint_fail(task, GLINT_E_FUNCTION_FAILED, NULL, "not [vertex, label]");
    glint_emit(out, &r);
    return 0;
}

static int neighbour_each(struct glint_task *task, void *state, const struct glint_record *in,
                          struct glint_emitter *out)
{
    uint8_t bytes[sizeof in->value.i64];
    (void)task, (void)state;
    memcpy(bytes, &in->value.i64, sizeof bytes);
    glint_emit(out, &(struct glint_record){in->key, {.bytes = {bytes, sizeof bytes}}});
    return 0;
}

static int append_merge(struct glint_task *task, void *state, struct glint_acc *acc,
                        const union glint_value *value)
{
    (void)state;
    return glint_acc_append(task, acc, value->bytes.data, value->bytes.size);
}

static int one_each(struct glint_task *task, void *state, const struct glint_record *in,
                    struct glint_emitter *out)
{
    (void)task, (void)state;
    glint_emit(out, &(struct glint_record){in->key, {.f64 = 1}});
    return 0;
}

/* its share of the rank */
static int share_each(struct glint_task *task, void *state, const struct glint_record *in,
                      struct glint_emitter *out)
{
    const struct glint_pair pair = glint_pair(&in->value);
    const union glint_value links = pair.left.value, rank = pair.right.value;
    (void)state;
    if (pair.left.type != GLINT_BYTES || pair.right.type != GLINT_F64)
        return glint_fail(task, GLINT_E_FUNCTION_FAILED, NULL, "not [links, rank]");
    const uint64_t count = links.bytes.size / sizeof(int64_t);
    for (uint64_t i = 0; i < count; i++) {
        struct glint_record r = {.value.f64 = rank.f64 / (double)count};
        memcpy(&r.key.i64, links.bytes.data + i * sizeof r.key.i64, sizeof r.key.i64);
        glint_emit(out, &r);
    }
    return 0;
}

static int damp_each(struct glint_task *task, void *state, const struct glint_record *in,
                     struct glint_emitter *out)
{
    (void)task, (void)state;
    glint_emit(out, &(struct glint_record){in->key, {.f64 = 0.15 + 0.85 * in->value.f64}});
    return 0;
}

struct centres {
    double at[CENTRES_MAX];
    uint64_t count;
};

static int nearest_open(struct glint_task *task, void *state)
{
    struct glint_slice bytes;
    struct centres *c = state;
    int r = glint_arg_slice(task, "centres", &bytes);
    if (r != 0) return r;
    assert(bytes.size <= sizeof c->at && bytes.size % sizeof c->at[0] == 0);
    memcpy(c->at, bytes.data, bytes.size);
    c->count = bytes.size / sizeof c->at[0];
    return 0;
}

/* A line with a number -> (the nearest centre, the number) */
static int nearest_each(struct glint_task *task, void *state, const struct glint_record *in,
                        struct glint_emitter *out)
{
    const struct centres *c = state;
    struct glint_record r = {.key.i64 = 0};
    if (!glint_parse_f64(in->value.bytes, &r.value.f64))
        return glint_bad_row(task, in->value.bytes, "not a number");
    for (uint64_t i = 1; i < c->count; i++)
        if (fabs(c->at[i] - r.value.f64) < fabs(c->at[r.key.i64] - r.value.f64))
            r.key.i64 = (int64_t)i;
    glint_emit(out, &r);
    return 0;
}

#define MAP_FUNCTION(name_, in_key, in_value, out_key, out_value, each_)                           \
    {                                                                                              \
        .name = name_, .kind = GLINT_KIND_MAP, .in = {in_key, in_value},                           \
        .out = {out_key, out_value}, .each = each_                                                 \
    }

static const struct glint_function both_ways = {.name = "loop.both_ways",
                                                .kind = GLINT_KIND_FLAT_MAP,
                                                .in = {GLINT_TEXT, GLINT_TEXT},
                                                .out = {GLINT_I64, GLINT_I64},
                                                .each = both_each};
static const struct glint_function least = {.name = "loop.least",
                                            .kind = GLINT_KIND_REDUCE,
                                            .in = {GLINT_ANY, GLINT_I64},
                                            .out = {GLINT_SAME, GLINT_SAME},
                                            .merge = least_merge};
static const struct glint_function append = {.name = "loop.append",
                                             .kind = GLINT_KIND_REDUCE,
                                             .in = {GLINT_ANY, GLINT_BYTES},
                                             .out = {GLINT_SAME, GLINT_SAME},
                                             .merge = append_merge};
static const struct glint_function send_label =
    MAP_FUNCTION("loop.send", GLINT_I64, GLINT_MSGPACK, GLINT_I64, GLINT_I64, send_each);
static const struct glint_function neighbour =
    MAP_FUNCTION("loop.neighbour", GLINT_I64, GLINT_I64, GLINT_I64, GLINT_BYTES, neighbour_each);
static const struct glint_function one =
    MAP_FUNCTION("loop.one", GLINT_ANY, GLINT_BYTES, GLINT_SAME, GLINT_F64, one_each);
static const struct glint_function share = {.name = "loop.share",
                                            .kind = GLINT_KIND_FLAT_MAP,
                                            .in = {GLINT_I64, GLINT_MSGPACK},
                                            .out = {GLINT_I64, GLINT_F64},
                                            .each = share_each};
static const struct glint_function damp =
    MAP_FUNCTION("loop.damp", GLINT_ANY, GLINT_F64, GLINT_SAME, GLINT_F64, damp_each);
static const struct glint_function nearest = {.name = "loop.nearest",
                                              .kind = GLINT_KIND_MAP,
                                              .in = {GLINT_NONE, GLINT_TEXT},
                                              .out = {GLINT_I64, GLINT_F64},
                                              .state_size = sizeof(struct centres),
                                              .open = nearest_open,
                                              .each = nearest_each};

static const struct glint_function *const functions[] = {
    &both_ways, &least, &append, &send_label, &neighbour, &one, &share, &damp, &nearest, NULL};
const struct glint_module loops_module = {"loop", functions};

/* ---- Plans */

struct glint_rdd *loops_edges(struct glint *g, const char *path)
{
    return glint_flat_map(glint_key_value_text_file(g, path, '\t'), &both_ways, NULL);
}

struct glint_rdd *loops_components_of(struct glint_rdd *edges, int64_t rounds)
{
    struct glint_rdd *labels = glint_reduce_by_key(edges, &least, NULL);
    for (int64_t i = 0; i < rounds; i++) {
        struct glint_rdd *sent = glint_map(glint_join(edges, labels), &send_label, NULL);
        labels = glint_reduce_by_key(glint_union(labels, sent), &least, NULL);
    }
    return labels;
}

struct glint_rdd *loops_ranks_of(struct glint_rdd *edges, int64_t rounds)
{
    struct glint_rdd *links =
        glint_reduce_by_key(glint_map(edges, &neighbour, NULL), &append, NULL);
    struct glint_rdd *ranks = glint_map_values(links, &one, NULL);
    for (int64_t i = 0; i < rounds; i++) {
        struct glint_rdd *shares = glint_flat_map(glint_join(links, ranks), &share, NULL);
        struct glint_rdd *sums = glint_reduce_by_key(shares, &GLINT_SUM_F64, NULL);
        ranks = glint_map_values(sums, &damp, NULL);
    }
    return ranks;
}

/* ---- Jobs */

static int components_run(struct glint *g, const struct glint_job_args *args)
{
    int64_t rounds = glint_job_i64(g, args, "rounds", 0, 10000);
    struct glint_rdd *edges = loops_edges(g, args->positional[0]);
    glint_save_as_text_file(loops_components_of(edges, rounds), args->positional[1]);
    return glint_error(g)->code;
}

static int page_rank_run(struct glint *g, const struct glint_job_args *args)
{
    int64_t rounds = glint_job_i64(g, args, "rounds", 0, 10000);
    struct glint_rdd *edges = loops_edges(g, args->positional[0]);
    glint_save_as_text_file(glint_sort_by_key(loops_ranks_of(edges, rounds), true),
                            args->positional[1]);
    return glint_error(g)->code;
}

/* Moves each centre to the mean of its points. Returns false if none moved. */
static bool move_centres(struct centres *c, const struct glint_rows *sums,
                         const struct glint_rows *counts)
{
    bool moved = false;
    for (uint64_t i = 0; i < sums->count; i++) {
        struct glint_record sum = glint_rows_at(sums, i), count = glint_rows_at(counts, i);
        assert(sum.key.i64 == count.key.i64);
        double at = sum.value.f64 / (double)count.value.i64;
        moved = moved || at != c->at[sum.key.i64];
        c->at[sum.key.i64] = at;
    }
    return moved;
}

/* Two actions per round, and a line on standard output; saves nothing. */
static int k_means_run(struct glint *g, const struct glint_job_args *args)
{
    struct glint_rows first, sums, counts;
    struct centres c = {.count = (uint64_t)glint_job_i64(g, args, "k", 1, CENTRES_MAX)};
    int64_t rounds = glint_job_i64(g, args, "rounds", 1, 10000);
    struct glint_rdd *points = glint_text_file(g, args->positional[0]);
    int r = glint_take(points, c.count, &first);
    if (r == 0 && first.count < c.count)
        r = glint_abort(g, GLINT_E_EMPTY_COLLECTION, NULL, "%s: fewer points than centres",
                        args->positional[0]);
    for (uint64_t i = 0; r == 0 && i < c.count; i++)
        if (!glint_parse_f64(glint_rows_at(&first, i).value.bytes, &c.at[i])) c.at[i] = (double)i;
    glint_rows_free(&first);
    bool moved = true;
    for (int64_t round = 0; r == 0 && round < rounds && moved; round++) {
        struct glint_args *centres = glint_args(g);
        glint_args_add_bytes(centres, "centres", c.at, c.count * sizeof c.at[0]);
        struct glint_rdd *near = glint_map(points, &nearest, centres);
        r = glint_collect_as_map(glint_reduce_by_key(near, &GLINT_SUM_F64, NULL), &sums);
        if (r != 0) break;
        r = glint_count_by_key(near, &counts);
        if (r == 0) moved = move_centres(&c, &sums, &counts);
        glint_rows_free(&sums);
        glint_rows_free(&counts);
        printf("round %lld:", (long long)round);
        for (uint64_t i = 0; i < c.count; i++) printf(" %.4f", c.at[i]);
        putchar('\n');
    }
    return glint_error(g)->code;
}

static const struct glint_job_option rounds_only[] = {{"rounds", "N", "10", "how many at most"},
                                                      {NULL, NULL, NULL, NULL}};
static const struct glint_job_option k_and_rounds[] = {{"k", "N", "3", "how many centres"},
                                                       {"rounds", "N", "10", "how many at most"},
                                                       {NULL, NULL, NULL, NULL}};

const struct glint_job loops_components = {.name = "components",
                                           .summary = "label each vertex with its component",
                                           .positional = {"INPUT", "OUTPUT"},
                                           .options = rounds_only,
                                           .run = components_run};
const struct glint_job loops_page_rank = {.name = "page-rank",
                                          .summary = "rank the vertices of a graph",
                                          .positional = {"INPUT", "OUTPUT"},
                                          .options = rounds_only,
                                          .run = page_rank_run};
const struct glint_job loops_k_means = {.name = "k-means",
                                        .summary = "find centres of numbers and print them",
                                        .positional = {"INPUT"},
                                        .options = k_and_rounds,
                                        .run = k_means_run};
