/* body_numbers.c: see body_numbers.h. What is no JSON passes as it is, and the reader says where it is wrong. */
#include "serve/body_numbers.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "serve/body.h"

enum { PATH_MOST = 256, MISTAKES_MOST = 100 };

/* An object or a list that is open. */
typedef struct Level {
    size_t path_len; /* the path of the container */
    bool list;
    size_t index; /* of its item now */
} Level;

typedef struct Walk {
    char *text; /* changed in place */
    size_t len, at;
    Level levels[TFY_BODY_DEPTH + 1];
    int depth;
    bool key; /* the next text is a member's name */
    char path[PATH_MOST];
    TfyProblem *problem;
} Walk;

/* ---- where a value is ---- */

static void enter_item(Walk *walk)
{
    const Level *level = &walk->levels[walk->depth];
    snprintf(walk->path + level->path_len, PATH_MOST - level->path_len, "[%zu]", level->index);
}

static void enter_member(Walk *walk, const char *name, size_t len)
{
    const Level *level = &walk->levels[walk->depth];
    snprintf(walk->path + level->path_len, PATH_MOST - level->path_len, ".%.*s", (int)(len < 100 ? len : 100), name);
}

static void open_level(Walk *walk, bool list)
{
    if (walk->depth == TFY_BODY_DEPTH) return;
    walk->levels[++walk->depth] = (Level){.path_len = strlen(walk->path), .list = list};
    walk->key = !list;
    if (list) enter_item(walk);
}

static void close_level(Walk *walk)
{
    if (!walk->depth) return;
    walk->path[walk->levels[walk->depth--].path_len] = '\0';
    walk->key = false;
}

static void next_of_level(Walk *walk)
{
    Level *level = &walk->levels[walk->depth];
    if (!level->list) {
        walk->key = true;
        return;
    }
    level->index++;
    enter_item(walk);
}

/* ---- numbers ---- */

static void refuse(Walk *walk, size_t from, size_t len, const char *why)
{
    if (json_array_size(walk->problem->errors) < MISTAKES_MOST) tfy__body_mistake(walk->problem, walk->path, "%s", why);
    memset(walk->text + from, ' ', len);
    walk->text[from] = '0';
}

static bool is_integer(const char *token)
{
    token += *token == '-';
    return *token >= '1' && *token <= '9' && !token[strspn(token, "0123456789")];
}

/* 17 digits of a float count, so the last two of 19 may be an exponent. */
static void tame_number(Walk *walk, size_t from, size_t len, const char *token)
{
    errno = 0;
    if (isinf(strtod(token, NULL))) {
        refuse(walk, from, len, "the number is too large");
        return;
    }
    if (!is_integer(token)) return;
    errno = 0;
    (void)strtoll(token, NULL, 10);
    if (errno == ERANGE) memcpy(walk->text + from + len - 2, "e2", 2);
}

static bool is_word(const char *token)
{
    static const char *const words[] = {"NaN", "-NaN", "nan", "Infinity", "-Infinity", "inf", "-inf"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strcmp(token, words[i]) == 0) return true;
    return false;
}

static void tame(Walk *walk, size_t from, size_t len)
{
    char *token = strndup(walk->text + from, len);
    if (!token) return;
    if (is_word(token))
        refuse(walk, from, len, "it is not a number of JSON");
    else if ((*token >= '0' && *token <= '9') || *token == '-')
        tame_number(walk, from, len, token);
    free(token);
}

/* ---- the walk ---- */

static void pass_text(Walk *walk)
{
    const size_t from = ++walk->at;
    while (walk->at < walk->len && walk->text[walk->at] != '"') walk->at += walk->text[walk->at] == '\\' ? 2 : 1;
    if (walk->at > walk->len) walk->at = walk->len;
    if (walk->key) enter_member(walk, walk->text + from, walk->at - from);
    walk->key = false;
    walk->at++;
}

/* Of a number or a word. */
static size_t token_len(const Walk *walk)
{
    size_t len = 0;
    for (char c; walk->at + len < walk->len; len++) {
        c = walk->text[walk->at + len];
        if (!isalnum((unsigned char)c) && c != '+' && c != '-' && c != '.') break;
    }
    return len;
}

static void step(Walk *walk)
{
    const char c = walk->text[walk->at];
    const size_t len = token_len(walk);
    if (c == '"') {
        pass_text(walk);
        return;
    }
    if (len) tame(walk, walk->at, len);
    if (c == '{' || c == '[') open_level(walk, c == '[');
    if (c == '}' || c == ']') close_level(walk);
    if (c == ',') next_of_level(walk);
    walk->at += len ? len : 1;
}

char *tfy__body_tame(const char *text, size_t len, TfyProblem *problem)
{
    Walk *walk = calloc(1, sizeof *walk);
    char *copy = walk ? malloc(len + 1) : NULL;
    if (copy) {
        memcpy(copy, text, len);
        copy[len] = '\0';
        *walk = (Walk){.text = copy, .len = len, .path = "$", .problem = problem};
        while (walk->at < len) step(walk);
    }
    free(walk);
    return copy;
}
