/* completions.c: prints the scripts with which shells complete the command lines of tfy and tfyc.
 *
 * This file lists no commands or options: tfy's come from its table (frame/commands.h), tfyc's options from tfyc
 * itself. One walk visits them and calls the writer of a shell for each command and each option; a writer collects
 * the parts of its script and prints it at the end. The argument in the table decides the offers for an option's
 * value: files, directories, or the words between '|'. */
#include <stdio.h>
#include <string.h>

#include "base/buffer.h"
#include "cli/frame/commands.h"
#include "cli/make/compile.h"

/* One option of one of the two programs. */
typedef struct Flag {
    char letter;          /* 0: none */
    const char *name;     /* without dashes, of more than one letter; "": none */
    const char *argument; /* its argument; "": none */
    const char *meaning;
} Flag;

/* One command; of a program without commands, the program itself. */
typedef struct Command {
    const char *name; /* NULL: the program has no commands */
    const char *operands;
    const char *summary;
    int first;          /* bytes of its name's first word */
    const char *second; /* its name's second word; NULL: none */
    /* on the first command with this first word, all second words: "export|import"; NULL on the others */
    const char *seconds;
} Command;

/* A script under construction. */
typedef struct Script {
    const char *program;
    bool has_commands;
    TfyBuffer names, seconds, values, cases; /* its parts; a part that a shell does not need stays empty */
    TfyBuffer seen;                          /* options whose values were already written */
} Script;

/* The writer of one shell. */
typedef struct Shell {
    const char *name;
    const char *head, *foot; /* around the whole output */
    void (*begin)(Script *script, const Command *command);
    void (*flag)(Script *script, const Command *command, const Flag *flag);
    void (*end)(Script *script, const Command *command);
    void (*print)(const Script *script);
} Shell;

/* The kind of word that a position accepts. */
typedef enum Kind { KIND_NOTHING, KIND_VALUE, KIND_WORDS, KIND_FILE, KIND_PROGRAM, KIND_DIR, KIND_RUN } Kind;

static Kind kind_of(const char *text)
{
    if (!*text) return KIND_NOTHING;
    if (strncmp(text, "FILE.tfy", 8) == 0) return KIND_PROGRAM;
    if (strncmp(text, "RUN", 3) == 0 || strncmp(text, "[RUN]", 5) == 0) return KIND_RUN;
    if (strchr(text, '|')) return KIND_WORDS;
    if (strcmp(text, "FILE") == 0) return KIND_FILE;
    if (strcmp(text, "DIR") == 0) return KIND_DIR;
    return KIND_VALUE;
}

/* Writes the words of "a|b|c" with blanks between them. */
static void put_words(TfyBuffer *out, const char *text)
{
    for (; *text; text++) tfy__buffer_char(out, *text == '|' ? ' ' : *text);
}

/* Writes text between single quotes; `escaped` are the characters that get a backslash. fish escapes a quote; the
 * other shells close and reopen the quotes. */
static void put_quoted(TfyBuffer *out, const char *text, const char *escaped, bool fish)
{
    tfy__buffer_char(out, '\'');
    for (; *text; text++) {
        if (*text == '\'')
            tfy__buffer_text(out, fish ? "\\'" : "'\\''");
        else if (strchr(escaped, *text))
            tfy__buffer_printf(out, "\\%c", *text);
        else
            tfy__buffer_char(out, *text);
    }
    tfy__buffer_char(out, '\'');
}

static const char *text_of(const TfyBuffer *part)
{
    return part->data ? part->data : "";
}

/* ---- bash ---- */

static void bash_begin(Script *script, const Command *command)
{
    const Kind kind = kind_of(command->operands);
    TfyBuffer *out = &script->cases;
    if (command->seconds || !command->second)
        tfy__buffer_printf(&script->names, " %.*s", command->first, command->name ? command->name : "");
    if (command->seconds) {
        tfy__buffer_printf(&script->seconds, "        %.*s) words='", command->first, command->name);
        put_words(&script->seconds, command->seconds);
        tfy__buffer_text(&script->seconds, "' ;;\n");
    }
    if (command->name) tfy__buffer_printf(out, "    '%s '*)", command->name);
    if (kind == KIND_PROGRAM) tfy__buffer_text(out, " files='!*.tfy'");
    if (kind == KIND_RUN) tfy__buffer_text(out, " operands=last");
    if (kind == KIND_WORDS) {
        tfy__buffer_text(out, " operands='");
        put_words(out, command->operands);
        tfy__buffer_char(out, '\'');
    }
    tfy__buffer_text(out, " options='");
}

