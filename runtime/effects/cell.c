/* cell.c: see cell.h. */
#include "effects/cell.h"
#include "effects/git_dirs.h"
#include "effects/protect.h"
#include "base/sys_memory.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#ifndef MFD_EXEC
#define MFD_EXEC 0x0010U /* Linux 6.3 */
#endif

/* ---- plans ---- */

void tfy__cell_add(TfyCellPlan *plan, int kind, const char *path)
{
    tfy__buffer_char(&plan->paths, (char)kind);
    tfy__buffer_add(&plan->paths, path, strlen(path) + 1);
    plan->head.paths++;
}

void tfy__cell_plan_free(TfyCellPlan *plan)
{
    tfy__buffer_free(&plan->paths);
}

const char *tfy__cell_path_of(const TfyCellPlan *plan, uint32_t ordinal)
{
    const char *at = plan->paths.data, *end = at + plan->paths.len;
    for (; ordinal > 1 && at < end; ordinal--) at += strlen(at) + 1;
    return ordinal && at < end ? at + 1 : NULL;
}

/* The first line of a small file, behind this word; false: it has none. */
static bool first_line(const char *path, const char *word, char line[PATH_MAX])
{
    FILE *file = fopen(path, "re");
    const bool read = file && fgets(line, PATH_MAX, file);
    if (file) fclose(file);
    const size_t len = strlen(word);
    if (!read || strncmp(line, word, len) != 0) return false;
    memmove(line, line + len, strlen(line + len) + 1);
    line[strcspn(line, "\n")] = 0;
    return *line != 0;
}

/* A directory of git that lies elsewhere: inside the root it is protected, outside it is only read. */
static void add_git(TfyCellPlan *plan, const char *root, const char *from, const char *path)
{
    char joined[2 * PATH_MAX], real[PATH_MAX];
    snprintf(joined, sizeof joined, "%s%s%s", *path == '/' ? "" : from, *path == '/' ? "" : "/", path);
    if (!realpath(joined, real) || strcmp(real, root) == 0) return;
    if (tfy__cell_within(real, root))
        tfy__cell_add(plan, TFY_CELL_PROTECTED, real);
    else if (!tfy__cell_within(root, real) && tfy__git_is_dir(real))
        tfy__cell_add(plan, TFY_CELL_READS, real);
}

/* Where a `.git` file points, and where what is there points. */
static void add_git_of_file(TfyCellPlan *plan, const char *root, const char *file)
{
    char target[PATH_MAX], home[2 * PATH_MAX], common[3 * PATH_MAX], line[PATH_MAX];
    if (!first_line(file, "gitdir: ", target)) return;
    add_git(plan, root, root, target);
    snprintf(home, sizeof home, "%s%s%s", *target == '/' ? "" : root, *target == '/' ? "" : "/", target);
    snprintf(common, sizeof common, "%s/commondir", home);
    if (first_line(common, "", line)) add_git(plan, root, home, line);
}

/* A name that is a link stands for what it leads to: that may lie in the root, too. */
static void add_protected(TfyCellPlan *plan, const char *root, const char *name, int kind)
{
    char path[2 * PATH_MAX], real[PATH_MAX];
    struct stat info;
    snprintf(path, sizeof path, "%s/%s", root, name);
    if (lstat(path, &info) < 0) return;
    if (!S_ISLNK(info.st_mode)) tfy__cell_add(plan, kind, path);
    if (S_ISLNK(info.st_mode) && realpath(path, real) && tfy__cell_within(real, root) && strcmp(real, root) != 0)
        tfy__cell_add(plan, kind, real);
    if (S_ISREG(info.st_mode) && strcmp(name, ".git") == 0) add_git_of_file(plan, root, path);
}

void tfy__cell_add_root(TfyCellPlan *plan, const char *root)
{
    tfy__cell_add(plan, TFY_CELL_ROOT, root);
    for (const char *const *name = tfy__protect_names; *name; name++)
        add_protected(plan, root, *name, TFY_CELL_PROTECTED);
    add_protected(plan, root, ".tfy", TFY_CELL_CLOSED);
}

/* ---- what no mount can hold ---- */

