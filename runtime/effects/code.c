/* code.c: code_map, code_symbols, code_outline and code_references: what a project's code defines, and who uses it.
 *
 *   git ls-files ─▶ which files changed ─▶ ctags over these, in parts ─▶ the derived file, the answer
 *      process          pool, each part        process                     pool
 *
 * The processes run in cells (code_cell.h); everything between is work for the pool, which stops early when nobody
 * waits for it. One call after the other works, so that calls side by side find what the first one has read. An outline reads
 * its file alone, and needs no repository. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/list.h"
#include "effects/canvas.h"
#include "effects/code_answer.h"
#include "effects/code_cell.h"
#include "effects/file.h"
#include "effects/former.h"
#include "effects/git.h"
#include "effects/pool.h"
#include "value/heap.h"

#define PROCESS_MS  120000              /* how long one process may take */
#define OUTPUT_MOST ((size_t)128 << 20) /* bytes of a process's output; more is cut */

enum {
    TOKENS_USUAL = 1000,
    TOKENS_MOST = 100000,
    SYMBOLS_USUAL = 20,
    PLACES_USUAL = 50,
    LIMIT_MOST = 1000,
    ENDS_MOST = 100, /* texts that may end a ctags, in one call */
    SAID_BYTES = 400,
};

/* One call. */
typedef struct Code {
    TfyJob job; /* first */
    TfyCall *call;
    struct Code *next_code; /* in the queue */
    TfyProcess *process;    /* running now, or NULL */
    uint64_t timer;         /* its time limit; 0: none */
    bool pooled;            /* the pool has the job */
    bool begun;             /* the scan has */
    TfyConfined cells[2];   /* GIT, TAGS */
    TfyCodeScan scan;
    TfyBuffer told; /* what ctags answered, until it is taken */
    bool has_told;
    int ends;   /* texts that ended a ctags */
    int family; /* what is asked: TFY_F_CODE_… */
    /* the query, the name or the path; or the names of the focus, each with its NUL */
    TfyBuffer asked;
    int64_t most; /* tokens, or items of a list */
    TfyCodeAnswer answer;
    char said[SAID_BYTES]; /* by ctags, on its stderr */
    char wrong[SAID_BYTES + 200];
} Code;

enum { GIT, TAGS };

/* The module's data with the loop. */
typedef struct Codes {
    Code *first, *last; /* the first has its turn */
} Codes;

static void begin(Code *code);
static void add_work(Code *code);

/* ---- one call's life ---- */

static void drop(TfyJob *job)
{
    Code *code = (Code *)job;
    for (int i = 0; i < 2; i++) tfy__confined_free(&code->cells[i]);
    tfy__scan_free(&code->scan);
    tfy__code_answer_free(&code->answer);
    tfy__buffer_free(&code->told);
    tfy__buffer_free(&code->asked);
    free(code);
}

static void on_turn(void *arg)
{
    Code *code = arg;
    code->timer = 0;
    begin(code);
}

static void end_turn(Code *code)
{
    TfyLoop *loop = code->call->loop;
    Codes *codes = *tfy__effect_slot(loop, TFY_M_CODE);
    const bool had_turn = codes->first == code;
    LIST_REMOVE(codes, code, next_code);
    Code *first = codes->first;
    if (had_turn && first) first->timer = tfy__timer_add(loop, tfy__now_ns(loop), on_turn, first);
}

/* Detaches the call, which can be answered afterwards; the rest is freed by the caller. */
static TfyCall *detach(Code *code)
{
    TfyCall *call = code->call;
    if (code->timer) tfy__timer_del(call->loop, code->timer);
    end_turn(code);
    call->state = NULL;
    return call;
}

static TfyCall *leave(Code *code)
{
    TfyCall *call = detach(code);
    drop(&code->job);
    return call;
}

static void code_abort(TfyCall *call)
{
    Code *code = call->state;
    if (!code) return;
    if (code->process) tfy__process_abort(code->process);
    detach(code);
    atomic_store(&code->scan.stop, true);
    if (code->pooled)
        tfy__pool_let_go(call->loop, &code->job);
    else
        drop(&code->job);
}

__attribute__((format(printf, 3, 4))) static void fail(Code *code, int64_t error, const char *format, ...)
{
    char message[1024];
    va_list args;
    va_start(args, format);
    vsnprintf(message, sizeof message, format, args);
    va_end(args);
    tfy__call_tool_error(leave(code), error, "%s", message);
}

static void fail_with(Code *code, int error)
{
    if (tfy__is_no_room(error))
        tfy__call_no_room(leave(code), error);
    else
        fail(code, error, "the code cannot be read: %s", strerror(error));
}

