/* The web page of a command: the options --ui and --ui-token. */
#ifndef GLINT_CLI_WEB_H
#define GLINT_CLI_WEB_H

#include "engine/web/web_server.h"

/* Opens the server for the value of --ui ("": the default) or --serve; `token_file` may be NULL.
 * `jobs` NULL: of the job whose events come to the sink. Prints the page's address to standard
 * error. Returns NULL with *error set. */
struct web_server *cli_web_open(const char *address, const char *token_file,
                                const struct web_jobs *jobs, struct glint_error *error);

#endif
