/* crashtest.c: tfy crashtest: kills a user's program at every commit and at every stop of a task, each time in a
 * fresh directory, resumes it until it ends, and compares the run with an undisturbed one.
 *
 * The first run is a real one and supplies the answers for the others, unless those must be real too. The second runs
 * under the conditions of the trials, which are compared with it; it also counts the places. The third commits on a
 * thread, as resuming processes do, and shows whether two undisturbed runs are the same at all: where tasks race,
 * only results and effects are compared. */
#include <ctype.h>
#include <errno.h>
#include <ftw.h>
#include <jansson.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/own_path.h"
#include "base/terminal.h"
#include "cli/frame/commands.h"
#include "cli/make/compile.h"
#include "cli/crash/crash.h"

enum { JOBS_MAX = 64, KINDS = 4 };
static const char *const kinds[KINDS] = {"before", "after", "checkpoint", "point"}; /* base/kill_point.h */

typedef struct CrashTest {
    const TfyArgs *args;
    char scratch[PATH_MAX];
    char *program, *tfy, *copy, *answers, *name;
    char *varying;          /* files that differ between any two runs */
    char *words[WORDS_MAX]; /* options and parameters for `run`, owned; NULL-terminated */
    int word_count;
    int again_count; /* number of them that `resume` gets too */
    const char *again[WORDS_MAX];
    Case trial;
    Outcome reference;
    int places[KINDS];
    /* the requested places: */
    int every;
    int only_kind, only_count; /* only_count 0: all places */
    int jobs;
    /* counts of trials by outcome: */
    int same, differ, unknown;
} CrashTest;

/* ---- the command line ---- */

static bool refuse_at(const char *text)
{
    tfy__say("'%s' is not a place; --at takes every, a number, or before:N, after:N, checkpoint:N or point:N", text);
    return false;
}

static bool read_count(const char *text, int *out)
{
    char *end;
    errno = 0;
    const long number = isdigit((unsigned char)*text) ? strtol(text, &end, 10) : 0;
    if (number < 1 || number > INT_MAX || *end || errno) return false;
    *out = (int)number;
    return true;
}

static bool read_at(CrashTest *test, const char *text)
{
    test->every = 1;
    if (!text || strcmp(text, "every") == 0 || read_count(text, &test->every)) return true;
    const char *colon = strchr(text, ':');
    for (int i = 0; colon && i < KINDS; i++) {
        if (strlen(kinds[i]) != (size_t)(colon - text) || strncmp(kinds[i], text, strlen(kinds[i])) != 0) continue;
        test->only_kind = i;
        return read_count(colon + 1, &test->only_count) || refuse_at(text);
    }
    return refuse_at(text);
}

static bool read_jobs(CrashTest *test, const char *text)
{
    const long processors = sysconf(_SC_NPROCESSORS_ONLN);
    test->jobs = processors < 1 ? 1 : processors > JOBS_MAX ? JOBS_MAX : (int)processors;
    if (!text || (read_count(text, &test->jobs) && test->jobs <= JOBS_MAX)) return true;
    tfy__say("'%s' is not a number of trials; --jobs takes 1 to %d", text, JOBS_MAX);
    return false;
}

/* Trials run in other directories, so file names relative to the current directory become absolute. */
static char *absolute_name(const char *text)
{
    char place[PATH_MAX];
    if (text[0] == '/' || !getcwd(place, sizeof place)) return crash_text("%s", text);
    return crash_text("%s/%s", place, text);
}

static char *option_value(TfyOption option, const char *value)
{
    if (option == OPT_SECRETS) return absolute_name(value);
    const char *colon = option == OPT_LLM ? strchr(value, ':') : NULL;
    if (!colon || (strncmp(value, "cassette:", 9) != 0 && strncmp(value, "record:", 7) != 0))
        return crash_text("%s", value);
    char *file = absolute_name(colon + 1), *text = crash_text("%.*s:%s", (int)(colon - value), value, file);
    free(file);
    return text;
}

