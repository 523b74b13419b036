/* Fetches over real connections, for the thread sanitizer: slots that fetch, a thread that keeps
 * cancelling one of them, the pool that reads files for the servers, and the loop; also peers that
 * disconnect, send torn responses, or do not respond. */
#include "tests/support/block_plane.h"

#include <sched.h>

enum { ROUNDS = 6, SLOTS = PLANE_SLOTS_MAX };

static struct plane plane;
static unsigned passed, failed;

static void check(bool good, const char *what)
{
    if (good)
        passed++;
    else
        failed++;
    if (!good) fprintf(stderr, "failed: %s\n", what);
}

static void *cancel_last(void *arg)
{
    struct plane *p = arg;
    while (atomic_load(&p->running) > 0) {
        atomic_store(&p->slots[SLOTS - 1].cancel, true);
        p->fetcher.cancel(p->fetcher.arg, SLOTS);
        sched_yield();
    }
    return NULL;
}

static void run_with_cancels(bool tls)
{
    check(plane_open(&plane, tls, 60000, 5000), "opening");
    for (uint64_t round = 0; round < ROUNDS; round++) {
        pthread_t canceller;
        plane_start(&plane, SLOTS, round, (uint32_t)round % 4);
        if (pthread_create(&canceller, NULL, cancel_last, &plane) != 0) abort();
        plane_run(&plane);
        pthread_join(canceller, NULL);
        check(plane_right(&plane) >= SLOTS - 1, "the bytes");
        int last = plane.slots[SLOTS - 1].result;
        check(last == 0 || last == GLINT_E_INTERRUPTED, "the cancelled one");
    }
    check(plane_close(&plane), "closing");
}

static void run_with_fault(enum plane_fault fault, uint64_t fetch_ms)
{
    check(plane_open(&plane, false, fetch_ms, 20000), "opening");
    plane.servers[1].fault = fault;
    plane.servers[1].fault_at = 5;
    plane_start(&plane, SLOTS, 3, 0);
    plane_run(&plane);
    for (uint32_t i = 0; i < SLOTS; i++)
        check(plane.slots[i].result == (fault == PLANE_CLOSES_ONCE ? 0 : GLINT_E_FETCH_FAILED),
              "a broken peer");
    check(plane_close(&plane), "closing");
}

int main(void)
{
    run_with_cancels(false);
    run_with_cancels(true);
    run_with_fault(PLANE_CLOSES_ONCE, 60000);
    run_with_fault(PLANE_CLOSES, 60000);
    run_with_fault(PLANE_TRUNCATES, 60000);
    run_with_fault(PLANE_SILENT, 300);
    printf("%u passed, %u failed\n", passed, failed);
    return failed > 0;
}
