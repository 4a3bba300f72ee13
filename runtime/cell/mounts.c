/* mounts.c: stage 2, in the order in which it must happen:
 *
 *   1. Copies of what will be there again are taken, before anything covers it.
 *   2. The whole tree becomes read-only, without set-user-id.
 *   3. Empty directories cover /tmp, /dev/shm, /root and the home directory.
 *   4. The copies go to their old paths, parents first: the root, and what else is read or written.
 *   5. /proc becomes that of the new namespaces, and the hidden files become empty.
 *   6. Protected paths become read-only mounts. So does nothing on the way to them; but each directory on it becomes
 *      a mount, which can neither be renamed nor removed: else `mv .git x; mkdir .git` would lead around it. */
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>

#include "cell/cell.h"
#include "cell/system.h"

const char *const cell_hidden[] = {"/etc/shadow", "/etc/gshadow", "/etc/shadow-", "/etc/gshadow-", NULL};

/* Empty in every full cell. */
static const char *const emptied[] = {"/tmp", "/dev/shm", "/root"};

/* A copy of a part of the tree, and where it goes. */
typedef struct Copy {
    const char *path;
    int tree; /* of open_tree */
    uint32_t number;
} Copy;

static Copy copies[TFY_CELL_PATHS_MAX];
static uint32_t copy_count;

/* ---- trees ---- */

static int copy_tree(const Cell *cell, int dir, const char *path, int flags)
{
    const unsigned all = OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_RECURSIVE;
    return (int)cell_must(cell, CALL3(open_tree, dir, path, all | (unsigned)flags));
}

static void set_attributes(const Cell *cell, int tree, uint64_t attributes)
{
    struct mount_attr set = {.attr_set = attributes, .propagation = MS_PRIVATE};
    cell_must(cell, CALL5(mount_setattr, tree, "", AT_EMPTY_PATH | AT_RECURSIVE, &set, sizeof set));
}

int cell_open_plain(const Cell *cell, const char *path)
{
    struct open_how how = {.flags = O_PATH | O_CLOEXEC, .resolve = RESOLVE_NO_SYMLINKS};
    return (int)cell_must(cell, CALL4(openat2, AT_FDCWD, path, &how, sizeof how));
}

static void put(const Cell *cell, int tree, int target)
{
    cell_must(cell, CALL5(move_mount, tree, "", target, "", MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH));
    cell_must(cell, CALL1(close, tree));
}

/* ---- what is emptied ---- */

static bool is_emptied(const Cell *cell, const char *path)
{
    if (cell->policy.home && tfy__cell_within(path, cell->policy.home)) return true;
    for (size_t i = 0; i < sizeof emptied / sizeof *emptied; i++)
        if (tfy__cell_within(path, emptied[i])) return true;
    return false;
}

static void empty_directory(const Cell *cell, const char *path, bool may_lack)
{
    static const char mode[] = "mode=0700", size[] = ",size=";
    CellText options;
    cell_text_init(&options);
    cell_text_add(&options, mode, sizeof mode - 1);
    if (cell->policy.head.memory) {
        cell_text_add(&options, size, sizeof size - 1);
        cell_text_number(&options, cell->policy.head.memory);
    }
    const long error = CALL5(mount, "tmpfs", path, "tmpfs", MS_NOSUID | MS_NODEV, options.at);
    if (error != -ENOENT || !may_lack) cell_must(cell, error);
}

/* Makes what is missing of a path below an emptied directory: directories, and at its end a directory or a file. */
static void make_way(const Cell *cell, const char *path, bool directory)
{
    CellText part;
    for (const char *at = strchr(path + 1, '/');; at = strchr(at + 1, '/')) {
        cell_text_init(&part);
        cell_text_add(&part, path, at ? (size_t)(at - path) : strlen(path));
        const long error = at || directory ? CALL3(mkdirat, AT_FDCWD, part.at, 0755)
                                           : CALL4(mknodat, AT_FDCWD, part.at, S_IFREG | 0644, 0);
        if (error != -EEXIST) cell_must(cell, error);
        if (!at) return;
    }
}

/* The home directory is one more, unless it lies in one of the others: then it is only made there. */
static void empty_directories(const Cell *cell)
{
    const char *home = cell->policy.home;
    bool inside = false;
    for (size_t i = 0; i < sizeof emptied / sizeof *emptied; i++) {
        if (home && tfy__cell_within(emptied[i], home)) continue;
        empty_directory(cell, emptied[i], i > 0);
        inside = inside || (home && tfy__cell_within(home, emptied[i]));
    }
    if (inside) make_way(cell, home, true);
    if (home && !inside) empty_directory(cell, home, false);
}

/* ---- copies ---- */

