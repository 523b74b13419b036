/* The handler only calls async-signal-safe functions, on a separate signal stack. If it hangs,
 * SIGALRM ends the process after REPORT_S. The first backtrace() allocates memory, so it is
 * called once before. */
#include "engine/base/crash.h"

#include "engine/base/log.h"
#include "engine/base/spawn.h"
#include "engine/base/utf8.h"

#include <assert.h>
#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* ---- Directories to remove. The signal handler only makes system calls on registered entries. It
 * empties a directory through its descriptor, and only if both descriptor and path still are the
 * directory that was registered: a crash may have overwritten the memory of the table. */

#define TRIES      8 /* other threads may still create files */
#define LIST_BYTES 4096

struct exit_dir {
    atomic_int dir; /* descriptor + 1; 0: free slot */
    dev_t device;
    ino_t inode;
    char given[PATH_MAX], path[PATH_MAX]; /* as registered, and absolute */
};

/* The record of getdents64(2). */
struct entry {
    uint64_t inode;
    int64_t offset;
    unsigned short size;
    unsigned char type;
    char name[];
};

static struct exit_dir exit_dirs[EXIT_DIRS_MAX];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* for register and unregister */

static bool make_path_absolute(const char *path, char *out)
{
    char here[PATH_MAX];
    int n = path[0] == '/'                      ? snprintf(out, PATH_MAX, "%s", path)
            : getcwd(here, sizeof here) != NULL ? snprintf(out, PATH_MAX, "%s/%s", here, path)
                                                : -1;
    return n > 0 && n < PATH_MAX;
}

/* Returns the slot of this path, or a free one for NULL. Caller holds the lock. */
static struct exit_dir *find_exit_dir_slot(const char *path)
{
    for (struct exit_dir *l = exit_dirs; l < exit_dirs + EXIT_DIRS_MAX; l++) {
        bool used = atomic_load(&l->dir) != 0;
        if (path == NULL ? !used : used && strcmp(l->given, path) == 0) return l;
    }
    return NULL;
}

void exit_dirs_register(const char *path)
{
    struct stat stat;
    int dir = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (dir < 0) return;
    pthread_mutex_lock(&lock);
    struct exit_dir *l = find_exit_dir_slot(NULL);
    bool noted = l != NULL && fstat(dir, &stat) == 0 && make_path_absolute(path, l->path) &&
                 snprintf(l->given, PATH_MAX, "%s", path) < PATH_MAX;
    if (noted) {
        l->device = stat.st_dev;
        l->inode = stat.st_ino;
        atomic_store(&l->dir, dir + 1); /* last: a handler may read the slot at any moment */
    }
    pthread_mutex_unlock(&lock);
    if (!noted) close(dir);
}

void exit_dirs_unregister(const char *path)
{
    pthread_mutex_lock(&lock);
    struct exit_dir *l = find_exit_dir_slot(path);
    int dir = l != NULL ? atomic_exchange(&l->dir, 0) - 1 : -1;
    pthread_mutex_unlock(&lock);
    if (dir >= 0) close(dir);
}

bool exit_dirs_any_registered(void)
{
    for (int i = 0; i < EXIT_DIRS_MAX; i++)
        if (atomic_load(&exit_dirs[i].dir) != 0) return true;
    return false;
}

/* ---- In the signal handler */

static bool remove_contents_at(int dir, unsigned depth);

static bool remove_file_or_tree_at(int dir, const char *name, unsigned depth)
{
    if (unlinkat(dir, name, 0) == 0 || errno == ENOENT) return true;
    int inside =
        depth > 0 ? openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC) : -1;
    if (inside < 0) return false;
    bool emptied = remove_contents_at(inside, depth - 1);
    close(inside);
    return emptied && unlinkat(dir, name, AT_REMOVEDIR) == 0;
}

static bool remove_contents_at(int dir, unsigned depth)
{
    _Alignas(struct entry) char list[LIST_BYTES];
    /* New descriptor, to read from the first entry. */
    int again = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    bool all = again >= 0;
    long size = 0;
    while (again >= 0 && (size = syscall(SYS_getdents64, again, list, sizeof list)) > 0)
        for (long at = 0; at < size;) {
            const struct entry *e = (const struct entry *)(list + at);
            at += e->size;
            if (strcmp(e->name, ".") == 0 || strcmp(e->name, "..") == 0) continue;
            all = remove_file_or_tree_at(dir, e->name, depth) && all;
        }
    if (again >= 0) close(again);
    return all && size == 0;
}

