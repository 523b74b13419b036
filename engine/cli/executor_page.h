/* The page of an executor daemon: what the daemon answers to glint status. */
#ifndef GLINT_CLI_EXECUTOR_PAGE_H
#define GLINT_CLI_EXECUTOR_PAGE_H

#include "engine/cli/web.h"
#include "engine/net/cluster.h"

struct executor_page;

/* Serves the page of executor `id` of the cluster, in a thread, until close; `address`,
 * `token_file` and `log` as cli_web_open, cluster and id are borrowed. NULL: *error is set. */
struct executor_page *executor_page_open(const struct cluster *cluster, const char *id,
                                         const char *address, const char *token_file, bool log,
                                         struct glint_error *error);
void executor_page_close(struct executor_page *page); /* NULL is allowed */

#endif
