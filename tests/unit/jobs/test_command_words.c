/* Commands are split as a POSIX shell splits them, and quoting any words gives them back. */
#include "jobs/text/command_words.h"

#include <criterion/criterion.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BYTES_MAX 512

/* The words, each between brackets; or the mistake after "mistake: ". */
static const char *split(const char *command)
{
    static char text[2 * BYTES_MAX];
    char bytes[BYTES_MAX], *words[BYTES_MAX];
    cr_assert_lt(strlen(command), sizeof bytes - 2);
    const char *mistake = command_words_split(command, bytes, words);
    int used = 0;
    if (mistake != NULL) snprintf(text, sizeof text, "mistake: %s", mistake);
    for (char **word = words; mistake == NULL && *word != NULL; word++)
        used += snprintf(text + used, sizeof text - (size_t)used, "[%s]", *word);
    return text;
}

Test(command_words, quoting_rules)
{
    static const struct {
        const char *command, *words;
    } rows[] = {
        {"cat", "[cat]"},
        {"  wc\t -l \n", "[wc][-l]"},
        {"a 'b c'  \"d e\"f", "[a][b c][d ef]"},
        {"a '' \"\" b", "[a][][][b]"},
        {"a'b'\"c\"d", "[abcd]"},
        {"a b\\ c \\\\ \\' \\\"", "[a][b c][\\]['][\"]"},
        {"a '\\' \"\\\\ \\\" \\$ \\` \\n '\"", "[a][\\][\\ \" $ ` \\n ']"},
        {"a $HOME * ~ # 'x|y' \"<&>\" \\;", "[a][$HOME][*][~][#][x|y][<&>][;]"},
        {"a b\\\nc \"d\\\ne\"", "[a][bc][de]"},
        {"awk -F'\\t' '{ print $1 }'", "[awk][-F\\t][{ print $1 }]"},
        {"", "mistake: it is empty"},
        {" \t ", "mistake: it is empty"},
        {"'' a", "mistake: it is empty"},
        {"a 'b", "mistake: a quote has no end"},
        {"a \"b\\\"", "mistake: a quote has no end"},
        {"a \\", "mistake: \\ at the end"},
        {"a | b", "mistake: no shell interprets | & ; < > `"},
        {"a >b", "mistake: no shell interprets | & ; < > `"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        cr_expect_str_eq(split(rows[i].command), rows[i].words, "%s", rows[i].command);
}

static uint64_t random_next(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

/* Writes one byte, quoted in a way chosen at random. Returns what follows it. */
static char *put_quoted(char *at, char byte, uint64_t *seed)
{
    uint64_t way = random_next(seed) % 3;
    if (byte == '\'') way = 1 + way % 2;
    if (byte == '\n' && way == 2) way = 0; /* a backslash removes it */
    if (way == 0) return at + snprintf(at, 4, "'%c'", byte);
    bool escape = way == 2 || strchr("\\\"$`", byte) != NULL;
    return at + snprintf(at, 6, way == 1 ? "\"%s%c\"" : "%s%c", escape ? "\\" : "", byte);
}

Test(command_words, quoted_words_round_trip)
{
    static const char alphabet[] = "ab \t\n'\"\\|&;<>`$*#";
    uint64_t seed = 7;
    for (int i = 0; i < 20000; i++) {
        char command[BYTES_MAX], expected[BYTES_MAX], *at = command, *end = expected;
        uint64_t words = 1 + random_next(&seed) % 4;
        for (uint64_t word = 0; word < words; word++) {
            uint64_t size = (word == 0) + random_next(&seed) % 8;
            *end++ = '[';
            if (size == 0) at += snprintf(at, 3, "''");
            for (uint64_t n = 0; n < size; n++) {
                char byte = alphabet[random_next(&seed) % (sizeof alphabet - 1)];
                at = put_quoted(at, byte, &seed);
                *end++ = byte;
            }
            *end++ = ']';
            *at++ = ' ';
        }
        *at = *end = '\0';
        cr_assert_str_eq(split(command), expected, "%s", command);
    }
}

/* Any bytes: the address sanitizer watches the sizes that the header demands. */
Test(command_words, any_text_is_split_or_rejected)
{
    static const char alphabet[] = "a '\"\\\n|";
    uint64_t seed = 11;
    for (int i = 0; i < 20000; i++) {
        size_t size = random_next(&seed) % 12;
        char *command = malloc(size + 1), *bytes = malloc(size + 2);
        char **words = malloc((size / 2 + 2) * sizeof *words);
        cr_assert(command != NULL && bytes != NULL && words != NULL);
        for (size_t n = 0; n < size; n++)
            command[n] = alphabet[random_next(&seed) % (sizeof alphabet - 1)];
        command[size] = '\0';
        if (command_words_split(command, bytes, words) == NULL) cr_expect_neq(words[0][0], '\0');
        free(command);
        free(bytes);
        free(words);
    }
}
