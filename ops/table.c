/* Tasks find operators by name: see OPS in ops.h. */
#include "ops/ops.h"

const struct op *const ops_table[] = {
#define LIST(name) &op_##name,
    OPS(LIST)
#undef LIST
        NULL};
