/* Arbitrary bytes as a cluster file: either rejected with a cause and a position, or a cluster in
 * which every setting that other code relies on is present and within its limits. */
#include "engine/cli/cluster_file.h"
#include "tests/support/memory_env.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const struct cluster *c)
{
    const struct liveness_limits *l = &c->heartbeat;
    if (c->name == NULL || c->name[0] == '\0' || c->executor_count == 0) abort();
    if (l->heartbeat_ns >= l->suspect_ns || l->suspect_ns >= l->dead_ns) abort();
    if (c->launch_command == NULL || c->launch_command[0] == NULL) abort();
    if (c->drivers_max == 0 || c->connect_ms == 0 || c->start_ms == 0 || c->drain_ms == 0) abort();
    for (uint32_t i = 0; i < c->executor_count; i++) {
        const struct cluster_executor *e = &c->executors[i];
        if (e->id == NULL || strchr(e->id, '/') != NULL || e->host[0] == '-') abort();
        if (e->port == 0 || e->slots < c->drivers_max || e->slots > SLOTS_MAX) abort();
        if (e->memory_bytes / e->slots < SLOT_MEMORY_BYTES_MIN) abort();
        for (uint32_t j = 0; j < i; j++)
            if (strcmp(c->executors[j].id, e->id) == 0) abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct glint_error error = {.code = GLINT_OK};
    struct cluster_file file;
    struct memory_env memory;
    memory_env_init(&memory, data, size);
    setenv("GLINT_CLUSTER", "/fuzz.toml", 1);
    if (cluster_file_read(&file, &memory.env, NULL, false, &error) == GLINT_OK)
        check(&file.cluster);
    else if (error.code != GLINT_E_CONFIG || error.cause[0] == '\0')
        abort();
    if (memory.open_files != 0) abort();
    cluster_file_fini(&file);
    return 0;
}
