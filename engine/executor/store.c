/* Lists and one table of buckets behind a lock: looked into once per task, not per record. */
#include "engine/executor/store.h"

#include <assert.h>
#include <pthread.h>
#include <string.h>

struct kept_stage {
    struct stage_plan plan; /* first: holders know it by its plan */
    struct kept_stage *next;
    uint32_t id;
    struct message *message; /* the plan borrows from its body */
    uint32_t holders;
    bool forgotten; /* in no list any more: the last holder frees it */
};

struct kept_value {
    struct kept_value *next;
    struct message *message;
};

struct kept_output {
    struct run run;           /* first: holders know it by its run */
    struct kept_output *next; /* in its bucket */
    uint64_t shuffle;
    uint32_t map, attempt;
    uint32_t holders;
    bool forgotten; /* in no bucket any more: the last holder frees it */
};

struct kept_result {
    struct kept_result *next;
    uint64_t id;
    struct buffer bytes;
    uint32_t holders;
    bool forgotten;
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
    struct kept_result *results;
    uint64_t last_result;
};

struct store *store_create(void)
{
    struct store *s = mem_zalloc(sizeof *s);
    if (s != NULL) pthread_mutex_init(&s->lock, NULL);
    return s;
}

static void stage_free(struct kept_stage *k)
{
    assert(k->holders == 0);
    stage_fini(&k->plan);
    message_destroy(k->message);
    mem_free(k);
}

static void output_free(struct kept_output *o)
{
    static_assert(offsetof(struct kept_output, run) == 0, "an output is found through its run");
    assert(o->holders == 0);
    run_destroy(&o->run);
    mem_free(o);
}

