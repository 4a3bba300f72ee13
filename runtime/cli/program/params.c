#include "cli/program/params.h"
#include "value/heap.h"
#include "value/json.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- which workflow ---- */

static const char *workflow_candidate(const void *state, int index)
{
    const TfyProgram *program = state;
    return (uint32_t)index < program->workflow_count ? program->workflows[index]->name : NULL;
}

const TfyWorkflow *tfy__choose_workflow(const TfyProgram *program, const char *name, const char *how)
{
    if (name) {
        for (uint32_t i = 0; i < program->workflow_count; i++) {
            if (strcmp(program->workflows[i]->name, name) == 0) return program->workflows[i];
        }
        const char *meant = tfy__nearest(name, workflow_candidate, program);
        tfy__say("%s has no workflow '%s'%s%s%s", program->name, name, meant ? "; did you mean " : "",
                 meant ? meant : "", meant ? "?" : "");
        return NULL;
    }
    if (program->main != UINT32_MAX) return program->workflows[program->main];
    if (!program->workflow_count) {
        tfy__say("%s has no workflow", program->name);
        return NULL;
    }
    tfy__say("%s has several workflows and none is called main; %s:", program->name, how);
    for (uint32_t i = 0; i < program->workflow_count; i++) fprintf(stderr, "  %s\n", program->workflows[i]->name);
    return NULL;
}

/* ---- one value ---- */

static bool wrong(const TfyField *param, const char *text)
{
    tfy__say("--%s takes %s %s%s, not '%s'", param->name, strchr("aeio", *param->type->name) ? "an" : "a",
             param->type->name, param->type->kind == TFY_DURATION ? " such as 90s" : "", text);
    return false;
}

static bool add_int(TfyBuffer *out, const TfyField *param, const char *text)
{
    char *end;
    errno = 0;
    long long value = strtoll(text, &end, 10);
    if (errno || end == text || *end || *text == ' ' || *text == '\t') return wrong(param, text);
    tfy__buffer_int(out, value);
    return true;
}

static bool add_float(TfyBuffer *out, const TfyField *param, const char *text)
{
    char *end;
    double value = strtod(text, &end);
    if (end == text || *end || !isfinite(value) || strpbrk(text, "xX \t")) return wrong(param, text);
    tfy__write_float(out, value);
    return true;
}

static bool add_bool(TfyBuffer *out, const TfyField *param, const char *text)
{
    if (strcmp(text, "true") != 0 && strcmp(text, "false") != 0) return wrong(param, text);
    tfy__buffer_text(out, text);
    return true;
}

static bool add_string(TfyBuffer *out, const char *text)
{
    tfy__buffer_json_string(out, text, strlen(text));
    return true;
}

static bool add_duration(TfyBuffer *out, const TfyField *param, const char *text)
{
    int64_t ms;
    return tfy__read_duration(text, strlen(text), &ms) ? add_string(out, text) : wrong(param, text);
}

/* Lists, maps, records, enum cases with fields, json: written as JSON. The decoder checks that the value fits the
 * type. */
static bool add_json(TfyBuffer *out, const TfyField *param, const char *text)
{
    json_error_t error;
    json_t *json = json_loads(text, JSON_DECODE_ANY | JSON_REJECT_DUPLICATES, &error);
    if (!json) {
        tfy__say("--%s takes a %s, written as JSON: %s", param->name, param->type->name, error.text);
        return false;
    }
    json_decref(json);
    tfy__buffer_text(out, text);
    return true;
}

static bool add_value(TfyBuffer *out, const TfyField *param, const TfyType *type, const char *text)
{
    switch (type->kind) {
    case TFY_STRING: return add_string(out, text);
    case TFY_INT: return add_int(out, param, text);
    case TFY_FLOAT: return add_float(out, param, text);
    case TFY_BOOL: return add_bool(out, param, text);
    case TFY_DURATION: return add_duration(out, param, text);
    case TFY_TIME: return add_string(out, text);
    case TFY_BYTES: return add_string(out, text);
    case TFY_ENUM: return *text == '{' || *text == '"' ? add_json(out, param, text) : add_string(out, text);
    case TFY_OPTIONAL:
        if (type->elem->kind != TFY_STRING && strcmp(text, "null") == 0) {
            tfy__buffer_text(out, text);
            return true;
        }
        return add_value(out, param, type->elem, text);
    default: return add_json(out, param, text);
    }
}

