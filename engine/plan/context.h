/* The context: owns everything that a job builds until it is released or glint_destroy.
 * Driver thread only.
 *
 * The plan runs actions through struct runner, which the driver implements. */
#ifndef GLINT_PLAN_CONTEXT_H
#define GLINT_PLAN_CONTEXT_H

#include "engine/base/error.h"
#include "engine/base/mem.h"
#include "engine/input/column_file.h"
#include "engine/input/input_source.h"
#include "engine/plan/context_config.h"
#include "engine/plan/op.h"
#include "engine/records/pack.h"
#include "engine/records/task.h"

#include <pthread.h>

/* A set of distinct sources that have bytes to read, sorted by id. Immutable once made. Shared
 * between RDDs, each of which holds a reference. */
struct source_set {
    /* Sums, saturated at UINT64_MAX. */
    uint64_t input_bytes, decoded_bytes;
    uint32_t refs, count;
    struct source_size {
        uint32_t id;
        uint64_t input_bytes, decoded_bytes;
    } items[];
};

/* An action that explain showed instead of running it. */
struct skipped_action {
    const struct op *by; /* its operator; NULL: no action */
    uint32_t stage;      /* number of the action's last stage */
};

/* A node of the plan. Immutable once made, except for the requested partitions and splits and what
 * is found out when the plan is cut or run. */
struct glint_rdd {
    struct glint *g;
    struct glint_rdd *next, *prev; /* list of all RDDs of the context, by id, newest first */
    uint32_t id;
    /* Of the RDDs that point to it (parents, partitioner_of, sample), and of the job until
     * `released`. An exchange that is not used yet has the reference of its input, and holds none
     * on it. */
    uint32_t refs;
    uint32_t scope; /* its glint_begin_scope, from 1; 0: outside of all */
    bool released;  /* the job cannot use it any more */
    bool weak_parent;
    struct rdd_memory *memory;           /* of its slices, freed with it */
    struct glint_broadcast **broadcasts; /* that its arguments name: a reference each */
    uint32_t broadcast_count;
    const struct op *op;
    const char *name; /* of glint_with_name; NULL: none */
    struct glint_rdd *parents[2];
    uint32_t parent_count;
    struct glint_schema schema;
    bool grouped;     /* the records of a key are adjacent and form one group */
    unsigned persist; /* glint_persist: bits of enum glint_level; 0: not persisted */
    /* Equal keys are in the same partition, which the last shuffle chose. Of a union: if it is
     * narrow, which is known when it is counted (rdd.c). */
    bool key_partitioned;
    /* Wide: its parent's partitions are those that it would make, so it sorts and combines them
     * without a shuffle. Union: partition p is that of both parents. Valid once `counted` is set.
     */
    bool narrow;
    bool partitioner_fixed; /* wide: the job chose its partitioner */
    uint32_t maps;          /* wide, after rdd_cut_lineage: the partitions that its parent had */
    uint64_t walk;          /* the last walk of a stage that found it */
    /* Persisted: the shuffles that its stage reads above it, once they are known (stage_plan.c); in
     * its own memory, or in that of an ancestor. */
    struct glint_rdd **stage_inputs; /* NULL: not known */
    uint32_t stage_input_count;
    uint32_t blocks_read_in; /* persisted: the number of the last action that reads its blocks */
    /* Wide: the shuffle whose partitioner it has, if it is narrow or another RDD's `exchange`. */
    struct glint_rdd *partitioner_of;
    struct glint_rdd
        *sample; /* sortByKey: whose keys choose the ranges; NULL: those of its input */
    /* One of several inputs of a wide RDD: shuffles this input alone if others need no shuffle. */
    struct glint_rdd *exchange;
    const struct glint_function *fn;
    struct glint_slice args, params; /* encoded as msgpack */
    struct shuffle_dependency dependency;
    /* Of all sources that it descends from, each counted once; of a source without children
     * decoded_bytes is 0: the columns that it reads are not known. */
    uint64_t input_bytes, decoded_bytes;
    bool header;          /* source: skip the first line of each file */
    bool side;            /* descends only from side files: explain runs its actions */
    bool estimated;       /* explain: the input was not read, so its splits are an estimate */
    /* Explain: it reads outputs that an earlier action of the job would have saved, so its size is
     * unknown. A source has one split for each of these parts. */
    bool unsized;
    uint32_t unwritten_parts;
    /* NULL: no input bytes; of a source: itself, made on first use. */
    struct source_set *sources;
    /* Of sources only. */
    const struct input_list *inputs; /* the files to read; NULL: none */
    void *source;                    /* the operator's state; freed with source_free */
    void (*source_free)(void *source);
    int (*make_splits)(struct glint_rdd *rdd,
                       uint64_t split_bytes); /* calls rdd_add_split in order */
    struct glint_slice *splits;
    uint64_t split_capacity;
    uint64_t split_bytes_requested;
    /* Valid once `counted` is set. */
    uint32_t partitions, partitions_requested;
    uint32_t partitions_inherited; /* as requested of this or an earlier shuffle; 0: of none */
    bool counted;
    /* Called once before the stage that contains this RDD is cut (for a wide RDD: its map stage),
     * to compute what depends on the data, such as the range bounds of a sort. May run an action.
     * Returns 0 or the context's code. NULL: nothing to do. */
    int (*prepare)(struct glint_rdd *rdd);
    bool shuffled;  /* wide: its map outputs are available */
    uint32_t stage; /* wide: number of its map stage, from 1; 0: not assigned yet */
    bool explained; /* wide: explain has shown its map stage */
    /* Explain: the action whose result `prepare` would have needed; `by` is NULL if none. */
    struct skipped_action prepared;
    /* For the last RDD of a transformation that consists of several: the wide RDD among them, to
     * which glint_with_partitions applies. NULL for all others. */
    struct glint_rdd *shuffle;
};

