/* The simulated clock and event queue of a seed: time passes only when an event is popped. */
#include "tests/sim/sim.h"

#include <assert.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

uint64_t sim_random(struct sim *s, uint64_t below)
{
    assert(below > 0);
    uint64_t z = (s->random += 0x9e3779b97f4a7c15u); /* splitmix64 */
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return (z ^ z >> 31) % below;
}

bool sim_chance(struct sim *s, uint32_t one_in)
{
    return sim_random(s, one_in) == 0;
}

void sim_trace(struct sim *s, const char *format, ...)
{
    if (!s->options.trace) return;
    va_list args;
    va_start(args, format);
    fprintf(stderr, "%8llu ms  ", (unsigned long long)(s->now / MILLI));
    vfprintf(stderr, format, args);
    fputc('\n', stderr);
    va_end(args);
}

/* ---- Events: a heap by (time, order) */

static bool before(const struct sim_event *a, const struct sim_event *b)
{
    return a->at != b->at ? a->at < b->at : a->order < b->order;
}

static void swap(struct sim_event *a, struct sim_event *b)
{
    struct sim_event t = *a;
    *a = *b;
    *b = t;
}

static void push(struct sim *s, struct sim_event event)
{
    if (s->event_count == s->event_capacity) {
        s->event_capacity = s->event_capacity ? 2 * s->event_capacity : 256;
        s->events = realloc(s->events, sizeof *s->events * s->event_capacity);
        if (s->events == NULL) abort();
    }
    assert(event.at >= s->now);
    uint32_t i = s->event_count++;
    s->events[i] = event;
    for (; i > 0 && before(&s->events[i], &s->events[(i - 1) / 2]); i = (i - 1) / 2)
        swap(&s->events[i], &s->events[(i - 1) / 2]);
}

void sim_push(struct sim *s, struct sim_event event)
{
    event.order = s->order++;
    push(s, event);
}

void sim_push_again(struct sim *s, struct sim_event event)
{
    assert(event.order < s->order);
    push(s, event);
}

bool sim_pop(struct sim *s, uint64_t until, struct sim_event *out)
{
    if (s->event_count == 0 || s->events[0].at > until) return false;
    *out = s->events[0];
    s->events[0] = s->events[--s->event_count];
    for (uint32_t i = 0;;) {
        uint32_t least = i, left = 2 * i + 1, right = left + 1;
        if (left < s->event_count && before(&s->events[left], &s->events[least])) least = left;
        if (right < s->event_count && before(&s->events[right], &s->events[least])) least = right;
        if (least == i) break;
        swap(&s->events[i], &s->events[least]);
        i = least;
    }
    assert(out->at >= s->now);
    s->now = out->at;
    return true;
}

void sim_drop_events(struct sim *s)
{
    for (uint32_t i = 0; i < s->event_count; i++) buffer_fini(&s->events[i].bytes);
    free(s->events);
    s->events = NULL;
    s->event_count = s->event_capacity = 0;
}

/* ---- Files, clocks and random numbers of a process */

static struct sim_env *sim_env_of(struct env *env)
{
    return (struct sim_env *)env;
}

static uint64_t env_now(struct env *env)
{
    return sim_env_of(env)->sim->now;
}

static int64_t env_wall(struct env *env)
{
    return 1763000000 * (int64_t)SECOND + (int64_t)sim_env_of(env)->sim->now +
           sim_env_of(env)->clock_off_ns;
}

static int env_random(struct env *env, void *out, size_t size)
{
    for (size_t i = 0; i < size; i++)
        ((uint8_t *)out)[i] = (uint8_t)sim_random(sim_env_of(env)->sim, 256);
    return 0;
}

/* Outputs are on a disk that all nodes share; everything else is on the node's own disk. */
static int env_open(struct env *env, int dir, const char *name, enum env_open_mode mode)
{
    int file = env_real()->open(env_real(), dir, name, mode);
    if (file >= 0 && file < FILES_MAX)
        sim_env_of(env)->sim->shared_disk[file] = mode == ENV_CREATE_PUBLIC;
    return file;
}

static int64_t env_write(struct env *env, int file, const void *data, size_t size)
{
    struct sim *s = sim_env_of(env)->sim;
    bool shared = file < FILES_MAX && s->shared_disk[file];
    if (shared && s->now >= s->output_full_from && s->now < s->output_full_until) {
        s->output_refused++;
        return -ENOSPC;
    }
    if (sim_env_of(env)->full && !shared) {
        sim_env_of(env)->refused++;
        return -ENOSPC;
    }
    return env_real()->write(env_real(), file, data, size);
}

/* A file system with delayed allocation reports ENOSPC only at fsync. */
static int env_sync_file(struct env *env, int file)
{
    struct sim *s = sim_env_of(env)->sim;
    bool shared = file < FILES_MAX && s->shared_disk[file];
    bool full = s->now >= s->output_full_from && s->now < s->output_full_until;
    if (!shared || !full) return 0;
    s->output_refused++;
    if (sim_env_of(env)->driver) s->commit_refused = true;
    return -ENOSPC;
}

/* No real fsync: it would slow down thousands of seeds. */
static int sim_sync_dir(struct env *env, int dir)
{
    (void)env;
    (void)dir;
    return 0;
}

static int env_rename(struct env *env, int from_dir, const char *from, int to_dir, const char *to,
                      enum env_rename_mode mode)
{
    int r = env_real()->rename(env_real(), from_dir, from, to_dir, to, mode);
    if (r == 0 && sim_env_of(env)->driver)
        oracle_committed(sim_env_of(env)->sim, from_dir, from, to);
    return r;
}

void sim_env_init(struct sim_env *env, struct sim *s)
{
    *env = (struct sim_env){.env = *env_real(), .sim = s};
    env->env.now_ns = env_now;
    env->env.wall_ns = env_wall;
    env->env.random = env_random;
    env->env.open = env_open;
    env->env.write = env_write;
    env->env.sync_file = env_sync_file;
    env->env.sync_dir = sim_sync_dir;
    env->env.rename = env_rename;
}
