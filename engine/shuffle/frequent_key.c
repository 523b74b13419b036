/* See frequent_key.h. The key is looked for among the records gathered so far, with the majority
 * vote of Boyer and Moore; whether it is found has no effect on the order of records, only on what
 * the task costs. */
#include "engine/shuffle/frequent_key.h"

#include "engine/shuffle/merge_pass.h"

#include <assert.h>

#define LOOK_RECORDS 1024u /* as many are looked at, and there must be as many */

static struct glint_slice frequent_entry_key(const struct record_buffer *b,
                                             const struct sort_entry *e)
{
    return record_buffer_get(b, sort_entry_reference(e)).key;
}

static bool keys_equal(struct glint_slice a, struct glint_slice b)
{
    return a.size == b.size && bytes_equal(a.data, b.data, a.size);
}

/* Returns whether more than half of the buffer's last records have one key, and sets *out to it. */
static bool find_majority(const struct record_buffer *b, struct glint_slice *out)
{
    const struct sort_entry *end = record_buffer_entries(b) + record_buffer_count(b);
    const struct sort_entry *begin = end - LOOK_RECORDS;
    uint32_t votes = 0, count = 0;
    struct glint_slice candidate = {NULL, 0};
    for (const struct sort_entry *e = begin; e < end; e++) {
        const struct glint_slice key = frequent_entry_key(b, e);
        if (votes == 0) candidate = key;
        votes = votes == 0 || keys_equal(key, candidate) ? votes + 1 : votes - 1;
    }
    for (const struct sort_entry *e = begin; e < end; e++)
        count += keys_equal(frequent_entry_key(b, e), candidate);
    *out = candidate;
    return count > LOOK_RECORDS / 2;
}

int frequent_key_look(struct frequent_key *f, struct glint_task *task,
                      const struct record_buffer *buffer, uint64_t gathered,
                      const struct run_slice *inputs, uint32_t count)
{
    struct glint_slice key;
    assert(!f->found);
    if (gathered < f->next_check || record_buffer_count(buffer) < LOOK_RECORDS) return 0;
    f->next_check = 2 * gathered; /* the cost of all checks is small */
    if (!find_majority(buffer, &key)) return 0;
    f->inputs = mem_alloc(count * sizeof *inputs);
    f->is_kept = mem_alloc(count * sizeof *f->is_kept);
    if (f->inputs == NULL || f->is_kept == NULL || !buffer_append(&f->bytes, key.data, key.size))
        return error_no_memory(&task->error);
    for (uint32_t i = 0; i < count; i++) {
        f->inputs[i] = inputs[i];
        f->is_kept[i] = frequent_key_keeps(&inputs[i]);
    }
    f->key = (struct glint_slice){f->bytes.data, f->bytes.size};
    f->count = count;
    f->task = task;
    f->found = true;
    return 0;
}

int frequent_key_skip(struct frequent_key *f, struct run_reader *reader, uint32_t input)
{
    struct glint_slice value;
    assert(f->found && input < f->count);
    if (!f->is_kept[input]) return 0;
    int r = f->writer.task != NULL ? 0 : run_writer_init(&f->writer, f->task, f->count, 0);
    if (r == 0) r = run_reader_value(reader, &f->scratch, &value);
    return r < 0 ? r : run_writer_add(&f->writer, input, f->key, value);
}

int frequent_key_finish(struct frequent_key *f)
{
    if (f->writer.task == NULL) return 0;
    int r = run_writer_finish(&f->writer, &f->kept);
    if (r < 0) return r;
    f->kept.sorted = true;
    merge_pass_count_spill(f->task, &f->kept);
    return 0;
}

/* Opens the records of input `at`: those kept, none if there are none, or the input itself. */
static int open_input(struct frequent_key *f)
{
    struct run_slice input = f->inputs[f->at];
    if (f->is_kept[f->at] && f->kept.partitions > 0)
        input = run_slice(&f->kept, f->at);
    else if (f->is_kept[f->at])
        input.part = (struct run_part){.records = 0};
    f->reading = true;
    return run_reader_open(&f->reader, f->task, input);
}

int frequent_key_next(struct frequent_key *f, struct glint_slice *out)
{
    while (f->at < f->count) {
        int more = f->reading ? 1 : open_input(f);
        if (more < 0) return more;
        while ((more = run_reader_next(&f->reader)) > 0) {
            if (!frequent_key_equals(f, f->reader.key)) continue;
            const int r = run_reader_value(&f->reader, &f->scratch, out);
            return r < 0 ? r : 1;
        }
        if (more < 0) return more;
        f->reading = false;
        f->at++;
    }
    return 0;
}

void frequent_key_fini(struct frequent_key *f)
{
    run_reader_close(&f->reader);
    run_writer_abort(&f->writer);
    run_destroy(&f->kept);
    buffer_fini(&f->bytes);
    buffer_fini(&f->scratch);
    mem_free(f->inputs);
    mem_free(f->is_kept);
    *f = (struct frequent_key){.found = false};
}
