/* Nothing appears in the first half second: what is quick needs no progress. The width is asked for
 * at each redraw, so a resized window needs no signal handler. */
#include "engine/cli/progress.h"

#include "engine/base/text.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define MS ((uint64_t)1000000)

enum { FIRST_MS = 500, REDRAW_MS = 200, PLAIN_AFTER_MS = 10000, BAR_COLUMNS = 24 };

void progress_init(struct progress_view *view, struct env *env, bool quiet, bool verbose)
{
    const char *term = getenv("TERM");
    bool dumb = term == NULL || strcmp(term, "dumb") == 0;
    *view = (struct progress_view){.env = env, .quiet = quiet, .verbose = verbose};
    view->live = !quiet && !dumb && isatty(STDERR_FILENO) == 1;
    view->started_ns = env->now_ns(env);
}

void progress_clear(struct progress_view *view)
{
    if (!view->drawn) return;
    fputs("\r\033[K", stderr);
    view->drawn = false;
}

static double seconds_of(uint64_t ns)
{
    return (double)ns / 1e9;
}

/* Appends while there is room: a narrow terminal loses the end of the line, not its beginning. */
static void put_part(char *out, unsigned columns, const char *part)
{
    size_t used = strlen(out), size = strlen(part);
    if (used + size < columns) memcpy(out + used, part, size + 1);
}

static void put_bar(char *out, unsigned columns, const struct progress *p)
{
    char bar[BAR_COLUMNS + 4];
    unsigned full = (unsigned)((uint64_t)p->tasks_done * BAR_COLUMNS / p->tasks);
    assert(full <= BAR_COLUMNS);
    bar[0] = ' ';
    bar[1] = '[';
    for (unsigned i = 0; i < BAR_COLUMNS; i++) bar[2 + i] = i < full ? '=' : i == full ? '>' : ' ';
    bar[BAR_COLUMNS + 2] = ']';
    bar[BAR_COLUMNS + 3] = '\0';
    put_part(out, columns, bar);
}

static void put_rate(char *out, unsigned columns, const struct progress *p)
{
    char part[96];
    double seconds = seconds_of(p->elapsed_ns);
    if (p->retries > 0) {
        text_format(part, sizeof part, "  %u retried", p->retries);
        put_part(out, columns, part);
    }
    if (p->bytes_read > 0 && seconds > 0) {
        text_format(part, sizeof part, "  %.0f MB/s", (double)p->bytes_read / seconds / 1e6);
        put_part(out, columns, part);
    }
    if (p->tasks_done > 0 && p->tasks_done < p->tasks) {
        double left = seconds / p->tasks_done * (p->tasks - p->tasks_done);
        unsigned whole = left < 359999 ? (unsigned)(left + 0.5) : 359999;
        text_format(part, sizeof part, "  ETA %u:%02u", whole / 60, whole % 60);
        put_part(out, columns, part);
    }
}

void progress_format(char *out, const struct progress *p, unsigned columns)
{
    char part[PROGRESS_LINE_MAX];
    if (columns > PROGRESS_LINE_MAX) columns = PROGRESS_LINE_MAX;
    assert(p->tasks_done <= p->tasks);
    out[0] = '\0';
    text_format(part, sizeof part, "stage %u/%u %s", p->stage, p->stages, p->action);
    put_part(out, columns, part);
    if (p->tasks > 0) put_bar(out, columns, p);
    text_format(part, sizeof part, " %u/%u tasks  %u running", p->tasks_done, p->tasks,
                p->tasks_running);
    put_part(out, columns, part);
    put_rate(out, columns, p);
}

static void draw(struct progress_view *view, const struct progress *p)
{
    struct winsize size = {.ws_col = 0};
    char line[PROGRESS_LINE_MAX];
    unsigned columns = 80;
    if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) columns = size.ws_col;
    progress_format(line, p, columns);
    fprintf(stderr, "\r%s\033[K", line);
    view->drawn = true;
}

static void print_stage(struct progress_view *view, const struct progress *p)
{
    progress_clear(view);
    fprintf(stderr, "stage %u/%u %s: %u tasks, %.3f s\n", p->stage, p->stages, p->action, p->tasks,
            seconds_of(p->elapsed_ns));
}

void progress_show(void *arg, const struct progress *p)
{
    struct progress_view *view = arg;
    if (view->quiet) return;
    uint64_t now = view->env->now_ns(view->env), age = now - view->started_ns;
    if (p->stage_ended && (view->verbose || (!view->live && age > PLAIN_AFTER_MS * MS))) {
        print_stage(view, p);
        return;
    }
    if (!view->live || age < FIRST_MS * MS || now - view->drawn_ns < REDRAW_MS * MS) return;
    view->drawn_ns = now;
    draw(view, p);
}
