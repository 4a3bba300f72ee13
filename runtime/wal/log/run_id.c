#include "wal/log/run_id.h"

#include <string.h>

#include "base/sha256.h"

bool tfy__run_name_fits(const char *name)
{
    size_t len = 0;
    while (name[len] > ' ' && name[len] < 0x7f) len++;
    return len > 0 && len <= TFY_RUN_NAME_MAX && !name[len];
}

bool tfy__program_name_fits(const char *name)
{
    return *name >= 'a' && *name <= 'z' && strlen(name) < 64 &&
           !name[strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_-")];
}

bool tfy__label_name_fits(const char *name)
{
    const size_t len = strlen(name);
    return len > 0 && len <= TFY_LABEL_NAME_MOST && len == strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_.-");
}

/* The parts are short: a name of 255 bytes, and names of files and workflows. */
void tfy__run_id_of(const char *tenant, const char *program, const char *workflow, const char *name, uint8_t uuid[16])
{
    const char *const parts[] = {tenant, program, workflow, name};
    unsigned char digest[TFY_SHA256_SIZE], text[4096];
    size_t len = 0;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        size_t part = strlen(parts[i]);
        const size_t room = sizeof text / 4 - 1, ending = i == 1 && part > 4 ? part - 4 : 0;
        if (ending && strcmp(parts[i] + ending, ".tfy") == 0) part = ending;
        if (part > room) part = room;
        memcpy(text + len, parts[i], part);
        len += part;
        text[len++] = '\0';
    }
    tfy__sha256(text, len, digest);
    memcpy(uuid, digest, 16);
    uuid[6] = (uint8_t)(0x80 | (uuid[6] & 0x0f));
    uuid[8] = (uint8_t)(0x80 | (uuid[8] & 0x3f));
}
