/* Compares the merge of any number of runs with a sort; equal keys are in order of the inputs. */
#include "engine/records/run.h"
#include "tests/support/test_task.h"

#include <criterion/criterion.h>

struct item {
    uint8_t key[12];
    uint64_t size;
    uint32_t input, index;
};

static bool item_descending;

static int item_compare(const void *a, const void *b)
{
    const struct item *x = a, *y = b;
    int c =
        codec_compare((struct glint_slice){x->key, x->size}, (struct glint_slice){y->key, y->size});
    if (item_descending) c = -c;
    if (c != 0) return c;
    if (x->input != y->input) return x->input < y->input ? -1 : 1;
    return x->index < y->index ? -1 : x->index > y->index;
}

/* Uses few different bytes and all sizes, so that prefixes, zeros and equal keys occur. */
static void make_items(struct item *items, uint32_t count, uint32_t inputs, uint64_t seed)
{
    for (uint32_t i = 0; i < count; i++) {
        items[i] = (struct item){.size = test_random(&seed) % 13, .index = i};
        for (uint64_t k = 0; k < items[i].size; k++)
            items[i].key[k] = (uint8_t)(test_random(&seed) % 5 == 0 ? 255 : 0);
        items[i].input = (uint32_t)(test_random(&seed) % inputs);
    }
}

static void write_input(struct glint_task *task, const struct item *sorted, uint32_t count,
                        uint32_t input, struct run *out)
{
    struct run_writer w;
    cr_assert_eq(run_writer_init(&w, task, 1, input % 2 == 0 ? 0 : MIB), 0);
    for (uint32_t i = 0; i < count; i++) {
        if (sorted[i].input != input) continue;
        struct glint_slice key = {sorted[i].key, sorted[i].size};
        struct glint_slice value = {(const uint8_t *)&sorted[i].index, sizeof sorted[i].index};
        cr_assert_eq(run_writer_add(&w, 0, key, value), 0);
    }
    cr_assert_eq(run_writer_finish(&w, out), 0);
}

static void merge_case(uint32_t count, uint32_t inputs, bool descending, struct merge *m)
{
    struct test_task t;
    test_task_init(&t, 64 * MIB);
    struct item *items = calloc(count + 1, sizeof *items);
    struct run runs[MERGE_FAN_IN_MAX];
    struct run_slice slices[MERGE_FAN_IN_MAX];
    make_items(items, count, inputs, count * 1000 + inputs);
    item_descending = descending;
    qsort(items, count, sizeof *items, item_compare);
    for (uint32_t k = 0; k < inputs; k++) {
        write_input(&t.task, items, count, k, &runs[k]);
        slices[k] = run_slice(&runs[k], 0);
    }
    cr_assert_eq(merge_open(m, &t.task, slices, inputs, descending), 0);
    for (uint32_t i = 0; i < count; i++) {
        cr_assert_eq(merge_next(m), 1);
        cr_assert_eq(m->input, items[i].input);
        cr_assert_eq(codec_compare(m->key, (struct glint_slice){items[i].key, items[i].size}), 0);
        struct glint_slice value;
        uint32_t index;
        if (i % 3 == 2) continue;
        cr_assert_eq(merge_value(m, &value), 0);
        cr_assert_eq(value.size, sizeof index);
        memcpy(&index, value.data, sizeof index);
        cr_assert_eq(index, items[i].index);
    }
    cr_assert_eq(merge_next(m), 0);
    for (uint32_t k = 0; k < inputs; k++) run_destroy(&runs[k]);
    free(items);
    cr_assert(test_task_fini(&t));
}

Test(merge, merged_runs_equal_sorted_input)
{
    static const uint32_t inputs[] = {1, 2, 3, 7, 64, 127, MERGE_FAN_IN_MAX};
    int64_t live = mem_live_blocks();
    struct merge m = {.readers = NULL};
    for (size_t k = 0; k < sizeof inputs / sizeof inputs[0]; k++) {
        for (int descending = 0; descending < 2; descending++) {
            merge_case(0, inputs[k], descending != 0, &m);
            merge_case(1, inputs[k], descending != 0, &m);
            merge_case(3000, inputs[k], descending != 0, &m);
        }
    }
    merge_close(&m);
    cr_assert_eq(mem_live_blocks(), live);
}
