/* pipe: the lines of a partition go through a process. With `combine` they are sorted by key before
 * it, in memory: when that is full they go through a process, and another one follows. */
#include "ops/pipe.h"

#include "engine/base/endian.h"
#include "engine/base/text.h"
#include "engine/records/sort.h"

#include <errno.h>

/* ---- Files of a command: broadcasts, which an executor writes to its work directory when a
 * command first needs them. They are removed with the broadcast (executor.c), or at its end. */

#define PYTHON        "python"
#define PYTHON_NORMAL "python3" /* found in $PATH */

/* Attempts in this process may write at the same time: each has a file; the last rename wins. */
static int write_command_file(struct glint_task *task, const char *path, struct glint_slice data)
{
    struct env *env = task->env;
    char attempt[PATH_MAX];
    if (!text_format(attempt, sizeof attempt, "%s.%llu", path,
                     (unsigned long long)task->attempt_id))
        return -ENAMETOOLONG;
    const int file = env->open(env, ENV_CWD, attempt, ENV_CREATE);
    if (file < 0) return file;
    int r = env_write_all(env, file, data.data, data.size);
    env->close(env, file);
    if (r == 0) r = env->rename(env, ENV_CWD, attempt, ENV_CWD, path, ENV_RENAME_REPLACE);
    if (r != 0) (void)env->remove(env, ENV_CWD, attempt, false); /* the first error counts */
    return r;
}

/* Returns the path of the file, in the task's arena; NULL with the task's error set. */
static const char *find_command_file(struct glint_task *task, const char *name)
{
    struct env *env = task->env;
    struct glint_slice data;
    struct env_stat stat;
    char path[PATH_MAX];
    uint64_t id;
    if (arg_broadcast_find(task, name, &id, &data) != 0) return NULL;
    if (!task_command_file(task->options, id, path)) {
        error_set(&task->error, GLINT_E_WORK_DIR, "use a shorter work_dir",
                  "the work directory's path is too long");
        return NULL;
    }
    int r = env->stat(env, path, &stat);
    if (r == -ENOENT) r = write_command_file(task, path, data);
    if (r != 0) error_set_system(&task->error, GLINT_E_SPILL_IO, r, "write", path);
    if (r != 0) return NULL;
    const char *copy = arena_strdup(&task->arena, path);
    if (copy == NULL) error_no_memory(&task->error);
    return copy;
}

/* Replaces a word {NAME}REST. */
static int expand_word(struct glint_task *task, char **word)
{
    const char *end = **word == '{' ? strchr(*word, '}') : NULL;
    if (end == NULL) return 0;
    const char *name = arena_format(&task->arena, "%.*s", (int)(end - *word - 1), *word + 1);
    if (name == NULL) return error_no_memory(&task->error);
    const char *python = task->options->python != NULL ? task->options->python : PYTHON_NORMAL;
    const char *path = strcmp(name, PYTHON) == 0 ? python : find_command_file(task, name);
    if (path == NULL) return task->error.code;
    *word = arena_format(&task->arena, "%s%s", path, end + 1);
    return *word != NULL ? 0 : error_no_memory(&task->error);
}

/* Replaces the names of files by their paths, after it has written those that this executor does
 * not have yet. */
static int pipe_files_expand(struct glint_task *task, struct pipe_command *command)
{
    const struct glint_slice before = task->args;
    int r = 0;
    if (command->files.size == 0) return 0;
    task->args = command->files;
    for (char **word = command->words; *word != NULL && r == 0; word++) r = expand_word(task, word);
    for (char **word = command->worker; word != NULL && *word != NULL && r == 0; word++)
        r = expand_word(task, word);
    task->args = before;
    return r;
}

/* ---- Lines sorted by key, for a combiner: as many as fit into a share of the slot's memory. */

struct pipe_sort_line {
    uint64_t at;
    uint32_t key_size, size; /* of the line with its LF */
};

/* Zeros are empty. Task's thread. */
struct pipe_sort {
    struct buffer bytes;
    struct pipe_sort_line *lines;
    struct sort_entry *entries; /* once sorted */
    uint64_t count, capacity;
};

#define MEMORY_SHARE 8u

/* Adds the last `size` bytes of `bytes`, a line whose first `key_size` bytes are its key. Returns
 * false when out of memory. */
