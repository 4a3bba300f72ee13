#include "cli/make/compile.h"
#include "cli/frame/cli.h"
#include "base/buffer.h"
#include "base/own_path.h"
#include "base/whole_file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <xxhash.h>

#define ARGV_MAX 256 /* words of one command line that is run here */

/* The paths of the parts that a compilation needs. */
typedef struct Toolchain {
    char tfyc[PATH_MAX];    /* the compiler of .tfy files */
    char include[PATH_MAX]; /* directory of tfy.h and tfy_program.h */
    char library[PATH_MAX]; /* libtfy.a */
    char cc[PATH_MAX];      /* the C compiler */
    const char *flags;      /* $CFLAGS or "" */
} Toolchain;

/* The linker includes only the used parts of libtfy and of the libraries it depends on. */
static const char *const LIBRARIES[] = {"-Wl,--gc-sections", "-Wl,--as-needed", "-lsqlite3", "-ljansson", "-lcurl",
                                        "-lpcre2-8",         "-lpthread",       "-lm"};
#define LIBRARY_COUNT ((int)(sizeof LIBRARIES / sizeof *LIBRARIES))
/* An object that a process loads, and takes its runtime from. Of its own symbols it shows only the one that
 * TFY__SHARED (tfy_program.h) makes, and its functions call each other even where the process has others of that
 * name. */
static const char *const SHARED_FLAGS[] = {"-fPIC", "-shared", "-fvisibility=hidden", "-Wl,-Bsymbolic"};
#define SHARED_FLAG_COUNT ((int)(sizeof SHARED_FLAGS / sizeof *SHARED_FLAGS))
/* -O1: the time that -O2 takes grows out of proportion on long workflows. One cheap option of -O2 is added: a
 * workflow ends with a call of the runtime. */
static const char *const CC_FLAGS[] = {"-std=gnu11", "-O1", "-foptimize-sibling-calls", "-g"};
#define CC_FLAG_COUNT ((int)(sizeof CC_FLAGS / sizeof *CC_FLAGS))

/* ---- finding the parts ---- */

static bool join_path(char out[PATH_MAX], const char *dir, const char *name)
{
    return snprintf(out, PATH_MAX, "%s/%s", dir, name) < PATH_MAX;
}

static bool find_in_path(const char *name, char out[PATH_MAX])
{
    const char *path = getenv("PATH");
    if (strchr(name, '/')) return snprintf(out, PATH_MAX, "%s", name) < PATH_MAX && access(out, X_OK) == 0;
    for (const char *dir = path ? path : "/usr/bin:/bin"; dir;) {
        size_t len = strcspn(dir, ":");
        int n = snprintf(out, PATH_MAX, "%.*s/%s", (int)len, len ? dir : ".", name);
        if (n < PATH_MAX && access(out, X_OK) == 0) return true;
        dir = dir[len] ? dir + len + 1 : NULL;
    }
    return false;
}

static bool find_tfyc(char out[PATH_MAX])
{
    return (tfy__path_beside("tfyc", out) && access(out, X_OK) == 0) || find_in_path("tfyc", out);
}

/* Finds the library and its headers in the build tree (around this executable) or in the installed prefix. */
static bool find_library(Toolchain *tools)
{
    static const char *const PLACES[][2] = {{".", "runtime/libtfy.a"}, {"../include", "../lib/libtfy.a"}};
    char header[PATH_MAX];
    for (size_t i = 0; i < sizeof PLACES / sizeof *PLACES; i++) {
        if (tfy__path_beside(PLACES[i][0], tools->include) && tfy__path_beside(PLACES[i][1], tools->library) &&
            join_path(header, tools->include, "tfy_program.h") && access(header, R_OK) == 0 &&
            access(tools->library, R_OK) == 0)
            return true;
    }
    return false;
}

static bool find_cc(char out[PATH_MAX])
{
    const char *chosen = getenv("CC");
    if (chosen && *chosen) return find_in_path(chosen, out);
    return find_in_path("cc", out) || find_in_path("gcc", out) || find_in_path("clang", out);
}

static int no_tfyc(void)
{
    return tfy__fail(
        EXIT_MISSING,
        "tfyc, the compiler of .tfy files, is neither beside this program nor in PATH; build or install it");
}

