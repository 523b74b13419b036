/* Each function is looked up by its name; libmicrohttpd.so.12 has had all of them since 0.9.71. */
#include "engine/web/web_library.h"

#include "engine/base/shared_library.h"

static struct web_library functions;

#define SYMBOL(name) {"MHD_" #name, offsetof(struct web_library, name)}
static const struct shared_symbol symbols[] = {
    SYMBOL(start_daemon),
    SYMBOL(stop_daemon),
    SYMBOL(get_daemon_info),
    SYMBOL(get_connection_info),
    SYMBOL(run),
    SYMBOL(get_timeout),
    SYMBOL(lookup_connection_value),
    SYMBOL(create_response_from_buffer),
    SYMBOL(create_response_from_callback),
    SYMBOL(add_response_header),
    SYMBOL(queue_response),
    SYMBOL(destroy_response),
    SYMBOL(suspend_connection),
    SYMBOL(resume_connection),
    SYMBOL(get_version)};

const struct web_library *web_library_load(struct glint_error *error)
{
    static struct shared_library library = {
        .names = {"libmicrohttpd.so.12"},
        .purpose = "the page is served with libmicrohttpd",
        .hint =
            "install libmicrohttpd (Debian: apt install libmicrohttpd12), or leave out the page",
        .code = GLINT_E_WEB_LIBRARY,
        .symbols = symbols,
        .symbol_count = sizeof symbols / sizeof symbols[0],
        .table = &functions,
        .lock = PTHREAD_MUTEX_INITIALIZER};
    return shared_library_load(&library, error) == 0 ? &functions : NULL;
}
