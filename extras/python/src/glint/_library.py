"""The Bloom filter library through cffi, without a compiler. The declarations are those of
<glint/bloom.h>; tests/test_declarations.py compares them."""

from __future__ import annotations

import pathlib

import cffi

DECLARATIONS = """
enum glint_bloom_result {
    GLINT_BLOOM_OK = 0,
    GLINT_BLOOM_ERR_N = -1,
    GLINT_BLOOM_ERR_P = -2,
    GLINT_BLOOM_ERR_M = -3,
    GLINT_BLOOM_ERR_K = -4,
    GLINT_BLOOM_ERR_SEEDS = -5,
    GLINT_BLOOM_ERR_SCHEME = -6,
    GLINT_BLOOM_ERR_MEMORY = -7,
    GLINT_BLOOM_ERR_MISMATCH = -8,
    GLINT_BLOOM_ERR_TRUNCATED = -9,
    GLINT_BLOOM_ERR_TRAILING = -10,
    GLINT_BLOOM_ERR_FORMAT = -11,
    GLINT_BLOOM_ERR_VERSION = -12,
    GLINT_BLOOM_ERR_LENGTH = -13,
    GLINT_BLOOM_ERR_UNUSED = -14,
    GLINT_BLOOM_ERR_CHECKSUM = -15,
    GLINT_BLOOM_ERR_LAYOUT = -18,
    GLINT_BLOOM_ERR_PAIR = -19,
    GLINT_BLOOM_ERR_BLOCKS = -20,
    GLINT_BLOOM_ERR_K_LAYOUT = -21,
    GLINT_BLOOM_ERR_P_LAYOUT = -22,
    GLINT_BLOOM_ERR_BITS = -23,
    GLINT_BLOOM_ERR_IO = -24,
    GLINT_BLOOM_ERR_READ_ONLY = -25,
    GLINT_BLOOM_ERR_ROOM = -26,
    GLINT_BLOOM_ERR_KEY = -27,
    GLINT_BLOOM_ERR_SEGMENT = -28,
    GLINT_BLOOM_ERR_SEEDED = -33,
    GLINT_BLOOM_ERR_COLUMN = -34,
    GLINT_BLOOM_ERR_ID_TYPE = -35,
    GLINT_BLOOM_ERR_ID_SIZE = -36,
    GLINT_BLOOM_ERR_STATIC = -37,
    GLINT_BLOOM_ERR_SHARDS = -38,
    GLINT_BLOOM_ERR_ABSENT = -39,
    GLINT_BLOOM_ERR_REMOVE = -40
};

const char *glint_bloom_strerror(int result);

enum glint_bloom_scheme {
    GLINT_BLOOM_SPARK = 0,
    GLINT_BLOOM_HADOOP = 1,
    GLINT_BLOOM_PLAIN = 2,
    GLINT_BLOOM_POLY_ABS = 3,
    GLINT_BLOOM_POLY_MOD = 4,
    GLINT_BLOOM_MD5_RANDOM = 5,
    GLINT_BLOOM_WIDE = 6,
    GLINT_BLOOM_XXH64 = 7,
    GLINT_BLOOM_HADOOP_BLOOM = 8,
    GLINT_BLOOM_SPARK_BLOOM = 9,
    GLINT_BLOOM_SPARK_BLOOM_V2 = 10,
    GLINT_BLOOM_GUAVA = 11,
    GLINT_BLOOM_RBLOOM = 12,
    GLINT_BLOOM_GO_BLOOM = 13,
    GLINT_BLOOM_DATASKETCHES = 14,
    GLINT_BLOOM_NPM_BLOOM = 15,
    GLINT_BLOOM_REDISBLOOM = 16,
    GLINT_BLOOM_FASTBLOOM = 17,
    GLINT_BLOOM_ORC = 18,
    GLINT_BLOOM_CASSANDRA = 19
};

enum glint_bloom_layout {
    GLINT_BLOOM_CLASSIC = 0,
    GLINT_BLOOM_BLOCK512 = 1,
    GLINT_BLOOM_SPLIT_BLOCK = 2,
    GLINT_BLOOM_FUSE8 = 3,
    GLINT_BLOOM_FUSE16 = 4,
    GLINT_BLOOM_EXACT = 5,
    GLINT_BLOOM_COUNTING = 6
};

const char *glint_bloom_scheme_name(enum glint_bloom_scheme scheme);
const char *glint_bloom_layout_name(enum glint_bloom_layout layout);
int glint_bloom_scheme_named(const char *name, enum glint_bloom_scheme *out_scheme);
int glint_bloom_layout_named(const char *name, enum glint_bloom_layout *out_layout);

struct glint_bloom_params {
    enum glint_bloom_scheme scheme;
    enum glint_bloom_layout layout;
    uint64_t ids;
    uint64_t bits;
    uint32_t hashes;
    uint32_t id_type;
};

enum { GLINT_BLOOM_ID_TYPE_NAME_MAX = 16 };
int glint_bloom_id_type_named(const char *name, uint32_t *out_type);
void glint_bloom_id_type_name(uint32_t type, char out[GLINT_BLOOM_ID_TYPE_NAME_MAX]);
uint32_t glint_bloom_id_bytes(const struct glint_bloom_params *params);

int glint_bloom_size_by_rate(enum glint_bloom_scheme scheme, enum glint_bloom_layout layout,
                             uint64_t ids, double rate, struct glint_bloom_params *out_params);
int glint_bloom_size_by_bits(enum glint_bloom_scheme scheme, enum glint_bloom_layout layout,
                             uint64_t ids, double bits_per_id,
                             struct glint_bloom_params *out_params);
double glint_bloom_expected_rate(const struct glint_bloom_params *params);

typedef struct glint_bloom glint_bloom;

int glint_bloom_create(const struct glint_bloom_params *params, glint_bloom **out_filter);
int glint_bloom_copy(const glint_bloom *filter, glint_bloom **out_filter);
void glint_bloom_destroy(glint_bloom *filter);
int glint_bloom_add(glint_bloom *filter, const void *id, size_t size);
int glint_bloom_remove(glint_bloom *filter, const void *id, size_t size);
int glint_bloom_clear(glint_bloom *filter);
bool glint_bloom_contains(const glint_bloom *filter, const void *id, size_t size);
struct glint_bloom_params glint_bloom_params_of(const glint_bloom *filter);
uint64_t glint_bloom_bits_set(const glint_bloom *filter);
double glint_bloom_rate(const glint_bloom *filter);
double glint_bloom_ids(const glint_bloom *filter);
const uint8_t *glint_bloom_bits(const glint_bloom *filter, size_t *out_bytes);

enum glint_bloom_column_kind {
    GLINT_BLOOM_OFFSETS_32 = 0,
    GLINT_BLOOM_OFFSETS_64 = 1,
    GLINT_BLOOM_FIXED = 2,
    GLINT_BLOOM_PADDED = 3,
    GLINT_BLOOM_VIEWS = 4,
    GLINT_BLOOM_SEPARATED = 5
};

struct glint_bloom_column {
    enum glint_bloom_column_kind kind;
    uint64_t first, count;
    const uint8_t *valid;
    const void *offsets;
    uint64_t width;
    const void *data;
    uint64_t data_size;
    const int64_t *buffers;
};

int glint_bloom_add_many(glint_bloom *filter, const struct glint_bloom_column *ids);
int glint_bloom_contains_many(const glint_bloom *filter, const struct glint_bloom_column *ids,
                              uint8_t *out_hit);

int glint_bloom_unite(glint_bloom *into, const glint_bloom *from);
int glint_bloom_intersect(glint_bloom *into, const glint_bloom *from);
int glint_bloom_intersection_ids(const glint_bloom *a, const glint_bloom *b, double *out_ids);

size_t glint_bloom_encoded_size(const glint_bloom *filter);
int glint_bloom_encode(const glint_bloom *filter, void *out, size_t capacity);
int glint_bloom_decode(const void *data, size_t size, glint_bloom **out_filter);

enum glint_bloom_key_kind {
    GLINT_BLOOM_KEY_NONE = 0,
    GLINT_BLOOM_KEY_TEXT = 1,
    GLINT_BLOOM_KEY_INT = 2,
    GLINT_BLOOM_KEY_DOUBLE = 3
};

struct glint_bloom_entry {
    enum glint_bloom_key_kind kind;
    const char *text;
    size_t text_size;
    int64_t number;
    double real;
    const glint_bloom *filter;
};

int glint_bloom_write(const char *path, const struct glint_bloom_entry *entries, size_t count);

typedef struct glint_bloom_file glint_bloom_file;

enum glint_bloom_open_mode { GLINT_BLOOM_READ = 0, GLINT_BLOOM_MAP = 1 };

int glint_bloom_open(const char *path, enum glint_bloom_open_mode mode,
                     glint_bloom_file **out_file);
void glint_bloom_close(glint_bloom_file *file);
size_t glint_bloom_entries(const glint_bloom_file *file);
struct glint_bloom_entry glint_bloom_entry_at(const glint_bloom_file *file, size_t i);
"""

# The Arrow C data and stream interfaces (arrow.apache.org/docs/format/CDataInterface.html).
ARROW = """
struct ArrowSchema {
    const char *format, *name, *metadata;
    int64_t flags, n_children;
    struct ArrowSchema **children;
    struct ArrowSchema *dictionary;
    void (*release)(struct ArrowSchema *);
    void *private_data;
};
struct ArrowArray {
    int64_t length, null_count, offset, n_buffers, n_children;
    const void **buffers;
    struct ArrowArray **children;
    struct ArrowArray *dictionary;
    void (*release)(struct ArrowArray *);
    void *private_data;
};
struct ArrowArrayStream {
    int (*get_schema)(struct ArrowArrayStream *, struct ArrowSchema *);
    int (*get_next)(struct ArrowArrayStream *, struct ArrowArray *);
    const char *(*get_last_error)(struct ArrowArrayStream *);
    void (*release)(struct ArrowArrayStream *);
    void *private_data;
};
"""

ffi = cffi.FFI()
ffi.cdef(DECLARATIONS)
ffi.cdef(ARROW)
lib = ffi.dlopen(str(pathlib.Path(__file__).parent / "lib" / "libglint_bloom.so"))
