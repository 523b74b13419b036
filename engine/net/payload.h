/* The fields of a payload as a table, from which it is encoded and decoded: a msgpack array of the
 * fields, in order. Used by engine/net and engine/transfer.
 *
 * Encoding asserts the bounds that decoding checks. Pure functions. */
#ifndef GLINT_NET_PAYLOAD_H
#define GLINT_NET_PAYLOAD_H

#include "engine/base/error.h"
#include "engine/records/pack.h"

#include <stddef.h>

enum payload_field_kind {
    PAYLOAD_NUMBER = 1, /* unsigned, an enum or a bool; from min to max */
    PAYLOAD_INTEGER,    /* signed; of 32 bits or 64 */
    PAYLOAD_TEXT,       /* may contain any bytes but NUL; of at least min bytes */
    PAYLOAD_NAME,       /* the same, printable (base/text.h): no control characters in a terminal */
    PAYLOAD_BYTES,      /* exactly `size` bytes */
    PAYLOAD_ERROR,      /* struct glint_error, see pack_error */
    PAYLOAD_VALUE,      /* an array with the fields of `of` */
    PAYLOAD_LIST,       /* an array of at most `max` values, each an array */
    PAYLOAD_FLAT_LIST,  /* the same, with the values' fields next to each other */
};

struct payload_format;
struct payload_field {
    enum payload_field_kind kind; /* 0: end of the table */
    uint32_t offset, size;        /* of the member */
    uint32_t count_offset;        /* of a list: its uint32_t number of values */
    uint64_t min, max;
    const struct payload_format *of; /* of a value, or of each in a list */
};

struct payload_format {
    const char *what; /* for messages, e.g. "a heartbeat"; NULL: a part of others */
    size_t size;      /* of the struct, which decoding clears; 0: it keeps the other members */
    bool is_bare;     /* its only field, a list, is the payload */
    /* What the bounds of the fields do not say; NULL: nothing. */
    bool (*is_valid)(const void *v);
    void (*sanitize)(void *v); /* after decoding, e.g. for texts that are printed; NULL: nothing */
    struct payload_field fields[13];
};

#define PAYLOAD_MEMBER_(type, member)                                                              \
    .offset = offsetof(type, member), .size = sizeof((type *)NULL)->member
#define FIELD_NUMBER(type, member, low, high)                                                      \
    {                                                                                              \
        .kind = PAYLOAD_NUMBER, PAYLOAD_MEMBER_(type, member), .min = low, .max = high             \
    }
#define FIELD_BOOL(type, member) FIELD_NUMBER(type, member, 0, 1)
#define FIELD_INTEGER(type, member)                                                                \
    {                                                                                              \
        .kind = PAYLOAD_INTEGER, PAYLOAD_MEMBER_(type, member)                                     \
    }
#define FIELD_TEXT(type, member)                                                                   \
    {                                                                                              \
        .kind = PAYLOAD_TEXT, PAYLOAD_MEMBER_(type, member)                                        \
    }
#define FIELD_NAME(type, member, low)                                                              \
    {                                                                                              \
        .kind = PAYLOAD_NAME, PAYLOAD_MEMBER_(type, member), .min = low                            \
    }
#define FIELD_BYTES(type, member)                                                                  \
    {                                                                                              \
        .kind = PAYLOAD_BYTES, PAYLOAD_MEMBER_(type, member)                                       \
    }
#define FIELD_VALUE(type, member, format)                                                          \
    {                                                                                              \
        .kind = PAYLOAD_VALUE, PAYLOAD_MEMBER_(type, member), .of = format                         \
    }
#define FIELD_LIST(list_kind, type, count, member, format)                                         \
    {                                                                                              \
        .kind = list_kind, PAYLOAD_MEMBER_(type, member), .count_offset = offsetof(type, count),   \
        .max = sizeof((type *)NULL)->member / sizeof((type *)NULL)->member[0], .of = format        \
    }

