/* Contexts of programs that embed glint (glint_context.h): their settings are the options of
 * `glint submit` that are about the context. */
#include "engine/base/mem.h"
#include "engine/cli/cli.h"
#include "engine/cli/cli_internal.h"
#include "engine/cli/cluster_file.h"
#include "engine/cli/options.h"
#include "engine/cli/print.h"
#include "engine/cli/web.h"
#include "engine/driver/driver.h"
#include "engine/plan/context_config.h"

#include <assert.h>
#include <string.h>

/* ---- The main function of a program with jobs of its own. */

/* The tables come from the program's author: reports what would make it crash. */
static bool job_is_valid(const struct glint_job *const *jobs, uint32_t at,
                         struct glint_error *error)
{
    const struct glint_job *j = jobs[at];
    const char *wrong = NULL;
    if (j->struct_size != 0 && j->struct_size != sizeof *j) { /* no other member may be read */
        error_set(error, GLINT_E_PLAN_ARGUMENT, "compile the program with this version",
                  "job %u of this program: it was compiled with the headers of another version of "
                  "glint",
                  at);
        return false;
    }
    if (j->name == NULL || j->name[0] == '\0')
        wrong = "it has no name";
    else if (j->run == NULL)
        wrong = "it has no run";
    else if (j->positional[GLINT_JOB_POSITIONAL_MAX] != NULL)
        wrong = "it has too many positional arguments";
    else if (j->outputs[GLINT_JOB_OUTPUTS_MAX] != NULL)
        wrong = "it has too many outputs";
    else if (j->functions[GLINT_JOB_FUNCTIONS_MAX] != NULL)
        wrong = "it has too many functions";
    for (uint32_t i = 0; wrong == NULL && i < at; i++)
        if (strcmp(jobs[i]->name, j->name) == 0) wrong = "another job has its name";
    if (wrong == NULL) return true;
    error_set(error, GLINT_E_PLAN_ARGUMENT, "see struct glint_job in <glint/glint.h>",
              "job %u (%s) of this program: %s", at, j->name != NULL ? j->name : "NULL", wrong);
    return false;
}

int glint_main_with_jobs(int argc, char **argv, const struct glint_job *const *jobs)
{
    const char *path = argc > 0 ? argv[0] : "glint", *slash = strrchr(path, '/');
    const struct cli_program program = {.name = slash != NULL ? slash + 1 : path,
                                        .summary =
                                            "Runs dataflow jobs, on this machine or on a cluster.",
                                        .jobs = jobs,
                                        .ops = ops_table,
                                        .modules = builtin_modules};
    struct glint_error error = {.code = GLINT_OK};
    for (uint32_t i = 0; jobs[i] != NULL; i++)
        if (!job_is_valid(jobs, i, &error)) return cli_fail(&error);
    return cli_main(&program, argc, argv);
}

/* ---- embedded */

struct glint_config {
    struct context_config context;
    struct arena memory;
    struct glint_error error; /* of the first setting that is not valid */
    struct glint_module functions;
    const struct glint_module *modules[3];
    struct cluster_file cluster;
    struct web_server *web; /* NULL: no page */
    void (*progress)(void *arg, const struct glint_progress *progress);
    void *progress_arg;
};

struct glint_config *glint_config_create(void)
{
    struct glint_config *c = mem_zalloc(sizeof *c);
    if (c == NULL) return NULL;
    c->modules[0] = &ops_module;
    c->context =
        (struct context_config){.bad_rows_max = -1, .ops = ops_table, .modules = c->modules};
    return c;
}

/* Keys of the context; the other ones are about the command line. */
static const struct config_key *find_config_key(const char *option, struct suggest *suggest)
{
    for (uint32_t i = 0; i < JOB_KEYS; i++) {
        if (job_keys[i].offset >= sizeof(struct context_config)) continue;
        if (strcmp(job_keys[i].option, option) == 0) return &job_keys[i];
        if (job_keys[i].help != NULL) suggest_add_candidate(suggest, job_keys[i].option);
    }
    return NULL;
}

static int set_invalid_value_error(struct glint_config *c, const struct config_key *key,
                                   const char *value)
{
    char expected[128];
    if (key->value == NULL)
        return error_set(&c->error, GLINT_E_BAD_VALUE, NULL,
                         "the setting %s is a switch: its value must be NULL", key->option);
    config_key_format_expected(key, expected, sizeof expected);
    return error_set(&c->error, GLINT_E_BAD_VALUE, NULL, "the setting %s=%s: it must be %s",
                     key->option, value != NULL ? value : "", expected);
}

