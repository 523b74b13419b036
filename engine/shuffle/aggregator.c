/* Which of the function's calls each combine mode makes, with which arguments; see aggregator.h and
 * plan/op.h. */
#include "engine/shuffle/aggregator.h"

#include "engine/plan/op.h"
#include "engine/records/codec.h"

#include <assert.h>
#include <string.h>

static bool is_i64_or_f64(enum glint_type type)
{
    return type == GLINT_I64 || type == GLINT_F64;
}

static int set_corrupt_value_error(const struct aggregator *f)
{
    return error_set(&f->task->error, GLINT_E_SHUFFLE_CORRUPT, NULL,
                     "a value in a shuffle does not match its type %s",
                     codec_type_name(f->spec->acc));
}

static int init_struct_types(struct aggregator *f, bool has_zero)
{
    const struct glint_function *fn = f->spec->fn;
    if (fn == NULL) return 0;
    f->value_struct = codec_struct_size(fn->in.value);
    f->acc_struct = aggregator_values_are_accumulators(f->spec) ? f->value_struct
                                                                : codec_struct_size(fn->out.value);
    if (f->value_struct == 0 && f->acc_struct == 0) return 0;
    if (has_zero && f->acc_struct != 0 && f->zero.bytes.size != f->acc_struct)
        return function_set_size_error(f->task, fn, f->acc_struct, f->zero.bytes.size);
    f->copy =
        task_alloc(f->task, f->value_struct > f->acc_struct ? f->value_struct : f->acc_struct);
    return f->copy != NULL ? 0 : f->task->error.code;
}

/* Checks the size of a value of a GLINT_STRUCT type, and aligns its bytes. Returns the value, or
 * NULL with the task's error set. */
static const union glint_value *align_struct_value(const struct aggregator *f,
                                                   const union glint_value *value, bool raw,
                                                   union glint_value *copy)
{
    const uint32_t size = raw ? f->value_struct : f->acc_struct;
    if (size == 0) return value;
    if (value->bytes.size != size) {
        function_set_size_error(f->task, f->spec->fn, size, value->bytes.size);
        return NULL;
    }
    if (((uintptr_t)value->bytes.data & 7) == 0) return value;
    memcpy(f->copy, value->bytes.data, size);
    copy->bytes = (struct glint_slice){f->copy, size};
    return copy;
}

int aggregator_init(struct aggregator *f, struct glint_task *task, const struct shuffle_spec *spec,
                    void *state)
{
    *f = (struct aggregator){.task = task, .spec = spec, .state = state};
    bool has_zero =
        spec->dependency.combine == COMBINE_FOLD || spec->dependency.combine == COMBINE_AGGREGATE;
    assert(spec->dependency.combine <= COMBINE_FIRST || spec->fn != NULL);
    assert(spec->dependency.combine > COMBINE_FOLD || spec->acc == spec->value);
    /* Only REDUCE may cut values: its chunks are values of the same form, without a zero. */
    if (spec->dependency.combine == COMBINE_REDUCE) f->chunk_bytes_max = spec->fn->chunk_bytes_max;
    assert(f->chunk_bytes_max == 0 || !is_i64_or_f64(spec->acc));
    if (has_zero && !codec_decode(spec->acc, spec->dependency.zero, &f->zero))
        return set_corrupt_value_error(f);
    return init_struct_types(f, has_zero);
}

bool aggregator_merges_columns(const struct shuffle_spec *spec)
{
    /* FOLD too: during merging it is a REDUCE, the zero is merged at the end. */
    bool reduce =
        spec->dependency.combine == COMBINE_REDUCE || spec->dependency.combine == COMBINE_FOLD;
    if (!reduce || spec->value != spec->acc) return false;
    return spec->acc == GLINT_I64   ? spec->fn->merge_i64 != NULL
           : spec->acc == GLINT_F64 ? spec->fn->merge_f64 != NULL
                                    : false;
}

/* Overwrites `acc`: bytes are copied into its pool. */
static int overwrite_accumulator(const struct aggregator *f, struct glint_acc *acc,
                                 const union glint_value *value)
{
    if (f->spec->acc == GLINT_NONE) return 0;
    if (!is_i64_or_f64(f->spec->acc))
        return glint_acc_set(f->task, acc, value->bytes.data, value->bytes.size);
    acc->value = *value;
    return 0;
}

/* Returns 0 if the function did, else the task's error code. */
static int check_function_returned(const struct aggregator *f, int returned)
{
    return returned == 0 ? 0 : function_set_return_error(f->task, f->spec->fn, returned);
}

int aggregator_merge_columns(const struct aggregator *f, int64_t *acc, const uint32_t *slot,
                             const int64_t *value, uint32_t rows)
{
    const struct glint_function *fn = f->spec->fn;
    return check_function_returned(
        f, f->spec->acc == GLINT_I64
               ? fn->merge_i64(f->task, acc, slot, value, rows)
               : fn->merge_f64(f->task, (double *)acc, slot, (const double *)value, rows));
}

int aggregator_merge_repeated(const struct aggregator *f, int64_t *acc, int64_t value,
                              uint64_t times)
{
    return check_function_returned(f, f->spec->fn->repeat_i64(f->task, acc, value, times));
}

