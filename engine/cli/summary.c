/* Two views of one report. Keys of the JSON object are only ever added; any other change increments
 * "schema". */
#include "engine/base/json.h"
#include "engine/base/text.h"
#include "engine/cli/cli_internal.h"
#include "engine/cli/print.h"
#include "engine/records/task.h"

#include <assert.h>
#include <string.h>

static int64_t summary_counter_value(const struct glint_summary *s, enum task_counter which)
{
    for (uint32_t i = 0; i < s->counter_count; i++)
        if (strcmp(s->counter_names[i], task_counter_names[which]) == 0)
            return s->counter_values[i];
    return 0;
}

/* Hides zero counters, and those in the first line. */
static bool is_counter_shown(const struct glint_summary *s, uint32_t i, bool all)
{
    const char *name = s->counter_names[i];
    bool in_first_line = strcmp(name, task_counter_names[COUNT_ROWS_READ]) == 0 ||
                         strcmp(name, task_counter_names[COUNT_BYTES_READ]) == 0;
    return all || (!in_first_line && s->counter_values[i] != 0);
}

static void print_summary_counters(FILE *out, const struct glint_summary *s, bool all)
{
    size_t width = 0;
    for (uint32_t i = 0; i < s->counter_count; i++) {
        size_t size = strlen(s->counter_names[i]);
        if (is_counter_shown(s, i, all) && size > width) width = size;
    }
    for (uint32_t i = 0; i < s->counter_count; i++) {
        if (!is_counter_shown(s, i, all)) continue;
        size_t size = strlen(s->counter_names[i]);
        assert(size <= width);
        fputs("  ", out);
        print_escaped(out, s->counter_names[i], " ");
        fprintf(out, "%*s  %lld\n", (int)(width - size), "", (long long)s->counter_values[i]);
    }
}

/* A number or text, and a newline. */
static void print_cell_line(FILE *out, const struct glint_cell *c)
{
    char number[TEXT_NUMBER_MAX];
    if (c->type == GLINT_I64) text_format_i64(number, c->value.i64);
    if (c->type == GLINT_F64) text_format_f64(number, c->value.f64);
    if (c->type == GLINT_I64 || c->type == GLINT_F64)
        fprintf(out, "%s\n", number);
    else
        fprintf(out, "%.*s\n", (int)c->value.bytes.size, (const char *)c->value.bytes.data);
}

static void print_accumulators(FILE *out, const struct glint_summary *s)
{
    for (const struct glint_answer *a = s->accumulators; a != NULL; a = a->next) {
        const enum glint_type type = a->value.type;
        if (type != GLINT_I64 && type != GLINT_F64 && type != GLINT_TEXT) continue;
        fputs("  ", out);
        print_escaped(out, a->name, " ");
        fputs("  ", out);
        print_cell_line(out, &a->value);
    }
}

static void print_totals(FILE *out, const struct glint_summary *s, const char *job)
{
    double seconds = (double)s->elapsed_ns / 1e9,
           bytes = (double)summary_counter_value(s, COUNT_BYTES_READ);
    fprintf(out, "%s %016llx: %lld rows read, ", job, (unsigned long long)s->job_id,
            (long long)summary_counter_value(s, COUNT_ROWS_READ));
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
    print_summary_counters(out, s, verbose);
    print_accumulators(out, s);
    for (uint32_t i = 0; i < s->output_count; i++) {
        fputs("  -> ", out);
        print_escaped(out, s->outputs[i], " ");
        fputc('\n', out);
    }
}

static void put_summary_counters(struct json *j, const struct glint_summary *s)
{
    json_begin(j, "counters", '{');
    for (uint32_t i = 0; i < s->counter_count; i++)
        json_i64(j, s->counter_names[i], s->counter_values[i]);
    json_end(j, '}');
}

static void put_summary_stages(struct json *j, const struct glint_summary *s)
{
    json_begin(j, "stages", '[');
    for (uint32_t i = 0; i < s->stage_count; i++) {
        json_begin(j, NULL, '{');
        json_u64(j, "stage", s->stage_times[i].number);
        json_cstring(j, "name", s->stage_times[i].name);
        json_u64(j, "tasks", s->stage_times[i].tasks);
        json_ms(j, "elapsed_ms", s->stage_times[i].elapsed_ns);
        json_end(j, '}');
    }
    json_end(j, ']');
}

static void put_summary_lists(struct json *j, const struct summary_report *report)
{
    const struct glint_summary *s = report->summary;
    json_begin(j, "outputs", '[');
    for (uint32_t i = 0; i < s->output_count; i++) json_cstring(j, NULL, s->outputs[i]);
    json_end(j, ']');
    json_begin(j, "notes", '[');
    const struct buffer *notes = report->notes;
    for (uint64_t at = 0; at < notes->size; at += strlen((const char *)notes->data + at) + 1)
        json_cstring(j, NULL, (const char *)notes->data + at);
    json_end(j, ']');
}

/* An object of this name with the cells of a list. */
static void put_named_cells(struct json *j, const char *name, const struct glint_answer *list)
{
    json_begin(j, name, '{');
    for (const struct glint_answer *a = list; a != NULL; a = a->next) {
        const union glint_value *v = &a->value.value;
        switch (a->value.type) {
        case GLINT_I64: json_i64(j, a->name, v->i64); break;
        case GLINT_F64: json_f64(j, a->name, v->f64); break;
        case GLINT_TEXT: json_text(j, a->name, v->bytes.data, v->bytes.size); break;
        default: break; /* an accumulator of the job's own type */
        }
    }
    json_end(j, '}');
}

void summary_print_answers(FILE *out, const struct glint_summary *s)
{
    for (const struct glint_answer *a = s->answers; a != NULL; a = a->next) {
        fprintf(out, "%s\t", a->name);
        print_cell_line(out, &a->value);
    }
}

static const char *status_text_of_code(enum glint_code code)
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
    json_begin(&j, NULL, '{');
    json_i64(&j, "schema", 1);
    json_cstring(&j, "job", report->job);
    json_cstring(&j, "id", s->job_id != 0 ? id : NULL); /* 0: the job did not start */
    json_cstring(&j, "status", status_text_of_code(report->error->code));
    json_error(&j, "error", report->error);
    json_ms(&j, "elapsed_ms", s->elapsed_ns);
    json_u64(&j, "tasks", s->tasks);
    json_u64(&j, "stages_skipped", s->stages_skipped);
    json_u64(&j, "retries", s->retries);
    if (report->error->code == GLINT_OK) put_named_cells(&j, "answers", s->answers);
    put_summary_counters(&j, s);
    if (s->accumulators != NULL) put_named_cells(&j, "accumulators", s->accumulators);
    put_summary_stages(&j, s);
    put_summary_lists(&j, report);
    json_end(&j, '}');
    return print_json_object(out, &j);
}
