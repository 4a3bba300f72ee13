/* landlock.c: stage 4: what may be opened. Rights that no rule gives are refused, so this holds whatever stage 2 did;
 * in a partial cell it is what protects paths.
 *
 * A rule holds for everything below its directory. So in a partial cell the root has none but for listing: each entry
 * in it has its own, and protected and closed ones lie beside those that may be written. The entries of /etc are alike
 * for all tools: they can come as a layer that was made once (TFY_CELL_LAYER). */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/landlock.h>
#include <string.h>
#include <sys/stat.h>

#include "cell/cell.h"
#include "cell/system.h"

/* As the kernel numbers them; headers may be older than the kernel. */
enum {
    EXECUTE = 1 << 0,
    WRITE_FILE = 1 << 1,
    READ_FILE = 1 << 2,
    READ_DIR = 1 << 3,
    MAKE_CHAR = 1 << 6,
    MAKE_BLOCK = 1 << 11,
    REFER = 1 << 13,
    TRUNCATE = 1 << 14,
    IOCTL_DEV = 1 << 15,
    RESOLVE_UNIX = 1 << 16,
    READS = EXECUTE | READ_FILE | READ_DIR,
    OF_FILES = EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE | IOCTL_DEV | RESOLVE_UNIX,
    NET_BIND_TCP = 1 << 0,
    NET_CONNECT_TCP = 1 << 1,
    SCOPE_ABSTRACT_UNIX = 1 << 0,
    SCOPE_SIGNAL = 1 << 1,
};

struct ruleset {
    uint64_t fs, net, scoped;
};

static int ruleset;
static uint64_t known; /* rights of files that this kernel knows */

static uint64_t known_rights(int abi)
{
    if (abi >= 9) return (1U << 17) - 1;
    if (abi >= 5) return (1U << 16) - 1;
    return abi >= 3 ? (1U << 15) - 1 : abi == 2 ? (1U << 14) - 1 : (1U << 13) - 1;
}

static void make_ruleset(Cell *cell)
{
    const bool no_network = !(cell->policy.head.flags & TFY_CELL_HOST_NETWORK);
    const int abi = (int)cell_must(cell, CALL3(landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION));
    struct ruleset attributes = {.fs = known_rights(abi)};
    size_t size = sizeof attributes.fs;
    /* A full cell without network has a loopback of its own, which is for servers. */
    if (abi >= 4) {
        size = offsetof(struct ruleset, scoped);
        if (no_network && cell->policy.head.level == TFY_CELL_PARTIAL) attributes.net = NET_BIND_TCP | NET_CONNECT_TCP;
    }
    if (abi >= 6) {
        size = sizeof attributes;
        attributes.scoped = SCOPE_ABSTRACT_UNIX | SCOPE_SIGNAL;
    }
    cell->landlock_abi = abi;
    known = attributes.fs;
    ruleset = (int)cell_must(cell, CALL3(landlock_create_ruleset, &attributes, size, 0));
}

/* ---- rules ---- */

static void add_rule_of(const Cell *cell, int file, mode_t mode, uint64_t rights)
{
    if (!S_ISDIR(mode)) rights &= OF_FILES;
    struct landlock_path_beneath_attr rule = {.allowed_access = rights & known, .parent_fd = file};
    cell_must(cell, CALL4(landlock_add_rule, ruleset, LANDLOCK_RULE_PATH_BENEATH, &rule, 0));
}

static void add_rule(const Cell *cell, int file, uint64_t rights)
{
    struct stat info;
    cell_must(cell, CALL2(fstat, file, &info));
    add_rule_of(cell, file, info.st_mode, rights);
}

static void allow(const Cell *cell, const char *path, uint64_t rights)
{
    const int file = cell_open_plain(cell, path);
    add_rule(cell, file, rights);
    cell_must(cell, CALL1(close, file));
}