/* Calls fn->merge, or, for functions that have only the column form, fn->merge_i64 with one row. */
static int call_merge_function(const struct aggregator *f, struct glint_acc *acc,
                               const union glint_value *value)
{
    const struct glint_function *fn = f->spec->fn;
    if (fn->merge != NULL)
        return check_function_returned(f, fn->merge(f->task, f->state, acc, value));
    assert(fn->merge_i64 != NULL && f->spec->acc == GLINT_I64);
    const uint32_t slot = 0;
    return aggregator_merge_columns(f, &acc->value.i64, &slot, &value->i64, 1);
}

int aggregator_init_value(const struct aggregator *f, struct glint_acc *acc,
                          const union glint_value *value, bool raw)
{
    const struct shuffle_spec *spec = f->spec;
    union glint_value copy;
    if (f->copy != NULL && (value = align_struct_value(f, value, raw, &copy)) == NULL)
        return f->task->error.code;
    if (!raw || aggregator_values_are_accumulators(spec))
        return overwrite_accumulator(f, acc, value);
    if (spec->dependency.combine == COMBINE_AGGREGATE) {
        int r = overwrite_accumulator(f, acc, &f->zero);
        return r < 0 ? r
                     : check_function_returned(f, spec->fn->merge(f->task, f->state, acc, value));
    }
    assert(spec->dependency.combine == COMBINE_CREATE);
    /* create gets an empty accumulator: `acc` may have been used for another key. */
    if (is_i64_or_f64(spec->acc))
        acc->value.i64 = 0;
    else
        acc->value.bytes.size = 0;
    return check_function_returned(f, spec->fn->create(f->task, f->state, acc, value));
}

int aggregator_merge_value(const struct aggregator *f, struct glint_acc *acc,
                           const union glint_value *value, bool raw)
{
    if (f->spec->dependency.combine == COMBINE_FIRST) return 0;
    assert(f->spec->dependency.combine != COMBINE_NONE);
    union glint_value copy;
    if (f->copy != NULL && (value = align_struct_value(f, value, raw, &copy)) == NULL)
        return f->task->error.code;
    if (raw || aggregator_values_are_accumulators(f->spec))
        return call_merge_function(f, acc, value);
    return check_function_returned(f, f->spec->fn->combine(f->task, f->state, acc, value));
}

/* COMBINE_FOLD only: sets `out` to the zero merged with acc's value; `acc` is unchanged. Returns 0
 * or the function's error. */
static int aggregator_copy_with_zero(const struct aggregator *f, const struct glint_acc *acc,
                                     struct glint_acc *out)
{
    assert(f->spec->dependency.combine == COMBINE_FOLD && acc != out);
    int r = overwrite_accumulator(f, out, &f->zero);
    return r < 0 ? r : call_merge_function(f, out, &acc->value);
}

int combiner_init(struct combiner *c, struct glint_task *task, const struct shuffle_spec *spec,
                  void *state)
{
    *c = (struct combiner){.started = false};
    c->acc = acc_init(&c->pool);
    c->with_zero_acc = acc_init(&c->pool);
    int r = aggregator_init(&c->aggregator, task, spec, state);
    c->pool.aligned = c->aggregator.acc_struct != 0;
    c->pool.numbers = !codec_type_is_bytes(c->aggregator.spec->acc);
    return r;
}

int combiner_add_value(struct combiner *c, struct glint_slice value, bool raw)
{
    const struct shuffle_spec *spec = c->aggregator.spec;
    union glint_value v = {.bytes = {NULL, 0}};
    if (!codec_decode(raw ? spec->value : spec->acc, value, &v))
        return set_corrupt_value_error(&c->aggregator);
    if (c->started) return aggregator_merge_value(&c->aggregator, &c->acc, &v, raw);
    c->started = true;
    return aggregator_init_value(&c->aggregator, &c->acc, &v, raw);
}

int combiner_add_from_merge(struct combiner *c, struct merge *m, bool raw)
{
    const struct shuffle_spec *spec = c->aggregator.spec;
    struct glint_slice value;
    int r = merge_value(m, &value);
    if (r < 0) return r;
    /* Only a value that needs no call of the function and that merge_value assembled in the merge's
     * scratch buffer (it spans blocks) can be taken over; others point into a reader's block. */
    const bool as_it_is = !c->started && (!raw || aggregator_values_are_accumulators(spec)) &&
                          !is_i64_or_f64(spec->acc);
    if (!as_it_is || value.size <= ACC_LARGE_BYTES || value.data != m->scratch.data)
        return combiner_add_value(c, value, raw);
    c->started = true;
    acc_swap_buffer(&c->acc, &m->scratch);
    return 0;
}

bool combiner_chunk_is_full(const struct combiner *c)
{
    uint64_t chunk = c->aggregator.chunk_bytes_max;
    return chunk > 0 && c->started && c->acc.value.bytes.size >= chunk;
}

int combiner_finish_value(struct combiner *c, bool with_zero, struct glint_slice *out)
{
    assert(c->started);
    c->started = false;
    const struct glint_acc *acc = &c->acc;
    if (with_zero && c->aggregator.spec->dependency.combine == COMBINE_FOLD) {
        int r = aggregator_copy_with_zero(&c->aggregator, &c->acc, &c->with_zero_acc);
        if (r < 0) return r;
        acc = &c->with_zero_acc;
    }
    *out = codec_encode(c->aggregator.spec->acc, &acc->value, c->number);
    return 0;
}

void combiner_fini(struct combiner *c)
{
    if (c->acc.memory == NULL) return; /* combiner_init was never called */
    acc_free_large(&c->acc);
    acc_free_large(&c->with_zero_acc);
    acc_pool_fini(&c->pool);
}
