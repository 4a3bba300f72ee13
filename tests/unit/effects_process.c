/* effects_process.c: tools as people meet them: well-behaved, endless, deaf to SIGTERM, with children of their own, killed with us. */
#include "effects_fixture.h"

#include "effects/former.h"
#include "effects/process.h"
#include "effects/sandbox.h"

/* A test that hangs ends the program and everything that it left asleep: a failure within a minute, not a wait. */
enum { HUNG_S = 60 };
static const char *asleep; /* the mark of the loop that is open */

static void on_hang(int signal)
{
    (void)signal;
    execl("/bin/sh", "sh", "-c", "echo 'not ok - a test hangs'; pkill -KILL -x -f \"sleep $0\"; exit 1", asleep, NULL);
    _exit(1);
}

static int open_loop(void **state)
{
    TfyLoop *loop = loop_open();
    asleep = loop->mark;
    signal(SIGALRM, on_hang);
    alarm(HUNG_S);
    *state = loop;
    return 0;
}

static int close_loop(void **state)
{
    TfyLoop *loop = *state;
    tfy__process_close(loop);
    tfy__sandbox_close(loop);
    alarm(0);
    loop_close(loop);
    return 0;
}

static const TfyTool exec_tool = {
    .name = "exec", .family = TFY_F_EXEC, .param_count = 4, .result = &tfy_type_exec_result};

/* exec(argv, stdin, cwd, env) */
static Job *exec_with(TfyLoop *loop, TfyObj *argv, const char *input, const char *cwd)
{
    Job *job = job_new(loop, &exec_tool);
    job->args[0] = tfy_of_obj(argv);
    job->args[1] = tfy_of_obj(input ? text_of(loop, input) : NULL);
    job->args[2] = tfy_of_obj(cwd ? text_of(loop, cwd) : NULL);
    tfy__perform_exec.start(&job->call);
    return job;
}

/* '@' in the script stands for the loop's mark. */
static Job *sh(TfyLoop *loop, const char *script)
{
    char marked[1000];
    size_t len = 0;
    for (; *script; script++) {
        len += (size_t)snprintf(marked + len, sizeof marked - len, *script == '@' ? "%s" : "%.1s",
                                *script == '@' ? loop->mark : script);
    }
    return exec_with(loop, WORDS(loop, "sh", "-c", marked), NULL, NULL);
}

static int64_t code_of(const Job *job)
{
    assert_true(job->done);
    return tfy_field(job->value.o, 0).i;
}

static const char *out_of(const Job *job)
{
    assert_true(job->done);
    return chars(tfy_field(job->value.o, 1));
}

static const char *err_of(const Job *job)
{
    return chars(tfy_field(job->value.o, 2));
}

static bool is_truncated(const Job *job)
{
    return tfy_field(job->value.o, 3).b;
}

static bool is_lossy(const Job *job)
{
    return tfy_field(job->value.o, 4).b;
}

/* ---- the ordinary ---- */

static void runs_a_tool(void **state)
{
    Job *job = sh(*state, "echo out; echo err >&2; exit 3");
    await(*state, job);
    assert_int_equal(code_of(job), 3);
    assert_string_equal(out_of(job), "out\n");
    assert_string_equal(err_of(job), "err\n");
    assert_false(is_truncated(job));
    assert_false(is_lossy(job));
    job_free(job);
}

static void runs_in_the_root(void **state)
{
    TfyLoop *loop = *state;
    mkdirat(loop->root_fd, "sub", 0755);
    Job *job = exec_with(loop, WORDS(loop, "pwd"), NULL, NULL),
        *below = exec_with(loop, WORDS(loop, "pwd"), NULL, "sub");
    await(loop, job);
    await(loop, below);
    assert_int_equal(strncmp(out_of(job), loop->root, strlen(loop->root)), 0);
    assert_non_null(strstr(out_of(below), "/sub\n"));
    job_free(job);
    job_free(below);
}

