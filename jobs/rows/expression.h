/* Expressions over the columns of a row, as in SQL: conditions of --where, columns of select.
 *
 *     expression_parse.c  driver: text to instructions, with types; the grammar
 *     expression.c        task: instructions to values
 *     expression_bounds.c task: instructions to whether a row group may have rows
 *
 * Fields of text have no types: what a field is compared or calculated with decides whether it is a
 * number, a time, a truth value, or text. Columns of a source that knows their types have these. */
#ifndef GLINT_JOBS_ROWS_EXPRESSION_H
#define GLINT_JOBS_ROWS_EXPRESSION_H

#include "engine/batch.h"
#include "jobs/rows/numbers.h"
#include "jobs/rows/timestamps.h"

enum expression_type {
    EXPRESSION_NULL,
    EXPRESSION_BOOLEAN,
    EXPRESSION_TEXT,
    EXPRESSION_NUMBER,
    EXPRESSION_TIME,        /* a date is a time, too */
    EXPRESSION_TIME_OF_DAY, /* as a time of 1970-01-01 */
    EXPRESSION_DOUBLE,      /* of a column: its numbers are doubles, however they are written */
    EXPRESSION_FLOAT,       /* the same of 32 bits, and of literals that are compared with it */
    EXPRESSION_HALF,        /* of 16 bits */
    EXPRESSION_ANY          /* a field of text, until something decides; driver only */
};

enum {
    EXPRESSION_CODE_MAX = 1024, /* instructions of all expressions of one source */
    EXPRESSION_DEPTH_MAX = 64   /* of values on the stack, and of parentheses */
};

/* Bytes of an instruction without its text, and at most of all that a text becomes. */
enum { EXPRESSION_HEAD_BYTES = 10 };
#define EXPRESSION_CODE_BYTES(text_size)                                                           \
    ((uint64_t)EXPRESSION_CODE_MAX * EXPRESSION_HEAD_BYTES + (text_size))

/* ---- Driver. Texts are not bounded by NUL; all of them are borrowed. */

enum expression_name {
    EXPRESSION_PLAIN,   /* id, user.id, tags[0], $.user.id */
    EXPRESSION_QUOTED,  /* "price, total": without the quotes, doubled ones inside stay */
    EXPRESSION_POSITION /* $2: the digits */
};

/* Names, positions, numbers and texts are without their marks. */
struct expression_token {
    enum expression_token_kind {
        EXPRESSION_TOKEN_END,
        EXPRESSION_TOKEN_NAME,
        EXPRESSION_TOKEN_QUOTED,
        EXPRESSION_TOKEN_POSITION,
        EXPRESSION_TOKEN_NUMBER,
        EXPRESSION_TOKEN_TEXT, /* doubled quotes inside stay */
        EXPRESSION_TOKEN_SYMBOL
    } kind;
    struct glint_slice text;
    uint64_t start; /* in the source */
};

struct expression_source {
    struct glint_slice text;
    /* Finds a column: sets its number among the fields of a row, and what its source says it is:
     * ANY, or a type that comparisons and arithmetic take it for; floats are a NUMBER. Returns 0,
     * or a code after it has reported the error itself. */
    int (*column)(void *arg, enum expression_name kind, struct glint_slice name,
                  uint32_t *out_number, enum expression_type *out_type);
    void *arg;
    uint8_t *code; /* of the caller: EXPRESSION_CODE_BYTES(text.size) */
    /* The rest is set by expression_begin. */
    struct expression_token token; /* the next one */
    uint64_t at;                   /* after the token */
    uint32_t count, first;         /* instructions of all expressions, and before this one */
    uint32_t depth, nesting;
    uint64_t code_size; /* of the current expression */
    bool orders_texts;  /* two fields are compared by < or > as texts */
    int failed;         /* 0, or a code; with `problem` "": `column` has reported it */
    char problem[256];
    uint64_t problem_at; /* in `text` */
};

/* Reads the first token. */
void expression_begin(struct expression_source *s);
/* Compiles the expression that begins at the next token, up to the first token that does not belong
 * to it. s->code is then its instructions. With `condition` its value must be a truth value.
 * Returns its type (never ANY: a field that nothing decided is text); s->failed is set after an
 * error. */
