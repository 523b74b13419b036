/* Tables with every edge case of every type, and their msgpack encoding by msgpack-c: the oracle of
 * saveAsMsgpackFile and msgpackFile. */
#ifndef TESTS_UNIT_OPS_MSGPACK_TABLES_H
#define TESTS_UNIT_OPS_MSGPACK_TABLES_H

#include "tests/unit/ops/harness.h"

/* `count` rows; the first ones are the edge cases. */
struct table awkward_table(struct glint_schema schema, uint32_t count);
/* Encodes the rows [first, end) as saveAsMsgpackFile should write them. The caller calls
 * buffer_fini. */
struct buffer table_pack(const struct table *t, uint64_t first, uint64_t end);

#endif
