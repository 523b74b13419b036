/* Loads the library by the name of its ABI, which has been the same since 2006. */
#include "engine/input/curl_library.h"

#include "engine/base/shared_library.h"

#define VERSION_MIN 0x075500 /* 7.85: CURLOPT_PROTOCOLS_STR */

#define SYMBOL(name) {"curl_" #name, offsetof(struct curl_library, name)},
static const struct shared_symbol symbols[] = {CURL_FUNCTIONS(SYMBOL)};

static struct curl_library library;

static const char hint[] = "install libcurl, on Debian: apt install libcurl4";

static int initialize_curl(struct glint_error *error)
{
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
    /* The variants with OpenSSL and with GnuTLS have the same interface. */
    static struct shared_library curl = {.names = {"libcurl.so.4", "libcurl-gnutls.so.4"},
                                         .purpose = "URLs are read with libcurl",
                                         .hint = hint,
                                         .code = GLINT_E_INPUT_URL,
                                         .symbols = symbols,
                                         .symbol_count = sizeof symbols / sizeof symbols[0],
                                         .table = &library,
                                         .initialize = initialize_curl,
                                         .lock = PTHREAD_MUTEX_INITIALIZER};
    return shared_library_load(&curl, error) == 0 ? &library : NULL;
}
