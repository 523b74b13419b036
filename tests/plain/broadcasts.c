/* Broadcasts with slots that wait on their own threads, for the thread sanitizer: every slot of
 * every executor gets the same bytes, whichever requests failed. */
#include "engine/limits.h"
#include "tests/support/broadcast_net.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

enum { NODES = 4, SLOTS = 3, BLOCKS = 7 };

struct slot {
    pthread_t thread;
    struct broadcast_client *broadcasts;
    const struct broadcast_net *net;
    atomic_bool cancel;
    int code;
    bool same;
};

static void *slot_main(void *arg)
{
    struct slot *s = arg;
    struct glint_slice got = {NULL, 0};
    struct glint_error error = {.code = GLINT_OK};
    void *ref = broadcast_client_wait(s->broadcasts, s->net->id, &s->cancel, &got, &error);
    s->code = ref != NULL ? 0 : (int)error.code;
    const struct glint_slice wanted = s->net->value;
    s->same = s->code == 0 && got.size == wanted.size &&
              (got.size == 0 || memcmp(got.data, wanted.data, got.size) == 0);
    if (ref != NULL) broadcast_client_release(s->broadcasts, ref);
    return NULL;
}

/* Every other block is compressible. */
static void fill(uint8_t *data, uint64_t size)
{
    uint64_t x = 88172645463325252u;
    for (uint64_t i = 0; i < size; i++) {
        x ^= x << 13, x ^= x >> 7, x ^= x << 17;
        data[i] = i / BROADCAST_BLOCK_BYTES_MIN % 2 == 0 ? (uint8_t)(i >> 12) : (uint8_t)x;
    }
}

/* Returns how many slots got the whole broadcast. With `cancel` the slots are cancelled before the
 * first block arrives. */
static unsigned run(struct glint_slice value, unsigned faults, bool cancel, uint64_t seed)
{
    struct broadcast_net net;
    struct slot slots[NODES * SLOTS];
    unsigned had = 0;
    net_open(&net, NODES, 5, value, 60000, seed);
    net.fail_share = net.corrupt_share = faults;
    for (unsigned i = 0; i < NODES; i++) {
        struct glint_error error = {.code = GLINT_OK};
        int r = broadcast_client_add(net.nodes[i].broadcasts, net.id, value.size, &error);
        assert(r == 0);
    }
    for (unsigned i = 0; i < NODES * SLOTS; i++) {
        slots[i] = (struct slot){.broadcasts = net.nodes[i % NODES].broadcasts, .net = &net};
        int r = pthread_create(&slots[i].thread, NULL, slot_main, &slots[i]);
        assert(r == 0);
    }
    for (unsigned i = 0; cancel && i < NODES * SLOTS; i++) {
        atomic_store(&slots[i].cancel, true);
        broadcast_client_wake_waiters(slots[i].broadcasts);
    }
    while (!cancel && net_step(&net)) {
    }
    for (unsigned i = 0; i < NODES * SLOTS; i++) {
        pthread_join(slots[i].thread, NULL);
        had += slots[i].same;
        assert(slots[i].same || (cancel && slots[i].code == GLINT_E_INTERRUPTED));
    }
    net_close(&net);
    return had;
}

int main(void)
{
    unsigned passed = 0, failed = 0;
    uint64_t size = (BLOCKS - 1) * BROADCAST_BLOCK_BYTES_MIN + 12345;
    uint8_t *data = mem_alloc(size);
    assert(data != NULL);
    fill(data, size);
    const struct {
        uint64_t size;
        unsigned faults, had;
        bool cancel;
    } runs[] = {{size, 0, NODES * SLOTS, false},
                {size, 40, NODES * SLOTS, false},
                {1, 0, NODES * SLOTS, false},
                {0, 0, NODES * SLOTS, false},
                {size, 0, 0, true}};
    for (unsigned i = 0; i < sizeof runs / sizeof runs[0]; i++) {
        unsigned had =
            run((struct glint_slice){data, runs[i].size}, runs[i].faults, runs[i].cancel, i + 1);
        passed += had == runs[i].had;
        failed += had != runs[i].had;
    }
    mem_free(data);
    failed += mem_live_blocks() != 0;
    printf("%u passed, %u failed\n", passed, failed);
    return failed > 0;
}
