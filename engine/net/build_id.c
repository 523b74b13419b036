/* The build id of this program, read from the running program's memory, so that it always matches.
 *
 * The linker stores a hash of its output in an ELF note (-Wl,--build-id=sha1), which is mapped with
 * the program. */
#include "engine/net/hello.h"

#include <assert.h>
#include <elf.h>
#include <link.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#define ID_BYTES_MAX 32u

static char build[NAME_BYTES_MAX];
static_assert(sizeof GLINT_VERSION + 2 * ID_BYTES_MAX + sizeof BUILD_UNMARKED < NAME_BYTES_MAX,
              "version and id fit");

/* Appends the build id to `build` if it is among the notes in [at, limit), which are aligned to 4
 * bytes. Returns false if not found. */
static bool id_in_notes(const uint8_t *at, const uint8_t *limit)
{
    while ((size_t)(limit - at) >= sizeof(ElfW(Nhdr))) {
        ElfW(Nhdr) note;
        memcpy(&note, at, sizeof note);
        const uint8_t *name = at + sizeof note;
        uint64_t name_size = (note.n_namesz + UINT64_C(3)) & ~UINT64_C(3);
        uint64_t id_size = (note.n_descsz + UINT64_C(3)) & ~UINT64_C(3);
        if (name_size + id_size > (uint64_t)(limit - name)) return false;
        if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 && memcmp(name, "GNU", 4) == 0 &&
            note.n_descsz > 0 && note.n_descsz <= ID_BYTES_MAX) {
            size_t n = strlen(build);
            build[n++] = '-';
            for (uint32_t i = 0; i < note.n_descsz; i++, n += 2)
                snprintf(build + n, sizeof build - n, "%02x", name[name_size + i]);
            return true;
        }
        at = name + name_size + id_size;
    }
    return false;
}

/* Callback of dl_iterate_phdr. The first object is the program itself; a result other than 0 ends
 * the iteration, so shared libraries are not searched. 1: found, 2: not found. */
static int id_of_program(struct dl_phdr_info *info, size_t size, void *arg)
{
    (void)size;
    (void)arg;
    for (unsigned i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
        if (segment->p_type != PT_NOTE) continue;
        const uint8_t *notes = (const uint8_t *)(info->dlpi_addr + segment->p_vaddr);
        /* Not skipped if 8-byte aligned: mold puts all notes into one segment with
         * that alignment. */
        if (id_in_notes(notes, notes + segment->p_memsz)) return 1;
    }
    return 2;
}

static void build_read(void)
{
    snprintf(build, sizeof build, "%s", GLINT_VERSION);
    if (dl_iterate_phdr(id_of_program, NULL) == 1) return;
    snprintf(build, sizeof build, "%s%s", GLINT_VERSION, BUILD_UNMARKED);
    assert(strlen(build) < sizeof build - 1);
}

const char *build_id(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, build_read);
    assert(build[0] != '\0');
    return build;
}
