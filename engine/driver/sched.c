#include "engine/driver/sched.h"
#include "engine/base/mem.h"
#include "engine/limits.h"
#include <assert.h>
#include <string.h>
enum { W, R, D, F };
struct task {
    uint8_t state, fails;
    uint32_t attempt, executor, last, prefer, done_attempt;
};
struct stage {
    struct task *t;
    uint32_t n, done, *parents, pc, epoch, fetch_fails;
    bool failed, fetch_pending;
};
struct ex {
    uint32_t node, slots, busy;
    bool lost, draining;
};
struct sched {
    struct ex *e;
    uint32_t en;
    struct stage *s;
    uint32_t sn;
    uint32_t running, retries, losses;
    bool stopped;
    enum sched_verdict v;
};
struct sched *sched_create(bool sp)
{
    (void)sp;
    return mem_zalloc(sizeof(struct sched));
}
void sched_destroy(struct sched *s)
{
    if (!s) return;
    for (uint32_t i = 0; i < s->sn; i++) {
        mem_free(s->s[i].t);
        mem_free(s->s[i].parents);
    }
    mem_free(s->s);
    mem_free(s->e);
    mem_free(s);
}
bool sched_add_executor(struct sched *s, uint32_t node, uint32_t slots)
{
    struct ex *g = mem_grow(s->e, sizeof *g * s->en, sizeof *g * (s->en + 1));
    if (!g) return false;
    s->e = g;
    g[s->en++] = (struct ex){node, slots, 0, 0, 0};
    return true;
}
bool sched_add_stage(struct sched *s, uint32_t n, const uint32_t *p, uint32_t pc)
{
    struct stage st = {.n = n, .pc = pc};
    st.t = mem_zalloc(sizeof *st.t * (n + 1));
    st.parents = mem_alloc(sizeof *p * (pc + 1));
    for (uint32_t i = 0; i < pc; i++) st.parents[i] = p[i];
    for (uint32_t i = 0; i < n; i++) st.t[i].prefer = st.t[i].last = SCHED_NONE;
    struct stage *g = mem_grow(s->s, sizeof *g * s->sn, sizeof *g * (s->sn + 1));
    if (!g) return false;
    s->s = g;
    g[s->sn++] = st;
    return true;
}
void sched_set_done(struct sched *s, uint32_t st, uint32_t t, uint32_t e, uint32_t a)
{
    struct task *k = &s->s[st].t[t];
    k->state = D;
    k->executor = e;
    k->done_attempt = a;
    k->attempt = a + 1;
    s->s[st].done++;
}
void sched_prefer(struct sched *s, uint32_t st, uint32_t t, uint32_t e)
{
    s->s[st].t[t].prefer = e;
}
bool sched_stage_done(const struct sched *s, uint32_t st)
{
    return s->s[st].done == s->s[st].n;
}
bool sched_stage_failed(const struct sched *s, uint32_t st)
{
    return s->s[st].failed;
}
bool sched_stage_needed(const struct sched *s, uint32_t st)
{
    if (st + 1 == s->sn) return true;
    for (uint32_t i = st + 1; i < s->sn; i++) {
        if (sched_stage_done(s, i) || !sched_stage_needed(s, i)) continue;
        for (uint32_t p = 0; p < s->s[i].pc; p++)
            if (s->s[i].parents[p] == st) return true;
    }
    return false;
}
bool sched_next(struct sched *s, uint64_t now, struct sched_run *o)
{
    (void)now;
    if (s->stopped || s->v) return false;
    for (uint32_t i = 0; i < s->sn; i++) {
        struct stage *st = &s->s[i];
        if (st->done == st->n || st->failed || !sched_stage_needed(s, i)) continue;
        bool ready = true;
        for (uint32_t p = 0; p < st->pc; p++) ready = ready && sched_stage_done(s, st->parents[p]);
        if (!ready) continue;
        for (uint32_t t = 0; t < st->n; t++) {
            struct task *k = &st->t[t];
            if (k->state != W) continue;
            struct ex *b = NULL;
            for (uint32_t e = 0; e < s->en; e++) {
                struct ex *x = &s->e[e];
                if (x->lost || x->draining || x->busy == x->slots) continue;
                if (!b || (k->last == b->node && x->node != k->last) ||
                    (x->node != k->last && x->slots - x->busy > b->slots - b->busy))
                    b = x;
            }
            if (!b) return false;
            k->state = R;
            k->executor = (uint32_t)(b - s->e);
            b->busy++;
            s->running++;
            *o = (struct sched_run){k->executor, i, t, k->attempt, false};
            return true;
        }
    }
    return false;
}
uint64_t sched_wake_ns(const struct sched *s)
{
    (void)s;
    return UINT64_MAX;
}
static struct task *end(struct sched *s, uint32_t e, uint32_t st, uint32_t t, uint32_t a)
{
    if (st >= s->sn || t >= s->s[st].n) return NULL;
    struct task *k = &s->s[st].t[t];
    if (k->state != R || k->attempt != a || k->executor != e) return NULL;
    s->running--;
    s->e[e].busy--;
    k->attempt++;
    return k;
}
bool sched_on_done(struct sched *s, uint32_t e, uint32_t st, uint32_t t, uint32_t a, uint64_t now)
{
    (void)now;
    struct task *k = end(s, e, st, t, a);
    if (!k) return false;
    k->state = D;
    k->done_attempt = a;
    s->s[st].done++;
    s->s[st].epoch++;
    s->s[st].fetch_fails = 0;
    return true;
}
bool sched_twin(const struct sched *s, uint32_t st, uint32_t t, struct sched_run *o)
{
    (void)s;
    (void)st;
    (void)t;
    (void)o;
    return false;
}
bool sched_on_failed(struct sched *s, uint32_t e, uint32_t st, uint32_t t, uint32_t a,
                     enum sched_failure why)
{
    struct task *k = end(s, e, st, t, a);
    if (!k) return false;
    k->state = W;
    k->last = s->e[e].node;
    s->retries++;
    if (why == SCHED_FATAL || (why == SCHED_OWN && ++k->fails >= TASK_ATTEMPTS_MAX)) {
        k->state = F;
        s->s[st].failed = true;
        s->v = SCHED_TASK_FAILED;
    }
    if (why == SCHED_FETCH) s->s[st].fetch_pending = true;
    return true;
}
static void lose(struct sched *s, uint32_t st, uint32_t t)
{
    struct task *k = &s->s[st].t[t];
    k->state = W;
    s->s[st].done--;
    s->s[st].epoch++;
    for (uint32_t i = st + 1; i < s->sn; i++)
        if (s->s[i].fetch_pending) {
            s->s[i].fetch_pending = false;
            if (++s->s[i].fetch_fails >= 4 * s->en + STAGE_ATTEMPTS_MAX) {
                s->s[i].failed = true;
                s->v = SCHED_STAGE_FAILED;
            }
        }
}
void sched_on_executor_lost(struct sched *s, uint32_t e, bool blame, bool counts)
{
    if (s->e[e].lost) return;
    s->e[e].lost = true;
    if (counts && ++s->losses > LOSSES_MAX) s->v = SCHED_LOSSES;
    for (uint32_t i = 0; i < s->sn; i++)
        for (uint32_t t = 0; t < s->s[i].n; t++) {
            struct task *k = &s->s[i].t[t];
            if (k->executor != e) continue;
            if (k->state == R) {
                s->running--;
                k->attempt++;
                k->state = W;
                s->retries++;
                if (blame && ++k->fails >= TASK_ATTEMPTS_MAX) {
                    k->state = F;
                    s->v = SCHED_TASK_FAILED;
                }
            } else if (k->state == D && i + 1 < s->sn)
                lose(s, i, t);
        }
}
void sched_on_draining(struct sched *s, uint32_t e)
{
    s->e[e].draining = true;
}
void sched_on_output_lost(struct sched *s, uint32_t st, uint32_t t, uint32_t e, uint32_t a)
{
    struct task *k = &s->s[st].t[t];
    if (k->state == D && k->executor == e && k->done_attempt == a) lose(s, st, t);
}
void sched_stop(struct sched *s)
{
    s->stopped = true;
}
bool sched_set_aside(const struct sched *s, uint32_t e)
{
    (void)s;
    (void)e;
    return false;
}
enum sched_verdict sched_verdict(const struct sched *s)
{
    return s->v;
}
uint32_t sched_tasks_done(const struct sched *s, uint32_t st)
{
    return s->s[st].done;
}
uint32_t sched_running(const struct sched *s)
{
    return s->running;
}
uint32_t sched_running_on(const struct sched *s, uint32_t e)
{
    return s->e[e].busy;
}
uint32_t sched_executors_alive(const struct sched *s)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < s->en; i++) n += !s->e[i].lost;
    return n;
}
bool sched_output(const struct sched *s, uint32_t st, uint32_t t, uint32_t *e, uint32_t *a)
{
    const struct task *k = &s->s[st].t[t];
    *e = k->executor;
    *a = k->done_attempt;
    return k->state == D;
}
uint32_t sched_epoch(const struct sched *s, uint32_t st)
{
    return s->s[st].epoch;
}
uint32_t sched_retries(const struct sched *s)
{
    return s->retries;
}
uint32_t sched_losses(const struct sched *s)
{
    return s->losses;
}
uint64_t sched_memory_bytes(const struct sched *s)
{
    (void)s;
    return 0;
}
