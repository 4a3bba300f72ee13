/* mcp_pull.c: see mcp_pull.h; and tfy mcp pull. */
#include "cli/make/mcp_pull.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/whole_file.h"
#include "cli/frame/commands.h"
#include "cli/frame/report.h"
#include "cli/make/mcp_servers.h"
#include "mcp/tools.h"

typedef struct Pull {
    TfyMcpTalk *talk;
    const char *file;
    bool check;
    json_t *kept; /* what the file has; NULL: there is none */
    int differences;
} Pull;

/* ---- the file ---- */

/* Returns an exit status. */
static int read_file(Pull *pull)
{
    json_error_t error;
    if (access(pull->file, F_OK) < 0)
        return pull->check ? tfy__fail(EXIT_MISSING, "%s is not there; leave --check out to write it", pull->file)
                           : EXIT_DONE;
    pull->kept = json_load_file(pull->file, JSON_ALLOW_NUL, &error);
    if (pull->kept && tfy__mcp_is_tools_file(pull->kept)) return EXIT_DONE;
    if (pull->check && !pull->kept) return tfy__fail(EXIT_DATA, "%s:%d: %s", pull->file, error.line, error.text);
    if (pull->check)
        return tfy__fail(EXIT_DATA, "%s is not a list of tools; leave --check out to write it", pull->file);
    json_decref(pull->kept);
    pull->kept = NULL;
    return EXIT_DONE;
}

static int write_file(const Pull *pull, const json_t *content)
{
    TfyWhole whole;
    const int fd = tfy__whole_open(&whole, pull->file, 0666);
    FILE *out = fd >= 0 ? fdopen(fd, "w") : NULL;
    char *text = tfy__json_print(content, 2);
    bool ok = out && text && fprintf(out, "%s\n", text) > 0;
    if (out) ok = fclose(out) == 0 && ok;
    if (!out && fd >= 0) close(fd);
    free(text);
    if (ok && tfy__whole_commit(&whole, TFY_WHOLE_OVER)) return EXIT_DONE;
    const int status = tfy__fail(EXIT_LOG, "%s cannot be written: %s", pull->file, strerror(errno));
    if (fd >= 0) tfy__whole_abandon(&whole);
    return status;
}

/* ---- what it says ---- */

static void on_difference(void *arg, const char *name, TfyMcpChange change)
{
    static const char *const words[] = {[TFY_MCP_NEW] = "is new",
                                        [TFY_MCP_GONE] = "is gone",
                                        [TFY_MCP_OTHER_SCHEMA] = "has another schema",
                                        [TFY_MCP_OTHER_TEXT] = "has another description"};
    Pull *pull = arg;
    pull->differences++;
    printf("%s %s\n", name, words[change]);
}

/* The server's hints as a class, for a person to judge. */
static const char *proposed(const json_t *tool)
{
    const json_t *hints = json_object_get(tool, "annotations");
    if (json_is_true(json_object_get(hints, "readOnlyHint"))) return "pure";
    if (json_is_true(json_object_get(hints, "idempotentHint"))) return "idempotent";
    return json_is_false(json_object_get(hints, "destructiveHint")) ? "once" : "once dangerous";
}

/* As a program writes it: what no name may have is an underscore there (dsl/mcp_file.c). */
static void print_name(const char *name)
{
    printf("    %s", *name >= '0' && *name <= '9' ? "_" : "");
    for (; *name; name++) {
        const bool fits =
            (*name >= 'a' && *name <= 'z') || (*name >= 'A' && *name <= 'Z') || (*name >= '0' && *name <= '9');
        putchar(fits ? *name : '_');
    }
}

static void propose(const Pull *pull, const json_t *tools)
{
    size_t i;
    json_t *tool;
    const size_t count = json_array_size(tools);
    printf("%s has %zu tool%s; the server proposes, for you to judge:\n", pull->file, count, count == 1 ? "" : "s");
    json_array_foreach(tools, i, tool)
    {
        print_name(tfy__json_text(tool, "name"));
        printf(": %s\n", proposed(tool));
    }
}

