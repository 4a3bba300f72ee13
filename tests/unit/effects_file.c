/* effects_file.c: files inside the working root: what is read and written, and everything that must not be. */
#include "effects_fixture.h"

#include <sys/un.h>

#include "effects/file.h"
#include "effects/pool.h"

static int open_loop(void **state)
{
    *state = loop_open();
    return 0;
}

static int close_loop(void **state)
{
    tfy__pool_close(*state);
    loop_close(*state);
    return 0;
}

static const TfyTool read_tool = {
    .name = "read_file", .family = TFY_F_READ_FILE, .param_count = 1, .result = &tfy_type_string};
static const TfyTool write_tool = {
    .name = "write_file", .family = TFY_F_WRITE_FILE, .param_count = 2, .result = &tfy_type_nothing};

static Job *read_path(TfyLoop *loop, const char *path)
{
    Job *job = job_new(loop, &read_tool);
    job->args[0] = tfy_of_obj(text_of(loop, path));
    tfy__perform_read_file.start(&job->call);
    await(loop, job);
    return job;
}

static Job *write_path(TfyLoop *loop, const char *path, const char *text)
{
    Job *job = job_new(loop, &write_tool);
    job->args[0] = tfy_of_obj(text_of(loop, path));
    job->args[1] = tfy_of_obj(text_of(loop, text));
    tfy__perform_write_file.start(&job->call);
    await(loop, job);
    return job;
}

static void assert_reads(TfyLoop *loop, const char *path, const char *text)
{
    Job *job = read_path(loop, path);
    if (job->failed) fail_msg("%s", job->message);
    assert_string_equal(chars(job->value), text);
    job_free(job);
}

static void assert_writes(TfyLoop *loop, const char *path, const char *text)
{
    Job *job = write_path(loop, path, text);
    if (job->failed) fail_msg("%s", job->message);
    assert_true(job->done);
    job_free(job);
}

static void assert_no_read(TfyLoop *loop, const char *path, const char *why)
{
    Job *job = read_path(loop, path);
    assert_true(job->failed);
    if (!strstr(job->message, why)) fail_msg("expected '%s' in: %s", why, job->message);
    job_free(job);
}

static void assert_no_write(TfyLoop *loop, const char *path, const char *why)
{
    Job *job = write_path(loop, path, "x");
    assert_true(job->failed);
    if (!strstr(job->message, why)) fail_msg("expected '%s' in: %s", why, job->message);
    job_free(job);
}

static int count_entries(TfyLoop *loop)
{
    int count = 0;
    DIR *dir = opendir(loop->root);
    for (struct dirent *entry; (entry = readdir(dir));) count += entry->d_name[0] != '.' || entry->d_name[1] == 't';
    closedir(dir);
    return count;
}

static void writes_and_reads(void **state)
{
    TfyLoop *loop = *state;
    char absolute[400];
    assert_writes(loop, "a.txt", "one\n");
    assert_reads(loop, "a.txt", "one\n");
    assert_writes(loop, "a.txt", "");
    assert_reads(loop, "a.txt", "");
    assert_writes(loop, "deep/er/and//deeper/b.txt", "two");
    assert_reads(loop, "./deep/er/../er/and/deeper/b.txt", "two");
    snprintf(absolute, sizeof absolute, "%s/deep/c.txt", loop->root);
    assert_writes(loop, absolute, "three");
    assert_reads(loop, "deep/c.txt", "three");
    assert_reads(loop, absolute, "three");
    assert_int_equal(count_entries(loop), 2); /* no temporary file is left */
}

static void keeps_permissions(void **state)
{
    TfyLoop *loop = *state;
    struct stat info;
    assert_writes(loop, "run.sh", "#!/bin/sh\n");
    fchmodat(loop->root_fd, "run.sh", 0750, 0);
    assert_writes(loop, "run.sh", "#!/bin/sh\nexit 1\n");
    fstatat(loop->root_fd, "run.sh", &info, 0);
    assert_int_equal(info.st_mode & 07777, 0750);
}

static void takes_up_what_a_crash_left(void **state)
{
    TfyLoop *loop = *state;
    assert_writes(loop, "a.txt", "x");
    DIR *dir = opendir(loop->root);
    closedir(dir);
    Job *job = job_new(loop, &write_tool);
    job->call.key = "same key";
    job->args[0] = tfy_of_obj(text_of(loop, "a.txt"));
    job->args[1] = tfy_of_obj(text_of(loop, "new"));
    close(openat(loop->root_fd, ".tfy-9d10f2ba07f2a9f5.tmp", O_CREAT | O_WRONLY, 0400));
    tfy__perform_write_file.start(&job->call);
    await(loop, job);
    assert_true(job->done);
    job_free(job);
    assert_reads(loop, "a.txt", "new");
}

