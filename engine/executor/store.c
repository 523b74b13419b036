/* Lists and one table of buckets behind a lock: looked into once per task, not per record. */
#include "engine/executor/store.h"

#include <assert.h>
#include <pthread.h>
#include <string.h>

struct kept_stage {
    struct kept_stage *next;
    uint32_t id;
    struct message *message; /* the plan borrows from its body */
    struct stage_plan plan;
};

struct kept_value {
    struct kept_value *next;
    struct message *message;
};

struct kept_output {
    struct kept_output *next; /* in its bucket */
    uint64_t shuffle;
    uint32_t map, attempt;
    struct run run;
};

/* Which attempts count, per shuffle. */
struct kept_shuffle {
    struct kept_shuffle *next;
    uint64_t id;
    struct output_place *places;
    uint32_t maps;
};

#define OUTPUT_BUCKETS 4096u

struct store {
    pthread_mutex_t lock;
    struct kept_stage *stages;
    struct kept_value *values;
    struct kept_shuffle *shuffles;
    struct kept_output *outputs[OUTPUT_BUCKETS];
};

struct store *store_create(void)
{
    struct store *s = mem_zalloc(sizeof *s);
    if (s != NULL) pthread_mutex_init(&s->lock, NULL);
    return s;
}

static void stage_free(struct kept_stage *k)
{
    stage_fini(&k->plan);
    message_destroy(k->message);
    mem_free(k);
}

void store_destroy(struct store *s)
{
    if (s == NULL) return;
    while (s->stages != NULL) {
        struct kept_stage *k = s->stages;
        s->stages = k->next;
        stage_free(k);
    }
    while (s->values != NULL) {
        struct kept_value *v = s->values;
        s->values = v->next;
        message_destroy(v->message);
        mem_free(v);
    }
    while (s->shuffles != NULL) {
        struct kept_shuffle *k = s->shuffles;
        s->shuffles = k->next;
        mem_free(k->places);
        mem_free(k);
    }
    for (uint32_t b = 0; b < OUTPUT_BUCKETS; b++) {
        while (s->outputs[b] != NULL) {
            struct kept_output *o = s->outputs[b];
            s->outputs[b] = o->next;
            run_destroy(&o->run);
            mem_free(o);
        }
    }
    pthread_mutex_destroy(&s->lock);
    mem_free(s);
}

static int keep_stage(struct store *s, struct message *m, const struct glint_config *registry,
                      struct glint_error *error)
{
    struct kept_stage *k = mem_zalloc(sizeof *k);
    if (k == NULL) return error_no_memory(error);
    int r =
        stage_decode(&k->plan, (struct glint_slice){m->body.data, m->body.size}, registry, error);
    if (r != 0) {
        mem_free(k);
        return r;
    }
    assert(m->type == MSG_STAGE && k->plan.node_count > 0);
    k->id = m->stage;
    k->message = m;
    pthread_mutex_lock(&s->lock);
    k->next = s->stages;
    s->stages = k;
    pthread_mutex_unlock(&s->lock);
    return 0;
}

static int keep_outputs(struct store *s, struct message *m, struct glint_error *error)
{
    struct kept_shuffle *k = mem_zalloc(sizeof *k);
    if (k == NULL) return error_no_memory(error);
    k->id = m->id;
    int r = outputs_decode((struct glint_slice){m->body.data, m->body.size}, &k->places, &k->maps,
                           error);
    if (r != 0) {
        mem_free(k);
        return r;
    }
    pthread_mutex_lock(&s->lock);
    k->next = s->shuffles;
    s->shuffles = k;
    pthread_mutex_unlock(&s->lock);
    message_destroy(m);
    return 0;
}

static int keep_value(struct store *s, struct message *m, struct glint_error *error)
{
    struct kept_value *v = mem_zalloc(sizeof *v);
    if (v == NULL) return error_no_memory(error);
    assert(m->type == MSG_BROADCAST);
    v->message = m;
    pthread_mutex_lock(&s->lock);
    v->next = s->values;
    s->values = v;
    pthread_mutex_unlock(&s->lock);
    return 0;
}

