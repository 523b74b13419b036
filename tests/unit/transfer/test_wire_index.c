/* The response to an INDEX request: the list of segments, and inlined bytes. */
#include "engine/transfer/wire_fetch.h"

#include "tests/unit/net/bytes.h"

TestSuite(wire_index, .init = begin, .fini = end);

Test(wire_index, entries_round_trip)
{
    struct index_entry *parts = mem_zalloc(PARTITIONS_MAX * sizeof *parts);
    struct index_entry *back = mem_zalloc(PARTITIONS_MAX * sizeof *back); /* padding is compared */
    for (uint32_t i = 0; i < PARTITIONS_MAX; i++)
        parts[i].part = i % 3 == 0 ? (struct run_part){UINT64_MAX, 0, 0, 0}
                                   : (struct run_part){INT64_MAX - (INT64_MAX / 2 + i),
                                                       INT64_MAX / 2 + i, INT64_MAX, INT64_MAX / 2};
    static const uint32_t counts[] = {0, 1, 2, 5, PARTITIONS_MAX};
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        struct buffer bytes = {NULL, 0, 0};
        cr_assert_eq(map_output_index_encode(parts, counts[i], &bytes, &error), 0);
        cr_expect_leq(bytes.size + FETCH_CHUNK_BYTES_MAX, DATA_FRAME_BYTES_MAX);
        cr_assert_eq(map_output_index_decode(whole(&bytes), back, counts[i], &error), 0);
        cr_expect_eq(memcmp(parts, back, counts[i] * sizeof *parts), 0);
        cr_expect_eq(map_output_index_decode(whole(&bytes), back, counts[i] + 1, &error),
                     GLINT_E_PROTOCOL);
        memset(&error, 0, sizeof error);
        buffer_fini(&bytes);
    }
    mem_free(parts);
    mem_free(back);
}

/* Segments are inlined in request order while they fit; a smaller one may fit after one that
 * did not. */
Test(wire_index, small_entries_carry_their_bytes)
{
    static const uint8_t memory[1000] = {1, 2, 3, [500] = 5};
    struct run_part parts[4] = {{100, 300, 300, 3}, {400, 301, 999, 9}, {0}, {701, 100, 99, 1}};
    struct run run = {.source.memory = memory, .parts = parts, .partitions = 4};
    struct index_entry answers[5], back[5];
    uint64_t room = 600;
    for (uint32_t i = 0; i < 4; i++) answers[i] = index_entry_create(&run, i, &room);
    run.source.memory = NULL; /* map output in a file */
    answers[4] = index_entry_create(&run, 3, &room);
    cr_expect_eq(room, 200);
    struct buffer bytes = {NULL, 0, 0};
    cr_assert_eq(map_output_index_encode(answers, 5, &bytes, &error), 0);
    cr_assert_eq(map_output_index_decode(whole(&bytes), back, 5, &error), 0);
    static const uint64_t expected[5] = {300, 0, 0, 100, 0};
    for (uint32_t i = 0; i < 5; i++) {
        cr_assert_eq(back[i].bytes.size, expected[i], "part %u", i);
        cr_expect_eq(memcmp(&back[i].part, &parts[i < 4 ? i : 3], sizeof parts[0]), 0);
        if (expected[i] > 0)
            cr_expect_eq(memcmp(back[i].bytes.data, memory + parts[i].offset, expected[i]), 0);
    }
    for (uint64_t cut = 1; cut <= bytes.size; cut++) {
        struct glint_slice less = {bytes.data, bytes.size - cut};
        memset(&error, 0, sizeof error);
        cr_expect_eq(map_output_index_decode(less, back, 5, &error), GLINT_E_PROTOCOL,
                     "%llu bytes less", (unsigned long long)cut);
    }
    memset(&error, 0, sizeof error);
    cr_assert(buffer_append(&bytes, memory, 1));
    cr_expect_eq(map_output_index_decode(whole(&bytes), back, 5, &error), GLINT_E_PROTOCOL);
    buffer_fini(&bytes);
}