static bool is_bool(const TfyType *type)
{
    return type->kind == TFY_BOOL || (type->kind == TFY_OPTIONAL && type->elem->kind == TFY_BOOL);
}

static bool may_be_absent(const TfyField *param)
{
    return param->make || param->type->kind == TFY_OPTIONAL;
}

static const char *param_candidate(const void *state, int index)
{
    const TfyWorkflow *workflow = state;
    return (uint32_t)index < workflow->param_count ? workflow->params[index].name : NULL;
}

static bool check_names(const TfyWorkflow *workflow, const TfyArgs *args)
{
    for (int i = 0; i < args->param_count; i++) {
        const char *name = args->params[2 * i];
        bool known = false;
        for (uint32_t p = 0; p < workflow->param_count; p++) known |= strcmp(workflow->params[p].name, name) == 0;
        if (!known) {
            const char *meant = tfy__nearest(name, param_candidate, workflow);
            tfy__say("%s has no parameter '%s'%s%s%s", workflow->name, name, meant ? "; did you mean --" : "",
                     meant ? meant : "", meant ? "?" : "");
            return false;
        }
    }
    return true;
}

/* Finds the text given for a parameter: NULL if it is absent; *alone if it is present without a value. Returns false
 * if it is given twice. */
static bool given(const TfyField *param, const TfyArgs *args, const char **text, bool *alone)
{
    *text = NULL;
    *alone = false;
    for (int i = 0; i < args->param_count; i++) {
        if (strcmp(args->params[2 * i], param->name) != 0) continue;
        if (*text || *alone) {
            tfy__say("--%s was given twice", param->name);
            return false;
        }
        *text = args->params[2 * i + 1];
        *alone = !*text;
    }
    return true;
}

static bool add_param(TfyBuffer *out, const TfyField *param, const TfyArgs *args)
{
    const char *text;
    bool alone;
    if (!given(param, args, &text, &alone)) return false;
    if (!text && !alone) {
        if (may_be_absent(param)) return true;
        tfy__say("missing parameter --%s (%s)", param->name, param->type->name);
        return false;
    }
    if (alone) {
        if (!is_bool(param->type)) {
            tfy__say("--%s needs a value (%s)", param->name, param->type->name);
            return false;
        }
        text = "true";
    }
    if (out->len > 1) tfy__buffer_char(out, ',');
    tfy__buffer_json_string(out, param->name, strlen(param->name));
    tfy__buffer_char(out, ':');
    return add_value(out, param, param->type, text);
}

bool tfy__params_json(const TfyWorkflow *workflow, const TfyArgs *args, TfyBuffer *out)
{
    if (!check_names(workflow, args)) return false;
    tfy__buffer_char(out, '{');
    for (uint32_t p = 0; p < workflow->param_count; p++) {
        if (!add_param(out, &workflow->params[p], args)) return false;
    }
    tfy__buffer_char(out, '}');
    return true;
}

/* ---- usage ---- */

/* What is before a parameter's name. */
static const char *flag_of(const TfyCommand *command, const TfyField *param)
{
    for (int i = 0; i < OPT_COUNT; i++) {
        const char *option = tfy__option_at(i)->name, *name = param->name;
        if (!option || !option[1] || !tfy__command_takes(command, i)) continue;
        while (*option && (*option == *name || (*option == '-' && *name == '_'))) option++, name++;
        if (*option == *name) return "--param.";
    }
    return "--";
}

