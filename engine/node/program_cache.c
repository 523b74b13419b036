/* See daemon_internal.h. A file is complete when it has its final name; what a daemon that was
 * killed left under a temporary name is not locked any more, and is removed when room is made. */
#include "engine/base/log.h"
#include "engine/base/text.h"
#include "engine/limits.h"
#include "engine/net/deadline.h"
#include "engine/node/daemon_internal.h"
#include "engine/transfer/fetch_client.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define NAMES_MAX 256u

static int set_program_cache_error(struct glint_error *error, int r, const char *operation,
                                   const char *path)
{
    if (error->code != GLINT_OK) return error->code;
    return error_set_system(error, GLINT_E_WORK_DIR, r, operation, path);
}

/* Creates the directory and its parents. It must be this user's alone: what is in it is run. */
static int open_cache_directory(struct env *env, char out[PATH_MAX], struct glint_error *error)
{
    const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    struct env_stat s;
    bool fits = false;
    if (cache != NULL && cache[0] == '/')
        fits = text_format(out, PATH_MAX - SHA256_TEXT_MAX - 32, "%s/glint/programs", cache);
    else if (home != NULL && home[0] == '/')
        fits = text_format(out, PATH_MAX - SHA256_TEXT_MAX - 32, "%s/.cache/glint/programs", home);
    if (!fits)
        return error_set(error, GLINT_E_WORK_DIR, "set HOME or XDG_CACHE_HOME",
                         "no directory for programs: neither XDG_CACHE_HOME nor HOME is set");
    int r = env_make_parents(env, out);
    if (r == 0) r = env->make_dir(env, ENV_CWD, out, true);
    if (r != 0 && r != -EEXIST) return set_program_cache_error(error, r, "create", out);
    r = env->stat_name(env, ENV_CWD, out, &s);
    if (r != 0) return set_program_cache_error(error, r, "use", out);
    if (s.kind == ENV_DIRECTORY && s.mine && (s.mode & 077) == 0) return 0;
    return error_set(error, GLINT_E_WORK_DIR, "remove it, or chmod 700",
                     "%s must be a directory that only this user can access", out);
}

static void program_file_path(const char *directory, const struct program_info *program,
                              char out[PATH_MAX])
{
    char name[SHA256_TEXT_MAX];
    text_format_hex(name, program->sha256, SHA256_BYTES);
    text_format(out, PATH_MAX, "%s/%s", directory, name);
}

/* Opens a cached program and marks it as used now. Returns 0; GLINT_OK with out->file -1 if it is
 * not cached; or WORK_DIR with *error set. */
static int program_cache_open(struct env *env, const struct program_info *program,
                              struct program_file *out, struct glint_error *error)
{
    char directory[PATH_MAX];
    struct env_stat s;
    *out = PROGRAM_FILE_NONE;
    if (open_cache_directory(env, directory, error) != 0) return error->code;
    program_file_path(directory, program, out->path);
    int file = env->open(env, ENV_CWD, out->path, ENV_READ_NOFOLLOW);
    if (file == -ENOENT) return 0;
    if (file < 0) return set_program_cache_error(error, file, "open", out->path);
    /* A lock that cannot be had: it is being removed. A file of another user, or that others may
     * write, could change once it is verified. */
    if (env->lock_shared(env, file) == 0 && env->stat_open(env, file, &s) == 0 && s.links > 0 &&
        s.kind == ENV_FILE && s.mine && (s.mode & 022) == 0 && s.size == program->size) {
        futimens(file, NULL); /* its age is that of its last use */
        out->file = file;
        return 0;
    }
    env->close(env, file);
    return 0;
}

/* ---- Room */

struct cache_entry {
    char name[SHA256_TEXT_MAX + 32];
    int64_t used_ns;
    uint64_t bytes;
};

struct cache_listing {
    struct env *env;
    const char *directory;
    uint32_t count;
    struct cache_entry entries[NAMES_MAX];
};

