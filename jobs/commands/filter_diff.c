/* glint filter diff: writes what turns the filters of OLD into those of NEW (filter_delta.h). OLD
 * is in memory, and of NEW one filter at a time. NEW is read twice: its digest is in the header. */
#include "engine/cli/options.h"
#include "jobs/commands/commands.h"
#include "jobs/commands/filter_delta.h"
#include "jobs/commands/output_file.h"

#include <assert.h>
#include <string.h>
#include <zstd.h>

enum { LEVEL = 3 };

struct diff {
    struct env *env;
    struct delta_filters old;
    struct delta_head head;
    struct delta_digest *digest;
    struct output_file out;
    ZSTD_CCtx *zstd;
    uint8_t *piece; /* compressed */
    size_t piece_size;
    bool writing; /* the second reading of NEW */
    uint32_t part;
    const char *path; /* of the last record */
    struct glint_error error;
};

/* The number in .../part-NNNNN; files with other names are numbered by their order. */
static int begin_part_of_record(struct diff *d, const struct filter_record *record)
{
    const char *slash = strrchr(record->path, '/');
    const char *name = slash != NULL ? slash + 1 : record->path;
    uint64_t number = d->path == NULL ? 0 : d->part + 1;
    if (d->path != NULL && strcmp(d->path, record->path) == 0) return GLINT_OK;
    if (strncmp(name, "part-", 5) == 0 && name[5] != '\0') {
        number = 0;
        for (const char *at = name + 5; *at >= '0' && *at <= '9' && number < DELTA_PARTS_MAX; at++)
            number = number * 10 + (uint64_t)(*at - '0');
    }
    if (number >= DELTA_PARTS_MAX || (d->path != NULL && number <= d->part))
        return error_set(&d->error, GLINT_E_FILTER_INVALID, "name an output of bloom-build",
                         "%s: the parts are not in the order of their numbers", record->path);
    d->part = (uint32_t)number;
    d->path = record->path;
    return GLINT_OK;
}

static int compress_to_patch(struct diff *d, const void *data, uint64_t size, ZSTD_EndDirective end)
{
    ZSTD_inBuffer in = {data, size, 0};
    int code = GLINT_OK;
    size_t left = 1;
    assert(d->writing && d->zstd != NULL && d->piece_size > 0);
    while (code == 0 && (in.pos < in.size || (end == ZSTD_e_end && left > 0))) {
        ZSTD_outBuffer out = {d->piece, d->piece_size, 0};
        left = ZSTD_compressStream2(d->zstd, &out, &in, end);
        if (ZSTD_isError(left)) return error_no_memory(&d->error);
        code = output_file_write(&d->out, d->piece, out.pos);
    }
    return code;
}

static int write_step(struct diff *d, struct filter_record *record)
{
    const uint64_t old = delta_filters_find(&d->old, record);
    const bool whole = old == UINT64_MAX;
    const struct delta_step step = {.kind = whole ? DELTA_WHOLE : DELTA_XOR,
                                    .part = d->part,
                                    .old = whole ? 0 : old,
                                    .size = record->bytes.size};
    uint8_t head[DELTA_STEP_BYTES];
    assert(whole || d->old.records[old].bytes.size == step.size);
    delta_step_encode(&step, head);
    for (uint64_t i = 0; !whole && i < step.size; i++)
        record->bytes.data[i] ^= d->old.records[old].bytes.data[i];
    const int code = compress_to_patch(d, head, sizeof head, ZSTD_e_continue);
    return code == 0 ? compress_to_patch(d, record->bytes.data, step.size, ZSTD_e_continue) : code;
}

static int add_new_record(void *arg, struct filter_record *record)
{
    struct diff *d = arg;
    if (delta_check_record(record, &d->error) != 0) return d->error.code;
    int code = begin_part_of_record(d, record);
    if (code == 0 && !d->writing) {
        delta_digest_add(d->digest, d->part, record->bytes.data, record->bytes.size);
        d->head.new_count++;
    }
    return code == 0 && d->writing ? write_step(d, record) : code;
}

static int read_new_filters(struct diff *d, const char *path, bool writing)
{
    d->writing = writing;
    d->path = NULL;
    d->part = 0;
    return filter_each(d->env, &path, 1, add_new_record, d, &d->error);
}

static int write_delta(struct diff *d, const char *new_path)
{
    uint8_t head[DELTA_HEAD_BYTES];
    d->piece_size = ZSTD_CStreamOutSize();
    d->piece = mem_alloc(d->piece_size);
    d->zstd = ZSTD_createCCtx();
    if (d->piece == NULL || d->zstd == NULL) return error_no_memory(&d->error);
    ZSTD_CCtx_setParameter(d->zstd, ZSTD_c_compressionLevel, LEVEL);
    ZSTD_CCtx_setParameter(d->zstd, ZSTD_c_checksumFlag, 1);
    delta_head_encode(&d->head, head);
    int code = output_file_write(&d->out, head, sizeof head);
    if (code == 0) code = read_new_filters(d, new_path, true);
    return code == 0 ? compress_to_patch(d, NULL, 0, ZSTD_e_end) : code;
}

static int diff_paths(struct diff *d, const struct cli_line *line)
{
    const char *old = line->arguments[0], *new = line->arguments[1];
    const char *output = cli_line_option(line, "output");
    if (output == NULL)
        return error_set(&d->error, GLINT_E_USAGE, NULL, "glint filter diff needs --output PATCH");
    int code = delta_filters_read(&d->old, d->env, old, &d->error);
    d->digest = delta_digest_create();
    if (code == 0 && d->digest == NULL) code = error_no_memory(&d->error);
    if (code == 0) code = read_new_filters(d, new, false);
    if (code != 0) return code;
    d->head.old_count = d->old.count;
    memcpy(d->head.old_digest, d->old.digest, DELTA_DIGEST_BYTES);
    delta_digest_end(d->digest, d->head.new_digest);
    code = output_file_open(&d->out, d->env, output, false, &d->error);
    return code == 0 ? output_file_close(&d->out, write_delta(d, new)) : code;
}

static void diff_filters(const struct cli_line *line, struct glint_error *error)
{
    struct diff d = {.env = env_real()};
    diff_paths(&d, line);
    *error = d.error;
    delta_filters_fini(&d.old);
    delta_digest_destroy(d.digest);
    ZSTD_freeCCtx(d.zstd);
    mem_free(d.piece);
}

static const struct glint_job_option diff_options[] = {
    {"output", "PATCH", NULL, "file to create; -: standard output"}, {NULL, NULL, NULL, NULL}};

const struct cli_command filter_diff = {
    .name = "diff",
    .summary = "write what turns filters into newer ones",
    .syntax = {.command = "glint filter diff",
               .summary = "Writes what turns the filters of OLD into those of NEW.",
               .help = "PATCH is compressed: filters that got few new ids need little. It has "
                       "digests of both, and glint filter patch checks them.",
               .arguments = "OLD NEW",
               .arguments_min = 2,
               .arguments_max = 2,
               .own = diff_options},
    .execute = diff_filters};
