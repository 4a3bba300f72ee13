/* completions.c: what shells need to complete the command lines of tfy and tfyc.
 *
 * Nothing is listed here: tfy's commands and options come from the tables in options.c, tfyc's from tfyc itself. What
 * stands for an option's value in those tables says what is offered for it: files, directories, or the words between
 * '|'. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/frame/cli.h"
#include "cli/make/compile.h"

/* One option of one of the two programs. */
typedef struct Flag {
    char letter;          /* 0: none */
    const char *name;     /* without dashes, of more than one letter; "": none */
    const char *argument; /* what it takes; "": nothing */
    const char *meaning;
} Flag;

/* A command with what it takes; a program without commands is one. */
typedef struct Command {
    const char *name;
    const char *operands;
    const char *summary;
    const Flag *flags;
    int flag_count;
} Command;

typedef struct Program {
    const char *name;
    const Command *commands;
    int command_count; /* 0: the program is commands[0] itself */
} Program;

enum { FLAG_MAX = 64, COMMAND_MAX = 40 };

/* What can stand somewhere. */
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

/* The words of "a|b|c" with blanks between them. */
static void put_words(const char *text)
{
    for (; *text; text++) putchar(*text == '|' ? ' ' : *text);
}

/* Text between single quotes; `escaped` are characters that get a backslash. In fish a quote is escaped, the other
 * shells end and begin the quotes again. */
static void put_quoted(const char *text, const char *escaped, bool fish)
{
    putchar('\'');
    for (; *text; text++) {
        if (*text == '\'')
            fputs(fish ? "\\'" : "'\\''", stdout);
        else if (strchr(escaped, *text))
            printf("\\%c", *text);
        else
            putchar(*text);
    }
    putchar('\'');
}

/* ---- bash ---- */

static void put_flags(const Command *command)
{
    const char *blank = "";
    for (int i = 0; i < command->flag_count; i++) {
        const Flag *flag = &command->flags[i];
        if (flag->letter) printf("%s-%c", blank, flag->letter);
        if (flag->letter) blank = " ";
        if (*flag->name) printf("%s--%s", blank, flag->name);
        if (*flag->name) blank = " ";
    }
}

static void bash_value(const Program *program, const Flag *flag)
{
    Kind kind = kind_of(flag->argument);
    if (kind == KIND_NOTHING) return;
    fputs("    ", stdout);
    if (flag->letter) printf("-%c%s", flag->letter, *flag->name ? " | " : "");
    if (*flag->name) printf("--%s", flag->name);
    fputs(") ", stdout);
    if (kind == KIND_WORDS) {
        fputs("words='", stdout);
        put_words(flag->argument);
        fputs("' ;;\n", stdout);
    } else if (kind == KIND_VALUE) {
        fputs("return ;;\n", stdout);
    } else {
        const char *filter = kind == KIND_PROGRAM ? "!*.tfy" : kind == KIND_DIR ? "*" : "";
        printf("_%s_files '%s'; return ;;\n", program->name, filter);
    }
}

/* An option means the same wherever it stands, so each is listed once. */
static void bash_values(const Program *program)
{
    int count = program->command_count ? program->command_count : 1;
    for (int i = 0; i < count; i++) {
        for (int n = 0; n < program->commands[i].flag_count; n++) {
            const Flag *flag = &program->commands[i].flags[n];
            bool seen = false;
            for (int k = 0; k < i && !seen; k++) {
                for (int m = 0; m < program->commands[k].flag_count; m++) {
                    const Flag *other = &program->commands[k].flags[m];
                    seen |= other->letter == flag->letter && strcmp(other->name, flag->name) == 0;
                }
            }
            if (!seen) bash_value(program, flag);
        }
    }
}

static void bash_operands(const Command *command)
{
    Kind kind = kind_of(command->operands);
    fputs("options='", stdout);
    put_flags(command);
    fputs("'", stdout);
    if (kind == KIND_PROGRAM) fputs(" files='!*.tfy'", stdout);
    if (kind == KIND_RUN) fputs(" operands=last", stdout);
    if (kind != KIND_WORDS) return;
    fputs(" operands='", stdout);
    put_words(command->operands);
    fputs("'", stdout);
}

/* The first word of a command's name; "wal export" is completed as far as its first one here. */
static int first_word(const char *name)
{
    return (int)strcspn(name, " ");
}

