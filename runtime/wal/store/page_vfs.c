/* page_vfs.c: see page_vfs.h. Only the main file and the -wal file are inspected; all else goes straight to the
 * system's VFS.
 *
 * Memory of a handle: ours, followed by the system's.
 *
 *   +---------------+- - - - - - - - - - - - -+
 *   | PageFile      | the system's handle     |      allocated by SQLite, szOsFile bytes
 *   +---------------+- - - - - - - - - - - - -+ */
#include "wal/store/page_vfs.h"

#include <endian.h>
#include <pthread.h>
#include <stdbool.h>
#include <string.h>
#include <xxhash.h>

#include "wal/store/schema.h"
#include "wal/store/wal_file.h"

enum { SUMMED_BYTES = SCHEMA_PAGE_BYTES - SCHEMA_PAGE_SUM_BYTES };
enum { COUNTER_AT = 24, COUNTER_AGAIN_AT = 92 }; /* change counters, in page 1 */

typedef struct PageFile {
    sqlite3_file base; /* must be first */
    bool is_wal;       /* the -wal file; otherwise the main file */
    int64_t damaged;   /* main file: the page with the wrong sum */
    TfyWalPlace place; /* -wal file: the last commit frame written */
} PageFile;

static sqlite3_vfs *system_vfs;

static sqlite3_file *below(sqlite3_file *file)
{
    return (sqlite3_file *)((PageFile *)file + 1);
}

/* ---- sums ---- */

/* The sum at the end of a page. */
static void make_sum(const uint8_t *page, int64_t number, uint8_t sum[SCHEMA_PAGE_SUM_BYTES])
{
    const uint64_t hash = XXH3_64bits_withSeed(page, SUMMED_BYTES, (uint64_t)number);
    uint64_t whole = htole64(hash ? hash : 1); /* zeros mean that there is no sum */
    uint32_t half = htole32((uint32_t)hash ? (uint32_t)hash : 1);
    memcpy(sum, &whole, sizeof whole);
    if (number > 1) return;
    memcpy(sum, &half, sizeof half);
    memcpy(sum + sizeof half, page + COUNTER_AT, 4);
}

static bool is_empty(const uint8_t sum[SCHEMA_PAGE_SUM_BYTES])
{
    static const uint8_t zeros[SCHEMA_PAGE_SUM_BYTES];
    return memcmp(sum, zeros, sizeof zeros) == 0;
}

static bool is_page(int len, sqlite3_int64 at)
{
    return len == SCHEMA_PAGE_BYTES && at % SCHEMA_PAGE_BYTES == 0;
}

/* See page_vfs.h. Called only if a sum does not match, and then inspects the file as it is now. */
static bool is_foreign(sqlite3_file *file)
{
    uint8_t page[SCHEMA_PAGE_BYTES];
    if (below(file)->pMethods->xRead(below(file), page, sizeof page, 0) != SQLITE_OK) return false;
    const uint8_t *sum = page + SUMMED_BYTES;
    return !is_empty(sum) && memcmp(page + COUNTER_AT, sum + 4, 4) != 0 &&
           memcmp(page + COUNTER_AT, page + COUNTER_AGAIN_AT, 4) == 0;
}

static int check_page(PageFile *self, uint8_t *page, sqlite3_int64 at)
{
    const int64_t number = at / SCHEMA_PAGE_BYTES + 1;
    uint8_t sum[SCHEMA_PAGE_SUM_BYTES];
    make_sum(page, number, sum);
    const bool fits = is_empty(page + SUMMED_BYTES) || memcmp(sum, page + SUMMED_BYTES, sizeof sum) == 0;
    memset(page + SUMMED_BYTES, 0, sizeof sum);
    if (fits || is_foreign(&self->base)) return SQLITE_OK;
    self->damaged = number;
    return SQLITE_IOERR_DATA;
}

