/* The environment of a command. Scripts for Hadoop Streaming find the variables that it sets, where
 * they have a meaning here, with their present and their old names. */
#include "ops/pipe.h"

#include <unistd.h>

struct variables {
    struct glint_task *task;
    char **all;
    uint32_t count, capacity;
    bool failed;
};

/* Whether two texts NAME=VALUE have the same name. */
static bool is_same_variable(const char *a, const char *b)
{
    size_t size = strcspn(a, "=") + 1;
    return strncmp(a, b, size) == 0;
}

/* Adds a variable, or replaces the one of the same name. NULL: out of memory. */
static void add_or_replace_variable(struct variables *v, char *variable)
{
    uint32_t at = 0;
    if (variable == NULL) v->failed = true;
    if (v->failed) return;
    while (at < v->count && !is_same_variable(v->all[at], variable)) at++;
    assert(at < v->capacity);
    v->all[at] = variable;
    if (at == v->count) v->count++;
}

/* Sets a variable and its old name; `value` NULL: not known. */
static void set_hadoop_variable(struct variables *v, const char *name, const char *old,
                                const char *value)
{
    if (value == NULL) return;
    add_or_replace_variable(v, arena_format(&v->task->arena, "%s=%s", name, value));
    add_or_replace_variable(v, arena_format(&v->task->arena, "%s=%s", old, value));
}

#define HADOOP_VARIABLES 12u

/* Ids have Hadoop's form: some scripts take the number from them. */
static void set_hadoop_variables(struct variables *v, const struct pipe_command *c)
{
    struct arena *arena = &v->task->arena;
    const char *const id = arena_format(arena, "%016llx_0001", (unsigned long long)c->job);
    const char *const number = arena_format(arena, "%u", v->task->partition);
    const char *const task =
        arena_format(arena, "%s_%c_%06u", id, c->is_map ? 'm' : 'r', v->task->partition);
    v->failed = v->failed || id == NULL || number == NULL || task == NULL;
    if (v->failed) return;
    set_hadoop_variable(v, "mapreduce_job_id", "mapred_job_id", arena_format(arena, "job_%s", id));
    set_hadoop_variable(v, "mapreduce_task_id", "mapred_tip_id",
                        arena_format(arena, "task_%s", task));
    set_hadoop_variable(v, "mapreduce_task_attempt_id", "mapred_task_id",
                        arena_format(arena, "attempt_%s_%u", task, v->task->attempt));
    set_hadoop_variable(v, "mapreduce_task_partition", "mapred_task_partition", number);
    set_hadoop_variable(v, "mapreduce_task_ismap", "mapred_task_is_map",
                        c->is_map ? "true" : "false");
    set_hadoop_variable(v, "mapreduce_map_input_file", "map_input_file",
                        c->is_map ? v->task->input_path : NULL);
}

static char **collect_variables(struct glint_task *task, const struct pipe_command *command,
                                char **inherited, bool of_task)
{
    struct variables v = {.task = task, .capacity = HADOOP_VARIABLES};
    for (char **at = inherited; *at != NULL; at++) v.capacity++;
    for (char **at = command->variables; *at != NULL; at++) v.capacity++;
    v.all = task_alloc(task, sizeof *v.all * (v.capacity + 1));
    if (v.all == NULL) return NULL;
    for (char **at = inherited; *at != NULL; at++) add_or_replace_variable(&v, *at);
    if (of_task) set_hadoop_variables(&v, command);
    for (char **at = command->variables; *at != NULL; at++) add_or_replace_variable(&v, *at);
    v.all[v.count] = NULL;
    if (!v.failed) return v.all;
    error_no_memory(&task->error);
    return NULL;
}

char **pipe_variables(struct glint_task *task, const struct pipe_command *command)
{
    return collect_variables(task, command, environ, command->worker == NULL);
}

char **pipe_own_variables(struct glint_task *task, const struct pipe_command *command)
{
    char *none = NULL;
    return collect_variables(task, command, &none, true);
}
