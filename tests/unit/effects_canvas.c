/* effects_canvas.c: previews, patches and commits with real git, repeated, contradicted, and interrupted. */
#include "effects_fixture.h"

#include "effects/process.h"
#include "effects/sandbox.h"
#include "effects/wrote.h"
#include "wal/rows/record.h"

#define BRANCH "tiffany/feature/0190b0c2-1234"

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
    if (tfy__perform_commit.close) tfy__perform_commit.close(loop);
    tfy__process_close(loop);
    tfy__sandbox_close(loop);
    loop_close(loop);
    return 0;
}

static const TfyTool preview_tool = {
    .name = "preview", .family = TFY_F_PREVIEW, .param_count = 2, .result = &tfy_type_patch};
static const TfyTool apply_tool = {
    .name = "apply", .family = TFY_F_APPLY, .param_count = 1, .result = &tfy_type_nothing};
static const TfyTool commit_tool = {
    .name = "commit", .family = TFY_F_COMMIT, .param_count = 1, .result = &tfy_type_string};

/* ---- helpers ---- */

/* Runs a shell command in the root and gives what it printed; valid until the next one. */
static const char *shell(TfyLoop *loop, const char *command)
{
    static char out[65536];
    char line[2000];
    snprintf(line, sizeof line, "cd '%s' && { %s\n} 2>&1", loop->root, command);
    FILE *pipe = popen(line, "r");
    size_t len = fread(out, 1, sizeof out - 1, pipe);
    out[len] = 0;
    int status = pclose(pipe);
    if (status) fail_msg("%s: %s", command, out);
    return out;
}

static void repository(TfyLoop *loop)
{
    shell(loop, "git init -q -b main && git config user.name Ann && git config user.email ann@example.invalid && "
                "printf 'one\\ntwo\\nthree\\n' > a.txt && git add a.txt && git commit -q -m first");
}

static Job *preview(TfyLoop *loop, const char *path, const char *text)
{
    Job *job = job_new(loop, &preview_tool);
    job->args[0] = tfy_of_obj(text_of(loop, path));
    job->args[1] = tfy_of_obj(text_of(loop, text));
    tfy__perform_preview.start(&job->call);
    await(loop, job);
    return job;
}

static const char *diff_text(const Job *job)
{
    if (job->failed) fail_msg("%s", job->message);
    return chars(tfy_field(job->value.o, 1));
}

static Job *apply_start(TfyLoop *loop, TfyObj *patch)
{
    Job *job = job_new(loop, &apply_tool);
    job->args[0] = tfy_of_obj(patch);
    tfy__perform_apply.start(&job->call);
    return job;
}

static Job *apply(TfyLoop *loop, TfyObj *patch)
{
    Job *job = apply_start(loop, patch);
    await(loop, job);
    return job;
}

static void assert_applies(TfyLoop *loop, TfyObj *patch)
{
    Job *job = apply(loop, patch);
    if (job->failed) fail_msg("%s", job->message);
    job_free(job);
}

static TfyObj *patch_of(TfyLoop *loop, const char *path, const char *diff)
{
    TfyValue fields[] = {tfy_of_obj(text_of(loop, path)), tfy_of_obj(text_of(loop, diff))};
    return tfy_record_of(&loop->task, &tfy_type_patch, fields);
}

static Job *commit_start(TfyLoop *loop, const char *message, const char *key)
{
    Job *job = job_new(loop, &commit_tool);
    job->call.key = key;
    job->args[0] = tfy_of_obj(text_of(loop, message));
    tfy__perform_commit.start(&job->call);
    return job;
}

static Job *commit(TfyLoop *loop, const char *message, const char *key)
{
    Job *job = commit_start(loop, message, key);
    await(loop, job);
    return job;
}

/* Notes that the run wrote these files, as write_file and apply do; the words end with NULL. */
static void wrote(TfyLoop *loop, const char *const *path)
{
    for (; *path; path++) {
        const TfyCall call = {.loop = loop, .task = &loop->task};
        tfy__wrote_note(&call, text_of(loop, *path));
    }
}
#define WROTE(loop, ...) wrote(loop, (const char *const[]){__VA_ARGS__, NULL})

static const char *sha_of(const Job *job)
{
    if (job->failed) fail_msg("%s", job->message);
    return chars(job->value);
}

static void assert_fails(Job *job, const char *why)
{
    assert_true(job->failed);
    assert_ptr_equal(job->error, &tfy_type_tool_error);
    if (!strstr(job->message, why)) fail_msg("expected '%s' in: %s", why, job->message);
    job_free(job);
}

/* ---- preview ---- */

static void previews_a_change(void **state)
{
    TfyLoop *loop = *state;
    shell(loop, "printf 'one\\ntwo\\nthree\\n' > a.txt");
    Job *job = preview(loop, "./a.txt", "one\n2\nthree\n");
    assert_string_equal(
        diff_text(job),
        "diff --git a/a.txt b/a.txt\n"
        "index 4cb29ea38f70d7c61b2a3a25b02e3bdf44905402..f04eb265ebd74fba2cddf0a6adf2a6a7f81c87aa 100644\n"
        "--- a/a.txt\n+++ b/a.txt\n@@ -1,3 +1,3 @@\n one\n-two\n+2\n three\n");
    assert_string_equal(chars(tfy_field(job->value.o, 0)), "a.txt");
    assert_int_equal(job->call.record_type, TFY_R_PATCH_PREVIEW);
    assert_string_equal(shell(loop, "cat a.txt"), "one\ntwo\nthree\n");
    job_free(job);
}

static void previews_nothing(void **state)
{
    TfyLoop *loop = *state;
    shell(loop, "printf 'same' > a.txt");
    Job *job = preview(loop, "a.txt", "same");
    assert_string_equal(diff_text(job), "");
    Job *applied = apply(loop, job->value.o);
    assert_true(applied->done);
    job_free(applied);
    job_free(job);
}

