/* Credentials for requests to S3, as the AWS SDKs find them. Any thread. */
#ifndef GLINT_INPUT_AWS_CREDENTIALS_H
#define GLINT_INPUT_AWS_CREDENTIALS_H

#include "engine/base/env.h"
#include "engine/base/error.h"
#include "engine/input/remote_transfer.h"

/* Credentials that expire earlier than this from now are replaced. */
#define AWS_REFRESH_NS (300 * (int64_t)SECOND_NS)

#define AWS_KEY_BYTES   256u
#define AWS_TOKEN_BYTES 4072u

struct aws_keys {
    char user[AWS_KEY_BYTES], password[AWS_KEY_BYTES]; /* "": none */
    char token[AWS_TOKEN_BYTES];                       /* "": none */
    int64_t expires_ns;                                /* Unix time; 0: never */
};

enum aws_answer { AWS_ANSWER_AGENT, AWS_ANSWER_SSO, AWS_ANSWER_STS };

/* Parses what a server answered. Returns false if it has no credentials with a time of expiry.
 * Pure.
 */
bool aws_answer_parse(enum aws_answer kind, const uint8_t *text, uint64_t size,
                      struct aws_keys *out);

/* NULL if the variable of the environment is empty, too. */
const char *nonempty_env_variable(const char *name);
/* The endpoint that this variable, or the one for all services, names; NULL: Amazon's. */
const char *aws_endpoint(const char *name);
/* Fills in the signature's parts if this process has credentials, and sets `region`;
 * *out_expires_ns is Unix time, 0: never. Returns 0, INPUT_PERMISSION if it has some that cannot be
 * used, INPUT_URL if they do not fit, or INPUT_IO if a server that gives them does not answer. */
int aws_credentials_read(struct env *env, struct remote_signature *out, int64_t *out_expires_ns,
                         char *region, size_t capacity, struct glint_error *error);

#endif
