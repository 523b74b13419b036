/* Many sorted runs read as one: a tournament of readers, won by the least key.
 *
 * The tree holds each loser's first sixteen key bytes as a number, so most games are one comparison
 * without a look at memory elsewhere. Equal keys come in order of the inputs, which is the order of
 * the map partitions. Values are read only when asked for. */
#ifndef GLINT_DATA_MERGE_H
#define GLINT_DATA_MERGE_H

#include "engine/data/run.h"

/* Sixteen bytes of a key: ids fit in whole. */
typedef unsigned __int128 merge_prefix;

struct merge_player {
    merge_prefix prefix; /* of the key; inverted when descending */
    uint32_t input;
    bool done; /* no more records: loses against all */
};

/* Zeros are a merge that was never opened. One task's thread. */
struct merge {
    struct glint_slice key; /* of the record at hand; valid until the next call of merge_next */
    uint32_t input;         /* which input it is from */
    /* The rest is the merge's own. */
    struct run_reader *readers;
    uint32_t capacity, count;
    bool descending, started;
    struct merge_player winner;
    struct merge_player *losers; /* [count], [0] unused */
    struct buffer scratch;
};
/* At most MERGE_FAN_IN_MAX inputs, borrowed sources. May be opened again and keeps its memory. */
int merge_open(struct merge *m, struct glint_task *task, const struct run_slice *inputs,
               uint32_t count, bool descending);
/* 1: the next record; 0: no more; negative: an error. */
int merge_next(struct merge *m);
/* The value of the record at hand, once per record at most; valid until merge_next. */
int merge_value(struct merge *m, struct glint_slice *out);
void merge_close(struct merge *m);

#endif
