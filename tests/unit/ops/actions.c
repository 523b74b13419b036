/* See actions.h. Runs each action with every fixture, since results that differ between two
 * fixtures are wrong, and compares the rows with a table whose order is computed from the
 * definition of the shuffle. */
#include "tests/unit/ops/actions.h"

#include "engine/base/hash.h"
#include "engine/records/codec.h"

#include <stdio.h>
#include <stdlib.h>

const struct fixture tight_fixtures[] = {
    {.name = "one tight slot", .slots = 1, .memory_bytes = SLOT_MEMORY_BYTES_MIN},
    {.name = "eight tight slots",
     .slots = 8,
     .memory_bytes = 8 * SLOT_MEMORY_BYTES_MIN,
     .encode_messages = true},
    {.name = NULL}};

struct fixture fixture_like(const struct fixture *w, const struct fixture *base)
{
    struct fixture both = base != NULL ? *base : *w;
    both.name = w->name;
    both.slots = w->slots;
    both.encode_messages = w->encode_messages;
    return both;
}

static struct table table_of(const struct glint_rows *rows)
{
    struct table t = {.schema = rows->schema};
    for (uint64_t i = 0; i < rows->count; i++) {
        const struct glint_record r = glint_rows_at(rows, i);
        table_add(&t, r.key, r.value);
    }
    return t;
}

void action_expect(rows_action run, void *arg, const struct fixture *base,
                   const struct table *expected)
{
    for (const struct fixture *w = fixtures; w->name != NULL; w++) {
        const struct fixture fixture = fixture_like(w, base);
        struct glint_rows rows = {.count = 0};
        struct glint *g = fixture_open(&fixture);
        const int r = run(g, arg, &rows);
        cr_assert_eq(r, 0, "%s: returned %d: %s", w->name, r, glint_error(g)->cause);
        struct table got = table_of(&rows);
        table_expect(&got, expected, w->name);
        table_free(&got);
        glint_rows_free(&rows);
        fixture_close(g, GLINT_OK);
    }
}

void action_expect_error(rows_action run, void *arg, const struct fixture *base,
                         enum glint_code code, const char *cause)
{
    for (const struct fixture *w = fixtures; w->name != NULL; w++) {
        const struct fixture fixture = fixture_like(w, base);
        struct glint_rows rows = {.count = 0};
        struct glint *g = fixture_open(&fixture);
        const int r = run(g, arg, &rows);
        const struct glint_error *e = glint_error(g);
        cr_assert_lt(r, 0, "%s: returned %d", w->name, r);
        cr_assert_eq(e->code, code, "%s: code %d, not %d: %s", w->name, e->code, code, e->cause);
        cr_assert_not_null(strstr(e->cause, cause), "%s: \"%s\" does not contain \"%s\"", w->name,
                           e->cause, cause);
        cr_assert_eq(rows.count, 0);
        cr_assert_null(rows.data);
        fixture_close(g, code);
    }
}

void action_expect_no_memory(rows_action run, void *arg)
{
    bool done = false;
    for (int64_t n = 1; !done; n++) {
        struct glint_rows rows = {.count = 0};
        struct glint *g = fixture_open(&fixtures[0]);
        const int64_t live = mem_live_blocks();
        mem_fail_at(n, n % 2 == 0);
        run(g, arg, &rows);
        mem_fail_at(0, false);
        glint_rows_free(&rows);
        const enum glint_code code = glint_error(g)->code;
        cr_assert(code == GLINT_OK || code == GLINT_E_NO_MEMORY, "allocation %lld: %s",
                  (long long)n, glint_error(g)->cause);
        cr_assert_geq(mem_live_blocks(), live);
        done = code == GLINT_OK && n % 2 == 0;
        glint_finish(g);
        glint_destroy(g);
        cr_assert(n > 10 || !done, "no allocation failed");
    }
}

struct collecting {
    plan_make make;
    void *arg;
};

static int run_collect(struct glint *g, void *arg, struct glint_rows *out)
{
    const struct collecting *c = arg;
    struct glint_rdd *rdd = c->make(g, c->arg);
    return rdd != NULL ? glint_collect(rdd, out) : (int)glint_error(g)->code;
}

