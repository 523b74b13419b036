/* Sends the driver's own program to daemons of another build: its size and SHA-256, then its
 * blocks. It is hashed when the first daemon asks, on libuv's thread pool. /proc/self/exe is the
 * file that runs, also if its path has been replaced. */
#include "engine/driver/cluster_transport_internal.h"

#include "engine/base/endian.h"
#include "engine/transfer/program_block.h"

#include <assert.h>

struct program_server {
    struct cluster_transport *r;
    int file; /* -1: not open */
    struct program_info info;
    bool hashing, hashed;
    uv_work_t work;
    struct glint_error why;
};

static void send_program(struct daemon_conn *p)
{
    struct program_server *s = p->r->program;
    if (p->conn == NULL || p->state != DAEMON_CONN_REQUESTED) return;
    if (s->why.code != GLINT_OK)
        daemon_conn_fail(p, &s->why);
    else
        conn_send_payload(p->conn, FRAME_PROGRAM, 0, &program_info_format, &s->info);
}

static void hash_on_thread(uv_work_t *work)
{
    struct program_server *s = work->data;
    struct env *env = s->r->env;
    struct env_stat stat;
    int r = s->file = env->open(env, ENV_CWD, "/proc/self/exe", ENV_READ);
    if (r >= 0) r = env->stat_open(env, s->file, &stat);
    if (r >= 0) r = sha256_of_file(env, s->file, s->info.sha256);
    if (r < 0) error_set_system(&s->why, GLINT_E_SYSTEM, r, "read", "/proc/self/exe");
    if (r >= 0) s->info.size = stat.size;
}

static void on_hashed(uv_work_t *work, int status)
{
    struct program_server *s = work->data;
    struct cluster_transport *r = s->r;
    (void)status;
    s->hashing = false;
    s->hashed = true;
    if (r->stopping) return;
    for (uint32_t i = 0; i < r->cluster->executor_count; i++)
        if (r->daemon_conns[i].fetches_program) send_program(&r->daemon_conns[i]);
}

int program_server_on_request(struct daemon_conn *p, struct glint_error *error)
{
    struct cluster_transport *r = p->r;
    if (p->state != DAEMON_CONN_REQUESTED)
        return error_set(error, GLINT_E_PROTOCOL, NULL, "unexpected PROGRAM_REQUEST");
    if (r->program == NULL) r->program = mem_zalloc(sizeof *r->program);
    struct program_server *s = r->program;
    if (s == NULL) return error_no_memory(error);
    p->fetches_program = true;
    registration_join_if_enough(r); /* the acquisition order no longer waits for this daemon */
    if (s->hashed) send_program(p);
    if (s->hashed || s->hashing) return 0;
    s->r = r;
    s->work.data = s;
    s->hashing = true;
    int failed = uv_queue_work(&r->loop, &s->work, hash_on_thread, on_hashed);
    assert(failed == 0); /* fails only without a work function */
    return 0;
}

void program_server_find(void *arg, const struct get_request *g, struct fetch_found *out,
                         struct glint_error *why)
{
    const struct cluster_transport *r = arg;
    const struct program_server *s = r->program;
    if (s == NULL || !s->hashed || g->block >= program_block_count(s->info.size)) {
        error_set(why, GLINT_E_FETCH_FAILED, NULL, "the driver has no block %u of its program",
                  g->block);
        return;
    }
    uint64_t size = program_block_bytes_at(s->info.size, g->block);
    uint8_t *bytes = mem_alloc(PROGRAM_CHECKSUM_BYTES + size);
    int64_t n = bytes != NULL ? env_read_full(r->env, s->file, bytes + PROGRAM_CHECKSUM_BYTES, size,
                                              g->block * PROGRAM_BLOCK_BYTES)
                              : 0;
    if (bytes == NULL)
        error_no_memory(why);
    else if (n != (int64_t)size)
        error_set(why, GLINT_E_FETCH_FAILED, NULL, "the driver cannot read its program");
    if (why->code != GLINT_OK) {
        mem_free(bytes);
        return;
    }
    put_le64(bytes, program_block_checksum(g->block, bytes + PROGRAM_CHECKSUM_BYTES, size));
    out->bytes = (struct glint_slice){bytes, PROGRAM_CHECKSUM_BYTES + size};
    out->ref = bytes;
}

void program_server_release(void *arg, void *ref)
{
    (void)arg;
    mem_free(ref);
}

void program_server_fini(struct cluster_transport *r)
{
    if (r->program != NULL && r->program->hashed && r->program->file >= 0)
        r->env->close(r->env, r->program->file);
    mem_free(r->program);
    r->program = NULL;
}
