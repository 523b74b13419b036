/* Each function is looked up by its name; libmicrohttpd.so.12 has had all of them since 0.9.71. */
#include "engine/web/web_library.h"

#include <dlfcn.h>
#include <string.h>

int web_library_load(struct web_library *l, struct glint_error *error)
{
    memset(l, 0, sizeof *l);
    const struct {
        const char *name;
        void *to;
    } functions[] = {{"MHD_start_daemon", &l->start_daemon},
                     {"MHD_stop_daemon", &l->stop_daemon},
                     {"MHD_get_daemon_info", &l->get_daemon_info},
                     {"MHD_get_connection_info", &l->get_connection_info},
                     {"MHD_run", &l->run},
                     {"MHD_get_timeout", &l->get_timeout},
                     {"MHD_lookup_connection_value", &l->lookup_connection_value},
                     {"MHD_create_response_from_buffer", &l->create_response_from_buffer},
                     {"MHD_create_response_from_callback", &l->create_response_from_callback},
                     {"MHD_add_response_header", &l->add_response_header},
                     {"MHD_queue_response", &l->queue_response},
                     {"MHD_destroy_response", &l->destroy_response},
                     {"MHD_suspend_connection", &l->suspend_connection},
                     {"MHD_resume_connection", &l->resume_connection}};
    const char *hint = "install libmicrohttpd (Debian: apt install libmicrohttpd12), or leave out "
                       "the page";
    l->handle = dlopen("libmicrohttpd.so.12", RTLD_NOW | RTLD_LOCAL);
    if (l->handle == NULL)
        return error_set(error, GLINT_E_WEB_LIBRARY, hint, "%s", dlerror());
    for (size_t i = 0; i < sizeof functions / sizeof functions[0]; i++) {
        void *found = dlsym(l->handle, functions[i].name);
        if (found == NULL)
            return error_set(error, GLINT_E_WEB_LIBRARY, hint, "%s", dlerror());
        memcpy(functions[i].to, &found, sizeof found);
    }
    return 0;
}