static void refuses_a_directory_outside(void **state)
{
    TfyLoop *loop = *state;
    symlinkat("/tmp", loop->root_fd, "out");
    const char *paths[] = {"..", "/tmp", "out", "sub/../../x", "missing"};
    for (size_t i = 0; i < 5; i++) {
        Job *job = exec_with(loop, WORDS(loop, "pwd"), NULL, paths[i]);
        assert_true(job->failed);
        assert_non_null(strstr(job->message, paths[i]));
        job_free(job);
    }
}

static void gives_arguments_as_they_are(void **state)
{
    TfyLoop *loop = *state;
    Job *job = exec_with(loop, WORDS(loop, "printf", "[%s]", "a b", "$HOME", "'\"", "", "*"), NULL, NULL);
    await(loop, job);
    assert_string_equal(out_of(job), "[a b][$HOME]['\"][][*]");
    job_free(job);
}

static void gives_only_listed_environment(void **state)
{
    TfyLoop *loop = *state;
    setenv("TFY_LLM_KEY", "secret", 1);
    setenv("LC_TIME", "C", 1);
    Job *job = job_new(loop, &exec_tool);
    TfyValue keys[] = {tfy_of_obj(text_of(loop, "MINE")), tfy_of_obj(text_of(loop, "LC_TIME"))};
    TfyValue values[] = {tfy_of_obj(text_of(loop, "a=b")), tfy_of_obj(text_of(loop, "POSIX"))};
    job->args[0] = tfy_of_obj(WORDS(loop, "env"));
    job->args[3] = tfy_of_obj(tfy_map_of(&loop->task, &tfy_type_map_string_string, 2, keys, values));
    tfy__perform_exec.start(&job->call);
    await(loop, job);
    assert_non_null(strstr(out_of(job), "TFY_KEY=run/1/1\n"));
    assert_non_null(strstr(out_of(job), "MINE=a=b\n"));
    assert_non_null(strstr(out_of(job), "LC_TIME=POSIX\n"));
    assert_null(strstr(out_of(job), "LC_TIME=C\n"));
    assert_null(strstr(out_of(job), "secret"));
    unsetenv("TFY_LLM_KEY");
    job_free(job);
}

static void names_what_cannot_be_run(void **state)
{
    TfyLoop *loop = *state;
    close(openat(loop->root_fd, "plain", O_CREAT | O_WRONLY, 0644));
    close(openat(loop->root_fd, "empty", O_CREAT | O_WRONLY, 0755));
    const struct {
        const char *name, *message;
        int code;
    } cases[] = {{"no-such-tool", "cannot run 'no-such-tool': not found in PATH", ENOENT},
                 {"./absent", "cannot run './absent': no such file (or the interpreter it names)", ENOENT},
                 {"./plain", "cannot run './plain': it is not executable", EACCES},
                 {"./empty", "cannot run './empty': not a program; a script needs a first line '#!…'", ENOEXEC},
                 {"", "'exec' was given no command to run", EINVAL}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        Job *job = exec_with(loop, WORDS(loop, cases[i].name), NULL, NULL);
        await(loop, job);
        assert_string_equal(job->message, cases[i].message);
        assert_int_equal(job->code, cases[i].code);
        job_free(job);
    }
}

static void refuses_nul_bytes(void **state)
{
    TfyLoop *loop = *state;
    TfyValue items[] = {tfy_of_obj(text_of(loop, "echo")), tfy_of_obj(tfy_string_of(&loop->task, "a\0b", 3))};
    Job *job = exec_with(loop, tfy_list_of(&loop->task, &tfy_type_list_string, 2, items), NULL, NULL);
    assert_true(job->failed);
    assert_string_equal(job->message, "argument 1 of 'exec' has a NUL byte in it");
    job_free(job);
}

static void refuses_too_long_arguments(void **state)
{
    TfyLoop *loop = *state;
    char *big = malloc(3 << 20);
    memset(big, 'x', 3 << 20);
    TfyValue items[] = {tfy_of_obj(text_of(loop, "echo")), tfy_of_obj(tfy_string_of(&loop->task, big, 3 << 20))};
    Job *job = exec_with(loop, tfy_list_of(&loop->task, &tfy_type_list_string, 2, items), NULL, NULL);
    await(loop, job);
    assert_int_equal(job->code, E2BIG);
    free(big);
    job_free(job);
}