/* Arguments of a function while the job adds them. The context owns all. */
struct glint_args {
    struct glint *g;
    struct packer pairs; /* names and values, without the header of the array */
    uint32_t count, broadcast_count;
    uint64_t broadcast_capacity;
    struct args_broadcast {
        struct glint_broadcast *broadcast;
        uint64_t id; /* another one: it was destroyed */
    } * broadcasts;
    uint64_t bound_bytes; /* of the function's state (glint_bind) */
    struct glint_args *next;
};

/* A broadcast value, owned by the context. */
struct glint_broadcast {
    uint64_t id; /* 0: it is destroyed, and `next` is in the list of those */
    void *data;
    uint64_t size;
    uint32_t refs; /* of the RDDs whose arguments name it, and of the job until `released` */
    bool released;
    struct glint_broadcast *next;
};

/* What glint_begin_scope begins. */
struct plan_scope {
    struct plan_scope *outer;
    uint32_t depth, first_rdd; /* depth from 1; the first id of its RDDs */
    uint64_t first_broadcast;
    struct glint_args *args; /* those before */
    struct arena arena;      /* what the context allocates meanwhile */
};

/* One run of an action, as the operator requests it. */
struct action {
    const struct op *op; /* its kind is OP_ACTION */
    struct glint_rdd *rdd;
    const struct glint_function *fn;
    struct glint_slice args, params;
    /* The partitions to run, in order; NULL: all. */
    const uint32_t *partitions;
    uint32_t partition_count;
    /* Directories to publish when the job ends, or with `publish` when the action has succeeded; at
     * most ACTION_OUTPUTS_MAX. */
    const char *const *outputs;
    uint32_t output_count;
    bool publish;
    bool internal; /* run by the engine, such as sampling: its counters are not added */
    /* Called with each partition's result, in order of the partitions. A non-zero return value ends
     * the action and is returned by run; it sets no error. */
    int (*on_result)(void *arg, uint32_t partition, struct glint_slice result);
    void *arg;
};

/* A cached block, and the executor that has it; UINT32_MAX: none has. */
struct block_location {
    uint32_t executor;
    uint64_t bytes;
};

/* What the plan needs of the driver, which implements it. `run` returns 0, the return value of
 * on_result, or the context's error code. The driver's thread. */