static void previews_a_new_file(void **state)
{
    TfyLoop *loop = *state;
    Job *job = preview(loop, "src/new file.c", "int x;");
    assert_non_null(
        strstr(diff_text(job), "diff --git a/src/new file.c b/src/new file.c\nnew file mode 100644\nindex 000"));
    assert_non_null(
        strstr(diff_text(job), "--- /dev/null\n+++ b/src/new file.c\t\n@@ -0,0 +1 @@\n+int x;\n\\ No newline"));
    assert_applies(loop, job->value.o);
    assert_string_equal(shell(loop, "cat 'src/new file.c'"), "int x;");
    assert_applies(loop, job->value.o); /* again: done already */
    job_free(job);
}

static void every_preview_applies(void **state)
{
    TfyLoop *loop = *state;
    static const struct {
        const char *path, *before, *after;
    } cases[] = {
        {"plain", "a\nb\n", "a\nc\n"},
        {"emptied", "a\nb\n", ""},
        {"filled", "", "text\n"},
        {"new-empty", NULL, ""},
        {"new", NULL, "x\ny\n"},
        {"no newline", "a\nb", "a\nc"},
        {"crlf", "a\r\nb\r\nc\r\n", "a\r\nx\r\nc\r\n"},
        {"to-crlf", "a\nb\n", "a\r\nb\r\n"},
        {"trailing blanks", "a \n", "a  \n\n\n\t\n"},
        {"d/e/f/deep", NULL, "x\n"},
        {"-dash", "a\n", "b\n"},
        {"quo\"te", "a\n", "b\n"},
        {"back\\slash", "a\n", "b\n"},
        {"tab\there", "a\n", "b\n"},
        {"\303\244\302\240ö", "a\n", "b\n"},
        {"line\nbreak", NULL, "b\n"},
        {"looks", "a\n", "@@ -1 +1 @@\n-a\n+b\n"},
        {"head", "-- a/x\n++ b/x\n", "diff --git a/x b/x\n"},
        {"a b/ c", "1\n", "2\n"},
        {"same b/same", "1\n", "2\n"},
        {"dev/null", "1\n", "2\n"},
    };
    for (int with_git = 0; with_git < 2; with_git++) {
        if (with_git)
            shell(loop, "git init -q && printf '* text=auto eol=crlf\\n' > .gitattributes && rm -rf d new new-empty "
                        "'line\nbreak'");
        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
            char path[400], content[200] = "";
            snprintf(path, sizeof path, "%s/%s", loop->root, cases[i].path);
            for (char *slash = path + strlen(loop->root) + 1; (slash = strchr(slash, '/')) && cases[i].before;
                 *slash++ = '/') {
                *slash = 0;
                mkdir(path, 0755);
            }
            FILE *file = cases[i].before ? fopen(path, "w") : NULL;
            if (file) fputs(cases[i].before, file);
            if (file) fclose(file);
            Job *job = preview(loop, cases[i].path, cases[i].after);
            diff_text(job);
            assert_applies(loop, job->value.o);
            file = fopen(path, "r");
            assert_non_null(file);
            content[fread(content, 1, sizeof content - 1, file)] = 0;
            fclose(file);
            assert_string_equal(content, cases[i].after);
            assert_applies(loop, job->value.o);
            job_free(job);
        }
    }
}

static void keeps_the_mode(void **state)
{
    TfyLoop *loop = *state;
    shell(loop, "echo old > run && chmod 755 run");
    Job *job = preview(loop, "run", "new\n");
    assert_non_null(strstr(diff_text(job), " 100755\n"));
    assert_applies(loop, job->value.o);
    assert_string_equal(shell(loop, "./run 2>/dev/null || stat -c %a run"), "755\n");
    job_free(job);
}

static void previews_only_text_inside(void **state)
{
    TfyLoop *loop = *state;
    shell(loop,
          "printf 'a\\377' > binary; ln -s a.txt link; mkdir dir; ln -s dir dirlink; mkfifo fifo; echo x > dir/file");
    assert_fails(preview(loop, "binary", "x"), "it is not UTF-8 text");
    assert_fails(preview(loop, "link", "x"), "symbolic link");
    assert_fails(preview(loop, "dirlink/file", "x"), "symbolic link");
    assert_fails(preview(loop, "dir", "x"), "it is a directory");
    assert_fails(preview(loop, ".", "x"), "it is a directory");
    assert_fails(preview(loop, "fifo", "x"), "it is not a regular file");
    assert_fails(preview(loop, "../x", "x"), "outside the working root");
    assert_fails(preview(loop, "/etc/passwd", "x"), "outside the working root");
    assert_fails(preview(loop, "dir/../../x", "x"), "outside the working root");
}

/* ---- apply ---- */

static void applies_where_lines_moved(void **state)
{
    TfyLoop *loop = *state;
    shell(loop, "seq 1 20 > a.txt");
    Job *job = preview(loop, "a.txt", "1\n2\n3\n4\n5\n6\n7\n8\n9\nTEN\n11\n12\n13\n14\n15\n16\n17\n18\n19\n20\n");
    shell(loop, "sed -i '1i zero' a.txt");
    assert_applies(loop, job->value.o);
    assert_string_equal(shell(loop, "sed -n '1p;11p' a.txt"), "zero\nTEN\n");
    shell(loop, "echo more >> a.txt");
    assert_applies(loop, job->value.o); /* the file changed since, but the patch is in it */
    assert_string_equal(shell(loop, "grep -c TEN a.txt"), "1\n");
    job_free(job);
}