static void keeps_descriptors_and_terminal_from_tools(void **state)
{
    TfyLoop *loop = *state;
    int leak = open("/dev/null", O_RDONLY); /* not close-on-exec */
    Job *job = sh(loop, "ls /proc/self/fd | tr '\\n' ' '; (: </dev/tty) 2>/dev/null && echo terminal; trap");
    await(loop, job);
    assert_string_equal(out_of(job), "0 1 2 3 59 "); /* 3 is the directory that ls reads, 59 the mark */
    close(leak);
    job_free(job);
}

/* ---- stdin ---- */

static void feeds_stdin(void **state)
{
    TfyLoop *loop = *state;
    Job *job = exec_with(loop, WORDS(loop, "cat"), "to cat", NULL),
        *none = exec_with(loop, WORDS(loop, "cat"), NULL, NULL);
    await(loop, job);
    await(loop, none);
    assert_string_equal(out_of(job), "to cat");
    assert_string_equal(out_of(none), "");
    job_free(job);
    job_free(none);
}

static void stdin_may_stay_unread(void **state)
{
    TfyLoop *loop = *state;
    char *big = malloc((4 << 20) + 1);
    memset(big, 'x', 4 << 20);
    big[4 << 20] = 0;
    Job *job = exec_with(loop, WORDS(loop, "true"), big, NULL),
        *whole = exec_with(loop, WORDS(loop, "wc", "-c"), big, NULL);
    await(loop, job);
    await(loop, whole);
    assert_int_equal(code_of(job), 0);
    assert_string_equal(out_of(whole), "4194304\n");
    free(big);
    job_free(job);
    job_free(whole);
}

/* ---- outputs ---- */

static void caps_a_flood(void **state)
{
    TfyLoop *loop = *state;
    Job *job = sh(loop, "yes | head -c 200000000; yes e | head -c 3000000 >&2");
    await(loop, job);
    assert_int_equal(code_of(job), 0);
    assert_int_equal(strlen(out_of(job)), OUTPUT_MOST);
    assert_int_equal(strlen(err_of(job)), OUTPUT_MOST);
    assert_true(is_truncated(job));
    assert_false(is_lossy(job));
    assert_true(loop->heap.in_use < 8 << 20);
    job_free(job);
}

static void a_flood_does_not_stop_others(void **state)
{
    TfyLoop *loop = *state;
    Job *endless = sh(loop, "exec yes flood"), *other = sh(loop, "sleep 0.2; echo here");
    await(loop, other);
    assert_string_equal(out_of(other), "here\n");
    tfy__perform_exec.abort(&endless->call);
    job_free(endless);
    job_free(other);
}

static void replaces_invalid_utf8(void **state)
{
    TfyLoop *loop = *state;
    Job *job = sh(loop, "printf 'a\\377b\\303'");
    await(loop, job);
    assert_string_equal(out_of(job), "a\xEF\xBF\xBD"
                                     "b\xEF\xBF\xBD");
    assert_true(is_lossy(job));
    job_free(job);
}

static void a_cut_character_is_no_loss(void **state)
{
    TfyLoop *loop = *state;
    Job *job = sh(loop, "yes '\303\244\303\244\303\244' | tr -d '\\n' | head -c 2000001");
    await(loop, job);
    assert_true(is_truncated(job));
    assert_false(is_lossy(job));
    job_free(job);
}

static void stdout_may_be_closed_early(void **state)
{
    TfyLoop *loop = *state;
    Job *job = sh(loop, "echo first; exec >&- 2>&-; sleep 0.3; exit 7");
    await(loop, job);
    assert_int_equal(code_of(job), 7);
    assert_string_equal(out_of(job), "first\n");
    job_free(job);
}

