/* The values in the store that are single byte strings: broadcasts that arrived inline, and results
 * that are too large for a message. */
#include "engine/executor/store_internal.h"

#include <assert.h>

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

int store_add_broadcast(struct store *s, struct message *m, struct glint_error *error)
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

void store_values_fini(struct store *s)
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
