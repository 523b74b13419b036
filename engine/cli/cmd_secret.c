/* glint secret new FILE: creates the secret that the processes of a cluster share. glint secret
 * derive SECRET FILE: creates the client secret derived from it. */
#include "engine/base/error.h"
#include "engine/cli/cli.h"
#include "engine/cli/options.h"
#include "engine/net/secret.h"

static void create_secret(const struct cli_line *line, struct glint_error *error)
{
    secret_file_create(env_real(), line->arguments[0], error);
}

static void derive_secret(const struct cli_line *line, struct glint_error *error)
{
    const char *from = line->arguments[0];
    struct secrets secrets;
    if (secrets_load(env_real(), from, &secrets, error) != 0) return;
    /* A secret derived from a client secret would not match anything in the cluster. */
    if (secrets.kind == SECRET_CLIENT)
        error_set(error, GLINT_E_SECRET, "name the file of the cluster's own secret",
                  "%s contains a client secret; only a cluster secret can derive another one",
                  from);
    else
        client_secret_file_create(env_real(), &secrets, line->arguments[1], error);
    secrets_clear(&secrets);
}

static const struct cli_command secret_new = {
    .name = "new",
    .summary = "create a secret",
    .syntax = {.command = "glint secret new",
               .summary =
                   "Creates FILE with a new secret, readable only by you; never replaces a file.",
               .help = "Copy FILE to every node of the cluster over a private channel, and set it "
                       "in the cluster's file: secret_file = \"FILE\". Any process that has it "
                       "can run code as you.",
               .arguments = "FILE",
               .arguments_min = 1,
               .arguments_max = 1},
    .execute = create_secret};

static const struct cli_command secret_derive = {
    .name = "derive",
    .summary = "derive one that only permits status",
    .syntax = {.command = "glint secret derive",
               .summary = "Derives the client secret of the first secret in SECRET, and creates "
                          "FILE with it.",
               .help = "The holder of FILE may request the status of the cluster, and nothing "
                       "else: glint status --cluster CLUSTER --secret-file FILE. It is valid as "
                       "long as the executors accept the secret that it was derived from.",
               .arguments = "SECRET FILE",
               .arguments_min = 2,
               .arguments_max = 2},
    .execute = derive_secret};

static const struct cli_command *const secret_commands[] = {&secret_new, &secret_derive, NULL};

const struct cli_command cmd_secret = {
    .name = "secret",
    .summary = "create a secret for a cluster",
    .syntax = {.command = "glint secret", .summary = "Creates secrets for clusters."},
    .commands = secret_commands};