static void follows_links_that_stay_inside(void **state)
{
    TfyLoop *loop = *state;
    struct stat info;
    assert_writes(loop, "dir/real.txt", "old");
    symlinkat("real.txt", loop->root_fd, "dir/link.txt");
    symlinkat("dir", loop->root_fd, "short");
    assert_reads(loop, "short/link.txt", "old");
    assert_writes(loop, "short/link.txt", "new");
    assert_reads(loop, "dir/real.txt", "new");
    fstatat(loop->root_fd, "dir/link.txt", &info, AT_SYMLINK_NOFOLLOW);
    assert_true(S_ISLNK(info.st_mode));
    symlinkat("made/by/link.txt", loop->root_fd, "dangling");
    assert_writes(loop, "dangling", "made");
    assert_reads(loop, "made/by/link.txt", "made");
}

static void never_leaves_the_root(void **state)
{
    TfyLoop *loop = *state;
    char outside[280], sibling[300], link[320];
    snprintf(outside, sizeof outside, "%s.out", loop->root);
    snprintf(sibling, sizeof sibling, "%s/file", outside);
    snprintf(link, sizeof link, "..%s", strrchr(loop->root, '/'));
    strcat(link, ".out/file");
    mkdir(outside, 0755);
    int fd = open(sibling, O_CREAT | O_WRONLY, 0644);
    assert_int_equal(write(fd, "secret", 6), 6);
    close(fd);
    symlinkat(outside, loop->root_fd, "absolute");
    symlinkat("..", loop->root_fd, "up");
    symlinkat(link, loop->root_fd, "file");
    symlinkat("/proc/self/root", loop->root_fd, "magic");
    const char *paths[] = {sibling, link,   "/etc/passwd",     "..", "../x", "a/../../x", "absolute/file",
                           "up/x",  "file", "magic/etc/passwd"};
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        Job *read = read_path(loop, paths[i]), *write = write_path(loop, paths[i], "broken");
        assert_true(read->failed);
        assert_true(write->failed);
        job_free(read);
        job_free(write);
    }
    char content[16] = "";
    fd = open(sibling, O_RDONLY);
    assert_int_equal(read(fd, content, sizeof content), 6);
    close(fd);
    assert_string_equal(content, "secret");
    assert_no_read(loop, "up/x", "it leads outside the working root");
    assert_no_write(loop, "../x", "it leads outside the working root");
    remove_tree(outside);
}

static void says_what_is_wrong(void **state)
{
    TfyLoop *loop = *state;
    assert_writes(loop, "plain", "x");
    mkdirat(loop->root_fd, "dir", 0755);
    symlinkat("loop", loop->root_fd, "loop");
    assert_no_read(loop, "absent", "cannot read 'absent': there is no such file or directory");
    assert_no_read(loop, "dir", "cannot read 'dir': it is a directory");
    assert_no_read(loop, ".", "it is a directory");
    assert_no_read(loop, "", "outside the working root");
    assert_no_read(loop, "plain/x", "a part of the path is not a directory");
    assert_no_read(loop, "loop", "symbolic link");
    assert_no_write(loop, "dir", "cannot write 'dir': it is a directory");
    assert_no_write(loop, "dir/", "it is a directory");
    assert_no_write(loop, "dir/..", "it is a directory");
    assert_no_write(loop, "plain/x", "a part of the path is not a directory");
    assert_no_write(loop, "loop", "symbolic link");
}

static void refuses_what_is_no_file(void **state)
{
    TfyLoop *loop = *state;
    char path[400];
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    mkfifoat(loop->root_fd, "fifo", 0644);
    int len = snprintf(path, sizeof path, "%s/socket", loop->root);
    assert_in_range(len, 1, sizeof address.sun_path - 1);
    memcpy(address.sun_path, path, (size_t)len);
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof address), 0);
    assert_no_read(loop, "fifo", "it is not a regular file");
    assert_no_write(loop, "fifo", "it is not a regular file");
    assert_no_read(loop, "socket", "it is not a regular file");
    assert_no_write(loop, "socket", "it is not a regular file");
    close(fd);
}

static void bounds_the_size(void **state)
{
    TfyLoop *loop = *state;
    int fd = openat(loop->root_fd, "huge", O_CREAT | O_WRONLY, 0644);
    assert_int_equal(ftruncate(fd, INT64_C(1) << 40), 0);
    close(fd);
    assert_no_read(loop, "huge", "larger than 16 MiB");
    fd = openat(loop->root_fd, "just", O_CREAT | O_WRONLY, 0644);
    assert_int_equal(ftruncate(fd, FILE_MOST), 0);
    close(fd);
    Job *job = read_path(loop, "just");
    assert_true(job->done);
    assert_int_equal(tfy_string_byte_len(job->value.o), FILE_MOST);
    job_free(job);
}

