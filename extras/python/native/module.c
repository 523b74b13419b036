/* The module glint._native, for workers. It uses the limited API, so one file is for all versions;
 * _shuffle.py and _functions.py do the same without it. */
#include "module.h"

#include <assert.h>

int64_t hash_place(int64_t hash, uint32_t partitions, uint32_t buckets)
{
    assert(partitions > 0 && buckets > 0);
    int64_t partition = hash % (int64_t)partitions;
    if (partition < 0) partition += partitions;
    uint64_t mixed = (uint64_t)hash * 0x9E3779B97F4A7C15;
    return partition * buckets + (int64_t)((mixed >> 32 & 0xFFFF) % buckets);
}

static int add_members(PyObject *module)
{
    struct {
        const char *name;
        PyType_Spec *spec;
    } types[] = {{"Combiner", &combiner_spec}, {"Mapped", &mapped_spec}, {"Sorted", &sorted_spec}};
    PyMethodDef *functions[] = {pack_methods, scatter_methods, unpack_methods};
    for (size_t i = 0; i < sizeof(types) / sizeof(*types); i++) {
        PyObject *type = PyType_FromSpec(types[i].spec);
        if (type == NULL || PyModule_AddObject(module, types[i].name, type) < 0) return -1;
    }
    for (size_t i = 0; i < sizeof(functions) / sizeof(*functions); i++)
        if (PyModule_AddFunctions(module, functions[i]) < 0) return -1;
    return 0;
}

PyMODINIT_FUNC PyInit__native(void)
{
    static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT, .m_name = "glint._native",
                                            .m_size = -1};
    PyObject *module = PyModule_Create(&definition);
    if (module != NULL && add_members(module) < 0) Py_CLEAR(module);
    return module;
}
