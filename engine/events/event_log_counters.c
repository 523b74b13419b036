/* See event_log_counters.h. */
#include "engine/events/event_log_counters.h"

#include "engine/records/codec.h"
#include "engine/records/task.h"

/* Values that are neither numbers nor short texts are not logged. */
static void put_accumulator(struct json *j, const char *name, const struct glint_cell *cell)
{
    const union glint_value *v = &cell->value;
    if (cell->type == GLINT_I64)
        json_i64(j, name, v->i64);
    else if (cell->type == GLINT_F64)
        json_f64(j, name, v->f64);
    else if (cell->type == GLINT_TEXT && v->bytes.size <= ACCUMULATOR_TEXT_SHOWN_MAX)
        json_text(j, name, v->bytes.data, v->bytes.size);
}

static void put_task_accumulators(struct json *j, struct glint_slice counters)
{
    struct unpacker u = unpack_begin(counters);
    struct counter_entry e;
    json_begin(j, "accumulators", '{');
    while (u.next < u.count && counter_entry_unpack(&u, &e)) {
        struct glint_cell cell = {.type = e.type};
        if (e.is_accumulator && codec_decode(e.type, e.bytes, &cell.value))
            put_accumulator(j, e.name, &cell);
    }
    json_end(j, '}');
}

void event_log_put_task_counters(struct json *j, struct glint_slice counters)
{
    struct unpacker u = unpack_begin(counters);
    struct counter_entry e;
    bool has_accumulators = false;
    json_begin(j, "counters", '{');
    while (u.next < u.count && counter_entry_unpack(&u, &e)) {
        has_accumulators = has_accumulators || e.is_accumulator;
        if (!e.is_accumulator) json_i64(j, e.name, e.value);
    }
    json_end(j, '}');
    if (has_accumulators) put_task_accumulators(j, counters);
}

void event_log_put_accumulators(struct json *j, const struct glint_answer *list)
{
    if (list == NULL) return;
    json_begin(j, "accumulators", '{');
    for (const struct glint_answer *a = list; a != NULL; a = a->next)
        put_accumulator(j, a->name, &a->value);
    json_end(j, '}');
}

void event_log_put_job_counters(struct json *j, const struct glint_summary *s)
{
    json_begin(j, "counters", '{');
    for (uint32_t i = 0; i < s->counter_count && i < COUNTERS_MAX; i++)
        json_i64(j, s->counter_names[i], s->counter_values[i]);
    json_end(j, '}');
    event_log_put_accumulators(j, s->accumulators);
}
