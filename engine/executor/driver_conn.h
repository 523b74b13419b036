/* The bytes that an executor serves (transfer/fetch_server.h): map outputs and their indexes,
 * results of tasks, blocks of broadcasts. Loop thread only. */
#ifndef GLINT_EXECUTOR_DRIVER_CONN_H
#define GLINT_EXECUTOR_DRIVER_CONN_H

#include "engine/executor/store.h"
#include "engine/transfer/broadcast_client.h"
#include "engine/transfer/fetch_server.h"

/* `store` and `broadcasts` are borrowed until the server is destroyed; `broadcasts` may be NULL:
 * blocks are not served. Returns NULL when out of memory. */
struct fetch_server *fetch_sources_create_server(uv_loop_t *loop, struct store *store,
                                                 struct broadcast_client *broadcasts);

#endif
