/* Parses options and arguments of any command, from tables that also generate its help. The tables
 * have the form of a job's own (struct glint_job_option), so jobs and commands are parsed, checked
 * and documented in the same way.
 *
 * Options may come before or after arguments; "--" ends them. Names cannot be abbreviated: an
 * abbreviation could become ambiguous when a job gets another option. */
#ifndef GLINT_CLI_OPTIONS_H
#define GLINT_CLI_OPTIONS_H

#include "engine/base/error.h"
#include "engine/glint.h"

#include <stdbool.h>
#include <stdint.h>

#define CLI_OPTIONS_MAX   80u /* of one command, over all tables */
#define CLI_ARGUMENTS_ANY UINT32_MAX

struct cli_program;

/* Another name of an option, of the commands that have `name` and no option called `alias`. */
struct cli_alias {
    const char *alias, *name;
};

/* The syntax of one command. Everything is borrowed. --help, -h is always available; rows without
 * help text work but are hidden. -q and -v are short for rows named quiet and verbose. */
struct cli_syntax {
    const char *command;   /* "glint submit count-keys" */
    const char *summary;   /* one line */
    const char *help;      /* longer text; may be NULL */
    const char *arguments; /* as the usage line shows them: "INPUT OUTPUT"; NULL: none */
    uint32_t arguments_min, arguments_max;
    const char
        *optional_with; /* options, as a|b, without which arguments_max are needed, or NULL */
    const struct glint_job_option *own;    /* both end with a NULL name and may be NULL; */
    const struct glint_job_option *common; /* they must not share names */
    /* Heading of the common options, if there are also own ones; NULL: they are not separated. */
    const char *common_title;
    /* The command takes the options of a cluster: cli_run_words sets `common`. The help shows those
     * in `cluster_shown`, as "dead|connect"; NULL: all. */
    bool takes_cluster;
    const char *cluster_shown;
    int skip; /* index in argv of a word that is no argument: the job's name; 0: none */
    const char *argument_option;     /* an option that gives one of the arguments; NULL: none */
    const struct cli_alias *aliases; /* ends with a NULL alias; may be NULL */
};

/* An option with a value, as given. */
struct cli_given {
    uint32_t row;
    const char *value;
};

/* A parsed command line. Borrows from argv and the syntax. */
struct cli_line {
    const struct cli_syntax *syntax;
    const struct cli_program *program;   /* set by cli_run_words */
    const char *values[CLI_OPTIONS_MAX]; /* by row: own, common, help; NULL: not given */
    const char **arguments;              /* in argv; has room for one more */
    uint32_t argument_count;
    struct cli_given *given; /* in the order of argv, also values that a later one replaces */
    uint32_t given_count;
    struct glint *context; /* of the job that reads its options; NULL: none runs */
    bool help;             /* --help was given: the arguments were not checked */
};

/* Parses argv, ignoring argv[0], without changing it. Returns false with *error set. Call
 * cli_line_fini in any case. */
bool cli_line_parse(struct cli_line *line, const struct cli_syntax *syntax, int argc, char **argv,
                    struct glint_error *error);
void cli_line_fini(struct cli_line *line);

/* Returns the given value, the default, or NULL. `name` must be in one of the tables. */
const char *cli_line_option(const struct cli_line *line, const char *name);
/* For an option that may be repeated: returns its next value, or NULL after the last one. *at is 0
 * before the first call. */
const char *cli_line_value(const struct cli_line *line, const char *name, uint32_t *at);
/* True if the option was given on this line; a default does not count. */
bool cli_line_has(const struct cli_line *line, const char *name);
/* True if cli_line_option is not NULL: for switches. */
bool cli_line_flag(const struct cli_line *line, const char *name);

/* Returns the row with this name, of `size` bytes, in a table (may be NULL); NULL: none. */
const struct glint_job_option *cli_option_find(const struct glint_job_option *table,
                                               const char *name, size_t size);
/* --json, for commands without other options of their own. */
extern const struct glint_job_option cli_json_option[];
/* Whether `word` is in a list "text|int"; *out is then its index. */
bool cli_choice_find(const char *list, const char *word, uint64_t *out);

/* ---- "Did you mean": finds the name most similar to a misspelt one. Pure. */

#define SUGGEST_BYTES_MAX 64u /* longer names get no suggestion */

/* Returns the edit distance: insertions, deletions, substitutions and swaps of adjacent characters.
 * UINT32_MAX if either name is too long. */
uint32_t suggest_distance(const char *a, const char *b);

/* Candidates are offered one by one, from any tables; the first of equally good ones is kept. */
struct suggest {
    const char *wanted;
    const char *name; /* best so far; NULL: none is similar enough */
    uint32_t distance;
};
/* Starts a search for `wanted`, which is borrowed. */
void suggest_init(struct suggest *n, const char *wanted);
void suggest_add_candidate(struct suggest *n, const char *candidate);

#endif