static bool exit_dir_is_registered(const struct exit_dir *l, int dir)
{
    struct stat open, at_path;
    return fstat(dir, &open) == 0 &&
           fstatat(AT_FDCWD, l->path, &at_path, AT_SYMLINK_NOFOLLOW) == 0 &&
           open.st_dev == l->device && open.st_ino == l->inode && at_path.st_dev == l->device &&
           at_path.st_ino == l->inode && S_ISDIR(open.st_mode) && open.st_uid == geteuid();
}

static bool remove_exit_dir(const struct exit_dir *l, int dir)
{
    for (int i = 0; i < TRIES; i++) {
        remove_contents_at(dir, 1);
        if (unlinkat(AT_FDCWD, l->path, AT_REMOVEDIR) == 0 || errno == ENOENT) return true;
        if (errno != ENOTEMPTY && errno != EEXIST) return false;
    }
    return false;
}

bool exit_dirs_remove_all(void)
{
    bool all = true;
    for (int i = 0; i < EXIT_DIRS_MAX; i++) {
        const struct exit_dir *l = &exit_dirs[i];
        int dir = atomic_load(&l->dir) - 1;
        if (dir >= 0 && exit_dir_is_registered(l, dir)) all = remove_exit_dir(l, dir) && all;
    }
    return all;
}

static void crash_text_append_number(struct crash_text *t, uint64_t number, unsigned base);

/* ---- backtrace_symbols_fd knows only what a file exports, which of a program is nothing: this
 * reads the symbol table in the file. Like that function it calls dladdr, which takes a lock; all
 * else is async-signal-safe. */

/* A file that is mapped as it is on disk. */
struct image {
    const uint8_t *data;
    size_t size;
};

static bool is_main_program(const void *base)
{
    Dl_info program;
    return dladdr((const void *)getauxval(AT_PHDR), &program) != 0 && program.dli_fbase == base;
}

/* The program by its link in /proc: its name may be relative to another directory, or removed. */
static struct image map_elf_image(const Dl_info *module)
{
    struct image f = {NULL, 0};
    struct stat st;
    const char *path = is_main_program(module->dli_fbase) ? "/proc/self/exe" : module->dli_fname;
    const int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) return f;
    if (fstat(file, &st) == 0 && st.st_size > 0) {
        void *data = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, file, 0);
        if (data != MAP_FAILED) f = (struct image){data, (size_t)st.st_size};
    }
    close(file);
    return f;
}

static const void *elf_image_bytes_at(const struct image *f, uint64_t offset, uint64_t bytes)
{
    return offset <= f->size && bytes <= f->size - offset ? f->data + offset : NULL;
}

static const ElfW(Ehdr) * image_header(const struct image *f)
{
    const ElfW(Ehdr) *e = elf_image_bytes_at(f, 0, sizeof *e);
    return e != NULL && memcmp(e->e_ident, ELFMAG, SELFMAG) == 0 ? e : NULL;
}

/* Finds the function at `address` in one symbol table. */
static const ElfW(Sym) *
    find_function(const struct image *f, const ElfW(Shdr) * table, uint64_t address)
{
    const ElfW(Sym) *symbols = elf_image_bytes_at(f, table->sh_offset, table->sh_size);
    for (uint64_t i = 0; symbols != NULL && i < table->sh_size / sizeof *symbols; i++) {
        const ElfW(Sym) *s = &symbols[i];
        if (ELF64_ST_TYPE(s->st_info) == STT_FUNC && s->st_shndx != SHN_UNDEF &&
            address >= s->st_value && address - s->st_value < s->st_size)
            return s;
    }
    return NULL;
}

/* Returns its name, or NULL. */
static const char *elf_find_function(const struct image *f, uint64_t address, uint64_t *out_start)
{
    const ElfW(Ehdr) *e = image_header(f);
    const ElfW(Shdr) *sections =
        e == NULL ? NULL
                  : elf_image_bytes_at(f, e->e_shoff, (uint64_t)e->e_shnum * sizeof *sections);
    for (unsigned i = 0; sections != NULL && i < e->e_shnum; i++) {
        const ElfW(Shdr) *table = &sections[i];
        if (table->sh_type != SHT_SYMTAB || table->sh_link >= e->e_shnum) continue;
        const ElfW(Shdr) *names = &sections[table->sh_link];
        const ElfW(Sym) *s = find_function(f, table, address);
        if (s == NULL || s->st_name >= names->sh_size) continue;
        const uint64_t size = names->sh_size - s->st_name;
        const char *name = elf_image_bytes_at(f, names->sh_offset + s->st_name, size);
        *out_start = s->st_value;
        if (name != NULL && memchr(name, '\0', size) != NULL) return name;
    }
    return NULL;
}

