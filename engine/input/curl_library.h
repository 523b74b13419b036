/* libcurl, which speaks HTTP and TLS here. It is loaded when the first URL is read: programs start
 * without it, and glint needs it only for URLs. Any thread. */
#ifndef GLINT_INPUT_CURL_LIBRARY_H
#define GLINT_INPUT_CURL_LIBRARY_H

#include "engine/base/error.h"

#define CURL_DISABLE_TYPECHECK /* its macros would call the functions by name */
#include <curl/curl.h>

/* The functions, without their prefix curl_. */
struct curl_library {
    CURLcode (*global_init)(long flags);
    curl_version_info_data *(*version_info)(CURLversion age);
    CURL *(*easy_init)(void);
    void (*easy_cleanup)(CURL *easy);
    void (*easy_reset)(CURL *easy);
    CURLcode (*easy_setopt)(CURL *easy, CURLoption option, ...);
    CURLcode (*easy_getinfo)(CURL *easy, CURLINFO info, ...);
    CURLcode (*easy_pause)(CURL *easy, int bits);
    const char *(*easy_strerror)(CURLcode code);
    CURLM *(*multi_init)(void);
    CURLMcode (*multi_cleanup)(CURLM *multi);
    CURLMcode (*multi_add_handle)(CURLM *multi, CURL *easy);
    CURLMcode (*multi_remove_handle)(CURLM *multi, CURL *easy);
    CURLMcode (*multi_perform)(CURLM *multi, int *running);
    CURLMcode (*multi_poll)(CURLM *multi, struct curl_waitfd *extra, unsigned extra_count,
                            int timeout_ms, int *ready);
    CURLMsg *(*multi_info_read)(CURLM *multi, int *left);
    struct curl_slist *(*slist_append)(struct curl_slist *list, const char *text);
    void (*slist_free_all)(struct curl_slist *list);
};

/* Returns the functions, which stay loaded, or NULL with *error set to INPUT_URL: libcurl is
 * missing, or too old. */
const struct curl_library *curl_library_load(struct glint_error *error);

#endif
