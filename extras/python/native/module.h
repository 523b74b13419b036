/* The parts of the module glint._native, of which each file owns one. */
#ifndef GLINT_PYTHON_MODULE_H
#define GLINT_PYTHON_MODULE_H

#include "encoding.h"

extern PyType_Spec combiner_spec, mapped_spec, sorted_spec;
extern PyMethodDef pack_methods[], scatter_methods[], unpack_methods[];

/* The place of a key in a shuffle: partition * buckets + bucket. As place_by_hash in _shuffle.py.
 */
int64_t hash_place(int64_t hash, uint32_t partitions, uint32_t buckets);

#endif
