/* glint filter patch: makes the filters of NEW of those of OLD and the file of `glint filter diff`
 * (filter_delta.h). The output is published only if its digest is that of NEW. */
#include "engine/base/text.h"
#include "engine/cli/options.h"
#include "engine/cli/signals.h"
#include "engine/input/input.h"
#include "jobs/commands/atomic_output.h"
#include "jobs/commands/commands.h"
#include "jobs/commands/filter_delta.h"

#include <assert.h>
#include <string.h>
#include <zstd.h>

struct patch {
    struct env *env;
    const char *path; /* PATCH */
    int from;         /* it */
    uint64_t size, at;
    struct delta_head head;
    struct delta_filters old;
    struct delta_digest *digest;
    ZSTD_DCtx *zstd;
    uint8_t *piece; /* of the file, compressed */
    size_t piece_size;
    ZSTD_inBuffer in;
    size_t frame_left; /* 0: the frame has ended */
    struct buffer record;
    struct atomic_output dir;
    int to; /* the part that is written; -1: none */
    char to_path[PATH_MAX];
    struct glint_error error;
};

static int set_invalid_patch_error(struct patch *p, const char *why)
{
    return error_set(&p->error, GLINT_E_FILTER_INVALID, "use the output of glint filter diff",
                     "%s, byte %llu: %s", p->path, (unsigned long long)p->at, why);
}

static int read_bytes(struct patch *p, void *out, uint64_t size)
{
    const int64_t n = env_read_full(p->env, p->from, out, size, p->at);
    if (n < 0) return error_set_system(&p->error, GLINT_E_INPUT_IO, (int)n, "read", p->path);
    if ((uint64_t)n < size)
        return error_set(&p->error, GLINT_E_INPUT_CHANGED, NULL,
                         "%s was truncated while it was read", p->path);
    p->at += size;
    return GLINT_OK;
}

/* Decompresses what it can, of the rest of the last piece or of the next one. */
static int decompress_piece(struct patch *p, ZSTD_outBuffer *out)
{
    if (p->in.pos == p->in.size && p->at < p->size) {
        const uint64_t left = p->size - p->at;
        const uint64_t more = left < p->piece_size ? left : p->piece_size;
        const int code = read_bytes(p, p->piece, more);
        if (code != 0) return code;
        p->in = (ZSTD_inBuffer){p->piece, more, 0};
    }
    const size_t before = out->pos, consumed = p->in.pos;
    p->frame_left = ZSTD_decompressStream(p->zstd, out, &p->in);
    if (ZSTD_isError(p->frame_left))
        return set_invalid_patch_error(p, ZSTD_getErrorName(p->frame_left));
    if (out->pos == before && p->in.pos == consumed && p->at == p->size && p->frame_left > 0)
        return set_invalid_patch_error(p, "it is truncated");
    return GLINT_OK;
}

/* Decompresses exactly `size` bytes. */
static int decompress(struct patch *p, void *data, uint64_t size)
{
    ZSTD_outBuffer out = {data, size, 0};
    assert(p->zstd != NULL && p->in.pos <= p->in.size && p->at <= p->size);
    while (out.pos < out.size) {
        if (p->frame_left == 0) return set_invalid_patch_error(p, "a step is missing");
        const int code = decompress_piece(p, &out);
        if (code != 0) return code;
    }
    return GLINT_OK;
}

/* Reads the end of the frame, after which there is nothing. */
static int check_patch_ends(struct patch *p)
{
    uint8_t more;
    ZSTD_outBuffer out = {&more, sizeof more, 0};
    while (p->frame_left > 0) {
        const int code = decompress_piece(p, &out);
        if (code != 0) return code;
        if (out.pos > 0) return set_invalid_patch_error(p, "more follows the last step");
    }
    return p->in.pos == p->in.size && p->at == p->size
               ? GLINT_OK
               : set_invalid_patch_error(p, "bytes follow the last step");
}

static int close_written_part(struct patch *p)
{
    const int file = p->to;
    p->to = -1;
    return file < 0 ? GLINT_OK
                    : atomic_output_sync_and_close_file(p->env, file, 0, p->to_path, &p->error);
}

static int open_part_to_write(struct patch *p, const char *name)
{
    int code = close_written_part(p);
    if (code != 0) return code;
    p->to = atomic_output_open_file(&p->dir, p->env, name, p->to_path, &p->error);
    return p->error.code;
}

enum { GROWTH = 1 << 20 };

/* Decompresses the bytes of a step; memory grows as they come, since their number may be wrong. */
static int read_patched_record(struct patch *p, const struct delta_step *step)
{
    const struct buffer *old = step->kind == DELTA_XOR ? &p->old.records[step->old].bytes : NULL;
    if (old != NULL && old->size != step->size)
        return set_invalid_patch_error(p, "a step is for a filter of another size");
    p->record.size = 0;
    while (p->record.size < step->size) {
        const uint64_t left = step->size - p->record.size;
        const uint64_t more = old != NULL || left < GROWTH ? left : GROWTH;
        if (!buffer_reserve(&p->record, more)) return error_no_memory(&p->error);
        const int code = decompress(p, p->record.data + p->record.size, more);
        if (code != 0) return code;
        p->record.size += more;
    }
    assert(p->record.size == step->size);
    for (uint64_t i = 0; old != NULL && i < step->size; i++) p->record.data[i] ^= old->data[i];
    return GLINT_OK;
}

