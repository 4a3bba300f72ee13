/* client.c: an editor that does what a script says, over the real protocol: `lsp_client SCRIPT SERVER [ARGUMENT…]`.
 *
 * It prints what the server answers in a form that people can read. Places are LINE:COLUMN from 1, columns in UTF-16 units.
 *
 *   file NAME << … >>           writes the lines between to a file, and makes its directories; names are relative to the
 *                   working directory
 *   open NAME << … >>           didOpen with the lines between, then reads one message (the diagnostics)
 *   change NAME << … >>         a whole new text; change NAME FROM-TO "TEXT": TEXT, a JSON string, in place of that range; reads one message
 *   close NAME                  didClose; reads one message
 *   hover|definition|complete|symbols|format|references|uses|prepare|signature|tokens|lenses NAME [PLACE] [PREFIX]
 *                   a request; reads one message; uses are references without the declaration
 *   rename NAME PLACE NEW, actions NAME FROM-TO, find QUERY    the same
 *   send JSON                   a message; file:/// in it becomes the working directory; read N afterwards
 *   raw "TEXT"                  bytes as they stand, a JSON string
 *   fill N TEXT                 N times these bytes
 *   read N                      prints the next N messages
 *   end                         closes the server's input, prints what still comes and how it ended */
#include <ctype.h>
#include <jansson.h>
#include <signal.h>
#include <stdbool.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* What URIs begin with: "file://" and the working directory with a slash. */
static char prefix[4200];

typedef struct Client {
    FILE *to, *from; /* the server's input and output */
    pid_t server;
    const char *command; /* the request that is waiting for its answer */
    const char *prefix;  /* completions that begin otherwise are not printed */
    int last_id;
    int last_version;
} Client;

static void die(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    fputs("lsp_client: ", stderr);
    vfprintf(stderr, format, args);
    va_end(args);
    fputc('\n', stderr);
    exit(2);
}

/* ---- printing ---- */

static const char *name_of(const json_t *uri)
{
    const char *text = json_string_value(uri);
    return text && strncmp(text, prefix, strlen(prefix)) == 0 ? text + strlen(prefix) : text;
}

static void print_place(const json_t *position)
{
    printf("%d:%d", (int)json_integer_value(json_object_get(position, "line")) + 1,
           (int)json_integer_value(json_object_get(position, "character")) + 1);
}

static void print_range(const json_t *range)
{
    print_place(json_object_get(range, "start"));
    putchar('-');
    print_place(json_object_get(range, "end"));
}

static void print_indented(const char *text, int indent)
{
    for (const char *at = text ? text : "(no text)"; at;) {
        const char *end = strchr(at, '\n');
        printf("%*s%.*s\n", indent, "", (int)(end ? end - at : (long)strlen(at)), at);
        at = end ? end + 1 : NULL;
    }
}

static void print_diagnostics(const json_t *params)
{
    const json_t *diag, *other;
    size_t i, j;
    printf("diagnostics of %s:\n", name_of(json_object_get(params, "uri")));
    json_array_foreach(json_object_get(params, "diagnostics"), i, diag)
    {
        printf("  ");
        print_range(json_object_get(diag, "range"));
        const bool unused = json_integer_value(json_array_get(json_object_get(diag, "tags"), 0)) == 1;
        printf(" %s%s\n", json_integer_value(json_object_get(diag, "severity")) == 1 ? "error" : "warning",
               unused ? ", unused" : "");
        print_indented(json_string_value(json_object_get(diag, "message")), 4);
        json_array_foreach(json_object_get(diag, "relatedInformation"), j, other)
        {
            const json_t *location = json_object_get(other, "location");
            printf("    %s ", name_of(json_object_get(location, "uri")));
            print_range(json_object_get(location, "range"));
            printf(" %s\n", json_string_value(json_object_get(other, "message")));
        }
    }
}

static void print_symbols(const json_t *symbols, int indent)
{
    const json_t *symbol;
    size_t i;
    json_array_foreach(symbols, i, symbol)
    {
        const char *detail = json_string_value(json_object_get(symbol, "detail"));
        printf("%*s%s, kind %d, ", indent, "", json_string_value(json_object_get(symbol, "name")),
               (int)json_integer_value(json_object_get(symbol, "kind")));
        print_range(json_object_get(symbol, "range"));
        printf(", name ");
        print_range(json_object_get(symbol, "selectionRange"));
        printf("%s%s\n", detail ? ": " : "", detail ? detail : "");
        print_symbols(json_object_get(symbol, "children"), indent + 2);
    }
}

