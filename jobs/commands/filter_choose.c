/* glint filter choose: what each layout costs for a number of ids and a rate. Sizes are computed;
 * build and look-up are measured when the command runs, on one core, with as many ids as fit in a
 * second or so. */
#include "engine/base/env.h"
#include "engine/base/json.h"
#include "engine/base/mem.h"
#include "engine/base/text.h"
#include "engine/cli/options.h"
#include "jobs/bloom/block.h"
#include "jobs/bloom/exact.h"
#include "jobs/bloom/fuse.h"
#include "jobs/commands/commands.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { MEASURED_MIN = 10000, MEASURED_MAX = 1 << 20, ID_BYTES = 16, BATCH_ROWS = 1024 };

struct candidate {
    enum bloom_layout layout;
    struct bloom_params params; /* for n ids */
    const char *problem;        /* why it cannot be used; NULL: it can */
    bool sized;                 /* size and rate are known */
    uint64_t bytes;
    double rate, build_ns, query_ns; /* per id; 0: not measured */
};

struct chooser {
    struct env *env;
    uint64_t n, universe; /* universe 0: none */
    double p;
    bool deletes;
    uint64_t ids, members; /* that are measured; members of an exact filter of `ids` */
    uint8_t *text;         /* 2 x ids ids of ID_BYTES, of which the first half is added */
    uint32_t *start, *end; /* [2 x ids] */
    uint16_t *filter;      /* zeros */
    uint8_t *hit;
    struct candidate list[BLOOM_LAYOUTS];
    uint32_t chosen; /* BLOOM_LAYOUTS: none */
    struct glint_error error;
};

/* ---- sizes ---- */

static enum bloom_scheme scheme_of_candidate(enum bloom_layout layout)
{
    return layout == BLOOM_CLASSIC || layout == BLOOM_COUNTING ? BLOOM_WIDE
                                                               : bloom_layout_scheme(layout);
}

static enum bloom_result params_of_candidate(const struct chooser *c, enum bloom_layout layout,
                                             uint64_t n, struct bloom_params *out)
{
    struct bloom_sizing sizing;
    const enum bloom_result result =
        bloom_sizing_for_rate(scheme_of_candidate(layout), layout, c->p, &sizing);
    return result == BLOOM_OK ? bloom_sizing_params(&sizing, n, out) : result;
}

static void compute_candidate_size(const struct chooser *c, struct candidate *l)
{
    const bool exact = l->layout == BLOOM_EXACT;
    enum bloom_result result = params_of_candidate(c, l->layout, c->n, &l->params);
    struct bloom_params planned; /* bloom-build sizes exact filters by the universe */
    if (result == BLOOM_OK && exact && c->universe > 0)
        result = params_of_candidate(c, l->layout, c->universe, &planned);
    if (exact && c->universe == 0) {
        l->problem = "it needs a universe: --universe U";
        return;
    }
    if (result != BLOOM_OK && result != BLOOM_ERR_P_LAYOUT) {
        l->problem = bloom_strerror(result);
        return;
    }
    if (result == BLOOM_ERR_P_LAYOUT) {
        l->problem = "its rate is over P";
        return;
    }
    if (c->deletes && l->layout != BLOOM_COUNTING) l->problem = "ids cannot be removed";
    l->bytes = exact ? exact_expected_bytes(c->universe, c->n) : bloom_bytes(l->params.m);
    l->bytes += bloom_header_size(&l->params);
    l->rate = bloom_expected_rate(&l->params);
    l->sized = true;
}

/* ---- measurement ---- */

static struct bloom_rows next_rows_of_ids(const struct chooser *c, uint64_t first, uint64_t end)
{
    const uint64_t left = end - first;
    return (struct bloom_rows){c->text, c->start + first, c->end + first, c->filter,
                               (uint32_t)(left < BATCH_ROWS ? left : BATCH_ROWS)};
}

/* Members and others, half of each; of an exact filter its universe. */
static void measure_look_ups(const struct chooser *c, const struct bloom_set *set,
                             struct candidate *l)
{
    const bool exact = l->layout == BLOOM_EXACT;
    const uint64_t all = exact ? c->ids : 2 * c->ids;
    uint64_t found = 0;
    const uint64_t begin = c->env->now_ns(c->env);
    for (uint64_t first = 0; first < all; first += BATCH_ROWS) {
        const struct bloom_rows rows = next_rows_of_ids(c, first, all);
        bloom_set_contains_rows(set, &rows, c->hit);
        for (uint32_t i = 0; i < rows.rows; i++) found += c->hit[i];
    }
    l->query_ns = (double)(c->env->now_ns(c->env) - begin) / (double)all;
    assert(exact ? found == c->members : found >= c->ids);
}

