/* All strings are in one buffer, which grows by doubling. */
#include "jobs/papers/elements.h"

#include "engine/batch.h"

#include <assert.h>
#include <string.h>

/* ---- elements.take */

static int elements_fields_init(struct glint_task *task, void *state)
{
    return fields_open(task, state, true);
}

static int emit_elements(struct glint_task *task, void *state, const struct glint_batch *in,
                         struct glint_emitter *out)
{
    struct fields *f = state;
    int r = fields_parse(f, task, in);
    if (r != 0) return r;
    const struct glint_batch batch = {.rows = f->rows,
                                      .key = {.type = GLINT_NONE},
                                      .value = {.type = GLINT_TEXT,
                                                .base = f->base,
                                                .start = f->id_start,
                                                .end = f->id_end,
                                                .size = f->size},
                                      .origin = in->origin};
    if (f->rows > 0) glint_emit_batch(out, &batch);
    return 0;
}

const struct glint_function elements_take = {.name = "elements.take",
                                             .kind = GLINT_KIND_FLAT_MAP,
                                             .in = {GLINT_ANY, GLINT_TEXT},
                                             .out = {GLINT_NONE, GLINT_TEXT},
                                             .state_size = sizeof(struct fields),
                                             .open = elements_fields_init,
                                             .batch = emit_elements};

struct glint_rdd *elements_of_lines(struct glint_rdd *lines, const struct fields *fields)
{
    if (lines == NULL) return NULL;
    struct glint_args *args = glint_args(glint_context(lines));
    fields_args(args, fields);
    return glint_flat_map(lines, &elements_take, args);
}

/* ---- Driver */

/* Returns an array of at least `need` items that starts with the `used` ones of `old`. Frees `old`.
 */
static void *grow_elements_array(struct elements *e, void *old, uint64_t used, uint64_t need,
                                 uint64_t *capacity, uint64_t item)
{
    *capacity = 2 * need + 1024;
    void *data = glint_alloc(e->g, *capacity * item);
    if (data != NULL && used > 0) memcpy(data, old, used * item);
    glint_free(old);
    return data;
}

static int reserve_element(struct elements *e, uint64_t size)
{
    const uint64_t need = e->size + size;
    const uint64_t bytes = need + (uint64_t)e->count * 2 * sizeof *e->start;
    if (bytes > e->bytes_max || need > UINT32_MAX || e->count == UINT32_MAX)
        return glint_abort(
            e->g, GLINT_E_MEMORY_LIMIT, "raise --memory, or use a smaller input",
            "the elements take more than %llu bytes, after %u of them",
            (unsigned long long)(e->bytes_max < UINT32_MAX ? e->bytes_max : UINT32_MAX), e->count);
    if (need > e->capacity || e->base == NULL)
        e->base = grow_elements_array(e, e->base, e->size, need, &e->capacity, 1);
    if (e->count == e->count_capacity) {
        const uint64_t count = e->count;
        e->start =
            grow_elements_array(e, e->start, count, count, &e->count_capacity, sizeof *e->start);
        e->end = grow_elements_array(e, e->end, count, count, &e->count_capacity, sizeof *e->end);
    }
    return e->base != NULL && e->start != NULL && e->end != NULL ? 0 : glint_error(e->g)->code;
}

static int add_element(struct elements *e, const uint8_t *data, uint64_t size)
{
    int r = reserve_element(e, size);
    if (r != 0) return r;
    assert(e->size + size <= e->capacity);
    if (size > 0) memcpy(e->base + e->size, data, size);
    e->start[e->count] = (uint32_t)e->size;
    e->size += size;
    e->end[e->count++] = (uint32_t)e->size;
    return 0;
}

static int collect_element(void *arg, const struct glint_record *record)
{
    return add_element(arg, record->value.bytes.data, record->value.bytes.size);
}

int elements_collect(struct glint_rdd *elements, struct elements *out)
{
    *out = (struct elements){.count = 0};
    if (elements == NULL) return GLINT_E_PLAN_FUNCTION;
    out->g = glint_context(elements);
    out->bytes_max =
        glint_slot_memory(out->g) / 2; /* twice, because they are copied when the buffers grow */
    return elements_collect_more(elements, out);
}

int elements_collect_more(struct glint_rdd *elements, struct elements *out)
{
    if (elements == NULL) return GLINT_E_PLAN_FUNCTION;
    int r = glint_collect_each(elements, collect_element, out);
    return r != 0 ? r : glint_error(out->g)->code;
}

int elements_copy_selected(const struct elements *from, const uint32_t *which, uint32_t count,
                           struct elements *out)
{
    int r = 0;
    out->g = from->g;
    out->bytes_max = from->bytes_max;
    out->size = out->count = 0;
    for (uint32_t i = 0; r == 0 && i < count; i++) {
        assert(which[i] < from->count);
        const uint32_t start = from->start[which[i]];
        r = add_element(out, from->base + start, from->end[which[i]] - start);
    }
    return r;
}

void elements_fini(struct elements *e)
{
    glint_free(e->base);
    glint_free(e->start);
    glint_free(e->end);
    *e = (struct elements){.count = 0};
}
