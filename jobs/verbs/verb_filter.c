/* glint filter: looks into the files that bloom-build writes. */
#include "jobs/verbs/verbs.h"

#include <stddef.h>

static int filter_run(const struct cli_program *program, int argc, char **argv)
{
    static const struct cli_verb *const verbs[] = {&filter_info, &filter_query, &filter_export,
                                                   NULL};
    return cli_dispatch(program, "glint filter", "Looks into the filters that bloom-build wrote.",
                        verbs, argc, argv);
}

const struct cli_verb verb_filter = {.name = "filter",
                                     .summary = "list, ask and export Bloom filters",
                                     .usage = "info|query|export PATH...",
                                     .run = filter_run};
