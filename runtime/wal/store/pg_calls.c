/* pg_calls.c: see pg_calls.h. */
#include "wal/store/pg_calls.h"

#include "wal/store/pg_schema.h"

#define NOW_MS           "(extract(epoch FROM clock_timestamp()) * 1000)::int8"
#define NOW_US           "(extract(epoch FROM clock_timestamp()) * 1000000)::int8"
#define MAIL_OF          "SELECT run, n, body, id, sender, verdict, code FROM tfy.inbox"
#define NOBODY_S         "owner IS NULL AND state < 12 AND held IS NULL"
#define UNPAUSED(queue_) " AND NOT EXISTS (SELECT 1 FROM tfy.queue q WHERE q.id = " queue_ "::int8 AND q.paused)"

/* A subquery that locks is an array, so that it is done once whatever the plan. */
#define CLAIM(which_)                                                                                                  \
    {                                                                                                                  \
        .text =                                                                                                        \
            "UPDATE tfy.run SET owner = $1, claims = greatest(claims,"                                                 \
            " (SELECT least_claims FROM tfy.meta WHERE id = 1)) + 1 WHERE id = ANY(ARRAY(SELECT id FROM tfy.run WHERE" \
            " queue = $2::int8 AND due = 0 AND " NOBODY_S UNPAUSED(                                                    \
                "$2") " AND " which_ " ORDER BY rank LIMIT $3 FOR UPDATE SKIP LOCKED))"                                \
                      " RETURNING id, claims, mail",                                                                   \
        .what = "claim runs"                                                                                           \
    }

/* Runs of ended sessions become free. A run counts how often in a row nothing was recorded of it since it was claimed: its newest
 * record is as old as when it was freed last, or a Claimed (40) is all that came since. */
#define FREE(which_, limit_)                                                                                           \
    {                                                                                                                  \
        .text =                                                                                                        \
            "UPDATE tfy.run r SET owner = NULL, due = 0, vain = n.vain, freed = n.lsn, solo = r.crashes > 0 OR "       \
            "n.vain >= 5,"                                                                                             \
            " held = CASE WHEN n.vain >= 20 THEN coalesce(r.held, 'poison') ELSE r.held END"                           \
            " FROM (SELECT q.id, q.owner, coalesce(l.lsn, 0) AS lsn, CASE WHEN s.state = 8 THEN q.vain"                \
            " WHEN coalesce(l.lsn - (l.type = 40)::int4, 0) <= q.freed THEN q.vain + 1 ELSE 0 END AS vain"             \
            " FROM tfy.run q JOIN tfy.session s ON s.id = q.owner LEFT JOIN LATERAL (SELECT lsn, type FROM tfy.record" \
            " WHERE run = q.id ORDER BY lsn DESC LIMIT 1) l ON true WHERE q.id = ANY(ARRAY(SELECT o.id FROM tfy.run o" \
            " WHERE " which_ " AND EXISTS (SELECT 1 FROM tfy.session e WHERE e.id = o.owner AND e.state <> 0)"         \
            " ORDER BY o.id LIMIT " limit_ " FOR UPDATE OF o SKIP LOCKED))) n WHERE r.id = n.id AND r.owner = n.owner" \
            " RETURNING r.id, r.uuid, r.crashes::int8, r.vain::int8, (r.vain = 20 AND r.held = 'poison')::int4, "      \
            "r.queue",                                                                                                 \
        .what = "free runs"                                                                                            \
    }

