/* Prints a job's history as text, and as one JSON object. All texts come from a file, so they are
 * escaped. */
#include "engine/base/text.h"
#include "engine/base/utf8.h"
#include "engine/cli/print.h"
#include "engine/events/history.h"
#include "engine/records/task.h"

#include <assert.h>
#include <float.h>
#include <string.h>

/* Every decimal of this many digits survives the conversion to double: 0.007 stays 0.007. */
#define REAL_DIGITS DBL_DIG

/* Prints `format` with fields of `o`: {name} is a text, or "?" if it is missing; {name:n} a whole
 * number; {name:+} an "s" unless that is 1; {name:s} milliseconds as seconds. */
static void print_fields(FILE *out, const json_t *o, const char *format)
{
    for (size_t size; *format != '\0'; format += size) {
        size = strcspn(format, "{");
        fwrite(format, 1, size, out);
        format += size;
        size = strcspn(format, "}");
        if (*format++ == '\0') return;
        const size_t name = strcspn(format, ":}");
        const json_t *value = json_object_getn(o, format, name);
        const char *text = json_string_value(value);
        switch (format[name] == ':' ? format[name + 1] : '\0') {
        case 'n': fprintf(out, "%lld", (long long)json_integer_value(value)); break;
        case '+': fputs(json_integer_value(value) == 1 ? "" : "s", out); break;
        case 's': fprintf(out, "%.3f", json_number_value(value) / 1000); break;
        default: print_escaped(out, text != NULL && text[0] != '\0' ? text : "?", " ");
        }
    }
}

/* Prints "E0908 executor lost: e1 died"; nothing if there is no error. */
static void print_error_of(FILE *out, const char *before, const json_t *event)
{
    const json_t *why = json_object_get(event, "error");
    if (!json_is_object(why)) return;
    fputs(before, out);
    print_fields(out, why, "{code} {text}: {cause}");
}

/* Prints " 1, 2" after `before`; nothing if there are no numbers. */
static void print_numbers(FILE *out, const char *before, const json_t *list)
{
    for (size_t i = 0; i < json_array_size(list); i++)
        fprintf(out, "%s %lld", i == 0 ? before : ",",
                (long long)json_integer_value(json_array_get(list, i)));
}

static void print_job_history(FILE *out, const struct history *h)
{
    const json_t *r = h->report;
    const bool failed = json_is_object(json_object_get(h->end, "error"));
    print_fields(out, h->job,
                 "{name}, job {id} on {master}, version {version}, started {time}\n  ");
    fputs(h->end == NULL ? "incomplete: the job is running or was killed; last event"
          : failed       ? "failed"
                         : "ok",
          out);
    print_fields(out, r, " after {last_ms:s} s; {stage_count:n} stage{stage_count:+}");
    if (json_integer_value(json_object_get(r, "stages_skipped")) > 0)
        print_fields(out, r, " ({stages_skipped:n} skipped)");
    print_fields(out, r, ", {tasks:n} task{tasks:+} in {attempts:n} attempt{attempts:+}, ");
    print_fields(out, r, "{retry_count:n} retr");
    fputs(json_integer_value(json_object_get(r, "retry_count")) == 1 ? "y\n" : "ies\n", out);
    print_error_of(out, "  ", h->end);
    if (failed) fputc('\n', out);
    if (h->truncated_line) fputs("  ignored a truncated last line\n", out);
    if (h->size_limited) fputs("  log size limit reached; later events are missing\n", out);
}

static void print_executor(FILE *out, const json_t *o)
{
    const json_t *last = json_object_get(o, "last");
    print_fields(out, o,
                 "executor {executor:n}: {name} at {host}, {slots:n} slot{slots:+}, joined at "
                 "{ms:s} s; {attempts:n} attempt{attempts:+}, {failed:n} failed\n");
    if (json_is_null(last)) return;
    print_fields(out, last, "  {state} at {ms:s} s");
    print_error_of(out, ": ", last);
    fputc('\n', out);
}

static void print_job_counters(FILE *out, const json_t *counters)
{
    const char *name, *before = "  ";
    json_t *count;
    json_object_foreach((json_t *)counters, name, count)
    {
        const int64_t value = json_integer_or_text(count);
        if (value == 0) continue;
        fputs(before, out);
        print_escaped(out, name[0] != '\0' ? name : "?", " ");
        fprintf(out, " %lld", (long long)value);
        if (strstr(name, "bytes") != NULL && value >= (int64_t)KIB) {
            char size[TEXT_NUMBER_MAX];
            text_format_bytes(size, (uint64_t)value);
            fprintf(out, " (%s)", size);
        }
        if (strcmp(name, task_counter_names[COUNT_FETCH_WAIT_US]) == 0)
            fprintf(out, " (%.3f s)", (double)value / 1e6);
        before = ", ";
    }
    if (before[0] == ',') fputc('\n', out);
}

static void print_action(FILE *out, const json_t *o)
{
    const json_t *outputs = json_object_get(o, "outputs");
    print_fields(out, o, "action {action:n}: {name}");
    if (history_text(o, "output")[0] != '\0') fputs(" -> ", out);
    print_escaped(out, history_text(o, "output"), " ");
    for (size_t i = 1; i < json_array_size(outputs); i++) {
        const char *text = json_string_value(json_array_get(outputs, i));
        fputs(", ", out);
        print_escaped(out, text != NULL ? text : "?", " ");
    }
    print_numbers(out, ", skips stage", json_object_get(o, "skipped"));
    fputc('\n', out);
}

