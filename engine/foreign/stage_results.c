/* One pass over the lines. The pieces of a task come in order; its files are written as they
 * come. */
#include "engine/base/text.h"
#include "engine/events/counters.h"
#include "engine/foreign/stage_file.h"
#include "engine/net/crypto_library.h"
#include "engine/records/pack.h"

#include <inttypes.h>
#include <string.h>

#define HINT "pass all result lines on, those of one task together and in order"

struct reading {
    struct stage_results *out;
    struct line_input *in;
    uint64_t id;
    const char *const *outputs;
    uint32_t output_count;
    struct env *env;
    bool *done;
    bool open; /* a task's lines are being read */
    uint32_t task, file;
    uint64_t number;           /* of the file's next piece */
    uint64_t pieces, checksum; /* of the task so far */
    int fd;                    /* the output that is being written; -1: none */
    char path[PATH_MAX];
    struct buffer scratch;
    struct counters totals;
};

/* ---- Counters */

static int add_task_counters(struct reading *r, struct glint_slice field, struct glint_error *error)
{
    struct glint_error damaged = {.code = GLINT_OK};
    r->scratch.size = 0;
    if (stage_text_parse(field, &r->scratch, error) != 0) return error->code;
    const int code = counters_add_task(&r->totals, buffer_slice(&r->scratch), &damaged);
    if (code == GLINT_E_NO_MEMORY) return error_no_memory(error);
    return code == 0 ? 0 : line_input_fail(r->in, HINT, error, "the counters are damaged");
}

static int encode_task_counters(const struct counters *c, struct buffer *out,
                                struct glint_error *error)
{
    struct packer p = {.failed = false};
    pack_array(&p, c->count);
    for (uint32_t i = 0; i < c->count; i++) {
        pack_array(&p, 2);
        pack_text(&p, c->names[i]);
        pack_i64(&p, c->values[i]);
    }
    return packer_finish(&p, out, error);
}

/* ---- Files */

static int close_part_file(struct reading *r, struct glint_error *error)
{
    if (r->fd < 0) return 0;
    int code = r->env->sync_file(r->env, r->fd);
    const int closed = r->env->close(r->env, r->fd);
    r->fd = -1;
    if (code == 0) code = closed;
    return code == 0 ? 0 : error_set_system(error, GLINT_E_OUTPUT_IO, code, "close", r->path);
}

/* The result of a task that saves is the name of its files. */
static int create_part_file(struct reading *r, struct glint_error *error)
{
    const struct buffer *name = &r->out->bodies[r->task];
    if (name->size == 0)
        return line_input_fail(r->in, HINT, error, "lines are missing, or not in order");
    if (name->data[0] == '.' || memchr(name->data, '/', name->size) != NULL ||
        memchr(name->data, '\0', name->size) != NULL)
        return line_input_fail(r->in, HINT, error, "the result is not the name of a file");
    if (!text_format(r->path, sizeof r->path, "%s/%.*s", r->outputs[r->file - 1], (int)name->size,
                     (const char *)name->data))
        return error_set(error, GLINT_E_OUTPUT_CREATE, "use a shorter path",
                         "the output path is too long");
    r->fd = r->env->open(r->env, ENV_CWD, r->path, ENV_CREATE_PUBLIC);
    if (r->fd >= 0) return 0;
    return error_set_system(error, GLINT_E_OUTPUT_CREATE, r->fd, "create", r->path);
}

/* Goes on to `file`; those before it without pieces are empty. */
static int begin_part_file(struct reading *r, uint32_t file, struct glint_error *error)
{
    while (r->file < file) {
        if (close_part_file(r, error) != 0) return error->code;
        r->file++;
        r->number = 0;
        if (create_part_file(r, error) != 0) return error->code;
    }
    return 0;
}

/* ---- Lines */

static int add_result_piece(struct reading *r, struct glint_slice field, struct glint_error *error)
{
    struct buffer *to = r->file == 0 ? &r->out->bodies[r->task] : &r->scratch;
    if (r->file > 0) to->size = 0;
    if (stage_text_parse(field, to, error) != 0) return error->code;
    r->number++;
    r->pieces++;
    if (r->file == 0) return 0;
    const int code = env_write_all(r->env, r->fd, to->data, to->size);
    return code == 0 ? 0 : error_set_write(error, GLINT_E_OUTPUT_IO, code, r->path, 0, to->size);
}

