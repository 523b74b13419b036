/* One hash table for all kinds of values, under one lock: used once per task, not per record. */
#include "engine/executor/store.h"

#include <assert.h>
#include <pthread.h>
#include <string.h>

struct stored_stage {
    struct stage_plan plan;
    struct message *message;   /* the plan points into its body */
    struct glint_error *error; /* its code is not OK: why the plan cannot be decoded */
};

/* The locations of one shuffle's map outputs, as in the last MAP_OUTPUTS. */
struct stored_locations {
    struct map_output_location *maps;
    uint32_t count;
};

struct stored {
    union { /* first: a reference is a pointer to the value */
        struct stored_stage stage;
        struct buffer result;
        struct message *broadcast; /* whose body may be borrowed */
        struct run map_output;
        struct stored_locations locations;
    };
    struct stored *next; /* in its bucket, or of a list to free */
    enum stored_kind kind;
    uint64_t id; /* of the stage, broadcast, result or shuffle */
    uint32_t map, attempt;
    uint32_t refs;
    bool removed; /* not in a bucket: freed with the last ref */
};

#define STORE_BUCKETS 4096u

struct store {
    pthread_mutex_t lock;
    struct stored *buckets[STORE_BUCKETS];
    uint64_t last_result;
};

struct store *store_create(void)
{
    struct store *s = mem_zalloc(sizeof *s);
    if (s != NULL) pthread_mutex_init(&s->lock, NULL);
    return s;
}

/* NULL: out of memory. */
static struct stored *create_stored_value(enum stored_kind kind, uint64_t id)
{
    static_assert(offsetof(struct stored, result) == 0, "a reference is cast back");
    struct stored *v = mem_zalloc(sizeof *v);
    if (v == NULL) return NULL;
    v->kind = kind;
    v->id = id;
    return v;
}

/* Frees a list; without the lock. */
static void free_stored_value(struct stored *first)
{
    for (struct stored *v = first, *next; v != NULL; v = next) {
        next = v->next;
        assert(v->refs == 0);
        switch (v->kind) {
        case STORED_STAGE:
            stage_plan_fini(&v->stage.plan);
            message_destroy(v->stage.message);
            mem_free(v->stage.error);
            break;
        case STORED_MAP_OUTPUT: run_destroy(&v->map_output); break;
        case STORED_LOCATIONS: mem_free(v->locations.maps); break;
        case STORED_BROADCAST: message_destroy(v->broadcast); break;
        case STORED_RESULT: buffer_fini(&v->result); break;
        }
        mem_free(v);
    }
}

void store_destroy(struct store *s)
{
    if (s == NULL) return;
    for (uint32_t b = 0; b < STORE_BUCKETS; b++) free_stored_value(s->buckets[b]);
    pthread_mutex_destroy(&s->lock);
    mem_free(s);
}

/* ---- The table; called with the lock */

static struct stored **store_bucket(struct store *s, uint64_t id, uint32_t map)
{
    return &s->buckets[(uint32_t)(id * 31 + map) % STORE_BUCKETS];
}

static void insert_stored_value(struct store *s, struct stored *v)
{
    struct stored **bucket = store_bucket(s, v->id, v->map);
    v->next = *bucket;
    *bucket = v;
}

/* Returns the link to the value; *link is NULL if it is not found. */
static struct stored **find_stored_value(struct store *s, enum stored_kind kind, uint64_t id,
                                         uint32_t map, uint32_t attempt)
{
    struct stored **link = store_bucket(s, id, map);
    while (*link != NULL && ((*link)->kind != kind || (*link)->id != id || (*link)->map != map ||
                             (*link)->attempt != attempt))
        link = &(*link)->next;
    return link;
}

/* Unlinks a value, if *link is one; without references it goes to *out_free. */
static void unlink_stored_value(struct stored **link, struct stored **out_free)
{
    struct stored *v = *link;
    if (v == NULL) return;
    assert(!v->removed);
    *link = v->next;
    v->removed = true;
    v->next = NULL;
    if (v->refs > 0) return;
    v->next = *out_free;
    *out_free = v;
}

