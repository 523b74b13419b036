/* Shared by all actions that save: writes an attempt file into the output's hidden directory, or
 * an upload to a store, through a buffer. A successful task returns the file's name as its result,
 * and what completes the upload. Only the driver then commits it (commit_task) or deletes it, so
 * concurrent attempts never write the same file. */
#include "engine/base/text.h"
#include "engine/input/compress.h"
#include "engine/input/csv.h"
#include "engine/input/json_line.h"
#include "engine/input/remote_store.h"
#include "engine/records/pack.h"
#include "ops/ops.h"

#include <assert.h>
#include <inttypes.h>
#include <limits.h>
#include <string.h>

#define SAVE_BUFFER_BYTES (256 * KIB)

static bool format_attempt_path(const struct save *s, char *out, size_t capacity)
{
    return text_format(out, capacity, "%s/%s", s->dir, s->name);
}

static int write_to_attempt_file(void *arg, const void *data, uint64_t size)
{
    struct save *s = arg;
    char path[PATH_MAX];
    s->bytes += size;
    if (s->remote != NULL) return remote_writer_write(s->remote, data, size, &s->task->error);
    int r = env_write_all(s->task->env, s->file, data, size);
    if (r == 0) return 0;
    format_attempt_path(s, path, sizeof path);
    return error_set_write(&s->task->error, GLINT_E_OUTPUT_IO, r, path, s->bytes - size, size);
}

static int compress_and_write(struct save *s, const void *data, uint64_t size)
{
    if (s->compressor != NULL) return compressor_write(s->compressor, data, size);
    return write_to_attempt_file(s, data, size);
}

/* Writes the buffer to the file, through the compressor if there is one. */
static bool flush_save_buffer(struct save *s)
{
    int r = s->buffer.size == 0 ? 0 : compress_and_write(s, s->buffer.data, s->buffer.size);
    s->buffer.size = 0;
    return r == 0;
}

/* Returns false when out of memory. */
static bool create_compressor(struct save *s, enum compression compression)
{
    if (compression == COMPRESSION_NONE) return true;
    s->compressor = compressor_create(compression, write_to_attempt_file, s);
    return s->compressor != NULL;
}

int save_open(struct save *s, const struct op_open *o, uint32_t output,
              enum compression compression)
{
    static const char *const suffixes[COMPRESSION_COUNT] = {
        [COMPRESSION_NONE] = "", [COMPRESSION_GZIP] = ".gz", [COMPRESSION_ZSTD] = ".zst"};
    s->task = o->task;
    s->file = -1;
    if (o->params.size > 0) {
        struct unpacker u = unpack_begin(o->params);
        const uint64_t elements = u.count;
        s->csv = (uint8_t)unpack_u64(&u, UINT8_MAX);
        const struct glint_slice nulls = unpack_bytes(&u);
        uint8_t *copy = nulls.size > 0 ? task_alloc(o->task, nulls.size) : NULL;
        if (nulls.size > 0 && copy == NULL) return GLINT_E_NO_MEMORY;
        if (copy != NULL) memcpy(copy, nulls.data, nulls.size);
        s->nulls = (struct glint_slice){copy, nulls.size};
        const int r =
            elements > 2 ? save_objects_unpack(s->task, &u, elements - 2, &s->objects) : 0;
        if (r != 0) return r;
        if (!unpack_is_complete(&u) || (nulls.size > 0 && !nulls_are_valid(nulls)))
            return error_set(&s->task->error, GLINT_E_PROTOCOL, NULL,
                             "an output has wrong options");
    }
    return save_open_file(s, o, output, compression, suffixes[compression]);
}

/* Half of the slot's memory is for the parts of its uploads. */
static int begin_part_upload(struct save *s, const struct op_open *o, const char *part)
{
    struct glint_task *task = s->task;
    char url[PATH_MAX];
    const uint64_t memory = task->options->memory_bytes / 2 / o->output_count;
    if (memory < S3_PART_BYTES_MIN)
        return error_set(&task->error, GLINT_E_MEMORY_LIMIT, "raise --memory",
                         "%u outputs in a store need at least %" PRIu64 " MiB in each slot",
                         o->output_count, 2 * o->output_count * S3_PART_BYTES_MIN / MIB);
    if (!remote_format_part_url(s->dir, part, url, sizeof url))
        return error_set(&task->error, GLINT_E_OUTPUT_CREATE, "use a shorter path",
                         "the output path is too long: %s", s->dir);
    const int cancelled = task->cancel_file != NULL ? task->cancel_file(task) : 0;
    if (cancelled < 0) return task->error.code;
    return remote_writer_create(&s->remote, task->env, url, memory, cancelled, &task->error);
}

