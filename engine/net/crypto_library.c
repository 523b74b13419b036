/* libssl.so.3 brings libcrypto.so.3: its handle finds the functions of both. */
#include "engine/net/crypto_library.h"

#include "engine/base/shared_library.h"

#define HINT "install OpenSSL 3, on Debian: apt install libssl3"

struct crypto_library crypto;

#define SYMBOL(function) {#function, offsetof(struct crypto_library, function)},
static const struct shared_symbol symbols[] = {CRYPTO_FUNCTIONS(SYMBOL)};

/* OpenSSL's global state is not freed at exit: that takes 0.6 ms, and there is one executor process
 * for each driver. */
static int initialize_openssl(struct glint_error *error)
{
    if (crypto.OPENSSL_init_crypto(OPENSSL_INIT_NO_ATEXIT, NULL) == 1) return 0;
    return error_set(error, GLINT_E_SYSTEM, HINT, "OpenSSL cannot be initialized");
}

int crypto_library_load(struct glint_error *error)
{
    static struct shared_library library = {.names = {"libssl.so.3"},
                                            .purpose =
                                                "connections, secrets and stages need OpenSSL",
                                            .hint = HINT,
                                            .code = GLINT_E_SYSTEM,
                                            .symbols = symbols,
                                            .symbol_count = sizeof symbols / sizeof symbols[0],
                                            .table = &crypto,
                                            .initialize = initialize_openssl,
                                            .lock = PTHREAD_MUTEX_INITIALIZER};
    return shared_library_load(&library, error);
}