struct driver;
struct runner {
    int (*run)(struct driver *d, const struct action *action);
    /* Checks and creates an output that a later action will save to. Returns 0 or the context's
     * code. */
    int (*reserve)(struct driver *d, const char *path);
    /* Whether the stages of the action read all blocks of a persisted RDD, so that what is above it
     * in its stage is no part of their plans. The answer does not change while tasks run, unless a
     * block is lost. NULL: they never do. */
    bool (*reads_blocks)(struct driver *d, struct glint_rdd *rdd);
    /* Where the block of a partition is, of an RDD for which reads_blocks is true. */
    struct block_location (*find_block)(struct driver *d, const struct glint_rdd *rdd,
                                        uint32_t partition);
    /* Removes the blocks of an RDD that is no longer persisted. */
    void (*unpersist)(struct driver *d, const struct glint_rdd *rdd);
    /* Frees what executors keep of an RDD that no other needs: its blocks and map outputs. */
    void (*free_rdd)(struct driver *d, const struct glint_rdd *rdd);
    /* The same for a broadcast. Takes ownership of its data. */
    void (*free_broadcast)(struct driver *d, uint64_t id, void *data);
    /* Returns a descriptor that is readable once the job is interrupted or its time has passed
     * (base/cancel.h), for what blocks outside of actions; or the context's code. */
    int (*cancel_file)(struct driver *d);
    /* Sets the context's error if the job was interrupted or its time has passed. */
    void (*check_interrupt)(struct driver *d);
    /* Removes what the action that failed wrote, and forgets an interrupt. */
    void (*clear_error)(struct driver *d);
    int64_t (*counter)(struct driver *d, const char *name);
    bool (*accumulator)(struct driver *d, const char *name, struct glint_cell *out);
    void (*clear_accumulator)(struct driver *d, const char *name);
};

struct probed_source {
    struct glint_rdd *rdd; /* NULL: it could not be made */
    struct glint_error error;
    const char *paths;
    struct probed_source *next;
};

#define CONTEXT_WARNINGS_MAX 64 /* that it remembers */

/* The public context. */
struct glint {
    struct context_config config; /* with defaults filled in */
    uint64_t job_id;              /* never 0 */
    struct glint_error error;
    struct arena arena;
    struct glint_rdd *rdds;
    uint32_t rdd_count;
    /* Freed ones, the oldest first: their memory is used again late, so that calls that get one
     * report it. */
    struct glint_rdd *freed, *freed_last;
    uint32_t freed_count;
    struct glint_args *args;
    struct glint_broadcast *broadcasts; /* newest first */
    struct glint_broadcast *destroyed, *destroyed_last;
    uint32_t destroyed_count;
    struct plan_scope *scope;      /* the innermost one; NULL: none */
    uint32_t running;              /* actions that run: more than 1 if one is needed for another */
    uint64_t walks;                /* of stages (stage_plan.c) */
    struct input_spool spool;      /* its copies of piped input */
    struct column_schemas schemas; /* of its files of columns */
    /* The delimiter of its input, and so of text outputs, that are CSV; JSON_ROW: rows of JSON
     * lines; 0: plain lines. */
    uint8_t csv;
    /* Sources that were made to look at their files (glint_probe_columns), until textFile with the
     * same paths takes them. */
    struct probed_source *probed;
    bool noted_columns; /* a note said that files have other columns */
    const char *warned[CONTEXT_WARNINGS_MAX]; /* texts of glint_warn: each is printed once */
    uint32_t warned_count;
    struct glint_slice nulls;         /* of that input (input/csv.h) */
    const struct saved_output *saved; /* outputs that actions have saved, or that explain showed */
    uint32_t next_rdd;
    uint64_t next_broadcast;
    bool aborted; /* the error came from glint_abort */
    /* Explain: `skipped` is the last action that was not run, `empty` the last one for which the
     * job received an empty result; empty_results counts those. */
    struct skipped_action skipped, empty;
    uint32_t empty_results;
    struct glint_answer *answers;
    struct glint_summary summary; /* of glint_summarize */
    const struct runner *runner;  /* NULL: no driver */
    struct driver *driver;
    /* Set if functions kept running after they were cancelled. Memory that they may use is then not
     * freed, and the process must exit without joining their threads. */
    bool stuck;
    pthread_t thread; /* created the context, and is the only one that uses it */
    struct glint *next_live;
};

/* Init and fini for the plan's part of a context, on the caller's memory: used by context_create
 * and glint_destroy. */
