/* expat, which parses the lists of object stores; loaded for the first list. In files that include
 * this, the names of its functions are those of the loaded ones. */
#ifndef GLINT_INPUT_XML_LIBRARY_H
#define GLINT_INPUT_XML_LIBRARY_H

#include "engine/base/error.h"

#include <expat.h>

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

struct xml_library {
#define MEMBER(name) __typeof__(&name) name;
    XML_FUNCTIONS(MEMBER)
#undef MEMBER
};

/* Valid once xml_library_load has returned 0. */
extern struct xml_library xml_library;

/* Returns 0 or error->code, INPUT_URL: expat is missing. It stays loaded. Any thread. */
int xml_library_load(struct glint_error *error);

#ifndef XML_LIBRARY_OWN_NAMES /* set by xml_library.c */
#define XML_ExpatVersion               xml_library.XML_ExpatVersion
#define XML_Parse                      xml_library.XML_Parse
#define XML_ParserCreate               xml_library.XML_ParserCreate
#define XML_ParserFree                 xml_library.XML_ParserFree
#define XML_SetCharacterDataHandler    xml_library.XML_SetCharacterDataHandler
#define XML_SetElementHandler          xml_library.XML_SetElementHandler
#define XML_SetStartDoctypeDeclHandler xml_library.XML_SetStartDoctypeDeclHandler
#define XML_SetUserData                xml_library.XML_SetUserData
#define XML_StopParser                 xml_library.XML_StopParser
#endif

#endif
