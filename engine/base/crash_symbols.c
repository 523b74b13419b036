/* backtrace_symbols_fd knows only what a file exports, which of a program is nothing: this reads
 * the symbol table in the file. Like that function it calls dladdr, which takes a lock; all else
 * is async-signal-safe. */
#include "engine/base/crash_symbols.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <stdint.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* A file that is mapped as it is on disk. */
struct image {
    const uint8_t *data;
    size_t size;
};

static bool is_program(const void *base)
{
    Dl_info program;
    return dladdr((const void *)getauxval(AT_PHDR), &program) != 0 && program.dli_fbase == base;
}

/* The program by its link in /proc: its name may be relative to another directory, or removed. */
static struct image image_map(const Dl_info *module)
{
    struct image f = {NULL, 0};
    struct stat st;
    const char *path = is_program(module->dli_fbase) ? "/proc/self/exe" : module->dli_fname;
    const int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) return f;
    if (fstat(file, &st) == 0 && st.st_size > 0) {
        void *data = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, file, 0);
        if (data != MAP_FAILED) f = (struct image){data, (size_t)st.st_size};
    }
    close(file);
    return f;
}

static const void *image_at(const struct image *f, uint64_t offset, uint64_t bytes)
{
    return offset <= f->size && bytes <= f->size - offset ? f->data + offset : NULL;
}

static const ElfW(Ehdr) *image_header(const struct image *f)
{
    const ElfW(Ehdr) *e = image_at(f, 0, sizeof *e);
    return e != NULL && memcmp(e->e_ident, ELFMAG, SELFMAG) == 0 ? e : NULL;
}

/* Finds the function at `address` in one symbol table. */
static const ElfW(Sym) *find_function(const struct image *f, const ElfW(Shdr) *table,
                                      uint64_t address)
{
    const ElfW(Sym) *symbols = image_at(f, table->sh_offset, table->sh_size);
    for (uint64_t i = 0; symbols != NULL && i < table->sh_size / sizeof *symbols; i++) {
        const ElfW(Sym) *s = &symbols[i];
        if (ELF64_ST_TYPE(s->st_info) == STT_FUNC && s->st_shndx != SHN_UNDEF &&
            address >= s->st_value && address - s->st_value < s->st_size)
            return s;
    }
    return NULL;
}

/* Returns its name, or NULL. */
static const char *image_find_function(const struct image *f, uint64_t address,
                                       uint64_t *out_start)
{
    const ElfW(Ehdr) *e = image_header(f);
    const ElfW(Shdr) *sections =
        e == NULL ? NULL : image_at(f, e->e_shoff, (uint64_t)e->e_shnum * sizeof *sections);
    for (unsigned i = 0; sections != NULL && i < e->e_shnum; i++) {
        const ElfW(Shdr) *table = &sections[i];
        if (table->sh_type != SHT_SYMTAB || table->sh_link >= e->e_shnum) continue;
        const ElfW(Shdr) *names = &sections[table->sh_link];
        const ElfW(Sym) *s = find_function(f, table, address);
        if (s == NULL || s->st_name >= names->sh_size) continue;
        const uint64_t size = names->sh_size - s->st_name;
        const char *name = image_at(f, names->sh_offset + s->st_name, size);
        *out_start = s->st_value;
        if (name != NULL && memchr(name, '\0', size) != NULL) return name;
    }
    return NULL;
}

void crash_symbols_append(struct crash_text *out, const void *address, bool is_return)
{
    Dl_info module;
    uint64_t at = (uintptr_t)address, start = 0;
    const char *name = NULL;
    if (dladdr(address, &module) != 0) {
        struct image f = image_map(&module);
        const ElfW(Ehdr) *e = image_header(&f);
        if (e == NULL || e->e_type == ET_DYN) at -= (uintptr_t)module.dli_fbase;
        name = image_find_function(&f, at - is_return, &start);
        crash_text_append(out, module.dli_fname);
        crash_text_append(out, "(");
        if (name != NULL) {
            crash_text_append(out, name);
        } else if (module.dli_sname != NULL) {
            crash_text_append(out, module.dli_sname);
            start = at - ((uintptr_t)address - (uintptr_t)module.dli_saddr);
        }
        crash_text_append(out, "+0x");
        crash_text_append_hex(out, at - start);
        crash_text_append(out, ")");
        if (f.data != NULL) munmap((void *)(uintptr_t)f.data, f.size);
    }
    crash_text_append(out, "[0x");
    crash_text_append_hex(out, at);
    crash_text_append(out, "]");
}
