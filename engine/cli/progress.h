/* Shows the progress of a job on standard error: on a terminal one line, redrawn in place;
 * otherwise plain lines, and only for long jobs or with --verbose. */
#ifndef GLINT_CLI_PROGRESS_H
#define GLINT_CLI_PROGRESS_H

#include "engine/base/env.h"
#include "engine/plan/progress.h"

#define PROGRESS_LINE_MAX 1024u

/* The state of the display; progress_init sets it up. */
struct progress_view {
    struct env *env; /* for the time */
    bool live;       /* on a terminal: redraw */
    bool quiet, verbose;
    bool drawn; /* a line is drawn, and must be cleared before other output */
    uint64_t started_ns, drawn_ns;
};

void progress_init(struct progress_view *view, struct env *env, bool quiet, bool verbose);
/* For context_config.progress; `arg` is the view. */
void progress_show(void *arg, const struct progress *p);
/* Clears the line. Call it before any other output. */
void progress_clear(struct progress_view *view);
/* Formats the line, shorter than `columns`; pure. `out` has PROGRESS_LINE_MAX bytes. */
void progress_format(char *out, const struct progress *p, unsigned columns);

#endif