static void grandchildren_do_not_hold_the_result(void **state)
{
    TfyLoop *loop = *state;
    int64_t begin_ns = clock_ns();
    Job *job = sh(loop, "echo before; sleep @ & exit 0");
    await(loop, job);
    assert_string_equal(out_of(job), "before\n");
    assert_true(clock_ns() - begin_ns < 1000000000);
    job_free(job);
    assert_int_equal(count_processes(loop->mark), 1); /* what a tool leaves behind lives as long as the loop */
    tfy__process_close(loop);
    tfy__sandbox_close(loop);
    assert_int_equal(await_none(loop->mark, 1000), 0);
}

/* ---- ends ---- */

static void a_signal_is_an_exit_code(void **state)
{
    Job *job = sh(*state, "kill -SEGV $$");
    await(*state, job);
    assert_int_equal(code_of(job), 128 + SIGSEGV);
    job_free(job);
}

static void abort_ends_a_group(void **state)
{
    TfyLoop *loop = *state;
    Job *job = sh(loop, "sleep @ & sleep @; true");
    run_for(loop, 300);
    assert_int_equal(count_processes(loop->mark) >= 2, 1);
    tfy__perform_exec.abort(&job->call);
    run_for(loop, 300);
    assert_int_equal(await_none(loop->mark, 500), 0);
    assert_false(job->done || job->failed);
    job_free(job);
}

static void abort_ends_the_deaf(void **state)
{
    TfyLoop *loop = *state;
    Job *job = sh(loop, "trap '' TERM; while :; do sleep 0.05 @; done; : @");
    Job *escaped = sh(loop, "setsid sh -c \"trap '' TERM; sleep @ & sleep @; sleep @\" & wait");
    run_for(loop, 300);
    assert_true(count_processes(loop->mark) > 0);
    assert_true(count_processes(loop->mark) > 0);
    tfy__perform_exec.abort(&job->call);
    tfy__perform_exec.abort(&escaped->call);
    run_for(loop, 1500);
    assert_true(count_processes(loop->mark) > 0); /* still within its two seconds */
    run_for(loop, 1200);
    assert_int_equal(await_none(loop->mark, 200), 0);
    assert_int_equal(await_none(loop->mark, 200), 0);
    job_free(job);
    job_free(escaped);
}

static void a_retry_waits_for_the_old_attempt(void **state)
{
    TfyLoop *loop = *state;
    Job *deaf = sh(loop, "trap '' TERM; while :; do sleep 0.05; done");
    run_for(loop, 200);
    tfy__perform_exec.abort(&deaf->call);
    int64_t begin_ns = clock_ns();
    Job *again = sh(loop, "echo again");
    await(loop, again);
    assert_true(clock_ns() - begin_ns > 1500000000);
    job_free(deaf);
    job_free(again);
}

static void abort_before_it_started(void **state)
{
    TfyLoop *loop = *state;
    Job *job = sh(loop, "sleep @");
    tfy__perform_exec.abort(&job->call);
    run_for(loop, 100);
    assert_true(await_none(loop->mark, 5000) >= 0);
    job_free(job);
    for (int i = 0; i < 20; i++) {
        job = sh(loop, "sleep @");
        turn(loop);
        tfy__perform_exec.abort(&job->call);
        job_free(job);
    }
    run_for(loop, 300);
    assert_true(await_none(loop->mark, 5000) >= 0);
}

static void many_at_once(void **state)
{
    enum { MANY = 600 };
    TfyLoop *loop = *state;
    Job *jobs[MANY];
    int before = open_descriptors();
    for (int i = 0; i < MANY; i++) jobs[i] = sh(loop, "sleep 0.1; exit 5");
    for (int i = 0; i < MANY; i++) {
        await(loop, jobs[i]);
        assert_int_equal(code_of(jobs[i]), 5);
        job_free(jobs[i]);
    }
    assert_true(open_descriptors() <= before + 2); /* the watcher's socket and process */
}

/* ---- results of other types ---- */

