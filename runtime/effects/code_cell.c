/* code_cell.c: see code_cell.h. */
#include "effects/code_cell.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "effects/canvas.h"
#include "effects/git.h"
#include "effects/git_dirs.h"

#define TAGS_MEMORY (UINT64_C(1) << 30)
#define TAGS_CPU_S  60 /* for TFY_CODE_PART bytes, which take a second or two */

/* Nobody's own settings: they are not needed. The root is a mount of its own inside. */
const char *const tfy__code_environment[] = {TFY_GIT_ENVIRONMENT, "HOME=/dev/null", "XDG_CONFIG_HOME=/dev/null",
                                             "GIT_DISCOVERY_ACROSS_FILESYSTEM=1", NULL};

static void plan_limits(uint64_t memory, uint64_t cpu_s, TfyConfined *out)
{
    out->plan.head.processes = out->limits.processes = TFY_CELL_PROCESSES;
    out->plan.head.file_bytes = out->limits.file_bytes = TFY_CELL_FILE;
    out->plan.head.cpu_s = out->limits.cpu_s = cpu_s;
    out->limits.memory = memory;
}

/* Both have no place of their own: they write nothing. */
static int plan_root(const char *root, uint32_t level, TfyConfined *out)
{
    char home[PATH_MAX];
    out->variables[0] = tfy__sys_strdup("HOME=/dev/null");
    out->variables[1] = tfy__sys_strdup("TMPDIR=/tmp");
    out->plan.head.level = level;
    tfy__cell_add(&out->plan, TFY_CELL_ROOT, root);
    tfy__cell_add(&out->plan, TFY_CELL_CWD, root);
    if (level == TFY_CELL_FULL && tfy__cell_home(root, home)) tfy__cell_add(&out->plan, TFY_CELL_HOME, home);
    return out->variables[0] && out->variables[1] ? 0 : ENOMEM;
}

int tfy__code_cell_git(TfyTask *task, uint32_t level, TfyConfined *out)
{
    char root[PATH_MAX];
    TfyGitDirs dirs;
    if (!realpath(tfy__root(task), root)) return errno;
    if (!tfy__git_dirs_above(root, &dirs)) return ENOENT;
    int error = plan_root(root, level, out);
    plan_limits(TFY_CELL_MEMORY, 0, out);
    if (!error) error = tfy__canvas_close_own(task->loop, root, &out->plan);
    if (error) return error;
    tfy__cell_add(&out->plan, TFY_CELL_READS, dirs.common);
    if (strcmp(dirs.own, dirs.common) != 0) tfy__cell_add(&out->plan, TFY_CELL_READS, dirs.own);
    tfy__git_dirs_read(&dirs, root, &out->plan);
    return out->plan.paths.failed ? ENOMEM : 0;
}

int tfy__code_cell_tags(uint32_t level, TfyConfined *out)
{
    const int error = plan_root("/usr", level, out); /* it needs no root: it gets a directory that it can read anyway */
    plan_limits(TAGS_MEMORY, TAGS_CPU_S, out);
    return out->plan.paths.failed ? ENOMEM : error;
}
