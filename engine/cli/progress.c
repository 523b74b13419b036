/* Draws nothing in the first half second, so that short jobs show no progress.
 *
 * The cursor rests at the start of the first line, so "\r\033[J" clears all of them, also after the
 * terminal has become narrower and wrapped them: no handler for window changes is needed, because
 * the width is queried at each redraw. Log lines and crash reports, which any thread may write,
 * begin with that sequence (log_set_line_prefix). Nothing is coloured, so NO_COLOR changes nothing.
 */
#include "engine/base/log.h"
#include "engine/base/text.h"
#include "engine/cli/cli_internal.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define CLEAR_BELOW "\r\033[J"

/* The driver reports every 0.2 s, and for each finished task. */
enum { FIRST_MS = 500, REDRAW_MS = 100 };
enum { BAR_COLUMNS_MIN = 5, BAR_COLUMNS_MAX = 40, LEFT_SECONDS_MAX = 359999 };
static_assert(BAR_COLUMNS_MAX + 4 <= PROGRESS_LINE_MAX / 2, "half a line, a bar, half a line");

/* What a line shows, from all to what 20 columns have room for. */
enum detail { DETAIL_TASKS, DETAIL_LEFT, DETAIL_RATES, DETAIL_NAME, DETAIL_ALL };

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
    fputs(CLEAR_BELOW, stderr);
    log_set_line_prefix(NULL);
    view->drawn = false;
}

static double seconds_of_ns(uint64_t ns)
{
    return (double)ns / 1e9;
}

/* ---- One line */

struct line {
    char text[PROGRESS_LINE_MAX / 2];
    size_t size;
};

static void append_rate(struct line *l, double per_second, const char *unit)
{
    static const char *const scales[] = {"", " k", " M", " G", " T"};
    size_t s = 0;
    while (per_second >= 999.5 && s + 1 < sizeof scales / sizeof scales[0]) per_second /= 1000, s++;
    text_format(l->text + l->size, sizeof l->text - l->size, "  %.*f%s%s/s",
                per_second < 9.95 && s > 0 ? 1 : 0, per_second, scales[s], unit);
    l->size = strlen(l->text);
}

/* Assumes that the remaining bytes take as long as those of the finished tasks did on average. */
static void append_time_left(struct line *l, const struct progress *p)
{
    const bool known = p->bytes_read > 0 && p->bytes_read < p->bytes_total;
    if (!known || p->tasks_done == p->tasks) return;
    double left = seconds_of_ns(p->elapsed_ns) / (double)p->bytes_read *
                  (double)(p->bytes_total - p->bytes_read);
    unsigned s = left < LEFT_SECONDS_MAX ? (unsigned)(left + 0.5) : LEFT_SECONDS_MAX;
    char *at = l->text + l->size;
    size_t room = sizeof l->text - l->size;
    if (s < 3600)
        text_format(at, room, "  %u:%02u left", s / 60, s % 60);
    else
        text_format(at, room, "  %u:%02u:%02u left", s / 3600, s / 60 % 60, s % 60);
    l->size = strlen(l->text);
}

/* Formats what follows the bar: " 7/12 tasks  2 running  1 retried  1.2 Mrows/s  512 MB/s  0:03
 * left". */
static void format_progress_tail(struct line *l, const struct progress *p, enum detail detail)
{
    double seconds = seconds_of_ns(p->elapsed_ns);
    text_format(l->text, sizeof l->text, " %u/%u tasks", p->tasks_done, p->tasks);
    l->size = strlen(l->text);
    if (detail >= DETAIL_ALL)
        text_format(l->text + l->size, sizeof l->text - l->size, "  %u running", p->tasks_running);
    l->size = strlen(l->text);
    if (detail >= DETAIL_ALL && p->job_retries > 0)
        text_format(l->text + l->size, sizeof l->text - l->size, "  %u retried", p->job_retries);
    l->size = strlen(l->text);
    const bool rates = detail >= DETAIL_RATES && seconds > 0;
    if (rates && p->rows_read > 0) append_rate(l, (double)p->rows_read / seconds, " rows");
    if (rates && p->bytes_read > 0) append_rate(l, (double)p->bytes_read / seconds, "B");
    if (detail >= DETAIL_LEFT) append_time_left(l, p);
}

static void format_progress_bar(char *out, const struct progress *p, size_t room)
{
    size_t full = (size_t)((uint64_t)p->tasks_done * room / p->tasks), n = 0;
    assert(room >= BAR_COLUMNS_MIN && room <= BAR_COLUMNS_MAX);
    out[n++] = ' ';
    out[n++] = '[';
    for (size_t i = 0; i < room; i++) out[n++] = i < full ? '=' : i == full ? '>' : ' ';
    out[n++] = ']';
    out[n] = '\0';
}

