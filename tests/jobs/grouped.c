/* Groups the lines of a file by key: a key's line has the number of its values, and a hash that
 * depends on their order. */
#include "tests/jobs/jobs.h"

#include <inttypes.h>
#include <stdio.h>

struct digest {
    uint64_t values, hash;
};

static int begin_digest(struct glint_task *task, void *state, const union glint_value *key)
{
    struct digest *s = state;
    (void)task, (void)key;
    *s = (struct digest){.hash = UINT64_C(14695981039346656037)};
    return 0;
}

/* FNV-1a. */
static int add_to_digest(struct glint_task *task, void *state, const struct glint_record *in,
                         struct glint_emitter *out)
{
    struct digest *s = state;
    (void)task, (void)out;
    for (uint64_t i = 0; i < in->value.bytes.size; i++)
        s->hash = (s->hash ^ in->value.bytes.data[i]) * UINT64_C(1099511628211);
    s->values++;
    return 0;
}

static int end_digest(struct glint_task *task, void *state, const union glint_value *key,
                      struct glint_emitter *out)
{
    const struct digest *s = state;
    char text[64];
    (void)task;
    const int size = snprintf(text, sizeof text, "%" PRIu64 "\t%016" PRIx64, s->values, s->hash);
    glint_emit(out, &(struct glint_record){.key = *key,
                                           .value.bytes = {(const uint8_t *)text, (uint64_t)size}});
    return 0;
}

/* Passes rows on, and accumulates a tenth of the values' sizes, the longest and the least value. */
struct watch {
    int sum, longest, least;
};

static int watch_open(struct glint_task *task, void *state)
{
    struct watch *s = state;
    s->sum = glint_accumulator(task, "tenths", &GLINT_SUM_F64);
    s->longest = glint_accumulator(task, "longest", &GLINT_MAX_I64);
    s->least = glint_accumulator(task, "least", &GLINT_MIN_TEXT);
    return s->least < 0 ? s->least : 0;
}

static int watch_each(struct glint_task *task, void *state, const struct glint_record *in,
                      struct glint_emitter *out)
{
    const struct watch *s = state;
    const union glint_value tenth = {.f64 = (double)in->value.bytes.size * 0.1};
    const union glint_value size = {.i64 = (int64_t)in->value.bytes.size};
    int r = glint_accumulate(task, s->sum, &tenth);
    if (r == 0) r = glint_accumulate(task, s->longest, &size);
    if (r == 0) r = glint_accumulate(task, s->least, &in->value);
    glint_emit(out, in);
    return r;
}

static const struct glint_function watch = {.name = "grouped.watch",
                                            .kind = GLINT_KIND_MAP,
                                            .in = {GLINT_TEXT, GLINT_TEXT},
                                            .out = {GLINT_SAME, GLINT_SAME},
                                            .state_size = sizeof(struct watch),
                                            .open = watch_open,
                                            .each = watch_each};
static const struct glint_function digest = {.name = "grouped.digest",
                                             .kind = GLINT_KIND_GROUP,
                                             .in = {GLINT_TEXT, GLINT_TEXT},
                                             .out = {GLINT_TEXT, GLINT_TEXT},
                                             .state_size = sizeof(struct digest),
                                             .begin_group = begin_digest,
                                             .each = add_to_digest,
                                             .end_group = end_digest};

static int grouped_run(struct glint *g, const struct glint_job_args *args)
{
    struct glint_rdd *rows = glint_key_value_text_file(g, args->positional[0], '\t');
    rows = glint_map(rows, &watch, NULL);
    struct glint_rdd *groups = glint_with_partitions(glint_group_by_key(rows), 3);
    return glint_save_as_text_file(glint_flat_map_values(groups, &digest, NULL),
                                   args->positional[1]);
}

const struct glint_job grouped_job = {.name = "grouped",
                                      .summary = "count and hash the values of each key",
                                      .positional = {"INPUT", "OUTPUT"},
                                      .functions = {&digest, &watch},
                                      .run = grouped_run};
