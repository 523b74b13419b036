/* Iterative programs as a user would write them: for tests of plans that grow each round, and as
 * jobs of tests/jobs/main.c. */
#ifndef TESTS_SUPPORT_LOOPS_H
#define TESTS_SUPPORT_LOOPS_H

#include "engine/glint.h"
#include "engine/plan/context_config.h"

extern const struct glint_module loops_module;
extern const struct glint_job loops_components, loops_page_rank, loops_k_means;

/* Lines "a TAB b" of integers, as (a, b) and (b, a). */
struct glint_rdd *loops_edges(struct glint *g, const char *path);
/* (vertex, smallest vertex reachable within `rounds` steps): each round uses the previous result
 * twice, labels = reduceByKey(union(labels, send(join(edges, labels)))). */
struct glint_rdd *loops_components_of(struct glint_rdd *edges, int64_t rounds);
/* (vertex, rank): each round joins the links again. */
struct glint_rdd *loops_ranks_of(struct glint_rdd *edges, int64_t rounds);

#endif
