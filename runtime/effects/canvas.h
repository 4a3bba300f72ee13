/* canvas.h: what preview, apply and commit share: a job per call, turns among those that change something, and
 * running git.
 *
 * A job is a chain: each step starts one process with tfy__git_run and names the function that gets its end. A job
 * that answers its call is gone: whatever is needed afterwards must be taken out of it before. */
#ifndef TFY_EFFECTS_CANVAS_H
#define TFY_EFFECTS_CANVAS_H

#include <sys/stat.h>
#include <time.h>

#include "effects/process.h"

#define TFY_GIT_ARGS   24
#define TFY_GIT_FIXED  28 /* words before them at most */
#define TFY_GIT_ID_LEN 64 /* hex digits of an object's id, at most (SHA-256) */
#define TFY_NS_PER_MS  INT64_C(1000000)

typedef struct TfyCanvasJob TfyCanvasJob;
typedef void TfyCanvasNext(TfyCanvasJob *job, const TfyProcessEnd *end);

/* A lock file of git, and for how many tries in a row it has been the same one. */
typedef struct TfyGitLock {
    dev_t dev;
    ino_t ino;
    struct timespec changed;
    int seen;  /* in a row */
    int tries; /* in all */
} TfyGitLock;

/* One call of the three, while its processes run. */
struct TfyCanvasJob {
    TfyCall *call;
    TfyCanvasJob *next_job;           /* in the queue of those that change something */
    void (*begin)(TfyCanvasJob *job); /* what to do when its turn comes */
    bool queued;                      /* it changes something: it has or awaits its turn */
    TfyProcess *process;              /* running now, or NULL */
    TfyCanvasNext *next;              /* who gets the end of process */
    uint64_t timer;                   /* time limit of process, or the pause before a retry; 0: none */
    TfyGitLock lock;                  /* commit: what stood in the way of the last try */
    char **env;                       /* for git; NULL-terminated, owned */
    char *path;                       /* below the root, owned */
    char *files[2];                   /* preview: temporary files with the old and the new text, owned; NULL: none */
    TfyBuffer text;                   /* preview: the old text; apply: the file's text; commit: the whole message */
    bool exists;                      /* preview: the file exists now */
    bool executable;                  /* preview: it may be run */
    char *dir;  /* a temporary directory, owned; NULL: none. apply: with the copy; commit: see canvas_repository.c */
    int dir_fd; /* of dir; -1: none */
    /* apply: what the diff's index line says the text becomes; empty: it does not say */
    char new_id[TFY_GIT_ID_LEN + 1];
    char branch[64];                    /* commit: "tiffany/feature/<run>" */
    bool named;                         /* commit: who commits is settled; a job that begins anew asks once */
    char *trailer;                      /* commit: the key as it stands in the message, owned */
    char *tree;                         /* commit: the work tree's top, owned */
    void (*ready)(TfyCanvasJob *job);   /* commit: what follows when dir is made */
    char head[TFY_GIT_ID_LEN + 1];      /* commit: the commit that is checked out; empty: there is none yet */
    char branch_id[TFY_GIT_ID_LEN + 1]; /* commit: that of the run's branch, when it is another */
    char tree_id[TFY_GIT_ID_LEN + 1];   /* commit: what is to be committed */
    char commit_id[TFY_GIT_ID_LEN + 1]; /* commit: the new one, before the branch has it */
};

typedef struct TfyGit {
    const char *args[TFY_GIT_ARGS]; /* after "git" */
    const char *input;              /* stdin; NULL: none */
    size_t input_len;
    int cwd_fd; /* 0: the working root */
    bool apart; /* with the settings of canvas_repository.c instead of the repository's own */
} TfyGit;

/* A job for a call about a path (or NULL: the root). verb: for messages. NULL after the call was failed. */
TfyCanvasJob *tfy__canvas_job(TfyCall *call, const TfyObj *path, const char *verb);
/* Takes the job off its call and frees it; the call can be answered afterwards. */
TfyCall *tfy__canvas_leave(TfyCanvasJob *job);
/* Fail the call with a ToolError; the job is gone. words of git: see tfy__git_words. */
void tfy__canvas_error(TfyCanvasJob *job, int64_t code, const char *format, ...) __attribute__((format(printf, 3, 4)));
void tfy__canvas_file_error(TfyCanvasJob *job, const char *verb, int error);
void tfy__git_fail(TfyCanvasJob *job, const TfyProcessEnd *end, const char *what);

/* Begins a job now, or when those before it have ended. begin may also be called again by a retry timer
 * (tfy__canvas_again). */
void tfy__canvas_take_turn(TfyCanvasJob *job, void (*begin)(TfyCanvasJob *job));
void tfy__canvas_again(TfyCanvasJob *job, int64_t delay_ms);

/* Adds "NAME=value" for the job's git processes; there is room for seven. False: no memory. */
bool tfy__canvas_add_env(TfyCanvasJob *job, const char *entry);

/* Runs git, in the working root unless told otherwise; next gets its end. What compares bare texts passes `-C /`: no
 * repository's attributes apply there. */
void tfy__git_run(TfyCanvasJob *job, TfyCanvasNext *next, const TfyGit *git);
/* What git had to say, without the last newline, as much as fits a message; answers its length. */
int tfy__git_words(const TfyProcessEnd *end, const char **words);

/* Git failed because a lock file exists: begins the job anew a little later, until the git that holds it is done. One
 * that stays the same during all the tries, while no git is at work in the repository, was left by a git that was
 * killed: it is removed, which is said on stderr. False: git failed otherwise, or another git takes too long. */
bool tfy__git_try_later(TfyCanvasJob *job, const TfyProcessEnd *end);

/* Answers how many bytes of a text are before the newlines at its end. */
size_t tfy__git_line_len(const TfyBuffer *text);

/* Makes job->dir, where git finds the repository without the commands in its settings, then calls ready;
 * job->dir may exist already. The job is gone when it fails. */
void tfy__canvas_repository(TfyCanvasJob *job, void (*ready)(TfyCanvasJob *job));

/* Makes job->dir, empty, in the directory for temporary files. 0 or -errno. */
int tfy__canvas_make_dir(TfyCanvasJob *job);
/* "<temporary directory>/tfy-XXXXXX", owned; NULL: no memory. */
char *tfy__canvas_temp_name(void);

/* Of all three performers. */
void tfy__canvas_abort(TfyCall *call);
void tfy__canvas_close(TfyLoop *loop);

#endif