static enum bloom_result measure_changeable_layout(const struct chooser *c, struct candidate *l)
{
    struct bloom_params params;
    struct bloom_set set;
    struct bloom_adder *adder = mem_alloc(sizeof *adder);
    enum bloom_result result = adder != NULL ? BLOOM_OK : BLOOM_ERR_MEMORY;
    if (result == BLOOM_OK) result = params_of_candidate(c, l->layout, c->ids, &params);
    const uint64_t begin = c->env->now_ns(c->env);
    if (result == BLOOM_OK) result = bloom_set_init(&set, &params, 1);
    if (result == BLOOM_OK) {
        bloom_adder_init(adder, &set);
        for (uint64_t first = 0; first < c->ids; first += BATCH_ROWS) {
            const struct bloom_rows rows = next_rows_of_ids(c, first, c->ids);
            bloom_adder_add_rows(adder, &rows);
        }
        bloom_adder_flush(adder);
        l->build_ns = (double)(c->env->now_ns(c->env) - begin) / (double)c->ids;
        measure_look_ups(c, &set, l);
        bloom_set_fini(&set);
    }
    mem_free(adder);
    return result;
}

/* One shard: `hashes` and `member` have c->ids entries, both are changed. Returns the filter's
 * bytes in *out_bits, which the caller frees, and their number, or 0. */
static uint64_t build_static_filter(const struct chooser *c, const struct candidate *l,
                                    uint64_t *hashes, uint8_t *member, uint8_t **out_bits)
{
    const bool exact = l->layout == BLOOM_EXACT;
    struct exact_plan plan = exact_plan_shard(c->ids, c->members);
    const uint64_t entry = exact ? EXACT_ENTRY : FUSE_ENTRY, begin = FUSE_FIRST + entry;
    const uint64_t most = begin + (exact ? plan.bytes_max : fuse_shard_bytes(l->layout, c->ids));
    uint8_t *memory = mem_alloc(exact ? plan.memory : fuse_solve_memory(c->ids));
    uint8_t *bits = mem_alloc(most);
    uint64_t ids = c->ids, end = 0;
    *out_bits = bits;
    if (memory == NULL || bits == NULL) {
        mem_free(memory);
        return 0;
    }
    if (!exact) {
        if (fuse_solve(l->layout, hashes, &ids, memory, bits + begin))
            end = begin + fuse_shard_bytes(l->layout, ids);
    } else {
        const uint64_t size = exact_solve(&plan, hashes, member, ids, memory, bits + begin);
        end = size > 0 ? begin + size : 0;
    }
    const uint64_t head[] = {1, end, exact ? c->members : ids, ids};
    memcpy(bits, head, begin);
    mem_free(memory);
    return end;
}

static enum bloom_result measure_static_layout(const struct chooser *c, struct candidate *l)
{
    struct bloom_set set;
    uint64_t *hashes = mem_alloc(c->ids * sizeof *hashes);
    uint8_t *member = mem_alloc(c->ids), *bits = NULL;
    enum bloom_result result = hashes != NULL && member != NULL ? BLOOM_OK : BLOOM_ERR_MEMORY;
    const uint64_t begin = c->env->now_ns(c->env);
    for (uint64_t i = 0; result == BLOOM_OK && i < c->ids; i++) {
        hashes[i] = block_hash(l->params.scheme, c->text + i * ID_BYTES, ID_BYTES);
        member[i] = i < c->members;
    }
    const uint64_t size = result == BLOOM_OK ? build_static_filter(c, l, hashes, member, &bits) : 0;
    if (result == BLOOM_OK && size == 0) result = BLOOM_ERR_MEMORY;
    if (result == BLOOM_OK) {
        struct bloom_params params = l->params;
        l->build_ns = (double)(c->env->now_ns(c->env) - begin) / (double)c->ids;
        params.n = l->layout == BLOOM_EXACT ? c->members : c->ids;
        params.m = 8 * size;
        result = bloom_set_borrow(&set, &params, 1, bits);
    }
    if (result == BLOOM_OK) {
        measure_look_ups(c, &set, l);
        bloom_set_fini(&set);
    }
    mem_free(bits);
    mem_free(member);
    mem_free(hashes);
    return result;
}

static int measure_candidates(struct chooser *c)
{
    for (uint32_t i = 0; i < BLOOM_LAYOUTS; i++) {
        struct candidate *l = &c->list[i];
        if (!l->sized) continue;
        const enum bloom_result result = bloom_is_static(l->layout)
                                             ? measure_static_layout(c, l)
                                             : measure_changeable_layout(c, l);
        if (result != BLOOM_OK)
            return error_set(&c->error, GLINT_E_NO_MEMORY, NULL, "layout %s: %s",
                             bloom_layout_name(l->layout), bloom_strerror(result));
    }
    return GLINT_OK;
}