void context_init(struct glint *g, const struct context_config *config);
void context_fini(struct glint *g);
bool context_failed(const struct glint *g);
/* A wait that ended because the job is interrupted has set INTERRUPTED: the context's error becomes
 * the reason, such as TERMINATED or TIMEOUT. Returns the context's code. */
int context_check_interrupt(struct glint *g);
/* Zeroed, freed with the scope (glint_begin_scope) or the context; NULL with the error set. */
void *scope_alloc(struct glint *g, uint64_t size);
/* Copies `s` into such memory. Returns data NULL with the error set when out of memory. */
struct glint_slice scope_copy_slice(struct glint *g, struct glint_slice s);
/* The same, freed with the RDD. */
void *rdd_alloc(struct glint_rdd *rdd, uint64_t size);
struct glint_slice rdd_copy_slice(struct glint_rdd *rdd, struct glint_slice s);

/* ---- Building plans: for the driver halves of operators. NULL means that the error is set. */

/* What an operator's driver half sets to create an RDD; all else is derived. Zeros are defaults. */
struct rdd_spec {
    const struct op *op;
    struct glint_rdd *parents[2];
    const struct glint_function *function; /* of this program (registry_find_function) */
    struct glint_args *args;
    struct glint_slice params;  /* copied */
    struct glint_schema schema; /* ANY: the function's output type, or else the parent's */
    bool grouped, key_partitioned, partitioner_fixed;
    struct shuffle_dependency dependency;
};
struct glint_rdd *rdd_create(struct glint *g, const struct rdd_spec *spec);
/* Like rdd_create, with the content of `params` as spec->params. Ends the packer. */
struct glint_rdd *rdd_create_packed(struct glint *g, const struct rdd_spec *spec,
                                    struct packer *params);
struct glint_rdd *rdd_add_split(struct glint_rdd *rdd, struct glint_slice split); /* copied */
/* Sets a plan error about `rdd`'s operator. Returns NULL. */
struct glint_rdd *rdd_fail(struct glint_rdd *rdd, enum glint_code code, const char *cause, ...)
    __attribute__((format(printf, 3, 4)));
/* Sets the sources and input_bytes of a new RDD from its parents. When out of memory, sets the
 * context's error. */
void source_set_unref(struct source_set *set); /* NULL is allowed */
/* Returns the error code for a public call (`call` is its Spark name) that got NULL for an RDD: the
 * error that a context of this thread already has. If none has one, the job passed NULL by mistake,
 * and all contexts of this thread get PLAN_RDD. */
int rdd_null_error(const char *call);
/* The same for calls that return an RDD. */
static inline struct glint_rdd *rdd_fail_null(const char *call)
{
    rdd_null_error(call);
    return NULL;
}
/* Sets PLAN_RDD if the job has released the RDD. Returns the context's code. */
int rdd_check_usable(const struct glint_rdd *rdd, const char *call);
bool rdd_is_pair(const struct glint_rdd *rdd);
/* Whether it is wide and needs its shuffle. Valid once partitions are counted. */
static inline bool rdd_is_shuffle(const struct glint_rdd *rdd)
{
    return rdd->op->kind == OP_WIDE && !rdd->narrow;
}
/* True if explain shows actions on `rdd` and returns empty results instead of running them. */
bool rdd_is_explain_only(const struct glint_rdd *rdd);
/* True if a context of this thread explains, so that results may be empty. */
bool context_is_explaining(void);
/* Returns the number of partitions. The first call makes the splits of sources, and makes the
 * requested numbers of partitions final. Returns 0 with the error set, or if there are no
 * partitions. */
uint32_t rdd_partition_count(struct glint_rdd *rdd);
/* Computes the range [first, end) of the parent's partitions that coalesced partition `p` reads. */
void rdd_coalesce_range(uint32_t parent_partitions, uint32_t partitions, uint32_t p,
                        uint32_t *out_first, uint32_t *out_end);

/* ---- Lifetimes */

/* Returns a zeroed RDD in the context's list, with the job's reference; NULL with the error set. */
struct glint_rdd *rdd_add(struct glint *g);
static inline struct glint_rdd *rdd_ref(struct glint_rdd *rdd)
{
    rdd->refs++;
    return rdd;
}
/* Ends the references of a shuffle, whose map outputs are complete and cannot be lost, on what it
 * was computed from: it is never computed again. Not while an action runs. */
