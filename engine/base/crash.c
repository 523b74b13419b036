/* The handler only calls async-signal-safe functions, on a separate signal stack. If it hangs,
 * SIGALRM ends the process after REPORT_S. The first backtrace() allocates memory, so it is
 * called once before. */
#include "engine/base/crash.h"

#include "engine/base/child_groups.h"
#include "engine/base/crash_symbols.h"
#include "engine/base/exit_dirs.h"
#include "engine/base/log.h"
#include "engine/base/utf8.h"

#include <assert.h>
#include <execinfo.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

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

static void append_bytes(struct crash_text *t, const void *bytes, size_t size)
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
            append_bytes(t, p, size);
        else
            append_bytes(t, (const char[]){'\\', 'x', digits[*p >> 4], digits[*p & 15]}, 4);
    }
}

static void append_number(struct crash_text *t, uint64_t number, unsigned base)
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
    append_number(t, number, 10);
}

void crash_text_append_hex(struct crash_text *t, uint64_t number)
{
    append_number(t, number, 16);
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
        crash_text_append_hex(out, (uintptr_t)info->si_addr);
    }
    crash_text_append(out, ", ");
    if (self.describe_crash != NULL)
        self.describe_crash(self.arg, out);
    else
        crash_text_append(out, "not in a task");
}

static void end_line(struct crash_text *t)
{
    t->size -= t->size == sizeof t->text;
    t->text[t->size++] = '\n';
}

/* One line per frame. Returns the number of bytes. */
static size_t add_backtrace(char *out, size_t capacity)
{
    void *frames[FRAMES_MAX];
    const int count = atomic_load(&loaded) ? backtrace(frames, FRAMES_MAX) : 0;
    size_t size = 0;
    for (int i = FRAMES_OURS; i < count; i++) {
        struct crash_text line = {.size = 0};
        crash_symbols_append(&line, frames[i], i > FRAMES_OURS);
        end_line(&line);
        if (line.size > capacity - size) break;
        memcpy(out + size, line.text, line.size);
        size += line.size;
    }
    return size;
}

static void write_to_stderr(const char *text, size_t size)
{
    const char *start = log_line_start();
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

static void on_crash(int number, siginfo_t *info, void *context)
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
    end_line(&line);
    memcpy(report, line.text, line.size);
    report_sink(report, line.size + add_backtrace(report + line.size, BACKTRACE_MAX));
    child_groups_kill_all();
    exit_dirs_remove_all();
    raise_default_signal(number);
}

/* ---- Setup */

/* Loads libgcc, which takes about 0.1 ms: only when a job runs. */
static void load_backtrace(void)
{
    void *frame;
    backtrace(&frame, 1);
    atomic_store(&loaded, true);
}

void crash_handler_install(const char *name, void (*report_to)(const char *text, size_t size))
{
    struct sigaction action = {.sa_sigaction = on_crash, .sa_flags = SA_SIGINFO | SA_ONSTACK};
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
    if (job != NULL) pthread_once(&once, load_backtrace);
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
