/* Connections that have not sent a whole request: libmicrohttpd ends those without progress only,
 * so a byte now and then would keep one without limit. One thread. */
#ifndef GLINT_WEB_WEB_CONNECTIONS_H
#define GLINT_WEB_WEB_CONNECTIONS_H

#include "engine/base/env.h"
#include "engine/web/web_library.h"

struct web_connection;

struct web_connections {
    struct env *env;
    const struct web_library *library;
    struct web_connection *first;
};

/* MHD_OPTION_NOTIFY_CONNECTION; `connections` is a struct web_connections. */
void web_connections_on_change(void *connections, struct MHD_Connection *connection, void **context,
                               enum MHD_ConnectionNotificationCode change);
/* MHD_OPTION_NOTIFY_COMPLETED: the answer was sent, and the next request may come. */
void web_connections_on_answered(void *connections, struct MHD_Connection *connection,
                                 void **request, enum MHD_RequestTerminationCode code);
/* The headers of a request are complete. */
void web_connections_on_request(struct web_connections *c, struct MHD_Connection *connection);
/* Ends those that have been sending a request for longer. Call it now and then. */
void web_connections_end_slow(struct web_connections *c, uint64_t longest_ns);

#endif
