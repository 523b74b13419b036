/* Counters are in an array that is searched by name: there are few, added once per task. */
#include "engine/events/job_metrics.h"

#include "engine/base/error.h"
#include "engine/records/task.h"

#include <assert.h>
#include <string.h>

void job_metrics_fini(struct job_metrics *m)
{
    for (uint32_t i = 0; i < m->counter_count; i++) mem_free(m->names[i]);
    for (uint32_t i = 0; i < m->stage_count; i++) mem_free((char *)m->stages[i].name);
    mem_free(m->stages);
    memset(m, 0, sizeof *m);
}

static uint32_t find_counter(const struct job_metrics *m, const char *name)
{
    for (uint32_t i = 0; i < m->counter_count; i++)
        if (strcmp(m->names[i], name) == 0) return i;
    return m->counter_count;
}

int job_metrics_add_counter(struct job_metrics *m, const char *name, int64_t by,
                            struct glint_error *error)
{
    uint32_t i = find_counter(m, name);
    assert(m->counter_count <= COUNTERS_MAX);
    if (i == COUNTERS_MAX)
        return error_set(error, GLINT_E_PLAN_LIMIT, NULL, "a job has more than %u counters",
                         COUNTERS_MAX);
    assert(i <= m->counter_count);
    if (i == m->counter_count) {
        m->names[i] = mem_strdup(name);
        if (m->names[i] == NULL) return error_no_memory(error);
        m->values[i] = 0;
        m->counter_count++;
    }
    m->values[i] = (int64_t)((uint64_t)m->values[i] + (uint64_t)by); /* wraps, as in Spark */
    return 0;
}

int job_metrics_add_task_counters(struct job_metrics *m, struct glint_slice counters,
                                  struct glint_error *error)
{
    struct unpacker u = unpack_begin(counters);
    int r = 0;
    bool ok = !u.failed;
    while (ok && r == 0 && u.next < u.count) {
        struct counter_entry e;
        ok = counter_entry_unpack(&u, &e);
        if (ok && !e.is_accumulator) r = job_metrics_add_counter(m, e.name, e.value, error);
    }
    if (!ok) return error_set(error, GLINT_E_PROTOCOL, NULL, "cannot decode a task's counters");
    return r;
}

void job_metrics_task_input(struct glint_slice counters, uint64_t *out_rows, uint64_t *out_bytes)
{
    struct unpacker u = unpack_begin(counters);
    *out_rows = *out_bytes = 0;
    while (!u.failed && u.next < u.count) {
        struct counter_entry e;
        if (!counter_entry_unpack(&u, &e) || e.is_accumulator || e.value < 0) continue;
        const uint64_t value = (uint64_t)e.value;
        if (strcmp(e.name, task_counter_names[COUNT_ROWS_READ]) == 0) *out_rows = value;
        if (strcmp(e.name, task_counter_names[COUNT_BYTES_READ]) == 0) *out_bytes = value;
    }
}

int64_t job_metrics_counter_value(const struct job_metrics *m, const char *name)
{
    const size_t size = strlen(name);
    uint64_t sum = 0; /* wraps, as in job_metrics_add_counter */
    for (uint32_t i = 0; i < m->counter_count; i++)
        if (strncmp(m->names[i], name, size) == 0 &&
            (m->names[i][size] == '\0' || m->names[i][size] == ':'))
            sum += (uint64_t)m->values[i];
    return (int64_t)sum;
}

/* Half of them at a time, so that a stage costs the same however many there are. */
static void drop_oldest_stages(struct job_metrics *m)
{
    const uint32_t dropped = m->stage_count / 2, kept = m->stage_count - dropped;
    for (uint32_t i = 0; i < dropped; i++) mem_free((char *)m->stages[i].name);
    memmove(m->stages, m->stages + dropped, kept * sizeof *m->stages);
    m->stage_count = kept;
}

/* Insertion sort: stages start nearly in the order of their numbers. */
bool job_metrics_add_stage(struct job_metrics *m, uint32_t number, const char *name, uint32_t tasks)
{
    if (!array_reserve(&m->stages, &m->stage_capacity, m->stage_count + 1, sizeof *m->stages))
        return false;
    char *copy = mem_strdup(name);
    if (copy == NULL) return false;
    if (m->stage_count == STAGES_KEPT_MAX) drop_oldest_stages(m);
    m->stages_started++;
    uint32_t at = m->stage_count++;
    for (; at > 0 && m->stages[at - 1].number > number; at--) m->stages[at] = m->stages[at - 1];
    assert(name[0] != '\0' && (at == 0 || m->stages[at - 1].number < number));
    m->stages[at] = (struct glint_stage_time){.number = number, .name = copy, .tasks = tasks};
    m->tasks += tasks;
    return true;
}

/* From the end: the stage that finishes is among the last that started. */
void job_metrics_finish_stage(struct job_metrics *m, uint32_t number, uint64_t elapsed_ns)
{
    for (uint32_t i = m->stage_count; i-- > 0;)
        if (m->stages[i].number == number) m->stages[i].elapsed_ns = elapsed_ns;
}

/* Built-in counters have a fixed order, before all others. */
static uint32_t counter_rank(const char *name)
{
    uint32_t i = 0;
    while (i < COUNT_BUILT_IN && strcmp(task_counter_names[i], name) != 0) i++;
    return i;
}

/* Insertion sort: at most COUNTERS_MAX, once per summary. */
void job_metrics_sort_counters(struct job_metrics *m)
{
    for (uint32_t i = 1; i < m->counter_count; i++) {
        char *name = m->names[i];
        int64_t value = m->values[i];
        uint32_t j = i;
        for (; j > 0; j--) {
            uint32_t a = counter_rank(m->names[j - 1]), b = counter_rank(name);
            if (a < b || (a == b && strcmp(m->names[j - 1], name) <= 0)) break;
            m->names[j] = m->names[j - 1];
            m->values[j] = m->values[j - 1];
        }
        m->names[j] = name;
        m->values[j] = value;
    }
}