static void refuses_invalid_utf8_unless_lossy(void **state)
{
    static const TfyType optional_bool = {.kind = TFY_OPTIONAL, .name = "bool?", .elem = &tfy_type_bool};
    TfyLoop *loop = *state;
    int fd = openat(loop->root_fd, "binary", O_CREAT | O_WRONLY, 0644);
    assert_int_equal(write(fd, "a\xFF\x00z", 4), 4);
    close(fd);
    assert_no_read(loop, "binary", "byte 1 (0xFF) is not UTF-8");
    Job *job = job_new(loop, &read_tool);
    job->args[0] = tfy_of_obj(text_of(loop, "binary"));
    job->args[1] = tfy_of_obj(tfy_box(&loop->task, &optional_bool, tfy_of_bool(true)));
    tfy__perform_read_file.start(&job->call);
    await(loop, job);
    assert_int_equal(tfy_string_byte_len(job->value.o), 6);
    assert_memory_equal(chars(job->value), "a\xEF\xBF\xBD\0z", 6);
    job_free(job);
}

static void a_root_that_is_gone_is_said(void **state)
{
    TfyLoop *loop = *state;
    remove_tree(loop->root);
    assert_no_read(loop, "a", "is gone");
    assert_no_write(loop, "a", "is gone");
    assert_no_write(loop, "b/a", "is gone");
}

static void forbidden_is_said(void **state)
{
    TfyLoop *loop = *state;
    assert_writes(loop, "secret", "x");
    fchmodat(loop->root_fd, "secret", 0, 0);
    bool superuser = geteuid() == 0; /* may everything: becomes nobody for a moment */
    if (superuser) {
        assert_int_equal(fchown(loop->root_fd, 65534, 65534), 0);
        assert_int_equal(seteuid(65534), 0);
    }
    Job *job = read_path(loop, "secret");
    if (superuser) assert_int_equal(seteuid(0), 0);
    assert_true(job->failed);
    assert_non_null(strstr(job->message, "Permission denied"));
    job_free(job);
}

/* The way of kernels without openat2. */
static void walks_without_openat2(void **state)
{
    TfyLoop *loop = *state;
    assert_writes(loop, "a/b/c", "x");
    symlinkat("a", loop->root_fd, "link");
    symlinkat("/etc", loop->root_fd, "etc");
    int fd = tfy__beneath_walk(loop->root_fd, "a//b/./c", O_RDONLY);
    assert_true(fd >= 0);
    close(fd);
    fd = tfy__beneath_walk(loop->root_fd, ".", O_RDONLY | O_DIRECTORY);
    assert_true(fd >= 0);
    close(fd);
    assert_int_equal(tfy__beneath_walk(loop->root_fd, "a/../../x", O_RDONLY), -EXDEV);
    assert_int_equal(tfy__beneath_walk(loop->root_fd, "a/..", O_RDONLY), -EXDEV);
    assert_true(tfy__beneath_walk(loop->root_fd, "link/b/c", O_RDONLY) < 0);
    assert_true(tfy__beneath_walk(loop->root_fd, "etc/passwd", O_RDONLY) < 0);
    assert_int_equal(tfy__beneath_walk(loop->root_fd, "a/x", O_RDONLY), -ENOENT);
    assert_int_equal(tfy__beneath_walk(loop->root_fd, "etc", O_RDONLY), -ELOOP);
}

static void shell(TfyLoop *loop, const char *command)
{
    char line[1000];
    snprintf(line, sizeof line, "cd '%s' && %s", loop->root, command);
    assert_int_equal(system(line), 0);
}

#define COMMANDS "programs outside the sandbox take commands from it"
#define RUNTIMES "it belongs to the runtime"

static void leaves_what_others_obey(void **state)
{
    TfyLoop *loop = *state;
    const char *paths[] = {
        ".git",          ".git/config",   ".GIT/hooks/x",   "a/../.git/config", "sub/.Git/config", "deep/er/.git",
        ".envrc",        "sub/.vscode/x", ".idea/x",        ".mcp.json",        ".claude/x",       ".codex/x",
        ".cursor/rules", "link/config",   "to-config",      "store/config",     "store/hooks/x",   "work/x",
        "chain",         "sub/./.ENVRC",  "bare.git/config"};
    shell(loop, "mkdir -p .git/hooks a sub/.Git && touch .git/config && ln -s .git link && ln -s .git/config to-config "
                "&& ln -s to-config chain");
    shell(loop, "mkdir -p store/objects store/refs work bare.git/objects bare.git/refs && touch store/HEAD work/HEAD "
                "work/commondir bare.git/HEAD");
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) assert_no_write(loop, paths[i], COMMANDS);
    assert_reads(loop, ".git/config", "");
    assert_no_write(loop, ".git/config", "cannot write '.git/config': " COMMANDS);
    assert_writes(loop, ".gitignore", "x");
    assert_writes(loop, "sub/git", "x");
    assert_writes(loop, ".github/x", "x");
    shell(loop, "test ! -e deep && test ! -e sub/.vscode && test ! -s .git/config");
}