static void result_free(struct kept_result *k)
{
    assert(k->holders == 0);
    buffer_fini(&k->bytes);
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
            output_free(o);
        }
    }
    while (s->results != NULL) {
        struct kept_result *k = s->results;
        s->results = k->next;
        result_free(k);
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

static uint32_t output_bucket(uint64_t shuffle, uint32_t map)
{
    return (uint32_t)(shuffle * 31 + map) % OUTPUT_BUCKETS;
}

/* Takes what is forgotten out of its bucket: where nobody holds it, onto *out_free, to be freed
 * without the lock. */
static void output_forget(struct kept_output **link, struct kept_output **out_free)
{
    struct kept_output *o = *link;
    assert(!o->forgotten);
    *link = o->next;
    o->forgotten = true;
    o->next = NULL;
    if (o->holders > 0) return;
    o->next = *out_free;
    *out_free = o;
}

static void outputs_free(struct kept_output *first)
{
    for (struct kept_output *o = first, *next; o != NULL; o = next) {
        next = o->next;
        output_free(o);
    }
}

/* What attempts before the named ones have made: the driver wants it no more. */
static struct kept_output *forget_older(struct store *s, const struct kept_shuffle *k)
{
    struct kept_output *freed = NULL;
    for (uint32_t map = 0; map < k->maps; map++) {
        struct kept_output **link = &s->outputs[output_bucket(k->id, map)];
        while (*link != NULL) {
            const struct kept_output *o = *link;
            if (o->shuffle == k->id && o->map == map && o->attempt < k->places[map].attempt)
                output_forget(link, &freed);
            else
                link = &(*link)->next;
        }
    }
    return freed;
}

static struct kept_shuffle *find_shuffle(struct store *s, uint64_t id)
{
    struct kept_shuffle *k = s->shuffles;
    while (k != NULL && k->id != id) k = k->next;
    return k;
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
    struct kept_shuffle *old = find_shuffle(s, k->id);
    if (old == NULL) {
        k->next = s->shuffles;
        s->shuffles = k;
    } else {
        struct kept_shuffle other = *old;
        old->places = k->places;
        old->maps = k->maps;
        k->places = other.places;
    }
    struct kept_output *freed = forget_older(s, old != NULL ? old : k);
    pthread_mutex_unlock(&s->lock);
    outputs_free(freed);
    if (old != NULL) {
        mem_free(k->places);
        mem_free(k);
    }
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
    if (k != NULL) {
        *link = k->next;
        k->forgotten = true;
        if (k->holders > 0) k = NULL; /* the last one frees it */
    }
    pthread_mutex_unlock(&s->lock);
    if (k != NULL) stage_free(k);
}

static struct kept_stage *find_stage(const struct store *s, uint32_t stage)
{
    struct kept_stage *k = s->stages;
    while (k != NULL && k->id != stage) k = k->next;
    return k;
}

const struct stage_plan *store_stage(struct store *s, uint32_t stage)
{
    pthread_mutex_lock(&s->lock);
    const struct kept_stage *k = find_stage(s, stage);
    pthread_mutex_unlock(&s->lock);
    return k != NULL ? &k->plan : NULL;
}

const struct stage_plan *store_hold_stage(struct store *s, uint32_t stage)
{
    pthread_mutex_lock(&s->lock);
    struct kept_stage *k = find_stage(s, stage);
    if (k != NULL) k->holders++;
    pthread_mutex_unlock(&s->lock);
    return k != NULL ? &k->plan : NULL;
}

void store_release_stage(struct store *s, const struct stage_plan *plan)
{
    static_assert(offsetof(struct kept_stage, plan) == 0, "a stage is found through its plan");
    struct kept_stage *k = (struct kept_stage *)(uintptr_t)plan;
    pthread_mutex_lock(&s->lock);
    assert(k->holders > 0);
    k->holders--;
    bool last = k->forgotten && k->holders == 0;
    pthread_mutex_unlock(&s->lock);
    if (last) stage_free(k);
}

int store_broadcast(struct store *s, uint64_t id, struct glint_slice *out)
{
    pthread_mutex_lock(&s->lock);
    struct kept_value *v = s->values;
    while (v != NULL && v->message->id != id) v = v->next;
    pthread_mutex_unlock(&s->lock);
    if (v == NULL) return -1;
    *out = (struct glint_slice){v->message->body.data, v->message->body.size};
    return 0;
}

/* ---- Map outputs */

int store_add_output(struct store *s, uint64_t shuffle, uint32_t map, uint32_t attempt,
                     struct run *run)
{
    struct kept_output *o = mem_zalloc(sizeof *o);
    if (o == NULL) return GLINT_E_NO_MEMORY;
    assert(run->partitions > 0);
    o->shuffle = shuffle;
    o->map = map;
    o->attempt = attempt;
    o->run = *run;
    memset(run, 0, sizeof *run);
    uint32_t b = output_bucket(shuffle, map);
    pthread_mutex_lock(&s->lock);
    o->next = s->outputs[b];
    s->outputs[b] = o;
    pthread_mutex_unlock(&s->lock);
    return 0;
}

/* The place in its bucket; *answer is NULL: not here. */
static struct kept_output **find_output(struct store *s, uint64_t shuffle, uint32_t map,
                                        uint32_t attempt)
{
    struct kept_output **link = &s->outputs[output_bucket(shuffle, map)];
    while (*link != NULL &&
           ((*link)->shuffle != shuffle || (*link)->map != map || (*link)->attempt != attempt))
        link = &(*link)->next;
    return link;
}

static const struct run *hold_output(struct store *s, uint64_t shuffle, uint32_t map,
                                     uint32_t attempt)
{
    struct kept_output *o = *find_output(s, shuffle, map, attempt);
    if (o == NULL) return NULL;
    o->holders++;
    return &o->run;
}

const struct run *store_output(struct store *s, uint64_t shuffle, uint32_t map, uint32_t attempt)
{
    pthread_mutex_lock(&s->lock);
    const struct run *run = hold_output(s, shuffle, map, attempt);
    pthread_mutex_unlock(&s->lock);
    return run;
}

/* Answers the output if it is to be freed. */
static struct kept_output *let_go(const struct run *run)
{
    struct kept_output *o = (struct kept_output *)(uintptr_t)run;
    assert(o->holders > 0);
    return --o->holders == 0 && o->forgotten ? o : NULL;
}

void store_release(struct store *s, const struct run *run)
{
    pthread_mutex_lock(&s->lock);
    struct kept_output *o = let_go(run);
    pthread_mutex_unlock(&s->lock);
    outputs_free(o);
}

void store_forget_attempt(struct store *s, uint32_t stage, uint32_t task, uint32_t attempt)
{
    struct kept_output *freed = NULL;
    const struct stage_plan *plan = store_stage(s, stage);
    if (plan == NULL) return;
    const struct stage_node *root = &plan->nodes[plan->node_count - 1];
    if (root->op->kind != OP_WIDE) return;
    pthread_mutex_lock(&s->lock);
    struct kept_output **link = find_output(s, root->rdd, task, attempt);
    if (*link != NULL) output_forget(link, &freed);
    pthread_mutex_unlock(&s->lock);
    outputs_free(freed);
}

int store_inputs(struct store *s, uint64_t shuffle, uint32_t self, struct arena *arena,
                 struct fetch_input **out, uint32_t *out_count, struct glint_error *error)
{
    int r = 0;
    *out_count = 0;
    pthread_mutex_lock(&s->lock);
    const struct kept_shuffle *k = find_shuffle(s, shuffle);
    struct fetch_input *inputs = k ? arena_alloc(arena, sizeof *inputs * (k->maps + 1)) : NULL;
    if (k == NULL)
        r = error_set(error, GLINT_E_PROTOCOL, NULL, "shuffle %llu has no map outputs here",
                      (unsigned long long)shuffle);
    else if (inputs == NULL)
        r = error_no_memory(error);
    for (uint32_t map = 0; r == 0 && map < k->maps; map++) {
        struct output_place place = k->places[map];
        struct fetch_input *input = &inputs[(*out_count)++];
        *input = (struct fetch_input){place.executor, map, place.attempt, NULL};
        if (place.executor == self) input->local = hold_output(s, shuffle, map, place.attempt);
    }
    pthread_mutex_unlock(&s->lock);
    *out = inputs;
    return r;
}

void store_release_inputs(struct store *s, const struct fetch_input *inputs, uint32_t count)
{
    struct kept_output *freed = NULL;
    pthread_mutex_lock(&s->lock);
    for (uint32_t i = 0; i < count; i++) {
        struct kept_output *o = inputs[i].local != NULL ? let_go(inputs[i].local) : NULL;
        if (o == NULL) continue;
        o->next = freed;
        freed = o;
    }
    pthread_mutex_unlock(&s->lock);
    outputs_free(freed);
}

/* ---- Results */

uint64_t store_add_result(struct store *s, struct buffer *bytes)
{
    struct kept_result *k = mem_zalloc(sizeof *k);
    if (k == NULL) return 0;
    k->bytes = *bytes;
    *bytes = (struct buffer){NULL, 0, 0};
    pthread_mutex_lock(&s->lock);
    k->id = ++s->last_result;
    k->next = s->results;
    s->results = k;
    uint64_t id = k->id;
    pthread_mutex_unlock(&s->lock);
    return id;
}

bool store_result(struct store *s, uint64_t id, struct glint_slice *out, void **out_held)
{
    pthread_mutex_lock(&s->lock);
    struct kept_result *k = s->results;
    while (k != NULL && k->id != id) k = k->next;
    if (k != NULL) k->holders++;
    pthread_mutex_unlock(&s->lock);
    if (k == NULL) return false;
    *out = (struct glint_slice){k->bytes.data, k->bytes.size};
    *out_held = k;
    return true;
}

void store_release_result(struct store *s, void *held)
{
    struct kept_result *k = held;
    pthread_mutex_lock(&s->lock);
    assert(k->holders > 0);
    bool last = --k->holders == 0 && k->forgotten;
    pthread_mutex_unlock(&s->lock);
    if (last) result_free(k);
}

void store_forget_result(struct store *s, uint64_t id)
{
    pthread_mutex_lock(&s->lock);
    struct kept_result **link = &s->results;
    while (*link != NULL && (*link)->id != id) link = &(*link)->next;
    struct kept_result *k = *link;
    bool last = k != NULL && k->holders == 0;
    if (k != NULL) {
        *link = k->next;
        k->forgotten = true;
    }
    pthread_mutex_unlock(&s->lock);
    if (last) result_free(k);
}

bool store_is_wanted(struct store *s)
{
    pthread_mutex_lock(&s->lock);
    bool wanted = s->results != NULL;
    for (uint32_t b = 0; b < OUTPUT_BUCKETS && !wanted; b++) wanted = s->outputs[b] != NULL;
    pthread_mutex_unlock(&s->lock);
    return wanted;
}
