/* Arbitrary bytes as a stage file: either rejected, or a consistent list of stages. */
#include "engine/foreign/stage_file.h"

#include <assert.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_stage(const struct stage_file *f, uint32_t number)
{
    const struct packed_stage *s = &f->stages[number];
    assert(s->outputs <= ACTION_OUTPUTS_MAX);
    for (uint32_t i = 0; i < s->parent_count; i++) assert(s->parents[i] < number);
    for (uint32_t i = 0; i < s->task_count; i++) assert(s->tasks[i].splits.size <= f->action.size);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct stage_file f = {.id = 0};
    struct glint_error error = {.code = GLINT_OK};
    const int r = stage_file_decode(&f, (struct glint_slice){data, size}, "fuzz", "b", &error);
    assert(r == error.code);
    if (r == 0) {
        assert(f.word_count > 0 && f.stage_count > 0 && f.slots <= SLOTS_MAX);
        for (uint32_t i = 0; i < f.stage_count; i++) check_stage(&f, i);
    }
    stage_file_fini(&f);
    assert(mem_live_blocks() == 0);
    return 0;
}