static void add_word(CrashTest *test, char *word)
{
    if (test->word_count == WORDS_MAX - 8) crash_die("there are too many parameters");
    test->words[test->word_count++] = word;
}

/* The options that run and resume share, then the workflow, then the parameters. */
static void make_words(CrashTest *test)
{
    static const TfyOption shared[] = {
        OPT_CEILING,    OPT_CEILING_NETWORK, OPT_CELL_LEVEL,   OPT_LLM,       OPT_MAX_FILE,
        OPT_MAX_MEMORY, OPT_MAX_OUTPUT,      OPT_MAX_QUEUE,    OPT_MAX_TASKS, OPT_POLICY,
        OPT_RUNNERS,    OPT_SECRETS,         OPT_SECRETS_FROM, OPT_YES,       OPT_YOLO};
    const TfyArgs *args = test->args;
    for (size_t i = 0; i < sizeof shared / sizeof *shared; i++) {
        const TfyOptionInfo *info = tfy__option_at((int)shared[i]);
        const char *given = args->option[shared[i]];
        if (!given) continue;
        char *value = info->argument ? option_value(shared[i], given) : NULL;
        add_word(test, value ? crash_text("--%s=%s", info->name, value) : crash_text("--%s", info->name));
        free(value);
    }
    for (test->again_count = 0; test->again_count < test->word_count; test->again_count++)
        test->again[test->again_count] = test->words[test->again_count];
    if (args->option[OPT_WORKFLOW]) add_word(test, crash_text("--workflow=%s", args->option[OPT_WORKFLOW]));
    if (args->param_count) add_word(test, crash_text("--"));
    for (int i = 0; i < args->param_count; i++) {
        const char *name = args->params[2 * i], *value = args->params[2 * i + 1];
        add_word(test, value ? crash_text("--%s=%s", name, value) : crash_text("--%s", name));
    }
}

static bool read_arguments(CrashTest *test)
{
    const TfyArgs *args = test->args;
    struct stat status;
    const char *copy = args->option[OPT_COPY];
    if (!read_at(test, args->option[OPT_KILL_AT]) || !read_jobs(test, args->option[OPT_JOBS])) return false;
    test->copy = copy ? realpath(copy, NULL) : NULL;
    if (copy && (!test->copy || stat(test->copy, &status) < 0 || !S_ISDIR(status.st_mode))) {
        tfy__say("there is no directory '%s' to copy", copy);
        return false;
    }
    make_words(test);
    return true;
}

/* ---- the undisturbed runs ---- */

/* Quotes a word for a shell. */
static char *quoted(const char *word)
{
    TfyBuffer text = {0};
    tfy__buffer_shell_word(&text, word);
    if (text.failed) crash_die("memory ran out");
    return text.data;
}

static void describe(CrashTest *test)
{
    char *copy = test->copy ? quoted(test->copy) : NULL;
    test->answers = crash_text("%s/answers", test->scratch);
    test->trial = (Case){.name = test->name,
                         .program = test->program,
                         .tfy = test->tfy,
                         .scratch = test->scratch,
                         .setup = copy ? crash_text("cp -a %s/. .", copy) : NULL,
                         .rehearsed = true,
                         .loose = test->args->option[OPT_LOOSE] != NULL,
                         .any_output = test->args->option[OPT_LOOSE] != NULL,
                         .args = (const char *const *)test->words,
                         .again = test->again};
    free(copy);
}

/* Performs one undisturbed run. Returns false after a message. */
static bool undisturbed(CrashTest *test, Outcome *outcome, const char *which, const char *answers, bool in_line)
{
    char *why = crash_trial_reference(&test->trial, outcome, answers, in_line);
    if (!why) return true;
    tfy__say("%s of %s cannot be compared with: %s%s", which, test->name, why,
             outcome->status == EXIT_WAITING ? "crashtest answers nobody's questions; --yes answers every approval "
                                               "with yes, unless untrusted values reach its call (--yolo)"
                                             : "");
    free(why);
    return false;
}

