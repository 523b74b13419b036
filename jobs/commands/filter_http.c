/* A request has one filter, and is answered from one table: libmicrohttpd runs on the server's
 * thread. Hits are in the order of the ids, in the form in which these came. */
#include "jobs/commands/filter_http.h"

#include "engine/base/text.h"
#include "engine/web/web_api.h"
#include "jobs/bloom/id_type.h"

#include <assert.h>
#include <string.h>
#include <strings.h>

#define BATCH_BYTES_KEPT (1u << 20) /* memory for the next request */

enum body_form { BODY_LINES, BODY_JSON, BODY_UNKNOWN };

static enum MHD_Result answer_http_error(const struct filter_http *h, const struct web_request *r,
                                         unsigned status, const char *text)
{
    h->service->counts.errors++;
    return web_answer_error(r, status, text);
}

/* ---- Filters */

static void put_filter(struct json *j, const struct table_filter *f)
{
    const struct bloom_params *p = &f->filter.params;
    json_begin(j, NULL, '{');
    json_bytes(j, "key", f->key.text, f->key.size);
    json_u64(j, "n", p->n);
    json_u64(j, "m", p->m);
    json_u64(j, "k", p->k);
    json_cstring(j, "scheme", bloom_scheme_name(p->scheme));
    json_cstring(j, "layout", bloom_layout_name(p->layout));
    if (p->id_type != 0) {
        char type[BLOOM_ID_NAME_MAX];
        bloom_id_type_name(p->id_type, type);
        json_cstring(j, "id_type", type);
    }
    json_u64(j, "bits_set", f->bits_set);
    json_end(j, '}');
}

static enum MHD_Result answer_filters(const struct filter_http *h, const struct web_request *r)
{
    const struct filter_table *t = h->service->table;
    struct json out = {.failed = false};
    json_begin(&out, NULL, '[');
    for (uint64_t i = 0; i < t->count; i++) put_filter(&out, &t->filters[i]);
    json_end(&out, ']');
    return web_answer_json(r, 200, &out);
}

/* The filter of ?key=KEY, or without it the only one. NULL after an answer. */
static const struct table_filter *find_filter_of(const struct filter_http *h,
                                                 const struct web_request *r,
                                                 enum MHD_Result *out_answered)
{
    const struct filter_table *t = h->service->table;
    const char *key;
    size_t size;
    if (!web_request_query_bytes(r, "key", &key, &size)) {
        if (t->count == 1) return &t->filters[0];
        *out_answered =
            answer_http_error(h, r, 400, "there are several filters: name one, ?key=KEY");
        return NULL;
    }
    const struct table_filter *f = filter_table_find(t, key, size);
    if (f == NULL) *out_answered = answer_http_error(h, r, 404, "there is no filter of this key");
    return f;
}

static enum MHD_Result answer_filter(const struct filter_http *h, const struct web_request *r)
{
    struct json out = {.failed = false};
    enum MHD_Result answered;
    const struct table_filter *f = find_filter_of(h, r, &answered);
    if (f == NULL) return answered;
    put_filter(&out, f);
    return web_answer_json(r, 200, &out);
}

/* ---- Look-ups */

/* By the type of the content, without its parameters. */
static enum body_form find_body_form(const struct web_request *r)
{
    const char *type = web_request_header(r, "Content-Type");
    const size_t size = type != NULL ? strcspn(type, "; \t") : 0;
    if (size == 10 && strncasecmp(type, "text/plain", size) == 0) return BODY_LINES;
    if (size == 16 && strncasecmp(type, "application/json", size) == 0) return BODY_JSON;
    return BODY_UNKNOWN;
}

/* Appends the hits of at most TABLE_IDS_MAX ids. */
static bool put_hits(struct buffer *out, enum body_form form, const uint8_t *hit, uint32_t count)
{
    if (!buffer_reserve(out, count * sizeof "false,")) return false;
    for (uint32_t i = 0; i < count; i++) {
        const char *text =
            form == BODY_LINES ? (hit[i] ? "1\n" : "0\n") : (hit[i] ? "true," : "false,");
        const size_t size = strlen(text);
        memcpy(out->data + out->size, text, size);
        out->size += size;
    }
    return true;
}

/* Looks up the ids from `first` on. Returns NULL, or what is wrong with id *out_wrong. */
static const char *look_up_batch_ids(const struct filter_batch *b, const struct table_filter *f,
                                     uint32_t first, uint32_t count, uint8_t *out_hit,
                                     uint32_t *out_wrong)
{
    assert(count <= TABLE_IDS_MAX && first + count <= b->count);
    if (f->filter.params.id_type == 0) {
        filter_table_contains_many(f, b->data, b->start + first, b->end + first, count, out_hit);
        return NULL;
    }
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t at = first + i;
        const struct glint_slice text = {b->data + b->start[at], b->end[at] - b->start[at]};
        const char *wrong;
        const int hit = filter_table_contains_text(f, text, &wrong);
        *out_wrong = at;
        if (hit < 0) return wrong != NULL ? wrong : filter_batch_no_memory;
        out_hit[i] = (uint8_t)hit;
    }
    return NULL;
}

static enum MHD_Result refuse_id(const struct filter_http *h, const struct web_request *r,
                                 const struct table_filter *f, uint32_t number, const char *wrong)
{
    char text[512], type[BLOOM_ID_NAME_MAX];
    if (wrong == filter_batch_no_memory) return answer_http_error(h, r, 503, wrong);
    bloom_id_type_name(f->filter.params.id_type, type);
    text_format(text, sizeof text, "id %u is no %s: %s", number + 1, type, wrong);
    return answer_http_error(h, r, 400, text);
}

