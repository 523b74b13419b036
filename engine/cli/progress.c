/* Draws nothing in the first half second, so that short jobs show no progress. Queries the
 * terminal's width at each redraw, so that no handler for window changes is needed. */
#include "engine/cli/progress.h"

#include "engine/base/text.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum { FIRST_MS = 500, REDRAW_MS = 200, PLAIN_AFTER_MS = 10000 };
enum { BAR_COLUMNS_MIN = 5, BAR_COLUMNS_MAX = 40, ETA_SECONDS_MAX = 359999 };
static_assert(BAR_COLUMNS_MAX + 4 <= PROGRESS_LINE_MAX / 2, "half a line, a bar, half a line");

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

/* Formats what follows the bar: " 7/12 tasks 2 running 1 retried 512 MB/s ETA 0:03". */
static void format_tail(char *out, size_t capacity, const struct progress *p)
{
    double seconds = seconds_of(p->elapsed_ns);
    text_format(out, capacity, " %u/%u tasks  %u running", p->tasks_done, p->tasks,
                p->tasks_running);
    size_t used = strlen(out);
    if (p->job_retries > 0)
        text_format(out + used, capacity - used, "  %u retried", p->job_retries);
    used = strlen(out);
    if (p->bytes_read > 0 && seconds > 0)
        text_format(out + used, capacity - used, "  %.0f MB/s",
                    (double)p->bytes_read / seconds / 1e6);
    used = strlen(out);
    if (p->tasks_done == 0 || p->tasks_done == p->tasks) return;
    /* Assumes that the remaining tasks take as long as the finished ones on average. */
    double left = seconds / p->tasks_done * (p->tasks - p->tasks_done);
    unsigned whole = left < ETA_SECONDS_MAX ? (unsigned)(left + 0.5) : ETA_SECONDS_MAX;
    text_format(out + used, capacity - used, "  ETA %u:%02u", whole / 60, whole % 60);
}

void progress_format(char *out, const struct progress *p, unsigned columns)
{
    char tail[PROGRESS_LINE_MAX / 2], bar[BAR_COLUMNS_MAX + 4] = "";
    assert(p->tasks_done <= p->tasks);
    if (columns > PROGRESS_LINE_MAX) columns = PROGRESS_LINE_MAX;
    format_tail(tail, sizeof tail, p);
    text_format(out, PROGRESS_LINE_MAX / 2, "stage %u %s", p->stage, p->name);
    size_t taken = strlen(out) + strlen(tail) + sizeof " []";
    size_t room = columns > taken ? columns - taken : 0; /* the bar takes the remaining columns */
    if (room > BAR_COLUMNS_MAX) room = BAR_COLUMNS_MAX;
    if (p->tasks > 0 && room >= BAR_COLUMNS_MIN) {
        size_t full = (size_t)((uint64_t)p->tasks_done * room / p->tasks), n = 0;
        bar[n++] = ' ';
        bar[n++] = '[';
        for (size_t i = 0; i < room; i++) bar[n++] = i < full ? '=' : i == full ? '>' : ' ';
        bar[n++] = ']';
        assert(n < sizeof bar);
    }
    size_t used = strlen(out);
    text_format(out + used, PROGRESS_LINE_MAX - used, "%s%s", bar, tail);
    if (columns > 0 && strlen(out) >= columns) out[columns - 1] = '\0';
}

static void draw_line(struct progress_view *view, const struct progress *p)
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
    fprintf(stderr, "stage %u %s: %u task%s, %.3f s\n", p->stage, p->name, p->tasks,
            p->tasks == 1 ? "" : "s", seconds_of(p->elapsed_ns));
}

void progress_show(void *arg, const struct progress *p)
{
    struct progress_view *view = arg;
    if (view->quiet) return;
    if (p->action_ended) {
        progress_clear(view);
        return;
    }
    uint64_t now = view->env->now_ns(view->env), age = now - view->started_ns;
    if (p->stage_ended && (view->verbose || (!view->live && age > PLAIN_AFTER_MS * MS_NS))) {
        print_stage(view, p);
        return;
    }
    if (!view->live || age < FIRST_MS * MS_NS || now - view->drawn_ns < REDRAW_MS * MS_NS) return;
    view->drawn_ns = now;
    draw_line(view, p);
}
