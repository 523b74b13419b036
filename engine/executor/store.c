/* Lists, and one hash table for map outputs, under one lock: used once per task, not per record. */
#include "engine/executor/store.h"

#include <assert.h>
#include <pthread.h>
#include <string.h>

struct stored_stage {
    struct stage_plan plan; /* first: released through its plan */
    struct stored_stage *next;
    uint32_t id;
    struct message *message; /* the plan points into its body */
    uint32_t refs;
    bool removed;             /* not in the list: freed with the last ref */
    struct glint_error error; /* why the plan cannot be decoded; it then has no plan or message */
};

struct stored_broadcast {
    struct stored_broadcast *next;
    struct message *message;
    uint32_t refs;
    bool removed; /* not in the list: freed with the last ref */
};

struct stored_map_output {
    struct run run;                 /* first: released through its run */
    struct stored_map_output *next; /* in the bucket */
    uint64_t shuffle;
    uint32_t map, attempt;
    uint32_t refs;
    bool removed; /* not in a bucket: freed with the last ref */
};

struct stored_result {
    struct stored_result *next;
    uint64_t id;
    struct buffer bytes;
    uint32_t refs;
    bool removed;
};

/* The locations of one shuffle's map outputs, as in the last MAP_OUTPUTS. */
struct shuffle_locations {
    struct shuffle_locations *next;
    uint64_t id;
    struct map_output_location *locations;
    uint32_t maps;
};

#define OUTPUT_BUCKETS 4096u

struct store {
    pthread_mutex_t lock;
    struct stored_stage *stages;
    struct stored_broadcast *broadcasts;
    struct shuffle_locations *shuffles;
    struct stored_map_output *outputs[OUTPUT_BUCKETS];
    struct stored_result *results;
    uint64_t last_result;
};

/* store.c */

/* ---- The values in the store that are single byte strings: broadcasts that arrived inline, and
 * results that are too large for a message. */

/* ---- Broadcasts */

static struct stored_broadcast **find_stored_broadcast(struct store *s, uint64_t id)
{
    struct stored_broadcast **link = &s->broadcasts;
    while (*link != NULL && (*link)->message->id != id) link = &(*link)->next;
    return link;
}

static void free_stored_broadcast(struct stored_broadcast *v)
{
    message_destroy(v->message);
    mem_free(v);
}

void *store_acquire_broadcast(struct store *s, uint64_t id, struct glint_slice *out)
{
    pthread_mutex_lock(&s->lock);
    struct stored_broadcast *v = *find_stored_broadcast(s, id);
    if (v != NULL) v->refs++;
    pthread_mutex_unlock(&s->lock);
    if (v != NULL) *out = (struct glint_slice){v->message->body.data, v->message->body.size};
    return v;
}

void store_release_broadcast(struct store *s, void *ref)
{
    struct stored_broadcast *v = ref;
    pthread_mutex_lock(&s->lock);
    assert(v->refs > 0);
    const bool last = --v->refs == 0 && v->removed;
    pthread_mutex_unlock(&s->lock);
    if (last) free_stored_broadcast(v);
}

void store_remove_broadcast(struct store *s, uint64_t id)
{
    pthread_mutex_lock(&s->lock);
    struct stored_broadcast **link = find_stored_broadcast(s, id), *v = *link;
    const bool last = v != NULL && v->refs == 0;
    if (v != NULL) {
        *link = v->next;
        v->removed = true;
    }
    pthread_mutex_unlock(&s->lock);
    if (last) free_stored_broadcast(v);
}

/* Takes ownership of the message, a BROADCAST. Returns 0, or NO_MEMORY with *m unchanged. */
static int store_add_broadcast(struct store *s, struct message *m, struct glint_error *error)
{
    struct stored_broadcast *v = mem_zalloc(sizeof *v);
    if (v == NULL) return error_no_memory(error);
    assert(m->type == MSG_BROADCAST);
    v->message = m;
    pthread_mutex_lock(&s->lock);
    v->next = s->broadcasts;
    s->broadcasts = v;
    pthread_mutex_unlock(&s->lock);
    return 0;
}