static int create_attempt_file(struct save *s)
{
    char path[PATH_MAX];
    format_attempt_path(s, path, sizeof path); /* it fits */
    int file = s->task->env->open(s->task->env, ENV_CWD, path, ENV_CREATE_PUBLIC);
    if (file < 0)
        return error_set_shared_path(&s->task->error, GLINT_E_OUTPUT_IO, file, "create", path);
    s->file = file;
    return 0;
}

int save_open_file(struct save *s, const struct op_open *o, uint32_t output,
                   enum compression compression, const char *suffix)
{
    char path[PATH_MAX], part[sizeof s->name];
    s->task = o->task;
    s->schema = o->in;
    s->file = -1;
    if (output >= o->output_count)
        return error_set(&s->task->error, GLINT_E_PROTOCOL, NULL, "a stage has too few outputs");
    s->dir = o->outputs[output];
    /* The attempt number keeps concurrent and repeated attempts of a task apart. */
    bool fits = text_format(part, sizeof part, "part-%05u%s", o->task->partition, suffix) &&
                text_format(s->name, sizeof s->name, "%s.attempt-%u", part, o->task->attempt) &&
                format_attempt_path(s, path, sizeof path);
    assert(s->dir != NULL && s->dir[0] != '\0');
    if (!fits)
        return error_set(&s->task->error, GLINT_E_OUTPUT_CREATE, "use a shorter path",
                         "the output path is too long: %s", s->dir);
    if (!buffer_reserve(&s->buffer, SAVE_BUFFER_BYTES)) return error_no_memory(&s->task->error);
    if (!create_compressor(s, compression)) return error_no_memory(&s->task->error);
    return remote_output_is_in_store(s->dir) ? begin_part_upload(s, o, part)
                                             : create_attempt_file(s);
}

int save_open_in(struct save *s, struct glint_task *task, const char *dir, const char *name)
{
    char path[PATH_MAX];
    *s = (struct save){.task = task, .dir = dir, .file = -1};
    if (!text_format(s->name, sizeof s->name, "%s", name) ||
        !format_attempt_path(s, path, sizeof path))
        return error_set(&task->error, GLINT_E_OUTPUT_CREATE, "use a shorter path",
                         "the output path is too long: %s", dir);
    if (!buffer_reserve(&s->buffer, SAVE_BUFFER_BYTES)) return error_no_memory(&task->error);
    return create_attempt_file(s);
}

int save_check_paths(struct glint_rdd *rdd, const char *call, const char *const *paths,
                     uint32_t count)
{
    bool sound = paths != NULL;
    for (uint32_t i = 0; sound && i < count; i++) sound = paths[i] != NULL;
    if (sound) return 0;
    return glint_abort(rdd->g, GLINT_E_PLAN_ARGUMENT, PATH_IS_NULL_HINT, "%s: the path is NULL",
                       call);
}

int save_text_run(struct action *a, const struct glint_column_form *form)
{
    struct glint *g = a->rdd->g;
    struct packer p = {.failed = false};
    const uint32_t columns = form != NULL && form->format == GLINT_JSON_LINES ? form->count : 0;
    if (g->csv == 0 && form == NULL) return run_action_of_rdd(a);
    pack_array(&p, 2 + (columns > 0 ? 1 + 2 * (uint64_t)columns : 0));
    pack_u64(&p, form == NULL ? g->csv : form->format == GLINT_TSV ? '\t' : JSON_ROW);
    pack_bytes(&p, g->nulls);
    if (columns > 0) pack_u64(&p, form->empty_is_null);
    for (uint32_t i = 0; i < columns; i++) {
        pack_text(&p, form->columns[i].name);
        const char *const type = form->columns[i].type;
        pack_text(&p, type != NULL && *type == '+' ? "+" : type); /* its parts do not matter */
    }
    int r = run_packed_action(a, &p);
    return r;
}