static void never_applies_twice(void **state)
{
    TfyLoop *loop = *state;
    shell(loop, "yes x | head -20 > a.txt");
    Job *job = preview(loop, "a.txt", "x\nx\nx\nx\nx\nx\nx\nx\nx\nx\nx\nx\nx\nx\nx\nx\nx\nx\nx\nx\nx\n");
    assert_applies(loop, job->value.o);
    assert_applies(loop, job->value.o);
    assert_string_equal(shell(loop, "wc -l < a.txt"), "21\n");
    job_free(job);
}

static void a_conflict_is_gits_word(void **state)
{
    TfyLoop *loop = *state;
    shell(loop, "printf 'one\\ntwo\\n' > a.txt");
    Job *job = preview(loop, "a.txt", "one\n2\n");
    shell(loop, "printf 'quite\\ndifferent\\n' > a.txt");
    assert_fails(apply(loop, job->value.o), "cannot apply the patch to 'a.txt': error: patch failed: a.txt:1");
    shell(loop, "rm a.txt");
    assert_fails(apply(loop, job->value.o), "a.txt: No such file or directory");
    job_free(job);
}

static void touches_only_its_path(void **state)
{
    TfyLoop *loop = *state;
    static const char *const diffs[] = {
        "diff --git a/b.txt b/b.txt\n--- a/b.txt\n+++ b/b.txt\n@@ -1 +1 @@\n-b\n+c\n",
        "--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-a\n+c\n--- a/b.txt\n+++ b/b.txt\n@@ -1 +1 @@\n-b\n+c\n",
        "diff --git a/b.txt b/a.txt\nsimilarity index 100%\nrename from b.txt\nrename to a.txt\n",
        "diff --git a/b.txt b/a.txt\nsimilarity index 100%\ncopy from b.txt\ncopy to a.txt\n",
        ("diff --git a/a.txt b/a.txt\nnew file mode 120000\n--- /dev/null\n+++ b/a.txt\n@@ -0,0 +1 "
         "@@\n+/etc/passwd\n\\ No newline at "
         "end of file\n"),
        "--- a/../out\n+++ b/../out\n@@ -0,0 +1 @@\n+x\n",
        "--- /dev/null\n+++ /tmp/tfy-out\n@@ -0,0 +1 @@\n+x\n",
        "this is no patch",
        "@@ -1 +1 @@\n-a\n+b\n",
    };
    shell(loop, "echo a > a.txt; echo b > b.txt");
    for (size_t i = 0; i < sizeof diffs / sizeof *diffs; i++) {
        Job *job = apply(loop, patch_of(loop, "a.txt", diffs[i]));
        assert_true(job->failed);
        job_free(job);
    }
    assert_string_equal(shell(loop, "cat a.txt b.txt; ls"), "a\nb\na.txt\nb.txt\n");
    assert_fails(apply(loop, patch_of(loop, "../a.txt", diffs[0])), "outside the working root");
}

static void takes_a_patch_of_others(void **state)
{
    TfyLoop *loop = *state;
    shell(loop, "echo a > a.txt");
    TfyObj *patch = tfy_keep(patch_of(loop, "a.txt", "--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-a\n+b\n"));
    assert_applies(loop, patch);
    assert_applies(loop, patch);
    assert_string_equal(shell(loop, "cat a.txt"), "b\n");
    tfy_drop(&loop->task, patch);
}

static void deletes_and_changes_modes(void **state)
{
    TfyLoop *loop = *state;
    shell(loop, "echo a > a.txt; echo b > b.txt");
    const char *gone =
        "diff --git a/a.txt b/a.txt\ndeleted file mode 100644\n--- a/a.txt\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n";
    const char *mode = "diff --git a/b.txt b/b.txt\nold mode 100644\nnew mode 100755\n";
    for (int i = 0; i < 2; i++) {
        assert_applies(loop, patch_of(loop, "a.txt", gone));
        assert_applies(loop, patch_of(loop, "b.txt", mode));
    }
    assert_string_equal(shell(loop, "ls; stat -c %a b.txt"), "b.txt\n755\n");
}