static int apply_steps(struct patch *p)
{
    struct delta_step step = {.size = 0}, before;
    uint8_t bytes[DELTA_STEP_BYTES];
    char name[32];
    int code = GLINT_OK;
    for (uint64_t i = 0; code == 0 && i < p->head.new_count; i++) {
        before = step;
        if (signals_pending() != GLINT_OK)
            return error_set(&p->error, signals_pending(), NULL, "interrupted by a signal");
        code = decompress(p, bytes, sizeof bytes);
        if (code != 0) return code;
        const char *wrong = delta_step_decode(bytes, &p->head, i > 0 ? &before : NULL, &step);
        if (wrong != NULL) return set_invalid_patch_error(p, wrong);
        text_format(name, sizeof name, "part-%05u", step.part);
        if (i == 0 || step.part != before.part) code = open_part_to_write(p, name);
        if (code == 0) code = read_patched_record(p, &step);
        if (code != 0) return code;
        delta_digest_add(p->digest, step.part, p->record.data, p->record.size);
        const int failed = env_write_all(p->env, p->to, p->record.data, p->record.size);
        if (failed != 0)
            code = error_set_system(&p->error, GLINT_E_OUTPUT_IO, failed, "write", p->to_path);
    }
    return code == 0 ? check_patch_ends(p) : code;
}

static int write_patched_filters(struct patch *p)
{
    uint8_t digest[DELTA_DIGEST_BYTES];
    int code = apply_steps(p);
    if (code == 0) delta_digest_end(p->digest, digest);
    if (code == 0 && memcmp(digest, p->head.new_digest, sizeof digest) != 0)
        code = set_invalid_patch_error(
            p, "the filters that it gives are not those of NEW: it is damaged");
    if (code == 0) code = open_part_to_write(p, "_SUCCESS");
    const int closed = close_written_part(p);
    return code == 0 ? closed : code;
}

static int open_patch(struct patch *p)
{
    struct env_stat stat;
    uint8_t head[DELTA_HEAD_BYTES];
    p->from = p->env->open(p->env, ENV_CWD, p->path, ENV_READ);
    if (p->from < 0)
        return error_set_system(&p->error, input_error_code(p->from), p->from, "open", p->path);
    const int failed = p->env->stat_open(p->env, p->from, &stat);
    if (failed != 0) return error_set_system(&p->error, GLINT_E_INPUT_IO, failed, "stat", p->path);
    if (stat.kind != ENV_FILE)
        return error_set(&p->error, GLINT_E_INPUT_KIND, NULL, "%s is not a regular file", p->path);
    p->size = stat.size;
    if (p->size < sizeof head) return set_invalid_patch_error(p, "it is too short");
    const int code = read_bytes(p, head, sizeof head);
    if (code != 0) return code;
    const char *wrong = delta_head_decode(head, &p->head);
    if (wrong == NULL) return GLINT_OK;
    p->at = 0;
    return set_invalid_patch_error(p, wrong);
}

static int patch_paths(struct patch *p, const struct cli_line *line)
{
    const char *old = line->arguments[0], *output = cli_line_option(line, "output");
    p->path = line->arguments[1];
    if (output == NULL)
        return error_set(&p->error, GLINT_E_USAGE, NULL, "glint filter patch needs --output DIR");
    int code = open_patch(p);
    if (code == 0) code = delta_filters_read(&p->old, p->env, old, &p->error);
    if (code != 0) return code;
    if (p->old.count != p->head.old_count ||
        memcmp(p->old.digest, p->head.old_digest, DELTA_DIGEST_BYTES) != 0)
        return error_set(&p->error, GLINT_E_FILTER_MISMATCH,
                         "patch the filters that glint filter diff was given as OLD",
                         "%s is for other filters than %s", p->path, old);
    p->piece_size = ZSTD_DStreamInSize();
    p->piece = mem_alloc(p->piece_size);
    p->zstd = ZSTD_createDCtx();
    p->digest = delta_digest_create();
    p->frame_left = 1;
    if (p->piece == NULL || p->zstd == NULL || p->digest == NULL) return error_no_memory(&p->error);
    code = atomic_output_open_dir(&p->dir, p->env, output, &p->error);
    return code == 0 ? atomic_output_commit_or_remove_dir(&p->dir, p->env, write_patched_filters(p),
                                                          &p->error)
                     : code;
}

static void patch_filters(const struct cli_line *line, struct glint_error *error)
{
    struct patch p = {.env = env_real(), .from = -1, .to = -1};
    signals_start("a hidden directory next to the output remains");
    patch_paths(&p, line);
    *error = p.error;
    if (p.from >= 0) p.env->close(p.env, p.from);
    delta_filters_fini(&p.old);
    delta_digest_destroy(p.digest);
    ZSTD_freeDCtx(p.zstd);
    mem_free(p.piece);
    buffer_fini(&p.record);
}

static const struct glint_job_option patch_options[] = {
    {"output", "DIR", NULL, "directory to create; it must not exist"}, {NULL, NULL, NULL, NULL}};

const struct cli_command filter_patch = {
    .name = "patch",
    .summary = "apply what glint filter diff wrote",
    .syntax = {.command = "glint filter patch",
               .summary = "Makes the filters that PATCH turns those of OLD into.",
               .help = "PATCH is the output of glint filter diff for OLD; other filters are an "
                       "error. DIR is created atomically, at the end, if it has exactly the "
                       "filters of NEW.",
               .arguments = "OLD PATCH",
               .arguments_min = 2,
               .arguments_max = 2,
               .own = patch_options},
    .execute = patch_filters};
