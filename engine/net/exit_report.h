/* What an executor process tells its daemon about its end, as text on the pipe PROCESS_PIPE_FD: a
 * crash (the text of base/crash.h), or the error with which it exits:
 *
 *    E0601 CAUSE
 *    HINT
 *
 * End of file tells each side that the other has exited, however it exited. A job can run any code
 * in the process, so the daemon believes nothing of it. */
#ifndef GLINT_NET_EXIT_REPORT_H
#define GLINT_NET_EXIT_REPORT_H

#include "engine/glint.h"
#include "engine/net/hello.h"
#include "engine/net/secret.h"

#define PROCESS_PIPE_FD       3
#define PROCESS_PROGRAM_FD    4 /* the program itself, if it is not the daemon's */
#define EXIT_REPORT_BYTES_MAX (32u * 1024)

/* What the daemon writes to the pipe before it starts the process: the key of the job is in no
 * argument, environment variable or file. */
struct process_credentials {
    uint8_t incarnation[INCARNATION_BYTES];
    struct secret key; /* zeros without TLS */
};
static_assert(sizeof(struct process_credentials) == INCARNATION_BYTES + SECRET_BYTES,
              "written and read as bytes");

/* Writes an error as a report. Returns its size. */
size_t exit_report_format(const struct glint_error *why, char *out, size_t capacity);
/* Sets *out to the report's error; EXECUTOR_LOST for a crash; OK if the report is empty. Returns
 * what remains of the report: the backtrace. */
struct glint_slice exit_report_parse(struct glint_slice report, struct glint_error *out);

#endif
