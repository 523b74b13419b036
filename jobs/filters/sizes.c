/* The driver reads and sorts the sizes once (sizes_from.c); tasks get columns that need no parsing,
 * and look keys up in an array (small numbers), by binary search (other numbers) or in a hash table
 * (text). */
#include "jobs/filters/sizes.h"

#include "jobs/bloom/exact.h"
#include "jobs/filters/size_lines.h"
#include "jobs/rows/fields_kernel.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

/* The bytes of the broadcast: counts and native-endian columns (driver and executors are the same
 * build).
 *
 *     u32 count, text, scheme, layout, bytes of seeds, type of ids;  u64 hash seed[2];
 *     count x {u64 n, m, u32 present, k, u64 key};  seeds;  text: the keys' bytes
 *
 * `key` is the i64, or for text the offset of its bytes; text i ends where text i + 1 begins. */
struct blob_row {
    uint64_t n, m;
    uint32_t present, k;
    uint64_t key;
};
struct blob_head {
    uint32_t count, text, scheme, layout, seeds, id_type;
    uint64_t hash_seed[2];
};
static_assert(sizeof(struct blob_row) == 32 && sizeof(struct blob_head) == 40, "no padding");
static_assert((int)BLOOM_SET_MAX < (int)SIZES_NONE, "a number never means none");

static int compare_text_keys(const void *a, const void *b)
{
    const struct glint_slice *x = &((const union glint_value *)a)->bytes;
    const struct glint_slice *y = &((const union glint_value *)b)->bytes;
    int c = memcmp(x->data, y->data, x->size < y->size ? x->size : y->size);
    return c != 0 ? c : (x->size > y->size) - (x->size < y->size);
}

static int compare_number_keys(const void *a, const void *b)
{
    int64_t x = ((const union glint_value *)a)->i64, y = ((const union glint_value *)b)->i64;
    return (x > y) - (x < y);
}

/* ---- Look-ups */

static uint32_t slot_of_key(const struct sizes *s, struct glint_slice key)
{
    return (uint32_t)XXH3_64bits(key.data, key.size) & s->slot_mask;
}

static void build_key_index(struct sizes *s)
{
    memset(s->direct, 0xff, sizeof s->direct);
    for (uint32_t i = 0; i < s->count; i++) {
        const union glint_value *key = &s->keys[i];
        if (!s->text) {
            if (key->i64 >= 0 && key->i64 < SIZES_DIRECT && s->present[i])
                s->direct[key->i64] = (uint16_t)i;
            continue;
        }
        uint32_t at = slot_of_key(s, key->bytes);
        while (s->slots[at] != 0) at = (at + 1) & s->slot_mask;
        s->slots[at] = i + 1;
    }
}

static uint32_t find_text_key(const struct sizes *s, struct glint_slice key)
{
    for (uint32_t at = slot_of_key(s, key); s->slots[at] != 0; at = (at + 1) & s->slot_mask) {
        const struct glint_slice *have = &s->keys[s->slots[at] - 1].bytes;
        if (have->size == key.size && memcmp(have->data, key.data, key.size) == 0)
            return s->slots[at] - 1;
    }
    return SIZES_NONE;
}

static uint32_t find_number_key(const struct sizes *s, int64_t key)
{
    if (key >= 0 && key < SIZES_DIRECT) return s->direct[key];
    union glint_value wanted = {.i64 = key};
    const union glint_value *found =
        bsearch(&wanted, s->keys, s->count, sizeof *s->keys, compare_number_keys);
    return found != NULL ? (uint32_t)(found - s->keys) : SIZES_NONE;
}

uint32_t key_counts_find(const struct sizes *s, const union glint_value *key)
{
    uint32_t i = s->text ? find_text_key(s, key->bytes) : find_number_key(s, key->i64);
    return i != SIZES_NONE && s->present[i] ? i : SIZES_NONE;
}

uint32_t sizes_find_key(const struct sizes *s, const union glint_value *key)
{
    const union glint_value *found = bsearch(key, s->keys, s->count, sizeof *s->keys,
                                             s->text ? compare_text_keys : compare_number_keys);
    return found != NULL ? (uint32_t)(found - s->keys) : SIZES_NONE;
}

/* Looks up keys of the direct table, which are usually all keys of a batch. Returns the number of
 * rows without a match. */