/* ---- processes ---- */

static void on_git(Code *code, const TfyProcessEnd *end)
{
    if (end->code)
        fail(code, end->code, "git cannot list the files of the project: %.*s",
             (int)(end->err.len > 300 ? 300 : tfy__git_line_len(&end->err)), end->err.data ? end->err.data : "");
    else if (end->out_cut)
        fail(code, E2BIG, "the project has more files than a code map can hold (%d)", TFY_CODE_FILES);
    else {
        tfy__buffer_add(&code->scan.listed, end->out.data ? end->out.data : "", end->out.len);
        add_work(code);
    }
}

static void on_tags(Code *code, const TfyProcessEnd *end)
{
    snprintf(code->said, sizeof code->said, "%.*s", (int)tfy__git_line_len(&end->err),
             end->err.data ? end->err.data : "");
    tfy__buffer_reset(&code->told);
    tfy__buffer_add(&code->told, end->out.data ? end->out.data : "", end->out.len);
    code->has_told = true;
    add_work(code);
}

static void on_end(Code *code, int which, const TfyProcessEnd *end)
{
    code->process = NULL;
    tfy__timer_del(code->call->loop, code->timer);
    code->timer = 0;
    if (end->no_room)
        tfy__call_no_room(leave(code), end->error);
    else if (end->error == ENOENT && which == TAGS)
        fail(code, ENOENT, "the code map needs Universal Ctags: install the package universal-ctags");
    else if (end->error)
        fail(code, end->error, "%s%s", end->message, end->error == ENOENT ? "; the code map needs git" : "");
    else if (which == GIT)
        on_git(code, end);
    else
        on_tags(code, end);
}

static void on_git_end(void *arg, const TfyProcessEnd *end)
{
    on_end(arg, GIT, end);
}

static void on_tags_end(void *arg, const TfyProcessEnd *end)
{
    on_end(arg, TAGS, end);
}

static void on_late(void *arg)
{
    Code *code = arg;
    code->timer = 0;
    tfy__process_abort(code->process);
    code->process = NULL;
    fail(code, ETIMEDOUT, "reading the code took longer than %d s", PROCESS_MS / 1000);
}

static void run(Code *code, int which, const TfyProcessSpec *wanted, TfyProcessHandler handler)
{
    TfyLoop *loop = code->call->loop;
    TfyProcessSpec spec = *wanted;
    spec.env = tfy__code_environment;
    spec.key = code->call->key;
    spec.cwd_fd = tfy__root_fd(code->call->task);
    spec.output_cap = OUTPUT_MOST;
    spec.confined = &code->cells[which];
    code->process = tfy__process_start(loop, &spec, handler, code);
    if (code->process)
        code->timer = tfy__timer_add(loop, tfy__now_ns(loop) + PROCESS_MS * TFY_NS_PER_MS, on_late, code);
    else
        fail_with(code, errno);
}

/* Files that git knows, and those that it would: new ones that are not ignored. */
static void run_git(Code *code)
{
    static const char *const settings[] = {TFY_GIT_SETTINGS, "safe.directory=*"};
    static const char *const list[] = {"ls-files", "-z", "--cached", "--others", "--exclude-standard"};
    enum { SETTINGS = sizeof settings / sizeof *settings, LIST = sizeof list / sizeof *list };
    const char *argv[2 * SETTINGS + LIST + 2] = {"git"};
    int at = 1;
    for (int i = 0; i < SETTINGS; i++) {
        argv[at++] = "-c";
        argv[at++] = settings[i];
    }
    for (int i = 0; i < LIST; i++) argv[at++] = list[i];
    run(code, GIT, &(TfyProcessSpec){.argv = argv}, on_git_end);
}

static void run_tags(Code *code)
{
    const TfyTags *tags = &code->scan.tags;
    const size_t begin = tags->requests[tags->done].begin;
    run(code, TAGS,
        &(TfyProcessSpec){
            .argv = tfy__tags_words, .input = tags->input.data + begin, .input_len = tags->input.len - begin},
        on_tags_end);
}

/* ---- work, on the pool ---- */

static const char *next_name(const Code *code, const char *name)
{
    const char *next = name ? name + strlen(name) + 1 : code->asked.data;
    return next && next < code->asked.data + code->asked.len ? next : NULL;
}

