/* An OpenSSL provider with AES-128-GCM by libipsec-mb: see provider-cipher(7) and intel-ipsec-mb.h.
 * Supports only what TLS records need: an IV of 12 bytes, used once; additional authenticated data
 * (AAD) in one piece, before the text; text in any number of pieces; a tag of 16 bytes. All other
 * calls fail. */
#include "engine/net/tls_gcm.h"

#include <stddef.h>

#ifndef __x86_64__

const char *tls_gcm_property_query(void)
{
    return NULL;
}

#else

#include "engine/base/mem.h"

#include <assert.h>
#include <intel-ipsec-mb.h>
#include <openssl/core_dispatch.h>
#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/params.h>
#include <openssl/provider.h>
#include <pthread.h>
#include <string.h>

#define PROVIDER  "glint"
#define QUERY     "?provider=" PROVIDER
#define KEY_BYTES 16u
#define IV_BYTES  12u
#define TAG_BYTES 16u
#define NEEDED    (IMB_FEATURE_AESNI | IMB_FEATURE_PCLMULQDQ)
#define TESTED    IMB_FEATURE_SELF_TEST_PASS

static IMB_MGR *manager; /* functions for this processor; constant once loaded */

/* A cipher context of OpenSSL: one key, one text at a time. */
struct gcm {
    _Alignas(64) struct gcm_key_data key; /* expanded key, as the library defines it */
    struct gcm_context_data text;         /* state of the current text */
    uint8_t iv[IV_BYTES], tag[TAG_BYTES];
    bool encrypts, has_key, has_iv, started, has_tag;
};

static void *gcm_create(void *provider)
{
    struct gcm *g = mem_zalloc(sizeof *g); /* 64-byte aligned, as `key` requires */
    assert(provider == manager && (uintptr_t)g % _Alignof(struct gcm) == 0);
    if (g == NULL) ERR_raise(ERR_LIB_PROV, ERR_R_MALLOC_FAILURE);
    return g;
}

static void gcm_destroy(void *context)
{
    if (context != NULL) OPENSSL_cleanse(context, sizeof(struct gcm));
    mem_free(context);
}

/* ---- Encryption */

/* Key and IV may be set by separate calls, the key first; a key is used with many IVs. */
static int gcm_init(struct gcm *g, bool encrypts, const uint8_t *key, size_t key_size,
                    const uint8_t *iv, size_t iv_size)
{
    if ((key != NULL && key_size != KEY_BYTES) || (iv != NULL && iv_size != IV_BYTES)) return 0;
    g->encrypts = encrypts;
    g->started = g->has_tag = false;
    if (key != NULL) IMB_AES128_GCM_PRE(manager, key, &g->key);
    if (iv != NULL) memcpy(g->iv, iv, IV_BYTES);
    g->has_key = g->has_key || key != NULL;
    g->has_iv = iv != NULL;
    return 1;
}

static int gcm_encrypt_init(void *context, const unsigned char *key, size_t key_size,
                            const unsigned char *iv, size_t iv_size, const OSSL_PARAM params[])
{
    (void)params;
    return gcm_init(context, true, key, key_size, iv, iv_size);
}

static int gcm_decrypt_init(void *context, const unsigned char *key, size_t key_size,
                            const unsigned char *iv, size_t iv_size, const OSSL_PARAM params[])
{
    (void)params;
    return gcm_init(context, false, key, key_size, iv, iv_size);
}

static int gcm_begin(struct gcm *g, const uint8_t *aad, size_t size)
{
    if (!g->has_key || !g->has_iv || g->started) return 0;
    IMB_AES128_GCM_INIT(manager, &g->key, &g->text, g->iv, aad, size);
    g->started = true;
    return 1;
}

/* If `out` is NULL, `in` is AAD. */
static int gcm_update(void *context, unsigned char *out, size_t *out_size, size_t capacity,
                      const unsigned char *in, size_t size)
{
    struct gcm *g = context;
    *out_size = size;
    assert(in != NULL || size == 0);
    if (out == NULL) return gcm_begin(g, in, size);
    if (capacity < size || (!g->started && !gcm_begin(g, in, 0))) return 0;
    if (g->encrypts)
        IMB_AES128_GCM_ENC_UPDATE(manager, &g->key, &g->text, out, in, size);
    else
        IMB_AES128_GCM_DEC_UPDATE(manager, &g->key, &g->text, out, in, size);
    return 1;
}

static int gcm_final(void *context, unsigned char *out, size_t *out_size, size_t capacity)
{
    struct gcm *g = context;
    uint8_t tag[TAG_BYTES];
    (void)capacity;
    *out_size = 0;
    /* Without AAD and text the tag of the empty text is computed. */
    if (!g->started && !gcm_begin(g, out, 0)) return 0;
    /* An IV must never be used twice with one key: the next text needs a new one. */
    g->started = g->has_iv = false;
    assert(g->has_key);
    if (g->encrypts) {
        IMB_AES128_GCM_ENC_FINALIZE(manager, &g->key, &g->text, g->tag, TAG_BYTES);
        g->has_tag = true;
        return 1;
    }
    IMB_AES128_GCM_DEC_FINALIZE(manager, &g->key, &g->text, tag, TAG_BYTES);
    bool right = g->has_tag && CRYPTO_memcmp(tag, g->tag, TAG_BYTES) == 0;
    g->has_tag = false;
    return right;
}

/* ---- Parameters */

struct number {
    const char *name;
    size_t value;
};

