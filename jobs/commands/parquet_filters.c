/* See parquet_filters.h. The library finds a filter; its header and bits are read here, by the same
 * decoder as those of files of their own. */
#include "jobs/commands/parquet_filters.h"

#include "engine/base/text.h"
#include "engine/input/format_library.h"
#include "jobs/bloom/formats.h"
#include "jobs/rows/id_values.h"

#include <assert.h>
#include <string.h>

enum { HEAD_BYTES = 64 }; /* a header has at most 20 */

static int find_filtered_column(struct parquet_filters *p, const char *column)
{
    const struct arrow_field *schema = &p->file.schema;
    int64_t number = 0;
    p->column = name_table_find(&p->file.names, column);
    if (p->column == UINT32_MAX &&
        text_parse_i64((const uint8_t *)column, strlen(column), &number) && number > 0 &&
        number <= schema->child_count)
        p->column = (uint32_t)number - 1;
    if (p->column == UINT32_MAX)
        return error_set(p->error, GLINT_E_BAD_VALUE, "use a name of its columns, or a number",
                         "--column %s: %s has %u columns, and none of them is named so", column,
                         p->piece.path, schema->child_count);
    assert(p->column < schema->child_count);
    p->name = schema->children[p->column].name;
    return GLINT_OK;
}

/* Whether the column's values are hashed as ids of `given`, if its own type is `own`: units and
 * scales must be the same. Binary values are texts or bytes. */
static bool is_type_of_column(const char *format, bool has_own, uint32_t own, uint32_t given)
{
    const bool bytes =
        bloom_id_kind(given) == BLOOM_ID_TEXT || bloom_id_kind(given) == BLOOM_ID_BYTES;
    if (has_own && own == given) return true;
    return bytes && ((has_own && bloom_id_kind(own) == BLOOM_ID_TEXT) ||
                     (format != NULL && strncmp(format, "w:", 2) == 0));
}

static int choose_id_type_of_column(struct parquet_filters *p, uint32_t id_type)
{
    const struct arrow_field *field = &p->file.schema.children[p->column];
    char own[BLOOM_ID_NAME_MAX], given[BLOOM_ID_NAME_MAX], hint[64];
    const bool has_own = id_type_of_arrow(field->format, &p->id_type);
    if (id_type == UINT32_MAX && has_own) return GLINT_OK;
    if (id_type == UINT32_MAX)
        return error_set(
            p->error, GLINT_E_BAD_VALUE, "choose another column",
            "%s: the column %s has the type %s of Arrow, which is none of " BLOOM_ID_TYPES,
            p->piece.path, p->name, field->format);
    const bool same = is_type_of_column(field->format, has_own, p->id_type, id_type);
    bloom_id_type_name(p->id_type, own);
    bloom_id_type_name(id_type, given);
    text_format(hint, sizeof hint, "leave out --id-type: its ids are %s", own);
    p->id_type = id_type;
    if (same) return GLINT_OK;
    return error_set(
        p->error, GLINT_E_BAD_VALUE, has_own ? hint : "choose another column",
        "%s: the column %s does not store ids of the type %s as its filter hashes them",
        p->piece.path, p->name, given);
}

int parquet_filters_open(struct parquet_filters *p, struct env *env, const char *path,
                         const char *column, uint32_t id_type, struct glint_error *error)
{
    struct env_stat stat;
    *p = (struct parquet_filters){.error = error, .file = {.error = error}};
    const int failed = env->stat(env, path, &stat);
    if (failed != 0) return error_set_system(error, input_error_code(failed), failed, "open", path);
    if (stat.kind != ENV_FILE)
        return error_set(error, GLINT_E_INPUT_KIND, "name the files of a directory one by one",
                         "%s is not a regular file", path);
    p->piece = (struct split_piece){.path = path,
                                    .length = SPLIT_TO_END,
                                    .file_size = stat.size,
                                    .mtime_ns = stat.mtime_ns,
                                    .format = FORMAT_PARQUET};
    int code = column_file_open(&p->file, env, NULL, &p->piece, &p->arena, error);
    if (code == 0) code = find_filtered_column(p, column);
    if (code == 0) code = choose_id_type_of_column(p, id_type);
    if (code == 0) p->row_groups = p->file.library->piece_count(p->file.file);
    return code;
}

/* Whether values of the physical type are hashed as ids of the type. */
static bool is_id_type_stored_as(uint32_t id_type, uint32_t type)
{
    switch (bloom_id_kind(id_type)) {
    case BLOOM_ID_TEXT:
    case BLOOM_ID_BYTES:
        return type == FORMAT_PARQUET_BYTE_ARRAY || type == FORMAT_PARQUET_FIXED_LEN_BYTE_ARRAY;
    case BLOOM_ID_UUID: return type == FORMAT_PARQUET_FIXED_LEN_BYTE_ARRAY;
    case BLOOM_ID_F64: return type == FORMAT_PARQUET_DOUBLE;
    default:
        return type == (bloom_id_width(BLOOM_XXH64, id_type) == 4 ? FORMAT_PARQUET_INT32
                                                                  : FORMAT_PARQUET_INT64);
    }
}

static int set_invalid_filter_error(struct parquet_filters *p, uint32_t row_group, uint64_t at,
                                    const char *why)
{
    return error_set(p->error, GLINT_E_FILTER_INVALID, NULL,
                     "%s, row group %u, byte %llu: the Bloom filter of column %s: %s",
                     p->piece.path, row_group, (unsigned long long)at, p->name, why);
}

