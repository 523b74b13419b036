/* The verbs that live with the jobs, for main.c to hand to cli_main. */
#ifndef GLINT_JOBS_VERBS_VERBS_H
#define GLINT_JOBS_VERBS_VERBS_H

#include "engine/cli/cli.h"

extern const struct cli_verb verb_cat, verb_filter, verb_generate;

/* glint filter's own. */
extern const struct cli_verb filter_info, filter_query, filter_export, filter_import;

#endif