void rdd_cut_lineage(struct glint_rdd *shuffle);
/* The number of map tasks of a shuffle. */
static inline uint32_t rdd_map_count(const struct glint_rdd *shuffle)
{
    return shuffle->parent_count > 0 ? shuffle->parents[0]->partitions : shuffle->maps;
}
/* Adds references of `rdd` on the broadcasts of `args`. False: out of memory. */
bool rdd_ref_broadcasts(struct glint_rdd *rdd, const struct glint_args *args);

/* ---- Functions and arguments */

/* Find a function or operator by name in the program's tables. NULL: not registered. */
const struct glint_function *registry_find_function(const struct context_config *config,
                                                    const char *name);
const struct op *registry_find_op(const struct context_config *config, const char *name);
/* Checks that the operator can call the function on records with schema `in`. Returns 0, or
 * PLAN_FUNCTION or PLAN_TYPE with *error set. */
int op_check_function(const struct op *op, const struct glint_function *fn, struct glint_schema in,
                      struct glint_error *error);
/* Takes the functions of glint_with_partitioner, for op_check_function. */
extern const struct op op_with_partitioner;
/* The same for the plan of a job: executors must find the function by its name, too. Returns 0 or
 * the context's code. */
int plan_check_function(struct glint *g, const struct op *op, const struct glint_function *fn,
                        struct glint_schema in);
/* As glint_arg_broadcast, and sets the broadcast's id. */
int arg_broadcast_find(struct glint_task *task, const char *name, uint64_t *out_id,
                       struct glint_slice *out);
/* Encodes arguments (NULL: none) as a msgpack map, freed with `rdd`, which also keeps the
 * broadcasts; without one as memory of scope_alloc. Returns data NULL with the error set when out
 * of memory, or if a broadcast in them was destroyed. */
struct glint_slice args_encode(struct glint *g, struct glint_rdd *rdd,
                               const struct glint_args *args, const struct glint_function *fn);
/* Encodes one value. Returns data NULL with the error set when out of memory. */
struct glint_slice context_encode_value(struct glint *g, enum glint_type type,
                                        const union glint_value *v);
struct glint_slice rdd_encode_value(struct glint_rdd *rdd, enum glint_type type,
                                    const union glint_value *v);

/* Runs an action on the context's runner. Returns as struct runner's `run`. */
int run_action_of_rdd(const struct action *action);
/* Records an output of this job, so that sources made from now on read it by its path. Copied.
 * Returns 0 or the context's code. */
int context_add_saved_output(struct glint *g, const struct saved_output *saved);
/* After an error about an input: adds a hint if `paths` name an output that the job itself
 * saved. */
void context_set_hint_of_saved_output(struct glint *g, const char *paths);

/* "memory", "disk", "memory and disk". */
const char *persist_level_name(unsigned level);

/* Runs a job's function on the driver, to merge the results of tasks. The function sees a normal
 * task, but its counters and accumulators are
 * dropped. */

/* A task without an executor, on the driver. */
struct driver_task {
    struct glint *g;
    struct glint_task task;
    struct task_options options;
};
/* Driver thread. The context must have no error. The struct must not move before
 * driver_task_fini. */
void driver_task_init(struct driver_task *t, struct glint *g);
/* Frees the task's memory and moves its error, if any, to the context. Returns the context's
 * code. */
int driver_task_fini(struct driver_task *t);

/* Which wide RDDs need no shuffle, because their parents are partitioned alike: Spark's default
 * partitioner. Two RDDs are partitioned alike if their keys were distributed over as many
 * partitions by the same partitioner: both by hash, both by the same function and arguments, or
 * both by the bounds of the same sort. */

/* Returns the wide RDD whose partitioner distributed the keys of `rdd`, which is counted. NULL:
 * none. */
struct glint_rdd *partitioning_find_shuffle(struct glint_rdd *rdd);
/* Creates the RDD that shuffles `input`, one of several inputs of a wide RDD, if the others need no
 * shuffle. Returns false with the error set. */
bool partitioning_add_exchange(struct glint_rdd *input);

#endif
