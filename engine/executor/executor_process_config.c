/* Encode and decode list the fields in the same order. The secret is not sent: the executor reads
 * the secret file itself. */
#include "engine/executor/executor_process_config.h"

#include "engine/data/pack.h"
#include "engine/net/payload.h"

#include <assert.h>
#include <string.h>

#define CONFIG_FIELDS 19u

int executor_process_config_encode(const struct executor_process_config *c, struct buffer *out,
                                   struct glint_error *error)
{
    struct packer p;
    uint64_t before = out->size;
    assert(c->join_host == NULL && c->slots > 0);
    payload_pack_begin(&p, out, CONFIG_FIELDS);
    pack_text(&p, c->cluster);
    pack_text(&p, c->node);
    pack_text(&p, c->host);
    pack_text(&p, c->secret_file);
    pack_text(&p, c->work_dir);
    pack_u64(&p, c->insecure_plaintext);
    pack_u64(&p, c->log_json);
    pack_u64(&p, c->log_bytes_max);
    pack_u64(&p, c->slots);
    pack_u64(&p, c->memory_bytes);
    pack_u64(&p, c->heartbeat.heartbeat_ns);
    pack_u64(&p, c->heartbeat.suspect_ns);
    pack_u64(&p, c->heartbeat.dead_ns);
    pack_u64(&p, c->connect_ms);
    pack_u64(&p, c->fetch_ms);
    pack_u64(&p, c->drain_ms);
    pack_u64(&p, c->start_ms);
    pack_u64(&p, c->ports.first);
    pack_u64(&p, c->ports.last);
    return payload_pack_end(&p, out, before, error);
}

static const char *text_or_null(const char *text)
{
    return text[0] != '\0' ? text : NULL;
}

int executor_process_config_decode(struct glint_slice bytes, struct received_config *out,
                                   struct glint_error *error)
{
    struct unpacker u;
    struct executor_process_config *c = &out->config;
    memset(out, 0, sizeof *out);
    unpacker_init(&u, bytes);
    unpack_name(&u, out->cluster, sizeof out->cluster);
    unpack_name(&u, out->node, sizeof out->node);
    unpack_name(&u, out->host, sizeof out->host);
    unpack_text(&u, out->secret_file, sizeof out->secret_file);
    unpack_text(&u, out->work_dir, sizeof out->work_dir);
    c->insecure_plaintext = unpack_u64(&u, 1) != 0;
    c->log_json = unpack_u64(&u, 1) != 0;
    c->log_bytes_max = unpack_u64(&u, UINT64_MAX);
    c->slots = (uint32_t)unpack_u64(&u, SLOTS_MAX);
    c->memory_bytes = unpack_u64(&u, UINT64_MAX);
    c->heartbeat.heartbeat_ns = unpack_u64(&u, UINT64_MAX);
    c->heartbeat.suspect_ns = unpack_u64(&u, UINT64_MAX);
    c->heartbeat.dead_ns = unpack_u64(&u, UINT64_MAX);
    c->connect_ms = unpack_u64(&u, UINT64_MAX);
    c->fetch_ms = unpack_u64(&u, UINT64_MAX);
    c->drain_ms = unpack_u64(&u, UINT64_MAX);
    c->start_ms = unpack_u64(&u, UINT64_MAX);
    c->ports.first = (uint16_t)unpack_u64(&u, UINT16_MAX);
    c->ports.last = (uint16_t)unpack_u64(&u, UINT16_MAX);
    if (c->slots == 0 || c->ports.first > c->ports.last || c->connect_ms == 0 ||
        c->heartbeat.heartbeat_ns == 0 || c->heartbeat.heartbeat_ns >= c->heartbeat.suspect_ns ||
        c->heartbeat.suspect_ns >= c->heartbeat.dead_ns)
        u.failed = true;
    c->cluster = out->cluster;
    c->node = out->node;
    c->host = out->host;
    c->secret_file = text_or_null(out->secret_file);
    c->work_dir = text_or_null(out->work_dir);
    return payload_unpack_end(&u, "the configuration of an executor", error);
}

int executor_metrics_encode(const struct executor_metrics *s, struct buffer *out,
                            struct glint_error *error)
{
    struct packer p;
    uint64_t before = out->size;
    payload_pack_begin(&p, out, 2);
    pack_u64(&p, s->tasks_running);
    pack_u64(&p, s->memory_bytes);
    return payload_pack_end(&p, out, before, error);
}

int executor_metrics_decode(struct glint_slice bytes, struct executor_metrics *s,
                            struct glint_error *error)
{
    struct unpacker u;
    memset(s, 0, sizeof *s);
    unpacker_init(&u, bytes);
    s->tasks_running = (uint32_t)unpack_u64(&u, SLOTS_MAX);
    s->memory_bytes = unpack_u64(&u, UINT64_MAX);
    return payload_unpack_end(&u, "the state of an executor", error);
}