static bool is_same(const json_t *a, const json_t *b, const char *member)
{
    const json_t *x = json_object_get(a, member), *y = json_object_get(b, member);
    return x == y || json_equal(x, y);
}

static int64_t wall_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return now.tv_sec * INT64_C(1000) + now.tv_nsec / 1000000;
}

/* A file whose content would be the same but for its time is left as it is. */
static int keep_tools(Pull *pull, const json_t *tools)
{
    char why[TFY_ERROR_TEXT];
    tfy__mcp_tools_wrong(tools, why);
    if (*why) return tfy__fail(EXIT_DATA, "%s", why);
    json_t *content = tfy__mcp_tools_file(pull->talk->client, tools, wall_ms());
    if (!content) return tfy__fail(EXIT_BUG, "memory ran out");
    const bool same = pull->kept && is_same(pull->kept, content, "server") &&
                      is_same(pull->kept, content, "revision") && is_same(pull->kept, content, "keyed") &&
                      is_same(pull->kept, content, "tools");
    const int status = same ? EXIT_DONE : write_file(pull, content);
    if (status == EXIT_DONE) propose(pull, tools);
    json_decref(content);
    return status == EXIT_DONE ? tfy__flush_stdout(EXIT_DONE) : status;
}

static int check_tools(Pull *pull, const json_t *tools)
{
    tfy__mcp_tools_compare(json_object_get(pull->kept, "tools"), tools, on_difference, pull);
    return tfy__flush_stdout(pull->differences ? EXIT_RUN_FAILED : EXIT_DONE);
}

static void on_tools(void *arg, json_t *tools, const char *why, const TfyMcpEnd *failed)
{
    Pull *pull = arg;
    if (failed)
        tfy__mcp_talk_failed(pull->talk, "tools/list", failed);
    else if (!tools)
        tfy__mcp_talk_end(pull->talk, tfy__fail(EXIT_DATA, "%s", why));
    else
        tfy__mcp_talk_end(pull->talk, pull->check ? check_tools(pull, tools) : keep_tools(pull, tools));
}

int tfy__mcp_pull(TfyMcpTalk *talk, const char *file, bool check)
{
    Pull pull = {.talk = talk, .file = file, .check = check};
    int status = read_file(&pull);
    TfyMcpListing *listing = status == EXIT_DONE ? tfy__mcp_list(talk->client, on_tools, &pull) : NULL;
    if (listing) status = tfy__mcp_talk_run(talk);
    if (listing && !talk->done) tfy__mcp_list_stop(listing);
    json_decref(pull.kept);
    return status;
}

/* ---- the command ---- */

static bool is_name(const char *word)
{
    for (const char *c = word; *c; c++) {
        const bool letter = (*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z') || *c == '_';
        if (!letter && (c == word || *c < '0' || *c > '9')) return false;
    }
    return *word;
}

static bool is_program(const char *word)
{
    const size_t len = strlen(word);
    return len > 4 && strcmp(word + len - 4, ".tfy") == 0;
}

int tfy__cmd_mcp_pull(const TfyArgs *args)
{
    char file[NAME_MAX + 1];
    TfyMcpTalk talk = {.loop = NULL};
    const char *name = args->words[0];
    if (is_program(name)) return tfy__mcp_pull_program(args);
    if (!is_name(name) || snprintf(file, sizeof file, "%s.mcp.json", name) >= (int)sizeof file)
        return tfy__fail(EXIT_USAGE, "'%.60s' is not a name for a server; a name has letters, digits and underscores",
                         name);
    int status = tfy__mcp_talk_open(&talk, args, 1);
    if (status == EXIT_DONE) status = tfy__mcp_pull(&talk, file, args->option[OPT_MCP_CHECK]);
    tfy__mcp_talk_close(&talk);
    return status;
}
