/* Files of columns (Parquet, Arrow, ...): what a library that reads and writes them offers. All
 * columns pass through Arrow's C data and stream interfaces, whose structs are here by the names
 * that their specification gives them (https://arrow.apache.org/docs/format/CDataInterface.html,
 * CStreamInterface.html). extras/formats is such a library; glint loads it when a file needs it.
 *
 * The library exports one function, glint_formats, of type format_library_entry. A handle is used
 * by one thread at a time; different handles by different threads. No function ends the process:
 * a panic of the library is an error of its file. */
#ifndef GLINT_INPUT_FORMAT_LIBRARY_H
#define GLINT_INPUT_FORMAT_LIBRARY_H

#include "engine/base/error.h"

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>

#ifndef ARROW_C_DATA_INTERFACE
#define ARROW_C_DATA_INTERFACE
#define ARROW_FLAG_DICTIONARY_ORDERED 1
#define ARROW_FLAG_NULLABLE           2
#define ARROW_FLAG_MAP_KEYS_SORTED    4

struct ArrowSchema {
    const char *format, *name, *metadata;
    int64_t flags, n_children;
    struct ArrowSchema **children, *dictionary;
    void (*release)(struct ArrowSchema *);
    void *private_data;
};

struct ArrowArray {
    int64_t length, null_count, offset, n_buffers, n_children;
    const void **buffers;
    struct ArrowArray **children, *dictionary;
    void (*release)(struct ArrowArray *);
    void *private_data;
};
#endif

#ifndef ARROW_C_STREAM_INTERFACE
#define ARROW_C_STREAM_INTERFACE
struct ArrowArrayStream {
    int (*get_schema)(struct ArrowArrayStream *, struct ArrowSchema *out);
    int (*get_next)(struct ArrowArrayStream *, struct ArrowArray *out);
    const char *(*get_last_error)(struct ArrowArrayStream *);
    void (*release)(struct ArrowArrayStream *);
    void *private_data;
};
#endif

/* Changes when a struct or the meaning of a function below does. */
#define FORMAT_LIBRARY_ABI 4

enum format_kind {
    FORMAT_PARQUET = 1,
    FORMAT_ARROW_FILE,   /* also Feather version 2 */
    FORMAT_ARROW_STREAM, /* one piece */
    FORMAT_AVRO,
    FORMAT_ORC,
};

enum format_error_kind {
    FORMAT_ERROR_DAMAGED = 1, /* the file is not what its format says */
    FORMAT_ERROR_CALLBACK,    /* a callback returned an error */
    FORMAT_ERROR_UNSUPPORTED, /* a valid file that the library cannot read, such as an encrypted
                               * one, or a type that it cannot write */
    FORMAT_ERROR_INTERNAL,    /* a panic of the library */
    FORMAT_ERROR_MEMORY,      /* more is needed than the caller allows */
};

/* Why a call failed. */
struct format_error {
    int32_t kind;       /* enum format_error_kind */
    int64_t piece;      /* of the file, from 0; -1: none */
    char message[1024]; /* one line, ends with a NUL */
};

/* The bytes of a file. `read` reads all `size` > 0 bytes at `offset`, within the file, on the
 * caller's thread; returns 0, or not 0: the caller knows the error. Valid until close. */
struct format_input {
    void *context;
    uint64_t size;
    bool remote; /* each read costs a round trip */
    int (*read)(void *context, uint64_t offset, void *out, uint64_t size);
};

/* Where a file is written, from its start. Returns 0, or not 0: the caller knows the error. */
struct format_output {
    void *context;
    int (*write)(void *context, const void *data, uint64_t size);
};

/* A part that can be read by itself: a row group, a record batch, a stripe, a block. */
struct format_piece {
    uint64_t rows;
    uint64_t bytes;  /* of all columns in the file */
    uint64_t memory; /* of all columns, decoded: an estimate */
    uint64_t offset; /* of its first byte in the file */
};

/* Physical types of Parquet, by its numbers. */
enum format_parquet_type {
    FORMAT_PARQUET_INT32 = 1,
    FORMAT_PARQUET_INT64 = 2,
    FORMAT_PARQUET_DOUBLE = 5,
    FORMAT_PARQUET_BYTE_ARRAY = 6,
    FORMAT_PARQUET_FIXED_LEN_BYTE_ARRAY = 7,
};

/* Of a column of a piece: BloomFilterHeader of parquet.thrift, then the bits. */
struct format_bloom_filter {
    uint64_t offset; /* in the file; 0: there is none */
    uint32_t type;   /* of the values: enum format_parquet_type, or another one of Parquet */
    uint32_t zero;
};