const TfyPgStatement tfy__pg_calls[C_COUNT] = {
    [C_OPEN] = {.text =
                    "INSERT INTO tfy.session(worker, address, version, pool, name, program, capacity, lease_ms, opened)"
                    " VALUES ($1, $2, $3, $5, $6, $7, nullif($8::int8, 0),"
                    " coalesce(nullif($4::int8, 0), (SELECT lease_ms FROM tfy.meta)), " NOW_MS ")"
                    " RETURNING id, lease_ms",
                .what = "open a session"},
    /* A role that may not look sees standbys without their state. */
    [C_STANDBYS] = {.text = "SELECT count(*) FROM tfy.meta, pg_stat_replication WHERE NOT lossy"
                            " AND coalesce(state, 'streaming') IN ('streaming', 'catchup')"
                            " AND current_setting('synchronous_standby_names') = ''",
                    .what = "look for standbys",
                    .needs = TFY_PG_READER},
    [C_LIVING] = {.text = "SELECT id, beat, lease_ms, (SELECT reads_from FROM tfy.meta WHERE id = 1)"
                          " FROM tfy.session WHERE state = 0 ORDER BY id",
                  .what = "read sessions",
                  .needs = TFY_PG_READER},
    [C_HURRY] = {.text = "SELECT set_config('lock_timeout', '500ms', true)", .what = "set up a transaction"},
    /* Waits for commits and claims of the session that are under way. */
    [C_END] =
        {.text = "WITH e AS (UPDATE tfy.session SET state = $5::int8, ended = " NOW_MS ","
                 " ended_by = nullif($3::int8, 0), why = $4 WHERE id = ANY(ARRAY(SELECT id FROM tfy.session"
                 " WHERE id = $1 AND state = 0 AND beat = $2 FOR UPDATE)) RETURNING id),"
                 " b AS (UPDATE tfy.run SET owner = NULL, due = 0, crashes = crashes + 1, solo = true,"
                 " held = CASE WHEN crashes + 1 >= 3 THEN coalesce(held, 'poison') ELSE held END"
                 " WHERE id = $6 AND owner = (SELECT id FROM e) AND $7 <= $2"
                 " RETURNING id, uuid, crashes, vain, held IS NOT NULL AS is_held),"
                 " l AS (UPDATE tfy.run SET held = 'lost' WHERE $7 > $2 AND id = ANY(ARRAY(SELECT id FROM tfy.run WHERE"
                 " owner = (SELECT id FROM e) AND state < 12 AND held IS NULL ORDER BY id FOR UPDATE)) RETURNING 1)"
                 " SELECT b.id, b.uuid, b.crashes::int8, b.vain::int8, b.is_held::int4, (SELECT count(*) FROM l)"
                 " FROM e LEFT JOIN b ON true",
         .what = "end a session"},
    [C_CUT] = {.text = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = $1"
                       " AND pid <> pg_backend_pid()",
               .what = "end the connections of a session"},
    [C_FREE] = FREE("o.owner = $1", "$2"),
    [C_FREE_ALL] = FREE("o.owner IS NOT NULL", "$1"),
    [C_PROGRAM_NUMBER] = {.text = "SELECT coalesce((SELECT id FROM tfy.program WHERE hash = $1),"
                                  " nextval(pg_get_serial_sequence('tfy.program', 'id')))::int8,"
                                  " EXISTS (SELECT 1 FROM tfy.program WHERE hash = $1)",
                          .what = "number a program"},
    [C_KEEP] = {.text = "INSERT INTO tfy.program(id, hash, tfyc, source, layout, sum)"
                        " VALUES ($1::int8, $2, $3, $4, $5, $6) ON CONFLICT (hash) DO NOTHING",
                .what = "keep a program"},
    [C_KEPT] = {.text = "SELECT id::int8 FROM tfy.program WHERE hash = $1", .what = "find a program"},
    /* One deploys at a time, so a name never has two programs. */
    [C_DEPLOYER] = {.text = "SELECT 1 FROM tfy.meta FOR NO KEY UPDATE",
                    .what = "wait for other deployments",
                    .needs = TFY_PG_OWNER},
    [C_REPLACE] = {.text = "DELETE FROM tfy.deployment WHERE name = $1 AND program <> $2::int8",
                   .what = "replace a deployment",
                   .needs = TFY_PG_OWNER},
    [C_DEPLOY] = {.text = "INSERT INTO tfy.deployment(name, program, share) VALUES ($1, $2::int8, 100)"
                          " ON CONFLICT (name, program) DO NOTHING RETURNING 1",
                  .what = "deploy a program",
                  .needs = TFY_PG_OWNER},
    /* Shares are weights: those of the others together are what is left of a million. */
    [C_YIELD] = {.text =
                     "UPDATE tfy.deployment d SET share = greatest(1, d.share::int8 * (100 - $3::int8) * 10000 / o.all)"
                     " FROM (SELECT sum(share) AS all FROM tfy.deployment WHERE name = $1 AND program <> $2::int8) AS o"
                     " WHERE d.name = $1 AND d.program <> $2::int8",
                 .what = "let deployments yield",
                 .needs = TFY_PG_OWNER},
    [C_SHARE] = {.text = "INSERT INTO tfy.deployment(name, program, share) VALUES ($1, $2::int8, $3::int8 * 10000)"
                         " ON CONFLICT (name, program) DO UPDATE SET share = EXCLUDED.share RETURNING 1",
                 .what = "deploy a program",
                 .needs = TFY_PG_OWNER},
    /* One of those that share the name; each is the least of these numbers as often as its share says. */
    [C_DEPLOYED] = {.text = "SELECT p.id::int8, p.hash, p.tfyc, p.source, p.layout, p.sum FROM tfy.deployment d"
                            " JOIN tfy.program p ON p.id = d.program WHERE d.name = $1"
                            " ORDER BY -ln(1 - random()) / d.share LIMIT 1",
                    .what = "find a deployed program",
                    .needs = TFY_PG_READER},
    [C_FIND_PROGRAM] = {.text = "SELECT id::int8, hash, tfyc, source, layout, sum FROM tfy.program"
                                " WHERE starts_with(encode(hash, 'hex'), $1) LIMIT 2",
                        .what = "find a program",
                        .needs = TFY_PG_READER},
    [C_QUEUE] = {.text = "INSERT INTO tfy.queue(pool, program, needs) VALUES ($1, $2::int8, '{}')"
                         " ON CONFLICT (pool, program, needs) DO NOTHING",
                 .what = "make a queue",
                 .needs = TFY_PG_SENDER},
    [C_FIND_QUEUE] = {.text = "SELECT id FROM tfy.queue WHERE pool = $1 AND program = $2::int8 AND needs = '{}'",
                      .what = "find a queue",
                      .needs = TFY_PG_READER},
    [C_BESIDE] = {.text = "INSERT INTO tfy.queue(pool, program, needs) SELECT q.pool, $2::int8, q.needs FROM tfy.run r"
                          " JOIN tfy.queue q ON q.id = r.queue WHERE r.id = $1"
                          " ON CONFLICT (pool, program, needs) DO NOTHING",
                  .what = "make a queue",
                  .needs = TFY_PG_SENDER},
    [C_FIND_BESIDE] = {.text = "SELECT n.id FROM tfy.run r JOIN tfy.queue q ON q.id = r.queue JOIN tfy.queue n ON"
                               " (n.pool, n.program, n.needs) = (q.pool, $2::int8, q.needs) WHERE r.id = $1",
                       .what = "find a queue"},
    [C_NUMBER] =
        {.text = "SELECT nextval(pg_get_serial_sequence('tfy.run', 'id')), (SELECT id FROM tfy.run WHERE uuid = $1)",
         .what = "number a run",
         .needs = TFY_PG_SENDER},
    [C_SUBMIT] =
        {.text = "INSERT INTO tfy.run(id, uuid, program, queue, root, state, started, ended, imported, sum, origin,"
                 " parked, moved, base, parked_at, options, lsn, snap, rank, program_name, workflow, by, labels)"
                 " VALUES ($1::int8, $2, $3::int8, $4::int8,"
                 " $5::int8, $6::int8, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $1::int8 << 16,"
                 " $19, $20, $21, $22::text::jsonb)",
         .what = "submit a run",
         .needs = TFY_PG_SENDER},
    [C_RECORD] = {.text = "INSERT INTO tfy.record(run, ts, chain, step, lsn, prev, task, point, type, v, payload)"
                          " VALUES ($1, $2, $3, 0, 1, 0, $4::int8, 0, $5::int8, $6::int8, $7)",
                  .what = "append a run's first record",
                  .needs = TFY_PG_SENDER},
    [C_ROOT] =
        {.text =
             "INSERT INTO tfy.task(run, task, path, program, born, base, base_chain, head, chain, step, state, wait,"
             " sum) VALUES ($1, $2::int8, $3, $4::int8, $5, $6, $7, $8, $9, $10, $11::int8, $12::int8, $13)",
         .what = "add a run's root",
         .needs = TFY_PG_SENDER},
    /* Keeps the session from being ended meanwhile, and does not wait for its commits. */
    [C_LIVES] = {.text = "SELECT 1/count(*) FROM (SELECT 1 FROM tfy.session WHERE id = $1 AND state = 0"
                         " FOR KEY SHARE) AS s",
                 .what = "find the session"},
    [C_CLAIM] = CLAIM("NOT solo"),
    [C_CLAIM_SOLO] = CLAIM("solo"),
    [C_SOLO] = {.text = "SELECT 1 FROM tfy.run WHERE queue = $1::int8 AND due = 0 AND " NOBODY_S UNPAUSED(
                    "$1") " AND solo LIMIT 1",
                .what = "look for runs that need a process of their own"},
    [C_TAKE] = {.text =
                    "UPDATE tfy.run SET owner = $1, claims = claims + 1 WHERE id = $2 AND owner IS NULL AND state < 12"
                    " AND waits = 0 RETURNING id, claims, mail, due",
                .what = "claim a run"},
    [C_OWNED] = {.text = "SELECT id, claims, mail FROM tfy.run WHERE owner = $1 AND id > $2 ORDER BY id LIMIT $3",
                 .what = "read a session's runs"},
    [C_HOLD] = {.text = "WITH u AS (UPDATE tfy.run SET held = 'person' WHERE id = $1 AND state < 12 AND held IS NULL"
                        " RETURNING 1) SELECT state, coalesce(owner, 0), (SELECT count(*) FROM u) FROM tfy.run"
                        " WHERE id = $1",
                .what = "hold a run"},
    [C_RELEASE] = {.text = "WITH u AS (UPDATE tfy.run r SET held = NULL, crashes = 0, vain = 0, solo = false,"
                           " due = CASE WHEN owner IS NULL AND waits = 0 THEN 0 ELSE due END,"
                           " freed = coalesce((SELECT max(lsn) FROM tfy.record WHERE run = r.id), 0)"
                           " WHERE id = $1 AND state < 12 AND (held IS NOT NULL OR solo) RETURNING 1)"
                           " SELECT state, coalesce(owner, 0), (SELECT count(*) FROM u) FROM tfy.run WHERE id = $1",
                   .what = "release a run"},
    [C_DUE] =
        {.text =
             "UPDATE tfy.run SET due = 0 WHERE id = ANY(ARRAY(SELECT id FROM tfy.run WHERE due > 0 AND due <= " NOW_MS
             " AND " NOBODY_S " ORDER BY due LIMIT $1 FOR UPDATE SKIP LOCKED)) RETURNING queue",
         .what = "wake runs"},
    [C_KNOWN] = {.text =
                     "SELECT i.n, coalesce(r.owner, 0), r.state FROM tfy.run r LEFT JOIN tfy.inbox i ON i.run = r.id"
                     " AND i.id = $2 WHERE r.id = $1",
                 .what = "find mail",
                 .needs = TFY_PG_READER},
    [C_MAIL] =
        {.text = "WITH r AS (UPDATE tfy.run SET mail = mail + 1, due = CASE WHEN owner IS NULL AND waits = 0 THEN 0 "
                 "ELSE due END"
                 " WHERE id = $1 AND state < 12 RETURNING id, mail, owner) INSERT INTO tfy.inbox(run, n, session, body,"
                 " id, sender, at) SELECT r.id, r.mail, r.owner, $2, $3, $4, " NOW_MS " FROM r"
                 " RETURNING n, coalesce(session, 0)",
         .what = "send mail",
         .needs = TFY_PG_SENDER},
    [C_SEE] = {.text = MAIL_OF " WHERE run = $1 AND n > $2::int8 ORDER BY n",
               .what = "read mail",
               .needs = TFY_PG_READER},
    [C_OPEN_MAIL] = {.text = MAIL_OF " WHERE run = $1 AND n > $2::int8 AND verdict IS NULL ORDER BY n",
                     .what = "read mail",
                     .needs = TFY_PG_READER},
    [C_INBOX] = {.text = MAIL_OF " WHERE session = $1 AND verdict IS NULL ORDER BY run, n", .what = "read mail"},
    [C_PERMITS] =
        {.text = "SELECT h.turn, h.now, u.used, u.first, p.session, p.lent, p.wants, p.since, p.asks, p.asked, p.at"
                 " FROM (SELECT coalesce((SELECT turn FROM tfy.limiter WHERE name = $1), 0) AS turn, " NOW_MS
                 " AS now) AS h CROSS JOIN LATERAL (SELECT coalesce(sum(uses), 0)::int8 AS used,"
                 " coalesce(min(until), 0) AS first FROM tfy.permit_use WHERE name = $1 AND until > h.now) AS u"
                 " LEFT JOIN tfy.permit p ON p.name = $1 AND EXISTS (SELECT 1 FROM tfy.session s"
                 " WHERE s.id = p.session AND s.state = 0)",
         .what = "read permits"},
    /* The turn is also the time of the last write, in µs; so that of a name that is forgotten and comes back is never an old one. */
    [C_PERMIT] = {.text = "WITH l AS (INSERT INTO tfy.limiter AS o(name, turn) VALUES ($1, " NOW_US ")"
                          " ON CONFLICT (name) DO UPDATE SET turn = greatest(o.turn + 1, excluded.turn)"
                          " WHERE o.turn = $2 RETURNING 1),"
                          " p AS (INSERT INTO tfy.permit(name, session, lent, wants, since, asks, asked, at)"
                          " SELECT $1, $3, $4, $5, $6, $7, $8, $9 FROM l ON CONFLICT (name, session) DO UPDATE SET"
                          " lent = excluded.lent, wants = excluded.wants, since = excluded.since, asks = excluded.asks,"
                          " asked = excluded.asked, at = excluded.at),"
                          " u AS (INSERT INTO tfy.permit_use AS o(name, until, uses) SELECT $1, $11, $10 FROM l"
                          " WHERE $10::int8 > 0 ON CONFLICT (name, until) DO UPDATE SET uses = o.uses + excluded.uses)"
                          " SELECT 1 FROM l",
                  .what = "write permits"},
    [C_FORGET_PERMITS] = {.text = "DELETE FROM tfy.permit p WHERE (lent = 0 AND wants = 0 AND asks = 0)"
                                  " OR NOT EXISTS (SELECT 1 FROM tfy.session s WHERE s.id = p.session AND s.state = 0)",
                          .what = "forget permits"},
    [C_FORGET_USES] = {.text = "DELETE FROM tfy.permit_use WHERE until < " NOW_MS, .what = "forget permits"},
    [C_FORGET_LIMITERS] = {.text = "DELETE FROM tfy.limiter l WHERE turn < " NOW_US " - 60000000"
                                   " AND NOT EXISTS (SELECT 1 FROM tfy.permit p WHERE p.name = l.name)"
                                   " AND NOT EXISTS (SELECT 1 FROM tfy.permit_use u WHERE u.name = l.name)",
                           .what = "forget permits"},
};
