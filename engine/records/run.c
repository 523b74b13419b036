/* A finished run as a source of bytes, and its destruction.
 *
 * A file is opened for each read and closed again. A read is a whole block or more, so that costs
 * little, and a merge of 128 runs in every slot needs only one file descriptor per slot. */
#include "engine/records/run.h"

#include <assert.h>

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
    mem_free(run->numbers);
    *run = (struct run){.path = NULL};
}

/* ---- The index */

#define SPARSE_PARTITIONS_MIN 64u /* with fewer a search costs more than it saves */

struct run_part run_find_part(const struct run *run, uint32_t partition)
{
    assert(partition < run->partitions);
    if (run->numbers == NULL) return run->parts[partition];
    uint32_t low = 0, high = run->used;
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        if (run->numbers[middle] < partition)
            low = middle + 1;
        else
            high = middle;
    }
    if (low < run->used && run->numbers[low] == partition) return run->parts[low];
    return (struct run_part){.records = 0};
}

void run_compact_index(struct run *run)
{
    uint32_t used = 0, n = 0;
    assert(run->numbers == NULL);
    if (run->partitions < SPARSE_PARTITIONS_MIN) return;
    for (uint32_t p = 0; p < run->partitions; p++) used += run->parts[p].records > 0;
    if (used > run->partitions / 2) return;
    /* + 1: no allocation of 0 bytes for an empty run. */
    struct run_part *parts = mem_alloc(sizeof *parts * (used + 1));
    uint32_t *numbers = mem_alloc(sizeof *numbers * (used + 1));
    if (parts == NULL || numbers == NULL) {
        mem_free(parts);
        mem_free(numbers);
        return;
    }
    for (uint32_t p = 0; p < run->partitions; p++) {
        if (run->parts[p].records == 0) continue;
        parts[n] = run->parts[p];
        numbers[n++] = p;
    }
    assert(n == used);
    mem_free(run->parts);
    run->parts = parts;
    run->numbers = numbers;
    run->used = used;
}
