/* Arbitrary bytes as a payload of the control pipe between a daemon and its executor process; the
 * first byte selects the message type. Payloads that decode must round-trip. */
#include "engine/executor/executor_process_config.h"

#include <assert.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void config(struct glint_slice bytes)
{
    static struct received_config first, second;
    struct glint_error error = {.code = GLINT_OK};
    struct buffer again = {NULL, 0, 0};
    int r = executor_process_config_decode(bytes, &first, &error);
    assert(r == error.code && (r == 0 || r == GLINT_E_PROTOCOL));
    if (r != 0) return;
    assert(first.config.slots > 0 && first.config.slots <= SLOTS_MAX);
    r = executor_process_config_encode(&first.config, &again, &error);
    assert(r == 0);
    r = executor_process_config_decode((struct glint_slice){again.data, again.size}, &second,
                                       &error);
    assert(r == 0 && strcmp(first.node, second.node) == 0);
    assert(first.config.memory_bytes == second.config.memory_bytes);
    buffer_fini(&again);
}

static void state(struct glint_slice bytes)
{
    struct glint_error error = {.code = GLINT_OK};
    struct executor_metrics first, second;
    struct buffer again = {NULL, 0, 0};
    int r = executor_metrics_decode(bytes, &first, &error);
    assert(r == error.code && (r == 0 || r == GLINT_E_PROTOCOL));
    if (r != 0) return;
    r = executor_metrics_encode(&first, &again, &error);
    assert(r == 0);
    r = executor_metrics_decode((struct glint_slice){again.data, again.size}, &second, &error);
    assert(r == 0 && first.memory_bytes == second.memory_bytes);
    assert(first.tasks_running == second.tasks_running);
    buffer_fini(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0) return 0;
    const struct glint_slice bytes = {data + 1, size - 1};
    if (data[0] % 2 == 0)
        config(bytes);
    else
        state(bytes);
    return 0;
}
