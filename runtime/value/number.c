/* number.c: the arithmetic that is too long to be inline, and fuel. */
#include "value/heap.h"

#include <math.h>

bool tfy_float_mod(TfyTask *task, uint32_t line, double a, double b, double *out)
{
    if (b == 0) return tfy__div_zero(task, line);
    return tfy__finite(task, line, fmod(a, b), out);
}

bool tfy_float_to_int(TfyTask *task, uint32_t line, double value, int64_t *out)
{
    /* 2^63 is a double, but the largest int64_t is not: hence the one-sided bounds */
    if (!(value >= -0x1p63 && value < 0x1p63)) return tfy__overflow(task, line);
    *out = (int64_t)value;
    return true;
}

bool tfy_float_rounded(TfyTask *task, uint32_t line, double value, int direction, int64_t *out)
{
    return tfy_float_to_int(task, line, direction < 0 ? floor(value) : direction > 0 ? ceil(value) : round(value), out);
}

bool tfy_float_sqrt(TfyTask *task, uint32_t line, double value, double *out)
{
    *out = 0;
    return tfy__finite(task, line, sqrt(value), out);
}

bool tfy_fn_fuel(TfyTask *task, uint32_t line)
{
    TfyHeap *heap = task->heap;
    if (heap->fn_fuel <= 0) return tfy_panic(task, line, "this fn ran too long without letting others run");
    heap->fn_fuel -= TFY_FUEL_SLICE;
    heap->fn_spent = true;
    task->fuel = TFY_FUEL_SLICE;
    return true;
}

bool tfy_fn_enter(TfyTask *task, uint32_t line)
{
    if (task->heap->fn_depth >= TFY_FN_DEPTH)
        return tfy_panic(task, line, "fn calls are nested deeper than %d", TFY_FN_DEPTH);
    /* The outermost fn call sets the budget: what a fn may spend does not depend on where its workflow resumed. */
    if (task->heap->fn_depth++ == 0) task->heap->fn_fuel = TFY_FN_FUEL;
    return true;
}