static void print_completions(const Client *c, const json_t *items)
{
    const json_t *item;
    size_t i;
    json_array_foreach(items, i, item)
    {
        const char *label = json_string_value(json_object_get(item, "label"));
        const char *detail = json_string_value(json_object_get(item, "detail"));
        if (strncmp(label, c->prefix, strlen(c->prefix)) != 0) continue;
        printf("  %s, kind %d%s%s\n", label, (int)json_integer_value(json_object_get(item, "kind")), detail ? ": " : "",
               detail ? detail : "");
    }
}

static void print_edits(const json_t *edits)
{
    const json_t *edit;
    size_t i;
    json_array_foreach(edits, i, edit)
    {
        printf("  ");
        print_range(json_object_get(edit, "range"));
        printf("\n");
        print_indented(json_string_value(json_object_get(edit, "newText")), 4);
    }
}

static void print_json(const json_t *value);

static void print_locations(const json_t *locations)
{
    const json_t *location;
    size_t i;
    json_array_foreach(locations, i, location)
    {
        printf("  %s ", name_of(json_object_get(location, "uri")));
        print_range(json_object_get(location, "range"));
        printf("\n");
    }
}

static void print_changes(const json_t *changes)
{
    const char *uri;
    json_t *edits;
    json_object_foreach((json_t *)changes, uri, edits)
    {
        json_t *name = json_string(uri);
        printf("  in %s\n", name_of(name));
        print_edits(edits);
        json_decref(name);
    }
}

static void print_signature(const json_t *result)
{
    const json_t *signature = json_array_get(json_object_get(result, "signatures"), 0);
    const json_t *params = json_object_get(signature, "parameters");
    const json_t *doc = json_object_get(json_object_get(signature, "documentation"), "value");
    size_t active = (size_t)json_integer_value(json_object_get(result, "activeParameter"));
    printf("  %s\n    at ", json_string_value(json_object_get(signature, "label")));
    const json_t *label = json_object_get(json_array_get(params, active), "label");
    if (label)
        json_dumpf(label, stdout, JSON_ENCODE_ANY);
    else
        printf("none of %d", (int)json_array_size(params));
    printf("\n");
    if (doc) print_indented(json_string_value(doc), 4);
}

static void print_actions(const json_t *actions)
{
    const json_t *action;
    size_t i;
    json_array_foreach(actions, i, action)
    {
        printf("  %s: %s\n", json_string_value(json_object_get(action, "kind")),
               json_string_value(json_object_get(action, "title")));
        print_changes(json_object_get(json_object_get(action, "edit"), "changes"));
    }
}

/* A token a line: LINE:COLUMN+LENGTH type.modifiers, as numbers. */
static void print_tokens(const json_t *data)
{
    int line = 1, column = 1;
    for (size_t i = 0; i + 4 < json_array_size(data); i += 5) {
        int five[5];
        for (size_t n = 0; n < 5; n++) five[n] = (int)json_integer_value(json_array_get(data, i + n));
        column = five[0] ? 1 + five[1] : column + five[1];
        line += five[0];
        printf("  %d:%d+%d type %d, %d\n", line, column, five[2], five[3], five[4]);
    }
}

static void print_lenses(const json_t *lenses)
{
    const json_t *lens;
    size_t i;
    json_array_foreach(lenses, i, lens)
    {
        const json_t *command = json_object_get(lens, "command"), *args = json_object_get(command, "arguments");
        printf("  ");
        print_range(json_object_get(lens, "range"));
        printf(" %s: %s %s \"%s\"\n", json_string_value(json_object_get(command, "title")),
               json_string_value(json_object_get(command, "command")), name_of(json_array_get(args, 0)),
               json_string_value(json_array_get(args, 1)));
    }
}

static void print_found(const json_t *symbols)
{
    const json_t *symbol;
    size_t i;
    json_array_foreach(symbols, i, symbol)
    {
        const json_t *location = json_object_get(symbol, "location");
        printf("  %s, kind %d, %s ", json_string_value(json_object_get(symbol, "name")),
               (int)json_integer_value(json_object_get(symbol, "kind")), name_of(json_object_get(location, "uri")));
        print_range(json_object_get(location, "range"));
        printf("\n");
    }
}

