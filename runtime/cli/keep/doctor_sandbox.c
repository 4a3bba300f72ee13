/* doctor_sandbox.c: see doctor_sandbox.h. */
#include "cli/keep/doctor_sandbox.h"
#include "cli/frame/commands.h"
#include "cli/frame/report.h"
#include "effects/cell.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* A wall: tried and there; tried and not there, for a reason; or not reached, because an earlier one is not there. */
typedef struct Wall {
    bool tried;
    int error; /* 0: it stands */
} Wall;

typedef struct Walls {
    Wall of[TFY_CELL_START]; /* by TfyCellStage */
    uint32_t level;          /* 0: none */
} Walls;

/* Builds a cell of a level, and notes its walls from the first on. Returns 0, or -errno if it could not be tried. */
static int try_level(Walls *walls, uint32_t level, uint32_t first)
{
    TfyCellAnswer answer = {0};
    const int result = tfy__cell_probe(level, &answer);
    if (result < 0) return result;
    const uint32_t last = result ? answer.stage : TFY_CELL_START - 1;
    for (uint32_t stage = first; stage <= last && stage < TFY_CELL_START; stage++)
        walls->of[stage] = (Wall){.tried = true, .error = stage == last && result ? answer.error : 0};
    if (!result && !walls->level) walls->level = level;
    return 0;
}

static const char *state_of(const Wall *wall)
{
    return !wall->tried ? "not tried" : wall->error ? strerror(wall->error) : "yes";
}

/* Does AppArmor let only those programs make user namespaces that have a rule? */
static bool apparmor_restricts(void)
{
    FILE *file = fopen("/proc/sys/kernel/apparmor_restrict_unprivileged_userns", "re");
    const bool restricts = file && getc(file) == '1';
    if (file) fclose(file);
    return restricts;
}

/* What to type for a wall that is missing; NULL: nothing is known. */
static const char *advice_for(uint32_t stage, bool root)
{
    switch (stage) {
    case TFY_CELL_NAMESPACES:
    case TFY_CELL_MOUNTS:
        if (root) return "run it outside the container or chroot, or give the container CAP_SYS_ADMIN";
        if (apparmor_restricts())
            return "install tfy, then: sudo cp " TFY_CELL_PROFILE
                   " /etc/apparmor.d/ && sudo apparmor_parser -r /etc/apparmor.d/tfy-cell";
        return "as root: sysctl -w user.max_user_namespaces=10000 kernel.unprivileged_userns_clone=1 (each where "
               "it exists)";
    case TFY_CELL_LANDLOCK:
        return "Linux 5.13 or later, with 'landlock' among its security modules: add lsm=landlock,… to the kernel's "
               "command line";
    case TFY_CELL_CALLS: return "a kernel with CONFIG_SECCOMP_FILTER";
    default: return NULL;
    }
}

static const char *level_name(uint32_t level)
{
    return level == TFY_CELL_FULL ? "full" : level == TFY_CELL_PARTIAL ? "partial" : "none";
}

static void print_json(const Walls *walls)
{
    json_t *report = json_object(), *list = json_array();
    json_object_set_new(report, "level", json_string(level_name(walls->level)));
    for (uint32_t stage = TFY_CELL_NAMESPACES; stage < TFY_CELL_START; stage++)
        json_array_append_new(list, json_pack("{s:s,s:b,s:s}", "wall", tfy__cell_stage_name(stage), "stands",
                                              walls->of[stage].tried && !walls->of[stage].error, "state",
                                              state_of(&walls->of[stage])));
    json_object_set_new(report, "walls", list);
    tfy__report_print(report, JSON_INDENT(2));
}

static void print_text(const Walls *walls)
{
    printf("%-14s %s\n", "sandbox", level_name(walls->level));
    for (uint32_t stage = TFY_CELL_NAMESPACES; stage < TFY_CELL_START; stage++)
        printf("%-14s %s\n", tfy__cell_stage_name(stage), state_of(&walls->of[stage]));
    for (uint32_t stage = TFY_CELL_NAMESPACES; stage < TFY_CELL_START; stage++) {
        const char *advice = walls->of[stage].error ? advice_for(stage, geteuid() == 0) : NULL;
        if (advice) printf("advice         %s: %s\n", tfy__cell_stage_lacks(stage), advice);
    }
}

int tfy__doctor_sandbox(const TfyArgs *args)
{
    Walls walls = {0};
    int error = try_level(&walls, TFY_CELL_FULL, TFY_CELL_NAMESPACES);
    if (!error && walls.level != TFY_CELL_FULL) error = try_level(&walls, TFY_CELL_PARTIAL, TFY_CELL_RIGHTS);
    if (error) return tfy__fail(EXIT_MISSING, "tfy-cell cannot be tried: %s", strerror(-error));
    if (args->option[OPT_JSON])
        print_json(&walls);
    else
        print_text(&walls);
    return tfy__flush_stdout(walls.level ? EXIT_DONE : EXIT_MISSING);
}
