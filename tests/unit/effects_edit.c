/* effects_edit.c: preview_edit and preview_diff: what they make of files and diffs, and of hostile ones. */
#include "effects_fixture.h"

#include "effects/process.h"
#include "effects/sandbox.h"
#include "wal/rows/record.h"

static int open_loop(void **state)
{
    TfyLoop *loop = *state = loop_open();
    setenv("HOME", loop->root, 1); /* nobody's git configuration */
    unsetenv("XDG_CONFIG_HOME");
    setenv("GIT_CONFIG_NOSYSTEM", "1", 1);
    return 0;
}

static int close_loop(void **state)
{
    TfyLoop *loop = *state;
    tfy__perform_preview_edit.close(loop);
    tfy__process_close(loop);
    tfy__sandbox_close(loop);
    loop_close(loop);
    return 0;
}

static const TfyType edits = {.kind = TFY_LIST, .name = "list<Edit>", .elem = &tfy_type_edit};
static const TfyType patches = {.kind = TFY_LIST, .name = "list<Patch>", .elem = &tfy_type_patch};
static const TfyTool edit_tool = {
    .name = "preview_edit", .family = TFY_F_PREVIEW_EDIT, .param_count = 2, .result = &tfy_type_patch};
static const TfyTool diff_tool = {
    .name = "preview_diff", .family = TFY_F_PREVIEW_DIFF, .param_count = 1, .result = &patches};
static const TfyTool apply_tool = {
    .name = "apply", .family = TFY_F_APPLY, .param_count = 1, .result = &tfy_type_nothing};

/* ---- helpers ---- */

static void put_file(TfyLoop *loop, const char *name, const char *text, size_t len)
{
    char path[400];
    snprintf(path, sizeof path, "%s/%s", loop->root, name);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_int_equal(fwrite(text, 1, len, file), len);
    fclose(file);
}

static void assert_file(TfyLoop *loop, const char *name, const char *text)
{
    char path[400], got[1000] = "";
    snprintf(path, sizeof path, "%s/%s", loop->root, name);
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    got[fread(got, 1, sizeof got - 1, file)] = 0;
    fclose(file);
    assert_string_equal(got, text);
}

/* A list of count times the same change. */
static TfyObj *changes_of(TfyLoop *loop, int count, const char *find, const char *replace)
{
    TfyObj *list = tfy_list_room(&loop->task, &edits, count);
    for (int i = 0; i < count; i++) {
        TfyValue fields[] = {tfy_of_obj(text_of(loop, find)), tfy_of_obj(text_of(loop, replace))};
        tfy_list_add(list, tfy_of_obj(tfy_record_of(&loop->task, &tfy_type_edit, fields)));
    }
    return list;
}

static Job *edit(TfyLoop *loop, const char *path, TfyObj *changes)
{
    Job *job = job_new(loop, &edit_tool);
    job->args[0] = tfy_of_obj(text_of(loop, path));
    job->args[1] = tfy_of_obj(changes);
    tfy__perform_preview_edit.start(&job->call);
    await(loop, job);
    return job;
}

static Job *diff_start(TfyLoop *loop, const char *diff)
{
    Job *job = job_new(loop, &diff_tool);
    job->args[0] = tfy_of_obj(text_of(loop, diff));
    tfy__perform_preview_diff.start(&job->call);
    return job;
}

static Job *diff(TfyLoop *loop, const char *text)
{
    Job *job = diff_start(loop, text);
    await(loop, job);
    return job;
}

static void apply(TfyLoop *loop, TfyObj *patch)
{
    Job *job = job_new(loop, &apply_tool);
    job->args[0] = tfy_of_obj(patch);
    tfy__perform_apply.start(&job->call);
    await(loop, job);
    if (job->failed) fail_msg("%s", job->message);
    job_free(job);
}

static void assert_bad(Job *job, const char *path, const char *why)
{
    assert_true(job->failed);
    if (job->error != &tfy_type_bad_value) fail_msg("not a BadValue: %s", job->message);
    assert_string_equal(job->path, path);
    if (!strstr(job->message, why)) fail_msg("expected '%s' in: %s", why, job->message);
    job_free(job);
}

static void assert_refused(Job *job, const char *why)
{
    assert_true(job->failed);
    assert_ptr_equal(job->error, &tfy_type_tool_error);
    if (!strstr(job->message, why)) fail_msg("expected '%s' in: %s", why, job->message);
    job_free(job);
}