static int add_cached_program(void *arg, const char *name)
{
    struct cache_listing *l = arg;
    char path[PATH_MAX];
    struct env_stat s;
    struct cache_entry *e = &l->entries[l->count];
    if (l->count == NAMES_MAX) return 1;
    if (!text_format(e->name, sizeof e->name, "%s", name)) return 0; /* not ours */
    text_format(path, sizeof path, "%s/%s", l->directory, name);
    if (l->env->stat_name(l->env, ENV_CWD, path, &s) != 0 || s.kind != ENV_FILE) return 0;
    e->used_ns = s.mtime_ns;
    e->bytes = s.size;
    l->count++;
    return 0;
}

static int compare_program_age(const void *a, const void *b)
{
    const struct cache_entry *x = a, *y = b;
    return (x->used_ns > y->used_ns) - (x->used_ns < y->used_ns);
}

/* Being written, or left by a daemon that was killed. */
static bool is_temporary_program_name(const struct cache_entry *e)
{
    return strchr(e->name, '.') != NULL;
}

/* Removes a file unless it is in use. */
static bool remove_unused_program(struct env *env, const char *path)
{
    int file = env->open(env, ENV_CWD, path, ENV_READ_NOFOLLOW);
    bool removed =
        file >= 0 && env->lock(env, file) == 0 && env->remove(env, ENV_CWD, path, false) == 0;
    if (file >= 0) env->close(env, file);
    return removed;
}

static int evict_programs(struct env *env, const char *directory, uint64_t bytes,
                          struct glint_error *error)
{
    struct cache_listing *l = mem_zalloc(sizeof *l);
    uint64_t total = bytes;
    if (l == NULL) return error_no_memory(error);
    l->env = env;
    l->directory = directory;
    env_list_dir(env, directory, add_cached_program, l);
    qsort(l->entries, l->count, sizeof l->entries[0], compare_program_age);
    uint32_t left = 1;
    for (uint32_t i = 0; i < l->count; i++) {
        left += !is_temporary_program_name(&l->entries[i]);
        total += l->entries[i].bytes;
    }
    for (uint32_t i = 0; i < l->count; i++) {
        const struct cache_entry *e = &l->entries[i];
        char path[PATH_MAX];
        bool fits = left <= PROGRAM_CACHE_FILES && total <= PROGRAM_CACHE_BYTES;
        if (fits && !is_temporary_program_name(e)) continue;
        text_format(path, sizeof path, "%s/%s", directory, e->name);
        if (!remove_unused_program(env, path)) continue;
        total -= e->bytes;
        left -= !is_temporary_program_name(e);
    }
    mem_free(l);
    if (left <= PROGRAM_CACHE_FILES && total <= PROGRAM_CACHE_BYTES) return 0;
    return error_set(error, GLINT_E_WORK_DIR, "wait for the jobs that run them",
                     "the program cache %s is full: all programs in it are in use", directory);
}

/* Makes room, and creates a temporary file for a program. Returns 0, or WORK_DIR, OUTPUT_FULL or
 * SYSTEM with *error set. */
static int program_cache_create(struct env *env, const struct program_info *program,
                                struct program_file *out, struct glint_error *error)
{
    char directory[PATH_MAX];
    uint64_t number;
    *out = PROGRAM_FILE_NONE;
    if (program->size > PROGRAM_CACHE_BYTES)
        return error_set(error, GLINT_E_WORK_DIR, "strip it, or install it on every node",
                         "the driver's program has %llu bytes, the program cache is for %llu",
                         (unsigned long long)program->size,
                         (unsigned long long)PROGRAM_CACHE_BYTES);
    if (open_cache_directory(env, directory, error) != 0) return error->code;
    if (evict_programs(env, directory, program->size, error) != 0) return error->code;
    if (env->random(env, &number, sizeof number) != 0)
        return error_set(error, GLINT_E_SYSTEM, NULL, "cannot get random numbers");
    text_format(out->path, sizeof out->path, "%s/%016llx.part", directory,
                (unsigned long long)number);
    out->file = env->open(env, ENV_CWD, out->path, ENV_CREATE);
    if (out->file < 0) {
        int r = out->file;
        out->file = -1;
        return set_program_cache_error(error, r, "create", out->path);
    }
    out->temporary = true;
    env->lock(env, out->file); /* a new file of our own: it is not locked yet */
    return 0;
}

