/* The four ways to combine, told apart here and nowhere else. */
#include "engine/shuffle/fold.h"

#include "engine/data/codec.h"
#include "engine/plan/op.h"

#include <assert.h>

static bool is_number(enum glint_type type)
{
    return type == GLINT_I64 || type == GLINT_F64;
}

static int corrupt_value(const struct fold *f)
{
    return error_set(&f->task->error, GLINT_E_RUN_CORRUPT, NULL,
                     "a value in a shuffle does not fit its type, %s",
                     codec_type_name(f->spec->acc));
}

int fold_init(struct fold *f, struct glint_task *task, const struct shuffle_spec *spec, void *state)
{
    *f = (struct fold){.task = task, .spec = spec, .state = state};
    bool has_zero = spec->wide.combine == COMBINE_FOLD || spec->wide.combine == COMBINE_AGGREGATE;
    assert(spec->wide.combine <= COMBINE_FIRST || spec->fn != NULL);
    assert(spec->wide.combine > COMBINE_FOLD || spec->acc == spec->value);
    if (spec->wide.combine == COMBINE_REDUCE) f->piece_bytes = spec->fn->piece_bytes;
    assert(f->piece_bytes == 0 || !is_number(spec->acc));
    if (has_zero && !codec_decode(spec->acc, spec->wide.zero, &f->zero)) return corrupt_value(f);
    return 0;
}

bool fold_has_columns(const struct shuffle_spec *spec)
{
    bool number = spec->value == GLINT_I64 && spec->acc == GLINT_I64;
    bool reduce = spec->wide.combine == COMBINE_REDUCE || spec->wide.combine == COMBINE_FOLD;
    return number && reduce && spec->fn->merge_i64 != NULL;
}

static int set(const struct fold *f, struct glint_acc *acc, const union glint_value *value)
{
    if (f->spec->acc == GLINT_NONE) return 0;
    if (!is_number(f->spec->acc))
        return glint_acc_set(f->task, acc, value->bytes.data, value->bytes.size);
    acc->value = *value;
    return 0;
}

/* The task's code, if the function returned something else than 0. */
static int checked(const struct fold *f, int returned)
{
    return returned == 0 ? 0 : function_failed(f->task, f->spec->fn, returned);
}

/* fn->merge, or its column form on one row. */
static int merge_raw(const struct fold *f, struct glint_acc *acc, const union glint_value *value)
{
    const struct glint_function *fn = f->spec->fn;
    if (fn->merge != NULL) return checked(f, fn->merge(f->task, f->state, acc, value));
    assert(fn->merge_i64 != NULL && f->spec->acc == GLINT_I64);
    uint32_t slot = 0;
    fn->merge_i64(&acc->value.i64, &slot, &value->i64, 1);
    return 0;
}

int fold_start(const struct fold *f, struct glint_acc *acc, const union glint_value *value,
               bool raw)
{
    const struct shuffle_spec *spec = f->spec;
    if (!raw || fold_one_form(spec)) return set(f, acc, value);
    if (spec->wide.combine == COMBINE_AGGREGATE) {
        int r = set(f, acc, &f->zero);
        return r < 0 ? r : checked(f, spec->fn->merge(f->task, f->state, acc, value));
    }
    assert(spec->wide.combine == COMBINE_CREATE);
    if (is_number(spec->acc))
        acc->value.i64 = 0;
    else
        acc->value.bytes.size = 0;
    return checked(f, spec->fn->create(f->task, f->state, acc, value));
}

int fold_merge(const struct fold *f, struct glint_acc *acc, const union glint_value *value,
               bool raw)
{
    if (f->spec->wide.combine == COMBINE_FIRST) return 0;
    assert(f->spec->wide.combine != COMBINE_NONE);
    if (raw || fold_one_form(f->spec)) return merge_raw(f, acc, value);
    return checked(f, f->spec->fn->combine(f->task, f->state, acc, value));
}

int fold_zero(const struct fold *f, const struct glint_acc *acc, struct glint_acc *out)
{
    assert(f->spec->wide.combine == COMBINE_FOLD && acc != out);
    int r = set(f, out, &f->zero);
    return r < 0 ? r : merge_raw(f, out, &acc->value);
}

int combiner_init(struct combiner *c, struct glint_task *task, const struct shuffle_spec *spec,
                  void *state)
{
    *c = (struct combiner){.begun = false};
    c->acc = acc_make(&c->pool);
    c->folded = acc_make(&c->pool);
    return fold_init(&c->fold, task, spec, state);
}

int combiner_add(struct combiner *c, struct glint_slice value, bool raw)
{
    const struct shuffle_spec *spec = c->fold.spec;
    union glint_value v = {.bytes = {NULL, 0}};
    if (!codec_decode(raw ? spec->value : spec->acc, value, &v)) return corrupt_value(&c->fold);
    if (c->begun) return fold_merge(&c->fold, &c->acc, &v, raw);
    c->begun = true;
    return fold_start(&c->fold, &c->acc, &v, raw);
}

int combiner_add_next(struct combiner *c, struct merge *m, bool raw)
{
    const struct shuffle_spec *spec = c->fold.spec;
    struct glint_slice value;
    int r = merge_value(m, &value);
    if (r < 0) return r;
    const bool as_it_is = !c->begun && (!raw || fold_one_form(spec)) && !is_number(spec->acc);
    if (!as_it_is || value.size <= ACC_LARGE_BYTES || value.data != m->scratch.data)
        return combiner_add(c, value, raw);
    c->begun = true;
    acc_exchange(&c->acc, &m->scratch);
    return 0;
}

bool combiner_is_piece(const struct combiner *c)
{
    uint64_t piece = c->fold.piece_bytes;
    return piece > 0 && c->begun && c->acc.value.bytes.size >= piece;
}

int combiner_take(struct combiner *c, bool with_zero, struct glint_slice *out)
{
    assert(c->begun);
    c->begun = false;
    const struct glint_acc *acc = &c->acc;
    if (with_zero && c->fold.spec->wide.combine == COMBINE_FOLD) {
        int r = fold_zero(&c->fold, &c->acc, &c->folded);
        if (r < 0) return r;
        acc = &c->folded;
    }
    *out = codec_encode(c->fold.spec->acc, &acc->value, c->number);
    return 0;
}

void combiner_fini(struct combiner *c)
{
    if (c->acc.memory == NULL) return;
    acc_drop(&c->acc);
    acc_drop(&c->folded);
    pool_fini(&c->pool);
}
