/* disk.c: see sim.h. A VFS for SQLite over files in memory. Nothing here depends on addresses or on time. */
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "sim.h"
#include "wal/store/schema.h"

enum { SECTOR = 512, NAMES = 32, OPEN_FILES = 16, SHM_PAGES = 16, SHM_PAGE = 32768 };

typedef struct Write {
    int64_t at; /* -1: the file was cut to `len` bytes */
    int64_t len;
    uint8_t *bytes;
    bool doomed; /* a sync of it failed: no later one makes it safe, until its bytes are written again */
    bool synced; /* it is safe, and covers what is doomed before it */
    struct Write *next;
} Write;

typedef struct Bytes {
    uint8_t *data;
    int64_t len, cap;
} Bytes;

typedef struct File {
    Bytes now, safe;
    Write *first, **end; /* what happened between the two, from the first that is doomed or not synced */
    void *shm[SHM_PAGES];
    uint32_t number;
    uint32_t names; /* that stand for it, safe ones included */
} File;

typedef struct Name {
    char text[64];
    File *file;
} Name;

typedef struct Change {
    enum { MADE, REMOVED, RENAMED } kind;
    char from[64], to[64];
    File *file;
} Change;

static struct {
    Name now[NAMES], safe[NAMES];
    Change changes[256]; /* between the two */
    uint32_t change_count, files;
    uint64_t ops;
    bool full;
} disk;

uint64_t sim_disk_ops(void)
{
    return disk.ops;
}

void sim_disk_room(bool room)
{
    disk.full = !room;
}

bool sim_disk_has_room(void)
{
    return !disk.full;
}

/* ---- bytes ---- */

static void set_len(Bytes *bytes, int64_t len)
{
    if (len > bytes->cap) {
        bytes->cap = len * 2;
        bytes->data = realloc(bytes->data, (size_t)bytes->cap);
        if (!bytes->data) abort();
    }
    if (len > bytes->len) memset(bytes->data + bytes->len, 0, (size_t)(len - bytes->len));
    bytes->len = len;
}

static void put(Bytes *bytes, int64_t at, const uint8_t *data, int64_t len)
{
    if (at + len > bytes->len) set_len(bytes, at + len);
    memcpy(bytes->data + at, data, (size_t)len);
}

static void copy(Bytes *to, const Bytes *from)
{
    set_len(to, 0);
    set_len(to, from->len);
    if (from->len) memcpy(to->data, from->data, (size_t)from->len);
}

static void apply(Bytes *bytes, const Write *write)
{
    if (write->at < 0)
        set_len(bytes, write->len);
    else
        put(bytes, write->at, write->bytes, write->len);
}

static void free_first(File *file)
{
    Write *write = file->first;
    file->first = write->next;
    if (!file->first) file->end = &file->first;
    free(write->bytes);
    free(write);
}

/* ---- the machine dies ---- */

/* Sectors of a write get to the disk one by one. */
static void tear(Bytes *bytes, const Write *write)
{
    for (int64_t at = write->at; at < write->at + write->len;) {
        int64_t end = (at / SECTOR + 1) * SECTOR;
        if (end > write->at + write->len) end = write->at + write->len;
        if (sim_percent(&sim.disk_chance, 50)) put(bytes, at, write->bytes + (at - write->at), end - at);
        at = end;
    }
}

static void lose(File *file, SimDeath death)
{
    /* How much of the list survives differs from death to death: all, most, few. */
    uint32_t kept = death == SIM_DIES_ALL ? 0 : 25 * sim_below(&sim.disk_chance, 5);
    for (Write *write = file->first; write; write = write->next) {
        if (write->synced || sim_percent(&sim.disk_chance, kept))
            apply(&file->safe, write);
        else if (write->at >= 0 && kept && sim_percent(&sim.disk_chance, 30))
            tear(&file->safe, write);
    }
    while (file->first) free_first(file);
    copy(&file->now, &file->safe);
}

