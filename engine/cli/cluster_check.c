/* Checks relations between the values of a cluster's file. */
#include "engine/base/text.h"
#include "engine/cli/cluster_file.h"
#include "engine/net/listener.h"

#include <assert.h>
#include <limits.h>
#include <string.h>
#include <strings.h>

static const struct cluster_origin *origin_of(const struct cluster_file *f, const char *name)
{
    const struct config_key *key = key_find(cluster_keys, CLUSTER_KEYS, name);
    assert(key != NULL);
    return &f->origins[key - cluster_keys];
}

/* Returns the position of a key in the file; if it is not set there, that of another key. */
static struct toml_place place_of_either(const struct cluster_file *f, const char *name,
                                         const char *other)
{
    struct toml_place at = origin_of(f, name)->at;
    return at.line > 0 ? at : origin_of(f, other)->at;
}

/* Returns the position of an executor's key in the file, or of the executor if it does not set the
 * key. */
static struct toml_place place_of(const struct cluster_file *f, uint32_t executor, const char *name)
{
    const struct config_key *key = key_find(cluster_executor_keys, CLUSTER_EXECUTOR_KEYS, name);
    assert(key != NULL);
    return f->executor_origins[executor][key - cluster_executor_keys].at;
}

void cluster_file_add_position(const struct cluster_file *f, const char *id, const char *key,
                               struct glint_error *error)
{
    struct glint_error why = *error;
    assert(error->code != GLINT_OK);
    for (uint32_t i = 0; f->name != NULL && i < f->cluster.executor_count; i++) {
        if (strcmp(f->cluster.executors[i].id, id) != 0) continue;
        struct toml_place at = place_of(f, i, key);
        text_format(error->cause, sizeof error->cause, "%s:%u:%u: %s", f->name, at.line, at.column,
                    why.cause);
        return;
    }
}

/* The heartbeat limits must ascend. Reports the position of the later one that the file sets. */
static bool check_heartbeat(const struct cluster_file *f, struct glint_error *error)
{
    static const char *const names[] = {"heartbeat", "suspect", "dead"};
    const struct liveness_limits *l = &f->cluster.heartbeat;
    const uint64_t values[] = {l->heartbeat_ns, l->suspect_ns, l->dead_ns};
    for (size_t i = 0; i + 1 < sizeof values / sizeof values[0]; i++) {
        if (values[i] < values[i + 1]) continue;
        return cluster_file_error(
            f, place_of_either(f, names[i + 1], names[i]), error,
            "set all three, in the file or as --heartbeat, --suspect and --dead",
            "heartbeat < suspect < dead is required: %s is %llu ms, %s is %llu ms", names[i],
            (unsigned long long)(values[i] / 1000000), names[i + 1],
            (unsigned long long)(values[i + 1] / 1000000));
    }
    return true;
}

/* A best effort without DNS: equal names, and localhost as 127.0.0.1. */
static bool same_host(const char *a, const char *b)
{
    static const char loopback[] = "127.0.0.1";
    if (strcasecmp(a, "localhost") == 0) a = loopback;
    if (strcasecmp(b, "localhost") == 0) b = loopback;
    return strcasecmp(a, b) == 0;
}

static bool check_duplicates(const struct cluster_file *f, uint32_t executor,
                             struct glint_error *error)
{
    const struct cluster_executor *e = &f->cluster.executors[executor];
    for (uint32_t i = 0; i < executor; i++) {
        const struct cluster_executor *other = &f->cluster.executors[i];
        uint32_t line = place_of(f, i, "id").line;
        if (strcmp(e->id, other->id) == 0)
            return cluster_file_error(f, place_of(f, executor, "id"), error,
                                      "give each executor a unique id", "duplicate id %s (line %u)",
                                      e->id, line);
        if (e->port == other->port && same_host(e->host, other->host))
            return cluster_file_error(f, place_of(f, executor, "port"), error,
                                      "give each executor on the same host a different port",
                                      "%s and %s have the same address, %s port %u", other->id,
                                      e->id, e->host, e->port);
    }
    return true;
}

bool cluster_may_listen(const struct cluster *c, const char *host)
{
    return c->secret_file != NULL || c->insecure_plaintext || host_is_loopback(host);
}

const char cluster_secret_hint[] =
    "1. glint secret new FILE, copy FILE to every node, and set secret_file = \"FILE\"\n2. or set "
    "insecure_plaintext = true: any process that can reach a port can then run code as you";

/* `who` would listen on the value of `key`. */
static bool check_host(const struct cluster_file *f, struct toml_place at, const char *who,
                       const char *key, const char *host, struct glint_error *error)
{
    if (strcmp(host, "0.0.0.0") == 0 || strcmp(host, "::") == 0)
        return cluster_file_error(f, at, error, "use an address that other nodes can connect to",
                                  "%s %s is the wildcard address; no node can connect to it", key,
                                  host);
    if (cluster_may_listen(&f->cluster, host)) return true;
    return cluster_file_error(f, at, error, cluster_secret_hint,
                              "%s would listen on %s, but no secret_file is configured", who, host);
}

