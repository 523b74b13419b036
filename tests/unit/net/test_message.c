/* Messages as bytes and back; damaged ones are refused, and nothing of them stays. */
#include "engine/net/message.h"

#include <criterion/criterion.h>
#include <string.h>

static struct glint_error error;
static int64_t live;

static void begin(void)
{
    live = mem_live();
    error.code = GLINT_OK;
}

static void end(void)
{
    cr_expect_eq(mem_live(), live);
}

TestSuite(message, .init = begin, .fini = end);

static struct glint_slice whole(const struct buffer *b)
{
    return (struct glint_slice){b->data, b->size};
}

static struct message *make(enum message_type type)
{
    struct message *m = message_create(type);
    cr_assert_not_null(m);
    m->stage = 1;
    m->task = UINT32_MAX;
    m->attempt = 3;
    m->partition = 70000;
    m->id = UINT64_MAX;
    if (type != MSG_CANCEL) cr_assert(buffer_append(&m->body, "a body\0with a zero", 18));
    if (type == MSG_DONE) cr_assert(buffer_append(&m->counters, "\x90", 1));
    if (type != MSG_FAILED) return m;
    m->error = mem_zalloc(sizeof *m->error);
    cr_assert_not_null(m->error);
    error_set(m->error, GLINT_E_BAD_ROW, "the hint", "the cause");
    memcpy(m->error->effect, "the effect", sizeof "the effect");
    return m;
}

static struct buffer encode(const struct message *m)
{
    struct buffer bytes = {NULL, 0, 0};
    cr_assert_eq(message_encode(m, &bytes, &error), 0);
    return bytes;
}

static bool same(const struct buffer *a, const struct buffer *b)
{
    return a->size == b->size && (a->size == 0 || memcmp(a->data, b->data, a->size) == 0);
}

Test(message, every_type_comes_back)
{
    for (int type = 1; type < MSG_TYPES_END; type++) {
        struct message *m = make((enum message_type)type);
        struct buffer bytes = encode(m);
        struct message *back = message_decode(whole(&bytes), &error);
        cr_assert_not_null(back);
        cr_expect(back->type == m->type && back->stage == m->stage && back->task == m->task);
        cr_expect(back->attempt == m->attempt && back->partition == m->partition);
        cr_expect_eq(back->id, m->id);
        cr_expect(same(&back->body, &m->body) && same(&back->counters, &m->counters));
        cr_expect_eq(back->error != NULL, type == MSG_FAILED);
        if (back->error != NULL) cr_expect_eq(memcmp(back->error, m->error, sizeof *m->error), 0);
        message_destroy(back);
        message_destroy(m);
        buffer_fini(&bytes);
    }
    message_destroy(NULL);
}

Test(message, damaged_bytes_are_refused_or_sound)
{
    for (int type = 1; type < MSG_TYPES_END; type++) {
        struct message *m = make((enum message_type)type);
        struct buffer good = encode(m);
        uint8_t *bad = mem_alloc(good.size);
        for (uint64_t i = 0; i < good.size * 257; i++) {
            uint64_t at = i / 257, value = i % 257; /* value 256: cut here */
            memcpy(bad, good.data, good.size);
            if (value < 256) bad[at] = (uint8_t)value;
            error.code = GLINT_OK;
            struct message *back =
                message_decode((struct glint_slice){bad, value < 256 ? good.size : at}, &error);
            cr_assert_eq(back == NULL, error.code == GLINT_E_PROTOCOL);
            cr_assert(back == NULL ||
                      (value < 256 && back->type > 0 && back->type < MSG_TYPES_END));
            cr_assert(back == NULL || back->type != MSG_FAILED ||
                      (back->error != NULL && back->error->code < 0));
            message_destroy(back);
        }
        mem_free(bad);
        message_destroy(m);
        buffer_fini(&good);
    }
}

Test(message, codes_are_codes)
{
    static const int codes[] = {0, 1, INT32_MIN, -100000};
    for (size_t i = 0; i < sizeof codes / sizeof codes[0]; i++) {
        struct message *m = make(MSG_FAILED);
        m->error->code = (enum glint_code)codes[i];
        struct buffer bytes = encode(m);
        error.code = GLINT_OK;
        cr_expect_null(message_decode(whole(&bytes), &error));
        cr_expect_eq(error.code, GLINT_E_PROTOCOL);
        message_destroy(m);
        buffer_fini(&bytes);
    }
}

Test(message, no_memory_anywhere)
{
    struct message *m = make(MSG_FAILED);
    for (int64_t n = 1; n < 10; n++) {
        struct buffer bytes = {NULL, 0, 0};
        error.code = GLINT_OK;
        mem_fail_at(n, false);
        struct message *back = NULL;
        if (message_encode(m, &bytes, &error) == 0) back = message_decode(whole(&bytes), &error);
        mem_fail_at(0, false);
        cr_expect_eq(error.code, back != NULL ? GLINT_OK : GLINT_E_NO_MEMORY);
        message_destroy(back);
        buffer_fini(&bytes);
    }
    message_destroy(m);
}

Test(message, map_outputs_come_back)
{
    static const uint32_t attempts[] = {0, 1, 127, 128, UINT32_MAX};
    for (uint32_t count = 0; count <= 5; count++) {
        struct buffer bytes = {NULL, 0, 0};
        uint32_t *back, back_count;
        cr_assert_eq(outputs_encode(attempts, count, &bytes, &error), 0);
        cr_assert_eq(outputs_decode(whole(&bytes), &back, &back_count, &error), 0);
        cr_assert_eq(back_count, count);
        for (uint32_t i = 0; i < count; i++) cr_expect_eq(back[i], attempts[i]);
        mem_free(back);
        for (uint64_t size = 0; size < bytes.size; size++) {
            error.code = GLINT_OK;
            cr_expect_eq(
                outputs_decode((struct glint_slice){bytes.data, size}, &back, &back_count, &error),
                GLINT_E_PROTOCOL);
            cr_expect(back == NULL && back_count == 0);
        }
        error.code = GLINT_OK;
        buffer_fini(&bytes);
    }
    cr_expect_eq(outputs_decode((struct glint_slice){(const uint8_t *)"\x91\xa1x", 3},
                                &(uint32_t *){NULL}, &(uint32_t){0}, &error),
                 GLINT_E_PROTOCOL);
}