static bool same_text(const char *a, const char *b)
{
    return !a == !b && (!a || strcmp(a, b) == 0);
}

static bool read_places(CrashTest *test)
{
    const char *text = test->reference.counts;
    for (int i = 0; i < KINDS; i++) {
        char name[16];
        if (sscanf(text, "%15s %d", name, &test->places[i]) != 2 || strcmp(name, kinds[i]) != 0) return false;
        text += strcspn(text, "\n") + 1;
    }
    return true;
}

/* Files that differ between any two runs do not count as a difference. Returns false after a message. */
static bool same_files(CrashTest *test, const Outcome *third)
{
    char *names = crash_files_varying(test->reference.effects, third->effects);
    if (!names) {
        tfy__say("two undisturbed runs of %s already leave different files: there is nothing to compare with",
                 test->name);
        return false;
    }
    test->varying = names;
    if (!names[1]) return true;
    tfy__say("two undisturbed runs of %s already leave different things in these files, so only their names are "
             "compared:%.*s",
             test->name, (int)strlen(names) - 1, names);
    test->trial.varying = names;
    test->reference.effects = crash_files_mask(test->reference.effects, names);
    return true;
}

/* Performs the three runs. Returns false after a message. */
static bool rehearse(CrashTest *test)
{
    const bool real = test->args->option[OPT_REAL] != NULL;
    Outcome first = {0}, third = {0};
    bool good = undisturbed(test, &first, "a first run", test->answers, true);
    if (good && !real) test->trial.answers = test->answers;
    good = good && undisturbed(test, &test->reference, "a second run", NULL, true) &&
           undisturbed(test, &third, "a third run", NULL, false);
    if (good && (test->reference.status != third.status || !same_text(test->reference.value, third.value))) {
        tfy__say(
            "two undisturbed runs of %s already come to different ends (%s and %s): there is nothing to compare with",
            test->name, test->reference.value ? test->reference.value : "none", third.value ? third.value : "none");
        good = false;
    }
    good = good && same_files(test, &third);
    if (good && !test->trial.loose && !crash_history_same(test->reference.history, third.history)) {
        test->trial.loose = test->trial.any_output = true;
        tfy__say("the tasks of %s race: two undisturbed runs have different histories, so only results and effects are "
                 "compared",
                 test->name);
    }
    if (good && !read_places(test)) {
        tfy__say("%s was not built by this tfy", test->program);
        good = false;
    }
    crash_trial_outcome_free(&first);
    crash_trial_outcome_free(&third);
    return good;
}

/* ---- trials ---- */

typedef struct Place {
    int kind, count;
} Place;

/* Returns the n-th requested place, from 0; false: there are no more. */
static bool place_at(const CrashTest *test, int n, Place *place)
{
    if (test->only_count) {
        *place = (Place){test->only_kind, test->only_count};
        return n == 0;
    }
    long long at = (long long)n * test->every;
    for (int kind = 0; kind < KINDS; kind++) {
        *place = (Place){kind, (int)at + 1};
        if (at < test->places[kind]) return true;
        at -= test->places[kind];
    }
    return false;
}

/* Every other trial also kills the resume early. */
static Kill second_kill(const Place *place)
{
    return (Kill){.kind = kinds[place->kind], .in_line = true, .count = 1 + place->count % 7};
}

static Verdict try_place(const CrashTest *test, int n, const Place *place)
{
    char *id = crash_text("%s:%d", kinds[place->kind], place->count),
         *report = crash_text("%s/report-%d", test->scratch, n);
    const Kill first = {.kind = kinds[place->kind], .in_line = true, .count = place->count},
               second = second_kill(place);
    FILE *out = fopen(report, "we");
    if (!out) crash_die("%s cannot be written: %s", report, strerror(errno));
    const Verdict verdict =
        crash_trial_run(&test->trial, &test->reference, id, &first, place->count % 2 ? NULL : &second, out);
    fclose(out);
    free(report);
    free(id);
    return verdict;
}