static int find_parts(Toolchain *tools)
{
    const char *flags = getenv("CFLAGS");
    tools->flags = flags ? flags : "";
    if (!find_tfyc(tools->tfyc)) return no_tfyc();
    if (!find_library(tools)) {
        return tfy__fail(EXIT_MISSING,
                         "libtfy.a, tfy.h and tfy_program.h are not found beside this program; build or install them");
    }
    if (!find_cc(tools->cc)) {
        return tfy__fail(
            EXIT_MISSING,
            "no C compiler is found, and running a .tfy program needs one; install the package gcc, or name "
            "one in $CC");
    }
    return EXIT_DONE;
}

/* ---- running commands ---- */

typedef struct Command {
    const char *words[ARGV_MAX + 1];
    int count;
} Command;

static void add_word(Command *command, const char *word)
{
    if (command->count < ARGV_MAX) command->words[command->count++] = word;
    command->words[command->count] = NULL;
}

/* Adds the words of $CFLAGS, which it cuts at blanks in place. */
static void add_flags(Command *command, char *flags)
{
    char *rest = NULL;
    for (char *word = strtok_r(flags, " \t\n", &rest); word; word = strtok_r(NULL, " \t\n", &rest))
        add_word(command, word);
}

/* The command also inherits the stand-ins for closed descriptors. */
static void pass_standard_files(void)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) fcntl(fd, F_SETFD, 0);
}

/* Runs a command and waits. out_fd, err_fd: descriptors for its output and messages; -1: the same as ours. Returns
 * its exit status, 128 + signal, or -1. */
