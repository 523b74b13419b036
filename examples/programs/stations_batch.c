/* stations_batch INPUT OUTPUT: as stations.c, in the batch form: a function that gets up to 1,024
 * lines at a time and combines them in a table of its own, so that each task passes on one record
 * per station. A temperature is read backwards from the end of its line, without a search.
 *
 *     cc -O2 stations_batch.c $(pkg-config --cflags --libs glint) -lm -o stations_batch
 *     ./stations_batch stations_batch INPUT OUTPUT */
#include <glint/batch.h>
#include <glint/glint.h>

#include <math.h>
#include <stdio.h>

enum { WORDS = 3, WORDS_BYTES = 8 * WORDS };

struct temperatures {
    int32_t min, max; /* tenths of a degree: their sums are exact */
    int64_t sum, count;
};

struct station { /* a cache line */
    uint64_t words[WORDS]; /* the first bytes of the name */
    const uint8_t *name;
    uint64_t size;
    struct temperatures t; /* count 0: the slot is free */
};

struct table {
    struct station *slots;
    uint64_t mask, used; /* at most half of the slots */
};

static int open_table(struct glint_task *task, void *state)
{
    struct table *t = state;
    t->mask = 4096 - 1;
    t->slots = glint_scratch(task, (t->mask + 1) * sizeof *t->slots);
    if (t->slots == NULL) return GLINT_E_NO_MEMORY;
    memset(t->slots, 0, (t->mask + 1) * sizeof *t->slots);
    return 0;
}

static inline uint64_t load_word(const uint8_t *bytes)
{
    uint64_t word;
    memcpy(&word, bytes, sizeof word);
    return word;
}

static inline uint64_t hash(const uint64_t words[WORDS], uint64_t size)
{
    return ((words[0] ^ words[1] << 7 ^ words[2] ^ size) * 0x9e3779b97f4a7c15) >> 32;
}

/* Returns the name's slot, or the free one that it belongs to. */
static inline struct station *find_slot(const struct table *t, const uint64_t words[WORDS],
                                        const uint8_t *name, uint64_t size)
{
    for (uint64_t at = hash(words, size) & t->mask;; at = (at + 1) & t->mask) {
        struct station *s = &t->slots[at];
        const uint64_t other = (s->words[0] ^ words[0]) | (s->words[1] ^ words[1]) |
                               (s->words[2] ^ words[2]) | (s->size ^ size);
        if (other == 0 && (size <= WORDS_BYTES || memcmp(s->name, name, size) == 0)) return s;
        if (s->t.count == 0) return s;
    }
}

static int grow(struct glint_task *task, struct table *t)
{
    struct table larger = {.mask = 2 * t->mask + 1};
    larger.slots = glint_scratch(task, (larger.mask + 1) * sizeof *larger.slots);
    if (larger.slots == NULL) return GLINT_E_NO_MEMORY;
    memset(larger.slots, 0, (larger.mask + 1) * sizeof *larger.slots);
    for (uint64_t at = 0; at <= t->mask; at++) {
        const struct station *s = &t->slots[at];
        if (s->t.count > 0) *find_slot(&larger, s->words, s->name, s->size) = *s;
    }
    larger.used = t->used;
    *t = larger;
    return 0;
}

/* Gives the name a slot, `*slot` if it stays where it is. */
static __attribute__((noinline, cold)) int add_station(struct glint_task *task, struct table *t,
                                                       struct station **slot,
                                                       const uint64_t words[WORDS],
                                                       struct glint_slice name)
{
    struct glint_buffer copy = {.data = NULL}; /* the input is gone after the call */
    int code = glint_append(task, &copy, name.data, name.size);
    if (code == 0 && 2 * ++t->used > t->mask) {
        code = grow(task, t);
        if (code == 0) *slot = find_slot(t, words, name.data, name.size);
    }
    if (code != 0) return code;
    **slot = (struct station){
        .name = copy.data, .size = name.size, .t = {INT32_MAX, INT32_MIN, 0, 0}};
    memcpy((*slot)->words, words, sizeof (*slot)->words);
    return 0;
}

/* Reads "1.5", "-1.5", "21.5" or "-21.5" at the end of a line. Returns where it and the ';' before
 * it begin, NULL if there is something else. */
static inline const uint8_t *parse_tenths(const uint8_t *line, const uint8_t *end, int32_t *out)
{
    if (end - line < 6) return NULL;
    const uint32_t tenth = end[-1] - (uint32_t)'0', one = end[-3] - (uint32_t)'0';
    const uint32_t ten = end[-4] - (uint32_t)'0', two_digits = ten <= 9;
    const uint8_t *semicolon = end - 4 - two_digits;
    if (tenth > 9 || one > 9 || end[-2] != '.' || semicolon <= line) return NULL;
    const int32_t negative = *semicolon == '-';
    const int32_t size = (int32_t)(one * 10 + tenth + (ten & -two_digits) * 100);
    *out = (size ^ -negative) + negative;
    semicolon -= negative;
    return *semicolon == ';' ? semicolon : NULL;
}

/* Without a branch, which names of any size would mispredict: ones as far as the name goes, and
 * zeros. 64 bytes after a row are readable. */