static uint32_t find_keys_in_direct_table(const struct sizes *s, const struct fields *f,
                                          uint16_t *out)
{
    uint32_t others = 0;
    for (uint32_t row = 0; row < f->rows; row++) {
        uint64_t key = (uint64_t)f->number[row];
        out[row] = s->direct[key < SIZES_DIRECT ? key : 0];
        others += key >= SIZES_DIRECT || out[row] == SIZES_NONE;
    }
    return others;
}

/* Looks up keys below FIELDS_TABLE, such as ratings, if the processor can look up many at once. */
static bool find_keys_by_vector_table(const struct sizes *s, const struct fields *f, uint16_t *out)
{
    static_assert((int)FIELDS_TABLE <= (int)SIZES_DIRECT && SIZES_NONE == UINT16_MAX,
                  "the direct table is the first member: a kernel looks up in it");
    return f->kernel != NULL && f->kernel->look_up != NULL &&
           f->kernel->look_up(f->number, f->rows, s->direct, out);
}

uint32_t sizes_find_rows(const struct sizes *s, const struct fields *f, uint16_t *out)
{
    if (!s->text && find_keys_by_vector_table(s, f, out)) return 0;
    if (!s->text && find_keys_in_direct_table(s, f, out) == 0) return 0;
    uint32_t missing = 0;
    for (uint32_t row = 0; row < f->rows; row++) {
        union glint_value key;
        if (s->text)
            key.bytes = (struct glint_slice){f->key_base + f->text_start[row],
                                             f->text_end[row] - f->text_start[row]};
        else
            key.i64 = f->number[row];
        out[row] = (uint16_t)key_counts_find(s, &key);
        missing += out[row] == SIZES_NONE;
    }
    return missing;
}

void sizes_key_text(const struct sizes *s, uint32_t number, char *out, size_t capacity)
{
    assert(number < s->count);
    const union glint_value *key = &s->keys[number];
    if (s->text)
        snprintf(out, capacity, "%.*s", (int)(key->bytes.size > 200 ? 200 : key->bytes.size),
                 (const char *)key->bytes.data);
    else
        snprintf(out, capacity, "%lld", (long long)key->i64);
}

/* ---- Driver */

int sizes_set_seeds(struct glint *g, struct sizes *s, const uint8_t *seeds, uint32_t count)
{
    const uint64_t size = BLOOM_SEEDS_MAX * BLOOM_SEED_BYTES;
    glint_free(s->seeds);
    s->seeds = NULL;
    if (seeds == NULL) return 0;
    assert(count <= BLOOM_SEEDS_MAX);
    s->seeds = glint_alloc(g, size);
    if (s->seeds == NULL) return glint_error(g)->code;
    memset(s->seeds, 0, size);
    memcpy(s->seeds, seeds, count * BLOOM_SEED_BYTES);
    return 0;
}

int sizes_compute_params(struct glint *g, struct sizes *s, const struct bloom_sizing *sizing)
{
    s->bits_bytes = 0;
    const uint8_t *seeds = sizing->seeded ? sizing->seeds : NULL;
    if (sizes_set_seeds(g, s, seeds, BLOOM_SEEDS_MAX) != 0) return glint_error(g)->code;
    for (uint32_t i = 0; i < s->count; i++) {
        const struct bloom_params *have = &s->params[i];
        const uint64_t n = have->n;
        const struct size_line line = {n, s->own ? have->m : 0, s->own ? have->k : 0, 0};
        enum bloom_result result = size_line_params(&line, sizing, &s->params[i]);
        if (result != BLOOM_OK) {
            char key[256], why[256];
            const char *hint;
            sizes_key_text(s, i, key, sizeof key);
            sizes_describe_limit(sizing, s->own ? 0 : n, result, why, sizeof why, &hint);
            return glint_abort(g, GLINT_E_FILTER_LIMIT, hint, "the filter of key %s, n = %llu: %s",
                               key, (unsigned long long)n, why);
        }
        s->params[i].seeds = s->seeds;
        s->bits_bytes += bloom_bytes(s->params[i].m);
    }
    assert(s->bits_bytes > 0);
    return 0;
}