static Name *find(Name *names, const char *text)
{
    for (int i = 0; i < NAMES; i++)
        if (names[i].file && strcmp(names[i].text, text) == 0) return &names[i];
    return NULL;
}

static void name(Name *names, const char *text, File *file)
{
    Name *place = find(names, text);
    for (int i = 0; !place && i < NAMES; i++)
        if (!names[i].file) place = &names[i];
    if (!place) abort();
    snprintf(place->text, sizeof place->text, "%s", text);
    place->file = file;
}

static void unname(Name *names, const char *text)
{
    Name *place = find(names, text);
    if (place) place->file = NULL;
}

static void apply_change(Name *names, const Change *change)
{
    if (change->kind == MADE) {
        name(names, change->to, change->file);
    } else {
        unname(names, change->from);
        if (change->kind == RENAMED) name(names, change->to, change->file);
    }
}

static void settle_names(uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) apply_change(disk.safe, &disk.changes[i]);
    disk.change_count -= count;
    memmove(disk.changes, disk.changes + count, disk.change_count * sizeof *disk.changes);
}

void sim_disk_die(SimDeath death)
{
    for (int i = 0; i < NAMES; i++)
        if (disk.now[i].file)
            for (int page = 0; page < SHM_PAGES; page++) {
                free(disk.now[i].file->shm[page]);
                disk.now[i].file->shm[page] = NULL;
            }
    disk.full = false;
    if (death == SIM_DIES_PROCESS) return;
    settle_names(death == SIM_DIES_ALL ? 0 : sim_below(&sim.disk_chance, disk.change_count + 1));
    disk.change_count = 0;
    memcpy(disk.now, disk.safe, sizeof disk.now);
    for (int i = 0; i < NAMES; i++)
        if (disk.now[i].file) lose(disk.now[i].file, death);
}

/* ---- operations ---- */

/* Counts an operation. True: the life ends in it. */
static bool last_op(void)
{
    disk.ops++;
    return sim.alive && sim.plan.death_op && disk.ops >= sim.plan.death_op;
}

static File *file_of(const char *text)
{
    Name *place = find(disk.now, text);
    return place ? place->file : NULL;
}

bool sim_disk_exists(const char *text)
{
    return file_of(text) != NULL;
}

int64_t sim_disk_size(const char *text)
{
    const File *file = file_of(text);
    return file ? file->now.len : -1;
}

static void change(Change made)
{
    if (last_op()) sim_die();
    sim_trace("names %d %s %s", made.kind, made.from, made.to);
    if (disk.change_count == sizeof disk.changes / sizeof *disk.changes) settle_names(1);
    disk.changes[disk.change_count++] = made;
    apply_change(disk.now, &made);
}

bool sim_disk_create(const char *text)
{
    if (file_of(text)) return false;
    File *file = calloc(1, sizeof *file);
    if (!file) abort();
    file->end = &file->first;
    file->number = disk.files++;
    Change made = {.kind = MADE, .file = file};
    snprintf(made.to, sizeof made.to, "%s", text);
    change(made);
    return true;
}

bool sim_disk_unlink(const char *text)
{
    if (!file_of(text)) return false;
    Change made = {.kind = REMOVED, .file = file_of(text)};
    snprintf(made.from, sizeof made.from, "%s", text);
    change(made);
    return true;
}

bool sim_disk_rename(const char *from, const char *to)
{
    if (!file_of(from)) return false;
    Change made = {.kind = RENAMED, .file = file_of(from)};
    snprintf(made.from, sizeof made.from, "%s", from);
    snprintf(made.to, sizeof made.to, "%s", to);
    change(made);
    return true;
}

void sim_disk_sync_names(void)
{
    if (last_op()) sim_die();
    sim_trace("sync names");
    settle_names(disk.change_count);
}

