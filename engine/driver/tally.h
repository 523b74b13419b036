/* What a job did, added up for its summary: counters by name, stages with their times. */
#ifndef GLINT_DRIVER_TALLY_H
#define GLINT_DRIVER_TALLY_H

#include "engine/base/mem.h"
#include "engine/glint.h"
#include "engine/limits.h"
#include "engine/plan/config.h"

struct tally {
    uint32_t counter_count, stage_count;
    char *names[COUNTERS_MAX];
    int64_t values[COUNTERS_MAX];
    struct stage_time *stages; /* by number */
    uint32_t tasks, stages_skipped, retries;
};

void tally_fini(struct tally *t);
/* 0, PLAN_LIMIT or NO_MEMORY. `name` is copied. */
int tally_add(struct tally *t, const char *name, int64_t by, struct glint_error *error);
/* Adds a task's counters (msgpack, see executor.h). 0, PROTOCOL or NO_MEMORY. */
int tally_counters(struct tally *t, struct glint_slice counters, struct glint_error *error);
/* The sum of the counter and of its parts: "bad rows: REASON" is one of "bad rows". */
int64_t tally_value(const struct tally *t, const char *name);
/* A stage began, or ended, the first time. `name` is copied. False without memory. */
bool tally_stage(struct tally *t, uint32_t number, const char *name, uint32_t tasks);
void tally_stage_end(struct tally *t, uint32_t number, uint64_t elapsed_ns);
/* Built-in counters first, then the functions' by name. */
void tally_sort(struct tally *t);

#endif