static bool argv_of_script(TfyTask *task, const TfyValue *args, TfyValue *out)
{
    TfyValue items[] = {tfy_of_obj(tfy_string_of(task, "sh", 2)), tfy_of_obj(tfy_string_of(task, "-c", 2)), args[0]};
    out->o = tfy_list_of(task, &tfy_type_list_string, 3, items);
    return out->o;
}

static Job *tool(TfyLoop *loop, const TfyType *result, const char *script)
{
    TfyTool declared = {
        .name = "mine", .family = TFY_F_EXEC, .param_count = 1, .result = result, .argv = argv_of_script};
    Job *job = job_new(loop, &declared);
    job->args[0] = tfy_of_obj(text_of(loop, script));
    tfy__perform_exec.start(&job->call);
    await(loop, job);
    return job;
}

static void decodes_results(void **state)
{
    TfyLoop *loop = *state;
    Job *job = tool(loop, &tfy_type_string, "echo text; echo noise >&2");
    assert_string_equal(chars(job->value), "text\n");
    job_free(job);
    job = tool(loop, &tfy_type_list_string, "echo '[\"a\",\"b\"]'");
    assert_int_equal(tfy_list_len(job->value.o), 2);
    job_free(job);
    job = tool(loop, &tfy_type_int, "echo 42");
    assert_int_equal(job->value.i, 42);
    job_free(job);
    job = tool(loop, &tfy_type_nothing, "echo ignored");
    assert_true(job->done);
    job_free(job);
    job = tool(loop, &tfy_type_exec_result, "exit 4");
    assert_int_equal(code_of(job), 4);
    job_free(job);
}

static void refuses_results_that_do_not_fit(void **state)
{
    TfyLoop *loop = *state;
    Job *job = tool(loop, &tfy_type_list_string, "echo '[\"a\",7]'");
    assert_ptr_equal(job->error, &tfy_type_bad_value);
    assert_string_equal(job->path, "$[1]");
    job_free(job);
    job = tool(loop, &tfy_type_int, "echo none");
    assert_ptr_equal(job->error, &tfy_type_bad_value);
    assert_string_equal(job->path, "$");
    job_free(job);
    job = tool(loop, &tfy_type_string, "yes | head -c 2000000");
    assert_ptr_equal(job->error, &tfy_type_bad_value);
    job_free(job);
}

static void an_exit_code_is_an_error(void **state)
{
    TfyLoop *loop = *state;
    Job *job = tool(loop, &tfy_type_string, "for i in 1 2 3 4 5 6 7 8 9 10; do echo line $i >&2; done; exit 9");
    assert_ptr_equal(job->error, &tfy_type_tool_error);
    assert_int_equal(job->code, 9);
    assert_string_equal(
        job->message, "'mine' exited with status 9:\nline 3\nline 4\nline 5\nline 6\nline 7\nline 8\nline 9\nline 10");
    job_free(job);
    job = tool(loop, &tfy_type_string, "kill -KILL $$");
    assert_int_equal(job->code, 137);
    assert_string_equal(job->message, "'mine' was ended by signal 9");
    job_free(job);
}

/* ---- deaths around it ---- */

/* Kills the children of a process that are called so; how many. Their numbers are known to be theirs: nobody reaps them meanwhile. */
static int kill_children(pid_t parent, const char *name)
{
    int killed = 0;
    char wanted[40];
    DIR *proc = opendir("/proc");
    snprintf(wanted, sizeof wanted, "(%s)", name);
    for (struct dirent *entry; (entry = readdir(proc));) {
        char path[300], text[512] = "";
        snprintf(path, sizeof path, "/proc/%s/stat", entry->d_name);
        FILE *file = fopen(path, "r");
        if (!file) continue;
        size_t len = fread(text, 1, sizeof text - 1, file);
        fclose(file);
        text[len] = 0;
        char *end = strrchr(text, ')');
        if (!end || !strstr(text, wanted) || atoi(end + 4) != parent) continue;
        killed += kill(atoi(entry->d_name), SIGKILL) == 0;
    }
    closedir(proc);
    return killed;
}

