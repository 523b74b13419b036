/* The store: stages and broadcasts are found until they are removed, inputs are in map order, and
 * what is missing or malformed is an error. */
#include "engine/driver/driver.h"
#include "engine/executor/store.h"
#include "tests/support/local.h"

#include <criterion/criterion.h>

static struct glint_error error;
static struct context_config config;
static int64_t live;

static void begin(void)
{
    live = mem_live_blocks();
    error.code = GLINT_OK;
    config = local_config(1, false);
}

static void end(void)
{
    cr_expect_eq(mem_live_blocks(), live);
}

TestSuite(store, .init = begin, .fini = end);

static struct message *message(enum message_type type, uint32_t stage, uint64_t id,
                               const char *body, uint64_t size)
{
    struct message *m = message_create(type);
    cr_assert_not_null(m);
    m->stage = stage;
    m->id = id;
    cr_assert(buffer_append(&m->body, body, size));
    return m;
}

Test(store, broadcasts_are_found_by_id)
{
    struct store *s = store_create();
    struct glint_slice value;
    cr_expect_eq(store_add_message(s, message(MSG_BROADCAST, 0, 7, "seven", 5), &config, &error),
                 0);
    cr_expect_eq(store_add_message(s, message(MSG_BROADCAST, 0, 8, "", 0), &config, &error), 0);
    void *seven = store_acquire_bytes(s, STORED_BROADCAST, 7, &value), *eight;
    cr_assert_not_null(seven);
    store_remove(s, STORED_BROADCAST, 7); /* it is freed with the last reference */
    cr_expect(value.size == 5 && memcmp(value.data, "seven", 5) == 0);
    store_release(s, seven);
    cr_expect_null(store_acquire_bytes(s, STORED_BROADCAST, 7, &value));
    eight = store_acquire_bytes(s, STORED_BROADCAST, 8, &value);
    cr_expect(eight != NULL && value.size == 0);
    store_release(s, eight);
    store_remove(s, STORED_BROADCAST, 8);
    store_remove(s, STORED_BROADCAST, 8);
    cr_expect_null(store_acquire_bytes(s, STORED_BROADCAST, 8, &value));
    store_destroy(s);
    store_destroy(NULL);
}

/* As in local mode, where the driver keeps the bytes. */
Test(store, borrowed_bytes_of_a_broadcast_are_not_freed)
{
    static uint8_t bytes[] = "seven";
    struct store *s = store_create();
    struct glint_slice value;
    struct message *m = message(MSG_BROADCAST, 0, 7, "", 0);
    m->body = (struct buffer){bytes, 5, 5};
    m->body_borrowed = true;
    cr_assert_eq(store_add_message(s, m, &config, &error), 0);
    void *ref = store_acquire_bytes(s, STORED_BROADCAST, 7, &value);
    cr_expect(ref != NULL && value.data == bytes && value.size == 5);
    store_release(s, ref);
    store_remove(s, STORED_BROADCAST, 7);
    cr_expect_str_eq((const char *)bytes, "seven");
    store_destroy(s);
}

static struct message *stage_message(uint32_t stage)
{
    struct message *m = message(MSG_STAGE, stage, 0, "", 0);
    struct stage_plan plan;
    struct glint *g = context_create(&config, &error);
    cr_assert_not_null(g);
    struct glint_rdd *counts = local_counts(glint_map(local_numbers(g, 10, 2), FN_MAP, NULL));
    cr_assert(counts->op->kind == OP_WIDE && rdd_partition_count(counts) > 0);
    cr_assert_eq(stage_plan_create(&plan, NULL, counts), 0);
    cr_assert_eq(stage_plan_encode(&plan, &m->body, &error), 0);
    stage_plan_fini(&plan);
    glint_finish(g);
    glint_destroy(g);
    return m;
}

