/* Payloads of frames: each comes back as it was; damaged ones are refused, or are sound. */
#include "engine/net/wire.h"

#include "engine/data/pack.h"

#include "tests/support/wire_codecs.h"
#include "tests/unit/net/bytes.h"

TestSuite(wire, .init = begin, .fini = end);

/* Encodes, decodes, compares: `sample` and what comes back have zeros between their fields. */
#define ROUND_TRIP(name, sample)                                                                   \
    do {                                                                                           \
        struct buffer bytes = {NULL, 0, 0};                                                        \
        struct name back;                                                                          \
        cr_assert_eq(name##_encode(sample, &bytes, &error), 0);                                    \
        cr_assert_leq(bytes.size, SMALL_FRAME_BYTES_MAX);                                          \
        cr_assert_eq(name##_decode(whole(&bytes), &back, &error), 0, "%s", error.cause);           \
        cr_expect_eq(memcmp(&back, sample, sizeof back), 0);                                       \
        buffer_fini(&bytes);                                                                       \
    } while (0)

#define FILLED(array, letter) memset(array, letter, sizeof(array) - 1)

Test(wire, signs_of_life_come_back)
{
    static const struct ping pings[] = {{0, 0, 0}, {UINT64_MAX, UINT64_MAX, SLOTS_MAX}};
    static const struct ready readies[] = {{1, 1, 1}, {UINT16_MAX, SLOTS_MAX, UINT64_MAX}};
    for (int i = 0; i < 2; i++) {
        ROUND_TRIP(ping, &pings[i]);
        ROUND_TRIP(ready, &readies[i]);
    }
}

Test(wire, addresses_and_jobs_come_back)
{
    static struct peer peer = {.executor = EXECUTORS_MAX - 1, .port = UINT16_MAX};
    FILLED(peer.node, 'n');
    FILLED(peer.host, 'h');
    memset(peer.incarnation, 0xff, INCARNATION_BYTES);
    ROUND_TRIP(peer, &peer);
    static const struct admit job = {UINT64_MAX, ""}, name = {0, "count-keys"},
                              both = {1, "gr\xc3\xb6\xc3\x9f"};
    ROUND_TRIP(admit, &job);
    ROUND_TRIP(admit, &name);
    ROUND_TRIP(admit, &both);
    static const struct admitted admitted = {.port = 7401, .incarnation = {1, 2, 3}};
    ROUND_TRIP(admitted, &admitted);
    static struct ended ends[] = {{0, false, "", ""},
                                  {INT32_MIN, true, "/var/log/e1.log", ""},
                                  {11, 0, "", "signal 11 in task 3"}};
    FILLED(ends[2].log, '/');
    for (int i = 0; i < 3; i++) ROUND_TRIP(ended, &ends[i]);
}

static struct job_progress largest_progress(void)
{
    struct job_progress p = {.stages = UINT32_MAX,
                             .tasks = UINT32_MAX,
                             .retries = UINT32_MAX,
                             .stage = UINT32_MAX,
                             .stage_tasks = UINT32_MAX,
                             .stage_done = UINT32_MAX};
    FILLED(p.stage_name, 's');
    return p;
}

Test(wire, progress_comes_back)
{
    const struct job_progress largest = largest_progress();
    static const struct job_progress none = {.stages = 0},
                                     half = {3, 40, 1, "textFile..reduceByKey", 2, 20, 7};
    ROUND_TRIP(job_progress, &largest);
    ROUND_TRIP(job_progress, &none);
    ROUND_TRIP(job_progress, &half);
}

Test(wire, cancelled_jobs_come_back)
{
    static struct canceled all = {.job_count = STATUS_JOBS_MAX};
    static const struct canceled none = {.job_count = 0}, one = {1, {{7, "count-keys"}}};
    for (uint32_t i = 0; i < STATUS_JOBS_MAX; i++) {
        all.jobs[i].job = UINT64_MAX - i;
        FILLED(all.jobs[i].name, 'j');
    }
    ROUND_TRIP(canceled, &all);
    ROUND_TRIP(canceled, &none);
    ROUND_TRIP(canceled, &one);
}

/* More jobs than there can be, and more tasks done than there are. */
Test(wire, what_cannot_be_is_refused)
{
    struct packer p;
    struct canceled told;
    struct job_progress progress;
    for (uint32_t jobs = STATUS_JOBS_MAX; jobs <= STATUS_JOBS_MAX + 1; jobs++) {
        packer_init(&p);
        pack_array(&p, jobs);
        for (uint32_t i = 0; i < jobs; i++) {
            pack_array(&p, 2);
            pack_u64(&p, 1);
            pack_text(&p, "j");
        }
        error.code = GLINT_OK;
        cr_expect_eq(canceled_decode((struct glint_slice){p.out.data, p.out.size}, &told, &error),
                     jobs <= STATUS_JOBS_MAX ? 0 : GLINT_E_PROTOCOL, "%u jobs", jobs);
        packer_fini(&p);
    }
    packer_init(&p);
    pack_array(&p, 7);
    for (int i = 0; i < 7; i++) i == 3 ? pack_text(&p, "s") : pack_u64(&p, i == 6 ? 2 : 1);
    error.code = GLINT_OK;
    cr_expect_eq(
        job_progress_decode((struct glint_slice){p.out.data, p.out.size}, &progress, &error),
        GLINT_E_PROTOCOL);
    packer_fini(&p);
}

Test(wire, the_largest_status_comes_back)
{
    static struct status s = {.slots = UINT32_MAX,
                              .drivers_max = UINT32_MAX,
                              .memory_bytes = UINT64_MAX,
                              .uptime_ns = UINT64_MAX,
                              .draining = true,
                              .job_count = STATUS_JOBS_MAX};
    FILLED(s.node, 'n');
    FILLED(s.build, 'b');
    for (uint32_t i = 0; i < STATUS_JOBS_MAX; i++) {
        s.jobs[i] = (struct status_job){0};
        FILLED(s.jobs[i].name, 'j');
        s.jobs[i].progress = largest_progress();
        s.jobs[i].running = i % 2 == 0;
        s.jobs[i].tasks_running = SLOTS_MAX;
        s.jobs[i].job = s.jobs[i].age_ns = UINT64_MAX - i;
        s.jobs[i].heard_ns = s.jobs[i].memory_bytes = UINT64_MAX;
    }
    ROUND_TRIP(status, &s);
    static const struct status none = {.node = "e1"};
    ROUND_TRIP(status, &none);
}

Test(wire, tracks_come_back)
{
    static struct track full = {UINT64_MAX, TRACK_BLOCKS_MAX, TRACK_BLOCKS_MAX,
                                {0},        TRACK_BLOCKS_MAX, {0}};
    static struct tracked answer = {.id = UINT64_MAX, .count = TRACK_BLOCKS_MAX};
    static const struct track first = {.id = 1, .want = 4};
    static const struct tracked nothing = {.id = 1};
    for (uint32_t i = 0; i < TRACK_BLOCKS_MAX; i++) {
        full.have[i] = i;
        full.failed[i] = UINT32_MAX - i;
        answer.blocks[i].block = UINT32_MAX - i;
        answer.blocks[i].from = i == 0 ? TRACK_DRIVER : EXECUTORS_MAX - i;
        answer.blocks[i].sum = UINT64_MAX - i;
    }
    ROUND_TRIP(track, &full);
    ROUND_TRIP(track, &first);
    ROUND_TRIP(tracked, &answer);
    ROUND_TRIP(tracked, &nothing);
}

Test(wire, errors_come_back)
{
    struct glint_error why = {.code = GLINT_OK}, back;
    struct buffer bytes = {NULL, 0, 0};
    error_set(&why, GLINT_E_FETCH_FAILED, "the hint", "the cause");
    memcpy(why.effect, "the effect", sizeof "the effect");
    cr_assert_eq(gone_encode(&why, &bytes, &error), 0);
    cr_assert_eq(gone_decode(whole(&bytes), &back, &error), 0);
    cr_expect_eq(back.code, why.code);
    cr_expect(strcmp(back.cause, why.cause) == 0 && strcmp(back.effect, why.effect) == 0 &&
              strcmp(back.hint, why.hint) == 0);
    buffer_fini(&bytes);
}

static void get_comes_back(const struct get *g)
{
    struct buffer bytes = {NULL, 0, 0};
    struct get back;
    cr_assert_eq(get_encode(g, &bytes, &error), 0);
    cr_expect_leq(bytes.size, GET_FRAME_BYTES_MAX);
    cr_assert_eq(get_decode(whole(&bytes), &back, &error), 0, "%s", error.cause);
    cr_expect(back.kind == g->kind && back.id == g->id && back.map == g->map &&
              back.attempt == g->attempt && back.partition == g->partition &&
              back.block == g->block && back.offset == g->offset && back.size == g->size &&
              back.map_count == g->map_count);
    if (g->map_count > 0)
        cr_expect_eq(memcmp(back.maps, g->maps, g->map_count * sizeof *g->maps), 0);
    get_fini(&back);
    cr_expect(back.maps == NULL && back.map_count == 0);
    buffer_fini(&bytes);
}

Test(wire, requests_come_back)
{
    static const struct get gets[] = {
        {.kind = GET_OUTPUT, .id = 1, .size = 1},
        {.kind = GET_OUTPUT,
         .id = UINT64_MAX,
         .map = PARTITIONS_MAX - 1,
         .attempt = UINT32_MAX,
         .offset = INT64_MAX - DATA_FRAME_BYTES_MAX,
         .size = DATA_FRAME_BYTES_MAX},
        {.kind = GET_VALUE, .id = 7, .block = UINT32_MAX},
        {.kind = GET_RESULT, .id = UINT64_MAX, .offset = 5, .size = MIB},
    };
    for (size_t i = 0; i < sizeof gets / sizeof gets[0]; i++) get_comes_back(&gets[i]);
    struct get parts = {.kind = GET_PARTS, .id = 3, .partition = PARTITIONS_MAX - 1};
    parts.size = FETCH_CHUNK_BYTES_MAX;
    parts.maps = mem_alloc(PARTITIONS_MAX * sizeof *parts.maps);
    for (uint32_t i = 0; i < PARTITIONS_MAX; i++) {
        parts.maps[i][0] = PARTITIONS_MAX - 1 - i;
        parts.maps[i][1] = UINT32_MAX - i;
    }
    parts.map_count = 1;
    get_comes_back(&parts);
    parts.map_count = PARTITIONS_MAX; /* the largest request that there is fits its frame */
    get_comes_back(&parts);
    get_fini(&parts);
}

/* ---- Damage: of one sample of each payload, and of each kind of GET */

struct sample {
    const char *codec;
    struct buffer bytes;
};

enum { SAMPLES_MAX = 20 };

static unsigned samples_make(struct sample out[SAMPLES_MAX])
{
    static const uint32_t maps[2][2] = {{0, 1}, {7, 70000}};
    static const struct ping ping = {1, 300, 2};
    static const struct ready ready = {7401, 2, GIB};
    static const struct peer peer = {3, "e3", "10.0.0.3", 7403, {1, 2, 3}};
    static const struct admit admit = {UINT64_MAX / 3, "count-keys"};
    static const struct admitted admitted = {7401, {9, 9}};
    static const struct ended ended = {9, true, "/var/log/glint/e1.log", "signal 9"};
    static const struct track track = {1, 4, 2, {5, 6}, 1, {7}};
    static const struct tracked tracked = {1, 2, {{1, TRACK_DRIVER, UINT64_MAX}, {2, 0, 5}}};
    static const struct status status = {.node = "e1",
                                         .build = "0.1.0-ab",
                                         .slots = 2,
                                         .drivers_max = 1,
                                         .memory_bytes = GIB,
                                         .uptime_ns = 5,
                                         .job_count = 1,
                                         .jobs = {{.job = 5,
                                                   .name = "j",
                                                   .progress = {1, 2, 3, "s", 4, 6, 5},
                                                   .running = true,
                                                   .tasks_running = 2}}};
    static const struct canceled canceled = {2, {{5, "j"}, {UINT64_MAX, "k"}}};
    static const struct job_progress progress = {1, 2, 3, "s", 4, 6, 5};
    const struct get gets[] = {
        {.kind = GET_PARTS,
         .id = 1,
         .partition = 2,
         .size = 70000,
         .map_count = 2,
         .maps = (uint32_t(*)[2])(uintptr_t)maps},
        {.kind = GET_OUTPUT, .id = 1, .map = 2, .attempt = 300, .offset = 70000, .size = MIB},
        {.kind = GET_VALUE, .id = 1, .block = 20},
        {.kind = GET_RESULT, .id = 1, .offset = 0, .size = MIB},
    };
    static const uint8_t along[20];
    static const struct part_answer parts[WIRE_PARTS] = {
        {.part = {0, 20, 40, 3}, .bytes = {along, 20}},
        {.part = {0}},
        {.part = {100, 1000, 999, 9}}};
    struct glint_error why = {.code = GLINT_OK};
    error_set(&why, GLINT_E_FETCH_FAILED, "hint", "cause");
    unsigned n = 0;
#define SAMPLE(name, v)                                                                            \
    do {                                                                                           \
        out[n] = (struct sample){.codec = #name};                                                  \
        cr_assert_eq(name##_encode(v, &out[n++].bytes, &error), 0);                                \
    } while (0)
    SAMPLE(ping, &ping);
    SAMPLE(ready, &ready);
    SAMPLE(peer, &peer);
    SAMPLE(admit, &admit);
    SAMPLE(admitted, &admitted);
    SAMPLE(ended, &ended);
    SAMPLE(status, &status);
    SAMPLE(canceled, &canceled);
    SAMPLE(job_progress, &progress);
    SAMPLE(track, &track);
    SAMPLE(tracked, &tracked);
    for (int i = 0; i < 4; i++) SAMPLE(get, &gets[i]);
    SAMPLE(gone, &why);
#undef SAMPLE
    out[n] = (struct sample){.codec = "parts"};
    cr_assert_eq(parts_encode(parts, WIRE_PARTS, &out[n++].bytes, &error), 0);
    return n;
}

static const struct wire_codec *codec_of(const struct sample *s)
{
    for (size_t i = 0; i < WIRE_CODECS_COUNT; i++)
        if (strcmp(wire_codecs[i].name, s->codec) == 0) return &wire_codecs[i];
    cr_assert_fail("no codec %s", s->codec);
    return NULL;
}

static void look_at_damage(struct glint_slice bad, bool cut, void *arg)
{
    const struct wire_codec *codec = arg;
    struct buffer again = {NULL, 0, 0}, stable = {NULL, 0, 0};
    memset(&error, 0, sizeof error);
    int r = codec->again(bad, &again, &error);
    cr_assert(r == 0 || r == GLINT_E_PROTOCOL, "%s: %d", codec->name, r);
    cr_assert_eq(r, error.code);
    if (cut) cr_assert_eq(r, GLINT_E_PROTOCOL, "%s", codec->name);
    if (r == 0) {
        cr_assert_eq(codec->again(whole(&again), &stable, &error), 0, "%s", codec->name);
        cr_assert(same(&again, &stable), "%s", codec->name);
    }
    buffer_fini(&again);
    buffer_fini(&stable);
}

Test(wire, damage_is_refused_or_sound)
{
    struct sample samples[SAMPLES_MAX];
    bool seen[WIRE_CODECS_COUNT] = {false};
    unsigned n = samples_make(samples);
    for (unsigned i = 0; i < n; i++) {
        const struct wire_codec *codec = codec_of(&samples[i]);
        struct buffer *bytes = &samples[i].bytes, again = {NULL, 0, 0};
        seen[codec - wire_codecs] = true;
        memset(&error, 0, sizeof error);
        cr_assert_eq(codec->again(whole(bytes), &again, &error), 0, "%s", codec->name);
        cr_expect(same(bytes, &again), "%s", codec->name);
        damage(whole(bytes), look_at_damage, (void *)(uintptr_t)codec);
        memset(&error, 0, sizeof error);
        cr_assert(buffer_append(bytes, "\xc0", 1));
        cr_expect_eq(codec->again(whole(bytes), &again, &error), GLINT_E_PROTOCOL);
        buffer_fini(&again);
        buffer_fini(bytes);
    }
    for (size_t i = 0; i < WIRE_CODECS_COUNT; i++)
        cr_expect(seen[i], "%s has no sample", wire_codecs[i].name);
}

/* The same error text whatever is wrong, and it says what was being read. */
Test(wire, errors_say_what_does_not_parse)
{
    for (size_t i = 0; i < WIRE_CODECS_COUNT; i++) {
        struct buffer out = {NULL, 0, 0};
        memset(&error, 0, sizeof error);
        cr_expect_eq(wire_codecs[i].again((struct glint_slice){NULL, 0}, &out, &error),
                     GLINT_E_PROTOCOL);
        cr_expect_not_null(strstr(error.cause, "not parse"), "%s", error.cause);
        cr_expect_eq(out.size, 0);
    }
}

Test(wire, no_memory_anywhere)
{
    struct sample samples[SAMPLES_MAX];
    unsigned count = samples_make(samples);
    for (unsigned i = 0; i < count; i++) {
        const struct wire_codec *codec = codec_of(&samples[i]);
        for (int64_t n = 1; n < 10; n++) {
            struct buffer out = {NULL, 0, 0};
            memset(&error, 0, sizeof error);
            mem_fail_at(n, false);
            int r = codec->again(whole(&samples[i].bytes), &out, &error);
            mem_fail_at(0, false);
            cr_assert(r == 0 || r == GLINT_E_NO_MEMORY, "%s: %d", codec->name, r);
            cr_expect_eq(out.size, r == 0 ? samples[i].bytes.size : 0);
            buffer_fini(&out);
        }
        buffer_fini(&samples[i].bytes);
    }
}

/* What is well-formed and must not be. */
struct wrong {
    const char *codec, *bytes;
    size_t size;
};
#define WRONG(codec, bytes)                                                                        \
    {                                                                                              \
        codec, bytes, sizeof bytes - 1                                                             \
    }

Test(wire, values_out_of_range_are_refused)
{
    static const struct wrong rows[] = {
        WRONG("ping", "\x93\x01\x02\xcd\x01\x01"),          /* 257 tasks */
        WRONG("ping", "\x93\xff\x02\x01"),                  /* a negative time */
        WRONG("ping", "\x93\xca\0\0\0\0\x02\x01"),          /* a float */
        WRONG("ping", "\x94\x01\x02\x03\x04"),              /* a field too many */
        WRONG("ready", "\x93\x00\x01\x01"),                 /* port 0 */
        WRONG("ready", "\x93\xce\0\x01\0\0\x01\x01"),       /* port 65536 */
        WRONG("ready", "\x93\x01\x00\x01"),                 /* no slots */
        WRONG("ready", "\x93\x01\x01\x00"),                 /* no memory */
        WRONG("admit", "\x92\x00\xa0"),                     /* no job */
        WRONG("admit", "\x92\x01\xa1\x07"),                 /* a bell in its name */
        WRONG("admit", "\x92\x01\xa1\x00"),                 /* a NUL */
        WRONG("admitted", "\x92\x01\xc4\x02\x01\x02"),      /* a short incarnation */
        WRONG("ended", "\x93\xce\x80\0\0\0\x01\xa0"),       /* a status over 31 bits */
        WRONG("ended", "\x93\x00\x02\xa0"),                 /* a boolean of 2 */
        WRONG("get", "\x93\x00\x01\x01"),                   /* no kind */
        WRONG("get", "\x93\x05\x01\x01"),                   /* an unknown one */
        WRONG("get", "\x94\x01\x01\x01\x90"),               /* parts of nothing */
        WRONG("get", "\x94\x01\x01\x01\x91\x01"),           /* half a pair */
        WRONG("get", "\x94\x04\x01\x00\x00"),               /* no bytes */
        WRONG("get", "\x94\x04\x01\x00\xce\x00\x80\0\x01"), /* more than a frame */
        WRONG("get", "\x94\x04\x01\xcf\x7f\xff\xff\xff\xff\xff\xff\xff\x01"), /* beyond any end */
        WRONG("track", "\x94\x01\x11\x90\x90"),                               /* wants 17 */
        WRONG("track", "\x94\x01\x01\xdc\0\x11"
                       "\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1\x90"),
        WRONG("tracked", "\x92\x01\x92\x01\x02"),               /* no sum */
        WRONG("tracked", "\x92\x01\x93\x01\xce\0\x01\0\0\x05"), /* executor 65536 */
        WRONG("gone", "\x91\x90"),                              /* no error */
        WRONG("gone", "\x91\x94\x00\xa0\xa0\xa0"),              /* code 0 */
        WRONG("gone", "\x91\x94\xd1\xd8\xf1\xa0\xa0\xa0"),      /* code -9999 */
        WRONG("gone", "\x91\x94\xfb\xa0\xa0\xa0"),              /* code -5 */
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct sample s = {.codec = rows[i].codec};
        struct buffer out = {NULL, 0, 0};
        memset(&error, 0, sizeof error);
        struct glint_slice bytes = {(const uint8_t *)rows[i].bytes, rows[i].size};
        cr_expect_eq(codec_of(&s)->again(bytes, &out, &error), GLINT_E_PROTOCOL, "row %zu: %s", i,
                     rows[i].codec);
        buffer_fini(&out);
    }
}

/* A path on another machine may hold anything; it is printed, so it must not move the cursor. */
Test(wire, the_path_of_a_log_is_fit_to_print)
{
    struct ended e = {0, false, "/tmp/\033[2J\n\xff\xfe", "\033c"}, back;
    struct buffer bytes = {NULL, 0, 0};
    cr_assert_eq(ended_encode(&e, &bytes, &error), 0);
    cr_assert_eq(ended_decode(whole(&bytes), &back, &error), 0);
    cr_expect_str_eq(back.log, "/tmp/?[2J ??");
    cr_expect_str_eq(back.crash, "?c");
    buffer_fini(&bytes);
}

/* Headers that promise what is not there cost nothing. */
Test(wire, bombs_are_refused_before_memory_is_asked_for)
{
    static const struct wrong bombs[] = {
        WRONG("get", "\xdd\xff\xff\xff\xff"),
        WRONG("get", "\x94\x01\x01\x01\xdd\xff\xff\xff\xff"),
        WRONG("status", "\x98\xdb\xff\xff\xff\xff"),
        WRONG("parts", "\xdd\xff\xff\xff\xff\x01\x01\x01"),
        WRONG("track", "\x91\x91\x91\x91\x91\x91\x91\x91\x91\x91\x91\x91\x91\x91\x91\x91\x91\x91"),
        WRONG("peer", "\xdf\xff\xff\xff\xff"),
    };
    mem_fail_at(1, true);
    for (size_t i = 0; i < sizeof bombs / sizeof bombs[0]; i++) {
        struct sample s = {.codec = bombs[i].codec};
        struct buffer out = {NULL, 0, 0};
        memset(&error, 0, sizeof error);
        struct glint_slice bytes = {(const uint8_t *)bombs[i].bytes, bombs[i].size};
        cr_expect_eq(codec_of(&s)->again(bytes, &out, &error), GLINT_E_PROTOCOL, "%zu", i);
    }
    mem_fail_at(0, false);
}