static void print_json(const json_t *value)
{
    json_dumpf(value, stdout, JSON_INDENT(2) | JSON_SORT_KEYS | JSON_ENCODE_ANY);
    putchar('\n');
}

static void print_result(const Client *c, const json_t *result)
{
    printf("%s:\n", c->command);
    if (json_is_null(result)) {
        puts("  nothing");
    } else if (strcmp(c->command, "hover") == 0) {
        printf("  ");
        print_range(json_object_get(result, "range"));
        printf("\n");
        print_indented(json_string_value(json_object_get(json_object_get(result, "contents"), "value")), 4);
    } else if (strcmp(c->command, "definition") == 0) {
        printf("  %s ", name_of(json_object_get(result, "uri")));
        print_range(json_object_get(result, "range"));
        printf("\n");
    } else if (strcmp(c->command, "symbols") == 0) {
        print_symbols(result, 2);
    } else if (strcmp(c->command, "references") == 0 || strcmp(c->command, "uses") == 0) {
        print_locations(result);
    } else if (strcmp(c->command, "prepare") == 0) {
        printf("  ");
        print_range(json_object_get(result, "range"));
        printf(" %s\n", json_string_value(json_object_get(result, "placeholder")));
    } else if (strcmp(c->command, "rename") == 0) {
        print_changes(json_object_get(result, "changes"));
    } else if (strcmp(c->command, "signature") == 0) {
        print_signature(result);
    } else if (strcmp(c->command, "actions") == 0) {
        print_actions(result);
    } else if (strcmp(c->command, "tokens") == 0) {
        print_tokens(json_object_get(result, "data"));
    } else if (strcmp(c->command, "lenses") == 0) {
        print_lenses(result);
    } else if (strcmp(c->command, "find") == 0) {
        print_found(result);
    } else if (strcmp(c->command, "complete") == 0) {
        print_completions(c, result);
    } else {
        print_edits(result);
    }
}

static void print_message(Client *c, json_t *message)
{
    const char *method = json_string_value(json_object_get(message, "method"));
    const json_t *result = json_object_get(message, "result");
    if (method && strcmp(method, "textDocument/publishDiagnostics") == 0)
        print_diagnostics(json_object_get(message, "params"));
    else if (result && c->command)
        print_result(c, result);
    else
        print_json(message);
    c->command = NULL;
}

/* ---- talking ---- */

static void send_text(Client *c, const char *body)
{
    fprintf(c->to, "Content-Length: %zu\r\n\r\n%s", strlen(body), body);
}

static void send_message(Client *c, json_t *message)
{
    char *body = json_dumps(message, JSON_COMPACT);
    if (!body) die("a message cannot be made");
    send_text(c, body);
    free(body);
    json_decref(message);
}

/* NULL at the end of the server's output. */
static json_t *receive(Client *c)
{
    char line[256];
    size_t len = 0;
    while (fgets(line, sizeof line, c->from) && strcmp(line, "\r\n") != 0) {
        if (sscanf(line, "Content-Length: %zu", &len) != 1) die("a head says: %s", line);
    }
    if (feof(c->from)) return NULL;
    char *body = malloc(len + 1);
    if (!body || fread(body, 1, len, c->from) != len) die("a body is cut short");
    json_error_t error;
    json_t *message = json_loadb(body, len, 0, &error);
    if (!message) die("a body is not JSON: %s", error.text);
    free(body);
    return message;
}

static void read_messages(Client *c, int count)
{
    fflush(c->to);
    for (int i = 0; i < count; i++) {
        json_t *message = receive(c);
        if (!message) die("the server has ended");
        print_message(c, message);
        json_decref(message);
    }
}

static void notify(Client *c, const char *method, json_t *params)
{
    send_message(c, json_pack("{s:s, s:s, s:o}", "jsonrpc", "2.0", "method", method, "params", params));
}

/* ---- the script ---- */

/* The next word; the rest of the line goes on behind it. */
static char *take_word(char **rest)
{
    char *word = *rest + strspn(*rest, " ");
    char *end = word + strcspn(word, " ");
    *rest = *end ? end + 1 : end;
    *end = 0;
    return word;
}

