/* Tables with every awkward cell of every type, and their msgpack form by msgpack-c: the oracle of
 * saveAsMsgpackFile and of msgpackFile. */
#ifndef TESTS_UNIT_OPS_MSGPACK_TABLES_H
#define TESTS_UNIT_OPS_MSGPACK_TABLES_H

#include "tests/unit/ops/harness.h"

/* `count` rows; every awkward cell comes early. */
struct table awkward_table(struct glint_schema schema, uint32_t count);
/* Rows [first, end) as saveAsMsgpackFile should write them. The caller's to buffer_fini. */
struct buffer table_pack(const struct table *t, uint64_t first, uint64_t end);

#endif
