/* log.pml: the protocol between the log and the world, small enough that spin tries every order of events.
 *
 * One program runs, of three tasks:
 *
 *   main                                  reader                                 sleeper
 *     let v = yield now()                   let m = yield c.recv()                 yield sleep(1year)
 *     yield look(v)          // pure        yield signal or timeout
 *     yield c.send(v)                       yield kill(sleeper)
 *     yield pay(v)           // once
 *     print(v); return
 *
 * A task's place in its program is what it has in the log: that is what replay means. So the state of the whole run is a set of records,
 * and the state of the disk is the same set at several depths: appended, written, synced. A commit is a transaction: all of its records are
 * there afterwards, or none. Around it stand the tools, a person who sends a signal and resolves what is in doubt, and four misfortunes:
 * SIGKILL, a power cut, a sync that fails, a -wal file that is gone. So many of them as MISFORTUNES says come, at any moment.
 *
 * What must hold is said by the assertions, and by the end: every run ends (spin reports a state from which it cannot).
 *
 *   1  the world never sees two answers to one question (reveal): what left the process rests on records that stay
 *   2  a once effect happens once (pay)
 *   3  what somebody was told stays so: an acknowledged signal, a printed result (open)
 *   4  no task has received what no task has sent (open)
 *   5  a signal that was taken woke somebody (at the end of the run)
 *   6  an opening is refused only where something durable is missing (open)
 *
 * run.sh checks this, and then that each of the faults below is found when it is planted (FAULT, a number, in the verifier's environment;
 * MISFORTUNES is how many may come). A fault is one disjunct or branch beside the rule that it breaks. */

/* ---- faults ---- */

byte fault; /* the one that is planted; 0: none */

#define EFFECT_BEFORE_SYNC      1  /* a once effect starts before its StepStart is synced */
#define NO_PREFIX_WAIT          2  /* a pure effect starts before the records that it rests on are synced */
#define TWO_WRITERS             3  /* main's records and the others' are committed by two writers that do not wait for each other */
#define KILL_IN_KILLERS_CHAIN   4  /* a kill stands in the log of who kills, and not of who is killed */
#define WOKEN_AS_TWO            5  /* that a signal was taken, and that somebody was woken by it, are two records */
#define NO_SYNC_AT_OPEN         6  /* what an opening finds is taken for durable: after a SIGKILL it may be in the page cache only */
#define NO_WITNESS              7  /* a log that lost its tail is opened */
#define ACKNOWLEDGE_BEFORE_SYNC 8  /* the sender of a signal is told "received" before it is durable */
#define RESULT_BEFORE_SYNC      9  /* the result of the run is printed before it is durable */
#define RESTART_ONCE            10 /* a once step without a result is begun again, and nobody is asked */
#define NO_WATCHER              11 /* the tool that a killed process had started goes on beside the new process */
#define FAILED_SYNC_FORGOTTEN   12 /* after a failed sync the process syncs again: that succeeds, as the kernel has given the pages up */
#define FAILED_SYNC_TRUSTED     13 /* the opening after a failed sync believes what the page cache says */

byte misfortunes; /* that may still come */

/* ---- records: one bit each ---- */

#define OPENED   1      /* of this opening (core/loop/loop.c: open_log) */
#define NOW      2      /* main: Value */
#define LOOKED   4      /*       ToolResult of look */
#define SENT     8      /*       ChannelSend */
#define START    16     /*       StepStart of pay */
#define DOUBT    32     /*       InDoubt */
#define RETRY    64     /*       Resolved {"how": "retry"} */
#define START_2  128    /*       StepStart of its second attempt */
#define DOUBT_2  256    /*       InDoubt */
#define PAID     512    /*       ToolResult of pay; or Resolved {"how": "done" or "fail"} */
#define PRINTED  1024   /*       Output */
#define COMPLETE 2048   /*       TaskComplete */
#define RECEIVED 4096   /* reader: ChannelRecv */
#define SIGNAL   8192   /*       Signal: it came */
#define TAKEN    16384  /*       only with WOKEN_AS_TWO: it was taken out of the queue */
#define WOKE     32768  /*       Woke: taken, and the reader goes on, in one */
#define TIMEOUT  65536  /*       TimerFired */
#define KILL     131072 /* sleeper: Signal {"name": "kill"} */
#define CANCEL   262144 /*       TaskCancel */
#define SAID     524288 /* reader: that it has killed */

