/* guard.c: opening compares the witness (witness.h) with the contents of the files. It refuses a database that has
 * lost something acknowledged, or that is not the file in which it was acknowledged. While the log is written,
 * guard.c keeps the witness up to date. A log in memory needs no guard.
 *
 *   the main file has another inode        a copy: its original may be alive, and do the same `once` steps
 *   no witness, and not closed properly    nobody can tell whether the end is there
 *   the -wal file ends too early           corruption: SQLite would take it for the end of the log
 *   the log ends below the witness         a -wal file is missing, or an older copy was restored
 *
 * A reader is refused only for the last two.
 *
 * A commit is not acknowledged if a file has lost its name after it: the file was deleted, moved or replaced
 * (files.h). The contents of the -wal file then go to the main file, as long as both are open. */
#include "base/check.h"
#include "wal/log/log_state.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "wal/store/lock.h"

/* ---- before SQLite opens the file ---- */

static int read_witness(TfyLog *log, TfyWitness *witness)
{
    return log->read_only ? tfy__witness_read_of(log->path, witness) : tfy__witness_read(log->lock_fd, witness);
}

/* Whether a writer is active beside this reader: it may restart the -wal file at any time, so a mismatch means
 * nothing. */
static bool written_meanwhile(TfyLog *log)
{
    char owner[TFY_LOCK_OWNER_BYTES];
    TfyWitness now;
    if (!log->read_only) return false;
    return tfy__lock_held(log->path, owner, sizeof owner) || tfy__witness_read_of(log->path, &now) != 0 ||
           now.sequence != log->witness.sequence;
}

static int refuse_walked(TfyLog *log, int64_t frame, char *error_text)
{
    if (log->walked == TFY_WAL_UNREADABLE) {
        return tfy__log_refuse(error_text, TFY_E_IO, "%s-wal cannot be read; check the disk and permissions",
                               log->path);
    }
    return tfy__log_refuse(error_text, TFY_E_DATA,
                           "%s-wal is damaged: its frame %" PRId64
                           " is not what was written, and records up to %" PRId64
                           " are in it; restore both files from a copy, or recover what is left with 'tfy salvage'",
                           log->path, frame, log->witness.lsn);
}

int tfy__guard_before(TfyLog *log, char *error_text)
{
    struct stat status;
    int64_t frame = 0;
    /* There is no file, and none is created. */
    if (!log->path || (!log->read_only && log->lock_fd < 0)) return 0;
    const int code = read_witness(log, &log->witness);
    if (code == TFY_E_IO)
        return tfy__log_refuse(error_text, code, "%s-tfy cannot be read (%s); check its permissions", log->path,
                               strerror(errno));
    if (code || log->adopts || !log->witness.place.frame || stat(log->path, &status) != 0) return 0;
    log->walked = tfy__wal_walk(log->path, &log->witness.place, &frame);
    if (log->walked == TFY_WAL_HOLDS || written_meanwhile(log)) {
        log->walked = TFY_WAL_HOLDS;
        return 0;
    }
    return log->walked == TFY_WAL_BROKEN || log->walked == TFY_WAL_UNREADABLE ? refuse_walked(log, frame, error_text)
                                                                              : 0;
}

/* ---- after the log has been read ---- */

static int refuse_short(TfyLog *log, char *error_text)
{
    const char *why = log->walked == TFY_WAL_BAD_HEADER ? "the header of its -wal file is damaged"
                                                        : "its -wal file is missing, or an older copy was restored";
    return tfy__log_refuse(error_text, TFY_E_DATA,
                           "%s ends at record %" PRId64 ", but %" PRId64
                           " were written: %s; restore the right files, or accept it as it is with 'tfy adopt'",
                           log->path, log->last, log->witness.lsn, why);
}

/* The device's number may change when the machine restarts; the inode's does not. */
static int refuse_stranger(const TfyLog *log, const struct stat *status, bool known, char *error_text)
{
    /* Before its first opening the file belongs to nobody. */
    if (log->meta.epoch && (int64_t)status->st_ino != log->meta.ino) {
        return tfy__log_refuse(
            error_text, TFY_E_DATA,
            "%s is a copy, and its original may still be in use; read it with 'tfy inspect', or make "
            "it a database of its own with 'tfy adopt'",
            log->path);
    }
    if (!known && !log->meta.clean) {
        return tfy__log_refuse(
            error_text, TFY_E_DATA,
            "%s-tfy, which says how far the log goes, is missing, damaged or from another database; restore it, "
            "or accept the database as it is with 'tfy adopt'",
            log->path);
    }
    return 0;
}

static int remember_files(TfyLog *log, char *error_text)
{
    if (tfy__files_remember(&log->files, log->path)) return 0;
    return tfy__log_refuse(error_text, TFY_E_IO, "the files of %s cannot be inspected (%s)", log->path,
                           strerror(errno));
}

/* Starts the witness of this opening. The first slots of a file are synced, with its name: so a file that is missing
 * later was removed by somebody, and a slot torn by a power cut leaves the other one, at least as it was here. An
 * opening writes its witness before the log has its epoch: a witness with an epoch that the log does not have comes
 * from an opening that died in between, perhaps before the sync. */
