/* glint stage: the tasks of a job, for another engine to run (engine/stage). */
#include "engine/base/json.h"
#include "engine/base/text.h"
#include "engine/cli/cli.h"
#include "engine/cli/cli_internal.h"
#include "engine/cli/print.h"
#include "engine/driver/stage_session.h"
#include "engine/foreign/stage_worker.h"
#include "engine/input/split.h"
#include "engine/records/pack.h"

#include <string.h>
#include <unistd.h>
#include <uv.h>

/* Paths on the command line of this process, before it goes to the job's directory. */
static const char *absolute_path(const char *path, char out[PATH_MAX])
{
    char dir[PATH_MAX];
    if (path[0] == '/' || getcwd(dir, sizeof dir) == NULL ||
        !text_format(out, PATH_MAX, "%s/%s", dir, path))
        return path;
    return out;
}

/* Relative paths of the job are relative to the directory where it was packed. */
static int chdir_to_directory_of_packed_job(const struct stage_file *file,
                                            struct glint_error *error)
{
    if (file->options.dir[0] == '\0') return 0;
    const int r = uv_chdir(file->options.dir);
    if (r == 0) return 0;
    return error_set(error, GLINT_E_STAGE_FILE, "run it where this directory exists",
                     "the job was packed in %s: %s", file->options.dir, uv_strerror(r));
}

/* ---- pack, gather */

/* Removes OPTION VALUE from the arguments. Returns the value; NULL: not given. */
static const char *remove_option(int *argc, char **argv, const char *option)
{
    for (int i = 1; i + 1 < *argc; i++) {
        if (strcmp(argv[i], option) != 0) continue;
        const char *value = argv[i + 1];
        memmove(&argv[i], &argv[i + 2], sizeof *argv * (size_t)(*argc - i - 1));
        *argc -= 2;
        return value;
    }
    return NULL;
}

/* Runs the job of a stage file, with the results of its action on standard input. */
static int run_job_with_results(const struct cli_program *program, const char *command,
                                const char *path, struct stage_session *session)
{
    struct stage_file file = {.id = 0};
    struct glint_error error = {.code = GLINT_OK};
    char *argv[STAGE_WORDS_MAX + 2] = {"stage"};
    int status;
    if (stage_file_read(env_real(), path, &file, &error) == 0)
        chdir_to_directory_of_packed_job(&file, &error);
    assert(file.word_count <= STAGE_WORDS_MAX);
    session->file = &file;
    session->results = STDIN_FILENO;
    session->words = (const char *const *)file.words;
    session->word_count = file.word_count;
    for (uint32_t i = 0; error.code == GLINT_OK && i < file.word_count; i++)
        argv[i + 1] = file.words[i];
    status = error.code == GLINT_OK
                 ? job_run_staged(program, command, session, (int)file.word_count + 1, argv)
                 : cli_fail(&error);
    stage_file_fini(&file);
    return status;
}

static int print_usage_error(const char *cause)
{
    struct glint_error error = {.code = GLINT_OK};
    error_set(&error, GLINT_E_USAGE, "glint stage pack JOB ARGUMENTS... -o FILE", "%s", cause);
    return cli_fail(&error);
}

/* The lines of pack and gather are those of a job, so these are for their help alone. */
static const struct glint_job_option pack_options[] = {
    {"output", "FILE", NULL, "the stage file to write; -o FILE for short"},
    {"next", "FILE", NULL,
     "continue the job of this file with the results of its action, on standard input"},
    {"stdin-lines", "N", NULL, "the input - is N tasks, whose lines the engine feeds"},
    {.name = NULL}};
static const struct cli_syntax pack_syntax = {
    .command = "glint stage pack",
    .summary = "Writes the stages of a job's first action, or of the next one, for another engine.",
    .help = "Options of the job: glint submit JOB --help",
    .arguments = "JOB ARGUMENTS... -o FILE",
    .own = pack_options};
static const struct cli_syntax gather_syntax = {
    .command = "glint stage gather",
    .summary = "Ends the job with the results of its last action: publishes its outputs.",
    .help = "Reads the results on standard input. OUTPUT replaces the job's output.",
    .arguments = "FILE [OUTPUT]"};

static bool is_help_option(const char *word)
{
    return strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0;
}

