/* Runs a plan that a test has drawn (tests/properties/plans): words in postfix order on a stack of
 * RDDs, as in "pairs:a pairs:b join sum". The RDD that is left is saved. */
#include "tests/jobs/jobs.h"

#include <stdlib.h>
#include <string.h>

#define RDDS_MAX   32
#define WORD_BYTES 256

/* ---- Functions of the plans */

static int is_even(struct glint_task *task, void *state, const struct glint_record *in)
{
    (void)task, (void)state;
    return in->value.i64 % 2 == 0;
}

static int add_one(struct glint_task *task, void *state, const struct glint_record *in,
                   struct glint_emitter *out)
{
    struct glint_record r = *in;
    (void)task, (void)state;
    r.value.i64++;
    glint_emit(out, &r);
    return 0;
}

/* Emits a record as often as its value says, 0 to 2 times. */
static int repeat(struct glint_task *task, void *state, const struct glint_record *in,
                  struct glint_emitter *out)
{
    (void)task, (void)state;
    for (int64_t i = in->value.i64 % 3; i > 0; i--) glint_emit(out, in);
    return 0;
}

/* A number for [left, right] that tells them apart; nil is 100. */
static int number_pair(struct glint_task *task, void *state, const struct glint_record *in,
                       struct glint_emitter *out)
{
    const struct glint_pair pair = glint_pair(&in->value);
    const int64_t left = pair.left.type == GLINT_I64 ? pair.left.value.i64 : 100;
    const int64_t right = pair.right.type == GLINT_I64 ? pair.right.value.i64 : 100;
    struct glint_record r = *in;
    (void)task, (void)state;
    r.value.i64 = 1000 * left + right;
    glint_emit(out, &r);
    return 0;
}

struct spread {
    int64_t least, greatest;
    bool any;
};

static int spread_begin(struct glint_task *task, void *state, const union glint_value *key)
{
    (void)task, (void)key;
    *(struct spread *)state = (struct spread){.any = false};
    return 0;
}

static int spread_each(struct glint_task *task, void *state, const struct glint_record *in,
                       struct glint_emitter *out)
{
    struct spread *s = state;
    const int64_t value = in->value.i64;
    (void)task, (void)out;
    if (!s->any || value < s->least) s->least = value;
    if (!s->any || value > s->greatest) s->greatest = value;
    s->any = true;
    return 0;
}

static int spread_end(struct glint_task *task, void *state, const union glint_value *key,
                      struct glint_emitter *out)
{
    const struct spread *s = state;
    (void)task;
    glint_emit(out, &(struct glint_record){.key = *key, .value.i64 = s->greatest - s->least});
    return 0;
}

static const struct glint_function even =
    GLINT_FILTER("plans.even", GLINT_PAIRS(GLINT_ANY, GLINT_I64), is_even);
static const struct glint_function plus =
    GLINT_MAP("plans.plus", GLINT_PAIRS(GLINT_ANY, GLINT_I64),
              GLINT_PAIRS(GLINT_SAME, GLINT_I64), add_one);
static const struct glint_function repeated =
    GLINT_FLAT_MAP("plans.repeated", GLINT_PAIRS(GLINT_ANY, GLINT_I64),
                   GLINT_PAIRS(GLINT_SAME, GLINT_I64), repeat);
static const struct glint_function numbered =
    GLINT_MAP("plans.numbered", GLINT_PAIRS(GLINT_ANY, GLINT_MSGPACK),
              GLINT_PAIRS(GLINT_SAME, GLINT_I64), number_pair);
static const struct glint_function spread =
    GLINT_GROUP("plans.spread", GLINT_PAIRS(GLINT_ANY, GLINT_I64),
                GLINT_PAIRS(GLINT_SAME, GLINT_I64), .state_size = sizeof(struct spread),
                .begin_group = spread_begin, .each = spread_each, .end_group = spread_end);

/* ---- The words */

static struct glint_rdd *read_pairs(struct glint *g, const char *path)
{
    return glint_flat_map_values(glint_key_value_text_file(g, path, ','), &GLINT_PARSE_I64, NULL);
}

static struct glint_rdd *make_range(struct glint *g, const char *text)
{
    char *end;
    const int64_t first = strtoll(text, &end, 10), last = strtoll(end + 1, &end, 10);
    const int64_t step = strtoll(end + 1, &end, 10);
    return glint_range(g, first, last, step, (uint32_t)strtoul(end + 1, NULL, 10));
}

/* Computes its records, so that what follows reads them. */
static struct glint_rdd *keep(struct glint_rdd *rdd, unsigned level)
{
    int64_t count;
    rdd = glint_persist(rdd, level);
    return rdd != NULL && glint_count(rdd, &count) == 0 ? rdd : NULL;
}

static struct glint_rdd *source(struct glint *g, const char *word, const char *argument)
{
    if (strcmp(word, "pairs") == 0) return read_pairs(g, argument);
    if (strcmp(word, "lines") == 0) return glint_text_file(g, argument);
    return strcmp(word, "range") == 0 ? make_range(g, argument) : NULL;
}

