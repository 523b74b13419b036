/* See counters.h. */
#include "engine/events/counters.h"

#include "engine/limits.h"
#include "engine/records/task.h"

#include <assert.h>
#include <string.h>

void counters_fini(struct counters *c)
{
    for (uint32_t i = 0; i < c->count; i++) mem_free(c->names[i]);
    mem_free(c->names);
    mem_free(c->values);
    *c = (struct counters){.count = 0};
}

/* With the value 0. */
static int create_counter(struct counters *c, const char *name, struct glint_error *error)
{
    if (c->count == COUNTERS_MAX)
        return error_set(error, GLINT_E_PLAN_LIMIT, NULL, "a job has more than %u counters",
                         COUNTERS_MAX);
    if (!array_reserve(&c->names, &c->name_capacity, c->count + 1, sizeof *c->names) ||
        !array_reserve(&c->values, &c->value_capacity, c->count + 1, sizeof *c->values) ||
        (c->names[c->count] = mem_strdup(name)) == NULL)
        return error_no_memory(error);
    c->values[c->count++] = 0;
    return 0;
}

int counters_add(struct counters *c, const char *name, int64_t by, struct glint_error *error)
{
    uint32_t i = 0;
    assert(c->count <= COUNTERS_MAX);
    while (i < c->count && strcmp(c->names[i], name) != 0) i++;
    if (i == c->count && create_counter(c, name, error) != 0) return error->code;
    c->values[i] = (int64_t)((uint64_t)c->values[i] + (uint64_t)by);
    return 0;
}

int counters_add_task(struct counters *c, struct glint_slice task, struct glint_error *error)
{
    struct unpacker u = unpack_begin(task);
    int r = 0;
    bool ok = !u.failed;
    while (ok && r == 0 && u.next < u.count) {
        struct counter_entry e;
        ok = counter_entry_unpack(&u, &e);
        if (ok && !e.is_accumulator) r = counters_add(c, e.name, e.value, error);
    }
    if (!ok) return error_set(error, GLINT_E_PROTOCOL, NULL, "cannot decode a task's counters");
    return r;
}

int64_t counters_value(const struct counters *c, const char *name)
{
    const size_t size = strlen(name);
    uint64_t sum = 0; /* wraps, as in counters_add */
    for (uint32_t i = 0; i < c->count; i++)
        if (strncmp(c->names[i], name, size) == 0 &&
            (c->names[i][size] == '\0' || c->names[i][size] == ':'))
            sum += (uint64_t)c->values[i];
    return (int64_t)sum;
}

/* Built-in counters have a fixed order, before all others. */
static uint32_t counter_rank(const char *name)
{
    uint32_t i = 0;
    while (i < COUNT_BUILT_IN && strcmp(task_counter_names[i], name) != 0) i++;
    return i;
}

/* Insertion sort: at most COUNTERS_MAX, once per summary. */
void counters_sort(struct counters *c)
{
    for (uint32_t i = 1; i < c->count; i++) {
        char *name = c->names[i];
        int64_t value = c->values[i];
        uint32_t j = i;
        for (; j > 0; j--) {
            uint32_t a = counter_rank(c->names[j - 1]), b = counter_rank(name);
            if (a < b || (a == b && strcmp(c->names[j - 1], name) <= 0)) break;
            c->names[j] = c->names[j - 1];
            c->values[j] = c->values[j - 1];
        }
        c->names[j] = name;
        c->values[j] = value;
    }
}

void counters_put(struct json *j, const struct counters *c)
{
    json_begin(j, "counters", '{');
    for (uint32_t i = 0; i < c->count; i++) json_i64(j, c->names[i], c->values[i]);
    json_end(j, '}');
}