/* Those of protect.h, and the runtime's own; NULL behind the last. */
static const char *looked_at(uint32_t i)
{
    uint32_t count = 0;
    while (tfy__protect_names[count]) count++;
    return i < count ? tfy__protect_names[i] : i == count ? ".tfy" : NULL;
}

void tfy__cell_look(const char *root, TfyCellNames *names)
{
    char path[2 * PATH_MAX];
    struct stat info;
    *names = (TfyCellNames){0};
    for (uint32_t i = 0; looked_at(i); i++) {
        snprintf(path, sizeof path, "%s/%s", root, looked_at(i));
        if (lstat(path, &info) < 0) continue;
        names->inode[i] = info.st_ino;
        names->held[i] = !S_ISLNK(info.st_mode);
    }
}

const char *tfy__cell_made(const char *root, const TfyCellNames *before)
{
    TfyCellNames now;
    tfy__cell_look(root, &now);
    for (uint32_t i = 0; looked_at(i); i++)
        if (!before->held[i] && now.inode[i] && now.inode[i] != before->inode[i]) return looked_at(i);
    return NULL;
}

/* ---- the program ---- */

/* Has this file the same bytes? */
static bool is_image(int file)
{
    struct stat info;
    if (fstat(file, &info) < 0 || !S_ISREG(info.st_mode) || (uint64_t)info.st_size != tfy__cell_image_len) return false;
    void *bytes = mmap(NULL, tfy__cell_image_len, PROT_READ, MAP_PRIVATE, file, 0);
    if (bytes == MAP_FAILED) return false;
    const bool same = memcmp(bytes, tfy__cell_image, tfy__cell_image_len) == 0;
    munmap(bytes, tfy__cell_image_len);
    return same;
}

static int copy_in_memory(void)
{
    int file = memfd_create("tfy-cell", MFD_CLOEXEC | MFD_ALLOW_SEALING | MFD_EXEC), error = 0;
    if (file < 0 && errno == EINVAL) file = memfd_create("tfy-cell", MFD_CLOEXEC | MFD_ALLOW_SEALING); /* before 6.3 */
    if (file < 0) return -errno;
    for (size_t done = 0; !error && done < tfy__cell_image_len;) {
        const ssize_t len = write(file, tfy__cell_image + done, tfy__cell_image_len - done);
        if (len < 0 && errno != EINTR) error = errno;
        if (len > 0) done += (size_t)len;
    }
    if (!error && fcntl(file, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL) < 0) error = errno;
    if (!error) return file;
    close(file);
    return -error;
}

int tfy__cell_open(void)
{
    const int file = open(TFY_CELL_INSTALLED, O_RDONLY | O_CLOEXEC);
    if (file >= 0 && is_image(file)) return file;
    if (file >= 0) close(file);
    return copy_in_memory();
}

void tfy__cell_free_words(char **words)
{
    for (char **at = words; at && *at; at++) free(*at);
    free(words);
}

char **tfy__cell_words(int socket, const char *const *argv, int argc)
{
    const char *path = getenv("PATH"), *name = argv[0];
    size_t dirs = 1;
    if (!path || !*path) path = "/usr/bin:/bin";
    for (const char *at = path; *at; at++) dirs += *at == ':';
    char **words = tfy__sys_calloc(dirs + (size_t)argc + 4, sizeof *words), **at = words + 3;
    if (!words) return NULL;
    if (strchr(name, '/')) *at++ = tfy__sys_strdup(name);
    for (const char *dir = strchr(name, '/') ? NULL : path; dir;) {
        const size_t len = strcspn(dir, ":");
        if (*dir == '/') *at++ = tfy__sys_printf("%.*s/%s", (int)len, dir, name);
        dir = dir[len] ? dir + len + 1 : NULL;
    }
    words[0] = tfy__sys_strdup("tfy-cell");
    words[1] = tfy__sys_printf("%d", socket);
    words[2] = tfy__sys_printf("%d", (int)(at - words) - 3);
    for (int i = 0; i < argc; i++) *at++ = tfy__sys_strdup(argv[i]);
    bool whole = true; /* with a word less, it would be another command */
    for (char **word = words; word < at; word++) whole = whole && *word;
    if (whole) return words;
    while (at > words) free(*--at);
    free(words);
    return NULL;
}

