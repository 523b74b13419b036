/* The build id of this program, and of libglint.so if the program uses it, read from the running
 * program's memory, so that they always match.
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
static_assert(sizeof GLINT_VERSION + sizeof "-" + 2 * ID_BYTES_MAX < NAME_BYTES_MAX,
              "version and id fit");

struct ids {
    uint8_t bytes[ID_BYTES_MAX]; /* exclusive or of the ids: one, unless libglint.so is used */
    uint32_t size;
    bool marked; /* all have an id */
};

/* Adds the build id to `ids` if it is among the notes in [at, limit), which are aligned to 4 bytes.
 * Returns false if not found. */
static bool id_in_notes(const uint8_t *at, const uint8_t *limit, struct ids *ids)
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
            for (uint32_t i = 0; i < note.n_descsz; i++) ids->bytes[i] ^= name[name_size + i];
            if (note.n_descsz > ids->size) ids->size = note.n_descsz;
            return true;
        }
        at = name + name_size + id_size;
    }
    return false;
}

/* True if the object contains the engine's code. */
static bool has_engine(const struct dl_phdr_info *info)
{
    const uintptr_t here = (uintptr_t)&build;
    for (unsigned i = 0; i < info->dlpi_phnum; i++) {
        uintptr_t start = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;
        if (info->dlpi_phdr[i].p_type == PT_LOAD && here >= start &&
            here - start < info->dlpi_phdr[i].p_memsz)
            return true;
    }
    return false;
}

/* Callback of dl_iterate_phdr. The first object is the program itself. A result other than 0 ends
 * the iteration. */
static int id_of_object(struct dl_phdr_info *info, size_t size, void *arg)
{
    struct ids *ids = arg;
    const bool program = ids->size == 0, engine = has_engine(info);
    (void)size;
    if (!program && !engine) return 0;
    ids->marked = false;
    for (unsigned i = 0; i < info->dlpi_phnum && !ids->marked; i++) {
        const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
        if (segment->p_type != PT_NOTE) continue;
        const uint8_t *notes = (const uint8_t *)(info->dlpi_addr + segment->p_vaddr);
        /* Not skipped if 8-byte aligned: mold puts all notes into one segment with
         * that alignment. */
        ids->marked = id_in_notes(notes, notes + segment->p_memsz, ids);
    }
    return engine || !ids->marked;
}

static void build_read(void)
{
    struct ids ids = {.size = 0};
    dl_iterate_phdr(id_of_object, &ids);
    int n = snprintf(build, sizeof build, "%s%s", GLINT_VERSION, ids.marked ? "-" : BUILD_UNMARKED);
    for (uint32_t i = 0; ids.marked && i < ids.size; i++, n += 2)
        snprintf(build + n, sizeof build - (size_t)n, "%02x", ids.bytes[i]);
    assert(strlen(build) < sizeof build - 1);
}

const char *build_id(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, build_read);
    assert(build[0] != '\0');
    return build;
}
