/* See fixture.h: operators without code, functions of every type, and one-line helpers to build
 * plans. */
#include "tests/unit/plan/fixture.h"

#include "engine/base/text.h"
#include "engine/plan/context_config.h"

#include <string.h>

const struct op op_src = {.name = "src", .kind = OP_SOURCE};
const struct op op_nar = {.name = "nar", .kind = OP_NARROW};
const struct op op_fun = {.name = "fun", .kind = OP_NARROW, .function_kinds = 1u << GLINT_KIND_MAP};
const struct op op_red = {
    .name = "red", .kind = OP_NARROW, .function_kinds = 1u << GLINT_KIND_REDUCE};
const struct op op_wid = {.name = "wid", .kind = OP_WIDE};
const struct op op_uni = {.name = "uni", .kind = OP_UNION};
const struct op op_coa = {.name = "coa", .kind = OP_COALESCE};
const struct op op_act = {.name = "act", .kind = OP_ACTION};

static int each(struct glint_task *task, void *state, const struct glint_record *in,
                struct glint_emitter *out)
{
    (void)task;
    (void)state;
    glint_emit(out, in);
    return 0;
}

static const struct glint_function map_text = {.name = "t.map_text",
                                               .kind = GLINT_KIND_MAP,
                                               .in = {GLINT_NONE, GLINT_TEXT},
                                               .out = {GLINT_I64, GLINT_SAME},
                                               .each = each};
static const struct glint_function map_bytes = {.name = "t.map_bytes",
                                                .kind = GLINT_KIND_MAP,
                                                .in = {GLINT_ANY, GLINT_BYTES},
                                                .out = {GLINT_SAME, GLINT_F64},
                                                .each = each};
static const struct glint_function map_number = {.name = "t.map_number",
                                                 .kind = GLINT_KIND_MAP,
                                                 .in = {GLINT_ANY, GLINT_I64},
                                                 .out = {GLINT_SAME, GLINT_SAME},
                                                 .each = each};
static const struct glint_function hollow = {.name = "t.hollow",
                                             .kind = GLINT_KIND_MAP,
                                             .in = {GLINT_ANY, GLINT_ANY},
                                             .out = {GLINT_SAME, GLINT_SAME}};

static int64_t first_partition(struct glint_task *task, void *state, const union glint_value *key,
                               uint32_t partitions)
{
    (void)task, (void)state, (void)key, (void)partitions;
    return 0;
}

static const struct glint_function part_any =
    GLINT_PARTITION("t.part_any", GLINT_ANY, first_partition);
static const struct glint_function hollow_part = {.name = "t.hollow_part",
                                                  .kind = GLINT_KIND_PARTITION};
static const struct glint_function part_number =
    GLINT_PARTITION("t.part_number", GLINT_I64, first_partition);

static const struct glint_function *const functions[] = {
    &map_text, &map_bytes, &map_number, &hollow, &part_any, &hollow_part, &part_number, NULL};
static const struct glint_module module = {"t", functions};
static const struct glint_module *const modules[] = {&module, NULL};
static const struct op *const ops[] = {&op_src, &op_nar, &op_fun, &op_red, &op_wid,
                                       &op_uni, &op_coa, &op_act, NULL};

const struct context_config plan_config = {.slots = 1, .ops = ops, .modules = modules};

void plan_open(struct glint *g)
{
    context_init(g, &plan_config);
}

struct glint_rdd *plan_source(struct glint *g, uint32_t splits)
{
    struct rdd_spec spec = {.op = &op_src, .schema = {GLINT_NONE, GLINT_TEXT}};
    struct glint_rdd *rdd = rdd_create(g, &spec);
    for (uint32_t i = 0; rdd != NULL && i < splits; i++) {
        char text[TEXT_NUMBER_MAX];
        size_t size = text_format_i64(text, i);
        rdd_add_split(rdd, (struct glint_slice){(const uint8_t *)text, size});
    }
    return rdd;
}

struct glint_rdd *plan_node(const struct op *op, struct glint_rdd *a, struct glint_rdd *b)
{
    if (a == NULL) return NULL;
    return rdd_create(a->g, &(struct rdd_spec){.op = op, .parents = {a, b}});
}

struct glint_rdd *plan_call(struct glint_rdd *rdd, const struct op *op, const char *function)
{
    static struct glint_function unknown;
    if (rdd == NULL) return NULL;
    struct rdd_spec spec = {.op = op,
                            .parents = {rdd, NULL},
                            .function = registry_find_function(&plan_config, function)};
    unknown.name = function;
    if (spec.function == NULL && function != NULL) spec.function = &unknown;
    return rdd_create(rdd->g, &spec);
}
