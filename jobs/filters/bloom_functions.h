/* Functions of the Bloom filter jobs, by what they make:
 *   bloom_compute_indexes.c    bloom.rating_indexes, text_indexes, extend, fill
 *   bloom_partials.c   bloom.rating_partials, text_partials, or, add_counters, seal, bits
 *   bloom_added.c      bloom.added_rows, add_rows
 *   ids.c, ids_groups.c  bloom.rating_ids, text_ids, fill_ids, test_ids
 *   size_lines.c       bloom.counts_number, counts_text, params_number, params_text
 *   bloom_report.c     bloom.report_rating_python and its kin
 *   bloom_test.c       its own */
#ifndef GLINT_JOBS_FILTERS_BLOOM_FUNCTIONS_H
#define GLINT_JOBS_FILTERS_BLOOM_FUNCTIONS_H

#include "engine/batch.h"
#include "jobs/filters/sizes.h"

/* Counter of the bytes that map tasks emit for reduce tasks: values only, before compression. */
#define BLOOM_SHUFFLE_BYTES "shuffle value bytes"

/* Counter of rows whose key has no filter. */
#define BLOOM_NO_FILTER "no filter"

/* Counter of filters with clearly more ids than n, by the bits that are set. */
#define BLOOM_OVERFULL "filters with too many ids"
/* Returns whether the filter is one of them. */
bool bloom_count_overfull_filter(struct glint_task *task, int counter,
                                 const struct bloom_params *params, uint8_t *bits);
/* Fails the task because of such a filter. Returns the code. */
int bloom_set_overfull_error(struct glint_task *task, const struct sizes *sizes, uint32_t number);

/* Why a row is bad whose key has no size. */
#define BLOOM_MISSING "its key is in neither COUNTS, PARAMS nor FILTERS"

/* What to do if an id to remove is not in its filter. */
#define BLOOM_ABSENT_HINT "remove only rows that were added, and as often as they were"

/* Why the class of the scheme cannot have an id of so many bytes; NULL: it can. */
const char *bloom_id_error(enum bloom_scheme scheme, uint64_t size);

/* Formats the key for errors; a text may be truncated. */
void bloom_format_key(bool text, const union glint_value *key, char *out, size_t capacity);
/* Texts of errors about filters that do not match their sizes, from PARAMS or from P and COUNTS. */
const char *bloom_mismatch_hint(bool params);
const char *bloom_no_such_key_text(bool params);
void bloom_mismatch_text(const struct bloom_params *have, const struct bloom_params *want,
                         bool params, char *out, size_t capacity);

/* Parsed rows, their ids and the numbers of their filters, in the library's format. Rows whose key
 * has no count are bad rows, and are dropped if bad rows are skipped. */
struct bloom_input {
    struct fields fields;
    struct sizes sizes;
    uint16_t filter[FIELDS_ROWS_MAX];
};
int bloom_input_open(struct glint_task *task, struct bloom_input *in);
/* Returns 0 or a code; *out borrows from `in` and the batch. */
int bloom_input_parse_rows(struct bloom_input *in, struct glint_task *task,
                           const struct glint_batch *lines, struct bloom_rows *out);
/* The same, but rows whose key has no filter are dropped and counted. */
int bloom_input_parse_known_rows(struct bloom_input *in, struct glint_task *task,
                                 const struct glint_batch *lines, int no_filter,
                                 struct bloom_rows *out);
/* The number of a key that must have a filter. Returns 0 or a code. */
int bloom_input_key_number(const struct sizes *sizes, struct glint_task *task,
                           const union glint_value *key, uint32_t *out);
/* Opens the filters of the broadcast argument "filters" for reading. Call bloom_set_fini afterwards
 * in any case. Returns 0 or a code. */
int bloom_open_filters(struct glint_task *task, struct bloom_set *out);
/* Emits (key, the filter as stored in files); the bits must be at memory + BLOOM_HEADER_MAX. */
void bloom_emit_filter(const struct bloom_params *params, const union glint_value *key,
                       uint8_t *memory, struct glint_emitter *out);

/* The counts of a look-up, per key: the value that bloom.test_* emit and bloom.add_tallies sums. */
struct bloom_tally {
    uint64_t hits, rows;
};
/* Returns 0 or a code. */
int bloom_tally_decode(struct glint_task *task, struct glint_slice bytes, struct bloom_tally *out);

/* Convert (key, tally) to lines: by whether keys are text, and whether in the Hadoop program's
 * format. */
extern const struct glint_function bloom_report_functions[2][2];
extern const struct glint_function bloom_test_rating, bloom_test_text, bloom_add_tallies;
extern const struct glint_function bloom_rating_indexes, bloom_text_indexes, bloom_extend,
    bloom_fill;
extern const struct glint_function bloom_rating_partials, bloom_text_partials, bloom_or, bloom_seal,
    bloom_bits, bloom_add_counters, bloom_added_rows, bloom_add_rows;

#endif
