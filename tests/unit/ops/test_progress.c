/* What a job reports while it runs: rows and bytes of each stage's input, of the finished tasks and
 * of all. */
#include "engine/plan/context.h"
#include "tests/unit/ops/harness.h"

#include <criterion/criterion.h>
#include <stdio.h>

TestSuite(progress, .init = scratch_open, .fini = scratch_close);

#define STAGES 2u

/* The last report of each stage. */
struct reports {
    struct progress last[STAGES];
    bool action_ended;
};

static void keep_report(void *arg, const struct progress *p)
{
    struct reports *r = arg;
    r->action_ended = p->action_ended;
    if (p->action_ended) return;
    cr_assert_lt(p->stage, STAGES);
    cr_expect(p->bytes_total == 0 || p->bytes_read <= p->bytes_total);
    r->last[p->stage] = *p;
}

/* Counts the distinct lines of a file in stage 0 and 1. */
static void run_distinct(const struct fixture *w, uint32_t lines, struct reports *out)
{
    char text[16384], path[PATH_BYTES];
    size_t size = 0;
    int64_t count = 0;
    memset(out, 0, sizeof *out);
    for (uint32_t i = 0; i < lines; i++)
        size += (size_t)snprintf(text + size, sizeof text - size, "line %u\n", i % 100);
    scratch_write("in", text, size);
    struct glint *g = fixture_open(w);
    g->config.progress = keep_report;
    g->config.progress_arg = out;
    struct glint_rdd *rows = glint_text_file(g, scratch_path("in", path));
    cr_expect_eq(glint_count(glint_distinct(rows), &count), 0);
    cr_expect_eq(count, lines < 100 ? lines : 100);
    fixture_close(g, GLINT_OK);
    cr_expect_eq(out->last[0].bytes_total, size);
    cr_expect(out->action_ended);
}

Test(progress, stages_report_their_whole_input)
{
    for (const struct fixture *w = fixtures; w->name != NULL; w++) {
        struct fixture several = *w;
        struct reports r;
        several.partitions = 3;
        several.split_bytes = 1000;
        run_distinct(&several, 1000, &r);
        const struct progress *maps = &r.last[0], *reduces = &r.last[1];
        cr_expect(maps->stage_ended && maps->tasks > 3 && maps->tasks_done == maps->tasks);
        cr_expect_eq(maps->rows_read, 1000, "%s", w->name);
        cr_expect_eq(maps->bytes_read, maps->bytes_total, "%s", w->name);
        cr_expect(reduces->stage_ended && reduces->tasks == 3);
        cr_expect_eq(reduces->rows_read, 0);
        cr_expect_gt(reduces->bytes_total, 0, "%s", w->name);
        cr_expect_eq(reduces->bytes_read, reduces->bytes_total, "%s", w->name);
    }
}

/* Sizes of map outputs are not kept for one reduce task. */
Test(progress, unknown_sizes_are_zero)
{
    struct fixture one = fixtures[1];
    struct reports r;
    one.partitions = 1;
    run_distinct(&one, 50, &r);
    cr_expect_eq(r.last[0].bytes_read, r.last[0].bytes_total);
    cr_expect_eq(r.last[1].bytes_total, 0);
    cr_expect_eq(r.last[1].bytes_read, 0);
}
