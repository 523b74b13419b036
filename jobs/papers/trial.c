/* Counts, builds and tests with the pipelines of count-keys, bloom-build and bloom-test; the
 * results are returned to the driver instead of being saved. */
#include "jobs/papers/trial.h"

#include "jobs/filters/bloom_functions.h"
#include "jobs/filters/bloom_pipeline.h"
#include "jobs/filters/sizes_from.h"
#include "jobs/rows/row_counts.h"
#include "jobs/rows/task_results.h"

#include <assert.h>
#include <string.h>

int trial_count_keys(struct trial *t, struct glint_rdd *train)
{
    struct glint_args *columns = glint_args(t->g);
    fields_args(columns, &t->fields);
    bool text = fields_key_type(&t->fields) == GLINT_TEXT;
    struct glint_rdd *ones = glint_map(train, text ? &count_text : &count_number, columns);
    struct glint_rdd *counts = glint_reduce_by_key(ones, &GLINT_SUM_I64, NULL);
    int r = sizes_from_counts(counts, text, &t->sizes);
    if (r != 0) return r;
    assert(t->keys == NULL && t->sizes.count > 0);
    t->keys = glint_alloc(t->g, sizeof *t->keys * t->sizes.count);
    return t->keys != NULL ? 0 : glint_error(t->g)->code;
}

static int collect_trial_tally(void *arg, const struct glint_record *record)
{
    struct trial *t = arg;
    struct bloom_tally tally;
    uint32_t number = sizes_find_key(&t->sizes, &record->key);
    if (number == SIZES_NONE || record->value.bytes.size != sizeof tally)
        return task_result_fail(t->g, "an invalid tally");
    memcpy(&tally, record->value.bytes.data, sizeof tally);
    if (tally.hits > tally.rows) return task_result_fail(t->g, "more hits than rows");
    t->keys[number].hits = tally.hits;
    t->keys[number].rows = tally.rows;
    return 0;
}

static struct glint_rdd *training_filter_pipeline(const struct trial *t, struct glint_rdd *train)
{
    enum bloom_method method = bloom_method_choose(t->g, &t->sizes, glint_partitions(train));
    return bloom_pipeline(train, &t->sizes, method, &t->fields);
}

/* Broadcasts the filters, and stores what their bits predict in the keys. */
static struct glint_broadcast *build_and_broadcast_filters(struct trial *t, struct glint_rdd *train)
{
    const uint32_t count = t->sizes.count;
    uint64_t *bits_set = glint_alloc(t->g, sizeof *bits_set * count);
    double *rate = glint_alloc(t->g, sizeof *rate * count);
    struct glint_broadcast *filters = NULL;
    if (bits_set != NULL && rate != NULL) {
        memset(bits_set, 0, sizeof *bits_set * count);
        memset(rate, 0, sizeof *rate * count);
        filters = filters_broadcast(training_filter_pipeline(t, train), &t->sizes, "the filters",
                                    bits_set, rate);
    }
    for (uint32_t i = 0; filters != NULL && i < count; i++)
        t->keys[i] = (struct trial_key){.bits_set = bits_set[i], .rate_from_bits = rate[i]};
    glint_free(bits_set);
    glint_free(rate);
    return filters;
}

int trial_run(struct trial *t, const struct bloom_sizing *sizing, struct glint_rdd *train,
              struct glint_rdd *test)
{
    assert(t->keys != NULL);
    if (sizes_compute_params(t->g, &t->sizes, sizing) != 0) return glint_error(t->g)->code;
    struct glint_broadcast *filters = build_and_broadcast_filters(t, train);
    if (filters == NULL) return glint_error(t->g)->code;
    const uint64_t before = (uint64_t)glint_counter_value(t->g, "no filter");
    struct glint_args *args = glint_args(t->g);
    fields_args(args, &t->fields);
    glint_args_add_broadcast(args, "sizes", sizes_broadcast(t->g, &t->sizes));
    glint_args_add_broadcast(args, "filters", filters);
    const struct glint_function *look_up = t->sizes.text ? &bloom_test_text : &bloom_test_rating;
    struct glint_rdd *hits = glint_map_partitions(test, look_up, args);
    struct glint_rdd *sums = glint_reduce_by_key(hits, &bloom_add_tallies, NULL);
    int r = glint_collect_each(sums, collect_trial_tally, t);
    t->no_filter = (uint64_t)glint_counter_value(t->g, "no filter") - before;
    return r != 0 ? r : glint_error(t->g)->code;
}

void trial_fini(struct trial *t)
{
    sizes_fini(&t->sizes);
    glint_free(t->keys);
    t->keys = NULL;
}