int tfy__cell_datagram(const TfyCellPlan *plan, TfyBuffer *out)
{
    TfyCellHead head = plan->head;
    head.magic = TFY_CELL_MAGIC;
    head.version = TFY_CELL_VERSION;
    head.size = (uint32_t)(sizeof head + plan->paths.len);
    if (head.descriptors < 3) head.descriptors = 3;
    tfy__buffer_add(out, &head, sizeof head);
    tfy__buffer_add(out, plan->paths.data, plan->paths.len);
    if (out->failed || plan->paths.failed) return ENOMEM;
    return out->len > TFY_CELL_POLICY_MAX || head.paths > TFY_CELL_PATHS_MAX ? EMSGSIZE : 0;
}

/* The layer goes with the bytes, which say so. */
static ssize_t send_with(int socket, TfyBuffer *datagram, int layer)
{
    union {
        struct cmsghdr head;
        char room[CMSG_SPACE(sizeof(int))];
    } rights = {.head = {.cmsg_len = CMSG_LEN(sizeof(int)), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS}};
    struct iovec bytes = {.iov_base = datagram->data, .iov_len = datagram->len};
    const struct msghdr message = {
        .msg_iov = &bytes, .msg_iovlen = 1, .msg_control = &rights, .msg_controllen = sizeof rights.room};
    TfyCellHead head;
    memcpy(&head, datagram->data, sizeof head);
    head.flags |= TFY_CELL_LAYER;
    memcpy(datagram->data, &head, sizeof head);
    memcpy(CMSG_DATA(&rights.head), &layer, sizeof layer);
    return sendmsg(socket, &message, MSG_NOSIGNAL);
}

int tfy__cell_send_datagram(int socket, TfyBuffer *datagram, int layer)
{
    const ssize_t sent =
        layer < 0 ? send(socket, datagram->data, datagram->len, MSG_NOSIGNAL) : send_with(socket, datagram, layer);
    return sent < 0 ? errno : 0;
}

int tfy__cell_send(const TfyCellPlan *plan, int socket)
{
    TfyBuffer datagram = {0};
    int error = tfy__cell_datagram(plan, &datagram);
    if (!error) error = tfy__cell_send_datagram(socket, &datagram, -1);
    tfy__buffer_free(&datagram);
    return error;
}

int tfy__cell_answer(int socket, TfyCellAnswer *answer)
{
    ssize_t len;
    while ((len = recv(socket, answer, sizeof *answer, 0)) < 0 && errno == EINTR) continue;
    if (len < 0) return -errno;
    return len == 0 ? 0 : len == sizeof *answer ? 1 : -EPROTO;
}

/* The descriptor that came with a message; -1: none. */
static int descriptor_of(struct msghdr *message)
{
    const struct cmsghdr *rights = CMSG_FIRSTHDR(message);
    int descriptor = -1;
    if (rights && rights->cmsg_level == SOL_SOCKET && rights->cmsg_type == SCM_RIGHTS &&
        rights->cmsg_len == CMSG_LEN(sizeof descriptor))
        memcpy(&descriptor, CMSG_DATA(rights), sizeof descriptor);
    return descriptor;
}

/* Waits for what a cell hands out, as tfy__cell_listener does. */
static int take_handout(int socket, uint32_t magic, int *descriptor, TfyCellAnswer *answer)
{
    union {
        TfyCellHandout handout;
        TfyCellAnswer answer;
    } said;
    _Static_assert(sizeof said.handout != sizeof said.answer, "the one is never taken for the other");
    union {
        struct cmsghdr head;
        char room[CMSG_SPACE(sizeof(int))];
    } rights;
    struct iovec bytes = {.iov_base = &said, .iov_len = sizeof said};
    struct msghdr message = {
        .msg_iov = &bytes, .msg_iovlen = 1, .msg_control = &rights, .msg_controllen = CMSG_LEN(sizeof(int))};
    ssize_t len;
    while ((len = recvmsg(socket, &message, MSG_CMSG_CLOEXEC)) < 0 && errno == EINTR) continue;
    if (len < 0) return -errno;
    *descriptor = descriptor_of(&message);
    if (*descriptor >= 0 && len == sizeof said.handout && said.handout.magic == magic) return 0;
    if (*descriptor >= 0) close(*descriptor);
    if (*descriptor >= 0 || len != sizeof said.answer) return -EPROTO;
    *answer = said.answer;
    return 1;
}