static struct glint_rdd *unary(const char *word, const char *argument, struct glint_rdd *rdd)
{
    const uint32_t n = (uint32_t)strtoul(argument, NULL, 10);
    if (strcmp(word, "words") == 0) return glint_flat_map(rdd, &GLINT_SPLIT_WORDS, NULL);
    if (strcmp(word, "one") == 0) return glint_map(rdd, &GLINT_PAIR_WITH_ONE, NULL);
    if (strcmp(word, "index") == 0) return glint_zip_with_index(rdd);
    if (strcmp(word, "keys") == 0) return glint_keys(rdd);
    if (strcmp(word, "values") == 0) return glint_values(rdd);
    if (strcmp(word, "even") == 0) return glint_filter(rdd, &even, NULL);
    if (strcmp(word, "plus") == 0) return glint_map_values(rdd, &plus, NULL);
    if (strcmp(word, "repeat") == 0) return glint_flat_map_values(rdd, &repeated, NULL);
    if (strcmp(word, "sum") == 0) return glint_reduce_by_key(rdd, &GLINT_SUM_I64, NULL);
    if (strcmp(word, "min") == 0) return glint_reduce_by_key(rdd, &GLINT_MIN_I64, NULL);
    if (strcmp(word, "max") == 0) return glint_reduce_by_key(rdd, &GLINT_MAX_I64, NULL);
    if (strcmp(word, "count") == 0) return glint_combine_by_key(rdd, &GLINT_COUNT, NULL);
    if (strcmp(word, "spread") == 0)
        return glint_map_values(glint_group_by_key(rdd), &spread, NULL);
    if (strcmp(word, "ascending") == 0) return glint_sort_by_key(rdd, true);
    if (strcmp(word, "descending") == 0) return glint_sort_by_key(rdd, false);
    if (strcmp(word, "distinct") == 0) return glint_distinct(rdd);
    if (strcmp(word, "partitions") == 0) return glint_with_partitions(rdd, n);
    if (strcmp(word, "partition") == 0) return glint_partition_by(rdd, n);
    if (strcmp(word, "repartition") == 0) return glint_repartition(rdd, n);
    if (strcmp(word, "coalesce") == 0) return glint_coalesce(rdd, n);
    return strcmp(word, "keep") == 0 ? keep(rdd, n) : NULL;
}

static struct glint_rdd *binary(const char *word, struct glint_rdd *a, struct glint_rdd *b)
{
    struct glint_rdd *joined = NULL;
    if (strcmp(word, "union") == 0) return glint_union(a, b);
    if (strcmp(word, "subtract") == 0) return glint_subtract(a, b);
    if (strcmp(word, "intersection") == 0) return glint_intersection(a, b);
    if (strcmp(word, "subtractByKey") == 0) return glint_subtract_by_key(a, b);
    if (strcmp(word, "join") == 0) joined = glint_join(a, b);
    if (strcmp(word, "left") == 0) joined = glint_left_outer_join(a, b);
    if (strcmp(word, "right") == 0) joined = glint_right_outer_join(a, b);
    if (strcmp(word, "full") == 0) joined = glint_full_outer_join(a, b);
    return joined != NULL ? glint_map_values(joined, &numbered, NULL) : NULL;
}

struct stack {
    struct glint_rdd *rdds[RDDS_MAX];
    uint32_t count;
};

/* Replaces what the word takes from the stack by what it makes. Returns false if it is not known,
 * or has an error. */
static bool apply(struct glint *g, struct stack *s, char *word)
{
    char *colon = strchr(word, ':');
    if (colon != NULL) *colon = '\0';
    const char *argument = colon != NULL ? colon + 1 : "";
    uint32_t used = 0;
    struct glint_rdd *made = NULL, **top = &s->rdds[s->count];
    if (s->count == RDDS_MAX) return false;
    made = strcmp(word, "again") == 0 && s->count > 0 ? top[-1] : source(g, word, argument);
    if (made == NULL && s->count > 0 && glint_error(g)->code == GLINT_OK) {
        used = 1;
        made = unary(word, argument, top[-1]);
    }
    if (made == NULL && s->count > 1 && glint_error(g)->code == GLINT_OK) {
        used = 2;
        made = binary(word, top[-2], top[-1]);
    }
    if (made == NULL) return false;
    s->count -= used;
    s->rdds[s->count++] = made;
    return true;
}

static int plan_run(struct glint *g, const struct glint_job_args *args)
{
    struct stack s = {.count = 0};
    char word[WORD_BYTES];
    bool known = true;
    for (const char *p = args->positional[0]; known && *p != '\0';) {
        const size_t size = strcspn(p, " ");
        known = size < sizeof word;
        if (known) {
            memcpy(word, p, size);
            word[size] = '\0';
            known = apply(g, &s, word);
        }
        p += size + strspn(p + size, " ");
    }
    if (!known || s.count != 1)
        return glint_abort(g, GLINT_E_USAGE, NULL, "not a plan, at the word %s", word);
    return glint_save_as_text_file(s.rdds[0], args->positional[1]);
}

const struct glint_job plan_job = {.name = "plan",
                                   .summary = "run a plan of a test",
                                   .positional = {"PLAN", "OUTPUT"},
                                   .outputs = {"OUTPUT"},
                                   .functions = {&even, &plus, &repeated, &numbered, &spread},
                                   .run = plan_run};
