/* Shared by the functions of the Bloom filter jobs: rows with the numbers of their filters, in the
 * library's format, and filters as values. */
#include "jobs/filters/bloom_functions.h"

#include "engine/base/text.h"
#include "jobs/filters/ids.h"
#include "jobs/filters/segments.h"

#include <assert.h>
#include <math.h>
#include <string.h>

void bloom_format_key(bool text, const union glint_value *key, char *out, size_t capacity)
{
    if (text)
        text_format(out, capacity, "%.*s", (int)(key->bytes.size > 200 ? 200 : key->bytes.size),
                    (const char *)key->bytes.data);
    else
        text_format(out, capacity, "%lld", (long long)key->i64);
}

const char *bloom_mismatch_hint(bool params)
{
    return params ? "use the PARAMS that the filters were built with"
                  : "use the P and COUNTS that the filters were built with";
}

const char *bloom_no_such_key_text(bool params)
{
    return params ? "PARAMS has no such key" : "COUNTS has no such key";
}

void bloom_mismatch_text(const struct bloom_params *have, const struct bloom_params *want,
                         bool params, char *out, size_t capacity)
{
    text_format(
        out, capacity,
        "it has scheme %s, layout %s, n = %llu, m = %llu, k = %u; %s %s, %s, %llu, %llu, %u",
        bloom_scheme_name(have->scheme), bloom_layout_name(have->layout),
        (unsigned long long)have->n, (unsigned long long)have->m, have->k,
        params ? "PARAMS gives" : "P and COUNTS give", bloom_scheme_name(want->scheme),
        bloom_layout_name(want->layout), (unsigned long long)want->n, (unsigned long long)want->m,
        want->k);
}

int bloom_input_open(struct glint_task *task, struct bloom_input *in)
{
    int r = fields_open(task, &in->fields, true);
    return r == 0 ? sizes_open(task, &in->sizes) : r;
}

/* Sets an error that names the key that has no count. */
static int set_missing_count_error(struct bloom_input *in, struct glint_task *task, uint32_t row)
{
    const struct fields *f = &in->fields;
    struct glint_slice id = {f->base + f->id_start[row], f->id_end[row] - f->id_start[row]};
    char shown[256];
    union glint_value key = {.i64 = f->number[row]};
    if (in->sizes.text)
        key.bytes = (struct glint_slice){f->key_base + f->text_start[row],
                                         f->text_end[row] - f->text_start[row]};
    bloom_format_key(in->sizes.text, &key, shown, sizeof shown);
    return glint_bad_row_with_code(task, GLINT_E_COUNT_NOT_FOUND, id,
                                   in->sizes.params[0].layout == BLOOM_EXACT
                                       ? "its key is not in COUNTS, those of --universe"
                                       : BLOOM_MISSING,
                                   shown);
}

static void move_input_row(struct bloom_input *in, uint32_t from, uint32_t to)
{
    struct fields *f = &in->fields;
    in->filter[to] = in->filter[from];
    f->id_start[to] = f->id_start[from];
    f->id_end[to] = f->id_end[from];
    f->number[to] = f->number[from];
    f->text_start[to] = f->text_start[from];
    f->text_end[to] = f->text_end[from];
}

/* Drops rows whose key has no count, or fails at the first one. */
static int drop_rows_without_count(struct bloom_input *in, struct glint_task *task)
{
    struct fields *f = &in->fields;
    uint32_t kept = 0;
    for (uint32_t row = 0; row < f->rows; row++) {
        if (in->filter[row] == SIZES_NONE) {
            int r = set_missing_count_error(in, task, row);
            if (r < 0) return r;
            continue;
        }
        move_input_row(in, row, kept++);
    }
    f->rows = kept;
    return 0;
}

const char *bloom_id_error(enum bloom_scheme scheme, uint64_t size)
{
    uint32_t least, most;
    bloom_scheme_id_sizes(scheme, &least, &most);
    if (size < least) return "the id is empty, which the class of the scheme cannot have";
    return most > 0 && size > most ? "the id is longer than the class of the scheme can have"
                                   : NULL;
}

/* Drops rows with ids that the class cannot have, or fails at the first one. */
static int drop_rows_with_bad_ids(struct bloom_input *in, struct glint_task *task)
{
    struct fields *f = &in->fields;
    const enum bloom_scheme scheme = in->sizes.params[0].scheme;
    uint32_t kept = 0;
    for (uint32_t row = 0; row < f->rows; row++) {
        const struct glint_slice id = {f->base + f->id_start[row],
                                       f->id_end[row] - f->id_start[row]};
        const char *wrong = bloom_id_error(scheme, id.size);
        int r = wrong != NULL ? glint_bad_row(task, id, wrong) : 0;
        if (r < 0) return r;
        if (wrong == NULL) move_input_row(in, row, kept++);
    }
    f->rows = kept;
    return 0;
}