/* In the signal handler. Appends "FILE(FUNCTION+0x1f)[0x12bf]": the last number is what addr2line
 * takes. FUNCTION may be static: all names of the file are searched, unless it is stripped.
 * `is_return`: `address` is the one after a call. */
static void crash_symbols_append(struct crash_text *out, const void *address, bool is_return)
{
    Dl_info module;
    uint64_t at = (uintptr_t)address, start = 0;
    const char *name = NULL;
    if (dladdr(address, &module) != 0) {
        struct image f = map_elf_image(&module);
        const ElfW(Ehdr) *e = image_header(&f);
        if (e == NULL || e->e_type == ET_DYN) at -= (uintptr_t)module.dli_fbase;
        name = elf_find_function(&f, at - is_return, &start);
        crash_text_append(out, module.dli_fname);
        crash_text_append(out, "(");
        if (name != NULL) {
            crash_text_append(out, name);
        } else if (module.dli_sname != NULL) {
            crash_text_append(out, module.dli_sname);
            start = at - ((uintptr_t)address - (uintptr_t)module.dli_saddr);
        }
        crash_text_append(out, "+0x");
        crash_text_append_number(out, at - start, 16);
        crash_text_append(out, ")");
        if (f.data != NULL) munmap((void *)(uintptr_t)f.data, f.size);
    }
    crash_text_append(out, "[0x");
    crash_text_append_number(out, at, 16);
    crash_text_append(out, "]");
}

/* ---- crash */

#define FRAMES_MAX    32
#define FRAMES_OURS   2 /* the handler, and the kernel's signal return frame */
#define BACKTRACE_MAX 8192u
#define STACK_BYTES   ((size_t)64 << 10)
#define REPORT_S      10u

static const int numbers[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};

static const char *job;
static void (*report_sink)(const char *text, size_t size);
static atomic_bool crashed, loaded;
static char report[sizeof(struct crash_text) + BACKTRACE_MAX];

static _Thread_local struct {
    void (*describe_crash)(void *arg, struct crash_text *out);
    void *arg;
    void *stack;
    bool reporting;
} self;

/* ---- Text */

static void crash_text_append_bytes(struct crash_text *t, const void *bytes, size_t size)
{
    if (size > sizeof t->text - t->size) size = sizeof t->text - t->size;
    memcpy(t->text + t->size, bytes, size);
    t->size += size;
}

/* Escapes unprintable bytes as print_escaped does: an input's path may contain any. */
void crash_text_append(struct crash_text *t, const char *text)
{
    static const char digits[] = "0123456789abcdef";
    const uint8_t *p = (const uint8_t *)text, *end = p + strlen(text);
    for (unsigned size; p<end; p += size> 0 ? size : 1) {
        size = utf8_printable_size(p, (uint64_t)(end - p));
        if (size > 0)
            crash_text_append_bytes(t, p, size);
        else
            crash_text_append_bytes(t, (const char[]){'\\', 'x', digits[*p >> 4], digits[*p & 15]},
                                    4);
    }
}

static void crash_text_append_number(struct crash_text *t, uint64_t number, unsigned base)
{
    char digits[20], one[2] = "";
    unsigned count = 0;
    do digits[count++] = "0123456789abcdef"[number % base];
    while ((number /= base) > 0);
    while (count > 0) {
        one[0] = digits[--count];
        crash_text_append(t, one);
    }
}

void crash_text_append_u64(struct crash_text *t, uint64_t number)
{
    crash_text_append_number(t, number, 10);
}

static void describe_crash(int number, const siginfo_t *info, struct crash_text *out)
{
    const char *name = sigdescr_np(number);
    crash_text_append(out, job);
    crash_text_append(out, " crashed: signal ");
    crash_text_append_u64(out, (uint64_t)number);
    crash_text_append(out, " (");
    crash_text_append(out, name != NULL ? name : "unknown");
    crash_text_append(out, ")");
    if (info->si_code == SI_USER) {
        crash_text_append(out, " from process ");
        crash_text_append_u64(out, (uint64_t)info->si_pid);
        return;
    }
    if (number == SIGSEGV || number == SIGBUS) {
        crash_text_append(out, " at address 0x");
        crash_text_append_number(out, (uintptr_t)info->si_addr, 16);
    }
    crash_text_append(out, ", ");
    if (self.describe_crash != NULL)
        self.describe_crash(self.arg, out);
    else
        crash_text_append(out, "not in a task");
}