/* Gives a complete and verified file its name. Returns 0 or a code with *error set. */
static int program_cache_publish(struct env *env, const struct program_info *program,
                                 struct program_file *f, struct glint_error *error)
{
    char directory[PATH_MAX], path[PATH_MAX], same[32];
    if (open_cache_directory(env, directory, error) != 0) return error->code;
    program_file_path(directory, program, path);
    /* A file that is open for writing cannot be executed. The path may be another file by now. */
    text_format(same, sizeof same, "/proc/self/fd/%d", f->file);
    const int file = env->open(env, ENV_CWD, same, ENV_READ);
    if (file < 0) return set_program_cache_error(error, file, "open", f->path);
    int r = fchmod(file, 0500) == 0 ? 0 : -errno;
    if (r == 0) r = env->rename(env, ENV_CWD, f->path, ENV_CWD, path, ENV_RENAME_REPLACE);
    if (r != 0) {
        env->close(env, file);
        return set_program_cache_error(error, r, "rename", f->path);
    }
    f->temporary = false;
    program_file_close(env, f);
    env->lock_shared(env, file); /* fails if it is being removed: it runs all the same */
    f->file = file;
    text_format(f->path, sizeof f->path, "%s", path);
    return 0;
}

/* Removes a damaged file. */
static void program_cache_remove(struct env *env, struct program_file *f)
{
    if (f->file < 0) return;
    env->remove(env, ENV_CWD, f->path, false);
    f->temporary = false;
    program_file_close(env, f);
}

void program_file_close(struct env *env, struct program_file *f)
{
    if (f->file < 0) return;
    if (f->temporary) env->remove(env, ENV_CWD, f->path, false);
    env->close(env, f->file);
    f->file = -1;
}

/* ---- States:
 *
 *   ASKING    -> VERIFYING [on_program_info_frame: the file is cached]
 *   ASKING    -> FETCHING  [start_program_fetch_chunks]
 *   VERIFYING -> FETCHING  [on_fetched_program_hashed: the cached file is damaged]
 *   FETCHING  -> VERIFYING [on_program_chunk: the last one]
 *   any       -> DONE      [finish, program_fetch_release]
 *
 * One chunk is requested at a time: the next one when it has been written. */

enum program_fetch_state {
    PROGRAM_FETCH_ASKING,
    PROGRAM_FETCH_FETCHING,
    PROGRAM_FETCH_VERIFYING,
    PROGRAM_FETCH_DONE
};

struct program_fetch {
    struct fetch_client client; /* first: see fetch_client_on_frame */
    struct net *net;
    struct conn *conn;
    enum program_fetch_state state;
    uint64_t fetch_ms;
    struct deadline deadline; /* no progress for fetch_ms */
    struct program_info program;
    struct program_file file;
    struct fetch_request request;
    bool requested; /* `request` is with the client */
    uint8_t *chunk; /* FETCH_CHUNK_BYTES_MAX: the memory of `request` */
    uv_work_t work;
    bool hashing, deadline_closed, released;
    int hash_code;
    uint8_t hash[SHA256_BYTES];
    void (*done)(void *arg, struct program_file *file, const struct glint_error *why);
    void *arg;
};

/* ---- End */

static void free_fetch_if_unused(struct program_fetch *p)
{
    if (!p->released || p->hashing || p->requested || !p->deadline_closed) return;
    program_file_close(p->net->env, &p->file);
    mem_free(p->chunk);
    mem_free(p);
}

static void on_fetch_deadline_closed(void *arg)
{
    struct program_fetch *p = arg;
    p->deadline_closed = true;
    free_fetch_if_unused(p);
}

static void end_program_fetch(struct program_fetch *p)
{
    p->state = PROGRAM_FETCH_DONE;
    deadline_close(&p->deadline, on_fetch_deadline_closed);
}

