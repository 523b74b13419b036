/* stream: commands as map, combine and reduce, as in Hadoop Streaming. */
#include "jobs/rows/fields.h"
#include "jobs/text/command_words.h"

#define STATUSES_MAX 256

/* The key is what precedes the first tab. */
static int split_key_at_tab(struct glint_task *task, void *state, const struct glint_record *line,
                            struct glint_emitter *out)
{
    struct glint_slice rest = line->value.bytes, key;
    (void)task, (void)state;
    glint_next_field(&rest, '\t', &key);
    if (rest.data == NULL) rest = (struct glint_slice){key.data + key.size, 0};
    const struct glint_record record = {.key = {.bytes = key}, .value = {.bytes = rest}};
    glint_emit(out, &record);
    return 0;
}

static const struct glint_function split =
    GLINT_MAP("stream.split", GLINT_ELEMENTS(GLINT_TEXT), GLINT_PAIRS(GLINT_TEXT, GLINT_TEXT),
              split_key_at_tab);

/* The lines that the command of an option prints; NULL with the context's error set. */
static struct glint_rdd *add_stream_command(struct glint *g, struct glint_rdd *rdd,
                                            const char *option, const char *text, const int *ok)
{
    size_t size = strlen(text);
    char *bytes = glint_alloc(g, size + 2);
    char **words = glint_alloc(g, (size / 2 + 2) * sizeof *words);
    struct glint_rdd *lines = NULL;
    const char *mistake =
        bytes != NULL && words != NULL ? command_words_split(text, bytes, words) : NULL;
    if (mistake != NULL)
        glint_abort(g, GLINT_E_BAD_VALUE, "quote it, or use sh -c '...'", "--%s %s: %s", option,
                    text, mistake);
    else if (bytes != NULL && words != NULL)
        lines = glint_pipe_command(
            rdd, &(const struct glint_command){.argv = (const char *const *)words,
                                               .ok = ok,
                                               .combine = strcmp(option, "combine") == 0});
    glint_free(words);
    glint_free(bytes);
    return lines;
}

/* Parses 0,1,...: exit statuses that mean success. */
static int parse_ok_statuses(struct glint *g, const char *text, int ok[STATUSES_MAX + 1])
{
    struct glint_slice rest = {(const uint8_t *)text, strlen(text)}, field;
    int count = 0;
    while (glint_next_field(&rest, ',', &field)) {
        int64_t status;
        if (!glint_parse_i64(field, &status) || status < 0 || status > 255 || count == STATUSES_MAX)
            return glint_abort(g, GLINT_E_BAD_VALUE, "as in --ok 0,1",
                               "--ok %s: not a list of exit statuses from 0 to 255", text);
        ok[count++] = (int)status;
    }
    ok[count] = -1;
    return 0;
}

/* With --csv, records as they are: the command reads CSV. */
static struct glint_rdd *read_stream_lines(struct glint *g, const struct glint_job_args *args)
{
    struct glint_rdd *lines =
        glint_with_partitions_of_one_file(glint_text_file(g, args->positional[0]));
    const bool header = glint_job_option(args, "header") != NULL;
    const bool csv = glint_job_option(args, "csv") != NULL;
    const bool json = glint_job_option(args, "json-lines") != NULL;
    if (csv && json)
        glint_abort(g, GLINT_E_USAGE, "use only one of them",
                    "--csv and --json-lines cannot both be set");
    if (csv) lines = glint_with_csv_records(lines, '\0');
    return fields_source(lines, json ? FIELDS_JSON : 0, header);
}

static int stream_run(struct glint *g, const struct glint_job_args *args)
{
    const char *map = glint_job_option(args, "map"), *combine = glint_job_option(args, "combine");
    const char *reduce = glint_job_option(args, "reduce");
    int ok[STATUSES_MAX + 1];
    if (map == NULL) return glint_abort(g, GLINT_E_USAGE, "--map cat", "--map is missing");
    if (combine != NULL && reduce == NULL)
        return glint_abort(g, GLINT_E_USAGE, NULL, "--combine needs --reduce");
    int r = parse_ok_statuses(g, glint_job_option(args, "ok"), ok);
    if (r != 0) return r;
    struct glint_rdd *lines = read_stream_lines(g, args);
    lines = add_stream_command(g, lines, "map", map, ok);
    if (combine != NULL)
        lines = add_stream_command(g, glint_map(lines, &split, NULL), "combine", combine, ok);
    if (reduce != NULL) {
        struct glint_rdd *pairs = glint_map(lines, &split, NULL);
        pairs = glint_repartition_and_sort_within_partitions(pairs, 0, true);
        lines = add_stream_command(g, pairs, "reduce", reduce, ok);
    }
    return glint_save_as_text_file(lines, args->positional[1]);
}

static const struct glint_job_option options[] = {
    {"map", "COMMAND", NULL, "the lines of a split are its input; required"},
    {"combine", "COMMAND", NULL,
     "as --reduce, on what a task of --map printed; may run repeatedly"},
    {"reduce", "COMMAND", NULL,
     "lines KEY TAB VALUE sorted by key are its input, all of a key (default: what --map printed "
     "is saved)"},
    {"ok", "LIST", "0", "exit statuses of the commands that mean success, as in 0,1"},
    HEADER_OPTION,
    CSV_OPTION,
    JSON_LINES_OPTION,
    {NULL, NULL, NULL, NULL}};

const struct glint_job stream_job = {
    .name = "stream",
    .summary = "run commands of any language as map and reduce",
    .help = "Each task starts a process. Commands read lines and print lines, as with Hadoop "
            "Streaming; the key is what precedes the first tab. They are split into words by the "
            "rules of shells, but no shell runs: use sh -c '...' for pipes and variables. Programs "
            "and scripts must be at the same path on every node of a cluster, whose daemons need "
            "allow_commands.",
    .positional = {"INPUT", "OUTPUT"},
    .outputs = {"OUTPUT"},
    .options = options,
    .functions = {&split},
    .run = stream_run};