/* ---- preview_edit ---- */

static void edits_an_executable(void **state)
{
    TfyLoop *loop = *state;
    char path[400];
    put_file(loop, "run", "echo old\n", 9);
    snprintf(path, sizeof path, "%s/run", loop->root);
    chmod(path, 0755);
    Job *job = edit(loop, "run", changes_of(loop, 1, "old", "new"));
    if (job->failed) fail_msg("%s", job->message);
    assert_int_equal(job->call.record_type, TFY_R_PATCH_PREVIEW);
    assert_non_null(strstr(chars(tfy_field(job->value.o, 1)), " 100755\n"));
    apply(loop, job->value.o);
    apply(loop, job->value.o); /* again: done already */
    assert_file(loop, "run", "echo new\n");
    assert_int_equal(access(path, X_OK), 0);
    job_free(job);
}

static void counts_to_an_end(void **state)
{
    TfyLoop *loop = *state;
    const size_t len = 10u << 20;
    char *line = malloc(len);
    memset(line, 'a', len);
    put_file(loop, "line", line, len);
    assert_bad(edit(loop, "line", changes_of(loop, 1, "aa", "b")), "changes[0].find",
               "at least 1000 times, and must be there once: in lines 1, 1, 1, 1, 1 …");
    /* the nearest line is shown cut, not within a letter */
    for (size_t i = 0; i + 2 < len; i += 3) memcpy(line + i, "\342\202\254", 3);
    put_file(loop, "line", line, len - len % 3);
    assert_bad(edit(loop, "line", changes_of(loop, 1, "\342\202\254\342\202\254x", "b")), "changes[0].find", "'line'");
    free(line);
}

static void refuses_too_many_changes(void **state)
{
    TfyLoop *loop = *state;
    put_file(loop, "a", "a\n", 2);
    assert_bad(edit(loop, "a", changes_of(loop, 257, "a", "b")), "changes[256].find", "257 changes; 256 can");
    assert_bad(edit(loop, "a", changes_of(loop, 256, "a", "b")), "changes[1].find", "overlaps changes[0].find");
}

static void edits_only_text_inside(void **state)
{
    TfyLoop *loop = *state;
    char path[400];
    put_file(loop, "binary", "a\377", 2);
    put_file(loop, "a\nb", "x\n", 2);
    snprintf(path, sizeof path, "%s/link", loop->root);
    assert_int_equal(symlink("binary", path), 0);
    assert_refused(edit(loop, "binary", changes_of(loop, 1, "a", "b")), "it is not UTF-8 text");
    assert_refused(edit(loop, "link", changes_of(loop, 1, "a", "b")), "symbolic link");
    assert_refused(edit(loop, "/etc/passwd", changes_of(loop, 1, "a", "b")), "outside the working root");
    assert_refused(edit(loop, "x/../../y", changes_of(loop, 1, "a", "b")), "outside the working root");
    assert_refused(edit(loop, ".envrc", changes_of(loop, 1, "a", "b")), "take commands from it");
    Job *job = edit(loop, "a\nb", changes_of(loop, 1, "x", "y"));
    if (job->failed) fail_msg("%s", job->message);
    apply(loop, job->value.o);
    assert_file(loop, "a\nb", "y\n");
    job_free(job);
}

/* ---- preview_diff ---- */

static void many_files_in_their_order(void **state)
{
    enum { FILES = 12 };
    TfyLoop *loop = *state;
    char text[4000], name[32];
    int at = 0;
    for (int i = FILES; i-- > 0;) {
        snprintf(name, sizeof name, "f%d", i);
        if (i % 2) put_file(loop, name, "one\n", 4);
        if (i % 2)
            at += snprintf(text + at, sizeof text - (size_t)at, "--- a/f%d\n+++ b/f%d\n@@ -1 +1,2 @@\n one\n+two\n", i,
                           i);
        else
            at += snprintf(text + at, sizeof text - (size_t)at, "--- /dev/null\n+++ b/f%d\n@@ -0,0 +1 @@\n+one\n", i);
    }
    Job *job = diff(loop, text);
    if (job->failed) fail_msg("%s", job->message);
    assert_int_equal(tfy_list_len(job->value.o), FILES);
    for (int i = 0; i < FILES; i++) {
        TfyObj *patch = tfy_list_item(job->value.o, i).o;
        snprintf(name, sizeof name, "f%d", FILES - 1 - i);
        assert_string_equal(chars(tfy_field(patch, 0)), name);
        apply(loop, patch);
        apply(loop, patch);
        assert_file(loop, name, (FILES - 1 - i) % 2 ? "one\ntwo\n" : "one\n");
    }
    job_free(job);
}