/* A worker's report about a trial: written in one piece, so that several workers can share a pipe. */
typedef struct Line {
    int n;
    Verdict verdict;
} Line;

static void work(const CrashTest *test, int worker, int to)
{
    Place place;
    crash_become_subreaper();
    for (int n = worker; place_at(test, n, &place); n += test->jobs) {
        const Line line = {.n = n, .verdict = try_place(test, n, &place)};
        if (write(to, &line, sizeof line) != (ssize_t)sizeof line) _exit(EXIT_BUG);
    }
    fflush(NULL);
    _exit(EXIT_DONE);
}

/* ---- reports ---- */

static void print_command(const CrashTest *test, const Place *place)
{
    printf("    to see it again: tfy");
    bool skip = false, files = true;
    for (int i = 0; i < test->args->argc; i++) {
        const char *word = test->args->argv[i];
        const bool own = files && (strcmp(word, "--at") == 0 || strcmp(word, "--jobs") == 0);
        files = files && strcmp(word, "--") != 0;
        if (!files && strcmp(word, "--") == 0) printf(" --at %s:%d", kinds[place->kind], place->count);
        char *text = quoted(word);
        if (!own && !skip && !(files && (strncmp(word, "--at=", 5) == 0 || strncmp(word, "--jobs=", 7) == 0)))
            printf(" %s", text);
        skip = own;
        free(text);
    }
    if (files) printf(" --at %s:%d", kinds[place->kind], place->count);
    putchar('\n');
}

static void tell_json(const Place *place, const char *verdict, const char *text)
{
    char *id = crash_text("%s:%d", kinds[place->kind], place->count);
    json_t *line = json_pack("{s:s,s:s}", "place", id, "verdict", verdict);
    if (*text) json_object_set_new(line, "text", json_string(text));
    char *out = json_dumps(line, JSON_COMPACT);
    puts(out ? out : "{}");
    free(out);
    free(id);
    json_decref(line);
}

static void tell(CrashTest *test, const Line *line, int total)
{
    static const char *const verdicts[] = {
        [PASSED] = "same", [FAILED] = "differs", [UNREACHED] = "same", [UNKNOWN] = "unknown"};
    Place place;
    place_at(test, line->n, &place);
    char *name = crash_text("report-%d", line->n), *text = crash_file_text(test->scratch, name);
    test->same += line->verdict == PASSED || line->verdict == UNREACHED;
    test->differ += line->verdict == FAILED;
    test->unknown += line->verdict == UNKNOWN;
    if (test->args->option[OPT_JSON]) {
        tell_json(&place, verdicts[line->verdict], text);
    } else if (line->verdict == FAILED) {
        fputs(text, stdout);
        print_command(test, &place);
    }
    fflush(stdout);
    if (isatty(STDERR_FILENO) && !test->args->option[OPT_JSON]) {
        tfy__terminal_codes(stderr, "\r");
        fprintf(stderr, "%d of %d kills%s", test->same + test->differ + test->unknown, total,
                test->differ ? ", differences" : "");
    }
    free(text);
    free(name);
}

static int summary(const CrashTest *test, int total)
{
    const int done = test->same + test->differ + test->unknown;
    if (test->args->option[OPT_JSON]) {
        printf("{\"kills\":%d,\"same\":%d,\"differ\":%d,\"unknown\":%d,\"loose\":%s}\n", done, test->same, test->differ,
               test->unknown, test->trial.loose ? "true" : "false");
    } else {
        if (isatty(STDERR_FILENO)) fputc('\n', stderr);
        printf("%d kill%s (%d commits, %d stops): %d the same, %d differ", done, done == 1 ? "" : "s", test->places[0],
               test->places[3], test->same, test->differ);
        if (test->unknown)
            printf(", %d unknown: a once tool was at work when it was killed; with a probe it could say what it did",
                   test->unknown);
        putchar('\n');
        if (test->differ && !test->trial.loose)
            printf("where it is all the same which task comes first, --loose compares results and effects only\n");
    }
    if (done != total) return tfy__fail(EXIT_BUG, "%d trials came to no end", total - done);
    return tfy__flush_stdout(test->differ ? EXIT_RUN_FAILED : EXIT_DONE);
}

