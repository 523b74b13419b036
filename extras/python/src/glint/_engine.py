"""libglint.so through cffi, without a compiler; loaded when the first context is created. The
declarations are those of <glint/glint.h>; tests/test_declarations.py compares them. cffi cannot
take the address of a constant, so functions are declared without const."""

from __future__ import annotations

import os
import threading
from typing import Any, Optional

DECLARATIONS = """
enum glint_code {
    GLINT_OK = 0,
    GLINT_E_FUNCTION_FAILED = -405,
    GLINT_E_INTERRUPTED = -702
};

enum glint_type {
    GLINT_ANY,
    GLINT_SAME,
    GLINT_NONE,
    GLINT_BYTES,
    GLINT_TEXT,
    GLINT_I64,
    GLINT_F64,
    GLINT_MSGPACK,
};

struct glint_slice {
    const uint8_t *data;
    uint64_t size;
};

union glint_value {
    struct glint_slice bytes;
    int64_t i64;
    double f64;
};

struct glint_record {
    union glint_value key, value;
};

struct glint_cell {
    enum glint_type type;
    union glint_value value;
};

struct glint_schema {
    enum glint_type key, value;
};

struct glint_error {
    enum glint_code code;
    char cause[5 * 1024], effect[256], hint[512];
};

struct glint;
struct glint_rdd;
struct glint_args;
struct glint_config;

const char *glint_code_name(enum glint_code code);
const char *glint_code_text(enum glint_code code);
int glint_code_exit_status(enum glint_code code);
const struct glint_error *glint_error(const struct glint *g);
int glint_clear_error(struct glint *g);
int glint_abort(struct glint *g, enum glint_code code, const char *hint, const char *cause, ...);

struct glint_config *glint_config_create(void);
int glint_config_set(struct glint_config *config, const char *option, const char *value);
int glint_config_set_name(struct glint_config *config, const char *name);
void glint_config_set_note(struct glint_config *config, void (*note)(void *arg, const char *line),
                           void *arg);
struct glint_progress {
    const char *name;
    uint32_t stage;
    uint32_t tasks_done, tasks;
    bool stage_ended;
    bool action_ended;
};
void glint_config_set_progress(struct glint_config *config,
                               void (*progress)(void *arg, const struct glint_progress *progress),
                               void *arg);
int glint_config_set_cluster(struct glint_config *config, const char *file, const char *program,
                             const char *build);
const char *glint_config_serve_page(struct glint_config *config, const char *address);
void glint_config_destroy(struct glint_config *config);
struct glint *glint_create(struct glint_config *config, struct glint_error *error);
int glint_finish(struct glint *g);
void glint_destroy(struct glint *g);
void glint_interrupt(struct glint *g, enum glint_code code);

struct glint_args *glint_args(struct glint *g);
void glint_args_add_broadcast(struct glint_args *args, const char *name, struct glint_broadcast *b);
struct glint_broadcast *glint_broadcast_copy(struct glint *g, const void *data, uint64_t size);
void glint_broadcast_destroy(struct glint *g, struct glint_broadcast *b);
struct glint_rdd *glint_text_file(struct glint *g, const char *paths);
struct glint_rdd *glint_key_value_text_file(struct glint *g, const char *paths, char separator);
struct glint_rdd *glint_parallelize(struct glint *g, struct glint_schema schema,
                                    const struct glint_record *records, uint64_t count,
                                    uint32_t partitions);
struct glint_rdd *glint_whole_text_files(struct glint *g, const char *paths);
struct glint_rdd *glint_binary_files(struct glint *g, const char *paths);
struct glint_rdd *glint_binary_records(struct glint *g, const char *paths, uint64_t record_bytes);
enum glint_column_format {
    GLINT_NO_COLUMNS,
    GLINT_PARQUET,
    GLINT_ARROW,
    GLINT_TSV,
    GLINT_JSON_LINES
};
enum glint_column_format glint_accept_columns(struct glint_rdd *lines);
struct glint_column_pair {
    uint32_t key;
    uint32_t value;
    enum glint_type key_type;
    enum glint_type value_type;
    const char *null_rows;
};
struct glint_column_type {
    const char *name, *type;
    bool numbers, times, times_of_day;
    bool several_kinds;
};
const struct glint_column_type *glint_column_types(struct glint_rdd *lines, uint32_t *out_count);
struct glint_rdd *glint_column_pairs(struct glint *g, const char *paths,
                                     const struct glint_column_pair *pair);
struct glint_rdd *glint_column_batches(struct glint *g, const char *paths,
                                       const char *const *names, uint32_t count, uint32_t rows);
struct glint_rdd *glint_range(struct glint *g, int64_t start, int64_t end, int64_t step,
                              uint32_t partitions);
struct glint_rdd *glint_with_header(struct glint_rdd *lines);

struct glint_rdd *glint_map(struct glint_rdd *rdd, const struct glint_function *function,
                            struct glint_args *args);
struct glint_rdd *glint_flat_map(struct glint_rdd *rdd, const struct glint_function *function,
                                 struct glint_args *args);
struct glint_rdd *glint_flat_map_values(struct glint_rdd *rdd,
                                        const struct glint_function *function,
                                        struct glint_args *args);
struct glint_command {
    const char *const *argv, *const *env;
    const int *ok;
    bool combine;
    bool record_input, record_output;
    struct glint_schema output;
    const char *const *worker;
    struct glint_args *files;
};
struct glint_rdd *glint_pipe_command(struct glint_rdd *rdd, const struct glint_command *command);
struct glint_rdd *glint_keys(struct glint_rdd *rdd);
struct glint_rdd *glint_values(struct glint_rdd *rdd);
struct glint_rdd *glint_union(struct glint_rdd *a, struct glint_rdd *b);
struct glint_rdd *glint_union_partitions(struct glint_rdd *a, struct glint_rdd *b);
struct glint_rdd *glint_sample(struct glint_rdd *rdd, double fraction, uint64_t seed);
struct glint_rdd *glint_sample_with_replacement(struct glint_rdd *rdd, double fraction,
                                                uint64_t seed);
struct glint_fraction {
    union glint_value key;
    double fraction;
};
struct glint_rdd *glint_sample_by_key(struct glint_rdd *rdd, bool with_replacement,
                                      const struct glint_fraction *fractions, uint32_t count,
                                      uint64_t seed);
void glint_random_split(struct glint_rdd *rdd, const double *weights, uint32_t count, uint64_t seed,
                        struct glint_rdd **out);
struct glint_rdd *glint_reduce_by_key(struct glint_rdd *rdd, const struct glint_function *function,
                                      struct glint_args *args);
struct glint_rdd *glint_combine_by_key(struct glint_rdd *rdd, const struct glint_function *function,
                                       struct glint_args *args);
struct glint_rdd *glint_mean_by_key(struct glint_rdd *rdd);
struct glint_rdd *glint_distinct(struct glint_rdd *rdd);
struct glint_rdd *glint_join(struct glint_rdd *left, struct glint_rdd *right);
struct glint_rdd *glint_left_outer_join(struct glint_rdd *left, struct glint_rdd *right);
struct glint_rdd *glint_right_outer_join(struct glint_rdd *left, struct glint_rdd *right);
struct glint_rdd *glint_full_outer_join(struct glint_rdd *left, struct glint_rdd *right);
struct glint_rdd *glint_subtract_by_key(struct glint_rdd *rdd, struct glint_rdd *other);
struct glint_rdd *glint_intersection(struct glint_rdd *a, struct glint_rdd *b);
struct glint_rdd *glint_subtract(struct glint_rdd *rdd, struct glint_rdd *other);
struct glint_rdd *glint_zip_with_index(struct glint_rdd *rdd);
struct glint_rdd *glint_zip_with_unique_id(struct glint_rdd *rdd);
struct glint_rdd *glint_zip(struct glint_rdd *left, struct glint_rdd *right);
struct glint_rdd *glint_cartesian(struct glint_rdd *left, struct glint_rdd *right);
struct glint_rdd *glint_glom(struct glint_rdd *rdd);
struct glint_rdd *glint_sort_by_key(struct glint_rdd *rdd, bool ascending);
struct glint_rdd *glint_partition_by(struct glint_rdd *rdd, uint32_t partitions);
struct glint_rdd *glint_repartition(struct glint_rdd *rdd, uint32_t partitions);
struct glint_rdd *glint_coalesce(struct glint_rdd *rdd, uint32_t partitions);
struct glint_rdd *glint_persist(struct glint_rdd *rdd, unsigned level);
struct glint_rdd *glint_cache(struct glint_rdd *rdd);
struct glint_rdd *glint_checkpoint(struct glint_rdd *rdd, const char *path);
struct glint_rdd *glint_unpersist(struct glint_rdd *rdd);
void glint_release(struct glint_rdd *rdd);
void glint_begin_scope(struct glint *g);
struct glint_rdd *glint_end_scope(struct glint *g, struct glint_rdd *keep);
struct glint_rdd *glint_with_name(struct glint_rdd *rdd, const char *name);
struct glint_rdd *glint_with_partitions(struct glint_rdd *rdd, uint32_t partitions);
struct glint_rdd *glint_with_partitioner(struct glint_rdd *rdd,
                                         const struct glint_function *function,
                                         struct glint_args *args);
struct glint_rdd *glint_with_split_bytes(struct glint_rdd *rdd, uint64_t bytes);
uint32_t glint_partitions(struct glint_rdd *rdd);
uint64_t glint_input_bytes(const struct glint_rdd *rdd);
struct glint_schema glint_schema(const struct glint_rdd *rdd);

struct glint_rows {
    uint64_t count;
    struct glint_schema schema;
    uint8_t *data;
    uint64_t *offsets;
    uint64_t size, capacity, size_capacity;
};
void glint_rows_records(const struct glint_rows *rows, uint64_t first, uint64_t count,
                        struct glint_record *out);
void glint_rows_free(struct glint_rows *rows);
int glint_collect(struct glint_rdd *rdd, struct glint_rows *out);
int glint_collect_each(struct glint_rdd *rdd,
                       int (*row)(void *arg, const struct glint_record *record), void *arg);
struct glint_iterator;
struct glint_iterator *glint_to_local_iterator(struct glint_rdd *rdd);
int64_t glint_iterator_take(struct glint_iterator *it, uint64_t count, struct glint_record *out);
void glint_iterator_close(struct glint_iterator *it);
int glint_collect_as_map(struct glint_rdd *rdd, struct glint_rows *out);
int glint_count(struct glint_rdd *rdd, int64_t *out);
int glint_count_by_key(struct glint_rdd *rdd, struct glint_rows *out);
int glint_count_by_value(struct glint_rdd *rdd, struct glint_rows *out);
int glint_take(struct glint_rdd *rdd, uint64_t count, struct glint_rows *out);
int glint_take_sample(struct glint_rdd *rdd, bool with_replacement, uint64_t count, uint64_t seed,
                      struct glint_rows *out);
int glint_take_ordered(struct glint_rdd *rdd, uint64_t count, struct glint_rows *out);
int glint_top(struct glint_rdd *rdd, uint64_t count, struct glint_rows *out);
int glint_reduce(struct glint_rdd *rdd, const struct glint_function *function,
                 struct glint_args *args, struct glint_rows *out);
int glint_tree_reduce(struct glint_rdd *rdd, const struct glint_function *function,
                      struct glint_args *args, uint32_t depth, struct glint_rows *out);
int glint_reduce_by_key_locally(struct glint_rdd *rdd, const struct glint_function *function,
                                struct glint_args *args, struct glint_rows *out);
int glint_count_approx_distinct(struct glint_rdd *rdd, int64_t *out);
int glint_sum(struct glint_rdd *rdd, union glint_value *out);
struct glint_wide_sum {
    int64_t high;
    uint64_t low;
};
int glint_wide_sum(struct glint_rdd *rdd, struct glint_wide_sum *out);
struct glint_stats {
    int64_t count;
    double mean, sum, min, max, variance, stdev, sample_variance, sample_stdev;
};
int glint_stats(struct glint_rdd *rdd, struct glint_stats *out);
int glint_histogram(struct glint_rdd *rdd, const double *bounds, uint32_t buckets,
                    int64_t *out_counts);
int glint_histogram_even(struct glint_rdd *rdd, uint32_t *buckets, struct glint_cell *out_bounds,
                         int64_t *out_counts);
int glint_is_empty(struct glint_rdd *rdd, bool *out);
int glint_save_as_text_file(struct glint_rdd *rdd, const char *path);
int glint_save_as_gzip_text_file(struct glint_rdd *rdd, const char *path);
int64_t glint_counter_value(const struct glint *g, const char *name);
bool glint_accumulator_value(const struct glint *g, const char *name, struct glint_cell *out);
void glint_accumulator_clear(struct glint *g, const char *name);

extern struct glint_function GLINT_SUM_I64, GLINT_SUM_F64;
extern struct glint_function GLINT_OR_I64;
extern struct glint_function GLINT_MIN_I64, GLINT_MIN_F64, GLINT_MIN_TEXT;
extern struct glint_function GLINT_MAX_I64, GLINT_MAX_F64, GLINT_MAX_TEXT;
extern struct glint_function GLINT_CONCAT_TEXT, GLINT_FIRST;
extern struct glint_function GLINT_LAST_I64, GLINT_LAST_F64, GLINT_LAST_TEXT;
extern struct glint_function GLINT_COUNT;
extern struct glint_function GLINT_SPLIT_WORDS, GLINT_PARSE_I64, GLINT_PARSE_F64;
extern struct glint_function GLINT_PAIR_WITH_ONE, GLINT_KEY_VALUE;
extern struct glint_function GLINT_PARTITION_IN_KEY;
"""


LIBRARY = os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib", "libglint.so")

_lock = threading.Lock()  # a child is forked without the thread that has it
os.register_at_fork(before=_lock.acquire, after_in_parent=_lock.release,
                    after_in_child=_lock.release)
_loaded: Optional[tuple[Any, Any]] = None


def declare(ffi: Any) -> None:
    ffi.cdef("struct glint_function;")
    ffi.cdef(DECLARATIONS)


def _interface() -> Any:
    """As native/engine_types.py has kept it when the wheel was built. Not in workers, which import
    this module."""
    try:
        from ._engine_types import ffi  # type: ignore[import-not-found,unused-ignore]
    except ImportError:
        import cffi

        ffi = cffi.FFI()
        declare(ffi)
    return ffi


def engine() -> tuple[Any, Any]:
    """cffi's interface and the library. Several threads may be the first."""
    global _loaded
    if _loaded is None:
        with _lock:
            if _loaded is None:
                ffi = _interface()
                _loaded = ffi, ffi.dlopen(LIBRARY)
    return _loaded