/* In order of length, so that parents are put before what lies in them. */
static void add_copy(Cell *cell, uint32_t number, const char *path, bool writable)
{
    uint32_t at = copy_count++;
    for (; at && strlen(copies[at - 1].path) > strlen(path); at--) copies[at] = copies[at - 1];
    const int place = cell_open_plain(cell, path), tree = copy_tree(cell, place, "", AT_EMPTY_PATH);
    cell_must(cell, CALL1(close, place));
    set_attributes(cell, tree, MOUNT_ATTR_NOSUID | (writable ? 0 : MOUNT_ATTR_RDONLY));
    copies[at] = (Copy){.path = path, .tree = tree, .number = number};
}

static void take_copies(Cell *cell)
{
    const bool writable = cell->policy.head.flags & TFY_CELL_ROOT_WRITABLE;
    for (uint32_t i = 0; i < cell->policy.head.paths; i++) {
        const TfyCellPath *item = &cell->policy.paths[i];
        cell->path = i + 1;
        if (item->kind == TFY_CELL_ROOT && (writable || is_emptied(cell, item->path)))
            add_copy(cell, i + 1, item->path, writable);
        if (item->kind == TFY_CELL_READS && is_emptied(cell, item->path)) add_copy(cell, i + 1, item->path, false);
        if (item->kind == TFY_CELL_WRITES) add_copy(cell, i + 1, item->path, true);
    }
    cell->path = 0;
}

static void put_copy(Cell *cell, const Copy *copy)
{
    struct stat info;
    cell->path = copy->number;
    if (is_emptied(cell, copy->path)) {
        cell_must(cell, CALL2(fstat, copy->tree, &info));
        make_way(cell, copy->path, S_ISDIR(info.st_mode));
    }
    const int place = cell_open_plain(cell, copy->path);
    put(cell, copy->tree, place);
    cell_must(cell, CALL1(close, place));
}

/* Is it inside a path of this kind? */
static bool is_in_kind(const Cell *cell, const char *path, int kind)
{
    for (uint32_t i = 0; i < cell->policy.head.paths; i++) {
        const TfyCellPath *item = &cell->policy.paths[i];
        if (item->kind == kind && strcmp(item->path, path) != 0 && tfy__cell_within(path, item->path)) return true;
    }
    return false;
}

/* late: those that are written inside something protected. They must be put over that. */
static void put_copies(Cell *cell, bool late)
{
    for (uint32_t i = 0; i < copy_count; i++)
        if (is_in_kind(cell, copies[i].path, TFY_CELL_PROTECTED) == late) put_copy(cell, &copies[i]);
    cell->path = 0;
}

/* ---- files that are hidden, protected or closed ---- */

static void cover_file(Cell *cell, int place)
{
    put(cell, copy_tree(cell, AT_FDCWD, "/dev/null", 0), place);
}

static void hide_file(Cell *cell, const char *path)
{
    const int place = (int)CALL3(openat, AT_FDCWD, path, O_PATH | O_CLOEXEC);
    if (place == -ENOENT) return;
    cell_must(cell, place);
    cover_file(cell, place);
    cell_must(cell, CALL1(close, place));
}

