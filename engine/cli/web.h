/* The web page of a command: the options --ui and --ui-token. */
#ifndef GLINT_CLI_WEB_H
#define GLINT_CLI_WEB_H

#include "engine/web/web_server.h"

/* Opens the server for the value of --ui ("": the default) or --serve; `token_file` may be NULL.
 * `jobs` NULL: of the job whose events come to the sink. Prints the page's address to standard
 * error; `log`: as a line of the log, without a token, which is then that of `token_file`. Returns
 * NULL with *error set. */
struct web_server *cli_web_open(const char *address, const char *token_file,
                                const struct web_jobs *jobs, bool log, struct glint_error *error);

/* HOST:PORT, HOST, or :PORT of 127.0.0.1; an IPv6 address is in brackets. Returns false if it is
 * none of these. */
bool cli_parse_address(const char *text, uint16_t port_default, char *host, size_t capacity,
                       uint16_t *out_port);

#endif
