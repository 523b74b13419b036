/* OpenSSL, which is loaded when a process first needs it: for TLS, keys, SHA-256 of programs, and
 * base64. Macros of OpenSSL that call functions cannot be used: call crypto's functions. */
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
    X(SSL_CTX_check_private_key) \
    X(SSL_CTX_clear_options) \
    X(SSL_CTX_ctrl) \
    X(SSL_CTX_free) \
    X(SSL_CTX_get_ex_data) \
    X(SSL_CTX_new) \
    X(SSL_CTX_set_ciphersuites) \
    X(SSL_CTX_set_default_passwd_cb) \
    X(SSL_CTX_set_ex_data) \
    X(SSL_CTX_set_max_early_data) \
    X(SSL_CTX_set_num_tickets) \
    X(SSL_CTX_set_options) \
    X(SSL_CTX_set_psk_find_session_callback) \
    X(SSL_CTX_set_psk_use_session_callback) \
    X(SSL_CTX_set_session_id_context) \
    X(SSL_CTX_set_verify) \
    X(SSL_CTX_use_PrivateKey_file) \
    X(SSL_CTX_use_certificate_chain_file) \
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
    X(SSL_shutdown) \
    X(SSL_write_ex) \
    X(TLS_method) \
    X(TLS_server_method)

struct crypto_library {
#define MEMBER(name) __typeof__(&name) name;
    CRYPTO_FUNCTIONS(MEMBER)
#undef MEMBER
};

/* Valid once crypto_library_load has returned 0. */
extern struct crypto_library crypto;

/* Returns 0 or error->code, SYSTEM: OpenSSL 3 is missing. It stays loaded. Any thread; fast once it
 * is loaded. */
int crypto_library_load(struct glint_error *error);

#endif