struct format_read {
    uint32_t piece;
    uint32_t column_count;
    const uint32_t *columns;   /* of the file's schema, from 0, without repeats, in any order */
    const uint8_t *dictionary; /* one per column; 1: return a dictionary if the column is stored as
                                * one in all pages that are read; NULL: none */
    uint32_t batch_rows;       /* of each array, at most; > 0 */
    uint32_t read_ahead;       /* bytes of a column that are read at once, about; > 0 */
    uint64_t memory; /* of the caller; what is compressed into fewer bytes may need more */
};

enum format_compression {
    FORMAT_UNCOMPRESSED,
    FORMAT_SNAPPY,
    FORMAT_ZSTD,
    FORMAT_GZIP,
    FORMAT_LZ4,
    FORMAT_BROTLI,
};

struct format_write {
    uint32_t kind;            /* enum format_kind */
    uint32_t compression;     /* enum format_compression; Arrow: none, zstd and lz4 */
    int32_t level;            /* of zstd, gzip and brotli; -1: the default */
    uint32_t row_group_rows;  /* at most, > 0 */
    uint64_t row_group_bytes; /* of the file, about, > 0 */
    uint32_t bloom_count;     /* columns, from 0, that get a Bloom filter; Parquet only */
    const uint32_t *bloom_columns;
    double bloom_fpp; /* 0 < fpp < 1 */
};

struct format_file;   /* of the library */
struct format_writer; /* of the library */

/* Functions return 0, or -1 with *error set. */
struct format_library {
    uint32_t abi;  /* FORMAT_LIBRARY_ABI */
    uint32_t size; /* sizeof(struct format_library) */
    const char *version;
    /* Reads the footer. The columns of all files are the fields of a struct, each a column. */
    int (*open)(const struct format_input *input, uint32_t kind, struct format_file **out,
                struct format_error *error);
    void (*close)(struct format_file *file); /* NULL is fine */
    int (*schema)(struct format_file *file, struct ArrowSchema *out, struct format_error *error);
    uint32_t (*piece_count)(struct format_file *file);
    int (*piece)(struct format_file *file, uint32_t piece, struct format_piece *out,
                 struct format_error *error);
    /* One array of as many rows as pieces: a struct of min and max, of the column's type, and
     * null_count, u64; each null where the file says nothing that can be relied on. No value is
     * outside of min and max but NaN; min and max of text and bytes need not be values. */
    int (*statistics)(struct format_file *file, uint32_t column, struct ArrowArrayStream *out,
                      struct format_error *error);
    /* Sets *out to whether the piece may have the value, an integer of 8 bytes or the bytes of a
     * text: false only if the file's Bloom filter says no. */
    int (*may_contain)(struct format_file *file, uint32_t piece, uint32_t column, const void *value,
                       uint64_t size, bool *out, struct format_error *error);
    /* Finds the Bloom filter of a column of a piece, which is not read. */
    int (*bloom_filter)(struct format_file *file, uint32_t piece, uint32_t column,
                        struct format_bloom_filter *out, struct format_error *error);
    /* Streams struct arrays whose children are the columns in the order of read->columns. The
     * stream is released before the file is closed. When get_next fails, last_error tells why. */
    int (*read)(struct format_file *file, const struct format_read *read,
                struct ArrowArrayStream *out, struct format_error *error);
    void (*last_error)(struct format_file *file, struct format_error *out);
    /* Writes a file. `schema` is a struct; the library copies it. Of an array, which is a struct,
     * the library takes ownership, also when it fails. finish writes the footer. destroy without
     * finish leaves a file without one. */
    int (*create)(const struct format_output *output, const struct format_write *options,
                  const struct ArrowSchema *schema, struct format_writer **out,
                  struct format_error *error);
    int (*write)(struct format_writer *writer, struct ArrowArray *array,
                 struct format_error *error);
    int (*finish)(struct format_writer *writer, struct format_error *error);
    void (*destroy)(struct format_writer *writer); /* NULL is fine */
    /* Bytes that the library has allocated and not freed, of this thread. */
    int64_t (*allocated)(void);
};

typedef const struct format_library *(*format_library_entry)(void);

/* The library declares these structs once more, in its own language. */
static_assert(sizeof(struct format_error) == 16 + 1024, "struct format_error: an ABI");
static_assert(sizeof(struct format_piece) == 4 * 8, "struct format_piece: an ABI");
static_assert(sizeof(struct format_bloom_filter) == 2 * 8, "struct format_bloom_filter: an ABI");
static_assert(sizeof(struct format_read) == 5 * 8, "struct format_read: an ABI");
static_assert(sizeof(struct format_write) == 6 * 8, "struct format_write: an ABI");

#endif
