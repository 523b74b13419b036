/* What the files of the command line share: the parts of a job's run, and requests to a cluster. */
#ifndef GLINT_CLI_CLI_INTERNAL_H
#define GLINT_CLI_CLI_INTERNAL_H

#include "engine/base/env.h"
#include "engine/base/error.h"
#include "engine/base/mem.h"
#include "engine/cli/cli.h"
#include "engine/cli/cluster_file.h"
#include "engine/cli/options.h"
#include "engine/cli/print.h"
#include "engine/events/job_model.h"
#include "engine/glint.h"
#include "engine/limits.h"
#include "engine/net/cluster.h"
#include "engine/net/frame.h"
#include "engine/plan/context_config.h"

#include <stdio.h>

/* ---- Jobs on a command line, for submit, explain and stage. */

/* Runs the job that argv names as far as the session says, with the reports of `glint submit`.
 * Returns an exit status. */
int job_run_staged(const struct cli_program *program, const char *command,
                   struct stage_session *stage, int argc, char **argv);

/* ---- Reads the options that every job has into the settings of a context. */

enum graph_format { GRAPH_NONE, GRAPH_DOT, GRAPH_SVG };

/* The settings of one job, as read from its command line. */
struct settings {
    struct context_config config; /* the caller adds operators, modules and callbacks */
    struct cluster_file file;     /* config.cluster may point here, so settings must not move */
    const char *listen;           /* HOST:PORT; NULL: not given */
    const char *ui, *ui_token;    /* [HOST:PORT], FILE; NULL: not given */
    const char *input;            /* the last of them; NULL: not given */
    uint32_t executors;           /* to wait for; 0: not given */
    enum print_color color;
    enum graph_format graph; /* of explain */
    bool json, quiet, verbose;
};

/* Reads and checks every value, including the cluster's file. Returns false with *error set, which
 * names the option. Texts are borrowed from the line. Call settings_fini in any case. */
bool settings_read(struct settings *out, const struct cli_line *line, struct glint_error *error);
void settings_fini(struct settings *s);

/* Rejects a limit of bad rows that has no effect. Returns 0 or USAGE. */
int settings_check_bad_rows(const struct context_config *config, struct glint_error *error);

/* Parses the value of `option`, HOST:PORT or [::1]:PORT, if it was given; the arena owns the host.
 * Returns false with *error set if it is not valid. */
bool settings_read_address(const struct cli_line *line, const char *option, struct arena *memory,
                           const char **out_host, uint16_t *out_port, struct glint_error *error);

/* ---- Adapters run a job in another engine: programs of their own, glint-on-ENGINE, as git's and
 * cargo's external subcommands. Main thread only. */

/* For the help of glint submit: --on. */
extern const struct glint_job_option adapter_option[];

/* Returns the value of --on if it is the first word after the command's name, else NULL. *out_next
 * is then the number of the word after it. Returns "" with no value. */
const char *adapter_requested(int argc, char **argv, int *out_next);

/* Replaces this process by the adapter of `engine`, ENGINE or ENGINE:REST. It gets the path of this
 * program, REST, and the words from `next` on, unchanged. Returns only if that fails: an exit
 * status, after printing the error. */
int adapter_exec(const char *engine, int argc, char **argv, int next);

/* ---- Draws the stages of a plan: for Graphviz (`glint explain --graph dot`), or as SVG. */

/* A step reads the output of a stage, or the job needed the stage's result first. */
struct plan_edge {
    uint32_t from, to; /* indexes of stages; `from` is lower */
    uint32_t step;
    bool result;
};

/* All stages of a plan; their texts belong to the context. Zeros are empty. Free with
 * plan_graph_fini. */
struct plan_graph {
    struct plan_stage *stages; /* in order of arrival; without plan_step.reads */
    struct plan_edge *edges;   /* by `to` */
    uint32_t count, edge_count;
    uint64_t capacity, edge_capacity;
    bool failed; /* out of memory: a stage is missing */
};

/* For context_config.plan: adds the stage; `arg` is the graph. */
void plan_graph_add(void *arg, const struct plan_stage *stage);
void plan_graph_fini(struct plan_graph *graph);
void plan_graph_print_dot(FILE *out, const struct plan_graph *graph, const char *title);
/* Returns false when out of memory, having printed nothing. */
bool plan_graph_print_svg(FILE *out, const struct plan_graph *graph, const char *title);

/* ---- Shows the progress of a job on standard error, if that is a terminal: one line for each
 * running stage, redrawn in place. With --verbose, a plain line for each finished stage, too. */

#define PROGRESS_LINE_MAX   1024u
#define PROGRESS_STAGES_MAX 4u /* further ones are not shown until one of these ends */

struct progress_stage {
    struct progress last; /* its latest report */
    char name[NAME_BYTES_MAX];
};

/* The state of the display; progress_init sets it up. */
struct progress_view {
    struct env *env; /* for the time */
    bool live;       /* on a terminal: redraw */
    bool quiet, verbose;
    bool drawn; /* lines are drawn, and must be cleared before other output */
    uint64_t started_ns, drawn_ns;
    struct progress_stage stages[PROGRESS_STAGES_MAX]; /* the running ones, in order */
    uint32_t stage_count;
};

void progress_init(struct progress_view *view, struct env *env, bool quiet, bool verbose);
/* For context_config.progress; `arg` is the view. */
void progress_show(void *arg, const struct progress *p);
/* Clears the lines. Call it before any other output. */
void progress_clear(struct progress_view *view);
/* Formats a line, shorter than `columns`; pure. `out` has PROGRESS_LINE_MAX bytes. */
void progress_format(char *out, const struct progress *p, unsigned columns);

/* ---- The summary at the end of a job: text for people on standard error, or one JSON object for
 * programs. */

/* What to report; everything is borrowed. */
struct summary_report {
    const char *job;
    const struct glint_error *error; /* code 0: no error */
    const struct glint_summary *summary;
    const struct buffer *notes; /* the job's own lines, each NUL-terminated */
};

/* Prints rows, bytes, time, non-zero counters and outputs; with `verbose` all counters and the
 * stages. */
void summary_print(FILE *out, const struct summary_report *report, bool verbose);
/* Prints a line for each answer of the job: NAME TAB VALUE. */
void summary_print_answers(FILE *out, const struct glint_summary *s);
/* Prints one object and a newline. Returns false when out of memory, having printed nothing. */
bool summary_print_json(FILE *out, const struct summary_report *report);

/* ---- Sends one request to every executor daemon of a cluster, concurrently. */

struct cluster_request {
    const struct cluster *cluster;
    enum frame_type request_type, response_type;
    struct glint_slice payload; /* of the request */
};

/* The response of one executor daemon, or why there is none. */
struct cluster_response {
    struct buffer payload;
    struct glint_error why; /* code OK: it has responded */
};

/* Returns when all daemons have responded or failed; each has connect_ms. Sets *out to an array
 * [executor_count], for cluster_responses_free. Returns 0, or a code with *error set and *out NULL
 * if no request was sent. */
int cluster_request_send(const struct cluster_request *request, struct cluster_response **out,
                         struct glint_error *error);
/* `responses` may be NULL. */
void cluster_responses_free(struct cluster_response *responses, const struct cluster *cluster);

/* ---- Prints a job's history. */

void history_print(FILE *out, const struct job_model *m);
/* Prints one object and a newline. Returns false when out of memory, having printed nothing. */
bool history_print_json(FILE *out, const struct job_model *m);

#endif