int tfy__cell_listener(int socket, int *listener, TfyCellAnswer *answer)
{
    return take_handout(socket, TFY_CELL_LISTENER_MAGIC, listener, answer);
}

#define PORT_TEXT_OF(port) #port
#define PORT_TEXT(port)    PORT_TEXT_OF(port)
#define WAY                "http://127.0.0.1:" PORT_TEXT(TFY_CELL_PROXY_PORT)
#define NOT_FOR            "localhost,127.0.0.1,::1"

const char *const tfy__cell_proxy_variables[] = {"http_proxy=" WAY,   "https_proxy=" WAY,  "all_proxy=" WAY,
                                                 "no_proxy=" NOT_FOR, "HTTP_PROXY=" WAY,   "HTTPS_PROXY=" WAY,
                                                 "ALL_PROXY=" WAY,    "NO_PROXY=" NOT_FOR, NULL};

/* ---- places ---- */

static const char *const places[] = {"/usr", "/bin", "/sbin", "/lib", "/lib64", "/etc", "/opt", "/proc", "/dev"};

bool tfy__cell_is_system(const char *path)
{
    for (size_t i = 0; i < sizeof places / sizeof *places; i++)
        if (tfy__cell_within(places[i], path)) return true;
    return false;
}

bool tfy__cell_in_system(const char *path)
{
    for (size_t i = 0; i < sizeof places / sizeof *places; i++)
        if (tfy__cell_within(path, places[i])) return true;
    return false;
}

bool tfy__cell_reads_system(const char *path)
{
    static const char *const read[] = {"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/etc", "/opt"};
    for (size_t i = 0; i < sizeof read / sizeof *read; i++)
        if (tfy__cell_within(path, read[i])) return true;
    return false;
}

/* What no sandbox writes, whoever says so; the compiler has the same list. A root may be in /dev/shm. */
static bool is_system_itself(const char *path)
{
    static const char *const all[] = {"/usr",    "/bin", "/sbin", "/lib",  "/lib32", "/lib64",
                                      "/libx32", "/etc", "/boot", "/proc", "/sys"};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (tfy__cell_within(path, all[i])) return true;
    return tfy__cell_is_system(path) || (tfy__cell_within(path, "/dev") && !tfy__cell_within(path, "/dev/shm"));
}

const char *tfy__cell_unwritable(const char *path, const char *root)
{
    char home[PATH_MAX];
    const char *given = getenv("HOME");
    if (is_system_itself(path)) return "the system itself";
    if (strcmp(path, root) != 0 && tfy__cell_within(root, path)) return "above the working root";
    const bool is_home = given && realpath(given, home) && tfy__cell_within(home, path);
    return is_home && !tfy__cell_within(path, root) ? "your home directory, or above it" : NULL;
}

bool tfy__cell_home(const char *root, char home[PATH_MAX])
{
    const char *given = getenv("HOME");
    return given && realpath(given, home) && !tfy__cell_is_system(home) && !tfy__cell_within("/tmp", home) &&
           !tfy__cell_within(home, root);
}

/* ---- probes ---- */

__attribute__((noreturn)) static void become_probe(int program, int socket)
{
    static char *const argv[] = {"tfy-cell", "3", "0", NULL};
    static char *const env[] = {NULL};
    const int own = fcntl(program, F_DUPFD_CLOEXEC, 4), number = fcntl(socket, F_DUPFD_CLOEXEC, 4);
    if (own >= 0 && number >= 0 && dup2(number, 3) == 3) execveat(own, "", argv, env, AT_EMPTY_PATH);
    _exit(TFY_CELL_FAILED);
}