/* One per line, as `glint explain` prints them. */
static void print_operators(FILE *out, const json_t *stage)
{
    const json_t *list = json_object_get(stage, "operators");
    const json_int_t left_out = json_integer_value(json_object_get(stage, "operator_count")) -
                                (json_int_t)json_array_size(list);
    for (size_t i = 0; i < json_array_size(list); i++) {
        const char *text = json_string_value(json_array_get(list, i));
        fputs("    ", out);
        print_escaped(out, text != NULL ? text : "?", " ");
        fputc('\n', out);
    }
    if (left_out > 0 && json_array_size(list) > 0)
        fprintf(out, "    and %lld more\n", (long long)left_out);
}

static void print_stage_history(FILE *out, const struct history_stage *s)
{
    static const char *const rest[][2] = {{"failed", "failed"},
                                          {"lost", "failed: executor lost"},
                                          {"killed", "killed"},
                                          {"speculative", "speculative"}};
    print_fields(out, s->report, "stage {stage:n}: {name}");
    print_numbers(out, ", after", json_object_get(s->report, "parents"));
    fputc('\n', out);
    print_operators(out, s->report);
    print_fields(out, s->report, "  {tasks:n} task{tasks:+}, {done:n} done");
    for (size_t i = 0; i < sizeof rest / sizeof rest[0]; i++) {
        const json_int_t count = json_integer_value(json_object_get(s->report, rest[i][0]));
        if (count > 0) fprintf(out, ", %lld %s", (long long)count, rest[i][1]);
    }
    if (s->started != NULL && s->ended != NULL)
        print_fields(out, s->report, "; {ms:s} s to {ended_ms:s} s");
    else
        fputs("; not finished", out);
    print_error_of(out, "; ", s->ended);
    fputc('\n', out);
    const json_t *skew = json_object_get(s->report, "skew");
    if (skew != NULL) {
        print_fields(out, s->report,
                     "  task seconds: {min_ms:s} least, {p25_ms:s} 25%, {median_ms:s} median, "
                     "{p75_ms:s} 75%, {max_ms:s} most");
        fprintf(out, "; skew %.1f\n", json_real_value(skew));
    }
    print_job_counters(out, json_object_get(s->report, "counters"));
}

/* ": NAME VALUE, NAME VALUE" */
static void print_values(FILE *out, const json_t *values)
{
    const char *name, *before = ": ";
    json_t *value;
    json_object_foreach((json_t *)values, name, value)
    {
        fputs(before, out);
        print_escaped(out, name, " ");
        if (json_is_string(value)) fputc(' ', out);
        if (json_is_string(value)) print_escaped(out, json_string_value(value), " ");
        if (json_is_integer(value)) fprintf(out, " %lld", (long long)json_integer_value(value));
        if (json_is_real(value)) fprintf(out, " %.6g", json_real_value(value));
        before = ", ";
    }
    fputc('\n', out);
}

static void print_report(FILE *out, const json_t *o)
{
    print_fields(out, o, "{name}");
    print_values(out, json_object_get(o, "fields"));
}

static void print_cached_rdd(FILE *out, const json_t *o)
{
    char in_memory[TEXT_NUMBER_MAX], on_disk[TEXT_NUMBER_MAX];
    text_format_bytes(in_memory,
                      (uint64_t)json_integer_or_text(json_object_get(o, "memory_bytes")));
    text_format_bytes(on_disk, (uint64_t)json_integer_or_text(json_object_get(o, "disk_bytes")));
    print_fields(out, o,
                 "cached RDD {rdd:n}: {name}, persisted: {level}; {blocks:n} of {partitions:n} "
                 "partition{partitions:+}, ");
    fprintf(out, "%s in memory, %s on disk\n", in_memory, on_disk);
}

static void print_event(FILE *out, const json_t *o)
{
    if (history_is_event(o, "retry")) {
        print_fields(out, o,
                     "retry at {ms:s} s: stage {stage:n} task {task:n} attempt {attempt:n} on "
                     "executor {executor:n}");
        print_error_of(out, ": ", o);
        fputc('\n', out);
    } else if (history_is_event(o, "note")) {
        print_fields(out, o, "note: {text}\n");
    } else if (history_is_event(o, "report")) {
        print_report(out, o);
    } else if (history_is_event(o, "output")) {
        print_fields(out, o, "-> {path}\n");
    }
}

void history_print(FILE *out, const struct history *h)
{
    size_t i;
    json_t *o;
    print_job_history(out, h);
    json_array_foreach(json_object_get(h->report, "executors"), i, o) print_executor(out, o);
    json_array_foreach(json_object_get(h->report, "actions"), i, o) print_action(out, o);
    for (uint32_t n = 0; n < h->stage_count; n++) print_stage_history(out, &h->stages[n]);
    json_array_foreach(h->storage, i, o) print_cached_rdd(out, o);
    if (json_object_size(h->accumulators) > 0) {
        fputs("accumulators", out);
        print_values(out, h->accumulators);
    }
    json_array_foreach(h->events, i, o) print_event(out, o);
}

/* jansson escapes only C0 controls. All other control characters are inside strings, so they can be
 * escaped in the output. */
static void print_json_text(FILE *out, const char *text)
{
    const uint8_t *p = (const uint8_t *)text, *end = p + strlen(text);
    for (unsigned size; p < end; p += size) {
        size = utf8_size(p, (uint64_t)(end - p));
        assert(size > 0); /* jansson writes UTF-8 */
        const uint32_t code = utf8_code(p, size);
        if (utf8_is_control(code))
            fprintf(out, "\\u%04x", code);
        else
            fwrite(p, 1, size, out);
    }
}

bool history_print_json(FILE *out, const struct history *h)
{
    char *text = json_dumps(h->report, JSON_COMPACT | JSON_REAL_PRECISION(REAL_DIGITS));
    if (text == NULL) return false;
    print_json_text(out, text);
    fputc('\n', out);
    mem_free(text);
    return true;
}
