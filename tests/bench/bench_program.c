/* bench_program.c: the measured workflows in the shape tfyc gives them, with the tools they call. */
#include "tfy.h"

typedef struct CountFrame {
    TfyFrame head;
    int64_t count, i;
} CountFrame;

static const TfyField count_params[] = {{"count", &tfy_type_int, NULL}};
static const TfyLive count_live[] = {{0, &tfy_type_int, "count"}, {1, &tfy_type_int, "i"}};

/* workflow spin(count: int) { for i in 0..count { yield } } */
static const TfyPoint spin_yield = {
    .id = "spin/yield/1", .number = 1, .line = 2, .kind = TFY_POINT_YIELD, .live = count_live, .live_count = 2};

static TfyStatus spin_run(TfyTask *t, void *frame)
{
    CountFrame *F = frame;
    switch (F->head.pc) {
    case 1: goto p1;
    }
    F->i = 0;
    while (F->i < F->count) {
        F->head.pc = 1;
        return TFY_YIELD;
    p1:
        if (t->error) return TFY_RETURN;
        F->i++;
    }
    return TFY_RETURN;
}
static const TfyPoint *const spin_resume[] = {&spin_yield};
static const TfyWorkflow spin = {
    "spin", spin_run, sizeof(CountFrame), count_params, 1, &tfy_type_nothing, spin_resume, 1, 1, NULL};

static bool see(TfyTask *t, const TfyValue *args, TfyValue *out)
{
    (void)t;
    out->i = args[0].i;
    return true;
}
static const TfyField tool_params[] = {{"number", &tfy_type_int, NULL}};

/* tool look_at(number: int) -> int pure = extern "see"
 * workflow look(count: int) { for i in 0..count { let seen = yield look_at(i) } } */
static const TfyTool look_at = {.name = "look_at",
                                .family = TFY_F_EXTERN,
                                .repeat = TFY_PURE,
                                .params = tool_params,
                                .param_count = 1,
                                .result = &tfy_type_int,
                                .call = see};
static const TfyPoint look_step = {
    .id = "look/look_at/1", .number = 2, .line = 6, .kind = TFY_POINT_EFFECT, .live = count_live, .live_count = 2};
static const TfySite look_site = {&look_step, &look_at, &tfy_type_int};

static TfyStatus count_steps(TfyTask *t, CountFrame *F, const TfySite *site)
{
    switch (F->head.pc) {
    case 1: goto p1;
    }
    F->i = 0;
    while (F->i < F->count) {
        F->head.pc = 1;
        return tfy_perform(t, site, (TfyValue[]){{.i = F->i}}, NULL);
    p1:
        if (t->error) return TFY_RETURN;
        tfy_take(t);
        F->i++;
    }
    return TFY_RETURN;
}

static TfyStatus look_run(TfyTask *t, void *frame)
{
    return count_steps(t, frame, &look_site);
}
static const TfyPoint *const look_resume[] = {&look_step};
static const TfyWorkflow look = {
    "look", look_run, sizeof(CountFrame), count_params, 1, &tfy_type_nothing, look_resume, 1, 5, NULL};

/* tool put(number: int) -> int once = extern "see"
 * workflow keep(count: int) { for i in 0..count { let kept = yield put(i) } } */
static const TfyTool put = {.name = "put",
                            .family = TFY_F_EXTERN,
                            .repeat = TFY_ONCE,
                            .params = tool_params,
                            .param_count = 1,
                            .result = &tfy_type_int,
                            .call = see};
static const TfyPoint keep_step = {
    .id = "keep/put/1", .number = 3, .line = 10, .kind = TFY_POINT_EFFECT, .live = count_live, .live_count = 2};
static const TfySite keep_site = {&keep_step, &put, &tfy_type_int};

static TfyStatus keep_run(TfyTask *t, void *frame)
{
    return count_steps(t, frame, &keep_site);
}
static const TfyPoint *const keep_resume[] = {&keep_step};
static const TfyWorkflow keep = {
    "keep", keep_run, sizeof(CountFrame), count_params, 1, &tfy_type_nothing, keep_resume, 1, 9, NULL};

/* workflow rest(count: int) { yield sleep(1h) } */
static const TfyPoint rest_sleep = {.id = "rest/sleep/1", .number = 4, .line = 14, .kind = TFY_POINT_EFFECT};
static const TfySite rest_site = {&rest_sleep, &tfy_effect_sleep, &tfy_type_nothing};

static TfyStatus rest_run(TfyTask *t, void *frame)
{
    CountFrame *F = frame;
    if (F->head.pc == 1) return TFY_RETURN;
    F->head.pc = 1;
    return tfy_perform(t, &rest_site, (TfyValue[]){{.i = 3600000}}, NULL);
}
static const TfyPoint *const rest_resume[] = {&rest_sleep};
static const TfyWorkflow rest = {
    "rest", rest_run, sizeof(CountFrame), count_params, 1, &tfy_type_nothing, rest_resume, 1, 13, NULL};

static const TfyWorkflow *const workflows[] = {&spin, &look, &keep, &rest};
static const TfyTool *const tools[] = {&look_at, &put};
static const TfyPoint *const points[] = {&spin_yield, &look_step, &keep_step, &rest_sleep};
extern const TfyProgram bench_program;
const TfyProgram bench_program = {.name = "bench.tfy",
                                  .source = "",
                                  .layout = "{}",
                                  .hash = {7, 7},
                                  .tfyc = "hand",
                                  .workflows = workflows,
                                  .workflow_count = 4,
                                  .tools = tools,
                                  .tool_count = 2,
                                  .points = points,
                                  .point_count = 4,
                                  .main = UINT32_MAX};