static int begin_witness(TfyLog *log, const struct stat *status, bool known, char *error_text)
{
    TfyWitness *witness = &log->witness;
    const int64_t sequence = witness->sequence;
    const bool begun = known && !log->adopts && witness->epoch <= log->meta.epoch;
    if (!known || log->adopts) *witness = (TfyWitness){.sequence = sequence, .lsn = log->last};
    memcpy(witness->db, log->meta.db, sizeof witness->db);
    witness->epoch = log->meta.epoch + 1;
    witness->dev = (int64_t)status->st_dev;
    witness->ino = (int64_t)status->st_ino;
    if (begun) return 0;
    if (tfy__witness_write(log->lock_fd, witness) == 0 && tfy__witness_write(log->lock_fd, witness) == 0 &&
        fsync(log->lock_fd) == 0)
        return 0;
    return tfy__log_refuse(error_text, TFY_E_IO, "%s-tfy cannot be written (%s); check the disk", log->path,
                           strerror(errno));
}

/* After a failed sync, pages in the system's memory may look written and yet be lost, so everything is rewritten. */
static int renew(TfyLog *log, bool failed, char *error_text)
{
    const int code = log->store->ops->renew(log->store, failed);
    if (!code) return 0;
    return tfy__log_refuse(error_text, code, "%s must be rewritten%s, and that fails (%s); check the disk", log->path,
                           failed ? ", because a sync of it failed" : "", log->store->error);
}

int tfy__guard_recovered(TfyLog *log, char *error_text)
{
    struct stat status;
    if (!log->path) return 0;
    if (stat(log->path, &status) != 0)
        return tfy__log_refuse(error_text, TFY_E_IO, "%s cannot be inspected (%s)", log->path, strerror(errno));
    const bool known = log->witness.sequence && memcmp(log->witness.db, log->meta.db, sizeof log->meta.db) == 0;
    if (!log->adopts && !log->read_only) {
        const int code = refuse_stranger(log, &status, known, error_text);
        if (code) return code;
    }
    if (known && !log->adopts && log->last < log->witness.lsn) return refuse_short(log, error_text);
    if (log->read_only) return 0;
    int code = renew(log, known && log->witness.failed, error_text);
    if (!code) code = remember_files(log, error_text);
    return code ? code : begin_witness(log, &status, known, error_text);
}

/* ---- while the log is written ---- */

/* A full disk hardly matters for bytes that are only overwritten. If it does, the witness stays an older one, which
 * it may be anyway. */
static int write_witness(TfyLog *log)
{
    if (tfy__witness_write(log->lock_fd, &log->witness) == 0 || errno == ENOSPC || errno == EDQUOT) return 0;
    return TFY_E_IO;
}

/* Describes how to get the records back, or that it is impossible; the text continues after the database's name.
 * `moved`: all that was committed is in the main file, wherever that is now. */
static void explain_loss(TfyLog *log, const char *ending, bool replaced, bool moved)
{
    char *text = log->store->error;
    const size_t size = sizeof log->store->error;
    const long long lsn = tfy__log_durable_lsn(log);
    if (*ending)
        snprintf(text, size, "%s was %s while the database was written; records up to %lld were acknowledged, %s",
                 ending, replaced ? "replaced" : "removed", lsn,
                 moved ? "and all of them are in the main file"
                       : "and not all of them are in the main file: put it back");
    else if (tfy__hold_is_deleted(log->hold))
        snprintf(text, size,
                 " was deleted while it was written; records up to %lld were acknowledged, and are lost with it: "
                 "restore it from a copy",
                 lsn);
    else
        snprintf(text, size,
                 " was %s while it was written; records up to %lld were acknowledged, and are in the file that was "
                 "moved away%s: put it back",
                 replaced ? "replaced" : "moved away", lsn, moved ? "" : " and in its -wal file");
}

int tfy__guard_look(TfyLog *log)
{
    bool replaced;
    const TfyFile *lost = tfy__files_lost(&log->files, &replaced);
    if (!lost) return 0;
    explain_loss(log, lost->ending, replaced, log->store->ops->move_all(log->store));
    return TFY_STORE_LOST;
}

int tfy__guard_synced(TfyLog *log, int64_t lsn)
{
    if (log->lock_fd < 0) return 0;
    CHECK(!lsn || lsn > log->witness.lsn);
    CHECK(log->witness.epoch <= log->meta.epoch); /* an import may have raised it */
    if (lsn) log->witness.lsn = lsn;
    log->witness.failed = false;
    log->store->ops->place(log->store, &log->witness.place);
    return write_witness(log);
}

void tfy__guard_failed(TfyLog *log)
{
    if (log->lock_fd < 0 || atomic_load(&log->writer->error) != TFY_E_IO) return;
    log->witness.failed = true;
    /* If this fails, too, there is nobody to report it to; the process stops in any case. */
    if (write_witness(log) != 0) return;
}