static void works_below_a_repository(void **state)
{
    TfyLoop *loop = *state;
    repository(loop);
    shell(loop, "mkdir -p sub && echo inner > sub/a.txt");
    char root[256];
    strcpy(root, loop->root);
    int outer_fd = loop->root_fd;
    strcat(loop->root, "/sub");
    loop->root_fd = openat(outer_fd, "sub", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    Job *job = preview(loop, "a.txt", "changed\n");
    assert_applies(loop, job->value.o);
    Job *made = commit(loop, "Change the inner file", "k");
    sha_of(made);
    job_free(job);
    job_free(made);
    close(loop->root_fd);
    loop->root_fd = outer_fd;
    strcpy(loop->root, root);
    assert_string_equal(shell(loop, "cat sub/a.txt; git show --name-only --format= " BRANCH "; head -1 a.txt"),
                        "changed\nsub/a.txt\none\n");
}

static void refuses_what_is_protected(void **state)
{
    TfyLoop *loop = *state;
    repository(loop);
    assert_fails(preview(loop, ".git/config", "x"),
                 "cannot preview '.git/config': programs outside the sandbox take commands from it");
    assert_fails(preview(loop, ".envrc", "x"), "take commands from it");
    assert_fails(preview(loop, ".tfy/x", "x"), "it belongs to the runtime");
    const char *diff =
        "diff --git a/.envrc b/.envrc\nnew file mode 100644\n--- /dev/null\n+++ b/.envrc\n@@ -0,0 +1 @@\n+a\n";
    assert_fails(apply(loop, patch_of(loop, ".envrc", diff)),
                 "cannot apply a patch to '.envrc': programs outside the sandbox take commands from it");
}

/* ---- commit ---- */

static void commits_on_the_runs_branch(void **state)
{
    TfyLoop *loop = *state;
    repository(loop);
    shell(loop, "echo more >> a.txt; echo new > b.txt");
    WROTE(loop, "a.txt", "./b.txt", "a.txt");
    Job *job = commit(loop, "Add more\n\nBecause.\n\n", "run/1/7");
    char sha[100];
    strcpy(sha, sha_of(job));
    strcat(sha, "\n");
    assert_int_equal(strlen(sha), 41);
    assert_string_equal(shell(loop, "git rev-parse " BRANCH), sha);
    assert_string_equal(shell(loop, "git branch --show-current; git rev-parse main " BRANCH "^ | uniq | wc -l"),
                        "main\n1\n");
    assert_string_equal(shell(loop, "git log -1 --format='%an <%ae>%n%B' " BRANCH),
                        "Ann <ann@example.invalid>\nAdd more\n\nBecause.\n\nTiffany-Step: run/1/7\n\n");
    assert_string_equal(shell(loop, "git show --name-only --format= " BRANCH), "a.txt\nb.txt\n");
    assert_int_equal(job->call.record_type, TFY_R_COMMIT);
    const char extra[] = ",\"message\":\"Add more\\n\\nBecause.\\n\\n\",\"key\":\"run/1/7\","
                         "\"paths\":[\"a.txt\",\"./b.txt\"],\"branch\":\"refs/heads/main\",\"base\":\"";
    assert_memory_equal(job->call.extra.data, extra, sizeof extra - 1);
    assert_int_equal(job->call.extra.len, sizeof extra + 40);
    job_free(job);
    assert_fails(commit(loop, "Again", "run/1/8"), "the run has written no file since its last commit");
}

/* Half-done edits, staged files, files git does not know, by-products of tools: none of them is the run's. */
static void takes_only_what_the_run_wrote(void **state)
{
    TfyLoop *loop = *state;
    repository(loop);
    shell(loop,
          "echo 1 >staged; echo 1 >edited; echo 1 >gone; echo 1 >half; git add -A; git commit -q -m more\n"
          "echo 2 >staged; echo new >added; echo 2 >half; git add staged added half; echo 3 >half; echo 2 >edited; "
          "rm gone; echo KEY=1 >.env; echo out >by-product; echo mine >a.txt; git status --porcelain "
          ">status; touch before; git status --porcelain >status; cp .git/index before");
    WROTE(loop, "a.txt");
    Job *job = commit(loop, "Mine", "k1");
    sha_of(job);
    job_free(job);
    assert_string_equal(shell(loop, "cmp .git/index before && git status --porcelain | diff - status; git branch "
                                    "--show-current; git show --name-only --format= " BRANCH),
                        "main\na.txt\n");
    shell(loop, "echo person >>a.txt; echo b >b.txt; mkdir d; echo run >half");
    WROTE(loop, "b.txt", "gone", "half", "never", "d");
    job = commit(loop, "More", "k2");
    sha_of(job);
    job_free(job);
    assert_string_equal(shell(loop, "cmp .git/index before; git log --format=%s " BRANCH "; git show --name-status "
                                    "--format= " BRANCH "; git show " BRANCH ":half " BRANCH ":a.txt"),
                        "More\nMine\nmore\nfirst\nA\tb.txt\nD\tgone\nM\thalf\nrun\nmine\n");
}

static void refuses_what_git_ignores(void **state)
{
    TfyLoop *loop = *state;
    repository(loop);
    shell(loop,
          "echo o >known.o; git add known.o; printf '*.o\\n' >.gitignore; git add .gitignore; git commit -q -m o; echo "
          "2 >known.o; echo x >x.o; echo y >>.git/info/exclude; echo y >y");
    WROTE(loop, "x.o", "known.o");
    assert_fails(commit(loop, "x", "k1"),
                 "cannot commit 'x.o', which the run wrote: git ignores it; write it elsewhere");
    shell(loop, "rm x.o");
    Job *job = commit(loop, "What git knows is not ignored", "k2");
    sha_of(job);
    job_free(job);
    assert_string_equal(shell(loop, "git show --name-only --format= " BRANCH), "known.o\n");
    WROTE(loop, "y");
    assert_fails(commit(loop, "y", "k3"), "cannot commit 'y', which the run wrote: git ignores it");
}

/* A file that was written again while its commit was made is still to be committed. */
static void keeps_what_was_written_meanwhile(void **state)
{
    TfyLoop *loop = *state;
    repository(loop);
    shell(loop, "echo 1 >f; echo 1 >g; git config --global filter.slow.clean 'sleep 1; cat'; echo '* filter=slow' "
                ">.git/info/attributes");
    WROTE(loop, "f", "g");
    Job *job = commit_start(loop, "One", "k1");
    run_for(loop, 1000);
    WROTE(loop, "g");
    await(loop, job);
    sha_of(job);
    assert_non_null(strstr(job->call.extra.data, "\"paths\":[\"f\"]"));
    job_free(job);
    shell(loop, "git config --global --unset filter.slow.clean; rm .git/info/attributes; echo 2 >>g");
    job = commit(loop, "Two", "k2");
    sha_of(job);
    job_free(job);
    assert_string_equal(shell(loop, "git show --name-only --format= " BRANCH), "g\n");
}

static void notes_survive_a_snapshot(void **state)
{
    TfyLoop *loop = *state;
    const char *uuid = "0190b0c2-1234-7abc-8def-0123456789ab";
    TfyBuffer out = {0};
    repository(loop);
    shell(loop, "echo more >>a.txt; echo b >b.txt");
    WROTE(loop, "a.txt");
    Job *job = commit(loop, "One", "k1");
    const TfyObj *sha = job->value.o;
    sha_of(job);
    WROTE(loop, "b \"quoted\"", "b.txt");
    tfy__wrote_save(loop, uuid, &out);
    char expected[300];
    snprintf(expected, sizeof expected,
             "{\"last\":\"%s\",\"branch\":\"refs/heads/main\",\"base\":\"%.40s\",\"wrote\":[\"b "
             "\\\"quoted\\\"\",\"b.txt\"]}",
             ((const TfyString *)sha)->bytes, shell(loop, "git rev-parse main"));
    assert_string_equal(out.data, expected);
    job_free(job);
    tfy__wrote_close(loop);
    assert_null(tfy__wrote_of(loop, uuid));
    json_t *json = json_loads(out.data, 0, NULL);
    tfy__wrote_restore(loop, uuid, json);
    json_decref(json);
    tfy__buffer_free(&out);
    shell(loop, "git branch -q -D " BRANCH); /* the next commit follows the last one all the same */
    job = commit(loop, "Two", "k2");
    sha_of(job);
    job_free(job);
    assert_string_equal(shell(loop, "git log --format=%s --name-only " BRANCH),
                        "Two\n\nb.txt\nOne\n\na.txt\nfirst\n\na.txt\n");
}

static void never_commits_twice(void **state)
{
    TfyLoop *loop = *state;
    char first[100];
    repository(loop);
    shell(loop, "echo more >> a.txt");
    WROTE(loop, "a.txt");
    Job *job = commit(loop, "One", "run/1/1");
    strcpy(first, sha_of(job));
    job_free(job);
    shell(loop, "echo more >> a.txt");
    WROTE(loop, "a.txt");
    job = commit(loop, "Two", "run/1/11"); /* a key that begins like the other */
    assert_string_not_equal(sha_of(job), first);
    job_free(job);
    shell(loop, "echo more >> a.txt");
    job = commit(loop, "One", "run/1/1");
    assert_string_equal(sha_of(job), first);
    job_free(job);
    shell(loop, "git merge -q --ff-only " BRANCH " 2>&1 || git reset -q --hard " BRANCH "; git branch -q -D " BRANCH);
    job = commit(loop, "One", "run/1/1"); /* somebody took it over: what is checked out has it */
    assert_string_equal(sha_of(job), first);
    job_free(job);
    assert_string_equal(shell(loop, "git rev-list --count main"), "3\n");
}

static void stays_on_its_branch(void **state)
{
    TfyLoop *loop = *state;
    repository(loop);
    shell(loop, "echo b > b.txt");
    WROTE(loop, "b.txt");
    job_free(commit(loop, "One", "k1"));
    shell(loop, "git checkout -q -b other; echo x >x; git add x; git commit -q -m x; echo c > c.txt");
    WROTE(loop, "c.txt");
    Job *job = commit(loop, "Two", "k2");
    sha_of(job);
    job_free(job);
    assert_string_equal(shell(loop, "git log --format=%s " BRANCH "; git branch --show-current"),
                        "Two\nOne\nfirst\nother\n");
}

static void odd_keys_are_found_again(void **state)
{
    TfyLoop *loop = *state;
    const char *keys[] = {"with spaces in it ", "per%cent", "line\nbreak\n\nX: y", "\303\244"};
    repository(loop);
    for (size_t i = 0; i < 4; i++) {
        shell(loop, "echo more >> a.txt");
        WROTE(loop, "a.txt");
        Job *job = commit(loop, "Change\n\nSigned-off-by: Ann <ann@example.invalid>", keys[i]);
        Job *again = commit(loop, "Change", keys[i]);
        assert_string_equal(sha_of(job), sha_of(again));
        job_free(job);
        job_free(again);
    }
    assert_string_equal(shell(loop, "git rev-list --count " BRANCH), "5\n");
}

static void begins_an_empty_repository(void **state)
{
    TfyLoop *loop = *state;
    shell(loop, "git init -q; echo a > a.txt");
    WROTE(loop, "a.txt");
    Job *job = commit(loop, "First", "k");
    sha_of(job);
    job_free(job);
    assert_string_equal(shell(loop, "git log --format='%an <%ae> %cn %s' " BRANCH),
                        "Tiffany <tiffany@localhost> Tiffany First\n");
}

static void says_what_cannot_be_committed(void **state)
{
    TfyLoop *loop = *state;
    shell(loop, "echo a > a.txt");
    assert_fails(commit(loop, "x", "k"), "the working root is not in a git repository");
    repository(loop);
    assert_fails(commit(loop, "x", "k"), "nothing to commit: the run has written no file");
    WROTE(loop, "a.txt");
    assert_fails(commit(loop, "x", "k"), "nothing to commit: the files that the run wrote are as they were");
    assert_fails(commit(loop, " \n", "k"), "a commit needs a message");
}

/* Everything that git would run for a repository leaves a mark; none may be there. */
static void runs_nothing_of_the_repository(void **state)
{
    TfyLoop *loop = *state;
    repository(loop);
    shell(loop,
          "printf '#!/bin/sh\\necho \"$0 $*\" >>\"'$PWD'/RAN\"\\ncat\\n' >spy; chmod +x spy; echo RAN "
          ">.git/info/exclude\n"
          "for hook in pre-commit prepare-commit-msg commit-msg post-commit post-checkout reference-transaction "
          "post-index-change pre-auto-gc; do cp spy .git/hooks/$hook; done\n"
          "mkdir hooks; cp spy hooks/pre-commit; git config core.hooksPath hooks\n"
          "for key in core.fsmonitor core.pager core.editor core.askPass core.sshCommand core.gitProxy gpg.program "
          "diff.external credential.helper alias.log alias.commit diff.x.textconv diff.x.command merge.x.driver; "
          "do git config $key \"$PWD/spy\"; done\n"
          "git config commit.gpgSign true; git config tag.gpgSign true; git config log.showSignature true; "
          "git config commit.verbose true; git config core.untrackedCache true\n"
          "git config remote.far.url 'ext::'$PWD'/spy'; git config remote.far.promisor true; git config "
          "protocol.ext.allow always; git config extensions.partialClone far\n"
          "printf '*.txt diff=x merge=x\\n' >.gitattributes; echo b >b.txt; rm -f RAN");
    WROTE(loop, "b.txt", ".gitattributes");
    Job *job = commit(loop, "One", "k1");
    sha_of(job);
    job_free(job);
    shell(loop, "echo c >>a.txt; chmod +x b.txt; rm -f RAN");
    WROTE(loop, "a.txt", "b.txt");
    job = commit(loop, "Two", "k2");
    sha_of(job);
    job_free(job);
    job = preview(loop, "a.txt", "x\n");
    assert_applies(loop, job->value.o);
    job_free(job);
    assert_string_equal(shell(loop, "cat RAN 2>/dev/null || echo none"), "none\n");
    assert_string_equal(
        shell(loop, "git -c core.fsmonitor=false --no-pager -c log.showSignature=false rev-list --count " BRANCH),
        "3\n");
}

/* A repository inside has settings of its own, and its files are not ours. */
static void asks_nothing_of_a_repository_inside(void **state)
{
    TfyLoop *loop = *state;
    repository(loop);
    shell(
        loop,
        "git init -q in && cd in && git config user.name A && git config user.email a@example.invalid && echo 1 >f && "
        "git add f && git commit -q -m inner && git config core.fsmonitor 'touch ../RAN; false' && git config "
        "filter.x.clean "
        "'touch ../RAN; cat' && echo '* filter=x' >.gitattributes && echo 2 >>f && cd .. && rm -f RAN");
    shell(loop, "echo more >>a.txt");
    WROTE(loop, "a.txt");
    Job *job = commit(loop, "Beside it", "k1");
    sha_of(job);
    job_free(job);
    WROTE(loop, "in/f");
    assert_fails(commit(loop, "In it", "k2"), "/in is another repository");
    assert_string_equal(shell(loop, "ls RAN 2>/dev/null || echo none; git ls-tree " BRANCH " in"), "none\n");
}

static void filters_are_the_persons_or_refused(void **state)
{
    TfyLoop *loop = *state;
    repository(loop);
    shell(loop,
          "git config --global filter.mine.clean 'tr a-z A-Z'; git config filter.mine.clean 'touch RAN; cat'; echo "
          "'*.up filter=mine' >.gitattributes; echo abc >x.up");
    WROTE(loop, "x.up", ".gitattributes");
    Job *job = commit(loop, "Up", "k1");
    sha_of(job);
    job_free(job);
    assert_string_equal(shell(loop, "git cat-file blob " BRANCH ":x.up; ls RAN 2>/dev/null || echo none"),
                        "ABC\nnone\n");
    shell(loop, "git config filter.theirs.process 'touch RAN; cat'; echo '*.no filter=theirs' >>.gitattributes; echo "
                "abc >x.no");
    WROTE(loop, "x.no");
    assert_fails(commit(loop, "No", "k2"), "a filter that only the repository's settings define is not run");
    assert_string_equal(shell(loop, "ls RAN 2>/dev/null || echo none"), "none\n");
    shell(loop, "printf '* text=auto\\n' >.gitattributes; printf 'a\\r\\n' >crlf; rm x.no");
    WROTE(loop, "crlf", ".gitattributes");
    job = commit(loop, "Lines", "k3");
    sha_of(job);
    job_free(job);
    assert_string_equal(shell(loop, "git cat-file blob " BRANCH ":crlf"), "a\n");
}

static void commits_what_git_add_would(void **state)
{
    TfyLoop *loop = *state;
    repository(loop);
    shell(loop,
          "mkdir d e; echo 1 >d/f; echo 2 >e/g; ln -s a.txt link; echo x >exe; chmod +x exe; echo '*.o' >.gitignore; "
          "git add -A; git commit -q -m more; echo o >x.o; echo ' odd ' >' odd \"name'");
    shell(loop, "rm -r d; echo file >d; rm e/g; rmdir e; rm link; mkdir link; echo in >link/in; chmod -x exe");
    WROTE(loop, " odd \"name", "d/f", "d", "e/g", "link", "link/in", "exe");
    Job *job = commit(loop, "  All of it  \n\n\n\nand more", "k");
    sha_of(job);
    job_free(job);
    assert_string_equal(
        shell(loop, "git log -1 --format=%B " BRANCH " | head -3; git ls-tree -r " BRANCH " | cut -c1-6,54-"),
        "  All of it\n\nand more\n100644\" odd \\\"name\"\n100644.gitignore\n100644a.txt\n100644d\n100644exe\n"
        "100644link/in\n");
}

/* A file is found through the links that a write would follow. */
static void follows_links(void **state)
{
    TfyLoop *loop = *state;
    repository(loop);
    shell(loop, "mkdir d; echo 1 >d/f; ln -s d l; ln -s d/f m; echo 1 >d/g");
    WROTE(loop, "m", "l/g", "l/../l/gone");
    Job *job = commit(loop, "x", "k");
    sha_of(job);
    job_free(job);
    assert_string_equal(shell(loop, "git show --name-only --format= " BRANCH), "d/f\nd/g\n");
}

/* What a person is in the middle of does not matter: neither the index nor HEAD is touched. */
static void commits_during_a_merge(void **state)
{
    TfyLoop *loop = *state;
    repository(loop);
    shell(
        loop,
        "git checkout -q -b side; echo side >a.txt; git commit -q -a -m side; git checkout -q main; echo main >a.txt; "
        "git commit -q -a -m main; git merge side || true; echo b >b.txt; git status --porcelain >../$(basename "
        "\"$PWD\").s");
    WROTE(loop, "b.txt");
    Job *job = commit(loop, "x", "k");
    sha_of(job);
    job_free(job);
    assert_string_equal(shell(loop, "git status --porcelain | diff - ../$(basename \"$PWD\").s; rm ../$(basename "
                                    "\"$PWD\").s; test -e .git/MERGE_HEAD; git show --name-only --format= " BRANCH),
                        "b.txt\n");
}

static void leaves_a_branch_that_is_checked_out(void **state)
{
    TfyLoop *loop = *state;
    repository(loop);
    shell(loop, "git worktree add -q -b " BRANCH " ../\"$(basename \"$PWD\")\"-other; echo b >b.txt");
    WROTE(loop, "b.txt");
    assert_fails(commit(loop, "x", "k"), "-other; check out another one there");
    shell(loop, "git worktree remove --force ../\"$(basename \"$PWD\")\"-other; git checkout -q " BRANCH);
    assert_fails(commit(loop, "x", "k"), "the run's branch " BRANCH " is checked out in ");
    shell(loop, "git checkout -q main");
    Job *job = commit(loop, "x", "k");
    sha_of(job);
    job_free(job);
}

/* In a linked work tree `.git` is a file. */
static void commits_in_a_linked_work_tree(void **state)
{
    TfyLoop *loop = *state;
    shell(loop, "git init -q -b main main && cd main && git config user.name Ann && git config user.email "
                "a@example.invalid && echo 1 "
                ">f && git add f && git commit -q -m one && git worktree add -q ../tree");
    char root[256];
    int outer_fd = loop->root_fd;
    strcpy(root, loop->root);
    strcat(loop->root, "/tree");
    loop->root_fd = openat(outer_fd, "tree", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    shell(loop, "echo 2 >f");
    WROTE(loop, "f");
    Job *job = commit(loop, "Two", "k");
    sha_of(job);
    job_free(job);
    assert_string_equal(shell(loop, "git status --porcelain; git log --format=%s " BRANCH
                                    "; git branch --show-current; git -C "
                                    "../main status --porcelain"),
                        " M f\nTwo\none\ntree\n");
    close(loop->root_fd);
    loop->root_fd = outer_fd;
    strcpy(loop->root, root);
}

/* A commit of the file in this directory, as the root; it returns its author. */
static const char *author_in(TfyLoop *loop, const char *directory, const char *file, const char *key)
{
    char root[256];
    const int outer_fd = loop->root_fd;
    strcpy(root, loop->root);
    snprintf(loop->root + strlen(root), sizeof loop->root - strlen(root), "/%s", directory);
    loop->root_fd = openat(outer_fd, directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    shell(loop, "echo more >> new");
    WROTE(loop, file);
    Job *job = commit(loop, "New", key);
    const char *said = job->failed ? job->message : shell(loop, "git log -1 --format=%an " BRANCH);
    static char kept[9000];
    snprintf(kept, sizeof kept, "%s", said);
    job_free(job);
    close(loop->root_fd);
    loop->root_fd = outer_fd;
    strcpy(loop->root, root);
    tfy__wrote_close(loop);
    return kept;
}

/* Who commits and what is ignored is the person's affair, wherever the repository is. */
static void commits_as_the_person_wants(void **state)
{
    TfyLoop *loop = *state;
    shell(loop,
          "mkdir home && export HOME=$PWD/home && git init -q one && cd one && echo 1 >f && git add f && "
          "git -c user.name=x -c user.email=x commit -q -m one && cd .. && git clone -q --shared one two && "
          "mkdir two/in && git init -q --separate-git-dir=apart three && git init -q four && cd four && "
          "git -c protocol.file.allow=always submodule --quiet add ../one sub && cd .. && "
          "printf '[user]\nname = Ann\nemail = a@example.invalid\n[core]\nexcludesfile = ~/never\n"
          "[includeIf \"gitdir:~/../four/\"]\npath = work\n[include]\npath = more\n' >home/config && "
          "ln -s config home/.gitconfig && echo '*.tmp' >home/never && "
          "printf '[user]\nname = Worker\n' >home/work && printf '[user]\nname = Bea\n' >home/more; touch two/x.tmp");
    char home[300];
    snprintf(home, sizeof home, "%s/home", loop->root);
    setenv("HOME", home, 1);
    assert_string_equal(author_in(loop, "two", "new", "k1"), "Bea\n");
    assert_string_equal(author_in(loop, "two/in", "new", "k2"), "Bea\n");
    assert_string_equal(author_in(loop, "three", "new", "k3"), "Bea\n");
    assert_string_equal(author_in(loop, "four/sub", "new", "k4"), "Bea\n");
    assert_non_null(strstr(author_in(loop, "two", "x.tmp", "k6"), "git ignores it"));
    shell(
        loop,
        "printf '[user]\nemail = a@example.invalid\n[includeIf \"gitdir:'$PWD'/four/\"]\npath = work\n' >home/config");
    assert_string_equal(author_in(loop, "four/sub", "new", "k5"), "Worker\n");
}

#define REF_LOCK ".git/refs/heads/" BRANCH ".lock"

static void waits_for_another_git(void **state)
{
    TfyLoop *loop = *state;
    repository(loop);
    shell(loop,
          "git config --unset user.name; git config --unset user.email; echo b > b.txt; mkdir -p $(dirname " REF_LOCK
          "); touch " REF_LOCK "; (sleep 1; rm " REF_LOCK ") >/dev/null 2>&1 &");
    WROTE(loop, "b.txt");
    Job *job = commit(loop, "x", "k");
    sha_of(job);
    job_free(job);
}

/* What git leaves when it is killed just after it made a lock file. */
static void removes_what_a_killed_git_left(void **state)
{
    TfyLoop *loop = *state;
    repository(loop);
    shell(loop, "echo b > b.txt; mkdir -p $(dirname " REF_LOCK "); touch " REF_LOCK);
    WROTE(loop, "b.txt");
    Job *job = commit(loop, "x", "k");
    sha_of(job);
    job_free(job);
    assert_non_null(strstr(loop->report, ".lock', which a git that was killed left behind"));
}

/* A person's git holds the index while an editor is open: a commit does not need it. */
static void leaves_a_living_git_its_lock(void **state)
{
    TfyLoop *loop = *state;
    repository(loop);
    shell(loop, "echo b > a.txt; echo b >b.txt; printf '#!/bin/sh\\nexec sleep 60\\n' > editor; chmod +x editor; "
                "(GIT_EDITOR=./editor setsid git commit --quiet -a >/dev/null 2>&1 & echo $! > pid) ; "
                "while [ ! -e .git/index.lock ]; do sleep 0.05; done");
    WROTE(loop, "b.txt");
    Job *job = commit(loop, "x", "k");
    sha_of(job);
    job_free(job);
    shell(loop, "test -e .git/index.lock; kill -- -$(cat pid)");
    assert_string_equal(loop->report, "");
}

static void takes_turns(void **state)
{
    TfyLoop *loop = *state;
    enum { MANY = 6 };
    Job *jobs[MANY];
    repository(loop);
    for (int i = 0; i < MANY; i++) {
        char key[16], command[64];
        snprintf(key, sizeof key, "k%d", i);
        snprintf(command, sizeof command, "echo %d > f%d", i, i);
        if (i == 0) shell(loop, command);
        if (i == 0) WROTE(loop, "f0");
        jobs[i] = commit_start(loop, "x", strdup(key));
    }
    tfy__perform_commit.abort(&jobs[3]->call); /* one that waits */
    await(loop, jobs[0]);
    assert_true(jobs[0]->done);
    for (int i = 1; i < MANY; i++) {
        if (i == 3) continue;
        await(loop, jobs[i]);
        assert_non_null(strstr(jobs[i]->message, "nothing to commit"));
    }
    for (int i = 0; i < MANY; i++) {
        free((char *)jobs[i]->call.key);
        job_free(jobs[i]);
    }
}

static void an_abort_leaves_no_lock(void **state)
{
    TfyLoop *loop = *state;
    repository(loop);
    shell(loop,
          "git config --global filter.slow.clean 'sleep 60'; echo '* filter=slow' > .gitattributes; echo b > b.txt");
    WROTE(loop, "b.txt");
    Job *job = commit_start(loop, "x", "k");
    run_for(loop, 600);
    assert_false(job->done || job->failed);
    tfy__perform_commit.abort(&job->call);
    job_free(job);
    shell(loop, "git config --global --unset filter.slow.clean");
    job = commit(loop, "x", "k");
    sha_of(job);
    job_free(job);
}

static void git_may_be_missing(void **state)
{
    TfyLoop *loop = *state;
    char *path = strdup(getenv("PATH"));
    setenv("PATH", "/nowhere", 1);
    assert_fails(preview(loop, "a.txt", "x"), "cannot run 'git': not found in PATH; the canvas needs git");
    setenv("PATH", path, 1);
    free(path);
}

static void a_root_that_is_gone_is_said(void **state)
{
    TfyLoop *loop = *state;
    TfyObj *patch = tfy_keep(patch_of(loop, "a.txt", "x"));
    remove_tree(loop->root);
    assert_fails(preview(loop, "a.txt", "x"), "is gone");
    assert_fails(apply(loop, patch), "is gone");
    assert_fails(commit(loop, "x", "k"), "is gone");
    tfy_drop(&loop->task, patch);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, open_loop, close_loop)

/* The few that find out how git is held. */
static int run_held(const char *sandbox, const char *level)
{
    const struct CMUnitTest tests[] = {
        TEST(works_below_a_repository),
        TEST(filters_are_the_persons_or_refused),
        TEST(commits_in_a_linked_work_tree),
        TEST(commits_as_the_person_wants),
    };
    ceiling_sandbox = sandbox;
    level_option = level;
    return cmocka_run_group_tests_name(sandbox ? sandbox : level, tests, NULL, NULL);
}

int main(void)
{
    TfyCellAnswer answer;
    const struct CMUnitTest tests[] = {
        TEST(previews_a_change),
        TEST(previews_nothing),
        TEST(previews_a_new_file),
        TEST(every_preview_applies),
        TEST(keeps_the_mode),
        TEST(previews_only_text_inside),
        TEST(applies_where_lines_moved),
        TEST(never_applies_twice),
        TEST(a_conflict_is_gits_word),
        TEST(touches_only_its_path),
        TEST(takes_a_patch_of_others),
        TEST(deletes_and_changes_modes),
        TEST(works_below_a_repository),
        TEST(refuses_what_is_protected),
        TEST(commits_on_the_runs_branch),
        TEST(never_commits_twice),
        TEST(takes_only_what_the_run_wrote),
        TEST(refuses_what_git_ignores),
        TEST(keeps_what_was_written_meanwhile),
        TEST(notes_survive_a_snapshot),
        TEST(stays_on_its_branch),
        TEST(odd_keys_are_found_again),
        TEST(begins_an_empty_repository),
        TEST(says_what_cannot_be_committed),
        TEST(runs_nothing_of_the_repository),
        TEST(asks_nothing_of_a_repository_inside),
        TEST(filters_are_the_persons_or_refused),
        TEST(commits_what_git_add_would),
        TEST(follows_links),
        TEST(commits_during_a_merge),
        TEST(leaves_a_branch_that_is_checked_out),
        TEST(commits_in_a_linked_work_tree),
        TEST(commits_as_the_person_wants),
        TEST(waits_for_another_git),
        TEST(takes_turns),
        TEST(an_abort_leaves_no_lock),
        TEST(removes_what_a_killed_git_left),
        TEST(leaves_a_living_git_its_lock),
        TEST(git_may_be_missing),
        TEST(a_root_that_is_gone_is_said),
    };
    const bool cells = tfy__cell_probe(TFY_CELL_PARTIAL, &answer) == 0;
    if (cells) ceiling_sandbox = NULL;
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    if (cells) failed += run_held("open", NULL) + run_held(NULL, "partial");
    return failed;
}