static void bash_commands(const Program *program)
{
    fputs("    if [[ $COMP_CWORD == 1 ]]; then\n        words='--help --version", stdout);
    for (int i = 0; i < program->command_count; i++)
        printf(" %.*s", first_word(program->commands[i].name), program->commands[i].name);
    fputs("'\n    fi\n    case ${COMP_WORDS[1]} in\n", stdout);
    for (int i = 0; i < program->command_count; i++) {
        const Command *command = &program->commands[i];
        int len = first_word(command->name);
        printf("    %.*s) ", len, command->name);
        bash_operands(command);
        if (command->name[len]) printf("; [[ $COMP_CWORD != 2 ]] || words='%s'", command->name + len + 1);
        fputs(" ;;\n", stdout);
    }
    fputs("    esac\n", stdout);
}

static void bash_program(const Program *program)
{
    const char *name = program->name;
    printf(
        "_%s_files()\n{\n"
        "    compopt -o filenames 2>/dev/null\n"
        "    mapfile -t COMPREPLY < <(compgen -f -X \"$1\" -- \"$cur\"; [[ ! $1 ]] || compgen -d -- \"$cur\")\n}\n\n",
        name);
    printf("_%s()\n{\n"
           "    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]}\n"
           "    local words= options= operands= files=\n"
           "    COMPREPLY=()\n"
           "    case $prev in\n",
           name);
    bash_values(program);
    fputs("    esac\n", stdout);
    if (program->command_count) {
        bash_commands(program);
    } else {
        fputs("    ", stdout);
        bash_operands(&program->commands[0]);
        fputs("\n", stdout);
    }
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

static void zsh_action(const char *text)
{
    switch (kind_of(text)) {
    case KIND_WORDS:
        fputs("(", stdout);
        put_words(text);
        fputs(")", stdout);
        break;
    case KIND_PROGRAM: fputs("_files -g \"*.(tfy|c)\"", stdout); break;
    case KIND_FILE: fputs("_files", stdout); break;
    case KIND_DIR: fputs("_files -/", stdout); break;
    case KIND_RUN: fputs("(last)", stdout); break;
    default: break;
    }
}

static void zsh_flag(const char *dashes, const char *name, const Flag *flag)
{
    printf(" \\\n        '*%s%s['", dashes, name);
    put_quoted(flag->meaning, "[]\\:", false);
    fputs("']", stdout);
    if (*flag->argument) fputs(":value:", stdout);
    if (*flag->argument) zsh_action(flag->argument);
    fputs("'", stdout);
}

static void zsh_arguments(const Command *command)
{
    fputs("_arguments", stdout);
    for (int i = 0; i < command->flag_count; i++) {
        const Flag *flag = &command->flags[i];
        char letter[2] = {flag->letter, '\0'};
        if (flag->letter) zsh_flag("-", letter, flag);
        if (*flag->name) zsh_flag("--", flag->name, flag);
    }
    if (*command->operands) {
        fputs(" \\\n        '*:operand:", stdout);
        zsh_action(command->operands);
        fputs("'", stdout);
    }
    fputs("\n", stdout);
}

static void zsh_commands(const Program *program)
{
    fputs("    local -a commands=(\n", stdout);
    for (int i = 0; i < program->command_count; i++) {
        const Command *command = &program->commands[i];
        printf("        '%.*s:'", first_word(command->name), command->name);
        put_quoted(command->summary, "\\", false);
        fputs("\n", stdout);
    }
    fputs("    )\n    if (( CURRENT == 2 )); then\n        _describe command commands\n        return\n    fi\n"
          "    shift words\n    (( CURRENT-- ))\n    case $words[1] in\n",
          stdout);
    for (int i = 0; i < program->command_count; i++) {
        const Command *command = &program->commands[i];
        int len = first_word(command->name);
        printf("    %.*s)\n        ", len, command->name);
        if (command->name[len])
            printf("if (( CURRENT == 2 )); then\n            compadd %s\n            return\n        fi\n        ",
                   command->name + len + 1);
        zsh_arguments(command);
        fputs("        ;;\n", stdout);
    }
    fputs("    esac\n", stdout);
}

static void zsh_program(const Program *program)
{
    printf("_%s()\n{\n", program->name);
    if (program->command_count) {
        zsh_commands(program);
    } else {
        fputs("    ", stdout);
        zsh_arguments(&program->commands[0]);
    }
    fputs("}\n\n", stdout);
}

/* ---- fish ---- */

static void fish_offer(const char *text, bool option)
{
    switch (kind_of(text)) {
    case KIND_NOTHING: return;
    case KIND_WORDS:
        fputs(option ? " -x -a '" : " -a '", stdout);
        put_words(text);
        fputs("'", stdout);
        return;
    case KIND_PROGRAM:
    case KIND_FILE: fputs(option ? " -r -F" : " -F", stdout); return;
    case KIND_DIR: fputs(" -x -a '(__fish_complete_directories)'", stdout); return;
    case KIND_RUN: fputs(" -a last", stdout); return;
    case KIND_VALUE: fputs(option ? " -x" : "", stdout); return;
    }
}

static void fish_command(const Program *program, const Command *command)
{
    char when[96] = "";
    int len = first_word(command->name);
    if (program->command_count)
        snprintf(when, sizeof when, " -n '__fish_seen_subcommand_from %.*s'", len, command->name);
    if (program->command_count) {
        printf("complete -c %s -n __fish_use_subcommand -a %.*s -d ", program->name, len, command->name);
        put_quoted(command->summary, "\\", true);
        fputs("\n", stdout);
    }
    if (program->command_count && command->name[len])
        printf("complete -c %s%s -a %s\n", program->name, when, command->name + len + 1);
    if (kind_of(command->operands) != KIND_NOTHING) {
        printf("complete -c %s%s", program->name, when);
        fish_offer(command->operands, false);
        fputs("\n", stdout);
    }
    for (int i = 0; i < command->flag_count; i++) {
        const Flag *flag = &command->flags[i];
        printf("complete -c %s%s", program->name, when);
        if (flag->letter) printf(" -s %c", flag->letter);
        if (*flag->name) printf(" -l %s", flag->name);
        fish_offer(flag->argument, true);
        fputs(" -d ", stdout);
        put_quoted(flag->meaning, "\\", true);
        fputs("\n", stdout);
    }
}

static void fish_program(const Program *program)
{
    int count = program->command_count ? program->command_count : 1;
    printf("complete -c %s -f\n", program->name);
    for (int i = 0; i < count; i++) fish_command(program, &program->commands[i]);
}

/* ---- where the tables come from ---- */

static int collect_flags(const TfyCommandInfo *info, Flag *flags)
{
    int count = 0;
    for (int i = 0; i < OPT_COUNT; i++) {
        const TfyOptionInfo *option = tfy__option_at(i);
        if (!tfy__command_takes(info, i)) continue;
        bool letter = !option->name[1];
        flags[count++] = (Flag){letter ? option->name[0] : '\0', letter ? "" : option->name,
                                option->argument ? option->argument : "", option->meaning};
    }
    return count;
}

static void write_tfy(void (*write)(const Program *))
{
    static Flag flags[COMMAND_MAX][OPT_COUNT];
    Command commands[COMMAND_MAX];
    Program program = {"tfy", commands, 0};
    for (int i = 0; tfy__command_at(i) && i < COMMAND_MAX; i++) {
        const TfyCommandInfo *info = tfy__command_at(i);
        int count = collect_flags(info, flags[i]);
        commands[program.command_count++] = (Command){info->name, info->operands, info->summary, flags[i], count};
    }
    write(&program);
}

/* One line of `tfyc --options`: letter, name, argument, meaning, with tabs between them. */
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

static int write_tfyc(void (*write)(const Program *))
{
    char lines[FLAG_MAX][256];
    Flag flags[FLAG_MAX];
    FILE *table = NULL;
    int count = 0, status = tfy__read_tfyc("--options", &table);
    if (status != EXIT_DONE) return status;
    while (count < FLAG_MAX && fgets(lines[count], sizeof lines[count], table)) {
        if (read_flag(lines[count], &flags[count])) count++;
    }
    fclose(table);
    Command command = {"", "FILE.tfy", "", flags, count};
    Program program = {"tfyc", &command, 0};
    write(&program);
    return EXIT_DONE;
}

static int write_both(void (*write)(const Program *))
{
    write_tfy(write);
    return write_tfyc(write);
}

static int write_zsh(void)
{
    fputs("#compdef tfy tfyc\n\n", stdout);
    int status = write_both(zsh_program);
    fputs("compdef _tfy tfy\ncompdef _tfyc tfyc\n\n"
          "# Found by the completion system under its name, this file is the function itself.\n"
          "if [[ $funcstack[1] == _tfy ]]; then _$service; fi\n",
          stdout);
    return status;
}

int tfy__cmd_completions(int argc, char **argv)
{
    TfyArgs args;
    int status = tfy__args_parse(argc, argv, &args);
    if (status < 0) {
        const char *shell = args.words[0];
        if (strcmp(shell, "bash") == 0)
            status = write_both(bash_program);
        else if (strcmp(shell, "zsh") == 0)
            status = write_zsh();
        else if (strcmp(shell, "fish") == 0)
            status = write_both(fish_program);
        else
            status = tfy__fail(EXIT_USAGE, "there are completions for bash, zsh and fish, not for '%s'", shell);
        status = tfy__flush_stdout(status);
    }
    tfy__args_free(&args);
    return status;
}
