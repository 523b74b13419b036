/* States:
 *
 *   ASKING    -> VERIFYING [on_program: the file is cached]
 *   ASKING    -> FETCHING  [start_fetching]
 *   VERIFYING -> FETCHING  [on_hashed: the cached file is damaged]
 *   FETCHING  -> VERIFYING [on_block: the last one]
 *   any       -> DONE      [finish, program_fetch_release]
 *
 * One block is requested at a time: the next one when it has been written. */
#include "engine/node/program_fetch.h"

#include "engine/base/endian.h"
#include "engine/base/hash.h"
#include "engine/base/log.h"
#include "engine/net/deadline.h"
#include "engine/transfer/fetch_client.h"
#include "engine/transfer/program_block.h"

#include <assert.h>
#include <string.h>
#include <xxhash.h>

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
    bool requested;  /* `request` is with the client */
    uint32_t block;  /* of `request` */
    uint8_t *buffer; /* of one block, with its checksum */
    uv_work_t work;
    bool hashing, deadline_closed, released;
    int hash_code;
    uint8_t hash[SHA256_BYTES];
    void (*done)(void *arg, struct program_file *file, const struct glint_error *why);
    void *arg;
};

/* ---- End */

static void free_if_unused(struct program_fetch *p)
{
    if (!p->released || p->hashing || p->requested || !p->deadline_closed) return;
    program_file_close(p->net->env, &p->file);
    mem_free(p->buffer);
    mem_free(p);
}

static void on_fetch_deadline_closed(void *arg)
{
    struct program_fetch *p = arg;
    p->deadline_closed = true;
    free_if_unused(p);
}

static void end(struct program_fetch *p)
{
    p->state = PROGRAM_FETCH_DONE;
    deadline_close(&p->deadline, on_fetch_deadline_closed);
}

/* `why` NULL: the file is verified. */
static void finish(struct program_fetch *p, const struct glint_error *why)
{
    assert(p->state != PROGRAM_FETCH_DONE && (why == NULL || why->code != GLINT_OK));
    end(p);
    p->done(p->arg, &p->file, why);
}

void program_fetch_release(struct program_fetch *p)
{
    struct glint_error closed = {.code = GLINT_OK};
    if (p == NULL) return;
    if (p->state != PROGRAM_FETCH_DONE) end(p);
    error_set(&closed, GLINT_E_CONNECTION, NULL, "the connection was closed");
    fetch_client_on_closed(&p->client);
    fetch_client_fail(&p->client, &closed);
    p->released = true;
    free_if_unused(p);
}

/* ---- Verification */

static void hash_on_thread(uv_work_t *work)
{
    struct program_fetch *p = work->data;
    p->hash_code = sha256_of_file(p->net->env, p->file.file, p->hash);
}

static void start_fetching(struct program_fetch *p);

/* A file of the right hash: a fetched one is given its name first. */
static void on_verified(struct program_fetch *p)
{
    struct glint_error why = {.code = GLINT_OK};
    char text[SHA256_TEXT_MAX];
    bool fetched = p->file.temporary;
    sha256_text(p->program.sha256, text);
    if (fetched && program_cache_publish(p->net->env, &p->program, &p->file, &why) != 0) {
        finish(p, &why);
        return;
    }
    log_line(LOG_INFO, &(struct log_ids){.peer = conn_peer_address(p->conn)},
             "%s the driver's program: %llu bytes, SHA-256 %s, build %s",
             fetched ? "fetched" : "found in the cache", (unsigned long long)p->program.size, text,
             conn_peer_hello(p->conn)->build);
    finish(p, NULL);
}

static void on_hashed(uv_work_t *work, int status)
{
    struct program_fetch *p = work->data;
    struct glint_error why = {.code = GLINT_OK};
    (void)status;
    p->hashing = false;
    if (p->state == PROGRAM_FETCH_DONE) {
        free_if_unused(p);
        return;
    }
    if (p->hash_code == 0 && memcmp(p->hash, p->program.sha256, sizeof p->hash) == 0) {
        on_verified(p);
        return;
    }
    if (!p->file.temporary) { /* the file in the cache is damaged */
        log_line(LOG_WARN, NULL, "removing %s: its content does not match its SHA-256",
                 p->file.path);
        program_cache_remove(p->net->env, &p->file);
        start_fetching(p);
        return;
    }
    if (p->hash_code != 0)
        error_set_system(&why, GLINT_E_WORK_DIR, p->hash_code, "read", p->file.path);
    else
        error_set(&why, GLINT_E_FETCH_FAILED, "start the job again",
                  "the program that was received does not match its SHA-256");
    finish(p, &why);
}

