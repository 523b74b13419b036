/* Every job with 1, 2 and 8 slots, with and without encoded messages, writes the same bytes. A
 * plain program, for the thread sanitizer; splits are small, so that slots race. */
#include "engine/limits.h"
#include "engine/plan/context_config.h"
#include "tests/support/jobs.h"

#include <assert.h>
#include <stdio.h>

enum { ROWS = 20000, OUTPUTS_MAX = 2 };

static unsigned passed, failed;

/* Compares an output with `*expected`, which the first run sets. */
static void compare(const char *job, const char *output, uint32_t slots, struct output *expected)
{
    struct output found = output_read(output);
    if (expected->data == NULL) {
        *expected = found;
        return;
    }
    if (output_same(&found, expected)) {
        passed++;
    } else {
        failed++;
        fprintf(stderr, "%s with %u slots: %s differs\n", job, slots, output);
    }
    output_free(&found);
}

static void run_shapes(const char *const *words, const char *const *outputs)
{
    static const uint32_t slots[] = {1, 2, 8};
    struct output expected[OUTPUTS_MAX] = {{NULL, 0}};
    for (unsigned run = 0; run < 6; run++) {
        struct context_config config = {.slots = slots[run % 3],
                                        .bad_rows_max = -1,
                                        .overwrite = true,
                                        .split_bytes = 20 * KIB,
                                        .partitions = 3,
                                        .encode_messages = run >= 3};
        struct glint_error error;
        if (test_job_once(&config, words, &error) != GLINT_OK) {
            failed++;
            fprintf(stderr, "%s with %u slots: %s\n", words[0], config.slots, error.cause);
            continue;
        }
        for (unsigned i = 0; i < OUTPUTS_MAX && outputs[i] != NULL; i++)
            compare(words[0], outputs[i], config.slots, &expected[i]);
    }
    for (unsigned i = 0; i < OUTPUTS_MAX; i++) output_free(&expected[i]);
}

int main(void)
{
    static const struct {
        const char *words[10], *outputs[OUTPUTS_MAX];
    } jobs[] = {
        {{"count-keys", "in.tsv", "counts"}, {"counts"}},
        {{"split-dataset", "in.tsv", "train", "test"}, {"train", "test"}},
        {{"bloom-build", "--strategy", "indexes", "0.01", "in.tsv", "counts", "filters"},
         {"filters"}},
        {{"bloom-build", "--strategy", "partials", "0.01", "in.tsv", "counts", "filters"},
         {"filters"}},
        {{"bloom-test", "0.01", "in.tsv", "filters", "counts", "tested"}, {"tested"}},
    };
    scratch_open();
    scratch_ratings("in.tsv", ROWS);
    for (size_t i = 0; i < sizeof jobs / sizeof jobs[0]; i++)
        run_shapes(jobs[i].words, jobs[i].outputs);
    assert(scratch_files_left() == 0);
    scratch_close();
    printf("%u passed, %u failed\n", passed, failed);
    return failed > 0;
}
