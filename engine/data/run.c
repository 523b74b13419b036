/* A finished run as a source of bytes, and its destruction.
 *
 * A file is opened for each read and closed again. A read is a whole block or more, so that costs
 * little, and a merge of 128 runs in every slot needs only one file descriptor per slot. */
#include "engine/data/run.h"

/* Only the first error is kept, so only its source. */
static void set_failed_source(struct glint_task *task, const struct run_source *source)
{
    if (task->error.code == GLINT_OK) task->failed_source = source;
}

int run_set_corrupt(struct glint_task *task, const struct run_source *source, const char *what)
{
    set_failed_source(task, source);
    return error_set(&task->error, GLINT_E_SHUFFLE_CORRUPT, "check the disk under --work-dir",
                     "%s: %s", source->name, what);
}

/* run_source.read of a run that is a file. */
int run_file_read(const struct run_source *source, struct glint_task *task, uint64_t offset,
                  uint64_t size, uint8_t *out)
{
    const struct run *run = (const struct run *)source;
    static_assert(offsetof(struct run, source) == 0, "cast back from its first member");
    assert(run->path != NULL && offset + size <= source->bytes);
    int file = run->env->open(run->env, ENV_CWD, run->path, ENV_READ);
    int64_t n = file;
    if (file >= 0) {
        n = env_read_full(run->env, file, out, size, offset);
        run->env->close(run->env, file); /* read only: an error of close does not matter */
    }
    if (n < 0) {
        set_failed_source(task, source);
        return error_set_system(&task->error, GLINT_E_SPILL_IO, (int)n, file < 0 ? "open" : "read",
                                run->path);
    }
    if ((uint64_t)n < size) return run_set_corrupt(task, source, "the file ends early");
    return 0;
}

void run_destroy(struct run *run)
{
    if (run->path != NULL) run->env->remove(run->env, ENV_CWD, run->path, false);
    mem_free(run->path);
    mem_free(run->memory);
    if (run->memory_taken > 0) atomic_fetch_add(run->run_memory, run->memory_taken);
    mem_free(run->parts);
    *run = (struct run){.path = NULL};
}