/* What a system may lack. */
static void allow_if_there(const Cell *cell, const char *path, uint64_t rights)
{
    const int file = (int)CALL3(openat, AT_FDCWD, path, O_PATH | O_CLOEXEC);
    if (file == -ENOENT) return;
    cell_must(cell, file);
    add_rule(cell, file, rights);
    cell_must(cell, CALL1(close, file));
}

static uint64_t writing(void)
{
    return known & ~(uint64_t)(MAKE_CHAR | MAKE_BLOCK);
}

/* ---- entries, each by itself ---- */

/* What the policy says of a path and of what lies below it. */
typedef struct Said {
    bool is_protected, closed, below;
} Said;

static void say(Said *said, const char *path, const char *other, bool closed)
{
    if (!tfy__cell_within(other, path)) return;
    const bool same = strcmp(path, other) == 0;
    if (!same) said->below = true;
    if (same && closed) said->closed = true;
    if (same && !closed) said->is_protected = true;
}

static Said *said_of_key;
static const char *path_of_key;

static void say_key(Cell *cell, const char *path)
{
    (void)cell;
    say(said_of_key, path_of_key, path, true);
}

static Said said_of(Cell *cell, const char *path)
{
    Said said = {0};
    for (uint32_t i = 0; i < cell->policy.head.paths; i++) {
        const TfyCellPath *item = &cell->policy.paths[i];
        if (item->kind == TFY_CELL_PROTECTED || item->kind == TFY_CELL_CLOSED)
            say(&said, path, item->path, item->kind == TFY_CELL_CLOSED);
    }
    if (cell->layer) return said; /* it holds what is hidden */
    if (tfy__cell_within(path, "/etc"))
        for (const char *const *hidden = cell_hidden; *hidden; hidden++) say(&said, path, *hidden, true);
    if (strcmp(path, "/etc") == 0 || tfy__cell_within(path, "/etc/ssh")) {
        said_of_key = &said;
        path_of_key = path;
        cell_each_server_key(cell, say_key);
    }
    return said;
}

static void allow_entries(Cell *cell, int dir, const char *path, uint64_t rights);

/* The type of an opened entry, as the directory told it; some file systems do not. */
static mode_t type_of(const Cell *cell, int entry, unsigned char told)
{
    struct stat info;
    if (told != DT_UNKNOWN) return DTTOIF(told);
    cell_must(cell, CALL2(fstat, entry, &info));
    return info.st_mode;
}