/* The default as the command line takes it; false: there is none, or it is null. */
static bool add_default(TfyBuffer *out, const TfyField *param)
{
    TfyHeap heap;
    TfyTask task = {.heap = &heap, .fuel = TFY_FUEL_SLICE};
    TfyValue value = {0};
    if (!param->make || tfy__heap_init(&heap, NULL, NULL) != TFY_OK) return false;
    bool made = param->make(&task, &value);
    if (made && param->type->kind == TFY_OPTIONAL && !value.o)
        made = false;
    else if (made && param->type->kind == TFY_ENUM && param->type->cases[tfy_tag(value.o)].bare)
        tfy__buffer_text(out, param->type->cases[tfy_tag(value.o)].name);
    else if (made)
        tfy__encode(out, param->type, value);
    if (out->len > 1 && (param->type->kind == TFY_DURATION || param->type->kind == TFY_TIME)) { /* without quotes */
        memmove(out->data, out->data + 1, out->len - 2);
        out->data[out->len -= 2] = 0;
    }
    tfy_cut(&task, 0);
    tfy_clear(&task, &task.error);
    tfy__heap_deinit(&heap);
    return made && !out->failed;
}

/* Each line of a doc comment below the one before. */
static void print_doc(FILE *file, const char *doc, int indent)
{
    for (size_t len; doc; doc = doc[len] ? doc + len + 1 : NULL) {
        len = strcspn(doc, "\n");
        fprintf(file, "%*s%.*s\n", indent, "", (int)len, doc);
    }
}

static const TfyType *enum_of(const TfyType *type)
{
    if (type->kind == TFY_OPTIONAL) type = type->elem;
    return type->kind == TFY_ENUM ? type : NULL;
}

static void explain_cases(FILE *file, const TfyType *type)
{
    for (uint32_t i = 0; i < type->case_count; i++) {
        const char *doc = type->cases[i].doc;
        fprintf(file, "      %s%s", type->cases[i].name, type->cases[i].bare ? "" : " {…}");
        if (doc) fprintf(file, ": %.*s", (int)strcspn(doc, "\n"), doc);
        fputc('\n', file);
        if (doc && strchr(doc, '\n')) print_doc(file, strchr(doc, '\n') + 1, 8);
    }
}

static void explain_param(const TfyCommand *command, FILE *file, const TfyField *param)
{
    TfyBuffer value = {0};
    const char *flag = flag_of(command, param);
    fprintf(file, "  %s%-*s %s", flag, 20 - (int)strlen(flag), param->name, param->type->name);
    if (add_default(&value, param))
        fprintf(file, ", default %s", value.data);
    else if (param->type->kind == TFY_OPTIONAL)
        fprintf(file, ", may be left out");
    fputc('\n', file);
    print_doc(file, param->doc, 6);
    if (enum_of(param->type)) explain_cases(file, enum_of(param->type));
    tfy__buffer_free(&value);
}

static void print_words(FILE *file, const TfyProgram *program, const TfyWorkflow *workflow)
{
    bool through_tfy = strcmp(tfy__program_name(), "tfy") == 0;
    bool is_main = program->main != UINT32_MAX && program->workflows[program->main] == workflow;
    fprintf(file, "usage: %s%s%s%s%s", tfy__program_name(), through_tfy ? " run " : "",
            through_tfy ? program->name : "", is_main ? "" : " --workflow ", is_main ? "" : workflow->name);
}

void tfy__params_usage(const TfyCommand *command, const char *words, const TfyProgram *program,
                       const TfyWorkflow *workflow, void *file)
{
    if (words)
        fprintf(file, "usage: %s", words);
    else
        print_words(file, program, workflow);
    for (uint32_t p = 0; p < workflow->param_count; p++) {
        const TfyField *param = &workflow->params[p];
        bool optional = may_be_absent(param);
        fprintf(file, " %s%s%s %s%s", optional ? "[" : "", flag_of(command, param), param->name, param->type->name,
                optional ? "]" : "");
    }
    fputc('\n', file);
    if (workflow->doc) fprintf(file, "%s\n", workflow->doc);
    for (uint32_t p = 0; p < workflow->param_count; p++) explain_param(command, file, &workflow->params[p]);
}
