/* Loads the library by the name of its ABI, which has been the same since 2006. */
#include "engine/remote/curl_library.h"

#include <assert.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stddef.h>
#include <string.h>

#define VERSION_MIN 0x075500 /* 7.85: CURLOPT_PROTOCOLS_STR */

static const struct {
    const char *name;
    size_t offset;
} symbols[] = {
#define SYMBOL(name)                                                                               \
    {                                                                                              \
        "curl_" #name, offsetof(struct curl_library, name)                                         \
    }
    SYMBOL(global_init),         SYMBOL(version_info),  SYMBOL(easy_init),
    SYMBOL(easy_cleanup),        SYMBOL(easy_reset),    SYMBOL(easy_setopt),
    SYMBOL(easy_getinfo),        SYMBOL(easy_pause),    SYMBOL(easy_strerror),
    SYMBOL(multi_init),          SYMBOL(multi_cleanup), SYMBOL(multi_add_handle),
    SYMBOL(multi_remove_handle), SYMBOL(multi_perform), SYMBOL(multi_poll),
    SYMBOL(multi_info_read),     SYMBOL(slist_append),  SYMBOL(slist_free_all),
#undef SYMBOL
};
#define SYMBOL_COUNT (sizeof symbols / sizeof *symbols)
static_assert(SYMBOL_COUNT * sizeof(void *) == sizeof(struct curl_library),
              "every function has a name");

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct curl_library library;
static bool loaded;

/* The variants with OpenSSL and with GnuTLS have the same interface. */
static void *open_library(void)
{
    void *handle = dlopen("libcurl.so.4", RTLD_NOW | RTLD_LOCAL);
    return handle != NULL ? handle : dlopen("libcurl-gnutls.so.4", RTLD_NOW | RTLD_LOCAL);
}

static int load(struct glint_error *error)
{
    static const char hint[] = "install libcurl, on Debian: apt install libcurl4";
    void *handle = open_library();
    if (handle == NULL)
        return error_set(error, GLINT_E_INPUT_URL, hint,
                         "URLs are read with libcurl, which cannot be loaded: %s", dlerror());
    for (size_t i = 0; i < SYMBOL_COUNT; i++) {
        void *function = dlsym(handle, symbols[i].name);
        if (function == NULL)
            return error_set(error, GLINT_E_INPUT_URL, hint, "libcurl is too old: it has no %s",
                             symbols[i].name);
        memcpy((char *)&library + symbols[i].offset, &function, sizeof function);
    }
    const curl_version_info_data *version = library.version_info(CURLVERSION_NOW);
    if (version->version_num < VERSION_MIN)
        return error_set(error, GLINT_E_INPUT_URL, hint,
                         "libcurl %s is too old: URLs need 7.85 or later", version->version);
    if (library.global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK)
        return error_set(error, GLINT_E_INPUT_URL, NULL, "libcurl cannot be initialized");
    return 0;
}

const struct curl_library *curl_library_load(struct glint_error *error)
{
    pthread_mutex_lock(&lock);
    if (!loaded) loaded = load(error) == 0;
    const bool ok = loaded;
    pthread_mutex_unlock(&lock);
    assert(!ok || library.easy_init != NULL);
    return ok ? &library : NULL;
}