/* Starts a cell without a tool. handout: what it hands out, the caller's; NULL: nothing. Result as tfy__cell_probe's. */
static int try_cell(int program, TfyCellPlan *plan, int *handout, TfyCellAnswer *answer)
{
    int ends[2], status = 0;
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0) return -errno;
    tfy__cell_add(plan, TFY_CELL_ROOT, "/usr");
    tfy__cell_add(plan, TFY_CELL_CWD, "/usr");
    const pid_t pid = vfork();
    if (pid == 0) become_probe(program, ends[1]);
    const int started = pid < 0 ? errno : 0;
    close(ends[1]);
    const int sent = started ? started : tfy__cell_send(plan, ends[0]);
    int result = -sent;
    if (!sent && handout) result = take_handout(ends[0], TFY_CELL_LAYER_MAGIC, handout, answer);
    if (!result) result = tfy__cell_answer(ends[0], answer);
    close(ends[0]);
    tfy__cell_plan_free(plan);
    while (!started && waitpid(pid, &status, 0) < 0 && errno == EINTR) continue;
    return result == 0 && status ? -EPROTO : result; /* neither an answer nor done */
}

bool tfy__cell_absolute(const char *root, const char *path, char out[PATH_MAX])
{
    const char *home = getenv("HOME");
    int len;
    if (*path == '/')
        len = snprintf(out, PATH_MAX, "%s", path);
    else if (*path != '~')
        len = snprintf(out, PATH_MAX, "%s/%s", root, path);
    else if (home && *home == '/')
        len = snprintf(out, PATH_MAX, "%s%s", home, path + 1);
    else
        return false;
    return len < PATH_MAX;
}

int tfy__cell_probe(uint32_t level, TfyCellAnswer *answer)
{
    TfyCellPlan plan = {.head = {.level = level}};
    const int program = tfy__cell_open();
    if (program < 0) return program;
    const int result = try_cell(program, &plan, NULL, answer);
    close(program);
    return result;
}

/* ---- the layer of partial cells ---- */

/* What the rules of a layer were made of: a change of one of these directories changes its times. */
static const char *const ruled[TFY_CELL_RULED] = {"/", "/etc", "/etc/ssh"};

/* A directory that is not there is all zeros. False: one was changed so lately that the next change might not show. */
static bool look_at_ruled(TfyCellRuled now[TFY_CELL_RULED])
{
    struct timespec clock;
    bool settled = clock_gettime(CLOCK_REALTIME, &clock) == 0;
    memset(now, 0, TFY_CELL_RULED * sizeof *now);
    for (int i = 0; i < TFY_CELL_RULED; i++) {
        struct stat info;
        if (stat(ruled[i], &info) < 0) continue;
        now[i] = (TfyCellRuled){.device = info.st_dev,
                                .inode = info.st_ino,
                                .changed_s = info.st_ctim.tv_sec,
                                .changed_ns = info.st_ctim.tv_nsec};
        settled = settled && info.st_ctim.tv_sec + 1 < clock.tv_sec;
    }
    return settled;
}

int tfy__cell_layer(TfyCellLayer *layer, int program)
{
    TfyCellPlan plan = {.head = {.level = TFY_CELL_PARTIAL, .flags = TFY_CELL_MAKE_LAYER}};
    TfyCellRuled now[TFY_CELL_RULED];
    TfyCellAnswer answer;
    int ruleset = -1;
    const bool settled = look_at_ruled(now);
    if (layer->ruleset > 0 && settled && memcmp(now, layer->ruled, sizeof now) == 0) return layer->ruleset;
    tfy__cell_layer_free(layer);
    if (!settled) return -1;
    if (try_cell(program, &plan, &ruleset, &answer) != 0) {
        if (ruleset >= 0) close(ruleset);
        return -1;
    }
    layer->ruleset = ruleset;
    memcpy(layer->ruled, now, sizeof now);
    return ruleset;
}

void tfy__cell_layer_free(TfyCellLayer *layer)
{
    if (layer->ruleset > 0) close(layer->ruleset);
    *layer = (TfyCellLayer){0};
}

/* ---- words ---- */

const char *tfy__cell_stage_name(uint32_t stage)
{
    static const char *const names[] = {"policy",   "namespaces",   "mounts", "rights",
                                        "Landlock", "system calls", "start"};
    return stage < sizeof names / sizeof *names ? names[stage] : "unknown stage";
}

const char *tfy__cell_stage_lacks(uint32_t stage)
{
    static const char *const names[] = {"the policy",          "user namespaces", "mounts in a namespace",
                                        "giving up rights",    "Landlock",        "filters of system calls",
                                        "starting the program"};
    return stage < sizeof names / sizeof *names ? names[stage] : "an unknown stage";
}