static pid_t find_child(pid_t parent, const char *name)
{
    char path[64], word[64];
    int pid = 0;
    snprintf(path, sizeof path, "/proc/%d/task/%d/children", (int)parent, (int)parent);
    FILE *list = fopen(path, "r");
    while (list && fscanf(list, "%d", &pid) == 1) {
        snprintf(path, sizeof path, "/proc/%d/comm", pid);
        FILE *comm = fopen(path, "r");
        bool is_it = comm && fscanf(comm, "%63s", word) == 1 && strcmp(word, name) == 0;
        if (comm) fclose(comm);
        if (is_it) break;
        pid = 0;
    }
    if (list) fclose(list);
    return pid;
}

/* Works on outside of its tool's group, session, environment and parents, and does not hear SIGTERM. */
#define ESCAPED "(env -i setsid sh -c \"trap '' TERM; exec sleep @\" >/dev/null 2>&1 </dev/null &) ; "

/* Waits until there are so many for 100 ms: a shell that has forked and not yet called exec counts too. */
static void await_count(TfyLoop *loop, int count)
{
    const int64_t end_ns = clock_ns() + INT64_C(10000000000);
    int found = 0;
    for (int calm = 0; calm < 5 && clock_ns() < end_ns; run_for(loop, 20)) {
        found = count_processes(loop->mark);
        calm = found == count ? calm + 1 : 0;
    }
    assert_int_equal(found, count);
}

static void abort_ends_what_escaped(void **state)
{
    TfyLoop *loop = *state;
    Job *other = sh(loop, ESCAPED "exit 0"), *job = sh(loop, ESCAPED ESCAPED "exec sleep @");
    await(loop, other);
    await_count(loop, 4);
    tfy__perform_exec.abort(&job->call);
    Job *again = sh(loop, "ps ax | grep -c '[s]leep @'");
    await(loop, again);
    assert_string_equal(out_of(again), "1\n"); /* what the tool that ended well has left, and nothing of the other */
    job_free(job);
    job_free(other);
    job_free(again);
}

static void a_failed_attempt_leaves_nothing_to_the_next(void **state)
{
    TfyLoop *loop = *state;
    Job *failed = sh(loop, ESCAPED "exit 1");
    await(loop, failed);
    await_count(loop, 1);
    Job *again = sh(loop, "ps ax | grep -c '[s]leep @'; true");
    await(loop, again);
    assert_string_equal(out_of(again), "0\n");
    job_free(failed);
    job_free(again);
}

/* The watcher is killed, or the stub of a tool: no outcome is reported, the loop stops, and nothing is left when it is closed. */
static void check_loss(TfyLoop *loop, bool stub)
{
    Job *job = sh(loop, "sleep @ & sleep @; true"), *escaped = sh(loop, ESCAPED "exec sleep @");
    await_count(loop, 5);
    Job *dying = sh(loop, "trap '' TERM; while :; do sleep 0.05; : @; done");
    run_for(loop, 100);
    tfy__perform_exec.abort(&dying->call);
    const pid_t watcher = find_child(getpid(), "tfy-watcher");
    assert_true(watcher > 0);
    assert_int_equal(kill(stub ? find_child(watcher, "tfy-stub") : watcher, SIGKILL), 0);
    for (int64_t end_ns = clock_ns() + INT64_C(10000000000); !loop->failure && clock_ns() < end_ns;) turn(loop);
    assert_int_equal(loop->failure, TFY_E_LOST);
    assert_non_null(strstr(loop->report, "the process that supervises the tools"));
    run_for(loop, 700);
    assert_false(job->done || job->failed || escaped->done || escaped->failed);
    tfy__perform_exec.abort(&job->call);
    tfy__perform_exec.abort(&escaped->call);
    tfy__process_close(loop);
    tfy__sandbox_close(loop);
    assert_int_equal(count_processes(loop->mark), 0);
    job_free(job);
    job_free(escaped);
    job_free(dying);
}