static int end_task_result(struct reading *r, struct glint_slice fields, struct glint_error *error)
{
    struct glint_slice field[3], counters;
    uint64_t id, checksum;
    int64_t count;
    for (int i = 0; i < 3; i++)
        if (!glint_next_field(&fields, '\t', &field[i]))
            return line_input_fail(r->in, HINT, error, "the line is damaged");
    if (!stage_text_hex(field[0], &id) || !glint_parse_i64(field[1], &count) ||
        !stage_text_hex(field[2], &checksum))
        return line_input_fail(r->in, HINT, error, "the line is damaged");
    if (id != r->id)
        return line_input_fail(r->in, "gather the results of one stage file", error,
                               "the result is of another stage file");
    if ((uint64_t)count != r->pieces)
        return line_input_fail(r->in, HINT, error, "task %u wrote %lld lines, and %llu arrived",
                               r->task, (long long)count, (unsigned long long)r->pieces);
    if (checksum != stage_line_checksum(r->checksum, stage_text_rest_with_tab(fields)))
        return line_input_fail(r->in, HINT, error, "the lines of task %u have changed", r->task);
    while (glint_next_field(&fields, '\t', &counters))
        if (add_task_counters(r, counters, error) != 0) return error->code;
    if (begin_part_file(r, r->output_count, error) != 0 || close_part_file(r, error) != 0)
        return error->code;
    r->open = false;
    return 0;
}

static int begin_task_result(struct reading *r, uint64_t task, struct glint_error *error)
{
    if (r->open)
        return line_input_fail(r->in, HINT, error, "the lines of task %u are not complete",
                               r->task);
    if (task >= r->out->tasks)
        return line_input_fail(r->in, HINT, error, "there is no task %" PRIu64, task);
    if (r->done[task])
        return line_input_fail(r->in, "use one result of each task", error,
                               "the result of task %" PRIu64 " is there twice", task);
    r->done[task] = r->open = true;
    r->task = (uint32_t)task;
    r->file = 0;
    r->number = r->pieces = r->checksum = 0;
    return 0;
}

static int parse_result_line(struct reading *r, struct glint_slice line, struct glint_error *error)
{
    const struct glint_slice whole = line;
    struct glint_slice key;
    uint64_t task, file, number;
    if (!glint_next_field(&line, '\t', &key) || !stage_key_number(&key, UINT32_MAX, &task) ||
        line.data == NULL)
        return line_input_fail(r->in, HINT, error, "not a result of glint stage");
    if ((!r->open || task != r->task) && begin_task_result(r, task, error) != 0) return error->code;
    if (key.size == 3 && memcmp(key.data, "end", 3) == 0) return end_task_result(r, line, error);
    if (!stage_key_number(&key, UINT32_MAX, &file) ||
        !stage_key_number(&key, UINT64_MAX / 16, &number) || key.size > 0 ||
        file > r->output_count || file < r->file)
        return line_input_fail(r->in, HINT, error, "not a result of this stage");
    if (begin_part_file(r, (uint32_t)file, error) != 0) return error->code;
    if (number != r->number)
        return line_input_fail(r->in, HINT, error, "lines are missing, or not in order");
    r->checksum = stage_line_checksum(r->checksum, whole);
    return add_result_piece(r, line, error);
}

static int check_results_complete(const struct reading *r, struct glint_error *error)
{
    if (r->open)
        return error_set(error, GLINT_E_STAGE_LINES, HINT,
                         "%s: the lines of task %u are not complete", r->in->name, r->task);
    for (uint32_t i = 0; i < r->out->tasks; i++)
        if (!r->done[i])
            return error_set(error, GLINT_E_STAGE_LINES, HINT,
                             "%s: the result of task %u of %u is missing", r->in->name, i,
                             r->out->tasks);
    return 0;
}

int stage_results_read(struct stage_results *out, struct line_input *in, uint64_t id,
                       uint32_t tasks, const char *const *outputs, uint32_t output_count,
                       struct env *env, struct glint_error *error)
{
    struct reading r = {.out = out,
                        .in = in,
                        .id = id,
                        .outputs = outputs,
                        .output_count = output_count,
                        .env = env,
                        .fd = -1};
    struct glint_slice line;
    int code = crypto_library_load(error); /* of stage_text.c */
    if (code != 0) return code;
    out->tasks = tasks;
    out->bodies = mem_zalloc(sizeof *out->bodies * (tasks + 1u));
    r.done = mem_zalloc(tasks + 1u);
    if (out->bodies == NULL || r.done == NULL) code = error_no_memory(error);
    while (code == 0 && (code = line_input_next(in, &line, error)) > 0)
        code = parse_result_line(&r, line, error);
    if (code == 0) code = check_results_complete(&r, error);
    if (code == 0) code = encode_task_counters(&r.totals, &out->counters, error);
    if (r.fd >= 0) env->close(env, r.fd);
    buffer_fini(&r.scratch);
    counters_fini(&r.totals);
    mem_free(r.done);
    return error->code;
}

void stage_results_fini(struct stage_results *r)
{
    for (uint32_t i = 0; r->bodies != NULL && i < r->tasks; i++) buffer_fini(&r->bodies[i]);
    mem_free(r->bodies);
    buffer_fini(&r->counters);
    memset(r, 0, sizeof *r);
}
