/* OpenSSL, which is loaded when a process first needs it: for TLS, keys, SHA-256 of programs, and
 * base64. In files that include this, the names of its functions are those of the loaded ones;
 * macros of OpenSSL use them, too. */
#ifndef GLINT_NET_CRYPTO_LIBRARY_H
#define GLINT_NET_CRYPTO_LIBRARY_H

#include "engine/base/error.h"

#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/kdf.h>
#include <openssl/ssl.h>

#define CRYPTO_FUNCTIONS(X) \
    X(BIO_clear_flags) \
    X(BIO_get_data) \
    X(BIO_meth_free) \
    X(BIO_meth_new) \
    X(BIO_meth_set_ctrl) \
    X(BIO_meth_set_read) \
    X(BIO_meth_set_write) \
    X(BIO_new) \
    X(BIO_set_data) \
    X(BIO_set_flags) \
    X(BIO_set_init) \
    X(ERR_clear_error) \
    X(ERR_peek_error) \
    X(ERR_reason_error_string) \
    X(EVP_DecodeBlock) \
    X(EVP_DigestFinal_ex) \
    X(EVP_DigestInit_ex) \
    X(EVP_DigestUpdate) \
    X(EVP_EncodeBlock) \
    X(EVP_KDF_CTX_free) \
    X(EVP_KDF_CTX_new) \
    X(EVP_KDF_derive) \
    X(EVP_KDF_fetch) \
    X(EVP_KDF_free) \
    X(EVP_MD_CTX_free) \
    X(EVP_MD_CTX_new) \
    X(EVP_sha256) \
    X(OPENSSL_init_crypto) \
    X(OSSL_PARAM_construct_end) \
    X(OSSL_PARAM_construct_octet_string) \
    X(OSSL_PARAM_construct_utf8_string) \
    X(OpenSSL_version) \
    X(SSL_CIPHER_find) \
    X(SSL_CTX_clear_options) \
    X(SSL_CTX_ctrl) \
    X(SSL_CTX_free) \
    X(SSL_CTX_get_ex_data) \
    X(SSL_CTX_new) \
    X(SSL_CTX_set_ciphersuites) \
    X(SSL_CTX_set_ex_data) \
    X(SSL_CTX_set_max_early_data) \
    X(SSL_CTX_set_num_tickets) \
    X(SSL_CTX_set_options) \
    X(SSL_CTX_set_psk_find_session_callback) \
    X(SSL_CTX_set_psk_use_session_callback) \
    X(SSL_CTX_set_session_id_context) \
    X(SSL_CTX_set_verify) \
    X(SSL_SESSION_free) \
    X(SSL_SESSION_new) \
    X(SSL_SESSION_set1_id_context) \
    X(SSL_SESSION_set1_master_key) \
    X(SSL_SESSION_set_cipher) \
    X(SSL_SESSION_set_protocol_version) \
    X(SSL_do_handshake) \
    X(SSL_free) \
    X(SSL_get_SSL_CTX) \
    X(SSL_get_error) \
    X(SSL_get_ex_data) \
    X(SSL_key_update) \
    X(SSL_new) \
    X(SSL_read_ex) \
    X(SSL_session_reused) \
    X(SSL_set_accept_state) \
    X(SSL_set_bio) \
    X(SSL_set_connect_state) \
    X(SSL_set_ex_data) \
    X(SSL_write_ex) \
    X(TLS_method)

struct crypto_library {
#define MEMBER(name) __typeof__(&name) name;
    CRYPTO_FUNCTIONS(MEMBER)
#undef MEMBER
};

/* Valid once crypto_library_load has returned 0. */
extern struct crypto_library crypto_library;

/* Returns 0 or error->code, SYSTEM: OpenSSL 3 is missing. It stays loaded. Any thread; fast once it
 * is loaded. */
int crypto_library_load(struct glint_error *error);