static void forget_page_sum(File *file, int64_t at)
{
    int64_t page_end = (at / SCHEMA_PAGE_BYTES + 1) * SCHEMA_PAGE_BYTES;
    memset(file->now.data + page_end - SCHEMA_PAGE_SUM_BYTES, 0, SCHEMA_PAGE_SUM_BYTES);
}

/* A record's payload is text that stands nowhere else: one of its bytes, in the database. (In a -wal file that was not moved yet, SQLite takes a
 * changed byte for the end of what was written: nothing tells that from a death, and the log ends earlier.) The page has a sum, which tells;
 * half the time it is taken away, as it would be if another program had written the page: then the chain of records has to tell. */
bool sim_disk_rot(SimChance *chance)
{
    static const char *const marks[] = {"\"tool\":\"", "\"text\":\"", "\"seed\":\"", "\"value\":", "\"workflow\":\""};
    for (int tries = 0; tries < 40; tries++) {
        File *file = file_of(SIM_DB);
        const char *mark = marks[sim_below(chance, sizeof marks / sizeof *marks)];
        if (!file || file->now.len < 64) continue;
        int64_t from = sim_below(chance, (uint32_t)file->now.len - 40);
        uint8_t *found = memmem(file->now.data + from, (size_t)(file->now.len - from - 16), mark, strlen(mark));
        if (!found) continue;
        found += strlen(mark);
        *found = *found == '7' ? '3' : '7';
        bool by_other = sim_percent(chance, 50);
        if (by_other) forget_page_sum(file, found - file->now.data);
        sim_trace("rot %u at %lld%s", file->number, (long long)(found - file->now.data),
                  by_other ? ", by another program" : "");
        return true;
    }
    return false;
}

/* ---- the VFS: files ---- */

typedef struct Handle {
    sqlite3_file base;
    File *file;
    int persist_wal;
} Handle;

static File *inside(sqlite3_file *handle)
{
    return ((Handle *)handle)->file;
}

static int vfs_close(sqlite3_file *handle)
{
    return SQLITE_OK;
}

static int64_t read_file(const File *file, void *to, int len, int64_t at)
{
    const Bytes *now = &file->now;
    int64_t have = at >= now->len ? 0 : now->len - at < len ? now->len - at : len;
    if (have) memcpy(to, now->data + at, (size_t)have);
    return have;
}

static int vfs_read(sqlite3_file *handle, void *to, int len, sqlite3_int64 at)
{
    int64_t have = read_file(inside(handle), to, len, at);
    if (have == len) return SQLITE_OK;
    memset((char *)to + have, 0, (size_t)(len - have));
    return SQLITE_IOERR_SHORT_READ;
}

static void note_write(File *file, int64_t at, const void *bytes, int64_t len)
{
    Write *write = calloc(1, sizeof *write);
    if (!write) abort();
    *write = (Write){.at = at, .len = len};
    if (at >= 0) {
        write->bytes = malloc((size_t)len + 1);
        if (!write->bytes) abort();
        memcpy(write->bytes, bytes, (size_t)len);
    }
    *file->end = write;
    file->end = &write->next;
    apply(&file->now, write);
}

static bool no_room(void)
{
    if (sim.alive && sim.plan.full_op && disk.ops >= sim.plan.full_op) {
        sim.plan.full_op = 0;
        sim_trace("disk full");
        disk.full = true;
    }
    return disk.full;
}

static int write_file(File *file, const void *from, int len, int64_t at)
{
    bool last = last_op();
    if (last) len = (int)sim_below(&sim.disk_chance, (uint32_t)len + 1);
    if (!last && no_room()) return SQLITE_FULL;
    sim_trace("write %u %lld %d %016llx", file->number, (long long)at, len,
              (unsigned long long)XXH3_64bits(from, (size_t)len));
    if (len) note_write(file, at, from, len);
    if (last) sim_die();
    return SQLITE_OK;
}

static int vfs_write(sqlite3_file *handle, const void *from, int len, sqlite3_int64 at)
{
    return write_file(inside(handle), from, len, at);
}

