/* Prints a job's history as text, and as one JSON object. All texts come from a file, so they are
 * escaped. */
#include "engine/base/mem.h"
#include "engine/base/text.h"
#include "engine/base/utf8.h"
#include "engine/cli/history.h"
#include "engine/cli/print.h"

#include <assert.h>
#include <float.h>
#include <string.h>

#define EXACT_MAX ((int64_t)1 << 53)
/* Every decimal of this many digits survives the conversion to double: 0.007 stays 0.007. */
#define REAL_DIGITS DBL_DIG

/* "?": missing in the log. */
static void print_text(FILE *out, const char *text)
{
    print_escaped(out, text[0] != '\0' ? text : "?", " ");
}

static double ms_of(const json_t *event)
{
    return json_number_value(json_object_get(event, "ms"));
}

static const char *plural_suffix(uint32_t n)
{
    return n == 1 ? "" : "s";
}

/* Prints "E0908 executor lost: e1 died"; nothing if there is no error. */
static void print_error_of(FILE *out, const char *before, const json_t *event)
{
    const json_t *why = json_object_get(event, "error");
    if (!json_is_object(why)) return;
    fputs(before, out);
    print_text(out, history_text(why, "code"));
    fputc(' ', out);
    print_text(out, history_text(why, "text"));
    fputs(": ", out);
    print_text(out, history_text(why, "cause"));
}

static uint64_t u64_of(const json_t *event, const char *name)
{
    json_int_t value = json_integer_value(json_object_get(event, name));
    return value > 0 ? (uint64_t)value : 0;
}

/* Counted as in the summary of the job. If the log was truncated at its limit, the totals come from
 * its last line. */
struct history_totals {
    uint64_t stages, stages_skipped, tasks, retries, attempts;
};

static struct history_totals totals_of(const struct history *h)
{
    struct history_totals t = {.stages = h->stage_count};
    size_t at;
    json_t *o;
    for (uint32_t i = 0; i < h->stage_count; i++) {
        const struct history_stage *s = &h->stages[i];
        t.tasks += u64_of(s->started, "tasks");
        t.retries += s->retries;
        t.attempts += (uint64_t)s->done + s->failed + s->killed + s->lost;
    }
    json_array_foreach(h->events, at, o)
    {
        t.stages_skipped += json_array_size(json_object_get(o, "skipped"));
    }
    /* Events after the size limit are missing, so counting them would give too little. */
    if (!h->size_limited || h->end == NULL) return t;
    t.stages = u64_of(h->end, "stages");
    t.stages_skipped = u64_of(h->end, "stages_skipped");
    t.tasks = u64_of(h->end, "tasks");
    t.retries = u64_of(h->end, "retries");
    return t;
}

static void print_totals(FILE *out, const struct history_totals *t)
{
    fprintf(out, "%llu stage%s", (unsigned long long)t->stages, t->stages == 1 ? "" : "s");
    if (t->stages_skipped > 0)
        fprintf(out, " (%llu skipped)", (unsigned long long)t->stages_skipped);
    fprintf(out, ", %llu task%s in %llu attempt%s, %llu retr%s\n", (unsigned long long)t->tasks,
            t->tasks == 1 ? "" : "s", (unsigned long long)t->attempts, t->attempts == 1 ? "" : "s",
            (unsigned long long)t->retries, t->retries == 1 ? "y" : "ies");
}

static void print_job(FILE *out, const struct history *h)
{
    const struct history_totals totals = totals_of(h);
    print_text(out, history_text(h->job, "name"));
    fputs(", job ", out);
    print_text(out, history_text(h->job, "id"));
    fputs(" on ", out);
    print_text(out, history_text(h->job, "master"));
    fputs(", version ", out);
    print_text(out, history_text(h->job, "version"));
    fputs(", started ", out);
    print_text(out, history_text(h->job, "time"));
    fputs("\n  ", out);
    bool failed = json_is_object(json_object_get(h->end, "error"));
    fputs(h->end == NULL ? "incomplete: the job is running or was killed; last event"
          : failed       ? "failed"
                         : "ok",
          out);
    fprintf(out, " after %.3f s; ", (h->end != NULL ? ms_of(h->end) : h->last_ms) / 1000);
    print_totals(out, &totals);
    if (failed) {
        print_error_of(out, "  ", h->end);
        fputc('\n', out);
    }
    if (h->truncated_line) fputs("  ignored a truncated last line\n", out);
    if (h->size_limited) fputs("  log size limit reached; later events are missing\n", out);
}

