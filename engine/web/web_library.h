/* libmicrohttpd, loaded when a page is served: other runs of glint neither need it nor pay for
 * it. */
#ifndef GLINT_WEB_WEB_LIBRARY_H
#define GLINT_WEB_WEB_LIBRARY_H

#include "engine/base/error.h"

#include <microhttpd.h>

struct web_library {
    __typeof__(&MHD_get_version) get_version;
    __typeof__(&MHD_start_daemon) start_daemon;
    __typeof__(&MHD_stop_daemon) stop_daemon;
    __typeof__(&MHD_get_daemon_info) get_daemon_info;
    __typeof__(&MHD_get_connection_info) get_connection_info;
    __typeof__(&MHD_run) run;
    __typeof__(&MHD_get_timeout) get_timeout;
    __typeof__(&MHD_lookup_connection_value) lookup_connection_value;
    __typeof__(&MHD_create_response_from_buffer) create_response_from_buffer;
    __typeof__(&MHD_create_response_from_callback) create_response_from_callback;
    __typeof__(&MHD_add_response_header) add_response_header;
    __typeof__(&MHD_queue_response) queue_response;
    __typeof__(&MHD_destroy_response) destroy_response;
    __typeof__(&MHD_suspend_connection) suspend_connection;
    __typeof__(&MHD_resume_connection) resume_connection;
};

/* Returns the functions, or NULL with *error set to WEB_LIBRARY. It stays loaded: the library
 * registers functions for the process's end. */
const struct web_library *web_library_load(struct glint_error *error);

#endif