/* The driver releases a stage without waiting for superseded attempts. */
Test(store, removed_stage_lives_until_released)
{
    struct store *s = store_create();
    cr_assert_eq(store_add_message(s, stage_message(4), &config, &error), 0);
    const struct stage_plan *one = store_acquire_stage(s, 4, &error);
    const struct stage_plan *two = store_acquire_stage(s, 4, &error);
    cr_assert(one != NULL && one == two && one == store_find_stage(s, 4));
    store_release(s, one);
    store_remove(s, STORED_STAGE, 4);
    cr_expect_null(store_find_stage(s, 4));
    cr_expect_null(store_acquire_stage(s, 4, &error));
    cr_expect(error.code == GLINT_E_PROTOCOL && strstr(error.cause, "stage 4 not found") != NULL);
    error.code = GLINT_OK;
    cr_expect_str_eq(two->nodes[two->node_count - 1].op->name, "reduceByKey");
    store_release(s, two);
    cr_assert_eq(store_add_message(s, stage_message(5), &config, &error), 0);
    store_release(s, store_acquire_stage(s, 5, &error));
    cr_expect_not_null(store_find_stage(s, 5));
    store_destroy(s);
}

Test(store, error_of_a_plan_is_kept_for_its_tasks)
{
    struct store *s = store_create();
    static const struct glint_module *const none[] = {NULL};
    struct message *m = stage_message(6);
    struct glint_error why = {.code = GLINT_OK};
    config.modules = none;
    cr_expect_eq(store_add_message(s, m, &config, &error), GLINT_E_PLAN_FUNCTION);
    cr_expect_null(store_find_stage(s, 6));
    for (int task = 0; task < 2; task++) {
        why = (struct glint_error){.code = GLINT_OK};
        cr_expect_null(store_acquire_stage(s, 6, &why));
        cr_expect_eq(why.code, GLINT_E_PLAN_FUNCTION);
        cr_expect_str_eq(why.cause, error.cause);
        cr_expect_str_eq(why.hint, error.hint);
    }
    store_remove_attempt_output(s, 6, 0, 0);
    store_remove(s, STORED_STAGE, 6);
    why = (struct glint_error){.code = GLINT_OK};
    cr_expect_null(store_acquire_stage(s, 6, &why));
    cr_expect_eq(why.code, GLINT_E_PROTOCOL);
    error.code = GLINT_OK;
    cr_assert_eq(store_add_message(s, message(MSG_BROADCAST, 0, 7, "seven", 5), &config, &error),
                 0);
    store_destroy(s);
}

Test(store, malformed_stages_and_outputs_are_rejected)
{
    struct store *s = store_create();
    cr_expect_eq(store_add_message(s, message(MSG_STAGE, 1, 0, "\x90", 1), &config, &error),
                 GLINT_E_PROTOCOL);
    cr_expect_null(store_find_stage(s, 1));
    error.code = GLINT_OK;
    cr_expect_eq(store_add_message(s, message(MSG_MAP_OUTPUTS, 0, 3, "\xc0", 1), &config, &error),
                 GLINT_E_PROTOCOL);
    store_remove(s, STORED_STAGE, 1);
    store_destroy(s);
}

static void outputs_are(struct store *s, const char *body, uint64_t size)
{
    cr_assert_eq(store_add_message(s, message(MSG_MAP_OUTPUTS, 0, 3, body, size), &config, &error),
                 0);
}

static void add_output(struct store *s, uint32_t map, uint32_t attempt)
{
    struct run run = {.partitions = 2, .parts = mem_zalloc(2 * sizeof(struct run_part))};
    run.parts[0].records = map + 1;
    run.records = map + 1;
    cr_assert_eq(store_add_map_output(s, 3, map, attempt, &run), 0);
    cr_expect_null(run.parts); /* ownership was taken */
}