/* The page belongs to SQLite, so the sum goes into a copy. */
static int write_page(sqlite3_file *file, const uint8_t *page, sqlite3_int64 at)
{
    uint8_t copy[SCHEMA_PAGE_BYTES];
    memcpy(copy, page, SUMMED_BYTES);
    make_sum(page, at / SCHEMA_PAGE_BYTES + 1, copy + SUMMED_BYTES);
    return below(file)->pMethods->xWrite(below(file), copy, sizeof copy, at);
}

/* SQLite writes a frame's header separately, before its page, and again if it had to rewrite a frame. */
static void see_frame(PageFile *self, const uint8_t *header, sqlite3_int64 at)
{
    if (!tfy__wal_frame_ends_commit(header)) return;
    self->place.frame = (at - WAL_HEADER_BYTES) / WAL_FRAME_BYTES + 1;
    memcpy(&self->place.salt, header + 8, 8);
    memcpy(&self->place.check, header + 16, 8);
}

/* ---- methods of a file ---- */

static int file_close(sqlite3_file *file)
{
    return below(file)->pMethods->xClose(below(file));
}

static int file_read(sqlite3_file *file, void *to, int len, sqlite3_int64 at)
{
    PageFile *self = (PageFile *)file;
    const int code = below(file)->pMethods->xRead(below(file), to, len, at);
    return code || self->is_wal || !is_page(len, at) ? code : check_page(self, to, at);
}

static int file_write(sqlite3_file *file, const void *from, int len, sqlite3_int64 at)
{
    PageFile *self = (PageFile *)file;
    if (!self->is_wal && is_page(len, at)) return write_page(file, from, at);
    if (self->is_wal && len == WAL_FRAME_HEADER_BYTES) see_frame(self, from, at);
    return below(file)->pMethods->xWrite(below(file), from, len, at);
}

static int file_truncate(sqlite3_file *file, sqlite3_int64 size)
{
    return below(file)->pMethods->xTruncate(below(file), size);
}

static int file_sync(sqlite3_file *file, int flags)
{
    return below(file)->pMethods->xSync(below(file), flags);
}

static int file_size(sqlite3_file *file, sqlite3_int64 *size)
{
    return below(file)->pMethods->xFileSize(below(file), size);
}

static int file_lock(sqlite3_file *file, int level)
{
    return below(file)->pMethods->xLock(below(file), level);
}

static int file_unlock(sqlite3_file *file, int level)
{
    return below(file)->pMethods->xUnlock(below(file), level);
}

static int file_check_lock(sqlite3_file *file, int *held)
{
    return below(file)->pMethods->xCheckReservedLock(below(file), held);
}

static int file_control(sqlite3_file *file, int op, void *arg)
{
    return below(file)->pMethods->xFileControl(below(file), op, arg);
}

static int file_sector(sqlite3_file *file)
{
    return below(file)->pMethods->xSectorSize(below(file));
}

static int file_character(sqlite3_file *file)
{
    return below(file)->pMethods->xDeviceCharacteristics(below(file));
}

static int file_shm_map(sqlite3_file *file, int page, int size, int extend, void volatile **out)
{
    return below(file)->pMethods->xShmMap(below(file), page, size, extend, out);
}

static int file_shm_lock(sqlite3_file *file, int from, int count, int flags)
{
    return below(file)->pMethods->xShmLock(below(file), from, count, flags);
}

static void file_shm_barrier(sqlite3_file *file)
{
    below(file)->pMethods->xShmBarrier(below(file));
}

static int file_shm_unmap(sqlite3_file *file, int remove)
{
    return below(file)->pMethods->xShmUnmap(below(file), remove);
}

/* Version 2: without xFetch, which would bypass the sums by returning pages of a mapped file. */
static const sqlite3_io_methods methods = {.iVersion = 2,
                                           .xClose = file_close,
                                           .xRead = file_read,
                                           .xWrite = file_write,
                                           .xTruncate = file_truncate,
                                           .xSync = file_sync,
                                           .xFileSize = file_size,
                                           .xLock = file_lock,
                                           .xUnlock = file_unlock,
                                           .xCheckReservedLock = file_check_lock,
                                           .xFileControl = file_control,
                                           .xSectorSize = file_sector,
                                           .xDeviceCharacteristics = file_character,
                                           .xShmMap = file_shm_map,
                                           .xShmLock = file_shm_lock,
                                           .xShmBarrier = file_shm_barrier,
                                           .xShmUnmap = file_shm_unmap};

