/* The context: everything a job builds lives here until glint_destroy. Driver thread only.
 *
 * It knows who can run actions (struct runner, the driver) but not how. */
#ifndef GLINT_PLAN_CONTEXT_H
#define GLINT_PLAN_CONTEXT_H

#include "engine/base/error.h"
#include "engine/base/mem.h"
#include "engine/limits.h"
#include "engine/plan/op.h"
#include "engine/plan/progress.h"

#include <pthread.h>
#include <stdarg.h>

struct input_list;
struct saved_output;
struct packer;

/* Distinct sources with bytes to read, by id. Shared between RDDs; never changed once made. */
struct source_set {
    uint64_t bytes; /* their input_bytes together; UINT64_MAX if they are more */
    uint32_t count;
    struct glint_rdd *items[];
};

/* An action that explain has shown and not run. */
struct skipped_action {
    const struct op *by; /* NULL: none */
    uint32_t stage;      /* the number of its own stage */
};

/* One node of the plan. Immutable once made, but for the wishes and what running found out. */
struct glint_rdd {
    struct glint *g;
    struct glint_rdd *next; /* all RDDs of the context */
    uint32_t id;
    const struct op *op;
    struct glint_rdd *parents[2];
    uint32_t parent_count;
    struct glint_schema schema;
    bool grouped;         /* a key's records stand together and are one group */
    bool key_partitioned; /* equal keys are in one partition: where hash_partition says */
    const struct glint_function *fn;
    struct glint_slice args, params; /* msgpack */
    struct shuffle_dependency dependency;
    uint64_t input_bytes; /* of all sources that it descends from, each once */
    bool header;          /* of a source: the first line of each file is no row */
    bool side;            /* descends from side files only: explain runs its actions */
    bool estimated;       /* explain: lines were not read, so its splits are a guess */
    /* Explain: it reads what the job itself would have saved before, whose size is not known. A
     * source has a split for each of these parts. */
    bool unsized;
    uint32_t unwritten_parts;
    const struct source_set *sources; /* NULL: none has bytes; a source's own: when first needed */
    /* Sources. */
    const struct input_list *inputs; /* the files that it reads; NULL: none */
    void *source;                    /* the operator's; freed with source_free */
    void (*source_free)(void *source);
    int (*make_splits)(struct glint_rdd *rdd,
                       uint64_t split_bytes); /* calls rdd_add_split in order */
    struct glint_slice *splits;
    uint32_t split_capacity;
    uint64_t split_bytes_requested;
    /* Known once `counted`. */
    uint32_t partitions, partitions_requested;
    bool counted;
    /* Called once before its stage is cut (of a wide node: its map stage), to find out what only
     * running can tell: the bounds of a sort. It may run an action of its own. 0 or the context's
     * code. NULL: nothing to do. */
    int (*prepare)(struct glint_rdd *rdd);
    bool shuffled;  /* wide: its map outputs exist */
    uint32_t stage; /* wide: the number of the stage that makes them, from 1; 0: none yet */
    bool explained; /* wide: explain has shown that stage */
    /* Explain: what `prepare` would have needed the result of; by NULL: nothing. */
    struct skipped_action prepared;
    /* The last node of a transformation that is made of several: the one among them that shuffles,
     * whose partitions a wish means. Else NULL. */
    struct glint_rdd *shuffle;
};

struct glint_args {
    struct glint *g;
    struct buffer pairs; /* msgpack, without the map's header */
    uint32_t count;
    struct glint_args *next;
};

struct glint_broadcast {
    uint64_t id;
    void *data;
    uint64_t size;
    bool sent;
    struct glint_broadcast *next;
};

/* One run of a plan, as an action asks for it. */
struct action {
    const struct op *op; /* OP_ACTION */
    struct glint_rdd *rdd;
    const struct glint_function *fn;
    struct glint_slice args, params;
    /* Which partitions, in which order; NULL: all. */
    const uint32_t *partitions;
    uint32_t partition_count;
    /* Directories to publish when the job ends; at most ACTION_OUTPUTS_MAX. */
    const char *const *outputs;
    uint32_t output_count;
    bool internal; /* sampling: its counters add nothing */
    /* In order of the partitions. Non-zero ends the action, without an error of its own. */
    int (*on_result)(void *arg, uint32_t partition, struct glint_slice result);
    void *arg;
};

/* Whoever runs actions: the driver. Answers 0, what on_result answered, or the context's error. */
struct runner {
    int (*run)(struct runner *r, const struct action *action);
    /* Opens an output that a later action will save to. 0 or the context's code. */
    int (*reserve)(struct runner *r, const char *path);
    /* Publishes or, after an error, removes outputs. */
    int (*finish)(struct runner *r);
    void (*interrupt)(struct runner *r, enum glint_code code);
    void (*summarize)(struct runner *r, struct glint_summary *out);
    int64_t (*counter)(struct runner *r, const char *name);
    void (*destroy)(struct runner *r);
    /* Functions run that did not end when they were told to: all that they may reach stays, and the
     * process is to end without them. */
    bool stuck;
};