static void print_executors(FILE *out, const struct history *h)
{
    for (uint32_t i = 0; i < h->executor_count; i++) {
        const struct history_executor *e = &h->executors[i];
        if (e->joined == NULL && e->last == NULL && e->tasks == 0) continue;
        fprintf(out, "executor %u: ", i);
        print_text(out, history_text(e->joined, "name"));
        fputs(" at ", out);
        print_text(out, history_text(e->joined, "host"));
        fprintf(out, ", %lld slot%s, joined at %.3f s; %u attempt%s, %u failed\n",
                (long long)json_integer_value(json_object_get(e->joined, "slots")),
                plural_suffix((uint32_t)json_integer_value(json_object_get(e->joined, "slots"))),
                ms_of(e->joined) / 1000, e->tasks, plural_suffix(e->tasks), e->failed);
        if (e->last == NULL) continue;
        fputs("  ", out);
        print_text(out, history_text(e->last, "state"));
        fprintf(out, " at %.3f s", ms_of(e->last) / 1000);
        print_error_of(out, ": ", e->last);
        fputc('\n', out);
    }
}

static void print_counters(FILE *out, const struct history_stage *s)
{
    bool first = true;
    for (uint32_t i = 0; i < s->counter_count; i++) {
        const struct history_counter *c = &s->counters[i];
        if (c->value == 0) continue;
        fputs(first ? "  " : ", ", out);
        print_text(out, c->name);
        fprintf(out, " %lld", (long long)c->value);
        if (strstr(c->name, "bytes") != NULL && c->value >= (int64_t)KIB) {
            char size[TEXT_NUMBER_MAX];
            text_format_bytes(size, (uint64_t)c->value);
            fprintf(out, " (%s)", size);
        }
        first = false;
    }
    if (!first) fputc('\n', out);
}

static void print_action(FILE *out, const json_t *o)
{
    const json_t *skipped = json_object_get(o, "skipped");
    fprintf(out, "action %llu: ", (unsigned long long)u64_of(o, "action"));
    print_text(out, history_text(o, "name"));
    const json_t *outputs = json_object_get(o, "outputs");
    if (history_text(o, "output")[0] != '\0') fputs(" -> ", out);
    print_escaped(out, history_text(o, "output"), " ");
    for (size_t i = 1; i < json_array_size(outputs); i++) {
        fputs(", ", out);
        print_escaped(out, json_string_value(json_array_get(outputs, i)), " ");
    }
    for (size_t i = 0; i < json_array_size(skipped); i++)
        fprintf(out, "%s %lld", i == 0 ? ", skips stage" : ",",
                (long long)json_integer_value(json_array_get(skipped, i)));
    fputc('\n', out);
}

static void print_stage(FILE *out, const struct history_stage *s)
{
    const json_t *parents = json_object_get(s->started, "parents");
    fprintf(out, "stage %u: ", s->number);
    print_text(out, history_text(s->started, "name"));
    for (size_t i = 0; i < json_array_size(parents); i++)
        fprintf(out, "%s %lld", i == 0 ? ", after" : ",",
                (long long)json_integer_value(json_array_get(parents, i)));
    fprintf(out, "\n  %lld task%s, %u done",
            (long long)json_integer_value(json_object_get(s->started, "tasks")),
            plural_suffix((uint32_t)json_integer_value(json_object_get(s->started, "tasks"))),
            s->done);
    const struct {
        uint32_t count;
        const char *text;
    } rest[] = {{s->failed, "failed"},
                {s->lost, "failed: executor lost"},
                {s->killed, "killed"},
                {s->speculative, "speculative"}};
    for (size_t i = 0; i < sizeof rest / sizeof rest[0]; i++)
        if (rest[i].count > 0) fprintf(out, ", %u %s", rest[i].count, rest[i].text);
    if (s->started != NULL && s->ended != NULL)
        fprintf(out, "; %.3f s to %.3f s", ms_of(s->started) / 1000, ms_of(s->ended) / 1000);
    else
        fputs("; not finished", out);
    print_error_of(out, "; ", s->ended);
    fputc('\n', out);
    if (s->task_count > 0)
        fprintf(out,
                "  task seconds: %.3f least, %.3f 25%%, %.3f median, %.3f 75%%, %.3f most; "
                "skew %.1f\n",
                history_quantile(s, 0) / 1000, history_quantile(s, 0.25) / 1000,
                history_quantile(s, 0.5) / 1000, history_quantile(s, 0.75) / 1000,
                history_quantile(s, 1) / 1000, history_skew(s));
    print_counters(out, s);
}