static bool pipe_sort_add(struct pipe_sort *s, uint64_t key_size, uint64_t size)
{
    assert(size <= s->bytes.size && key_size < size && size <= UINT32_MAX);
    if (!array_reserve(&s->lines, &s->capacity, s->count + 1, sizeof *s->lines)) return false;
    s->lines[s->count++] = (struct pipe_sort_line){
        .at = s->bytes.size - size, .key_size = (uint32_t)key_size, .size = (uint32_t)size};
    return true;
}

/* Whether a share of the memory is used. */
static bool pipe_sort_is_full(const struct pipe_sort *s, uint64_t memory_bytes)
{
    uint64_t each = sizeof *s->lines + 2 * sizeof *s->entries;
    return s->bytes.size + s->count * each >= memory_bytes / MEMORY_SHARE;
}

static struct glint_slice pipe_sort_key_of(const void *arg, uint64_t reference)
{
    const struct pipe_sort *s = arg;
    const struct pipe_sort_line *line = &s->lines[reference];
    return (struct glint_slice){s->bytes.data + line->at, line->key_size};
}

/* Stable. Returns false when out of memory. */
static bool pipe_sort_run(struct pipe_sort *s)
{
    struct sort_entry *scratch = mem_alloc(s->count * sizeof *scratch);
    assert(s->entries == NULL && s->count > 0);
    s->entries = mem_alloc(s->count * sizeof *s->entries);
    bool ok = scratch != NULL && s->entries != NULL;
    for (uint64_t i = 0; ok && i < s->count; i++)
        s->entries[i] = (struct sort_entry){sort_key_prefix(pipe_sort_key_of(s, i), 0, false),
                                            sort_pack_reference(0, i)};
    const struct sort_keys keys = {.get = pipe_sort_key_of, .arg = s};
    if (ok) sort_entries(s->entries, scratch, s->count, false, &keys);
    mem_free(scratch);
    return ok;
}

/* Returns line i of the sorted ones. */
static struct glint_slice pipe_sort_at(const struct pipe_sort *s, uint64_t i)
{
    assert(s->entries != NULL && i < s->count);
    const struct pipe_sort_line *line = &s->lines[sort_entry_reference(&s->entries[i])];
    return (struct glint_slice){s->bytes.data + line->at, line->size};
}

static void pipe_sort_clear(struct pipe_sort *s)
{
    mem_free(s->entries);
    s->entries = NULL;
    s->count = s->bytes.size = 0;
}

static void pipe_sort_fini(struct pipe_sort *s)
{
    mem_free(s->entries);
    mem_free(s->lines);
    buffer_fini(&s->bytes);
    *s = (struct pipe_sort){.count = 0};
}

#define INPUT_BYTES (128 * KIB) /* lines are collected before a write */

struct pipe_state {
    struct pipe_command command;
    struct pipe_process process;
    bool started;
    struct buffer input;
    struct pipe_sort sorted; /* combine */
};

#define PARAMETERS 10u /* of a pipe, packed */

/* ---- The executor half */

/* Texts of a msgpack array, as a list that ends with NULL; NULL with the task's error set. */
static char **decode_text_list(struct glint_task *task, struct unpacker *u)
{
    struct unpacker texts = unpack_array(u);
    char **out = task_alloc(task, sizeof *out * (texts.count + 1));
    for (uint64_t i = 0; out != NULL && i < texts.count && !texts.failed; i++) {
        struct glint_slice text = unpack_bytes(&texts);
        out[i] = task_alloc(task, text.size + 1);
        if (out[i] == NULL) return NULL;
        if (text.size > 0) memcpy(out[i], text.data, text.size);
        out[i][text.size] = '\0';
    }
    if (out != NULL) out[texts.count] = NULL;
    u->failed = u->failed || !unpack_is_complete(&texts);
    return out;
}

static int decode_pipe_command(struct glint_task *task, struct glint_slice params,
                               struct pipe_command *out)
{
    struct unpacker u = unpack_begin(params);
    out->words = decode_text_list(task, &u);
    out->variables = out->words != NULL ? decode_text_list(task, &u) : NULL;
    if (out->variables == NULL) return task->error.code;
    struct unpacker ok = unpack_array(&u);
    while (!ok.failed && ok.next < ok.count) out->ok[unpack_u64(&ok, 255)] = true;
    out->combine = unpack_u64(&u, 1) != 0;
    out->is_map = unpack_u64(&u, 1) != 0;
    out->record_input = unpack_u64(&u, 1) != 0;
    out->record_output = unpack_u64(&u, 1) != 0;
    out->job = unpack_u64(&u, UINT64_MAX);
    out->worker = decode_text_list(task, &u);
    if (out->worker == NULL) return task->error.code;
    if (out->worker[0] == NULL) out->worker = NULL;
    out->files = unpack_bytes(&u);
    if (unpack_is_complete(&u) && unpack_is_complete(&ok) && out->words[0] != NULL) return 0;
    return error_set(&task->error, GLINT_E_PROTOCOL, NULL,
                     "cannot decode the parameters of a pipe");
}

