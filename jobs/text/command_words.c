/* See command_words.h. Quoting as in POSIX: '...' keeps everything, "..." keeps all but \ before
 * one of \ " $ ` and the end of a line, and outside of quotes \ keeps the next character. */
#include "jobs/text/command_words.h"

#include <stdbool.h>
#include <string.h>

struct splitter {
    const char *at;
    char *out;
};

/* Copies up to the closing quote, and passes it. Returns false if there is none. */
static bool copy_quoted_word(struct splitter *s, char quote)
{
    while (*s->at != quote) {
        if (*s->at == '\0') return false;
        bool escaped = quote == '"' && *s->at == '\\' && s->at[1] != '\0' &&
                       strchr("\\\"$`\n", s->at[1]) != NULL;
        if (escaped) s->at++;
        if (!escaped || *s->at != '\n') *s->out++ = *s->at;
        s->at++;
    }
    s->at++;
    return true;
}

/* Copies a word. Returns NULL, or what is wrong with it. */
static const char *copy_command_word(struct splitter *s)
{
    while (*s->at != '\0' && strchr(" \t\n", *s->at) == NULL) {
        if (strchr("|&;<>`", *s->at) != NULL) return "no shell interprets | & ; < > `";
        char c = *s->at++;
        if (c == '\'' || c == '"') {
            if (!copy_quoted_word(s, c)) return "a quote has no end";
        } else if (c != '\\') {
            *s->out++ = c;
        } else {
            if (*s->at == '\0') return "\\ at the end";
            if (*s->at != '\n') *s->out++ = *s->at;
            s->at++;
        }
    }
    return NULL;
}

const char *command_words_split(const char *command, char *out, char **words)
{
    struct splitter s = {.at = command, .out = out};
    size_t count = 0;
    for (s.at += strspn(s.at, " \t\n"); *s.at != '\0'; s.at += strspn(s.at, " \t\n")) {
        words[count++] = s.out;
        const char *mistake = copy_command_word(&s);
        if (mistake != NULL) return mistake;
        *s.out++ = '\0';
    }
    words[count] = NULL;
    return count > 0 && words[0][0] != '\0' ? NULL : "it is empty";
}