static enum MHD_Result answer_hits(struct filter_http *h, const struct web_request *r,
                                   const struct table_filter *f, enum body_form form)
{
    const struct filter_batch *b = &h->batch;
    struct buffer *out = &h->reply;
    uint8_t hit[TABLE_IDS_MAX];
    bool kept = form == BODY_LINES || buffer_append(out, "[", 1);
    for (uint32_t count, at = 0; at < b->count && kept; at += count) {
        count = b->count - at < TABLE_IDS_MAX ? b->count - at : TABLE_IDS_MAX;
        uint32_t number = 0;
        const char *wrong = look_up_batch_ids(b, f, at, count, hit, &number);
        if (wrong != NULL) return refuse_id(h, r, f, number, wrong);
        kept = put_hits(out, form, hit, count);
        h->service->counts.lookups += count;
        for (uint32_t i = 0; i < count; i++) h->service->counts.hits += hit[i];
    }
    if (form == BODY_JSON) {
        if (kept && b->count > 0) out->size--; /* the last comma */
        kept = kept && buffer_append(out, "]", 1);
    }
    if (!kept) return answer_http_error(h, r, 503, filter_batch_no_memory);
    return web_answer(r, 200, form == BODY_JSON ? WEB_JSON_TYPE : WEB_TEXT_TYPE, out->data,
                      out->size, NULL, NULL);
}

static enum MHD_Result answer_contains(struct filter_http *h, const struct web_request *r)
{
    const enum body_form form = find_body_form(r);
    enum MHD_Result answered;
    char text[512];
    uint64_t at = 0;
    if (!r->post) return answer_http_error(h, r, 405, "send the ids with POST");
    if (form == BODY_UNKNOWN)
        return answer_http_error(h, r, 415,
                                 "send lines as text/plain, or an array as application/json");
    const struct table_filter *f = find_filter_of(h, r, &answered);
    if (f == NULL) return answered;
    const char *wrong = form == BODY_LINES
                            ? filter_batch_read_lines(&h->batch, r->body.data, r->body.size, &at)
                            : filter_batch_read_json(&h->batch, r->body.data, r->body.size, &at);
    if (wrong == filter_batch_too_many) return answer_http_error(h, r, 413, wrong);
    if (wrong != NULL && strcmp(wrong, filter_batch_no_memory) == 0)
        return answer_http_error(h, r, 503, wrong);
    if (wrong != NULL) {
        text_format(text, sizeof text, "at byte %llu: %s", (unsigned long long)at, wrong);
        return answer_http_error(h, r, 400, text);
    }
    h->reply.size = 0;
    return answer_hits(h, r, f, form);
}

/* ---- Metrics */

static enum MHD_Result answer_metrics_of_filters(const struct filter_http *h,
                                                 const struct web_request *r)
{
    const struct filter_service *s = h->service;
    const struct filter_counts *n = &s->counts;
    const struct web_metric rows[] = {
        {"glint_filter_clients", false, NULL, "Clients of Redis that are connected.", n->clients},
        {"glint_filter_connections", true, NULL, "Connections of clients of Redis.",
         n->connections},
        {"glint_filter_rejected_connections", true, NULL, "Those that were too many.", n->rejected},
        {"glint_filter_requests", true, NULL, "Requests.", n->requests},
        {"glint_filter_errors", true, NULL, "Requests whose answer is an error.", n->errors},
        {"glint_filter_lookups", true, NULL, "Ids that were looked up.", n->lookups},
        {"glint_filter_hits", true, NULL, "Ids that a filter may contain.", n->hits},
        {"glint_filter_filters", false, NULL, "Filters that are served.", s->table->count},
        {"glint_filter_mapped_bytes", false, "bytes", "Bytes of their files.",
         s->table->maps.bytes},
        {"glint_filter_loaded_timestamp_seconds", false, "seconds", "When they were loaded.",
         (uint64_t)s->loaded_s},
        {"glint_filter_swaps", true, NULL, "Exchanges by new filters.", n->swaps},
        {"glint_filter_failed_swaps", true, NULL, "Those that kept the old ones.",
         n->failed_swaps}};
    struct buffer text = {NULL, 0, 0};
    const enum MHD_Result result =
        web_put_metrics(&text, rows, sizeof rows / sizeof rows[0])
            ? web_answer(r, 200, WEB_METRICS_TYPE, text.data, text.size, NULL, NULL)
            : MHD_NO;
    buffer_fini(&text);
    return result;
}

static void free_batch_if_large(struct filter_http *h)
{
    const struct filter_batch *b = &h->batch;
    const uint64_t bytes = h->reply.capacity + b->texts.capacity +
                           (b->start_capacity + b->end_capacity) * sizeof *b->start;
    if (bytes > BATCH_BYTES_KEPT) filter_http_fini(h);
}

enum MHD_Result filter_http_answer(void *http, const struct web_request *r)
{
    struct filter_http *h = http;
    assert(h->service->table != NULL);
    h->service->counts.requests++;
    if (strcmp(r->path, "/api/v1/contains") == 0) {
        const enum MHD_Result result = answer_contains(h, r);
        free_batch_if_large(h);
        return result;
    }
    if (r->post) return answer_http_error(h, r, 405, "POST is for /api/v1/contains only");
    if (strcmp(r->path, "/api/v1/filters") == 0) return answer_filters(h, r);
    if (strcmp(r->path, "/api/v1/filter") == 0) return answer_filter(h, r);
    if (strcmp(r->path, "/metrics") == 0) return answer_metrics_of_filters(h, r);
    if (strcmp(r->path, "/healthz") == 0) return web_answer_text(r, 200, "ok\n", NULL, NULL);
    return answer_http_error(h, r, 404, "no such resource");
}

void filter_http_fini(struct filter_http *h)
{
    filter_batch_fini(&h->batch);
    buffer_fini(&h->reply);
}
