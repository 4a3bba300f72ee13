/* record.c: records, enum cases with fields, boxes. */
#include "value/heap.h"

#include <string.h>

static TfyRecord *as_record(TfyObj *object)
{
    return (TfyRecord *)object;
}

TfyObj *tfy__record_new(TfyTask *task, const TfyType *type)
{
    return tfy__new_object(task, type, sizeof(TfyRecord) + type->field_count * sizeof(TfyValue));
}

TfyObj *tfy__enum_new(TfyTask *task, const TfyType *type, uint32_t case_index)
{
    TfyObj *made =
        tfy__new_object(task, type, sizeof(TfyRecord) + type->cases[case_index].field_count * sizeof(TfyValue));
    if (made) made->aux = case_index;
    return made;
}

static void fill(TfyObj *made, const TfyField *fields, uint32_t count, const TfyValue *values)
{
    for (uint32_t i = 0; i < count; i++) as_record(made)->fields[i] = tfy__keep_value(fields[i].type, values[i]);
}

TfyObj *tfy_record_of(TfyTask *task, const TfyType *type, const TfyValue *fields)
{
    TfyObj *made = tfy__record_new(task, type);
    if (!made) return NULL;
    fill(made, type->fields, type->field_count, fields);
    return tfy_temp(task, made);
}

TfyObj *tfy_enum_of(TfyTask *task, const TfyType *type, uint32_t case_index, const TfyValue *fields)
{
    const TfyCase *of = &type->cases[case_index];
    if (of->bare) return of->bare;
    TfyObj *made = tfy__enum_new(task, type, case_index);
    if (!made) return NULL;
    fill(made, of->fields, of->field_count, fields);
    return tfy_temp(task, made);
}

TfyObj *tfy_box(TfyTask *task, const TfyType *optional, TfyValue scalar)
{
    TfyObj *box = tfy__new_object(task, tfy__box_type(optional->elem), sizeof(TfyRecord) + sizeof(TfyValue));
    if (!box) return NULL;
    as_record(box)->fields[0] = scalar;
    return tfy_temp(task, box);
}

TfyValue *tfy_own_field(TfyTask *task, TfyObj **place, uint32_t index)
{
    TfyObj *shared = *place;
    const TfyType *type = shared->type;
    if (shared->refs != 1) {
        TfyObj *made = tfy__record_new(task, type);
        if (!made) return NULL;
        made->aux = shared->aux;
        fill(made, type->fields, type->field_count, as_record(shared)->fields);
        tfy_drop(task, shared);
        *place = made;
    }
    return &as_record(*place)->fields[index];
}