Test(store, inputs_follow_the_latest_map_outputs)
{
    struct store *s = store_create();
    struct arena arena = {NULL, NULL, 0};
    struct fetch_input *inputs, *older;
    uint32_t count, older_count;
    for (uint32_t map = 0; map < 3; map++) add_output(s, map, map == 1 ? 2 : 0);
    cr_expect_eq(store_acquire_inputs(s, 3, 5, &arena, &inputs, &count, &error), GLINT_E_PROTOCOL);
    error.code = GLINT_OK;
    outputs_are(s, "\x96\x05\x00\x05\x02\x04\x00", 7); /* the third is at executor 4 */
    cr_expect_eq(store_acquire_inputs(s, 3, 5, &arena, &older, &older_count, &error), 0);
    cr_assert_eq(older_count, 3);
    for (uint32_t i = 0; i < 3; i++) {
        cr_expect_eq(older[i].map, i);
        cr_expect_eq(older[i].executor, i == 2 ? 4 : 5);
        cr_expect_eq(older[i].attempt, i == 1 ? 2 : 0);
        cr_expect_eq(older[i].local != NULL, i != 2);
    }
    /* A later MAP_OUTPUTS replaces the locations and removes outputs of older attempts, except for
     * readers that hold a reference. */
    outputs_are(s, "\x96\x05\x01\x05\x02\x05\x00", 7);
    cr_expect_eq(store_acquire_inputs(s, 3, 5, &arena, &inputs, &count, &error), 0);
    cr_assert_eq(count, 3);
    cr_expect_null(inputs[0].local);
    cr_expect_eq(inputs[1].local, older[1].local);
    cr_assert_not_null(inputs[2].local);
    cr_expect_eq(inputs[2].local->parts[0].records, 3);
    cr_expect_null(store_acquire_map_output(s, 3, 0, 0));
    cr_expect_eq(older[0].local->parts[0].records, 1);
    store_release_inputs(s, older, older_count);
    store_release_inputs(s, inputs, count);
    arena_fini(&arena);
    store_destroy(s);
}

Test(store, outputs_live_until_released)
{
    struct store *s = store_create();
    add_output(s, 7, 1);
    const struct run *a = store_acquire_map_output(s, 3, 7, 1),
                     *b = store_acquire_map_output(s, 3, 7, 1);
    cr_assert(a != NULL && a == b);
    cr_expect_null(store_acquire_map_output(s, 3, 7, 0));
    cr_expect_null(store_acquire_map_output(s, 4, 7, 1));
    store_release(s, a);
    /* The stage is not in the store, so its shuffle is unknown and nothing is removed. */
    store_remove_attempt_output(s, 1, 7, 1);
    cr_expect_eq(store_acquire_map_output(s, 3, 7, 1), b);
    store_release(s, b);
    store_release(s, b);
    store_destroy(s);
}

Test(store, results_live_until_released)
{
    struct store *s = store_create();
    struct buffer bytes = {NULL, 0, 0};
    struct glint_slice found;
    void *held, *again;
    cr_assert(buffer_append(&bytes, "result", 6));
    uint64_t id = store_add_result(s, &bytes);
    cr_assert(id != 0 && bytes.data == NULL);
    held = store_acquire_bytes(s, STORED_RESULT, id, &found);
    again = store_acquire_bytes(s, STORED_RESULT, id, &found);
    cr_assert(held != NULL && held == again);
    cr_expect_null(store_acquire_bytes(s, STORED_RESULT, id + 1, &found));
    cr_expect_null(store_acquire_bytes(s, STORED_BROADCAST, id, &found));
    store_remove(s, STORED_RESULT, id);
    store_remove(s, STORED_RESULT, id);
    cr_expect_null(store_acquire_bytes(s, STORED_RESULT, id, &found));
    cr_expect(found.size == 6 && memcmp(found.data, "result", 6) == 0);
    store_release(s, held);
    store_release(s, held);
    cr_assert(buffer_append(&bytes, "other", 5));
    uint64_t other = store_add_result(s, &bytes);
    cr_expect(other != 0 && other != id);
    store_destroy(s);
}
