/* Servers that give credentials for a while: STS for a web identity, the agent of a container (ECS,
 * EKS), the metadata of a machine (EC2, IMDSv2), and the portal of SSO. Any thread. */
#ifndef GLINT_INPUT_AWS_SERVICE_H
#define GLINT_INPUT_AWS_SERVICE_H

#include "engine/base/env.h"
#include "engine/base/error.h"

#include <stdbool.h>
#include <stddef.h>

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

/* All return 0, INPUT_PERMISSION, or INPUT_IO with *error set. */
int aws_fetch_web_identity(struct env *env, const char *role, const char *token_file,
                           const char *region, struct aws_keys *out, struct glint_error *error);
/* As AWS_CONTAINER_CREDENTIALS_FULL_URI or _RELATIVE_URI says. */
int aws_fetch_container(struct env *env, struct aws_keys *out, struct glint_error *error);
/* Returns INPUT_NOT_FOUND, too, without an error: this is no machine with a role. */
int aws_fetch_machine(struct env *env, struct aws_keys *out, struct glint_error *error);

/* A profile with SSO; texts are not empty. */
struct aws_sso {
    char start_url[512], region[64], account[64], role[128];
};
/* With the token that `aws sso login` has left in ~/.aws/sso/cache. */
int aws_fetch_sso(struct env *env, const struct aws_sso *sso, struct aws_keys *out,
                  struct glint_error *error);

#endif
