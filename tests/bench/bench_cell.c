/* bench_cell.c: how much later a tool starts in a cell: from the fork until its first byte arrives, against the same without a cell and against
 * bubblewrap with the same shape. Rounds of all of them in turn, the median of each; runs in a build directory, whose tfy-cell it measures. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "bench.h"
#include "effects/cell.h"

enum { ROUNDS = 300, CELL_FD = 3 };

static int program; /* tfy-cell, for layers */

typedef struct Site {
    BenchPlace place;
    char root[PATH_MAX], home[PATH_MAX + 8], git[PATH_MAX + 8];
} Site;

typedef struct Kind {
    const char *name;
    uint32_t level; /* 0: no cell */
    bool alone;     /* partial: without the layer that the runtime keeps for its tools */
    bool bubblewrap;
    double took[ROUNDS];
} Kind;

__attribute__((noreturn)) static void become(const Kind *kind, const Site *site, int socket)
{
    if (kind->bubblewrap)
        execlp("bwrap", "bwrap", "--unshare-all", "--die-with-parent", "--ro-bind", "/", "/", "--proc", "/proc",
               "--tmpfs", "/tmp", "--tmpfs", "/dev/shm", "--tmpfs", site->home, "--bind", site->root, site->root,
               "--ro-bind", site->git, site->git, "--chdir", site->root, "/bin/echo", "x", (char *)NULL);
    if (kind->level && dup2(socket, CELL_FD) == CELL_FD)
        execl("./tfy-cell", "tfy-cell", "3", "1", "/bin/echo", "echo", "x", (char *)NULL);
    if (!kind->level && !kind->bubblewrap) execl("/bin/echo", "echo", "x", (char *)NULL);
    _exit(127);
}

static void plan(TfyCellPlan *made, const Site *site, uint32_t level)
{
    made->head = (TfyCellHead){.level = level,
                               .flags = TFY_CELL_ROOT_WRITABLE,
                               .memory = UINT64_C(4) << 30,
                               .processes = 512,
                               .file_bytes = 1 << 30};
    tfy__cell_add_root(made, site->root);
    tfy__cell_add(made, TFY_CELL_CWD, site->root);
    tfy__cell_add(made, level == TFY_CELL_FULL ? TFY_CELL_HOME : TFY_CELL_TEMP, site->home);
}

/* As the runtime sends it: partial cells come with a layer, which is looked after each time. */
static int send_plan(const Kind *kind, const TfyCellPlan *made, int socket)
{
    static TfyCellLayer layer;
    TfyBuffer datagram = {0};
    const bool layered = kind->level == TFY_CELL_PARTIAL && !kind->alone;
    int error = tfy__cell_datagram(made, &datagram);
    if (!error) error = tfy__cell_send_datagram(socket, &datagram, layered ? tfy__cell_layer(&layer, program) : -1);
    tfy__buffer_free(&datagram);
    return error;
}

/* One tool, from its fork to its first byte. */
static double start(const Kind *kind, const Site *site, const TfyCellPlan *made)
{
    int ends[2], output[2];
    char byte = 0;
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0 || pipe2(output, O_CLOEXEC) < 0)
        bench_die("no descriptors");
    const int away = fcntl(ends[1], F_DUPFD_CLOEXEC, 10); /* so that dup2 takes close-on-exec away */
    const double begin = bench_seconds();
    const pid_t pid = fork();
    if (pid == 0) {
        dup2(output[1], 1);
        become(kind, site, away);
    }
    close(ends[1]);
    close(away);
    close(output[1]);
    if (kind->level && send_plan(kind, made, ends[0]) != 0) bench_die("the policy cannot be sent");
    const bool came = read(output[0], &byte, 1) == 1 && byte == 'x';
    const double took = bench_seconds() - begin;
    close(output[0]);
    close(ends[0]);
    waitpid(pid, NULL, 0);
    return came ? took : -1;
}

static double median(const Kind *kind)
{
    double sorted[ROUNDS];
    memcpy(sorted, kind->took, sizeof sorted);
    qsort(sorted, ROUNDS, sizeof *sorted, bench_by_size);
    return sorted[ROUNDS / 2] * 1e3;
}

static void make_site(Site *site)
{
    bench_place(&site->place);
    if (!realpath(site->place.directory, site->root)) bench_die("no directory");
    snprintf(site->home, sizeof site->home, "%s-home", site->root);
    snprintf(site->git, sizeof site->git, "%s/.git", site->root);
    if (mkdir(site->home, 0700) < 0 || mkdir(site->git, 0700) < 0) bench_die("no directory: %s", strerror(errno));
}

int main(void)
{
    static Kind kinds[] = {{.name = "no cell"},
                           {.name = "partial", .level = TFY_CELL_PARTIAL},
                           {.name = "partial, the first of a process", .level = TFY_CELL_PARTIAL, .alone = true},
                           {.name = "full", .level = TFY_CELL_FULL},
                           {.name = "bubblewrap", .bubblewrap = true}};
    enum { NONE, PARTIAL, FIRST, FULL, BUBBLEWRAP };
    enum { KINDS = sizeof kinds / sizeof *kinds };
    TfyCellPlan plans[KINDS] = {0};
    bool there[KINDS];
    Site site;
    program = tfy__cell_open();
    make_site(&site);
    for (int i = 0; i < KINDS; i++) {
        if (kinds[i].level) plan(&plans[i], &site, kinds[i].level);
        there[i] = start(&kinds[i], &site, &plans[i]) >= 0;
        if (!there[i]) fprintf(stderr, "bench: cell: %s cannot be had here, so it is not measured\n", kinds[i].name);
    }
    for (int round = 0; round < ROUNDS; round++)
        for (int i = 0; i < KINDS; i++)
            if (there[i]) kinds[i].took[round] = start(&kinds[i], &site, &plans[i]);
    for (int i = 0; i < KINDS; i++) {
        if (there[i])
            fprintf(stderr, "bench: cell: %s: %.2f ms until the first byte\n", kinds[i].name, median(&kinds[i]));
        tfy__cell_plan_free(&plans[i]);
    }
    const double bare = median(&kinds[NONE]), partial = median(&kinds[PARTIAL]) - bare,
                 full = median(&kinds[FULL]) - bare, bubblewrap = median(&kinds[BUBBLEWRAP]) - bare;
    if (there[PARTIAL]) bench_report("a tool in a partial cell starts later by (ms)", partial, "<=", 1.0);
    if (there[FULL]) bench_report("a tool in a full cell starts later by (ms)", full, "<=", 2.0);
    if (there[PARTIAL] && there[BUBBLEWRAP])
        bench_report("a partial cell against bubblewrap", partial / bubblewrap, "<=", 0.8);
    if (there[FULL] && there[BUBBLEWRAP]) bench_report("a full cell against bubblewrap", full / bubblewrap, "<=", 0.8);
    rmdir(site.home);
    bench_clear(&site.place);
    return 0;
}