int bloom_input_parse_rows(struct bloom_input *in, struct glint_task *task,
                           const struct glint_batch *lines, struct bloom_rows *out)
{
    struct fields *f = &in->fields;
    int r = fields_parse(f, task, lines);
    if (r == 0 && sizes_find_rows(&in->sizes, f, in->filter) > 0)
        r = drop_rows_without_count(in, task);
    uint32_t least, most;
    bloom_scheme_id_sizes(in->sizes.params[0].scheme, &least, &most);
    if (r == 0 && (least > 0 || most > 0)) r = drop_rows_with_bad_ids(in, task);
    *out = (struct bloom_rows){f->base, f->id_start, f->id_end, in->filter, r == 0 ? f->rows : 0};
    return r;
}

/* Compacts the rows that have a filter; counts the others. */
static void keep_rows_with_filter(struct bloom_input *in, struct glint_task *task, int no_filter)
{
    struct fields *f = &in->fields;
    uint32_t kept = 0;
    for (uint32_t row = 0; row < f->rows; row++) {
        move_input_row(in, row, kept);
        kept += in->filter[row] != SIZES_NONE;
    }
    glint_counter_add(task, no_filter, f->rows - kept);
    f->rows = kept;
}

int bloom_input_parse_known_rows(struct bloom_input *in, struct glint_task *task,
                                 const struct glint_batch *lines, int no_filter,
                                 struct bloom_rows *out)
{
    struct fields *f = &in->fields;
    int r = fields_parse(f, task, lines);
    if (r == 0 && sizes_find_rows(&in->sizes, f, in->filter) > 0)
        keep_rows_with_filter(in, task, no_filter);
    *out = (struct bloom_rows){f->base, f->id_start, f->id_end, in->filter, r == 0 ? f->rows : 0};
    return r;
}

int bloom_input_key_number(const struct sizes *sizes, struct glint_task *task,
                           const union glint_value *key, uint32_t *out)
{
    *out = key_counts_find(sizes, key);
    if (*out != SIZES_NONE) return 0;
    return glint_fail(task, GLINT_E_COUNTS_INVALID, NULL, "a key of the shuffle has no count");
}

int bloom_open_filters(struct glint_task *task, struct bloom_set *out)
{
    struct glint_slice blob;
    assert(out->table == NULL);
    int r = glint_arg_broadcast(task, "filters", &blob);
    if (r != 0) return r;
    enum bloom_result result = bloom_set_attach(out, blob.data, blob.size);
    if (result == BLOOM_OK) return 0;
    return glint_fail(task, GLINT_E_FILTER_INVALID, NULL, "the broadcast filters: %s",
                      bloom_strerror(result));
}

int bloom_tally_decode(struct glint_task *task, struct glint_slice bytes, struct bloom_tally *out)
{
    if (bytes.size != sizeof *out)
        return glint_fail(task, GLINT_E_SHUFFLE_CORRUPT, NULL, "a tally has an invalid size");
    memcpy(out, bytes.data, sizeof *out);
    return 0;
}

/* The estimate varies by less than the square root of n; equal ids are one. */
bool bloom_count_overfull_filter(struct glint_task *task, int counter,
                                 const struct bloom_params *params, uint8_t *bits)
{
    const struct bloom_filter filter = {*params, bits, 0};
    const double n = (double)params->n;
    if (bloom_ids_estimate(params, bloom_bits_set(&filter)) <= 1.05 * n + 4 * sqrt(n) + 2)
        return false;
    glint_counter_add(task, counter, 1);
    return true;
}

int bloom_set_overfull_error(struct glint_task *task, const struct sizes *sizes, uint32_t number)
{
    char key[256];
    sizes_key_text(sizes, number, key, sizeof key);
    return glint_fail(task, GLINT_E_FILTER_LIMIT, "build it for more ids, or without --strict",
                      "the filter of key %s is sized for %llu ids, and would have more", key,
                      (unsigned long long)sizes->params[number].n);
}

void bloom_emit_filter(const struct bloom_params *params, const union glint_value *key,
                       uint8_t *memory, struct glint_emitter *out)
{
    struct bloom_filter view = {*params, memory + BLOOM_HEADER_MAX, 0};
    uint8_t header[BLOOM_HEADER_MAX];
    uint32_t size = bloom_encode_header(&view, header);
    assert(size <= BLOOM_HEADER_MAX);
    uint8_t *start = memory + BLOOM_HEADER_MAX - size;
    memcpy(start, header, size);
    struct glint_record record = {.key = *key,
                                  .value.bytes = {start, size + bloom_bytes(params->m)}};
    glint_emit(out, &record);
}