static void bash_value(Script *script, const Flag *flag)
{
    const Kind kind = kind_of(flag->argument);
    TfyBuffer *out = &script->values;
    if (kind == KIND_NOTHING) return;
    tfy__buffer_text(out, "    ");
    if (flag->letter) tfy__buffer_printf(out, "-%c%s", flag->letter, *flag->name ? " | " : "");
    if (*flag->name) tfy__buffer_printf(out, "--%s", flag->name);
    tfy__buffer_text(out, ") ");
    if (kind == KIND_WORDS) {
        tfy__buffer_text(out, "words='");
        put_words(out, flag->argument);
        tfy__buffer_text(out, "' ;;\n");
    } else if (kind == KIND_VALUE) {
        tfy__buffer_text(out, "return ;;\n");
    } else {
        const char *filter = kind == KIND_PROGRAM ? "!*.tfy" : kind == KIND_DIR ? "*" : "";
        tfy__buffer_printf(out, "_%s_files '%s'; return ;;\n", script->program, filter);
    }
}

/* An option has the same meaning in every command, so its values are written once. */
static void bash_flag(Script *script, const Command *command, const Flag *flag)
{
    char key[64];
    (void)command;
    if (flag->letter) tfy__buffer_printf(&script->cases, "-%c ", flag->letter);
    if (*flag->name) tfy__buffer_printf(&script->cases, "--%s ", flag->name);
    snprintf(key, sizeof key, " %c%s ", flag->letter ? flag->letter : '-', flag->name);
    if (strstr(text_of(&script->seen), key)) return;
    tfy__buffer_text(&script->seen, key);
    bash_value(script, flag);
}

static void bash_end(Script *script, const Command *command)
{
    tfy__buffer_text(&script->cases, command->name ? "' ;;\n" : "'\n");
}

static void bash_print(const Script *script)
{
    const char *name = script->program;
    printf(
        "_%s_files()\n{\n"
        "    compopt -o filenames 2>/dev/null\n"
        "    mapfile -t COMPREPLY < <(compgen -f -X \"$1\" -- \"$cur\"; [[ ! $1 ]] || compgen -d -- \"$cur\")\n}\n\n",
        name);
    printf("_%s()\n{\n"
           "    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]}\n"
           "    local words= options= operands= files=\n"
           "    COMPREPLY=()\n"
           "    case $prev in\n%s    esac\n",
           name, text_of(&script->values));
    if (script->has_commands)
        printf("    if [[ $COMP_CWORD == 1 ]]; then\n        words='--help --version%s'\n"
               "    elif [[ $COMP_CWORD == 2 ]]; then\n        case ${COMP_WORDS[1]} in\n%s        esac\n    fi\n"
               "    case \"${COMP_WORDS[1]} ${COMP_WORDS[2]} \" in\n%s    esac\n",
               text_of(&script->names), text_of(&script->seconds), text_of(&script->cases));
    else
        printf("   %s", text_of(&script->cases));
    printf("    if [[ ! $words && $cur == -* ]]; then\n"
           "        words=$options\n"
           "    elif [[ ! $words && $files ]]; then\n"
           "        _%s_files \"$files\"\n"
           "        return\n"
           "    fi\n"
           "    mapfile -t COMPREPLY < <(compgen -W \"${words:-$operands}\" -- \"$cur\")\n"
           "}\n"
           "complete -F _%s %s\n",
           name, name, name);
}

/* ---- zsh ---- */

static void zsh_action(TfyBuffer *out, const char *text)
{
    switch (kind_of(text)) {
    case KIND_WORDS:
        tfy__buffer_char(out, '(');
        put_words(out, text);
        tfy__buffer_char(out, ')');
        break;
    case KIND_PROGRAM: tfy__buffer_text(out, "_files -g \"*.(tfy|c)\""); break;
    case KIND_FILE: tfy__buffer_text(out, "_files"); break;
    case KIND_DIR: tfy__buffer_text(out, "_files -/"); break;
    case KIND_RUN: tfy__buffer_text(out, "(last)"); break;
    default: break;
    }
}

static void zsh_begin(Script *script, const Command *command)
{
    if (command->seconds || (command->name && !command->second)) {
        tfy__buffer_printf(&script->names, "        '%.*s:'", command->first, command->name);
        put_quoted(&script->names, command->seconds ? command->seconds : command->summary, "\\", false);
        tfy__buffer_char(&script->names, '\n');
    }
    if (command->seconds) {
        tfy__buffer_printf(&script->seconds, "        %.*s) compadd ", command->first, command->name);
        put_words(&script->seconds, command->seconds);
        tfy__buffer_text(&script->seconds, "; return ;;\n");
    }
    if (command->name) tfy__buffer_printf(&script->cases, "    '%s '*)\n        ", command->name);
    if (command->second) tfy__buffer_text(&script->cases, "shift words\n        (( CURRENT-- ))\n        ");
    tfy__buffer_text(&script->cases, "_arguments");
}

