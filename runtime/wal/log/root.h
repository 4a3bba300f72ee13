/* root.h: the directory in which a run works: its files, commits and tools are relative to it.
 *
 * A run that resumes in another directory would write other files and commit to another repository. So the root is
 * part of the run: InstructionStart has it as its member "root", and so has every Snapshot, because a reader that
 * starts there does not read what comes before. A run that continues elsewhere has a Moved record with the new root.
 * Runs of older versions have none.
 *
 * A path alone is not enough: today it may lead to another directory. The inode identifies the directory. The
 * directory's creation time identifies it if the inode's number was reused, or if another disk has a directory with
 * the same number. The device is recorded for people: its number may change when the machine restarts. */
#ifndef WAL_LOG_ROOT_H
#define WAL_LOG_ROOT_H

#include <jansson.h>

#include "wal/log/log.h"

/* Fills in all but the path, for an open directory or for a path. False: errno says why. */
bool tfy__root_look(int fd, TfyRoot *root);
bool tfy__root_look_at(const char *path, TfyRoot *root);
/* Whether both are the same directory, by whatever path; false if one of them is unknown. */
bool tfy__root_is(const TfyRoot *a, const TfyRoot *b);
/* Whether the recorded path leads to this directory, perhaps by a link that was put in its place. */
bool tfy__root_leads(const TfyRoot *recorded, const TfyRoot *here);

void tfy__root_write(TfyBuffer *out, const TfyRoot *root); /* as a JSON object */
/* Reads the member "root" of a record or of a parsed snapshot; empty if there is none. 0, TFY_E_NOMEM, or TFY_E_DATA:
 * it is not JSON. */
int tfy__root_of_json(const json_t *json, TfyRoot *root);
int tfy__root_of_record(const TfyLogRecord *record, TfyRoot *root);
void tfy__root_free(TfyRoot *root);

/* Where a run works, without its history. *root is empty if that is unknown. 0, or TFY_E_…. The caller is already
 * reading the store. */
int tfy__log_root_locked(TfyLog *log, const TfyLogRun *run, TfyRoot *root);

#endif
