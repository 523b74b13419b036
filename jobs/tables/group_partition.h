/* The partition of a group, for keys that begin with one and are sorted within it. */
#ifndef GLINT_JOBS_TABLES_GROUP_PARTITION_H
#define GLINT_JOBS_TABLES_GROUP_PARTITION_H

#include "engine/glint.h"

/* By FNV-1a (Fowler, Noll, Vo) of 64 bits. */
static inline int64_t group_partition(struct glint_slice group, uint32_t partitions)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    for (uint64_t i = 0; i < group.size; i++)
        hash = (hash ^ group.data[i]) * UINT64_C(0x100000001b3);
    return (int64_t)((hash ^ hash >> 32) % partitions);
}

#endif
