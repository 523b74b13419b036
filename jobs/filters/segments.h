/* Filters in segments: each key's bits are split into ranges of one size, and key and range
 * together determine the task that processes them. So no task has more bits in memory than a
 * segment.
 *
 * All segments of all keys are numbered consecutively, in the order of the keys: that number is the
 * key of the shuffles. Bit indexes are shuffled relative to their segment; they are uniformly
 * distributed, so a fixed number of bytes is the shortest encoding. */
#ifndef GLINT_JOBS_FILTERS_SEGMENTS_H
#define GLINT_JOBS_FILTERS_SEGMENTS_H

#include "engine/batch.h"
#include "jobs/filters/bloom_functions.h"

enum {
    SEGMENTS_MAX = 1 << 20,    /* total of all keys */
    SEGMENTS_LOG2_DEFAULT = 24 /* 2 MiB: the bits fit in the L2 cache, an index has 3 bytes */
};

struct segments {
    uint32_t log2;   /* log2 of the bits of a segment */
    uint32_t count;  /* total of all keys */
    uint32_t *first; /* [keys + 1] the first segment of each key */
};

/* Bytes of an index. */
static inline uint32_t segments_index_bytes(const struct segments *s)
{
    return (s->log2 + 7) / 8;
}
static inline uint64_t segments_bits_each(const struct segments *s)
{
    return (uint64_t)1 << s->log2;
}

/* The number of segments of all filters. */
uint64_t segments_total(const struct sizes *sizes, uint32_t log2);
/* Size of the largest segment. */
uint64_t segments_bytes(const struct sizes *sizes, uint32_t log2);
/* Fills s->first, which has memory for all keys and one more; s->log2 is set. */
void segments_assign_numbers(const struct sizes *sizes, struct segments *s);
/* Task: reads the argument "segment" and the sizes. Returns 0 or a code. */
int segments_open(struct glint_task *task, const struct sizes *sizes, struct segments *out);
/* Finds the key of a segment, and its index within that key. Returns false if the number is
 * invalid. */
bool segments_find(const struct segments *s, const struct sizes *sizes, int64_t number,
                   uint32_t *out_key, uint64_t *out_index);

/* ---- The bit indexes of rows, distributed to the segments: per batch, the lists of one segment
 * are concatenated. */

struct segments_lists {
    struct segments segments;
    struct bloom_set set; /* the parameters; its bits are not used */
    uint64_t *indexes;    /* [FIELDS_ROWS_MAX * k] */
    uint32_t *cursor;     /* [segments.count], zeros between batches */
    bool *seen;           /* [segments.count] had a list */
    /* The lists of the batch. */
    uint32_t lists, used; /* `used`: bytes */
    uint8_t *bytes;
    int64_t *number; /* [FIELDS_ROWS_MAX * k] number of the segment, and position of its list in
                        `bytes` */
    uint32_t *start, *end;
    int shuffle_bytes; /* counter */
};
enum { SEGMENTS_ROW_BYTES = 2, SEGMENTS_K_MAX = 64 };

/* Call segments_lists_close afterwards in any case. */
int segments_lists_open(struct glint_task *task, const struct sizes *sizes,
                        struct segments_lists *out);
void segments_lists_close(struct segments_lists *lists);
/* Makes the lists. Each one has `head`, if its size is not 0, and for each index: with `with_rows`
 * the row in SEGMENTS_ROW_BYTES, then the index in segments_index_bytes bytes, both little-endian.
 */
void segments_lists_make(struct segments_lists *lists, const struct bloom_rows *rows,
                         struct glint_slice head, bool with_rows);
void segments_lists_emit(struct glint_task *task, const struct segments_lists *lists,
                         const struct glint_origin *origin, struct glint_emitter *out);

/* The index at `bytes`, where 4 bytes must be readable. */
static inline uint32_t segments_read_index(const uint8_t *bytes, uint32_t mask)
{
    uint32_t index;
    __builtin_memcpy(&index, bytes, sizeof index);
    return index & mask;
}
static inline uint32_t segments_index_mask(const struct segments *s)
{
    return (uint32_t)(UINT32_MAX >> (32 - 8 * segments_index_bytes(s)));
}

/* ---- bloom-build, bloom-test */

/* Reads --segment-size and checks it against the sizes and the memory of a slot. Returns 0 or the
 * context's code. */
int segments_parse_size(struct glint *g, const struct sizes *sizes, const char *bits,
                        uint32_t *out_log2);
/* Returns 0 if a slot's memory is enough for a segment and a copy of it as a value, else
 * MEMORY_LIMIT. */
int segments_check_memory(struct glint *g, const struct sizes *sizes, uint32_t log2);
#define SEGMENTS_OPTION                                                                            \
    {                                                                                              \
        "segment-size", "BITS", NULL,                                                              \
            "with --strategy segments: bits of a segment, a power of two (16777216)"               \
    }
/* Hashes that separate one build from others: of all sizes and, incrementally, of the data passed
 * with `more`. */
uint64_t segments_add_to_build_hash(uint64_t more, const void *data, uint64_t size);
uint64_t segments_build_id(const struct sizes *sizes, uint32_t log2, uint64_t more);
/* (key, segment as msgpack): each segment of each key that has rows. Returns NULL if `lines` is
 * NULL. */
struct glint_rdd *segments_pipeline(struct glint_rdd *lines, const struct sizes *sizes,
                                    const struct fields *fields, uint32_t log2, uint64_t build);
/* bloom-test: the number of a row's key, from the number of the row. */
enum { SEGMENTS_PLACE_BITS = 34, SEGMENTS_KEY_BITS = 12, SEGMENTS_PARTITION_BITS = 17 };
static inline uint64_t segments_row_key(int64_t row)
{
    return (uint64_t)row >> SEGMENTS_PLACE_BITS & ((1u << SEGMENTS_KEY_BITS) - 1);
}

extern const struct glint_function segments_lists_of_rows, segments_fill, segments_key_number,
    segments_key_text;
extern const struct glint_function segments_probes, segments_bits, segments_probe, segments_rows,
    segments_missed_rating, segments_missed_text, segments_hits;

#endif
