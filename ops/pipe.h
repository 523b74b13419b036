/* Parts of the pipe operator: a process, the lines that it prints, and its standard error. Task's
 * thread. Functions that return int return 0 or a code with the task's error set. */
#ifndef GLINT_OPS_PIPE_H
#define GLINT_OPS_PIPE_H

#include "engine/base/thread.h"
#include "engine/input/newlines.h"
#include "ops/ops.h"

/* The parameters of a pipe, decoded into the task's arena. */
struct pipe_command {
    char **words, **variables; /* end with NULL */
    char **worker;             /* of a parent of workers; NULL: a process of its own */
    struct glint_slice files;  /* arguments; empty: none */
    bool ok[256];              /* by exit status */
    bool combine, is_map;
    bool record_input, record_output; /* else lines */
    enum glint_type key, value;       /* of its output */
    uint64_t job;
};

/* ---- Standard output (pipe_output.c): bytes in, batches of lines or records out. A line ends at
 * LF, or at the end. */

struct pipe_output {
    bool records; /* (pipe_records.c) */
    bool ended;   /* the mark of their end was read */
    enum glint_type key, value;
    struct glint_task *task;
    const char *command; /* for messages */
    /* [0, fill) was read; the next line starts at `line`, and [line, scanned) has no LF. */
    uint8_t *buffer;
    uint64_t capacity, line, scanned, fill;
    newlines_index index;
    uint32_t *start, *end;
};
int pipe_output_init(struct pipe_output *o, struct glint_task *task, const char *name,
                     const struct pipe_command *command);
/* Makes room for more bytes at buffer + fill. Returns how many, or a code: LINE_TOO_LONG. */
int64_t pipe_output_reserve(struct pipe_output *o);
/* Emits the lines that end in [line, fill); `last`: also what follows the last LF. */
enum flow pipe_output_emit(struct pipe_output *o, bool last, struct glint_emitter *out);
void pipe_output_fini(struct pipe_output *o); /* zeros are fine */

/* ---- Records instead of lines (pipe_records.c) */

#define PIPE_RECORD_HEAD 8u /* bytes before a key */
/* The same as pipe_output_emit. */
enum flow pipe_output_emit_records(struct pipe_output *o, struct glint_emitter *out);
/* What is wrong with the end of records; NULL: nothing. An exit status says more. */
const char *pipe_output_end_problem(const struct pipe_output *o);
/* `hint`: NULL for that about what a command writes. */
enum flow pipe_records_fail(struct glint_task *task, const char *command, const char *problem,
                            const char *hint);
/* Appends a record to what a command reads. Returns false when out of memory. */
bool pipe_record_append(struct buffer *b, struct glint_slice key, struct glint_slice value);
bool pipe_records_append_end(struct buffer *b);

/* ---- Standard error: keeps the end, and counts what Hadoop's scripts report. */

#define PIPE_ERRORS_BYTES 4096u

struct pipe_errors {
    char line[PIPE_ERRORS_BYTES], end[PIPE_ERRORS_BYTES];
    uint32_t line_size, end_size;
    bool is_rest; /* of a line that was longer */
};

/* ---- The process (pipe_process.c) */

/* Zeros: not started. After it has ended it can be started again. */
struct pipe_process {
    struct glint_task *task;
    const struct pipe_command *command;
    char text[256]; /* of the command, for messages */
    struct glint_emitter *out;
    struct env_child child; /* a file is -1 once it is closed */
    bool running, exited;
    int cancelled;      /* a descriptor: readable when the task is cancelled; -1: never */
    uint64_t active_ns; /* when something happened last */
    struct pipe_output output;
    struct pipe_errors errors;
};
void pipe_process_init(struct pipe_process *p, struct glint_task *task,
                       const struct pipe_command *command);
/* Starts it; what it prints is emitted to `out` by the two calls below. */
int pipe_process_start(struct pipe_process *p, struct glint_emitter *out);
/* Writes to its standard input, and reads what it prints meanwhile. No effect once it has closed
 * its standard input. */
enum flow pipe_process_write(struct pipe_process *p, const uint8_t *data, uint64_t size);
/* Ends its input, waits for its end and checks its exit status. No effect if it does not run. */
enum flow pipe_process_finish(struct pipe_process *p);
/* Kills it if it still runs, and frees. */
void pipe_process_close(struct pipe_process *p);

#endif
