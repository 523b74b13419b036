/* Arbitrary bytes as an encoded split: either rejected, or unchanged by a round trip. */
#include "engine/input/column_map.h"
#include "engine/input/input_stream.h"
#include "engine/input/json_line.h"
#include "engine/input/remote_reader.h"
#include "engine/input/split.h"
#include "engine/limits.h"

#include "tests/support/scripted_transfer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int open_nothing(struct env *env, int dir, const char *name, enum env_open_mode mode)
{
    (void)env;
    (void)dir;
    (void)name;
    (void)mode;
    return -ENOENT;
}

static void respond_with_failure(void *arg, const struct remote_request *request,
                                 struct scripted_response *out)
{
    (void)arg;
    (void)request;
    out->opened = REMOTE_FAILED;
}

static bool is_compressed(const struct split_piece *piece)
{
    return piece->compression != COMPRESSION_NONE;
}

static void check_piece(const struct split_piece *a, const struct split_piece *b)
{
    const bool whole = a->length == SPLIT_TO_END;
    if (a->header && a->offset > 0) abort();
    if (a->path[0] == '\0' || a->length == 0 || (whole && !is_compressed(a) && a->offset > 0))
        abort();
    if (a->frames_end != 0 &&
        (a->frames_start >= a->frames_end || a->frames_end > a->file_size || !whole))
        abort();
    if (a->frames_start != b->frames_start || a->frames_end != b->frames_end) abort();
    if (!whole && a->offset + a->length < a->offset) abort();
    /* Of files of columns, offset and length count row groups. */
    if (!is_compressed(a) && a->format == 0 && !whole && a->offset + a->length > a->file_size)
        abort();
    if (a->format != b->format || a->rows_before != b->rows_before) abort();
    if ((a->layout != NULL) != (a->format != 0) || (a->layout != NULL) != (b->layout != NULL))
        abort();
    if (a->layout != NULL && a->layout->types.size != b->layout->types.size) abort();
    if (a->layout != NULL && a->layout->types.size > 0 &&
        memcmp(a->layout->types.data, b->layout->types.data, a->layout->types.size) != 0)
        abort();
    if (strcmp(a->path, b->path) != 0 || a->offset != b->offset || a->length != b->length ||
        a->file_size != b->file_size || a->mtime_ns != b->mtime_ns ||
        a->compression != b->compression || a->csv != b->csv || a->header != b->header ||
        (a->stored == NULL) != (b->stored == NULL) ||
        (a->stored != NULL && (a->stored[0] == '\0' || strcmp(a->stored, b->stored) != 0)))
        abort();
}

static void check_json(const struct split_piece *a, const struct split_piece *b)
{
    if ((a->json.data == NULL) != (b->json.data == NULL) || a->json.size != b->json.size) abort();
    if (a->json.data != NULL && (a->csv != 0 || a->header)) abort();
    if (a->json.size > 0 && memcmp(a->json.data, b->json.data, a->json.size) != 0) abort();
    if (!json_pointers_are_valid(a->json)) abort();
}

static void check_remote(const struct split_piece *a, const struct split_piece *b)
{
    if ((a->remote == NULL) != (b->remote == NULL)) abort();
    if (a->remote == NULL) return;
    if (a->remote->size != a->file_size || a->remote->ranges != b->remote->ranges ||
        strcmp(a->remote->version, b->remote->version) != 0 || a->detect != b->detect)
        abort();
}

/* Files do not exist, servers do not answer: what was decoded may be opened, all the same. */
static void open_piece(const struct split_piece *piece)
{
    struct env env = scripted_env();
    struct glint_error error = {.code = GLINT_OK};
    struct input_stream s;
    uint8_t bytes[100];
    env.open = open_nothing;
    int64_t r = input_stream_open(&s, &env, piece, piece->offset, &error);
    if (r == 0 && !s.ended) r = input_stream_read(&s, bytes, sizeof bytes);
    if (r > 0 || (r < 0) != (error.code != GLINT_OK)) abort();
    input_stream_close(&s);
}

/* A mapped row has the size that was measured: the sanitizer sees a byte more. */
static void check_columns(const struct split_piece *a, const struct split_piece *b)
{
    static const uint8_t text[] = "a,b;c\x1f"
                                  "d\te,f;g\x1fh\t\t,,i";
    const struct column_map *map = a->columns;
    const struct glint_slice row = {text, sizeof text - 1}, null = {text, map != NULL ? 3 : 0};
    if ((map == NULL) != (b->columns == NULL)) abort();
    if (map == NULL) return;
    if (a->json.data != NULL || !column_map_is_valid(map)) abort();
    if (map->count != b->columns->count || map->fields != b->columns->fields ||
        memcmp(map->runs, b->columns->runs, map->count * sizeof *map->runs) != 0)
        abort();
    uint64_t starts[65];
    if (map->fields > 64) return;
    const uint64_t size = column_map_measure(map, row, null, starts);
    if (size > 1 << 20) return; /* or too few fields */
    uint8_t *out = malloc(size + 1);
    if (out != NULL) column_map_write(map, row, null, starts, out);
    free(out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    scripted_respond = respond_with_failure;
    struct arena arena = {NULL, NULL, 0};
    struct glint_error error = {.code = GLINT_OK};
    struct split split, again;
    struct buffer bytes = {NULL, 0, 0};
    if (split_decode((struct glint_slice){data, size}, &arena, &split, &error) == 0) {
        if (split.count == 0 || split.count > SPLIT_FILES_MAX) abort();
        if (!split_encode(&split, &bytes)) abort();
        const struct glint_slice sent = {bytes.data, bytes.size};
        if (split_decode(sent, &arena, &again, &error) != 0 || again.count != split.count) abort();
        for (uint32_t i = 0; i < split.count; i++) {
            check_piece(&split.pieces[i], &again.pieces[i]);
            check_remote(&split.pieces[i], &again.pieces[i]);
            check_json(&split.pieces[i], &again.pieces[i]);
            open_piece(&split.pieces[i]);
            check_columns(&split.pieces[i], &again.pieces[i]);
        }
    } else if (error.code != GLINT_E_PROTOCOL || split.count != 0) {
        abort();
    }
    buffer_fini(&bytes);
    arena_fini(&arena);
    if (mem_live_blocks() != 0) abort();
    return 0;
}