static int pipe_open(void *state, const struct op_open *o)
{
    struct pipe_state *s = state;
    int r = decode_pipe_command(o->task, o->params, &s->command);
    if (r != 0) return r;
    s->command.key = o->out.key;
    s->command.value = o->out.value;
    pipe_process_init(&s->process, o->task, &s->command);
    if (o->task->options->allow_commands) {
        r = pipe_files_expand(o->task, &s->command);
        if (r == 0) pipe_process_init(&s->process, o->task, &s->command); /* for its text */
        return r;
    }
    return error_set(&o->task->error, GLINT_E_COMMAND_NOT_ALLOWED,
                     "set allow_commands = true in the cluster.toml of the daemons, or "
                     "--allow-commands for glint executor --join and glint stage map or reduce",
                     "this executor may not run %s", s->process.text);
}

static enum flow write_pipe_input(struct pipe_state *s)
{
    enum flow flow = pipe_process_write(&s->process, s->input.data, s->input.size);
    s->input.size = 0;
    return flow;
}

/* The bytes of a cell in a record; those of a number are put into `number`. */
static struct glint_slice cell_bytes(enum glint_type type, const union glint_value *cell,
                                     uint8_t number[sizeof(uint64_t)])
{
    uint64_t bits;
    if (type == GLINT_NONE) return (struct glint_slice){NULL, 0};
    if (type != GLINT_I64 && type != GLINT_F64) return cell->bytes;
    static_assert(sizeof bits == sizeof cell->i64 && sizeof bits == sizeof cell->f64,
                  "a record of numbers has 8 bytes");
    memcpy(&bits, cell, sizeof bits);
    put_le64(number, bits);
    return (struct glint_slice){number, sizeof bits};
}

/* Appends a record, or its line. Returns its size; 0 with the task's error set. */
static uint64_t append_record_line(struct pipe_state *s, struct buffer *b,
                                   const struct glint_batch *batch, uint32_t row)
{
    const struct glint_slice lf = {(const uint8_t *)"\n", 1}, tab = {(const uint8_t *)"\t", 1};
    const struct glint_record r = glint_batch_record(batch, row);
    const struct glint_slice parts[] = {r.key.bytes, tab, r.value.bytes, lf};
    const uint32_t first = batch->key.type != GLINT_NONE ? 0 : 2;
    uint64_t before = b->size;
    if (s->command.record_input) {
        uint8_t numbers[2][sizeof(uint64_t)];
        const struct glint_slice key = cell_bytes(batch->key.type, &r.key, numbers[0]);
        const struct glint_slice value = cell_bytes(batch->value.type, &r.value, numbers[1]);
        if (pipe_record_append(b, key, value)) return b->size - before;
        error_no_memory(&s->process.task->error);
        return 0;
    }
    for (uint32_t i = first; i < sizeof parts / sizeof parts[0]; i++) {
        if (buffer_append(b, parts[i].data, parts[i].size)) continue;
        error_no_memory(&s->process.task->error);
        return 0;
    }
    return b->size - before;
}

static enum flow write_rows_to_command(struct pipe_state *s, const struct glint_batch *batch)
{
    enum flow flow = FLOW_MORE;
    for (uint32_t row = 0; flow == FLOW_MORE && row < batch->rows; row++) {
        if (append_record_line(s, &s->input, batch, row) == 0) return FLOW_FAIL;
        if (s->input.size >= INPUT_BYTES) flow = write_pipe_input(s);
    }
    return flow == FLOW_MORE ? write_pipe_input(s) : flow;
}

/* ---- Combine */