#define OF_MAIN (NOW | LOOKED | SENT | START | DOUBT | RETRY | START_2 | DOUBT_2 | PAID | PRINTED | COMPLETE)

/* ---- how deep a record lies ---- */

int log;     /* appended: in the process's memory (tfy__log_append). A SIGKILL loses what is not written */
int written; /* committed as far as the page cache goes. A power cut loses what is not synced, or does not */
int synced;  /* on the disk */
int witness; /* in "<db>-tfy": what was synced, written after each sync and before anybody is told */
int durable; /* what the loop was told (TfyLog.durable): whatever leaves the process asks it */

byte stage; /* of the writer: 0 it rests, 1 written, 2 synced */
bool stuck; /* a sync has failed. The kernel takes the pages for clean now: later syncs succeed, and these pages are not on the disk */

/* ---- the process ---- */

mtype = { DOWN, UP, REFUSED, ENDED };
mtype process = DOWN;

byte now_value;    /* what NOW holds; 0: no record. The clock moves with every misfortune */
bool pay_mine;     /* this process wrote the newest StepStart: no doubt about it */
bool pay_running;  /* this process waits for the answer of pay */
bool signal_asked; /* the sender waits for the acknowledgement */
bool told;         /* with KILL_IN_KILLERS_CHAIN and WOKEN_AS_TWO: one task has told another, in memory only */

/* ---- the world, which no crash undoes ---- */

byte seen;         /* the value of now() that it was shown; 0: none */
bool text_left;    /* what main prints was printed */
byte flights;      /* tools under way that will pay, whether or not anybody waits for them */
byte paid;         /* times that pay has happened */
bool acknowledged; /* the sender of the signal was told "received" */
bool result_shown; /* the result of the run was printed */
bool lost;         /* the file has lost something that was durable */
bool exact;        /* no power cut has put the witness back since it was written */

#define HAS(r)      ((log & (r)) != 0)
#define HAS_ALL(r)  ((log & (r)) == (r))
#define DURABLE(rs) (((rs) & ~durable) == 0)
#define PAST(rs)    ((rs) & ~OPENED) /* the Opened record of an earlier opening is of no interest to a later one */

inline append(record)
{
    log = log | (record)
}

inline reveal(value) /* 1 */
{
    assert(seen == 0 || seen == value);
    seen = value
}

/* All that was in memory is gone; log is what the next opening will find. */
inline process_ends()
{
    process = DOWN;
    written = PAST(written);
    synced = PAST(synced);
    log = written;
    durable = 0;
    stage = 0;
    pay_mine = false;
    pay_running = false;
    signal_asked = false;
    told = false;
    if
    :: !HAS(NOW) -> now_value = 0
    :: else
    fi
}

/* Opening: the lock, the witness, the newest mark and the tail (wal/log/recover.c), then an Opened record that has to be synced before anything
 * leaves: every later wait is for all that was appended, this record with it, and its sync covers what lay in the page cache. */
inline open()
{
    if /* core/world.h, await_former: what a dead owner had started has ended, one way or the other */
    :: fault == NO_WATCHER
    :: else -> flights = 0
    fi;
    if /* the witness has a flag for it: every page is written once more */
    :: fault == FAILED_SYNC_TRUSTED
    :: else -> stuck = false
    fi;
    assert(!acknowledged || HAS(SIGNAL)); /* 3 */
    assert(!result_shown || HAS(COMPLETE));
    assert(!HAS(RECEIVED) || HAS(SENT)); /* 4 */
    assert(!HAS(SENT) || HAS(NOW));
    append(OPENED);
    if
    :: fault == NO_SYNC_AT_OPEN -> durable = log
    :: else
    fi;
    process = UP
}

/* ---- the loop (core/loop/sched.c): one thread, each of its turns one atomic step ---- */