/* Adds it to *out_free if this was the last reference to a removed value. */
static void unref_stored_value(const void *ref, struct stored **out_free)
{
    struct stored *v = (struct stored *)(uintptr_t)ref;
    assert(v->refs > 0);
    if (--v->refs > 0 || !v->removed) return;
    v->next = *out_free;
    *out_free = v;
}

/* ---- Any kind */

static void add_stored_value(struct store *s, struct stored *v)
{
    pthread_mutex_lock(&s->lock);
    insert_stored_value(s, v);
    pthread_mutex_unlock(&s->lock);
}

static struct stored *acquire_stored_value(struct store *s, enum stored_kind kind, uint64_t id,
                                           uint32_t map, uint32_t attempt)
{
    pthread_mutex_lock(&s->lock);
    struct stored *v = *find_stored_value(s, kind, id, map, attempt);
    if (v != NULL) v->refs++;
    pthread_mutex_unlock(&s->lock);
    return v;
}

void store_release(struct store *s, const void *ref)
{
    struct stored *removed = NULL;
    pthread_mutex_lock(&s->lock);
    unref_stored_value(ref, &removed);
    pthread_mutex_unlock(&s->lock);
    free_stored_value(removed);
}

static void remove_stored_value(struct store *s, enum stored_kind kind, uint64_t id, uint32_t map,
                                uint32_t attempt)
{
    struct stored *removed = NULL;
    pthread_mutex_lock(&s->lock);
    unlink_stored_value(find_stored_value(s, kind, id, map, attempt), &removed);
    pthread_mutex_unlock(&s->lock);
    free_stored_value(removed);
}

void store_remove(struct store *s, enum stored_kind kind, uint64_t id)
{
    assert(kind == STORED_STAGE || kind == STORED_BROADCAST || kind == STORED_RESULT);
    remove_stored_value(s, kind, id, 0, 0);
}

/* ---- Broadcasts and results */

void *store_acquire_bytes(struct store *s, enum stored_kind kind, uint64_t id,
                          struct glint_slice *out)
{
    assert(kind == STORED_BROADCAST || kind == STORED_RESULT);
    struct stored *v = acquire_stored_value(s, kind, id, 0, 0);
    if (v == NULL) return NULL;
    const struct buffer *bytes = kind == STORED_RESULT ? &v->result : &v->broadcast->body;
    *out = buffer_slice(bytes);
    return v;
}

static int store_add_broadcast(struct store *s, struct message *m, struct glint_error *error)
{
    struct stored *v = create_stored_value(STORED_BROADCAST, m->id);
    if (v == NULL) return error_no_memory(error);
    assert(m->type == MSG_BROADCAST);
    v->broadcast = m;
    add_stored_value(s, v);
    return 0;
}

uint64_t store_add_result(struct store *s, struct buffer *bytes)
{
    struct stored *v = create_stored_value(STORED_RESULT, 0);
    if (v == NULL) return 0;
    v->result = *bytes;
    *bytes = (struct buffer){NULL, 0, 0};
    pthread_mutex_lock(&s->lock);
    const uint64_t id = v->id = ++s->last_result;
    insert_stored_value(s, v);
    pthread_mutex_unlock(&s->lock);
    return id;
}

/* ---- Stages */

static int store_add_stage(struct store *s, struct message *m,
                           const struct context_config *registry, struct glint_error *error)
{
    struct stored *v = create_stored_value(STORED_STAGE, m->stage);
    struct glint_error *why = mem_zalloc(sizeof *why);
    if (v == NULL || why == NULL) {
        mem_free(v);
        mem_free(why);
        return error_no_memory(error);
    }
    /* An error is kept: the driver learns it from the stage's tasks, which fail with it. */
    int r = stage_plan_decode(&v->stage.plan, buffer_slice(&m->body), registry, why);
    assert(m->type == MSG_STAGE && r == (int)why->code && (r != 0 || v->stage.plan.node_count > 0));
    if (r != 0) *error = *why;
    v->stage.error = why;
    v->stage.message = r == 0 ? m : NULL;
    add_stored_value(s, v);
    return r;
}