void cell_each_server_key(Cell *cell, void (*visit)(Cell *cell, const char *path))
{
    static const char home[] = "/etc/ssh/", ending[] = "_key";
    const long dir = CALL3(openat, AT_FDCWD, home, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    CellEntries entries;
    CellEntry entry;
    CellText path;
    if (dir == -ENOENT) return;
    cell_entries_init(&entries, (int)cell_must(cell, dir));
    while (cell_must(cell, cell_next_entry(&entries, &entry))) {
        const size_t len = strlen(entry.name);
        if (len < sizeof ending || strcmp(entry.name + len - sizeof ending + 1, ending) != 0) continue;
        cell_text_init(&path);
        cell_text_add(&path, home, sizeof home - 1);
        cell_text_add(&path, entry.name, len);
        visit(cell, path.at);
    }
    cell_must(cell, CALL1(close, dir));
}

/* A directory becomes an empty one that is read-only, anything else /dev/null. */
static void close_path(Cell *cell, const char *path)
{
    struct stat info;
    const int place = cell_open_plain(cell, path);
    cell_must(cell, CALL2(fstat, place, &info));
    if (S_ISDIR(info.st_mode))
        cell_must(cell, CALL5(mount, "tmpfs", path, "tmpfs", MS_NOSUID | MS_NODEV | MS_RDONLY, "mode=0500,size=4096"));
    else
        cover_file(cell, place);
    cell_must(cell, CALL1(close, place));
}

/* Makes a mount of what the path names, unless it is one of the cell's own already. */
static void mount_itself(const Cell *cell, const char *path, uint64_t attributes)
{
    const int place = cell_open_plain(cell, path), tree = copy_tree(cell, place, "", AT_EMPTY_PATH);
    set_attributes(cell, tree, attributes);
    put(cell, tree, place);
    cell_must(cell, CALL1(close, place));
}

/* Was this directory made a mount on the way to an earlier path? */
static bool on_earlier_way(const Cell *cell, uint32_t before, const char *directory)
{
    for (uint32_t i = 0; i < before; i++) {
        const TfyCellPath *item = &cell->policy.paths[i];
        if ((item->kind == TFY_CELL_PROTECTED || item->kind == TFY_CELL_CLOSED) &&
            tfy__cell_within(item->path, directory) && strcmp(item->path, directory) != 0)
            return true;
    }
    return false;
}

/* The outermost directory around a path that the tool may write: the root, or one of its own; NULL: none. */
static const char *writable_above(const Cell *cell, const char *path)
{
    const char *outermost = NULL;
    for (uint32_t i = 0; i < cell->policy.head.paths; i++) {
        const TfyCellPath *item = &cell->policy.paths[i];
        if (item->kind != TFY_CELL_ROOT && item->kind != TFY_CELL_WRITES) continue;
        if (tfy__cell_within(path, item->path) && (!outermost || strlen(item->path) < strlen(outermost)))
            outermost = item->path;
    }
    return outermost;
}

/* Every directory between that one and the path becomes a mount, as writable as it is. */
static void mount_way(Cell *cell, uint32_t index, const char *path)
{
    const char *above = writable_above(cell, path);
    CellText part;
    if (!above || strcmp(above, path) == 0) return;
    for (const char *at = strchr(path + strlen(above) + 1, '/'); at; at = strchr(at + 1, '/')) {
        cell_text_init(&part);
        cell_text_add(&part, path, (size_t)(at - path));
        if (!on_earlier_way(cell, index, part.at)) mount_itself(cell, part.at, MOUNT_ATTR_NOSUID);
    }
}

/* Is it inside what is written inside something protected? */
static bool is_inmost(const Cell *cell, const char *path)
{
    for (uint32_t i = 0; i < copy_count; i++)
        if (strcmp(copies[i].path, path) != 0 && tfy__cell_within(path, copies[i].path) &&
            is_in_kind(cell, copies[i].path, TFY_CELL_PROTECTED))
            return true;
    return false;
}

static void mount_protected(Cell *cell, bool inmost)
{
    for (uint32_t i = 0; i < cell->policy.head.paths; i++) {
        const TfyCellPath *item = &cell->policy.paths[i];
        cell->path = i + 1;
        if (item->kind == TFY_CELL_PROTECTED && is_inmost(cell, item->path) == inmost)
            mount_itself(cell, item->path, MOUNT_ATTR_NOSUID | MOUNT_ATTR_RDONLY);
    }
}

/* In passes: what is mounted on a way must not cover what was protected before it. */
static void protect(Cell *cell)
{
    for (uint32_t i = 0; i < cell->policy.head.paths; i++) {
        const TfyCellPath *item = &cell->policy.paths[i];
        cell->path = i + 1;
        if (item->kind == TFY_CELL_PROTECTED || item->kind == TFY_CELL_CLOSED) mount_way(cell, i, item->path);
    }
    mount_protected(cell, false);
    put_copies(cell, true);
    mount_protected(cell, true);
    for (uint32_t i = 0; i < cell->policy.head.paths; i++) {
        const TfyCellPath *item = &cell->policy.paths[i];
        cell->path = i + 1;
        if (item->kind == TFY_CELL_CLOSED) close_path(cell, item->path);
    }
    cell->path = 0;
}

/* ---- the stage ---- */

/* The kernel refuses a new /proc where parts of the given one are covered, as in containers. Then that one stays:
 * Landlock keeps the tool from what it says of processes outside the cell. */
static void mount_proc(const Cell *cell)
{
    const long error = CALL5(mount, "proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL);
    if (error != -EPERM) cell_must(cell, error);
}

void cell_mount(Cell *cell)
{
    struct mount_attr whole = {.attr_set = MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID, .propagation = MS_PRIVATE};
    cell->stage = TFY_CELL_MOUNTS;
    if (!cell->outside) cell_stop(cell, EINVAL); /* stage 1 sets it: never in a tree that is the machine's */
    take_copies(cell);
    cell_must(cell, CALL5(mount_setattr, AT_FDCWD, "/", AT_RECURSIVE, &whole, sizeof whole));
    empty_directories(cell);
    put_copies(cell, false);
    mount_proc(cell);
    for (const char *const *path = cell_hidden; *path; path++) hide_file(cell, *path);
    cell_each_server_key(cell, hide_file);
    protect(cell);
}