void sizes_describe_limit(const struct bloom_sizing *sizing, uint64_t n, enum bloom_result result,
                          char *out, size_t capacity, const char **out_hint)
{
    const struct bloom_params params = {.scheme = sizing->scheme,
                                        .layout = sizing->layout,
                                        .k = sizing->k,
                                        .seeds = sizing->seeded ? sizing->seeds : NULL};
    const double ln2 = log(2);
    const double per_id = sizing->p > 0 ? -log(sizing->p) / (ln2 * ln2) : sizing->bits;
    const double bits = ceil((double)n * per_id);
    *out_hint = "see docs/filter-format.md for the bounds of each scheme";
    snprintf(out, capacity, "%s", bloom_strerror(result));
    if (result != BLOOM_ERR_M || n == 0) return;
    if (sizing->layout == BLOOM_EXACT) {
        const uint64_t planned = exact_planned_bytes(n);
        snprintf(out, capacity, "it needs about %.0f bits, an exact filter has at most %llu",
                 planned == UINT64_MAX ? (double)n : 8 * (double)planned,
                 (unsigned long long)BLOOM_M_MAX);
        *out_hint = "split the universe, or give its ids several keys";
        return;
    }
    if (bits <= 1) { /* classes that round down */
        snprintf(out, capacity, "a filter of scheme %s has no bits for so few ids and such a P",
                 bloom_scheme_name(sizing->scheme));
        *out_hint = "lower P";
        return;
    }
    const bool blocks = sizing->layout != BLOOM_CLASSIC;
    snprintf(out, capacity, "it needs %.0f bits, scheme %s has at most %llu", bits,
             bloom_scheme_name(sizing->scheme),
             (unsigned long long)(blocks ? BLOOM_M_MAX : bloom_m_max(&params)));
    *out_hint = bits <= (double)BLOOM_M_MAX
                    ? "use --scheme wide, or --format guava or spark-v2, with up to 34359738360"
                    : "raise P, or split the ids: no scheme has more than 34359738360";
    if (bloom_is_fuse(sizing->layout))
        *out_hint = "give the ids several keys: P does not change the size of this layout";
}

double sizes_rate_above_planned(const struct bloom_params *params)
{
    double low, high;
    bloom_predict_rate(params, &low, &high);
    return high > 1.05 * bloom_expected_rate(params) ? high : 0;
}

void sizes_warn_of_rates(struct glint *g, const struct sizes *s)
{
    double worst = 0, most = 0, planned = 0;
    uint32_t at = s->count;
    for (uint32_t i = 0; i < s->count; i++) {
        const double wanted = bloom_expected_rate(&s->params[i]);
        const double high = sizes_rate_above_planned(&s->params[i]);
        if (high <= worst * wanted) continue;
        worst = high / wanted;
        most = high, planned = wanted;
        at = i;
    }
    if (at == s->count) return;
    char key[256];
    sizes_key_text(s, at, key, sizeof key);
    glint_warn(g,
               "the filter of key %s: scheme %s has hashes of 32 bits, too few for %llu ids: "
               "expect a rate of up to %.3g instead of %.3g; --scheme wide, or --format guava or "
               "spark-v2, keep it",
               key, bloom_scheme_name(s->params[at].scheme), (unsigned long long)s->params[at].n,
               most, planned);
}

int sizes_set_error(struct glint *g, enum bloom_result result, const char *about)
{
    assert(result != BLOOM_OK);
    enum glint_code code = result == BLOOM_ERR_MEMORY ? GLINT_E_NO_MEMORY : GLINT_E_FILTER_LIMIT;
    return glint_abort(g, code, "see docs/filter-format.md for the bounds of each scheme", "%s: %s",
                       about, bloom_strerror(result));
}

void sizes_fini(struct sizes *s)
{
    glint_free(s->keys);
    glint_free(s->params);
    glint_free(s->present);
    glint_free(s->memory);
    glint_free(s->seeds);
    memset(s, 0, sizeof *s);
}

