/* The static files of the page (engine/web/page/), which the build puts into the program. */
#ifndef GLINT_WEB_WEB_PAGE_H
#define GLINT_WEB_WEB_PAGE_H

#include <stddef.h>
#include <stdint.h>

struct web_file {
    const char *path; /* "/app.js"; index.html is "/" */
    const char *type; /* for Content-Type */
    const uint8_t *data;
    size_t size;
};
extern const struct web_file web_files[]; /* ends with a NULL path */

#endif
