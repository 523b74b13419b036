/* Standard error of a command: its last bytes, for the message if the command fails, and the
 * counters that scripts for Hadoop Streaming report there. */
#include "engine/base/text.h"
#include "ops/pipe.h"

#include <stdio.h>

#define REPORTER "reporter:"
#define COUNTER  REPORTER "counter:"
#define TAIL     "; the end of its standard error:\n"

/* Appends to the end, and drops what is before the last bytes. */
static void keep_last_stderr_bytes(struct pipe_errors *e, const char *bytes, uint32_t size)
{
    assert(size <= sizeof e->end && e->end_size <= sizeof e->end);
    uint32_t kept = (uint32_t)sizeof e->end - size;
    if (kept > e->end_size) kept = e->end_size;
    memmove(e->end, e->end + e->end_size - kept, kept);
    memcpy(e->end + kept, bytes, size);
    e->end_size = kept + size;
}

/* GROUP,COUNTER,AMOUNT: what is not of this form is ignored, as in Hadoop. */
static int add_reported_counter(struct glint_task *task, struct glint_slice text)
{
    struct glint_slice field[3], none;
    char name[NAME_BYTES_MAX];
    int64_t amount;
    for (int i = 0; i < 3; i++)
        if (!glint_next_field(&text, ',', &field[i])) return 0;
    if (glint_next_field(&text, ',', &none)) return 0;
    struct glint_slice last = field[2];
    while (last.size > 0 && (last.data[last.size - 1] == ' ' || last.data[last.size - 1] == '\r'))
        last.size--;
    if (!text_parse_i64(last.data, last.size, &amount)) return 0;
    text_format(name, sizeof name, "%.*s: %.*s", (int)field[0].size, (const char *)field[0].data,
                (int)field[1].size, (const char *)field[1].data);
    if (!text_is_printable(name)) return 0;
    int counter = glint_counter(task, name);
    if (counter < 0) return counter;
    glint_counter_add(task, counter, amount);
    return 0;
}

static bool starts_with(const struct pipe_errors *e, const char *prefix)
{
    size_t size = strlen(prefix);
    return !e->is_rest && e->line_size >= size && memcmp(e->line, prefix, size) == 0;
}

/* `whole`: the line has its LF, or the process has ended. */
static int end_stderr_line(struct pipe_errors *e, struct glint_task *task, bool whole)
{
    const uint32_t prefix = sizeof COUNTER - 1;
    int r = 0;
    assert(e->line_size <= sizeof e->line);
    if (starts_with(e, COUNTER)) {
        uint32_t size = e->line_size - prefix;
        if (size > 0 && e->line[e->line_size - 1] == '\n') size--;
        r = add_reported_counter(task,
                                 (struct glint_slice){(const uint8_t *)e->line + prefix, size});
    } else if (!starts_with(e, REPORTER)) {
        keep_last_stderr_bytes(e, e->line, e->line_size);
    }
    e->is_rest = !whole;
    e->line_size = 0;
    return r;
}

int pipe_errors_add(struct pipe_errors *e, struct glint_task *task, const char *bytes,
                    uint64_t size)
{
    int r = 0;
    while (size > 0 && r == 0) {
        const char *lf = memchr(bytes, '\n', size);
        uint64_t n = lf != NULL ? (uint64_t)(lf - bytes) + 1 : size;
        uint64_t room = sizeof e->line - e->line_size;
        if (n > room) n = room;
        memcpy(e->line + e->line_size, bytes, n);
        e->line_size += (uint32_t)n;
        bytes += n;
        size -= n;
        bool whole = e->line[e->line_size - 1] == '\n';
        if (whole || e->line_size == sizeof e->line) r = end_stderr_line(e, task, whole);
    }
    return r;
}

int pipe_errors_finish(struct pipe_errors *e, struct glint_task *task)
{
    return e->line_size > 0 ? end_stderr_line(e, task, true) : 0;
}

int pipe_errors_fail(const struct pipe_errors *e, struct glint_task *task, enum glint_code code,
                     const char *hint, const char *cause, ...)
{
    char text[512], end[sizeof task->error.cause];
    va_list args;
    va_start(args, cause);
    vsnprintf(text, sizeof text, cause, args);
    va_end(args);
    const char *kept = e->end;
    uint64_t size = e->end_size, room = sizeof end - strlen(text) - sizeof TAIL;
    while (size > 0 && kept[size - 1] == '\n') size--;
    if (size > room) {
        kept += size - room;
        size = room;
    }
    for (uint64_t i = 0; i < size; i++) end[i] = kept[i] != '\0' ? kept[i] : ' ';
    return error_set(&task->error, code, hint, "%s%s%.*s", text, size > 0 ? TAIL : "", (int)size,
                     end);
}
