/* schema.h: the durable format: the tables, one statement each. A file is one of ours if its schema consists of
 * exactly these texts (the view may lack SCHEMA_NEWER_TYPES).
 *
 *   meta     one row: the file's id, the number of openings for writing, the last writer, whether it was closed
 *            cleanly. base and base_chain say where the marks start: 0 and the seed, or the newest mark that retention
 *            deleted
 *   wal      the records, insert only; record.h says what they hold. Numbers are dense: a crash leaves a prefix. Only
 *            retention (gc.c) deletes, while meta.gc is 1, which it is only inside its transactions
 *   mark     checkpoints: (lsn, epoch, rows, sum) seals the records since the previous mark; chain covers all marks.
 *            sum adds up a hash of each record's (lsn, tid, prev, chain), so that deleted records can be subtracted:
 *            gone_rows and gone_sum are the part of rows and sum that retention deleted
 *   program  every program that ever ran, whole, so that an old run can resume with the code it started with
 *   run      a submitted workflow. Its row is inserted with its first record, and changes at its end, when the run
 *            moves to another program, when a resume is given other options, and when all its tasks start a long
 *            wait (parked).
 *              moved: the record that moved it, 0: none; point numbers up to there are not those of `program`
 *              parked: when it must be woken (ms), written in the commit that holds its snapshot
 *              parked_at: the clock's time when parked was written
 *              imported: its records up to this one came from another database, 0: none did
 *              options: the record of what a resume was given at last, 0: none was given anything else
 *              base: it was compacted, and few of the records before this Snapshot are left (compact.h), 0: it was not
 *              origin: where a fork comes from: 16 bytes uuid, 8 bytes lsn, most significant byte first
 *   task     inserted at its birth, in the commit of its first record; rewritten with marks, and when the task is
 *            forgotten. base and base_chain say where its records start: 0 and the seed of a root, its TaskSpawn and
 *            the seed of a child; or, for task 0, the last of the records that retention deleted from its start
 *   gap      where retention deleted records from the middle of a task's (compact.h): lsn is the next record behind
 *            them, below is the task's last existing record before them (or its base), chain is that of the last
 *            deleted one
 *   obj, inbox   for channels and locks, and arrivals seen
 *
 * Hashes are XXH3-64, stored as signed numbers. A record's chain is H(payload) seeded with H of these in little
 * endian: the task's previous chain, step, ts, length of payload (8 bytes each), point (4), v, type (1 each). The
 * seed of a chain is H(path) seeded with H(run uuid). In other tables, `sum` is a hash over the row's columns
 * (store.c), except base and base_chain of a task, gone_rows and gone_sum of a mark, and all of a gap: these are
 * checked against the records.
 *
 * Some indexes are not needed for writing. task_run finds a run's tasks without reading every task that ever existed;
 * run_live finds the unfinished runs that are not parked; run_parked finds the parked ones by the time when they must
 * be woken; run_parked_at finds those that were parked at a later time than the clock shows now, because it was set
 * back. They change once or twice in the life of a task or run, never per record; wal itself has no index. */
#ifndef WAL_STORE_SCHEMA_H
#define WAL_STORE_SCHEMA_H

#define SCHEMA_APPLICATION 1413896497 /* "TFY1" as a number */
#define SCHEMA_VERSION     1

enum {
    SCHEMA_PAGE_BYTES = 8192,
    SCHEMA_PAGE_SUM_BYTES = 8
    /* The size of a page, and the bytes at its end that page_vfs.h uses for its sum. */
};

/* Types of records in the view `history` that were added after the first version of the file: a file that was made
 * before has the view without these, or without the last of them. */
#define SCHEMA_NEWER_TYPES                                                                                             \
    " WHEN 41 THEN 'Text' WHEN 42 THEN 'Secret' WHEN 36 THEN 'LLMRequest' WHEN 39 THEN 'Admin'"                        \
    " WHEN 37 THEN 'McpRound' WHEN 38 THEN 'McpTask' WHEN 40 THEN 'Claimed'"

