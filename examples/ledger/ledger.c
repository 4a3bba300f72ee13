/* The C side of ledger.tfy: an extern tool is a C function with the prototype that the compiler writes into the generated file. */
#include "tfy.h"

bool ledger_checksum(TfyTask *task, const TfyObj *text, int64_t *out);

bool ledger_checksum(TfyTask *task, const TfyObj *text, int64_t *out)
{
    const TfyString *string = (const TfyString *)text;
    int64_t sum = 0;
    (void)task;
    for (uint32_t i = 0; i < string->byte_len; i++) sum = (sum * 31 + (unsigned char)string->bytes[i]) % 9973;
    *out = sum;
    return true;
}