enum expression_type expression_compile(struct expression_source *s, bool condition);
/* Whether the next token is this keyword, in any case, or this symbol. */
bool expression_token_is(const struct expression_source *s, const char *word);
void expression_next_token(struct expression_source *s);
/* Sets the error, at the next token, unless there is one. `problem` is a printf format. */
void expression_fail(struct expression_source *s, const char *problem, ...)
    __attribute__((format(printf, 2, 3)));
/* Writes the part of the text around the error, with ^ before it; printable. */
void expression_hint(const struct expression_source *s, char *out, size_t capacity);

/* ---- Task */

struct expression_value {
    enum expression_type type;
    union {
        bool boolean;
        struct glint_slice text;
        struct number number;
        struct timestamp time;
    };
};

struct expression_instruction {
    uint8_t operation, type;
    uint32_t argument;
    struct expression_value constant;
};

struct expression {
    const struct expression_instruction *code;
    uint32_t count;
    /* What a null is in rows (nulls.h); data NULL: a field without data (columns_unescape). */
    struct glint_slice null;
};

/* Reads instructions into `code`, which has room for `capacity` of them; texts are borrowed. The
 * fields of a row are `columns`. Returns how many, or 0 if they are not valid. */
uint32_t expression_decode(struct glint_slice bytes, uint32_t columns,
                           struct expression_instruction *code, uint32_t capacity);

/* Why a row has no value. */
struct expression_problem {
    const char *reason; /* static */
    uint32_t column;    /* whose field has another type, or EXPRESSION_NO_COLUMN */
};
#define EXPRESSION_NO_COLUMN UINT32_MAX

/* Evaluates for the fields of a row. Texts point into fields and instructions. AND and OR do not
 * evaluate their right side if the left one decides. Returns false with *problem set. */
bool expression_evaluate(const struct expression *e, const struct glint_slice *fields,
                         struct expression_value *out, struct expression_problem *problem);

/* Returns a set of one enum expression_order; 0: one is null, or types that no parser lets through.
 */
uint32_t expression_compare(const struct expression_value *a, const struct expression_value *b);
/* Whether a row of the group may be bad, or one for which the condition is true. Fields of the
 * expression are `columns` of the row. Returns 1, 0 or a code with the task's error set. */
int expression_may_be_true(const struct expression *e, const uint32_t *columns,
                           const struct glint_row_group *group);

/* ---- The form of instructions: those of an expression leave one value on the stack.
 *
 *     0  operation   1  type   2  argument, 4 bytes   6  size, 4 bytes   10  text of this size
 *
 * Constants are the text of their literal, which the task parses. Numbers are as in memory. */
enum expression_operation {
    EXPRESSION_PUSH,     /* the constant `text` of `type` */
    EXPRESSION_COLUMN,   /* field `argument` as `type` */
    EXPRESSION_COMPARE,  /* argument: bits of enum expression_order */
    EXPRESSION_BETWEEN,  /* value, least, greatest */
    EXPRESSION_IN_BEGIN, /* value -> value, FALSE */
    EXPRESSION_IN,       /* value, found: is it the constant? */
    EXPRESSION_IN_END,   /* value, found -> found */
    EXPRESSION_LIKE,     /* text, pattern */
    EXPRESSION_IS_NULL,
    EXPRESSION_NOT,
    EXPRESSION_AND,
    EXPRESSION_OR,
    EXPRESSION_AND_SKIP, /* to instruction `argument` if the value is FALSE, which stays */
    EXPRESSION_OR_SKIP,  /* if it is TRUE */
    EXPRESSION_NEGATE,
    EXPRESSION_CALCULATE, /* argument: enum arithmetic */
    EXPRESSION_OPERATIONS
};
enum expression_order { EXPRESSION_LESS = 1, EXPRESSION_EQUAL = 2, EXPRESSION_GREATER = 4 };

/* How many values each operation takes from the stack, and leaves there. */
struct expression_effect {
    uint8_t takes, leaves;
};
extern const struct expression_effect expression_effects[EXPRESSION_OPERATIONS];

/* Floats of different sizes are numbers. */
static inline bool expression_is_float(enum expression_type type)
{
    return type >= EXPRESSION_DOUBLE && type <= EXPRESSION_HALF;
}

/* Parses a literal, or a field, of this type. An empty number or time is null. Returns false if it
 * is none. */
bool expression_parse_value(enum expression_type type, struct glint_slice text,
                            struct expression_value *out);

#endif