struct glint_broadcast *sizes_broadcast(struct glint *g, const struct sizes *s)
{
    assert(s->count > 0 && s->count <= BLOOM_SET_MAX);
    uint64_t text = 0;
    for (uint32_t i = 0; s->text && i < s->count; i++) text += s->keys[i].bytes.size;
    const uint32_t seeds = s->seeds != NULL ? BLOOM_SEEDS_MAX * BLOOM_SEED_BYTES : 0;
    const uint64_t rows_end = sizeof(struct blob_head) + sizeof(struct blob_row) * s->count;
    const uint64_t size = rows_end + seeds + text;
    uint8_t *blob = glint_alloc(g, size);
    if (blob == NULL) return NULL;
    const struct bloom_params *first = &s->params[0];
    struct blob_head head = {.count = s->count,
                             .text = s->text,
                             .scheme = first->scheme,
                             .layout = first->layout,
                             .seeds = seeds,
                             .id_type = first->id_type,
                             .hash_seed = {first->hash_seed[0], first->hash_seed[1]}};
    memcpy(blob, &head, sizeof head);
    if (seeds > 0) memcpy(blob + rows_end, s->seeds, seeds);
    uint64_t offset = 0;
    for (uint32_t i = 0; i < s->count; i++) {
        struct blob_row row = {s->params[i].n, s->params[i].m, s->present[i], s->params[i].k,
                               (uint64_t)s->keys[i].i64};
        if (s->text) {
            row.key = offset;
            memcpy(blob + rows_end + seeds + offset, s->keys[i].bytes.data, s->keys[i].bytes.size);
            offset += s->keys[i].bytes.size;
        }
        memcpy(blob + sizeof head + sizeof row * i, &row, sizeof row);
    }
    return glint_broadcast(g, blob, size);
}

/* ---- Task */

static int allocate_key_index(struct glint_task *task, struct sizes *s)
{
    uint64_t slots = 16;
    while (slots < (uint64_t)s->count * 2) slots *= 2;
    assert((slots & (slots - 1)) == 0 && slots > s->count);
    s->slot_mask = (uint32_t)slots - 1;
    s->keys = glint_scratch(task, sizeof *s->keys * s->count);
    s->params = glint_scratch(task, sizeof *s->params * s->count);
    s->present = glint_scratch(task, s->count);
    s->slots = glint_scratch(task, sizeof *s->slots * slots);
    if (s->keys == NULL || s->params == NULL || s->present == NULL || s->slots == NULL)
        return GLINT_E_NO_MEMORY;
    memset(s->slots, 0, sizeof *s->slots * slots);
    return 0;
}

int sizes_open(struct glint_task *task, struct sizes *out)
{
    struct glint_slice blob;
    struct blob_head head;
    memset(out, 0, sizeof *out);
    int r = glint_arg_broadcast(task, "sizes", &blob);
    if (r != 0) return r;
    if (blob.size >= sizeof head) memcpy(&head, blob.data, sizeof head);
    uint64_t rows_end = sizeof head + (uint64_t)head.count * sizeof(struct blob_row);
    if (blob.size < sizeof head || head.count == 0 || head.count > BLOOM_SET_MAX ||
        rows_end > blob.size || head.scheme >= BLOOM_SCHEMES || head.layout >= BLOOM_LAYOUTS ||
        !bloom_id_type_is_valid(head.id_type) ||
        (head.seeds != 0 && head.seeds != BLOOM_SEEDS_MAX * BLOOM_SEED_BYTES) ||
        blob.size - rows_end < head.seeds)
        return glint_fail(task, GLINT_E_PLAN_ARGUMENT, NULL, "invalid broadcast sizes");
    out->text = head.text != 0;
    out->count = head.count;
    r = allocate_key_index(task, out);
    if (r != 0) return r;
    const uint8_t *seeds = head.seeds > 0 ? blob.data + rows_end : NULL;
    rows_end += head.seeds;
    uint64_t text_size = blob.size - rows_end, previous = 0;
    for (uint32_t i = 0; i < head.count; i++) {
        struct blob_row row;
        memcpy(&row, blob.data + sizeof head + sizeof row * i, sizeof row);
        out->params[i] = (struct bloom_params){.scheme = (enum bloom_scheme)head.scheme,
                                               .n = row.n,
                                               .m = row.m,
                                               .k = row.k,
                                               .layout = (enum bloom_layout)head.layout,
                                               .seeds = seeds,
                                               .hash_seed = {head.hash_seed[0], head.hash_seed[1]},
                                               .id_type = head.id_type};
        out->present[i] = row.present != 0;
        out->keys[i].i64 = (int64_t)row.key;
        if (!out->text) continue;
        if (row.key < previous || row.key > text_size)
            return glint_fail(task, GLINT_E_PLAN_ARGUMENT, NULL, "invalid broadcast sizes");
        if (i > 0) out->keys[i - 1].bytes.size = row.key - previous;
        out->keys[i].bytes =
            (struct glint_slice){blob.data + rows_end + row.key, text_size - row.key};
        previous = row.key;
    }
    build_key_index(out);
    return 0;
}