static const struct number numbers[] = {
    {OSSL_CIPHER_PARAM_MODE, EVP_CIPH_GCM_MODE}, {OSSL_CIPHER_PARAM_KEYLEN, KEY_BYTES},
    {OSSL_CIPHER_PARAM_IVLEN, IV_BYTES},         {OSSL_CIPHER_PARAM_BLOCK_SIZE, 1},
    {OSSL_CIPHER_PARAM_AEAD_TAGLEN, TAG_BYTES},  {OSSL_CIPHER_PARAM_AEAD, true},
    {OSSL_CIPHER_PARAM_CUSTOM_IV, true}};

static int gcm_get_params(OSSL_PARAM params[])
{
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        OSSL_PARAM *p = OSSL_PARAM_locate(params, numbers[i].name);
        if (p != NULL && !OSSL_PARAM_set_size_t(p, numbers[i].value)) return 0;
    }
    return 1;
}

static int gcm_get_context_params(void *context, OSSL_PARAM params[])
{
    const struct gcm *g = context;
    OSSL_PARAM *tag = OSSL_PARAM_locate(params, OSSL_CIPHER_PARAM_AEAD_TAG);
    if (tag == NULL) return gcm_get_params(params);
    if (!g->encrypts || !g->has_tag || tag->data_size != TAG_BYTES) return 0;
    return OSSL_PARAM_set_octet_string(tag, g->tag, TAG_BYTES);
}

static int gcm_set_context_params(void *context, const OSSL_PARAM params[])
{
    struct gcm *g = context;
    const OSSL_PARAM *iv_size = OSSL_PARAM_locate_const(params, OSSL_CIPHER_PARAM_AEAD_IVLEN);
    const OSSL_PARAM *tag = OSSL_PARAM_locate_const(params, OSSL_CIPHER_PARAM_AEAD_TAG);
    size_t bytes = 0;
    if (iv_size != NULL && (!OSSL_PARAM_get_size_t(iv_size, &bytes) || bytes != IV_BYTES)) return 0;
    if (tag == NULL) return 1;
    if (g->encrypts || tag->data == NULL || tag->data_size != TAG_BYTES) return 0;
    memcpy(g->tag, tag->data, TAG_BYTES);
    g->has_tag = true;
    return 1;
}

/* ---- The provider */

typedef void (*function)(void);

static const OSSL_DISPATCH gcm_functions[] = {
    {OSSL_FUNC_CIPHER_NEWCTX, (function)gcm_create},
    {OSSL_FUNC_CIPHER_FREECTX, (function)gcm_destroy},
    {OSSL_FUNC_CIPHER_ENCRYPT_INIT, (function)gcm_encrypt_init},
    {OSSL_FUNC_CIPHER_DECRYPT_INIT, (function)gcm_decrypt_init},
    {OSSL_FUNC_CIPHER_UPDATE, (function)gcm_update},
    {OSSL_FUNC_CIPHER_FINAL, (function)gcm_final},
    {OSSL_FUNC_CIPHER_GET_PARAMS, (function)gcm_get_params},
    {OSSL_FUNC_CIPHER_GET_CTX_PARAMS, (function)gcm_get_context_params},
    {OSSL_FUNC_CIPHER_SET_CTX_PARAMS, (function)gcm_set_context_params},
    {0, NULL}};

static const OSSL_ALGORITHM ciphers[] = {
    {"AES-128-GCM:id-aes128-GCM:2.16.840.1.101.3.4.1.6", "provider=" PROVIDER, gcm_functions, NULL},
    {NULL, NULL, NULL, NULL}};

static const OSSL_ALGORITHM *provider_query(void *provider, int operation, int *no_cache)
{
    (void)provider;
    *no_cache = 0;
    return operation == OSSL_OP_CIPHER ? ciphers : NULL;
}

static const OSSL_DISPATCH provider_functions[] = {
    {OSSL_FUNC_PROVIDER_QUERY_OPERATION, (function)provider_query}, {0, NULL}};

static int provider_init(const OSSL_CORE_HANDLE *handle, const OSSL_DISPATCH *core,
                         const OSSL_DISPATCH **out, void **provider)
{
    (void)handle;
    (void)core;
    *provider = manager;
    *out = provider_functions;
    return 1;
}

static OSSL_PROVIDER *loaded;

/* Whether the processor has the needed features, and the operating system has enabled those that
 * the library would use (AVX, AVX-512), which the library does not check. */
static bool is_allowed(uint64_t features)
{
    return (features & NEEDED) == NEEDED &&
           ((features & IMB_FEATURE_AVX) == 0 || __builtin_cpu_supports("avx")) &&
           ((features & IMB_FEATURE_AVX512F) == 0 || __builtin_cpu_supports("avx512f"));
}

/* Loads the provider for the life of the process. If anything fails, OpenSSL's own cipher
 * is used. */
static void load_provider(void)
{
    manager = alloc_mb_mgr(0);
    if (manager == NULL || imb_get_version() != IMB_VERSION_NUM || !is_allowed(manager->features))
        return;
    init_mb_mgr_auto(manager, NULL);
    if ((manager->features & TESTED) != 0 &&
        OSSL_PROVIDER_add_builtin(NULL, PROVIDER, provider_init) == 1)
        loaded = OSSL_PROVIDER_try_load(NULL, PROVIDER, true);
}

const char *tls_gcm_property_query(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, load_provider);
    return loaded != NULL ? QUERY : NULL;
}

#endif
