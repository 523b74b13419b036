/* Elements are known by their own names and those of their parents and the root. Expat keeps all
 * open elements, so their depth is limited, and limits the expansion of entities. */
#include "engine/input/xml_elements.h"

#include "engine/base/shared_library.h"

#include <assert.h>
#include <expat.h>
#include <limits.h>
#include <string.h>

/* ---- expat is loaded for the first document */

#define XML_FUNCTIONS(X)                                                                           \
    X(XML_ExpatVersion)                                                                            \
    X(XML_Parse)                                                                                   \
    X(XML_ParserCreate)                                                                            \
    X(XML_ParserFree)                                                                              \
    X(XML_SetCharacterDataHandler)                                                                 \
    X(XML_SetElementHandler)                                                                       \
    X(XML_SetStartDoctypeDeclHandler)                                                              \
    X(XML_SetUserData)                                                                             \
    X(XML_StopParser)

static struct {
#define MEMBER(name) __typeof__(&name) name;
    XML_FUNCTIONS(MEMBER)
#undef MEMBER
} expat;

#define SYMBOL(function) {#function, offsetof(__typeof__(expat), function)},
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
                                            .table = &expat,
                                            .lock = PTHREAD_MUTEX_INITIALIZER};
    return shared_library_load(&library, error);
}

const char *xml_library_version(void)
{
    struct glint_error unused = {.code = GLINT_OK};
    return xml_library_load(&unused) == 0 ? expat.XML_ExpatVersion() + sizeof "expat_" - 1 : NULL;
}

/* ---- Documents */

#define DEPTH_MAX      8u
#define XML_NAME_BYTES 40u

struct document {
    XML_Parser xml;
    char names[DEPTH_MAX][XML_NAME_BYTES]; /* of the open elements */
    unsigned depth;
    bool too_long;
    char text[XML_TEXT_BYTES]; /* of the current element */
    size_t size;
    xml_element_call *element;
    void *arg;
    int result;
};

static void stop_xml_parser(struct document *d, int result)
{
    if (d->result == 0) d->result = result;
    expat.XML_StopParser(d->xml, XML_FALSE);
}

static void clear_element_text(struct document *d)
{
    d->size = 0;
    d->text[0] = '\0';
    d->too_long = false;
}

static void on_element_start(void *arg, const char *name, const char **attributes)
{
    struct document *d = arg;
    (void)attributes;
    if (d->depth == DEPTH_MAX) {
        stop_xml_parser(d, -1);
        return;
    }
    strncpy(d->names[d->depth], name, XML_NAME_BYTES - 1);
    d->names[d->depth][XML_NAME_BYTES - 1] = '\0';
    d->depth++;
    clear_element_text(d);
}

static void on_doctype(void *arg, const char *name, const char *system_id, const char *public_id,
                       int has_internal_subset)
{
    (void)name;
    (void)system_id;
    (void)public_id;
    (void)has_internal_subset;
    stop_xml_parser(arg, -1); /* no response has one */
}

static void on_element_text(void *arg, const char *text, int size)
{
    struct document *d = arg;
    const size_t n = (size_t)size;
    assert(d->size < sizeof d->text);
    if (n >= sizeof d->text - d->size) {
        d->too_long = true;
        return;
    }
    memcpy(d->text + d->size, text, n);
    d->size += n;
    d->text[d->size] = '\0';
}

static void on_element_end(void *arg, const char *name)
{
    struct document *d = arg;
    (void)name;
    if (d->result != 0) return; /* the end of an empty element, after its start stopped expat */
    assert(d->depth > 0);
    const unsigned at = --d->depth;
    const struct xml_element element = {.root = d->names[0],
                                        .parent = at > 0 ? d->names[at - 1] : "",
                                        .name = d->names[at],
                                        .depth = at,
                                        .text = d->text,
                                        .size = d->size,
                                        .too_long = d->too_long};
    const int result = d->element(d->arg, &element);
    if (result != 0) stop_xml_parser(d, result);
    clear_element_text(d);
}

int xml_elements_parse(const uint8_t *text, uint64_t size, xml_element_call *element, void *arg)
{
    struct document d = {.element = element, .arg = arg};
    struct glint_error unused = {.code = GLINT_OK};
    if (size > INT_MAX || xml_library_load(&unused) != 0) return -1;
    d.xml = expat.XML_ParserCreate(NULL);
    if (d.xml == NULL) return -1;
    expat.XML_SetUserData(d.xml, &d);
    expat.XML_SetElementHandler(d.xml, on_element_start, on_element_end);
    expat.XML_SetStartDoctypeDeclHandler(d.xml, on_doctype);
    expat.XML_SetCharacterDataHandler(d.xml, on_element_text);
    const bool ok =
        expat.XML_Parse(d.xml, (const char *)text, (int)size, XML_TRUE) == XML_STATUS_OK;
    expat.XML_ParserFree(d.xml);
    if (d.result != 0) return d.result;
    return ok ? 0 : -1;
}

bool xml_element_is(const struct xml_element *element, const char *parent, const char *name)
{
    const unsigned depth = parent != NULL ? 2 : 1;
    return element->depth == depth && strcmp(element->name, name) == 0 &&
           (parent == NULL || strcmp(element->parent, parent) == 0);
}