const struct stage_plan *store_find_stage(struct store *s, uint32_t stage)
{
    pthread_mutex_lock(&s->lock);
    const struct stored *v = *find_stored_value(s, STORED_STAGE, stage, 0, 0);
    pthread_mutex_unlock(&s->lock);
    return v != NULL && v->stage.error->code == GLINT_OK ? &v->stage.plan : NULL;
}

const struct stage_plan *store_acquire_stage(struct store *s, uint32_t stage,
                                             struct glint_error *error)
{
    assert(error->code == GLINT_OK);
    const struct stored *v = acquire_stored_value(s, STORED_STAGE, stage, 0, 0);
    if (v == NULL) {
        error_set(error, GLINT_E_PROTOCOL, NULL, "stage %u not found", stage);
        return NULL;
    }
    if (v->stage.error->code == GLINT_OK) return &v->stage.plan;
    *error = *v->stage.error;
    store_release(s, v);
    return NULL;
}

bool store_stage_is_removed(struct store *s, const struct stage_plan *plan)
{
    pthread_mutex_lock(&s->lock);
    const bool removed = ((const struct stored *)plan)->removed;
    pthread_mutex_unlock(&s->lock);
    return removed;
}

/* ---- Map outputs and their locations */

int store_add_map_output(struct store *s, uint64_t shuffle, uint32_t map, uint32_t attempt,
                         struct run *run)
{
    struct stored *v = create_stored_value(STORED_MAP_OUTPUT, shuffle);
    if (v == NULL) return GLINT_E_NO_MEMORY;
    assert(run->partitions > 0);
    v->map = map;
    v->attempt = attempt;
    v->map_output = *run;
    memset(run, 0, sizeof *run);
    add_stored_value(s, v);
    return 0;
}

const struct run *store_acquire_map_output(struct store *s, uint64_t shuffle, uint32_t map,
                                           uint32_t attempt)
{
    const struct stored *v = acquire_stored_value(s, STORED_MAP_OUTPUT, shuffle, map, attempt);
    return v != NULL ? &v->map_output : NULL;
}

void store_remove_attempt_output(struct store *s, uint32_t stage, uint32_t task, uint32_t attempt)
{
    const struct stage_plan *plan = store_find_stage(s, stage);
    if (plan == NULL) return;
    const struct stage_node *root = &plan->nodes[plan->node_count - 1];
    if (stage_node_is_shuffle(root))
        remove_stored_value(s, STORED_MAP_OUTPUT, root->rdd, task, attempt);
}

/* Removes outputs of older attempts than the driver now names: it will not request them. */
static void remove_outdated_map_outputs(struct store *s, uint64_t shuffle,
                                        const struct stored_locations *l, struct stored **removed)
{
    for (uint32_t map = 0; map < l->count; map++)
        for (struct stored **link = store_bucket(s, shuffle, map); *link != NULL;) {
            const struct stored *v = *link;
            if (v->kind == STORED_MAP_OUTPUT && v->id == shuffle && v->map == map &&
                v->attempt < l->maps[map].attempt)
                unlink_stored_value(link, removed);
            else
                link = &(*link)->next;
        }
}

static int set_map_output_locations(struct store *s, struct message *m, struct glint_error *error)
{
    struct stored *v = create_stored_value(STORED_LOCATIONS, m->id), *removed = NULL;
    if (v == NULL) return error_no_memory(error);
    int r = map_outputs_decode(buffer_slice(&m->body), &v->locations.maps,
                               &v->locations.count, error);
    if (r != 0) {
        mem_free(v);
        return r;
    }
    pthread_mutex_lock(&s->lock);
    unlink_stored_value(find_stored_value(s, STORED_LOCATIONS, v->id, 0, 0), &removed);
    insert_stored_value(s, v);
    remove_outdated_map_outputs(s, v->id, &v->locations, &removed);
    pthread_mutex_unlock(&s->lock);
    free_stored_value(removed);
    message_destroy(m);
    return 0;
}

