/* A stage file: one action of a job as stages that another engine runs (glint stage).
 *
 *     "glint stage 1\n"   magic
 *     8 bytes             XXH3-64 of what follows, little-endian
 *     msgpack array       build, id, words, slots, tasks that read standard input, memory of the
 *                         process and of a task, options, earlier results, [broadcasts, stages]
 *
 * A task of a stage reads splits of files, or partitions of shuffles that stages before it write.
 * Both are fixed here, so that any process that has the file and the inputs can run any task. */
#ifndef GLINT_FOREIGN_STAGE_FILE_H
#define GLINT_FOREIGN_STAGE_FILE_H

#include "engine/foreign/stage_text.h"
#include "engine/plan/stage_plan.h"
#include "engine/records/task.h"

#define STAGE_NO_SHUFFLE      UINT64_MAX
#define STAGE_STDIN_TASKS_MAX 1000000u
#define STAGE_WORDS_MAX       4096u /* of the job and its arguments */

/* One task: a partition of its stage, and the splits that it reads (rdd_encode_partition_splits).
 */
struct packed_task {
    uint32_t partition;
    struct glint_slice splits;
};

/* One stage. `plan` is that of a STAGE message, without outputs. */
struct packed_stage {
    char name[NAME_BYTES_MAX];
    struct glint_slice plan;
    uint64_t shuffle; /* the id of the shuffle that it writes; STAGE_NO_SHUFFLE: the last stage */
    uint32_t outputs; /* directories to which its tasks save */
    uint32_t *parents, parent_count; /* stages whose shuffles it reads */
    struct packed_task *tasks;
    uint32_t task_count;
};

struct packed_broadcast {
    uint64_t id;
    struct glint_slice bytes;
};

/* A decoded file. Zeros are empty; free with stage_file_fini. */
struct stage_file {
    struct buffer bytes; /* of the file; slices point into it */
    uint64_t id;         /* random: tells the results of one pack from those of another */
    char **words;        /* the job's name, arguments and options */
    uint32_t word_count, slots;
    uint32_t stdin_tasks; /* as context_config.stdin_tasks */
    uint64_t memory_bytes;
    struct task_options options; /* memory_bytes and dir, too; not work_dir, allow_commands */
    struct glint_slice *earlier; /* the result lines of earlier actions, one slice for each */
    uint32_t earlier_count;
    struct glint_slice action; /* the encoded broadcasts and stages, to compare */
    struct packed_broadcast *broadcasts;
    uint32_t broadcast_count;
    struct packed_stage *stages;
    uint32_t stage_count;
    struct arena memory;
    bool no_memory; /* while it was decoded */
};

/* What stage_file_write writes besides the action. */
struct stage_file_head {
    uint64_t id;
    const char *const *words;
    uint32_t word_count, slots, stdin_tasks;
    const struct task_options *options;
    uint64_t memory_bytes;
    const struct glint_slice *earlier;
    uint32_t earlier_count;
};
/* Writes a file by attempt file and rename; an existing one is replaced. `action` is a msgpack
 * array [broadcasts, stages]. Returns 0, or STAGE_FILE, OUTPUT_*, NO_MEMORY. */
int stage_file_write(struct env *env, const char *path, const struct stage_file_head *head,
                     struct glint_slice action, struct glint_error *error);
/* Appends one stage to an array that the caller has started. */
void stage_file_pack_stage(struct packer *p, const struct packed_stage *stage);
/* Reads and checks a file. Returns 0, or STAGE_FILE (not such a file, damaged, of another build),
 * INPUT_*, NO_MEMORY. */
int stage_file_read(struct env *env, const char *path, struct stage_file *out,
                    struct glint_error *error);
/* Decodes the msgpack array, which `f` borrows. `path` is for messages, `build` that of this
 * program. Returns 0, STAGE_FILE, PROTOCOL or NO_MEMORY. */
int stage_file_decode(struct stage_file *f, struct glint_slice body, const char *path,
                      const char *build, struct glint_error *error);
void stage_file_fini(struct stage_file *f);

/* Which partitions of shuffles a task reads, as engine/executor/pipeline.c walks its plan. */

struct stage_input {
    uint32_t shuffle, partition;
};
/* What one task reads. Zeros are empty; free `items` with mem_free. */
struct stage_inputs {
    struct stage_input *items;
    uint64_t capacity;
    uint32_t count;
};
/* Finds them, in the order of reading. Returns 0 or NO_MEMORY. */
int stage_inputs_find(const struct stage_plan *plan, uint32_t partition, struct stage_inputs *out,
                      struct glint_error *error);
/* Whether the task gets lines of the parent with this index, which writes `shuffle`: it reads the
 * shuffle. A task that reads only files gets those of the first parent, to start it. */
bool stage_inputs_get_lines(const struct stage_inputs *inputs, uint32_t parent, uint64_t shuffle);

/* ---- Reads the result lines of an action's last stage (stage_text.h). */

/* The results of all tasks. Zeros are empty. */
struct stage_results {
    struct buffer *bodies; /* [tasks] */
    uint32_t tasks;
    struct buffer counters; /* of all tasks: task_counters_encode */
};

/* Reads the lines of all `tasks` tasks, in any order of the tasks; writes the files that they saved
 * into `outputs`, as attempt files. `id` is the stage file's. Returns 0, or STAGE_LINES (a task is
 * missing or twice, lines are missing, of another file), OUTPUT_*, NO_MEMORY. */
int stage_results_read(struct stage_results *out, struct line_input *in, uint64_t id,
                       uint32_t tasks, const char *const *outputs, uint32_t output_count,
                       struct env *env, struct glint_error *error);
void stage_results_fini(struct stage_results *r);

#endif
