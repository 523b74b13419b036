/* Arbitrary bytes as the header and the steps of a patch of filters: either rejected, or encoded to
 * the same bytes. The checksum of the header is also made right, so that what follows is reached.
 */
#include "jobs/commands/filter_delta.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_steps(const struct delta_head *head, const uint8_t *data, size_t size)
{
    struct delta_step before, step = {.size = 0};
    uint8_t again[DELTA_STEP_BYTES];
    for (size_t at = 0; at + DELTA_STEP_BYTES <= size; at += DELTA_STEP_BYTES) {
        before = step;
        if (delta_step_decode(data + at, head, at > 0 ? &before : NULL, &step) != NULL) return;
        if (step.size == 0 || step.part >= DELTA_PARTS_MAX || step.part < before.part) abort();
        if (step.kind == DELTA_XOR && step.old >= head->old_count) abort();
        delta_step_encode(&step, again);
        if (memcmp(again, data + at, sizeof again) != 0) abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct delta_head head;
    uint8_t bytes[DELTA_HEAD_BYTES], again[DELTA_HEAD_BYTES];
    if (size < sizeof bytes) return 0;
    if (delta_head_decode(data, &head) == NULL) {
        delta_head_encode(&head, again);
        if (memcmp(again, data, sizeof again) != 0) abort();
    }
    head = (struct delta_head){.old_count = data[8], .new_count = data[16]};
    delta_head_encode(&head, bytes);
    if (delta_head_decode(bytes, &head) != NULL || head.old_count != data[8]) abort();
    check_steps(&head, data + sizeof bytes, size - sizeof bytes);
    return 0;
}