static int run_trials(CrashTest *test)
{
    int ends[2], total = 0;
    Place place;
    Line line;
    pid_t children[JOBS_MAX];
    while (place_at(test, total, &place)) total++;
    if (pipe(ends) < 0) return tfy__fail(EXIT_BUG, "no pipe can be made: %s", strerror(errno));
    if (test->jobs > total) test->jobs = total;
    fflush(NULL);
    for (int i = 0; i < test->jobs; i++) {
        children[i] = fork();
        if (children[i] == 0) {
            close(ends[0]);
            work(test, i, ends[1]);
        }
    }
    close(ends[1]);
    for (ssize_t n; (n = read(ends[0], &line, sizeof line)) == (ssize_t)sizeof line || (n < 0 && errno == EINTR);) {
        if (n > 0) tell(test, &line, total);
    }
    close(ends[0]);
    for (int i = 0; i < test->jobs; i++) {
        while (children[i] > 0 && waitpid(children[i], NULL, 0) < 0 && errno == EINTR) continue;
    }
    return summary(test, total);
}

/* ---- the command ---- */

static int remove_entry(const char *path, const struct stat *info, int kind, struct FTW *place)
{
    (void)info;
    (void)kind;
    (void)place;
    return remove(path);
}

static int test_program(CrashTest *test)
{
    const char *tmp = getenv("TMPDIR");
    char self[PATH_MAX];
    snprintf(test->scratch, sizeof test->scratch, "%s/tfy-crashtest-XXXXXX", tmp && *tmp == '/' ? tmp : "/tmp");
    if (!tfy__own_path(self)) return tfy__fail(EXIT_BUG, "this program cannot find itself: %s", strerror(errno));
    test->tfy = self;
    if (!mkdtemp(test->scratch))
        return tfy__fail(EXIT_LOG, "no directory can be made as %s: %s", test->scratch, strerror(errno));
    describe(test);
    crash_become_subreaper();
    int status = rehearse(test) ? run_trials(test) : EXIT_DATA;
    if (!test->differ) nftw(test->scratch, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
    free(test->answers);
    free(test->varying);
    free((char *)test->trial.setup);
    crash_trial_outcome_free(&test->reference);
    return status;
}

static char *stem(const char *path)
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path, *dot = strrchr(name, '.');
    return crash_text("%.*s", (int)(dot && dot > name ? dot - name : (long)strlen(name)), name);
}

static int compile_and_test(CrashTest *test)
{
    const TfyArgs *args = test->args;
    char *program = NULL;
    const TfyCompile what = {.name = args->words[0],
                             .path = args->words[0],
                             .dirs = args->dirs,
                             .dir_count = args->dir_count,
                             .extras = args->words + 1,
                             .extra_count = args->word_count - 1};
    int status = tfy__compile(&what, &program);
    if (status != EXIT_DONE) return status;
    test->program = realpath(program, NULL);
    test->name = stem(args->words[0]);
    status = test->program ? test_program(test) : tfy__fail(EXIT_MISSING, "%s is gone", program);
    free(test->program);
    free(test->name);
    free(program);
    return status;
}

int tfy__cmd_crashtest(const TfyArgs *args)
{
    CrashTest test = {.args = args};
    const int status = read_arguments(&test) ? compile_and_test(&test) : EXIT_USAGE;
    for (int i = 0; i < test.word_count; i++) free(test.words[i]);
    free(test.copy);
    return status;
}
