/* Tasks count the bits, so that only the counts go to the driver. */
#include "jobs/filters/filter_report.h"

#include "jobs/filters/bloom_functions.h"

#include <assert.h>
#include <string.h>

static void report_filters(struct glint *g, const char *key, const struct bloom_params *p,
                           uint64_t bits, double fill_rate)
{
    double least, most;
    bloom_predict_rate(p, &least, &most);
    const char *scheme = bloom_scheme_name(p->scheme), *layout = bloom_layout_name(p->layout);
    const struct glint_slice texts[] = {{(const uint8_t *)key, strlen(key)},
                                        {(const uint8_t *)scheme, strlen(scheme)},
                                        {(const uint8_t *)layout, strlen(layout)}};
    const struct glint_field fields[] = {
        {"key", {GLINT_TEXT, {.bytes = texts[0]}}},
        {"n", {GLINT_I64, {.i64 = (int64_t)p->n}}},
        {"m", {GLINT_I64, {.i64 = (int64_t)p->m}}},
        {"k", {GLINT_I64, {.i64 = (int64_t)p->k}}},
        {"scheme", {GLINT_TEXT, {.bytes = texts[1]}}},
        {"layout", {GLINT_TEXT, {.bytes = texts[2]}}},
        {"bits_set", {GLINT_I64, {.i64 = (int64_t)bits}}},
        {"fill", {GLINT_F64, {.f64 = (double)bits / (double)p->m}}},
        {"expected_rate", {GLINT_F64, {.f64 = bloom_expected_rate(p)}}},
        {"predicted_rate", {GLINT_F64, {.f64 = most}}},
        {"fill_rate", {GLINT_F64, {.f64 = fill_rate}}}};
    assert(p->m > 0 && bits <= p->m);
    glint_report(g, "filter", fields, sizeof fields / sizeof fields[0]);
}

void report_filter_fill(struct glint *g, const char *key, const struct bloom_filter *filter)
{
    if (glint_is_observed(g))
        report_filters(g, key, &filter->params, bloom_bits_set(filter),
                       bloom_rate_from_bits(filter));
}

/* ---- bloom.fill_of: what a task returns of a filter */

struct fill {
    struct bloom_params params; /* without seeds */
    uint64_t bits_set;
    double rate; /* by the bits that are set */
};

static int emit_filter_fill(struct glint_task *task, void *state, const struct glint_record *in,
                            struct glint_emitter *out)
{
    struct bloom_filter filter;
    struct fill fill;
    const struct glint_slice file = in->value.bytes;
    (void)state;
    if (bloom_is_segment(file.data, file.size)) return 0;
    enum bloom_result result = bloom_decode(file.data, file.size, &filter);
    if (result != BLOOM_OK)
        return glint_fail(task, GLINT_E_FILTER_INVALID, NULL, "%s", bloom_strerror(result));
    memset(&fill, 0, sizeof fill); /* also the padding: equal filters give equal bytes */
    fill.params = filter.params;
    fill.params.seeds = NULL;
    fill.bits_set = bloom_bits_set(&filter);
    fill.rate = bloom_rate_from_bits(&filter);
    struct glint_record record = {.key = in->key,
                                  .value.bytes = {(const uint8_t *)&fill, sizeof fill}};
    glint_emit(out, &record);
    return 0;
}

const struct glint_function filter_fill = {.name = "bloom.fill_of",
                                           .kind = GLINT_KIND_FLAT_MAP,
                                           .in = {GLINT_ANY, GLINT_MSGPACK},
                                           .out = {GLINT_SAME, GLINT_BYTES},
                                           .each = emit_filter_fill};

struct saved {
    struct glint *g;
    bool text;
};

static int report_collected_fill(void *arg, const struct glint_record *record)
{
    const struct saved *s = arg;
    struct fill fill;
    char key[256];
    if (record->value.bytes.size != sizeof fill)
        return glint_abort(s->g, GLINT_E_FILTER_INVALID, NULL, "a filter's fill has another size");
    memcpy(&fill, record->value.bytes.data, sizeof fill);
    bloom_format_key(s->text, &record->key, key, sizeof key);
    report_filters(s->g, key, &fill.params, fill.bits_set, fill.rate);
    return 0;
}

int filter_report_saved(struct glint *g, const char *path, const struct sizes *sizes)
{
    const struct glint_schema schema = {sizes->text ? GLINT_TEXT : GLINT_I64, GLINT_MSGPACK};
    struct saved saved = {g, sizes->text};
    if (!glint_is_observed(g) || sizes->count == 0 || sizes->count > GLINT_REPORTS_MAX ||
        sizes->bits_bytes > FILTER_REPORT_BYTES_MAX)
        return 0;
    struct glint_rdd *filters = glint_msgpack_file_by_name(g, path, schema);
    return glint_collect_each(glint_flat_map(filters, &filter_fill, NULL), report_collected_fill,
                              &saved);
}