static void a_killed_watcher_is_not_an_outcome(void **state)
{
    check_loss(*state, false);
}

static void a_killed_stub_is_not_an_outcome(void **state)
{
    check_loss(*state, true);
}

/* A process that is the runtime: starts tools of every bad habit, says so, and waits to be killed. */
static pid_t fork_runtime(const TfyLoop *like)
{
    int ready[2];
    char byte;
    assert_int_equal(pipe(ready), 0);
    pid_t pid = fork();
    if (pid == 0) {
        TfyLoop *loop = loop_open();
        strcpy(loop->lock_path, like->lock_path);
        strcpy(loop->mark, like->mark);
        sh(loop, "sleep @ & trap '' TERM; while :; do sleep 0.05; : @; done");
        sh(loop, "setsid sh -c \"trap '' TERM; sleep @; sleep @\" & exit 0");
        sh(loop, "(setsid sleep @ &) ; sleep @; true");
        sh(loop, ESCAPED "exec sleep @");
        sh(loop, ESCAPED "exit 0");
        run_for(loop, 1000);
        remove_tree(loop->root);
        if (write(ready[1], "r", 1) != 1) _exit(1);
        for (;;) pause();
    }
    close(ready[1]);
    assert_int_equal(read(ready[0], &byte, 1), 1);
    close(ready[0]);
    return pid;
}

static void kill_and_reap(pid_t runtime)
{
    kill(runtime, SIGKILL);
    waitpid(runtime, NULL, 0);
}

static void nothing_survives_the_runtime(void **state)
{
    TfyLoop *loop = *state;
    pid_t runtime = fork_runtime(loop);
    assert_true(count_processes(loop->mark) >= 8);
    assert_int_equal(tfy__former_end(loop->lock_path, 50), TFY_E_HELD);
    kill_and_reap(runtime);
    assert_int_equal(tfy__former_end(loop->lock_path, 10000), TFY_OK);
    assert_int_equal(count_processes(loop->mark), 0); /* the lock goes last */
}

/* Stopped first, so that none of those that are killed sees the others die. */
static void nothing_survives_runtime_and_watcher(void **state)
{
    TfyLoop *loop = *state;
    pid_t runtime = fork_runtime(loop), watcher = find_child(runtime, "tfy-watcher");
    assert_true(watcher > 0);
    kill(watcher, SIGSTOP);
    kill_and_reap(runtime);
    assert_true(count_processes(loop->mark) >= 8);
    kill(watcher, SIGKILL);
    assert_int_equal(tfy__former_end(loop->lock_path, 10000), TFY_OK);
    assert_int_equal(count_processes(loop->mark), 0);
}

static void what_is_marked_is_found_when_all_are_killed(void **state)
{
    TfyLoop *loop = *state;
    pid_t runtime = fork_runtime(loop), watcher = find_child(runtime, "tfy-watcher");
    assert_true(watcher > 0);
    kill(watcher, SIGSTOP);
    kill_and_reap(runtime);
    assert_true(kill_children(watcher, "tfy-stub") >= 5);
    kill(watcher, SIGKILL);
    assert_true(count_processes(loop->mark) >= 3); /* its tools died with the stubs, what they left did not */
    assert_int_equal(tfy__former_end(loop->lock_path, 10000), TFY_OK);
    assert_int_equal(count_processes(loop->mark), 0);
    assert_int_equal(tfy__former_end(loop->lock_path, 0), TFY_OK);
}

/* A process with nothing but this in its environment. */
static pid_t fork_sleeper(TfyLoop *loop, const char *variable)
{
    pid_t pid = fork();
    if (pid == 0) execle("/bin/sleep", "sleep", loop->mark, NULL, (char *const[]){(char *)variable, NULL});
    return pid;
}