static int run_stage_pack(const struct cli_program *program, int argc, char **argv)
{
    char out[PATH_MAX];
    struct stage_session session = {.results = -1};
    const bool help = argc == 1 || is_help_option(argv[1]);
    const char *path = remove_option(&argc, argv, "-o"),
               *next = remove_option(&argc, argv, "--next");
    const char *tasks = remove_option(&argc, argv, "--stdin-lines");
    int64_t stdin_tasks = 0;
    if (help) return help_print_own(program, &pack_syntax);
    if (path == NULL) path = remove_option(&argc, argv, "--output");
    if (path == NULL) return print_usage_error("-o FILE is missing");
    if (tasks != NULL && (!text_parse_i64((const uint8_t *)tasks, strlen(tasks), &stdin_tasks) ||
                          stdin_tasks < 1 || stdin_tasks > STAGE_STDIN_TASKS_MAX))
        return print_usage_error("--stdin-lines: the number of tasks, from 1 to a million");
    session.stdin_tasks = (uint32_t)stdin_tasks;
    session.out = absolute_path(path, out);
    if (next == NULL) {
        session.words = (const char *const *)argv + 1;
        session.word_count = (uint32_t)argc - 1;
        return job_run_staged(program, "glint stage pack", &session, argc, argv);
    }
    if (argc > 1 || tasks != NULL)
        return print_usage_error("with --next the job's arguments are in FILE");
    return run_job_with_results(program, "glint stage pack", next, &session);
}

static int run_stage_gather(const struct cli_program *program, int argc, char **argv)
{
    char out[PATH_MAX];
    struct stage_session session = {.results = STDIN_FILENO};
    if (argc > 1 && is_help_option(argv[1])) return help_print_own(program, &gather_syntax);
    if (argc < 2 || argc > 3 || argv[1][0] == '-' || argv[argc - 1][0] == '-')
        return print_usage_error("usage: glint stage gather FILE [OUTPUT] < RESULTS");
    if (argc == 3) session.output = absolute_path(argv[2], out);
    return run_job_with_results(program, "glint stage gather", argv[1], &session);
}

/* ---- show, splits */

static void put_stage_output_types(struct json *j, const struct stage_plan *plan)
{
    const struct glint_schema types = plan->nodes[plan->node_count - 1].schema;
    json_cstring(j, "key", codec_type_name(types.key));
    json_cstring(j, "value", codec_type_name(types.value));
}

static int show_stage_file(struct json *j, const struct stage_file *f, uint32_t number,
                           const struct context_config *registry, struct glint_error *error)
{
    const struct packed_stage *s = &f->stages[number];
    struct stage_plan plan = {.node_count = 0};
    const int r = stage_plan_decode(&plan, s->plan, registry, error);
    json_begin(j, NULL, '{');
    json_u64(j, "stage", number);
    json_cstring(j, "name", s->name);
    json_cstring(j, "run", s->parent_count == 0 ? "map" : "reduce");
    json_begin(j, "parents", '[');
    for (uint32_t i = 0; i < s->parent_count; i++) json_u64(j, NULL, s->parents[i]);
    json_end(j, ']');
    json_u64(j, "tasks", s->task_count);
    json_cstring(j, "writes", s->shuffle != STAGE_NO_SHUFFLE ? "records" : "results");
    if (r == 0 && s->shuffle != STAGE_NO_SHUFFLE) put_stage_output_types(j, &plan);
    json_end(j, '}');
    stage_plan_fini(&plan);
    return r;
}

static struct context_config registry_of_program(const struct cli_program *program)
{
    return (struct context_config){
        .ops = program->ops, .modules = program->modules, .jobs = program->jobs, .env = env_real()};
}

static void execute_stage_show(const struct cli_line *line, struct glint_error *error)
{
    struct stage_file f = {.id = 0};
    const struct context_config registry = registry_of_program(line->program);
    struct json j = {.failed = false};
    int r = stage_file_read(env_real(), line->arguments[0], &f, error);
    json_begin(&j, NULL, '{');
    json_id(&j, "id", f.id);
    json_u64(&j, "action", f.earlier_count);
    json_begin(&j, "job", '[');
    for (uint32_t i = 0; i < f.word_count; i++) json_cstring(&j, NULL, f.words[i]);
    json_end(&j, ']');
    json_begin(&j, "stages", '[');
    for (uint32_t i = 0; i < f.stage_count && r == 0; i++)
        r = show_stage_file(&j, &f, i, &registry, error);
    json_end(&j, ']');
    json_end(&j, '}');
    if (r != 0)
        json_fini(&j);
    else if (!print_json_object(stdout, &j))
        error_no_memory(error);
    stage_file_fini(&f);
}

/* The first file of a task's input, for people; no TAB or newline of a name is printed. */
static void print_stage_split(uint32_t stage, uint32_t number, const struct packed_task *task)
{
    struct unpacker u = unpack_begin(task->splits);
    struct arena memory = {.first = NULL};
    struct glint_error ignored = {.code = GLINT_OK};
    struct split split;
    printf("%u.%u\t", stage, number);
    if (u.count > 0 && split_decode(unpack_bytes(&u), &memory, &split, &ignored) == 0) {
        const struct split_piece *p = &split.pieces[0];
        print_text_for(stdout, PRINT_TERMINAL, p->path, NULL);
        if (p->file_size > 0) printf(":%llu", (unsigned long long)p->offset);
        if (p->length != SPLIT_TO_END) printf("-%llu", (unsigned long long)(p->offset + p->length));
        if (split.count > 1) printf(" and %u more", split.count - 1);
    }
    putchar('\n');
    arena_fini(&memory);
}