/* Ids that differ: the digits of a bijection of their numbers. */
static int make_ids(struct chooser *c)
{
    const uint64_t all = 2 * c->ids;
    c->text = mem_alloc(all * ID_BYTES + BLOOM_ID_SLACK + 1);
    c->start = mem_alloc(all * sizeof *c->start);
    c->end = mem_alloc(all * sizeof *c->end);
    c->filter = mem_alloc(BATCH_ROWS * sizeof *c->filter);
    c->hit = mem_alloc(BATCH_ROWS);
    if (c->text == NULL || c->start == NULL || c->end == NULL || c->filter == NULL ||
        c->hit == NULL)
        return error_no_memory(&c->error);
    memset(c->filter, 0, BATCH_ROWS * sizeof *c->filter);
    memset(c->text + all * ID_BYTES, 0, BLOOM_ID_SLACK + 1);
    for (uint64_t i = 0; i < all; i++) {
        char digits[ID_BYTES + 1];
        text_format(digits, sizeof digits, "%016llx",
                    (unsigned long long)(i * 0x9e3779b97f4a7c15u));
        memcpy(c->text + i * ID_BYTES, digits, ID_BYTES);
        c->start[i] = (uint32_t)(i * ID_BYTES);
        c->end[i] = (uint32_t)((i + 1) * ID_BYTES);
    }
    return GLINT_OK;
}

/* ---- options and output ---- */

static int read_count(struct chooser *c, const struct cli_line *line, const char *name,
                      uint64_t *out)
{
    const char *text = cli_line_option(line, name);
    int64_t value = 0;
    if (text == NULL) return GLINT_OK;
    if (!text_parse_i64((const uint8_t *)text, strlen(text), &value) || value < 1)
        return error_set(&c->error, GLINT_E_BAD_VALUE, NULL,
                         "--%s \"%s\" is not a whole number from 1 on", name, text);
    *out = (uint64_t)value;
    return GLINT_OK;
}

static int read_choose_options(struct chooser *c, const struct cli_line *line)
{
    const char *p = cli_line_option(line, "p");
    if (cli_line_option(line, "n") == NULL || p == NULL)
        return error_set(&c->error, GLINT_E_USAGE, "glint filter choose --n N --p P",
                         "--n and --p are needed");
    if (read_count(c, line, "n", &c->n) != 0 || read_count(c, line, "universe", &c->universe) != 0)
        return c->error.code;
    if (!text_parse_f64((const uint8_t *)p, strlen(p), &c->p) || !(c->p > 0 && c->p < 1))
        return error_set(&c->error, GLINT_E_BAD_VALUE,
                         "use a false positive probability such as 0.01",
                         "--p \"%s\" is not a number between 0 and 1", p);
    c->deletes = cli_line_has(line, "deletes");
    if (c->universe == 0 || c->universe >= c->n) return GLINT_OK;
    return error_set(&c->error, GLINT_E_BAD_VALUE, "the universe has members and others",
                     "--universe %llu is less than --n %llu", (unsigned long long)c->universe,
                     (unsigned long long)c->n);
}

static uint64_t clamp_measured_ids(uint64_t ids)
{
    return ids < MEASURED_MIN ? MEASURED_MIN : ids > MEASURED_MAX ? MEASURED_MAX : ids;
}

static void choose_smallest(struct chooser *c)
{
    c->chosen = BLOOM_LAYOUTS;
    for (uint32_t i = 0; i < BLOOM_LAYOUTS; i++)
        if (c->list[i].problem == NULL &&
            (c->chosen == BLOOM_LAYOUTS || c->list[i].bytes < c->list[c->chosen].bytes))
            c->chosen = i;
}

static double bits_per_id(const struct chooser *c, const struct candidate *l)
{
    return 8 * (double)l->bytes / (double)c->n;
}

