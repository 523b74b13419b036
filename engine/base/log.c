/* Each line is built on the stack and written with one call, so that lines of several threads and
 * processes do not mix, and logging out-of-memory needs no memory.
 *
 * Lines are counted per kind and second in a small table indexed by hash. A flood, as a hostile or
 * broken peer can cause, costs LOG_REPEATS_MAX lines per second and one with the count. */
#include "engine/base/log.h"

#include "engine/base/env.h"
#include "engine/base/hash.h"
#include "engine/base/json.h"
#include "engine/base/text.h"

#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#define STANDARD_ERROR 2
#define LINE_BYTES_MAX 8192
#define EXECUTOR_MAX   128
#define KINDS_MAX      64u
#define KIND_TEXT_MAX  160

struct repeat_counter {
    uint64_t hash, second; /* of the monotonic clock */
    uint32_t count;        /* lines in that second */
    enum log_level level;
    char text[KIND_TEXT_MAX]; /* of the last suppressed line */
};

struct logger {
    pthread_mutex_t lock; /* protects all fields below */
    struct env *env;
    bool json;
    uint64_t bytes_max; /* limit of the file's size; 0: none */
    char executor[EXECUTOR_MAX];
    struct repeat_counter kinds[KINDS_MAX];
};
static _Atomic(const char *) line_start; /* read by signal handlers: not under the lock */
static struct logger logger = {.lock = PTHREAD_MUTEX_INITIALIZER};

static const char *const levels[] = {
    [LOG_INFO] = "info", [LOG_WARN] = "warn", [LOG_ERROR] = "error"};
static_assert(sizeof(struct glint_error) + 512 < LINE_BYTES_MAX, "an error fits one log line");

struct log_record {
    enum log_level level;
    const struct log_ids *ids;
    enum glint_code code; /* GLINT_OK: no code */
    const char *text;
};

struct log_line_buffer {
    char text[LINE_BYTES_MAX];
    size_t size; /* without the NUL */
};