/* `why` NULL: the file is verified. */
static void finish_program_fetch(struct program_fetch *p, const struct glint_error *why)
{
    assert(p->state != PROGRAM_FETCH_DONE && (why == NULL || why->code != GLINT_OK));
    end_program_fetch(p);
    p->done(p->arg, &p->file, why);
}

void program_fetch_release(struct program_fetch *p)
{
    struct glint_error closed = {.code = GLINT_OK};
    if (p == NULL) return;
    if (p->state != PROGRAM_FETCH_DONE) end_program_fetch(p);
    error_set(&closed, GLINT_E_CONNECTION, NULL, "the connection was closed");
    fetch_client_on_closed(&p->client);
    fetch_client_fail(&p->client, &closed);
    p->released = true;
    free_fetch_if_unused(p);
}

/* ---- Verification */

static void hash_fetched_program_on_pool(uv_work_t *work)
{
    struct program_fetch *p = work->data;
    p->hash_code = sha256_of_file(p->net->env, p->file.file, p->hash);
}

static void start_program_fetch_chunks(struct program_fetch *p);

/* A file of the right hash: a fetched one is given its name first. */
static void on_program_verified(struct program_fetch *p)
{
    struct glint_error why = {.code = GLINT_OK};
    char text[SHA256_TEXT_MAX];
    bool fetched = p->file.temporary;
    text_format_hex(text, p->program.sha256, SHA256_BYTES);
    if (fetched && program_cache_publish(p->net->env, &p->program, &p->file, &why) != 0) {
        finish_program_fetch(p, &why);
        return;
    }
    log_line(LOG_INFO, &(struct log_ids){.peer = conn_peer_address(p->conn)},
             "%s the driver's program: %llu bytes, SHA-256 %s, build %s",
             fetched ? "fetched" : "found in the cache", (unsigned long long)p->program.size, text,
             conn_peer_hello(p->conn)->build);
    finish_program_fetch(p, NULL);
}

static void on_fetched_program_hashed(uv_work_t *work, int status)
{
    struct program_fetch *p = work->data;
    struct glint_error why = {.code = GLINT_OK};
    (void)status;
    p->hashing = false;
    if (p->state == PROGRAM_FETCH_DONE) {
        free_fetch_if_unused(p);
        return;
    }
    if (p->hash_code == 0 && memcmp(p->hash, p->program.sha256, sizeof p->hash) == 0) {
        on_program_verified(p);
        return;
    }
    if (!p->file.temporary) { /* the file in the cache is damaged */
        log_line(LOG_WARN, NULL, "removing %s: its content does not match its SHA-256",
                 p->file.path);
        program_cache_remove(p->net->env, &p->file);
        start_program_fetch_chunks(p);
        return;
    }
    if (p->hash_code != 0)
        error_set_system(&why, GLINT_E_WORK_DIR, p->hash_code, "read", p->file.path);
    else
        error_set(&why, GLINT_E_FETCH_FAILED, "start the job again",
                  "the program that was received does not match its SHA-256");
    finish_program_fetch(p, &why);
}

static void start_program_verification(struct program_fetch *p)
{
    p->state = PROGRAM_FETCH_VERIFYING;
    deadline_stop(&p->deadline);
    p->work.data = p;
    p->hashing = true;
    int failed = uv_queue_work(p->net->loop, &p->work, hash_fetched_program_on_pool,
                               on_fetched_program_hashed);
    assert(failed == 0); /* fails only without a work function */
}

/* ---- Chunks: only the complete file is verified */

static void on_program_chunk(struct fetch_request *r);

static void request_program_chunk(struct program_fetch *p, uint64_t offset)
{
    uint64_t left = p->program.size - offset;
    p->request = (struct fetch_request){
        .get = {.kind = GET_PROGRAM,
                .offset = offset,
                .size = left < FETCH_CHUNK_BYTES_MAX ? left : FETCH_CHUNK_BYTES_MAX},
        .into = p->chunk,
        .done = on_program_chunk,
        .arg = p};
    p->requested = true;
    deadline_start(&p->deadline, p->fetch_ms);
    fetch_client_submit(&p->client, &p->request);
}