static char *read_block(FILE *script)
{
    char *line = NULL, *text = NULL;
    size_t cap = 0, len = 0;
    FILE *out = open_memstream(&text, &len);
    while (getline(&line, &cap, script) > 0 && strcmp(line, ">>\n") != 0) fputs(line, out);
    fclose(out);
    free(line);
    return text;
}

static json_t *place_of(const char *word)
{
    int line, column;
    if (sscanf(word, "%d:%d", &line, &column) != 2) die("'%s' is not a place", word);
    return json_pack("{s:i, s:i}", "line", line - 1, "character", column - 1);
}

static json_t *range_of(char *word)
{
    char *to = strchr(word, '-');
    if (!to) die("'%s' is not a range", word);
    *to = 0;
    return json_pack("{s:o, s:o}", "start", place_of(word), "end", place_of(to + 1));
}

static json_t *uri_of(const char *name)
{
    return json_sprintf("%s%s", prefix, name);
}

static json_t *string_of(const char *json)
{
    json_t *string = json_loads(json, JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);
    if (!json_is_string(string)) die("not a JSON string: %s", json);
    return string;
}

static void open_document(Client *c, const char *name, const char *text)
{
    notify(c, "textDocument/didOpen",
           json_pack("{s:{s:o, s:s, s:i, s:s}}", "textDocument", "uri", uri_of(name), "languageId", "tfy", "version",
                     ++c->last_version, "text", text));
    read_messages(c, 1);
}

static void change_document(Client *c, char *rest, FILE *script)
{
    char *name = take_word(&rest), *range = take_word(&rest), *block = NULL;
    json_t *change;
    if (strcmp(range, "<<") == 0) {
        block = read_block(script);
        change = json_pack("{s:s}", "text", block);
    } else {
        change = json_pack("{s:o, s:o}", "range", range_of(range), "text", string_of(rest));
    }
    notify(c, "textDocument/didChange",
           json_pack("{s:{s:o, s:i}, s:[o]}", "textDocument", "uri", uri_of(name), "version", ++c->last_version,
                     "contentChanges", change));
    free(block);
    read_messages(c, 1);
}

typedef struct Request {
    const char *command, *method;
    bool has_place;
} Request;

static const Request requests[] = {
    {"references", "textDocument/references", true},   {"uses", "textDocument/references", true},
    {"prepare", "textDocument/prepareRename", true},   {"rename", "textDocument/rename", true},
    {"signature", "textDocument/signatureHelp", true}, {"tokens", "textDocument/semanticTokens/full", false},
    {"lenses", "textDocument/codeLens", false},        {"hover", "textDocument/hover", true},
    {"definition", "textDocument/definition", true},   {"complete", "textDocument/completion", true},
    {"symbols", "textDocument/documentSymbol", false}, {"format", "textDocument/formatting", false},
};

static void ask(Client *c, const char *command, const char *method, json_t *params)
{
    c->command = command;
    send_message(
        c, json_pack("{s:s, s:i, s:s, s:o}", "jsonrpc", "2.0", "id", ++c->last_id, "method", method, "params", params));
    read_messages(c, 1);
}

static void ask_actions(Client *c, char *rest)
{
    char *name = take_word(&rest);
    ask(c, "actions", "textDocument/codeAction",
        json_pack("{s:{s:o}, s:o, s:{s:[]}}", "textDocument", "uri", uri_of(name), "range", range_of(take_word(&rest)),
                  "context", "diagnostics"));
}

static bool request(Client *c, const char *command, char *rest)
{
    for (size_t i = 0; i < sizeof requests / sizeof *requests; i++) {
        if (strcmp(requests[i].command, command) != 0) continue;
        json_t *params = json_pack("{s:{s:o}}", "textDocument", "uri", uri_of(take_word(&rest)));
        if (requests[i].has_place) json_object_set_new(params, "position", place_of(take_word(&rest)));
        c->prefix = take_word(&rest);
        c->command = requests[i].command;
        if (strcmp(command, "uses") == 0)
            json_object_set_new(params, "context", json_pack("{s:b}", "includeDeclaration", false));
        if (strcmp(command, "rename") == 0) json_object_set_new(params, "newName", json_string(c->prefix));
        ask(c, requests[i].command, requests[i].method, params);
        return true;
    }
    return false;
}

static void end(Client *c)
{
    int status;
    json_t *message;
    fclose(c->to);
    while ((message = receive(c)) != NULL) {
        print_message(c, message);
        json_decref(message);
    }
    waitpid(c->server, &status, 0);
    if (WIFEXITED(status))
        printf("the server ended with %d\n", WEXITSTATUS(status));
    else
        printf("the server was killed by signal %d\n", WTERMSIG(status));
}

