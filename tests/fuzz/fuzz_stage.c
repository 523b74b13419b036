/* Arbitrary bytes as an encoded stage: either rejected, or encoded to a stage of the same size. */
#include "engine/plan/context_config.h"
#include "engine/plan/stage_plan.h"

#include <assert.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct op op_src = {.name = "src", .kind = OP_SOURCE};
static const struct op op_nar = {.name = "nar", .kind = OP_NARROW};
static const struct op op_wid = {.name = "wid", .kind = OP_WIDE};
static const struct op op_uni = {.name = "uni", .kind = OP_UNION};
static const struct op op_coa = {.name = "coa", .kind = OP_COALESCE};
static const struct op op_zip = {.name = "zip", .kind = OP_ZIP};
static const struct op op_car = {.name = "car", .kind = OP_CARTESIAN};
static const struct op op_act = {.name = "act", .kind = OP_ACTION};
static const struct op *const ops[] = {&op_src, &op_nar, &op_wid, &op_uni, &op_coa,
                                       &op_zip, &op_car, &op_act, NULL};

static const struct glint_function function = {.name = "t.map_text", .kind = GLINT_KIND_MAP};
static int64_t first_partition(struct glint_task *task, void *state, const union glint_value *key,
                               uint32_t partitions)
{
    (void)task, (void)state, (void)key, (void)partitions;
    return 0;
}
static const struct glint_function partitioner =
    GLINT_PARTITION("t.part_any", GLINT_ANY, first_partition);
static const struct glint_function *const functions[] = {&function, &partitioner, NULL};
static const struct glint_module module = {"t", functions};
static const struct glint_module *const modules[] = {&module, NULL};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct context_config registry = {.ops = ops, .modules = modules};
    struct glint_error error = {.code = GLINT_OK};
    struct stage_plan s, back;
    int r = stage_plan_decode(&s, (struct glint_slice){data, size}, &registry, &error);
    assert(r == error.code);
    if (r == 0) {
        struct buffer again = {NULL, 0, 0};
        assert(s.node_count >= 2 && stage_plan_task_count(&s) <= PARTITIONS_MAX);
        r = stage_plan_encode(&s, &again, &error);
        assert(r == 0);
        r = stage_plan_decode(&back, (struct glint_slice){again.data, again.size}, &registry,
                              &error);
        assert(r == 0 && back.node_count == s.node_count);
        stage_plan_fini(&back);
        stage_plan_fini(&s);
        buffer_fini(&again);
    }
    assert(mem_live_blocks() == 0);
    return 0;
}
