/* cell.h: cells as the runtime sees them: a plan of what one has to hold, the program that builds it, and probes.
 *
 * A plan is written down once for a tool and sent for each start of it, as the datagram of cell/policy.h. Everything
 * in it is resolved: tfy__cell_add keeps a path as it is, and a path that the cell cannot open ends it.
 *
 * How a tool is started in a cell: the argv of tfy__cell_words, with one end of a SOCK_SEQPACKET pair; then
 * tfy__cell_send and, until its end of file, tfy__cell_answer at the other end. */
#ifndef TFY_EFFECTS_CELL_H
#define TFY_EFFECTS_CELL_H

#include <limits.h>
#include <stddef.h>

#include "base/buffer.h"
#include "cell/policy.h"

/* Limits where nothing else is said: bytes of memory, processes, bytes of one file. */
#define TFY_CELL_MEMORY    (UINT64_C(4) << 30)
#define TFY_CELL_PROCESSES UINT64_C(512)
#define TFY_CELL_FILE      (UINT64_C(1) << 30)

/* A zeroed struct with `head.level` and what else is wanted in the head is an empty plan. */
typedef struct TfyCellPlan {
    TfyCellHead head;
    TfyBuffer paths;
} TfyCellPlan;

/* Adds a path of this kind (TFY_CELL_ROOT …). Failures are sticky, as in a buffer; tfy__cell_send reports them. */
void tfy__cell_add(TfyCellPlan *plan, int kind, const char *path);
/* Adds the root, and what is protected in every root, as far as it exists: `.git` and where a `.git` file points,
 * the settings of editors and agents, `.tfy`. */
void tfy__cell_add_root(TfyCellPlan *plan, const char *root);
void tfy__cell_plan_free(TfyCellPlan *plan);
/* The path with this ordinal, from 1, as in TfyCellAnswer; NULL: there is none. */
const char *tfy__cell_path_of(const TfyCellPlan *plan, uint32_t ordinal);

/* Protected names in the root that no mount can hold: those that do not exist, and links. */
typedef struct TfyCellNames {
    uint64_t inode[16]; /* by place in tfy__protect_names, then .tfy; 0: it does not exist */
    bool held[16];      /* it is neither: the cell protects it */
} TfyCellNames;

/* Looks before a cell is built; and afterwards: returns the first name that was made or replaced meanwhile, NULL:
 * none. */
void tfy__cell_look(const char *root, TfyCellNames *names);
const char *tfy__cell_made(const char *root, const TfyCellNames *before);

/* tfy-cell itself. Every program that runs tools carries it, so that a program and its database are all that a machine
 * needs, and a file that a tool left beside the program is never taken for it. */
extern const unsigned char tfy__cell_image[];
extern const size_t tfy__cell_image_len;
/* A descriptor of it to execute (execveat, AT_EMPTY_PATH), close-on-exec: of the installed file if that is the same to
 * the byte, since AppArmor knows programs by their paths, else of a copy in memory. Or -errno. */
int tfy__cell_open(void);

/* The argv of tfy-cell with its socket in this number and the files that may be the tool: by the PATH of this process,
 * whose relative directories are left out. Owned; NULL: no memory. */
char **tfy__cell_words(int socket, const char *const *argv, int argc);
void tfy__cell_free_words(char **words);

/* Writes the plan down as a datagram. 0 or an errno value; EMSGSIZE: it has too many paths. */
int tfy__cell_datagram(const TfyCellPlan *plan, TfyBuffer *out);
/* Sends a datagram with a layer of tfy__cell_layer, which stays the caller's; -1: with none. 0 or an errno value. */
int tfy__cell_send_datagram(int socket, TfyBuffer *datagram, int layer);
/* Sends the plan. 0 or an errno value; EMSGSIZE: it has too many paths. */
int tfy__cell_send(const TfyCellPlan *plan, int socket);
/* Waits for the answer. 0: the tool runs; 1: *answer says why not; or -errno. */
int tfy__cell_answer(int socket, TfyCellAnswer *answer);

/* Waits for the listener of a plan with TFY_CELL_LISTENER, before tfy__cell_answer. 0: *listener, the caller's; 1:
 * *answer says why there is none; or -errno. */
int tfy__cell_listener(int socket, int *listener, TfyCellAnswer *answer);
/* The variables that lead programs to the listener: NAME=value; NULL ends the list. */
extern const char *const tfy__cell_proxy_variables[];
/* A directory of the system, or above one: nothing may be put over it. */
bool tfy__cell_is_system(const char *path);
/* Below a directory of the system, or one: a tool can read there. */
bool tfy__cell_in_system(const char *path);
/* What a directory is that no sandbox may write in, such as "the system itself"; NULL: one may. Both without links. */
const char *tfy__cell_unwritable(const char *path, const char *root);
/* The same, where every cell reads what nothing else closes: not /proc or /dev. */
bool tfy__cell_reads_system(const char *path);
/* The home directory that a full cell shows empty, for the plan; false: it would cover the system, or lies in the root:
 * then the variable leads to /tmp, which is empty, too. */
bool tfy__cell_home(const char *root, char home[PATH_MAX]);

/* A path as a sandbox writes it (TfySandbox.reads), absolute. False: it is too long, or there is no home. */
bool tfy__cell_absolute(const char *root, const char *path, char out[PATH_MAX]);

/* Builds a cell for nothing, with a root that is only read: 0: all its walls stand; 1: *answer says which one does
 * not; or -errno: it could not be tried. */
int tfy__cell_probe(uint32_t level, TfyCellAnswer *answer);

/* ---- the layer of partial cells ---- */

/* A directory whose entries have a rule each. */
typedef struct TfyCellRuled {
    uint64_t device, inode;
    int64_t changed_s, changed_ns;
} TfyCellRuled;

/* The ruleset of TFY_CELL_LAYER, kept by who starts many tools. Zeroed: not made yet. An entry that comes to be below
 * those directories, or is replaced, needs a new one. What is only mounted over an entry cannot be read until then. */
enum { TFY_CELL_RULED = 3 };
typedef struct TfyCellLayer {
    int ruleset; /* 0: none */
    TfyCellRuled ruled[TFY_CELL_RULED];
} TfyCellLayer;

/* The layer for a cell that starts now, which stays the keeper's; program: of tfy__cell_open. -1: there is none at the
 * moment, and the cell makes all rules itself. */
int tfy__cell_layer(TfyCellLayer *layer, int program);
void tfy__cell_layer_free(TfyCellLayer *layer);

/* What a stage builds, in a word or two: "namespaces". */
const char *tfy__cell_stage_name(uint32_t stage);
/* What is missing when a stage failed, for people: "user namespaces". */
const char *tfy__cell_stage_lacks(uint32_t stage);

#endif
