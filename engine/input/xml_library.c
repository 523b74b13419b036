/* See xml_library.h. */
#define XML_LIBRARY_OWN_NAMES
#include "engine/input/xml_library.h"

#include "engine/base/shared_library.h"

struct xml_library xml_library;

#define SYMBOL(function) {#function, offsetof(struct xml_library, function)},
static const struct shared_symbol symbols[] = {XML_FUNCTIONS(SYMBOL)};

int xml_library_load(struct glint_error *error)
{
    static struct shared_library library = {.names = {"libexpat.so.1"},
                                            .purpose = "lists of object stores are read with expat",
                                            .hint =
                                                "install expat, on Debian: apt install libexpat1",
                                            .code = GLINT_E_INPUT_URL,
                                            .symbols = symbols,
                                            .symbol_count = sizeof symbols / sizeof symbols[0],
                                            .table = &xml_library,
                                            .lock = PTHREAD_MUTEX_INITIALIZER};
    return shared_library_load(&library, error);
}