static bool check_executor(const struct cluster_file *f, uint32_t executor,
                           struct glint_error *error)
{
    const struct cluster *c = &f->cluster;
    const struct cluster_executor *e = &c->executors[executor];
    /* Each job served at a time needs at least one slot. */
    if (e->slots < c->drivers_max)
        return cluster_file_error(
            f, place_of(f, executor, "slots"), error, "raise slots, or lower drivers_max",
            "executor %s has %u slots for drivers_max = %u", e->id, e->slots, c->drivers_max);
    if (e->memory_bytes / e->slots < SLOT_MEMORY_BYTES_MIN)
        return cluster_file_error(f, place_of(f, executor, "memory"), error,
                                  "raise memory, or lower slots",
                                  "executor %s has less than 16 MiB of memory for each of its %u "
                                  "slots",
                                  e->id, e->slots);
    char who[128];
    text_format(who, sizeof who, "executor %s", e->id);
    return check_host(f, place_of(f, executor, "host"), who, "host", e->host, error) &&
           check_duplicates(f, executor, error);
}

/* ssh joins its arguments with spaces and passes them to a remote shell, which would interpret
 * special characters in the path. Ids and hosts cannot contain any (cluster_values.c). */
static bool check_launch_path(const struct cluster_file *f, struct glint_error *error)
{
    static const char safe[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_./-";
    const struct cluster *c = &f->cluster;
    bool uses_config = false;
    if (c->launch != LAUNCH_SSH || c->path == NULL) return true;
    for (uint32_t i = 0; c->launch_command[i] != NULL; i++)
        uses_config = uses_config || strstr(c->launch_command[i], "{config}") != NULL;
    size_t sound = strspn(c->path, safe);
    if (!uses_config || c->path[sound] == '\0') return true;
    return cluster_file_error(
        f, origin_of(f, "launch")->at, error,
        "move the file to a path of letters, digits and _ . / - on every node, or write the path "
        "into launch_command instead of {config}, quoted for the remote shell",
        "with launch = \"ssh\" a shell on each host parses the path of this file, which contains "
        "the character '%c': %s",
        c->path[sound], c->path);
}

static_assert(SLOT_MEMORY_BYTES_MIN == 16 * MIB, "the text above says 16 MiB");

/* Refuse both: one of them may be left over, perhaps in the environment, and must not silently
 * disable TLS. */
static bool check_secret_key(const struct cluster_file *f, struct glint_error *error)
{
    const struct cluster_origin *secret = origin_of(f, "secret_file");
    const struct cluster_origin *plaintext = origin_of(f, "insecure_plaintext");
    char secret_from[PATH_MAX + 32], plaintext_from[PATH_MAX + 32];
    if (f->cluster.secret_file == NULL || !f->cluster.insecure_plaintext) return true;
    cluster_origin_text(f, &cluster_keys[secret - f->origins], secret, secret_from,
                        sizeof secret_from);
    cluster_origin_text(f, &cluster_keys[plaintext - f->origins], plaintext, plaintext_from,
                        sizeof plaintext_from);
    return cluster_file_error(
        f, place_of_either(f, "insecure_plaintext", "secret_file"), error,
        "remove insecure_plaintext to use the secret, or secret_file to run without TLS",
        "secret_file (%s) and insecure_plaintext (%s) cannot both be set", secret_from,
        plaintext_from);
}

/* Without a secret, any process that reaches a port could have its own program run. */
static bool check_programs(const struct cluster_file *f, struct glint_error *error)
{
    const char *key = f->cluster.allow_programs   ? "allow_programs"
                      : f->cluster.allow_commands ? "allow_commands"
                                                  : NULL;
    if (key == NULL || !f->cluster.insecure_plaintext) return true;
    return cluster_file_error(
        f, place_of_either(f, key, "insecure_plaintext"), error,
        "remove one of them; with secret_file, programs and commands can be allowed",
        "%s and insecure_plaintext cannot both be true", key);
}

/* Each job that an executor serves needs its own port. */
static bool check_ports(const struct cluster_file *f, struct glint_error *error)
{
    const struct cluster *c = &f->cluster;
    uint32_t count = c->ports.last - c->ports.first + 1u;
    /* 0: the system chooses ports. */
    if (c->ports.first == 0 || count >= c->drivers_max) return true;
    return cluster_file_error(f, origin_of(f, "ports")->at, error,
                              "use a larger range of ports, or lower drivers_max",
                              "%u ports for drivers_max = %u", count, c->drivers_max);
}

bool cluster_file_check(const struct cluster_file *f, bool listens, struct glint_error *error)
{
    const struct cluster *c = &f->cluster;
    if (!check_heartbeat(f, error) || !check_secret_key(f, error) || !check_programs(f, error) ||
        !check_ports(f, error))
        return false;
    if (c->driver_host != NULL && !check_host(f, origin_of(f, "driver_host")->at, "the driver",
                                              "driver_host", c->driver_host, error))
        return false;
    if (c->executor_count == 0 && f->name != NULL && !listens)
        return cluster_file_error(f, (struct toml_place){1, 1}, error,
                                  "add an [[executor]] with id and port; example: docs/cluster.md",
                                  "the file has no [[executor]]");
    if (c->launch != LAUNCH_NONE && c->log_dir == NULL)
        return cluster_file_error(f, origin_of(f, "launch")->at, error, "set log_dir",
                                  "launched executors need a directory for their logs, and neither "
                                  "XDG_STATE_HOME nor HOME is set");
    for (uint32_t i = 0; i < c->executor_count; i++)
        if (!check_executor(f, i, error)) return false;
    return check_launch_path(f, error);
}
