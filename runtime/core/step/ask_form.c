/* ask_form.c: the effect `ask` of a record. It stands apart, since only programs that use it carry what reads forms. */
#include "core/step/step.h"
#include "value/form.h"

static const TfyForms forms = {.write = tfy__form_write, .read = tfy__form_read};

static const TfyField params[] = {{"question", &tfy_type_string, NULL, NULL}};

const TfyTool tfy_effect_ask_form = {.name = "ask",
                                     .family = TFY_F_ASK,
                                     .repeat = TFY_PURE,
                                     .params = params,
                                     .param_count = 1,
                                     .result = &tfy_type_string,
                                     .effect = &tfy_effect_ask,
                                     .forms = &forms};