static void print_actions(FILE *out, const struct history *h)
{
    size_t i;
    json_t *o;
    json_array_foreach(h->events, i, o)
    {
        if (history_is_event(o, "action")) print_action(out, o);
    }
}

static void print_retries_and_notes(FILE *out, const struct history *h)
{
    size_t i;
    json_t *o;
    json_array_foreach(h->events, i, o)
    {
        if (history_is_event(o, "retry")) {
            fprintf(out, "retry at %.3f s: stage %lld task %lld attempt %lld on executor %lld",
                    ms_of(o) / 1000, (long long)json_integer_value(json_object_get(o, "stage")),
                    (long long)json_integer_value(json_object_get(o, "task")),
                    (long long)json_integer_value(json_object_get(o, "attempt")),
                    (long long)json_integer_value(json_object_get(o, "executor")));
            print_error_of(out, ": ", o);
            fputc('\n', out);
        } else if (history_is_event(o, "note") || history_is_event(o, "output")) {
            fputs(history_is_event(o, "note") ? "note: " : "-> ", out);
            print_text(out, history_text(o, history_is_event(o, "note") ? "text" : "path"));
            fputc('\n', out);
        }
    }
}

void history_print(FILE *out, const struct history *h)
{
    assert(h->job != NULL);
    print_job(out, h);
    print_executors(out, h);
    print_actions(out, h);
    for (uint32_t i = 0; i < h->stage_count; i++) print_stage(out, &h->stages[i]);
    print_retries_and_notes(out, h);
}

/* ---- JSON. json_*_set_new return -1 for a NULL value, so checking `failed` is enough. */

static bool add_field(json_t *o, const char *name, json_t *value)
{
    return json_object_set_new(o, name, value) == 0;
}

static json_t *counter_json(int64_t value)
{
    char text[TEXT_NUMBER_MAX];
    if (value >= -EXACT_MAX && value <= EXACT_MAX) return json_integer(value);
    text_format_i64(text, value);
    return json_string(text);
}

/* The stage event, extended by statistics of its tasks. */
static json_t *stage_json(const struct history_stage *s)
{
    static const struct {
        const char *name;
        double q;
    } quantiles[] = {{"min_ms", 0},    {"p25_ms", 0.25}, {"median_ms", 0.5},
                     {"p75_ms", 0.75}, {"p95_ms", 0.95}, {"max_ms", 1}};
    json_t *o = s->started != NULL ? json_copy((json_t *)s->started) : json_object();
    json_t *counters = json_object();
    bool ok = add_field(o, "stage", json_integer(s->number)) &&
              add_field(o, "done", json_integer(s->done)) &&
              add_field(o, "failed", json_integer(s->failed)) &&
              add_field(o, "lost", json_integer(s->lost)) &&
              add_field(o, "killed", json_integer(s->killed)) &&
              add_field(o, "speculative", json_integer(s->speculative)) &&
              add_field(o, "retries", json_integer(s->retries)) &&
              add_field(o, "ended_ms", s->ended != NULL ? json_real(ms_of(s->ended)) : json_null());
    for (size_t i = 0; s->task_count > 0 && i < sizeof quantiles / sizeof quantiles[0]; i++)
        ok = ok && add_field(o, quantiles[i].name, json_real(history_quantile(s, quantiles[i].q)));
    if (s->task_count > 0) ok = ok && add_field(o, "skew", json_real(history_skew(s)));
    for (uint32_t i = 0; i < s->counter_count; i++)
        ok = ok && add_field(counters, s->counters[i].name, counter_json(s->counters[i].value));
    if (ok && json_object_set(o, "counters", counters) == 0) {
        json_decref(counters);
        return o;
    }
    json_decref(counters);
    json_decref(o);
    return NULL;
}