static inline void load_words(const uint8_t *name, uint64_t size, uint64_t out[WORDS])
{
    static const uint64_t masks[2 * WORDS] = {UINT64_MAX, UINT64_MAX, UINT64_MAX};
    const uint64_t used = size < WORDS_BYTES ? size : WORDS_BYTES;
    const uint8_t *const mask = (const uint8_t *)(masks + WORDS) - used;
    out[0] = load_word(name) & load_word(mask);
    out[1] = load_word(name + 8) & load_word(mask + 8);
    out[2] = load_word(name + 16) & load_word(mask + 16);
}

/* Both forms call it: gcc would not inline it on its own. */
static inline __attribute__((always_inline)) int add_line(struct glint_task *task, struct table *t,
                                                          struct glint_slice line)
{
    const uint8_t *const end = line.data + line.size;
    int32_t tenths;
    const uint8_t *const semicolon = parse_tenths(line.data, end, &tenths);
    if (semicolon == NULL) return glint_bad_row(task, line, "not STATION;TEMPERATURE");
    const struct glint_slice name = {line.data, (uint64_t)(semicolon - line.data)};
    uint64_t words[WORDS];
    load_words(name.data, name.size, words);
    struct station *s = find_slot(t, words, name.data, name.size);
    if (s->t.count == 0) {
        const int code = add_station(task, t, &s, words, name);
        if (code != 0) return code;
    }
    s->t.min = tenths < s->t.min ? tenths : s->t.min;
    s->t.max = tenths > s->t.max ? tenths : s->t.max;
    s->t.sum += tenths;
    s->t.count++;
    return 0;
}

static int add_lines(struct glint_task *task, void *state, const struct glint_batch *lines,
                     struct glint_emitter *out)
{
    int code = 0;
    for (uint32_t row = 0; row < lines->rows && code == 0; row++)
        code = add_line(task, state, glint_column_slice(&lines->value, row));
    return code;
}

/* The form of one record: the batch form replaces it. */
static int add_one(struct glint_task *task, void *state, const struct glint_record *line,
                   struct glint_emitter *out)
{
    return add_line(task, state, line->value.bytes);
}

static int emit_stations(struct glint_task *task, void *state, struct glint_emitter *out)
{
    const struct table *t = state;
    for (uint64_t at = 0; at <= t->mask; at++) {
        const struct station *s = &t->slots[at];
        if (s->t.count == 0) continue;
        glint_emit(out,
                   &(struct glint_record){{.bytes = {s->name, s->size}},
                                          {.bytes = {(const uint8_t *)&s->t, sizeof s->t}}});
    }
    return 0;
}
static const struct glint_function summarize = GLINT_FLAT_MAP(
    "stations_batch.summarize", GLINT_ELEMENTS(GLINT_TEXT),
    GLINT_PAIRS(GLINT_TEXT, GLINT_STRUCT(struct temperatures)), add_one, .batch = add_lines,
    .end = emit_stations, .open = open_table, .state_size = sizeof(struct table));

static int combine_temperatures(struct glint_task *task, void *state, struct glint_acc *acc,
                                const union glint_value *other)
{
    struct temperatures *t = (void *)glint_acc_bytes(acc);
    const struct temperatures *o = (const void *)other->bytes.data;
    if (o->min < t->min) t->min = o->min;
    if (o->max > t->max) t->max = o->max;
    t->sum += o->sum;
    t->count += o->count;
    return 0;
}
static const struct glint_function combine = GLINT_REDUCE(
    "stations_batch.combine", GLINT_STRUCT(struct temperatures), combine_temperatures);

static int format_line(struct glint_task *task, void *state, const struct glint_record *station,
                       struct glint_emitter *out)
{
    const struct temperatures *t = (const void *)station->value.bytes.data;
    const double mean = floor((double)t->sum / (double)t->count + 0.5);
    char text[128];
    const int size = snprintf(text, sizeof text, "%.1f\t%.1f\t%.1f", (double)t->min / 10, mean / 10,
                              (double)t->max / 10);
    const struct glint_slice line = {(const uint8_t *)text, (uint64_t)size};
    glint_emit(out, &(struct glint_record){.value.bytes = line});
    return 0;
}
static const struct glint_function format =
    GLINT_MAP("stations_batch.format", GLINT_PAIRS(GLINT_TEXT, GLINT_STRUCT(struct temperatures)),
              GLINT_PAIRS(GLINT_SAME, GLINT_TEXT), format_line);

static int run(struct glint *g, const struct glint_job_args *args)
{
    struct glint_rdd *lines = glint_text_file(g, args->positional[0]);
    struct glint_rdd *pairs = glint_map_partitions(lines, &summarize, NULL);
    struct glint_rdd *stations = glint_reduce_by_key(pairs, &combine, NULL);
    return glint_save_as_text_file(glint_map_values(stations, &format, NULL), args->positional[1]);
}
GLINT_JOB(stations_batch, .summary = "temperatures of weather stations, in batches",
          .positional = {"INPUT", "OUTPUT"}, .outputs = {"OUTPUT"},
          .functions = {&summarize, &combine, &format}, .run = run);

int main(int argc, char **argv)
{
    return glint_main(argc, argv, &stations_batch);
}