Test(wire_index, damaged_bytes_are_rejected)
{
    static const struct index_entry parts[2] = {{.part = {0, 100, 200, 3}},
                                                {.part = {100, 1000, 999, 9}}};
    struct buffer bytes = {NULL, 0, 0};
    cr_assert_eq(map_output_index_encode(parts, 2, &bytes, &error), 0);
    for (uint64_t bit = 0; bit < 8 * bytes.size; bit++) {
        struct index_entry back[2];
        bytes.data[bit / 8] ^= 1u << bit % 8;
        memset(&error, 0, sizeof error);
        cr_expect_eq(map_output_index_decode(whole(&bytes), back, 2, &error), GLINT_E_PROTOCOL);
        bytes.data[bit / 8] ^= 1u << bit % 8;
    }
    buffer_fini(&bytes);
}

Test(wire_index, entry_may_end_at_the_largest_offset)
{
    struct buffer bytes = {NULL, 0, 0};
    struct index_entry one = {.part = {INT64_MAX - 100, 100, 100, 1}}, back;
    memset(&error, 0, sizeof error);
    cr_assert_eq(map_output_index_encode(&one, 1, &bytes, &error), 0);
    cr_expect_eq(map_output_index_decode(whole(&bytes), &back, 1, &error), 0, "%s", error.cause);
    cr_expect_eq(back.part.offset, INT64_MAX - 100);
    buffer_fini(&bytes);
}

Test(wire_index, lost_map_outputs_are_marked)
{
    const struct run empty = {.partitions = 3};
    uint64_t room = 100;
    struct buffer bytes = {NULL, 0, 0};
    const struct index_entry entries[3] = {index_entry_create(NULL, 0, &room),
                                           {.part = {0, 100, 200, 3}},
                                           index_entry_create(&empty, 3, &room)};
    struct index_entry back[3];
    cr_assert_eq(map_output_index_encode(entries, 3, &bytes, &error), 0);
    cr_assert_eq(map_output_index_decode(whole(&bytes), back, 3, &error), 0);
    for (uint32_t i = 0; i < 3; i++) cr_expect_eq(back[i].lost, i != 1, "%u", i);
    cr_expect_eq(back[1].part.records, 3);
    buffer_fini(&bytes);
}

/* Sizes that no run can have. */
Test(wire_index, impossible_entries_are_rejected)
{
    static const struct run_part impossible[] = {
        {0, 0, 0, 1},                   /* records without bytes */
        {0, 100, 0, 0},                 /* bytes without records */
        {0, 0, 100, 0},                 /* uncompressed bytes without records */
        {0, 16, 100, 1},                /* a header and no payload */
        {0, 100, 1, 1},                 /* a record takes at least two bytes for its lengths */
        {0, 100, 200, 101},             /* the same for 101 records */
        {0, 100, 100 * 300, 1},         /* more than lz4 can expand it to */
        {INT64_MAX - 99, 100, 100, 1},  /* the end overflows */
        {UINT64_MAX, 100, 100, 1},      /* the end overflows */
        {0, UINT64_MAX, UINT64_MAX, 1}, /* the size overflows */
    };
    for (size_t i = 0; i < sizeof impossible / sizeof impossible[0]; i++) {
        struct buffer bytes = {NULL, 0, 0};
        struct index_entry one = {.part = impossible[i]}, back = {.part = {1, 1, 1, 1}};
        memset(&error, 0, sizeof error);
        cr_assert_eq(map_output_index_encode(&one, 1, &bytes, &error), 0);
        cr_expect_eq(map_output_index_decode(whole(&bytes), &back, 1, &error), GLINT_E_PROTOCOL,
                     "%zu", i);
        cr_expect_eq(back.part.bytes, 0);
        buffer_fini(&bytes);
    }
}
