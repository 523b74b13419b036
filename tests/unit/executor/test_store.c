/* What an executor keeps: stages and values are found until they are forgotten, inputs stand in map
 * order, and what is missing or damaged is an error. */
#include "engine/executor/store.h"
#include "tests/support/local.h"

#include <criterion/criterion.h>

static struct glint_error error;
static struct glint_config config;
static int64_t live;

static void begin(void)
{
    live = mem_live();
    error.code = GLINT_OK;
    config = local_config(1, false);
}

static void end(void)
{
    cr_expect_eq(mem_live(), live);
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

Test(store, values)
{
    struct store *s = store_create();
    struct glint_slice value;
    cr_expect_eq(store_keep(s, message(MSG_BROADCAST, 0, 7, "seven", 5), &config, &error), 0);
    cr_expect_eq(store_keep(s, message(MSG_BROADCAST, 0, 8, "", 0), &config, &error), 0);
    cr_expect_eq(store_broadcast(s, 7, &value), 0);
    cr_expect(value.size == 5 && memcmp(value.data, "seven", 5) == 0);
    cr_expect(store_broadcast(s, 8, &value) == 0 && value.size == 0);
    cr_expect_lt(store_broadcast(s, 9, &value), 0);
    store_destroy(s);
    store_destroy(NULL);
}

Test(store, damaged_stages_and_outputs)
{
    struct store *s = store_create();
    cr_expect_eq(store_keep(s, message(MSG_STAGE, 1, 0, "\x90", 1), &config, &error),
                 GLINT_E_PROTOCOL);
    cr_expect_null(store_stage(s, 1));
    error.code = GLINT_OK;
    cr_expect_eq(store_keep(s, message(MSG_OUTPUTS, 0, 3, "\xc0", 1), &config, &error),
                 GLINT_E_PROTOCOL);
    store_forget_stage(s, 1);
    store_destroy(s);
}

Test(store, inputs_are_those_that_the_driver_names)
{
    struct store *s = store_create();
    struct arena arena = {NULL, NULL, 0};
    struct run_slice *inputs;
    uint32_t count;
    for (uint32_t map = 0; map < 3; map++) {
        struct run run = {.partitions = 2, .parts = mem_zalloc(2 * sizeof(struct run_part))};
        run.parts[0].records = map + 1; /* partition 1 is empty */
        run.records = map + 1;
        cr_assert_eq(store_add_output(s, 3, map, map == 1 ? 2 : 0, &run), 0);
        cr_expect_null(run.parts); /* taken */
    }
    cr_expect_eq(store_inputs(s, 3, 0, &arena, &inputs, &count, &error), GLINT_E_PROTOCOL);
    error.code = GLINT_OK;
    cr_assert_eq(store_keep(s, message(MSG_OUTPUTS, 0, 3, "\x96\x00\x00\x00\x02\x00\x00", 7), &config, &error),
                 0);
    cr_expect_eq(store_inputs(s, 3, 0, &arena, &inputs, &count, &error), 0);
    cr_assert_eq(count, 3);
    for (uint32_t i = 0; i < count; i++) cr_expect_eq(inputs[i].part.records, i + 1);
    cr_expect_eq(store_inputs(s, 3, 1, &arena, &inputs, &count, &error), 0);
    cr_expect_eq(count, 0);
    cr_expect_eq(store_inputs(s, 3, 2, &arena, &inputs, &count, &error), GLINT_E_RUN_CORRUPT);
    error.code = GLINT_OK; /* another attempt than the one that is here; the later message counts */
    cr_assert_eq(store_keep(s, message(MSG_OUTPUTS, 0, 3, "\x96\x00\x00\x00\x01\x00\x00", 7), &config, &error),
                 0);
    cr_expect_eq(store_inputs(s, 3, 0, &arena, &inputs, &count, &error), GLINT_E_RUN_CORRUPT);
    arena_fini(&arena);
    store_destroy(s);
}
