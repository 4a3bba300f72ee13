/* canvas.h: what preview, apply, commit and land share: a job per call, a queue for jobs that change something, and
 * running git.
 *
 * A job is a chain: each step starts one process with tfy__git_run and names the function that receives its end. A
 * job that has answered its call is freed: anything needed afterwards must be taken out of it before. */
#ifndef TFY_EFFECTS_CANVAS_H
#define TFY_EFFECTS_CANVAS_H

#include <sys/stat.h>
#include <time.h>

#include "effects/process.h"
#include "effects/sandbox.h"

#define TFY_GIT_ARGS   24
#define TFY_GIT_FIXED  28 /* words before them at most */
#define TFY_GIT_ID_LEN 64 /* hex digits of an object's id, at most (SHA-256) */
#define TFY_NS_PER_MS  INT64_C(1000000)

typedef struct TfyCanvasJob TfyCanvasJob;
typedef void TfyCanvasNext(TfyCanvasJob *job, const TfyProcessEnd *end);

/* A lock file of git, and how often in a row it has been found unchanged. */
typedef struct TfyGitLock {
    dev_t dev;
    ino_t ino;
    struct timespec changed;
    int seen;  /* in a row */
    int tries; /* in all */
} TfyGitLock;

/* One call, while its processes run. */
struct TfyCanvasJob {
    TfyCall *call;
    TfyCanvasJob *next_job;           /* in the queue of jobs that change something */
    void (*begin)(TfyCanvasJob *job); /* called when its turn comes */
    bool queued;                      /* it changes something: it has or awaits its turn */
    TfyProcess *process;              /* running now, or NULL */
    TfyCanvasNext *next;              /* receives the end of process */
    uint64_t timer;                   /* time limit of process, or the pause before a retry; 0: none */
    TfyGitLock lock;                  /* commit: the lock that blocked the last try */
    char **env;                       /* for git; NULL-terminated, owned */
    char *path;                       /* below the root, owned */
    TfyConfined confined;             /* the cell of its git processes; open: they have none */
    /* preview: files in dir with the old and the new text, owned; NULL: none */
    char *files[2];
    TfyBuffer text;  /* preview: the old text; apply: the file's text; commit: the whole message */
    bool exists;     /* preview: the file exists now */
    bool executable; /* preview: the file is executable */
    char *dir;  /* a temporary directory, owned; NULL: none. apply: with the copy; commit: see canvas_repository.c */
    int dir_fd; /* of dir; -1: none */
    /* apply: the id of the new text as the diff's index line gives it; empty: the line gives none */
    char new_id[TFY_GIT_ID_LEN + 1];
    char branch[32]; /* commit: "tiffany/feature/<run>" */
    /* commit: the files to take, below the top, each name ended by NUL: those that are gone, those that exist */
    TfyBuffer names[2];
    uint64_t as_of;  /* commit: the newest of the run's notes (wrote.h) when the files were named */
    bool found;      /* commit: it was made before a crash; commit_id and parent are its id */
    bool has_branch; /* commit: the branch exists */
    /* commit: the committer is determined; a job that starts again asks git only once */
    bool named;
    char *began; /* commit: the branch that is checked out when the run first commits, owned; NULL: none */
    char base[TFY_GIT_ID_LEN + 1];      /* … and its commit; empty: none */
    bool begins;                        /* commit: it is the run's first, and says where the run began */
    struct TfyLanding *landing;         /* land: see canvas_land.h */
    void (*release)(TfyCanvasJob *job); /* frees what only its performer knows; NULL: nothing */
    char *trailer;                      /* commit, land: the key as written in the message, owned */
    char *tree;                         /* commit: the work tree's top, owned */
    void (*ready)(TfyCanvasJob *job);   /* commit: called when its cell is ready, then when dir is */
    void (*begun)(TfyCanvasJob *job);   /* commit: what dir is made for */
    char parent[TFY_GIT_ID_LEN + 1];    /* commit: what it builds on; empty: the repository has no commit yet */
    const char *parents[2];             /* of the commit under way, borrowed from the job; empty or NULL: fewer */
    char tree_id[TFY_GIT_ID_LEN + 1];   /* commit: the tree to be committed */
    char commit_id[TFY_GIT_ID_LEN + 1]; /* commit: the new commit, before the branch refers to it */
};

