/* libcurl, which speaks HTTP and TLS here. It is loaded when the first URL is read: programs start
 * without it, and glint needs it only for URLs. Any thread. */
#ifndef GLINT_INPUT_CURL_LIBRARY_H
#define GLINT_INPUT_CURL_LIBRARY_H

#include "engine/base/error.h"

#define CURL_DISABLE_TYPECHECK /* its macros would call the functions by name */
#include <curl/curl.h>

/* The functions that are used, without their prefix curl_. */
#define CURL_FUNCTIONS(X)                                                                          \
    X(global_init)                                                                                 \
    X(version_info)                                                                                \
    X(easy_init)                                                                                   \
    X(easy_cleanup)                                                                                \
    X(easy_reset)                                                                                  \
    X(easy_setopt)                                                                                 \
    X(easy_getinfo)                                                                                \
    X(easy_pause)                                                                                  \
    X(easy_strerror)                                                                               \
    X(multi_init)                                                                                  \
    X(multi_cleanup)                                                                               \
    X(multi_add_handle)                                                                            \
    X(multi_remove_handle)                                                                         \
    X(multi_perform)                                                                               \
    X(multi_poll)                                                                                  \
    X(multi_info_read)                                                                             \
    X(slist_append)                                                                                \
    X(slist_free_all)

struct curl_library {
#define MEMBER(name) __typeof__(&curl_##name) name;
    CURL_FUNCTIONS(MEMBER)
#undef MEMBER
};

/* Returns the functions, which stay loaded, or NULL with *error set to INPUT_URL: libcurl is
 * missing, or too old. */
const struct curl_library *curl_library_load(struct glint_error *error);

#endif
