/* root.h: the directory that a run works in: files, commits and tools are those of it.
 *
 * A run that is taken up in another directory would write other files and commit into another repository. So the root
 * is part of the run: InstructionStart has it as its member "root", and so has every Snapshot, since who begins there
 * does not read what stands before. A run that goes on elsewhere has a Moved record with the new one. Runs of older
 * versions have none.
 *
 * A path alone does not do: it may lead to another directory today. The inode says which one it was, and the time at
 * which the directory was made says it where an inode's number was given out again, or another disk has a directory
 * of the same number. The device is kept for people: its number may change when the machine starts again. */
#ifndef WAL_LOG_ROOT_H
#define WAL_LOG_ROOT_H

#include <jansson.h>

#include "wal/log/log.h"

/* Fills in all but the path for an open directory, or for what stands under a path. False: errno says why. */
bool tfy__root_look(int fd, TfyRoot *root);
bool tfy__root_look_at(const char *path, TfyRoot *root);
/* The same directory, whatever leads there; false too where one of the two is not known. */
bool tfy__root_is(const TfyRoot *a, const TfyRoot *b);
/* Does the path that was recorded lead to this directory? It may lead there by a link that was put in its place. */
bool tfy__root_leads(const TfyRoot *recorded, const TfyRoot *here);

void tfy__root_write(TfyBuffer *out, const TfyRoot *root); /* as a JSON object */
/* The member "root" of a record, or of a snapshot that was read; empty where there is none. 0, TFY_E_NOMEM, or
 * TFY_E_DATA: it is not JSON. */
int tfy__root_of_json(const json_t *json, TfyRoot *root);
int tfy__root_of_record(const TfyLogRecord *record, TfyRoot *root);
void tfy__root_free(TfyRoot *root);

/* Where a run works, without its history. *root is empty when nothing says so. 0, or TFY_E_…. _locked: the store is
 * being read already. */
int tfy__log_root(TfyLog *log, const TfyLogRun *run, TfyRoot *root);
int tfy__log_root_locked(TfyLog *log, const TfyLogRun *run, TfyRoot *root);

#endif