typedef struct TfyGit {
    const char *args[TFY_GIT_ARGS]; /* after "git" */
    const char *input;              /* stdin; NULL: none */
    size_t input_len;
    int cwd_fd; /* 0: the working root */
    /* with the settings of canvas_repository.c instead of the repository's own */
    bool apart;
    bool outside; /* of the cell: it reads no repository */
} TfyGit;

/* Makes a job for a call about a path (NULL: the root). verb: for messages. NULL: the call has failed. */
TfyCanvasJob *tfy__canvas_job(TfyCall *call, const TfyObj *path, const char *verb);
/* Detaches the job from its call and frees the job; the call can be answered afterwards. */
TfyCall *tfy__canvas_leave(TfyCanvasJob *job);
/* Fail the call with a ToolError and free the job. Git's own words: see tfy__git_words. */
void tfy__canvas_error(TfyCanvasJob *job, int64_t code, const char *format, ...) __attribute__((format(printf, 3, 4)));
void tfy__canvas_file_error(TfyCanvasJob *job, const char *verb, int error);
void tfy__git_fail(TfyCanvasJob *job, const TfyProcessEnd *end, const char *what);

/* Starts a job now, or when the jobs before it have finished. A retry timer may call begin again
 * (tfy__canvas_again). */
void tfy__canvas_take_turn(TfyCanvasJob *job, void (*begin)(TfyCanvasJob *job));
void tfy__canvas_again(TfyCanvasJob *job, int64_t delay_ms);

/* Adds "NAME=value" for the job's git processes; there is room for seven. False: no memory. */
bool tfy__canvas_add_env(TfyCanvasJob *job, const char *entry);

/* Runs git, by default in the working root; next receives its end. Commands that compare bare texts pass `-C /`:
 * no repository's attributes apply there. */
void tfy__git_run(TfyCanvasJob *job, TfyCanvasNext *next, const TfyGit *git);
/* Git's error output without the last newline, as much as fits in a message; returns its length. */
int tfy__git_words(const TfyProcessEnd *end, const char **words);

/* Git failed because a lock file exists: starts the job again a little later, until the git that holds the lock
 * has finished. A lock that stays the same during all tries, while no git works in the repository, was left by a
 * git that was killed: it is removed, which stderr reports. False: git failed for another reason, or another git
 * takes too long. */
bool tfy__git_try_later(TfyCanvasJob *job, const TfyProcessEnd *end);
/* The same about a lock file that this process could not make. */
bool tfy__git_lock_later(TfyCanvasJob *job, const char *lock);

/* ---- commits that are made once (canvas_once.c) ---- */

/* Fills job->text with the message, without blanks at its end, and the trailers of the call; and job->trailer. False: the
 * call has failed. what: "commit", for messages. */
bool tfy__canvas_message(TfyCanvasJob *job, const TfyString *message, const char *what);
/* The options of the `git log` whose output the next one reads. */
#define TFY_GIT_HISTORY                                                                                                \
    "log", "-1000", "--no-color", "--no-show-signature", "--no-patch", "--no-ext-diff", "--no-textconv",               \
        "--format=%H %(trailers:key=Tiffany-Step,valueonly,separator=%x20)"
/* Finds the commit that the call made before a crash; its id is job->commit_id. False: there is none. */
bool tfy__canvas_found(TfyCanvasJob *job, const TfyBuffer *log);
/* Determines who commits, then calls ready: a person who never set a name and an address gets ours. */
void tfy__canvas_identify(TfyCanvasJob *job, void (*ready)(TfyCanvasJob *job));
/* Makes a commit of job->tree_id with the message, then calls ready; its id is job->commit_id. Parents: empty ones are
 * left out. */
void tfy__canvas_make_commit(TfyCanvasJob *job, const char *first, const char *second,
                             void (*ready)(TfyCanvasJob *job));
