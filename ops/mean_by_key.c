/* meanByKey: the mean of the values of each key, as combineByKey and mapValues. */
#include "ops/ops.h"

struct mean {
    double sum;
    int64_t count;
};

static int mean_add(struct glint_acc *acc, double value, int64_t count)
{
    struct mean *m = (struct mean *)(void *)glint_acc_bytes(acc);
    m->sum += value;
    m->count += count;
    return 0;
}

static int mean_create_i64(struct glint_task *task, void *state, struct glint_acc *acc,
                           const union glint_value *value)
{
    (void)state;
    if (glint_acc_zero(task, acc, sizeof(struct mean)) == NULL) return task->error.code;
    return mean_add(acc, (double)value->i64, 1);
}

static int mean_merge_i64(struct glint_task *task, void *state, struct glint_acc *acc,
                          const union glint_value *value)
{
    (void)task, (void)state;
    return mean_add(acc, (double)value->i64, 1);
}

static int mean_create_f64(struct glint_task *task, void *state, struct glint_acc *acc,
                           const union glint_value *value)
{
    (void)state;
    if (glint_acc_zero(task, acc, sizeof(struct mean)) == NULL) return task->error.code;
    return mean_add(acc, value->f64, 1);
}

static int mean_merge_f64(struct glint_task *task, void *state, struct glint_acc *acc,
                          const union glint_value *value)
{
    (void)task, (void)state;
    return mean_add(acc, value->f64, 1);
}

static int mean_combine(struct glint_task *task, void *state, struct glint_acc *acc,
                        const union glint_value *other)
{
    const struct mean *m = (const void *)other->bytes.data;
    (void)task, (void)state;
    return mean_add(acc, m->sum, m->count);
}

static int emit_mean(struct glint_task *task, void *state, const struct glint_record *in,
                     struct glint_emitter *out)
{
    const struct mean *m = (const void *)in->value.bytes.data;
    (void)task, (void)state;
    glint_emit_f64(out, in->key.bytes, m->sum / (double)m->count);
    return 0;
}

const struct glint_function mean_i64 =
    GLINT_AGGREGATE("glint.mean_i64", GLINT_I64, GLINT_STRUCT(struct mean), mean_create_i64,
                    mean_merge_i64, mean_combine, .sequential = true);
const struct glint_function mean_f64 =
    GLINT_AGGREGATE("glint.mean_f64", GLINT_F64, GLINT_STRUCT(struct mean), mean_create_f64,
                    mean_merge_f64, mean_combine, .sequential = true);
const struct glint_function mean_divide =
    GLINT_MAP("glint.mean", GLINT_PAIRS(GLINT_ANY, GLINT_STRUCT(struct mean)),
              GLINT_PAIRS(GLINT_SAME, GLINT_F64), emit_mean);

struct glint_rdd *glint_mean_by_key(struct glint_rdd *rdd)
{
    if (rdd == NULL) return rdd_fail_null("meanByKey");
    const bool floats = rdd->schema.value == GLINT_F64;
    struct glint_rdd *sums = glint_combine_by_key(rdd, floats ? &mean_f64 : &mean_i64, NULL);
    struct glint_rdd *means = sums != NULL ? glint_map_values(sums, &mean_divide, NULL) : NULL;
    if (means != NULL) means->shuffle = sums;
    return means;
}
