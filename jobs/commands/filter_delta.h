/* The file of `glint filter diff`: what turns the filters of OLD into those of NEW. Integers are
 * little-endian.
 *
 *      0  "glntdif1"
 *      8  old.8 new.8        numbers of filters
 *     24  digest.16          of OLD: XXH3-128 of the records, by key, each after its size
 *     40  digest.16          of NEW: the same in its order, each after the number of its part
 *     56  checksum.8         XXH3-64 of the bytes above
 *     64  a frame of zstd: a step for each filter of NEW
 *
 *     step  kind.4 part.4 old.8 size.8, then size bytes
 *
 * A step of kind DELTA_XOR has the exclusive or with record `old`, in the order of the keys, of the
 * same size: few added ids are many zeros. One of DELTA_WHOLE has the record. */
#ifndef GLINT_JOBS_COMMANDS_FILTER_DELTA_H
#define GLINT_JOBS_COMMANDS_FILTER_DELTA_H

#include "jobs/commands/filter_file.h"

enum {
    DELTA_HEAD_BYTES = 64,
    DELTA_STEP_BYTES = 24,
    DELTA_DIGEST_BYTES = 16,
    DELTA_PARTS_MAX = 100000,
};
enum delta_kind { DELTA_XOR, DELTA_WHOLE };

struct delta_head {
    uint64_t old_count, new_count;
    uint8_t old_digest[DELTA_DIGEST_BYTES], new_digest[DELTA_DIGEST_BYTES];
};

struct delta_step {
    enum delta_kind kind;
    uint32_t part; /* of NEW: part-NNNNN */
    uint64_t old;  /* with DELTA_XOR */
    uint64_t size; /* of the record, > 0 */
};

void delta_head_encode(const struct delta_head *head, uint8_t out[DELTA_HEAD_BYTES]);
/* Returns NULL or what is wrong. */
const char *delta_head_decode(const uint8_t data[DELTA_HEAD_BYTES], struct delta_head *out);
void delta_step_encode(const struct delta_step *step, uint8_t out[DELTA_STEP_BYTES]);
/* `before` NULL: the first step. Returns NULL or what is wrong; whether `old` has the size is for
 * the caller. */
const char *delta_step_decode(const uint8_t data[DELTA_STEP_BYTES], const struct delta_head *head,
                              const struct delta_step *before, struct delta_step *out);

/* ---- Digests */

struct delta_digest;                            /* of records that are added one by one */
struct delta_digest *delta_digest_create(void); /* NULL: out of memory */
void delta_digest_add(struct delta_digest *digest, uint64_t number, const uint8_t *bytes,
                      uint64_t size);
void delta_digest_end(const struct delta_digest *digest, uint8_t out[DELTA_DIGEST_BYTES]);
void delta_digest_destroy(struct delta_digest *digest); /* accepts NULL */

/* ---- The filters of OLD, in memory, by key */

struct delta_filters {
    struct filter_record *records; /* owned */
    uint64_t count, capacity;
    uint8_t digest[DELTA_DIGEST_BYTES];
    struct glint_error *error;
};

/* Filters without a key are none of an output, of which diff and patch are. Returns 0 or a code. */
int delta_check_record(const struct filter_record *record, struct glint_error *error);
/* Reads a path as filter_each. Call delta_filters_fini in any case. Returns 0 or a code. */
int delta_filters_read(struct delta_filters *f, struct env *env, const char *path,
                       struct glint_error *error);
/* The filter, or segment, of the same key and size; UINT64_MAX: there is none. */
uint64_t delta_filters_find(const struct delta_filters *f, const struct filter_record *record);
void delta_filters_fini(struct delta_filters *f);

#endif
