/* Named counters: sums of those of tasks, for a job, a stage or the page. One thread. */
#ifndef GLINT_EVENTS_COUNTERS_H
#define GLINT_EVENTS_COUNTERS_H

#include "engine/base/error.h"
#include "engine/base/json.h"
#include "engine/glint.h"

/* Zeros are none. At most COUNTERS_MAX, searched by name: there are few. */
struct counters {
    uint32_t count;
    uint64_t name_capacity, value_capacity;
    char **names; /* owned */
    int64_t *values;
};

void counters_fini(struct counters *c);
/* Adds `by` to the counter, which is created at the first call; sums wrap around, as in Spark.
 * `name` is copied. Returns 0, PLAN_LIMIT (more than COUNTERS_MAX) or NO_MEMORY. */
int counters_add(struct counters *c, const char *name, int64_t by, struct glint_error *error);
/* Adds a task's counters (msgpack, see task_counters_encode), not its accumulators. Returns 0,
 * PROTOCOL, PLAN_LIMIT or NO_MEMORY; after an error, some of them are added. */
int counters_add_task(struct counters *c, struct glint_slice task, struct glint_error *error);
/* Returns the sum of the counter and of its parts: "bad rows: REASON" is a part of "bad rows". 0 if
 * the counter does not exist. */
int64_t counters_value(const struct counters *c, const char *name);
/* Built-in counters first, in the order of task_counter_names, then the functions' own by name. */
void counters_sort(struct counters *c);
/* The object "counters". */
void counters_put(struct json *j, const struct counters *c);

#endif
