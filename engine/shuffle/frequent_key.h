/* The one key that most records of a reduce task have, if there is such a key: its records are not
 * collected and sorted with the others. They are in order already, that of the inputs, so they are
 * read from the inputs when their turn comes. Inputs whose bytes are in this process are read a
 * second time; the records of others are kept in a run on disk, since to read them again would
 * mean to fetch them again. So a skewed key costs less than as many records with different keys,
 * and needs no memory. Internal to the reduce side; only for shuffles that do not combine. Task's
 * thread. */
#ifndef GLINT_SHUFFLE_FREQUENT_KEY_H
#define GLINT_SHUFFLE_FREQUENT_KEY_H

#include "engine/records/bytes.h"
#include "engine/shuffle/record_buffer.h"

/* Zeros: no such key. */
struct frequent_key {
    bool found;
    struct glint_slice key;
    /* Private. */
    struct glint_task *task;
    uint64_t next_check;      /* look for the key when that many records were gathered */
    struct buffer bytes;      /* of `key` */
    struct run_slice *inputs; /* [count], owned: those whose records of the key are left out */
    bool *is_kept;            /* [count]: its records are kept: to read it again means fetching */
    uint32_t count, at;       /* at: the input that is read now */
    struct run_writer writer; /* task == NULL: not open */
    struct run kept;          /* partition i: the records of input i, if is_kept[i] */
    struct run_reader reader; /* of input `at`, or of its part in `kept` */
    bool reading;
    struct buffer scratch; /* of a value that spans blocks */
};
/* Whether the records of an input are kept on disk: its bytes come from another process. */
static inline bool frequent_key_keeps(const struct run_slice *input)
{
    return input->source->memory == NULL && input->source->reread != NULL;
}
/* Call it before each input, as long as no key is found: `gathered` records of the inputs before
 * were added to `buffer`. Looks at its last records from time to time. If most of them have one
 * key, sets `found`; then the records of that key in `inputs`, those that are left, must not be
 * added to the buffer, but passed to frequent_key_skip. Returns 0 or NO_MEMORY with the task's
 * error set, as do the others with their codes; call frequent_key_fini in any case. */
int frequent_key_look(struct frequent_key *f, struct glint_task *task,
                      const struct record_buffer *buffer, uint64_t gathered,
                      const struct run_slice *inputs, uint32_t count);
static inline bool frequent_key_equals(const struct frequent_key *f, struct glint_slice key)
{
    return f->found && key.size == f->key.size && bytes_equal(key.data, f->key.data, key.size);
}
/* Leaves out the current record of `reader`, which reads inputs[input]. */
int frequent_key_skip(struct frequent_key *f, struct run_reader *reader, uint32_t input);
/* Call it once, after the last input. */
int frequent_key_finish(struct frequent_key *f);
/* Returns 1 and sets *out to the value of the next record that was left out, valid until the next
 * call; 0 at the end; a negative code. */
int frequent_key_next(struct frequent_key *f, struct glint_slice *out);
/* Frees everything and removes the run. Zeros are fine. */
void frequent_key_fini(struct frequent_key *f);

#endif
