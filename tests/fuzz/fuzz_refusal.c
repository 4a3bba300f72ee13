/* fuzz_refusal.c: what a tool printed before it failed, searched for a refusal of its sandbox. A sentence that names
 * something to grant names it in one line, and nothing is found without the words of an error. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "effects/refusal.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    TfyConfined confined = {.name = "fuzz", .root = "/tmp"};
    TfyRefusal refusal;
    TfyBuffer said = {0};
    confined.plan.head.level = len & 1 ? TFY_CELL_FULL : TFY_CELL_PARTIAL;
    tfy__cell_add(&confined.plan, TFY_CELL_ROOT, confined.root);
    tfy__cell_add(&confined.plan, TFY_CELL_CWD, confined.root);
    tfy__cell_add(&confined.plan, TFY_CELL_READS, "/usr/share");
    char *text = malloc(len + 1);
    CHECK(text);
    memcpy(text, data, len);
    text[len] = 0;
    if (tfy__refusal_find(&confined, text, len, "", &refusal)) {
        CHECK(strlen(refusal.grant) < sizeof refusal.grant && !*refusal.host);
        tfy__refusal_say(&confined, "tool", &refusal, &said);
        CHECK(said.failed || said.len > strlen("the sandbox of 'tool' "));
    }
    tfy__buffer_free(&said);
    tfy__cell_plan_free(&confined.plan);
    free(text);
    return 0;
}