struct glint {
    struct glint_config config; /* with defaults filled in */
    uint64_t job_id;            /* not 0 */
    struct glint_error error;
    struct arena arena;
    struct glint_rdd *rdds;
    struct glint_args *args;
    struct glint_broadcast *broadcasts;
    const struct saved_output *saved; /* outputs that its actions have saved, or explain showed */
    uint32_t next_rdd;
    uint64_t next_broadcast;
    bool aborted; /* the error is the job's own: glint_abort */
    /* Explain: the last action that was not run; the last one of the job itself, which was given an
     * empty result, and how many there were. */
    struct skipped_action skipped, empty;
    uint32_t empty_results;
    struct runner *runner;
    pthread_t thread; /* the one that made it, and uses it */
    struct glint *next_live;
};

/* The parts of glint_create and glint_destroy that belong to the plan. */
void context_init(struct glint *g, const struct glint_config *config);
void context_fini(struct glint *g);
bool context_failed(const struct glint *g);
void *context_alloc(struct glint *g, uint64_t size); /* zeroed; NULL: the error is set */
/* Memory of the context holding a copy. data NULL and the error set without memory. */
struct glint_slice context_copy_slice(struct glint *g, struct glint_slice s);

/* ---- Building plans: for operators' driver halves. NULL means that the error is set. */

struct rdd_spec {
    const struct op *op;
    struct glint_rdd *parents[2];
    const char *function; /* name */
    struct glint_args *args;
    struct glint_slice params;  /* copied */
    struct glint_schema schema; /* ANY: the function's, or else the parent's */
    bool grouped, key_partitioned;
    struct shuffle_dependency dependency;
};
struct glint_rdd *rdd_create(struct glint *g, const struct rdd_spec *spec);
/* With what was packed as spec->params; ends the packer. */
struct glint_rdd *rdd_create_packed(struct glint *g, const struct rdd_spec *spec,
                                    struct packer *params);
struct glint_rdd *rdd_add_split(struct glint_rdd *rdd, struct glint_slice split); /* copied */
/* A plan error about `rdd`'s operator. Answers NULL. */
struct glint_rdd *rdd_fail(struct glint_rdd *rdd, enum glint_code code, const char *cause, ...)
    __attribute__((format(printf, 3, 4)));
/* Sets the sources and input bytes of a new RDD from its parents'. Without memory the context's
 * error is set. */
void rdd_inherit_sources(struct glint_rdd *rdd);
/* For a call, named as in Spark, that got NULL for an RDD. After an error that is what calls
 * return; where no context of this thread has one, it is the job's mistake, and all of them get
 * PLAN_RDD. Returns the error's code. */
int rdd_null_error(const char *call);
/* The same for calls that return an RDD. */
static inline struct glint_rdd *rdd_fail_null(const char *call)
{
    rdd_null_error(call);
    return NULL;
}
bool rdd_is_pair(const struct glint_rdd *rdd);
/* Explain only: do actions on `rdd` show their plan, and give the job an empty result? */
bool rdd_is_explain_only(const struct glint_rdd *rdd);
/* A context of this thread explains, so the job may hold empty results. */
bool context_is_explaining(void);
/* The number of partitions; sources are cut and wishes are final from here on. 0 with the error
 * set, or where there is none. */
uint32_t rdd_partition_count(struct glint_rdd *rdd);
/* The parent's range of partitions that a coalesced partition reads. */
void rdd_coalesce_range(uint32_t parent_partitions, uint32_t partitions, uint32_t p,
                        uint32_t *out_first, uint32_t *out_end);

/* ---- Functions and arguments */

const struct glint_function *registry_find_function(const struct glint_config *config,
                                                    const char *name);
const struct op *registry_find_op(const struct glint_config *config, const char *name);
/* May the operator call the function (NULL: none is registered as `name`) on records of shape `in`?
 * 0 or a code with *error set. */
int op_check_function(const struct op *op, const struct glint_function *fn, const char *name,
                      struct glint_schema in, struct glint_error *error);
/* A function for an action, checked against the RDD it works on. NULL: error set. */
const struct glint_function *action_find_function(struct glint_rdd *rdd, const struct op *op,
                                                  const char *name);
struct glint_slice args_encode(struct glint *g, const struct glint_args *args);
/* One value as a msgpack array of one, for params. */
struct glint_slice context_encode_value(struct glint *g, enum glint_type type,
                                        const union glint_value *v);

int action_run(const struct action *action);
/* From here on sources of the job read this output by its path. Copied. 0 or the context's code. */
int context_add_saved_output(struct glint *g, const struct saved_output *saved);
/* After an error about an input: says so if it is in an output that the job itself has saved. */
void context_hint_saved_output(struct glint *g, const char *paths);
/* As glint_note, of what went wrong and did not end the job; told even to who asked for quiet. */
void context_warn(struct glint *g, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
