/* sites.h: places that ask a model, as generated code would describe them. */
#ifndef TESTS_LLM_SITES_H
#define TESTS_LLM_SITES_H

#include "tfy_program.h"

#include <string.h>

static const TfyPoint point_llm = {.id = "main/tool/llm/1", .number = 1, .line = 7, .kind = TFY_POINT_EFFECT};

static const TfyField llm_params[] = {{"prompt", &tfy_type_string, NULL, NULL},
                                      {"model", &tfy_type_optional_string, NULL, NULL},
                                      {"system", &tfy_type_optional_string, NULL, NULL}};
static const TfyTool tool_llm = {.name = "llm",
                                 .family = TFY_F_LLM,
                                 .repeat = TFY_IDEMPOTENT,
                                 .params = llm_params,
                                 .param_count = 3,
                                 .result = &tfy_type_string};
static const TfySite site_llm = {&point_llm, &tool_llm, &tfy_type_string, NULL, NULL};

/* prompt plan(goal: string) -> Plan { system "You plan." user "${goal}" retry 2 } */
static const TfyField plan_fields[] = {{"title", &tfy_type_string, NULL, NULL},
                                       {"steps", &tfy_type_list_string, NULL, NULL}};
static const TfyType type_plan = {.kind = TFY_RECORD, .name = "Plan", .fields = plan_fields, .field_count = 2};

static bool plan_system(TfyTask *task, const TfyValue *args, TfyValue *out)
{
    out->o = tfy_string_of(task, "You plan.", 9);
    return out->o != NULL;
}

static bool plan_user(TfyTask *task, const TfyValue *args, TfyValue *out)
{
    *out = args[0];
    return true;
}

static const TfyTool tool_plan = {.name = "plan",
                                  .family = TFY_F_PROMPT,
                                  .repeat = TFY_IDEMPOTENT,
                                  .params = llm_params,
                                  .param_count = 1,
                                  .result = &type_plan,
                                  .system = plan_system,
                                  .user = plan_user,
                                  .asks = 2};
static const TfySite site_plan = {&point_llm, &tool_plan, &type_plan, NULL, NULL};

/* A prompt whose text panics. */
static bool broken_user(TfyTask *task, const TfyValue *args, TfyValue *out)
{
    return tfy_panic(task, 9, "index 3 is outside");
}

static const TfyTool tool_broken = {.name = "broken",
                                    .family = TFY_F_PROMPT,
                                    .params = llm_params,
                                    .param_count = 1,
                                    .result = &tfy_type_string,
                                    .user = broken_user};
static const TfySite site_broken __attribute__((unused)) = {&point_llm, &tool_broken, &tfy_type_string, NULL, NULL};

#endif