/* NULL: no memory, or a name that means nothing; then code->wrong says so. */
static bool *focus_of(Code *code)
{
    const TfyCodeIndex *index = &code->scan.now;
    bool *focus = tfy__sys_calloc((size_t)index->file_count + 1, sizeof *focus);
    for (const char *name = next_name(code, NULL); focus && name; name = next_name(code, name)) {
        if (tfy__code_focus(index, name, focus)) continue;
        snprintf(code->wrong, sizeof code->wrong, "focus: there is no file, directory or definition '%.200s'", name);
        free(focus);
        return NULL;
    }
    return focus;
}

static void answer(Code *code)
{
    TfyCodeScan *scan = &code->scan;
    TfyCodeRank rank;
    bool *focus = NULL;
    const char *asked = code->asked.data ? code->asked.data : "";
    if (code->family == TFY_F_CODE_MAP && code->asked.len && !(focus = focus_of(code))) {
        if (!*code->wrong) scan->error = ENOMEM;
        return;
    }
    const bool ranked = tfy__code_rank(&scan->now, focus, &rank);
    free(focus);
    if (ranked && code->family == TFY_F_CODE_MAP)
        tfy__code_answer_map(&scan->now, &rank, (size_t)code->most, &code->answer);
    else if (ranked && code->family == TFY_F_CODE_SYMBOLS)
        tfy__code_answer_symbols(&scan->now, &rank, asked, (uint32_t)code->most, &code->answer);
    else if (ranked)
        tfy__code_answer_places(scan, &rank, asked, (uint32_t)code->most, &code->answer);
    if (ranked) tfy__code_rank_free(&rank);
    if (!ranked || code->answer.failed) scan->error = ENOMEM;
}

/* Reads the one file; what is not code has no symbols. */
static void begin_outline(Code *code)
{
    TfyCodeScan *scan = &code->scan;
    const char *path = code->asked.data;
    const int error = tfy__file_read(scan->protect, scan->root_fd, path, true, TFY_CODE_FILE, &scan->text);
    if (error && error != -EFBIG) {
        scan->error = -error;
        return;
    }
    tfy__code_add_file(&scan->now, path, &(TfyCodeStamp){0});
    if (!error && scan->text.len && tfy__scan_is_code(scan->text.data, scan->text.len) && !scan->now.failed)
        scan->now.failed = !tfy__tags_ask(&scan->tags, 0, path, scan->text.data, scan->text.len);
    if (scan->now.failed) scan->error = ENOMEM;
}

static void take_told(Code *code)
{
    TfyCodeScan *scan = &code->scan;
    code->has_told = false;
    const bool met = tfy__tags_take(&scan->tags, &scan->now, code->told.data ? code->told.data : "", code->told.len);
    if (scan->now.failed || code->told.failed) scan->error = ENOMEM;
    code->ends += scan->tags.done < scan->tags.count;
    if (!met)
        snprintf(code->wrong, sizeof code->wrong,
                 "'ctags' is not Universal Ctags with JSON, which the code map needs: install the package "
                 "universal-ctags%s%s",
                 *code->said ? "; it said: " : "", code->said);
    else if (code->ends > ENDS_MOST)
        snprintf(code->wrong, sizeof code->wrong, "ctags was ended %d times by what it read", code->ends);
}

static void work(TfyJob *job)
{
    Code *code = (Code *)job;
    TfyCodeScan *scan = &code->scan;
    const bool is_outline = code->family == TFY_F_CODE_OUTLINE;
    if (!code->begun && is_outline)
        begin_outline(code);
    else if (!code->begun)
        tfy__scan_begin(scan);
    code->begun = true;
    if (code->has_told) take_told(code);
    if (scan->error || *code->wrong || scan->tags.done < scan->tags.count) return;
    if (!is_outline) {
        tfy__tags_reset(&scan->tags);
        tfy__scan_some(scan);
    }
    if (scan->error || scan->tags.done < scan->tags.count) return;
    if (is_outline) {
        tfy__code_answer_outline(&scan->now, 0, &code->answer);
        if (code->answer.failed) scan->error = ENOMEM;
        return;
    }
    tfy__scan_end(scan);
    answer(code);
}

/* ---- answers ---- */

static TfyObj *text_of(TfyTask *task, const char *text, size_t len)
{
    return tfy_string_of(task, text, len);
}

static bool optional_text(TfyTask *task, const TfyCodeIndex *index, uint32_t string, TfyValue *out)
{
    const char *text = tfy__code_text(index, string);
    *out = tfy_of_obj(NULL);
    if (string) *out = tfy_of_obj(text_of(task, text, strlen(text)));
    return !string || out->o;
}

