/* Shows the progress of a job on standard error, if that is a terminal: one line for each running
 * stage, redrawn in place. With --verbose, a plain line for each finished stage, too. */
#ifndef GLINT_CLI_PROGRESS_H
#define GLINT_CLI_PROGRESS_H

#include "engine/base/env.h"
#include "engine/limits.h"
#include "engine/plan/progress.h"

#define PROGRESS_LINE_MAX   1024u
#define PROGRESS_STAGES_MAX 4u /* further ones are not shown until one of these ends */

struct progress_stage {
    struct progress last; /* its latest report */
    char name[NAME_BYTES_MAX];
};

/* The state of the display; progress_init sets it up. */
struct progress_view {
    struct env *env; /* for the time */
    bool live;       /* on a terminal: redraw */
    bool quiet, verbose;
    bool drawn; /* lines are drawn, and must be cleared before other output */
    uint64_t started_ns, drawn_ns;
    struct progress_stage stages[PROGRESS_STAGES_MAX]; /* the running ones, in order */
    uint32_t stage_count;
};

void progress_init(struct progress_view *view, struct env *env, bool quiet, bool verbose);
/* For context_config.progress; `arg` is the view. */
void progress_show(void *arg, const struct progress *p);
/* Clears the lines. Call it before any other output. */
void progress_clear(struct progress_view *view);
/* Formats a line, shorter than `columns`; pure. `out` has PROGRESS_LINE_MAX bytes. */
void progress_format(char *out, const struct progress *p, unsigned columns);

#endif
