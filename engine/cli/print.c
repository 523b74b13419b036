/* Errors are printed in small pieces: standard error is unbuffered, so nothing gets lost. */
#include "engine/cli/print.h"

#include "engine/base/error.h"
#include "engine/base/json.h"
#include "engine/base/utf8.h"

#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

bool print_color_enabled(enum print_color color)
{
    if (color != PRINT_COLOR_AUTO) return color == PRINT_COLOR_ALWAYS;
    const char *no_color = getenv("NO_COLOR"), *term = getenv("TERM");
    if (no_color != NULL && no_color[0] != '\0') return false;
    if (term != NULL && strcmp(term, "dumb") == 0) return false;
    return isatty(STDERR_FILENO) == 1;
}

void print_text_for(FILE *out, enum print_format format, const char *text, const char *indent)
{
    static const char *const special[] = {"", [PRINT_DOT] = "\"\\", [PRINT_XML] = "&<>"};
    const uint8_t *p = (const uint8_t *)text;
    uint64_t left = strlen(text);
    while (left > 0) {
        unsigned size = utf8_printable_size(p, left), step = size > 0 ? size : 1;
        assert(step <= left);
        if (*p == '\n' && indent != NULL)
            fprintf(out, "\n%s", indent);
        else if (size == 0)
            fprintf(out, "%s\\x%02x", format == PRINT_DOT ? "\\" : "", *p);
        else if (strchr(special[format], *p) == NULL)
            fwrite(p, 1, size, out);
        else
            fprintf(out, format == PRINT_DOT ? "\\%c" : "&#%u;", *p);
        p += step;
        left -= step;
    }
}

void print_escaped(FILE *out, const char *text, const char *indent)
{
    print_text_for(out, PRINT_TERMINAL, text, indent);
}

static const char *program_name = "glint";

void print_set_program_name(const char *name)
{
    program_name = name;
}

/* True if `text` begins with a command of every program. */
static bool is_command_hint(const char *text)
{
    static const char *const commands[] = {"submit", "explain", "executor", "status",
                                           "cancel", "history", "config",   "secret"};
    if (strncmp(text, "glint ", 6) != 0) return false;
    for (size_t i = 0; i < sizeof commands / sizeof commands[0]; i++) {
        const size_t size = strlen(commands[i]);
        if (strncmp(text + 6, commands[i], size) == 0 &&
            strchr(" `:;,.)\n", text[6 + size]) != NULL)
            return true; /* also at the end of the text */
    }
    return false;
}

void format_text_with_own_commands(char *out, size_t capacity, const char *text)
{
    size_t size = 0;
    assert(capacity > 0);
    for (bool starts = true; *text != '\0' && size + 1 < capacity;) {
        if (starts && is_command_hint(text)) {
            const size_t name = strnlen(program_name, capacity - 1 - size);
            memcpy(out + size, program_name, name);
            size += name;
            text += strlen("glint");
            starts = false;
            continue;
        }
        starts = *text == ' ' || *text == '`' || *text == '\n' || *text == '(';
        out[size++] = *text++;
    }
    out[size] = '\0';
}

static void print_error_part(FILE *out, const char *name, const char *text)
{
    if (text[0] == '\0') return;
    fprintf(out, "  %s: ", name);
    print_escaped(out, text, "    ");
    fputc('\n', out);
}

void print_error(FILE *out, const struct glint_error *error, bool color)
{
    assert(error->code < 0);
    fprintf(out, "%serror[E%04d]:%s %s\n", color ? "\033[1;31m" : "", -(int)error->code,
            color ? "\033[0m" : "", glint_code_text(error->code));
    print_error_part(out, "cause", error->cause);
    print_error_part(out, "effect", error->effect);
    char hint[2 * sizeof error->hint];
    format_text_with_own_commands(hint, sizeof hint, error->hint);
    print_error_part(out, "hint", hint);
}

bool print_json_object(FILE *out, struct json *j)
{
    const bool made = !j->failed;
    if (made) fwrite(j->out.data, 1, j->out.size, out);
    if (made) fputc('\n', out);
    json_fini(j);
    return made;
}

/* True if standard output is a pipe whose read end is closed. */
static bool is_stdout_reader_gone(void)
{
    struct pollfd out = {.fd = STDOUT_FILENO, .events = POLLOUT};
    return poll(&out, 1, 0) == 1 && (out.revents & POLLERR) != 0;
}

bool cli_error_is_broken_pipe(const struct glint_error *error)
{
    return error->code == GLINT_E_STDOUT_IO && is_stdout_reader_gone();
}

int cli_fail(const struct glint_error *error)
{
    if (cli_error_is_broken_pipe(error)) return 0;
    print_error(stderr, error, print_color_enabled(PRINT_COLOR_AUTO));
    return glint_code_exit_status(error->code);
}

int cli_flush_stdout(int status)
{
    bool lost_before = ferror(stdout) != 0; /* by an earlier flush, whose errno is lost */
    bool lost_now = fflush(stdout) != 0;
    const char *reason = lost_now ? strerror(errno) : "part of the output was lost";
    if (!lost_before && !lost_now) return status;
    clearerr(stdout); /* report it only once */
    struct glint_error error = {.code = GLINT_OK};
    error_set(&error, GLINT_E_STDOUT_IO, NULL, "cannot write to standard output: %s", reason);
    int lost_status = cli_fail(&error);
    return status != 0 ? status : lost_status;
}
