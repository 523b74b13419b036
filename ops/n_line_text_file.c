/* nLineTextFile: like textFile, but each partition has a fixed number of lines, counted per
 * file. */
#include "engine/input/split.h"
#include "engine/records/pack.h"
#include "ops/ops.h"

#include <assert.h>

static int n_line_make_splits(struct glint_rdd *rdd, uint64_t split_bytes)
{
    /* Counting lines would read the whole input: explain estimates the splits by bytes instead. */
    rdd->estimated = rdd_is_explain_only(rdd);
    if (rdd->estimated) return text_source_make_splits(rdd, split_bytes);
    struct splits splits = {NULL, 0, {NULL, NULL, 0}};
    struct unpacker u = unpack_begin(rdd->params);
    const uint64_t lines = unpack_u64(&u, UINT64_MAX);
    assert(lines > 0);
    int r = text_source_match_columns(rdd);
    if (r == 0 && ((const struct input_list *)rdd->source)->has_columns)
        rdd_fail(rdd, GLINT_E_PLAN_ARGUMENT, "files of columns have no lines to count");
    if (r == 0) r = rdd->g->error.code;
    if (r == 0)
        r = splits_make_by_lines(rdd->g->config.env, rdd->source, lines, &splits, &rdd->g->error);
    if (r == 0) r = text_source_add_splits(rdd, &splits);
    splits_fini(&splits);
    return r;
}

struct glint_rdd *glint_n_line_text_file(struct glint *g, const char *paths, uint64_t lines)
{
    if (lines == 0) {
        error_set(&g->error, GLINT_E_BAD_VALUE, NULL, "nLineTextFile: partitions of 0 lines");
        return NULL;
    }
    const struct file_source source = {.op = &op_n_line_text_file,
                                       .schema = {GLINT_NONE, GLINT_TEXT},
                                       .parameter = &lines,
                                       .make_splits = n_line_make_splits};
    return file_source_create(g, paths, &source);
}

const struct op op_n_line_text_file = {.name = "nLineTextFile",
                                       .kind = OP_SOURCE,
                                       .state_size = sizeof(struct text_source_state),
                                       .open = text_source_open,
                                       .run = text_source_emit_lines};