proctype loop()
{
    do
    :: atomic { process == DOWN && (PAST(witness & ~log) == 0 || fault == NO_WITNESS) -> open() }
    :: atomic { process == DOWN && PAST(witness & ~log) != 0 && fault != NO_WITNESS -> assert(lost); process = REFUSED } /* 6 */

    /* now() is recorded and waits for nothing (core/step/builtin.c) */
    :: atomic { process == UP && !HAS(NOW) -> now_value = misfortunes + 1; append(NOW) }

    /* look waits until all that was appended is synced, then starts (live.c: tfy__step_wait_sync, tfy__step_synced); its result rides
     * with some later commit. After a crash it is simply done again. Here as below, to wait for one's own newest record is to wait for
     * all before it, as commits are made in order; with TWO_WRITERS they are not. */
    :: atomic { process == UP && HAS(NOW) && !HAS(LOOKED) && (DURABLE(OPENED | NOW) || fault == NO_PREFIX_WAIT) ->
        reveal(now_value); append(LOOKED) }

    /* send: the record stands in the log before another task can see the message (channel.c) */
    :: atomic { process == UP && HAS(LOOKED) && !HAS(SENT) -> append(SENT) }

    /* pay: its StepStart has to be synced before it starts (begin.c) */
    :: atomic { process == UP && HAS(SENT) && !HAS(START) -> append(START); pay_mine = true }
    :: atomic { process == UP && HAS(RETRY) && !HAS(START_2) -> append(START_2); pay_mine = true }
    :: atomic { process == UP && pay_mine && !pay_running &&
                (DURABLE(OPENED | (log & (START | START_2))) || fault == EFFECT_BEFORE_SYNC) ->
        reveal(now_value); flights++; pay_running = true }
    :: atomic { process == UP && pay_running && flights == 0 ->
        pay_running = false; pay_mine = false; append(PAID) }

    /* a StepStart of an earlier process without a result: nobody knows (live.c: tfy__step_doubt_live; person.c: tfy__person_in_doubt) */
    :: atomic { process == UP && HAS(START) && !HAS(PAID | DOUBT) && !pay_mine ->
        if
        :: fault == RESTART_ONCE -> pay_mine = true
        :: else -> append(DOUBT)
        fi }
    :: atomic { process == UP && HAS(START_2) && !HAS(PAID | DOUBT_2) && !pay_mine -> append(DOUBT_2) }

    /* print: the record, and after its sync the text (output.c: tfy__out_flush) */
    :: atomic { process == UP && HAS(PAID) && !HAS(PRINTED) -> append(PRINTED) }
    :: atomic { process == UP && HAS(PRINTED) && DURABLE(PRINTED) && !text_left -> reveal(now_value); text_left = true }

    /* reader: takes the message; then waits for a signal or for time, and the wait ends in exactly one record, that says what came (channel.c,
     * signal.c; live.c: timer_fired) */
    :: atomic { process == UP && HAS(SENT) && !HAS(RECEIVED) -> append(RECEIVED) }
    :: atomic { process == UP && HAS(RECEIVED) && !HAS(WOKE | TIMEOUT) && !told -> append(TIMEOUT) }
    :: atomic { process == UP && HAS(RECEIVED) && HAS(SIGNAL) && !HAS(TAKEN | WOKE | TIMEOUT) ->
        if
        :: fault == WOKEN_AS_TWO -> append(TAKEN); told = true
        :: else -> append(WOKE)
        fi }
    :: atomic { process == UP && HAS(TAKEN) && told -> append(WOKE); told = false }

    /* … kills: first the request, in the log of who is killed, then the killer's own record (cancel.c: tfy_kill_task, tfy__cancel_request).
     * The sleeper looks at its own log only. */
    :: atomic { process == UP && HAS(WOKE | TIMEOUT) && !HAS(KILL | SAID) ->
        if
        :: fault == KILL_IN_KILLERS_CHAIN -> append(SAID); told = true
        :: else -> append(KILL)
        fi }
    :: atomic { process == UP && HAS(KILL) && !HAS(SAID) -> append(SAID) }
    :: atomic { process == UP && !HAS(CANCEL) && (HAS(KILL) || (HAS(SAID) && told)) -> append(CANCEL); told = false }

    /* the end of the run: its record, and after the sync its result (loop.c) */
    :: atomic { process == UP && HAS_ALL(PRINTED | SAID | CANCEL) && !HAS(COMPLETE) -> append(COMPLETE) }
    :: atomic { process == UP && HAS(COMPLETE) && !result_shown && (DURABLE(log) || fault == RESULT_BEFORE_SYNC) ->
        result_shown = true }
    :: atomic { process == UP && result_shown && DURABLE(log) -> assert(!HAS(TAKEN) || HAS(WOKE)); process = ENDED } /* 5 */

    :: process == ENDED || process == REFUSED -> break
    od
}

