/* gen.c: random programs that the checker accepts. gen [--steady | --sim] FIRST [COUNT]: one .tfy file with a program for each seed; a program depends on
 * nothing but its seed, so that `gen SEED` shows the same one alone (but for the lines it stands on).
 *
 * A program is one workflow root_KSEED and what it calls. Its kind K says what may meet in it, because the order between tasks is promised
 * only for what the language orders:
 *   s  one task, with tools, errors, policies, undo, deadlines and sleep
 *   a  many tasks: spawn, join, kill, parallel, race, channels, locks, signals, cleanup and undo under cancellation, timeouts; no tools.
 *      Their order is exact.
 *   c  many tasks with tools, each a program of kind s; only each task's own order is compared
 * --steady is for programs that are killed and resumed: their tools may be repeated and answer the same each time. --sim is for those of the
 * simulation: the same, but some tools are `once`. */
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef enum Ty {
    INT,
    STR,
    BOOL,
    FLOAT,
    DUR,
    INTS,
    STRS,
    MAP,
    NUMBERED,
    ITEM,
    ITEMS,
    SHAPE,
    OINT,
    OSTR,
    OITEM,
    TY_COUNT
} Ty;

static const char *const ty_names[] = {"int",          "string",           "bool",
                                       "float",        "duration",         "list<int>",
                                       "list<string>", "map<string, int>", "map<int, string>",
                                       "Item",         "list<Item>",       "Shape",
                                       "int?",         "string?",          "Item?"};

typedef struct Var {
    char name[16];
    Ty type;
    bool mutable;
} Var;

typedef struct Flow { /* a helper workflow or fn */
    char name[24];
    Ty params[3], result;
    uint32_t param_count;
    bool is_fn;
} Flow;

#define VAR_MAX  128
#define FLOW_MAX 8

typedef struct Gen {
    uint64_t state;
    long seed;
    char kind;
    Var vars[VAR_MAX]; /* in scope */
    uint32_t var_count, task_count;
    char tasks[8][16]; /* task<int> handles in scope */
    uint32_t channel_count;
    char channels[4][16]; /* of int, in scope */
    char me[16];          /* the variable that holds the task's path */
    Flow flows[FLOW_MAX];
    uint32_t flow_count;
    uint32_t names; /* names given out */
    uint32_t flaky; /* ids given out */
    uint32_t indent;
    uint32_t loops;   /* loops around this place that break and continue may name */
    uint32_t nesting; /* blocks around this place */
    uint32_t calls;   /* what this body may still call */
    int budget;       /* statements this body may still have; below 0 only the shortest */
    bool in_fn, in_finally;
    bool in_body;        /* of parallel or race: it ends with give */
    bool gave;           /* it did somewhere */
    bool guarded;        /* a try is around this place */
    uint32_t undo_depth; /* undo blocks around this place */
    bool undo_all;       /* every step has one */
    uint32_t locks;      /* levels of locks around this place: a deeper one has another name */
    Ty result;           /* of the body under way; TY_COUNT: it gives nothing */
} Gen;

static FILE *out;   /* where lines go */
static bool steady; /* tools answer the same however often they are called */
static bool repeat; /* … and may be repeated */
static bool places; /* values are put where only trusted ones may stand */

/* ---- chance ---- */