static void write_file(const char *name, const char *text)
{
    for (const char *slash = name; (slash = strchr(slash, '/')) != NULL; slash++) {
        char *directory = strndup(name, (size_t)(slash - name));
        mkdir(directory, 0777);
        free(directory);
    }
    FILE *file = fopen(name, "w");
    if (!file || fputs(text, file) < 0 || fclose(file) != 0) die("cannot write %s", name);
}

static void send_line(Client *c, const char *line)
{
    const char *at = strstr(line, "file:///");
    char *message = NULL;
    if (!at) {
        send_text(c, line);
    } else if (asprintf(&message, "%.*s%s%s", (int)(at - line), line, prefix, at + strlen("file:///")) > 0) {
        send_text(c, message);
        free(message);
    }
}

static void fill(Client *c, char *rest)
{
    long count = strtol(take_word(&rest), NULL, 10);
    for (long i = 0; i < count; i++) fputs(rest, c->to);
}

static void run_line(Client *c, char *line, FILE *script)
{
    char *rest = line, *command = take_word(&rest);
    if (strcmp(command, "open") == 0) {
        char *name = take_word(&rest), *text = read_block(script);
        open_document(c, name, text);
        free(text);
    } else if (strcmp(command, "file") == 0) {
        char *name = take_word(&rest), *text = read_block(script);
        write_file(name, text);
        free(text);
    } else if (strcmp(command, "change") == 0) {
        change_document(c, rest, script);
    } else if (strcmp(command, "close") == 0) {
        notify(c, "textDocument/didClose", json_pack("{s:{s:o}}", "textDocument", "uri", uri_of(take_word(&rest))));
        read_messages(c, 1);
    } else if (strcmp(command, "actions") == 0) {
        ask_actions(c, rest);
    } else if (strcmp(command, "find") == 0) {
        ask(c, "find", "workspace/symbol", json_pack("{s:s}", "query", take_word(&rest)));
    } else if (strcmp(command, "send") == 0) {
        send_line(c, rest);
    } else if (strcmp(command, "raw") == 0) {
        json_t *bytes = string_of(rest);
        fwrite(json_string_value(bytes), 1, json_string_length(bytes), c->to);
        json_decref(bytes);
    } else if (strcmp(command, "fill") == 0) {
        fill(c, rest);
    } else if (strcmp(command, "read") == 0) {
        read_messages(c, atoi(rest));
    } else if (strcmp(command, "end") == 0) {
        end(c);
    } else if (!request(c, command, rest)) {
        die("unknown command '%s'", command);
    }
}

static void start(Client *c, char **command)
{
    int down[2], up[2];
    if (pipe(down) || pipe(up)) die("no pipe");
    c->server = fork();
    if (c->server == 0) {
        dup2(down[0], STDIN_FILENO);
        dup2(up[1], STDOUT_FILENO);
        close(down[0]), close(down[1]), close(up[0]), close(up[1]);
        execvp(command[0], command);
        _exit(127);
    }
    close(down[0]);
    close(up[1]);
    c->to = fdopen(down[1], "w");
    c->from = fdopen(up[0], "r");
    setvbuf(c->to, NULL, _IOFBF, 1 << 20); /* what a script sends between two reads arrives together */
    if (c->server < 0 || !c->to || !c->from) die("the server cannot be started");
}

int main(int argc, char **argv)
{
    Client client = {.prefix = ""};
    char *line = NULL;
    size_t cap = 0;
    FILE *script = argc > 2 ? fopen(argv[1], "r") : NULL;
    if (!script) die("usage: lsp_client SCRIPT SERVER [ARGUMENT…]");
    char *directory = getcwd(NULL, 0);
    snprintf(prefix, sizeof prefix, "file://%s/", directory ? directory : "");
    free(directory);
    signal(SIGPIPE, SIG_IGN);
    start(&client, argv + 2);
    for (ssize_t len; (len = getline(&line, &cap, script)) > 0;) {
        if (line[len - 1] == '\n') line[len - 1] = 0;
        if (*line && *line != '#') run_line(&client, line, script);
        fflush(stdout);
    }
    free(line);
    fclose(script);
    fclose(client.from);
    return 0;
}
