/* sqlite_renew.c: rewrites all contents of the files: after a sync has failed, and when a foreign program has written
 * pages without their sums.
 *
 * When a sync fails, the system may forget that the pages it could not write were ever changed: the next sync
 * succeeds and the disk still holds the old ones. Only writing them again helps. Nobody knows which pages they were,
 * so both files are rewritten whole; for a large database this takes time, but it happens only after a disk has
 * failed. */
#include "wal/store/store_sqlite.h"

#include <stdlib.h>

#include "wal/store/schema.h"

/* Slots of the -shm file's locks, as its documentation numbers them: writer, checkpointer. While they are held, no
 * other connection changes either file. */
enum { FIRST_LOCK = 0, LOCKS = 2 };

/* Writes from the end to the start, so that page 1 comes last: it is the page that shows missing sums, also if this
 * is interrupted. A page whose sum is wrong is not rewritten: if a power cut tore it, a newer one is in the -wal file
 * and is written from there; if it is corrupted, reading it must report that. */
static int rewrite(sqlite3_file *file)
{
    sqlite3_int64 size;
    uint8_t page[SCHEMA_PAGE_BYTES];
    int code = file->pMethods->xFileSize(file, &size);
    for (sqlite3_int64 end = size; !code && end > 0;) {
        const int rest = (int)(end % SCHEMA_PAGE_BYTES), len = rest ? rest : SCHEMA_PAGE_BYTES;
        end -= len;
        code = file->pMethods->xRead(file, page, len, end);
        if (!code)
            code = file->pMethods->xWrite(file, page, len, end);
        else if (code == SQLITE_IOERR_DATA)
            code = SQLITE_OK;
    }
    return code ? code : file->pMethods->xSync(file, SQLITE_SYNC_FULL);
}

int tfy__sqlite_renew(sqlite3 *db)
{
    sqlite3_file *file = NULL, *wal = NULL;
    int code = sqlite3_file_control(db, "main", SQLITE_FCNTL_FILE_POINTER, &file);
    if (!code) code = sqlite3_file_control(db, "main", SQLITE_FCNTL_JOURNAL_POINTER, &wal);
    if (code || !file->pMethods || !wal || !wal->pMethods) return code ? code : SQLITE_MISUSE;
    code = file->pMethods->xShmLock(file, FIRST_LOCK, LOCKS, SQLITE_SHM_LOCK | SQLITE_SHM_EXCLUSIVE);
    if (code) return code;
    code = rewrite(wal);
    if (!code) code = rewrite(file);
    file->pMethods->xShmLock(file, FIRST_LOCK, LOCKS, SQLITE_SHM_UNLOCK | SQLITE_SHM_EXCLUSIVE);
    return code;
}
