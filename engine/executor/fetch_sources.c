/* See fetch_sources.h. References on the store's map outputs and results are held while they are
 * sent; small parts are copied to the response to GET_INDEX. */
#include "engine/executor/fetch_sources.h"

/* The index entry of each requested map output's segment, and the small segments themselves while
 * there is room. */
static void find_output_index(void *arg, const struct get_request *g, struct fetch_found *out,
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
    while (acquired > 0) store_release_map_output(arg, runs[--acquired]);
    mem_free(runs);
    mem_free(entries);
    if (why->code != GLINT_OK) buffer_fini(&bytes);
    *out = (struct fetch_found){.bytes = {bytes.data, bytes.size}, .ref = bytes.data};
}

static void release_index(void *arg, void *ref)
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

static void release_map_output(void *arg, void *ref)
{
    store_release_map_output(arg, ref);
}

static void find_result(void *arg, const struct get_request *g, struct fetch_found *out,
                        struct glint_error *why)
{
    if (!store_acquire_result(arg, g->id, &out->bytes, &out->ref))
        error_set(why, GLINT_E_FETCH_FAILED, NULL, "result %llu not found",
                  (unsigned long long)g->id);
}

static void release_result(void *arg, void *ref)
{
    store_release_result(arg, ref);
}

static void find_broadcast_block(void *arg, const struct get_request *g, struct fetch_found *out,
                                 struct glint_error *why)
{
    out->ref = broadcast_client_find_block(arg, g->id, g->block, &out->bytes);
    if (out->ref == NULL)
        error_set(why, GLINT_E_FETCH_FAILED, NULL, "block %u of broadcast %llu not found", g->block,
                  (unsigned long long)g->id);
}

static void release_broadcast_block(void *arg, void *ref)
{
    broadcast_client_release(arg, ref);
}

struct fetch_server *fetch_sources_serve(uv_loop_t *loop, struct store *store,
                                         struct broadcast_client *broadcasts)
{
    struct fetch_source sources[GET_KINDS_END] = {
        [GET_INDEX] = {.find = find_output_index, .release = release_index, .arg = store},
        [GET_MAP_OUTPUT] = {.find = find_map_output, .release = release_map_output, .arg = store},
        [GET_RESULT] = {.find = find_result, .release = release_result, .arg = store}};
    if (broadcasts != NULL)
        sources[GET_BROADCAST_BLOCK] = (struct fetch_source){
            .find = find_broadcast_block, .release = release_broadcast_block, .arg = broadcasts};
    return fetch_server_create(loop, sources);
}