static void append_to_log_line(struct log_line_buffer *b, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Truncates, and leaves one byte for the newline. */
static void append_to_log_line(struct log_line_buffer *b, const char *format, ...)
{
    size_t room = sizeof b->text - 1 - b->size;
    va_list args;
    va_start(args, format);
    int n = vsnprintf(b->text + b->size, room, format, args);
    va_end(args);
    if (n > 0) b->size += (size_t)n < room ? (size_t)n : room - 1;
    assert(b->size < sizeof b->text - 1);
}

static void format_text_line(const struct log_record *l, const char *executor, const char *when,
                             struct log_line_buffer *out)
{
    const struct log_ids *ids = l->ids;
    append_to_log_line(out, "%s", log_line_prefix());
    char *line = out->text + out->size; /* the line start is not text */
    append_to_log_line(out, "%s %s", when, levels[l->level]);
    if (executor[0] != '\0') append_to_log_line(out, " executor=%s", executor);
    if (ids->peer != NULL) append_to_log_line(out, " peer=%s", ids->peer);
    if (ids->job != 0) append_to_log_line(out, " job=%016llx", (unsigned long long)ids->job);
    if (ids->has_task)
        append_to_log_line(out, " stage=%u task=%u attempt=%u", ids->stage, ids->task,
                           ids->attempt);
    append_to_log_line(out, ": ");
    if (l->code != GLINT_OK) append_to_log_line(out, "E%04d ", -l->code);
    append_to_log_line(out, "%s", l->text);
    text_make_printable(line);
    out->size = strlen(out->text);
    out->text[out->size++] = '\n';
}

static void format_json_line(const struct log_record *l, const char *executor, const char *when,
                             struct json *j)
{
    const struct log_ids *ids = l->ids;
    char hex[TEXT_NUMBER_MAX];
    json_begin(j, NULL, '{');
    json_cstring(j, "time", when);
    json_cstring(j, "level", levels[l->level]);
    if (executor[0] != '\0') json_cstring(j, "executor", executor);
    if (ids->peer != NULL) json_cstring(j, "peer", ids->peer);
    if (ids->job != 0) {
        text_format(hex, sizeof hex, "%016llx", (unsigned long long)ids->job);
        json_cstring(j, "job", hex);
    }
    if (ids->has_task) {
        json_u64(j, "stage", ids->stage);
        json_u64(j, "task", ids->task);
        json_u64(j, "attempt", ids->attempt);
    }
    if (l->code != GLINT_OK) {
        text_format(hex, sizeof hex, "E%04d", -l->code);
        json_cstring(j, "code", hex);
    }
    json_cstring(j, "message", l->text);
    json_end(j, '}');
}

/* Caller holds the lock. Several processes append to the same file, so its size must be read. */
static bool log_is_full(struct env *env)
{
    struct env_stat stat;
    return logger.bytes_max > 0 && env->stat_open(env, STANDARD_ERROR, &stat) == 0 &&
           stat.kind == ENV_FILE && stat.size >= logger.bytes_max;
}

/* Caller holds the lock. A line that cannot be written is dropped: there is nowhere to report
 * it. */
static void write_log_line(const struct log_record *l)
{
    static const char lost[] =
        "{\"level\":\"error\",\"message\":\"a log line was lost: out of memory\"}\n";
    struct env *env = logger.env != NULL ? logger.env : env_real();
    const char *executor = l->ids->executor != NULL ? l->ids->executor : logger.executor;
    char when[64];
    if (log_is_full(env)) return;
    text_format_time(when, env->wall_ns(env));
    if (!logger.json) {
        struct log_line_buffer text = {.size = 0};
        format_text_line(l, executor, when, &text);
        (void)env_write_all(env, STANDARD_ERROR, text.text, text.size);
        return;
    }
    struct json j = {.failed = false};
    format_json_line(l, executor, when, &j);
    if (!j.failed && buffer_append(&j.out, "\n", 1))
        (void)env_write_all(env, STANDARD_ERROR, j.out.data, j.out.size);
    else
        (void)env_write_all(env, STANDARD_ERROR, lost, sizeof lost - 1);
    json_fini(&j);
}

/* Caller holds the lock. Logs how many lines of a kind were suppressed in its second. */
static void log_suppressed_lines(struct repeat_counter *k)
{
    static const struct log_ids none;
    char text[KIND_TEXT_MAX + 64];
    if (k->count > LOG_REPEATS_MAX) {
        text_format(text, sizeof text, "%u more lines like this in that second: %s",
                    k->count - LOG_REPEATS_MAX, k->text);
        write_log_line(&(struct log_record){.level = k->level, .ids = &none, .text = text});
    }
    k->count = 0;
}

static void log_suppressed_lines_before(uint64_t before_second)
{
    for (unsigned i = 0; i < KINDS_MAX; i++)
        if (logger.kinds[i].count > 0 && logger.kinds[i].second < before_second)
            log_suppressed_lines(&logger.kinds[i]);
}

static void log_with_rate_limit(const struct log_record *l, uint64_t hash)
{
    static const struct log_ids none;
    struct log_record line = *l;
    if (line.ids == NULL) line.ids = &none;
    pthread_mutex_lock(&logger.lock);
    struct env *env = logger.env != NULL ? logger.env : env_real();
    uint64_t second = env->now_ns(env) / SECOND_NS;
    log_suppressed_lines_before(second);
    struct repeat_counter *k = &logger.kinds[hash % KINDS_MAX];
    if (k->hash != hash || k->second != second) {
        log_suppressed_lines(k);
        k->hash = hash;
        k->second = second;
        k->level = line.level;
    }
    if (++k->count <= LOG_REPEATS_MAX)
        write_log_line(&line);
    else
        text_format(k->text, sizeof k->text, "%s", line.text);
    pthread_mutex_unlock(&logger.lock);
}

void log_configure(struct env *env, bool json, const char *executor)
{
    pthread_mutex_lock(&logger.lock);
    logger.env = env;
    logger.json = json;
    logger.bytes_max = 0;
    text_format(logger.executor, sizeof logger.executor, "%s", executor != NULL ? executor : "");
    memset(logger.kinds, 0, sizeof logger.kinds);
    pthread_mutex_unlock(&logger.lock);
}

void log_limit_bytes(uint64_t bytes)
{
    pthread_mutex_lock(&logger.lock);
    logger.bytes_max = bytes;
    pthread_mutex_unlock(&logger.lock);
}

void log_set_line_prefix(const char *text)
{
    atomic_store(&line_start, text);
}

const char *log_line_prefix(void)
{
    const char *text = atomic_load(&line_start);
    return text != NULL ? text : "";
}

void log_flush_repeats(void)
{
    pthread_mutex_lock(&logger.lock);
    log_suppressed_lines_before(UINT64_MAX);
    pthread_mutex_unlock(&logger.lock);
}

void log_line(enum log_level level, const struct log_ids *ids, const char *format, ...)
{
    assert(level >= LOG_INFO && level <= LOG_ERROR);
    char text[LINE_BYTES_MAX / 2];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    log_with_rate_limit(&(struct log_record){.level = level, .ids = ids, .text = text},
                        hash_seeded(format, strlen(format), (uint64_t)level));
}

void log_error(enum log_level level, const struct log_ids *ids, const struct glint_error *e)
{
    assert(level >= LOG_INFO && level <= LOG_ERROR && e->code < 0);
    char text[sizeof *e + 16];
    text_format(text, sizeof text, "%s%s%s%s%s%s", e->cause, e->effect[0] != '\0' ? "; " : "",
                e->effect, e->hint[0] != '\0' ? " (" : "", e->hint, e->hint[0] != '\0' ? ")" : "");
    log_with_rate_limit(
        &(struct log_record){.level = level, .ids = ids, .code = e->code, .text = text},
        hash_seeded(&e->code, sizeof e->code, (uint64_t)level));
}
