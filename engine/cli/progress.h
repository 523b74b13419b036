/* The progress of a job on standard error: one line, redrawn in place, on a terminal; plain lines
 * elsewhere, and only where the job takes long or somebody asked. */
#ifndef GLINT_CLI_PROGRESS_H
#define GLINT_CLI_PROGRESS_H

#include "engine/base/env.h"
#include "engine/plan/progress.h"

#define PROGRESS_LINE_MAX 1024u

struct progress_view {
    struct env *env; /* for the time */
    bool live;       /* a terminal: redraw */
    bool quiet, verbose;
    bool drawn; /* a line stands there and must be cleared before anything else is printed */
    uint64_t started_ns, drawn_ns;
};

void progress_init(struct progress_view *view, struct env *env, bool quiet, bool verbose);
/* For glint_config.progress; `arg` is the view. */
void progress_show(void *arg, const struct progress *p);
/* Before any other output. */
void progress_clear(struct progress_view *view);
/* The line as it is drawn, narrower than `columns`; pure. `out` has PROGRESS_LINE_MAX bytes. */
void progress_format(char *out, const struct progress *p, unsigned columns);

#endif
