/* fuzz_cell.c: any bytes are a policy or refused; a policy that is accepted keeps what its header promises. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "cell/policy.h"

static void must(bool fact)
{
    if (!fact) abort();
}

/* The head is made right most of the time, so that the paths are reached. */
static size_t repair(const uint8_t *data, size_t size, uint8_t *datagram)
{
    TfyCellHead head = {.magic = TFY_CELL_MAGIC, .version = TFY_CELL_VERSION, .level = TFY_CELL_FULL, .descriptors = 3};
    if (size < 4 || data[0] % 8 == 0) {
        memcpy(datagram, data, size);
        return size;
    }
    head.flags = data[1] & TFY_CELL_FLAGS;
    head.level = 1 + data[2] % 2;
    head.paths = data[3];
    head.size = (uint32_t)(sizeof head + size - 4);
    memcpy(datagram, &head, sizeof head);
    memcpy(datagram + sizeof head, data + 4, size - 4);
    return head.size;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static TfyCellPolicy policy;
    if (size > TFY_CELL_POLICY_MAX) return 0;
    uint8_t *datagram = malloc(size + sizeof(TfyCellHead));
    const size_t len = repair(data, size, datagram);
    if (tfy__cell_policy_read(datagram, len, &policy)) {
        must(policy.root && policy.cwd && strcmp(policy.root, "/") != 0);
        must(!(policy.head.flags & TFY_CELL_LISTENER) ||
             (policy.head.level == TFY_CELL_FULL && !(policy.head.flags & TFY_CELL_HOST_NETWORK)));
        for (uint32_t i = 0; i < policy.head.paths; i++) {
            const TfyCellPath *item = &policy.paths[i];
            must((const uint8_t *)item->path > datagram &&
                 (const uint8_t *)item->path + strlen(item->path) < datagram + len);
            must(item->path[0] == '/' && !strstr(item->path, "//") && !strstr(item->path, "/../") &&
                 !strstr(item->path, "/./"));
            bool inside = item->kind != TFY_CELL_PROTECTED;
            for (uint32_t k = 0; k < policy.head.paths; k++) {
                const TfyCellPath *above = &policy.paths[k];
                inside = inside || ((above->kind == TFY_CELL_ROOT || above->kind == TFY_CELL_WRITES) &&
                                    tfy__cell_within(item->path, above->path) && strcmp(item->path, above->path) != 0);
            }
            must(inside);
            if (item->kind == TFY_CELL_CLOSED || item->kind == TFY_CELL_WRITES)
                must(!tfy__cell_within(policy.root, item->path));
        }
    }
    free(datagram);
    return 0;
}