static void the_environment_is_a_mark_too(void **state)
{
    int status;
    TfyLoop *loop = *state;
    pid_t ours = fork_sleeper(loop, "TFY_PROCESS=000000000000abcd-1"), other = fork_sleeper(loop, "TFY_PROCESS=abcd-1");
    int fd = open(loop->lock_path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    await_count(loop, 2);
    assert_int_equal(tfy__former_note(fd, 0xabcd), 0);
    assert_int_equal(tfy__former_end(loop->lock_path, 10000), TFY_OK);
    assert_int_equal(waitpid(ours, &status, WNOHANG), ours);
    assert_int_equal(WTERMSIG(status), SIGTERM);
    assert_int_equal(waitpid(other, &status, WNOHANG), 0);
    kill(other, SIGKILL);
    waitpid(other, &status, 0);
    close(fd);
}

/* A mark in a lock file that was copied is that of another database's owner, who may live. */
static void a_copied_mark_says_nothing(void **state)
{
    TfyLoop *loop = *state;
    Job *job = sh(loop, "exec sleep @");
    char command[1000], copy[320];
    await_count(loop, 1);
    snprintf(copy, sizeof copy, "%s-copy", loop->lock_path);
    snprintf(command, sizeof command, "cp '%s' '%s'", loop->lock_path, copy);
    assert_int_equal(system(command), 0);
    assert_int_equal(tfy__former_end(copy, 10000), TFY_OK);
    run_for(loop, 100);
    assert_false(job->done || job->failed);
    assert_int_equal(count_processes(loop->mark), 1);
    unlink(copy);
    tfy__perform_exec.abort(&job->call);
    job_free(job);
}

static void no_lock_file_is_no_watcher(void **state)
{
    assert_int_equal(tfy__former_end("/tmp/tfy-there-is-none", 0), TFY_OK);
}

static void works_without_a_lock(void **state)
{
    TfyLoop *loop = *state;
    loop->no_lock = true;
    Job *job = sh(loop, "echo memory");
    await(loop, job);
    assert_string_equal(out_of(job), "memory\n");
    job_free(job);
}

static void a_root_that_is_gone_is_said(void **state)
{
    TfyLoop *loop = *state;
    remove_tree(loop->root);
    Job *job = sh(loop, "true");
    await(loop, job);
    assert_true(job->failed);
    assert_non_null(strstr(job->message, "is gone"));
    job_free(job);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, open_loop, close_loop)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(runs_a_tool),
        TEST(runs_in_the_root),
        TEST(refuses_a_directory_outside),
        TEST(gives_arguments_as_they_are),
        TEST(gives_only_listed_environment),
        TEST(names_what_cannot_be_run),
        TEST(refuses_nul_bytes),
        TEST(refuses_too_long_arguments),
        TEST(keeps_descriptors_and_terminal_from_tools),
        TEST(feeds_stdin),
        TEST(stdin_may_stay_unread),
        TEST(caps_a_flood),
        TEST(a_flood_does_not_stop_others),
        TEST(replaces_invalid_utf8),
        TEST(a_cut_character_is_no_loss),
        TEST(stdout_may_be_closed_early),
        TEST(grandchildren_do_not_hold_the_result),
        TEST(a_signal_is_an_exit_code),
        TEST(abort_ends_a_group),
        TEST(abort_ends_the_deaf),
        TEST(a_retry_waits_for_the_old_attempt),
        TEST(abort_before_it_started),
        TEST(many_at_once),
        TEST(decodes_results),
        TEST(refuses_results_that_do_not_fit),
        TEST(an_exit_code_is_an_error),
        TEST(abort_ends_what_escaped),
        TEST(a_failed_attempt_leaves_nothing_to_the_next),
        TEST(a_killed_watcher_is_not_an_outcome),
        TEST(a_killed_stub_is_not_an_outcome),
        TEST(nothing_survives_the_runtime),
        TEST(nothing_survives_runtime_and_watcher),
        TEST(what_is_marked_is_found_when_all_are_killed),
        TEST(the_environment_is_a_mark_too),
        TEST(a_copied_mark_says_nothing),
        TEST(no_lock_file_is_no_watcher),
        TEST(works_without_a_lock),
        TEST(a_root_that_is_gone_is_said),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
