/* Reads all inputs of a reduce task, in map order, and sorts their records: in memory if they fit
 * into the budget, else as sorted runs on disk. Equal keys keep the order of the inputs, and of the
 * records in an input. Internal to the reduce side. Task's thread. */
#ifndef GLINT_SHUFFLE_GATHER_H
#define GLINT_SHUFFLE_GATHER_H

#include "engine/shuffle/frequent_key.h"
#include "engine/shuffle/gather_table.h"
#include "engine/shuffle/match_filter.h"
#include "engine/shuffle/shuffle_spec.h"

/* Zeros before gather_inputs. */
struct gather {
    bool combined;             /* all records are in `table`, combined and sorted by key */
    struct gather_table table;
    struct record_buffer buffer; /* all records, sorted by key, if nothing was spilled */
    struct run **runs;           /* [run_count], to be merged in this order; owned */
    uint32_t run_count;
    /* If found, records of this key are missing in the buffer and the runs. They come after those
     * of the same key that are there. */
    struct frequent_key frequent;
    /* Private. */
    struct glint_task *task;
    const struct shuffle_spec *spec;
    uint64_t records; /* of all inputs */
    uint64_t budget;  /* bytes of the buffer */
    bool matching;    /* a record that needs a match was found: the filter is complete */
    struct match_filter filter;
    uint64_t run_capacity;
    struct run_reader reader;
    struct buffer scratch; /* of a value that spans blocks */
};
/* Whether the inputs fit into the memory of one task, and their records are small: sorting them
 * then costs less than merging. */
bool gather_is_cheaper(const struct glint_task *task, const struct run_slice *inputs,
                       uint32_t count);
/* `may_combine`: the values of a key may be merged here, with the function's `state`. Returns 0 or
 * a negative code with the task's error set; call gather_fini in both cases. */
int gather_inputs(struct gather *g, struct glint_task *task, const struct shuffle_spec *spec,
                  void *state, bool may_combine, const struct run_slice *inputs, uint32_t count);
/* Frees everything and removes the runs that are left. Zeros are fine. */
void gather_fini(struct gather *g);

#endif
