/* worktree.c: compares the repository with the log when a run is resumed: the run's own branch with its last Commit,
 * and the file that it patched last with its PatchPreview. The checkout and all other files belong to the person. */
#include "cli/program/worktree.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/frame/cli.h"
#include "base/buffer.h"
#include "effects/git.h"
#include "wal/rows/payload.h"
#include "wal/history/history.h"

extern char **environ;

/* What the log says about the repository. */
typedef struct Expected {
    char *head;   /* the last Commit's SHA; NULL: the run has not committed */
    char *diff;   /* the newest PatchPreview behind that commit; NULL: none */
    char *path;   /* the file it changes */
    bool applied; /* its apply is confirmed */
} Expected;

static char *copy_text(const json_t *json)
{
    return json_is_string(json) ? strdup(json_string_value(json)) : NULL;
}

static void forget_patch(Expected *expected)
{
    free(expected->diff);
    free(expected->path);
    expected->diff = expected->path = NULL;
    expected->applied = false;
}

static void take_commit(Expected *expected, const TfyLogRecord *record)
{
    char *head = tfy__record_text(record, TFY_P_VALUE);
    if (!head) return; /* a commit that failed */
    free(expected->head);
    expected->head = head;
    forget_patch(expected);
}

static void take_preview(Expected *expected, const TfyLogRecord *record)
{
    TfyPayload payload;
    tfy__payload_open(&payload, record);
    const json_t *patch = tfy__payload_get(&payload, TFY_P_VALUE);
    forget_patch(expected);
    expected->diff = copy_text(json_object_get(patch, "diff"));
    expected->path = copy_text(json_object_get(patch, "path"));
    tfy__payload_close(&payload);
}

static void take_result(Expected *expected, const TfyLogRecord *record)
{
    if (tfy__record_is(record, TFY_P_TOOL, "apply") && !tfy__record_failed(record)) expected->applied = true;
}

bool tfy__touches_worktree(const TfyHistory *history)
{
    /* A run that was moved did some of its work as another program. */
    return history->run.moved_lsn || strstr(history->program_source, "preview") ||
           strstr(history->program_source, "commit");
}

static void read_expected(const TfyHistory *history, Expected *expected)
{
    for (uint32_t i = 0; i < history->record_count; i++) {
        const TfyLogRecord *record = &history->records[i];
        if (record->type == TFY_R_COMMIT) take_commit(expected, record);
        if (record->type == TFY_R_PATCH_PREVIEW) take_preview(expected, record);
        if (record->type == TFY_R_TOOL_RESULT && expected->diff) take_result(expected, record);
    }
}

/* ---- asking git ---- */

/* The settings for git, and behind them this process's environment: of two entries with the same name the first one
 * counts. NULL: memory ran out. */
static char **git_environment(void)
{
    static const char *const given[] = {TFY_GIT_ENVIRONMENT};
    enum { GIVEN = sizeof given / sizeof *given };
    size_t count = 0;
    while (environ[count]) count++;
    char **all = calloc(count + GIVEN + 1, sizeof *all);
    if (!all) return NULL;
    memcpy(all, given, sizeof given);
    memcpy(all + GIVEN, environ, count * sizeof *all);
    return all;
}

static int start_git(const char *const *args, int in, int out, pid_t *pid)
{
    char **environment = git_environment();
    if (!environment) return ENOMEM;
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, in, STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO);
    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    int error = posix_spawnp(pid, "git", &actions, NULL, (char *const *)args, environment);
    posix_spawn_file_actions_destroy(&actions);
    free(environment);
    return error;
}

/* The input goes through an unlinked file: a pipe could fill while git writes. */
static int input_file(const char *text)
{
    FILE *file = text ? tmpfile() : fopen("/dev/null", "re");
    if (!file) return -1;
    if (text) fputs(text, file);
    bool ok = fflush(file) == 0;
    if (ok && text) rewind(file);
    int fd = ok ? fcntl(fileno(file), F_DUPFD_CLOEXEC, 3) : -1;
    fclose(file);
    return fd;
}

