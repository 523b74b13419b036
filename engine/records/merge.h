/* A k-way merge of sorted runs with a loser tree; the least key wins.
 *
 * The tree contains the first sixteen key bytes of each loser as a number, so most matches are one
 * comparison without a cache miss. Equal keys are returned in order of the inputs, which is the
 * order of the map partitions. Values are read on demand. */
#ifndef GLINT_RECORDS_MERGE_H
#define GLINT_RECORDS_MERGE_H

#include "engine/records/run.h"

/* The first sixteen bytes of a key: all of it for most ids. */
typedef unsigned __int128 merge_prefix;

/* An input's current record in the tree. */
struct merge_player {
    merge_prefix prefix; /* of the key; inverted when descending */
    uint32_t input;
    bool done; /* no more records: loses every match */
};

/* Zeros are a closed merge. Task's thread. */
struct merge {
    struct glint_slice key; /* of the current record; valid until the next call of merge_next */
    uint32_t input;         /* index of its input */
    /* Private. */
    struct run_reader *readers;
    uint32_t capacity, count;
    bool descending, started;
    struct merge_player winner;
    struct merge_player *losers; /* [count], [0] unused */
    struct buffer scratch;       /* of values that span blocks */
};
/* Opens at most MERGE_FAN_IN_MAX inputs; their sources are borrowed. An open merge may be opened
 * again and reuses its memory. Returns 0 or a negative code with the task's error set; call
 * merge_close in both cases. */
int merge_open(struct merge *m, struct glint_task *task, const struct run_slice *inputs,
               uint32_t count, bool descending);
/* Returns 1 and sets key and input to the next record; 0 at the end; a negative code with the
 * task's error set. */
int merge_next(struct merge *m);
/* Reads the value of the current record, at most once per record; valid until merge_next. Returns 0
 * or a negative code with the task's error set. */
int merge_value(struct merge *m, struct glint_slice *out);
void merge_close(struct merge *m);

#endif