static TfyObj *symbol_of(TfyTask *task, const TfyCodeIndex *index, const TfyCodeHit *hit)
{
    const TfyCodeSymbol *symbol = &index->symbols[hit->symbol];
    TfyValue fields[7];
    if (!optional_text(task, index, symbol->name, &fields[0]) ||
        !optional_text(task, index, symbol->kind, &fields[1]) ||
        !optional_text(task, index, index->files[hit->file].path, &fields[2]) ||
        !optional_text(task, index, symbol->signature, &fields[5]) ||
        !optional_text(task, index, symbol->scope, &fields[6]))
        return NULL;
    fields[3] = tfy_of_int(symbol->line);
    fields[4] = tfy_of_int(symbol->end);
    return tfy_record_of(task, &tfy_type_symbol, fields);
}

static TfyObj *place_of(TfyTask *task, const Code *code, const TfyCodePlace *place)
{
    const TfyCodeIndex *index = &code->scan.now;
    TfyValue fields[3];
    if (!optional_text(task, index, index->files[place->file].path, &fields[0])) return NULL;
    fields[1] = tfy_of_int(place->line);
    fields[2] = tfy_of_obj(text_of(task, code->answer.text.data + place->at, place->len));
    return fields[2].o ? tfy_record_of(task, &tfy_type_place, fields) : NULL;
}

static TfyObj *list_of(TfyTask *task, const TfyType *type, const Code *code)
{
    const TfyCodeAnswer *given = &code->answer;
    const bool is_places = code->family == TFY_F_CODE_REFERENCES;
    const uint32_t count = is_places ? given->place_count : given->hit_count;
    TfyValue *values = tfy__sys_malloc(((size_t)count + 1) * sizeof *values);
    bool ok = values != NULL;
    for (uint32_t i = 0; ok && i < count; i++)
        ok = (values[i].o = is_places ? place_of(task, code, &given->places[i])
                                      : symbol_of(task, &code->scan.now, &given->hits[i])) != NULL;
    TfyObj *list = ok ? tfy_list_of(task, type, count, values) : NULL;
    free(values);
    return list;
}

static void give(Code *code)
{
    TfyTask *task = code->call->task; /* answering the call may free it */
    TfyHeap *heap = task->heap;
    const uint32_t mark = tfy_mark(task);
    const TfyBuffer *text = &code->answer.text;
    TfyObj *result = code->family == TFY_F_CODE_MAP ? text_of(task, text->data ? text->data : "", text->len)
                                                    : list_of(task, code->call->result, code);
    TfyCall *call = leave(code);
    if (result)
        tfy__call_done(call, tfy_of_obj(result));
    else if (task->error)
        tfy__call_panicked(call);
    else
        tfy__call_starved(call);
    if (heap->temp_count > mark) tfy__cut(heap, mark);
}

static void done(TfyJob *job)
{
    Code *code = (Code *)job;
    const TfyTags *tags = &code->scan.tags;
    const int error = code->scan.error;
    code->pooled = false;
    if (*code->wrong)
        fail(code, EINVAL, "%s", code->wrong);
    else if (error == E2BIG)
        fail(code, E2BIG, "the project has more files than a code map can hold (%d)", TFY_CODE_FILES);
    else if (error && code->family == TFY_F_CODE_OUTLINE) {
        TfyCall *call = leave(code);
        tfy__file_error(call, "outline", ((const TfyString *)call->args[0].o)->bytes, error);
    } else if (error)
        fail_with(code, error);
    else if (tags->done < tags->count)
        run_tags(code);
    else
        give(code);
}

static void add_work(Code *code)
{
    code->job.work = work;
    code->job.done = done;
    code->job.drop = drop;
    const int failed = tfy__pool_add(code->call->loop, &code->job);
    code->pooled = failed == 0;
    if (failed) fail_with(code, failed == TFY_E_STATE ? errno : ENOMEM);
}

/* ---- the start ---- */

/* Plans both cells. False: the call, or the loop, has failed. */
static bool confine(Code *code)
{
    TfyLoop *loop = code->call->loop;
    const TfyCeiling ceiling = tfy__ceiling(code->call->task);
    const bool is_outline = code->family == TFY_F_CODE_OUTLINE;
    char why[TFY_CONFINED_WHY];
    uint32_t level = TFY_CELL_FULL;
    const bool open = ceiling.sandbox && strcmp(ceiling.sandbox, "open") == 0;
    const int refused = open ? TFY_OK : tfy__sandbox_level(loop, &level, why);
    if (refused) {
        leave(code);
        tfy__loop_fail(loop, refused, "%s", why);
        return false;
    }
    for (int i = 0; i < 2; i++) code->cells[i].open = open;
    int error = is_outline ? 0 : tfy__code_cell_git(code->call->task, level, &code->cells[GIT]);
    if (error == ENOENT) {
        fail(code, error,
             "the working root is not in a git repository, whose files a code map shows (git init makes one)");
        return false;
    }
    if (!error) error = tfy__code_cell_tags(level, &code->cells[TAGS]);
    if (error) fail_with(code, error);
    return !error;
}

