/* snapshot_members.h: the members of snapshots, each named once; docs/log-format.md says what they hold.
 *
 * core/replay/snapshot.c writes them, restore.c reads them, wal/history/snapshot_map.c moves them to another program,
 * and fork, compact, import and inspect look into them: all by these names, with the functions of payload.h. Two
 * kinds of names are not here, because the program chooses them: slots (by variable), and what a performer keeps (by
 * the performer's name). */
#ifndef WAL_ROWS_SNAPSHOT_MEMBERS_H
#define WAL_ROWS_SNAPSHOT_MEMBERS_H

/* M(NAME, "name", KIND), as in payload.h. ANY also where objects of two kinds have a member of the same name: a group's
 * `ended` is a task, the run's a list of tasks. */
#define TFY_SNAPSHOT_MEMBERS(M)                                                                                        \
    M(AFTER, "after", INT)                                                                                             \
    M(AGAIN, "again", INT)                                                                                             \
    M(ALIVE, "alive", INT)                                                                                             \
    M(ANSWER, "answer", ANY)                                                                                           \
    M(ANSWERED, "answered", FLAG)                                                                                      \
    M(ARGS, "args", LIST)                                                                                              \
    M(ASKS, "asks", INT)                                                                                               \
    M(AT, "at", LIST)                                                                                                  \
    M(ATTEMPT, "attempt", INT)                                                                                         \
    M(BACKOFF, "backoff", INT)                                                                                         \
    M(BOUND, "bound", LIST)                                                                                            \
    M(BUDGETS, "budgets", LIST)                                                                                        \
    M(CALL, "call", TEXT)                                                                                              \
    M(CANCEL, "cancel", FLAG)                                                                                          \
    M(CANCELLED, "cancelled", FLAG)                                                                                    \
    M(CAPACITY, "capacity", INT)                                                                                       \
    M(CEILING, "ceiling", OBJECT)                                                                                      \
    M(CHAIN, "chain", TEXT)                                                                                            \
    M(CHANNELS, "channels", LIST)                                                                                      \
    M(CHILDREN, "children", LIST)                                                                                      \
    M(CLOSED, "closed", FLAG)                                                                                          \
    M(COUNTS, "counts", LIST)                                                                                          \
    M(DEADLINES, "deadlines", LIST)                                                                                    \
    M(DUE, "due", INT)                                                                                                 \
    M(ENDED, "ended", ANY)                                                                                             \
    M(ERROR, "error", ANY)                                                                                             \
    M(FAILED, "failed", INT)                                                                                           \
    M(FAILURE, "failure", ANY)                                                                                         \
    M(FLAGS, "flags", INT)                                                                                             \
    M(FOLLOWERS, "followers", LIST)                                                                                    \
    M(FORCE, "force", FLAG)                                                                                            \
    M(FORK_OF, "fork_of", LIST)                                                                                        \
    M(FRAME, "frame", INT)                                                                                             \
    M(FRAMES, "frames", LIST)                                                                                          \
    M(GRANTED_FROM, "granted_from", TEXT)                                                                              \
    M(GRANTED_LOCK, "granted_lock", TEXT)                                                                              \
    M(GRANTED_NAME, "granted_name", TEXT)                                                                              \
    M(GRANTED_SEQ, "granted_seq", INT)                                                                                 \
    M(GRANTED_SIGNAL, "granted_signal", OBJECT)                                                                        \
    M(GROUP, "group", INT)                                                                                             \
    M(GROUPS, "groups", LIST)                                                                                          \
    M(HEIGHT, "height", INT)                                                                                           \
    M(HOLDS, "holds", LIST)                                                                                            \
    M(JOINED, "joined", FLAG)                                                                                          \
    M(KEPT, "kept", LIST)                                                                                              \
    M(KEY, "key", TEXT)                                                                                                \
    M(KILL, "kill", TEXT)                                                                                              \
    M(LANDED, "landed", TEXT)                                                                                          \
    M(LAST, "last", TEXT)                                                                                              \
    M(LOCKS, "locks", LIST)                                                                                            \
    M(MASK, "mask", INT)                                                                                               \
    M(MAX_MEMORY, "max_memory", INT)                                                                                   \
    M(MAX_QUEUE, "max_queue", INT)                                                                                     \
    M(MESSAGES, "messages", LIST)                                                                                      \
    M(MISFITS, "misfits", ANY)                                                                                         \
    M(NAME, "name", TEXT)                                                                                              \
    M(ORDER, "order", LIST)                                                                                            \
    M(PARAMS, "params", LIST)                                                                                          \
    M(PASSAGES, "passages", INT)                                                                                       \
    M(PATH, "path", TEXT)                                                                                              \
    M(PENDING, "pending", OBJECT)                                                                                      \
    M(PERMITS, "permits", INT)                                                                                         \
    M(POINT, "point", INT)                                                                                             \
    M(PRIORITY, "priority", INT)                                                                                       \
    M(PROMPTS, "prompts", TEXT)                                                                                        \
    M(RANDOMS, "randoms", INT)                                                                                         \
    M(READY, "ready", FLAG)                                                                                            \
    M(RETRY, "retry", INT)                                                                                             \
    M(RETURNING, "returning", FLAG)                                                                                    \
    M(ROOT, "root", OBJECT)                                                                                            \
    M(ROUND, "round", OBJECT)                                                                                          \
    M(ROUTINE, "routine", INT)                                                                                         \
    M(SCOPE, "scope", INT)                                                                                             \
    M(SCOPES, "scopes", INT)                                                                                           \
    M(SEED, "seed", TEXT)                                                                                              \
    M(SENDER, "sender", INT)                                                                                           \
    M(SENT, "sent", INT)                                                                                               \
    M(SEQ, "seq", INT)                                                                                                 \
    M(SIGNALS, "signals", LIST)                                                                                        \
    M(SIGNAL_COUNT, "signal_count", INT)                                                                               \
    M(SIGNAL_IDS, "signal_ids", LIST)                                                                                  \
    M(SLOTS, "slots", OBJECT)                                                                                          \
    M(SPAWNED, "spawned", INT)                                                                                         \
    M(SPENT, "spent", LIST)                                                                                            \
    M(STAGE, "stage", TEXT)                                                                                            \
    M(STARTS, "starts", LIST)                                                                                          \
    M(STATE, "state", INT)                                                                                             \
    M(STEP, "step", INT)                                                                                               \
    M(TASK, "task", ANY)                                                                                               \
    M(TASKS, "tasks", LIST)                                                                                            \
    M(TEXT, "text", TEXT)                                                                                              \
    M(TEXTS, "texts", LIST)                                                                                            \
    M(TIMEOUT, "timeout", INT)                                                                                         \
    M(TOOL, "tool", TEXT)                                                                                              \
    M(TRIES, "tries", INT)                                                                                             \
    M(UNDOS, "undos", LIST)                                                                                            \
    M(UNWINDING, "unwinding", LIST)                                                                                    \
    M(V, "v", INT)                                                                                                     \
    M(VALUE, "value", ANY)                                                                                             \
    M(WHY, "why", TEXT)                                                                                                \
    M(WROTE, "wrote", LIST)                                                                                            \
    M(YOLO, "yolo", FLAG)

#endif