/* Runs the command on the lines collected so far, sorted. */
static enum flow run_combine_command(struct pipe_state *s, struct glint_emitter *out)
{
    enum flow flow = FLOW_MORE;
    if (s->sorted.count == 0) return FLOW_MORE;
    if (!pipe_sort_run(&s->sorted)) {
        error_no_memory(&s->process.task->error);
        return FLOW_FAIL;
    }
    if (pipe_process_start(&s->process, out) != 0) return FLOW_FAIL;
    for (uint64_t i = 0; flow == FLOW_MORE && i < s->sorted.count; i++) {
        struct glint_slice line = pipe_sort_at(&s->sorted, i);
        if (!buffer_append(&s->input, line.data, line.size)) {
            error_no_memory(&s->process.task->error);
            return FLOW_FAIL;
        }
        if (s->input.size >= INPUT_BYTES) flow = write_pipe_input(s);
    }
    if (flow == FLOW_MORE) flow = write_pipe_input(s);
    if (flow == FLOW_MORE) flow = pipe_process_finish(&s->process);
    pipe_sort_clear(&s->sorted);
    return flow;
}

static enum flow collect_rows_to_combine(struct pipe_state *s, const struct glint_batch *batch,
                                         struct glint_emitter *out)
{
    enum flow flow = FLOW_MORE;
    for (uint32_t row = 0; flow == FLOW_MORE && row < batch->rows; row++) {
        uint64_t size = append_record_line(s, &s->sorted.bytes, batch, row);
        if (size == 0) return FLOW_FAIL;
        if (!pipe_sort_add(&s->sorted, glint_column_slice(&batch->key, row).size, size)) {
            error_no_memory(&s->process.task->error);
            return FLOW_FAIL;
        }
        if (pipe_sort_is_full(&s->sorted, s->process.task->options->memory_bytes))
            flow = run_combine_command(s, out);
    }
    return flow;
}

/* ---- Records in, lines out */

static bool start_command_once(struct pipe_state *s, struct glint_emitter *out)
{
    if (s->started) return true;
    s->started = true;
    return pipe_process_start(&s->process, out) == 0;
}

static enum flow pipe_push(void *state, const struct glint_batch *batch, struct glint_emitter *out)
{
    struct pipe_state *s = state;
    const struct glint_column *c = &batch->value;
    if (s->command.combine) return collect_rows_to_combine(s, batch, out);
    if (!start_command_once(s, out)) return FLOW_FAIL;
    bool consecutive = !s->command.record_input && batch->key.type == GLINT_NONE &&
                       c->lines != NULL && c->lines == c->start;
    if (!consecutive) return write_rows_to_command(s, batch);
    return pipe_process_write(&s->process, c->base + c->start[0],
                              c->end[batch->rows - 1] + 1 - c->start[0]);
}

/* A process is started for a partition without records, too. */
static enum flow pipe_finish(void *state, struct glint_emitter *out)
{
    struct pipe_state *s = state;
    if (out->flow != FLOW_MORE) return out->flow;
    if (s->command.combine) return run_combine_command(s, out);
    if (!start_command_once(s, out)) return FLOW_FAIL;
    enum flow flow = FLOW_MORE;
    if (s->command.record_input && !pipe_records_append_end(&s->input)) {
        error_no_memory(&s->process.task->error);
        return FLOW_FAIL;
    }
    if (s->command.record_input) flow = write_pipe_input(s);
    return flow == FLOW_MORE ? pipe_process_finish(&s->process) : flow;
}

static void pipe_close(void *state)
{
    struct pipe_state *s = state;
    if (s->process.task != NULL) pipe_process_close(&s->process);
    pipe_sort_fini(&s->sorted);
    buffer_fini(&s->input);
}

/* ---- The driver half */

static void pack_text_list(struct packer *p, const char *const *texts)
{
    uint32_t count = 0;
    while (texts != NULL && texts[count] != NULL) count++;
    pack_array(p, count);
    for (uint32_t i = 0; i < count; i++)
        pack_bytes(p, (struct glint_slice){(const uint8_t *)texts[i], strlen(texts[i])});
}

static void pack_exit_statuses(struct packer *p, const int *ok)
{
    static const int success[] = {0, -1};
    uint32_t count = 0;
    if (ok == NULL) ok = success;
    while (ok[count] >= 0) count++;
    pack_array(p, count);
    for (uint32_t i = 0; i < count; i++) pack_u64(p, (uint64_t)ok[i]);
}