void progress_format(char *out, const struct progress *p, unsigned columns)
{
    struct line tail = {.size = 0};
    char bar[BAR_COLUMNS_MAX + 4] = "";
    assert(p->tasks_done <= p->tasks);
    if (columns > PROGRESS_LINE_MAX) columns = PROGRESS_LINE_MAX;
    for (enum detail detail = DETAIL_ALL;; detail--) {
        format_progress_tail(&tail, p, detail);
        const bool named = detail >= DETAIL_NAME;
        text_format(out, PROGRESS_LINE_MAX / 2, named ? "stage %u %s" : "stage %u", p->stage,
                    p->name);
        if (strlen(out) + tail.size < columns || detail == DETAIL_TASKS) break;
    }
    size_t used = strlen(out), taken = used + tail.size + sizeof " []";
    size_t room = columns > taken ? columns - taken : 0; /* the bar takes the remaining columns */
    if (room > BAR_COLUMNS_MAX) room = BAR_COLUMNS_MAX;
    if (p->tasks > 0 && room >= BAR_COLUMNS_MIN) format_progress_bar(bar, p, room);
    text_format(out + used, PROGRESS_LINE_MAX - used, "%s%s", bar, tail.text);
    if (columns > 0 && strlen(out) >= columns) out[columns - 1] = '\0';
}

/* ---- The display */

/* Writes the lines with one call, so that other output does not get between them. */
static void draw_progress(struct progress_view *view)
{
    struct winsize size = {.ws_col = 0};
    char line[PROGRESS_LINE_MAX], frame[PROGRESS_STAGES_MAX * (PROGRESS_LINE_MAX + 4) + 32];
    unsigned columns = 80, rows = 24;
    if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) columns = size.ws_col;
    if (size.ws_row > 0) rows = size.ws_row;
    uint32_t shown = view->stage_count < rows ? view->stage_count : rows;
    if (shown == 0) return;
    text_format(frame, sizeof frame, "%s", view->drawn ? CLEAR_BELOW : "\r");
    for (uint32_t i = 0; i < shown; i++) {
        size_t used = strlen(frame);
        progress_format(line, &view->stages[i].last, columns);
        text_format(frame + used, sizeof frame - used, "%s%s", i > 0 ? "\r\n" : "", line);
    }
    size_t used = strlen(frame);
    if (shown > 1)
        text_format(frame + used, sizeof frame - used, "\033[%uA\r", shown - 1);
    else
        text_format(frame + used, sizeof frame - used, "\r");
    fputs(frame, stderr);
    log_set_line_prefix(CLEAR_BELOW);
    view->drawn = true;
}

static void print_stage_progress(struct progress_view *view, const struct progress *p)
{
    progress_clear(view);
    fprintf(stderr, "stage %u %s: %u task%s, %.3f s\n", p->stage, p->name, p->tasks,
            p->tasks == 1 ? "" : "s", seconds_of_ns(p->elapsed_ns));
}

/* Adds the stage to those that are shown, updates or removes it. */
static void update_shown_stages(struct progress_view *view, const struct progress *p)
{
    uint32_t i = 0;
    while (i < view->stage_count && view->stages[i].last.stage < p->stage) i++;
    bool found = i < view->stage_count && view->stages[i].last.stage == p->stage;
    struct progress_stage *at = &view->stages[i];
    if (p->stage_ended) {
        if (!found) return;
        memmove(at, at + 1, (view->stage_count - i - 1) * sizeof *at);
        view->stage_count--;
        return;
    }
    if (!found) {
        if (view->stage_count == PROGRESS_STAGES_MAX) return;
        memmove(at + 1, at, (view->stage_count - i) * sizeof *at);
        view->stage_count++;
    }
    at->last = *p;
    text_format(at->name, sizeof at->name, "%s", p->name);
    /* The names move with their stages, so the pointers are set again. */
    for (uint32_t k = 0; k < view->stage_count; k++)
        view->stages[k].last.name = view->stages[k].name;
}

void progress_show(void *arg, const struct progress *p)
{
    struct progress_view *view = arg;
    if (view->quiet) return;
    if (p->action_ended) {
        progress_clear(view);
        view->stage_count = 0;
        return;
    }
    update_shown_stages(view, p);
    if (p->stage_ended && view->verbose) {
        print_stage_progress(view, p);
        return;
    }
    uint64_t now = view->env->now_ns(view->env);
    if (!view->live || now - view->started_ns < FIRST_MS * MS_NS ||
        now - view->drawn_ns < REDRAW_MS * MS_NS)
        return;
    view->drawn_ns = now;
    draw_progress(view);
}
