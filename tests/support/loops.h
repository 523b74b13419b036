/* Iterative programs as a person would write them: for tests of plans that grow round by round, and
 * as jobs of tests/jobs/main.c. */
#ifndef TESTS_SUPPORT_LOOPS_H
#define TESTS_SUPPORT_LOOPS_H

#include "engine/glint.h"

extern const struct glint_module loops_module;
extern const struct glint_job loops_components, loops_page_rank, loops_k_means;

/* Lines "a TAB b" of whole numbers, as (a, b) and (b, a). */
struct glint_rdd *loops_edges(struct glint *g, const char *path);
/* (vertex, least vertex that it reaches within so many steps): each round reaches its own result by
 * two ways, labels = reduceByKey(union(labels, send(join(edges, labels)))). */
struct glint_rdd *loops_components_of(struct glint_rdd *edges, int64_t rounds);
/* (vertex, rank): each round joins the links once more. */
struct glint_rdd *loops_ranks_of(struct glint_rdd *edges, int64_t rounds);

#endif