static uint64_t next(Gen *g)
{
    uint64_t z = g->state += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static uint32_t below(Gen *g, uint32_t n)
{
    return (uint32_t)(next(g) >> 16) % n;
}

static bool chance(Gen *g, uint32_t percent)
{
    return below(g, 100) < percent;
}

/* ---- text ---- */

static char *text_made(const char *format, ...) __attribute__((format(printf, 1, 2)));
static char *text_made(const char *format, ...)
{
    char *made;
    va_list args;
    va_start(args, format);
    if (vasprintf(&made, format, args) < 0) abort();
    va_end(args);
    return made;
}

static void line_made(const Gen *g, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void line_made(const Gen *g, const char *format, ...)
{
    va_list args;
    fprintf(out, "%*s", (int)g->indent * 4, "");
    va_start(args, format);
    vfprintf(out, format, args);
    va_end(args);
    fputc('\n', out);
}

/* text(format, …) and line(g, format, …): every argument takes its share of chance, and C leaves open which one does first (gcc begins with the
 * last, clang with the first). Here each has its value before the next is looked at, so that a seed is one program. */
/* clang-format off */
#define SET_0(I)
#define SET_1(I, a) __auto_type a_##I = (a);
#define SET_2(I, a, b) SET_1(I, a) __auto_type b_##I = (b);
#define SET_3(I, a, b, c) SET_2(I, a, b) __auto_type c_##I = (c);
#define SET_4(I, a, b, c, d) SET_3(I, a, b, c) __auto_type d_##I = (d);
#define SET_5(I, a, b, c, d, e) SET_4(I, a, b, c, d) __auto_type e_##I = (e);
#define SET_6(I, a, b, c, d, e, f) SET_5(I, a, b, c, d, e) __auto_type f_##I = (f);
#define SET_7(I, a, b, c, d, e, f, g) SET_6(I, a, b, c, d, e, f) __auto_type g_##I = (g);
#define SET_8(I, a, b, c, d, e, f, g, h) SET_7(I, a, b, c, d, e, f, g) __auto_type h_##I = (h);
#define SET_9(I, a, b, c, d, e, f, g, h, i) SET_8(I, a, b, c, d, e, f, g, h) __auto_type i_##I = (i);
#define GET_0(I)
#define GET_1(I) , a_##I
#define GET_2(I) GET_1(I), b_##I
#define GET_3(I) GET_2(I), c_##I
#define GET_4(I) GET_3(I), d_##I
#define GET_5(I) GET_4(I), e_##I
#define GET_6(I) GET_5(I), f_##I
#define GET_7(I) GET_6(I), g_##I
#define GET_8(I) GET_7(I), h_##I
#define GET_9(I) GET_8(I), i_##I
#define COUNT(...) COUNT_(__VA_ARGS__, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0, 0) /* of what stands behind the format */
#define COUNT_(format, a, b, c, d, e, f, g, h, i, N, ...) N
#define TEXT(N, I, ...) TEXT_(N, I, __VA_ARGS__)
#define TEXT_(N, I, format, ...) ({ SET_##N(I, ##__VA_ARGS__) text_made(format GET_##N(I)); })
#define LINE(N, I, ...) LINE_(N, I, __VA_ARGS__)
#define LINE_(N, I, gen, format, ...) ({ SET_##N(I, ##__VA_ARGS__) line_made(gen, format GET_##N(I)); })
#define text(...) TEXT(COUNT(__VA_ARGS__), __COUNTER__, __VA_ARGS__)
#define line(g, ...) LINE(COUNT(__VA_ARGS__), __COUNTER__, g, __VA_ARGS__)
/* clang-format on */

/* Lines between these two are kept until it is known what stands before them. */
static FILE *aside_outer[8];
static char *aside_text[8];
static size_t aside_len[8];
static uint32_t asides;

static void begin_aside(void)
{
    aside_outer[asides] = out;
    out = open_memstream(&aside_text[asides], &aside_len[asides]);
    if (!out) abort();
    asides++;
}

static char *end_aside(void)
{
    fclose(out);
    out = aside_outer[--asides];
    return aside_text[asides];
}

static void fresh(Gen *g, char name[16])
{
    snprintf(name, 16, "v%u", g->names++);
}

static void declare(Gen *g, const char *name, Ty type, bool mutable)
{
    if (g->var_count == VAR_MAX) return;
    Var *v = &g->vars[g->var_count++];
    snprintf(v->name, sizeof v->name, "%s", name);
    v->type = type;
    v->mutable = mutable;
}

/* A variable of the type, or NULL. */
static const Var *pick(Gen *g, Ty type, bool mutable)
{
    const Var *found = NULL;
    uint32_t count = 0;
    for (uint32_t i = 0; i < g->var_count; i++)
        if (g->vars[i].type == type && (!mutable || g->vars[i].mutable) && below(g, ++count) == 0) found = &g->vars[i];
    return found;
}

/* ---- expressions ---- */

static char *expr(Gen *g, Ty type, uint32_t depth);

static const char *word(Gen *g)
{
    static const char *const words[] = {"a", "b", "key", "x y", "", "\\\"q\\\"", "ü", "line\\n", "z", " pad "};
    return words[below(g, sizeof words / sizeof *words)];
}

static char *literal(Gen *g, Ty type)
{
    switch (type) {
    case INT:
        if (chance(g, 3)) return text("9223372036854775807");
        if (chance(g, 15)) return text("(-%u)", 1 + below(g, 4));
        return text("%u", below(g, 20));
    case STR: return text("\"%s\"", word(g));
    case BOOL: return text("%s", chance(g, 50) ? "true" : "false");
    case FLOAT: return text("%d.%d", (int)below(g, 9), (int)below(g, 100));
    case DUR: return text("%ums", 1 + below(g, 40));
    case INTS: return text("[%u, %u]", below(g, 9), below(g, 9));
    case STRS: return text("[\"%s\", \"%s\"]", word(g), word(g));
    case MAP: return text("{ \"a\": %u, \"key\": %u }", below(g, 9), below(g, 9));
    case NUMBERED: return text("{ [%u]: \"%s\", [7]: \"seven\" }", below(g, 6), word(g));
    case ITEM: return text("Item(name: \"%s\", n: %u, tags: [\"%s\"])", word(g), below(g, 9), word(g));
    case ITEMS: return text("[Item(name: \"%s\"), Item(n: %u, name: \"i\")]", word(g), below(g, 9));
    case SHAPE:
        if (chance(g, 30)) return text("Shape.dot");
        return chance(g, 50) ? text("Shape.circle(%u)", below(g, 9))
                             : text("Shape.rect(w: %u, h: %u)", below(g, 4), below(g, 4));
    case OINT: return chance(g, 40) ? text("none_int()") : text("some_int(%u)", below(g, 9));
    case OSTR: return chance(g, 40) ? text("none_text()") : text("some_text(\"%s\")", word(g));
    default: return chance(g, 40) ? text("none_item()") : text("some_item(%s)", literal(g, ITEM));
    }
}

static const char *pattern(Gen *g)
{
    static const char *const patterns[] = {"[a-m]", "\\\\s+",    "e",  "(\\\\w)(\\\\d)?",
                                           "x*",    "(?i)K|(ü)", "^.", "n$|-?\\\\d+"};
    return patterns[below(g, sizeof patterns / sizeof *patterns)];
}

/* An inline function of an element of some type, which gives another. */
static char *inline_fn(Gen *g, Ty element, Ty gives, uint32_t d)
{
    char name[16];
    uint32_t vars = g->var_count;
    fresh(g, name);
    declare(g, name, element, false);
    char *body = expr(g, gives, d);
    g->var_count = vars;
    return chance(g, 5) ? text("_ => %s", literal(g, gives)) : text("%s => %s", name, body);
}

/* A function for fold: of what came before, which stays short, and an element. */
static char *folding(Gen *g, Ty before, Ty element, uint32_t d)
{
    char first[16], second[16];
    uint32_t vars = g->var_count;
    fresh(g, first);
    declare(g, first, before, false);
    fresh(g, second);
    declare(g, second, element, false);
    char *body = expr(g, before, d);
    g->var_count = vars;
    return before == INT ? text("(%s, %s) => %s * 7 %% 997 + %s %% 1009", first, second, first, body)
                         : text("(%s, %s) => %s.slice(0, 9) + %s", first, second, first, body);
}

/* xs.map(…) and its relatives as a list of this type. */
static char *mapped(Gen *g, Ty gives, uint32_t d)
{
    static const Ty from[][2] = {{INTS, INT}, {STRS, STR}, {ITEMS, ITEM}};
    uint32_t which = below(g, 3);
    const bool own = chance(g, 30);
    return text(own ? "each(%s, %s)" : "%s.map(%s)", expr(g, from[which][0], d),
                inline_fn(g, from[which][1], gives, d));
}

static char *int_method(Gen *g, uint32_t d)
{
    switch (below(g, 21)) {
    case 18:
        return chance(g, 50)
                   ? text("%s.fold(%s, %s)", expr(g, INTS, d), expr(g, INT, d), folding(g, INT, INT, d))
                   : text("%s.fold(%s, %s).len()", expr(g, STRS, d), expr(g, STR, d), folding(g, STR, STR, d));
    case 19:
        switch (below(g, 4)) {
        case 0: return text("fold_up(%s, %s, %s)", expr(g, INTS, d), expr(g, INT, d), folding(g, INT, INT, d));
        case 1: return text("keep(%s, %s).len()", expr(g, STRS, d), inline_fn(g, STR, BOOL, d));
        case 2: return text("twice(%s, %s).sum()", expr(g, INTS, d), chance(g, 30) ? "hundredth" : "x => x % 97 + 1");
        default: return text("(head(%s) ?? %s)", expr(g, INTS, d), expr(g, INT, d));
        }
    case 16: return text("(%s?.%s ?? %s)", expr(g, OITEM, d), chance(g, 50) ? "n" : "tags?.len()", expr(g, INT, d));
    case 17: return text("(%s?.min(%s)?.max(-9) ?? %u)", expr(g, OINT, d), expr(g, INT, d), below(g, 9));
    case 15: return text("%s.find_matches(\"%s\").map(m => 100 * m.start + m.end).sum()", expr(g, STR, d), pattern(g));
    case 0: return text("(%s %% 1000).abs()", expr(g, INT, d));
    case 1: return text("%s.%s(%s)", expr(g, INT, d), chance(g, 50) ? "min" : "max", expr(g, INT, d));
    case 2: return text("(%s.index_of(\"%s\") ?? -1)", expr(g, STR, d), word(g));
    case 3: return text("(%s.parse_int() ?? %s)", expr(g, STR, d), expr(g, INT, d));
    case 4: return text("(%s).%s()", expr(g, FLOAT, d), chance(g, 50) ? "floor" : chance(g, 50) ? "ceil" : "round");
    case 5: return text("%s.or(%s)", expr(g, OINT, d), expr(g, INT, d));
    case 6: return text("(%s.%s() ?? %u)", expr(g, INTS, d), chance(g, 50) ? "first" : "last", below(g, 9));
    case 7: return text("(%s.%s() ?? %u)", expr(g, INTS, d), chance(g, 50) ? "min" : "max", below(g, 9));
    case 8: return text("(%s.index_of(%s) ?? 7)", expr(g, INTS, d), expr(g, INT, d));
    case 9: return text("%s.count(%s)", expr(g, INTS, d), inline_fn(g, INT, BOOL, d));
    case 10: return text("%s.map(x => x %% 100).sum()", expr(g, INTS, d));
    case 11: return text("%s.values().map(x => x %% 100).sum()", expr(g, MAP, d));
    case 12: return text("(%s.find(%s) ?? 3)", expr(g, INTS, d), inline_fn(g, INT, BOOL, d));
    case 13: return text("(%s).to_ms()", expr(g, DUR, d));
    case 14:
        return text(
            "at(%s).%s()", expr(g, INT, d),
            ((const char *const[]){"year", "month", "day", "hour", "minute", "second", "weekday"})[below(g, 7)]);
    default: return text("%s.split(\"%s\", %u).len()", expr(g, STR, d), chance(g, 90) ? "e" : "", 1 + below(g, 3));
    }
}

/* A part of a json literal: a value of any type, or another such part in JSON's own brackets. */
static char *json_part(Gen *g, uint32_t d)
{
    switch (d ? below(g, 6) : 5) {
    case 0:
        return text("{ \"z\": %s, \"%s\": %s }", json_part(g, d - 1), chance(g, 50) ? "a" : "é", json_part(g, d - 1));
    case 1: return text("[%s, null, %s]", json_part(g, d - 1), json_part(g, d - 1));
    case 2: return text("{ [%s]: %s, [%s + \"2\"]: 2 }", expr(g, STR, d), json_part(g, d - 1), expr(g, STR, d));
    case 3: return text("(%s).to_json()", expr(g, (Ty)below(g, SHAPE + 1), d));
    default: return text("(%s)", expr(g, (Ty)below(g, OITEM + 1), d));
    }
}

static char *str_method(Gen *g, uint32_t d)
{
    switch (below(g, 18)) {
    case 15: return text("(%s?.name ?? \"-\")", expr(g, OITEM, d));
    case 16:
        return text("(%s?.%s ?? %s)", expr(g, OSTR, d),
                    chance(g, 50) ? "to_upper()" : text("replace(\"e\", %s)", expr(g, STR, d)), expr(g, STR, d));
    case 14: return text("(json { \"k\": %s, \"a\": [%s] }).to_string()", json_part(g, d), json_part(g, d));
    case 12: return text("%s.replace_matches(\"%s\", \"<$0>\")", expr(g, STR, d), pattern(g));
    case 13: return text("\"${%s.find_matches(\"%s\")}\"", expr(g, STR, d), pattern(g));
    case 0: return text("%s.replace(\"%s\", \"%s\")", expr(g, STR, d), chance(g, 90) ? "e" : "", word(g));
    case 1: return text("%s.to_%s()", expr(g, STR, d), chance(g, 50) ? "upper" : "lower");
    case 2: return text("%s.slice(0, 4).repeat(%s %% 4)", expr(g, STR, d), expr(g, INT, d));
    case 3:
        return text("%s.pad_%s(%u%s)", expr(g, STR, d), chance(g, 50) ? "start" : "end", below(g, 9),
                    chance(g, 50) ? ", \"üx\"" : "");
    case 4: return text("%s.trim_%s()", expr(g, STR, d), chance(g, 50) ? "start" : "end");
    case 5: return text("%s.chars().reverse().join(\"%s\")", expr(g, STR, d), word(g));
    case 6: return text("(%s.%s() ?? \"none\")", expr(g, STRS, d), chance(g, 50) ? "min" : "last");
    case 7: return text("(%s).format(%u)", expr(g, FLOAT, d), below(g, 4));
    case 8:
        return text("%s.to_json().%s", expr(g, (Ty)below(g, SHAPE + 1), d), chance(g, 50) ? "kind()" : "to_string()");
    case 9:
        return text("\"${%s.to_json().get(\"%s\") == null}\"", expr(g, chance(g, 50) ? ITEM : MAP, d),
                    chance(g, 50) ? "tags[0]" : "key");
    case 10:
        return text("%s.group_by(%s).to_string()", expr(g, INTS, d), inline_fn(g, INT, chance(g, 50) ? STR : INT, d));
    case 11: return text("at(%s).to_string()", expr(g, INT, d));
    default: return text("(%s.find(%s) ?? \"-\")", expr(g, STRS, d), inline_fn(g, STR, BOOL, d));
    }
}

static char *bool_method(Gen *g, uint32_t d)
{
    switch (below(g, 5)) {
    case 3: return text("%s.matches(\"%s\")", expr(g, STR, d), pattern(g));
    case 0: return text("%s.%s(\"%s\")", expr(g, STR, d), chance(g, 50) ? "starts_with" : "ends_with", word(g));
    case 1: return text("%s.%s(%s)", expr(g, INTS, d), chance(g, 50) ? "any" : "all", inline_fn(g, INT, BOOL, d));
    case 2: return text("%s.%s(%s)", expr(g, ITEMS, d), chance(g, 50) ? "any" : "all", inline_fn(g, ITEM, BOOL, d));
    default: return text("(%s.parse_float() == null)", expr(g, STR, d));
    }
}

/* A list made of another. */
static char *list_method(Gen *g, Ty type, Ty item, uint32_t d)
{
    char *list = expr(g, type, d);
    switch (below(g, 8)) {
    case 0: return mapped(g, item, d);
    case 1: return text("%s.filter(%s)", list, inline_fn(g, item, BOOL, d));
    case 2: return text("%s.sort_by(%s)", list, inline_fn(g, item, chance(g, 60) ? INT : STR, d));
    case 3: return text("%s.reverse()", list);
    case 4: return text("[%s, %s].flatten()", list, expr(g, type, d));
    case 5: return chance(g, 20) ? text("%s.remove(0)", list) : text("%s.insert(0, %s)", list, expr(g, item, d));
    case 6: return type == ITEMS ? mapped(g, ITEM, d) : text("%s.%s()", list, chance(g, 50) ? "sort" : "unique");
    default:
        return type == INTS ? text("%s.map(s => s.parse_int()).compact()", expr(g, STRS, d))
                            : text("%s.slice(0, 3)", list);
    }
}

static char *int_expr(Gen *g, uint32_t d)
{
    if (chance(g, 35)) return int_method(g, d);
    switch (below(g, 19)) {
    case 0: return text("(%s + %s)", expr(g, INT, d), expr(g, INT, d));
    case 1: return text("(%s - %s)", expr(g, INT, d), expr(g, INT, d));
    case 2: return text("((%s %% 1009) * (%s %% 97))", expr(g, INT, d), expr(g, INT, d));
    case 3: return text("(%s / %u)", expr(g, INT, d), 1 + below(g, 7));
    case 4:
        return chance(g, 10) ? text("(%s %% %s)", expr(g, INT, d), expr(g, INT, d))
                             : text("(%s %% 13)", expr(g, INT, d));
    case 5: return text("%s.len()", expr(g, STR, d));
    case 6: return text("%s.len()", expr(g, INTS, d));
    case 7: return text("(%s.get(%s) ?? %s)", expr(g, INTS, d), expr(g, INT, d), expr(g, INT, d));
    case 8:
        return chance(g, 15) ? text("%s[%u]", expr(g, INTS, d), below(g, 4))
                             : text("(%s.get(\"%s\") ?? %u)", expr(g, MAP, d), word(g), below(g, 9));
    case 9: return text("(%s ?? %s)", expr(g, OINT, d), expr(g, INT, d));
    case 10: return text("if %s { %s } else { %s }", expr(g, BOOL, d), expr(g, INT, d), expr(g, INT, d));
    case 11: return text("%s.n", expr(g, ITEM, d));
    case 12: return text("(%s).to_int()", expr(g, FLOAT, d));
    case 13: return text("area(%s)", expr(g, SHAPE, d));
    case 14: return text("sum(%s)", expr(g, INTS, d));
    case 15: return text("%s.byte_len()", expr(g, STR, d));
    case 16: return chance(g, 15) ? text("%s[\"%s\"]", expr(g, MAP, d), word(g)) : text("%s.len()", expr(g, MAP, d));
    case 17: return chance(g, 20) ? text("(-%s)", expr(g, INT, d)) : text("%s.len()", expr(g, ITEMS, d));
    default: return text("clamp(%s, %s)", expr(g, INT, d), expr(g, INT, d));
    }
}

static char *str_expr(Gen *g, uint32_t d)
{
    if (chance(g, 35)) return str_method(g, d);
    switch (below(g, 13)) {
    case 0: return text("(%s + %s)", expr(g, STR, d), expr(g, STR, d));
    case 1: return text("\"<${%s} ${%s}>\"", expr(g, INT, d), expr(g, (Ty)below(g, SHAPE + 1), d));
    case 2: return text("%s.slice(%s, %u)", expr(g, STR, d), expr(g, INT, d), below(g, 6));
    case 3: return text("%s.trim()", expr(g, STR, d));
    case 4: return text("%s.join(\"%s\")", expr(g, STRS, d), word(g));
    case 5: return text("%s.name", expr(g, ITEM, d));
    case 6: return text("(%s ?? %s)", expr(g, OSTR, d), expr(g, STR, d));
    case 7: return text("%s.to_string()", expr(g, (Ty)below(g, SHAPE + 1), d));
    case 8: return text("if %s { %s } else { %s }", expr(g, BOOL, d), expr(g, STR, d), expr(g, STR, d));
    case 9: return text("%s.slice(%u)", expr(g, STR, d), below(g, 3));
    case 10: return text("(%s.get(%s) ?? \"%s\")", expr(g, NUMBERED, d), expr(g, INT, d), word(g));
    case 11: return text("(%s.get(%u) ?? \"%s\")", expr(g, STRS, d), below(g, 3), word(g));
    default:
        return chance(g, 10) ? text("%s[%u]", expr(g, STR, d), below(g, 3)) : text("shape_name(%s)", expr(g, SHAPE, d));
    }
}

static char *bool_expr(Gen *g, uint32_t d)
{
    static const char *const orders[] = {"<", "<=", ">", ">="};
    Ty type = (Ty)below(g, TY_COUNT);
    if (chance(g, 25)) return bool_method(g, d);
    switch (below(g, 9)) {
    case 0: return text("(%s %s %s)", expr(g, INT, d), orders[below(g, 4)], expr(g, INT, d));
    case 1: return text("(%s && %s)", expr(g, BOOL, d), expr(g, BOOL, d));
    case 2: return text("(%s || %s)", expr(g, BOOL, d), expr(g, BOOL, d));
    case 3: return text("(!%s)", expr(g, BOOL, d));
    case 4: return text("(%s %s %s)", expr(g, type, d), chance(g, 60) ? "==" : "!=", expr(g, type, d));
    case 5: return text("%s.contains(%s)", expr(g, INTS, d), expr(g, INT, d));
    case 6: return text("%s.contains(\"%s\")", expr(g, STR, d), word(g));
    case 7: return text("(%s %s %s)", expr(g, STR, d), orders[below(g, 4)], expr(g, STR, d));
    default: return text("%s.contains(\"%s\")", expr(g, MAP, d), word(g));
    }
}

static char *list_expr(Gen *g, Ty type, Ty item, uint32_t d)
{
    if (chance(g, 40)) return list_method(g, type, item, d);
    switch (below(g, 5)) {
    case 0: return text("%s.push(%s)", expr(g, type, d), expr(g, item, d));
    case 1: return text("%s.concat(%s)", expr(g, type, d), expr(g, type, d));
    case 2: return text("%s.slice(%s, %u)", expr(g, type, d), expr(g, INT, d), below(g, 4));
    case 3: return text("if %s { %s } else { %s }", expr(g, BOOL, d), expr(g, type, d), expr(g, type, d));
    default: return text("[%s, %s]", expr(g, item, d), expr(g, item, d));
    }
}

static char *compound(Gen *g, Ty type, uint32_t d)
{
    switch (type) {
    case INT: return int_expr(g, d);
    case STR: return str_expr(g, d);
    case BOOL: return bool_expr(g, d);
    case FLOAT:
        if (chance(g, 40)) return text("(%s %% 100000).to_float()", expr(g, INT, d));
        return text("(%s %c %s)", expr(g, FLOAT, d), "+-*"[below(g, 3)],
                    chance(g, 50) ? expr(g, FLOAT, d) : text("%u", below(g, 5)));
    case DUR:
        return chance(g, 20) ? text("(%s.parse_duration() ?? %s)", expr(g, STR, d), expr(g, DUR, d))
                             : text("(%s + %s)", expr(g, DUR, d), expr(g, DUR, d));
    case INTS: return list_expr(g, INTS, INT, d);
    case STRS:
        switch (below(g, 7)) {
        case 3: return text("%s.split_matches(\"%s\")", expr(g, STR, d), pattern(g));
        case 0: return text("%s.lines()", expr(g, STR, d));
        case 1: return text("%s.split(\"%s\")", expr(g, STR, d), chance(g, 50) ? " " : "e");
        case 2: return text("%s.keys()", expr(g, MAP, d));
        default: return list_expr(g, STRS, STR, d);
        }
    case MAP:
        switch (below(g, 8)) {
        case 0: return text("%s.remove(\"%s\")", expr(g, MAP, d), word(g));
        case 1: return text("%s.merge(%s)", expr(g, MAP, d), expr(g, MAP, d));
        case 2: return text("%s.map_values(%s)", expr(g, MAP, d), inline_fn(g, INT, INT, d));
        case 3: return text("%s.filter_keys(%s)", expr(g, MAP, d), inline_fn(g, STR, BOOL, d));
        case 4: return text("decoded_map(%s.to_json())", expr(g, MAP, d));
        default: break;
        }
        return text("%s.set(\"%s\", %s)", expr(g, MAP, d), word(g), expr(g, INT, d));
    case NUMBERED: return text("%s.set(%s, %s)", expr(g, NUMBERED, d), expr(g, INT, d), expr(g, STR, d));
    case ITEM:
        if (chance(g, 15)) return text("decoded(%s.to_json())", expr(g, ITEM, d));
        if (chance(g, 30)) return text("(%s ?? %s)", expr(g, OITEM, d), expr(g, ITEM, d));
        return text("Item(name: %s, n: %s, tags: %s)", expr(g, STR, d), expr(g, INT, d), expr(g, STRS, d));
    case ITEMS: return list_expr(g, ITEMS, ITEM, d);
    case SHAPE: return text("Shape.circle(%s)", expr(g, INT, d));
    case OINT:
        return chance(g, 40) ? text("%s.parse_int()", expr(g, STR, d))
                             : text("%s.get(%s)", expr(g, INTS, d), expr(g, INT, d));
    case OSTR:
        if (chance(g, 30)) return text("%s.first()", expr(g, STRS, d));
        return text("some_text(%s)", expr(g, STR, d));
    default: return text("%s.get(%s)", expr(g, ITEMS, d), expr(g, INT, d));
    }
}

static char *expr(Gen *g, Ty type, uint32_t depth)
{
    const Var *v = pick(g, type, false);
    if (v && chance(g, depth ? 45 : 75)) return text("%s", v->name);
    if (!depth || chance(g, 25)) return literal(g, type);
    return compound(g, type, depth - 1);
}

static char *any(Gen *g, Ty type)
{
    return expr(g, type, chance(g, 25) ? 2 : 1);
}

/* ---- statements ---- */

static bool block(Gen *g, uint32_t statements); /* false: its end is never reached */

/* Braces around a block of its own scope. */
static bool braced(Gen *g, const char *head, uint32_t statements)
{
    uint32_t vars = g->var_count, tasks = g->task_count, channels = g->channel_count;
    line(g, "%s {", head);
    g->indent++;
    g->nesting++;
    bool falls = block(g, statements);
    g->nesting--;
    g->indent--;
    g->var_count = vars;
    g->task_count = tasks;
    g->channel_count = channels;
    return falls;
}

static Ty plain_type(Gen *g)
{
    return chance(g, 55) ? (Ty)below(g, 3) : (Ty)below(g, TY_COUNT);
}

static void let(Gen *g)
{
    char name[16];
    Ty type = plain_type(g);
    bool mutable = chance(g, 60);
    char *value = any(g, type);
    fresh(g, name);
    if (chance(g, 40))
        line(g, "%s %s: %s = %s", mutable ? "var" : "let", name, ty_names[type], value);
    else
        line(g, "%s %s = %s", mutable ? "var" : "let", name, value);
    declare(g, name, type, mutable);
}

/* Strings and lists that grow in loops stay short. */
static char *bounded(Gen *g, Ty type)
{
    char *value = any(g, type);
    bool grows = type == STR || type == INTS || type == STRS || type == ITEMS;
    return grows ? text("(%s).slice(0, %u)", value, 3 + below(g, 12)) : value;
}

static void assign_part(Gen *g, const Var *v)
{
    static const char ops[] = "+-*";
    const char *n = v->name;
    switch (v->type) {
    case INT: line(g, "%s %c= %s %% 50", n, ops[below(g, 2)], any(g, INT)); break;
    case FLOAT: line(g, "%s += %s", n, any(g, FLOAT)); break;
    case STR: line(g, "%s %s (%s).slice(0, 4)", n, chance(g, 50) ? "+=" : text("= %s +", n), any(g, STR)); break;
    case INTS:
        if (chance(g, 20))
            line(g, "%s[%u] %s %u", n, below(g, 3), chance(g, 50) ? "=" : "+=", below(g, 9));
        else
            line(g, "%s = %s.push(%s)", n, n, any(g, INT));
        break;
    case STRS:
        if (chance(g, 20))
            line(g, "%s[0] = %s", n, text("(%s).slice(0, 4)", any(g, STR)));
        else
            line(g, "%s = %s.concat(%s)", n, n, text("(%s).slice(0, 2)", any(g, STRS)));
        break;
    case MAP:
        if (chance(g, 15))
            line(g, "%s[\"%s\"] += 1", n, word(g));
        else if (chance(g, 50))
            line(g, "%s = %s.set(\"%s\", %s)", n, n, word(g), any(g, INT));
        else
            line(g, "%s[\"%s\"] = %s", n, word(g), any(g, INT));
        break;
    case NUMBERED: line(g, "%s[%s] = (%s).slice(0, 4)", n, any(g, INT), any(g, STR)); break;
    case ITEM:
        switch (below(g, 4)) {
        case 0: line(g, "%s.n = %s", n, any(g, INT)); break;
        case 1: line(g, "%s.name += \"%s\"", n, word(g)); break;
        case 2: line(g, "%s.tags = %s.tags.push(%s)", n, n, text("(%s).slice(0, 4)", any(g, STR))); break;
        default: line(g, "%s.tags[0] = \"%s\"", n, word(g)); break;
        }
        break;
    case ITEMS:
        if (chance(g, 20))
            line(g, "%s[0].%s", n, chance(g, 50) ? "n += 1" : "tags = [\"t\"]");
        else
            line(g, "%s = %s.push(%s)", n, n, any(g, ITEM));
        break;
    default: line(g, "%s = %s", n, bounded(g, v->type)); break;
    }
}

static void assign(Gen *g)
{
    const Var *v = NULL;
    for (int tries = 0; tries < 4 && !v; tries++) v = pick(g, (Ty)below(g, TY_COUNT), true);
    if (!v) {
        let(g);
    } else if (chance(g, 60)) {
        assign_part(g, v);
    } else {
        line(g, "%s = %s", v->name, bounded(g, v->type));
    }
}

static void say(Gen *g)
{
    if (g->in_fn) {
        let(g);
        return;
    }
    Ty a = (Ty)below(g, SHAPE + 1), b = (Ty)below(g, SHAPE + 1);
    line(g, "print(\"${%s} p%u ${%s} ${%s}\")", g->me, g->names++, any(g, a), any(g, b));
}

static bool if_stmt(Gen *g)
{
    char *head = text("if %s", any(g, BOOL));
    bool falls = braced(g, head, 2);
    if (chance(g, 50)) {
        line(g, "}");
        return true;
    }
    falls |= braced(g, "} else", 2);
    line(g, "}");
    return falls;
}

static bool narrow(Gen *g)
{
    static const Ty optional[] = {OINT, OSTR, OITEM}, inside[] = {INT, STR, ITEM};
    uint32_t which = below(g, 3);
    char name[16];
    fresh(g, name);
    line(g, "let %s = %s", name, any(g, optional[which]));
    uint32_t vars = g->var_count;
    declare(g, name, inside[which], false);
    bool falls = braced(g, text("if %s != null", name), 2);
    g->var_count = vars;
    bool other = braced(g, "} else", 1);
    line(g, "}");
    if (falls) declare(g, name, other ? optional[which] : inside[which], false);
    return falls || other;
}

/* A block that may be left by break and continue. */
static void loop_body(Gen *g, const char *head, uint32_t statements)
{
    g->loops++;
    braced(g, head, statements);
    g->loops--;
    line(g, "}");
}

static void for_stmt(Gen *g)
{
    char name[16], other[16];
    uint32_t vars = g->var_count;
    fresh(g, name);
    fresh(g, other);
    switch (below(g, 5)) {
    case 0:
        declare(g, name, INT, false);
        loop_body(g, text("for %s in %d..%u", name, (int)below(g, 3) - 1, 1 + below(g, 3)), 3);
        break;
    case 1: {
        char *list = any(g, INTS);
        declare(g, name, INT, false);
        loop_body(g, text("for %s in (%s).slice(0, 3)", name, list), 3);
        break;
    }
    case 2: {
        char *list = any(g, STRS);
        declare(g, name, INT, false);
        declare(g, other, STR, false);
        loop_body(g, text("for %s, %s in (%s).slice(0, 3)", name, other, list), 2);
        break;
    }
    case 3: {
        char *map = any(g, MAP);
        declare(g, name, STR, false);
        declare(g, other, INT, false);
        loop_body(g, text("for %s, %s in %s", name, other, map), 2);
        break;
    }
    default:
        line(g, "var %s = 0", name);
        declare(g, name, INT, false);
        line(g, "while %s < %u {", name, 1 + below(g, 3));
        g->indent++;
        line(g, "%s += 1", name);
        g->loops++;
        g->nesting++;
        uint32_t inner = g->var_count, tasks = g->task_count, channels = g->channel_count;
        block(g, 3);
        g->var_count = inner;
        g->task_count = tasks;
        g->channel_count = channels;
        g->nesting--;
        g->loops--;
        g->indent--;
        line(g, "}");
        return;
    }
    g->var_count = vars;
}

static bool arm(Gen *g, const char *head)
{
    bool falls = braced(g, head, 2);
    line(g, "}");
    return falls;
}

static bool match_shape(Gen *g)
{
    char a[16], b[16];
    uint32_t vars = g->var_count;
    fresh(g, a);
    fresh(g, b);
    line(g, "match %s {", any(g, SHAPE));
    g->indent++;
    bool falls = arm(g, "dot =>");
    declare(g, a, INT, false);
    if (chance(g, 40)) falls |= arm(g, text("circle(%s) if %s > 3 =>", a, a));
    g->var_count = vars;
    if (chance(g, 30)) {
        falls |= arm(g, "else =>");
    } else {
        char c[16];
        fresh(g, c);
        declare(g, c, INT, false);
        falls |= arm(g, text("Shape.circle(%s) =>", c));
        g->var_count = vars;
        declare(g, b, INT, false);
        falls |= arm(g, text("rect(%s, _) =>", b));
        g->var_count = vars;
    }
    g->indent--;
    line(g, "}");
    return falls;
}

/* What a match on a variable that may be null makes of it, in its arms and behind them, is not followed here: it is not used any more. */
static void forget(Gen *g, const char *name)
{
    for (uint32_t i = 0; i < g->var_count; i++)
        if (strcmp(g->vars[i].name, name) == 0) g->vars[i].type = TY_COUNT;
}

static bool match_plain(Gen *g)
{
    bool falls;
    if (chance(g, 50)) {
        line(g, "match %s {", any(g, INT));
        g->indent++;
        falls = arm(g, "0 =>");
        falls |= arm(g, "1 | 2 | -1 =>");
    } else {
        const char *subject = any(g, OSTR);
        line(g, "match %s {", subject);
        forget(g, subject);
        g->indent++;
        falls = arm(g, "null =>");
        falls |= arm(g, "\"a\" | \"key\" =>");
    }
    falls |= arm(g, "else =>");
    g->indent--;
    line(g, "}");
    return falls;
}

/* ---- errors ---- */

static char *error_value(Gen *g)
{
    switch (below(g, 4)) {
    case 0: return text("Oops(\"oops %u\", code: %s)", g->names++, any(g, INT));
    case 1: return text("Bad(why: %s, item: %s)", any(g, STR), any(g, ITEM));
    case 2: return text("Denied(\"denied\")");
    default: return text("Plain()");
    }
}

static bool match_error(Gen *g, const char *e)
{
    char code[16];
    uint32_t vars = g->var_count;
    fresh(g, code);
    line(g, "match %s {", e);
    g->indent++;
    declare(g, code, INT, false);
    bool falls = arm(g, text("Oops(%s) =>", code));
    g->var_count = vars;
    falls |= arm(g, "Bad | Plain =>");
    falls |= arm(g, "else =>");
    g->indent--;
    line(g, "}");
    return falls;
}

/* The text of an error that was caught. */
static void place_error(Gen *g, const char *e)
{
    if (places && chance(g, 8)) line(g, "print(kept_text(%s.message))", e);
}

static bool catch_body(Gen *g, const char *e, bool all)
{
    g->indent++;
    g->nesting++;
    uint32_t vars = g->var_count, tasks = g->task_count, channels = g->channel_count;
    line(g, "print(\"${%s} caught ${%s.message}\")", g->me, e);
    place_error(g, e);
    bool falls = true;
    if (all && chance(g, 40)) falls = match_error(g, e);
    if (falls && chance(g, 15)) {
        line(g, "fail %s", e);
        falls = false;
    } else if (falls) {
        falls = block(g, 2);
    }
    g->var_count = vars;
    g->task_count = tasks;
    g->channel_count = channels;
    g->nesting--;
    g->indent--;
    return falls;
}

static bool catches(Gen *g, bool *any_catch)
{
    static const char *const names[] = {"Oops", "Bad | Plain", "Timeout", "ToolError", "TaskFailed", "Denied"};
    bool falls = false;
    char e[16];
    for (uint32_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (!chance(g, 20)) continue;
        *any_catch = true;
        fresh(g, e);
        line(g, "} catch %s: %s {", e, names[i]);
        falls |= catch_body(g, e, false);
    }
    if (chance(g, 60)) {
        *any_catch = true;
        fresh(g, e);
        line(g, "} catch %s {", e);
        falls |= catch_body(g, e, true);
    }
    return falls;
}

static bool try_stmt(Gen *g)
{
    bool guarded = g->guarded;
    g->guarded = true;
    bool falls = braced(g, "try", 3), any_catch = false;
    g->guarded = guarded;
    falls |= catches(g, &any_catch);
    if (!any_catch || chance(g, 55)) {
        uint32_t loops = g->loops;
        bool in_finally = g->in_finally;
        g->loops = 0;
        g->in_finally = true;
        falls &= braced(g, "} finally", 2);
        g->loops = loops;
        g->in_finally = in_finally;
    }
    line(g, "}");
    return falls;
}

/* ---- effects ---- */

static char *policies(Gen *g, Ty type, bool retries)
{
    char *retry = retries && chance(g, 35)
                      ? text(" retry %u%s", below(g, 4), chance(g, 50) ? text(" backoff %s", literal(g, DUR)) : "")
                      : "";
    char *timeout = chance(g, 35) ? text(" timeout %s", literal(g, DUR)) : "";
    char *otherwise = type != TY_COUNT && chance(g, 35) ? text(" else %s", literal(g, type)) : "";
    char *approve = g->kind != 'a' && chance(g, 8) ? text(" approve %s", any(g, STR)) : ""; /* answered yes */
    return chance(g, 50) ? text("%s%s%s%s", retry, approve, timeout, otherwise)
                         : text("%s%s%s%s", otherwise, retry, timeout, approve);
}

/* A block that works on copies: of what stands around it nothing is assigned, left or given. */
static Gen enter_closure(Gen *g)
{
    Gen outside = *g;
    for (uint32_t i = 0; i < g->var_count; i++) g->vars[i].mutable = false;
    g->loops = 0;
    g->in_finally = false;
    return outside;
}

static void leave_closure(Gen *g, const Gen *outside)
{
    Gen inside = *g;
    *g = *outside;
    g->state = inside.state;
    g->names = inside.names;
    g->flaky = inside.flaky;
    g->budget = inside.budget;
    g->calls = inside.calls;
}

/* The statement, sometimes with an undo that may see the step's answer under its name. */
static void step_line(Gen *g, char *step, const char *name, Ty type)
{
    if (g->undo_depth > 1 || g->nesting > 6 || !chance(g, g->undo_all ? 90 : g->undo_depth ? 8 : 22)) {
        line(g, "%s", step);
        return;
    }
    Gen outside = enter_closure(g);
    g->in_finally = g->guarded = true;
    g->undo_all = false;
    g->undo_depth++;
    if (name && (type == INT || type == STR || type == ITEM))
        declare(g, name, type == INT ? OINT : type == STR ? OSTR : OITEM, false);
    line(g, "%s undo {", step);
    g->indent++;
    if (name && (type == INT || type == STR))
        line(g, "print(\"${%s} undo u%u ${%s ?? %s}\")", g->me, g->names++, name, literal(g, type));
    else
        line(g, "print(\"${%s} undo u%u\")", g->me, g->names++);
    g->nesting += 2;
    block(g, 2);
    g->nesting -= 2;
    g->indent--;
    line(g, "}");
    leave_closure(g, &outside);
}

static void bind_yield(Gen *g, const char *call, Ty type)
{
    const Var *v =
        type == TY_COUNT || type == STR || type == INTS || type == STRS || type == ITEMS ? NULL : pick(g, type, true);
    char name[16];
    if (type == TY_COUNT) {
        step_line(g, text("yield %s", call), NULL, type);
    } else if (v && chance(g, 30)) {
        step_line(g, text("%s = yield %s", v->name, call), NULL, type);
    } else {
        fresh(g, name);
        step_line(g, text("let %s = yield %s", name, call), name, type);
        declare(g, name, type, false);
    }
}

static char *args_of(Gen *g, const Flow *flow)
{
    char *args = text("%s", "");
    for (uint32_t i = 0; i < flow->param_count; i++)
        args = text("%s%s%s", args, i ? ", " : "", any(g, flow->params[i]));
    return args;
}

static const Flow *pick_flow(Gen *g, bool is_fn)
{
    const Flow *found = NULL;
    uint32_t count = 0;
    for (uint32_t i = 0; i < g->flow_count; i++)
        if (g->flows[i].is_fn == is_fn && below(g, ++count) == 0) found = &g->flows[i];
    return found;
}

static void call_nested(Gen *g)
{
    const Flow *flow = pick_flow(g, false);
    if (!flow || !g->calls) {
        say(g);
        return;
    }
    g->calls--;
    bind_yield(g, text("%s(%s)%s", flow->name, args_of(g, flow), policies(g, flow->result, true)), flow->result);
}

/* What stands in a place: mostly what a variable holds, so that each way into a variable is tried. */
static char *placed(Gen *g, Ty type)
{
    const Ty optional = type == INT ? OINT : type == STR ? OSTR : OITEM;
    const Var *v = chance(g, 70) ? pick(g, type, false) : NULL;
    const Var *maybe = !v && type != INTS && chance(g, 50) ? pick(g, optional, false) : NULL;
    if (v) return text("%s", v->name);
    return maybe ? text("(%s ?? %s)", maybe->name, literal(g, type)) : expr(g, type, 2);
}

static void kept(Gen *g, const char *fn, Ty type)
{
    char name[16];
    char *value = placed(g, type);
    fresh(g, name);
    line(g, "let %s = %s(%s)", name, fn, value);
    declare(g, name, type, false);
}

/* A place that takes only trusted values: of a tool, a workflow or a fn. */
static void trusted_place(Gen *g)
{
    switch (below(g, g->in_fn ? 2 : 10)) {
    case 0: kept(g, "kept_int", INT); break;
    case 1: kept(g, "kept_text", STR); break;
    case 2: bind_yield(g, text("p_int(me, %s)%s", placed(g, INT), policies(g, INT, true)), INT); break;
    case 3: bind_yield(g, text("p_text(me, %s)", placed(g, STR)), STR); break;
    case 4: bind_yield(g, text("p_item(me, %s)%s", placed(g, ITEM), policies(g, ITEM, true)), ITEM); break;
    case 5: bind_yield(g, text("p_ints(me, %s)", placed(g, INTS)), INTS); break;
    case 6: bind_yield(g, text("p_far(me, %s)%s", placed(g, STR), policies(g, STR, true)), STR); break;
    case 7: bind_yield(g, text("p_near(me, %s)%s", placed(g, STR), policies(g, STR, true)), STR); break;
    case 8: bind_yield(g, text("p_program(me, %s)%s", placed(g, STR), policies(g, STR, true)), STR); break;
    default: bind_yield(g, text("p_flow(%s)", placed(g, STR)), STR); break;
    }
}

static void call_tool(Gen *g)
{
    if (places && chance(g, 70)) {
        trusted_place(g);
        return;
    }
    switch (below(g, 9)) {
    case 0: bind_yield(g, text("t_add(me, %s, %s)%s", any(g, INT), any(g, INT), policies(g, INT, true)), INT); break;
    case 1: bind_yield(g, text("t_text(me, %s)%s", any(g, INT), policies(g, STR, true)), STR); break;
    case 2: bind_yield(g, text("t_maybe(me, %s)", any(g, INT)), OSTR); break;
    case 3: bind_yield(g, text("t_item(me, %s)%s", any(g, ITEM), policies(g, ITEM, true)), ITEM); break;
    case 4: bind_yield(g, text("t_ints(me, %s)", any(g, INTS)), INTS); break;
    case 5: bind_yield(g, text("t_shape(me, %s)", any(g, SHAPE)), SHAPE); break;
    case 6: bind_yield(g, text("t_half(me, %s)", any(g, FLOAT)), FLOAT); break;
    case 7: bind_yield(g, text("t_note(me, %s)", any(g, STR)), TY_COUNT); break;
    default: {
        uint32_t fails = below(g, 4);
        if (steady && fails) fails = fails == 1 ? 99 : 0;
        bind_yield(g, text("t_flaky(me, %u, %u)%s", g->flaky++, fails, policies(g, INT, true)), INT);
        break;
    }
    }
}

static void call_fn(Gen *g)
{
    const Flow *flow = pick_flow(g, true);
    char name[16];
    if (!flow) {
        let(g);
        return;
    }
    char *args = args_of(g, flow);
    fresh(g, name);
    line(g, "let %s = %s(%s)", name, flow->name, args);
    declare(g, name, flow->result, false);
}

static void spawn(Gen *g)
{
    const Flow *flow = pick_flow(g, false);
    char name[16];
    if (!flow || !g->calls || flow->result != INT) {
        line(g, "yield");
        return;
    }
    g->calls--;
    char *args = args_of(g, flow);
    const char *detached = chance(g, 12) ? "detached " : "";
    if (g->task_count == 8 || chance(g, 15)) {
        line(g, "spawn %s%s(%s)", detached, flow->name, args);
        return;
    }
    fresh(g, name);
    line(g, "let %s = spawn %s%s(%s)", name, detached, flow->name, args);
    snprintf(g->tasks[g->task_count++], 16, "%s", name);
}

static void use_task(Gen *g)
{
    if (!g->task_count) {
        spawn(g);
        return;
    }
    const char *task = g->tasks[below(g, g->task_count)];
    if (chance(g, 30)) {
        line(g, "kill(%s)", task);
        return;
    }
    bind_yield(g, text("join(%s)%s", task, policies(g, INT, false)), INT);
}

/* ---- what runs side by side ---- */

static bool is_deep(const Gen *g)
{
    return g->nesting > 2 || g->budget < 0;
}

/* What a body ends with when its end is reached. */
static void give(Gen *g)
{
    const Flow *flow = g->result == INT && chance(g, 30) ? pick_flow(g, false) : NULL;
    if (g->result == TY_COUNT) return;
    g->gave = true;
    if (flow && flow->result == INT && g->calls) {
        g->calls--;
        line(g, "give yield %s(%s)%s", flow->name, args_of(g, flow), policies(g, INT, true));
    } else {
        line(g, "give %s", any(g, g->result));
    }
}

/* A body in braces; what it gives, TY_COUNT: nothing. first, second: an int that is its own. */
static Ty body_block(Gen *g, const char *head, const char *first, const char *second)
{
    static const Ty gives[] = {INT, STR, BOOL, INTS, STRS, ITEM, SHAPE, TY_COUNT, TY_COUNT};
    Gen outside = enter_closure(g);
    g->in_body = true;
    g->gave = g->guarded = false;
    g->result = first ? (chance(g, 70) ? INT : TY_COUNT) : gives[below(g, sizeof gives / sizeof *gives)];
    if (first) declare(g, first, INT, false);
    if (second) declare(g, second, INT, false);
    line(g, "%s {", head);
    g->indent++;
    g->nesting++;
    fresh(g, g->me);
    line(g, "let %s = yield self()", g->me);
    if (block(g, 3)) give(g);
    Ty gave = g->gave ? g->result : TY_COUNT;
    leave_closure(g, &outside);
    return gave;
}

/* One body of parallel or race. */
static Ty one_body(Gen *g, uint32_t number)
{
    const Flow *flow = pick_flow(g, false);
    if (flow && g->calls && chance(g, 35)) {
        g->calls--;
        char *args = args_of(g, flow);
        line(g, "b%u: yield %s(%s)%s", number, flow->name, args, policies(g, flow->result, true));
        return flow->result;
    }
    if (chance(g, 20)) {
        line(g, "b%u: yield sleep(%s)", number, literal(g, DUR));
        return TY_COUNT;
    }
    Ty type = body_block(g, text("b%u:", number), NULL, NULL);
    line(g, "}");
    return type;
}

static uint32_t bodies(Gen *g, const char *head, Ty types[3])
{
    uint32_t count = 1 + below(g, 3);
    g->budget--;
    line(g, "%s {", head);
    g->indent++;
    for (uint32_t i = 0; i < count; i++) types[i] = one_body(g, i);
    g->indent--;
    return count;
}

static const char *label(Gen *g)
{
    return chance(g, 10) ? text(" as \"label %u\"", g->names++) : "";
}

static bool parallel_stmt(Gen *g)
{
    Ty types[3];
    char name[16], part[16];
    bool valued = false;
    fresh(g, name);
    begin_aside();
    uint32_t count = bodies(g, "parallel", types);
    line(g, "}%s", label(g));
    char *all = end_aside();
    for (uint32_t i = 0; i < count; i++) valued |= types[i] != TY_COUNT;
    valued = valued && chance(g, 85);
    size_t margin = strspn(all, " ");
    fprintf(out, "%*s%s%s", (int)margin, "", valued ? text("let %s = ", name) : "", all + margin);
    for (uint32_t i = 0; i < count && valued; i++) {
        if (types[i] == TY_COUNT) continue;
        fresh(g, part);
        line(g, "let %s = %s.b%u", part, name, i);
        declare(g, part, types[i], false);
    }
    return true;
}

static bool race_stmt(Gen *g)
{
    Ty types[3];
    char name[16], part[16];
    fresh(g, name);
    uint32_t count = bodies(g, text("let %s = race", name), types);
    line(g, "}%s", label(g));
    line(g, "print(\"${%s} race ${%s}\")", g->me, name);
    uint32_t vars = g->var_count;
    bool falls = false, all = true;
    line(g, "match %s {", name);
    g->indent++;
    for (uint32_t i = 0; i < count; i++) {
        if (i && chance(g, 20)) {
            all = false;
            break;
        }
        fresh(g, part);
        if (types[i] != TY_COUNT) declare(g, part, types[i], false);
        falls |= braced(g, types[i] == TY_COUNT ? text("b%u =>", i) : text("b%u(%s) =>", i, part), 2);
        line(g, "}");
        g->var_count = vars;
    }
    if (!all) {
        falls |= braced(g, "else =>", 1);
        line(g, "}");
    }
    g->indent--;
    line(g, "}");
    return falls;
}

static bool parallel_for_stmt(Gen *g)
{
    char first[16], second[16], name[16];
    uint32_t vars = g->var_count;
    bool pairs = chance(g, 30);
    fresh(g, first);
    fresh(g, second);
    fresh(g, name);
    char *over = pairs           ? text("%s, %s in (%s).slice(0, 4)", first, second, any(g, INTS))
                 : chance(g, 50) ? text("%s in (%s).slice(0, 4)", first, any(g, INTS))
                                 : text("%s in %d..%u", first, (int)below(g, 3) - 1, below(g, 5));
    const char *limit = chance(g, 60) ? text(" limit %u", 1 + below(g, 3)) : "";
    g->budget--;
    uint32_t calls = g->calls; /* these count for each round */
    g->calls = calls > 1 ? 1 : calls;
    begin_aside();
    Ty type = body_block(g, text("parallel for %s%s", over, limit), first, pairs ? second : NULL);
    line(g, "}%s", label(g));
    char *loop = end_aside();
    size_t margin = strspn(loop, " ");
    fprintf(out, "%*s%s%s", (int)margin, "", type == INT ? text("let %s = ", name) : "", loop + margin);
    g->var_count = vars;
    g->calls = calls ? calls - 1 : 0;
    if (type == INT) declare(g, name, INTS, false);
    return true;
}

/* Tasks of kind c share no lock: who comes first would decide what the others do. */
static char *lock_name(const Gen *g, char letter, uint32_t level)
{
    return g->kind == 'c' ? text("\"%c%u.%u ${%s}\"", letter, g->flow_count, level, g->me)
                          : text("\"%c%u.%u\"", letter, g->flow_count, level);
}

static bool with_stmt(Gen *g)
{
    const char *timeout = chance(g, 40) ? text(" timeout %s", literal(g, DUR)) : "";
    uint32_t which = below(g, 3), locks = g->locks, level = g->locks + below(g, 2);
    char *head;
    if (which == 0 && locks < 4) {
        head = text("with lock(%s)%s", lock_name(g, 'k', level), timeout);
        g->locks = level + 1;
    } else if (which == 1 && locks < 4) {
        head = text("with semaphore(%s, %u)%s", lock_name(g, 's', level), 1 + level % 3, timeout);
        g->locks = level + 1;
    } else {
        head = text("with deadline(%s)", chance(g, 80) ? literal(g, DUR) : any(g, DUR));
    }
    bool falls = braced(g, text("%s%s", head, label(g)), 3);
    line(g, "}");
    g->locks = locks;
    return falls;
}

static void channel_step(Gen *g)
{
    char name[16];
    if (!g->channel_count || (g->channel_count < 4 && chance(g, 15))) {
        fresh(g, name);
        line(g, "let %s: channel<int> = channel(%u)", name, 1 + below(g, 3));
        snprintf(g->channels[g->channel_count++], 16, "%s", name);
        if (g->task_count == 8 || !g->calls || chance(g, 25)) return;
        g->calls--;
        char *call =
            chance(g, 50) ? text("feed(%s, %u, %s)", name, below(g, 5), literal(g, DUR)) : text("drain(%s)", name);
        fresh(g, g->tasks[g->task_count]);
        line(g, "let %s = spawn %s%s", g->tasks[g->task_count], chance(g, 10) ? "detached " : "", call);
        g->task_count++;
        return;
    }
    const char *c = g->channels[below(g, g->channel_count)];
    uint32_t which = below(g, 100);
    const char *timeout = chance(g, 85) ? text(" timeout %s", literal(g, DUR)) : "";
    if (which < 45)
        bind_yield(g, text("%s.send(%s)%s", c, any(g, INT), timeout), TY_COUNT);
    else if (which < 90)
        bind_yield(g, text("%s.recv()%s%s", c, timeout, chance(g, 30) ? text(" else %s", literal(g, OINT)) : ""), OINT);
    else
        line(g, "%s.close()", c);
}

static void outside_step(Gen *g)
{
    const char *timeout = text(" timeout %s", literal(g, DUR));
    char name[16];
    if (chance(g, 30)) {
        bind_yield(g, text("ask(%s)%s%s", any(g, STR), timeout, chance(g, 60) ? " else \"nobody\"" : ""), STR);
        return;
    }
    fresh(g, name);
    step_line(g,
              text("let %s: int = yield signal(\"%s\")%s%s", name, chance(g, 75) ? "go" : "never", timeout,
                   chance(g, 50) ? text(" else %s", literal(g, INT)) : ""),
              name, INT);
    declare(g, name, INT, false);
}

/* Steps with an undo each. */
static void undone_steps(Gen *g)
{
    bool undo_all = g->undo_all;
    g->undo_all = true;
    for (uint32_t i = 1 + below(g, 3); i; i--) {
        uint32_t which = below(g, 4);
        if (which == 0)
            bind_yield(g, text("sleep(%s)", literal(g, DUR)), TY_COUNT);
        else if (which == 1 && g->kind == 'a')
            channel_step(g);
        else if (which != 2 && g->kind != 'a')
            call_tool(g);
        else
            call_nested(g);
    }
    g->undo_all = undo_all;
}

static void fail_or_wait(Gen *g)
{
    switch (below(g, 6)) {
    case 0:
        line(g, "yield sleep(%u%s) timeout %s", 1 + below(g, 3), chance(g, 50) ? "h" : "ms", literal(g, DUR));
        break;
    case 1: line(g, "yield sleep(1h)"); break;
    case 2: line(g, "assert %s", any(g, BOOL)); break;
    default: line(g, "fail %s", error_value(g)); break;
    }
}

static void undone_part(Gen *g)
{
    g->indent++;
    undone_steps(g);
    fail_or_wait(g);
    g->indent--;
    line(g, "}");
}

/* As one body of a group that does not wait for it, or fails beside it. */
static void undone_body(Gen *g, const char *word)
{
    line(g, "%s {", word);
    Gen outside = enter_closure(g);
    g->in_body = true;
    g->result = TY_COUNT;
    g->indent++;
    fresh(g, g->me);
    line(g, "b0: {");
    line(g, "    let %s = yield self()", g->me);
    undone_part(g);
    leave_closure(g, &outside);
    line(g, "    b1: yield sleep(%s)", literal(g, DUR));
    if (chance(g, 50)) line(g, "    b2: { fail %s }", error_value(g));
    line(g, "}");
}

/* Something that was done and is undone: in a try, under a deadline, as the loser of a race, beside one that fails. */
static bool undone_stmt(Gen *g)
{
    uint32_t vars = g->var_count, tasks = g->task_count, channels = g->channel_count;
    char e[16];
    g->nesting += 2;
    line(g, "try {");
    g->indent++;
    switch (below(g, g->kind == 'a' ? 5 : 2)) {
    case 0:
        line(g, "if true {");
        undone_part(g);
        break;
    case 1:
        line(g, "with deadline(%s) {", literal(g, DUR));
        undone_part(g);
        break;
    case 2: undone_body(g, "parallel"); break;
    default: undone_body(g, "race"); break;
    }
    g->indent--;
    g->nesting -= 2;
    g->var_count = vars;
    g->task_count = tasks;
    g->channel_count = channels;
    fresh(g, e);
    line(g, "} catch %s {", e);
    line(g, "    print(\"${%s} caught ${%s.message}\")", g->me, e);
    line(g, "}");
    return true;
}

/* A statement with blocks of this kind. */
static bool wide_stmt(Gen *g)
{
    if (chance(g, 25)) return undone_stmt(g);
    if (g->kind != 'a' || chance(g, 25)) return with_stmt(g);
    switch (below(g, 3)) {
    case 0: return parallel_stmt(g);
    case 1: return race_stmt(g);
    default: return parallel_for_stmt(g);
    }
}

/* What makes a task stop, or lets others run. */
static void step(Gen *g)
{
    uint32_t which = below(g, 100);
    if (g->in_fn) {
        call_fn(g);
    } else if (which < 20) {
        line(g, "yield");
    } else if (which < 35) {
        bind_yield(g,
                   text("sleep(%s)%s", chance(g, 70) ? literal(g, DUR) : any(g, DUR),
                        chance(g, 30) ? text(" timeout %s", literal(g, DUR)) : ""),
                   TY_COUNT);
    } else if (which < 60) {
        call_nested(g);
    } else if (g->kind == 'a') {
        if (which < 72)
            spawn(g);
        else if (which < 82)
            use_task(g);
        else if (which < 93)
            channel_step(g);
        else
            outside_step(g);
    } else {
        call_tool(g);
    }
}

/* The last statement of a block, sometimes; false when nothing behind it is reached. */
static bool leave(Gen *g)
{
    uint32_t which = below(g, 100);
    if (g->loops && which < 12) {
        line(g, chance(g, 50) ? "break" : "continue");
        return false;
    }
    if (!g->in_finally && which < 22) {
        if (g->in_body && g->result == TY_COUNT) return true;
        g->gave = true;
        line(g, "%s %s", g->in_body ? "give" : "return", any(g, g->result));
        return false;
    }
    if (!g->in_fn && which < (g->guarded ? 32 : 24)) {
        line(g, "fail %s", error_value(g));
        return false;
    }
    return true;
}

static bool statement(Gen *g)
{
    bool deep = g->nesting > 2 || --g->budget < 0;
    if (places && chance(g, 12)) {
        trusted_place(g);
        return true;
    }
    switch (below(g, deep ? 9 : g->in_fn ? 15 : g->kind == 'a' ? 19 : 16)) {
    case 0: let(g); return true;
    case 1:
    case 2:
    case 3: assign(g); return true;
    case 4: say(g); return true;
    case 5:
    case 6:
    case 7: step(g); return true;
    case 8:
        if (chance(g, 10))
            line(g, "assert %s", any(g, BOOL));
        else
            assign(g);
        return true;
    case 9: return if_stmt(g);
    case 10: return narrow(g);
    case 11:
        if (g->loops < 2)
            for_stmt(g);
        else
            step(g);
        return true;
    case 12: return chance(g, 50) ? match_shape(g) : match_plain(g);
    case 13:
    case 14:
        if (!g->in_fn) return try_stmt(g);
        return if_stmt(g);
    default: return is_deep(g) ? try_stmt(g) : wide_stmt(g);
    }
}

static bool block(Gen *g, uint32_t statements)
{
    uint32_t count = g->budget < 0 ? 1 : 1 + below(g, statements);
    for (uint32_t i = 0; i < count; i++)
        if (!statement(g)) return false;
    return g->nesting < 2 || leave(g);
}

/* ---- programs ---- */

/* Variables that statements can work on. */
static void open_body(Gen *g)
{
    static const Ty types[] = {INT, STR, INTS, STRS, MAP, NUMBERED, ITEM, ITEMS, OINT, SHAPE};
    for (uint32_t i = 0; i < (g->in_fn ? 1 : 3); i++) {
        char name[16];
        Ty type = types[below(g, sizeof types / sizeof *types)];
        char *value = any(g, type);
        fresh(g, name);
        line(g, "var %s: %s = %s", name, ty_names[type], value);
        declare(g, name, type, true);
    }
}

static void close_body(Gen *g)
{
    if (!g->in_fn) {
        char *values = text("%s", "");
        for (uint32_t i = 0; i < g->var_count; i++)
            if (g->vars[i].mutable && g->vars[i].type <= SHAPE) values = text("%s ${%s}", values, g->vars[i].name);
        line(g, "print(\"${%s} end%s\")", g->me, values);
    }
    line(g, "return %s", any(g, g->result));
}

static void body(Gen *g, uint32_t statements)
{
    g->indent = 1;
    g->nesting = 1;
    g->loops = 0;
    snprintf(g->me, sizeof g->me, "me");
    g->budget = g->in_fn ? 1 : 4;
    bool falls = true;
    open_body(g);
    for (uint32_t i = 0; i < statements && falls; i++) falls = statement(g);
    if (falls) close_body(g);
    fprintf(out, "}\n");
}

static void helper(Gen *g, bool is_fn)
{
    Flow flow = {.is_fn = is_fn, .param_count = below(g, 4)};
    char *params = text("%s", "");
    snprintf(flow.name, sizeof flow.name, "%c%ld_%u", is_fn ? 'f' : 'w', g->seed, g->flow_count);
    flow.result = g->kind == 'a' && !is_fn ? INT : plain_type(g);
    g->var_count = g->task_count = g->channel_count = 0;
    for (uint32_t i = 0; i < flow.param_count; i++) {
        char name[16];
        flow.params[i] = plain_type(g);
        fresh(g, name);
        declare(g, name, flow.params[i], false);
        params = text("%s%s%s: %s", params, i ? ", " : "", name, ty_names[flow.params[i]]);
    }
    g->in_fn = is_fn;
    g->calls = 2;
    g->result = flow.result;
    fprintf(out, "%s %s(%s) -> %s {\n", is_fn ? "fn" : "workflow", flow.name, params, ty_names[flow.result]);
    if (!is_fn) fprintf(out, "    let me = yield self()\n");
    body(g, is_fn ? 2 : 3 + below(g, 3));
    g->in_fn = false;
    g->flows[g->flow_count++] = flow;
}

/* Workers side by side, each joined before anything else can fail. */
static void crowd(Gen *g)
{
    uint32_t workers = 2 + below(g, 3);
    fprintf(out, "workflow root_%c%ld() -> string {\n    let me = yield self()\n    var seen = \"\"\n", g->kind,
            g->seed);
    g->indent = 1;
    g->var_count = 0;
    for (uint32_t i = 0; i < workers; i++) {
        const Flow *flow = pick_flow(g, false);
        line(g, "let t%u = spawn %s(%s)", i, flow->name, args_of(g, flow));
    }
    for (uint32_t i = 0; i < workers; i++) {
        line(g, "try {");
        line(g, "    let r%u = yield join(t%u)", i, i);
        line(g, "    seen += \"|${r%u == r%u}\"", i, i);
        line(g, "} catch e%u: TaskFailed {", i);
        line(g, "    seen += \"|${e%u.task} ${e%u.kind} ${e%u.message}\"", i, i, i);
        line(g, "}");
    }
    line(g, "return seen");
    fprintf(out, "}\n");
}

/* One way for a text from variable `from` to variable `to`; some choose, and bring nothing of it along. */
static const char *const ways[] = {
    "let TO = \"x${FROM}y\"",
    "let TO = FROM + \"z\"",
    "let TO = \"z\" + FROM",
    "let TOl = [\"q\", FROM]\n    let TO = TOl[1]",
    "let TOm = {\"k\": FROM}\n    let TO = TOm[\"k\"]",
    "let TO = some_text(FROM) ?? \"n\"",
    "let TO = yield c_flow(FROM)",
    "let TOh = spawn c_flow(FROM)\n    let TO = yield join(TOh)",
    "let TOc: channel<string> = channel(2)\n    yield TOc.send(FROM)\n    let TOr = yield TOc.recv()\n    let TO = TOr "
    "?? \"n\"",
    "let TOc: channel<string> = channel(2)\n    yield c_send(TOc, FROM)\n    let TOr = yield TOc.recv()\n    let TO = "
    "TOr ?? \"n\"",
    "var TO = \"s\"\n    for x in [\"t\", FROM] { TO = x }",
    "let TO = [\"i\"].map(x => x + FROM)[0]",
    "let TOm = {\"a\": \"x\"}.map_values(x => x + FROM)\n    let TO = TOm[\"a\"]",
    "let TOm = {\"a\": FROM}.map_values(x => x + \"v\")\n    let TO = TOm[\"a\"]",
    "let TOm = {[FROM]: \"x\"}.map_values(x => x + \"v\")\n    let TO = TOm.keys()[0]",
    "let TOm = [FROM].group_by(x => \"g\")\n    let TO = TOm[\"g\"][0]",
    "let TOm = [\"i\"].group_by(x => x + FROM)\n    let TO = TOm.keys()[0]",
    "let TOm = {[FROM]: 1}.filter_keys(x => true)\n    let TO = TOm.keys()[0]",
    "let TO = each([\"i\"], x => x + FROM)[0]",
    "let TO = each([FROM], x => x)[0]",
    "let TO = [\"i\"].fold(FROM, (a, b) => a + b)",
    "let TO = [FROM].fold(\"i\", (a, b) => a + b)",
    "let TOs = Note.text(FROM)\n    var TO = \"m\"\n    match TOs {\n        text(t) => { TO = t }\n        none => { "
    "}\n    }",
    "var TO = \"e\"\n    try { fail Why(why: FROM) } catch e: Why { TO = e.why }",
    "var TO = \"e\"\n    try { fail Why(why: FROM) } catch Why(why) { TO = why }",
    "var TO = \"e\"\n    try { yield p_fail(me) } catch e { TO = e.message }",
    "var TO = \"r\"\n    TO = FROM",
    "var TO = \"r\"\n    TO += FROM",
    "var TO = \"r\"\n    var TOa = \"y\"\n    for i in 0..3 {\n        TO = TOa\n        TOa = FROM\n    }",
    "let TOg = parallel {\n        a: { give FROM }\n        b: { give \"b\" }\n    }\n    let TO = TOg.a",
    "let TOg = parallel for x in [FROM] { give x + \"g\" }\n    let TO = TOg[0]",
    "let TOi = Item(name: FROM)\n    let TO = TOi.name",
    "var TOi = Item(name: \"a\")\n    TOi.name = FROM\n    let TO = TOi.name",
    "var TOm = {\"a\": 1}\n    TOm[FROM] = 2\n    let TO = TOm.keys().join(\",\")",
    "var TOl = [\"a\"]\n    TOl[0] = FROM\n    let TO = TOl[0]",
    "let TOo = some_text(FROM)\n    let TO = TOo?.to_upper() ?? \"n\"",
    "let TOo = some_item(Item(name: FROM))\n    let TO = TOo?.name ?? \"n\"",
    "let TO = yield p_fail(me) else FROM",
    "let TO = \"a-b\".replace(\"-\", FROM)",
    "let TO = (json { \"k\": FROM }).to_string()",
    "let TO = if 1 > 0 { FROM } else { \"n\" }",
    "let TO = \"${FROM.len()}\"",
    "let TO = \"n\".repeat(0) + FROM.to_json().to_string()",
    "let TO = \"${7.within(FROM.len() - 99, FROM.len() + 99) ?? 7}\"",
    /* a second name of the channel sends */
    "let TOc: channel<string> = channel(2)\n    let TOw = Line.wire(TOc)\n    match TOw {\n        wire(c) => { yield "
    "c.send(FROM) }\n        none => { }\n    }\n    let TOr = yield TOc.recv()\n    let TO = TOr ?? \"n\"",
    "let TOc: channel<string> = channel(2)\n    parallel for c in [TOc] { yield c.send(FROM) }\n    let TOr = yield "
    "TOc.recv()\n    let TO = TOr ?? \"n\"",
    "let TOc: channel<string> = channel(2)\n    let TOg = parallel { a: { give TOc } }\n    yield TOg.a.send(FROM)\n   "
    " "
    "let TOr = yield TOc.recv()\n    let TO = TOr ?? \"n\"",
    "let TOc: channel<string> = channel(2)\n    let TOcs: channel<channel<string>> = channel(2)\n    yield "
    "TOcs.send(TOc)\n    let TOd = yield TOcs.recv()\n    if TOd != null { yield TOd.send(FROM) }\n    let TOr = yield "
    "TOc.recv()\n    let TO = TOr ?? \"n\"",
    "let TOc: channel<string> = channel(2)\n    let TOd = yield c_lost() else TOc\n    yield TOd.send(FROM)\n    let "
    "TOr = "
    "yield TOc.recv()\n    let TO = TOr ?? \"n\"",
    "let TOc: channel<string> = channel(2)\n    try { fail Cut(c: TOc) } catch Cut(c) { yield c.send(FROM) }\n    let "
    "TOr = "
    "yield TOc.recv()\n    let TO = TOr ?? \"n\"",
    /* choosing */
    "let TO = [\"p\", \"q\"].find(x => x == FROM) ?? \"p\"",
    "let TO = [\"p\", \"q\"][FROM.len() % 2]",
    "let TO = {\"a\": \"x\"}.get(FROM) ?? \"z\"",
    "let TO = if FROM == \"x\" { \"p\" } else { \"q\" }",
    "let TO = FROM.vetted(\"[a-z0-9]+\") ?? \"p\"",
    "let TO = trust(FROM, \"a test\")",
};
enum { WAY_COUNT = sizeof ways / sizeof *ways };

static void print_way(const char *way, int from, int to)
{
    fputs("    ", out);
    for (const char *at = way; *at;) {
        if (strncmp(at, "FROM", 4) == 0) {
            fprintf(out, "v%d", from);
            at += 4;
        } else if (strncmp(at, "TO", 2) == 0) {
            fprintf(out, "v%d", to);
            at += 2;
        } else {
            fputc(*at++, out);
        }
    }
    fputc('\n', out);
}

/* Where a chain ends; what a person approves, and what has no network, may be anything. */
static const char *const ends[] = {
    "return yield p_text(me, v%d)",
    "return yield p_text(me, v%d) approve \"?\"",
    "return yield p_far(me, v%d)",
    "return yield p_far(me, v%d) approve \"?\"",
    "return yield p_near(me, v%d)",
    "return yield p_program(me, v%d)",
    "return yield p_program(me, v%d) approve \"?\"",
    "return yield c_far(v%d)",
    "return yield c_far(v%d) approve \"?\"",
    "return yield c_asks(v%d)",
    "let r = yield exec([\"run\", \"--\", v%d])\n    return r.out",
    "let r = yield exec([\"run\", \"--\", v%d]) approve \"?\"\n    return r.out",
    "let r = yield exec([v%d].push(\"x\"))\n    return r.out",
    "let o = yield OPEN()\n    yield o.out.send(v%d)\n    yield join(o.taker)\n    return me",
};
enum { END_COUNT = sizeof ends / sizeof *ends };

/* What is sent into the channel of a workflow's result reaches a trusted place inside. */
static void opens(const Gen *g)
{
    fprintf(out, "workflow taker_s%ld(c: channel<string>) -> int {\n    let s = yield c.recv()\n", g->seed);
    fprintf(out, "    yield p_text(\"c\", s ?? \"n\")\n    return 1\n}\n");
    fprintf(out, "workflow open_s%ld() -> Open {\n    yield\n    let c: channel<string> = channel(2)\n", g->seed);
    fprintf(out, "    let t = spawn detached taker_s%ld(c)\n    return Open(out: c, taker: t)\n}\n", g->seed);
}

/* A text goes several ways, one after the other, and then into a trusted place. */
static void chain(Gen *g)
{
    const int count = 1 + (int)below(g, 3);
    const char *end = ends[chance(g, 50) ? 0 : below(g, END_COUNT)], *open = strstr(end, "OPEN");
    if (open) opens(g);
    fprintf(out, "workflow root_s%ld() -> string {\n    let me = yield self()\n", g->seed);
    fprintf(out, chance(g, 75) ? "    let v0 = yield t_text(me, 3)\n" : "    let v0 = \"a\"\n");
    for (int i = 0; i < count; i++) print_way(ways[below(g, WAY_COUNT)], i, i + 1);
    fputs("    ", out);
    if (open) fprintf(out, "%.*sopen_s%ld", (int)(open - end), end, g->seed);
    fprintf(out, open ? open + 4 : end, count);
    fputs("\n}\n", out);
}

static void program(long seed)
{
    Gen g = {.seed = seed, .state = (uint64_t)seed * 0x2545f4914f6cdd1du + 12345};
    for (int i = 0; i < 4; i++) next(&g);
    g.kind = "sac"[seed % 3];
    fprintf(out, "\n// seed %ld\n", seed);
    if (places && seed % 2) {
        chain(&g);
        return;
    }
    uint32_t fns = below(&g, 2), flows = 2 + below(&g, 2);
    for (uint32_t i = 0; i < fns; i++) helper(&g, true);
    for (uint32_t i = 0; i < flows; i++) helper(&g, false);
    if (g.kind == 'c') {
        crowd(&g);
        return;
    }
    g.var_count = g.task_count = g.channel_count = 0;
    g.calls = 5;
    g.result = g.kind == 'a' ? INT : (Ty)below(&g, TY_COUNT);
    fprintf(out, "workflow root_%c%ld() -> %s {\n    let me = yield self()\n", g.kind, seed, ty_names[g.result]);
    body(&g, 5 + below(&g, 5));
}

static const char preamble[] =
    "// What all programs share.\n"
    "type Item { name: string, n: int = 3, tags: list<string> = [] }\n"
    "enum Shape { dot, circle(r: int), rect(w: int, h: int) }\n"
    "error Oops { code: int }\n"
    "error Bad { why: string, item: Item }\n"
    "error Plain\n"
    "tool t_add(who: string, a: int, b: int) -> int pure = extern \"tool_add\"\n"
    "tool t_text(who: string, n: int) -> string idempotent = extern \"tool_text\"\n"
    "tool t_item(who: string, item: Item) -> Item pure = extern \"tool_item\"\n"
    "tool t_shape(who: string, s: Shape) -> Shape pure = extern \"tool_shape\"\n"
    "tool t_half(who: string, x: float) -> float pure = extern \"tool_half\"\n"
    "tool t_flaky(who: string, id: int, fails: int) -> int idempotent = extern \"tool_flaky\"\n"
    "fn none_int() -> int? { return null }\n"
    "fn some_int(n: int) -> int? { return n }\n"
    "fn none_text() -> string? { return null }\n"
    "fn some_text(s: string) -> string? { return s }\n"
    "fn none_item() -> Item? { return null }\n"
    "fn some_item(i: Item) -> Item? { return i }\n"
    "fn area(s: Shape) -> int { match s { dot => return 0, circle(r) => return 3 * (r % 1000), rect(w, h) => return w "
    "* h } }\n"
    "fn shape_name(s: Shape) -> string { match s { dot => return \"dot\", circle(r) if r == 0 => return \"point\", "
    "else => return \"shape\" } }\n"
    "fn sum(xs: list<int>) -> int {\n    var total = 0\n    for x in xs { total = (total + x % 1000) % 1000000 }\n    "
    "return total\n}\n"
    "fn each<T, U>(xs: list<T>, f: fn(T) -> U) -> list<U> {\n    var out: list<U> = []\n    for x in xs { out = "
    "out.push(f(x)) }\n    return out\n}\n"
    "fn keep<T>(xs: list<T>, yes: fn(T) -> bool) -> list<T> { return xs.filter(x => yes(x)) }\n"
    "fn fold_up<A, B>(xs: list<A>, initial: B, f: fn(B, A) -> B) -> B {\n    var all = initial\n    for x in xs { all "
    "= "
    "f(all, x) }\n    return all\n}\n"
    "fn twice<T>(xs: list<T>, f: fn(T) -> T) -> list<T> { return each(each(xs, f), x => f(x)) }\n"
    "fn head<T>(xs: list<T>) -> T? { return if xs.len() == 0 { null } else { xs[0] } }\n"
    "fn hundredth(n: int) -> int { return n / 100 % 97 }\n"
    "fn clamp(a: int, b: int) -> int { return if a > b { b } else { a } }\n"
    "fn at(n: int) -> time { return (\"2024-02-28T22:33:44.555Z\".parse_time() ?? at(0)) + 1h * (n % 100000) }\n"
    "fn decoded(j: json) -> Item { return j.decode() }\n"
    "fn decoded_map(j: json) -> map<string, int> { return j.decode() }\n"
    "workflow feed(c: channel<int>, n: int, pause: duration) -> int {\n    for i in 0..n {\n        yield c.send(i)\n"
    "        yield sleep(pause)\n    }\n    c.close()\n    return n\n}\n"
    "workflow drain(c: channel<int>) -> int {\n    var total = 0\n    while true {\n        let v = yield c.recv()\n"
    "        if v == null { return total }\n        total = (total * 7 + v % 1000) % 100000\n    }\n}\n";

static const char trusted_preamble[] =
    "sandbox default { network any }\n"
    "sandbox near { root readonly }\n"
    "tool p_far(who: string, s: string) -> string pure = exec [\"far\", \"--\", who, s]\n"
    "tool p_near(who: string, s: string) -> string pure sandbox near = exec [\"near\", \"--\", s]\n"
    "tool p_program(who: string, s: string) -> string pure sandbox near = exec [s, \"x\"]\n"
    "workflow c_far(s: string) -> string { return yield p_far(\"c\", s) }\n"
    "workflow c_asks(s: string) -> string { return yield p_far(\"c\", s) approve \"?\" }\n"
    "tool p_int(who: string, n: trusted int) -> trusted int pure = extern \"place_int\"\n"
    "tool p_text(who: string, s: trusted string) -> string pure = extern \"place_text\"\n"
    "tool p_item(who: string, i: trusted Item) -> trusted Item pure = extern \"place_item\"\n"
    "tool p_ints(who: string, xs: trusted list<int>) -> list<int> pure = extern \"place_ints\"\n"
    "fn kept_int(n: trusted int) -> int { return n }\n"
    "fn kept_text(s: trusted string) -> string { return s }\n"
    "workflow p_flow(s: trusted string) -> string { return s }\n"
    "tool p_fail(who: string) -> trusted string pure = extern \"place_fail\"\n"
    "enum Note { none, text(t: string) }\n"
    "enum Line { none, wire(c: channel<string>) }\n"
    "type Open { out: channel<string>, taker: task<int> }\n"
    "error Cut { c: channel<string> }\n"
    "workflow c_lost() -> channel<string> {\n    yield p_fail(\"c\")\n    return channel(1)\n}\n"
    "error Why { why: string }\n"
    "workflow c_flow(s: string) -> string { return \"<\" + s }\n"
    "workflow c_send(c: channel<string>, s: string) { yield c.send(s) }\n";

static void print_preamble(void)
{
    const char *once = repeat ? "idempotent" : "once";
    fputs(preamble, out);
    fprintf(out, "tool t_maybe(who: string, n: int) -> string? %s = extern \"tool_maybe\"\n", once);
    fprintf(out, "tool t_ints(who: string, xs: list<int>) -> list<int> %s = extern \"tool_ints\"\n", once);
    fprintf(out, "tool t_note(who: string, text: string) %s = extern \"tool_note\"\n", once);
    if (places) fputs(trusted_preamble, out);
}

int main(int argc, char **argv)
{
    if (argc > 1 && (strcmp(argv[1], "--steady") == 0 || strcmp(argv[1], "--sim") == 0)) {
        steady = true;
        repeat = strcmp(argv[1], "--steady") == 0;
        argc--;
        argv++;
    }
    if (argc > 1 && strcmp(argv[1], "--trust") == 0) {
        places = true;
        argc--;
        argv++;
    }
    if (argc < 2) {
        fprintf(stderr, "usage: gen [--steady | --sim | --trust] FIRST [COUNT]\n");
        return 64;
    }
    out = stdout;
    long first = atol(argv[1]), count = argc > 2 ? atol(argv[2]) : 1;
    print_preamble();
    for (long seed = first; seed < first + count; seed++) program(seed);
    return fflush(stdout) == 0 ? 0 : 74;
}
