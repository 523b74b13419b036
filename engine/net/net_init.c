/* Sets up the net of a process. A secret is in memory only while its keys are derived. The keys are
 * in memory for the life of the process, so other processes must not be able to read its memory. */
#include "engine/net/net_init.h"

#include "engine/base/log.h"
#include "engine/base/mem.h"
#include "engine/base/text.h"
#include "engine/net/conn_internal.h"
#include "engine/net/crypto_library.h"
#include "engine/net/secret.h"

#include <assert.h>
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>

/* ---- Before uv_loop_init, opens as many descriptors as it will need, to find out whether the
 * limit allows it: an epoll descriptor, an eventfd, and two pipes for signals, one of the process
 * and one of the loop. */

#define LOOP_FILES 6

static int check_descriptors_left(struct env *env)
{
    int files[LOOP_FILES], count = 0;
    while (count < LOOP_FILES && (files[count] = eventfd(0, EFD_CLOEXEC)) >= 0) count++;
    int r = count == LOOP_FILES ? 0 : -errno;
    assert(r <= 0 && count <= LOOP_FILES);
    while (count > 0) env->close(env, files[--count]);
    return r;
}

int event_loop_init(uv_loop_t *loop, struct env *env, struct glint_error *error)
{
    int r = check_descriptors_left(env);
    if (r == 0) r = uv_loop_init(loop);
    if (r == 0) return 0;
    assert(r < 0);
    return error_set(error, GLINT_E_SYSTEM, "raise the limit on open files (ulimit -n)",
                     "cannot start an event loop: %s", uv_strerror(r));
}

void signal_close_and_ignore(uv_signal_t *handler)
{
    static const int signals[] = {SIGTERM, SIGINT, SIGHUP};
    sigset_t blocked;
    assert(!uv_is_closing((uv_handle_t *)handler));
    sigemptyset(&blocked);
    for (unsigned i = 0; i < sizeof signals / sizeof signals[0]; i++)
        sigaddset(&blocked, signals[i]);
    /* A signal between uv_close, which restores the default action, and SIG_IGN would kill
     * the process. */
    pthread_sigmask(SIG_BLOCK, &blocked, NULL); /* stay blocked; ignored below */
    uv_close((uv_handle_t *)handler, NULL);
    for (unsigned i = 0; i < sizeof signals / sizeof signals[0]; i++) signal(signals[i], SIG_IGN);
}

/* ---- net init */

static const char client_hint[] = "name the file of the cluster's own secret";

/* A client secret is valid for the role CLIENT only. Returns 0 or a code. */
static int check_secret_kind(const struct secrets *secrets, enum role role, const char *path,
                             struct glint_error *error)
{
    if (secrets->kind == SECRET_PEER || role == ROLE_CLIENT) return 0;
    return error_set(error, GLINT_E_NOT_PERMITTED, client_hint,
                     "%s contains a client secret, which allows status requests only", path);
}

/* stat before reading: if the file is replaced in between, the next check sees a change and
 * reads again. */
static int load_secrets(struct net *net, struct secrets *out, struct glint_error *error)
{
    const char *path = net->secret_file.path;
    struct env_stat now;
    if (net->env->stat(net->env, path, &now) == 0) net->secret_file.seen = now;
    int r = secrets_load(net->env, path, out, error);
    return r != 0 ? r : check_secret_kind(out, net->self.role, path, error);
}

/* Stores a copy of the path of the secret file, configured or default, freed by net_fini. */
static int copy_secret_path(struct net *net, const char *configured, struct glint_error *error)
{
    char path[PATH_MAX];
    if (configured == NULL && default_secret_path(net->env, path, error) != 0) return error->code;
    const char *from = configured != NULL ? configured : path;
    size_t size = strlen(from) + 1;
    char *copy = mem_alloc(size);
    if (copy == NULL) return error_no_memory(error);
    memcpy(copy, from, size);
    net->secret_file.path = copy;
    return 0;
}