int glint_config_set(struct glint_config *c, const char *option, const char *value)
{
    struct suggest suggest;
    if (c == NULL || c->error.code != GLINT_OK)
        return c == NULL ? GLINT_E_NO_MEMORY : c->error.code;
    suggest_init(&suggest, option);
    const struct config_key *key = find_config_key(option, &suggest);
    if (key == NULL) {
        char hint[128] = "";
        if (suggest.name != NULL) snprintf(hint, sizeof hint, "did you mean %s?", suggest.name);
        return error_set(&c->error, GLINT_E_UNKNOWN_OPTION, hint, "a context has no setting %s",
                         option);
    }
    if ((key->value == NULL) != (value == NULL)) return set_invalid_value_error(c, key, value);
    const char *copy = arena_strdup(&c->memory, value != NULL ? value : "true");
    if (copy == NULL) return error_no_memory(&c->error);
    return config_key_set_text(key, copy, &c->memory, &c->context) == KEY_SET
               ? 0
               : set_invalid_value_error(c, key, value);
}

int glint_config_set_cluster(struct glint_config *c, const char *file, const char *program,
                             const char *build)
{
    if (c == NULL || c->error.code != GLINT_OK)
        return c == NULL ? GLINT_E_NO_MEMORY : c->error.code;
    if (c->context.cluster != NULL)
        return error_set(&c->error, GLINT_E_BAD_VALUE, NULL, "the cluster is set already");
    const char *name = arena_strdup(&c->memory, file);
    struct cluster *cluster = &c->cluster.cluster;
    if (name == NULL) return error_no_memory(&c->error);
    int r = cluster_file_read_named(&c->cluster, env_real(), name, &c->error);
    if (r != 0) return r;
    cluster->program = arena_strdup(&c->memory, program);
    cluster->program_build = arena_strdup(&c->memory, build);
    if (cluster->program == NULL || cluster->program_build == NULL)
        return error_no_memory(&c->error);
    c->context.cluster = cluster;
    uint64_t slots = 0;
    for (uint32_t i = 0; i < cluster->executor_count; i++)
        slots += cluster->executors[i].slots / cluster->drivers_max;
    assert(slots > 0 && slots <= INT32_MAX);
    return (int)slots;
}

const char *glint_config_serve_page(struct glint_config *c, const char *address)
{
    char host[256];
    struct web_config config = {.env = env_real(), .host = host};
    if (c == NULL || c->error.code != GLINT_OK) return NULL;
    if (c->web != NULL ||
        !cli_parse_address(address, WEB_PORT_DEFAULT, host, sizeof host, &config.port)) {
        error_set(&c->error, GLINT_E_BAD_VALUE, NULL,
                  "the page %s: it must be one HOST:PORT, as in 127.0.0.1:4040", address);
        return NULL;
    }
    c->web = web_server_open(&config, &c->error);
    if (c->web == NULL) return NULL;
    c->context.event_sink = web_server_sink(c->web);
    return web_server_start(c->web, &c->error) == 0 ? web_server_url(c->web) : NULL;
}

int glint_config_set_name(struct glint_config *c, const char *name)
{
    if (c == NULL) return GLINT_E_NO_MEMORY;
    c->context.job_name = arena_strdup(&c->memory, name);
    return c->context.job_name != NULL ? 0 : error_no_memory(&c->error);
}

void glint_config_set_functions(struct glint_config *c,
                                const struct glint_function *const *functions)
{
    if (c == NULL) return;
    c->functions = (struct glint_module){"program", functions};
    c->modules[1] = functions != NULL ? &c->functions : NULL;
}

void glint_config_set_note(struct glint_config *c, void (*note)(void *arg, const char *line),
                           void *arg)
{
    if (c == NULL) return;
    c->context.note = note;
    c->context.note_arg = arg;
}

static void report_progress(void *arg, const struct progress *p)
{
    const struct glint_config *c = arg;
    c->progress(c->progress_arg, &(struct glint_progress){.name = p->name,
                                                          .stage = p->stage,
                                                          .tasks_done = p->tasks_done,
                                                          .tasks = p->tasks,
                                                          .stage_ended = p->stage_ended,
                                                          .action_ended = p->action_ended});
}

void glint_config_set_progress(struct glint_config *c,
                               void (*progress)(void *arg, const struct glint_progress *progress),
                               void *arg)
{
    if (c == NULL) return;
    c->progress = progress;
    c->progress_arg = arg;
    c->context.progress = progress != NULL ? report_progress : NULL;
    c->context.progress_arg = c;
}

void glint_config_destroy(struct glint_config *c)
{
    if (c == NULL) return;
    web_server_close(c->web);
    cluster_file_fini(&c->cluster);
    arena_fini(&c->memory);
    mem_free(c);
}

struct glint *glint_create(struct glint_config *c, struct glint_error *error)
{
    memset(error, 0, sizeof *error);
    if (c == NULL)
        error_no_memory(error);
    else if (c->error.code != GLINT_OK)
        *error = c->error;
    else if (settings_check_bad_rows(&c->context, error) == 0)
        return context_create(&c->context, error);
    return NULL;
}