/* ---- the VFS ---- */

static int vfs_open(sqlite3_vfs *vfs, const char *name, sqlite3_file *file, int flags, int *out_flags)
{
    if (!(flags & (SQLITE_OPEN_MAIN_DB | SQLITE_OPEN_WAL)))
        return system_vfs->xOpen(system_vfs, name, file, flags, out_flags);
    PageFile *self = (PageFile *)file;
    *self = (PageFile){.is_wal = flags & SQLITE_OPEN_WAL};
    const int code = system_vfs->xOpen(system_vfs, name, below(file), flags, out_flags);
    if (below(file)->pMethods) self->base.pMethods = &methods;
    return code;
}

static int vfs_delete(sqlite3_vfs *vfs, const char *name, int sync)
{
    return system_vfs->xDelete(system_vfs, name, sync);
}

static int vfs_access(sqlite3_vfs *vfs, const char *name, int flags, int *out)
{
    return system_vfs->xAccess(system_vfs, name, flags, out);
}

static int vfs_full_name(sqlite3_vfs *vfs, const char *name, int room, char *out)
{
    return system_vfs->xFullPathname(system_vfs, name, room, out);
}

static int vfs_random(sqlite3_vfs *vfs, int len, char *out)
{
    return system_vfs->xRandomness(system_vfs, len, out);
}

static int vfs_sleep(sqlite3_vfs *vfs, int us)
{
    return system_vfs->xSleep(system_vfs, us);
}

static int vfs_time(sqlite3_vfs *vfs, sqlite3_int64 *out)
{
    return system_vfs->xCurrentTimeInt64(system_vfs, out);
}

static int vfs_last_error(sqlite3_vfs *vfs, int len, char *out)
{
    return system_vfs->xGetLastError(system_vfs, len, out);
}

static sqlite3_vfs page_vfs = {.iVersion = 2,
                               .zName = "tfy",
                               .xOpen = vfs_open,
                               .xDelete = vfs_delete,
                               .xAccess = vfs_access,
                               .xFullPathname = vfs_full_name,
                               .xRandomness = vfs_random,
                               .xSleep = vfs_sleep,
                               .xCurrentTimeInt64 = vfs_time,
                               .xGetLastError = vfs_last_error};

static void register_vfs(void)
{
    system_vfs = sqlite3_vfs_find(NULL);
    if (!system_vfs) return;
    page_vfs.szOsFile = (int)sizeof(PageFile) + system_vfs->szOsFile;
    page_vfs.mxPathname = system_vfs->mxPathname;
    sqlite3_vfs_register(&page_vfs, 0);
}

const char *tfy__page_vfs(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, register_vfs);
    return system_vfs ? page_vfs.zName : NULL;
}

/* ---- queries about a connection's files ---- */

static PageFile *file_of(sqlite3 *db, int which)
{
    sqlite3_file *file = NULL;
    if (sqlite3_file_control(db, "main", which, &file) != SQLITE_OK || !file) return NULL;
    return file->pMethods == &methods ? (PageFile *)file : NULL;
}

void tfy__page_vfs_place(sqlite3 *db, TfyWalPlace *place)
{
    const PageFile *file = file_of(db, SQLITE_FCNTL_JOURNAL_POINTER);
    *place = file && file->is_wal ? file->place : (TfyWalPlace){0};
}

bool tfy__page_vfs_foreign(sqlite3 *db)
{
    PageFile *file = file_of(db, SQLITE_FCNTL_FILE_POINTER);
    return file && is_foreign(&file->base);
}

int64_t tfy__page_vfs_damaged(sqlite3 *db)
{
    const PageFile *file = file_of(db, SQLITE_FCNTL_FILE_POINTER);
    return file ? file->damaged : 0;
}