/* Keeps the id that git printed; false after the job was failed with `what`. */
bool tfy__git_id(TfyCanvasJob *job, const TfyProcessEnd *end, char id[TFY_GIT_ID_LEN + 1], const char *what);
/* Git failed while it read files of the work tree. what: "commit". */
void tfy__git_fail_files(TfyCanvasJob *job, const TfyProcessEnd *end, const char *what, const char *command);
/* Runs git at the top of the work tree, with names ended by NUL on its input. */
void tfy__git_on_names(TfyCanvasJob *job, TfyCanvasNext *next, const TfyBuffer *names, const TfyGit *words);

/* The number of bytes of a text before the newlines at its end. */
size_t tfy__git_line_len(const TfyBuffer *text);

/* From now on git runs in a cell that holds nothing but job->dir, which exists. False: the call, or the loop, failed. */
bool tfy__canvas_confine(TfyCanvasJob *job);
/* The same with the root and its repository; then calls ready. On failure the job is freed. */
void tfy__canvas_confine_repository(TfyCanvasJob *job, void (*ready)(TfyCanvasJob *job));
/* Finds out before the run starts whether there can be cells. */
int tfy__canvas_prepare(TfyLoop *loop, const TfyProgram *program, char *error_text);

/* Closes what is the runtime's in a root to a cell. 0 or ENOMEM. */
int tfy__canvas_close_own(TfyLoop *loop, const char *root, TfyCellPlan *plan);

/* A line of git's configuration for a key such as "filter.NAME.clean". */
void tfy__git_put_setting(TfyBuffer *out, const char *key, size_t key_len, const char *value);
/* Is it a setting that names no command? */
bool tfy__git_is_harmless(const char *key);
/* Write all of a text, and a file. 0 or -errno. */
int tfy__git_write_all(int fd, const char *text, size_t len);
int tfy__git_write_text(int dir, const char *name, const char *text, size_t len);

/* Makes job->dir, a view of the repository for git without the commands in its settings, then calls ready;
 * job->dir may exist already. On failure the job is freed. */
void tfy__canvas_repository(TfyCanvasJob *job, void (*ready)(TfyCanvasJob *job));

/* Makes job->dir, empty, in the directory for temporary files. 0 or -errno. */
int tfy__canvas_make_dir(TfyCanvasJob *job);

/* The same; git does not take it for a part of a surrounding repository. */
int tfy__canvas_make_dir_apart(TfyCanvasJob *job);

/* The options of every preview's `git diff`. */
#define TFY_GIT_DIFF                                                                                                   \
    "--no-index", "--full-index", "--no-color", "--no-ext-diff", "--no-textconv", "--no-renames", "--text",            \
        "--unified=3", "--diff-algorithm=histogram"
/* Reads the file at job->path as it is now into job->text. 0 or a negative reason; an absent file is allowed. */
int tfy__canvas_read_old(TfyCanvasJob *job);
/* The same for a preview. False: the call has failed; the file must be text, and one that a run may write. */
bool tfy__canvas_take_old(TfyCanvasJob *job);
bool tfy__canvas_is_text(const TfyBuffer *text);
/* Answers the call with the patch that makes the file at job->path, read before, into this text. */
void tfy__canvas_preview(TfyCanvasJob *job, const char *text, size_t len);
/* Git compared two files of ours, which have other names: adds the same diff about the file at the path. False: these
 * are not git's words. */
bool tfy__canvas_put_patch(TfyBuffer *out, const char *path, const char *diff, size_t len);
/* A Patch; NULL: task->error is set. */
TfyObj *tfy__canvas_patch_of(TfyTask *task, const char *path, const char *diff, size_t len);
/* Ends the call with its result; NULL: there was no memory for it. mark: of the task before it was made. */
void tfy__canvas_give(TfyCanvasJob *job, TfyObj *result, uint32_t mark);

/* TfyPerformer.ask of those that leave something to compare. */
int tfy__git_ask(const char *root, const char *const *words, const char *input, TfyBuffer *out);

/* The same for all performers. */
void tfy__canvas_abort(TfyCall *call);
void tfy__canvas_close(TfyLoop *loop);

#endif
