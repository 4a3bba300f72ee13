/* fuzz_json.c: what outsiders send as JSON. The first byte picks a type. What is accepted must write out, read back
 * the same, and leave nothing behind; what is refused must be explained. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "value/heap.h"
#include "value/json.h"

/* type Any { again: list<Any>, maybe: Any?, by_name: map<string, Shape>, by_number: map<int, duration>, shape: Shape,
 * ... } */
extern const TfyType any_type, shape_type;
static TfyObj shape_none = {TFY_IMMORTAL, 0, &shape_type};
static const TfyType list_any = {.kind = TFY_LIST, .name = "list<Any>", .elem = &any_type};
static const TfyType optional_any = {.kind = TFY_OPTIONAL, .name = "Any?", .elem = &any_type};
static const TfyType optional_int = {.kind = TFY_OPTIONAL, .name = "int?", .elem = &tfy_type_int};
static const TfyType map_shape = {
    .kind = TFY_MAP, .name = "map<string, Shape>", .elem = &shape_type, .key = &tfy_type_string};
static const TfyType map_duration = {
    .kind = TFY_MAP, .name = "map<int, duration>", .elem = &tfy_type_duration, .key = &tfy_type_int};
static const TfyType map_of_shapes = {
    .kind = TFY_MAP, .name = "map<Shape, bool>", .elem = &tfy_type_bool, .key = &shape_type};
static const TfyField circle_fields[] = {
    {"r", &tfy_type_float, NULL, NULL}, {"inside", &list_any, NULL, NULL}, {"case", &optional_int, NULL, NULL}};
static const TfyCase shape_cases[] = {{"none", NULL, 0, &shape_none, NULL}, {"circle", circle_fields, 3, NULL, NULL}};
const TfyType shape_type = {.kind = TFY_ENUM, .name = "Shape", .cases = shape_cases, .case_count = 2};

static bool make_list(TfyTask *task, TfyValue *out)
{
    out->o = tfy_list_of(task, &list_any, 0, NULL);
    return out->o != NULL;
}

static bool make_map(TfyTask *task, TfyValue *out)
{
    out->o = tfy_map_of(task, &map_shape, 0, NULL, NULL);
    return out->o != NULL;
}

static const TfyField any_fields[] = {
    {"again", &list_any, make_list, NULL},
    {"maybe", &optional_any, NULL, NULL},
    {"by_name", &map_shape, make_map, NULL},
    {"n", &optional_int, NULL, NULL},
};
const TfyType any_type = {.kind = TFY_RECORD, .name = "Any", .fields = any_fields, .field_count = 4};

static const TfyType *const types[] = {
    &any_type,       &shape_type,           &list_any,           &map_shape,      &map_duration,
    &map_of_shapes,  &tfy_type_json,        &tfy_type_string,    &tfy_type_bytes, &tfy_type_time,
    &tfy_type_float, &tfy_type_exec_result, &tfy_type_any_error, &optional_int,
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool ok)
{
    if (!ok) abort();
}

static void check_accepted(TfyTask *task, const TfyType *type, TfyValue value)
{
    char error[TFY_ERROR_TEXT];
    TfyBuffer first = {0}, second = {0};
    TfyValue again;
    require(tfy__encode(&first, type, value));
    require(tfy__decode_text(task, type, first.data, first.len, &again, error));
    require(tfy_equal(type, value, again));
    require(tfy__encode(&second, type, again));
    require(first.len == second.len && memcmp(first.data, second.data, first.len) == 0);
    require(tfy_text(task, type, value) != NULL);
    tfy__buffer_free(&first);
    tfy__buffer_free(&second);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char error[TFY_ERROR_TEXT] = "";
    TfyHeap heap;
    TfyTask task = {.heap = &heap, .fuel = TFY_FUEL_SLICE};
    TfyValue value;
    if (size == 0) return 0;
    const TfyType *type = types[data[0] % (sizeof types / sizeof types[0])];
    require(tfy__heap_init(&heap, NULL, NULL) == TFY_OK);
    if (tfy__decode_text(&task, type, (const char *)data + 1, size - 1, &value, error)) {
        check_accepted(&task, type, value);
    } else {
        require(error[0] != '\0' && !task.error);
    }
    tfy_cut(&task, 0);
    require(heap.objects == 0);
    tfy__heap_deinit(&heap);
    require(heap.in_use == 0);
    return 0;
}
