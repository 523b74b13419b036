/* One copy of each row of such a file; rows of all other files pass as they are. */
#include "ops/mapped_rows.h"

#include "engine/input/column_map.h"
#include "engine/input/split.h"
#include "engine/records/task.h"

#include <assert.h>

bool mapped_rows_needed(const struct split *split)
{
    for (uint32_t i = 0; i < split->count; i++)
        if (split->pieces[i].columns != NULL) return true;
    return false;
}

static bool reserve_field_starts(struct mapped_rows *c, uint64_t count)
{
    if (count <= c->starts_count) return true;
    mem_free(c->starts);
    c->starts = mem_alloc(count * sizeof *c->starts);
    c->starts_count = c->starts != NULL ? count : 0;
    return c->starts != NULL;
}

static enum flow map_row_columns(struct mapped_rows *c, const struct column_map *map,
                                 struct glint_slice row)
{
    struct row_batch *out = &c->out;
    /* A blank line is no row with too few fields: what it is, readers of columns decide. */
    const bool blank = row.size == 0 && map->fields > 1;
    const uint64_t size = blank ? 0 : column_map_measure(map, row, c->starts);
    if (size == UINT64_MAX)
        return glint_bad_row(out->task, row, "fewer fields than the header") < 0 ? FLOW_FAIL
                                                                                 : FLOW_MORE;
    const enum flow flow = row_batch_reserve(out, size);
    if (flow != FLOW_MORE) return flow;
    if (!blank) column_map_write(map, row, c->starts, out->bytes + out->used);
    row_batch_add(out, row, size);
    return FLOW_MORE;
}

enum flow mapped_rows_push(void *arg, const struct glint_batch *lines)
{
    struct mapped_rows *c = arg;
    assert(lines->origin != NULL && lines->origin->piece != NULL);
    const struct column_map *map = lines->origin->piece->columns;
    enum flow flow = FLOW_MORE;
    if (map == NULL) return c->out.push(c->out.arg, lines);
    if (!reserve_field_starts(c, (uint64_t)map->fields + 1)) {
        error_no_memory(&c->out.task->error);
        return FLOW_FAIL;
    }
    c->out.in = lines;
    c->out.task->origin = lines->origin;
    for (uint32_t i = 0; flow == FLOW_MORE && i < lines->rows; i++)
        flow = map_row_columns(c, map, glint_column_slice(&lines->value, i));
    return flow == FLOW_MORE ? row_batch_flush(&c->out) : flow;
}

void mapped_rows_close(struct mapped_rows *c)
{
    mem_free(c->out.bytes);
    mem_free(c->starts);
}
