/* policy.c: reads a policy. Total: any bytes are either a policy or refused. */
#include "cell/policy.h"

#include <limits.h>
#include <string.h>

bool tfy__cell_within(const char *path, const char *above)
{
    const size_t len = strlen(above);
    if (len == 1) return true; /* "/" */
    return strncmp(path, above, len) == 0 && (!path[len] || path[len] == '/');
}

/* Absolute, and every component is a name: not empty, "." or "..". */
static bool is_plain(const char *path)
{
    if (path[0] != '/' || strlen(path) >= PATH_MAX) return false;
    if (!path[1]) return true;
    while (*path) {
        const size_t len = strcspn(++path, "/");
        if (!len || len > NAME_MAX || (len == 1 && path[0] == '.') || (len == 2 && path[0] == '.' && path[1] == '.'))
            return false;
        path += len;
    }
    return true;
}

/* Keeps the path of a kind that there is once. */
static bool keep_one(const char **place, const char *path)
{
    if (*place) return false;
    *place = path;
    return true;
}

static bool keep(TfyCellPolicy *policy, int kind, const char *path)
{
    const bool whole = !path[1];
    switch (kind) {
    case TFY_CELL_ROOT: return !whole && keep_one(&policy->root, path);
    case TFY_CELL_CWD: return keep_one(&policy->cwd, path);
    case TFY_CELL_HOME: return !whole && keep_one(&policy->home, path);
    case TFY_CELL_TEMP: return !whole && keep_one(&policy->temp, path);
    case TFY_CELL_READS: return true;
    case TFY_CELL_WRITES:
    case TFY_CELL_PROTECTED:
    case TFY_CELL_CLOSED: return !whole;
    default: return false;
    }
}

/* A listener in a network that is not the tool's own would be open to others. */
static bool is_listener_nowhere(const TfyCellHead *head)
{
    const bool own_network = head->level == TFY_CELL_FULL && !(head->flags & TFY_CELL_HOST_NETWORK);
    return head->flags & TFY_CELL_LISTENER && !own_network;
}

/* What mounts hide needs no layer. */
static bool is_layer_nowhere(const TfyCellHead *head)
{
    const uint32_t both = TFY_CELL_LAYER | TFY_CELL_MAKE_LAYER, given = head->flags & both;
    return given == both || (given && head->level != TFY_CELL_PARTIAL);
}

static bool read_head(const void *datagram, size_t len, TfyCellHead *head)
{
    if (len < sizeof *head || len > TFY_CELL_POLICY_MAX) return false;
    memcpy(head, datagram, sizeof *head);
    return head->magic == TFY_CELL_MAGIC && head->version == TFY_CELL_VERSION && head->size == len &&
           (head->level == TFY_CELL_FULL || head->level == TFY_CELL_PARTIAL) &&
           !(head->flags & ~(uint32_t)TFY_CELL_FLAGS) && head->descriptors >= 3 && head->descriptors <= 64 &&
           head->paths <= TFY_CELL_PATHS_MAX && head->reserved == 0 && !is_listener_nowhere(head) &&
           !is_layer_nowhere(head);
}

/* Is it strictly inside the root, or inside what is written? A way to what is protected begins there. */
static bool is_inside(const TfyCellPolicy *policy, const char *path)
{
    for (uint32_t i = 0; i < policy->head.paths; i++) {
        const TfyCellPath *item = &policy->paths[i];
        if ((item->kind == TFY_CELL_ROOT || item->kind == TFY_CELL_WRITES) && strcmp(item->path, path) != 0 &&
            tfy__cell_within(path, item->path))
            return true;
    }
    return false;
}

/* What is above the root is not written, or the root could be moved aside with all that is protected in it. */
static bool is_consistent(const TfyCellPolicy *policy)
{
    if (!policy->root || !policy->cwd) return false;
    if (policy->home && strcmp(policy->home, policy->root) == 0) return false;
    for (uint32_t i = 0; i < policy->head.paths; i++) {
        const TfyCellPath *item = &policy->paths[i];
        if (item->kind == TFY_CELL_PROTECTED && !is_inside(policy, item->path)) return false;
        if ((item->kind == TFY_CELL_CLOSED || item->kind == TFY_CELL_WRITES) &&
            tfy__cell_within(policy->root, item->path))
            return false;
    }
    return true;
}

bool tfy__cell_policy_read(const void *datagram, size_t len, TfyCellPolicy *policy)
{
    const char *at = (const char *)datagram + sizeof policy->head, *end = (const char *)datagram + len;
    policy->root = policy->cwd = policy->home = policy->temp = NULL;
    if (!read_head(datagram, len, &policy->head)) return false;
    for (uint32_t i = 0; i < policy->head.paths; i++) {
        if (end - at < 2 || !memchr(at + 1, 0, (size_t)(end - at - 1))) return false;
        policy->paths[i] = (TfyCellPath){.kind = (unsigned char)*at, .path = at + 1};
        if (!is_plain(at + 1) || !keep(policy, (unsigned char)*at, at + 1)) return false;
        at += strlen(at + 1) + 2;
    }
    return at == end && is_consistent(policy);
}
