/* A list of all connections. One that is too slow is shut down, which libmicrohttpd sees as its
 * end. */
#include "engine/web/web_connections.h"

#include "engine/base/mem.h"

#include <sys/socket.h>

struct web_connection {
    struct web_connection *next;
    struct MHD_Connection *connection;
    uint64_t since_ns; /* since when it may send the request */
    bool receiving;
};

void web_connections_on_change(void *connections, struct MHD_Connection *connection, void **context,
                               enum MHD_ConnectionNotificationCode change)
{
    struct web_connections *c = connections;
    if (change == MHD_CONNECTION_NOTIFY_STARTED) {
        struct web_connection *new = mem_zalloc(sizeof *new);
        *context = new;
        if (new == NULL) return; /* it has the library's own timeout only */
        *new = (struct web_connection){.next = c->first,
                                       .connection = connection,
                                       .since_ns = c->env->now_ns(c->env),
                                       .receiving = true};
        c->first = new;
        return;
    }
    struct web_connection **at = &c->first;
    while (*at != NULL && *at != *context) at = &(*at)->next;
    if (*at == NULL) return;
    *at = (*at)->next;
    mem_free(*context);
    *context = NULL;
}

static struct web_connection *find(const struct web_connections *c,
                                   struct MHD_Connection *connection)
{
    const union MHD_ConnectionInfo *info = c->library->get_connection_info(
        connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    return info != NULL ? info->socket_context : NULL;
}

void web_connections_on_answered(void *connections, struct MHD_Connection *connection,
                                 void **request, enum MHD_RequestTerminationCode code)
{
    const struct web_connections *c = connections;
    struct web_connection *found = find(c, connection);
    (void)request, (void)code;
    if (found == NULL) return;
    found->receiving = true;
    found->since_ns = c->env->now_ns(c->env);
}

void web_connections_on_request(struct web_connections *c, struct MHD_Connection *connection)
{
    struct web_connection *found = find(c, connection);
    if (found != NULL) found->receiving = false;
}

void web_connections_end_slow(struct web_connections *c, uint64_t longest_ns)
{
    const uint64_t now = c->env->now_ns(c->env);
    for (struct web_connection *s = c->first; s != NULL; s = s->next) {
        if (!s->receiving || now - s->since_ns < longest_ns) continue;
        const union MHD_ConnectionInfo *info =
            c->library->get_connection_info(s->connection, MHD_CONNECTION_INFO_CONNECTION_FD);
        if (info != NULL) shutdown(info->connect_fd, SHUT_RDWR);
        s->since_ns = now;
    }
}
