/* Marks RDDs whose records executors keep (executor/block_store.h). */
#include "engine/plan/context.h"

#include <assert.h>

struct glint_rdd *glint_persist(struct glint_rdd *rdd, unsigned level)
{
    if (rdd == NULL) return rdd_fail_null("persist");
    if (rdd_check_usable(rdd, "persist") != 0) return NULL;
    if (level == 0 || level > (GLINT_MEMORY | GLINT_DISK))
        return rdd_fail(rdd, GLINT_E_PLAN_ARGUMENT,
                        "persist: the level is GLINT_MEMORY, GLINT_DISK, or both");
    if (rdd->persist != 0 && rdd->persist != level)
        return rdd_fail(rdd, GLINT_E_PLAN_ARGUMENT,
                        "persist: it is persisted with another level: unpersist it first");
    rdd->persist = level;
    return rdd;
}

struct glint_rdd *glint_cache(struct glint_rdd *rdd)
{
    if (rdd == NULL) return rdd_fail_null("cache");
    return glint_persist(rdd, GLINT_MEMORY);
}

struct glint_rdd *glint_unpersist(struct glint_rdd *rdd)
{
    if (rdd == NULL) return rdd_fail_null("unpersist");
    if (rdd_check_usable(rdd, "unpersist") != 0) return NULL;
    if (rdd->persist != 0 && rdd->g->runner != NULL) rdd->g->runner->unpersist(rdd->g->runner, rdd);
    rdd->persist = 0;
    return rdd;
}

const char *persist_level_name(unsigned level)
{
    static const char *const names[] = {[GLINT_MEMORY] = "memory",
                                        [GLINT_DISK] = "disk",
                                        [GLINT_MEMORY | GLINT_DISK] = "memory and disk"};
    assert(level > 0 && level < sizeof names / sizeof names[0]);
    return names[level];
}
