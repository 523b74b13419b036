/* Serves filters over sockets in RESP, the protocol of Redis, read only: BF.EXISTS, BF.MEXISTS,
 * BF.INFO, BF.CARD and what clients send to begin a connection; and over HTTP. */
#ifndef GLINT_JOBS_COMMANDS_FILTER_SERVER_H
#define GLINT_JOBS_COMMANDS_FILTER_SERVER_H

#include "engine/base/env.h"
#include "engine/base/error.h"

#define SERVER_PASSWORD_MAX 512u /* bytes */

struct filter_server_config {
    struct env *env;
    const char *path;     /* of the filters, as for filter_each */
    const char *socket;   /* to listen on, mode 0600; NULL: none */
    const char *host;     /* an address to listen on; NULL: none */
    uint16_t port;        /* 0: any */
    const char *password; /* that each client must send; NULL: none, and then no HTTP */
    /* Files in PEM, for TLS at both addresses, not at the socket; NULL: no TLS. The files are read
     * again with the filters, but not for HTTP. */
    const char *certificate, *key;
    const char *http_host;                   /* an address for HTTP; NULL: none */
    uint16_t http_port;                      /* 0: any */
    const char *certificate_text, *key_text; /* for HTTP: what the files have */
    uint32_t clients_max;
};

/* Serves until SIGINT or SIGTERM. SIGHUP loads the files again, while the old ones are served, and
 * exchanges them between two requests; if they cannot be loaded the old ones stay. Returns 0, or a
 * code: as filter_table_open, ADDRESS, SECRET, WEB_LIBRARY, SYSTEM, NO_MEMORY. */
int filter_server_run(const struct filter_server_config *config, struct glint_error *error);

#endif
