/* worktree.c: compares the repository with the log when a run is resumed: the run's own branch with its last Commit,
 * and the file that it patched last with its PatchPreview. The checkout and all other files belong to the person. */
#include "cli/program/worktree.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/frame/cli.h"
#include "base/buffer.h"
#include "core/effect.h"
#include "effects/git.h"
#include "wal/rows/payload.h"
#include "wal/history/history.h"

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

/* ---- the comparison ---- */

/* What the log says is compared with what git says. */
typedef struct Look {
    const TfyPerformer *performer; /* asks git, in a cell */
    const char *root;
} Look;

static int ask(const Look *look, const char *const *words, const char *input, TfyBuffer *out)
{
    return look->performer->ask(look->root, words, input, out);
}

/* Says how the run's branch differs from its last commit. */
static void explain_branch(const Expected *expected, const Look *look, const char *branch, const char *now)
{
    if (ask(look, (const char *[]){"merge-base", "--is-ancestor", expected->head, now, NULL}, NULL, NULL) == 0)
        tfy__say("note: the run's branch %s is at %.12s, ahead of the run's last commit %.12s: somebody committed "
                 "there ('git log %.12s..%s' shows it); the run's next commit follows that",
                 branch, now, expected->head, expected->head, branch);
    else
        tfy__say("note: the run's branch %s is at %.12s, which does not contain the run's last commit %.12s: its "
                 "history was rewritten; the run's next commit follows that",
                 branch, now, expected->head);
}

/* Compares the ref alone: the checkout does not belong to the run. A fork has no branch before its first own commit. */
static int compare_branch(const Expected *expected, const TfyHistory *history, const Look *look)
{
    TfyBuffer now = {0};
    char branch[TFY_RUN_BRANCH], ref[TFY_RUN_BRANCH + 16], uuid[37];
    if (!expected->head) return 0;
    tfy__uuid_text(history->run.uuid, uuid);
    tfy__run_branch(uuid, branch);
    snprintf(ref, sizeof ref, "refs/heads/%s", branch);
    int status = ask(look, (const char *[]){"rev-parse", "--git-dir", NULL}, NULL, NULL), different = 1;
    bool gone = ask(look, (const char *[]){"rev-parse", "--verify", "--quiet", ref, NULL}, NULL, &now) != 0;
    if (status < 0)
        different = 0; /* no git, or nothing that could hold it: nothing is known */
    else if (status > 0)
        tfy__say("note: %s is not a git repository now, but the run committed %.12s there", look->root, expected->head);
    else if (gone && history->run.origin_lsn)
        different = 0;
    else if (gone)
        tfy__say("note: the run's branch %s is gone; its next commit makes it again, on the run's last commit %.12s",
                 branch, expected->head);
    else if (strcmp(now.data, expected->head) == 0)
        different = 0;
    else
        explain_branch(expected, look, branch, now.data);
    tfy__buffer_free(&now);
    return different;
}

/* Outside a repository git knows no filters of its settings; the canvas also compares texts without them. */
#define NOWHERE "--git-dir=/dev/null"

static int compare_patch(const Expected *expected, const Look *look)
{
    if (!expected->diff || !*expected->diff) return 0;
    const char *path = expected->path ? expected->path : "a file";
    int undone = ask(look, (const char *[]){NOWHERE, "apply", "--check", NULL}, expected->diff, NULL);
    int done = ask(look, (const char *[]){NOWHERE, "apply", "--check", "-R", NULL}, expected->diff, NULL);
    if (undone < 0 || done == 0 || (undone == 0 && !expected->applied)) return 0;
    if (undone == 0)
        tfy__say("note: the run applied a patch to %s, but the file is as it was before: the change was taken back",
                 path);
    else
        tfy__say(
            "note: %s is neither as it was before the run's last patch nor as it was after it: it was edited meanwhile",
            path);
    return 1;
}

int tfy__explain_worktree(const TfyProgram *program, const TfyHistory *history, const char *root)
{
    Expected expected = {0};
    Look look = {.root = root};
    for (int i = 0; program->performers && i < TFY_F_COUNT && !look.performer; i++)
        if (program->performers[i] && program->performers[i]->ask) look.performer = program->performers[i];
    if (!look.performer) return 0;
    read_expected(history, &expected);
    int different = compare_branch(&expected, history, &look) + compare_patch(&expected, &look);
    free(expected.head);
    forget_patch(&expected);
    return different;
}