/* clang-format off */
static const char *const schema[] = {
    "CREATE TABLE meta(id INTEGER PRIMARY KEY CHECK(id=1), db BLOB, epoch INT, owner TEXT, dev INT, ino INT,"
    " clean INT, next_lsn INT, next_tid INT, mark INT, base INT, base_chain INT, gc INT DEFAULT 0, sum INT)",
    "CREATE TABLE wal(lsn INTEGER PRIMARY KEY, tid INT, prev INT, v INT, ts INT, type INT, step INT, point INT,"
    " payload TEXT, chain INT)",
    "CREATE TABLE mark(lsn INTEGER PRIMARY KEY, epoch INT, rows INT, sum INT, gone_rows INT DEFAULT 0, gone_sum"
    " INT DEFAULT 0, chain INT)",
    "CREATE TABLE program(id INTEGER PRIMARY KEY, hash BLOB UNIQUE, tfyc TEXT, source TEXT, layout TEXT, sum INT)",
    "CREATE TABLE run(id INTEGER PRIMARY KEY, uuid BLOB UNIQUE, program INT, root INT, origin BLOB, state INT,"
    " started INT, ended INT, imported INT, parked INT DEFAULT 0, parked_at INT DEFAULT 0, moved INT DEFAULT 0,"
    " base INT DEFAULT 0, options INT DEFAULT 0, sum INT)",
    "CREATE TABLE task(tid INTEGER PRIMARY KEY, run INT, path TEXT, program INT, born INT, base INT, base_chain"
    " INT, head INT, chain INT, step INT, state INT, wait INT, sum INT)",
    "CREATE TABLE gap(lsn INTEGER PRIMARY KEY, below INT, chain INT)",
    "CREATE TABLE obj(id INTEGER PRIMARY KEY, run INT, kind INT, name TEXT, state TEXT, sum INT)",
    "CREATE TABLE inbox(id BLOB PRIMARY KEY, tid INT, step INT, lsn INT) WITHOUT ROWID",
    "CREATE INDEX task_run ON task(run)",
    "CREATE INDEX run_live ON run(id) WHERE state<12 AND parked=0",
    "CREATE INDEX run_parked ON run(program, parked) WHERE parked>0",
    "CREATE INDEX run_parked_at ON run(program, parked_at) WHERE parked_at>0",
    "CREATE TRIGGER wal_never_updates BEFORE UPDATE ON wal BEGIN SELECT RAISE(ABORT,'records of the log are"
    " never changed'); END",
    "CREATE TRIGGER wal_never_deletes BEFORE DELETE ON wal WHEN (SELECT gc FROM meta) IS NOT 1"
    " BEGIN SELECT RAISE(ABORT,'records of the log are never deleted'); END",
    /* For people. A payload that is not JSON (damage) appears as it is instead of ending the query. Records before a
     * move refer to points of the program that the move names; the log is searched for moves only if some run was
     * moved. */
    "CREATE VIEW history AS\n"
    "WITH moves(lsn, root, program) AS MATERIALIZED (SELECT m.lsn, m.tid, q.id FROM wal m JOIN program q\n"
    "  ON lower(hex(q.hash))=CASE WHEN json_valid(m.payload) THEN m.payload->>'$.from' END\n"
    "  WHERE m.type=35 AND EXISTS (SELECT 1 FROM run WHERE moved>0))\n"
    "SELECT w.lsn AS lsn,\n"
    "  strftime('%Y-%m-%dT%H:%M:%fZ', w.ts/1000.0, 'unixepoch') AS time,\n"
    "  (SELECT lower(substr(h,1,8)||'-'||substr(h,9,4)||'-'||substr(h,13,4)||'-'||substr(h,17,4)||'-'||substr(h,21))\n"
    "   FROM (SELECT hex(r.uuid) AS h) WHERE h<>'') AS run,\n"
    "  nullif(t.path,'') AS task,\n"
    "  CASE WHEN json_valid(b.payload) THEN b.payload->>'$.workflow' END AS workflow,\n"
    "  nullif(w.step,0) AS step,\n"
    "  CASE WHEN w.point>0 AND json_valid(p.layout) THEN p.layout->>('$.points['||(w.point-1)||'].line') END AS line,\n"
    "  CASE w.type WHEN 1 THEN 'InstructionStart' WHEN 2 THEN 'LLMPlan' WHEN 3 THEN 'StepStart'"
    " WHEN 4 THEN 'ToolResult' WHEN 5 THEN 'PatchPreview' WHEN 6 THEN 'Commit' WHEN 7 THEN 'TaskComplete'"
    " WHEN 8 THEN 'ShutdownMarker' WHEN 9 THEN 'Opened' WHEN 10 THEN 'TaskSpawn' WHEN 11 THEN 'TaskExit'"
    " WHEN 12 THEN 'TaskAbort' WHEN 13 THEN 'TaskCancel' WHEN 14 THEN 'TaskYield' WHEN 15 THEN 'TimerFired'"
    " WHEN 16 THEN 'JoinResult' WHEN 17 THEN 'Value' WHEN 18 THEN 'ChannelSend' WHEN 19 THEN 'ChannelRecv'"
    " WHEN 20 THEN 'ChannelClose' WHEN 21 THEN 'LockGranted' WHEN 22 THEN 'LockReleased'"
    " WHEN 23 THEN 'Approval' WHEN 24 THEN 'Signal' WHEN 25 THEN 'Woke' WHEN 26 THEN 'TaskWaitIO'"
    " WHEN 27 THEN 'IOReady' WHEN 28 THEN 'Output' WHEN 29 THEN 'Retry' WHEN 30 THEN 'InDoubt'"
    " WHEN 31 THEN 'Resolved' WHEN 32 THEN 'Undo' WHEN 33 THEN 'Snapshot' WHEN 34 THEN 'Compacted' WHEN 35 THEN 'Moved'"
    SCHEMA_NEWER_TYPES " ELSE w.type END AS type,\n"
    "  CASE WHEN json_valid(w.payload) THEN coalesce(w.payload->>'$.tool', w.payload->>'$.to',"
    " w.payload->>'$.why', w.payload->>'$.how', w.payload->>'$.name', w.payload->>'$.workflow',"
    " w.payload->>'$.group', w.payload->>'$.path', w.payload->>'$.of', w.payload->>'$.obj', w.payload->>'$.save') END AS what,\n"
    "  CASE WHEN json_valid(w.payload) THEN replace(substr(coalesce(w.payload->>'$.text',"
    " w.payload->>'$.question', w.payload->>'$.error.message', w.payload->>'$.answer',"
    " w.payload->>'$.value.diff', w.payload->>'$.value.out', w.payload->>'$.value', w.payload->>'$.args', w.payload->>'$.row',"
    " w.payload->>'$.error', ''),1,100),char(10),' ') END AS detail,\n"
    "  w.payload AS payload\n"
    "FROM wal w LEFT JOIN task t ON t.tid=w.tid LEFT JOIN run r ON r.id=t.run\n"
    "  LEFT JOIN program p ON p.id=CASE WHEN w.lsn>r.moved THEN r.program ELSE\n"
    "   (SELECT m.program FROM moves m WHERE m.root=r.root AND m.lsn>=w.lsn ORDER BY m.lsn LIMIT 1) END\n"
    "  LEFT JOIN wal b ON b.lsn=t.born AND t.born>0\n"
    "ORDER BY w.lsn",
};
/* clang-format on */

enum { SCHEMA_COUNT = sizeof schema / sizeof schema[0] };

#endif