/* One entry of an open directory. Links need no rule: what they lead to has one, or is refused. */
static void allow_entry(Cell *cell, int dir, const char *directory, const CellEntry *named, uint64_t rights)
{
    CellText path;
    if (named->type == DT_LNK) return;
    cell_text_init(&path);
    cell_text_add(&path, directory, strlen(directory));
    cell_text_add(&path, "/", 1);
    cell_text_add(&path, named->name, strlen(named->name));
    if (path.too_long) cell_stop(cell, ENAMETOOLONG);
    const Said said = said_of(cell, path.at);
    if (said.closed) return;
    const int entry = (int)CALL3(openat, dir, named->name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    if (entry == -ENOENT) return; /* removed meanwhile */
    cell_must(cell, entry);
    const mode_t type = type_of(cell, entry, named->type);
    if (said.is_protected) rights &= READS;
    if (said.below)
        allow_entries(cell, entry, path.at, rights);
    else if (!S_ISLNK(type))
        add_rule_of(cell, entry, type, rights);
    cell_must(cell, CALL1(close, entry));
}

static void allow_entries(Cell *cell, int dir, const char *path, uint64_t rights)
{
    const int list = (int)cell_must(cell, CALL3(openat, dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    CellEntries entries;
    CellEntry entry;
    cell_entries_init(&entries, list);
    add_rule_of(cell, dir, S_IFDIR, READ_DIR);
    while (cell_must(cell, cell_next_entry(&entries, &entry))) allow_entry(cell, list, path, &entry, rights);
    cell_must(cell, CALL1(close, list));
}

/* A directory with something in it that must not be read or written. */
static void allow_partly(Cell *cell, const char *path, uint64_t rights)
{
    const int dir = cell_open_plain(cell, path);
    allow_entries(cell, dir, path[1] ? path : "", rights);
    cell_must(cell, CALL1(close, dir));
}

/* ---- the stage ---- */

static void allow_system(Cell *cell)
{
    static const char *const read[] = {"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/opt", "/proc"};
    static const char *const devices[] = {"/dev/null",   "/dev/zero",    "/dev/full",
                                          "/dev/random", "/dev/urandom", "/dev/tty"};
    const bool partial = cell->policy.head.level == TFY_CELL_PARTIAL;
    for (size_t i = 0; i < sizeof read / sizeof *read; i++)
        if (partial && said_of(cell, read[i]).below)
            allow_partly(cell, read[i], READS);
        else
            allow_if_there(cell, read[i], READS);
    for (size_t i = 0; i < sizeof devices / sizeof *devices; i++)
        allow_if_there(cell, devices[i], READ_FILE | WRITE_FILE | TRUNCATE | IOCTL_DEV);
    /* Without mounts, their owner and group would read what is hidden. */
    if (partial && said_of(cell, "/etc").below)
        allow_partly(cell, "/etc", READS);
    else
        allow_if_there(cell, "/etc", READS);
}

static void allow_private(const Cell *cell)
{
    if (cell->policy.head.level == TFY_CELL_PARTIAL) {
        if (cell->policy.temp) allow(cell, cell->policy.temp, writing());
        return;
    }
    allow_if_there(cell, "/tmp", writing());
    allow_if_there(cell, "/dev/shm", writing());
    if (cell->policy.home) allow(cell, cell->policy.home, writing());
}

static void allow_path(Cell *cell, const TfyCellPath *item)
{
    const bool partial = cell->policy.head.level == TFY_CELL_PARTIAL, is_root = item->kind == TFY_CELL_ROOT;
    const bool writable = item->kind == TFY_CELL_WRITES || cell->policy.head.flags & TFY_CELL_ROOT_WRITABLE;
    if (!is_root && item->kind != TFY_CELL_READS && item->kind != TFY_CELL_WRITES) return;
    const uint64_t rights = writable && item->kind != TFY_CELL_READS ? writing() : READS;
    if (partial && (is_root || said_of(cell, item->path).below))
        allow_partly(cell, item->path, rights);
    else
        allow(cell, item->path, rights);
}

void cell_prepare_landlock(Cell *cell)
{
    cell->stage = TFY_CELL_LANDLOCK;
    make_ruleset(cell);
    allow_system(cell);
    allow_private(cell);
    for (uint32_t i = 0; i < cell->policy.head.paths; i++) {
        cell->path = i + 1;
        allow_path(cell, &cell->policy.paths[i]);
    }
    cell->path = 0;
}

void cell_landlock(Cell *cell)
{
    cell->stage = TFY_CELL_LANDLOCK;
    if (cell->layer) {
        cell_must(cell, CALL2(landlock_restrict_self, cell->layer, 0));
        cell_must(cell, CALL1(close, cell->layer));
    }
    cell_must(cell, CALL2(landlock_restrict_self, ruleset, 0));
    cell_must(cell, CALL1(close, ruleset));
}

/* It holds reading alone; what else the rules of a cell allow, they decide. But moves between directories are refused by
 * every ruleset that does not allow them. */
void cell_make_layer(Cell *cell)
{
    const TfyCellHandout said = {.magic = TFY_CELL_LAYER_MAGIC};
    cell->stage = TFY_CELL_LANDLOCK;
    const int abi = (int)cell_must(cell, CALL3(landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION));
    const struct ruleset attributes = {.fs = (READS | REFER) & known_rights(abi)};
    known = attributes.fs;
    ruleset = (int)cell_must(cell, CALL3(landlock_create_ruleset, &attributes, sizeof attributes.fs, 0));
    allow_partly(cell, "/", known);
    cell_hand_out(cell, &said, ruleset);
}
