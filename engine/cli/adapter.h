/* Adapters run a job in another engine: programs of their own, glint-on-ENGINE, as git's and
 * cargo's external subcommands. Main thread only. */
#ifndef GLINT_CLI_ADAPTER_H
#define GLINT_CLI_ADAPTER_H

#include "engine/cli/cli.h"

/* For the help of glint submit: --on. */
extern const struct glint_job_option adapter_option[];

/* Returns the value of --on if it is the first word after the command's name, else NULL. *out_next
 * is then the number of the word after it. Returns "" with no value. */
const char *adapter_requested(int argc, char **argv, int *out_next);

/* Replaces this process by the adapter of `engine`, ENGINE or ENGINE:REST. It gets the path of this
 * program, REST, and the words from `next` on, unchanged. Returns only if that fails: an exit
 * status, after printing the error. */
int adapter_exec(const char *engine, int argc, char **argv, int next);

#endif
