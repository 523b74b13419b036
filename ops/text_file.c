/* textFile: lines of files, directories and globs. */
#include "ops/ops.h"

extern const struct op op_text_file;

struct glint_rdd *glint_text_file(struct glint *g, const char *paths)
{
    const struct file_source source = {.op = &op_text_file,
                                       .schema = {GLINT_NONE, GLINT_TEXT},
                                       .make_splits = text_source_make_splits};
    return file_source_create(g, paths, &source);
}

const struct op op_text_file = {.name = "textFile",
                                .kind = OP_SOURCE,
                                .state_size = sizeof(struct text_source_state),
                                .open = text_source_open,
                                .run = text_source_emit_lines};