static void on_program_chunk(struct fetch_request *r)
{
    struct program_fetch *p = r->arg;
    struct glint_error why = r->error;
    uint64_t end = r->get.offset + r->get.size;
    p->requested = false;
    if (p->state == PROGRAM_FETCH_DONE) {
        free_fetch_if_unused(p);
        return;
    }
    if (why.code == GLINT_OK) {
        int w = env_write_all(p->net->env, p->file.file, p->chunk, r->get.size);
        if (w != 0) error_set_system(&why, GLINT_E_WORK_DIR, w, "write", p->file.path);
    }
    if (why.code != GLINT_OK)
        finish_program_fetch(p, &why);
    else if (end == p->program.size)
        start_program_verification(p);
    else
        request_program_chunk(p, end);
}

static void start_program_fetch_chunks(struct program_fetch *p)
{
    struct glint_error why = {.code = GLINT_OK};
    p->state = PROGRAM_FETCH_FETCHING;
    if (p->chunk == NULL) p->chunk = mem_alloc(FETCH_CHUNK_BYTES_MAX);
    if (p->chunk == NULL)
        error_no_memory(&why);
    else
        program_cache_create(p->net->env, &p->program, &p->file, &why);
    if (why.code != GLINT_OK)
        finish_program_fetch(p, &why);
    else
        request_program_chunk(p, 0);
}

/* ---- Frames */

static int on_program_info_frame(struct program_fetch *p, struct glint_slice payload,
                                 struct glint_error *error)
{
    struct glint_error why = {.code = GLINT_OK};
    if (p->state != PROGRAM_FETCH_ASKING)
        return error_set(error, GLINT_E_PROTOCOL, NULL, "duplicate PROGRAM");
    if (program_info_decode(payload, &p->program, error) != 0) return error->code;
    if (program_cache_open(p->net->env, &p->program, &p->file, &why) != 0)
        finish_program_fetch(p, &why);
    else if (p->file.file >= 0)
        start_program_verification(p);
    else
        start_program_fetch_chunks(p);
    return 0;
}

int program_fetch_on_frame(struct program_fetch *p, const struct frame *f,
                           struct glint_slice payload, struct glint_error *error)
{
    if (p->state == PROGRAM_FETCH_DONE) return 0;
    if (f->type == FRAME_PROGRAM) return on_program_info_frame(p, payload, error);
    return fetch_client_on_frame(&p->client, p->conn, f, payload, error);
}

uint8_t *program_fetch_buffer_for(struct program_fetch *p, const struct frame *f)
{
    return fetch_client_buffer_for(&p->client, p->conn, f);
}

void program_fetch_on_data(struct program_fetch *p, const struct frame *f)
{
    fetch_client_on_data(&p->client, p->conn, f);
}

/* ---- Start */

static void on_program_deadline(void *arg)
{
    struct program_fetch *p = arg;
    struct glint_error why = {.code = GLINT_OK};
    error_set(&why, GLINT_E_FETCH_FAILED, "see `fetch` in cluster.toml",
              "the driver did not send the next chunk of its program within %llu ms",
              (unsigned long long)p->fetch_ms);
    finish_program_fetch(p, &why);
}

struct program_fetch *program_fetch_start(struct net *net, struct conn *conn, uint64_t fetch_ms,
                                          void (*done)(void *arg, struct program_file *file,
                                                       const struct glint_error *why),
                                          void *arg)
{
    struct program_fetch *p = mem_zalloc(sizeof *p);
    if (p == NULL) return NULL;
    p->net = net;
    p->conn = conn;
    p->fetch_ms = fetch_ms;
    p->done = done;
    p->arg = arg;
    p->file = PROGRAM_FILE_NONE;
    fetch_client_init(&p->client, net->env, fetch_ms);
    fetch_client_on_opened(&p->client, conn);
    deadline_init(&p->deadline, net->loop, on_program_deadline, p);
    deadline_start(&p->deadline, fetch_ms);
    conn_send(conn, FRAME_PROGRAM_REQUEST, 0, NULL); /* on failure the connection closes */
    return p;
}