static int run_command(const Command *command, int out_fd, int err_fd)
{
    int status;
    fflush(NULL);
    pid_t child = fork();
    if (child < 0) return -1;
    if (child == 0) {
        pass_standard_files();
        if (out_fd >= 0) dup2(out_fd, STDOUT_FILENO);
        if (err_fd >= 0) dup2(err_fd, STDERR_FILENO);
        execv(command->words[0], (char *const *)command->words);
        _exit(127);
    }
    while (waitpid(child, &status, 0) < 0) {
        if (errno != EINTR) return -1;
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

int tfy__read_tfyc(const char *option, FILE **printed)
{
    char tfyc[PATH_MAX];
    Command command = {0};
    if (!find_tfyc(tfyc)) return no_tfyc();
    *printed = tmpfile();
    if (!*printed) return tfy__fail(EXIT_BUG, "tfyc cannot be run: %s", strerror(errno));
    add_word(&command, tfyc);
    add_word(&command, option);
    if (run_command(&command, fileno(*printed), -1) == 0) {
        rewind(*printed);
        return EXIT_DONE;
    }
    fclose(*printed);
    return tfy__fail(EXIT_BUG, "%s does not know %s; it is of another version", tfyc, option);
}

/* Runs `tfyc OPTION [-I DIR]… PATH`. */
static int read_about(const char *option, const char *path, const char *const *dirs, int dir_count, FILE **printed)
{
    char tfyc[PATH_MAX];
    Command command = {0};
    if (!find_tfyc(tfyc)) return no_tfyc();
    *printed = tmpfile();
    if (!*printed) return tfy__fail(EXIT_BUG, "tfyc cannot be run: %s", strerror(errno));
    add_word(&command, tfyc);
    add_word(&command, option);
    for (int i = 0; i < dir_count; i++) {
        add_word(&command, "-I");
        add_word(&command, dirs[i]);
    }
    add_word(&command, "--");
    add_word(&command, path);
    const int status = run_command(&command, fileno(*printed), -1);
    rewind(*printed);
    if (status != EXIT_DONE) fclose(*printed);
    return status;
}

int tfy__read_layout(const char *path, const char *const *dirs, int dir_count, FILE **printed)
{
    return read_about("--layout", path, dirs, dir_count, printed);
}

int tfy__list_servers(const char *path, FILE **printed)
{
    return read_about("--servers", path, NULL, 0, printed);
}

int tfy__list_files(const char *path, FILE **printed)
{
    return read_about("--list-files", path, NULL, 0, printed);
}

int tfy__become_tfyc(const char *const *arguments, int count)
{
    char tfyc[PATH_MAX];
    if (!find_tfyc(tfyc)) return no_tfyc();
    const char **words = calloc((size_t)count + 2, sizeof *words);
    if (!words) return tfy__fail(EXIT_BUG, "memory ran out");
    words[0] = tfyc;
    memcpy(words + 1, arguments, (size_t)count * sizeof *words);
    pass_standard_files();
    execv(tfyc, (char *const *)words);
    int status = tfy__fail(EXIT_BUG, "cannot start %s: %s", tfyc, strerror(errno));
    free(words);
    return status;
}

/* ---- the key ---- */

static void hash_text(XXH3_state_t *state, const char *text)
{
    XXH3_128bits_update(state, text, strlen(text) + 1);
}

/* Hashes bytes with their number, so that two neighbouring files differ from two others with the same bytes. */
static void hash_bytes(XXH3_state_t *state, const void *bytes, uint64_t size)
{
    XXH3_128bits_update(state, &size, sizeof size);
    XXH3_128bits_update(state, bytes, size);
}

static bool hash_file(XXH3_state_t *state, const char *path)
{
    struct stat st;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) return false;
    bool fine = fstat(fd, &st) == 0 && S_ISREG(st.st_mode);
    if (!fine) errno = EISDIR;
    uint64_t size = fine ? (uint64_t)st.st_size : 0;
    void *bytes = size ? mmap(NULL, size, PROT_READ, MAP_PRIVATE, fd, 0) : NULL;
    if (bytes == MAP_FAILED) fine = false;
    int reason = errno;
    if (fine) hash_bytes(state, bytes, size);
    if (bytes && bytes != MAP_FAILED) munmap(bytes, size);
    close(fd);
    errno = reason;
    return fine;
}

/* Identifies the C compiler by its path, size and time: reading all of it would take longer than the rest of
 * a start. */
static void hash_cc(XXH3_state_t *state, const char *path)
{
    struct stat st = {0};
    (void)!stat(path, &st);
    int64_t facts[3] = {st.st_size, st.st_mtim.tv_sec, st.st_mtim.tv_nsec};
    hash_text(state, path);
    XXH3_128bits_update(state, facts, sizeof facts);
}

static int unreadable(const char *path)
{
    struct stat st;
    if (errno == EISDIR && stat(path, &st) == 0 && S_ISDIR(st.st_mode))
        return tfy__fail(EXIT_MISSING, "%s is a directory; name a file in it", path);
    return tfy__fail(EXIT_MISSING, "cannot read %s: %s", path, errno == EISDIR ? "not a file" : strerror(errno));
}

/* ---- the headers of a C file ---- */

#define HEADERS_MAX 256 /* the user's own headers; further ones are ignored */

typedef struct Headers {
    char *paths[HEADERS_MAX];
    int count;
} Headers;

/* Notes the `#include "name"` lines of a C file if the header is beside it and is new. */
static void note_headers(Headers *headers, const char *path)
{
    char line[1024], name[512], found[PATH_MAX];
    const char *slash = strrchr(path, '/');
    FILE *file = fopen(path, "r");
    while (file && fgets(line, sizeof line, file)) {
        if (sscanf(line, " # include \"%511[^\"]\"", name) != 1) continue;
        if (snprintf(found, sizeof found, "%.*s%s", slash ? (int)(slash - path) + 1 : 0, path, name) >= PATH_MAX)
            continue;
        bool known = access(found, R_OK) != 0 || headers->count == HEADERS_MAX;
        for (int i = 0; i < headers->count && !known; i++) known = strcmp(headers->paths[i], found) == 0;
        if (!known && (headers->paths[headers->count] = strdup(found))) headers->count++;
    }
    if (file) fclose(file);
}

/* Returns the first file that cannot be read, or NULL. */
static const char *hash_extras(XXH3_state_t *state, const TfyCompile *what)
{
    Headers headers = {0};
    const char *bad = NULL;
    for (int i = 0; i < what->extra_count && !bad; i++) {
        hash_text(state, what->extras[i]);
        if (!hash_file(state, what->extras[i])) bad = what->extras[i];
        note_headers(&headers, what->extras[i]);
    }
    for (int i = 0; i < headers.count; i++) {
        note_headers(&headers, headers.paths[i]);
        hash_text(state, headers.paths[i]);
        (void)hash_file(state, headers.paths[i]);
    }
    while (headers.count) free(headers.paths[--headers.count]);
    return bad;
}

/* ---- the files of a program ---- */

static void add_dirs(Command *command, const TfyCompile *what)
{
    for (int i = 0; i < what->dir_count; i++) {
        add_word(command, "-I");
        add_word(command, what->dirs[i]);
    }
}

/* Most programs are one file, so most starts need not run tfyc to list the files. */
static bool may_import(const char *path)
{
    char line[4096];
    bool found = false;
    FILE *file = fopen(path, "r");
    while (file && !found && fgets(line, sizeof line, file)) found = strstr(line, "import") != NULL;
    if (file) fclose(file);
    return found;
}

/* tfyc lists the files of a program; if it cannot read them, its messages are for people. */
static int hash_imports(XXH3_state_t *state, const TfyCompile *what, const Toolchain *tools)
{
    Command command = {0};
    char path[PATH_MAX];
    FILE *list = tmpfile();
    if (!list) return tfy__fail(EXIT_BUG, "tfyc cannot be run: %s", strerror(errno));
    add_word(&command, tools->tfyc);
    add_word(&command, "--list-files");
    add_dirs(&command, what);
    add_word(&command, what->path);
    int status = run_command(&command, fileno(list), -1);
    rewind(list);
    while (status == EXIT_DONE && fgets(path, sizeof path, list)) {
        path[strcspn(path, "\n")] = '\0';
        hash_text(state, path);
        (void)hash_file(state, path); /* if the file has just disappeared, the compilation reports it */
    }
    fclose(list);
    bool known = status == EXIT_DONE || status == EXIT_DATA || status == EXIT_MISSING || status == EXIT_LOG;
    return known ? status : tfy__fail(EXIT_BUG, "tfyc ended with status %d on %s", status, what->name);
}

/* ---- the key as a whole ---- */

/* The directory of a program is part of its key only where it decides what a person sees. So a run is continued and
 * replayed, from the text that its database holds, by the executable that started it. */
static int hash_program(XXH3_state_t *state, const TfyCompile *what, const Toolchain *tools)
{
    const char *slash = strrchr(what->name, '/');
    hash_text(state, slash && !what->debug && !what->steps ? slash + 1 : what->name);
    if (what->tests) hash_text(state, "--tests");
    if (what->debug) hash_text(state, "--debug");
    if (what->steps) hash_text(state, "--steps");
    if (what->shared) hash_text(state, "--shared");
    if (what->tables) hash_text(state, "tables");
    if (what->offer) hash_text(state, "--offer");
    if (what->offer) hash_text(state, what->offer);
    for (int i = 0; i < what->dir_count; i++) hash_text(state, what->dirs[i]);
    if (!what->path) {
        hash_bytes(state, what->source, strlen(what->source));
        return EXIT_DONE;
    }
    if (!hash_file(state, what->path)) return unreadable(what->path);
    return may_import(what->path) ? hash_imports(state, what, tools) : EXIT_DONE;
}

static int make_key(const TfyCompile *what, const Toolchain *tools, char key[33])
{
    XXH3_state_t *state = XXH3_createState();
    static const char *const HEADERS[] = {"tfy.h", "tfy_task.h", "tfy_program.h"};
    enum { HEADER_COUNT = sizeof HEADERS / sizeof *HEADERS };
    if (!state) return tfy__fail(EXIT_BUG, "memory ran out");
    XXH3_128bits_reset(state);
    int status = hash_program(state, what, tools);
    const char *bad = status == EXIT_DONE ? hash_extras(state, what) : NULL;
    const char *parts[] = {tools->tfyc, tools->library};
    for (size_t i = 0; i < sizeof parts / sizeof *parts && !bad; i++) {
        if (!hash_file(state, parts[i])) bad = parts[i];
    }
    char header[PATH_MAX + 16];
    for (int i = 0; i < HEADER_COUNT && !bad; i++) {
        snprintf(header, sizeof header, "%s/%s", tools->include, HEADERS[i]);
        if (!hash_file(state, header)) bad = header;
    }
    for (int i = 0; i < CC_FLAG_COUNT; i++) hash_text(state, CC_FLAGS[i]);
    hash_text(state, tools->flags);
    hash_cc(state, tools->cc);
    XXH128_hash_t hash = XXH3_128bits_digest(state);
    if (bad) status = unreadable(bad);
    XXH3_freeState(state);
    snprintf(key, 33, "%016llx%016llx", (unsigned long long)hash.high64, (unsigned long long)hash.low64);
    return status;
}

/* ---- the cache ---- */

/* Makes a directory and its parents, for the owner only. */
static bool make_dirs(const char *path)
{
    char part[PATH_MAX];
    if (snprintf(part, sizeof part, "%s", path) >= PATH_MAX) return false;
    for (char *slash = strchr(part + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        (void)!mkdir(part, 0700);
        *slash = '/';
    }
    return mkdir(part, 0700) == 0 || errno == EEXIST;
}

/* Chooses the first of the three places that is writable. */
static bool cache_dir(char out[PATH_MAX])
{
    const char *xdg = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    if (xdg && *xdg == '/' && join_path(out, xdg, "tfy") && make_dirs(out) && access(out, W_OK) == 0) return true;
    if (home && *home == '/' && join_path(out, home, ".cache/tfy") && make_dirs(out) && access(out, W_OK) == 0)
        return true;
    return join_path(out, ".tfy", "cache") && make_dirs(out) && access(out, W_OK) == 0;
}

static int remove_entry(const char *path, const struct stat *st, int kind, struct FTW *place)
{
    (void)st;
    (void)kind;
    (void)place;
    return remove(path);
}

static void remove_tree(const char *path)
{
    nftw(path, remove_entry, 8, FTW_DEPTH | FTW_PHYS);
}

/* ---- compiling ---- */

/* Derives the executable's name: the program's name without directory and ".tfy". */
static void stem_of(const char *name, char out[NAME_MAX])
{
    const char *slash = strrchr(name, '/');
    snprintf(out, NAME_MAX, "%s", slash ? slash + 1 : name);
    size_t len = strlen(out);
    if (len > 4 && strcmp(out + len - 4, ".tfy") == 0) out[len - 4] = '\0';
    if (!*out) snprintf(out, NAME_MAX, "program");
}

static bool write_file(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");
    if (!file) return false;
    bool fine = fputs(text, file) >= 0;
    return (fclose(file) == 0) && fine;
}

/* Runs tfyc: from the program to C. Its messages are for people and describe their program. */
static int make_c(const TfyCompile *what, const Toolchain *tools, const char *dir, const char *c_file)
{
    char stored[PATH_MAX], base[NAME_MAX];
    Command command = {0};
    const char *from = what->path;
    if (!from) {
        stem_of(what->name, base);
        const char *ending = what->bundle ? "json" : "tfy";
        if (snprintf(stored, sizeof stored, "%s/%s.%s", dir, base, ending) >= PATH_MAX ||
            !write_file(stored, what->source)) {
            return tfy__fail(EXIT_MISSING, "cannot write %s: %s", stored, strerror(errno));
        }
        from = stored;
    }
    add_word(&command, tools->tfyc);
    if (what->bundle) add_word(&command, "--bundle");
    if (!what->path) add_word(&command, "--no-warnings"); /* a program that a log stores is as it is */
    add_dirs(&command, what);
    add_word(&command, from);
    add_word(&command, "-o");
    add_word(&command, c_file);
    if (what->tests) add_word(&command, "--tests");
    if (what->debug) add_word(&command, "--debug");
    if (what->steps) add_word(&command, "--steps");
    if (what->shared) add_word(&command, "--shared");
    if (what->offer) add_word(&command, "--offer");
    if (what->offer) add_word(&command, what->offer);
    if (what->extra_count) { /* for `#include "NAME.h"` in the C files */
        add_word(&command, "--headers");
        add_word(&command, dir);
    }
    int status = run_command(&command, -1, -1);
    if (status == EXIT_DONE || status == EXIT_DATA || status == EXIT_USAGE) return status;
    if (status == EXIT_MISSING || status == EXIT_LOG) return status;
    return tfy__fail(EXIT_BUG, "tfyc ended with status %d on %s", status, what->name);
}

/* Does the C compiler's output contain one of two texts? */
static bool has_said(FILE *messages, const char *text, const char *other)
{
    char line[1024];
    rewind(messages);
    while (fgets(line, sizeof line, messages)) {
        if (strstr(line, text) || strstr(line, other)) return true;
    }
    return false;
}

/* gold names only the missing symbol, not the place; symbols of the runtime do not count. */
static bool misses_function(FILE *messages)
{
    static const char words[] = "undefined reference to '";
    char line[1024];
    rewind(messages);
    while (fgets(line, sizeof line, messages)) {
        const char *at = strstr(line, words);
        if (at && strncmp(at + sizeof words - 1, "tfy", 3) != 0) return true;
    }
    return false;
}

static void repeat_messages(FILE *messages)
{
    char line[1024];
    rewind(messages);
    while (fgets(line, sizeof line, messages)) fputs(line, stderr);
}

/* Decides from the C compiler's messages whether the user's C files are at fault. */
static int explain_cc(const TfyCompile *what, FILE *messages)
{
    if (!what->extra_count &&
        (has_said(messages, "`tfyg_extern_", "(tfyg_extern_") || /* a place as GNU ld and lld print it */
         misses_function(messages))) {
        if (what->shared && !what->output)
            return tfy__fail(
                EXIT_MISSING,
                "%s has tools that are C functions; build it with the C files that have them, and name the "
                "result: tfy build --shared %s FILE.c -o FILE.so",
                what->name, what->name);
        return tfy__fail(EXIT_MISSING, "%s has tools that are C functions; name the C files that have them as well",
                         what->name);
    }
    repeat_messages(messages);
    if (has_said(messages, "cannot find -l", "unable to find library -l")) {
        return tfy__fail(EXIT_MISSING, "a library is missing; install libsqlite3-dev, libjansson-dev, libxxhash-dev, "
                                       "libpcre2-dev and libcurl4-openssl-dev");
    }
    if (what->extra_count)
        return tfy__fail(EXIT_DATA, "the C compiler refused %s with its C files; see its messages above", what->name);
    return tfy__fail(EXIT_BUG, "the C compiler refused what tfyc made of %s: a mistake in tfyc, or in $CFLAGS",
                     what->name);
}

static int make_executable(const TfyCompile *what, const Toolchain *tools, const char *dir, const char *c_file,
                           const char *program)
{
    Command command = {0};
    char *flags = strdup(tools->flags);
    FILE *messages = tmpfile();
    int status = EXIT_BUG;
    if (!flags || !messages) {
        tfy__say("the C compiler cannot be run: %s", strerror(errno));
        goto done;
    }
    add_word(&command, tools->cc);
    for (int i = 0; i < CC_FLAG_COUNT; i++) add_word(&command, CC_FLAGS[i]);
    /* gdb sees every variable, and compiling takes half the time */
    if (what->debug || what->tables) add_word(&command, "-O0");
    if (what->tables) add_word(&command, "-DTFY__WITHIN=__attribute__((weak))");
    add_word(&command, "-I");
    add_word(&command, tools->include);
    add_word(&command, "-iquote");
    add_word(&command, dir);
    add_word(&command, c_file);
    for (int i = 0; i < what->extra_count; i++) add_word(&command, what->extras[i]);
    for (int i = 0; i < SHARED_FLAG_COUNT && what->shared; i++) add_word(&command, SHARED_FLAGS[i]);
    if (!what->shared) add_word(&command, tools->library);
    for (int i = 0; i < LIBRARY_COUNT; i++) add_word(&command, LIBRARIES[i]);
    add_flags(&command, flags);
    add_word(&command, "-o");
    add_word(&command, program);
    if (command.count == ARGV_MAX) {
        status = tfy__fail(EXIT_USAGE, "too many C files or flags");
    } else {
        status = run_command(&command, -1, fileno(messages)) == 0 ? EXIT_DONE : explain_cc(what, messages);
    }
done:
    free(flags);
    if (messages) fclose(messages);
    return status;
}

/* Runs both stages in one directory: the C file stays beside the executable for people who want to read it. */
static int make_entry(const TfyCompile *what, const Toolchain *tools, const char *dir, const char *stem)
{
    char c_file[PATH_MAX], program[PATH_MAX];
    if (snprintf(c_file, sizeof c_file, "%s/%s.c", dir, stem) >= PATH_MAX || !join_path(program, dir, stem)) {
        return tfy__fail(EXIT_MISSING, "the path of the cache is too long");
    }
    int status = make_c(what, tools, dir, c_file);
    return status == EXIT_DONE ? make_executable(what, tools, dir, c_file, program) : status;
}

/* ---- whole entries ---- */

#define SUM_NAME ".sum" /* beside the executable: the hash of its bytes when it was built */
#define SUM_SIZE 33
/* a builder locks its temporary directory within this time after making it */
#define LEFT_OVER_SEC 60

static bool sum_of(const char *path, char sum[SUM_SIZE])
{
    XXH3_state_t *state = XXH3_createState();
    if (!state) return false;
    XXH3_128bits_reset(state);
    const bool read = hash_file(state, path);
    const XXH128_hash_t hash = XXH3_128bits_digest(state);
    XXH3_freeState(state);
    snprintf(sum, SUM_SIZE, "%016llx%016llx", (unsigned long long)hash.high64, (unsigned long long)hash.low64);
    return read;
}

/* An executable that a power cut or the disk has damaged could fail in any way, and would fail each time, so only one
 * with the right hash is used. */
static bool is_whole(const char *entry, const char *stem)
{
    char program[PATH_MAX], path[PATH_MAX], sum[SUM_SIZE], kept[SUM_SIZE] = "";
    if (!join_path(program, entry, stem) || !join_path(path, entry, SUM_NAME) || access(program, X_OK) != 0)
        return false;
    FILE *file = fopen(path, "re");
    const bool read = file && fread(kept, 1, SUM_SIZE - 1, file) == SUM_SIZE - 1;
    if (file) fclose(file);
    return read && sum_of(program, sum) && strcmp(sum, kept) == 0;
}

static bool sync_path(const char *path)
{
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    const bool synced = fd >= 0 && fsync(fd) == 0;
    if (fd >= 0) close(fd);
    return synced;
}

/* Writes the hash and syncs the whole entry before the directory gets its name. */
static bool seal_entry(const char *dir, const char *stem)
{
    char program[PATH_MAX], path[PATH_MAX], sum[SUM_SIZE];
    return join_path(program, dir, stem) && join_path(path, dir, SUM_NAME) && sum_of(program, sum) &&
           write_file(path, sum) && sync_path(program) && sync_path(path) && sync_path(dir);
}

/* Does a name have the form that mkdtemp makes beside an entry: 32 digits, a dot, six characters? */
static bool is_aside(const char *name)
{
    return strlen(name) == 39 && strspn(name, "0123456789abcdef") == 32 && name[32] == '.';
}

/* Removes the directories of compilations that were killed. A live builder holds a lock on its directory. */
static void remove_left_over(const char *cache)
{
    char path[PATH_MAX];
    DIR *dir = opendir(cache);
    for (struct dirent *one; dir && (one = readdir(dir));) {
        struct stat st;
        if (!is_aside(one->d_name) || !join_path(path, cache, one->d_name)) continue;
        const int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (fd < 0) continue;
        const bool old = fstat(fd, &st) == 0 && time(NULL) - st.st_mtime > LEFT_OVER_SEC;
        if (old && flock(fd, LOCK_EX | LOCK_NB) == 0) remove_tree(path);
        close(fd);
    }
    if (dir) closedir(dir);
}

/* Gives the directory its name. Losing the race is fine: the winner's entry is equal. Only one process at a time
 * removes a damaged entry, so that it cannot remove one that another process has just built. */
static bool place_entry(const char *aside, const char *entry, const char *stem, const char *cache)
{
    const int lock = open(cache, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (lock < 0 || flock(lock, LOCK_EX) != 0) {
        if (lock >= 0) close(lock);
        return false;
    }
    bool placed = is_whole(entry, stem);
    if (!placed) {
        remove_tree(entry);
        placed = rename(aside, entry) == 0 && fsync(lock) == 0;
    }
    const int reason = errno;
    close(lock);
    errno = reason;
    return placed;
}

/* Builds the entry in a temporary directory and renames it into place. */
static int fill_cache(const TfyCompile *what, const Toolchain *tools, const char *cache, const char *entry,
                      const char *stem)
{
    char aside[PATH_MAX];
    remove_left_over(cache);
    if (snprintf(aside, sizeof aside, "%s.XXXXXX", entry) >= PATH_MAX || !mkdtemp(aside)) {
        return tfy__fail(EXIT_MISSING, "cannot write to the cache beside %s: %s", entry, strerror(errno));
    }
    const int lock = open(aside, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (lock >= 0) (void)!flock(lock, LOCK_EX | LOCK_NB);
    int status = make_entry(what, tools, aside, stem);
    if (status == EXIT_DONE && !(seal_entry(aside, stem) && place_entry(aside, entry, stem, cache)))
        status = tfy__fail(EXIT_MISSING, "cannot write to the cache: %s: %s", entry, strerror(errno));
    remove_tree(aside);
    if (lock >= 0) close(lock);
    return status;
}

static bool copy_bytes(int in, int out)
{
    char block[65536];
    ssize_t got = 1;
    while (got > 0) {
        got = read(in, block, sizeof block);
        for (ssize_t put = 0, done = 0; done < got; done += put) {
            put = write(out, block + done, (size_t)(got - done));
            if (put < 0) return false;
        }
    }
    return got == 0;
}

/* Copies the executable to the requested place, whole or not at all. */
static int copy_program(const char *from, const char *to)
{
    TfyWhole whole;
    const int in = open(from, O_RDONLY | O_CLOEXEC);
    if (in < 0) return tfy__fail(EXIT_MISSING, "cannot read %s: %s", from, strerror(errno));
    const int out = tfy__whole_open(&whole, to, 0777);
    bool fine = out >= 0 && copy_bytes(in, out);
    if (out >= 0) fine &= close(out) == 0;
    close(in);
    fine = fine && tfy__whole_commit(&whole, TFY_WHOLE_OVER);
    const int status = fine ? EXIT_DONE : tfy__fail(EXIT_MISSING, "cannot write %s: %s", to, strerror(errno));
    if (out >= 0) tfy__whole_abandon(&whole);
    return status;
}

/* The cache holds programs with warnings too, so they are looked for before it is. */
static int deny_warnings(const TfyCompile *what, const Toolchain *tools)
{
    Command command = {0};
    add_word(&command, tools->tfyc);
    add_word(&command, "--check");
    add_word(&command, "--deny-warnings");
    add_dirs(&command, what);
    add_word(&command, what->path);
    return run_command(&command, -1, -1);
}

int tfy__compile(const TfyCompile *what, char **program)
{
    Toolchain tools;
    char key[33], cache[PATH_MAX], entry[PATH_MAX], stem[NAME_MAX], path[PATH_MAX];
    int status = find_parts(&tools);
    if (status == EXIT_DONE && what->deny_warnings) status = deny_warnings(what, &tools);
    if (status == EXIT_DONE) status = make_key(what, &tools, key);
    if (status != EXIT_DONE) return status;
    stem_of(what->name, stem);
    if (!cache_dir(cache))
        return tfy__fail(EXIT_MISSING, "no directory can be written for compiled programs; set XDG_CACHE_HOME");
    if (!join_path(entry, cache, key) || !join_path(path, entry, stem))
        return tfy__fail(EXIT_MISSING, "the path of the cache is too long");
    if (!is_whole(entry, stem)) status = fill_cache(what, &tools, cache, entry, stem);
    if (status == EXIT_DONE && what->output) status = copy_program(path, what->output);
    if (status != EXIT_DONE) return status;
    *program = strdup(what->output ? what->output : path);
    return *program ? EXIT_DONE : tfy__fail(EXIT_BUG, "memory ran out");
}

int tfy__exec_program(const char *program, const char *command, char **arguments, int count)
{
    char **words = calloc((size_t)count + 3, sizeof *words);
    char name[] = "tfy";
    if (!words) return tfy__fail(EXIT_BUG, "memory ran out");
    words[0] = name;
    words[1] = (char *)(uintptr_t)command; /* execv does not modify its words */
    memcpy(words + 2, arguments, (size_t)count * sizeof *words);
    execv(program, words);
    int status = tfy__fail(EXIT_BUG, "cannot start %s: %s", program, strerror(errno));
    free(words);
    return status;
}
