/* textFile: lines of files, folders and globs. */
#include "ops/ops.h"

extern const struct op op_text_file;

struct glint_rdd *glint_text_file(struct glint *g, const char *paths)
{
    return text_source(g, &op_text_file, paths, (struct glint_shape){GLINT_NONE, GLINT_TEXT}, NULL,
                       text_source_cut);
}

const struct op op_text_file = {.name = "textFile",
                                .kind = OP_SOURCE,
                                .state_size = sizeof(struct lines_state),
                                .open = text_source_open,
                                .run = text_source_run_lines};