static void execute_stage_splits(const struct cli_line *line, struct glint_error *error)
{
    struct stage_file f = {.id = 0};
    if (stage_file_read(env_real(), line->arguments[0], &f, error) == 0)
        for (uint32_t i = 0; i < f.stage_count; i++)
            for (uint32_t t = 0; f.stages[i].parent_count == 0 && t < f.stages[i].task_count; t++)
                print_stage_split(i, t, &f.stages[i].tasks[t]);
    stage_file_fini(&f);
}

/* ---- map, reduce */

enum counters_format { COUNTERS_NONE, COUNTERS_HADOOP, COUNTERS_JSON };

/* Lines of Hadoop streaming, or one line of JSON. */
static void print_counters_for_hadoop_or_json(const struct counters *c, enum counters_format format)
{
    struct json j = {.failed = false};
    if (format == COUNTERS_NONE) return;
    json_begin(&j, NULL, '{');
    for (uint32_t i = 0; i < c->count; i++) {
        json_i64(&j, c->names[i], c->values[i]);
        if (format == COUNTERS_HADOOP)
            fprintf(stderr, "reporter:counter:glint,%s,%lld\n", c->names[i],
                    (long long)c->values[i]);
    }
    json_end(&j, '}');
    if (format == COUNTERS_JSON)
        print_json_object(stderr, &j);
    else
        json_fini(&j);
}

/* Reads the number of an option; leaves *out as it is without one. */
static int read_option_number(const struct cli_line *line, const char *name, int64_t *out,
                              struct glint_error *error)
{
    const char *option = cli_line_option(line, name);
    if (option == NULL || (text_parse_i64((const uint8_t *)option, strlen(option), out) &&
                           *out >= 0 && *out <= UINT32_MAX))
        return 0;
    return error_set(error, GLINT_E_BAD_VALUE, NULL, "--%s %s: not a number", name, option);
}

/* Finds the stage that the command runs: that of --stage, or of the first split, or the only one
 * of its kind. */
static int choose_stage_to_run(const struct stage_file *f, const struct cli_line *line, bool map,
                               struct line_input *in, uint32_t *out, struct glint_error *error)
{
    const char *option = cli_line_option(line, "stage"), *kind = map ? "map" : "reduce";
    int64_t number = -1;
    uint32_t found = 0;
    if (read_option_number(line, "stage", &number, error) != 0) return error->code;
    if (in != NULL && option == NULL) {
        uint32_t first = UINT32_MAX;
        if (stage_worker_peek_stage(in, &first, error) != 0) return error->code;
        if (first < f->stage_count && f->stages[first].parent_count == 0) return *out = first, 0;
    }
    for (uint32_t i = 0; i < f->stage_count; i++) {
        if ((f->stages[i].parent_count == 0) != map || (option != NULL && number != i)) continue;
        *out = i;
        found++;
    }
    if (found == 1) return 0;
    return error_set(error, GLINT_E_USAGE, "see glint stage show", "%s has %s stage to %s%s%s",
                     line->arguments[0], found == 0 ? "no" : "more than one", kind,
                     option != NULL ? " with the number " : "; give --stage",
                     option != NULL ? option : "");
}

static enum counters_format read_counters_option(const struct cli_line *line)
{
    const char *option = cli_line_option(line, "counters");
    if (option == NULL) return COUNTERS_NONE;
    return strcmp(option, "hadoop") == 0 ? COUNTERS_HADOOP : COUNTERS_JSON;
}

/* Whether records are pairs of Hadoop's raw bytes. */
static bool is_hadoop_raw_io(const struct cli_line *line)
{
    const char *option = cli_line_option(line, "io");
    return option != NULL && strcmp(option, "rawbytes") == 0;
}

/* Runs the tasks of the input, or the one that --stdin-lines says. */
static int run_input_tasks(struct stage_worker *w, struct line_input *in, bool map,
                           int64_t stdin_task, struct glint_error *error)
{
    if (stdin_task >= 0) return stage_worker_map_lines(w, (uint32_t)stdin_task, error);
    return map ? stage_worker_map(w, in, error) : stage_worker_reduce(w, in, error);
}