/* Appends *v to *out. Returns 0, or NO_MEMORY with *out as it was. */
int payload_encode(const struct payload_format *format, const void *v, struct buffer *out,
                   struct glint_error *error);
/* Returns 0, or PROTOCOL with the message "WHAT does not parse". */
int payload_decode(const struct payload_format *format, struct glint_slice bytes, void *v,
                   struct glint_error *error);
uint64_t payload_field_count(const struct payload_format *format);
/* The fields without their array, of a payload that has others too. An invalid field fails the
 * unpacker. */
void payload_pack_fields(struct packer *p, const struct payload_format *format, const void *v);
void payload_unpack_fields(struct unpacker *u, const struct payload_format *format, void *v);
/* A list on the heap: an array with the fields of all values next to each other. unpack allocates
 * *out, which is freed with mem_free; a list of more than `max` values fails the unpacker. Returns
 * 0, or NO_MEMORY with *error set. */
void payload_pack_list(struct packer *p, const struct payload_format *of, const void *values,
                       uint32_t count);
int payload_unpack_list(struct unpacker *list, const struct payload_format *of, uint64_t max,
                        void **out, uint32_t *out_count, struct glint_error *error);
/* The same as a payload. */
int payload_list_encode(const struct payload_format *of, const void *values, uint32_t count,
                        struct buffer *out, struct glint_error *error);
int payload_list_decode(const struct payload_format *of, struct glint_slice bytes, uint64_t max,
                        void **out, uint32_t *out_count, struct glint_error *error);

/* Declares the codec of a payload: NAME_format, and functions that check the type. */
#define PAYLOAD_CODEC(name, type)                                                                  \
    extern const struct payload_format name##_format;                                              \
    static inline int name##_encode(const type *v, struct buffer *out, struct glint_error *error)  \
    {                                                                                              \
        return payload_encode(&name##_format, v, out, error);                                      \
    }                                                                                              \
    static inline int name##_decode(struct glint_slice bytes, type *v, struct glint_error *error)  \
    {                                                                                              \
        return payload_decode(&name##_format, bytes, v, error);                                    \
    }                                                                                              \
    static_assert(sizeof(type) > 0, "a complete type")

/* The same for a list of at most `max` values, on the heap. */
#define PAYLOAD_LIST_CODEC(name, type, max)                                                        \
    extern const struct payload_format name##_format;                                              \
    static inline int name##_encode(const type *values, uint32_t count, struct buffer *out,        \
                                    struct glint_error *error)                                     \
    {                                                                                              \
        return payload_list_encode(&name##_format, values, count, out, error);                     \
    }                                                                                              \
    static inline int name##_decode(struct glint_slice bytes, type **out, uint32_t *out_count,     \
                                    struct glint_error *error)                                     \
    {                                                                                              \
        void *values;                                                                              \
        int r = payload_list_decode(&name##_format, bytes, max, &values, out_count, error);        \
        *out = values;                                                                             \
        return r;                                                                                  \
    }                                                                                              \
    static_assert(sizeof(type) > 0, "a complete type")

/* Starts an array of `fields` fields, appended to *out. The packer owns *out
 * until payload_pack_end. */
void payload_pack_begin_array(struct packer *p, struct buffer *out, uint64_t fields);
/* Returns the buffer to *out. Returns 0, or NO_MEMORY with *out truncated to `before`, its size
 * at payload_pack_begin_array. */
int payload_pack_end(struct packer *p, struct buffer *out, uint64_t before,
                     struct glint_error *error);
/* Returns 0 if all fields were read and valid, else PROTOCOL with the message "WHAT
 * does not parse". */
int payload_unpack_end(const struct unpacker *u, const char *what, struct glint_error *error);

/* Writes an error as an array: code, cause, effect, hint. NULL: an empty array. */
void pack_error(struct packer *p, const struct glint_error *e);
/* Fails the unpacker if the code is not in codes.h. */
void unpack_error(struct unpacker *u, struct glint_error *out);

#endif
