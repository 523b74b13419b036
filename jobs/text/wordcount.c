/* wordcount: how often each word occurs. A word is a run of bytes other than space, tab, vertical
 * tab, form feed and carriage return (C's isspace; lines end at LF). */
#include "jobs/jobs.h"

#include <endian.h>
#include <string.h>

static bool is_space(uint8_t byte)
{
    return byte == ' ' || (byte >= '\t' && byte <= '\r');
}

/* Returns the first white space from `at` on, or `end`. Looks for bytes up to ' ', eight at a time;
 * of those found the first is one, since the subtraction borrows from later bytes only. */
static const uint8_t *find_space(const uint8_t *at, const uint8_t *end)
{
    const uint64_t ones = UINT64_C(0x0101010101010101);
    while (end - at >= 8) {
        uint64_t eight;
        memcpy(&eight, at, sizeof eight);
        eight = le64toh(eight);
        const uint64_t found = (eight - ones * (' ' + 1)) & ~eight & (ones * 0x80);
        if (found == 0) {
            at += 8;
            continue;
        }
        at += __builtin_ctzll(found) / 8;
        if (is_space(*at)) return at;
        at++;
    }
    while (at < end && !is_space(*at)) at++;
    return at;
}

static int split_words(struct glint_task *task, void *state, const struct glint_record *line,
                       struct glint_emitter *out)
{
    const uint8_t *at = line->value.bytes.data, *end = at + line->value.bytes.size;
    (void)task, (void)state;
    while (at < end) {
        const uint8_t *word = at;
        at = find_space(at, end);
        if (at > word) glint_emit_i64(out, (struct glint_slice){word, (uint64_t)(at - word)}, 1);
        at++;
    }
    return 0;
}

static const struct glint_function split = GLINT_FLAT_MAP(
    "wordcount.split", GLINT_ELEMENTS(GLINT_TEXT), GLINT_PAIRS(GLINT_TEXT, GLINT_I64), split_words);

static int wordcount_run(struct glint *g, const struct glint_job_args *args)
{
    struct glint_rdd *lines = glint_text_file(g, args->positional[0]);
    struct glint_rdd *words = glint_flat_map(lines, &split, NULL);
    struct glint_rdd *counts = glint_reduce_by_key(words, &GLINT_SUM_I64, NULL);
    return glint_save_as_text_file(counts, args->positional[1]);
}

const struct glint_job wordcount_job = {
    .name = "wordcount",
    .summary = "count the words of a text",
    .help = "Saves one line per word: WORD TAB COUNT, sorted by word within each part. Words are "
            "separated by white space (of ASCII).",
    .positional = {"INPUT", "OUTPUT"},
    .outputs = {"OUTPUT"},
    .functions = {&split},
    .run = wordcount_run};
