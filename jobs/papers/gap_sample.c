/* gap-sample: samples lines of a file as the threads paper does: each line is a random gap after
 * the previous one.
 *
 *     lines -> those at gap_1, gap_1 + gap_2, ..., each gap uniform in 1 .. G
 *
 * Gaps are drawn from (seed, partition, number of the gap), so the sample is the same on every
 * cluster; an input with other splits (--split-size) gives another sample. */
#include "engine/batch.h"
#include "jobs/generate/draw.h"
#include "jobs/rows/fields.h"

#include <assert.h>

struct gap_state {
    int64_t gap, seed;
    uint64_t stream, drawn;
    uint64_t left; /* lines until the next one of the sample */
};

static void draw_next_gap(struct gap_state *s)
{
    s->left = draw_below(s->stream, s->drawn++, (uint64_t)s->gap);
    assert(s->left < (uint64_t)s->gap);
}

static int gap_sample_init(struct glint_task *task, void *state)
{
    struct gap_state *s = state;
    int r = glint_arg_i64(task, "gap", &s->gap);
    if (r == 0) r = glint_arg_i64(task, "seed", &s->seed);
    if (r != 0) return r;
    if (s->gap <= 0) return glint_fail(task, GLINT_E_PLAN_ARGUMENT, NULL, "a gap is not positive");
    s->stream = draw_stream(draw_stream((uint64_t)s->seed) + glint_partition(task));
    draw_next_gap(s);
    return 0;
}

static int gap_sample_select_rows(struct glint_task *task, void *state,
                                  const struct glint_batch *in, uint16_t *out_rows,
                                  uint32_t *out_count)
{
    (void)task;
    struct gap_state *s = state;
    uint32_t count = 0;
    uint64_t row = s->left;
    for (; row < in->rows; row += 1 + s->left) {
        out_rows[count++] = (uint16_t)row;
        draw_next_gap(s);
    }
    s->left = row - in->rows;
    *out_count = count;
    return 0;
}

static const struct glint_function gap_keep = {.name = "gap_sample.keep",
                                               .kind = GLINT_KIND_FILTER,
                                               .in = {GLINT_ANY, GLINT_TEXT},
                                               .out = {GLINT_SAME, GLINT_SAME},
                                               .state_size = sizeof(struct gap_state),
                                               .open = gap_sample_init,
                                               .keep_batch = gap_sample_select_rows};

static int gap_sample_run(struct glint *g, const struct glint_job_args *args)
{
    struct glint_args *choice = glint_args(g);
    glint_args_add_i64(choice, "gap", glint_job_i64(g, args, "gap", 1, INT64_MAX));
    glint_args_add_i64(choice, "seed", glint_job_i64(g, args, "seed", 0, INT64_MAX));
    struct glint_rdd *source, *lines = fields_rows(g, args, args->positional[0], &source);
    glint_save_as_text_file(glint_filter(lines, &gap_keep, choice), args->positional[1]);
    return glint_error(g)->code;
}

static const struct glint_job_option options[] = {
    ROWS_OPTIONS,
    {"gap", "G", "10", "largest gap; lines are (G + 1) / 2 apart on average"},
    {"seed", "N", "42", "seed of the random gaps"},
    {NULL, NULL, NULL, NULL}};

const struct glint_job gap_sample_job = {.name = "gap-sample",
                                         .summary = "sample lines at random gaps",
                                         .help =
                                             "Saves lines at random gaps; each gap is from 1 to G "
                                             "with equal probability. --gap 1 saves every line.",
                                         .positional = {"INPUT", "OUTPUT"},
                                         .outputs = {"OUTPUT"},
                                         .options = options,
                                         .functions = {&gap_keep},
                                         .run = gap_sample_run};