static void leaves_the_log(void **state)
{
    TfyLoop *loop = *state;
    const char *paths[] = {"db/my.db",           "db/my.db-wal", "db/my.db-live/owner", "hard",     "soft",
                           "db/../db/my.db-tfy", ".tfy/x",       "sub/.TFY/y",          "dir/my.db"};
    snprintf(loop->lock_path, sizeof loop->lock_path, "%s/db/my.db-tfy", loop->root);
    shell(loop, "mkdir -p db/my.db-live .tfy sub/.TFY && touch db/my.db db/my.db-wal db/my.db-tfy db/my.db-live/owner "
                ".tfy/x sub/.TFY/y db/other && "
                "ln db/my.db hard && ln -s db/my.db soft && ln -s db dir");
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        assert_no_read(loop, paths[i], RUNTIMES);
        assert_no_write(loop, paths[i], RUNTIMES);
    }
    assert_reads(loop, "db/other", "");
    assert_writes(loop, "db/my.dbx", "");
}

/* SQLite's locks are lost when any descriptor of the file is closed. */
static void never_opens_the_log(void **state)
{
    TfyLoop *loop = *state;
    snprintf(loop->lock_path, sizeof loop->lock_path, "%s/my.db-tfy", loop->root);
    int fd = openat(loop->root_fd, "my.db", O_CREAT | O_RDWR, 0644), held = 0;
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_len = 1};
    assert_int_equal(fcntl(fd, F_SETLK, &lock), 0);
    assert_no_read(loop, "my.db", RUNTIMES);
    pid_t child = fork();
    if (child == 0) _exit(fcntl(fd, F_SETLK, &lock) < 0 ? 7 : 0);
    waitpid(child, &held, 0);
    assert_int_equal(WEXITSTATUS(held), 7);
    close(fd);
}

static void leaves_its_own_source(void **state)
{
    TfyLoop *loop = *state;
    shell(loop, "mkdir sub && touch sub/program.tfy");
    assert_no_write(loop, "sub/program.tfy", "cannot write 'sub/program.tfy': it is the source of this program");
    assert_no_write(loop, "program.tfy", "it is the source of this program");
    assert_reads(loop, "sub/program.tfy", "");
    assert_writes(loop, "my-program.tfy", "x");
}

static void leaves_the_cache(void **state)
{
    TfyLoop *loop = *state;
    char cache[300];
    snprintf(cache, sizeof cache, "%s/cache", loop->root);
    setenv("XDG_CACHE_HOME", cache, 1);
    shell(loop, "mkdir -p cache/tfy/key && touch cache/tfy/key/program cache/other && ln -s cache/tfy/key k");
    assert_no_write(loop, "cache/tfy/key/program", RUNTIMES);
    assert_no_read(loop, "k/program", RUNTIMES);
    assert_writes(loop, "cache/other", "x");
    unsetenv("XDG_CACHE_HOME");
}

static void leaks_no_descriptor(void **state)
{
    TfyLoop *loop = *state;
    job_free(read_path(loop, "none")); /* the pool is made */
    int before = open_descriptors();
    writes_and_reads(state);
    says_what_is_wrong(state);
    walks_without_openat2(state);
    leaves_its_own_source(state);
    job_free(read_path(loop, "../x"));
    assert_int_equal(open_descriptors(), before);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, open_loop, close_loop)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(writes_and_reads),
        TEST(keeps_permissions),
        TEST(takes_up_what_a_crash_left),
        TEST(follows_links_that_stay_inside),
        TEST(never_leaves_the_root),
        TEST(says_what_is_wrong),
        TEST(refuses_what_is_no_file),
        TEST(bounds_the_size),
        TEST(refuses_invalid_utf8_unless_lossy),
        TEST(a_root_that_is_gone_is_said),
        TEST(forbidden_is_said),
        TEST(walks_without_openat2),
        TEST(leaves_what_others_obey),
        TEST(leaves_the_log),
        TEST(never_opens_the_log),
        TEST(leaves_its_own_source),
        TEST(leaves_the_cache),
        TEST(leaks_no_descriptor),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