static json_t *executor_json(const struct history_executor *e, uint32_t number)
{
    json_t *o = e->joined != NULL ? json_copy((json_t *)e->joined) : json_object();
    bool ok = add_field(o, "executor", json_integer(number)) &&
              add_field(o, "attempts", json_integer(e->tasks)) &&
              add_field(o, "failed", json_integer(e->failed)) &&
              add_field(o, "last", e->last != NULL ? json_incref((json_t *)e->last) : json_null());
    if (ok) return o;
    json_decref(o);
    return NULL;
}

/* Returns all events of one type. */
static json_t *events_json(const struct history *h, const char *event)
{
    size_t i;
    json_t *o, *list = json_array();
    bool ok = list != NULL;
    json_array_foreach(h->events, i, o)
    {
        if (history_is_event(o, event)) ok = ok && json_array_append(list, o) == 0;
    }
    if (ok) return list;
    json_decref(list);
    return NULL;
}

static json_t *entries_json(const struct history *h, bool executors)
{
    json_t *list = json_array();
    bool ok = list != NULL;
    uint32_t count = executors ? h->executor_count : h->stage_count;
    for (uint32_t i = 0; ok && i < count; i++) {
        const struct history_executor *e = executors ? &h->executors[i] : NULL;
        if (e != NULL && e->joined == NULL && e->last == NULL && e->tasks == 0) continue;
        ok = json_array_append_new(list, e != NULL ? executor_json(e, i)
                                                   : stage_json(&h->stages[i])) == 0;
    }
    if (ok) return list;
    json_decref(list);
    return NULL;
}

static const char *status_of(const struct history *h)
{
    if (h->end == NULL) return "incomplete";
    return json_is_object(json_object_get(h->end, "error")) ? "failed" : "ok";
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
    json_t *o = json_object();
    const struct history_totals totals = totals_of(h);
    assert(h->job != NULL);
    bool ok = add_field(o, "schema", json_integer(1)) &&
              add_field(o, "status", json_string(status_of(h))) &&
              add_field(o, "job", json_incref((json_t *)h->job)) &&
              add_field(o, "end", h->end != NULL ? json_incref((json_t *)h->end) : json_null()) &&
              add_field(o, "stage_count", json_integer((json_int_t)totals.stages)) &&
              add_field(o, "stages_skipped", json_integer((json_int_t)totals.stages_skipped)) &&
              add_field(o, "tasks", json_integer((json_int_t)totals.tasks)) &&
              add_field(o, "attempts", json_integer((json_int_t)totals.attempts)) &&
              add_field(o, "retry_count", json_integer((json_int_t)totals.retries)) &&
              add_field(o, "last_ms", json_real(h->last_ms)) &&
              add_field(o, "truncated_line", json_boolean(h->truncated_line)) &&
              add_field(o, "size_limited", json_boolean(h->size_limited)) &&
              add_field(o, "executors", entries_json(h, true)) &&
              add_field(o, "stages", entries_json(h, false)) &&
              add_field(o, "actions", events_json(h, "action")) &&
              add_field(o, "retries", events_json(h, "retry")) &&
              add_field(o, "outputs", events_json(h, "output")) &&
              add_field(o, "notes", events_json(h, "note"));
    char *text = ok ? json_dumps(o, JSON_COMPACT | JSON_REAL_PRECISION(REAL_DIGITS)) : NULL;
    json_decref(o);
    if (text == NULL) return false;
    print_json_text(out, text);
    fputc('\n', out);
    mem_free(text);
    return true;
}