static void append_newline(struct crash_text *t)
{
    t->size -= t->size == sizeof t->text;
    t->text[t->size++] = '\n';
}

/* One line per frame. Returns the number of bytes. */
static size_t format_backtrace(char *out, size_t capacity)
{
    void *frames[FRAMES_MAX];
    const int count = atomic_load(&loaded) ? backtrace(frames, FRAMES_MAX) : 0;
    size_t size = 0;
    for (int i = FRAMES_OURS; i < count; i++) {
        struct crash_text line = {.size = 0};
        crash_symbols_append(&line, frames[i], i > FRAMES_OURS);
        append_newline(&line);
        if (line.size > capacity - size) break;
        memcpy(out + size, line.text, line.size);
        size += line.size;
    }
    return size;
}

static void write_to_stderr(const char *text, size_t size)
{
    const char *start = log_line_prefix();
    ssize_t written = write(STDERR_FILENO, start, strlen(start));
    (void)written;
    while (size > 0) {
        ssize_t n = write(STDERR_FILENO, text, size);
        if (n <= 0) return;
        text += n;
        size -= (size_t)n;
    }
}

/* ---- The handler */

/* Takes effect when the handler returns: the signal is blocked until then. */
static void raise_default_signal(int number)
{
    signal(number, SIG_DFL);
    raise(number);
}

static void on_crash_signal(int number, siginfo_t *info, void *context)
{
    struct crash_text line = {.size = 0};
    (void)context;
    if (atomic_exchange(&crashed, true)) {
        while (!self.reporting) pause(); /* another thread is reporting and will end the process */
        raise_default_signal(number);
        return;
    }
    self.reporting = true;
    signal(SIGALRM, SIG_DFL);
    alarm(REPORT_S);
    describe_crash(number, info, &line);
    append_newline(&line);
    memcpy(report, line.text, line.size);
    report_sink(report, line.size + format_backtrace(report + line.size, BACKTRACE_MAX));
    child_process_groups_kill_all();
    exit_dirs_remove_all();
    raise_default_signal(number);
}

/* ---- Setup */

/* Loads libgcc, which takes about 0.1 ms: only when a job runs. */
static void preload_backtrace_library(void)
{
    void *frame;
    backtrace(&frame, 1);
    atomic_store(&loaded, true);
}

void crash_handler_install(const char *name, void (*report_to)(const char *text, size_t size))
{
    struct sigaction action = {.sa_sigaction = on_crash_signal,
                               .sa_flags = SA_SIGINFO | SA_ONSTACK};
    struct sigaction before;
    assert(name != NULL && job == NULL);
    job = name;
    report_sink = report_to != NULL ? report_to : write_to_stderr;
    sigfillset(&action.sa_mask);
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        if (sigaction(numbers[i], NULL, &before) != 0 || before.sa_handler != SIG_DFL) continue;
        int failed = sigaction(numbers[i], &action, NULL);
        assert(failed == 0);
    }
}

static void install_signal_stack(void)
{
    stack_t before, stack = {.ss_size = STACK_BYTES};
    if (sigaltstack(NULL, &before) != 0 || (before.ss_flags & SS_DISABLE) == 0) return;
    stack.ss_sp = mmap(NULL, STACK_BYTES, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (stack.ss_sp == MAP_FAILED) return; /* a stack overflow is then not reported */
    if (sigaltstack(&stack, NULL) == 0)
        self.stack = stack.ss_sp;
    else
        munmap(stack.ss_sp, STACK_BYTES);
}

void crash_handler_enter_thread(void (*describe_thread)(void *arg, struct crash_text *out),
                                void *arg)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    assert(self.stack == NULL);
    if (job != NULL) pthread_once(&once, preload_backtrace_library);
    self.describe_crash = describe_thread;
    self.arg = arg;
    install_signal_stack();
}

void crash_handler_leave_thread(void)
{
    const stack_t none = {.ss_flags = SS_DISABLE};
    self.describe_crash = NULL;
    if (self.stack == NULL) return;
    sigaltstack(&none, NULL);
    munmap(self.stack, STACK_BYTES);
    self.stack = NULL;
}
