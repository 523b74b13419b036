/* Memory for bits. Large areas are allocated by mmap: fresh pages are zero already, and huge pages
 * save 20 to 50 % of the time of random sets once a filter is larger than a few MiB. */
#include "jobs/bloom/internal.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { HUGE_PAGE = 2 << 20 };

/* mmap aligns only to 4 KiB: maps one huge page more, then unmaps both ends. */
static uint8_t *map_huge_pages(uint64_t bytes)
{
    uint64_t mapped = bloom_round_up(bytes, HUGE_PAGE) + HUGE_PAGE;
    if (mapped < bytes || mapped > SIZE_MAX) return NULL;
    uint8_t *raw = mmap(NULL, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (raw == MAP_FAILED) return NULL;
    uint8_t *area = (uint8_t *)(uintptr_t)bloom_round_up((uintptr_t)raw, HUGE_PAGE);
    uint64_t before = (uint64_t)(area - raw);
    uint64_t behind = HUGE_PAGE - before;
    if (before > 0) munmap(raw, before);
    if (behind > 0) munmap(area + bloom_round_up(bytes, HUGE_PAGE), behind);
    madvise(area, bytes, MADV_HUGEPAGE); /* advice: works without huge pages, too */
    return area;
}

uint8_t *bloom_area_create(uint64_t bytes)
{
    assert(bytes > 0);
    if (bytes >= HUGE_PAGE) return map_huge_pages(bytes);
    uint64_t padded = bloom_round_up(bytes, BLOOM_ALIGNMENT);
    uint8_t *area = aligned_alloc(BLOOM_ALIGNMENT, padded);
    if (area != NULL) memset(area, 0, padded);
    return area;
}

void bloom_area_destroy(uint8_t *area, uint64_t bytes)
{
    if (area == NULL) return;
    assert((uintptr_t)area % BLOOM_ALIGNMENT == 0);
    if (bytes >= HUGE_PAGE) {
        int rc = munmap(area, bloom_round_up(bytes, HUGE_PAGE));
        assert(rc == 0);
        (void)rc;
    } else {
        free(area);
    }
}
