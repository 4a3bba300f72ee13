/* process.h: tools as child processes of the loop's watcher: started without a shell, their output collected without
 * blocking.
 *
 * What a tool sees: exactly the given argv; an environment of the names in the list below, plus what the caller
 * gives, plus TFY_KEY (the step's key, for tools that can tell a repetition by it) and TFY_PROCESS (a mark by which
 * runaway descendants are found); a working directory; stdin as an unnamed file that holds the text, or /dev/null; no
 * terminal; no other descriptors but an empty file that is part of the mark (former.h). What it prints is read as it
 * comes and kept up to a limit; the rest is read and thrown away, so that it never blocks on us and never takes our
 * memory. Names without a slash are looked up in the absolute directories of the PATH it is given.
 *
 * What it leaves running when it ends lives on until the loop closes; if it failed, until the next process of the
 * same key starts. The end of a step (a timeout, a kill) ends the tool and everything that descends from it, also
 * what left its group, session and environment. The next process of the same key starts when nothing of that is left;
 * a set-uid descendant, which may not be signalled, is waited for.
 *
 * A watcher that dies is no outcome of a step. The loop stops (TFY_E_LOST) as if this process had been killed; what
 * the tools did is found out by the resume. A watcher or a tool that cannot be started is an error of that start.
 *
 * Passed on: PATH HOME LANG LANGUAGE LC_* TZ TMPDIR USER LOGNAME SHELL TERM XDG_CONFIG_HOME. Everything else (keys of
 * model services, GIT_DIR, LD_PRELOAD …) stays here. */
#ifndef TFY_EFFECTS_PROCESS_H
#define TFY_EFFECTS_PROCESS_H

#include "core/effect.h"

#define TFY_PROCESS_OUTPUT_CAP ((size_t)1 << 20) /* bytes kept of each output, unless the caller says otherwise */
#define TFY_PROCESS_AT_ONCE    200 /* tools running at once per loop (three descriptors each); more wait their turn */
#define TFY_PROCESS_LINGER_MS  200 /* how long output is awaited from what a tool left behind when it ended */

typedef struct TfyProcess TfyProcess;

/* Borrowed for the call of tfy__process_start. */
typedef struct TfyProcessSpec {
    const char *const *argv; /* NULL-terminated, at least one */
    const char *const *env;  /* NULL-terminated "NAME=value", each replaces what would be passed on; may be NULL */
    const char *key;         /* the step's key; while an aborted process of the same key still dies, this one waits */
    int cwd_fd;              /* directory to run in; duplicated; -1: the working root */
    const char *input;       /* stdin; NULL: /dev/null */
    size_t input_len;        /* bytes */
    size_t output_cap;       /* bytes kept of each output; 0: TFY_PROCESS_OUTPUT_CAP */
} TfyProcessSpec;

/* How it ended; borrowed for the call of the handler. */
typedef struct TfyProcessEnd {
    int error;             /* 0: it ran; an errno value: it could not be started */
    bool no_room;          /* … for want of descriptors, processes or memory: it can be tried again later */
    char message[256];     /* when error is not 0: one sentence */
    int code;              /* exit code, or 128 + signal */
    int signal;            /* 0, or the signal that ended it */
    TfyBuffer out, err;    /* as printed; may be invalid UTF-8 */
    bool out_cut, err_cut; /* more was printed than kept */
} TfyProcessEnd;

typedef void (*TfyProcessHandler)(void *arg, const TfyProcessEnd *end);

/* Starts a process; handler is called once, later, from the loop, unless it is aborted before. NULL: errno says why. */
TfyProcess *tfy__process_start(TfyLoop *loop, const TfyProcessSpec *spec, TfyProcessHandler handler, void *arg);

/* The handler will not be called any more; the tool and its descendants get SIGTERM, after 2 s SIGKILL. The handle is
 * gone. */
void tfy__process_abort(TfyProcess *process);

/* Ends everything that still lives and the watcher; waits for that. */
void tfy__process_close(TfyLoop *loop);

/* The text as valid UTF-8 (broken sequences become U+FFFD): borrowed, or NULL after a panic. *lossy is set when
 * something was replaced; with cut, an incomplete last character is dropped and is not a loss. */
TfyObj *tfy__process_text(TfyTask *task, const TfyBuffer *output, bool cut, bool *lossy);

#endif