bool save_reserve(struct save *s, uint64_t size)
{
    if (s->buffer.size + size <= SAVE_BUFFER_BYTES) return true;
    if (!flush_save_buffer(s)) return false;
    if (buffer_reserve(&s->buffer, size)) return true;
    error_no_memory(&s->task->error);
    return false;
}

bool save_write_bytes(struct save *s, struct glint_slice bytes)
{
    /* Copying small values saves system calls; copying large ones would only cost time. */
    if (bytes.size <= SAVE_BUFFER_BYTES / 4) {
        if (!save_reserve(s, bytes.size)) return false;
        memcpy(s->buffer.data + s->buffer.size, bytes.data, bytes.size);
        s->buffer.size += bytes.size;
        return true;
    }
    if (!flush_save_buffer(s)) return false;
    return compress_and_write(s, bytes.data, bytes.size) == 0;
}

/* Syncs here, in parallel on all executors, and not when the driver commits. */
static bool sync_and_close(struct save *s)
{
    char path[PATH_MAX];
    struct env *env = s->task->env;
    const int file = s->file;
    s->file = -1;
    const int synced = s->task->options->no_sync ? 0 : env->sync_file(env, file);
    const int closed = env->close(env, file);
    format_attempt_path(s, path, sizeof path);
    if (synced != 0)
        error_set_system(&s->task->error, GLINT_E_OUTPUT_IO, synced, "sync", path);
    else if (closed != 0)
        error_set_system(&s->task->error, GLINT_E_OUTPUT_IO, closed, "close", path);
    return synced == 0 && closed == 0;
}

enum flow save_finish(struct save *s)
{
    bool ok = flush_save_buffer(s);
    if (ok && s->compressor != NULL) ok = compressor_finish(s->compressor) == 0;
    if (ok && s->remote != NULL)
        ok = remote_writer_finish(s->remote, &s->task->error) == 0;
    else if (ok)
        ok = sync_and_close(s);
    s->task->counters.values[COUNT_BYTES_WRITTEN] += (int64_t)s->bytes;
    s->finished = ok;
    return ok ? FLOW_MORE : FLOW_FAIL;
}

int save_results(const struct save *outputs, uint32_t count, struct buffer *out)
{
    struct packer p = {.failed = false};
    uint64_t uploads = 0;
    for (uint32_t i = 0; i < count; i++) {
        assert(outputs[i].finished && strcmp(outputs[i].name, outputs[0].name) == 0);
        uploads += outputs[i].remote != NULL;
    }
    bool ok = buffer_append(out, outputs[0].name, strlen(outputs[0].name));
    if (uploads > 0) pack_array(&p, uploads);
    for (uint32_t i = 0; i < count; i++)
        if (outputs[i].remote != NULL) remote_writer_pack(outputs[i].remote, &p);
    ok =
        ok && !p.failed &&
        (uploads == 0 || (buffer_append(out, "", 1) && buffer_append(out, p.out.data, p.out.size)));
    packer_fini(&p);
    return ok ? 0 : error_no_memory(&outputs[0].task->error);
}

int save_result(void *state, struct buffer *out)
{
    return save_results(state, 1, out);
}

bool save_unescape_field(struct save *s, struct glint_slice *field)
{
    if (!glint_field_has_escape(*field)) return true;
    if (!buffer_reserve(&s->text, field->size)) {
        error_no_memory(&s->task->error);
        return false;
    }
    *field = (struct glint_slice){s->text.data, glint_unescape_field(*field, s->text.data)};
    return true;
}

void save_close(void *state)
{
    struct save *s = state;
    char path[PATH_MAX];
    if (s->file >= 0) s->task->env->close(s->task->env, s->file);
    if (s->dir != NULL && !remote_output_is_in_store(s->dir) && !s->finished &&
        s->name[0] != '\0' && format_attempt_path(s, path, sizeof path))
        s->task->env->remove(s->task->env, ENV_CWD, path, false);
    remote_writer_destroy(s->remote, s->finished);
    compressor_destroy(s->compressor);
    buffer_fini(&s->buffer);
    buffer_fini(&s->text);
}