static int vfs_truncate(sqlite3_file *handle, sqlite3_int64 size)
{
    File *file = inside(handle);
    if (last_op()) sim_die();
    sim_trace("cut %u %lld", file->number, (long long)size);
    if (file->now.len != size) note_write(file, -1, NULL, size);
    return SQLITE_OK;
}

static bool sync_fails(void)
{
    if (!sim.alive || !sim.plan.fail_sync || disk.ops < sim.plan.fail_sync) return false;
    sim.plan.fail_sync = 0;
    return true;
}

static void settle_creation(const File *file)
{
    for (uint32_t i = disk.change_count; i > 0; i--)
        if (disk.changes[i - 1].file == file && disk.changes[i - 1].kind == MADE) {
            settle_names(i);
            return;
        }
}

static int sync_file(File *file)
{
    if (last_op()) sim_die();
    if (sync_fails()) {
        sim_trace("sync of %u fails", file->number);
        for (Write *write = file->first; write; write = write->next) write->doomed = !write->synced;
        return SQLITE_IOERR_FSYNC;
    }
    sim_trace("sync %u", file->number);
    for (Write *write = file->first; write; write = write->next) {
        if (!write->doomed && !write->synced) apply(&file->safe, write);
        write->synced = !write->doomed;
    }
    while (file->first && file->first->synced) free_first(file);
    if (!file->first && file->safe.len == file->now.len) copy(&file->safe, &file->now);
    settle_creation(file);
    return SQLITE_OK;
}

static int vfs_sync(sqlite3_file *handle, int flags)
{
    return sync_file(inside(handle));
}

int64_t sim_disk_read(const char *text, void *to, int len, int64_t at)
{
    const File *file = file_of(text);
    return file ? read_file(file, to, len, at) : 0;
}

bool sim_disk_write(const char *text, const void *from, int len, int64_t at)
{
    File *file = file_of(text);
    return file && write_file(file, from, len, at) == SQLITE_OK;
}

bool sim_disk_sync(const char *text)
{
    File *file = file_of(text);
    return file && sync_file(file) == SQLITE_OK;
}

static int vfs_size(sqlite3_file *handle, sqlite3_int64 *size)
{
    *size = inside(handle)->now.len;
    return SQLITE_OK;
}

/* Only one connection at a time is ever open here. */
static int vfs_lock(sqlite3_file *handle, int level)
{
    return SQLITE_OK;
}

static int vfs_check_lock(sqlite3_file *handle, int *held)
{
    *held = 0;
    return SQLITE_OK;
}

static int vfs_control(sqlite3_file *handle, int op, void *arg)
{
    if (op != SQLITE_FCNTL_PERSIST_WAL) return SQLITE_NOTFOUND;
    Handle *self = (Handle *)handle;
    int *wanted = arg;
    if (*wanted < 0)
        *wanted = self->persist_wal;
    else
        self->persist_wal = *wanted;
    return SQLITE_OK;
}

static int vfs_sector(sqlite3_file *handle)
{
    return 4096;
}

/* A write that is cut off leaves the bytes beside it alone: what SQLite's own VFS says of every disk. */
static int vfs_character(sqlite3_file *handle)
{
    return SQLITE_IOCAP_POWERSAFE_OVERWRITE;
}

static int vfs_shm_map(sqlite3_file *handle, int page, int size, int extend, void volatile **out)
{
    File *file = inside(handle);
    *out = NULL;
    if (page >= SHM_PAGES || size != SHM_PAGE) return SQLITE_IOERR_SHMMAP;
    if (!file->shm[page] && extend) file->shm[page] = calloc(1, SHM_PAGE);
    *out = file->shm[page];
    return SQLITE_OK;
}

static int vfs_shm_lock(sqlite3_file *handle, int from, int count, int flags)
{
    return SQLITE_OK;
}

static void vfs_shm_barrier(sqlite3_file *handle)
{
}

