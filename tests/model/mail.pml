/* mail.pml: messages (signals, answers, kills) for a run that may be in the memory of a worker, parked, or on its way there.
 *
 * A sender's transaction puts the message in the run's box, counts it in the run's row (`mail`), and makes the run ready if nobody owns it. Its
 * owner takes a message in one commit: the record is written and the message removed. A run is parked by a commit that holds only while `mail`
 * is what its owner has seen; else the run stays. Workers die at any moment; the run is then ready for another. Notices are not modelled: they
 * may get lost, so nothing may depend on them.
 *
 * cluster.sh checks this, and then breaks each rule by a macro; spin must then show what goes wrong:
 *
 *   NO_CONDITION   a run is parked without the condition
 *   NO_WAKE        a sender does not wake a parked run
 *   SPLIT          the record and the removal are two commits */
#ifndef MAILS
#define MAILS 2
#endif
byte mail, box;            /* ever counted; in the box now */
byte recorded;             /* Signal records */
bool owned, ready = true;  /* … by a worker; in the queue */
byte sent, deaths;
bool half;                 /* SPLIT: recorded, not yet removed */

active proctype Sender()
{
    do
    :: sent < MAILS ->
        atomic { box++; mail++; sent++;
#ifndef NO_WAKE
            if :: !owned -> ready = true :: else fi
#endif
        }
    :: sent == MAILS -> break
    od
}

active [2] proctype Worker()
{
    byte seen; bool mine;
end:
    do
    :: atomic { !mine && ready && !owned -> ready = false; owned = true; mine = true; seen = 0 }
#ifdef SPLIT
    :: atomic { mine && box > 0 && !half -> recorded++; half = true }
    :: atomic { mine && half -> box--; half = false; seen = mail - box }
#else
    :: atomic { mine && box > 0 -> box--; recorded++ }
#endif
    :: atomic { mine && box == 0 -> seen = mail }       /* it has looked: the box is empty */
    /* all its tasks wait; the decision may be as old as it likes */
    :: mine && seen > 0 || mine && recorded == 0 ->
        atomic {
            if
#ifdef NO_CONDITION
            :: true -> owned = false; mine = false
#else
            :: mail == seen -> owned = false; mine = false
            :: else -> skip                              /* refused: the run stays */
#endif
            fi;
            seen = 0
        }
    :: atomic { mine && deaths < 2 -> deaths++; mine = false; owned = false; ready = true;
#ifdef SPLIT
        half = false
#endif
      }
    od
}

/* When nothing can move any more, every message is in the log, once. */
active proctype Check()
{
    timeout -> assert(box == 0 && recorded == MAILS)
}
never { /* at no time is there a message in the box of a run that nobody owns and nobody will take */
    do
    :: assert(!(box > 0 && !owned && !ready)); assert(recorded <= MAILS)
    od
}