/* Returns why the command cannot be one; NULL: no reason. */
static const char *find_command_mistake(const struct glint_rdd *rdd, const struct glint_command *c)
{
    const struct glint_schema in = rdd->schema;
    bool key = in.key == GLINT_NONE || in.key == GLINT_TEXT || in.key == GLINT_BYTES;
    if (!c->record_input && (!key || (in.value != GLINT_TEXT && in.value != GLINT_BYTES)))
        return "the elements, or keys and values, must be text or bytes";
    if (c->combine && in.key == GLINT_NONE) return "combine needs keys";
    if (c->combine && (c->record_input || c->record_output)) return "combine is for lines";
    const struct glint_schema out = c->output;
    const bool out_key = out.key == GLINT_NONE || out.key == GLINT_TEXT || out.key == GLINT_BYTES;
    if (c->record_output && (!out_key || (out.value != GLINT_TEXT && out.value != GLINT_BYTES)))
        return "the output must be text or bytes";
    if (c->worker != NULL && c->worker[0] == NULL) return "worker is empty";
    for (const char *const *word = c->worker; word != NULL && *word != NULL; word++)
        if (**word == '\0') return "a word of worker is empty";
    if (c->argv == NULL || c->argv[0] == NULL || c->argv[0][0] == '\0') return "argv is empty";
    for (const char *const *v = c->env; v != NULL && *v != NULL; v++)
        if (strchr(*v, '=') == NULL || **v == '=') return "env must have the form NAME=VALUE";
    for (const int *status = c->ok; status != NULL && *status >= 0; status++)
        if (*status > 255) return "exit statuses are at most 255";
    return NULL;
}

/* Whether its stage reads an input, and not a shuffle. */
static bool is_in_map_stage(const struct glint_rdd *rdd)
{
    while (rdd->parent_count > 0 && rdd->op->kind != OP_WIDE) rdd = rdd->parents[0];
    return rdd->op->kind != OP_WIDE;
}

struct glint_rdd *glint_pipe_command(struct glint_rdd *rdd, const struct glint_command *command)
{
    if (rdd == NULL) return rdd_fail_null("pipe");
    const char *mistake = find_command_mistake(rdd, command);
    if (mistake != NULL) return rdd_fail(rdd, GLINT_E_PLAN_ARGUMENT, "pipe: %s", mistake);
    const struct glint_schema lines = {GLINT_NONE, GLINT_TEXT};
    const struct rdd_spec spec = {.op = &op_pipe,
                                  .parents = {rdd},
                                  .schema = command->record_output ? command->output : lines};
    struct glint_slice files = {NULL, 0};
    if (command->files != NULL) {
        files = args_encode(rdd->g, NULL, command->files, NULL);
        if (files.data == NULL) return NULL;
    }
    struct packer p = {.failed = false};
    pack_array(&p, PARAMETERS);
    pack_text_list(&p, command->argv);
    pack_text_list(&p, command->env);
    pack_exit_statuses(&p, command->ok);
    pack_u64(&p, command->combine);
    pack_u64(&p, is_in_map_stage(rdd));
    pack_u64(&p, command->record_input);
    pack_u64(&p, command->record_output);
    pack_u64(&p, glint_job_id(rdd->g));
    pack_text_list(&p, command->worker);
    pack_bytes(&p, files);
    if (p.out.size <= ARGS_BYTES_MAX) {
        struct glint_rdd *made = rdd_create_packed(rdd->g, &spec, &p);
        if (made == NULL || command->files == NULL || rdd_ref_broadcasts(made, command->files))
            return made;
        error_no_memory(&rdd->g->error);
        return NULL;
    }
    packer_fini(&p);
    return rdd_fail(rdd, GLINT_E_PLAN_ARGUMENT,
                    "pipe: the command and its environment exceed 1 "
                    "MiB");
}

struct glint_rdd *glint_pipe(struct glint_rdd *rdd, const char *const *argv, const char *const *env)
{
    return glint_pipe_command(rdd, &(const struct glint_command){.argv = argv, .env = env});
}

/* The words of the command; a longer one is cut. */
static void pipe_describe(struct glint_slice params, char *out, size_t capacity)
{
    struct unpacker u = unpack_begin(params), words = unpack_array(&u);
    size_t used = 0;
    out[0] = '\0';
    while (words.next < words.count && !words.failed && used + 1 < capacity) {
        const struct glint_slice word = unpack_bytes(&words);
        const char *quote = memchr(word.data, ' ', word.size) != NULL ? "'" : "";
        text_format(out + used, capacity - used, "%s%s%.*s%s", used > 0 ? " " : "", quote,
                    (int)word.size, (const char *)word.data, quote);
        used += strlen(out + used);
    }
}

const struct op op_pipe = {.name = "pipe",
                           .kind = OP_NARROW,
                           .state_size = sizeof(struct pipe_state),
                           .open = pipe_open,
                           .push = pipe_push,
                           .finish = pipe_finish,
                           .close = pipe_close,
                           .describe = pipe_describe};
