/* Tasks whose rows the engine feeds (glint stage map --stdin-lines): those of the input "-". The
 * lines go to a file of the work directory, because their number is not known before the end, and
 * the message about a bad row counts lines. */
#include "engine/base/text.h"
#include "engine/data/pack.h"
#include "engine/data/split.h"
#include "engine/stage/stage_worker.h"

#include <string.h>
#include <unistd.h>

#define COPY_BYTES (256 * KIB)

static bool is_stdin(const struct stage_worker *w, const struct split *split)
{
    return w->file->stdin_tasks > 0 && split->count == 1 &&
           strcmp(split->pieces[0].path, SPLIT_STDIN) == 0;
}

/* Copies standard input to a file; *out is all of it. */
static int copy_lines(struct stage_worker *w, const char *path, struct split_piece *out,
                      struct glint_error *error)
{
    struct env *env = w->env;
    struct env_stat stat = {.size = 0};
    uint64_t copied = 0;
    int64_t n = 1;
    int r = 0;
    const int file = env->open(env, ENV_CWD, path, ENV_CREATE);
    if (file < 0) return error_set_system(error, GLINT_E_WORK_DIR, file, "create", path);
    w->scratch.size = 0;
    if (!buffer_reserve(&w->scratch, COPY_BYTES)) error_no_memory(error);
    while (error->code == GLINT_OK && n > 0) {
        n = env->read(env, STDIN_FILENO, w->scratch.data, COPY_BYTES);
        if (n > 0) r = env_write_all(env, file, w->scratch.data, (uint64_t)n);
        if (n < 0) error_set_system(error, GLINT_E_INPUT_IO, (int)n, "read", "standard input");
        if (r != 0) error_set_write(error, GLINT_E_WORK_DIR, r, path, copied, (uint64_t)n);
        copied += n > 0 ? (uint64_t)n : 0;
    }
    r = error->code == GLINT_OK ? env->stat_open(env, file, &stat) : 0;
    env->close(env, file);
    if (r != 0) return error_set_system(error, GLINT_E_WORK_DIR, r, "examine", path);
    *out = (struct split_piece){.path = "standard input",
                                .stored = path,
                                .length = SPLIT_TO_END,
                                .file_size = stat.size,
                                .mtime_ns = stat.mtime_ns};
    return error->code;
}

/* Encodes the task's splits again, with `lines` instead of standard input. */
static int replace_splits(struct stage_worker *w, uint32_t task, const struct split_piece *lines,
                          struct buffer *out, struct glint_error *error)
{
    struct unpacker u = unpack_begin(w->stage->tasks[task].splits);
    const struct split fed = {lines, 1};
    struct packer p = {.failed = false};
    struct arena memory = {.first = NULL};
    struct split split;
    pack_array(&p, u.count);
    for (uint64_t i = 0; i < u.count && error->code == GLINT_OK; i++) {
        struct glint_slice bytes = unpack_bytes(&u);
        struct buffer other = {NULL, 0, 0};
        struct glint_error no_split = {.code = GLINT_OK}; /* not of a file: generated rows */
        if (!u.failed && split_decode(bytes, &memory, &split, &no_split) == 0 &&
            is_stdin(w, &split)) {
            if (!split_encode(&fed, &other)) error_no_memory(error);
            bytes = (struct glint_slice){other.data, other.size};
        }
        pack_bytes(&p, bytes);
        buffer_fini(&other);
    }
    arena_fini(&memory);
    if (error->code == GLINT_OK) return packer_finish(&p, out, error);
    packer_fini(&p);
    return error->code;
}

bool stage_task_reads_stdin(const struct stage_worker *w, uint32_t task)
{
    struct unpacker u = unpack_begin(w->stage->tasks[task].splits);
    struct arena memory = {.first = NULL};
    struct glint_error ignored = {.code = GLINT_OK};
    struct split split;
    bool found = false;
    for (uint64_t i = 0; i < u.count && !found; i++)
        found =
            split_decode(unpack_bytes(&u), &memory, &split, &ignored) == 0 && is_stdin(w, &split);
    arena_fini(&memory);
    return found;
}

int stage_worker_map_lines(struct stage_worker *w, uint32_t task, struct glint_error *error)
{
    char path[PATH_MAX];
    struct split_piece lines;
    struct buffer splits = {NULL, 0, 0};
    if (task >= w->stage->task_count || !stage_task_reads_stdin(w, task))
        return error_set(error, GLINT_E_STAGE_LINES,
                         "pack the job with the input - and --stdin-lines N, for tasks 0 to N-1",
                         "task %u of stage %u does not read lines of standard input", task,
                         w->number);
    if (!text_format(path, sizeof path, "%s/lines", w->work_dir.path))
        return error_set(error, GLINT_E_WORK_DIR, "use a shorter directory",
                         "the path %s is too long", w->work_dir.path);
    int r = copy_lines(w, path, &lines, error);
    if (r == 0) r = replace_splits(w, task, &lines, &splits, error);
    w->fed = (struct glint_slice){splits.data, splits.size};
    if (r == 0) r = stage_worker_map_task(w, task, error);
    w->fed = (struct glint_slice){NULL, 0};
    buffer_fini(&splits);
    return r;
}
