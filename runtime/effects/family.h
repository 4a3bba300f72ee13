/* family.h: what a tool and all its descendants use together, and whether that is more than they may.
 *
 * The kernel's own limits hold for one process at a time, or for all processes of a user. So a stub looks at its
 * tool's family every TFY_FAMILY_LOOK_MS; a tool that exits before the first look costs nothing. These functions use
 * only system calls and the caller's stack, like those of proc.h. */
#ifndef TFY_EFFECTS_FAMILY_H
#define TFY_EFFECTS_FAMILY_H

#include <stdint.h>
#include <sys/types.h>

#define TFY_FAMILY_LOOK_MS 100

/* Why a tool was ended. */
typedef enum TfyLimit {
    TFY_LIMIT_NONE,
    TFY_LIMIT_MEMORY,
    TFY_LIMIT_PROCESSES,
    TFY_LIMIT_CPU,
    TFY_LIMIT_FILE,
} TfyLimit;

/* 0: no limit. */
typedef struct TfyLimits {
    uint64_t memory;     /* bytes of resident memory of all its processes; what several share counts once */
    uint64_t processes;  /* at a time; threads count, as for the kernel */
    uint64_t cpu_s;      /* of one process; the cell sets it */
    uint64_t file_bytes; /* size of one file; the cell sets it */
} TfyLimits;

/* What all descendants of a process use, without itself. Both are 0 if /proc cannot be read. */
typedef struct TfyFamilyUse {
    uint64_t memory, processes;
} TfyFamilyUse;

TfyFamilyUse tfy__family_of(pid_t ancestor);

/* The limit that the descendants of a process have passed; TFY_LIMIT_NONE if there is none. */
TfyLimit tfy__family_passed(pid_t ancestor, const TfyLimits *limits);

/* For a process that looks. The kernel counts no processes of root, so only a look ends a tool of root that forks
 * without end. Among thousands of its processes, the look would wait half a minute for its turn; from now on it waits
 * for none. What this process starts does not inherit that. Nothing happens where the kernel does not allow it. */
void tfy__family_go_first(void);

/* Milliseconds of a clock that is never set, for looks. */
int64_t tfy__family_clock_ms(void);
/* How long to rest behind a look that took so long: TFY_FAMILY_LOOK_MS, and more where there are many processes. */
int64_t tfy__family_rest_ms(int64_t took_ms);

/* The limit that ends a process with this signal, if it is the kernel that does. */
TfyLimit tfy__family_signal(int signal, const TfyLimits *limits);

/* "used more than 2 GiB of memory": what a tool did that passed the limit. */
void tfy__family_say(TfyLimit limit, const TfyLimits *limits, char *text, size_t size);

#endif