void plan_expect_no_memory(plan_make make, void *arg)
{
    action_expect_no_memory(run_collect, &(struct collecting){make, arg});
}

/* ---- Order */

struct place {
    struct glint_record record;
    uint32_t partition;
    struct glint_slice key, value;
    uint8_t key_number[CODEC_NUMBER_BYTES], value_number[CODEC_NUMBER_BYTES];
    uint64_t index;
};

static int by_place(const void *a, const void *b)
{
    const struct place *x = a, *y = b;
    if (x->partition != y->partition) return x->partition < y->partition ? -1 : 1;
    int c = codec_compare(x->key, y->key);
    if (c == 0) c = codec_compare(x->value, y->value);
    return c != 0 ? c : x->index < y->index ? -1 : 1;
}

static void sort_table(struct table *t, uint32_t partitions, bool values_too)
{
    struct place *places = calloc(t->count + 1, sizeof *places);
    cr_assert_not_null(places);
    for (uint64_t i = 0; i < t->count; i++) {
        struct place *p = &places[i];
        p->record = t->rows[i];
        p->index = i;
        p->key = codec_encode(t->schema.key, &p->record.key, p->key_number);
        if (values_too) p->value = codec_encode(t->schema.value, &p->record.value, p->value_number);
        p->partition = hash_to_range(hash_partition(p->key.data, p->key.size), partitions);
    }
    /* Values of fixed size are inside the records, which the sort moves, so compare copies of
     * them. */
    const struct place **order = calloc(t->count + 1, sizeof *order);
    cr_assert_not_null(order);
    for (uint64_t i = 0; i < t->count; i++) order[i] = &places[i];
    for (uint64_t width = 1; width < t->count; width *= 2) {
        const struct place **merged = calloc(t->count, sizeof *merged);
        cr_assert_not_null(merged);
        for (uint64_t at = 0; at < t->count; at += 2 * width) {
            uint64_t a = at, b = at + width < t->count ? at + width : t->count, to = at;
            const uint64_t a_end = b, b_end = b + width < t->count ? b + width : t->count;
            while (a < a_end || b < b_end) {
                const bool first = b == b_end || (a < a_end && by_place(order[a], order[b]) <= 0);
                merged[to++] = first ? order[a++] : order[b++];
            }
        }
        free(order);
        order = merged;
    }
    for (uint64_t i = 0; i < t->count; i++) t->rows[i] = order[i]->record;
    free(order);
    free(places);
}

void table_by_hash(struct table *t, uint32_t partitions)
{
    sort_table(t, partitions, false);
}

void table_by_record(struct table *t)
{
    sort_table(t, 1, true);
}

struct table table_part(const struct table *all, uint64_t first, uint64_t end)
{
    struct table t = {.schema = all->schema};
    for (uint64_t i = first; i < end && i < all->count; i++)
        table_add(&t, all->rows[i].key, all->rows[i].value);
    return t;
}

/* ---- Inputs of tests */

struct glint_rdd *input_rdd(struct glint *g, const struct input *in)
{
    return glint_parallelize(g, in->table->schema, in->table->rows, in->table->count, in->maps);
}

struct table make_pairs(uint64_t count, uint64_t keys, uint64_t seed)
{
    struct table t = {.schema = {GLINT_TEXT, GLINT_I64}};
    char key[32];
    seed = seed * 2 + 1;
    for (uint64_t i = 0; i < count; i++) {
        const int size =
            snprintf(key, sizeof key, "k%llu", (unsigned long long)(test_next(&seed) % keys));
        const int64_t value = (int64_t)(test_next(&seed) % 2001) - 1000;
        table_add(&t, bytes(key, (uint64_t)size), number(value));
    }
    return t;
}

struct table make_numbers(uint64_t count, uint64_t seed)
{
    struct table t = {.schema = {GLINT_NONE, GLINT_I64}};
    seed = seed * 2 + 1;
    for (uint64_t i = 0; i < count; i++)
        table_add(&t, none(), number((int64_t)(test_next(&seed) % 100001) - 50000));
    return t;
}