static int find_filter_of_row_group(struct parquet_filters *p, uint32_t row_group,
                                    uint64_t *out_offset)
{
    struct format_error e = {.piece = -1};
    struct format_bloom_filter found = {.offset = 0};
    char type[BLOOM_ID_NAME_MAX];
    if (p->file.library->bloom_filter(p->file.file, row_group, p->column, &found, &e) != 0)
        return column_file_set_error(&p->file, &e);
    *out_offset = found.offset;
    if (found.offset == 0)
        return error_set(p->error, GLINT_E_FILTER_INVALID,
                         "write it with --bloom-filter, or as its writer's documentation says",
                         "%s: row group %u has no Bloom filter of column %s", p->piece.path,
                         row_group, p->name);
    if (is_id_type_stored_as(p->id_type, found.type)) return GLINT_OK;
    bloom_id_type_name(p->id_type, type);
    return error_set(
        p->error, GLINT_E_BAD_VALUE,
        "i32 and date are INT32, i64, u64 and timestamp INT64, decimals up to 9 digits "
        "INT32, up to 18 INT64",
        "%s: the column %s does not store ids of the type %s as its filter hashes them",
        p->piece.path, p->name, type);
}

int parquet_filters_read(struct parquet_filters *p, uint32_t row_group, struct buffer *bytes,
                         struct bloom_filter *out)
{
    const struct bloom_params any = {.n = 0};
    uint8_t head[HEAD_BYTES];
    uint64_t offset = 0, at = 0;
    assert(row_group < p->row_groups);
    int code = find_filter_of_row_group(p, row_group, &offset);
    if (code != 0) return code;
    const uint64_t left = p->piece.file_size - offset;
    const uint64_t have = left < sizeof head ? left : sizeof head;
    if (p->file.input.read(p->file.input.context, offset, head, have) != 0) return p->error->code;
    const uint64_t size = bloom_parquet_size(head, have);
    if (size == 0 || size > left)
        return set_invalid_filter_error(p, row_group, offset,
                                        size == 0 ? "its header is none that is supported"
                                                  : "it continues beyond the file");
    bytes->size = 0;
    if (!buffer_reserve(bytes, size)) return error_no_memory(p->error);
    if (p->file.input.read(p->file.input.context, offset, bytes->data, size) != 0)
        return p->error->code;
    bytes->size = size;
    const char *wrong =
        bloom_format_decode(BLOOM_FORMAT_PARQUET, bytes->data, size, &any, out, &at);
    if (wrong != NULL) return set_invalid_filter_error(p, row_group, offset + at, wrong);
    assert(out->bits != NULL && out->params.m % 256 == 0);
    out->params.id_type = p->id_type;
    return GLINT_OK;
}

/* Unites filters of a number of blocks and a multiple of it: the block of an id in the larger one
 * is floor(hash * blocks / 2^32), and that number divided by the ratio, rounded down, is its block
 * in the smaller one. So the larger one, with each block of the smaller one in as many of its
 * blocks as the ratio says, has all ids of both. Folding the larger one would fill the blocks more.
 * Returns false if it is no multiple. */
static bool unite_with_smaller(struct bloom_filter *large, const struct bloom_filter *small)
{
    const uint64_t bits = bloom_block_bits(large->params.layout), bytes = bits / 8;
    const uint64_t blocks = large->params.m / bits;
    const uint64_t ratio = large->params.m / small->params.m;
    struct bloom_params same = small->params;
    same.m = large->params.m;
    if (large->params.m % small->params.m != 0 || !bloom_params_equal(&same, &large->params))
        return false;
    for (uint64_t b = 0; b < blocks; b++)
        for (uint64_t i = 0; i < bytes; i++)
            large->bits[b * bytes + i] |= small->bits[b / ratio * bytes + i];
    return true;
}

/* Unites `next`, whose bits are in `more`, with *out, whose bits are in `bytes`. */
static bool unite_next(struct bloom_filter *out, struct buffer *bytes, struct bloom_filter *next,
                       struct buffer *more)
{
    assert(out->params.m > 0 && next->params.m > 0);
    if (next->params.m > out->params.m) {
        const struct bloom_filter larger = *next;
        const struct buffer its = *more;
        *next = *out;
        *more = *bytes;
        *out = larger;
        *bytes = its;
    }
    return unite_with_smaller(out, next);
}

int parquet_filters_unite(struct parquet_filters *p, struct buffer *bytes, struct bloom_filter *out)
{
    struct buffer more = {.data = NULL};
    struct bloom_filter next = {.bits = NULL};
    if (p->row_groups == 0)
        return error_set(p->error, GLINT_E_FILTER_INVALID, NULL, "%s has no row group",
                         p->piece.path);
    int code = parquet_filters_read(p, 0, bytes, out);
    for (uint32_t i = 1; code == 0 && i < p->row_groups; i++) {
        code = parquet_filters_read(p, i, &more, &next);
        if (code != 0 || unite_next(out, bytes, &next, &more)) continue;
        code = error_set(
            p->error, GLINT_E_FILTER_MISMATCH, "read one of them with --row-group N, from 0",
            "%s: the Bloom filters of row group %u and one before it have %llu and %llu bits, of "
            "which none is a multiple of the other, so they cannot be united",
            p->piece.path, i, (unsigned long long)out->params.m, (unsigned long long)next.params.m);
    }
    buffer_fini(&more);
    return code;
}

void parquet_filters_close(struct parquet_filters *p)
{
    column_file_close(&p->file);
    arena_fini(&p->arena);
}