void store_remove_shuffle(struct store *s, uint64_t shuffle, uint32_t maps)
{
    struct stored *removed = NULL;
    const uint32_t buckets = maps < STORE_BUCKETS ? maps : STORE_BUCKETS;
    pthread_mutex_lock(&s->lock);
    unlink_stored_value(find_stored_value(s, STORED_LOCATIONS, shuffle, 0, 0), &removed);
    for (uint32_t i = 0; i < buckets; i++)
        for (struct stored **link = store_bucket(s, shuffle, i); *link != NULL;)
            if ((*link)->kind == STORED_MAP_OUTPUT && (*link)->id == shuffle)
                unlink_stored_value(link, &removed);
            else
                link = &(*link)->next;
    pthread_mutex_unlock(&s->lock);
    free_stored_value(removed);
}

int store_acquire_inputs(struct store *s, uint64_t shuffle, uint32_t self, struct arena *arena,
                         struct fetch_input **out, uint32_t *out_count, struct glint_error *error)
{
    int r = 0;
    *out_count = 0;
    pthread_mutex_lock(&s->lock);
    const struct stored *k = *find_stored_value(s, STORED_LOCATIONS, shuffle, 0, 0);
    const uint32_t maps = k != NULL ? k->locations.count : 0;
    struct fetch_input *inputs = k ? arena_alloc(arena, sizeof *inputs * (maps + 1)) : NULL;
    if (k == NULL)
        r = error_set(error, GLINT_E_PROTOCOL, NULL, "no map output locations for shuffle %llu",
                      (unsigned long long)shuffle);
    else if (inputs == NULL)
        r = error_no_memory(error);
    for (uint32_t map = 0; r == 0 && map < maps; map++) {
        struct map_output_location location = k->locations.maps[map];
        struct fetch_input *input = &inputs[(*out_count)++];
        *input = (struct fetch_input){location.executor, map, location.attempt, NULL};
        if (location.executor != self) continue;
        struct stored *v = *find_stored_value(s, STORED_MAP_OUTPUT, shuffle, map, location.attempt);
        if (v == NULL) continue;
        v->refs++;
        input->local = &v->map_output;
    }
    pthread_mutex_unlock(&s->lock);
    *out = inputs;
    return r;
}

void store_release_inputs(struct store *s, const struct fetch_input *inputs, uint32_t count)
{
    struct stored *removed = NULL;
    pthread_mutex_lock(&s->lock);
    for (uint32_t i = 0; i < count; i++)
        if (inputs[i].local != NULL) unref_stored_value(inputs[i].local, &removed);
    pthread_mutex_unlock(&s->lock);
    free_stored_value(removed);
}

/* ---- */

int store_add_message(struct store *s, struct message *m, const struct context_config *registry,
                      struct glint_error *error)
{
    int r;
    assert(m->next == NULL && m->outcome == NULL);
    switch (m->type) {
    case MSG_STAGE: r = store_add_stage(s, m, registry, error); break;
    case MSG_MAP_OUTPUTS: r = set_map_output_locations(s, m, error); break;
    default: r = store_add_broadcast(s, m, error);
    }
    if (r != 0) message_destroy(m);
    return r;
}

bool store_has_fetchable_data(struct store *s)
{
    bool found = false;
    pthread_mutex_lock(&s->lock);
    for (uint32_t b = 0; b < STORE_BUCKETS && !found; b++)
        for (const struct stored *v = s->buckets[b]; v != NULL && !found; v = v->next)
            found = v->kind == STORED_MAP_OUTPUT || v->kind == STORED_RESULT;
    pthread_mutex_unlock(&s->lock);
    return found;
}