/* ---- the writer (wal/log/writer.c: commit_batches, settle): crashes fall between its steps ---- */

proctype writer()
{
    do
    :: atomic { process == UP && stage == 0 && written != log ->
        if
        :: fault != TWO_WRITERS -> written = log
        :: fault == TWO_WRITERS && (log & OF_MAIN & ~written) -> written = written | (log & OF_MAIN)
        :: fault == TWO_WRITERS && (log & ~OF_MAIN & ~written) -> written = written | (log & ~OF_MAIN)
        fi;
        stage = 1 }
    :: atomic { process == UP && stage == 1 ->
        if
        :: stuck
        :: else -> synced = written
        fi;
        stage = 2 }
    :: atomic { process == UP && stage == 2 -> witness = PAST(written); exact = true; durable = written; stage = 0 }

    /* A failed sync is final: the process stops (writer.c: tfy__writer_fail; exit status 74). */
    :: atomic { process == UP && stage == 1 && misfortunes > 0 ->
        misfortunes--;
        stuck = true;
        if
        :: fault == FAILED_SYNC_FORGOTTEN
        :: else -> process_ends()
        fi }
    :: process == ENDED || process == REFUSED -> break
    od
}

/* ---- the world ---- */

/* Tools work on their own; what they have done is done. */
proctype tools()
{
    do
    :: atomic { flights > 0 -> flights--; paid++; assert(paid <= 1) } /* 2 */
    :: process == ENDED || process == REFUSED -> break
    od
}

/* One who sends a signal until somebody says "received" (the signal's id makes repeating harmless: core/task/signal.c), and one who looks at the
 * world to say what became of pay (tfy resolve). */
proctype people()
{
    do
    :: atomic { process == UP && !acknowledged && !signal_asked && !HAS(COMPLETE) -> append(SIGNAL); signal_asked = true }
    :: atomic { process == UP && signal_asked && (DURABLE(SIGNAL) || fault == ACKNOWLEDGE_BEFORE_SYNC) ->
        acknowledged = true; signal_asked = false }
    :: atomic { process == UP && HAS(DOUBT) && DURABLE(DOUBT) && !HAS(RETRY | PAID) ->
        if
        :: append(PAID) /* --done if it was, else --fail */
        :: paid == 0 -> append(RETRY)
        fi }
    :: atomic { process == UP && HAS(DOUBT_2) && DURABLE(DOUBT_2) && !HAS(PAID) -> append(PAID) }
    :: process == ENDED || process == REFUSED -> break
    od
}

proctype fate()
{
    do
    /* SIGKILL: what was committed stays, synced or not */
    :: atomic { process == UP && misfortunes > 0 -> misfortunes--; process_ends() }

    /* a power cut: what was not synced stays or goes, and so does the witness's newest state (where that and the -wal file are both lost,
     * nobody can know that anything was there: no promise) */
    :: atomic { process != ENDED && process != REFUSED && misfortunes > 0 ->
        misfortunes--;
        if
        :: written = synced
        :: !stuck -> synced = written
        fi;
        if
        :: !lost -> witness = 0; exact = false
        :: true
        fi;
        flights = 0;
        process_ends() }

    /* the -wal file is gone, and nothing had been moved from it to the main file. After a power cut the witness is a lower bound only: then
     * nothing is promised */
    :: atomic { process == DOWN && exact && misfortunes > 0 ->
        misfortunes--;
        lost = lost || PAST(synced) != 0;
        synced = 0;
        written = 0;
        log = 0;
        now_value = 0 }
    :: process == ENDED || process == REFUSED -> break
    od
}

/* ---- everything at once ---- */

init
{
    atomic {
        c_code {
            const char *planted = getenv("FAULT"), *many = getenv("MISFORTUNES");
            now.fault = planted ? atoi(planted) : 0;
            now.misfortunes = many ? atoi(many) : 2;
        };
        run loop();
        run writer();
        run tools();
        run people();
        run fate()
    }
}