static int open_tls(struct net *net, const struct net_config *c, struct glint_error *error)
{
    struct secrets secrets;
    if (crypto_library_load(error) != 0) return error->code; /* programs are checked by it, too */
    if (c->insecure_plaintext) return 0;
    /* No core dumps, and no ptrace or /proc/PID/mem by other processes of the user. */
    if (prctl(PR_SET_DUMPABLE, 0L, 0L, 0L, 0L) != 0)
        return error_set_system(error, GLINT_E_SYSTEM, -errno, "exclude",
                                "the key from core dumps");
    if (c->job_key != NULL) {
        net->tls = tls_context_create(NULL, false, error);
        return net->tls != NULL ? net_set_job_key(net, c->job_key, error) : error->code;
    }
    if (copy_secret_path(net, c->secret_file, error) != 0) return error->code;
    if (load_secrets(net, &secrets, error) == 0) /* only daemons serve clients */
        net->tls = tls_context_create(&secrets, c->role == ROLE_DAEMON, error);
    secrets_clear(&secrets);
    return net->tls != NULL ? 0 : error->code;
}

static void forget_secret_file(struct net *net)
{
    mem_free((void *)(uintptr_t)net->secret_file.path);
    net->secret_file.path = NULL;
}

int net_set_job_key(struct net *net, const struct secret *key, struct glint_error *error)
{
    if (net->tls == NULL || tls_context_set_job_key(net->tls, key)) return 0;
    return error_set(error, GLINT_E_SYSTEM, NULL, "cannot derive the key of the job");
}

void net_forget_secrets(struct net *net)
{
    if (net->tls != NULL) tls_context_forget_secrets(net->tls);
    forget_secret_file(net); /* it is never read again */
}

static bool is_same_file(const struct env_stat *a, const struct env_stat *b)
{
    return a->device == b->device && a->inode == b->inode && a->size == b->size &&
           a->mtime_ns == b->mtime_ns;
}

void net_reload_secrets(struct net *net)
{
    struct env_stat now;
    struct secrets secrets;
    struct glint_error why = {.code = GLINT_OK};
    const char *path = net->secret_file.path;
    /* A file that is missing at the moment changes nothing: it may be in the middle of
     * a replacement. */
    if (path == NULL || net->tls == NULL || net->env->stat(net->env, path, &now) != 0) return;
    if (is_same_file(&now, &net->secret_file.seen)) return;
    if (load_secrets(net, &secrets, &why) == 0 && !tls_context_set_secrets(net->tls, &secrets))
        error_no_memory(&why);
    if (why.code != GLINT_OK)
        log_line(LOG_WARN, NULL, "keeping the old secrets: %s", why.cause);
    else if (net->self.role == ROLE_DAEMON || net->self.role == ROLE_EXECUTOR)
        log_line(LOG_INFO, NULL, "%u secret%s read from %s", secrets.count,
                 secrets.count == 1 ? "" : "s", path);
    secrets_clear(&secrets);
}

int net_init(struct net *net, uv_loop_t *loop, struct env *env, const struct net_config *config,
             struct glint_error *error)
{
    struct hello *h = &net->self;
    assert(config->connect_ms > 0 && config->role > 0 && config->role < ROLES_END);
    *net = (struct net){.loop = loop, .env = env, .connect_ms = config->connect_ms};
    h->protocol_min = PROTOCOL_MIN;
    h->protocol_max = PROTOCOL_MAX;
    h->role = config->role;
    bool fits = text_format(h->cluster, sizeof h->cluster, "%s", config->cluster) &&
                text_format(h->node, sizeof h->node, "%s", config->node) &&
                text_format(h->build, sizeof h->build, "%s",
                            config->build != NULL ? config->build : build_id());
    if (!fits)
        return error_set(error, GLINT_E_CONFIG, "choose a shorter name",
                         "the name of the cluster or the executor is longer than %u bytes",
                         NAME_BYTES_MAX - 1);
    if (config->incarnation != NULL)
        memcpy(h->incarnation, config->incarnation, sizeof h->incarnation);
    else if (env->random(env, h->incarnation, sizeof h->incarnation) != 0)
        return error_set(error, GLINT_E_SYSTEM, NULL, "cannot get random numbers");
    return open_tls(net, config, error);
}

void net_fini(struct net *net)
{
    tls_context_destroy(net->tls);
    net->tls = NULL;
    forget_secret_file(net);
}
