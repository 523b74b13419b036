/* All jobs. A new one is a new file and a line here. */
#include "jobs/jobs.h"

#define JOBS(X)                                                                                    \
    X(split_dataset)                                                                               \
    X(count_keys)                                                                                  \
    X(bloom_build)                                                                                 \
    X(bloom_test)                                                                                  \
    X(params)                                                                                      \
    X(fpr_table)                                                                                   \
    X(fpr_check)                                                                                   \
    X(constructions)                                                                               \
    X(membership)                                                                                  \
    X(gap_sample)                                                                                  \
    X(admit)                                                                                       \
    X(speedup)                                                                                     \
    X(hadoop_pipeline)                                                                             \
    X(join)                                                                                        \
    X(join_steps)                                                                                  \
    X(wordcount)                                                                                   \
    X(distinct)                                                                                    \
    X(stream)                                                                                      \
    X(sample)                                                                                      \
    X(grep)                                                                                        \
    X(sort)                                                                                        \
    X(agg)                                                                                         \
    X(top)                                                                                         \
    X(dedup)                                                                                       \
    X(select)                                                                                      \
    X(filter_rows)                                                                                 \
    X(union)                                                                                       \
    X(filter_vs_set)                                                                               \
    X(empty_tasks)

#define DECLARE(name) extern const struct glint_job name##_job;
JOBS(DECLARE)
#undef DECLARE

const struct glint_job *const jobs_table[] = {
#define LIST(name) &name##_job,
    JOBS(LIST)
#undef LIST
        NULL};
