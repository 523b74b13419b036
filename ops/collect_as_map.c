/* collectAsMap: collect, sorted by key; only the last value of each key is kept. */
#include "ops/ops.h"

#include <assert.h>

static bool rows_have_same_key(const struct glint_rows *rows, uint64_t i, uint64_t k)
{
    struct glint_record a = glint_rows_at(rows, i), b = glint_rows_at(rows, k);
    return record_compare((struct glint_schema){rows->schema.key, GLINT_NONE}, &a, &b) == 0;
}

int glint_collect_as_map(struct glint_rdd *rdd, struct glint_rows *out)
{
    *out = (struct glint_rows){.count = 0};
    if (rdd == NULL) return rdd_null_error("collectAsMap");
    if (!rdd_is_pair(rdd)) rdd_fail(rdd, GLINT_E_PLAN_TYPE, "collectAsMap needs keys");
    int r = glint_collect(rdd, out);
    if (r == 0) r = result_rows_sort(rdd->g, out);
    if (r != 0) {
        glint_rows_free(out);
        return r;
    }
    uint64_t kept = 0;
    for (uint64_t i = 0; i < out->count; i++) {
        /* The sort is stable, so the last of equal keys is the last in order of the partitions. */
        if (i + 1 < out->count && rows_have_same_key(out, i, i + 1)) continue;
        out->offsets[kept++] = out->offsets[i];
    }
    assert(kept <= out->count && (kept > 0) == (out->count > 0));
    out->count = kept;
    return 0;
}