static void zsh_spelling(TfyBuffer *out, const char *dashes, const char *name, const Flag *flag)
{
    tfy__buffer_printf(out, " \\\n        '*%s%s['", dashes, name);
    put_quoted(out, flag->meaning, "[]\\:", false);
    tfy__buffer_text(out, "']");
    if (*flag->argument) tfy__buffer_text(out, ":value:");
    if (*flag->argument) zsh_action(out, flag->argument);
    tfy__buffer_char(out, '\'');
}

static void zsh_flag(Script *script, const Command *command, const Flag *flag)
{
    const char letter[2] = {flag->letter, '\0'};
    (void)command;
    if (flag->letter) zsh_spelling(&script->cases, "-", letter, flag);
    if (*flag->name) zsh_spelling(&script->cases, "--", flag->name, flag);
}

static void zsh_end(Script *script, const Command *command)
{
    if (*command->operands) {
        tfy__buffer_text(&script->cases, " \\\n        '*:operand:");
        zsh_action(&script->cases, command->operands);
        tfy__buffer_char(&script->cases, '\'');
    }
    tfy__buffer_text(&script->cases, command->name ? "\n        ;;\n" : "\n");
}

static void zsh_print(const Script *script)
{
    printf("_%s()\n{\n", script->program);
    if (script->has_commands)
        printf("    local -a commands=(\n%s    )\n"
               "    if (( CURRENT == 2 )); then\n        _describe command commands\n        return\n"
               "    elif (( CURRENT == 3 )); then\n        case $words[2] in\n%s        esac\n    fi\n"
               "    shift words\n    (( CURRENT-- ))\n    case \"$words[1] $words[2] \" in\n%s    esac\n",
               text_of(&script->names), text_of(&script->seconds), text_of(&script->cases));
    else
        printf("    %s", text_of(&script->cases));
    printf("}\n\n");
}

/* ---- fish ---- */

static void fish_offer(TfyBuffer *out, const char *text, bool option)
{
    switch (kind_of(text)) {
    case KIND_NOTHING: return;
    case KIND_WORDS:
        tfy__buffer_text(out, option ? " -x -a '" : " -a '");
        put_words(out, text);
        tfy__buffer_char(out, '\'');
        return;
    case KIND_PROGRAM:
    case KIND_FILE: tfy__buffer_text(out, option ? " -r -F" : " -F"); return;
    case KIND_DIR: tfy__buffer_text(out, " -x -a '(__fish_complete_directories)'"); return;
    case KIND_RUN: tfy__buffer_text(out, " -a last"); return;
    case KIND_VALUE: tfy__buffer_text(out, option ? " -x" : ""); return;
    }
}

/* Writes a line for a command, on the condition that its words were typed. */
static void fish_line(Script *script, const Command *command)
{
    TfyBuffer *out = &script->cases;
    tfy__buffer_printf(out, "complete -c %s", script->program);
    if (command->name) tfy__buffer_printf(out, " -n '__fish_seen_subcommand_from %.*s", command->first, command->name);
    if (command->second) tfy__buffer_printf(out, "; and __fish_seen_subcommand_from %s", command->second);
    if (command->name) tfy__buffer_char(out, '\'');
}

static void fish_begin(Script *script, const Command *command)
{
    TfyBuffer *out = &script->cases;
    if (command->seconds || (command->name && !command->second)) {
        tfy__buffer_printf(out, "complete -c %s -n __fish_use_subcommand -a %.*s -d ", script->program, command->first,
                           command->name);
        put_quoted(out, command->seconds ? command->seconds : command->summary, "\\", true);
        tfy__buffer_char(out, '\n');
    }
    if (command->second) {
        tfy__buffer_printf(out, "complete -c %s -n '__fish_seen_subcommand_from %.*s' -a %s -d ", script->program,
                           command->first, command->name, command->second);
        put_quoted(out, command->summary, "\\", true);
        tfy__buffer_char(out, '\n');
    }
    if (kind_of(command->operands) == KIND_NOTHING) return;
    fish_line(script, command);
    fish_offer(out, command->operands, false);
    tfy__buffer_char(out, '\n');
}

static void fish_flag(Script *script, const Command *command, const Flag *flag)
{
    TfyBuffer *out = &script->cases;
    fish_line(script, command);
    if (flag->letter) tfy__buffer_printf(out, " -s %c", flag->letter);
    if (*flag->name) tfy__buffer_printf(out, " -l %s", flag->name);
    fish_offer(out, flag->argument, true);
    tfy__buffer_text(out, " -d ");
    put_quoted(out, flag->meaning, "\\", true);
    tfy__buffer_char(out, '\n');
}