#ifndef CRYPTO_LIBRARY_OWN_NAMES /* set by crypto_library.c */
#define BIO_clear_flags crypto_library.BIO_clear_flags
#define BIO_get_data crypto_library.BIO_get_data
#define BIO_meth_free crypto_library.BIO_meth_free
#define BIO_meth_new crypto_library.BIO_meth_new
#define BIO_meth_set_ctrl crypto_library.BIO_meth_set_ctrl
#define BIO_meth_set_read crypto_library.BIO_meth_set_read
#define BIO_meth_set_write crypto_library.BIO_meth_set_write
#define BIO_new crypto_library.BIO_new
#define BIO_set_data crypto_library.BIO_set_data
#define BIO_set_flags crypto_library.BIO_set_flags
#define BIO_set_init crypto_library.BIO_set_init
#define ERR_clear_error crypto_library.ERR_clear_error
#define ERR_peek_error crypto_library.ERR_peek_error
#define ERR_reason_error_string crypto_library.ERR_reason_error_string
#define EVP_DecodeBlock crypto_library.EVP_DecodeBlock
#define EVP_DigestFinal_ex crypto_library.EVP_DigestFinal_ex
#define EVP_DigestInit_ex crypto_library.EVP_DigestInit_ex
#define EVP_DigestUpdate crypto_library.EVP_DigestUpdate
#define EVP_EncodeBlock crypto_library.EVP_EncodeBlock
#define EVP_KDF_CTX_free crypto_library.EVP_KDF_CTX_free
#define EVP_KDF_CTX_new crypto_library.EVP_KDF_CTX_new
#define EVP_KDF_derive crypto_library.EVP_KDF_derive
#define EVP_KDF_fetch crypto_library.EVP_KDF_fetch
#define EVP_KDF_free crypto_library.EVP_KDF_free
#define EVP_MD_CTX_free crypto_library.EVP_MD_CTX_free
#define EVP_MD_CTX_new crypto_library.EVP_MD_CTX_new
#define EVP_sha256 crypto_library.EVP_sha256
#define OPENSSL_init_crypto crypto_library.OPENSSL_init_crypto
#define OSSL_PARAM_construct_end crypto_library.OSSL_PARAM_construct_end
#define OSSL_PARAM_construct_octet_string crypto_library.OSSL_PARAM_construct_octet_string
#define OSSL_PARAM_construct_utf8_string crypto_library.OSSL_PARAM_construct_utf8_string
#define OpenSSL_version crypto_library.OpenSSL_version
#define SSL_CIPHER_find crypto_library.SSL_CIPHER_find
#define SSL_CTX_clear_options crypto_library.SSL_CTX_clear_options
#define SSL_CTX_ctrl crypto_library.SSL_CTX_ctrl
#define SSL_CTX_free crypto_library.SSL_CTX_free
#define SSL_CTX_get_ex_data crypto_library.SSL_CTX_get_ex_data
#define SSL_CTX_new crypto_library.SSL_CTX_new
#define SSL_CTX_set_ciphersuites crypto_library.SSL_CTX_set_ciphersuites
#define SSL_CTX_set_ex_data crypto_library.SSL_CTX_set_ex_data
#define SSL_CTX_set_max_early_data crypto_library.SSL_CTX_set_max_early_data
#define SSL_CTX_set_num_tickets crypto_library.SSL_CTX_set_num_tickets
#define SSL_CTX_set_options crypto_library.SSL_CTX_set_options
#define SSL_CTX_set_psk_find_session_callback crypto_library.SSL_CTX_set_psk_find_session_callback
#define SSL_CTX_set_psk_use_session_callback crypto_library.SSL_CTX_set_psk_use_session_callback
#define SSL_CTX_set_session_id_context crypto_library.SSL_CTX_set_session_id_context
#define SSL_CTX_set_verify crypto_library.SSL_CTX_set_verify
#define SSL_SESSION_free crypto_library.SSL_SESSION_free
#define SSL_SESSION_new crypto_library.SSL_SESSION_new
#define SSL_SESSION_set1_id_context crypto_library.SSL_SESSION_set1_id_context
#define SSL_SESSION_set1_master_key crypto_library.SSL_SESSION_set1_master_key
#define SSL_SESSION_set_cipher crypto_library.SSL_SESSION_set_cipher
#define SSL_SESSION_set_protocol_version crypto_library.SSL_SESSION_set_protocol_version
#define SSL_do_handshake crypto_library.SSL_do_handshake
#define SSL_free crypto_library.SSL_free
#define SSL_get_SSL_CTX crypto_library.SSL_get_SSL_CTX
#define SSL_get_error crypto_library.SSL_get_error
#define SSL_get_ex_data crypto_library.SSL_get_ex_data
#define SSL_key_update crypto_library.SSL_key_update
#define SSL_new crypto_library.SSL_new
#define SSL_read_ex crypto_library.SSL_read_ex
#define SSL_session_reused crypto_library.SSL_session_reused
#define SSL_set_accept_state crypto_library.SSL_set_accept_state
#define SSL_set_bio crypto_library.SSL_set_bio
#define SSL_set_connect_state crypto_library.SSL_set_connect_state
#define SSL_set_ex_data crypto_library.SSL_set_ex_data
#define SSL_write_ex crypto_library.SSL_write_ex
#define TLS_method crypto_library.TLS_method
#endif

#endif