int store_keep(struct store *s, struct message *m, const struct glint_config *registry,
               struct glint_error *error)
{
    int r;
    assert(m->next == NULL && m->outcome == NULL);
    switch (m->type) {
    case MSG_STAGE: r = keep_stage(s, m, registry, error); break;
    case MSG_OUTPUTS: r = keep_outputs(s, m, error); break;
    default: r = keep_value(s, m, error);
    }
    if (r != 0) message_destroy(m);
    return r;
}

void store_forget_stage(struct store *s, uint32_t stage)
{
    pthread_mutex_lock(&s->lock);
    struct kept_stage **link = &s->stages;
    while (*link != NULL && (*link)->id != stage) link = &(*link)->next;
    struct kept_stage *k = *link;
    if (k != NULL) *link = k->next;
    pthread_mutex_unlock(&s->lock);
    if (k != NULL) stage_free(k);
}

const struct stage_plan *store_stage(struct store *s, uint32_t stage)
{
    pthread_mutex_lock(&s->lock);
    struct kept_stage *k = s->stages;
    while (k != NULL && k->id != stage) k = k->next;
    pthread_mutex_unlock(&s->lock);
    return k != NULL ? &k->plan : NULL;
}

int store_broadcast(void *store, uint64_t id, struct glint_slice *out)
{
    struct store *s = store;
    pthread_mutex_lock(&s->lock);
    struct kept_value *v = s->values;
    while (v != NULL && v->message->id != id) v = v->next;
    pthread_mutex_unlock(&s->lock);
    if (v == NULL) return -1;
    *out = (struct glint_slice){v->message->body.data, v->message->body.size};
    return 0;
}

static uint32_t output_bucket(uint64_t shuffle, uint32_t map)
{
    return (uint32_t)(shuffle * 31 + map) % OUTPUT_BUCKETS;
}

int store_add_output(struct store *s, uint64_t shuffle, uint32_t map, uint32_t attempt,
                     struct run *run)
{
    struct kept_output *o = mem_zalloc(sizeof *o);
    if (o == NULL) return GLINT_E_NO_MEMORY;
    assert(run->partitions > 0);
    o->shuffle = shuffle;
    o->map = map;
    o->attempt = attempt;
    assert(run->partitions > 0);
    o->run = *run;
    memset(run, 0, sizeof *run);
    uint32_t b = output_bucket(shuffle, map);
    pthread_mutex_lock(&s->lock);
    o->next = s->outputs[b];
    s->outputs[b] = o;
    pthread_mutex_unlock(&s->lock);
    return 0;
}

static const struct run *find_output(struct store *s, uint64_t shuffle, uint32_t map,
                                     uint32_t attempt)
{
    struct kept_output *o = s->outputs[output_bucket(shuffle, map)];
    while (o != NULL && (o->shuffle != shuffle || o->map != map || o->attempt != attempt))
        o = o->next;
    return o != NULL ? &o->run : NULL;
}

int store_inputs(struct store *s, uint64_t shuffle, uint32_t partition, struct arena *arena,
                 struct run_slice **out, uint32_t *out_count, struct glint_error *error)
{
    int r = 0;
    *out_count = 0;
    pthread_mutex_lock(&s->lock);
    const struct kept_shuffle *k = s->shuffles;
    while (k != NULL && k->id != shuffle) k = k->next;
    struct run_slice *inputs = k ? arena_alloc(arena, sizeof *inputs * (k->maps + 1)) : NULL;
    if (k == NULL)
        r = error_set(error, GLINT_E_PROTOCOL, NULL, "shuffle %llu has no map outputs here",
                      (unsigned long long)shuffle);
    else if (inputs == NULL)
        r = error_no_memory(error);
    for (uint32_t map = 0; r == 0 && map < k->maps; map++) {
        const struct run *run = find_output(s, shuffle, map, k->places[map].attempt);
        if (run == NULL || partition >= run->partitions) {
            r = error_set(error, GLINT_E_RUN_CORRUPT, NULL,
                          "map output %u of shuffle %llu is not here", map,
                          (unsigned long long)shuffle);
            break;
        }
        if (run->parts[partition].records > 0) inputs[(*out_count)++] = run_slice(run, partition);
    }
    pthread_mutex_unlock(&s->lock);
    *out = inputs;
    return r;
}