static void run_stage_tasks(const struct cli_line *line, bool map, struct glint_error *error)
{
    struct stage_file f = {.id = 0};
    struct stage_worker w = {.started = false};
    const struct context_config registry = registry_of_program(line->program);
    struct line_input in = {.env = env_real(), .file = STDIN_FILENO, .name = "standard input"};
    int64_t stdin_task = -1;
    uint32_t number = 0;
    const enum counters_format counters = read_counters_option(line);
    const bool raw = is_hadoop_raw_io(line);
    const char *work_dir = cli_line_option(line, "work-dir");
    char path[PATH_MAX];
    if (work_dir != NULL) work_dir = absolute_path(work_dir, path);
    int r = 0;
    if (map) r = read_option_number(line, "stdin-lines", &stdin_task, error);
    if (r == 0) r = stage_file_read(env_real(), line->arguments[0], &f, error);
    in.raw = raw && !map;
    f.options.allow_commands = cli_line_has(line, "allow-commands");
    if (r == 0)
        r = choose_stage_to_run(&f, line, map, map && stdin_task < 0 ? &in : NULL, &number, error);
    if (r == 0) r = stage_worker_open(&w, env_real(), &f, number, &registry, work_dir, error);
    w.raw = raw;
    if (r == 0) r = chdir_to_directory_of_packed_job(&f, error);
    if (r == 0) r = run_input_tasks(&w, &in, map, stdin_task, error);
    if (r == 0) print_counters_for_hadoop_or_json(&w.counters, counters);
    stage_worker_close(&w);
    line_input_fini(&in);
    stage_file_fini(&f);
}

static void execute_stage_map(const struct cli_line *line, struct glint_error *error)
{
    run_stage_tasks(line, true, error);
}

static void execute_stage_reduce(const struct cli_line *line, struct glint_error *error)
{
    run_stage_tasks(line, false, error);
}

#define TASK_OPTIONS                                                                               \
    {"stage", "N", NULL, "the stage, if FILE has several of this kind"},                           \
        {"io", "text|rawbytes", NULL,                                                              \
         "format of records: lines, or pairs as Hadoop Streaming has them"},                       \
        {"counters", "hadoop|json", NULL, "print counters on standard error"},                     \
        {"allow-commands", NULL, NULL, "run the commands that FILE has"},                          \
    {                                                                                              \
        "work-dir", "DIR", NULL, "parent of the work directory; default: $TMPDIR or /tmp"          \
    }
static const struct glint_job_option map_options[] = {
    TASK_OPTIONS,
    {"stdin-lines", "N", NULL, "run task N; standard input has the lines of its input"},
    {.name = NULL}};
static const struct glint_job_option reduce_options[] = {TASK_OPTIONS, {.name = NULL}};

static const struct cli_command pack = {
    .name = "pack", .summary = "write a job's next stages to a file", .run = run_stage_pack};
static const struct cli_command show = {
    .name = "show",
    .summary = "print the stages as JSON",
    .syntax = {.command = "glint stage show",
               .summary = "Prints the stages of a stage file, and the types of their records.",
               .arguments = "FILE",
               .arguments_min = 1,
               .arguments_max = 1},
    .execute = execute_stage_show};
static const struct cli_command splits = {
    .name = "splits",
    .summary = "print one line for each split of the input",
    .syntax = {.command = "glint stage splits",
               .summary = "Prints one line for each task that reads input, for glint stage map.",
               .arguments = "FILE",
               .arguments_min = 1,
               .arguments_max = 1},
    .execute = execute_stage_splits};
static const struct cli_command map_command = {
    .name = "map",
    .summary = "run the tasks of splits",
    .syntax = {.command = "glint stage map",
               .summary = "Runs the tasks whose splits are on standard input, lines of glint "
                          "stage splits. Prints records for glint stage reduce, or results for "
                          "glint stage gather.",
               .arguments = "FILE",
               .arguments_min = 1,
               .arguments_max = 1,
               .own = map_options},
    .execute = execute_stage_map};
static const struct cli_command reduce_command = {
    .name = "reduce",
    .summary = "run tasks on sorted records",
    .syntax = {.command = "glint stage reduce",
               .summary = "Runs the tasks whose records are on standard input, sorted. Prints "
                          "records for the next stage, or results for glint stage gather.",
               .arguments = "FILE",
               .arguments_min = 1,
               .arguments_max = 1,
               .own = reduce_options},
    .execute = execute_stage_reduce};
static const struct cli_command gather = {
    .name = "gather", .summary = "end the job with its results", .run = run_stage_gather};

static const struct cli_command *const stage_commands[] = {
    &pack, &show, &splits, &map_command, &reduce_command, &gather, NULL};

const struct cli_command cmd_stage = {
    .name = "stage",
    .summary = "run the tasks of a job in another engine",
    .syntax = {.command = "glint stage",
               .summary = "Runs a job inside another engine (Spark, Hadoop, Dask, a shell): that "
                          "engine schedules, repeats and sorts, glint does the rest."},
    .commands = stage_commands};