/* ---- Serving: references on map outputs and results are held while they are sent; small parts are
 * copied to the response to GET_INDEX. */

/* The index entry of each requested map output's segment, and the small segments themselves while
 * there is room. */
static void find_map_output_index(void *arg, const struct get_request *g, struct fetch_found *out,
                                  struct glint_error *why)
{
    struct buffer bytes = {NULL, 0, 0};
    uint64_t room = g->size;
    uint32_t acquired = 0;
    struct index_entry *entries = mem_alloc(g->map_count * sizeof *entries);
    const struct run **runs = mem_alloc(g->map_count * sizeof *runs);
    if (entries == NULL || runs == NULL) error_no_memory(why);
    for (uint32_t i = 0; why->code == GLINT_OK && i < g->map_count; i++) {
        const struct run *run = store_acquire_map_output(arg, g->id, g->maps[i][0], g->maps[i][1]);
        if (run != NULL) runs[acquired++] = run;
        entries[i] = index_entry_create(run, g->partition, &room);
    }
    if (why->code == GLINT_OK) map_output_index_encode(entries, g->map_count, &bytes, why);
    while (acquired > 0) store_release(arg, runs[--acquired]);
    mem_free(runs);
    mem_free(entries);
    if (why->code != GLINT_OK) buffer_fini(&bytes);
    *out = (struct fetch_found){.bytes = {bytes.data, bytes.size}, .ref = bytes.data};
}

static void release_index_bytes(void *arg, void *ref)
{
    (void)arg;
    mem_free(ref);
}

static void find_map_output(void *arg, const struct get_request *g, struct fetch_found *out,
                            struct glint_error *why)
{
    const struct run *run = store_acquire_map_output(arg, g->id, g->map, g->attempt);
    if (run == NULL)
        error_set(why, GLINT_E_FETCH_FAILED, NULL,
                  "map output not found (shuffle %llu, map %u, attempt %u)",
                  (unsigned long long)g->id, g->map, g->attempt);
    else if (run->source.memory != NULL)
        out->bytes = (struct glint_slice){run->source.memory, run->source.bytes};
    else
        out->file = run;
    out->ref = (void *)(uintptr_t)run;
}

static void find_stored_result(void *arg, const struct get_request *g, struct fetch_found *out,
                               struct glint_error *why)
{
    out->ref = store_acquire_bytes(arg, STORED_RESULT, g->id, &out->bytes);
    if (out->ref == NULL)
        error_set(why, GLINT_E_FETCH_FAILED, NULL, "result %llu not found",
                  (unsigned long long)g->id);
}

static void release_stored_bytes(void *arg, void *ref)
{
    store_release(arg, ref);
}

static void find_broadcast_block(void *arg, const struct get_request *g, struct fetch_found *out,
                                 struct glint_error *why)
{
    out->ref = broadcast_client_find_block(arg, g->id, g->block, &out->bytes);
    if (out->ref == NULL)
        error_set(why, GLINT_E_FETCH_FAILED, NULL, "block %u of broadcast %llu not found", g->block,
                  (unsigned long long)g->id);
}

struct fetch_server *store_create_fetch_server(uv_loop_t *loop, struct store *store,
                                               struct block_store *blocks,
                                               struct broadcast_client *broadcasts)
{
    struct fetch_source sources[GET_KINDS_END] = {
        [GET_INDEX] = {.find = find_map_output_index, .release = release_index_bytes, .arg = store},
        [GET_MAP_OUTPUT] = {.find = find_map_output, .release = release_stored_bytes, .arg = store},
        [GET_RESULT] = {.find = find_stored_result, .release = release_stored_bytes, .arg = store}};
    if (blocks != NULL) sources[GET_CACHED_BLOCK] = block_store_source(blocks);
    if (broadcasts != NULL)
        sources[GET_BROADCAST_BLOCK] = (struct fetch_source){
            .find = find_broadcast_block, .release = broadcast_client_release, .arg = broadcasts};
    return fetch_server_create(loop, sources);
}