static void print_choices(const struct chooser *c)
{
    printf("  LAYOUT       SCHEME     BITS PER ID           BYTES  RATE          BUILD ns  LOOK-UP "
           "ns\n");
    for (uint32_t i = 0; i < BLOOM_LAYOUTS; i++) {
        const struct candidate *l = &c->list[i];
        printf("%c %-12s %-8s", i == c->chosen ? '*' : ' ', bloom_layout_name(l->layout),
               bloom_scheme_name(scheme_of_candidate(l->layout)));
        if (l->sized)
            printf("%14.2f %15llu  %-12.3g %9.1f %11.1f", bits_per_id(c, l),
                   (unsigned long long)l->bytes, l->rate, l->build_ns, l->query_ns);
        printf("%s%s\n", l->problem != NULL ? "  no: " : "", l->problem != NULL ? l->problem : "");
    }
    printf("Times are per id, measured now on one core with %llu ids of %d bytes.\n",
           (unsigned long long)c->ids, ID_BYTES);
    if (c->chosen == BLOOM_LAYOUTS) {
        puts("No layout has all of this.");
        return;
    }
    const struct candidate *l = &c->list[c->chosen];
    if (l->layout == BLOOM_EXACT)
        puts("* glint submit bloom-build --exact --universe FILE INPUT COUNTS OUTPUT");
    else
        printf("* glint submit bloom-build --layout %s --scheme %s %g INPUT COUNTS OUTPUT\n",
               bloom_layout_name(l->layout), bloom_scheme_name(l->params.scheme), c->p);
}

static int print_choices_json(struct chooser *c)
{
    struct json j = {.failed = false};
    json_begin(&j, NULL, '{');
    json_i64(&j, "schema", 1);
    json_u64(&j, "measured_ids", c->ids);
    json_begin(&j, "layouts", '[');
    for (uint32_t i = 0; i < BLOOM_LAYOUTS; i++) {
        const struct candidate *l = &c->list[i];
        json_begin(&j, NULL, '{');
        json_cstring(&j, "layout", bloom_layout_name(l->layout));
        json_cstring(&j, "scheme", bloom_scheme_name(scheme_of_candidate(l->layout)));
        if (l->problem != NULL) json_cstring(&j, "problem", l->problem);
        if (l->sized) {
            json_u64(&j, "bytes", l->bytes);
            json_f64(&j, "bits_per_id", bits_per_id(c, l));
            json_f64(&j, "rate", l->rate);
            json_f64(&j, "build_ns", l->build_ns);
            json_f64(&j, "look_up_ns", l->query_ns);
        }
        json_bool(&j, "chosen", i == c->chosen);
        json_end(&j, '}');
    }
    json_end(&j, ']');
    json_end(&j, '}');
    const bool failed = j.failed;
    if (!failed) fwrite(j.out.data, 1, j.out.size, stdout);
    if (!failed) putchar('\n');
    json_fini(&j);
    return failed ? error_no_memory(&c->error) : GLINT_OK;
}

static void choose_layout(const struct cli_line *line, struct glint_error *error)
{
    struct chooser c = {.env = env_real()};
    int code = read_choose_options(&c, line);
    if (code == 0) {
        c.ids = clamp_measured_ids(c.universe > 0 ? c.universe : c.n);
        const double share = c.universe > 0 ? (double)c.n / (double)c.universe : 1;
        c.members = (uint64_t)ceil(share * (double)c.ids);
        for (uint32_t i = 0; i < BLOOM_LAYOUTS; i++) {
            c.list[i].layout = (enum bloom_layout)i;
            compute_candidate_size(&c, &c.list[i]);
        }
        choose_smallest(&c);
        code = make_ids(&c);
    }
    if (code == 0) code = measure_candidates(&c);
    if (code == 0 && cli_line_has(line, "json"))
        print_choices_json(&c);
    else if (code == 0)
        print_choices(&c);
    if (code == 0 && c.chosen == BLOOM_LAYOUTS)
        error_set(&c.error, GLINT_E_FILTER_LIMIT,
                  "use fewer ids, for example by a key, a larger --p, or no --deletes",
                  "no layout has what is asked for: %llu ids, P = %g%s", (unsigned long long)c.n,
                  c.p, c.deletes ? ", ids that can be removed" : "");
    *error = c.error;
    mem_free(c.text);
    mem_free(c.start);
    mem_free(c.end);
    mem_free(c.filter);
    mem_free(c.hit);
}

static const struct glint_job_option choose_options[] = {
    {"n", "N", NULL, "ids of the filter"},
    {"p", "P", NULL, "false positive probability"},
    {"deletes", NULL, NULL, "ids must be removable"},
    {"universe", "U", NULL, "only these U ids, members and others, are looked up"},
    {"json", NULL, NULL, "machine-readable output"},
    {NULL, NULL, NULL, NULL}};

const struct cli_command filter_choose = {
    .name = "choose",
    .summary = "compare the layouts for a number of ids and a rate",
    .syntax = {.command = "glint filter choose",
               .summary = "Prints size, rate, and time to build and look up, of each layout.",
               .help = "Sizes and rates are computed for N ids, times measured when the command "
                       "runs, on one core, with 10,000 to 1,048,576 ids. The smallest layout for P "
                       "and what else is asked for is marked with *; none is an error. An exact "
                       "filter's times are "
                       "per id of the universe.",
               .own = choose_options},
    .execute = choose_layout};
