/* Finds glint-on-ENGINE and replaces this process by it. It is looked for in ../libexec/glint
 * beside the directory of this program, where cmake --install and the wheel of Python put it, and
 * in this directory, where a build has it; then in the same places for each directory of $PATH, so
 * that programs of users find those of an installed glint. */
#include "engine/base/env.h"
#include "engine/base/error.h"
#include "engine/base/mem.h"
#include "engine/base/text.h"
#include "engine/cli/cli_internal.h"
#include "engine/cli/print.h"

#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <uv.h>

#define PREFIX          "glint-on-"
#define NAME_BYTES      32 /* of an engine's name, with the NUL */
#define NAMES_MAX       12u
#define EXECUTABLE_BITS 0111u

const struct glint_job_option adapter_option[] = {
    {"on", "ENGINE[:PLACE]", NULL,
     "first option: run the job in another engine, as in --on spark:local[2]; all that follows "
     "goes "
     "to the program glint-on-ENGINE"},
    {.name = NULL}};

const char *adapter_requested(int argc, char **argv, int *out_next)
{
    if (argc < 2 || strncmp(argv[1], "--on", 4) != 0) return NULL;
    *out_next = 2;
    if (argv[1][4] == '=') return argv[1] + 5;
    if (argv[1][4] != '\0') return NULL;
    *out_next = argc > 2 ? 3 : 2;
    return argc > 2 ? argv[2] : "";
}

struct search {
    const char *name;                  /* of the engine */
    char path[PATH_MAX];               /* of its adapter, once it is found */
    const char *directory;             /* being searched */
    char found[NAMES_MAX][NAME_BYTES]; /* other engines, sorted, without repetition */
    uint32_t count;
};

/* Sets s->path to the adapter of an engine in the directory. Returns true if it is a program. */
static bool find_adapter(struct search *s, const char *name)
{
    struct env_stat st;
    return text_format(s->path, sizeof s->path, "%s/" PREFIX "%s", s->directory, name) &&
           env_real()->stat(env_real(), s->path, &st) == 0 && st.kind == ENV_FILE &&
           (st.mode & EXECUTABLE_BITS) != 0;
}

static int add_found_adapter(void *arg, const char *file)
{
    struct search *s = arg;
    const char *name = file + strlen(PREFIX);
    if (strncmp(file, PREFIX, strlen(PREFIX)) != 0 || s->count == NAMES_MAX) return 0;
    if (strlen(name) >= NAME_BYTES || !text_is_printable(name) || !find_adapter(s, name)) return 0;
    uint32_t at = 0;
    while (at < s->count && strcmp(s->found[at], name) < 0) at++;
    if (at < s->count && strcmp(s->found[at], name) == 0) return 0;
    memmove(s->found[at + 1], s->found[at], (s->count - at) * sizeof s->found[0]);
    memcpy(s->found[at], name, strlen(name) + 1);
    s->count++;
    return 0;
}

/* Returns true if the adapter is in this directory, which need not exist. */
static bool search_adapter_in_directory(struct search *s, const char *directory)
{
    s->directory = directory;
    if (find_adapter(s, s->name)) return true;
    (void)env_list_dir(env_real(), directory, add_found_adapter, s);
    return false;
}

/* Looks in the places that belong to a directory with programs. */
static bool search_beside_programs(struct search *s, const char *programs)
{
    char libexec[PATH_MAX];
    return (text_format(libexec, sizeof libexec, "%s/../libexec/glint", programs) &&
            search_adapter_in_directory(s, libexec)) ||
           search_adapter_in_directory(s, programs);
}

/* Relative directories of $PATH are left out: what is run must not depend on where. */
static bool search_adapter_everywhere(struct search *s, const char *program)
{
    char directory[PATH_MAX];
    const char *slash = strrchr(program, '/'), *path = getenv("PATH");
    assert(slash != NULL);
    text_format(directory, sizeof directory, "%.*s", (int)(slash - program), program);
    if (search_beside_programs(s, directory)) return true;
    for (const char *end = path; path != NULL && *path != '\0';
         path = *end == ':' ? end + 1 : end) {
        end = strchrnul(path, ':');
        if (*path == '/' &&
            text_format(directory, sizeof directory, "%.*s", (int)(end - path), path) &&
            search_beside_programs(s, directory))
            return true;
    }
    return false;
}

static int set_no_adapter_error(const struct search *s, struct glint_error *error)
{
    char hint[sizeof error->hint] = "install glint, or put the program into $PATH";
    for (uint32_t i = 0; i < s->count; i++) {
        const size_t used = i > 0 ? strlen(hint) : 0;
        text_format(hint + used, sizeof hint - used, "%s%s",
                    i > 0 ? ", " : "there are: ", s->found[i]);
    }
    return error_set(error, GLINT_E_BAD_VALUE, hint, "--on %s: there is no program " PREFIX "%s",
                     s->name, s->name);
}

static bool is_engine_name(const char *name)
{
    return name[0] != '\0' && name[strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789-")] == '\0';
}

/* Splits ENGINE:PLACE. Returns 0 or BAD_VALUE. */
static int parse_engine_option(const char *text, char name[NAME_BYTES], const char **out_place,
                               struct glint_error *error)
{
    const char *colon = strchrnul(text, ':');
    *out_place = *colon == ':' ? colon + 1 : colon;
    if (text_format(name, NAME_BYTES, "%.*s", (int)(colon - text), text) && is_engine_name(name))
        return 0;
    return error_set(error, GLINT_E_BAD_VALUE, "glint submit --on ENGINE[:PLACE] JOB ARGUMENTS...",
                     "--on %s: it must begin with the name of an engine, as in spark:local[2]",
                     text);
}

/* SIGPIPE has its default again: cli_main ignores it, and the adapter would inherit that. */
static int exec_adapter(char **words, struct glint_error *error)
{
    signal(SIGPIPE, SIG_DFL);
    execv(words[0], words);
    const int failed = errno;
    signal(SIGPIPE, SIG_IGN);
    return error_set(error, GLINT_E_SYSTEM, "its first line must name a program that exists",
                     "%s cannot be run: %s", words[0], strerror(failed));
}

int adapter_exec(const char *engine, int argc, char **argv, int next)
{
    struct glint_error error = {.code = GLINT_OK};
    struct search search = {.path = ""};
    char name[NAME_BYTES], program[PATH_MAX];
    size_t size = sizeof program;
    const char *place = NULL;
    assert(next <= argc);
    char **words = mem_zalloc(sizeof *words * ((size_t)(argc - next) + 4));
    search.name = name;
    if (words == NULL)
        error_no_memory(&error);
    else if (uv_exepath(program, &size) != 0)
        error_set(&error, GLINT_E_SYSTEM, NULL, "the path of this program is not known");
    else if (parse_engine_option(engine, name, &place, &error) == 0 &&
             !search_adapter_everywhere(&search, program))
        set_no_adapter_error(&search, &error);
    if (error.code == GLINT_OK) {
        words[0] = search.path;
        words[1] = program;
        words[2] = (char *)(uintptr_t)place;
        memcpy(&words[3], &argv[next], sizeof *words * (size_t)(argc - next));
        exec_adapter(words, &error);
    }
    mem_free(words);
    return cli_fail(&error);
}
