/* Two views of one report. Keys of the JSON form are only ever added ("schema" counts what is not).
 */
#include "engine/cli/summary.h"

#include "engine/base/json.h"
#include "engine/base/text.h"
#include "engine/cli/print.h"
#include "engine/data/task.h"

#include <assert.h>
#include <string.h>

static int64_t counter(const struct glint_summary *s, enum task_counter which)
{
    for (uint32_t i = 0; i < s->counter_count; i++)
        if (strcmp(s->counter_names[i], task_counter_names[which]) == 0)
            return s->counter_values[i];
    return 0;
}

/* Counters of 0 are left out, and so is what the first line says. */
static bool is_shown(const struct glint_summary *s, uint32_t i, bool all)
{
    const char *name = s->counter_names[i];
    bool told = strcmp(name, task_counter_names[COUNT_ROWS_READ]) == 0 ||
                strcmp(name, task_counter_names[COUNT_BYTES_READ]) == 0;
    return all || (!told && s->counter_values[i] != 0);
}

static void print_counters(FILE *out, const struct glint_summary *s, bool all)
{
    size_t width = 0;
    for (uint32_t i = 0; i < s->counter_count; i++) {
        size_t size = strlen(s->counter_names[i]);
        if (is_shown(s, i, all) && size > width) width = size;
    }
    for (uint32_t i = 0; i < s->counter_count; i++) {
        if (!is_shown(s, i, all)) continue;
        size_t size = strlen(s->counter_names[i]);
        assert(size <= width);
        fputs("  ", out);
        print_safe(out, s->counter_names[i], " ");
        fprintf(out, "%*s  %lld\n", (int)(width - size), "", (long long)s->counter_values[i]);
    }
}

static void print_totals(FILE *out, const struct glint_summary *s, const char *job)
{
    double seconds = (double)s->elapsed_ns / 1e9, bytes = (double)counter(s, COUNT_BYTES_READ);
    fprintf(out, "%s %016llx: %lld rows, ", job, (unsigned long long)s->job_id,
            (long long)counter(s, COUNT_ROWS_READ));
    fprintf(out, bytes < 1e6 ? "%.0f bytes" : "%.1f MB", bytes < 1e6 ? bytes : bytes / 1e6);
    fprintf(out, " in %.3f s", seconds);
    if (seconds > 0 && bytes > 0) fprintf(out, " (%.0f MB/s)", bytes / seconds / 1e6);
    fprintf(out, "; %u stage%s", s->stages, s->stages == 1 ? "" : "s");
    if (s->stages_skipped > 0) fprintf(out, " (%u skipped)", s->stages_skipped);
    fprintf(out, ", %u task%s", s->tasks, s->tasks == 1 ? "" : "s");
    if (s->retries > 0) fprintf(out, ", %u retried", s->retries);
    fputc('\n', out);
}

void summary_print(FILE *out, const struct summary_report *report, bool verbose)
{
    const struct glint_summary *s = report->summary;
    assert(report->error->code == GLINT_OK);
    print_totals(out, s, report->job);
    for (uint32_t i = 0; verbose && i < s->stage_count; i++)
        fprintf(out, "  stage %u %s: %u task%s, %.3f s\n", s->stage_times[i].number,
                s->stage_times[i].name, s->stage_times[i].tasks,
                s->stage_times[i].tasks == 1 ? "" : "s",
                (double)s->stage_times[i].elapsed_ns / 1e9);
    print_counters(out, s, verbose);
    for (uint32_t i = 0; i < s->output_count; i++) {
        fputs("  -> ", out);
        print_safe(out, s->outputs[i], " ");
        fputc('\n', out);
    }
}

static void put_counters(struct json *j, const struct glint_summary *s)
{
    json_name(j, "counters");
    json_open(j, '{');
    for (uint32_t i = 0; i < s->counter_count; i++) {
        json_name(j, s->counter_names[i]);
        json_i64(j, s->counter_values[i]);
    }
    json_close(j, '}');
}

static void put_stages(struct json *j, const struct glint_summary *s)
{
    json_name(j, "stages");
    json_open(j, '[');
    for (uint32_t i = 0; i < s->stage_count; i++) {
        json_open(j, '{');
        json_name(j, "stage");
        json_u64(j, s->stage_times[i].number);
        json_name(j, "name");
        json_chars(j, s->stage_times[i].name);
        json_name(j, "tasks");
        json_u64(j, s->stage_times[i].tasks);
        json_name(j, "elapsed_ms");
        json_ms(j, s->stage_times[i].elapsed_ns);
        json_close(j, '}');
    }
    json_close(j, ']');
}

static void put_lists(struct json *j, const struct summary_report *report)
{
    const struct glint_summary *s = report->summary;
    json_name(j, "outputs");
    json_open(j, '[');
    for (uint32_t i = 0; i < s->output_count; i++) json_chars(j, s->outputs[i]);
    json_close(j, ']');
    json_name(j, "notes");
    json_open(j, '[');
    const struct buffer *notes = report->notes;
    for (uint64_t at = 0; at < notes->size; at += strlen((const char *)notes->data + at) + 1)
        json_chars(j, (const char *)notes->data + at);
    json_close(j, ']');
}

static const char *status_of(enum glint_code code)
{
    if (code == GLINT_OK) return "ok";
    return code == GLINT_E_INTERRUPTED || code == GLINT_E_TERMINATED ? "interrupted" : "failed";
}

bool summary_print_json(FILE *out, const struct summary_report *report)
{
    const struct glint_summary *s = report->summary;
    struct json j = {.failed = false};
    char id[TEXT_NUMBER_MAX];
    text_format(id, sizeof id, "%016llx", (unsigned long long)s->job_id);
    assert(report->notes->size == 0 || report->notes->data[report->notes->size - 1] == '\0');
    json_open(&j, '{');
    json_name(&j, "schema");
    json_i64(&j, 1);
    json_name(&j, "job");
    json_chars(&j, report->job);
    json_name(&j, "id");
    json_chars(&j, s->job_id != 0 ? id : NULL); /* 0: it did not begin */
    json_name(&j, "status");
    json_chars(&j, status_of(report->error->code));
    json_name(&j, "error");
    json_error(&j, report->error);
    json_name(&j, "elapsed_ms");
    json_ms(&j, s->elapsed_ns);
    json_name(&j, "tasks");
    json_u64(&j, s->tasks);
    json_name(&j, "stages_skipped");
    json_u64(&j, s->stages_skipped);
    json_name(&j, "retries");
    json_u64(&j, s->retries);
    put_counters(&j, s);
    put_stages(&j, s);
    put_lists(&j, report);
    json_close(&j, '}');
    bool made = !j.failed;
    if (made) {
        fwrite(j.out.data, 1, j.out.size, out);
        fputc('\n', out);
    }
    json_fini(&j);
    return made;
}