static int exit_status(pid_t pid)
{
    int status;
    while (waitpid(pid, &status, 0) < 0)
        if (errno != EINTR) return -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* Runs `git -C root …`; out (may be NULL) gets what it prints, without its last newline. Returns its exit status, or -1
 * when it could not be run. */
static int git(const char *root, const char *const *words, const char *input, TfyBuffer *out)
{
    static const char *const settings[] = {TFY_GIT_SETTINGS};
    const char *args[2 * sizeof settings / sizeof *settings + 12] = {"git", "-C", root};
    int at = 3;
    for (size_t i = 0; i < sizeof settings / sizeof *settings; i++) {
        args[at++] = "-c";
        args[at++] = settings[i];
    }
    for (int i = 0; words[i] && i < 8; i++) args[at++] = words[i];
    int ends[2], in = input_file(input);
    if (in < 0 || pipe2(ends, O_CLOEXEC) < 0) {
        if (in >= 0) close(in);
        return -1;
    }
    pid_t pid;
    int error = start_git(args, in, ends[1], &pid);
    close(in);
    close(ends[1]);
    char chunk[4096];
    ssize_t n;
    while (!error && (n = read(ends[0], chunk, sizeof chunk)) > 0)
        if (out) tfy__buffer_add(out, chunk, (size_t)n);
    close(ends[0]);
    if (error) return -1;
    if (out && out->len && out->data[out->len - 1] == '\n') out->data[--out->len] = '\0';
    return exit_status(pid);
}

/* Says how the run's branch differs from its last commit. */
static void explain_branch(const Expected *expected, const char *root, const char *branch, const char *now)
{
    if (git(root, (const char *[]){"merge-base", "--is-ancestor", expected->head, now, NULL}, NULL, NULL) == 0)
        tfy__say("note: the run's branch %s is at %.12s, ahead of the run's last commit %.12s: somebody committed "
                 "there ('git log %.12s..%s' shows it); the run's next commit follows that",
                 branch, now, expected->head, expected->head, branch);
    else
        tfy__say("note: the run's branch %s is at %.12s, which does not contain the run's last commit %.12s: its "
                 "history was rewritten; the run's next commit follows that",
                 branch, now, expected->head);
}

/* Compares the ref alone: the checkout does not belong to the run. A fork has no branch before its first own commit. */
static int compare_branch(const Expected *expected, const TfyHistory *history, const char *root)
{
    TfyBuffer now = {0};
    char branch[TFY_RUN_BRANCH], ref[TFY_RUN_BRANCH + 16], uuid[37];
    if (!expected->head) return 0;
    tfy__uuid_text(history->run.uuid, uuid);
    tfy__run_branch(uuid, branch);
    snprintf(ref, sizeof ref, "refs/heads/%s", branch);
    int status = git(root, (const char *[]){"rev-parse", "--git-dir", NULL}, NULL, NULL), different = 1;
    bool gone = git(root, (const char *[]){"rev-parse", "--verify", "--quiet", ref, NULL}, NULL, &now) != 0;
    if (status != 0)
        tfy__say("note: %s is not a git repository now, but the run committed %.12s there", root, expected->head);
    else if (gone && history->run.origin_lsn)
        different = 0;
    else if (gone)
        tfy__say("note: the run's branch %s is gone; its next commit makes it again, on the run's last commit %.12s",
                 branch, expected->head);
    else if (strcmp(now.data, expected->head) == 0)
        different = 0;
    else
        explain_branch(expected, root, branch, now.data);
    tfy__buffer_free(&now);
    return different;
}

/* Outside a repository git knows no filters of its settings; the canvas also compares texts without them. */
#define NOWHERE "--git-dir=/dev/null"

static int compare_patch(const Expected *expected, const char *root)
{
    if (!expected->diff || !*expected->diff) return 0;
    const char *path = expected->path ? expected->path : "a file";
    bool undone = git(root, (const char *[]){NOWHERE, "apply", "--check", NULL}, expected->diff, NULL) == 0;
    bool done = git(root, (const char *[]){NOWHERE, "apply", "--check", "-R", NULL}, expected->diff, NULL) == 0;
    if (done || (undone && !expected->applied)) return 0;
    if (undone)
        tfy__say("note: the run applied a patch to %s, but the file is as it was before: the change was taken back",
                 path);
    else
        tfy__say(
            "note: %s is neither as it was before the run's last patch nor as it was after it: it was edited meanwhile",
            path);
    return 1;
}

int tfy__explain_worktree(const TfyHistory *history, const char *root)
{
    Expected expected = {0};
    read_expected(history, &expected);
    int different = compare_branch(&expected, history, root) + compare_patch(&expected, root);
    free(expected.head);
    forget_patch(&expected);
    return different;
}