static void start_verifying(struct program_fetch *p)
{
    p->state = PROGRAM_FETCH_VERIFYING;
    deadline_stop(&p->deadline);
    p->work.data = p;
    p->hashing = true;
    int failed = uv_queue_work(p->net->loop, &p->work, hash_on_thread, on_hashed);
    assert(failed == 0); /* fails only without a work function */
}

/* ---- Blocks */

static void on_block(struct fetch_request *r);

static void request_block(struct program_fetch *p)
{
    uint64_t size = program_block_bytes_at(p->program.size, p->block) + PROGRAM_CHECKSUM_BYTES;
    p->request =
        (struct fetch_request){.get = {.kind = GET_PROGRAM_BLOCK, .block = p->block, .size = size},
                               .into = p->buffer,
                               .done = on_block,
                               .arg = p};
    p->requested = true;
    deadline_start(&p->deadline, p->fetch_ms);
    fetch_client_submit(&p->client, &p->request);
}

static void on_block(struct fetch_request *r)
{
    struct program_fetch *p = r->arg;
    struct glint_error why = r->error;
    uint64_t size = program_block_bytes_at(p->program.size, p->block);
    p->requested = false;
    if (p->state == PROGRAM_FETCH_DONE) {
        free_if_unused(p);
        return;
    }
    if (why.code == GLINT_OK && program_block_checksum(p->block, p->buffer + PROGRAM_CHECKSUM_BYTES,
                                                       size) != get_le64(p->buffer))
        error_set(&why, GLINT_E_FETCH_FAILED, "start the job again",
                  "block %u of the driver's program is damaged", p->block);
    if (why.code == GLINT_OK) {
        int w = env_write_all(p->net->env, p->file.file, p->buffer + PROGRAM_CHECKSUM_BYTES, size);
        if (w != 0) error_set_system(&why, GLINT_E_WORK_DIR, w, "write", p->file.path);
    }
    if (why.code != GLINT_OK)
        finish(p, &why);
    else if (++p->block == program_block_count(p->program.size))
        start_verifying(p);
    else
        request_block(p);
}

static void start_fetching(struct program_fetch *p)
{
    struct glint_error why = {.code = GLINT_OK};
    p->state = PROGRAM_FETCH_FETCHING;
    if (p->buffer == NULL) p->buffer = mem_alloc(PROGRAM_CHECKSUM_BYTES + PROGRAM_BLOCK_BYTES);
    if (p->buffer == NULL)
        error_no_memory(&why);
    else
        program_cache_create(p->net->env, &p->program, &p->file, &why);
    if (why.code != GLINT_OK)
        finish(p, &why);
    else
        request_block(p);
}

/* ---- Frames */

static int on_program(struct program_fetch *p, struct glint_slice payload,
                      struct glint_error *error)
{
    struct glint_error why = {.code = GLINT_OK};
    if (p->state != PROGRAM_FETCH_ASKING)
        return error_set(error, GLINT_E_PROTOCOL, NULL, "duplicate PROGRAM");
    if (program_info_decode(payload, &p->program, error) != 0) return error->code;
    if (program_cache_open(p->net->env, &p->program, &p->file, &why) != 0)
        finish(p, &why);
    else if (p->file.file >= 0)
        start_verifying(p);
    else
        start_fetching(p);
    return 0;
}

int program_fetch_on_frame(struct program_fetch *p, const struct frame *f,
                           struct glint_slice payload, struct glint_error *error)
{
    if (p->state == PROGRAM_FETCH_DONE) return 0;
    if (f->type == FRAME_PROGRAM) return on_program(p, payload, error);
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
              "the driver did not send the next block of its program within %llu ms",
              (unsigned long long)p->fetch_ms);
    finish(p, &why);
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