static void fish_end(Script *script, const Command *command)
{
    (void)script;
    (void)command;
}

static void fish_print(const Script *script)
{
    printf("complete -c %s -f\n%s", script->program, text_of(&script->cases));
}

/* ---- the walk ---- */

static const Shell SHELLS[] = {
    {"bash", "", "", bash_begin, bash_flag, bash_end, bash_print},
    {"zsh", "#compdef tfy tfyc\n\n",
     "compdef _tfy tfy\ncompdef _tfyc tfyc\n\n"
     "# Found by the completion system under its name, this file is the function itself.\n"
     "if [[ $funcstack[1] == _tfy ]]; then _$service; fi\n",
     zsh_begin, zsh_flag, zsh_end, zsh_print},
    {"fish", "", "", fish_begin, fish_flag, fish_end, fish_print},
};

/* Lists the second words of all commands with this first word, if this command is the first of them. */
static void list_seconds(const TfyCommand *command, int first, TfyBuffer *out)
{
    if (command > tfy__commands && strncmp(command[-1].name, command->name, (size_t)first + 1) == 0) return;
    for (; command->name; command++) {
        if (command->name[first] != ' ') return;
        tfy__buffer_printf(out, "%s%s", out->len ? "|" : "", command->name + first + 1);
    }
}

static void walk_command(const Shell *shell, Script *script, const TfyCommand *info)
{
    const int first = (int)strcspn(info->name, " ");
    TfyBuffer seconds = {0};
    if (info->name[first]) list_seconds(info, first, &seconds);
    const Command command = {.name = info->name,
                             .operands = info->operands,
                             .summary = info->summary,
                             .first = first,
                             .second = info->name[first] ? info->name + first + 1 : NULL,
                             .seconds = seconds.data};
    shell->begin(script, &command);
    for (int i = 0; i < OPT_COUNT; i++) {
        const TfyOptionInfo *option = tfy__option_at(i);
        const bool letter = !option->name[1];
        if (!tfy__command_takes(info, i)) continue;
        shell->flag(script, &command,
                    &(Flag){letter ? option->name[0] : '\0', letter ? "" : option->name,
                            option->argument ? option->argument : "", option->meaning});
    }
    shell->end(script, &command);
    tfy__buffer_free(&seconds);
}

static int finish(const Shell *shell, Script *script)
{
    const bool failed = script->names.failed || script->seconds.failed || script->values.failed ||
                        script->cases.failed || script->seen.failed;
    if (!failed) shell->print(script);
    tfy__buffer_free(&script->names);
    tfy__buffer_free(&script->seconds);
    tfy__buffer_free(&script->values);
    tfy__buffer_free(&script->cases);
    tfy__buffer_free(&script->seen);
    return failed ? tfy__fail(EXIT_BUG, "memory ran out") : EXIT_DONE;
}

static int write_tfy(const Shell *shell)
{
    Script script = {.program = "tfy", .has_commands = true};
    for (const TfyCommand *command = tfy__commands; command->name; command++) walk_command(shell, &script, command);
    return finish(shell, &script);
}

/* Reads one line of `tfyc --options`: letter, name, argument, meaning, separated by tabs. */
static bool read_flag(char *line, Flag *flag)
{
    char *fields[4];
    for (int i = 0; i < 4; i++) {
        fields[i] = strsep(&line, "\t\n");
        if (!fields[i]) return false;
    }
    *flag = (Flag){fields[0][0], fields[1], fields[2], fields[3]};
    return true;
}

static int write_tfyc(const Shell *shell)
{
    const Command command = {.operands = "FILE.tfy", .summary = ""};
    Script script = {.program = "tfyc"};
    char line[256];
    Flag flag;
    FILE *table = NULL;
    const int status = tfy__read_tfyc("--options", &table);
    if (status != EXIT_DONE) return status;
    shell->begin(&script, &command);
    while (fgets(line, sizeof line, table)) {
        if (read_flag(line, &flag)) shell->flag(&script, &command, &flag);
    }
    shell->end(&script, &command);
    fclose(table);
    return finish(shell, &script);
}

int tfy__cmd_completions(const TfyArgs *args)
{
    const char *name = args->words[0];
    for (size_t i = 0; i < sizeof SHELLS / sizeof *SHELLS; i++) {
        const Shell *shell = &SHELLS[i];
        if (strcmp(name, shell->name) != 0) continue;
        fputs(shell->head, stdout);
        int status = write_tfy(shell);
        if (status == EXIT_DONE) status = write_tfyc(shell);
        fputs(shell->foot, stdout);
        return tfy__flush_stdout(status);
    }
    return tfy__fail(EXIT_USAGE, "there are completions for bash, zsh and fish, not for '%s'", name);
}