static int vfs_shm_unmap(sqlite3_file *handle, int remove)
{
    File *file = inside(handle);
    for (int page = 0; page < SHM_PAGES; page++) {
        free(file->shm[page]);
        file->shm[page] = NULL;
    }
    return SQLITE_OK;
}

static const sqlite3_io_methods methods = {.iVersion = 2,
                                           .xClose = vfs_close,
                                           .xRead = vfs_read,
                                           .xWrite = vfs_write,
                                           .xTruncate = vfs_truncate,
                                           .xSync = vfs_sync,
                                           .xFileSize = vfs_size,
                                           .xLock = vfs_lock,
                                           .xUnlock = vfs_lock,
                                           .xCheckReservedLock = vfs_check_lock,
                                           .xFileControl = vfs_control,
                                           .xSectorSize = vfs_sector,
                                           .xDeviceCharacteristics = vfs_character,
                                           .xShmMap = vfs_shm_map,
                                           .xShmLock = vfs_shm_lock,
                                           .xShmBarrier = vfs_shm_barrier,
                                           .xShmUnmap = vfs_shm_unmap};

/* ---- the VFS: names ---- */

static int vfs_open(sqlite3_vfs *vfs, const char *text, sqlite3_file *handle, int flags, int *out_flags)
{
    Handle *self = (Handle *)handle;
    memset(self, 0, sizeof *self);
    if (!text) return SQLITE_CANTOPEN; /* a temporary file: nobody here needs one */
    if (!file_of(text) && !(flags & SQLITE_OPEN_CREATE)) return SQLITE_CANTOPEN;
    if (!file_of(text)) sim_disk_create(text);
    self->file = file_of(text);
    self->base.pMethods = &methods;
    if (out_flags) *out_flags = flags;
    return SQLITE_OK;
}

static int vfs_delete(sqlite3_vfs *vfs, const char *text, int sync)
{
    if (!sim_disk_unlink(text)) return SQLITE_IOERR_DELETE_NOENT;
    if (sync) sim_disk_sync_names();
    return SQLITE_OK;
}

static int vfs_access(sqlite3_vfs *vfs, const char *text, int flags, int *out)
{
    *out = sim_disk_exists(text);
    return SQLITE_OK;
}

static int vfs_full_name(sqlite3_vfs *vfs, const char *text, int cap, char *out)
{
    sqlite3_snprintf(cap, out, "%s", text);
    return SQLITE_OK;
}

static int vfs_random(sqlite3_vfs *vfs, int len, char *out)
{
    for (int i = 0; i < len; i++) out[i] = (char)sim_next(&sim.disk_chance);
    return len;
}

static int vfs_sleep(sqlite3_vfs *vfs, int us)
{
    sim.now_ns += (int64_t)us * 1000;
    return us;
}

static int vfs_time(sqlite3_vfs *vfs, sqlite3_int64 *out)
{
    *out = INT64_C(210866760000000) + SIM_WALL_MS + sim.now_ns / 1000000;
    return SQLITE_OK;
}

static int vfs_last_error(sqlite3_vfs *vfs, int len, char *out)
{
    return 0;
}

void sim_disk_register(void)
{
    static sqlite3_vfs vfs = {.iVersion = 2,
                              .szOsFile = sizeof(Handle),
                              .mxPathname = 256,
                              .zName = "sim",
                              .xOpen = vfs_open,
                              .xDelete = vfs_delete,
                              .xAccess = vfs_access,
                              .xFullPathname = vfs_full_name,
                              .xRandomness = vfs_random,
                              .xSleep = vfs_sleep,
                              .xCurrentTimeInt64 = vfs_time,
                              .xGetLastError = vfs_last_error};
    sqlite3_config(SQLITE_CONFIG_SINGLETHREAD);
    sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
    if (sqlite3_vfs_register(&vfs, 1) != SQLITE_OK) abort();
}