/* ---- Results */

static void result_free(struct stored_result *k)
{
    assert(k->refs == 0);
    buffer_fini(&k->bytes);
    mem_free(k);
}

uint64_t store_add_result(struct store *s, struct buffer *bytes)
{
    struct stored_result *k = mem_zalloc(sizeof *k);
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

bool store_acquire_result(struct store *s, uint64_t id, struct glint_slice *out, void **out_ref)
{
    pthread_mutex_lock(&s->lock);
    struct stored_result *k = s->results;
    while (k != NULL && k->id != id) k = k->next;
    if (k != NULL) k->refs++;
    pthread_mutex_unlock(&s->lock);
    if (k == NULL) return false;
    *out = (struct glint_slice){k->bytes.data, k->bytes.size};
    *out_ref = k;
    return true;
}

void store_release_result(struct store *s, void *ref)
{
    struct stored_result *k = ref;
    pthread_mutex_lock(&s->lock);
    assert(k->refs > 0);
    bool last = --k->refs == 0 && k->removed;
    pthread_mutex_unlock(&s->lock);
    if (last) result_free(k);
}

void store_remove_result(struct store *s, uint64_t id)
{
    pthread_mutex_lock(&s->lock);
    struct stored_result **link = &s->results;
    while (*link != NULL && (*link)->id != id) link = &(*link)->next;
    struct stored_result *k = *link;
    bool last = k != NULL && k->refs == 0;
    if (k != NULL) {
        *link = k->next;
        k->removed = true;
    }
    pthread_mutex_unlock(&s->lock);
    if (last) result_free(k);
}

/* Frees all broadcasts and results. */
static void store_values_fini(struct store *s)
{
    while (s->broadcasts != NULL) {
        struct stored_broadcast *v = s->broadcasts;
        s->broadcasts = v->next;
        free_stored_broadcast(v);
    }
    while (s->results != NULL) {
        struct stored_result *k = s->results;
        s->results = k->next;
        result_free(k);
    }
}

/* ---- The store */

struct store *store_create(void)
{
    struct store *s = mem_zalloc(sizeof *s);
    if (s != NULL) pthread_mutex_init(&s->lock, NULL);
    return s;
}

static void stage_free(struct stored_stage *k)
{
    assert(k->refs == 0);
    stage_plan_fini(&k->plan);
    message_destroy(k->message);
    mem_free(k);
}

static void output_free(struct stored_map_output *o)
{
    static_assert(offsetof(struct stored_map_output, run) == 0, "cast back from its first member");
    assert(o->refs == 0);
    run_destroy(&o->run);
    mem_free(o);
}

static void outputs_free(struct stored_map_output *first)
{
    for (struct stored_map_output *o = first, *next; o != NULL; o = next) {
        next = o->next;
        output_free(o);
    }
}

void store_destroy(struct store *s)
{
    if (s == NULL) return;
    while (s->stages != NULL) {
        struct stored_stage *k = s->stages;
        s->stages = k->next;
        stage_free(k);
    }
    while (s->shuffles != NULL) {
        struct shuffle_locations *k = s->shuffles;
        s->shuffles = k->next;
        mem_free(k->locations);
        mem_free(k);
    }
    for (uint32_t b = 0; b < OUTPUT_BUCKETS; b++) outputs_free(s->outputs[b]);
    store_values_fini(s);
    pthread_mutex_destroy(&s->lock);
    mem_free(s);
}

static int add_stage(struct store *s, struct message *m, const struct context_config *registry,
                     struct glint_error *error)
{
    struct stored_stage *k = mem_zalloc(sizeof *k);
    if (k == NULL) return error_no_memory(error);
    /* An error is kept: the driver learns it from the stage's tasks, which fail with it. */
    int r = stage_plan_decode(&k->plan, (struct glint_slice){m->body.data, m->body.size}, registry,
                              &k->error);
    assert(m->type == MSG_STAGE && r == (int)k->error.code && (r != 0 || k->plan.node_count > 0));
    if (r != 0) *error = k->error;
    k->id = m->stage;
    k->message = r == 0 ? m : NULL;
    pthread_mutex_lock(&s->lock);
    k->next = s->stages;
    s->stages = k;
    pthread_mutex_unlock(&s->lock);
    return r;
}

static uint32_t output_bucket(uint64_t shuffle, uint32_t map)
{
    return (uint32_t)(shuffle * 31 + map) % OUTPUT_BUCKETS;
}

/* Unlinks an output; without references it goes to *out_free, to be freed without the lock. */
static void remove_output(struct stored_map_output **link, struct stored_map_output **out_free)
{
    struct stored_map_output *o = *link;
    assert(!o->removed);
    *link = o->next;
    o->removed = true;
    o->next = NULL;
    if (o->refs > 0) return;
    o->next = *out_free;
    *out_free = o;
}

/* Removes outputs of older attempts than the driver now names: it will not request them. */
static struct stored_map_output *remove_older(struct store *s, const struct shuffle_locations *k)
{
    struct stored_map_output *removed = NULL;
    for (uint32_t map = 0; map < k->maps; map++) {
        struct stored_map_output **link = &s->outputs[output_bucket(k->id, map)];
        while (*link != NULL) {
            const struct stored_map_output *o = *link;
            if (o->shuffle == k->id && o->map == map && o->attempt < k->locations[map].attempt)
                remove_output(link, &removed);
            else
                link = &(*link)->next;
        }
    }
    return removed;
}

static struct shuffle_locations *find_shuffle(struct store *s, uint64_t id)
{
    struct shuffle_locations *k = s->shuffles;
    while (k != NULL && k->id != id) k = k->next;
    return k;
}

static int set_locations(struct store *s, struct message *m, struct glint_error *error)
{
    struct shuffle_locations *k = mem_zalloc(sizeof *k);
    if (k == NULL) return error_no_memory(error);
    k->id = m->id;
    int r = map_outputs_decode((struct glint_slice){m->body.data, m->body.size}, &k->locations,
                               &k->maps, error);
    if (r != 0) {
        mem_free(k);
        return r;
    }
    pthread_mutex_lock(&s->lock);
    struct shuffle_locations *old = find_shuffle(s, k->id);
    if (old == NULL) {
        k->next = s->shuffles;
        s->shuffles = k;
    } else {
        /* The entry is updated in place; `k` gets the old array, freed below without the lock. */
        struct shuffle_locations other = *old;
        old->locations = k->locations;
        old->maps = k->maps;
        k->locations = other.locations;
    }
    struct stored_map_output *removed = remove_older(s, old != NULL ? old : k);
    pthread_mutex_unlock(&s->lock);
    outputs_free(removed);
    if (old != NULL) {
        mem_free(k->locations);
        mem_free(k);
    }
    message_destroy(m);
    return 0;
}

int store_add_message(struct store *s, struct message *m, const struct context_config *registry,
                      struct glint_error *error)
{
    int r;
    assert(m->next == NULL && m->outcome == NULL);
    switch (m->type) {
    case MSG_STAGE: r = add_stage(s, m, registry, error); break;
    case MSG_MAP_OUTPUTS: r = set_locations(s, m, error); break;
    default: r = store_add_broadcast(s, m, error);
    }
    if (r != 0) message_destroy(m);
    return r;
}

void store_remove_stage(struct store *s, uint32_t stage)
{
    pthread_mutex_lock(&s->lock);
    struct stored_stage **link = &s->stages;
    while (*link != NULL && (*link)->id != stage) link = &(*link)->next;
    struct stored_stage *k = *link;
    if (k != NULL) {
        *link = k->next;
        k->removed = true;
        if (k->refs > 0) k = NULL; /* store_release_stage frees it */
    }
    pthread_mutex_unlock(&s->lock);
    if (k != NULL) stage_free(k);
}

static struct stored_stage *find_stage(const struct store *s, uint32_t stage)
{
    struct stored_stage *k = s->stages;
    while (k != NULL && k->id != stage) k = k->next;
    return k;
}

const struct stage_plan *store_find_stage(struct store *s, uint32_t stage)
{
    pthread_mutex_lock(&s->lock);
    const struct stored_stage *k = find_stage(s, stage);
    pthread_mutex_unlock(&s->lock);
    return k != NULL && k->error.code == GLINT_OK ? &k->plan : NULL;
}

const struct stage_plan *store_acquire_stage(struct store *s, uint32_t stage,
                                             struct glint_error *error)
{
    assert(error->code == GLINT_OK);
    pthread_mutex_lock(&s->lock);
    struct stored_stage *k = find_stage(s, stage);
    if (k == NULL)
        error_set(error, GLINT_E_PROTOCOL, NULL, "stage %u not found", stage);
    else if (k->error.code != GLINT_OK)
        *error = k->error;
    else
        k->refs++;
    pthread_mutex_unlock(&s->lock);
    return error->code == GLINT_OK ? &k->plan : NULL;
}

void store_release_stage(struct store *s, const struct stage_plan *plan)
{
    static_assert(offsetof(struct stored_stage, plan) == 0, "cast back from its first member");
    struct stored_stage *k = (struct stored_stage *)(uintptr_t)plan;
    pthread_mutex_lock(&s->lock);
    assert(k->refs > 0);
    k->refs--;
    bool last = k->removed && k->refs == 0;
    pthread_mutex_unlock(&s->lock);
    if (last) stage_free(k);
}

bool store_stage_is_removed(struct store *s, const struct stage_plan *plan)
{
    const struct stored_stage *k = (const struct stored_stage *)plan;
    pthread_mutex_lock(&s->lock);
    const bool removed = k->removed;
    pthread_mutex_unlock(&s->lock);
    return removed;
}

/* ---- Map outputs */

int store_add_map_output(struct store *s, uint64_t shuffle, uint32_t map, uint32_t attempt,
                         struct run *run)
{
    struct stored_map_output *o = mem_zalloc(sizeof *o);
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

/* Returns the link to the output; *link is NULL if it is not found. */
static struct stored_map_output **find_output(struct store *s, uint64_t shuffle, uint32_t map,
                                              uint32_t attempt)
{
    struct stored_map_output **link = &s->outputs[output_bucket(shuffle, map)];
    while (*link != NULL &&
           ((*link)->shuffle != shuffle || (*link)->map != map || (*link)->attempt != attempt))
        link = &(*link)->next;
    return link;
}

static const struct run *ref_output(struct store *s, uint64_t shuffle, uint32_t map,
                                    uint32_t attempt)
{
    struct stored_map_output *o = *find_output(s, shuffle, map, attempt);
    if (o == NULL) return NULL;
    o->refs++;
    return &o->run;
}

const struct run *store_acquire_map_output(struct store *s, uint64_t shuffle, uint32_t map,
                                           uint32_t attempt)
{
    pthread_mutex_lock(&s->lock);
    const struct run *run = ref_output(s, shuffle, map, attempt);
    pthread_mutex_unlock(&s->lock);
    return run;
}

/* Returns the output if the caller must free it, without the lock. */
static struct stored_map_output *unref_output(const struct run *run)
{
    struct stored_map_output *o = (struct stored_map_output *)(uintptr_t)run;
    assert(o->refs > 0);
    return --o->refs == 0 && o->removed ? o : NULL;
}

void store_release_map_output(struct store *s, const struct run *run)
{
    pthread_mutex_lock(&s->lock);
    struct stored_map_output *o = unref_output(run);
    pthread_mutex_unlock(&s->lock);
    outputs_free(o);
}

void store_remove_attempt_output(struct store *s, uint32_t stage, uint32_t task, uint32_t attempt)
{
    struct stored_map_output *removed = NULL;
    const struct stage_plan *plan = store_find_stage(s, stage);
    if (plan == NULL) return;
    const struct stage_node *root = &plan->nodes[plan->node_count - 1];
    if (!stage_node_is_shuffle(root)) return;
    pthread_mutex_lock(&s->lock);
    struct stored_map_output **link = find_output(s, root->rdd, task, attempt);
    if (*link != NULL) remove_output(link, &removed);
    pthread_mutex_unlock(&s->lock);
    outputs_free(removed);
}

/* Removes the outputs of a shuffle in one bucket. */
static void remove_from_bucket(struct store *s, uint32_t bucket, uint64_t shuffle,
                               struct stored_map_output **removed)
{
    for (struct stored_map_output **link = &s->outputs[bucket]; *link != NULL;)
        if ((*link)->shuffle == shuffle)
            remove_output(link, removed);
        else
            link = &(*link)->next;
}

void store_remove_shuffle(struct store *s, uint64_t shuffle, uint32_t maps)
{
    struct stored_map_output *removed = NULL;
    const uint32_t buckets = maps < OUTPUT_BUCKETS ? maps : OUTPUT_BUCKETS;
    pthread_mutex_lock(&s->lock);
    for (uint32_t i = 0; i < buckets; i++)
        remove_from_bucket(s, output_bucket(shuffle, i), shuffle, &removed);
    struct shuffle_locations **link = &s->shuffles;
    while (*link != NULL && (*link)->id != shuffle) link = &(*link)->next;
    struct shuffle_locations *k = *link;
    if (k != NULL) *link = k->next;
    pthread_mutex_unlock(&s->lock);
    outputs_free(removed);
    if (k == NULL) return;
    mem_free(k->locations);
    mem_free(k);
}

int store_acquire_inputs(struct store *s, uint64_t shuffle, uint32_t self, struct arena *arena,
                         struct fetch_input **out, uint32_t *out_count, struct glint_error *error)
{
    int r = 0;
    *out_count = 0;
    pthread_mutex_lock(&s->lock);
    const struct shuffle_locations *k = find_shuffle(s, shuffle);
    struct fetch_input *inputs = k ? arena_alloc(arena, sizeof *inputs * (k->maps + 1)) : NULL;
    if (k == NULL)
        r = error_set(error, GLINT_E_PROTOCOL, NULL, "no map output locations for shuffle %llu",
                      (unsigned long long)shuffle);
    else if (inputs == NULL)
        r = error_no_memory(error);
    for (uint32_t map = 0; r == 0 && map < k->maps; map++) {
        struct map_output_location location = k->locations[map];
        struct fetch_input *input = &inputs[(*out_count)++];
        *input = (struct fetch_input){location.executor, map, location.attempt, NULL};
        if (location.executor == self) input->local = ref_output(s, shuffle, map, location.attempt);
    }
    pthread_mutex_unlock(&s->lock);
    *out = inputs;
    return r;
}

void store_release_inputs(struct store *s, const struct fetch_input *inputs, uint32_t count)
{
    struct stored_map_output *removed = NULL;
    pthread_mutex_lock(&s->lock);
    for (uint32_t i = 0; i < count; i++) {
        struct stored_map_output *o =
            inputs[i].local != NULL ? unref_output(inputs[i].local) : NULL;
        if (o == NULL) continue;
        o->next = removed;
        removed = o;
    }
    pthread_mutex_unlock(&s->lock);
    outputs_free(removed);
}

/* ---- What the driver may fetch */

bool store_has_fetchable_data(struct store *s)
{
    pthread_mutex_lock(&s->lock);
    bool wanted = s->results != NULL;
    for (uint32_t b = 0; b < OUTPUT_BUCKETS && !wanted; b++) wanted = s->outputs[b] != NULL;
    pthread_mutex_unlock(&s->lock);
    return wanted;
}
