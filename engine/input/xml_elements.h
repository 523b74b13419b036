/* The texts of the elements of a small XML document, such as a store's response, by expat, which
 * stays loaded. Any thread. */
#ifndef GLINT_INPUT_XML_ELEMENTS_H
#define GLINT_INPUT_XML_ELEMENTS_H

#include "engine/base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define XML_TEXT_BYTES 2048u

/* An element that has ended. Texts are borrowed during the call. */
struct xml_element {
    const char *root, *parent, *name; /* parent "": it is the root */
    unsigned depth;                   /* 0: the root */
    const char *text;                 /* of its last part without elements; terminated */
    size_t size;
    bool too_long; /* the text does not fit into XML_TEXT_BYTES */
};

/* A result that is not 0 ends the document. */
typedef int xml_element_call(void *arg, const struct xml_element *element);

/* Returns 0 or error->code, INPUT_URL: expat is missing. */
int xml_library_load(struct glint_error *error);
/* NULL: it is missing. */
const char *xml_library_version(void);
/* Calls `element` for each element at its end, until one returns non-zero, which is returned. 0 at
 * the end; -1: it is no such document, or expat is missing. Takes at most 16 times the size of the
 * document in memory. */
int xml_elements_parse(const uint8_t *text, uint64_t size, xml_element_call *element, void *arg);
/* Whether the element is the one of this name in `parent`, which is in the root; NULL: in the root
 * itself. */
bool xml_element_is(const struct xml_element *element, const char *parent, const char *name);

#endif