static void begin(Code *code)
{
    if (!confine(code)) return;
    if (code->family == TFY_F_CODE_OUTLINE)
        add_work(code);
    else
        run_git(code);
}

static bool add_names(TfyBuffer *out, const TfyObj *list)
{
    for (int64_t i = 0; list && i < tfy_list_len(list); i++) {
        const TfyString *name = (const TfyString *)tfy_list_item(list, i).o;
        tfy__buffer_add(out, name->bytes, strlen(name->bytes) + 1);
    }
    return !out->failed;
}

/* Takes what is asked out of the arguments. False: the call has failed. */
static bool take_arguments(TfyCall *call, Code *code)
{
    static const struct {
        const char *name;
        int64_t usual, most;
    } bounds[] = {[TFY_F_CODE_MAP - TFY_F_CODE_MAP] = {"tokens", TOKENS_USUAL, TOKENS_MOST},
                  [TFY_F_CODE_SYMBOLS - TFY_F_CODE_MAP] = {"limit", SYMBOLS_USUAL, LIMIT_MOST},
                  [TFY_F_CODE_OUTLINE - TFY_F_CODE_MAP] = {"", 1, 1},
                  [TFY_F_CODE_REFERENCES - TFY_F_CODE_MAP] = {"limit", PLACES_USUAL, LIMIT_MOST}};
    const int which = code->family - TFY_F_CODE_MAP;
    const TfyObj *given = code->family == TFY_F_CODE_OUTLINE ? NULL : call->args[1].o, *first = call->args[0].o;
    const char *text = first && code->family != TFY_F_CODE_MAP ? ((const TfyString *)first)->bytes : "";
    char message[96];
    code->most = given ? tfy_unbox(given).i : bounds[which].usual;
    if (code->most < 1 || code->most > bounds[which].most) {
        snprintf(message, sizeof message, "%s is a number from 1 to %lld", bounds[which].name,
                 (long long)bounds[which].most);
        tfy__call_bad_value(call, bounds[which].name, message);
        return false;
    }
    if (code->family == TFY_F_CODE_OUTLINE && !(text = tfy__path_below(call->task, first))) {
        tfy__file_error(call, "outline", ((const TfyString *)first)->bytes, EXDEV);
        return false;
    }
    if (code->family != TFY_F_CODE_MAP) tfy__buffer_add(&code->asked, text, strlen(text));
    if (!code->asked.failed && (code->family != TFY_F_CODE_MAP || add_names(&code->asked, first))) return true;
    tfy__call_starved(call);
    return false;
}

static Codes *codes_of(TfyLoop *loop)
{
    Codes **place = (Codes **)tfy__effect_slot(loop, TFY_M_CODE);
    if (!*place) *place = tfy__sys_calloc(1, sizeof **place);
    return *place;
}

static void code_start(TfyCall *call)
{
    Codes *codes = codes_of(call->loop);
    Code *code = codes ? tfy__sys_calloc(1, sizeof *code) : NULL;
    call->outcome = TFY_NOT_DONE; /* it only reads */
    if (!code || !(code->scan.protect = tfy__protect_new(call->loop, tfy__root_fd(call->task)))) {
        free(code);
        tfy__call_starved(call);
        return;
    }
    code->family = call->tool->family;
    code->scan.root_fd = tfy__root_fd(call->task);
    if (!take_arguments(call, code)) {
        drop(&code->job);
        return;
    }
    code->call = call;
    call->state = code;
    LIST_APPEND(codes, code, next_code);
    if (tfy__root_is_gone(call->task))
        tfy__file_error(leave(code), "read", ".", ENOENT);
    else if (codes->first == code)
        begin(code);
}

static void code_close(TfyLoop *loop)
{
    void **place = tfy__effect_slot(loop, TFY_M_CODE);
    tfy__pool_close(loop);
    free(*place);
    *place = NULL;
    tfy__process_close(loop);
    tfy__sandbox_close(loop);
}

#define CODE(Name)                                                                                                     \
    const TfyPerformer tfy__perform_##Name = {.name = #Name,                                                           \
                                              .start = code_start,                                                     \
                                              .abort = code_abort,                                                     \
                                              .close = code_close,                                                     \
                                              .prepare = tfy__canvas_prepare,                                          \
                                              .end_former = tfy__former_end}

CODE(code_map);
CODE(code_symbols);
CODE(code_outline);
CODE(code_references);
