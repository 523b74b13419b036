/* A loser tree: each inner node stores the loser of its match. After a record only the winner's
 * input plays again, log2(count) matches from its leaf to the root. */
#include "engine/records/run.h"
#include "engine/records/sort.h"

#define NO_PREFIX (~(merge_prefix)0) /* sorts after all others */

/* Whether a's record is first. A key may have NO_PREFIX as its prefix too, so `done` is checked.
 * Equal keys are in order of the inputs: the values of a key must be combined in map order. */
static bool merge_player_comes_before(const struct merge *m, const struct merge_player *a,
                                      const struct merge_player *b)
{
    if (a->prefix != b->prefix) return a->prefix < b->prefix;
    if (a->done || b->done) return !a->done;
    struct glint_slice x = m->readers[a->input].key, y = m->readers[b->input].key;
    int c = x.size == y.size && x.size <= sizeof a->prefix ? 0 : codec_compare(x, y);
    if (c == 0) return a->input < b->input;
    return m->descending ? c > 0 : c < 0;
}

/* Reads the input's next record and sets *out to its player. Returns 0 or a negative code. */
static int advance_merge_input(struct merge *m, uint32_t input, struct merge_player *out)
{
    struct run_reader *r = &m->readers[input];
    int more = run_reader_next(r);
    if (more < 0) return more;
    *out = (struct merge_player){.input = input, .done = more == 0, .prefix = NO_PREFIX};
    if (more > 0)
        out->prefix = (merge_prefix)sort_key_prefix(r->key, 0, m->descending) << 64 |
                      sort_key_prefix(r->key, 8, m->descending);
    return 0;
}

/* Plays all matches once, from the leaves, nodes [count, 2 * count), up to node 1. */
static int build_loser_tree(struct merge *m)
{
    struct merge_player winners[2 * MERGE_FAN_IN_MAX];
    uint32_t n = m->count;
    for (uint32_t i = 0; i < n; i++) {
        int e = advance_merge_input(m, i, &winners[n + i]);
        if (e < 0) return e;
    }
    for (uint32_t node = n - 1; node > 0; node--) {
        const struct merge_player *a = &winners[2 * node], *b = &winners[2 * node + 1];
        bool first = merge_player_comes_before(m, a, b);
        winners[node] = first ? *a : *b;
        m->losers[node] = first ? *b : *a;
    }
    m->winner = winners[1];
    return 0;
}

/* Makes the arrays large enough for `count` inputs. Existing readers are moved, with their buffers,
 * so that reopening a merge does not allocate them again. */
static bool reserve_merge_readers(struct merge *m, uint32_t count)
{
    if (m->capacity >= count) return true;
    assert(m->readers == NULL || m->capacity > 0);
    struct run_reader *readers = mem_zalloc(count * sizeof *readers);
    struct merge_player *losers = mem_alloc(count * sizeof *losers);
    if (readers == NULL || losers == NULL) {
        mem_free(readers);
        mem_free(losers);
        return false;
    }
    if (m->capacity > 0) memcpy(readers, m->readers, m->capacity * sizeof *readers);
    mem_free(m->readers);
    mem_free(m->losers);
    m->readers = readers;
    m->losers = losers;
    m->capacity = count;
    return true;
}

int merge_open(struct merge *m, struct glint_task *task, const struct run_slice *inputs,
               uint32_t count, bool descending)
{
    assert(count <= MERGE_FAN_IN_MAX);
    m->count = count;
    m->descending = descending;
    m->started = false;
    m->winner = (struct merge_player){.prefix = NO_PREFIX, .done = true};
    if (!reserve_merge_readers(m, count)) return error_no_memory(&task->error);
    for (uint32_t i = 0; i < count; i++) {
        int e = run_reader_open(&m->readers[i], task, inputs[i]);
        if (e < 0) return e;
    }
    return 0;
}

int merge_next(struct merge *m)
{
    if (m->count == 0) return 0;
    if (!m->started) {
        int e = build_loser_tree(m);
        if (e < 0) return e;
        m->started = true;
    } else {
        struct merge_player p;
        assert(!m->winner.done);
        int e = advance_merge_input(m, m->winner.input, &p);
        if (e < 0) return e;
        /* From the parent of the winner's leaf to the root: the loser stays, the winner goes up. */
        for (uint32_t node = (m->count + p.input) / 2; node > 0; node /= 2) {
            struct merge_player *loser = &m->losers[node];
            if (merge_player_comes_before(m, loser, &p)) {
                struct merge_player other = *loser;
                *loser = p;
                p = other;
            }
        }
        m->winner = p;
    }
    if (m->winner.done) return 0;
    m->input = m->winner.input;
    m->key = m->readers[m->input].key;
    return 1;
}

int merge_value(struct merge *m, struct glint_slice *out)
{
    assert(m->started && !m->winner.done);
    return run_reader_value(&m->readers[m->input], &m->scratch, out);
}

void merge_close(struct merge *m)
{
    for (uint32_t i = 0; i < m->capacity; i++) run_reader_close(&m->readers[i]);
    mem_free(m->readers);
    mem_free(m->losers);
    buffer_fini(&m->scratch);
    *m = (struct merge){.readers = NULL};
}