static void says_where_a_hunk_is_bad(void **state)
{
    TfyLoop *loop = *state;
    put_file(loop, "a", "1\n2\n3\n4\n5\n6\n7\n8\n9\n", 18);
    put_file(loop, "b", "x\n", 2);
    assert_bad(diff(loop, "--- a/b\n+++ b/b\n@@ -1 +1 @@\n-x\n+y\n--- a/a\n+++ b/a\n@@ -7,2 +7,2 @@\n seven\n-8\n+9\n"),
               "a:7", "patch does not apply");
    assert_file(loop, "b", "x\n");
    assert_bad(diff(loop, "--- a/b\n+++ b/b\n@@ -1 +1 @@\n-x\n+y\n--- a/a\n+++ b/a\n@@ -7,5 +7,5 @@\n 7\n-8\n+9\n"),
               "a, diff:12", "corrupt patch");
    assert_bad(diff(loop, "--- a/gone\n+++ b/gone\n@@ -1 +1 @@\n-x\n+y\n"), "diff", "No such file");
    assert_bad(diff(loop, "--- /dev/null\n+++ b/b\n@@ -0,0 +1 @@\n+y\n"), "diff", "already exists");
}

static void takes_only_texts_inside(void **state)
{
    TfyLoop *loop = *state;
    char path[400];
    put_file(loop, "binary", "a\377\n", 3);
    snprintf(path, sizeof path, "%s/link", loop->root);
    assert_int_equal(symlink("/etc", path), 0);
    assert_refused(diff(loop, "--- a/binary\n+++ b/binary\n@@ -1 +1 @@\n-a\n+b\n"), "it is not UTF-8 text");
    assert_refused(diff(loop, "--- /dev/null\n+++ b/link/x\n@@ -0,0 +1 @@\n+b\n"), "symbolic link");
    assert_refused(diff(loop, "--- /dev/null\n+++ b/../x\n@@ -0,0 +1 @@\n+b\n"), "outside the working root");
    assert_refused(diff(loop, "--- /dev/null\n+++ b/.git/hooks/x\n@@ -0,0 +1 @@\n+b\n"), "take commands from it");
    assert_refused(diff(loop, "--- /dev/null\n+++ b/.tfy/x\n@@ -0,0 +1 @@\n+b\n"), "it belongs to the runtime");
    assert_bad(diff(loop, "--- /etc/passwd\n+++ /etc/passwd\n@@ -1 +1 @@\n-a\n+b\n"), "diff:2", "absolute path");
    assert_bad(diff(loop, "diff --git a/x b/x\nnew file mode 100644\nindex 0..1\nGIT binary patch\n"), "diff:4",
               "not text");
    assert_bad(diff(loop, "diff --git a/binary b/y\ncopy from binary\ncopy to y\n"), "diff:2", "copies a file");
    Job *job = diff(loop, "--- /dev/null\n+++ \"b/a\\nb\"\n@@ -0,0 +1 @@\n+b\n"); /* a newline in the name */
    if (job->failed) fail_msg("%s", job->message);
    assert_string_equal(chars(tfy_field(tfy_list_item(job->value.o, 0).o, 0)), "a\nb");
    apply(loop, tfy_list_item(job->value.o, 0).o);
    assert_file(loop, "a\nb", "b\n");
    job_free(job);
}

static void an_abort_leaves_nothing(void **state)
{
    TfyLoop *loop = *state;
    put_file(loop, "a", "1\n", 2);
    Job *job = diff_start(loop, "--- a/a\n+++ b/a\n@@ -1 +1 @@\n-1\n+2\n");
    tfy__perform_preview_diff.abort(&job->call);
    assert_false(job->done || job->failed);
    job_free(job);
    assert_file(loop, "a", "1\n");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, open_loop, close_loop)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(edits_an_executable),     TEST(counts_to_an_end),          TEST(refuses_too_many_changes),
        TEST(edits_only_text_inside),  TEST(many_files_in_their_order), TEST(says_where_a_hunk_is_bad),
        TEST(takes_only_texts_inside), TEST(an_abort_leaves_nothing),
    };
    TfyCellAnswer answer;
    if (tfy__cell_probe(TFY_CELL_PARTIAL, &answer) == 0) ceiling_sandbox = NULL;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
